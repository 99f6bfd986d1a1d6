//! Whether an answer of `plan` is Karpenter's.

use std::collections::{BTreeMap, BTreeSet};

use model::{Operator, RegionCatalog, Requirement, Requirements, labels};
use serde_json::Value;

/// What is compared of a claim.
type Claim = (String, Vec<String>, BTreeSet<String>, [BTreeSet<String>; 3], Vec<String>, u64);

/// What is compared of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    claims: Vec<Claim>,
    existing: BTreeMap<String, Vec<String>>,
    failed: Vec<String>,
}

/// Which pods are interchangeable, and what nodes are called as well.
struct World<'a> {
    catalog: &'a RegionCatalog,
    /// Whether reservations are bought.
    sells_reserved: bool,
    class_of: BTreeMap<&'a str, &'a str>,
    node_of: BTreeMap<&'a str, &'a str>,
}

pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(crate) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The price of the cheapest offering in nano-dollars.
pub(crate) fn price(claim: &Value) -> u64 {
    amount(&claim["cheapest"]["pricePerHour"])
}

/// The nano-dollars of an amount that is a number or, in answers of other programs, a text; its sign does not count.
pub(crate) fn amount(value: &Value) -> u64 {
    let number = || format!("{:.12}", value.as_f64().unwrap_or_default());
    let text = value.as_str().map_or_else(number, str::to_owned);
    model::HourlyPrice::parse_dollars(text.trim_start_matches('-')).expect("a price").nanos()
}

/// What is different; nothing if the answer is Karpenter's.
pub(crate) fn faults(
    catalog: (&RegionCatalog, bool),
    expected: &Value,
    actual: &Value,
) -> Vec<String> {
    let world = World::of(catalog, expected);
    let mine = world.answer(actual);
    if expected["waiting"] == Value::Bool(true) {
        let is_idle = mine.claims.is_empty() && mine.existing.is_empty();
        return if is_idle { Vec::new() } else { vec!["Karpenter waits here".to_owned()] };
    }
    if expected.get("variants").is_none() && expected.get("bounds").is_none() {
        let theirs = world.answer(expected);
        return if mine == theirs { Vec::new() } else { vec![contrast(&theirs, &mine)] };
    }
    if list(&expected["variants"]).any(|variant| world.answer(variant) == mine) {
        return Vec::new();
    }
    world.beyond(&mine, actual, &expected["bounds"])
}

/// What an answer costs, and what Karpenter's cost, in nano-dollars per hour.
pub(crate) struct Paid {
    pub(crate) ours: u64,
    /// The mean of the answers that were seen; where they are too many to be kept, the middle between the
    /// cheapest and the dearest.
    pub(crate) mean: u64,
    pub(crate) worst: u64,
}

/// What the answer costs where Karpenter's price varies.
pub(crate) fn paid(expected: &Value, actual: &Value) -> Option<Paid> {
    let bound = |place: usize| {
        let dollars = expected["bounds"]["price"][place].as_f64()?;
        let nanos = model::HourlyPrice::parse_dollars(&format!("{dollars:.9}")).expect("a price");
        Some(nanos.nanos())
    };
    let (best, worst) = (bound(0)?, bound(1)?);
    if worst <= best {
        return None;
    }
    let cost = |answer: &Value| -> u64 { list(&answer["newNodeClaims"]).map(price).sum() };
    let seen: Vec<u64> = list(&expected["variants"]).map(cost).collect();
    let mean = match u64::try_from(seen.len()).expect("a few") {
        0 => u64::midpoint(best, worst),
        count => seen.iter().sum::<u64>() / count,
    };
    Some(Paid { ours: cost(actual), mean, worst })
}

fn contrast(theirs: &Answer, mine: &Answer) -> String {
    let missing: Vec<&Claim> =
        theirs.claims.iter().filter(|claim| !mine.claims.contains(claim)).collect();
    let extra: Vec<&Claim> =
        mine.claims.iter().filter(|claim| !theirs.claims.contains(claim)).collect();
    format!(
        "missing {missing:?}, too many {extra:?}, on nodes {:?} and not {:?}, left {:?} and not {:?}",
        theirs.existing, mine.existing, theirs.failed, mine.failed
    )
}

impl<'a> World<'a> {
    fn of((catalog, sells_reserved): (&'a RegionCatalog, bool), expected: &'a Value) -> Self {
        let classes = entries(&expected["classes"]);
        let class_of =
            classes.flat_map(|(class, entry)| texts(&entry["pods"]).map(move |pod| (pod, class)));
        let node_of = entries(&expected["nodes"]).flat_map(|(node, entry)| {
            std::iter::once(node).chain(texts(&entry["aliases"])).map(move |name| (name, node))
        });
        Self { catalog, sells_reserved, class_of: class_of.collect(), node_of: node_of.collect() }
    }

    /// The classes of pods.
    fn classes<'p>(&self, pods: impl Iterator<Item = &'p str>) -> Vec<String> {
        let class = |pod: &str| self.class_of.get(pod).map_or(pod, |class| class).to_owned();
        let mut classes: Vec<String> = pods.map(class).collect();
        classes.sort();
        classes
    }

    fn answer(&self, raw: &Value) -> Answer {
        let mut claims: Vec<Claim> =
            list(&raw["newNodeClaims"]).map(|claim| self.claim(claim)).collect();
        claims.sort();
        let mut answer = Answer { claims, ..Answer::default() };
        for placed in list(&raw["existingNodes"]).filter(|placed| 0 < list(&placed["pods"]).count())
        {
            let name = placed["node"].as_str().unwrap_or_default();
            let name = self.node_of.get(name).map_or(name, |node| node);
            let classes = answer.existing.entry(name.to_owned()).or_default();
            classes.extend(self.classes(texts(&placed["pods"])));
            classes.sort();
        }
        let left = list(&raw["unschedulable"]).filter_map(|left| left["pod"].as_str());
        answer.failed = self.classes(left);
        answer
    }

    fn claim(&self, raw: &Value) -> Claim {
        let requirements = requirements(&raw["requirements"]);
        let types: BTreeSet<String> = texts(&raw["instanceTypes"]).map(str::to_owned).collect();
        let [mut zones, mut capacity_types, mut reservations] =
            [BTreeSet::new(), BTreeSet::new(), BTreeSet::new()];
        let known = self.catalog.instance_types.iter();
        for kind in known.filter(|kind| types.contains(kind.name.as_str())) {
            let open = kind.offerings.iter().filter(|offering| {
                let is_sold = self.sells_reserved || offering.reservation.is_none();
                is_sold && offering.is_launchable()
            });
            for offering in open.filter(|offering| offering.is_compatible(&requirements)) {
                zones.insert(offering.zone.to_string());
                capacity_types.insert(offering.capacity_type.to_string());
                reservations.extend(offering.reservation.as_ref().map(|held| held.id.to_string()));
            }
        }
        let custom = requirements.iter().filter(|requirement| is_own(requirement));
        let custom =
            custom.map(|requirement| requirement.clone().with_min_values(None).to_string());
        (
            raw["nodePool"].as_str().unwrap_or_default().to_owned(),
            self.classes(texts(&raw["pods"])),
            types,
            [zones, capacity_types, reservations],
            custom.collect(),
            price(raw),
        )
    }

    /// What speaks against an answer that Karpenter was not seen to give.
    fn beyond(&self, mine: &Answer, actual: &Value, bounds: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let claims = list(&actual["newNodeClaims"]).chain(list(&actual["existingNodes"]));
        let placed: Vec<&str> = claims.flat_map(|entry| texts(&entry["pods"])).collect();
        let left = list(&actual["unschedulable"]).filter_map(|left| left["pod"].as_str());
        let mut pods: Vec<&str> = placed.iter().copied().chain(left).collect();
        pods.sort_unstable();
        let mut wanted: Vec<&str> = texts(&bounds["pods"]).collect();
        wanted.sort_unstable();
        if pods != wanted {
            faults.push("not every pod is in one place".to_owned());
        }
        let classes = self.classes(placed.into_iter());
        for (class, least) in entries(&bounds["placed"]) {
            let placed = classes.iter().filter(|placed| *placed == class).count();
            if u64::try_from(placed).ok() < least.as_u64() {
                faults.push(format!("places {placed} of {class}, Karpenter at least {least}"));
            }
        }
        if bounds["claims"][1].as_u64() < u64::try_from(mine.claims.len()).ok() {
            faults.push(format!("{} new claims", mine.claims.len()));
        }
        let price: u64 = mine.claims.iter().map(|claim| claim.5).sum();
        let most = bounds["price"][1].to_string();
        let most = model::HourlyPrice::parse_dollars(&most).expect("a price").nanos();
        if most < price {
            faults.push(format!("costs {price} nano-dollars, Karpenter at most {most}"));
        }
        faults
    }
}

/// Whether nodes are labeled after it, and the list of types says nothing about it.
fn is_own(requirement: &Requirement) -> bool {
    let key = requirement.key().as_str();
    let is_known = labels::is_well_known(key)
        || key == labels::HOSTNAME
        || key.split_once('/').is_some_and(|(domain, _)| {
            domain == "karpenter.sh"
                || domain.ends_with(".karpenter.sh")
                || domain == "karpenter.k8s.aws"
        });
    (key == labels::INSTANCE_TENANCY || !is_known) && !requirement.allows_absence()
}

pub(crate) fn requirements(raw: &Value) -> Requirements {
    let requirement = |raw: &Value| {
        let operator = raw["operator"].as_str().and_then(Operator::parse).expect("an operator");
        let key = raw["key"].as_str().expect("a key");
        Requirement::new(key, operator, texts(&raw["values"])).expect("a requirement")
    };
    let mut requirements = Requirements::default();
    list(raw).for_each(|raw| requirements.add(requirement(raw)));
    requirements
}
