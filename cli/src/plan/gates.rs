//! Policies and feature gates, as Karpenter's own flags have them.
//!
//! Karpenter: `pkg/operator/options/options.go`.

use model::{
    HourlyPrice, labels,
    node_pool::{self, NodePool},
    policies::{self, Policies},
};
use report::error::BadInput;

use crate::args::{MinValuesPolicyFlag, PackingFlag, PlanArgs, PreferencePolicyFlag};

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
        packing: packing(args.packing),
        node_charge: node_charge(args.node_charge.as_deref())?.unwrap_or_default(),
        dollars_per_hour_max: dollars(
            "--max-dollars-per-hour",
            args.max_dollars_per_hour.as_deref(),
        )?,
        legacy_node_repair: args.legacy_node_repair,
        ..Policies::default()
    };
    set(&mut policies, &args.feature_gates)?;
    Ok(policies)
}

/// What `--node-charge` says.
pub(crate) fn node_charge(text: Option<&str>) -> Result<Option<HourlyPrice>, BadInput> {
    dollars("--node-charge", text)
}

fn dollars(option: &str, text: Option<&str>) -> Result<Option<HourlyPrice>, BadInput> {
    let price = text.map(HourlyPrice::parse_dollars).transpose();
    price.map_err(|error| BadInput::one(format!("{option}: {error}")))
}

/// Has each of `pools` that does not say it itself say how much of it one node may hold.
pub(super) fn share_nodes(pools: &mut [NodePool], text: &str) -> Result<(), BadInput> {
    if node_pool::parse_share(text).is_none() {
        let rule = "must be a whole number of per cent from 1% to 100%";
        return Err(BadInput::one(format!("--max-node-share: `{text}` {rule}")));
    }
    for pool in pools {
        let said = pool.annotations.entry(labels::MAX_NODE_SHARE.to_owned());
        said.or_insert_with(|| text.to_owned());
    }
    Ok(())
}

/// How pods are packed.
pub(crate) const fn packing(flag: PackingFlag) -> policies::Packing {
    match flag {
        PackingFlag::Karpenter => policies::Packing::Karpenter,
        PackingFlag::Cheapest => policies::Packing::Cheapest,
    }
}

/// Sets gates as `--feature-gates` says.
pub(crate) fn set(policies: &mut Policies, gates: &str) -> Result<(), BadInput> {
    let set = policies.set_gates(gates);
    set.map_err(|error| BadInput::one(format!("--feature-gates: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_gate_names_the_flag() {
        let args = PlanArgs { feature_gates: "Overlay=true".to_owned(), ..PlanArgs::default() };
        let error = policies(&args).unwrap_err().to_string();
        assert!(error.contains("--feature-gates: `Overlay=true`: there are"), "{error}");
    }
}
