//! What is concluded of a launch.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, NodeClaim,
    event::EventReason,
    ledger::{LaunchRefusals, RejectionReason, Shortage, Snapshot},
};
use planner::{Conclusion, LaunchError, LaunchOutcome, NewInstance, Shortfall, concluded};
use testkit::build;

fn now() -> Timestamp {
    build::at("2026-11-26T12:00:00Z")
}

fn later(seconds: i64) -> Timestamp {
    now().checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn instance(id: &str) -> NewInstance {
    let known_type = build::instance_type("t.large cpu=2 memory=4Gi pods=29 on-demand:zone-1=0.1");
    NewInstance {
        id: build::id(id),
        image: build::id("ami-0a"),
        offering: known_type.key_of(&known_type.offerings[0]),
        known_type: Some(known_type),
        labels: BTreeMap::from([("shape".to_owned(), "large".to_owned())]),
        profile: Some("nodes".to_owned()),
        is_named: true,
        reservation: None,
    }
}

fn error(words: &str, shortfall: Shortfall) -> LaunchError {
    LaunchError { words: words.to_owned(), shortfall, quota: None }
}

fn conclude(outcome: LaunchOutcome, claims: &[NodeClaim]) -> Conclusion {
    concluded(outcome, claims, &Snapshot::default(), now())
}

#[test]
fn a_quota_that_is_used_up_is_reported_with_its_pool_and_holds_nothing_back() {
    let claims = build::batch("a", 2);
    let offerings = BTreeSet::from([instance("i-0a").offering]);
    let error = LaunchError {
        quota: Some("VCPULimitExceeded".to_owned()),
        ..error("VCPULimitExceeded: no", Shortfall::Unavailable(offerings))
    };
    let quota = [(
        Shortage::Quota {
            node_pool: claims[0].node_pool.clone(),
            word: "VCPULimitExceeded".to_owned(),
        },
        later(360),
    )];
    for instances in [vec![Some(instance("i-0a")), None], Vec::new()] {
        let answered = LaunchOutcome::Answered(instances, vec![error.clone(), error.clone()]);
        let concluded = conclude(answered, &claims);
        assert_eq!((concluded.shortages.as_slice(), concluded.refusals), (quota.as_slice(), None));
    }
}

#[test]
fn a_claim_takes_its_instance_and_a_claim_without_one_is_withdrawn() {
    let claims = build::batch("a", 2);
    let offering = instance("i-0a").offering;
    let errors = vec![error("NoRoom: none", Shortfall::Unavailable([offering.clone()].into()))];
    let answered = LaunchOutcome::Answered(vec![Some(instance("i-0a")), None], errors);
    let concluded = conclude(answered, &claims);
    let [launched] = concluded.changed.as_slice() else { panic!("{concluded:?}") };
    assert_eq!((launched.phase, launched.version), (ClaimPhase::Launched, claims[0].version + 1));
    let stored = launched.instance.as_ref().unwrap();
    assert_eq!((stored.id.as_str(), stored.price), ("i-0a", build::price("0.1")));
    assert_eq!(launched.capacity.get("pods"), 29);
    assert_eq!(launched.labels["shape"], "large");
    assert!(launched.instance_types.is_empty() && concluded.is_any_launched());
    assert_eq!(concluded.withdrawn, claims[1..]);
    assert_eq!(concluded.unavailable, [(offering, later(180))]);
    assert!(concluded.shortages.is_empty());
    assert_eq!(
        concluded.decision.unwrap().rejected[0].reason,
        RejectionReason::InsufficientCapacity
    );
    assert_eq!(concluded.events[0].reason, EventReason::InsufficientCapacityError);
    // Something was launched for the NodePool: it is not held back.
    assert_eq!((concluded.refusals, concluded.again), (None, None));
}

#[test]
fn a_refused_node_pool_is_held_back_for_longer_each_time() {
    let claims = build::batch("a", 1);
    let refused = |count: Option<u32>| {
        let before =
            |count| LaunchRefusals { reason: String::new(), count, until: now(), ended: 0 };
        let refusals = count.map(|count| (claims[0].node_pool.clone(), before(count)));
        let ledger = Snapshot { refusals: refusals.into_iter().collect(), ..Snapshot::default() };
        let outcome = LaunchOutcome::Refused("Unauthorized: no".to_owned(), None);
        let conclusion = concluded(outcome, &claims, &ledger, now());
        assert_eq!(conclusion.withdrawn, claims);
        assert_eq!(conclusion.decision.unwrap().summary, "1 claim withdrawn: Unauthorized: no");
        let refusals = conclusion.refusals.unwrap().1.unwrap();
        (refusals.count, refusals.until.duration_since(now()).as_secs())
    };
    assert_eq!((refused(None), refused(Some(1)), refused(Some(9))), ((1, 30), (2, 60), (10, 600)));
    // Once it launches again, its refusals go.
    let before = LaunchRefusals { reason: String::new(), count: 1, until: now(), ended: 0 };
    let refusals = [(claims[0].node_pool.clone(), before)].into();
    let ledger = Snapshot { refusals, ..Snapshot::default() };
    let found = LaunchOutcome::Found(vec![Some(instance("i-0a"))]);
    let conclusion = concluded(found, &claims, &ledger, now());
    assert_eq!(conclusion.refusals, Some((claims[0].node_pool.clone(), None)));
}

#[test]
fn an_error_that_passes_holds_the_pool_back_only_if_no_other_offering_is_left_out() {
    let claims = build::batch("a", 1);
    let refusal = |errors| {
        let conclusion = conclude(LaunchOutcome::Answered(Vec::new(), errors), &claims);
        conclusion.refusals.and_then(|(_, refusals)| Some(refusals?.reason))
    };
    let passing = || error("Throttled: wait", Shortfall::Passing);
    assert_eq!(refusal(vec![passing()]).as_deref(), Some("Throttled: wait"));
    let offerings = [instance("i-0a").offering].into();
    let unavailable = error("NoRoom: none", Shortfall::Unavailable(offerings));
    assert_eq!(refusal(vec![passing(), unavailable.clone()]), None);
    let subnet = build::id("subnet-0a");
    let short = Shortfall::Short([Shortage::Addresses { subnet }].into());
    assert_eq!(refusal(vec![passing(), error("NoAddress: none", short)]), None);
    let lasting = error("Refused: never", Shortfall::Lasting);
    assert_eq!(refusal(vec![unavailable, lasting]).as_deref(), Some("Refused: never"));
}

#[test]
fn claims_whose_class_is_not_ready_in_time_say_so() {
    let claims = build::batch("a", 1);
    let reason = "NodeClassNotReady: it has no subnet".to_owned();
    let conclusion = conclude(LaunchOutcome::TooLate(reason.clone()), &claims);
    assert_eq!(conclusion.too_late, Some(reason));
    assert_eq!(conclusion.events[0].reason, EventReason::NodeClassNotReady);
    assert_eq!(conclusion.decision.unwrap().rejected[0].reason, RejectionReason::NodeClassNotReady);
    let nothing = conclude(LaunchOutcome::Found(Vec::new()), &claims);
    assert_eq!(nothing.too_late.as_deref(), Some("EC2 launched nothing"));
    assert_eq!((nothing.withdrawn.len(), nothing.refusals), (1, None));
}

#[test]
fn a_launch_that_fails_is_tried_again_later_each_time() {
    let postponed = |claim: &NodeClaim| {
        let outcome = LaunchOutcome::Later("InternalError: later".to_owned());
        conclude(outcome, std::slice::from_ref(claim))
    };
    let mut claim = build::batch("a", 1).remove(0);
    claim.created_at = now();
    // Nothing was requested: nothing is stored.
    assert_eq!((postponed(&claim).again, postponed(&claim).changed.len()), (Some(later(2)), 0));
    claim.created_at = later(-60);
    assert_eq!(postponed(&claim).again, Some(later(30)));
    claim.requested_at = Some(now());
    let first = postponed(&claim);
    let [kept] = first.changed.as_slice() else { panic!("{first:?}") };
    assert_eq!(first.again, kept.retry.map(|retry| retry.not_before));
    assert!(first.again < postponed(kept).again && !first.is_any_launched());
    let beside = conclude(LaunchOutcome::Overtaken, &[claim]);
    assert_eq!(beside, Conclusion { again: Some(later(2)), ..Conclusion::default() });
}
