//! M1 to M8 of `tests/fast/sim/failures.md`, those that a world can show.

use jiff::SignedDuration;
use model::Function;
use ports::Malformed;
use simulator::{Action, ApiAction, ClusterObject, Happening, Sim, WorldSettings};

use super::fleet::{deleting, fleet, has_initialized, workload};

#[test]
fn m1_launches_that_are_refused_back_off() {
    // The instance profile is not to be seen, though its class says nothing of it.
    let profile_visible_after = SignedDuration::from_hours(2);
    let mut fleet = fleet(WorldSettings { profile_visible_after, ..WorldSettings::default() }, 1);
    let before = fleet.sim.meter();
    let from = fleet.sim.timeline(0).len();
    fleet.scale(1);
    fleet.pass(1_800);
    let used = fleet.used_since(&before);
    let launches = used.answered(ApiAction::ec2("CreateFleet"));
    let timeline = fleet.sim.timeline(from);
    let created = timeline
        .iter()
        .filter(|event| matches!(event.happening, Happening::ClaimCreated { .. }))
        .count();
    let visits = used.invocations().get(&Function::Launch).map_or(0, |count| count.invocations);
    let story = format!(
        "{visits} visits, {launches} CreateFleet, {created} commits of claims in half an hour"
    );
    // Karpenter: from one second to one minute between two tries of one claim.
    assert!(launches <= 60 && created <= 12, "{story}");
}

#[test]
fn m2_a_node_that_cannot_be_read_is_not_ended_under_its_pods() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(2, 2);
    let claim = fleet.sim.claims().into_iter().next().expect("a claim");
    let node = claim.node.clone().expect("a node");
    let problem = "spec.taints: not a list".to_owned();
    let object = format!("Node {node}");
    fleet.sim.add(vec![ClusterObject::Unreadable(Malformed::new(object, problem))]);
    fleet.sim.act(Action::DeleteNodeClaim(claim.name));
    fleet.pass(600);
    assert_eq!(fleet.sim.summary().pods_lost, 0, "the pod went down with its node");
}

/// The claims that are deleted in half an hour while what `unreadable` names cannot be read.
fn deleted_beside(
    settings: WorldSettings,
    unreadable: impl FnOnce(&Sim) -> String,
) -> Vec<Happening> {
    let mut fleet = fleet(settings, 1);
    fleet.grow(2, 2);
    let object = unreadable(&fleet.sim);
    let problem = "spec.priority: not a number".to_owned();
    fleet.sim.add(vec![ClusterObject::Unreadable(Malformed::new(object, problem))]);
    let from = fleet.sim.timeline(0).len();
    fleet.pass(1_800);
    let happenings = fleet.sim.timeline(from).into_iter().map(|event| event.happening);
    happenings.filter(|happening| matches!(happening, Happening::ClaimDeleted { .. })).collect()
}

/// The claims that are deleted while a pod on one of two nodes cannot be read.
pub(crate) fn deleted_beside_a_pod(settings: WorldSettings) -> Vec<Happening> {
    deleted_beside(settings, |sim| {
        let pod = sim.pods().into_iter().find(|pod| pod.node.is_some()).expect("a pod");
        format!("Pod {}", pod.key)
    })
}

#[test]
fn m2_a_pod_that_cannot_be_read_keeps_its_node() {
    let deleted = deleted_beside_a_pod(WorldSettings::default());
    assert_eq!(deleted, [], "a node with a pod is not empty");
}

#[test]
fn m2_a_pod_of_unknown_place_keeps_every_node() {
    let deleted = deleted_beside(WorldSettings::default(), |sim| {
        sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 0 });
        "Pod default/lost".to_owned()
    });
    assert_eq!(deleted, [], "any node may be its");
}

#[test]
fn m3_what_is_not_listed_is_ended_before_it_counts_as_gone() {
    let settings =
        WorldSettings { listing_lag: SignedDuration::from_mins(8), ..WorldSettings::default() };
    let mut fleet = fleet(WorldSettings { never_joins_per_mille: 1_000, ..settings }, 1);
    fleet.scale(1);
    fleet.pass(330);
    fleet.scale(0);
    let outcome = fleet.pass_anyhow(3_600);
    let running = fleet.sim.summary().nodes_by_type.values().sum::<u32>();
    assert_eq!((outcome, running), (Ok(()), 0));
}

#[test]
fn m3_a_node_that_is_ready_is_emptied_although_its_instance_is_not_listed() {
    let settings =
        WorldSettings { listing_lag: SignedDuration::from_mins(8), ..WorldSettings::default() };
    let mut fleet = fleet(settings, 1);
    fleet.scale(2);
    assert!(fleet.until(200, has_initialized(2)) < 200);
    let pod = fleet.sim.pods().into_iter().next().expect("a pod");
    let node = pod.node.clone();
    let claim = fleet.sim.claims().into_iter().find(|claim| claim.node == node);
    let claim = claim.expect("a claim");
    // Its pod does not leave soon.
    fleet.sim.act(Action::RefuseEvictions(pod.key));
    fleet.pass(310 - fleet.seconds_since(claim.created_at));
    fleet.sim.act(Action::DeleteNodeClaim(claim.name));
    fleet.pass(150);
    assert_eq!(deleting(&fleet.sim), 1);
    assert_eq!(fleet.sim.summary().pods_lost, 0, "the pod went down with its instance");
    assert!(fleet.sim.nodes().iter().any(|other| Some(&other.name) == node.as_ref()));
}

#[test]
fn m4_a_pod_that_has_no_place_costs_no_list_of_all_pods_each_time() {
    let mut fleet = fleet(WorldSettings::default(), 4);
    fleet.grow(50, 200);
    let mut huge = workload("huge", 1, 1);
    let mut spec = model::PodSpec::clone(&huge.spec);
    spec.requests = testkit::build::resources("cpu=500 memory=1Gi pods=1");
    huge.spec = std::sync::Arc::new(spec);
    fleet.sim.add(vec![ClusterObject::Workload(huge)]);
    fleet.pass(60);
    let before = fleet.sim.meter();
    fleet.pass(600);
    let used = fleet.used_since(&before);
    let lists = used.requests_of(Function::Provision)[&ApiAction::kubernetes("list pods")].answered;
    let nodes = used
        .requests_of(Function::Provision)
        .get(&ApiAction::kubernetes("list nodes"))
        .map_or(0, |count| count.answered);
    // Pods that wait are asked for each five seconds; everything once a minute is enough.
    assert!(
        nodes <= 20,
        "{nodes} looks at the whole cluster in ten minutes, {lists} lists of pods"
    );
}

#[test]
fn m5_a_launched_claim_keeps_nothing_that_only_its_launch_needed() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.scale(3);
    let taken = fleet.until(60, |sim| sim.claims().len() == 3);
    assert!(taken < 60 && fleet.sim.claims().iter().all(|claim| !claim.instance_types.is_empty()));
    let taken = fleet.until(600, has_initialized(3));
    assert!(taken < 600 && fleet.sim.claims().iter().all(|claim| claim.instance_types.is_empty()));
}

#[test]
fn m8_plans_and_launches_read_no_parameter() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(3, 3);
    fleet.scale(1);
    fleet.pass(600);
    let asked: Vec<Function> = fleet
        .sim
        .called()
        .into_iter()
        .filter(|(_, calls)| calls.contains("Discovery.images"))
        .map(|(function, _)| function)
        .collect();
    assert_eq!(asked, [Function::Resolve]);
}
