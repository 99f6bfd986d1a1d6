//! What is adopted, what ends, and what is left alone.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, CapacityType, ClaimPhase, LedgerId, NodeClaim, NodePoolName, RegionCatalog,
    facts::Facts,
    labels,
    launch::{Instance, InstanceState},
    ledger::UnreadableItem,
    node::Node,
};
use planner::lifecycle::adopt::*;

use crate::planner::support::{add_managed, ago, facts, now};

/// A cluster with the claim of `node-1` in its ledger, which is called `a`.
fn cluster() -> (Facts, NodeClaim) {
    let mut facts = facts(Vec::new());
    facts.ledger.head.ledger = Some(LedgerId::new("a").unwrap());
    let claim = add_managed(&mut facts, "node-1");
    (facts, claim)
}

fn instance(claim: &NodeClaim, ledger: Option<&str>) -> Instance {
    let launched = claim.instance.as_ref().unwrap();
    Instance {
        id: launched.id.clone(),
        state: InstanceState::Running,
        instance_type: launched.instance_type.clone(),
        zone: launched.zone.clone(),
        capacity_type: CapacityType::Spot,
        image: "ami-1".parse().unwrap(),
        subnet: None,
        security_groups: BTreeSet::new(),
        launched_at: ago(3_600),
        reservation: None,
        state_reason: None,
        is_named: false,
        node_pool: Some(claim.node_pool.clone()),
        node_class: Some(claim.node_class.clone()),
        ledger: ledger.map(|id| LedgerId::new(id).unwrap()),
        node_claim: None,
        batch: None,
    }
}

fn adopted(facts: &Facts, objects: &[NodeClaim], instances: &[Instance]) -> Adoption {
    adopted_beside(facts, objects, instances, Vec::new())
}

fn adopted_beside(
    facts: &Facts,
    objects: &[NodeClaim],
    instances: &[Instance],
    unreadable: Vec<&str>,
) -> Adoption {
    let nodes: Vec<Node> = facts.nodes.values().cloned().collect();
    let node_pools = &facts.node_pools;
    let present = Present { objects, instances, nodes: &nodes, node_pools, unreadable };
    let catalog = RegionCatalog {
        region: "here".to_owned(),
        zones: BTreeMap::new(),
        instance_types: Vec::new(),
        descriptions: BTreeMap::new(),
    };
    adopt(&present, &facts.ledger, &catalog, now())
}

#[test]
fn what_another_controller_said_of_consolidation_is_not_believed_for_ever() {
    let (mut facts, mut object) = cluster();
    facts.ledger.claims.clear();
    for said in [Some(true), Some(false), None] {
        object.conditions.is_consolidatable = said;
        let adoption = adopted(&facts, &[object.clone()], &[instance(&object, None)]);
        assert_eq!(adoption.claims[0].conditions.is_consolidatable, None, "{said:?}");
    }
}

#[test]
fn what_the_ledger_knows_is_left_alone() {
    let (mut facts, claim) = cluster();
    let instances = [instance(&claim, Some("a"))];
    assert_eq!(adopted(&facts, std::slice::from_ref(&claim), &instances), Adoption::default());
    // A copy of its object, under another name, is no claim of its own.
    let copy = NodeClaim { name: "copy".parse().unwrap(), ..claim.clone() };
    assert_eq!(adopted(&facts, &[claim, copy], &instances), Adoption::default());
    // What an item is about that cannot be read is known as well.
    facts.ledger.claims.clear();
    let unreadable = UnreadableItem {
        claim: None,
        item: "claim#x".to_owned(),
        instance: Some(instances[0].id.clone()),
        problem: "no".to_owned(),
    };
    facts.ledger.unreadable.push(unreadable);
    assert_eq!(adopted(&facts, &[], &instances), Adoption::default());
}

#[test]
fn an_object_with_an_instance_is_a_claim_again() {
    let (mut facts, claim) = cluster();
    facts.ledger.claims.clear();
    let instances = [instance(&claim, Some("lost"))];
    let adoption = adopted(&facts, std::slice::from_ref(&claim), &instances);
    let [back] = adoption.claims.as_slice() else { panic!("{adoption:?}") };
    assert_eq!((&back.name, back.phase, &back.node), (&claim.name, claim.phase, &claim.node));
    assert_eq!(back.instance.as_ref().unwrap().id, instances[0].id);
    assert!(!back.is_tagged());
    // An object whose instance is gone is none.
    let gone = Instance { state: InstanceState::Terminated, ..instances[0].clone() };
    assert_eq!(adopted(&facts, &[claim], &[gone]), Adoption::default());
}

#[test]
fn an_instance_without_an_object_is_known_by_its_tags() {
    let (mut facts, claim) = cluster();
    facts.ledger.claims.clear();
    let named = instance(&claim, Some("a"));
    let adoption = adopted(&facts, &[], std::slice::from_ref(&named));
    let [back] = adoption.claims.as_slice() else { panic!("{adoption:?}") };
    assert_eq!((back.name.as_str(), back.phase), ("general-claimnode1", ClaimPhase::Initialized));
    assert_eq!(back.node, claim.node, "a node that is in service is not waited for");
    let pool = &facts.node_pools[0].template;
    assert_eq!((&back.node_class, &back.taints), (&pool.node_class, &pool.taints));
    // While it is young, the function that launched it may still record it.
    let young = Instance { launched_at: ago(299), ..named.clone() };
    assert_eq!(adopted(&facts, &[], &[young]), Adoption::default());
    // And while its batch is being launched.
    let batch = BatchId::new("general-1").unwrap();
    let created = NodeClaim { phase: ClaimPhase::Created, batch: batch.clone(), ..claim };
    let created = NodeClaim { instance: None, ..created };
    facts.ledger.claims.insert(created.name.clone(), created);
    let in_batch = Instance { batch: Some(batch), ..named };
    assert_eq!(adopted(&facts, &[], &[in_batch]), Adoption::default());
}

#[test]
fn what_is_adopted_is_as_far_as_its_node() {
    let (mut facts, claim) = cluster();
    facts.ledger.claims.clear();
    let instances = [instance(&claim, Some("a"))];
    let behind = NodeClaim { phase: ClaimPhase::Created, ..claim.clone() };
    let phases = |facts: &Facts| {
        let of_objects = adopted(facts, std::slice::from_ref(&behind), &instances).claims;
        let of_tags = adopted(facts, &[], &instances).claims;
        [of_objects[0].phase, of_tags[0].phase]
    };
    assert_eq!(phases(&facts), [ClaimPhase::Initialized; 2]);
    let name = claim.node.clone().unwrap();
    facts.nodes.get_mut(&name).unwrap().labels.remove(labels::INITIALIZED);
    assert_eq!(phases(&facts), [ClaimPhase::Registered; 2]);
    facts.nodes.get_mut(&name).unwrap().labels.remove(labels::REGISTERED);
    assert_eq!(phases(&facts), [ClaimPhase::Launched; 2]);
    facts.nodes.clear();
    assert_eq!(phases(&facts), [ClaimPhase::Launched; 2]);
}

#[test]
fn only_what_this_ledger_launched_ends_without_a_claim() {
    let (mut facts, claim) = cluster();
    facts.ledger.claims.clear();
    facts.node_pools.clear();
    for (ledger, strays) in [(Some("a"), 1), (Some("b"), 0), (None, 0)] {
        let adoption = adopted(&facts, &[], &[instance(&claim, ledger)]);
        assert_eq!((adoption.claims.len(), adoption.strays.len()), (0, strays), "{ledger:?}");
    }
    let untagged = instance(&claim, Some("a"));
    let name = format!("{}-1", claim.node_pool);
    let tagged = Instance { node_claim: Some(name.parse().unwrap()), ..untagged.clone() };
    let pool = format!("NodePool {}", claim.node_pool);
    let object = format!("NodeClaim {name}");
    let sibling = format!("NodeClaim {}-x", claim.node_pool);
    // Its NodePool or its object may be what cannot be read, and others' are not.
    for (unreadable, of_untagged, of_tagged) in [
        (pool.as_str(), 0, 0),
        ("NodePool other", 1, 1),
        ("NodePool number 3", 0, 0),
        ("NodePool", 0, 0),
        (object.as_str(), 0, 0),
        (sibling.as_str(), 0, 1),
        ("NodeClaim other-x", 1, 1),
        ("NodeClaim number 3", 0, 0),
    ] {
        for (instance, strays) in [(&untagged, of_untagged), (&tagged, of_tagged)] {
            let instances = std::slice::from_ref(instance);
            let adoption = adopted_beside(&facts, &[], instances, vec![unreadable]);
            assert_eq!((adoption.claims.len(), adoption.strays.len()), (0, strays), "{unreadable}");
        }
    }
}

#[test]
fn a_claim_goes_when_ec2_does_not_list_its_instance_and_its_node_is_not_ready() {
    let (facts, claim) = cluster();
    let nodes: Vec<Node> = facts.nodes.values().cloned().collect();
    let lost = |claim: &NodeClaim, instances: &[Instance], nodes: &[Node]| {
        without_instance([claim], instances, nodes, now()).len()
    };
    assert_eq!(lost(&claim, &[instance(&claim, None)], &[]), 0);
    assert_eq!(lost(&claim, &[], &nodes), 0, "its kubelet is alive");
    let unready = [Node { is_ready: false, ..nodes[0].clone() }];
    assert_eq!(lost(&claim, &[], &unready), 1);
    let joining = NodeClaim { phase: ClaimPhase::Launched, ..claim };
    assert_eq!(lost(&joining, &[], &[]), 0);
}

#[test]
fn a_users_object_goes_when_ec2_does_not_list_its_instance() {
    let (mut facts, claim) = cluster();
    let nodes: Vec<Node> = facts.nodes.values().cloned().collect();
    let unready = [Node { is_ready: false, ..nodes[0].clone() }];
    let users = NodeClaim { node_pool: NodePoolName::none(), ..claim.clone() };
    let gone = |object: &NodeClaim, instances: &[Instance], nodes: &[Node], facts: &Facts| {
        let objects = std::slice::from_ref(object);
        let present = Present { objects, instances, nodes, ..Present::default() };
        users_without_instance(&present, &facts.ledger, now()).len()
    };
    assert_eq!(gone(&users, &[], &unready, &facts), 0, "the ledger has its claim");
    facts.ledger.claims.clear();
    assert_eq!(gone(&users, &[], &unready, &facts), 1);
    let ends = NodeClaim { phase: ClaimPhase::Deleting, ..users.clone() };
    assert_eq!(gone(&ends, &[], &unready, &facts), 1);
    assert_eq!(gone(&users, &[instance(&claim, None)], &unready, &facts), 0, "it is adopted");
    assert_eq!(gone(&users, &[], &nodes, &facts), 0, "its kubelet is alive");
    let mut shown = users.clone();
    shown.labels.insert(labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned());
    for stays in [claim, shown, NodeClaim { phase: ClaimPhase::Created, ..users.clone() }] {
        assert_eq!(gone(&stays, &[], &unready, &facts), 0, "{stays:?}");
    }
    // One that never joined has as long as others have.
    let launched = |seconds: i64, phase| {
        let mut object = NodeClaim { phase, ..users.clone() };
        object.instance.as_mut().unwrap().launched_at = ago(seconds);
        gone(&object, &[], &[], &facts)
    };
    assert_eq!([299, 300].map(|age| launched(age, ClaimPhase::Registered)), [0, 1]);
    assert_eq!([899, 900].map(|age| launched(age, ClaimPhase::Launched)), [0, 1]);
    let (item, problem) = ("claim#x".to_owned(), "no".to_owned());
    let claim = Some(users.name.clone());
    facts.ledger.unreadable.push(UnreadableItem { claim, item, instance: None, problem });
    assert_eq!(gone(&users, &[], &unready, &facts), 0, "the ledger may have its claim");
}

#[test]
fn a_node_that_is_deleted_and_has_neither_claim_nor_instance_is_let_go() {
    let (mut facts, claim) = cluster();
    let node =
        Node { is_deleting: true, is_ready: false, ..facts.nodes.values().next().unwrap().clone() };
    let left = |node: &Node, instances: &[Instance], facts: &Facts, adopted: &[NodeClaim]| {
        let nodes = std::slice::from_ref(node);
        let present = Present { instances, nodes, ..Present::default() };
        left_behind(&present, &facts.ledger, adopted, now()).len()
    };
    assert_eq!(left(&node, &[], &facts, &[]), 0, "it has a claim");
    facts.ledger.claims.clear();
    assert_eq!(left(&node, &[], &facts, &[]), 1);
    assert_eq!(left(&node, &[], &facts, std::slice::from_ref(&claim)), 0, "it has one from now on");
    let lives = instance(&claim, None);
    let ends = Instance { state: InstanceState::ShuttingDown, ..lives.clone() };
    assert_eq!(left(&node, &[lives], &facts, &[]), 0, "its instance lives");
    assert_eq!(left(&node, &[ends], &facts, &[]), 1);
    for stays in [
        Node { is_deleting: false, ..node.clone() },
        Node { is_ready: true, ..node.clone() },
        Node { created_at: ago(299), ..node.clone() },
        Node { finalizers: ["theirs".to_owned()].into(), ..node.clone() },
    ] {
        assert_eq!(left(&stays, &[], &facts, &[]), 0, "{stays:?}");
    }
    let (item, problem) = ("claim#x".to_owned(), "no".to_owned());
    facts.ledger.unreadable.push(UnreadableItem { claim: None, item, instance: None, problem });
    assert_eq!(left(&node, &[], &facts, &[]), 0, "that may be its claim");
}
