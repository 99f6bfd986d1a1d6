//! What holds of every plan.

use std::collections::BTreeMap;

use model::{Pod, PodKey, Resources};
use proptest::prelude::*;

use super::*;

const SELECTORS: [&[&str]; 5] = [
    &[],
    &["kubernetes.io/arch=arm64"],
    &["topology.kubernetes.io/zone=zone-1"],
    &["team=a"],
    &["team!=a"],
];

fn pods() -> impl Strategy<Value = Vec<Pod>> {
    let entry = (0_usize..SELECTORS.len(), 1_u32..60, 1_u32..40, 0_u8..10, 1_usize..6);
    proptest::collection::vec(entry, 0..12).prop_map(|entries| {
        let workload = |(index, (selector, cpu, memory, gpu, count)): (usize, _)| {
            let gpu = if gpu == 0 { "example.com/gpu=1" } else { "" };
            let requests = format!("cpu={}m memory={}Mi {gpu}", cpu * 100, memory * 200);
            let selectors: &[&str] = SELECTORS[selector];
            replicas(&format!("w{index}"), count, &with_terms(&requests, &[selectors]))
        };
        entries.into_iter().enumerate().flat_map(workload).collect()
    })
}

fn world(pods: Vec<Pod>, daemons: bool, limit: Option<u32>) -> Facts {
    let mut facts = facts(pods);
    facts.node_pools.push(node_pool("teams"));
    facts.node_pools[1].template.labels.insert("team".to_owned(), "a".to_owned());
    facts.node_pools[1].weight = 5;
    if let Some(limit) = limit {
        facts.node_pools[1].limits = limits(&format!("cpu={limit}"));
    }
    if daemons {
        facts.daemon_sets = vec![daemon_set("logs cpu=300m memory=100Mi")];
    }
    add_node(&mut facts, node("own cpu=3 memory=6Gi pods=4"));
    facts
}

/// Every pod and how often the plan names it.
fn places(plan: &Plan) -> BTreeMap<PodKey, usize> {
    let created = plan.new_claims.iter().flat_map(|new| &new.claim.pods);
    let placed = plan.placements.iter().flat_map(|placement| &placement.pods);
    let unplaced = plan.unplaced.iter().map(|unplaced| &unplaced.pod);
    let mut pod_keys = BTreeMap::new();
    for key in created.chain(placed).chain(unplaced) {
        *pod_keys.entry(key.clone()).or_default() += 1;
    }
    pod_keys
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_pod_is_in_one_place_and_no_claim_is_too_small(
        pods in pods(), daemons: bool, limit in proptest::option::of(0_u32..40),
    ) {
        let facts = world(pods, daemons, limit);
        let plan = provision(&facts);
        prop_assert_eq!(&provision(&facts), &plan);
        let once: BTreeMap<PodKey, usize> =
            facts.pods.iter().map(|pod| (pod.key.clone(), 1)).collect();
        prop_assert_eq!(places(&plan), once);
        let types = default_types();
        let requests: BTreeMap<&PodKey, &Resources> =
            facts.pods.iter().map(|pod| (&pod.key, &pod.spec.requests)).collect();
        for new in &plan.new_claims {
            let claim = &new.claim;
            let mut sum = Resources::default();
            for pod in &new.claim.pods {
                sum = sum.saturating_add(requests[pod]);
            }
            for daemon in &facts.daemon_sets {
                sum = sum.saturating_add(&daemon.spec.requests);
            }
            prop_assert_eq!(&sum, &claim.requests);
            prop_assert!(!claim.instance_types.is_empty());
            for name in claim.instance_types.iter() {
                let instance_type = types.iter().find(|known| known.name == *name).unwrap();
                prop_assert!(sum.fits_in(&instance_type.allocatable()), "{} on {name}", sum);
                prop_assert!(instance_type.requirements.intersects(&claim.requirements).is_ok());
                prop_assert!(instance_type.cheapest(&claim.requirements).is_some());
            }
            prop_assert!(sum.fits_in(&claim.allocatable));
        }
    }

    #[test]
    fn the_order_in_which_pods_are_listed_changes_nothing(pods in pods(), seed in 0_usize..1_000) {
        let facts = world(pods, false, None);
        let mut other = facts.clone();
        if !other.pods.is_empty() {
            let middle = seed % other.pods.len();
            other.pods.rotate_left(middle);
        }
        prop_assert_eq!(provision(&facts), provision(&other));
    }

    #[test]
    fn a_pool_of_less_weight_never_takes_a_place_away(pods in pods()) {
        let facts = world(pods, false, Some(20));
        let mut more = facts.clone();
        more.node_pools.push(node_pool("zzz"));
        more.node_pools[0].weight = 1;
        let unplaced = |facts: &Facts| provision(facts).unplaced.len();
        let mut fewer = facts.clone();
        fewer.node_pools[0].weight = 1;
        prop_assert!(unplaced(&more) <= unplaced(&fewer));
    }

    #[test]
    fn limits_are_never_overrun(pods in pods(), limit in 0_u32..60) {
        let facts = world(pods, false, Some(limit));
        let types = default_types();
        let largest = |names: &[model::InstanceTypeName]| {
            let filter = types.iter().filter(|instance_type| names.contains(&instance_type.name));
            filter.map(|instance_type| instance_type.capacity.cpu.0).max().unwrap_or_default()
        };
        let plan = provision(&facts);
        let teams = plan.new_claims.iter().filter(|p| p.claim.node_pool.as_str() == "teams");
        let sum: u64 = teams.map(|new| largest(&new.claim.instance_types)).sum();
        prop_assert!(sum <= u64::from(limit) * 1_000);
    }
}
