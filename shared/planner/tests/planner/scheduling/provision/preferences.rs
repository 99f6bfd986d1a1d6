//! Rows RX of the specification, and MV, RS, IF12, DS7, BF and OV where a plan shows them: preferences
//! that are relaxed, and what few nodes have.

use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    CapacityType, LabelKey, Offering, Requirement, Reservation,
    buffer::{BufferTarget, CapacityBuffer},
    eviction::{CountOrPercent, PodDisruptionBudget},
    labels::{CAPACITY_TYPE, DO_NOT_DISRUPT, MIN_VALUES_RELAXED, ZONE},
    overlay::{NodeOverlay, PriceChange},
    policies::{MinValuesPolicy, PreferencePolicy},
    selector::LabelSelector,
    topology::Weighted,
};

use super::*;

fn preference(weight: u32, term: &[&str]) -> Weighted<Vec<Requirement>> {
    Weighted { weight, term: term.iter().map(|text| requirement(text)).collect() }
}

/// A pod that requires and preferences these zones, and the zones that its claim gets.
#[track_caller]
fn check_zone(required: &[&str], preferences: &[(u32, &[&str])], expected: &str) {
    let selector = requirements(&required.join(" "));
    let preferred_terms =
        preferences.iter().map(|(weight, term)| preference(*weight, term)).collect();
    let pod_spec = PodSpec { node_selector: selector, preferred_terms, ..spec("cpu=1") };
    let plan = provision(&facts(vec![pending("a", pod_spec)]));
    let zone = plan.new_claims[0].claim.requirements.get(ZONE).cloned();
    let zone = zone.filter(|zone| !zone.values().is_empty());
    assert_eq!(zone.map_or_else(|| "any".to_owned(), |zone| zone.to_string()), expected);
}

const ONE: &str = "topology.kubernetes.io/zone=zone-1";
const TWO: &str = "topology.kubernetes.io/zone=zone-2";
const NOWHERE: &str = "topology.kubernetes.io/zone=nowhere";

#[test]
fn preferences_that_cannot_be_had_are_relaxed() {
    check_zone(&[], &[(1, &[NOWHERE]), (2, &[NOWHERE])], "any");
    check_zone(&[TWO], &[(1, &[ONE])], "topology.kubernetes.io/zone In [zone-2]");
    check_zone(&[], &[(1, &[ONE, TWO])], "any");
}

#[test]
fn the_heaviest_preference_is_tried_first_and_the_first_that_can_be_had_counts() {
    check_zone(&[], &[(1, &[TWO]), (50, &[ONE])], "topology.kubernetes.io/zone In [zone-1]");
    check_zone(&[], &[(1, &[TWO]), (50, &[NOWHERE])], "topology.kubernetes.io/zone In [zone-2]");
    let both = "topology.kubernetes.io/zone=zone-1,zone-2";
    check_zone(&[both], &[(1, &[TWO])], "topology.kubernetes.io/zone In [zone-2]");
}

#[test]
fn a_single_required_term_is_never_relaxed() {
    let plan = provision(&facts(vec![pending("a", with_terms("cpu=1", &[&[NOWHERE]]))]));
    assert_eq!(plan.unplaced.len(), 1);
    let plan = provision(&facts(vec![pending("a", with_terms("cpu=1", &[&[NOWHERE], &[TWO]]))]));
    assert!(plan.unplaced.is_empty());
}

#[test]
fn a_soft_taint_is_the_last_preference_to_be_relaxed() {
    let mut facts = facts(pods("a cpu=1 prefer:team=soft"));
    facts.node_pools.push(node_pool("soft weight:50 team=soft taint:soft=x:PreferNoSchedule"));
    // Rather without the preference than on the taint.
    assert_eq!(provision(&facts).new_claims[0].claim.node_pool.as_str(), "general");
    facts.node_pools.remove(0);
    let plan = provision(&facts);
    assert_eq!(plan.new_claims[0].claim.node_pool.as_str(), "soft");
    assert_eq!(plan.new_claims[0].claim.taints.len(), 1);
}

#[test]
fn a_pool_without_a_soft_taint_is_preferred() {
    let mut facts = facts(pods("a cpu=1"));
    facts.node_pools.push(node_pool("zz-soft taint:soft=x:PreferNoSchedule"));
    assert_eq!(provision(&facts).new_claims[0].claim.node_pool.as_str(), "general");
}

fn app() -> PodSpec {
    spec("app=a cpu=100m")
}

#[test]
fn ignored_preferences_change_nothing() {
    for words in [
        "prefer:zone=zone-1",
        "spread:zone:app=a:soft",
        "spread:host:app=a:soft",
        "away:zone:app=a:weight=1",
        "away:host:app=a:weight=1",
        "near:zone:app=a:weight=1",
    ] {
        let mut world = facts(pods(&format!("a x4 app=a cpu=100m {words}")));
        world.policies.preferences = PreferencePolicy::Ignore;
        let plain = provision(&facts(replicas("a", 4, &app())));
        let plan = provision(&world);
        assert_eq!(shown(&plan), shown(&plain), "{words}");
        assert_eq!(plan.new_claims[0].claim.requirements, plain.new_claims[0].claim.requirements);
    }
}

/// Pods that take port 80.
fn listening(count: usize) -> Vec<model::Pod> {
    pods(&format!("p x{count} cpu=100m port:80"))
}

#[test]
fn one_port_is_on_different_nodes() {
    let mut facts = facts(listening(3));
    add_node(&mut facts, node("own cpu=8 memory=8Gi pods=50"));
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.placements[0].pods.len()), (2, 1));
    let mut bound = listening(1).remove(0);
    bound.node = Some("own".parse().unwrap());
    bound.phase = model::pod::PodPhase::Running;
    bound.key = pod_key("bound");
    facts.pods.push(bound);
    assert_eq!(provision(&facts).new_claims.len(), 3);
}

#[test]
fn a_port_of_a_daemon_is_taken_where_the_daemon_runs() {
    let mut facts = facts(listening(1));
    facts.daemon_sets = vec![daemon_set("proxy cpu=10m port:80 select:arch=amd64")];
    let plan = provision(&facts);
    let names: Vec<&str> = plan.new_claims[0]
        .claim
        .instance_types
        .iter()
        .map(model::InstanceTypeName::as_str)
        .collect();
    assert_eq!(names, ["t.arm"]);
}

#[test]
fn min_values_are_lowered_only_by_policy() {
    let mut facts = facts(pods("a cpu=1"));
    let key = LabelKey::new("node.kubernetes.io/instance-type").unwrap();
    let names = ["t.small", "t.medium"].map(Arc::<str>::from).into();
    let wanted = Requirement::listed(key.clone(), names).with_min_values(Some(3));
    facts.node_pools[0].template.requirements.add(wanted);
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (0, 1));
    facts.policies.min_values = MinValuesPolicy::BestEffort;
    let plan = provision(&facts);
    let claim = &plan.new_claims[0].claim;
    let lowered = claim.requirements.get(key.as_str()).and_then(Requirement::min_values);
    assert_eq!((claim.instance_types.len(), lowered), (2, Some(2)));
    assert_eq!(claim.annotations.get(MIN_VALUES_RELAXED).map(String::as_str), Some("true"));
}

/// Gives `t.small` the reservation `cr-1` with this number of instances, in zone 1.
fn reserve(facts: &mut Facts, count: u32) {
    let mut types = default_types();
    let small =
        types.iter_mut().find(|instance_type| instance_type.name.as_str() == "t.small").unwrap();
    small.offerings.push(Offering {
        zone: "zone-1".parse().unwrap(),
        zone_id: None,
        capacity_type: CapacityType::Reserved,
        price: model::HourlyPrice::from_nanos(1),
        is_available: true,
        reservation: Some(Reservation {
            id: "cr-1".parse().unwrap(),
            kind: "default".to_owned(),
            interruptible: false,
            count,
        }),
    });
    let kinds = requirement("paid=spot,on-demand,reserved");
    small.requirements.replace(kinds);
    let id = "karpenter.k8s.aws/capacity-reservation-id=cr-1";
    small.requirements.replace(requirement(id));
    offer(facts, types);
}

fn apart(count: usize) -> Vec<model::Pod> {
    pods(&format!("a x{count} app=a cpu=100m away:host:app=a"))
}

#[test]
fn reserved_capacity_is_taken_first_and_once() {
    let mut facts = facts(apart(2));
    reserve(&mut facts, 1);
    let plan = provision(&facts);
    let kind = plan.new_claims[0].claim.requirements.get(CAPACITY_TYPE).unwrap().clone();
    assert_eq!(kind.single_value().map(|kind| &**kind), Some("reserved"));
    // The other one waits: it could have it, and does not.
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (1, 1));
    reserve(&mut facts, 2);
    assert_eq!(provision(&facts).new_claims.len(), 2);
    // None left: it goes elsewhere.
    reserve(&mut facts, 0);
    facts.policies.reserved_capacity = false;
    assert_eq!(provision(&facts).new_claims.len(), 2);
}

#[test]
fn an_unlaunched_claim_on_a_reservation_counts_until_it_is_launched() {
    let mut facts = facts(apart(1));
    reserve(&mut facts, 1);
    let created = provision(&facts).new_claims[0].claim.clone();
    // EC2 still says that one is left.
    let mut later = self::facts(apart(2));
    reserve(&mut later, 1);
    later.ledger.claims.insert(created.name.clone(), created);
    let plan = provision(&later);
    let is_reserved =
        |new: &model::plan::NewClaim| new.cheapest.capacity_type == CapacityType::Reserved;
    assert!(!plan.new_claims.iter().any(is_reserved), "it was created already");
}

#[test]
fn a_launch_into_a_reservation_counts_until_ec2_has_counted_it() {
    for (age, is_left) in [(14, false), (15, true)] {
        let mut facts = facts(apart(1));
        reserve(&mut facts, 1);
        let mut claim = add_managed(&mut facts, "old");
        claim.labels.insert(model::labels::RESERVATION_ID.to_owned(), "cr-1".to_owned());
        let instance = claim.instance.as_mut().unwrap();
        instance.capacity_type = CapacityType::Reserved;
        instance.launched_at = now() - SignedDuration::from_secs(age);
        let old = claim.node.clone().unwrap();
        facts.ledger.claims.insert(claim.name.clone(), claim);
        // What it is for runs there.
        facts.pods.push(running("first", old.as_str(), app()));
        let plan = provision(&facts);
        let mut created = plan.new_claims.iter().map(|new| new.cheapest.capacity_type);
        let is_reserved = created.any(|kind| kind == CapacityType::Reserved);
        assert_eq!(is_reserved, is_left, "{age} s after the launch");
    }
}

#[test]
fn pods_share_a_reserved_node() {
    let mut facts = facts(replicas("a", 3, &app()));
    reserve(&mut facts, 1);
    let plan = provision(&facts);
    assert_eq!((plan.new_claims.len(), plan.unplaced.len()), (1, 0));
}

#[test]
fn pods_of_a_buffer_are_placed_like_others() {
    let mut facts = facts(pods("a cpu=1"));
    facts.policies.capacity_buffer = true;
    facts.surroundings.capacity_buffers = vec![CapacityBuffer {
        namespace: "default".parse().unwrap(),
        name: "spare".parse().unwrap(),
        uid: "uid-spare".parse().unwrap(),
        replicas: Some(2),
        percentage: None,
        limits: std::collections::BTreeMap::new(),
        target: BufferTarget::Template(Arc::new(spec("cpu=1"))),
    }];
    let plan = provision(&facts);
    let mut names: Vec<&str> = plan
        .new_claims
        .iter()
        .flat_map(|new| &new.claim.pods)
        .map(|pod| pod.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "capacity-buffer-spare-1", "capacity-buffer-spare-2"]);
    // A pod that asks for the same comes before them.
    add_node(&mut facts, node("own cpu=1 memory=4Gi pods=10"));
    assert_eq!(shown(&provision(&facts)).lines().last(), Some("own: a"));
}

#[test]
fn prices_and_capacity_are_those_of_overlays() {
    let mut facts = facts(pods("a cpu=1 example.com/fuse=1"));
    facts.surroundings.node_overlays = vec![NodeOverlay {
        name: "fuse".parse().unwrap(),
        weight: 0,
        requirements: requirements("type=t.medium"),
        price: Some(PriceChange::Absolute(model::HourlyPrice::from_nanos(7))),
        capacity: Some(resources("example.com/fuse=1")),
        problems: Vec::new(),
    }];
    assert_eq!(provision(&facts).unplaced.len(), 1);
    facts.policies.node_overlay = true;
    let plan = provision(&facts);
    let new = &plan.new_claims[0];
    assert_eq!((new.claim.instance_types.len(), new.price.nanos()), (1, 7));
    for key in ["karpenter.sh/price-overlay-applied", "karpenter.sh/capacity-overlay-applied"] {
        assert_eq!(new.claim.annotations.get(key).map(String::as_str), Some("true"), "{key}");
    }
}

/// A node is taken in two minutes, whatever its pods say.
#[test]
fn pods_that_are_made_to_leave_soon_get_a_new_place() {
    let protected = |grace| {
        let mut pod = running("stays", "old", app());
        let spec = Arc::make_mut(&mut pod.spec);
        spec.annotations.insert(DO_NOT_DISRUPT.to_owned(), "true".to_owned());
        spec.termination_grace_seconds = grace;
        pod
    };
    for (seconds, grace, places) in
        [(None, 30, 0), (Some(120), 0, 1), (Some(150), 30, 1), (Some(151), 30, 0), (Some(0), 30, 1)]
    {
        let mut facts = facts(Vec::new());
        let claim = add_managed(&mut facts, "old");
        let mut deleted = claim.deleted(model::DeletionReason::SpotInterrupted, now());
        let deadline = seconds.map(|seconds| now() + SignedDuration::from_secs(seconds));
        deleted.deletion.as_mut().unwrap().deadline = deadline;
        facts.ledger.claims.insert(claim.name, deleted);
        facts.pods.push(protected(grace));
        assert_eq!(provision(&facts).new_claims.len(), places, "{seconds:?} {grace}");
    }
}

#[test]
fn pods_that_no_budget_ever_lets_go_get_no_new_place() {
    let of = |max_unavailable| PodDisruptionBudget {
        key: pod_key("budget"),
        selector: Some(LabelSelector::of_labels([("app", "a")])),
        min_available: None,
        max_unavailable: Some(max_unavailable),
        always_allows_unhealthy: false,
        disruptions_allowed: 0,
    };
    let (none, pod_disruption_budget) =
        (of(CountOrPercent::Count(0)), of(CountOrPercent::Count(1)));
    let budget = PodDisruptionBudget {
        min_available: Some(CountOrPercent::Percent(100)),
        max_unavailable: None,
        ..pod_disruption_budget.clone()
    };
    let lenient = PodDisruptionBudget { always_allows_unhealthy: true, ..none.clone() };
    for (budgets, places) in [
        (vec![], 1),
        (vec![pod_disruption_budget.clone()], 1),
        (vec![none], 0),
        (vec![of(CountOrPercent::Percent(0))], 0),
        (vec![budget], 0),
        (vec![pod_disruption_budget.clone(), pod_disruption_budget], 0),
        (vec![lenient], 1),
    ] {
        let mut facts = facts(Vec::new());
        let claim = add_managed(&mut facts, "old");
        let deleted = claim.deleted(model::DeletionReason::Expired, now());
        facts.ledger.claims.insert(claim.name, deleted);
        facts.pods.push(running("moves", "old", app()));
        facts.surroundings.disruption_budgets.clone_from(&budgets);
        assert_eq!(provision(&facts).new_claims.len(), places, "{budgets:?}");
    }
}
