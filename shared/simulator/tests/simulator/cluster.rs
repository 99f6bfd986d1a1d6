//! The simulated cluster: scheduler, controllers, kubelets, evictions.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    NodeName, Pod, PodSpec, Requirement, Requirements, Taint, TaintEffect, Toleration,
    facts::DaemonSet,
    labels,
    node::{Eviction, EvictionRequest, NodePatch},
    pod::PodPhase,
    requirement::Operator,
    taint::TolerationOperator,
};
use ports::Nodes as _;
use simulator::{
    Action, ClusterObject, Happening, ScoringStrategy, Sim, SpotTarget, StoryWorkload,
    StoryWorkloadKind, WorldSettings,
};

use crate::simulator::toy;

/// Names of nodes with how many pods of the workload are on each.
fn spread(sim: &Sim) -> Vec<usize> {
    let nodes: Vec<NodeName> = sim.nodes().into_iter().map(|node| node.name).collect();
    let pods = sim.pods();
    nodes.iter().map(|node| pods.iter().filter(|p| p.node.as_ref() == Some(node)).count()).collect()
}

fn only_pod(sim: &Sim) -> Pod {
    let pods = sim.pods();
    assert_eq!(pods.len(), 1);
    pods[0].clone()
}

fn evict(sim: &Sim, pod: &Pod) -> Eviction {
    let request =
        EvictionRequest { pod: pod.key.clone(), uid: pod.uid.clone(), grace_seconds: None };
    sim.block_on(sim.evict(&request)).unwrap().unwrap()
}

#[test]
fn no_pod_takes_the_name_of_another() {
    let sim = toy::sim(WorldSettings::default());
    toy::add(&sim, toy::workload("web", 30_000));
    toy::pass(&sim, 1);
    let events = sim.timeline(0);
    let made =
        events.iter().filter(|event| matches!(event.happening, Happening::PodPending { .. }));
    assert_eq!((made.count(), sim.pods().len()), (30_000, 30_000));
}

#[test]
fn a_pod_waits_until_a_node_is_registered_and_ready() {
    let sim = toy::sim(WorldSettings::default());
    toy::add(&sim, toy::workload("web", 1));
    toy::pass(&sim, 1);
    let pod = only_pod(&sim);
    assert!(pod.is_provisionable());
    toy::ensure_template(&sim);
    let request = toy::request(&sim, "b", 1, model::CapacityType::Spot);
    sim.block_on(ports::Fleet::launch(&sim, &request)).unwrap().unwrap();
    toy::pass(&sim, 120);
    let node = sim.nodes()[0].clone();
    assert!(node.is_ready);
    assert_eq!(node.labels[labels::ARCH], "amd64");
    assert_eq!(node.labels[labels::CAPACITY_TYPE], "spot");
    let unregistered: Vec<&str> = node.taints.iter().map(|taint| &*taint.key).collect();
    assert_eq!(unregistered, [labels::UNREGISTERED_TAINT]);
    assert!(only_pod(&sim).is_provisionable());
    let patch = NodePatch { remove_taints: node.taints.clone(), ..NodePatch::default() };
    sim.block_on(sim.patch(&node.name, &patch)).unwrap().unwrap();
    toy::pass(&sim, 10);
    let pod = only_pod(&sim);
    assert_eq!((pod.node, pod.phase), (Some(node.name), PodPhase::Running));
    assert_eq!(pod.unschedulable_at, None);
}

#[test]
fn what_does_not_fit_is_unschedulable() {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    toy::add(&sim, toy::workload("web", 2));
    toy::pass(&sim, 10);
    assert_eq!(spread(&sim), [1]);
    assert_eq!(sim.pods().iter().filter(|pod| pod.is_provisionable()).count(), 1);
    assert_eq!(sim.summary().pods_waiting, 1);
}

#[track_caller]
fn check_label(operator: Operator, values: &[&str], is_placed: bool) {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    let requirement = Requirement::new("team", operator, values.iter().copied()).unwrap();
    let mut workload = toy::workload("web", 1);
    let node_selector = Requirements::from_iter([requirement]);
    workload.spec = Arc::new(PodSpec { node_selector, ..PodSpec::clone(&workload.spec) });
    toy::add(&sim, workload);
    toy::pass(&sim, 10);
    assert_eq!(only_pod(&sim).node.is_some(), is_placed, "{operator} {values:?}");
}

#[test]
fn labels_are_compared_with_what_the_node_carries() {
    check_label(Operator::In, &["a"], false);
    check_label(Operator::Exists, &[], false);
    check_label(Operator::NotIn, &["a"], true);
    check_label(Operator::DoesNotExist, &[], true);
}

#[test]
fn what_is_not_supported_is_never_placed() {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    let mut workload = toy::workload("web", 1);
    let problems = vec![model::Problem::unsupported("topology", "topology spread")];
    workload.spec = Arc::new(PodSpec { problems, ..PodSpec::clone(&workload.spec) });
    toy::add(&sim, workload);
    toy::pass(&sim, 10);
    assert!(only_pod(&sim).is_provisionable());
}

#[track_caller]
fn check_scoring(scoring: ScoringStrategy, expected: [usize; 2]) {
    let sim = toy::sim(WorldSettings { scoring, ..WorldSettings::default() });
    // Two larger nodes: the smaller types are gone.
    for zone in ["us-west-2a", "us-west-2b"] {
        let offering = toy::offering(model::CapacityType::OnDemand, "m5.large", zone);
        sim.act(Action::SetCapacity { offering, instances: Some(0) });
    }
    toy::node(&sim, "a");
    toy::node(&sim, "b");
    toy::add(&sim, toy::workload("web", 2));
    toy::pass(&sim, 10);
    let mut counts = spread(&sim);
    counts.sort_unstable();
    assert_eq!(counts, expected);
}

#[test]
fn scoring_is_a_setting() {
    check_scoring(ScoringStrategy::LeastAllocated, [1, 1]);
    check_scoring(ScoringStrategy::MostAllocated, [0, 2]);
}

#[test]
fn an_evicted_pod_ends_and_is_made_again_under_another_name() {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    toy::add(&sim, toy::workload("web", 1));
    toy::pass(&sim, 10);
    let first = only_pod(&sim);
    assert_eq!(evict(&sim, &first), Eviction::Accepted);
    assert_eq!(evict(&sim, &first), Eviction::Accepted);
    assert!(only_pod(&sim).is_terminating());
    toy::pass(&sim, 10);
    let second = only_pod(&sim);
    assert_ne!(first.key, second.key);
    assert_eq!(second.phase, PodPhase::Running);
    assert_eq!(evict(&sim, &first), Eviction::Gone);
    let namesake = Pod { uid: first.uid, ..second };
    assert_eq!(evict(&sim, &namesake), Eviction::Gone);
    assert_eq!(sim.summary().evictions, 1);
}

#[test]
fn a_stateful_pod_comes_back_under_its_name_when_it_is_gone() {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    toy::node(&sim, "b");
    toy::add(
        &sim,
        StoryWorkload { kind: StoryWorkloadKind::StatefulSet, ..toy::workload("db", 1) },
    );
    toy::pass(&sim, 10);
    let first = only_pod(&sim);
    assert_eq!(first.key, toy::pod_key("db-0"));
    evict(&sim, &first);
    assert_eq!(only_pod(&sim).uid, first.uid);
    toy::pass(&sim, 10);
    let second = only_pod(&sim);
    assert_eq!((second.key == first.key, second.uid == first.uid), (true, false));
}

#[test]
fn an_ended_job_is_not_made_again() {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    let runs_for = Some(jiff::SignedDuration::from_secs(60));
    toy::add(
        &sim,
        StoryWorkload { kind: StoryWorkloadKind::Job, runs_for, ..toy::workload("job", 2) },
    );
    toy::pass(&sim, 300);
    let phases: Vec<PodPhase> = sim.pods().iter().map(|pod| pod.phase).collect();
    assert_eq!(phases, [PodPhase::Succeeded, PodPhase::Succeeded]);
    assert_eq!(sim.pods()[0].node, sim.pods()[1].node);
}

#[test]
fn a_scale_down_empties_the_fullest_node_first() {
    let sim = toy::sim(WorldSettings {
        scoring: ScoringStrategy::MostAllocated,
        ..WorldSettings::default()
    });
    let offering = |zone| toy::offering(model::CapacityType::OnDemand, "m5.large", zone);
    for zone in ["us-west-2a", "us-west-2b"] {
        sim.act(Action::SetCapacity { offering: offering(zone), instances: Some(0) });
    }
    toy::node(&sim, "a");
    toy::node(&sim, "b");
    let workload = toy::workload("web", 5);
    let key = workload.key();
    toy::add(&sim, workload);
    toy::pass(&sim, 10);
    let full: Vec<usize> = spread(&sim);
    assert_eq!(full.iter().sum::<usize>(), 5);
    sim.act(Action::Scale { workload: key, replicas: 2 });
    toy::pass(&sim, 60);
    let mut left = spread(&sim);
    left.sort_unstable();
    assert_eq!(left, [0, 2]);
}

#[test]
fn generated_names_begin_with_what_fits() {
    let sim = toy::sim(WorldSettings::default());
    let spec =
        PodSpec { requests: testkit::build::resources("cpu=100m pods=1"), ..PodSpec::default() };
    let longest = "n".repeat(253);
    let (key, spec) = (toy::pod_key(&longest), Arc::new(spec));
    sim.add(vec![ClusterObject::DaemonSet(DaemonSet { key, spec }, BTreeMap::new())]);
    toy::add(&sim, toy::workload(&longest, 2));
    toy::node(&sim, "a");
    toy::pass(&sim, 10);
    let names: Vec<usize> = sim.pods().iter().map(|pod| pod.key.name.as_str().len()).collect();
    assert_eq!(names, [63; 3]);
}

#[test]
fn daemons_run_on_every_node_that_they_tolerate() {
    let sim = toy::sim(WorldSettings::default());
    let spec =
        PodSpec { requests: testkit::build::resources("cpu=100m pods=1"), ..PodSpec::default() };
    let (key, spec) = (toy::pod_key("agent"), Arc::new(spec));
    sim.add(vec![ClusterObject::DaemonSet(DaemonSet { key, spec }, BTreeMap::new())]);
    let tainted = toy::node(&sim, "a");
    toy::node(&sim, "b");
    toy::pass(&sim, 10);
    assert_eq!(spread(&sim), [1, 1]);
    assert!(sim.pods().iter().all(|pod| pod.is_owned_by_daemon_set() && !pod.is_reschedulable()));
    assert_eq!(sim.summary().pods_placed, 0);
    let taint =
        Taint { key: "team".to_owned(), value: "a".to_owned(), effect: TaintEffect::NoExecute };
    let patch = NodePatch { add_taints: vec![taint], ..NodePatch::default() };
    sim.block_on(sim.patch(&tainted, &patch)).unwrap().unwrap();
    toy::pass(&sim, 60);
    let nodes = sim.nodes();
    let index = nodes.iter().position(|node| node.name == tainted).unwrap();
    assert_eq!(spread(&sim)[index], 0);
}

#[test]
fn a_pod_that_went_down_with_its_node_is_made_again() {
    let sim = toy::sim(WorldSettings::default());
    let lost = toy::node(&sim, "a");
    toy::add(&sim, toy::workload("web", 1));
    toy::pass(&sim, 10);
    toy::node(&sim, "b");
    sim.act(Action::TerminateInstance(SpotTarget::Node(lost.clone())));
    toy::pass(&sim, 30);
    assert_eq!(only_pod(&sim).node, Some(lost.clone()));
    toy::pass(&sim, 300);
    let pod = only_pod(&sim);
    assert_eq!((pod.node.as_ref() == Some(&lost), pod.phase), (false, PodPhase::Running));
    assert!(sim.nodes().iter().all(|node| node.name != lost));
    let is_lost = |event: &simulator::TimelineEvent| matches!(&event.happening, Happening::PodLost { node, .. } if *node == lost);
    assert_eq!(sim.timeline(0).iter().filter(|event| is_lost(event)).count(), 1);
}

#[test]
fn a_node_with_a_finalizer_outlives_its_deletion() {
    let sim = toy::sim(WorldSettings::default());
    let name = toy::node(&sim, "a");
    let finalizers = std::collections::BTreeSet::from(["test/keep".to_owned()]);
    let keep = NodePatch { add_finalizers: finalizers.clone(), ..NodePatch::default() };
    let free = NodePatch { remove_finalizers: finalizers, ..NodePatch::default() };
    sim.block_on(sim.patch(&name, &keep)).unwrap().unwrap();
    let node = sim.nodes().remove(0);
    sim.block_on(ports::Nodes::delete(&sim, &node)).unwrap().unwrap();
    assert!(sim.nodes()[0].is_deleting);
    sim.block_on(sim.patch(&name, &free)).unwrap().unwrap();
    assert!(sim.nodes().is_empty());
    sim.block_on(ports::Nodes::delete(&sim, &node)).unwrap().unwrap();
    let error = sim.block_on(sim.patch(&name, &free)).unwrap().unwrap_err();
    assert_eq!(error.fault, ports::Fault::NotFound);
}

#[test]
fn evicting_a_protected_pod_is_noticed() {
    let sim = toy::sim(WorldSettings::default());
    toy::node(&sim, "a");
    let mut workload = toy::workload("web", 1);
    let mut spec = PodSpec::clone(&workload.spec);
    spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
    let operator = TolerationOperator::Exists;
    spec.tolerations = vec![Toleration { operator, ..Toleration::default() }];
    workload.spec = Arc::new(spec);
    toy::add(&sim, workload);
    toy::pass(&sim, 10);
    let pod = only_pod(&sim);
    evict(&sim, &pod);
    let expected = format!("protected pod {} was evicted before its deadline", pod.key);
    assert_eq!(sim.check_safety(), [expected]);
}
