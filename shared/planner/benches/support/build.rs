//! Model objects for benchmarks, in few words.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use model::{
    InstanceType, LabelKey, NodePoolName, Pod, PodKey, PodSpec, Requirement, Requirements,
    ResourceName, Resources,
    facts::{ClassOffer, Facts},
    ledger::{Counters, Head, Snapshot},
    node_pool::{Disruption, Limits, NodeClaimTemplate, NodePool},
    pod::PodPhase,
    selector::LabelSelector,
    topology::{NodeInclusionPolicy, PodAffinityTerm, SpreadConstraint, WhenUnsatisfiable},
};

/// The present of all benchmarks.
pub(crate) fn now() -> Timestamp {
    "2026-08-01T12:00:00Z".parse().unwrap()
}

/// `cpu=100m memory=1Gi`; a pod's requests have `pods=1` as well.
pub(crate) fn resources(text: &str) -> Resources {
    let mut resources = Resources::default();
    for part in text.split_whitespace() {
        let (name, amount) = part.split_once('=').unwrap();
        resources.set_quantity(&ResourceName::new(name).unwrap(), amount).unwrap();
    }
    resources
}

/// Requirements that list values: `key=a,b`.
pub(crate) fn listed(key: &str, values: &[&str]) -> Requirement {
    Requirement::new(key, model::Operator::In, values.iter().copied()).unwrap()
}

/// Labels from pairs.
pub(crate) fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A hard spread, or a soft one.
pub(crate) fn spread(key: &str, selector: (&str, &str), hard: bool) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: LabelKey::new(key).unwrap(),
        max_skew: 1,
        min_domains: None,
        when_unsatisfiable: if hard {
            WhenUnsatisfiable::DoNotSchedule
        } else {
            WhenUnsatisfiable::ScheduleAnyway
        },
        selector: Some(LabelSelector::of_labels([selector])),
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

/// Pods with the label, in the same place.
pub(crate) fn affinity(key: &str, selector: (&str, &str)) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: LabelKey::new(key).unwrap(),
        selector: Some(LabelSelector::of_labels([selector])),
        namespaces: std::collections::BTreeSet::new(),
        namespace_selector: None,
    }
}

/// A pod that waits for a node.
pub(crate) fn pending(name: &str, spec: Arc<PodSpec>) -> Pod {
    let key = PodKey { namespace: "default".parse().unwrap(), name: name.parse().unwrap() };
    Pod {
        key,
        uid: format!("uid-{name}").parse().unwrap(),
        created_at: now() - SignedDuration::from_secs(60),
        deleted_at: None,
        phase: PodPhase::Pending,
        started_at: None,
        unschedulable_at: Some(now() - SignedDuration::from_secs(30)),
        node: None,
        nominated_node: None,
        owner: None,
        is_ready: false,
        volumes: Vec::new(),
        spec,
    }
}

/// A pool without requirements that may have everything, and the types that its class offers.
pub(crate) fn facts(mut types: Vec<Arc<InstanceType>>) -> Facts {
    types.sort_by(|a, b| a.name.cmp(&b.name));
    let pool = NodePool {
        name: NodePoolName::new("default").unwrap(),
        annotations: BTreeMap::new(),
        weight: 0,
        replicas: None,
        limits: limits("cpu=10000000 memory=10000000Gi"),
        template: NodeClaimTemplate {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            node_class: "default".parse().unwrap(),
            requirements: Requirements::default(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            expire_after: Some(SignedDuration::from_hours(720)),
            termination_grace_period: None,
        },
        disruption: Disruption::default(),
        is_deleting: false,
        problems: Vec::new(),
    };
    let head = Head { counters: Counters { arrivals: 7, departures: 0 }, ..Head::default() };
    let ledger = Snapshot { head, ..Snapshot::default() };
    let offer = ("default".parse().unwrap(), ClassOffer::Ready(types));
    Facts {
        node_pools: vec![pool],
        classes: Some(BTreeMap::from([offer])),
        ..Facts::of("bench".parse().unwrap(), now(), ledger)
    }
}

fn limits(text: &str) -> Limits {
    let limit = |part: &str| {
        let name = ResourceName::new(part.split_once('=').unwrap().0).unwrap();
        let amount = resources(part).get(name.as_str());
        (name, amount)
    };
    Limits(text.split_whitespace().map(limit).collect())
}
