//! Instances that end before their nodes join.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodeName,
    claim::Deletion,
    duration::later,
    ledger::{LaunchRefusals, Snapshot},
};
use planner::{ended_early, held_back, joined_again, waiting};
use testkit::build;

use crate::planner::support::{ago, now};

fn ended(reason: DeletionReason) -> NodeClaim {
    let deletion = Some(Deletion { reason, at: now(), deadline: None });
    NodeClaim { deletion, ..build::claim("general-1-0") }
}

#[test]
fn only_an_instance_that_ends_by_itself_without_a_node_counts() {
    let claim = ended(DeletionReason::InstanceEnded);
    assert_eq!(ended_early(&claim), Some(&claim.node_pool));
    let node = Some(NodeName::new("node-1").unwrap());
    assert_eq!(ended_early(&NodeClaim { node, ..claim }), None);
    for reason in [DeletionReason::SpotInterrupted, DeletionReason::NotRegistered] {
        assert_eq!(ended_early(&ended(reason)), None, "{reason:?}");
    }
}

/// What is stored after a number of instances that ended at `at`, in passes after each other.
fn after(mut ledger: Snapshot, passes: &[(usize, Timestamp)]) -> (Snapshot, LaunchRefusals) {
    let pool = build::claim("general-1-0").node_pool;
    for (count, at) in passes {
        let ended = vec![(pool.clone(), "Client.InternalError".to_owned()); *count];
        ledger.refusals.extend(waiting(&ledger, &ended, *at));
    }
    let refusals = ledger.refusals[&pool].clone();
    (ledger, refusals)
}

#[test]
fn the_third_in_a_row_lets_its_pool_wait_and_each_wait_is_longer() {
    let (ledger, refusals) = after(Snapshot::default(), &[(2, now())]);
    assert_eq!((refusals.ended, refusals.until), (2, now()));
    let (mut ledger, refusals) = after(ledger, &[(1, now())]);
    assert_eq!(refusals.until, later(now(), SignedDuration::from_mins(1)));
    let why = "its instances end before their nodes join: Client.InternalError";
    assert_eq!((refusals.ended, refusals.reason.as_str()), (3, why));
    // Those that were launched before the wait do not make it longer.
    let (same, refusals) = after(ledger.clone(), &[(5, now())]);
    assert_eq!((refusals.ended, refusals.until), (8, later(now(), SignedDuration::from_mins(1))));
    ledger = same;
    for minutes in [2, 4, 8, 10, 10] {
        let at = ledger.refusals.values().next().unwrap().until;
        let (next, refusals) = after(ledger, &[(1, at)]);
        assert_eq!(refusals.until, later(at, SignedDuration::from_mins(minutes)));
        ledger = next;
    }
}

#[test]
fn instances_that_ended_count_before_their_claims_are_gone() {
    let claims = |count: usize| -> Snapshot {
        let claims = (0..count).map(|at| NodeClaim {
            name: format!("general-1-{at}").parse().unwrap(),
            ..ended(DeletionReason::InstanceEnded)
        });
        let claims = claims.map(|claim| (claim.name.clone(), claim)).collect();
        Snapshot { claims, ..Snapshot::default() }
    };
    let pool = build::claim("general-1-0").node_pool;
    assert_eq!(held_back(&claims(2), &pool, now()), None);
    let held = held_back(&claims(3), &pool, now()).unwrap();
    let minute = later(now(), SignedDuration::from_mins(1));
    assert_eq!((held.until, held.ended), (minute, 3));
    // A claim that never goes keeps no pool for ever.
    assert_eq!(held_back(&claims(3), &pool, minute), None);
    let other = build::id("other");
    assert_eq!(held_back(&claims(3), &other, now()), None);
    let (ledger, refusals) = after(claims(1), &[(3, now())]);
    assert_eq!(held_back(&ledger, &pool, now()), Some(refusals.clone()));
    let held = held_back(&ledger, &pool, refusals.until);
    assert_eq!(held.map(|held| held.until), Some(later(now(), SignedDuration::from_mins(2))));
}

#[test]
fn a_refused_launch_is_no_instance_that_ended() {
    let refused =
        LaunchRefusals { reason: "VcpuLimitExceeded".to_owned(), count: 4, until: now(), ended: 0 };
    let pool = build::claim("general-1-0").node_pool;
    let ledger = Snapshot { refusals: BTreeMap::from([(pool, refused)]), ..Snapshot::default() };
    let (_, refusals) = after(ledger, &[(3, now())]);
    assert_eq!((refusals.count, refusals.ended), (1, 3));
}

#[test]
fn a_node_that_joins_after_the_wait_began_refutes_it() {
    let (mut ledger, _) = after(Snapshot::default(), &[(3, now())]);
    for (phase, since, is_refuted) in [
        (ClaimPhase::Registered, later(now(), SignedDuration::from_secs(90)), true),
        (ClaimPhase::Launched, later(now(), SignedDuration::from_secs(90)), false),
        // It joined before the others ended.
        (ClaimPhase::Registered, ago(90), false),
    ] {
        let claim = NodeClaim { phase, phase_since: since, ..build::claim("general-1-0") };
        ledger.claims = [(claim.name.clone(), claim.clone())].into_iter().collect();
        assert_eq!(joined_again(&ledger).contains(&claim.node_pool), is_refuted, "{phase:?}");
    }
}
