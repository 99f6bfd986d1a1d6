//! Policies and feature gates, as Karpenter's own flags have them.
//!
//! Karpenter: `pkg/operator/options/options.go`.

use model::{
    HourlyPrice,
    policies::{self, Policies},
};

use crate::{
    args::{MinValuesPolicyFlag, PackingFlag, PlanArgs, PreferencePolicyFlag},
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
        packing: packing(args.packing),
        dollars_per_hour_max: args.max_dollars_per_hour.as_deref().map(dollars).transpose()?,
        legacy_node_repair: args.legacy_node_repair,
        ..Policies::default()
    };
    set(&mut policies, &args.feature_gates)?;
    Ok(policies)
}

fn dollars(text: &str) -> Result<HourlyPrice, BadInput> {
    let price = HourlyPrice::parse_dollars(text);
    price.map_err(|error| BadInput::one(format!("--max-dollars-per-hour: {error}")))
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
