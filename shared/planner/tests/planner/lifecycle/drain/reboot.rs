//! Each visit of a reboot does what is due, and no more.

use jiff::SignedDuration;
use model::{
    NodeClaim, Pod,
    claim::Reboot,
    node::{Node, NodePatch},
};
use planner::{
    eviction::rebooting_taint,
    lifecycle::drain::{held_for_reboot, reboot::*},
};

use crate::planner::support::*;

/// A claim, its node, which boots for the first time, and a pod on it.
fn world() -> (NodeClaim, Node, Pod) {
    let mut facts = facts(Vec::new());
    let claim = add_managed(&mut facts, "a");
    let node = Node { boot_id: "first".to_owned(), ..node_of(&claim, "a") };
    (claim, node, pod("web-1 on:a cpu=1"))
}

fn tainted(node: &Node) -> Node {
    let patch: NodePatch = held_for_reboot(node).expect("it lacks the taint");
    assert_eq!(patch.add_taints, [rebooting_taint()]);
    Node { taints: [node.taints.clone(), patch.add_taints].concat(), ..node.clone() }
}

const DRAIN: Option<SignedDuration> = Some(SignedDuration::from_mins(5));

#[test]
fn pods_go_first_and_are_made_to_go_in_time() {
    let (claim, node, pod) = world();
    let node = tainted(&node);
    let pods = [pod];
    let step = reboot(&claim, (ago(10), DRAIN), Some(&node), &pods, now());
    let asked: Vec<_> = step.evict.iter().map(|request| request.grace_seconds).collect();
    assert_eq!((asked, step.reboot, step.next), (vec![None], false, None));
    let step = reboot(&claim, (ago(300), DRAIN), Some(&node), &pods, now());
    assert_eq!(step.evict.first().and_then(|request| request.grace_seconds), Some(1));
    let unbounded = reboot(&claim, (ago(30_000), None), Some(&node), &pods, now());
    assert_eq!(unbounded.evict.first().and_then(|request| request.grace_seconds), None);
}

#[test]
fn ec2_is_asked_when_the_node_takes_no_pods_and_has_none() {
    let (claim, node, _) = world();
    let begins = |node: &Node, since| reboot(&claim, (since, DRAIN), Some(node), &[], now());
    assert!(!begins(&node, ago(60)).reboot, "a pod may still come");
    assert!(!begins(&tainted(&node), ago(4)).reboot, "a scheduler may not have seen the taint");
    let step = begins(&tainted(&node), ago(5));
    assert!(step.reboot);
    let next = step.next.expect("the boot is noted before EC2 is asked");
    let noted = next.conditions.reboot(ago(5)).unwrap();
    assert_eq!(
        (noted.boot_id.as_str(), noted.issued_at, next.version),
        ("first", None, claim.version + 1)
    );
}

#[test]
fn it_is_over_when_the_node_is_ready_after_another_boot() {
    let (claim, node, _) = world();
    let node = tainted(&node);
    let since = ago(60);
    let claim = reboot(&claim, (since, DRAIN), Some(&node), &[], now()).next.unwrap();
    let look =
        |claim: &NodeClaim, node: &Node| reboot(claim, (since, DRAIN), Some(node), &[], now());
    assert!(look(&claim, &node).reboot, "an answer that was lost is asked for again");
    let issued =
        Reboot { issued_at: Some(now()), ..claim.conditions.reboot(since).unwrap().clone() };
    let conditions = claim.conditions.with_reboot(issued);
    let issued = NodeClaim { conditions, ..claim.clone() };
    let back = Node { boot_id: "second".to_owned(), ..node.clone() };
    for silent in [node.clone(), Node { is_ready: false, ..back.clone() }] {
        let step = look(&issued, &silent);
        assert_eq!((step.next, step.reboot, step.revisit_after_seconds), (None, false, Some(15)));
    }
    // Also where it is not known that EC2 took the request.
    for claim in [&issued, &claim] {
        let ended = look(claim, &back).next.expect("it is back");
        assert_eq!(ended.conditions.reboot(since).unwrap().ended_at, Some(now()));
        assert_eq!(look(&ended, &back), RebootStep::default());
    }
}

#[test]
fn two_reboots_within_a_day_are_enough() {
    let (claim, ..) = world();
    let of = |seconds: i64| Reboot {
        requested_at: ago(seconds + 60),
        boot_id: seconds.to_string(),
        drained_at: ago(seconds),
        issued_at: None,
        ended_at: Some(ago(seconds)),
    };
    let twice = claim.conditions.with_reboot(of(90_000)).with_reboot(of(7_200));
    assert!(!twice.is_rebooted_enough(now()), "one is from yesterday");
    let thrice = twice.with_reboot(of(3_600));
    assert!(thrice.is_rebooted_enough(now()));
    assert_eq!(thrice.reboots.len(), Reboot::KEPT);
}
