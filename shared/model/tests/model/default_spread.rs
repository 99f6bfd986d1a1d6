//! Which pods belong together, and what pods without constraints get.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{
    Namespace, Pod, PodKey, PodSpec, buffer::*, default_spread::*, pod::Owner,
    selector::LabelSelector, topology::*,
};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn owner(api_version: &str, kind: &str, name: &str) -> Owner {
    Owner { api_version: api_version.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

fn replica_set() -> Owner {
    owner("apps/v1", "ReplicaSet", "web-1")
}

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).unwrap()
}

fn constraint(topology_key: &str) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: topology_key.parse().unwrap(),
        max_skew: 2,
        min_domains: Some(3),
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: None,
        node_affinity_policy: NodeInclusionPolicy::Ignore,
        node_taints_policy: NodeInclusionPolicy::Honor,
    }
}

fn default_spread() -> DefaultSpread {
    DefaultSpread { constraints: vec![constraint("zone"), constraint("rack")] }
}

fn pod(name: &str, of: &str, spec: &Arc<PodSpec>, owner: Option<Owner>) -> Pod {
    let key = PodKey { namespace: namespace(of), name: name.parse().unwrap() };
    let uid = name.parse().unwrap();
    let waiting = Pod::waiting(key, uid, Arc::clone(spec), Timestamp::UNIX_EPOCH);
    Pod { owner: owner.map(Arc::new), ..waiting }
}

fn spec(pairs: &[(&str, &str)]) -> Arc<PodSpec> {
    Arc::new(PodSpec { labels: labels(pairs), ..PodSpec::default() })
}

/// What a pod with the labels `app: web` and `tier: front` in the namespace `shop` counts by default.
fn deduced(selectors: &PodSelectors, owner: Option<Owner>) -> Option<LabelSelector> {
    let mut pods =
        [pod("a", "shop", &spec(&[("app", "web"), ("tier", "front"), ("build", "7")]), owner)];
    default_spread().apply(&mut pods, selectors);
    pods[0].spec.spread.first()?.selector.clone()
}

fn with_services(services: &[(&str, &[(&str, &str)])]) -> PodSelectors {
    let mut selectors = PodSelectors::default();
    for (of, selector) in services {
        selectors.add_service(namespace(of), labels(selector));
    }
    selectors
}

#[test]
fn the_selectors_of_all_services_that_select_the_pod_are_merged() {
    let selectors = with_services(&[
        ("shop", &[("app", "web")]),
        ("shop", &[("tier", "front")]),
        ("shop", &[("app", "other")]),
        ("shop", &[]),
        ("elsewhere", &[("build", "7")]),
    ]);
    let both = LabelSelector::of_labels([("app", "web"), ("tier", "front")]);
    assert_eq!(deduced(&selectors, None), Some(both));
}

#[test]
fn a_pod_that_nothing_selects_gets_no_constraint() {
    let nothing = with_services(&[("shop", &[("app", "other")]), ("shop", &[])]);
    assert_eq!(deduced(&nothing, None), None);
    // Its owner is gone, or of a kind that is not looked at.
    for owner in [replica_set(), owner("batch/v1", "Job", "web-1")] {
        assert_eq!(deduced(&nothing, Some(owner)), None);
    }
    // A selector that selects everything says nothing.
    let mut everything = PodSelectors::default();
    everything.add_controller(namespace("shop"), replica_set(), LabelSelector::default());
    assert_eq!(deduced(&everything, Some(replica_set())), None);
}

#[test]
fn the_selector_of_a_replica_set_holds_beside_those_of_services() {
    let mut selectors = with_services(&[("shop", &[("app", "web")])]);
    let of_set = LabelSelector::of_labels([("app", "api"), ("build", "7")]);
    selectors.add_controller(namespace("shop"), replica_set(), of_set.clone());
    let narrowed = deduced(&selectors, Some(replica_set())).unwrap();
    assert_eq!(
        narrowed,
        LabelSelector::of_labels([("app", "web")]).and("app", "api").and("build", "7")
    );
    assert!(!narrowed.selects(&labels(&[("app", "web"), ("build", "7")])), "it selects nothing");
    // A namesake of another kind or in another namespace is another controller.
    let alone = LabelSelector::of_labels([("app", "web")]);
    let others =
        [owner("apps/v1", "StatefulSet", "web-1"), owner("apps/v1", "ReplicaSet", "web-2")];
    for other in others {
        assert_eq!(deduced(&selectors, Some(other)), Some(alone.clone()));
    }
    let mut elsewhere = PodSelectors::default();
    elsewhere.add_controller(namespace("elsewhere"), replica_set(), of_set);
    assert_eq!(deduced(&elsewhere, Some(replica_set())), None);
}

#[test]
fn the_labels_of_a_replication_controller_replace_those_of_services() {
    let mut selectors = with_services(&[("shop", &[("app", "web"), ("tier", "front")])]);
    selectors.add_replication_controller(namespace("shop"), "old", labels(&[("app", "old")]));
    let old = owner("v1", "ReplicationController", "old");
    let merged = LabelSelector::of_labels([("app", "old"), ("tier", "front")]);
    assert_eq!(deduced(&selectors, Some(old)), Some(merged));
}

#[test]
fn constraints_are_given_as_they_are_configured_to_pods_without_their_own() {
    let selectors = with_services(&[("shop", &[("app", "web")])]);
    let web = spec(&[("app", "web")]);
    let constrained = Arc::new(PodSpec { spread: vec![constraint("host")], ..(*web).clone() });
    let mut pods = [
        pod("a", "shop", &web, None),
        pod("b", "shop", &web, None),
        pod("c", "elsewhere", &web, None),
        pod("d", "shop", &constrained, None),
    ];
    let before = pods.clone();
    DefaultSpread::default().apply(&mut pods, &selectors);
    assert_eq!(pods, before, "without default constraints");
    default_spread().apply(&mut pods, &selectors);
    let selector = Some(LabelSelector::of_labels([("app", "web")]));
    let expected = default_spread().constraints.into_iter();
    let expected: Vec<_> =
        expected.map(|it| SpreadConstraint { selector: selector.clone(), ..it }).collect();
    assert_eq!(pods[0].spec.spread, expected);
    assert!(Arc::ptr_eq(&pods[0].spec, &pods[1].spec), "pods that are alike share a spec");
    assert_eq!(pods[2..], before[2..]);
}

#[test]
fn a_buffer_keeps_room_by_the_constraints_that_its_pods_would_get() {
    let selectors = with_services(&[("shop", &[("app", "web")])]);
    let buffer = |target| CapacityBuffer {
        namespace: namespace("shop"),
        name: "spare".parse().unwrap(),
        uid: "u".parse().unwrap(),
        replicas: Some(1),
        percentage: None,
        limits: BTreeMap::new(),
        target,
    };
    let mut buffers = [
        buffer(BufferTarget::Template(spec(&[("app", "web")]))),
        buffer(BufferTarget::Workload(spec(&[("app", "other")]), 3)),
        buffer(BufferTarget::Missing("gone".to_owned())),
    ];
    let before = buffers.clone();
    default_spread().apply_to_buffers(&mut buffers, &selectors);
    let BufferTarget::Template(spread) = &buffers[0].target else { panic!("a template") };
    assert_eq!(spread.spread.len(), 2);
    assert_eq!(buffers[1..], before[1..]);
}
