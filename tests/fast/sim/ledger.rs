//! The ledger is lost, is old, or is not the only one: no instance is leaked, none is launched twice, and
//! nothing of anybody else is touched.

use std::{cell::RefCell, collections::BTreeSet, fmt::Debug, rc::Rc};

use jiff::SignedDuration;
use model::{
    InstanceId, NodeClaim, NodeClaimName,
    launch::InstanceState,
    lease::{KarpenterPod, ObservedLeases},
    ledger::{Guard, Snapshot},
};
use ports::{Fleet as _, Ledger as _, Malformed, NodeClaims as _};
use serde_json::{Map, Value, json};
use simulator::{
    Action, ClusterObject, Dispatch, Happening, Runner, Sim, SpotTarget, Stopped, WorldSettings,
};

use crate::{
    storm::{self, stormy},
    world::{minute, runner, sim},
};

fn guard(sim: &Sim) -> Guard {
    let cluster = WorldSettings::default().cluster;
    sim.block_on(sim.head(&cluster)).expect("it ends").expect("it answers").guard
}

fn instances(sim: &Sim) -> BTreeSet<InstanceId> {
    let claims = sim.claims();
    claims.iter().filter_map(|claim| Some(claim.instance.as_ref()?.id.clone())).collect()
}

/// The usual world once every pod runs, and what goes on with it.
fn settled() -> (Sim, Runner<impl Dispatch>) {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    (sim, runner)
}

#[track_caller]
fn check_runs(sim: &Sim, instance: InstanceId) {
    let described = sim.block_on(sim.describe(&[instance])).expect("it ends").expect("an answer");
    assert_eq!(described.first().map(|known| known.state), Some(InstanceState::Running));
}

#[track_caller]
fn check(sim: &Sim) {
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.check_node_claims(), Vec::<String>::new());
}

/// What is wrong after the table was deleted and more pods came, each some time after the other.
pub(crate) fn deleted_table(settings: WorldSettings) -> Result<(), String> {
    let sim = sim(settings);
    let (mut runner, _reports) = runner(&sim);
    let stopped = |stopped: Stopped| stopped.to_string();
    let web = || testkit::build::pod_key("web");
    for (minutes, replicas) in [(2, 14), (3, 16), (4, 18), (5, 20), (6, 22)] {
        sim.at(minute(minutes), Action::Scale { workload: web(), replicas });
    }
    runner.run_until(minute(9)).map_err(stopped)?;
    let before = instances(&sim);
    sim.act(Action::LoseLedger);
    runner.run_until(minute(17)).map_err(stopped)?;
    if before.len() <= 2 || instances(&sim) != before {
        return Err(format!("{before:?} became {:?}", instances(&sim)));
    }
    for (minutes, replicas) in [(18, 24), (19, 26), (20, 28), (21, 30)] {
        sim.at(minute(minutes), Action::Scale { workload: web(), replicas });
    }
    runner.run_until(minute(24)).map_err(stopped)?;
    let waiting = sim.summary().pods_waiting;
    let problems = [sim.check_liveness(), sim.check_node_claims()].concat();
    if waiting == 0 && problems.is_empty() {
        return Ok(());
    }
    Err(format!("{waiting} pods wait; {}", problems.join("; ")))
}

#[test]
fn a_table_that_is_deleted_is_adopted_anew() {
    assert_eq!(deleted_table(WorldSettings::default()), Ok(()));
}

#[test]
fn a_table_that_is_deleted_amid_a_launch_leaks_nothing() {
    for seconds in [6, 8, 10, 20, 40] {
        let sim = sim(WorldSettings { seed: 7, ..WorldSettings::default() });
        let lost_at = sim.now() + SignedDuration::from_secs(seconds);
        sim.at(lost_at, Action::LoseLedger);
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(40)).expect("nothing unsafe happens");
        check(&sim);
    }
}

/// Its finalizer held it for ever: only the function that knew its claim removes it.
#[test]
fn a_node_whose_instance_ended_while_the_table_was_lost_goes() {
    let (sim, mut runner) = settled();
    let claim = sim.claims().into_iter().next().expect("a claim");
    let (node, instance) = (claim.node.expect("a node"), claim.instance.expect("an instance").id);
    sim.act(Action::LoseLedger);
    sim.act(Action::TerminateInstance(SpotTarget::Instance(instance)));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    let left = sim.nodes().into_iter().find(|other| other.name == node);
    assert!(left.is_none(), "{left:?}");
    check(&sim);
}

#[test]
fn an_old_backup_that_is_restored_is_not_believed() {
    let sim = sim(WorldSettings::default());
    sim.at(minute(3), Action::BackUpLedger);
    sim.at(minute(4), Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    let before = instances(&sim);
    sim.act(Action::RestoreLedger);
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert!(before.is_subset(&instances(&sim)), "what was launched since has a claim again");
    runner.run_until(minute(45)).expect("nothing unsafe happens");
    check(&sim);
}

/// Nothing was written since the trace had `from` lines.
#[track_caller]
fn check_writes_nothing(sim: &Sim, from: usize) {
    let writes = ["Fleet.", "Templates.", "Nodes.", "NodeClaims.", "Ledger.commit", "Ledger.write"];
    let trace = sim.trace();
    let is_write = |line: &&String| writes.iter().any(|write| line.contains(write));
    let written = trace.iter().skip(from).find(is_write);
    assert_eq!(written, None);
}

#[test]
fn h10_beside_a_live_karpenter_nothing_is_written() {
    let sim = sim(WorldSettings::default());
    sim.act(Action::RunKarpenter(true));
    let (mut runner, _reports) = runner(&sim);
    // Until the first look, what was seen before the world began counts.
    runner.run_until(minute(1)).expect("nothing unsafe happens");
    let Guard::Held { by, .. } = guard(&sim) else { panic!("{:?}", guard(&sim)) };
    assert!(by.starts_with("Karpenter (karpenter-0"), "{by}");
    let from = sim.trace().len();
    sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    check_writes_nothing(&sim, from);
    // Once it is gone, what it left is adopted and the work goes on.
    sim.act(Action::RunKarpenter(false));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn h10_a_karpenter_without_a_lease_is_noticed_by_its_pods() {
    let (sim, mut runner) = settled();
    let pod =
        KarpenterPod { namespace: "kube-system".to_owned(), name: "karpenter-6d9".to_owned() };
    let running = ObservedLeases { without_lease: vec![pod], ..ObservedLeases::default() };
    sim.act(Action::AddLeases(Box::new(running)));
    runner.run_until(minute(16)).expect("nothing unsafe happens");
    let Guard::Held { by, .. } = guard(&sim) else { panic!("{:?}", guard(&sim)) };
    assert!(by.starts_with("Karpenter (karpenter-6d9 in kube-system"), "{by}");
    let from = sim.trace().len();
    sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    check_writes_nothing(&sim, from);
    sim.act(Action::AddLeases(Box::default()));
    runner.run_until(minute(35)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn what_karpenter_left_is_taken_over_as_it_is() {
    let (sim, mut runner) = settled();
    // As if Karpenter had made them: its objects, and no ledger.
    let claims = sim.claims();
    sim.act(Action::LoseLedger);
    for claim in &claims {
        sim.act(Action::AddForeignNodeClaim(Box::new(claim.clone())));
    }
    runner.run_until(minute(16)).expect("nothing unsafe happens");
    let names = |claims: &[NodeClaim]| -> BTreeSet<String> {
        claims.iter().map(|claim| claim.name.to_string()).collect()
    };
    assert_eq!(names(&sim.claims()), names(&claims));
    assert!(sim.claims().iter().all(|claim| !claim.is_deleting()));
    check(&sim);
}

#[test]
fn what_is_handed_to_karpenter_has_its_objects_and_comes_back() {
    let (sim, mut runner) = settled();
    let (claims, before) = (sim.claims(), instances(&sim));
    assert!(claims.len() > 1 && claims.iter().all(|claim| claim.node.is_some()));
    sim.act(Action::RunKarpenter(true));
    // A function that runs when Karpenter comes ends within the minute.
    runner.run_until(minute(8)).expect("nothing unsafe happens");
    let from = sim.trace().len();
    sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    sim.act(Action::InterruptSpot(SpotTarget::Oldest));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    check_writes_nothing(&sim, from);
    // Karpenter knows nodes by these alone.
    for claim in &claims {
        let shown = sim.node_claim(&claim.name).and_then(|object| object.claim).expect("an object");
        assert_eq!((shown.instance, shown.node), (claim.instance.clone(), claim.node.clone()));
    }
    sim.act(Action::RunKarpenter(false));
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    assert!(!before.is_disjoint(&instances(&sim)), "what runs on is known again");
    check(&sim);
}

/// `claim` as a release writes it that knows more of claims than this one, and as this one reads it then.
fn as_newer(claim: &NodeClaim) -> NodeClaim {
    let text = wire::record::encode_claim(claim);
    let mut record: Map<String, Value> = serde_json::from_str(&text).expect("a record");
    record.insert("rack".to_owned(), json!({ "row": 7 }));
    let mut add = |member: &str, name: &str, value: Value| {
        if let Some(Value::Object(member)) = record.get_mut(member) {
            member.insert(name.to_owned(), value);
        }
    };
    add("instance", "network_cards", json!(2));
    add("deletion", "reason", json!("ZonalShift"));
    let read =
        wire::record::decode_claim(&Value::Object(record).to_string()).expect("it can be read");
    NodeClaim { retry: claim.retry, ..read }
}

/// `claim` as this release writes and reads it.
fn as_older(claim: &NodeClaim) -> NodeClaim {
    let text = wire::record::encode_claim(claim);
    let read = wire::record::decode_claim(&text).expect("it can be read");
    NodeClaim { retry: claim.retry, ..read }
}

#[test]
fn h8_functions_are_rolled_forward_and_back_in_the_middle_of_a_burst() {
    for seed in [3, 7, 11] {
        let sim = sim(WorldSettings::with_seed(seed));
        let start = sim.now();
        let written: Rc<RefCell<BTreeSet<NodeClaimName>>> = Rc::default();
        let by_newer = Rc::clone(&written);
        sim.set_records(Box::new(move |function, now, claim| {
            // Each function changes its release at a moment of its own, back and forth for five minutes.
            let seconds = now.duration_since(start).as_secs();
            let turn = i64::try_from(function as usize).expect("few") * 7;
            let is_newer = (seconds + turn) / 20 % 2 == 1 && seconds < 300;
            if is_newer {
                by_newer.borrow_mut().insert(claim.name.clone());
                return as_newer(claim);
            }
            as_older(claim)
        }));
        let web = || testkit::build::pod_key("web");
        let second = |seconds| start + SignedDuration::from_secs(seconds);
        sim.at(second(30), Action::Scale { workload: web(), replicas: 24 });
        sim.at(second(90), Action::InterruptSpot(SpotTarget::Oldest));
        sim.at(second(150), Action::InterruptSpot(SpotTarget::Any));
        sim.at(second(200), Action::Scale { workload: web(), replicas: 10 });
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(30)).expect("nothing unsafe happens");
        check(&sim);
        let claims = sim.claims();
        let by_newer = written.borrow();
        let known = claims.iter().filter(|claim| by_newer.contains(&claim.name));
        let mut count = 0;
        for claim in known {
            let text = wire::record::encode_claim(claim);
            assert!(text.contains(r#""rack":{"row":7}"#), "{text}");
            count += 1;
        }
        assert!(count > 0, "a newer release wrote none of {} claims", claims.len());
        let happened = |is_it: fn(&Happening) -> bool| {
            sim.timeline(0).iter().filter(|event| is_it(&event.happening)).count()
        };
        let created = happened(|event| matches!(event, Happening::ClaimCreated { .. }));
        let launched = happened(|event| matches!(event, Happening::InstanceLaunched { .. }));
        assert!(launched <= created, "{launched} instances for {created} claims");
        assert!(
            happened(|event| matches!(event, Happening::ClaimDeleted { .. })) >= 2,
            "nothing was deleted"
        );
    }
}

#[test]
fn h8_a_claim_in_a_phase_of_a_newer_release_is_left_alone() {
    let (sim, mut runner) = settled();
    let claims = sim.claims();
    let claim = claims.iter().find(|claim| claim.instance.is_some()).expect("a claim");
    let (name, instance) = (claim.name.clone(), claim.instance.clone().expect("an instance").id);
    sim.act(Action::SetReadable { claim: name.clone(), is_readable: false });
    runner.run_until(minute(60)).expect("nothing unsafe happens");
    check_runs(&sim, instance);
    let objects = sim.block_on(sim.synced()).expect("it ends").expect("an answer").items;
    assert!(objects.iter().any(|object| object.name == name && !object.is_deleting));
    sim.act(Action::SetReadable { claim: name.clone(), is_readable: true });
    runner.run_until(minute(80)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn m2_an_instance_whose_node_pool_cannot_be_read_is_not_ended() {
    let (sim, mut runner) = settled();
    let before = instances(&sim);
    let claim = sim.claims().into_iter().find(|claim| claim.instance.is_some()).expect("a claim");
    let (object, problem) = ("NodePool general".to_owned(), "spec: must be a map".to_owned());
    sim.add(vec![ClusterObject::Unreadable(Malformed::new(object.clone(), problem))]);
    sim.act(Action::ForgetClaim(claim.name.clone()));
    runner.run_until(minute(13)).expect("nothing unsafe happens");
    check_runs(&sim, claim.instance.expect("an instance").id);
    assert_eq!(instances(&sim).len() + 1, before.len(), "it has no claim");
    sim.act(Action::MakeReadable(object));
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    assert_eq!(instances(&sim), before, "it is adopted");
    check(&sim);
}

#[test]
fn m7_an_item_that_cannot_be_read_stops_nothing_but_itself() {
    let (sim, mut runner) = settled();
    let claims = sim.claims();
    let mut launched = claims.iter().filter(|claim| claim.instance.is_some());
    let (odd, other) = (launched.next().expect("a claim"), launched.next().expect("another"));
    sim.act(Action::SetReadable { claim: odd.name.clone(), is_readable: false });
    let id = other.instance.clone().expect("an instance").id;
    sim.act(Action::InterruptSpot(SpotTarget::Instance(id)));
    sim.act(Action::Scale { workload: testkit::build::pod_key("web"), replicas: 24 });
    let from = sim.timeline(0).len();
    runner.run_until(minute(9)).expect("nothing unsafe happens");
    let happened: Vec<_> = sim.timeline(from).into_iter().map(|event| event.happening).collect();
    assert!(happened.iter().any(|happening| {
        matches!(happening, Happening::ClaimDeleted { claim, .. } if *claim == other.name)
    }));
    assert!(happened.iter().any(|event| matches!(event, Happening::InstanceLaunched { .. })));
    let summary = sim.summary();
    assert_eq!(summary.pods_waiting, 0, "{summary:?}");
    sim.act(Action::SetReadable { claim: odd.name.clone(), is_readable: true });
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    check(&sim);
}

/// What stands of a ledger at rest: of each claim its NodePool, phase, instance, node and amounts.
fn standing(ledger: &Snapshot) -> Vec<impl PartialEq + Debug> {
    let of_claim = |claim: &NodeClaim| {
        let instance = claim.instance.as_ref().map(|instance| instance.id.clone());
        let amounts = (claim.capacity.clone(), claim.allocatable.clone());
        let places = (claim.node_pool.clone(), claim.node.clone());
        (claim.name.clone(), claim.phase, instance, places, amounts)
    };
    ledger.claims.values().map(of_claim).collect()
}

#[test]
fn a_ledger_at_rest_stands_until_a_counter_moves() {
    let (mut moved, mut stood) = (0, 0);
    for seed in 0..6 {
        let sim = stormy(storm::settings(seed));
        let (mut runner, _reports) = runner(&sim);
        let mut at_rest: Option<Snapshot> = None;
        for second in 0..1_800 {
            if second == 960 {
                sim.stop_faults();
            }
            let now = minute(0) + SignedDuration::from_secs(second);
            runner.run_until(now).expect("nothing unsafe happens");
            let ledger = sim.ledger();
            let counts = |ledger: &Snapshot| (ledger.head.ledger.clone(), ledger.head.counters);
            match at_rest.take_if(|rest| counts(rest) != counts(&ledger)) {
                Some(_) => moved += 1,
                None if at_rest.as_ref().is_some_and(|rest| *rest != ledger) => stood += 1,
                None => {}
            }
            if let Some(rest) = &at_rest {
                assert_eq!(standing(rest), standing(&ledger), "seed {seed}, second {second}");
            } else if ledger.is_at_rest() {
                at_rest = Some(ledger);
            }
        }
    }
    // It moved often, and said something else of itself meanwhile.
    assert!(moved > 6 && stood > 60, "{moved} times, {stood} seconds");
}
