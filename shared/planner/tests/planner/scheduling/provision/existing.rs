//! Rows IF, EX, NB, DL of the specification: what is there or coming comes first.

use model::{ClaimPhase, DeletionReason, labels};

use super::*;

#[test]
fn an_unmanaged_node_is_used() {
    let mut facts = facts(pods("a x3 cpu=1"));
    add_node(&mut facts, node("own cpu=2 memory=4Gi pods=10"));
    check(&facts, &["general [t.small t.gpu t.medium t.arm t.large]: a-2", "own: a-0 a-1"]);
    facts.pods.push(pod("busy on:own cpu=1"));
    facts.pods.push(pod("done on:own cpu=1"));
    facts.pods[4].phase = model::pod::PodPhase::Succeeded;
    assert_eq!(provision(&facts).placements[0].pods.len(), 1);
}

#[test]
fn a_node_with_a_pod_that_cannot_be_read_takes_no_more() {
    let mut facts = facts(pods("a cpu=1"));
    add_node(&mut facts, node("own cpu=4 memory=4Gi pods=10"));
    facts.pods.push(unreadable("new", "own"));
    assert!(provision(&facts).placements.is_empty());
    // What a DaemonSet puts there is known.
    facts.pods[1].owner = owner("DaemonSet");
    check(&facts, &["own: a"]);
    // A pending one is reported, and nothing is launched for it.
    facts.pods = vec![model::Pod { node: None, ..unreadable("new", "own") }];
    facts.pods[0].unschedulable_at = Some(ago(30));
    let plan = provision(&facts);
    assert!(plan.new_claims.is_empty());
    let why = &plan.unplaced[0].reasons[0].text;
    assert_eq!(why, "it cannot be read: spec.priority: must be a number");
}

#[test]
fn a_daemon_set_closes_no_node_by_a_resource_that_the_node_does_not_name() {
    let gpu: model::ResourceName = id("nvidia.com/gpu");
    let mut agent = daemon_set("agent cpu=100m");
    std::sync::Arc::make_mut(&mut agent.spec).requests.set(&gpu, 1);
    let mut facts = facts(pods("a cpu=1"));
    facts.daemon_sets = vec![agent];
    let mut without = node("own cpu=2 memory=4Gi pods=10");
    add_node(&mut facts, without.clone());
    check(&facts, &["own: a"]);
    // The kubelet names a resource that it has none of, until the plugin of the device comes.
    without.allocatable.set(&gpu, 0);
    add_node(&mut facts, without);
    assert!(provision(&facts).placements.is_empty());
}

#[test]
fn an_existing_node_must_have_the_label() {
    let zone = spec("cpu=1 select:zone=zone-1");
    let mut facts = facts(vec![pending("a", zone)]);
    let mut large = node("own cpu=2 memory=4Gi pods=10");
    add_node(&mut facts, large.clone());
    assert_eq!(provision(&facts).new_claims.len(), 1);
    large.labels.insert(labels::ZONE.to_owned(), "zone-1".to_owned());
    add_node(&mut facts, large);
    check(&facts, &["own: a"]);
}

#[test]
fn taints_of_an_unmanaged_node_always_count() {
    let mut facts = facts(pods("a cpu=1"));
    let mut large = node("own cpu=2 memory=4Gi pods=10");
    large.taints = vec![taint("node.kubernetes.io/not-ready:NoExecute")];
    add_node(&mut facts, large);
    assert!(provision(&facts).placements.is_empty());
}

#[test]
fn planning_on_the_result_of_a_plan_launches_nothing() {
    let mut pods = pods("a x40 cpu=700m memory=1Gi; b x9 cpu=3 select:arch=arm64");
    let zone = "topology.kubernetes.io/zone=zone-2";
    pods.push(pod(&format!("c cpu=1 require:{zone}&team!=x")));
    let mut facts = facts(pods);
    facts.daemon_sets = vec![daemon_set("logs cpu=100m")];
    let first = provision(&facts);
    assert!(first.unplaced.is_empty() && !first.new_claims.is_empty());
    commit(&mut facts, &first);
    let second = provision(&facts);
    assert!(second.is_empty(), "{}", shown(&second));
    assert_eq!(second.placements.iter().map(|p| p.pods.len()).sum::<usize>(), 50);
}

#[test]
fn a_pod_that_comes_later_takes_no_place_of_those_a_claim_was_created_for() {
    let mut facts = facts(pods("a x4 cpu=700m memory=1Gi"));
    let first = provision(&facts);
    commit(&mut facts, &first);
    facts.pods.push(pod("later cpu=1500m"));
    let second = provision(&facts);
    let kept: Vec<_> = second.placements.iter().map(|placement| &placement.pods).collect();
    let created: Vec<_> = first.new_claims.iter().map(|new| &new.claim.pods).collect();
    assert_eq!(kept, created);
    assert_eq!(second.new_claims[0].claim.pods, [facts.pods[4].key.clone()]);
    // Nor while no record has them.
    facts.ledger.claims.values_mut().for_each(|claim| claim.pods.clear());
    assert_ne!(provision(&facts).placements, second.placements);
}

#[test]
fn a_new_claim_takes_only_what_every_outcome_takes() {
    let mut facts = facts(pods("a cpu=1"));
    let plan = provision(&facts);
    commit(&mut facts, &plan);
    for (selector, takes) in [
        ("kubernetes.io/os=linux", true),
        ("topology.kubernetes.io/zone=zone-1,zone-2,zone-3", true),
        ("karpenter.sh/nodepool=general", true),
        // It may become any of these or something else.
        ("kubernetes.io/arch=amd64", false),
        ("topology.kubernetes.io/zone=zone-1", false),
        ("karpenter.sh/capacity-type=spot", false),
        ("karpenter.k8s.aws/instance-cpu>1", true),
        ("karpenter.k8s.aws/instance-cpu>2", false),
    ] {
        facts.pods = vec![pod(&format!("b cpu=100m require:{selector}"))];
        assert_eq!(provision(&facts).new_claims.is_empty(), takes, "{selector}");
    }
}

#[test]
fn a_launched_claim_is_what_it_was_launched_as() {
    let mut facts = facts(pods("a cpu=1"));
    let claim = provision(&facts).new_claims.remove(0).claim;
    let claim = launched(&claim, &default_types()[3]);
    facts.ledger.claims.insert(claim.name.clone(), claim);
    let zone = "topology.kubernetes.io/zone=zone-1";
    facts.pods = pods(&format!("b x4 cpu=1 select:{zone}&paid=spot"));
    // A t.medium has room for three of them.
    let plan = provision(&facts);
    assert_eq!((plan.placements[0].pods.len(), plan.new_claims.len()), (3, 1));
}

#[test]
fn a_starting_node_hides_what_will_go_away() {
    let mut facts = facts(pods("a cpu=1"));
    let mut claim = add_managed(&mut facts, "young");
    claim.startup_taints = vec![taint("cni:NoSchedule")];
    claim.phase = ClaimPhase::Registered;
    facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    let mut young = node_of(&claim, "young");
    young.labels.remove(labels::INITIALIZED);
    young.allocatable = resources("cpu=15900m memory=0 pods=0");
    young.taints = vec![taint("node.kubernetes.io/not-ready:NoSchedule"), taint("cni:NoSchedule")];
    add_node(&mut facts, young.clone());
    check(&facts, &["young: a"]);
    young.taints.push(taint("team:NoSchedule"));
    add_node(&mut facts, young.clone());
    assert!(provision(&facts).placements.is_empty());
    // Once it is initialized, the startup taint keeps pods away.
    young.taints = vec![taint("cni:NoSchedule")];
    young.labels.insert(labels::INITIALIZED.to_owned(), "true".to_owned());
    young.allocatable = claim.allocatable;
    add_node(&mut facts, young);
    assert!(provision(&facts).placements.is_empty());
}

#[test]
fn initialized_nodes_are_filled_first_and_then_by_name() {
    let mut facts = facts(pods("a cpu=1"));
    for name in ["b", "c"] {
        add_node(&mut facts, node(&format!("{name} cpu=4 memory=8Gi pods=10")));
    }
    let mut claim = add_managed(&mut facts, "a");
    check(&facts, &["a: a"]);
    claim.phase = ClaimPhase::Registered;
    let mut young = node_of(&claim, "a");
    young.labels.remove(labels::INITIALIZED);
    add_node(&mut facts, young);
    check(&facts, &["b: a"]);
}

#[test]
fn daemons_to_come_keep_their_room_and_strangers_do_not_count() {
    let mut facts = facts(pods("a cpu=1"));
    add_node(&mut facts, node("own cpu=2 memory=4Gi pods=10"));
    facts.daemon_sets = vec![daemon_set("logs cpu=1500m")];
    assert!(provision(&facts).placements.is_empty());
    let mut daemon = pod("logs-1 on:own cpu=1");
    daemon.owner = owner("DaemonSet");
    facts.daemon_sets = vec![daemon_set("logs cpu=1")];
    facts.pods.push(daemon);
    check(&facts, &["own: a"]);
    // The daemon is not for this node.
    facts.pods.truncate(1);
    facts.daemon_sets = vec![daemon_set("logs cpu=1500m select:team=a")];
    check(&facts, &["own: a"]);
}

#[test]
fn pods_of_a_node_that_is_deleted_get_a_place_beside_the_pending() {
    let mut facts = facts(pods("new cpu=1"));
    let claim = add_managed(&mut facts, "old");
    let deleted = claim.deleted(DeletionReason::SpotInterrupted, now());
    facts.ledger.claims.insert(claim.name, deleted);
    let mut stays = pod("ending on:old cpu=1");
    stays.deleted_at = Some(now());
    let mut daemon = pod("daemon on:old cpu=1");
    daemon.owner = owner("DaemonSet");
    let mut protected = spec("cpu=1");
    protected.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
    let mut stateful = pod("stateful on:old cpu=1");
    stateful.owner = owner("StatefulSet");
    stateful.deleted_at = Some(now());
    facts.pods.push(pod("moves on:old cpu=1"));
    facts.pods.extend([stays, daemon, running("protected", "old", protected), stateful]);
    check(&facts, &["general [t.gpu t.medium t.arm t.large]: moves new stateful"]);
}

#[test]
fn a_node_that_is_deleted_takes_nothing() {
    let mut facts = facts(pods("a cpu=1"));
    let claim = add_managed(&mut facts, "old");
    check(&facts, &["old: a"]);
    let deleted = claim.deleted(DeletionReason::Expired, now());
    facts.ledger.claims.insert(claim.name, deleted);
    assert!(provision(&facts).placements.is_empty());
}

#[test]
fn a_soft_taint_of_a_node_is_tolerated_only_when_a_pool_has_one() {
    let mut facts = facts(pods("a cpu=40"));
    let mut large = node("own cpu=64 memory=64Gi pods=10");
    large.taints = vec![taint("slow:PreferNoSchedule")];
    add_node(&mut facts, large);
    assert_eq!(provision(&facts).unplaced.len(), 1);
    facts.node_pools[0].template.taints = vec![taint("x:PreferNoSchedule")];
    check(&facts, &["own: a"]);
}

#[test]
fn a_node_that_is_not_registered_stands_in_the_order_by_its_claims_name() {
    let mut facts = facts(pods("web cpu=1"));
    for (node, claim) in [("node-1", "claim-b"), ("node-2", "claim-a")] {
        let mut starting = add_managed(&mut facts, node);
        facts.ledger.claims.remove(&starting.name);
        starting.name = claim.parse().unwrap();
        starting.phase = ClaimPhase::Launched;
        facts.ledger.claims.insert(starting.name.clone(), starting);
        let labels = &mut facts.nodes.get_mut(node).unwrap().labels;
        labels.retain(|key, _| key != labels::REGISTERED && key != labels::INITIALIZED);
    }
    check(&facts, &["node-2: web"]);
}

#[test]
fn k8_what_runs_on_a_starting_node_without_a_label_of_its_type_takes_room() {
    let mut facts = facts(pods("a cpu=1"));
    let mut claim = add_managed(&mut facts, "young");
    claim.phase = ClaimPhase::Registered;
    facts.ledger.claims.insert(claim.name.clone(), claim);
    let young = &mut facts.nodes.get_mut("young").unwrap().labels;
    young.retain(|key, _| key != labels::INSTANCE_TYPE && key != labels::INITIALIZED);
    check(&facts, &["young: a"]);
    // What runs there takes room.
    facts.pods.push(pod("big on:young cpu=15"));
    assert!(provision(&facts).placements.is_empty());
}

#[test]
fn k7_room_is_kept_for_a_daemon_that_comes_in_spite_of_a_soft_taint() {
    let mut facts = facts(pods("a cpu=1"));
    facts.node_pools[0].template.taints = vec![taint("slow:PreferNoSchedule")];
    let mut tainted = node("own cpu=2 memory=4Gi pods=10");
    tainted.taints = vec![taint("slow:PreferNoSchedule")];
    add_node(&mut facts, tainted);
    check(&facts, &["own: a"]);
    facts.daemon_sets = vec![daemon_set("logs cpu=1500m")];
    assert!(provision(&facts).placements.is_empty());
}
