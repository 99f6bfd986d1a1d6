//! Pods with ResourceClaims on nodes that are disrupted.

use std::sync::Arc;

use model::{
    ClaimPhase, CommandId, DeletionReason, claim::Deletion, disruption::Method,
    dynamic_resources::SliceAccess, facts::Facts, labels,
};
use planner::disruption::{Options, validated};
use testkit::build::devices;

use crate::planner::support::cluster::*;

/// A node of 16 CPUs with one small pod whose claim has a GPU of the node; `t.gpu` has two of them.
fn world(text: &str) -> Facts {
    let mut facts = cluster(&[("a", "t.large")]);
    facts.pods.push(app("p", "a", "cpu=1 memory=1Gi claim:p"));
    facts.devices = Some(Arc::new(devices(&format!(
        "class gpu
        template general t.gpu gpu.example.com/gpus: gpu-[0-1]
        slice a gpu.example.com/a node=a owner=a: gpu-0
        {text}"
    ))));
    facts
}

/// The claim of the pod, which has the device of its node, as a device that only pods called so have reserved.
fn held_for(pods: &str) -> String {
    format!(
        "initialized a b
        claim p has gpu.example.com/a/gpu-0 on name=a for {pods}: g 1 gpu"
    )
}

#[test]
fn a_claim_of_a_pod_that_moves_is_allocated_anew() {
    let facts = world(&held_for("uid-p"));
    assert_eq!(decided(&facts, Method::SingleNode), "a → t.gpu");
    let mut ignored = facts;
    ignored.devices = None;
    assert_eq!(decided(&ignored, Method::SingleNode), "nothing");
}

#[test]
fn a_claim_that_others_have_reserved_too_stays_where_it_is() {
    assert_eq!(decided(&world(&held_for("uid-p uid-q")), Method::SingleNode), "nothing");
    assert_eq!(decided(&world(&held_for("uid-p other")), Method::SingleNode), "nothing");
}

#[test]
fn another_node_takes_the_pod_if_it_has_a_device() {
    let with_node = |text: &str| {
        let mut facts = world(&format!("{}\n{text}", held_for("uid-p")));
        add(&mut facts, "b", "t.gpu", model::CapacityType::OnDemand);
        facts.pods.push(app("q", "b", "cpu=1 memory=1Gi"));
        facts
    };
    let published = "slice b gpu.example.com/b node=b owner=b: gpu-0";
    assert_eq!(decided(&with_node(published), Method::SingleNode), "a");
    // Its driver has not published any: templates are for nodes that are not initialized.
    assert_eq!(decided(&with_node(""), Method::SingleNode), "a → t.gpu");
    let taken = "claim q has gpu.example.com/b/gpu-0 on name=b for uid-q: g 1 gpu";
    assert_eq!(
        decided(&with_node(&format!("{published}\n{taken}")), Method::SingleNode),
        "a → t.gpu"
    );
}

#[test]
fn devices_of_a_node_that_goes_are_not_there_any_more() {
    // The only device is in reach of every node.
    let mut facts = world(&held_for("uid-p"));
    let devices = Arc::make_mut(facts.devices.as_mut().unwrap());
    devices.templates.clear();
    devices.slices[0].access = SliceAccess::AllNodes;
    assert_eq!(decided(&facts, Method::SingleNode), "nothing");
    // It is there without the node.
    Arc::make_mut(facts.devices.as_mut().unwrap()).slices[0].owner = None;
    assert_eq!(decided(&facts, Method::SingleNode), "a → t.small|t.gpu|t.medium");
}

#[test]
fn the_claim_in_the_place_of_a_node_names_the_drivers() {
    let facts = world(&held_for("uid-p"));
    let command = ask(&facts, Method::SingleNode).proposal.unwrap().command;
    assert_eq!(command.replacements[0].device_drivers, ["gpu.example.com".to_owned()].into());
    let plan = validated(&facts, (&CommandId::derived(&command), &command), &Options::deployed());
    let [new] = plan.new_claims.as_slice() else { panic!("{plan:?}") };
    assert_eq!(new.claim.annotations[labels::REQUESTED_DRA_DRIVERS], "gpu.example.com");
}

#[test]
fn pods_of_a_node_that_is_being_deleted_get_devices_elsewhere() {
    let deleted = |pods: &str| {
        let mut facts = world(&held_for(pods));
        assert_eq!(shown(&planner::provision(&facts)), "");
        let reason = DeletionReason::NodeClaimDeleted;
        let claim = claim(&mut facts, "a");
        claim.phase = ClaimPhase::Deleting;
        claim.deletion = Some(Deletion { reason, at: ago(1), deadline: None });
        shown(&planner::provision(&facts))
    };
    assert_eq!(deleted("uid-p"), "general [t.gpu]: p");
    // The claim stays with those who remain.
    let why = "ResourceClaim default/p has devices that this node does not reach";
    assert_eq!(deleted("uid-p uid-q"), format!("p not placed: general: {why}"));
}
