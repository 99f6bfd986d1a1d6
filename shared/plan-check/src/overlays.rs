//! What NodeOverlays make of types (specification §10.1), written apart from the planner's.
//!
//! Slow on purpose: for each overlay everything is looked at again.

use std::collections::BTreeMap;

use model::{
    HourlyPrice, InstanceType, InstanceTypeName, NodePoolName, Requirements, ResourceName,
    facts::Facts,
    labels,
    node_pool::NodePool,
    overlay::{NodeOverlay, PriceChange},
    requirements::Undefined,
};

/// Types of pools that overlays change.
pub(crate) type Changed = BTreeMap<(NodePoolName, InstanceTypeName), InstanceType>;

/// What became of one type of one pool so far.
struct Sheet<'a> {
    pool: &'a NodePool,
    instance_type: &'a InstanceType,
    /// By offering: its price and the weight of the last overlay about it.
    prices: BTreeMap<usize, (HourlyPrice, u32)>,
    amounts: BTreeMap<ResourceName, u64>,
    /// Weight and resources of the last overlay about capacity.
    last: Option<(u32, Vec<ResourceName>)>,
}

/// All types that are not what their class offers.
pub(crate) fn changed(facts: &Facts) -> Changed {
    if !facts.policies.node_overlay {
        return Changed::new();
    }
    let mut sheets = sheets(facts);
    let mut overlays: Vec<&NodeOverlay> = facts
        .surroundings
        .node_overlays
        .iter()
        .filter(|node_overlay| node_overlay.problems.is_empty())
        .collect();
    overlays.sort_by(|a, b| (b.weight, &b.name).cmp(&(a.weight, &a.name)));
    for overlay in overlays {
        let conflicts =
            sheets.iter().any(|sheet| conflicts(sheet, overlay, &offerings(sheet, overlay)));
        for sheet in sheets.iter_mut().filter(|_| !conflicts) {
            apply(sheet, overlay);
        }
    }
    let is_changed = |sheet: &Sheet<'_>| !sheet.prices.is_empty() || !sheet.amounts.is_empty();
    sheets.into_iter().filter(is_changed).map(written).collect()
}

fn sheets(facts: &Facts) -> Vec<Sheet<'_>> {
    let mut sheets = Vec::new();
    for pool in &facts.node_pools {
        let Some(types) = facts.ready_types(&pool.template.node_class) else {
            continue;
        };
        sheets.extend(types.iter().map(|instance_type| Sheet {
            pool,
            instance_type,
            prices: BTreeMap::new(),
            amounts: BTreeMap::new(),
            last: None,
        }));
    }
    sheets
}

/// The offerings of a type that an overlay is about.
fn offerings(sheet: &Sheet<'_>, overlay: &NodeOverlay) -> Vec<usize> {
    let mut requirements = sheet.instance_type.requirements.clone();
    let template = sheet.pool.template.labels.iter();
    requirements.add_all(&Requirements::of_labels(template.map(|(key, value)| (&**key, &**value))));
    requirements.add_all(&Requirements::of_labels([(labels::NODE_POOL, sheet.pool.name.as_str())]));
    if requirements.compatible(&overlay.requirements, Undefined::Refused).is_err() {
        return Vec::new();
    }
    let enumerate = sheet.instance_type.offerings.iter().enumerate();
    let fitting = enumerate.filter(|(_, offering)| offering.is_compatible(&overlay.requirements));
    fitting.map(|(index, _)| index).collect()
}

fn conflicts(sheet: &Sheet<'_>, overlay: &NodeOverlay, hits: &[usize]) -> bool {
    let same_price = |index: &usize| {
        sheet.prices.get(index).is_some_and(|(_, weight)| *weight == overlay.weight)
    };
    let same_amount = match (&sheet.last, &overlay.capacity) {
        (Some((weight, names)), Some(capacity)) if !hits.is_empty() => {
            *weight == overlay.weight
                && names.iter().any(|name| capacity.extended.contains_key(name))
        }
        _ => false,
    };
    same_amount || overlay.price.is_some() && hits.iter().any(same_price)
}

fn apply(sheet: &mut Sheet<'_>, overlay: &NodeOverlay) {
    let hits = offerings(sheet, overlay);
    if let Some(change) = overlay.price {
        for index in &hits {
            let Some(offering) = sheet.instance_type.offerings.get(*index) else { continue };
            let first = (price(offering.price, change), overlay.weight);
            let entry = sheet.prices.entry(*index).or_insert(first);
            entry.1 = overlay.weight;
        }
    }
    if let Some(capacity) = overlay.capacity.as_ref().filter(|_| !hits.is_empty()) {
        for (name, amount) in &capacity.extended {
            sheet.amounts.entry(name.clone()).or_insert(*amount);
        }
        sheet.last = Some((overlay.weight, capacity.extended.keys().cloned().collect()));
    }
}

fn price(hourly_price: HourlyPrice, change: PriceChange) -> HourlyPrice {
    let billion = 1_000_000_000_i128;
    let nano = 10_000_000_i128;
    let number = i128::try_from(hourly_price.parts()).unwrap_or(i128::MAX);
    let exact = match change {
        PriceChange::Absolute(price) => return price,
        PriceChange::Added(nanos) => (number + i128::from(nanos) * nano) * billion,
        PriceChange::Scaled(billionths) => number * (billion + i128::from(billionths)),
    };
    let rounded = (exact + billion / 2).div_euclid(billion);
    HourlyPrice::from_parts(u128::try_from(rounded.max(0)).unwrap_or_default())
}

fn written(sheet: Sheet<'_>) -> ((NodePoolName, InstanceTypeName), InstanceType) {
    let mut instance_type = sheet.instance_type.clone();
    for (index, (price, _)) in sheet.prices {
        if let Some(offering) = instance_type.offerings.get_mut(index) {
            offering.price = price;
        }
    }
    for (name, amount) in &sheet.amounts {
        instance_type.capacity.set(name, *amount);
    }
    ((sheet.pool.name.clone(), instance_type.name.clone()), instance_type)
}
