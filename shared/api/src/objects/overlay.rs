//! NodeOverlays of `karpenter.sh/v1alpha1`.
//!
//! Karpenter: `pkg/apis/v1alpha1/nodeoverlay.go` and `nodeoverlay_validation.go`. What an API server
//! refuses is a complaint; what only the controller finds is among the overlay's own `problems`.

use model::{
    HourlyPrice, ObjectName, Operator, Requirement, Requirements, Resources, id,
    overlay::{NodeOverlay, PriceChange},
};

use super::{container, metadata::Metadata, requirement::values_rule};
use crate::{
    document::field::{Complaints, Field, Fields},
    karpenter::word::Words,
};

/// Resources that an overlay may not change.
const NOT_EXTENDED: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pods"];
/// Most requirements of an overlay.
const REQUIREMENTS_MAX: usize = 100;
/// Billionths of one in one of a hundred.
const PERCENT: i64 = 10_000_000;

/// Reads a NodeOverlay; what is wrong goes to the complaints behind `object`.
pub(crate) fn read(object: &Field<'_>, complaints: &Complaints) -> Option<NodeOverlay> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    let requirements = spec.get("requirements").map(|field| requirements(&field));
    let weight = spec.get("weight").map_or(Some(0), |field| field.integer(1, 10_000));
    let price = price(&mut spec);
    let capacity = spec.get("capacity").and_then(|field| capacity(&field));
    spec.done();
    Some(NodeOverlay {
        name: object.name().accept(ObjectName::new(&metadata?.name))?,
        weight: weight?,
        requirements: requirements.unwrap_or_default(),
        price: price?,
        capacity,
        problems: complaints.own_problems(),
    })
}

fn requirements(field: &Field<'_>) -> Requirements {
    let items = field.list_up_to(REQUIREMENTS_MAX).unwrap_or_default();
    items.iter().filter_map(requirement).collect()
}

fn requirement(item: &Field<'_>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key_field = fields.require("key");
    let key = key_field.as_ref().and_then(Field::text_not_empty);
    let operator = fields.require("operator").and_then(|field| field.choice(Words::WORDS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    fields.done();
    let (key, operator, values) = (key?, operator?, values?);
    if let Some(rule) = values_rule(key, operator, &values) {
        item.complain(rule);
        return None;
    }
    if operator == Operator::NotIn && values.is_empty() {
        item.complain("operator NotIn needs at least one value");
        return None;
    }
    if !id::is_qualified_name(key) {
        item.complain_unusable(format!("`{key}` is not a label key"));
    }
    if let Some(bad) = values.iter().find(|value| !id::is_label_value(value)) {
        item.complain_unusable(format!("`{bad}` is not a label value"));
    }
    item.accept(Requirement::new(key, operator, values))
}

/// What becomes of the price: `Some(None)` where the overlay says nothing of it.
#[expect(clippy::option_option, reason = "no change and no readable change are two things")]
fn price(spec: &mut Fields<'_>) -> Option<Option<PriceChange>> {
    let (price, adjustment) = (spec.get("price"), spec.get("priceAdjustment"));
    match (price, adjustment) {
        (None, None) => Some(None),
        (Some(_), Some(field)) => {
            field.complain("must not be there together with `price`");
            None
        }
        (Some(field), None) => {
            let text = field.text()?;
            let price = field.accept(HourlyPrice::parse_dollars(text))?;
            Some(Some(PriceChange::Absolute(price)))
        }
        (None, Some(field)) => {
            let text = field.text()?;
            let change = adjustment_of(text);
            if change.is_none() {
                field.complain(format!(
                    "`{text}` is not a change of a price: it must be such as `+0.5`, `-2`, `+10%` \
                     or `-10%`, and no less than `-100%`"
                ));
            }
            change.map(Some)
        }
    }
}

/// `+1.5`, `-2`, `+10%`: a sign is required.
fn adjustment_of(text: &str) -> Option<PriceChange> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    match rest.strip_suffix('%') {
        None => Some(PriceChange::Added(sign * billionths(rest)?)),
        Some(percent) => {
            let percent = billionths(percent)?;
            // Of a billion billionths a percent is ten million.
            let scaled = i64::try_from(i128::from(percent) * i128::from(PERCENT) / NANOS).ok()?;
            let is_within = sign > 0 || i128::from(scaled) <= NANOS;
            is_within.then_some(PriceChange::Scaled(sign * scaled))
        }
    }
}

/// Billionths in one.
const NANOS: i128 = 1_000_000_000;

/// An unsigned decimal number in billionths.
fn billionths(text: &str) -> Option<i64> {
    i64::try_from(HourlyPrice::parse_dollars(text).ok()?.nanos()).ok()
}

fn capacity(field: &Field<'_>) -> Option<Resources> {
    for (key, value) in field.entries()? {
        if NOT_EXTENDED.contains(&key) {
            value.complain(format!("`{key}` cannot be changed by an overlay"));
        }
    }
    Some(container::resources_of(&container::amounts(field)?))
}
