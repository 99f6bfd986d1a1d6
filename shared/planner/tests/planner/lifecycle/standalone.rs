//! NodeClaims that a user made, without a NodePool → claims to launch.

use model::{BatchId, ClaimPhase, NodeClaim, NodeClaimName, NodePoolName, ledger::UnreadableItem};
use planner::lifecycle::standalone::*;

use crate::planner::support::*;

fn object(name: &str) -> NodeClaim {
    let name = NodeClaimName::new(name).unwrap();
    let batch = BatchId::new("object").unwrap();
    let class = "default".parse().unwrap();
    NodeClaim {
        taints: vec![taint("team=x:NoSchedule")],
        startup_taints: vec![taint("cni:NoExecute")],
        labels: [("team".to_owned(), "x".to_owned())].into(),
        ..NodeClaim::created(name, NodePoolName::none(), class, batch, ago(60))
    }
}

fn names(outcome: &Standalone) -> Vec<&str> {
    outcome.claims.iter().map(|claim| claim.name.as_str()).collect()
}

#[test]
fn a_claim_for_each_object_of_a_user_is_created_with_what_it_says() {
    let facts = facts(Vec::new());
    let objects = [object("mine-2"), object("mine-1")];
    let outcome = standalone(&facts.cluster, &objects, &facts.ledger, now());
    assert_eq!(names(&outcome), ["mine-1", "mine-2"]);
    assert_eq!(outcome, standalone(&facts.cluster, &objects, &facts.ledger, now()));
    let [first, second] = outcome.claims.as_slice() else { panic!("two") };
    assert_ne!(first.batch, second.batch);
    assert!(first.is_standalone());
    assert_eq!((first.version, first.phase, first.created_at), (1, ClaimPhase::Created, now()));
    assert_eq!((&first.taints, &first.labels), (&objects[1].taints, &objects[1].labels));
    assert_eq!((first.batch_size, first.instance_types.len()), (1, 0));
}

#[test]
fn what_is_of_another_writer_or_known_already_is_left_alone() {
    let mut facts = facts(Vec::new());
    let known = add_managed(&mut facts, "taken");
    let held = object("own");
    facts.ledger.claims.insert(held.name.clone(), held.clone());
    facts.ledger.unreadable.push(UnreadableItem {
        item: "claim#odd".to_owned(),
        claim: Some("odd".parse().unwrap()),
        instance: None,
        problem: "`phase`: not known".to_owned(),
    });
    let deleting = NodeClaim { phase: ClaimPhase::Deleting, ..object("going") };
    let running = NodeClaim { phase: ClaimPhase::Launched, ..object("running") };
    let mut shown = object("shown");
    shown.labels.insert(model::labels::MANAGED_BY.to_owned(), model::labels::MANAGER.to_owned());
    let of_pool = NodeClaim { node_pool: known.node_pool.clone(), ..object("of-pool") };
    let taken = object(known.name.as_str());
    let objects = [held, deleting, running, shown, of_pool, taken, object("odd")];
    let outcome = standalone(&facts.cluster, &objects, &facts.ledger, now());
    assert_eq!(names(&outcome), [""; 0]);
    let left: Vec<_> = outcome.left.iter().map(|(name, why)| (name.as_str(), *why)).collect();
    let wanted = [
        ("odd", "a claim of its name cannot be read"),
        (known.name.as_str(), "another claim has its name"),
    ];
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    assert_eq!(left, wanted);
}
