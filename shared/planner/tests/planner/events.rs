//! Which event is about which object, and its name.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodeName, Plan, Pod, PodUid, Zone,
    claim::Deletion,
    condition::NotReady,
    disruption::{Command, DisruptionReason, Method, Progress},
    event::ObjectEvent,
    facts::ClassOffer,
    labels,
    ledger::{RejectionReason, Snapshot},
    node::Eviction,
    node_class::{ClassStatus, ListedNodeClass, Obstacle, Subnet},
    plan::{Placement, Reason, Target, Unplaced},
    pod::PodPhase,
};
use planner::{disruption::Objection, events::*, provision};

use crate::planner::support::{cluster::owned, *};

/// Object and reason of each.
fn said_of(events: &[ObjectEvent]) -> Vec<String> {
    events.iter().map(|event| format!("{} {}", event.about, event.reason)).collect()
}

#[test]
fn events_say_where_a_pod_goes_or_why_nowhere() {
    let pods = [pod("a cpu=1"), pod("b cpu=1")];
    let text = "needs 10Ti memory".to_owned();
    let pool = Some("default".parse().unwrap());
    let plan = Plan {
        unplaced: vec![Unplaced {
            pod: pods[0].key.clone(),
            reasons: vec![Reason { node_pool: pool, reason: RejectionReason::TooLarge, text }],
        }],
        placements: vec![Placement {
            target: Target::Node("node-1".parse().unwrap()),
            pods: vec![pods[1].key.clone()],
        }],
        ..Plan::default()
    };
    let events = of_pods(&plan, &pods, now());
    assert_eq!(said_of(&events), ["Pod default/a FailedScheduling", "Pod default/b Nominated"]);
    let messages: Vec<&str> = events.iter().map(|event| event.message.as_str()).collect();
    assert_eq!(
        messages,
        ["no node for it: default: needs 10Ti memory", "it should go onto node/node-1"]
    );
    // A pod that does not exist, such as a virtual one, gets no event.
    assert_eq!(of_pods(&plan, &[], now()), []);
}

#[test]
fn a_pod_gets_no_event_while_a_class_that_is_young_is_resolved() {
    let waits = |obstacle: Obstacle, minutes: i64| {
        let mut facts = facts(vec![pod("web cpu=1")]);
        facts.now = facts.pods[0].created_at + SignedDuration::from_mins(minutes);
        add_class(&mut facts, "default", ClassOffer::NotReady(vec![obstacle]));
        let plan = provision(&facts);
        assert_eq!(plan.unplaced.len(), 1);
        of_pods(&plan, &facts.pods, facts.now).is_empty()
    };
    assert!(waits(Obstacle::NotReady(NotReady::Unseen), 0));
    assert!(waits(Obstacle::NotReady(NotReady::Stale), 4));
    assert!(waits(Obstacle::NotReady(NotReady::ready(false, "")), 0));
    assert!(!waits(Obstacle::NotReady(NotReady::ready(true, "wrong")), 0));
    assert!(!waits(Obstacle::SubnetsNotFound, 0));
    // `resolve` does not look: that must not be hidden for ever.
    assert!(!waits(Obstacle::NotReady(NotReady::Unseen), 5));
}

fn claims(phases: [ClaimPhase; 2]) -> (Snapshot, Vec<NodeClaim>) {
    let mut facts = facts(Vec::new());
    for (name, phase) in ["node-1", "node-2"].into_iter().zip(phases) {
        let claim = add_managed(&mut facts, name);
        facts.ledger.claims.get_mut(&claim.name).unwrap().phase = phase;
    }
    let claims = facts.ledger.claims.values().cloned().collect();
    (facts.ledger, claims)
}

#[test]
fn commands_say_what_goes_and_what_is_waited_for() {
    let (mut ledger, claims) = claims([ClaimPhase::Initialized, ClaimPhase::Launched]);
    let command = Command {
        method: Method::Drift,
        found_at: now(),
        candidates: vec![claims[0].name.clone()],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Launching { since: now(), claims: vec![claims[1].name.clone()] },
    };
    ledger.commands.insert("command-1".parse().unwrap(), command);
    let reason = DeletionReason::Disrupted(DisruptionReason::Drifted);
    let changes = vec![claims[0].deleted(reason, now())];
    let plan = Plan { changes, ..Plan::default() };
    let (first, second) = (&claims[0].name, &claims[1].name);
    assert_eq!(
        said_of(&of_commands(&ledger, &plan)),
        [
            "Node node-1 DisruptionTerminating".to_owned(),
            format!("NodeClaim {first} DisruptionTerminating"),
            format!("NodeClaim {second} DisruptionLaunching"),
            format!("NodeClaim {second} DisruptionWaitingReadiness"),
        ]
    );
    // `drain` tells of a claim that is deleted for another reason.
    let changes = vec![claims[0].deleted(DeletionReason::Expired, now())];
    let plan = Plan { changes, ..Plan::default() };
    ledger.commands.clear();
    assert_eq!(of_commands(&ledger, &plan), []);
}

#[test]
fn an_inconsistent_node_is_reported_once() {
    let (mut ledger, claims) = claims([ClaimPhase::Initialized; 2]);
    let mut lacking = claims[0].following();
    lacking.conditions.inconsistent = Some("expected 4 of cpu, and the node has 2".to_owned());
    let plan = Plan { changes: vec![lacking.clone()], ..Plan::default() };
    let [event] = of_commands(&ledger, &plan).try_into().unwrap();
    assert_eq!(
        said_of(std::slice::from_ref(&event)),
        [format!("NodeClaim {} FailedConsistencyCheck", lacking.name)]
    );
    assert_eq!(event.message, "expected 4 of cpu, and the node has 2");
    ledger.claims.insert(lacking.name.clone(), lacking.clone());
    let plan = Plan { changes: vec![lacking.following()], ..Plan::default() };
    assert_eq!(of_commands(&ledger, &plan), []);
}

#[test]
fn nodes_that_stay_say_why_and_whose_budget_is_spent() {
    let (ledger, claims) = claims([ClaimPhase::Initialized; 2]);
    let (first, second) = (&claims[0].name, &claims[1].name);
    let node = |name: &str| name.parse::<NodeName>().unwrap();
    let notes = BTreeMap::from([
        (node("node-1"), Objection::SpotGate),
        (node("node-2"), Objection::BudgetSpent(DisruptionReason::Drifted, "none".to_owned())),
    ]);
    let none = BTreeMap::new();
    let said = |reason| said_of(&of_staying(&ledger, reason, &notes, &none));
    assert_eq!(
        said(DisruptionReason::Underutilized),
        [
            "Node node-1 Unconsolidatable".to_owned(),
            format!("NodeClaim {first} Unconsolidatable"),
            "NodePool general DisruptionBlocked".to_owned(),
        ]
    );
    assert_eq!(said(DisruptionReason::Drifted), ["NodePool general DisruptionBlocked"]);
    let events = of_staying(&ledger, DisruptionReason::Drifted, &notes, &none);
    assert_eq!(events[0].message, "its disruption budgets allow none for the reason Drifted: none");
    let notes = BTreeMap::from([(node("node-2"), Objection::UnreadableBudget("why".to_owned()))]);
    let events = of_staying(&ledger, DisruptionReason::Drifted, &notes, &none);
    assert_eq!(said_of(&events), ["NodePool general DisruptionBlocked"]);
    assert_eq!(events[0].message, "its nodes are not disrupted: why");
    let ineligible = BTreeMap::from([
        ("node-2".to_owned(), Objection::Nominated),
        ("node-3".to_owned(), Objection::Unmanaged),
    ]);
    let events = of_staying(&ledger, DisruptionReason::Drifted, &BTreeMap::new(), &ineligible);
    assert_eq!(
        said_of(&events),
        [
            "Node node-2 DisruptionBlocked".to_owned(),
            format!("NodeClaim {second} DisruptionBlocked"),
        ]
    );
}

#[test]
fn what_blocks_a_node_that_has_drifted_says_that_it_has() {
    let (mut ledger, claims) = claims([ClaimPhase::Initialized; 2]);
    let claim = ledger.claims.get_mut(&claims[1].name).unwrap();
    claim.conditions.drifted = Some("AMIDrift".to_owned());
    let ineligible = BTreeMap::from([("node-2".to_owned(), Objection::Nominated)]);
    let reason = DisruptionReason::Underutilized;
    let events = of_staying(&ledger, reason, &BTreeMap::new(), &ineligible);
    let why = format!("it has drifted (AMIDrift), and is not replaced: {}", Objection::Nominated);
    assert_eq!(events[0].message, why);
    // Of a node that is being replaced nothing is said: nothing blocks that.
    let ineligible = BTreeMap::from([("node-2".to_owned(), Objection::AlreadyGoing)]);
    assert_eq!(of_staying(&ledger, reason, &BTreeMap::new(), &ineligible), []);
}

#[test]
fn a_do_not_disrupt_that_protects_nothing_is_reported_to_one_pod_of_its_owner() {
    let (mut ledger, claims) = claims([ClaimPhase::Initialized; 2]);
    let annotated = |name: &str, node: &str, value: &str| {
        let mut pod = pod(&format!("{name} on:{node} cpu=1"));
        let spec = std::sync::Arc::make_mut(&mut pod.spec);
        spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), value.to_owned());
        Pod { owner: None, ..pod }
    };
    let ended = Pod { phase: PodPhase::Succeeded, ..annotated("g", "node-1", "yes") };
    let terminating = Pod { deleted_at: Some(now()), ..annotated("h", "node-1", "yes") };
    let of_web = |name: &str| owned(annotated(name, "node-1", "yes"), "apps/v1", "ReplicaSet");
    let pods = [
        annotated("a", "node-1", "true"),
        annotated("b", "node-1", "30m"),
        annotated("c", "node-1", "True"),
        annotated("d", "node-2", "-5m"),
        annotated("e", "elsewhere", "yes"),
        pod("f on:node-1 cpu=1"),
        ended,
        terminating,
        annotated("i", "node-1", "false"),
        of_web("j"),
        of_web("k"),
    ];
    let events = of_annotations(&ledger, &pods);
    let about = |names: &[&str]| -> Vec<String> {
        let event = |name| format!("Pod default/{name} InvalidDoNotDisruptAnnotation");
        names.iter().map(event).collect()
    };
    assert_eq!(said_of(&events), about(&["c", "d", "j"]));
    let why = "its annotation karpenter.sh/do-not-disrupt is `True`, which protects nothing: write `true`, or a \
               duration such as `30m`";
    assert_eq!(events[0].message, why);
    // What goes anyway need not be protected.
    let going = claims[1].deleted(DeletionReason::Expired, now());
    ledger.claims.insert(going.name.clone(), going);
    assert_eq!(said_of(&of_annotations(&ledger, &pods)), about(&["c", "j"]));
}

#[test]
fn an_interruption_has_karpenters_event() {
    let (_, claims) = claims([ClaimPhase::Initialized; 2]);
    for (reason, expected) in [
        (DeletionReason::SpotInterrupted, Some("SpotInterrupted")),
        (DeletionReason::ReservationEnding, Some("CapacityReservationInstanceInterrupted")),
        (DeletionReason::InstanceEnded, Some("InstanceTerminating")),
        (DeletionReason::InstanceUnhealthy, Some("InstanceUnhealthy")),
        (DeletionReason::Expired, None),
    ] {
        let deletion = Some(Deletion { reason, at: now(), deadline: None });
        let claim = NodeClaim { deletion, ..claims[0].clone() };
        let names: Vec<&str> =
            of_deleted(&claim).iter().map(|event| event.reason.as_str()).collect();
        let both = |name| [name, name, "TerminatingOnInterruption", "TerminatingOnInterruption"];
        assert_eq!(names, expected.map(both).into_iter().flatten().collect::<Vec<_>>());
    }
}

#[test]
fn pods_and_nodes_say_how_a_drain_goes() {
    let (_, claims) = claims([ClaimPhase::Initialized; 2]);
    let claim = claims[0].deleted(DeletionReason::Expired, now());
    let pod = pod("a on:node-1 cpu=1");
    let uid: &PodUid = &pod.uid;
    let said = |is_forced, answer| {
        let event = of_eviction(&claim, (&pod.key, uid), is_forced, answer)?;
        Some((event.reason.as_str(), event.message))
    };
    let evicted = Some(("Evicted", "its node goes: Expired".to_owned()));
    assert_eq!(said(false, Eviction::Accepted), evicted);
    assert_eq!(said(true, Eviction::Accepted).map(|said| said.0), Some("Disrupted"));
    let silent = [(false, Eviction::Blocked), (false, Eviction::Gone), (true, Eviction::Gone)];
    for (is_forced, answer) in silent {
        assert_eq!(said(is_forced, answer), None, "{is_forced} {answer:?}");
    }
    let node: NodeName = "node-1".parse().unwrap();
    assert_eq!(of_pods_left(&node, 0), None);
    let left = of_pods_left(&node, 2).unwrap();
    assert_eq!(
        (left.reason.as_str(), left.message.as_str()),
        ("FailedDraining", "2 pods left on it")
    );
}

#[test]
fn capacity_that_is_missing_is_reported_to_the_pods_that_wait_for_it() {
    let (_, mut claims) = claims([ClaimPhase::Created; 2]);
    claims.truncate(1);
    claims[0].pods = vec![pod("a cpu=1").key];
    let events = of_insufficient_capacity(&claims, "no m7g.large");
    let name = &claims[0].name;
    assert_eq!(
        said_of(&events),
        [
            format!("NodeClaim {name} InsufficientCapacityError"),
            "Pod default/a InsufficientCapacityError".to_owned(),
        ]
    );
    // Only the claim has the event that the class is not ready.
    let events = of_class_not_ready(&claims, "Ready is False");
    assert_eq!(said_of(&events), [format!("NodeClaim {name} NodeClassNotReady")]);
    assert_eq!(events[0].message, "Ready is False");
}

#[test]
fn zones_that_are_left_are_told_to_the_pools_whose_nodes_may_be_there() {
    let zones = |names: &[&str]| {
        let zones = names.iter().map(|name| (name.parse().unwrap(), now()));
        zones.collect::<BTreeMap<Zone, Timestamp>>()
    };
    let mut elsewhere = node_pool("elsewhere");
    let only_b = requirement("zone=us-west-2b");
    elsewhere.template.requirements.replace(only_b);
    let mut of_other_class = node_pool("other");
    of_other_class.template.node_class = "other".parse().unwrap();
    let pools = [node_pool("default"), elsewhere, of_other_class];
    let subnet = |name: &str, zone: &str| Subnet {
        id: name.parse().unwrap(),
        zone: zone.parse().unwrap(),
        zone_id: "usw2-az1".parse().unwrap(),
        available_ip_address_count: 0,
    };
    let subnets = vec![subnet("subnet-1", "us-west-2a"), subnet("subnet-2", "us-west-2b")];
    let class = testkit::build::node_class(pools[0].template.node_class.as_str());
    let status = Some(ClassStatus { subnets, ..ClassStatus::default() });
    let classes = [ListedNodeClass { class, not_ready: None, status }];
    let told = |before: &[&str], after: &[&str]| {
        said_of(&of_zonal_shifts((&zones(before), &zones(after)), &pools, &classes))
    };
    assert_eq!(told(&[], &["us-west-2a"]), ["NodePool default ZonalShiftActive"]);
    // One event for all zones; no subnet is in the last one.
    assert_eq!(
        told(&["us-west-2a"], &["us-west-2b", "us-west-2c"]),
        [
            "NodePool default ZonalShiftActive",
            "NodePool default ZonalShiftCleared",
            "NodePool elsewhere ZonalShiftActive",
        ]
    );
    assert_eq!(told(&["us-west-2a"], &["us-west-2a"]), [""; 0]);
}
