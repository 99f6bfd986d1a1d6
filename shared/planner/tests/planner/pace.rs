//! When `provision` looks at the whole cluster.

use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use model::{
    Plan, Pod,
    facts::Facts,
    ledger::{Counters, Snapshot},
    node_pool::ObservedNodePool,
    pulse::{PassEnd, PulseNote},
    wake::WakeHealth,
};
use planner::pace::{self, BatchWindow, Calls, LastLook, Looked, Pace, Past, Seen};
use testkit::build;

fn at(seconds: i64) -> Timestamp {
    let start = build::at("2026-11-26T12:00:00Z");
    start.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn counters(arrivals: u64, departures: u64) -> Counters {
    Counters { arrivals, departures }
}

fn pending(name: &str, since: i64) -> Pod {
    Pod { unschedulable_at: Some(at(since)), ..build::pod(name) }
}

/// A pass that begins at a second and sees pending pods.
fn seen(pods: &[Pod], counters: Counters, began: i64) -> Seen<'_> {
    Seen {
        pending: pods,
        node_pools: &[],
        counters,
        began_at: at(began),
        keeps_buffers: false,
        poll_interval: SignedDuration::from_secs(5),
        calls: Calls::default(),
        window: BatchWindow::default(),
    }
}

fn past(served: Counters) -> Past {
    Past { served, note: None, has_failed: false, last_look: None }
}

/// A look that created nothing, and what the next pass starts from.
fn looked(seen: &Seen<'_>, past: &Past, disrupted: usize, second: i64) -> Past {
    looked_at(seen, past, (disrupted, false), second)
}

/// The same, whether or not pods wait for an EC2NodeClass.
fn looked_at(
    seen: &Seen<'_>,
    past: &Past,
    (disrupted, waits_for_class): (usize, bool),
    second: i64,
) -> Past {
    let counters = seen.counters;
    let looked = Looked {
        counters,
        has_all_replicas: true,
        waits_for_class,
        disrupted,
        creates_claims: false,
    };
    let (end, look) = pace::after(seen, past, Some(&looked), at(second));
    Past { served: seen.counters, note: end.note, has_failed: false, last_look: look.map(Rc::new) }
}

fn rests_for(pace: Pace, began: i64) -> i64 {
    match pace {
        Pace::Rest(PassEnd { next_at: Some(next_at), .. }) => {
            next_at.duration_since(at(began)).as_secs()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_pending_pods_the_next_beat_comes_after_the_poll_interval() {
    let seen = seen(&[], counters(1, 0), 0);
    assert_eq!(rests_for(pace::next(&seen, &past(counters(1, 0)), at(0)), 0), 5);
    // Room for a CapacityBuffer may be missing without any pending pod.
    let keeps = Seen { keeps_buffers: true, ..seen };
    assert_eq!(pace::next(&keeps, &past(counters(1, 0)), at(0)), Pace::Look);
}

#[test]
fn pods_are_gathered_until_none_has_come_for_a_second_or_the_oldest_is_ten_seconds_old() {
    let past = past(counters(0, 0));
    let next =
        |pods: &[Pod], began, now| pace::next(&seen(pods, counters(0, 0), began), &past, at(now));
    assert_eq!(next(&[pending("a", 20)], 20, 20), Pace::Wait(at(21)));
    assert_eq!(next(&[pending("a", 20), pending("b", 21)], 20, 21), Pace::Wait(at(22)));
    assert_eq!(next(&[pending("a", 20), pending("b", 21)], 20, 22), Pace::Look);
    assert_eq!(next(&[pending("a", 10), pending("b", 20)], 20, 20), Pace::Look);
    // After ten seconds of gathering nothing is waited for.
    assert_eq!(next(&[pending("a", 30)], 20, 30), Pace::Look);
    // The clock of the API server is ahead.
    assert_eq!(next(&[pending("a", 25)], 20, 20), Pace::Wait(at(21)));
}

#[test]
fn pods_that_were_looked_at_do_not_belong_to_the_window_of_those_that_came_since() {
    let counters = counters(3, 0);
    let waits = pending("a", 0);
    let after = looked(&seen(std::slice::from_ref(&waits), counters, 10), &past(counters), 0, 10);
    let next = |others: &[Pod], began, now| {
        let pods: Vec<Pod> = others.iter().cloned().chain([waits.clone()]).collect();
        pace::next(&seen(&pods, counters, began), &after, at(now))
    };
    assert_eq!(next(&[pending("b", 20)], 20, 20), Pace::Wait(at(21)));
    assert_eq!(next(&[pending("b", 20), pending("c", 21)], 20, 21), Pace::Wait(at(22)));
    assert_eq!(next(&[pending("b", 20)], 20, 21), Pace::Look);
    // Ten seconds after the first of those that came since.
    assert_eq!(next(&[pending("b", 20), pending("c", 29)], 29, 29), Pace::Wait(at(30)));
    assert_eq!(next(&[pending("b", 20), pending("c", 30)], 30, 30), Pace::Look);
}

#[test]
fn pods_of_disrupted_nodes_do_not_wait_for_other_pods() {
    let pods = [pending("a", 20)];
    assert_eq!(
        pace::next(&seen(&pods, counters(0, 1), 20), &past(counters(0, 0)), at(20)),
        Pace::Look
    );
}

#[test]
fn the_same_pods_are_looked_at_again_after_thirty_seconds_and_fewer_after_ten() {
    let pods = [pending("a", 0), pending("b", 0)];
    let counters = counters(3, 0);
    let after = looked(&seen(&pods, counters, 10), &past(counters), 0, 10);
    let next = |pods: &[Pod], now| pace::next(&seen(pods, counters, now), &after, at(now));
    // Pods were pending a moment ago, so that the next beat comes after a second.
    assert_eq!(rests_for(next(&pods, 11), 11), 1);
    assert_eq!(rests_for(next(&pods, 39), 39), 1);
    assert_eq!(next(&pods, 40), Pace::Look);
    assert_eq!(rests_for(next(&pods[..1], 19), 19), 1);
    assert_eq!(next(&pods[..1], 20), Pace::Look);
    let others = [pending("c", 11)];
    assert_eq!(next(&others, 12), Pace::Look);
    // Another process does not know which pods the look was about: it looks once more.
    let unknown = Past { last_look: None, ..after.clone() };
    assert_eq!(pace::next(&seen(&pods[..1], counters, 12), &unknown, at(12)), Pace::Look);
}

#[test]
fn pods_that_wait_for_a_class_are_looked_at_again_after_five_seconds() {
    let pods = [pending("a", 0)];
    let counters = counters(3, 0);
    let first = seen(&pods, counters, 10);
    let after = looked_at(&first, &past(counters), (0, true), 10);
    let next = |after: &Past, now| pace::next(&seen(&pods, counters, now), after, at(now));
    assert_eq!(rests_for(next(&after, 14), 14), 1);
    assert_eq!(next(&after, 15), Pace::Look);
    // Once the class is ready, or not for long.
    let known = looked(&seen(&pods, counters, 15), &after, 0, 15);
    assert_eq!(rests_for(next(&known, 44), 44), 1);
    // One that is not ready for long is asked for more rarely.
    let still = looked_at(&seen(&pods, counters, 410), &after, (0, true), 410);
    assert_eq!(rests_for(next(&still, 429), 429), 1);
    assert_eq!(next(&still, 430), Pace::Look);
}

#[test]
fn pods_that_have_been_pending_for_long_are_looked_at_again_more_rarely() {
    let pods = [pending("a", 0)];
    let counters = counters(3, 0);
    let again_after = |pods: &[Pod], keeps_buffers: bool, pending_for: i64| {
        let first = looked(&seen(pods, counters, 10), &past(counters), 0, 10);
        let look = 10 + pending_for;
        let after = looked(&seen(pods, counters, look), &first, 0, look);
        let next = |now| {
            let seen = Seen { keeps_buffers, ..seen(pods, counters, now) };
            pace::next(&seen, &after, at(now))
        };
        (1..200).find(|seconds| next(look + seconds) == Pace::Look)
    };
    let minutes = [0, 9, 10, 20, 40, 1_000];
    let minutes = minutes.map(|minutes| again_after(&pods, false, minutes * 60));
    assert_eq!(minutes, [30, 30, 30, 60, 60, 60].map(Some));
    // Room for a CapacityBuffer is looked for every ten seconds, whatever pods are pending.
    assert_eq!(again_after(&pods, true, 6_000), Some(10));
    assert_eq!(again_after(&[], true, 6_000), Some(10));
    // One more claim is news, and other pods are.
    let long = looked(&seen(&pods, counters, 6_000), &past(counters), 0, 6_000);
    let others = [pending("b", 5_000)];
    assert_eq!(pace::next(&seen(&others, counters, 6_001), &long, at(6_001)), Pace::Look);
}

#[test]
fn looks_because_of_disrupted_claims_are_further_apart_the_more_claims_are_disrupted() {
    let apart = |first: usize, second: Option<usize>| {
        let start = past(counters(0, 0));
        let mut after = looked(&seen(&[], counters(0, 1), 0), &start, first, 0);
        if let Some(again) = second {
            after = looked(&seen(&[], counters(0, 2), 5), &after, again, 5);
        }
        let began = if second.is_some() { 5 } else { 0 };
        let next = pace::next(&seen(&[], counters(0, 3), began), &after, at(began));
        assert!(matches!(next, Pace::Rest(PassEnd { read: None, .. })), "nothing is served");
        rests_for(next, began)
    };
    assert_eq!((apart(9, None), apart(10, None), apart(10, Some(10))), (1, 3, 8));
}

#[test]
fn a_look_that_others_overtook_is_made_again_in_a_second() {
    let pods = [pending("a", 0)];
    let note = PulseNote::new(7, at(0));
    let past = Past { note: Some(note), ..past(counters(0, 0)) };
    let (end, look): (PassEnd, Option<LastLook>) =
        pace::after(&seen(&pods, counters(1, 0), 10), &past, None, at(11));
    assert!(look.is_none());
    let next_at = Some(at(12));
    assert_eq!(end, PassEnd { read: Some(counters(1, 0)), next_at, note: Some(note) });
}

#[test]
fn only_claims_that_were_disrupted_within_an_interruption_count() {
    let claim = build::claim("a").deleted(model::DeletionReason::SpotInterrupted, at(0));
    let claims = [(claim.name.clone(), claim)].into();
    let ledger = Snapshot { claims, ..Snapshot::default() };
    let count = |second| pace::disrupted_lately(&ledger, at(second));
    assert_eq!((count(14), count(15)), (1, 0));
}

/// Pools that say since these seconds that `wake` is called, or that it is not.
fn calls(healthy: &[Option<i64>]) -> Calls {
    let pool = |since: &Option<i64>| ObservedNodePool {
        pool: build::node_pool("general"),
        uid: "u1".to_owned(),
        generation: 1,
        wake: Some(WakeHealth {
            is_healthy: since.is_some(),
            pods_not_pushed: false,
            since: at(since.unwrap_or(0)),
        }),
    };
    let pools: Vec<ObservedNodePool> = healthy.iter().map(pool).collect();
    Calls::default().with_rest(&pools, SignedDuration::from_mins(1))
}

#[test]
fn idle_beats_are_a_minute_apart_while_every_node_pool_says_that_wake_is_called() {
    let rests = |calls: Calls| {
        let seen = Seen { calls, ..seen(&[], counters(1, 0), 0) };
        rests_for(pace::next(&seen, &past(counters(1, 0)), at(0)), 0)
    };
    assert_eq!(rests(calls(&[Some(-9), Some(-5)])), 60);
    assert_eq!(rests(calls(&[Some(-9), None])), 5);
    // Nothing is known before there is a NodePool, and nothing of a new one.
    assert_eq!(rests(calls(&[])), 5);
    let mut unseen = ObservedNodePool {
        pool: build::node_pool("new"),
        uid: "u2".to_owned(),
        generation: 1,
        wake: None,
    };
    let rest = |pool: &ObservedNodePool| {
        let wake = WakeHealth { is_healthy: true, pods_not_pushed: false, since: at(-9) };
        let general = build::node_pool("general");
        let healthy = ObservedNodePool { pool: general, wake: Some(wake), ..pool.clone() };
        Calls::default().with_rest(&[healthy, pool.clone()], SignedDuration::from_mins(1)).rest
    };
    assert_eq!(rest(&unseen), None);
    unseen.pool.is_deleting = true;
    assert_eq!(rest(&unseen), Some((SignedDuration::from_mins(1), at(-9))));
}

#[test]
fn beats_are_as_without_wake_while_anything_is_left_to_do() {
    let pods = [pending("a", 0)];
    let counters = counters(3, 0);
    let calls = calls(&[Some(0)]);
    let called = |now| Seen { calls, ..seen(&pods, counters, now) };
    let first = looked(&called(10), &past(counters), 0, 10);
    assert_eq!(rests_for(pace::next(&called(11), &first, at(11)), 11), 1);
    // A pod that is pending for long, and after it quiet.
    let long = looked(&called(1_000), &first, 0, 1_000);
    assert_eq!(rests_for(pace::next(&called(1_001), &long, at(1_001)), 1_001), 5);
    let quiet = Seen { calls, ..seen(&[], counters, 1_001) };
    assert_eq!(rests_for(pace::next(&quiet, &long, at(1_001)), 1_001), 60);
}

#[test]
fn a_called_pass_that_finds_nothing_is_followed_by_a_beat_a_second_later() {
    let is_called = Calls { is_called: true, ..calls(&[Some(-9)]) };
    let seen = Seen { calls: is_called, ..seen(&[], counters(1, 0), 0) };
    assert_eq!(rests_for(pace::next(&seen, &past(counters(1, 0)), at(0)), 0), 1);
    // No call asks for the beat: it rests.
    let beat = Seen { calls: calls(&[Some(-9)]), began_at: at(1), ..seen };
    assert_eq!(rests_for(pace::next(&beat, &past(counters(1, 0)), at(1)), 1), 60);
}

#[test]
fn a_call_for_a_change_is_followed_by_a_second_look_unless_the_first_created_claims() {
    let pods = [pending("a", 0)];
    let anew = Calls { is_called: true, is_anew: true, rest: None };
    let seen = Seen { calls: anew, ..seen(&pods, counters(1, 0), 100) };
    let start = past(counters(1, 0));
    let next = |creates_claims| {
        let looked = Looked {
            counters: counters(1, 0),
            has_all_replicas: true,
            waits_for_class: false,
            disrupted: 0,
            creates_claims,
        };
        let (end, look) = pace::after(&seen, &start, Some(&looked), at(100));
        assert_eq!(end.next_at, Some(at(101)));
        let past = Past { note: end.note, last_look: look.map(Rc::new), ..start.clone() };
        let beat = Seen { calls: Calls::default(), began_at: at(101), ..seen };
        pace::next(&beat, &past, at(101))
    };
    assert_eq!(next(false), Pace::Look);
    assert_eq!(rests_for(next(true), 101), 1);
}

#[test]
fn a_pod_that_a_beat_finds_after_seconds_was_not_pushed() {
    let pods = [pending("young", 100), pending("old", 94)];
    let note =
        |at_second, since| Some(PulseNote { digest: 0, at: at(at_second), since: at(since) });
    let quiet = Past { note: note(-700, -700), ..past(counters(0, 0)) };
    let not_pushed = |calls: Calls, past: &Past| {
        let seen = Seen { calls, ..seen(&pods, counters(0, 0), 100) };
        pace::not_pushed(&seen, past).map(|pod| pod.key.name.to_string())
    };
    let healthy = calls(&[Some(0)]);
    assert_eq!(not_pushed(healthy, &quiet), Some("old".to_owned()));
    assert_eq!(not_pushed(healthy, &past(counters(0, 0))), Some("old".to_owned()));
    // A call asks for the pass, or calls are not relied on, or only since the pod was there.
    assert_eq!(not_pushed(Calls { is_called: true, ..healthy }, &quiet), None);
    assert_eq!(not_pushed(calls(&[None]), &quiet), None);
    assert_eq!(not_pushed(calls(&[Some(95)]), &quiet), None);
    // The last look saw it, the last pass failed, or pods came shortly before.
    assert_eq!(not_pushed(healthy, &Past { note: note(95, -700), ..quiet.clone() }), None);
    assert_eq!(not_pushed(healthy, &Past { has_failed: true, ..quiet.clone() }), None);
    assert_eq!(not_pushed(healthy, &Past { note: note(-400, -400), ..quiet.clone() }), None);
    let few = [pending("young", 95)];
    let seen = Seen { calls: healthy, ..seen(&few, counters(0, 0), 100) };
    assert_eq!(pace::not_pushed(&seen, &quiet), None, "its call may be under way");
}

#[test]
fn a_called_look_of_disrupt_that_deletes_nothing_is_followed_by_another() {
    let facts = Facts { now: at(0), ..build::facts(Vec::new()) };
    let due = |plan: &Plan, is_called| {
        let note = pace::next_disruption(&facts, Some(plan), is_called);
        note.time().unwrap().duration_since(at(0)).as_secs()
    };
    let nothing = Plan::default();
    assert_eq!((due(&nothing, false), due(&nothing, true)), (61, 2));
    let deleted = build::claim("a").deleted(model::DeletionReason::SpotInterrupted, at(0));
    let deletes = Plan { changes: vec![deleted], ..Plan::default() };
    assert_eq!((due(&deletes, false), due(&deletes, true)), (11, 11));
}
