//! NodeClaims that users made, without a NodePool: launched, kept, drained and deleted as Karpenter does.

use jiff::SignedDuration;
use model::{
    BatchId, CapacityType, ClaimPhase, DeletionReason, HourlyPrice, NodeClaim, NodeClaimName,
    NodePoolName, Operator, Requirement,
    claim::LaunchedInstance,
    condition::ConditionReason,
    event::{EventObject, EventReason},
    labels,
    node_class::NodeClass,
};
use ports::{Fault, NodeClaims as _, NodeClasses as _};
use simulator::{
    Action, ClusterObject, FaultRule, Happening, Injection, Sim, WorldSettings, at_call,
};

use crate::world::{MANIFESTS, minute, runner, sell_none, sim, sim_of};

/// What a user applies: a node for a team, of a small type.
fn mine() -> NodeClaim {
    let name: NodeClaimName = testkit::build::id("mine");
    let batch = BatchId::new(name.as_str()).expect("a name");
    let class = testkit::build::id("default");
    let types = ["m7g.large", "m7i.large"];
    let requirement = Requirement::new(labels::INSTANCE_TYPE, Operator::In, types);
    let claim = NodeClaim::created(name, NodePoolName::none(), class, batch, minute(0));
    NodeClaim {
        labels: [("team".to_owned(), "x".to_owned())].into(),
        annotations: [("example.com/owner".to_owned(), "me".to_owned())].into(),
        requirements: [requirement.expect("a requirement")].into_iter().collect(),
        requests: testkit::build::resources("cpu=1 memory=1Gi"),
        taints: vec![testkit::build::taint("team=x:NoSchedule")],
        ..claim
    }
}

fn apply(claim: NodeClaim) -> Action {
    Action::AddForeignNodeClaim(Box::new(claim))
}

fn claim(sim: &Sim) -> Option<NodeClaim> {
    sim.claims().into_iter().find(|claim| claim.name == mine().name)
}

/// A world in which `claim` was applied in its third minute, played until the minute `end`.
fn play(claim: NodeClaim, end: i64) -> Sim {
    let sim = sim(WorldSettings::default());
    sim.at(minute(3), apply(claim));
    run(&sim, end);
    sim
}

/// The usual world, in which a user applied a claim.
pub(crate) fn played() -> Sim {
    play(mine(), 10)
}

fn run(sim: &Sim, end: i64) {
    let (mut runner, _reports) = runner(sim);
    runner.run_until(minute(end)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.check_node_claims(), Vec::<String>::new());
}

/// The class of the usual world.
fn class(sim: &Sim) -> NodeClass {
    let seen = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing");
    seen.items.into_iter().map(|seen| seen.class).next().expect("a class")
}

/// The reasons of what was told of the claim's object.
fn told(sim: &Sim) -> Vec<EventReason> {
    let about = EventObject::NodeClaim(mine().name);
    let told = sim.told().into_iter().map(|(_, event)| event);
    told.filter(|event| event.about == about).map(|event| event.reason).collect()
}

/// Why the claim was deleted, if it was.
fn deleted(sim: &Sim) -> Option<DeletionReason> {
    sim.timeline(0).into_iter().find_map(|event| match event.happening {
        Happening::ClaimDeleted { claim, reason } if claim == mine().name => Some(reason),
        _ => None,
    })
}

#[test]
fn a_users_claim_becomes_a_node_that_is_not_disrupted() {
    let sim = play(mine(), 60);
    let claim = claim(&sim).expect("it is there");
    assert_eq!(claim.phase, ClaimPhase::Initialized);
    let instance = claim.instance.as_ref().expect("an instance");
    assert!(["m7g.large", "m7i.large"].contains(&instance.instance_type.as_str()));
    assert!(instance.launched_at <= minute(6), "launched at {}", instance.launched_at);
    // Its node is its own, and of no pool: nothing that pools rule touches it, though it is empty.
    let name = claim.node.clone().expect("a node");
    let node = sim.nodes().into_iter().find(|node| node.name == name).expect("its node");
    assert_eq!(node.labels.get("team").map(String::as_str), Some("x"));
    assert_eq!(node.annotations.get("example.com/owner").map(String::as_str), Some("me"));
    assert_eq!(node.labels.get(labels::NODE_POOL), None);
    assert!(node.taints.contains(&mine().taints[0]));
    let pool = sim.pool_status(&testkit::build::id("general")).expect("it was told");
    assert_eq!(usize::try_from(pool.nodes).ok(), Some(sim.nodes().len() - 1));
    // The user's own object says it.
    let shown = sim.node_claim(&claim.name).expect("the object");
    assert_eq!((shown.claim, shown.is_deleting), (Some(claim), false));
}

#[test]
fn a_users_claim_expires() {
    let expires = Some(SignedDuration::from_mins(20));
    let sim = play(NodeClaim { expire_after: expires, ..mine() }, 45);
    assert_eq!(deleted(&sim), Some(DeletionReason::Expired));
    assert_eq!((claim(&sim), sim.node_claim(&mine().name)), (None, None));
}

#[test]
fn deleting_a_users_claim_drains_its_node() {
    let sim = sim(WorldSettings::default());
    sim.at(minute(3), apply(mine()));
    sim.at(minute(12), Action::DeleteNodeClaim(mine().name));
    run(&sim, 25);
    assert_eq!(deleted(&sim), Some(DeletionReason::NodeClaimDeleted));
    assert_eq!((claim(&sim), sim.node_claim(&mine().name)), (None, None));
}

#[test]
fn a_users_claim_whose_object_vanished_goes() {
    let sim = sim(WorldSettings::default());
    sim.at(minute(3), apply(mine()));
    run(&sim, 12);
    assert!(claim(&sim).is_some_and(|claim| claim.instance.is_some()));
    // A user removes the finalizer, too.
    sim.block_on(sim.remove(&mine().name)).expect("an answer").expect("it works");
    run(&sim, 25);
    assert_eq!(deleted(&sim), Some(DeletionReason::NodeClaimDeleted));
    assert_eq!(claim(&sim), None);
}

#[test]
fn a_users_claim_that_goes_before_anybody_looked_launches_nothing() {
    let sim = sim(WorldSettings::default());
    let at = |seconds| minute(3) + SignedDuration::from_secs(seconds);
    sim.at(at(5), apply(mine()));
    sim.at(at(6), Action::DeleteNodeClaim(mine().name));
    run(&sim, 12);
    let is_mine = |happening: &Happening| matches!(happening, Happening::ClaimCreated { claim, .. } if *claim == mine().name);
    assert!(!sim.timeline(0).iter().any(|event| is_mine(&event.happening)));
}

#[test]
fn a_users_claim_that_cannot_be_had_is_deleted() {
    let requirement = Requirement::new(labels::INSTANCE_TYPE, Operator::In, ["m9z.large"]);
    let impossible = NodeClaim {
        requirements: [requirement.expect("a requirement")].into_iter().collect(),
        ..mine()
    };
    let of_no_class = NodeClaim { node_class: testkit::build::id("missing"), ..mine() };
    for claim_of_user in [impossible, of_no_class] {
        let sim = play(claim_of_user, 12);
        assert_eq!((claim(&sim), sim.node_claim(&mine().name)), (None, None));
        assert_eq!(told(&sim), [EventReason::InsufficientCapacityError]);
        // Pools launch as before.
        assert_eq!(sim.summary().pods_waiting, 0);
        // Nothing was launched for it: no instance is its own, and no node.
        let ending = ["Fleet.terminate", "Nodes.delete"];
        let trace = sim.trace();
        let ended = trace.iter().find(|line| ending.iter().any(|call| line.contains(call)));
        assert_eq!(ended, None);
    }
}

#[test]
fn a_users_claim_for_which_ec2_has_no_capacity_is_deleted() {
    let sim = sim(WorldSettings::default());
    let types = ["m7g.large", "m7i.large"];
    sell_none(&sim, |_, offering| types.contains(&offering.instance_type.as_str()));
    sim.at(minute(3), apply(mine()));
    run(&sim, 12);
    let trace = sim.trace();
    let its_time =
        trace.iter().skip_while(|line| !line.contains(r#"ClaimCreated { claim: "mine""#));
    let mut its_time =
        its_time.take_while(|line| !line.contains(r#"ClaimRemoved { claim: "mine""#));
    assert!(its_time.any(|line| line.contains(" Fleet.launch ")), "EC2 was asked");
    assert_eq!((claim(&sim), sim.node_claim(&mine().name)), (None, None));
    assert_eq!(told(&sim), [EventReason::InsufficientCapacityError]);
}

/// No image of its class is there any more, so that says that it is not ready.
#[test]
fn a_users_claim_whose_class_is_not_ready_is_deleted_and_told() {
    let sim = sim(WorldSettings::default());
    run(&sim, 4);
    for image in sim.class_status(&mine().node_class).expect("it was told").images {
        sim.act(Action::DeregisterImage(image.id));
    }
    sim.at(minute(6), apply(mine()));
    run(&sim, 12);
    assert_eq!((claim(&sim), sim.node_claim(&mine().name)), (None, None));
    assert_eq!(told(&sim), [EventReason::NodeClassNotReady]);
}

/// Its class is as new as the claim: it was not resolved yet.
#[test]
fn a_users_claim_waits_for_its_class_and_says_so() {
    let sim = sim(WorldSettings::default());
    let class = NodeClass { name: testkit::build::id("new"), ..class(&sim) };
    // What is found about it cannot be written for a while.
    let away: FaultRule = Box::new(|call, _| {
        let is_new = call.operation == "NodeClasses.update_class_status" && call.subject == "new";
        let fails = is_new && call.now < minute(5);
        if fails { Injection::FailBefore(Fault::Transient) } else { Injection::Pass }
    });
    sim.at(minute(3), Action::Add(vec![ClusterObject::NodeClass(class.clone())]));
    sim.at(minute(3), apply(NodeClaim { node_class: class.name, ..mine() }));
    sim.add_rule(away);
    run(&sim, 5);
    let waiting = claim(&sim).expect("it waits");
    assert_eq!(waiting.phase, ClaimPhase::Created);
    let why = waiting.message.expect("why it waits");
    assert!(why.text.contains("new"), "{why}");
    assert_eq!(why.reason, Some(ConditionReason::NodeClassReadinessUnknown));
    run(&sim, 14);
    assert_eq!(claim(&sim).map(|claim| claim.phase), Some(ClaimPhase::Initialized));
}

#[test]
fn a_users_claim_whose_instance_is_missing_is_deleted() {
    let launched = |phase| {
        let instance = LaunchedInstance {
            id: testkit::build::id("i-00000000000000001"),
            instance_type: testkit::build::id("m7g.large"),
            zone: testkit::build::id("us-west-2a"),
            capacity_type: CapacityType::OnDemand,
            price: HourlyPrice::default(),
            image: None,
            launched_at: minute(3),
        };
        NodeClaim { phase, instance: Some(instance), ..mine() }
    };
    let is_there = |phase, end| play(launched(phase), end).node_claim(&mine().name).is_some();
    assert_eq!([7, 12].map(|end| is_there(ClaimPhase::Registered, end)), [true, false]);
    assert_eq!([17, 22].map(|end| is_there(ClaimPhase::Launched, end)), [true, false]);
}

#[test]
fn a_users_claim_is_adopted_when_the_ledger_is_lost() {
    let sim = sim(WorldSettings::default());
    sim.at(minute(3), apply(mine()));
    run(&sim, 12);
    let before = claim(&sim).and_then(|claim| claim.instance).expect("an instance");
    sim.act(Action::LoseLedger);
    run(&sim, 25);
    let after = claim(&sim).expect("it was adopted");
    assert_eq!(after.instance.map(|instance| instance.id), Some(before.id));
    assert_eq!(after.node_pool, NodePoolName::none());
}

/// Calls that are swept: of the minutes in which the claim is found, launched and registered.
const CALLS: std::ops::Range<u64> = 0..400;

#[track_caller]
fn check(injection: Injection, step: usize) {
    for number in CALLS.step_by(step) {
        // No pods: nearly every call is about the claim.
        let pool_and_class = MANIFESTS.split("---\napiVersion: apps/v1").next().expect("a part");
        let sim = sim_of(WorldSettings::with_seed(1), pool_and_class);
        sim.at(minute(1), apply(mine()));
        sim.at(minute(12), Action::DeleteNodeClaim(mine().name));
        sim.add_rule(at_call(number, injection));
        run(&sim, 11);
        let claim = claim(&sim);
        let phase = claim.as_ref().map(|claim| claim.phase);
        assert_eq!(phase, Some(ClaimPhase::Initialized), "call {number}: {injection}");
        assert_eq!(sim.nodes().len(), 1, "call {number}: {injection}");
        run(&sim, 24);
        assert_eq!((sim.nodes().len(), sim.claims().len()), (0, 0), "call {number}: {injection}");
        let launched: u32 = sim.summary().launched.values().sum();
        assert_eq!(launched, 1, "call {number}: {injection}");
    }
}

#[test]
fn a_crash_around_any_call_is_made_good() {
    check(Injection::CrashAfter, 9);
    check(Injection::CrashBefore, 13);
}

#[test]
fn a_lost_answer_and_a_failure_are_made_good() {
    check(Injection::FailAfter(Fault::Unknown), 11);
    check(Injection::FailBefore(Fault::Transient), 13);
}
