//! What a request takes of a shared device.
//!
//! Karpenter: `pkg/scheduling/dynamicresources/consumable_capacity.go`.

use std::collections::BTreeMap;

use model::{
    Quantity,
    dynamic_resources::{DeviceCapacity, ValidAmounts},
};

/// Amounts in billionths of their units, by name.
pub(crate) type Amounts = BTreeMap<String, i128>;

/// The share of every capacity that a request takes; `None` if the device has none of a capacity that is asked for,
/// or if a policy forbids the share.
pub(crate) fn shares(
    capacity: &BTreeMap<String, DeviceCapacity>,
    asked: &BTreeMap<String, Quantity>,
) -> Option<BTreeMap<String, Quantity>> {
    if asked.keys().any(|name| !capacity.contains_key(name)) {
        return None;
    }
    let share = |(name, capacity): (&String, &DeviceCapacity)| {
        Some((name.clone(), share(capacity, asked.get(name).copied())?))
    };
    capacity.iter().map(share).collect()
}

fn share(capacity: &DeviceCapacity, asked: Option<Quantity>) -> Option<Quantity> {
    let Some(policy) = &capacity.policy else { return Some(asked.unwrap_or(capacity.value)) };
    let share = match (asked, &policy.valid) {
        (None, _) => policy.default.unwrap_or(capacity.value),
        (Some(asked), None) => asked,
        (Some(asked), Some(ValidAmounts::Range { min, .. })) if asked < *min => *min,
        (Some(asked), Some(ValidAmounts::Range { min, step, .. })) => match step {
            Some(step) => next_step(asked, *min, *step)?,
            None => asked,
        },
        (Some(asked), Some(ValidAmounts::Values(values))) => {
            values.iter().copied().find(|value| asked <= *value).unwrap_or(asked)
        }
    };
    let is_valid = policy.default == Some(share)
        || policy.valid.as_ref().is_none_or(|valid| is_valid(share, valid));
    is_valid.then_some(share)
}

/// The least of `min`, `min + step` and so on that is not below `asked`, in whole units as in Kubernetes.
fn next_step(asked: Quantity, min: Quantity, step: Quantity) -> Option<Quantity> {
    let (min, step) = (min.to_units(), step.to_units());
    let steps = asked.to_units().saturating_sub(min).checked_next_multiple_of(step)?;
    min.checked_add(steps).map(Quantity::from_units)
}

fn is_valid(share: Quantity, valid: &ValidAmounts) -> bool {
    match valid {
        ValidAmounts::Range { min, max, step } => {
            let above = share.to_units().saturating_sub(min.to_units());
            max.is_none_or(|max| share <= max)
                && step.is_none_or(|step| above.checked_rem(step.to_units()) == Some(0))
        }
        ValidAmounts::Values(values) => values.contains(&share),
    }
}
