//! Policies and feature gates, as Karpenter's own flags have them.
//!
//! Karpenter: `pkg/operator/options/options.go`.

use model::policies::{self, Policies};

use crate::{
    args::{MinValuesPolicyFlag, PlanArgs, PreferencePolicyFlag},
    manifests::BadInput,
};

/// How to decide.
pub(super) fn policies(args: &PlanArgs) -> Result<Policies, BadInput> {
    let mut policies = Policies {
        preferences: match args.preference_policy {
            PreferencePolicyFlag::Respect => policies::PreferencePolicy::Respect,
            PreferencePolicyFlag::Ignore => policies::PreferencePolicy::Ignore,
        },
        min_values: match args.min_values_policy {
            MinValuesPolicyFlag::Strict => policies::MinValuesPolicy::Strict,
            MinValuesPolicyFlag::BestEffort => policies::MinValuesPolicy::BestEffort,
        },
        legacy_node_repair: args.legacy_node_repair,
        ..Policies::default()
    };
    set(&mut policies, &args.feature_gates)?;
    Ok(policies)
}

/// Sets gates as `--feature-gates` says.
pub(crate) fn set(policies: &mut Policies, gates: &str) -> Result<(), BadInput> {
    for gate in gates.split(',').map(str::trim).filter(|gate| !gate.is_empty()) {
        let bad = |rule: &str| BadInput::one(format!("--feature-gates: `{gate}`: {rule}"));
        let (name, value) =
            gate.split_once('=').ok_or_else(|| bad("must be a name and `=true` or `=false`"))?;
        let is_on = match value.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "t" => true,
            "false" | "0" | "f" => false,
            _ => return Err(bad("must be `true` or `false`")),
        };
        let gate = gate_of(policies, name.trim()).ok_or_else(|| {
            bad("there are CapacityBuffer, NodeOverlay, NodeRepair, PodDeletionCostManagement, \
                 ReservedCapacity, SpotToSpotConsolidation, StaticCapacity, TerminateFirstDrift, \
                 TerminateFirstRepair")
        })?;
        *gate = is_on;
    }
    Ok(())
}

fn gate_of<'a>(policies: &'a mut Policies, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "CapacityBuffer" => &mut policies.capacity_buffer,
        "NodeOverlay" => &mut policies.node_overlay,
        "NodeRepair" => &mut policies.node_repair,
        "PodDeletionCostManagement" => &mut policies.pod_deletion_cost_management,
        "ReservedCapacity" => &mut policies.reserved_capacity,
        "SpotToSpotConsolidation" => &mut policies.spot_to_spot_consolidation,
        "StaticCapacity" => &mut policies.static_capacity,
        "TerminateFirstDrift" => &mut policies.terminate_first_drift,
        "TerminateFirstRepair" => &mut policies.terminate_first_repair,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(gates: &str) -> Result<Policies, BadInput> {
        policies(&PlanArgs { feature_gates: gates.to_owned(), ..PlanArgs::default() })
    }

    #[test]
    fn gates_are_karpenters() {
        assert_eq!(read(""), Ok(Policies::default()));
        let overlaid =
            Policies { node_overlay: true, reserved_capacity: false, ..Policies::default() };
        assert_eq!(read("NodeOverlay=true, ReservedCapacity=False,"), Ok(overlaid));
    }

    #[test]
    fn an_unknown_gate_is_refused_with_those_that_there_are() {
        let error = read("Overlay=true").unwrap_err().to_string();
        assert!(error.contains("`Overlay=true`") && error.contains("NodeOverlay"), "{error}");
        assert!(read("NodeOverlay").unwrap_err().to_string().contains("=true"), "no value");
        assert!(read("NodeOverlay=yes").unwrap_err().to_string().contains("`true`"), "no boolean");
    }
}
