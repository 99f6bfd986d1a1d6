//! When nodes may be consolidated, and when they have drifted (CO01–CO09, DD01–DD29).

use jiff::SignedDuration;
use model::{
    CapacityType, ClaimPhase, NodeName, Offering, Reservation, Zone,
    disruption::Method,
    facts::Facts,
    labels,
    static_hash::{NODE_CLASS, NODE_POOL},
};
use planner::{
    disruption::{Options, conditions::*, nodes::State},
    index::id::Id,
    scheduling::what_if::{Trial, World},
};

use crate::planner::support::cluster::*;

use CapacityType::{OnDemand, Reserved, Spot};

/// Whether the only node, with one pod, may be consolidated.
#[track_caller]
fn check(change: impl Fn(&mut Facts), expected: bool) {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=1")];
    facts.node_pools[0].disruption.consolidate_after = Some(SignedDuration::from_mins(10));
    claim(&mut facts, "a").conditions.is_consolidatable = None;
    change(&mut facts);
    let eligible = ask(&facts, Method::SingleNode).eligible;
    assert_eq!(!eligible.is_empty(), expected, "{}", why(&facts, Method::SingleNode, "a"));
}

fn quiet(pod_event: Option<i64>, initialized: i64) -> impl Fn(&mut Facts) {
    move |facts| {
        let claim_conditions = &mut claim(facts, "a").conditions;
        claim_conditions.last_pod_event_at = pod_event.map(ago);
        claim_conditions.initialized_at = Some(ago(initialized));
    }
}

#[test]
fn a_node_may_be_consolidated_when_nothing_happened_for_long_enough() {
    check(quiet(Some(600), 3_000), true);
    check(quiet(Some(599), 3_000), false);
    check(quiet(None, 600), true);
    check(quiet(None, 599), false);
    check(quiet(Some(600), 10), true);
}

#[test]
fn never_is_never_and_what_the_cluster_says_counts() {
    check(|facts| facts.node_pools[0].disruption.consolidate_after = None, false);
    check(|facts| claim(facts, "a").conditions.is_consolidatable = Some(false), false);
    let said = |facts: &mut Facts| {
        quiet(Some(1), 1)(facts);
        claim(facts, "a").conditions.is_consolidatable = Some(true);
    };
    check(said, true);
    check(|facts| drop(node(facts, "a").labels.remove(labels::INITIALIZED)), false);
    check(|facts| facts.node_pools[0].replicas = Some(1), false);
}

#[test]
fn pods_are_moved_onto_a_node_only_when_it_has_settled() {
    let settling_after =
        |after: Option<i64>, change: &dyn Fn(&mut Facts)| {
            let mut facts = cluster(&[("a", "t.large"), ("b", "t.small")]);
            facts.node_pools[0].disruption.consolidate_after = after.map(SignedDuration::from_secs);
            facts.pods = vec![app("web", "b", "cpu=1")];
            change(&mut facts);
            let (without, settles_at) = ([&NodeName::new("b").unwrap()], Some(facts.now));
            let outcome = World::of(&facts, &planner::KnownTypes::default(), true)
                .without(&Trial { without: &without, settles_at, ..Trial::default() });
            outcome.placed.is_empty()
        };
    let settling = |after: Option<i64>, event: i64| {
        settling_after(after, &|facts| quiet(Some(event), 3_000)(facts))
    };
    assert!(settling(Some(600), 599));
    assert!(!settling(Some(600), 600));
    assert!(!settling(Some(0), 0));
    assert!(!settling(None, 0));
    // Of the functions' own claims the phase says when the node was initialized.
    let ours = |phase: ClaimPhase, since: i64| {
        settling_after(Some(600), &move |facts: &mut Facts| {
            let claim = claim(facts, "a");
            claim.conditions.last_pod_event_at = None;
            claim.conditions.initialized_at = None;
            (claim.phase, claim.phase_since) = (phase, ago(since));
        })
    };
    assert!(ours(ClaimPhase::Initialized, 599));
    assert!(!ours(ClaimPhase::Initialized, 600));
}

/// The reason for which the only node has drifted.
#[track_caller]
fn drifts(change: impl Fn(&mut Facts), expected: Option<&str>) {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods = vec![app("web", "a", "cpu=1")];
    let changed = claim(&mut facts, "a");
    changed.created_at = ago(7_200);
    changed.conditions.drifted = None;
    change(&mut facts);
    let options = Options::deployed();
    let state = State::of(&facts, facts.now, &options);
    let entry = &state.nodes[Id::nth(0)];
    let drifted = state.pool("general").and_then(|pool| drift(&state, entry, pool));
    assert_eq!(drifted.map(|(_, reason)| reason).as_deref(), expected);
}

fn hashes(
    pool: (&'static str, &'static str),
    entry: (&'static str, &'static str),
) -> impl Fn(&mut Facts) {
    move |facts| {
        let put = |(hash, version): (&str, &str)| {
            let entries = [(NODE_POOL.key, hash), (NODE_POOL.version_key, version)];
            let filter = entries.into_iter().filter(|(_, value)| !value.is_empty());
            filter.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        facts.node_pools[0].annotations = put(pool);
        claim(facts, "a").annotations = put(entry);
    }
}

#[test]
fn another_hash_of_the_same_version_is_drift() {
    drifts(hashes(("1", "v3"), ("2", "v3")), Some("NodePoolDrifted"));
    drifts(hashes(("1", "v3"), ("1", "v3")), None);
    drifts(hashes(("", "v3"), ("2", "v3")), None);
    drifts(hashes(("1", "v3"), ("", "v3")), None);
    drifts(hashes(("1", "v3"), ("2", "v2")), None);
    drifts(hashes(("1", "v3"), ("2", "")), None);
}

#[test]
fn another_hash_of_the_class_is_drift_unless_it_is_of_another_version() {
    let claimed = |hash: &'static str, version: &'static str| {
        move |facts: &mut Facts| {
            facts.class_hashes = Some([("default".parse().unwrap(), "1".to_owned())].into());
            let entries = [(NODE_CLASS.key, hash), (NODE_CLASS.version_key, version)];
            let texts = entries.map(|(key, value)| (key.to_owned(), value.to_owned()));
            claim(facts, "a").annotations = texts.into();
        }
    };
    drifts(claimed("2", "v6"), Some("NodeClassDrift"));
    drifts(claimed("1", "v6"), None);
    drifts(claimed("2", "v5"), None);
    let unknown = |facts: &mut Facts| {
        claimed("2", "v6")(facts);
        facts.class_hashes = None;
    };
    drifts(unknown, None);
    // What its pool says comes first.
    let both = |facts: &mut Facts| {
        claimed("2", "v6")(facts);
        let class = claim(facts, "a").annotations.clone();
        hashes(("1", "v3"), ("2", "v3"))(facts);
        claim(facts, "a").annotations.extend(class);
    };
    drifts(both, Some("NodePoolDrifted"));
}

#[test]
fn another_image_for_the_instance_type_is_drift() {
    let images = |selected: &'static str, launched: Option<&'static str>| {
        move |facts: &mut Facts| {
            let instance = claim(facts, "a").instance.as_mut().expect("an instance");
            instance.image = launched.map(|image| image.parse().unwrap());
            let of_types = [(instance.instance_type.clone(), selected.parse().unwrap())].into();
            facts.class_images = [("default".parse().unwrap(), of_types)].into();
        }
    };
    drifts(images("ami-2", Some("ami-1")), Some("AMIDrift"));
    drifts(images("ami-1", Some("ami-1")), None);
    drifts(images("ami-1", None), None);
    let of_another_type = |facts: &mut Facts| {
        images("ami-2", Some("ami-1"))(facts);
        let images = facts.class_images.values_mut().next().expect("a class");
        let image = images.pop_first().expect("an image").1;
        images.insert("t.other".parse().unwrap(), image);
    };
    drifts(of_another_type, None);
    let both = |facts: &mut Facts| {
        images("ami-2", Some("ami-1"))(facts);
        asks(&["team=a"])(facts);
    };
    drifts(both, Some("RequirementsDrifted"));
    let hash_too = |facts: &mut Facts| {
        images("ami-2", Some("ami-1"))(facts);
        hashes(("1", "v3"), ("2", "v3"))(facts);
    };
    drifts(hash_too, Some("NodePoolDrifted"));
}

fn asks(text: &'static [&'static str]) -> impl Fn(&mut Facts) {
    move |facts| facts.node_pools[0].template.requirements = requirements(&text.join(" "))
}

#[test]
fn labels_that_the_pool_no_longer_allows_are_drift() {
    let gone = Some("RequirementsDrifted");
    drifts(asks(&["karpenter.sh/capacity-type=spot"]), gone);
    drifts(asks(&["team=a"]), gone);
    drifts(asks(&["topology.kubernetes.io/zone=zone-2,zone-3"]), gone);
    drifts(asks(&["topology.kubernetes.io/zone=zone-1,zone-2"]), None);
    drifts(asks(&["topology.kubernetes.io/zone"]), None);
    drifts(asks(&["!topology.kubernetes.io/zone"]), gone);
    drifts(asks(&["!team", "team!=a"]), None);
    drifts(asks(&["karpenter.k8s.aws/instance-cpu>15"]), None);
    drifts(asks(&["karpenter.k8s.aws/instance-cpu>16"]), gone);
    drifts(asks(&["karpenter.k8s.aws/instance-cpu<17"]), None);
    drifts(asks(&["karpenter.k8s.aws/instance-cpu<16"]), gone);
}

#[test]
fn hash_comes_before_requirements_and_what_the_cluster_says_before_both() {
    let both = |facts: &mut Facts| {
        asks(&["team=a"])(facts);
        hashes(("1", "v3"), ("2", "v3"))(facts);
    };
    drifts(both, Some("NodePoolDrifted"));
    let said = |facts: &mut Facts| {
        both(facts);
        claim(facts, "a").conditions.drifted = Some("AMIDrift".to_owned());
    };
    drifts(said, Some("AMIDrift"));
    let unlaunched = |facts: &mut Facts| {
        both(facts);
        claim(facts, "a").instance = None;
    };
    drifts(unlaunched, None);
    let without_pool = |facts: &mut Facts| {
        both(facts);
        facts.node_pools.clear();
    };
    drifts(without_pool, None);
}

/// Lets `t.large` have only these kinds of offerings.
fn sold_as(facts: &mut Facts, kinds: &[CapacityType]) {
    let mut types = default_types();
    let large =
        types.iter_mut().find(|instance_type| instance_type.name.as_str() == "t.large").unwrap();
    let offering = large.offerings[0].clone();
    large.offerings = kinds
        .iter()
        .map(|kind| Offering {
            capacity_type: *kind,
            is_available: false,
            reservation: (*kind == Reserved).then(|| Reservation {
                id: "cr-1".parse().unwrap(),
                kind: "default".to_owned(),
                interruptible: false,
                count: 1,
            }),
            ..offering.clone()
        })
        .collect();
    offer(facts, types);
}

#[test]
fn a_type_that_is_no_longer_offered_is_drift_once_the_claim_is_an_hour_old() {
    let gone = Some("InstanceTypeNotFound");
    let without = |facts: &mut Facts| {
        let types = default_types()
            .into_iter()
            .filter(|instance_type| instance_type.name.as_str() != "t.large");
        offer(facts, types.collect());
    };
    drifts(without, gone);
    let young = |facts: &mut Facts| {
        without(facts);
        claim(facts, "a").created_at = ago(3_600);
    };
    drifts(young, None);
    drifts(|facts| sold_as(facts, &[]), gone);
    drifts(|facts| sold_as(facts, &[OnDemand]), None);
    drifts(|facts| sold_as(facts, &[Spot]), gone);
    let elsewhere = |facts: &mut Facts| {
        asks(&[])(facts);
        claim(facts, "a").instance.as_mut().unwrap().zone = Zone::new("zone-9").unwrap();
        node(facts, "a").labels.insert(labels::ZONE.to_owned(), "zone-9".to_owned());
    };
    drifts(elsewhere, gone);
    for (kinds, expected) in [
        (&[Reserved, OnDemand][..], None),
        (&[Reserved], None),
        (&[OnDemand], None),
        (&[Spot], gone),
        (&[], gone),
    ] {
        let reserved = |facts: &mut Facts| {
            asks(&[])(facts);
            claim(facts, "a").instance.as_mut().unwrap().capacity_type = Reserved;
            let texts = &mut node(facts, "a").labels;
            texts.insert(labels::CAPACITY_TYPE.to_owned(), "reserved".to_owned());
            sold_as(facts, kinds);
        };
        drifts(reserved, expected);
    }
}
