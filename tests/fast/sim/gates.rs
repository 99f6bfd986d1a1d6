//! One object that misbehaves for ever stops nothing but itself.

use std::{cell::Cell, collections::BTreeSet, rc::Rc};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ConditionKind, InstanceId, NodeClaim, NodePoolName,
    duration::later,
    event::{EventObject, EventReason, ObjectEvent},
    lease::{KarpenterLease, ObservedLeases, UnreadableLease},
    ledger::Guard,
};
use ports::{Fault, Ledger as _};
use simulator::{Action, Injection, Sim, SpotTarget, Stopped, WorldSettings};

use crate::world::{MANIFESTS, minute, runner, scale, sell_none, sim, sim_of};

fn guard(sim: &Sim) -> Guard {
    let head = sim.block_on(sim.head(&WorldSettings::default().cluster));
    head.expect("it ends").expect("it answers").guard
}

/// `operation` about whatever has `part` in its name is refused for ever.
fn refuse(sim: &Sim, operation: &'static str, part: &str) {
    let part = part.to_owned();
    sim.add_rule(Box::new(move |call, _| {
        let is_meant = call.operation == operation && call.subject.contains(&part);
        if is_meant { Injection::FailBefore(Fault::Permanent) } else { Injection::Pass }
    }));
}

/// The usual world after some minutes, and its claims with an instance.
fn settled(
    settings: WorldSettings,
) -> (Sim, simulator::Runner<impl simulator::Dispatch>, Vec<NodeClaim>) {
    let sim = sim(settings);
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let claims = sim.claims().into_iter().filter(|claim| claim.instance.is_some()).collect();
    (sim, runner, claims)
}

fn first(claims: &[NodeClaim]) -> &NodeClaim {
    claims.first().expect("a claim")
}

fn instance(claim: &NodeClaim) -> InstanceId {
    claim.instance.as_ref().expect("it has one").id.clone()
}

fn working(sim: &Sim) -> BTreeSet<InstanceId> {
    sim.working_instances().into_iter().map(|instance| instance.id).collect()
}

/// All pods have a place, and nothing is left over.
#[track_caller]
fn check(sim: &Sim) {
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.summary().pods_waiting, 0);
}

/// The table is lost, and the object of the first claim refuses to be adopted, if it is `refused`: the world three
/// minutes later, its claims before, and how many of them are adopted.
fn adopted(
    settings: WorldSettings,
    refused: bool,
) -> (Sim, simulator::Runner<impl simulator::Dispatch>, Vec<NodeClaim>, usize) {
    let (sim, mut runner, claims) = settled(settings);
    sim.act(Action::LoseLedger);
    for claim in &claims {
        sim.act(Action::AddForeignNodeClaim(Box::new(claim.clone())));
    }
    if refused {
        refuse(&sim, "NodeClaims.take_over", first(&claims).name.as_str());
    }
    runner.run_until(minute(9)).expect("nothing unsafe happens");
    let names: BTreeSet<_> = claims.iter().map(|claim| &claim.name).collect();
    let adopted = sim.claims().iter().filter(|claim| names.contains(&claim.name)).count();
    (sim, runner, claims, adopted)
}

/// Whether the functions act though a NodeClaim refuses to be adopted, and how many others are adopted.
pub(crate) fn adopted_beside_a_refusal(settings: WorldSettings) -> (bool, usize) {
    let (sim, _, _, adopted) = adopted(settings, true);
    (matches!(guard(&sim), Guard::Free { .. }), adopted)
}

#[test]
fn a_node_claim_that_refuses_to_be_adopted_keeps_no_other() {
    for refused in [false, true] {
        let (sim, mut runner, claims, adopted) = adopted(WorldSettings::default(), refused);
        assert!(matches!(guard(&sim), Guard::Free { .. }), "{:?}", guard(&sim));
        assert_eq!(adopted, claims.len() - usize::from(refused));
        sim.at(minute(10), scale("web", 20));
        sim.at(minute(14), Action::InterruptSpot(SpotTarget::Any));
        runner.run_until(minute(40)).expect("nothing unsafe happens");
        check(&sim);
        // What it is about is not ended.
        let first = first(&claims);
        let is_alive = working(&sim).contains(&instance(first));
        assert!(is_alive || !refused, "{} has ended", first.name);
        let mut told =
            sim.told().into_iter().filter(|(_, event)| event.reason == EventReason::FailedAdoption);
        assert_eq!(told.next().is_some(), refused);
    }
}

#[test]
fn an_object_that_refuses_to_be_adopted_later_holds_up_no_other_comparison() {
    let (sim, mut runner, claims) = settled(WorldSettings::default());
    let [victim, _, lost, ..] = claims.as_slice() else { panic!("three claims") };
    sim.act(Action::ForgetClaim(victim.name.clone()));
    sim.act(Action::AddForeignNodeClaim(Box::new(victim.clone())));
    refuse(&sim, "NodeClaims.take_over", victim.name.as_str());
    // Only the comparison sees its end.
    refuse(&sim, "Ledger.claims_of_instances", "");
    sim.act(Action::TerminateInstance(SpotTarget::Instance(instance(lost))));
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    assert!(
        sim.claims().iter().all(|claim| claim.name != lost.name),
        "{} is still there",
        lost.name
    );
    check(&sim);
}

/// The ledger forgets the claims of all instances, and one instance is protected. Returns the others that still run.
pub(crate) fn strays_beside_a_protected_one(
    settings: WorldSettings,
) -> Result<BTreeSet<InstanceId>, Stopped> {
    let (sim, mut runner, claims) = settled(settings);
    for claim in &claims {
        sim.act(Action::ForgetClaim(claim.name.clone()));
    }
    let protected = instance(first(&claims));
    sim.act(Action::ProtectInstance(protected.clone()));
    // Without their NodePool their claims are not known.
    sim.act(Action::DeleteNodePool(first(&claims).node_pool.clone()));
    runner.run_until(minute(20))?;
    let mut living = working(&sim);
    assert!(living.remove(&protected), "{protected} has ended");
    Ok(living)
}

#[test]
fn a_protected_stray_keeps_no_other() {
    let living = strays_beside_a_protected_one(WorldSettings::default());
    assert_eq!(living.expect("nothing unsafe happens"), BTreeSet::new());
}

/// How often each operation of a port was called between minutes 10 and 70, and the world then.
fn calls_of_an_hour(refused: bool) -> (Sim, u64, u32) {
    let tagged = Rc::new(Cell::new(0));
    let sim = sim(WorldSettings::default());
    let counter = Rc::clone(&tagged);
    sim.add_rule(Box::new(move |call, _| {
        if call.operation != "Fleet.tag" {
            return Injection::Pass;
        }
        counter.set(counter.get() + 1);
        if refused { Injection::Refuse("UnauthorizedOperation") } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let (before, tagged_before) = (sim.calls(), tagged.get());
    runner.run_until(minute(70)).expect("nothing unsafe happens");
    let (calls, tags) = (sim.calls() - before, tagged.get() - tagged_before);
    (sim, calls, tags)
}

#[test]
fn tags_that_are_refused_are_tried_ever_less_often() {
    let (_, usual, _) = calls_of_an_hour(false);
    let (sim, calls, tags) = calls_of_an_hour(true);
    assert!(calls * 10 <= usual * 11, "{calls} calls in an hour, usually {usual}");
    let claims = u32::try_from(sim.claims().len()).expect("few");
    // Each of them every fifteen minutes at the most, once the first back-off is over.
    assert!(tags <= claims * 8, "{tags} calls of CreateTags with {claims} claims");
    check(&sim);
}

/// Why instances end.
const ENDED: &str =
    "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state";

/// A world whose instances end before their nodes join, after 70 minutes, and how many it launched.
pub(crate) fn ended_early(
    settings: WorldSettings,
) -> (Sim, simulator::Runner<impl simulator::Dispatch>, usize) {
    let sim = sim(settings);
    let (mut runner, _reports) = runner(&sim);
    sim.act(Action::EndLaunches(Some(ENDED.to_owned())));
    let mut launched = BTreeSet::new();
    for second in (0..70 * 60).step_by(5) {
        runner
            .run_until(later(minute(0), SignedDuration::from_secs(second)))
            .expect("nothing unsafe happens");
        launched.extend(
            sim.claims().iter().filter_map(|claim| Some(claim.instance.as_ref()?.id.clone())),
        );
    }
    let launched = launched.len();
    (sim, runner, launched)
}

#[test]
fn instances_that_end_before_their_nodes_join_are_launched_ever_less_often() {
    let (sim, mut runner, launched) = ended_early(WorldSettings::default());
    assert!(launched <= 60, "{launched} instances in 70 minutes");
    assert!(launched >= 15, "only {launched} instances in 70 minutes");
    let refusals = sim.ledger().refusals;
    let why = &refusals.values().next().expect("one is stored").reason;
    assert!(why.contains(ENDED), "{why}");
    // What is mended is used as soon as the wait is over.
    sim.act(Action::EndLaunches(None));
    runner.run_until(minute(85)).expect("nothing unsafe happens");
    check(&sim);
    assert!(sim.ledger().refusals.is_empty(), "{:?}", sim.ledger().refusals);
}

#[test]
fn fleets_whose_answers_are_lost_serve_all_pods_though_little_is_sold() {
    for (lost, is_short) in [(false, true), (true, false), (true, true)] {
        let sim = sim(WorldSettings::default());
        let (mut runner, _reports) = runner(&sim);
        if lost {
            sim.add_rule(Box::new(|call, _| {
                let is_meant = call.operation == "Fleet.launch";
                if is_meant { Injection::FailAfter(Fault::Unknown) } else { Injection::Pass }
            }));
        }
        if is_short {
            sell_none(&sim, |_, offering| offering.instance_type.as_str() != "m7i.xlarge");
        }
        runner.run_until(minute(30)).expect("nothing unsafe happens");
        check(&sim);
    }
}

/// A lease that another program made in `namespace`, for as long as a lease can say.
fn lease(namespace: &str) -> KarpenterLease {
    let (holder, duration) = ("another-program".to_owned(), SignedDuration::from_hours(24));
    KarpenterLease { namespace: namespace.to_owned(), holder, renewed_at: minute(6), duration }
}

/// Leases that are not Karpenter's, each set by itself.
pub(crate) fn leases_of_anybody() -> [ObservedLeases; 3] {
    let unreadable =
        UnreadableLease { namespace: "team-x".to_owned(), why: "no renewTime".to_owned() };
    let short = KarpenterLease { duration: SignedDuration::from_mins(5), ..lease("team-x") };
    [
        ObservedLeases { unreadable: vec![unreadable], ..ObservedLeases::default() },
        ObservedLeases { karpenter: vec![short], ..ObservedLeases::default() },
        ObservedLeases { karpenter: vec![lease("kube-system")], ..ObservedLeases::default() },
    ]
}

/// A world with `leases`, where pods come two and twelve minutes after them, and how many pods wait for longer than three
/// minutes. Functions pause only ten minutes after a lease that they cannot read.
pub(crate) fn waiting_after_leases(
    settings: WorldSettings,
    leases: ObservedLeases,
) -> (Sim, simulator::Runner<impl simulator::Dispatch>, u64) {
    let (sim, mut runner, _) = settled(settings);
    sim.act(Action::AddLeases(Box::new(leases)));
    let mut waiting = 0;
    for (at, replicas) in [(8, 20), (18, 30)] {
        sim.at(minute(at), scale("web", replicas));
        runner.run_until(minute(at + 3)).expect("nothing unsafe happens");
        waiting += sim.summary().pods_waiting;
    }
    (sim, runner, waiting)
}

#[test]
fn leases_that_anybody_may_make_stop_nothing() {
    for leases in leases_of_anybody() {
        let (sim, mut runner, waiting) = waiting_after_leases(WorldSettings::default(), leases);
        assert_eq!(waiting, 0);
        sim.at(minute(30), Action::InterruptSpot(SpotTarget::Any));
        runner.run_until(minute(60)).expect("nothing unsafe happens");
        check(&sim);
        assert!(matches!(guard(&sim), Guard::Free { .. }), "{:?}", guard(&sim));
    }
}

#[test]
fn a_lease_of_karpenter_that_cannot_be_read_stops_all_and_what_is_there_stays() {
    let (sim, mut runner, claims) = settled(WorldSettings::default());
    let unreadable =
        UnreadableLease { namespace: "karpenter".to_owned(), why: "no renewTime".to_owned() };
    let leases = ObservedLeases { unreadable: vec![unreadable], ..ObservedLeases::default() };
    sim.act(Action::AddLeases(Box::new(leases)));
    sim.at(minute(20), scale("web", 20));
    runner.run_until(minute(60)).expect("nothing unsafe happens");
    assert_ne!(sim.summary().pods_waiting, 0);
    assert!(working(&sim).is_superset(&claims.iter().map(instance).collect()));
    sim.act(Action::AddLeases(Box::default()));
    runner.run_until(minute(70)).expect("nothing unsafe happens");
    check(&sim);
}

/// A world whose NodePool has a budget with a schedule that is none, after pods came and most of them went: the
/// instances that were there in between, and how many pods waited then.
pub(crate) fn with_an_unreadable_budget(
    settings: WorldSettings,
) -> (Sim, BTreeSet<InstanceId>, u64) {
    let unreadable = r#"budgets: [{nodes: "0", schedule: "0 0 * * sat-sun", duration: 8h}]"#;
    let text = MANIFESTS.replace(r#"budgets: [{nodes: "50%"}]"#, unreadable);
    assert_ne!(text, MANIFESTS);
    let sim = sim_of(settings, &text);
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let (there, waiting) = (working(&sim), sim.summary().pods_waiting);
    sim.act(scale("web", 1));
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    (sim, there, waiting)
}

#[test]
fn a_node_pool_whose_budget_cannot_be_read_launches_and_keeps_its_nodes() {
    let (sim, there, waiting) = with_an_unreadable_budget(WorldSettings::default());
    assert!(1 < there.len() && waiting == 0, "{there:?} for {waiting}");
    assert_eq!(working(&sim), there);
    check(&sim);
}

#[test]
fn a_cluster_that_is_made_anew_over_its_old_table_gets_new_nodes() {
    let (sim, mut runner, claims) = settled(WorldSettings::default());
    assert!(1 < claims.len(), "{claims:?}");
    for claim in &claims {
        sim.act(Action::TerminateInstance(SpotTarget::Instance(instance(claim))));
        sim.act(Action::DeleteNodeClaim(claim.name.clone()));
    }
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    check(&sim);
    let names: BTreeSet<_> = sim.claims().into_iter().map(|claim| claim.name).collect();
    assert!(!names.is_empty() && claims.iter().all(|claim| !names.contains(&claim.name)));
    assert!(matches!(guard(&sim), Guard::Free { .. }));
}

#[test]
fn in_a_new_account_what_its_quotas_allow_runs() {
    let mut settings = WorldSettings::default();
    // What accounts begin with: tests/fast/sim/failures.md.
    settings.limits.quotas.concurrent_invocations = Some(10);
    settings.limits.quotas.on_demand_vcpus = Some(5);
    settings.limits.quotas.spot_vcpus = Some(5);
    let sim = sim(settings);
    let requests = Rc::new(Cell::new(0_u32));
    let counter = Rc::clone(&requests);
    sim.add_rule(Box::new(move |call, _| {
        counter.set(counter.get() + u32::from(call.operation == "Fleet.launch"));
        Injection::Pass
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    let launched: BTreeSet<CapacityType> =
        sim.working_instances().iter().map(|instance| instance.capacity_type).collect();
    assert_eq!(launched.len(), 2, "each of the two quotas is used");
    let summary = sim.summary();
    assert!(6 <= summary.pods_placed && summary.pods_waiting <= 9, "{summary:?}");
    // Pods that wait name the quota.
    let is_named = |(_, event): &(Timestamp, ObjectEvent)| {
        matches!(event.about, EventObject::Pod(..)) && event.message.contains("SpotQuotaExceeded")
    };
    assert!(sim.told().iter().any(is_named));
    // So does the NodePool.
    assert_eq!(quotas(&sim), ["QuotaExceeded=Some(true) SpotQuotaExceeded"]);
    let requests = requests.get();
    assert!(requests < 100, "{requests} CreateFleet in 20 minutes");
    // As many as it has room for run, without anybody's doing.
    sim.at(minute(20), scale("web", 2));
    runner.run_until(minute(40)).expect("nothing unsafe happens");
    check(&sim);
}

/// What the NodePool says of quotas of the account: condition, status and reason.
fn quotas(sim: &Sim) -> Vec<String> {
    let pool = NodePoolName::new("general").expect("a name");
    let record = sim.node_pool_record(&pool).expect("it is there");
    let quotas =
        record.conditions.iter().filter(|condition| condition.kind == ConditionKind::QuotaExceeded);
    quotas.map(|quota| format!("{}={:?} {}", quota.kind, quota.status, quota.reason)).collect()
}
