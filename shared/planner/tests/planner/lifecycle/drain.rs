//! Each visit of a drain does what is due, and no more.

mod reboot;
mod volumes;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    DeletionReason, NodeClaim, Pod, PodSpec, Toleration, labels, node::Node,
    taint::TolerationOperator,
};
use planner::lifecycle::drain::*;

use crate::planner::support::*;

/// A claim deleted `age` seconds ago, which has `grace` seconds in all, and its node.
fn deleted(age: i64, grace: Option<i64>) -> (NodeClaim, Node) {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    claim.termination_grace_period = grace.map(SignedDuration::from_secs);
    let node = node_of(&claim, "node-1");
    (claim.deleted(DeletionReason::Expired, ago(age)), node)
}

fn marked(mut node: Node) -> Node {
    node.taints.push(taint("karpenter.sh/disrupted:NoSchedule"));
    node.labels.insert(EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), "karpenter".to_owned());
    node
}

fn pod(name: &str) -> Pod {
    crate::planner::support::pod(&format!("{name} on:node-1 cpu=1"))
}

fn with_spec(name: &str, change: impl FnOnce(&mut PodSpec)) -> Pod {
    let mut spec = spec("cpu=1");
    change(&mut spec);
    running(name, "node-1", spec)
}

fn of_daemon_set(mut pod: Pod) -> Pod {
    pod.owner = owner("DaemonSet");
    pod
}

fn critical(name: &str) -> Pod {
    with_spec(name, |spec| spec.priority_class = "system-node-critical".to_owned())
}

fn evicted(drainage: &Drainage) -> Vec<(&str, Option<u32>)> {
    drainage.evict.iter().map(|e| (e.pod.name.as_str(), e.grace_seconds)).collect()
}

#[test]
fn the_first_visit_marks_the_node_and_evicts() {
    let (claim, node) = deleted(0, None);
    let drainage = drain(&claim, Some(&node), &[pod("a")], InstanceView::Present, now());
    let patch = drainage.patch.clone().unwrap();
    assert_eq!(patch.add_taints, [taint("karpenter.sh/disrupted:NoSchedule")]);
    let label = (EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), "karpenter".to_owned());
    assert_eq!(patch.labels, BTreeMap::from([label]));
    assert_eq!(evicted(&drainage), [("a", None)]);
    assert_eq!((drainage.terminate, drainage.revisit_after_seconds), (false, Some(2)));
    let again = drain(&claim, Some(&marked(node)), &[pod("a")], InstanceView::Present, now());
    assert_eq!(again.patch, None);
}

#[test]
fn pods_leave_in_four_groups() {
    let (claim, node) = deleted(20, None);
    let mut pods = vec![
        of_daemon_set(critical("critical-daemon")),
        critical("critical"),
        of_daemon_set(pod("daemon")),
        pod("web"),
    ];
    let mut order = Vec::new();
    while !pods.is_empty() {
        let drainage = drain(&claim, Some(&node), &pods, InstanceView::Present, now());
        order.extend(drainage.evict.iter().map(|e| e.pod.name.as_str().to_owned()));
        pods.retain(|pod| drainage.evict.iter().all(|evicted| evicted.uid != pod.uid));
    }
    assert_eq!(order, ["web", "daemon", "critical", "critical-daemon"]);
}

#[test]
fn a_group_waits_until_the_one_before_is_gone() {
    let (claim, node) = deleted(20, None);
    let mut leaving = pod("web");
    leaving.deleted_at = Some(now());
    let pods = [leaving, critical("critical")];
    let drainage = drain(&claim, Some(&node), &pods, InstanceView::Present, now());
    assert_eq!((evicted(&drainage), drainage.terminate), (vec![], false));
}

#[test]
fn what_cannot_or_will_not_leave_is_not_waited_for() {
    let (claim, node) = deleted(20, None);
    let mut mirror = pod("mirror");
    mirror.owner = owner("v1/Node");
    let mut done = pod("done");
    done.phase = model::pod::PodPhase::Failed;
    let mut stuck = pod("stuck");
    stuck.deleted_at = Some(ago(61));
    let tolerant =
        with_spec("tolerant", |s| s.tolerations = vec![tolerates_key(labels::DISRUPTED_TAINT)]);
    let pods = [mirror, done, stuck, tolerant];
    let drainage = drain(&claim, Some(&marked(node)), &pods, InstanceView::Present, now());
    assert_eq!((evicted(&drainage), drainage.terminate), (vec![], true));
}

#[test]
fn who_tolerates_the_very_taint_stays_and_all_others_leave() {
    let (claim, node) = deleted(20, None);
    let disrupted = tolerates_key(labels::DISRUPTED_TAINT);
    let equal = |value: &str| Toleration {
        operator: TolerationOperator::Equal,
        value: value.to_owned(),
        ..disrupted.clone()
    };
    let unschedulable = tolerates_key("node.kubernetes.io/unschedulable");
    for (toleration, stays) in [
        (disrupted.clone(), true),
        (equal(""), true),
        (equal("other"), false),
        (unschedulable, false),
    ] {
        let mut pod = with_spec("a", |spec| spec.tolerations = vec![toleration.clone()]);
        for owner in [pod.owner.clone(), None] {
            pod.owner = owner;
            let pods = [pod.clone()];
            let drainage =
                drain(&claim, Some(&marked(node.clone())), &pods, InstanceView::Present, now());
            let expected = if stays { vec![] } else { vec![("a", None)] };
            assert_eq!((evicted(&drainage), drainage.terminate), (expected, stays), "{pod:?}");
        }
    }
}

/// Whatever protects them, and whosever turn it is.
#[test]
fn pods_are_deleted_early_enough_for_their_own_grace_period() {
    let graceful = |name: &str, seconds| {
        let mut spec = PodSpec::clone(&critical(name).spec);
        spec.termination_grace_seconds = seconds;
        running(name, "node-1", spec)
    };
    let web = vec![("web", None)];
    for (grace, age, evictions) in [
        (60, 90, web.clone()),
        (60, 240, web.clone()),
        (60, 241, vec![("slow", Some(59)), ("web", None)]),
        // All of its node's time is its own: at once.
        (300, 0, web),
        (300, 1, vec![("slow", Some(299)), ("web", None)]),
        // More than that it does not get.
        (600, 0, vec![("slow", Some(300)), ("web", None)]),
    ] {
        let (claim, node) = deleted(age, Some(300));
        let mut protected = graceful("slow", grace);
        let spec = std::sync::Arc::make_mut(&mut protected.spec);
        spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
        for slow in [graceful("slow", grace), protected] {
            let pods = [pod("web"), slow];
            let drainage = drain(&claim, Some(&node), &pods, InstanceView::Present, now());
            assert_eq!(evicted(&drainage), evictions, "{grace} s after {age} s");
        }
    }
}

#[test]
fn a_protected_pod_is_waited_for_until_the_deadline_is_near() {
    let protected = with_spec("a", |spec| {
        spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
    });
    for (age, evictions, delay) in [
        // Of 100 seconds, the last 30 are the pod's own.
        (10, vec![], 2),
        (69, vec![], 2),
        (71, vec![("a", Some(29))], 5),
        (99, vec![("a", Some(1))], 5),
        (200, vec![("a", Some(1))], 5),
    ] {
        let (claim, node) = deleted(age, Some(100));
        let pods = [protected.clone()];
        let drainage = drain(&claim, Some(&node), &pods, InstanceView::Present, now());
        assert_eq!(evicted(&drainage), evictions, "{age}");
        assert_eq!(drainage.revisit_after_seconds, Some(delay), "{age}");
    }
    let (claim, node) = deleted(100_000, None);
    let drainage = drain(&claim, Some(&node), &[protected], InstanceView::Present, now());
    assert_eq!((evicted(&drainage), drainage.revisit_after_seconds), (vec![], Some(15)));
}

#[test]
fn a_pod_that_ends_too_late_is_hurried() {
    let (claim, node) = deleted(10, Some(100));
    let mut slow = pod("slow");
    slow.deleted_at = Some(now() + SignedDuration::from_secs(91));
    let mut soon = pod("soon");
    soon.deleted_at = Some(now() + SignedDuration::from_secs(90));
    let drainage = drain(&claim, Some(&node), &[slow, soon], InstanceView::Present, now());
    assert_eq!(evicted(&drainage), [("slow", Some(90))]);
}

/// Past the deadline a pod has a second, and is asked once.
#[test]
fn a_pod_that_cannot_be_hurried_more_is_left_alone() {
    let (claim, node) = deleted(101, Some(100));
    let mut pods = pods("slow; waits");
    pods[0].deleted_at = Some(now() + SignedDuration::from_secs(30));
    let drainage = drain(&claim, Some(&node), &pods, InstanceView::Present, now());
    assert_eq!(evicted(&drainage), [("slow", Some(1)), ("waits", Some(1))]);
    for pod in &mut pods {
        pod.deleted_at = Some(now() + SignedDuration::from_secs(1));
    }
    let drainage = drain(&claim, Some(&node), &pods, InstanceView::Present, now());
    assert_eq!((evicted(&drainage), drainage.terminate), (vec![], false));
}

#[test]
fn an_empty_node_is_ended_when_its_taint_was_seen() {
    let (claim, node) = deleted(3, None);
    let unmarked = drain(&claim, Some(&node), &[], InstanceView::Present, now());
    assert_eq!((unmarked.terminate, unmarked.revisit_after_seconds), (false, Some(5)));
    let early = drain(&claim, Some(&marked(node.clone())), &[], InstanceView::Present, now());
    assert!(!early.terminate);
    let (claim, _) = deleted(5, None);
    let late = drain(&claim, Some(&node), &[], InstanceView::Present, now());
    assert!(!late.terminate);
    let last = drain(&claim, Some(&marked(node)), &[], InstanceView::Present, now());
    assert_eq!((last.terminate, last.delete_node, last.remove_claim), (true, false, false));
}

#[test]
fn ec2_gets_one_call_unless_the_instance_stays() {
    let (claim, node) = deleted(60, None);
    let told = |seconds| {
        let mut claim = claim.clone();
        claim.conditions.instance_terminating_since = Some(ago(seconds));
        claim
    };
    for (seconds, is_called_again) in [(0, false), (29, false), (30, true)] {
        for node in [None, Some(&marked(node.clone()))] {
            let drainage = drain(&told(seconds), node, &[], InstanceView::Present, now());
            assert_eq!(drainage.terminate, is_called_again, "{seconds} {node:?}");
        }
    }
}

#[test]
fn what_was_drained_stays_so_when_ec2_is_called_again() {
    let (mut claim, node) = deleted(90, None);
    claim.conditions.drained_since = Some(ago(40));
    claim.conditions.instance_terminating_since = Some(ago(40));
    for node in [None, Some(&marked(node))] {
        let drainage = drain(&claim, node, &[], InstanceView::Present, now());
        assert_eq!((drainage.terminate, drainage.drained_since), (true, Some(ago(40))));
    }
}

#[test]
fn node_and_claim_go_after_the_instance() {
    let (claim, node) = deleted(20, None);
    let ending = drain(&claim, Some(&node), &[pod("a")], InstanceView::Ending, now());
    assert_eq!(ending, again(5));
    let gone = drain(&claim, Some(&node), &[pod("a")], InstanceView::Gone, now());
    assert!(gone.patch.unwrap().remove_finalizers.contains(labels::TERMINATION_FINALIZER));
    assert_eq!((gone.delete_node, gone.remove_claim, gone.evict), (true, false, vec![]));
    let last = drain(&claim, None, &[], InstanceView::Gone, now());
    assert_eq!((last.remove_claim, last.revisit_after_seconds), (true, None));
}

#[test]
fn a_claim_without_a_node_loses_its_instance_at_once() {
    let (mut claim, _) = deleted(0, None);
    assert!(drain(&claim, None, &[], InstanceView::Present, now()).terminate);
    claim.instance = None;
    let unlaunched = drain(&claim, None, &[], InstanceView::Unknown, now());
    assert_eq!((unlaunched.terminate, unlaunched.remove_claim), (false, false));
}

#[test]
fn a_claim_that_is_wanted_is_left_alone() {
    let claim = add_managed(&mut facts(Vec::new()), "node-1");
    let node = node_of(&claim, "node-1");
    let drainage = drain(&claim, Some(&node), &[pod("a")], InstanceView::Gone, now());
    assert_eq!(drainage, Drainage::default());
}
