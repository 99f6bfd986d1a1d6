//! What EC2's checks of instances and its scheduled events mean.

use jiff::SignedDuration;
use model::{
    DeletionReason, Function, InstanceId, NodeClaim,
    interruption::{StatusProblem, StatusReport},
};
use planner::lifecycle::status::*;

use crate::planner::support::{add_managed, ago, facts, now};

fn reports(claim: &NodeClaim, problems: &[StatusProblem]) -> Vec<StatusReport> {
    let instance = &claim.instance.as_ref().unwrap().id;
    let report =
        |problem: &StatusProblem| StatusReport { instance: instance.clone(), problem: *problem };
    problems.iter().map(report).collect()
}

#[test]
fn an_instance_whose_check_fails_for_two_minutes_is_terminated_by_force() {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    claim.termination_grace_period = Some(SignedDuration::from_hours(1));
    facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    for (since, is_deleted) in [(Some(ago(120)), true), (Some(ago(119)), false), (None, false)] {
        for problem in
            [StatusProblem::InstanceCheck { since }, StatusProblem::SystemCheck { since }]
        {
            let plan = impaired(&facts.ledger, &reports(&claim, &[problem]), now());
            assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
            let deletions: Vec<_> = plan
                .changes
                .iter()
                .filter_map(|change| change.deletion.as_ref())
                .map(|d| (d.reason, d.deadline))
                .collect();
            let forced = (DeletionReason::InstanceUnhealthy, Some(now()));
            assert_eq!(deletions, if is_deleted { vec![forced] } else { vec![] });
            assert!(plan.decisions.iter().all(|d| d.function == Function::Sweep));
            assert!(plan.unavailable_offerings.is_empty());
        }
    }
}

#[test]
fn a_scheduled_event_leaves_pods_their_time_unless_a_check_fails_too() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let event = StatusProblem::ScheduledEvent;
    let plan = impaired(&facts.ledger, &reports(&claim, &[event]), now());
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().deadline, None);
    let deleted = plan.changes[0].clone();
    let failed = StatusProblem::SystemCheck { since: Some(ago(300)) };
    let plan = impaired(&facts.ledger, &reports(&claim, &[event, failed]), now());
    assert_eq!(plan.changes.len(), 1);
    assert_eq!(plan.changes[0].deletion.as_ref().unwrap().deadline, Some(now()));
    assert_eq!(
        plan.decisions[0].summary,
        "claim-node-1 is deleted: EC2's checks of its instance fail (i-claimnode1)"
    );
    // What is deleted already ends now where it had no deadline, and once.
    facts.ledger.claims.insert(deleted.name.clone(), deleted.clone());
    let plan = impaired(&facts.ledger, &reports(&deleted, &[event, failed]), now());
    assert_eq!(plan_check::violations(&facts, &plan), Vec::new());
    let hastened = plan.changes[0].clone();
    assert_eq!(hastened.deletion.as_ref().unwrap().deadline, Some(now()));
    facts.ledger.claims.insert(hastened.name.clone(), hastened.clone());
    for later in [now(), now() + SignedDuration::from_mins(1)] {
        let plan = impaired(&facts.ledger, &reports(&hastened, &[event, failed]), later);
        assert!(plan.is_empty(), "{later}");
    }
}

#[test]
fn instances_of_no_claim_here_are_no_concern() {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "node-1");
    let mut reports = reports(&claim, &[StatusProblem::ScheduledEvent]);
    reports[0].instance = InstanceId::new("i-0f").unwrap();
    assert!(impaired(&facts.ledger, &reports, now()).is_empty());
}
