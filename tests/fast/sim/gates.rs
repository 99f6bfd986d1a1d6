//! One object that misbehaves for ever stops nothing but itself.

use std::collections::BTreeSet;

use model::{InstanceId, NodeClaim, event::EventReason, ledger::Guard};
use ports::{Fault, Ledger as _};
use simulator::{Action, Injection, Sim, SpotTarget, WorldSettings};

use crate::world::{minute, runner, scale, sim};

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
fn settled() -> (Sim, simulator::Runner<impl simulator::Dispatch>, Vec<NodeClaim>) {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(6)).expect("nothing unsafe happens");
    let claims = sim.claims().into_iter().filter(|claim| claim.instance.is_some()).collect();
    (sim, runner, claims)
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

#[test]
fn a_node_claim_that_refuses_to_be_adopted_keeps_no_other() {
    for refused in [false, true] {
        let (sim, mut runner, claims) = settled();
        let first = &claims[0];
        sim.act(Action::LoseLedger);
        for claim in &claims {
            sim.act(Action::AddForeignNodeClaim(Box::new(claim.clone())));
        }
        if refused {
            refuse(&sim, "NodeClaims.take_over", first.name.as_str());
        }
        runner.run_until(minute(9)).expect("nothing unsafe happens");
        assert!(matches!(guard(&sim), Guard::Free { .. }), "{:?}", guard(&sim));
        let adopted =
            sim.claims().into_iter().filter(|claim| claims.iter().any(|c| c.name == claim.name));
        assert_eq!(adopted.count(), claims.len() - usize::from(refused));
        sim.at(minute(10), scale("web", 20));
        sim.at(minute(14), Action::InterruptSpot(SpotTarget::Any));
        runner.run_until(minute(40)).expect("nothing unsafe happens");
        check(&sim);
        // Nobody ends what it is about.
        let is_alive = working(&sim).contains(&instance(first));
        assert!(is_alive || !refused, "{} has ended", first.name);
        let mut told =
            sim.told().into_iter().filter(|(_, event)| event.reason == EventReason::FailedAdoption);
        assert_eq!(told.next().is_some(), refused);
    }
}

#[test]
fn an_object_that_refuses_to_be_adopted_later_holds_up_no_other_comparison() {
    let (sim, mut runner, claims) = settled();
    let [victim, _, lost, ..] = claims.as_slice() else { panic!("three claims") };
    sim.act(Action::ForgetClaim(victim.name.clone()));
    sim.act(Action::AddForeignNodeClaim(Box::new(victim.clone())));
    refuse(&sim, "NodeClaims.take_over", victim.name.as_str());
    // Its end reaches nobody but the comparison.
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

#[test]
fn a_protected_stray_keeps_no_other() {
    let (sim, mut runner, claims) = settled();
    let strays: Vec<InstanceId> = claims.iter().map(instance).collect();
    for claim in &claims {
        sim.act(Action::ForgetClaim(claim.name.clone()));
    }
    sim.act(Action::ProtectInstance(strays[0].clone()));
    // Without their NodePool nobody can tell their claims.
    sim.act(Action::DeleteNodePool(claims[0].node_pool.clone()));
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!(working(&sim), BTreeSet::from([strays[0].clone()]));
}
