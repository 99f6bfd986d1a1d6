//! Capacity reservations, from the first launch into one to its end.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use journeyman::manifests;
use model::{
    CapacityType, DeletionReason, Function, NodeClaim, OfferingKey, labels,
    node_class::{CapacityReservation, MatchCriteria},
};
use ports::Fault;
use simulator::{Action, Happening, Injection, ReservationRecord, Sim, WorldSettings};

use crate::world::{empty, minute, runner, running, scale};

/// Pods of which no node takes two, and a class that may use two reservations.
const MANIFESTS: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  disruption: {consolidateAfter: Never}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [reserved, on-demand]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-simulated
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
  capacityReservationSelectorTerms: [{tags: {team: a}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      containers:
        - {name: web, image: web, resources: {requests: {cpu: 3500m, memory: 1Gi}}}
";

/// Room for two `m7i.xlarge` that is reserved from now on, without end, for those who ask for it by id.
pub(crate) fn record(sim: &Sim) -> ReservationRecord {
    ReservationRecord {
        id: "cr-0a".parse().unwrap(),
        instance_type: testkit::build::id("m7i.xlarge"),
        zone: testkit::build::id("us-west-2a"),
        owner: "123456789012".to_owned(),
        match_criteria: MatchCriteria::Targeted,
        is_capacity_block: false,
        is_interruptible: false,
        tags: BTreeMap::new(),
        starts_at: sim.now(),
        ends_at: None,
        total_count: 2,
    }
}

/// A cluster with [`MANIFESTS`], and room for two instances that is reserved.
fn sim(change: impl FnOnce(&mut ReservationRecord)) -> Sim {
    let sim = empty(WorldSettings::default());
    let texts = [manifests::InputFile::named("world.yaml", MANIFESTS)];
    sim.add(manifests::parse(&texts).expect("the manifests are sound").objects);
    let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    let mut record = ReservationRecord { tags, ..record(&sim) };
    change(&mut record);
    sim.act(Action::AddReservation(record));
    sim
}

fn counts(sim: &Sim) -> (usize, usize) {
    (running(sim, CapacityType::Reserved), running(sim, CapacityType::OnDemand))
}

fn reserved(sim: &Sim) -> Vec<NodeClaim> {
    let is_reserved = |claim: &NodeClaim| claim.labels.contains_key(labels::RESERVATION_ID);
    sim.claims().into_iter().filter(is_reserved).collect()
}

/// What the nodes say of reservations.
fn node_labels(sim: &Sim) -> Vec<(Option<String>, usize)> {
    let nodes = sim.nodes().into_iter();
    let said = nodes.map(|node| {
        let filter = labels::OF_RESERVATIONS.iter().filter(|key| node.labels.contains_key(**key));
        (node.labels.get(labels::CAPACITY_TYPE).cloned(), filter.count())
    });
    let mut said: Vec<_> = said.collect();
    said.sort();
    said
}

fn deleted(sim: &Sim) -> Vec<(i64, DeletionReason)> {
    let start = WorldSettings::default().start;
    let events = sim.timeline(0).into_iter();
    let deleted = events.filter_map(|event| match event.happening {
        Happening::ClaimDeleted { reason, .. } => {
            Some((event.at.duration_since(start).as_mins(), reason))
        }
        _ => None,
    });
    deleted.collect()
}

#[test]
fn what_is_reserved_is_used_first_and_never_more_than_there_is() {
    let sim = sim(|_| {});
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!(counts(&sim), (2, 1));
    for claim in reserved(&sim) {
        let said = labels::OF_RESERVATIONS.map(|key| claim.labels.get(key).map(String::as_str));
        let kind = Some(CapacityReservation::DEFAULT);
        assert_eq!(said, [Some("cr-0a"), kind, Some("false")]);
    }
    let of = |word: &str, number| (Some(word.to_owned()), number);
    assert_eq!(node_labels(&sim), [of("on-demand", 0), of("reserved", 3), of("reserved", 3)]);
    // What ends gives back, and the next one goes there again.
    sim.act(scale("web", 0));
    let pool = |sim: &Sim, after| {
        let pools = sim.block_on(ports::NodePools::observed_pools(sim)).expect("an answer");
        let mut pool = pools.expect("a listing").items.remove(0).pool;
        pool.disruption.consolidate_after = after;
        sim.act(Action::Add(vec![simulator::ClusterObject::NodePool(pool)]));
    };
    pool(&sim, Some(SignedDuration::ZERO));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!(sim.claims(), Vec::new());
    pool(&sim, None);
    sim.act(scale("web", 2));
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    assert_eq!(counts(&sim), (2, 0));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn pods_that_come_one_after_the_other_share_what_is_reserved() {
    let sim = sim(|_| {});
    sim.act(scale("web", 0));
    for replicas in 1..=4 {
        let at = WorldSettings::default()
            .start
            .checked_add(SignedDuration::from_secs(120 + 8 * i64::from(replicas)));
        sim.at(at.expect("a time of this year"), scale("web", replicas));
    }
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!(counts(&sim), (2, 2));
    let refused = sim
        .timeline(0)
        .into_iter()
        .filter(|event| matches!(event.happening, Happening::OfferingUnavailable { .. }));
    assert_eq!(refused.count(), 0, "nothing was asked for that is not there");
}

#[test]
fn a_reservation_that_gives_nothing_keeps_no_pod_waiting() {
    let sim = sim(|_| {});
    let offering = OfferingKey {
        capacity_type: CapacityType::Reserved,
        instance_type: testkit::build::id("m7i.xlarge"),
        zone: testkit::build::id("us-west-2a"),
    };
    sim.act(Action::SetCapacity { offering, instances: Some(0) });
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!(counts(&sim), (0, 3));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

/// A world whose default reservation ends after an hour.
pub(crate) fn ending() -> Sim {
    sim(|record| record.ends_at = Some(minute(60)))
}

#[test]
fn what_outlives_its_reservation_says_that_it_is_on_demand() {
    let sim = ending();
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(59)).expect("nothing unsafe happens");
    let before: Vec<_> = sim.claims().into_iter().map(|claim| claim.name).collect();
    assert_eq!(counts(&sim), (2, 1), "a default reservation is used to its end");
    runner.run_until(minute(63)).expect("nothing unsafe happens");
    let after: Vec<_> = sim.claims().into_iter().map(|claim| claim.name).collect();
    assert_eq!((after, counts(&sim)), (before, (0, 3)));
    assert_eq!(reserved(&sim), Vec::new());
    assert!(node_labels(&sim).iter().all(|said| *said == (Some("on-demand".to_owned()), 0)));
    assert_eq!(deleted(&sim), []);
    runner.run_until(minute(70)).expect("nothing unsafe happens");
    assert_eq!(sim.check_node_claims(), Vec::<String>::new());
}

#[test]
fn nodes_of_a_capacity_block_go_before_it_ends_and_their_pods_have_others() {
    let ends_at = Some(minute(100));
    let sim = sim(|record| {
        record.is_capacity_block = true;
        record.ends_at = ends_at;
    });
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(59)).expect("nothing unsafe happens");
    assert_eq!((counts(&sim), deleted(&sim)), ((2, 1), Vec::new()));
    runner.run_until(minute(75)).expect("nothing unsafe happens");
    // Nothing new goes into what is about to end.
    assert_eq!(counts(&sim), (0, 3));
    let reason = DeletionReason::ReservationEnding;
    let deleted = deleted(&sim);
    let is_soon = |(at, why): &(i64, DeletionReason)| (60..=62).contains(at) && *why == reason;
    assert!(deleted.len() == 2 && deleted.iter().all(is_soon), "{deleted:?}");
    runner.run_until(minute(110)).expect("nothing unsafe happens");
    assert_eq!(sim.summary().pods_lost, 0);
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn nodes_of_a_capacity_block_go_also_when_the_warning_is_lost() {
    let ends_at = Some(minute(100));
    let sim = sim(|record| {
        record.is_capacity_block = true;
        record.ends_at = ends_at;
    });
    // Bought by another account: its events do not come here.
    sim.add_rule(Box::new(|call, _| {
        let is_interrupt = call.delivery.is_some_and(|(_, f)| f == Function::Interrupt);
        if is_interrupt { Injection::FailBefore(Fault::Transient) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(75)).expect("nothing unsafe happens");
    assert_eq!(counts(&sim), (0, 3));
    let reasons: Vec<_> = deleted(&sim).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [DeletionReason::ReservationEnding; 2]);
}

#[test]
fn a_node_says_that_it_is_on_demand_before_its_claim_does() {
    let sim = ending();
    let (from, until) = (minute(60), minute(65));
    sim.add_rule(Box::new(move |call, _| {
        let is_it = call.operation == "Nodes.patch" && from <= call.now && call.now < until;
        if is_it { Injection::FailBefore(Fault::Transient) } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(until).expect("nothing unsafe happens");
    assert_eq!(reserved(&sim).len(), 2, "their nodes could not be written");
    runner.run_until(minute(67)).expect("nothing unsafe happens");
    assert_eq!(reserved(&sim), Vec::new());
    assert!(node_labels(&sim).iter().all(|said| *said == (Some("on-demand".to_owned()), 0)));
}
