//! Model objects for benchmarks, in few words.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    InstanceType, Pod, PodSpec, Requirement,
    facts::Facts,
    topology::{PodAffinityTerm, SpreadConstraint},
};
use testkit::build::{node_pool, pod, requirement, spec, term};

/// Requirements that list values: `key=a,b`.
pub(crate) fn listed(key: &str, values: &[&str]) -> Requirement {
    requirement(&format!("{key}={}", values.join(",")))
}

/// Labels from pairs.
pub(crate) fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A hard spread, or a soft one.
pub(crate) fn spread(key: &str, (label, value): (&str, &str), hard: bool) -> SpreadConstraint {
    let soft = if hard { "" } else { ":soft" };
    spec(&format!("spread:{key}:{label}={value}{soft}")).spread.remove(0)
}

/// Pods with the label, in the same place.
pub(crate) fn affinity(key: &str, (label, value): (&str, &str)) -> PodAffinityTerm {
    term(&format!("{key}:{label}={value}"))
}

/// A pending pod without a controller.
pub(crate) fn pending(name: &str, spec: Arc<PodSpec>) -> Pod {
    Pod { spec, owner: None, ..pod(name) }
}

/// A pool without requirements that may have everything, and the types that its class offers.
pub(crate) fn facts(types: Vec<Arc<InstanceType>>) -> Facts {
    let pool = node_pool("default limit:cpu=10000000 limit:memory=10000000Gi");
    Facts { node_pools: vec![pool], ..testkit::build::facts(types) }
}
