//! What static pools launch.

use model::{
    HourlyPrice, facts::Facts, labels, limits::NODES_PER_CLUSTER_MAX, node_pool::NodePool,
    policies::Policies,
};
use planner::{KnownTypes, scheduling::static_pool::launches::*};

use crate::planner::support::{add_managed, facts, limits, node_pool, spec};

/// The static pool `general` with a number of replicas, and one initialized node `a`.
fn world(replicas: u64) -> Facts {
    let mut facts = facts(Vec::new());
    add_managed(&mut facts, "a");
    facts.policies.static_capacity = true;
    facts.node_pools[0].replicas = Some(replicas);
    facts
}

#[track_caller]
fn check(facts: &Facts, names: &[&str], notes: &[&str]) {
    let outcome = launches(facts, &KnownTypes::default());
    let pools: Vec<&str> =
        outcome.new_claims.iter().map(|new| new.claim.node_pool.as_str()).collect();
    assert_eq!(pools, names);
    let said: Vec<String> = outcome.notes.iter().map(ToString::to_string).collect();
    assert_eq!(said, notes);
}

#[test]
fn a_claim_for_each_missing_replica_is_made_from_the_template_alone() {
    let mut facts = world(3);
    // No pod, and no limit but that on nodes, decides about it.
    facts.pods = vec![crate::planner::support::pending("web", spec("cpu=100"))];
    facts.node_pools[0].limits = limits("cpu=1 nodes=3");
    facts.node_pools[0].template.labels.insert("team".to_owned(), "payments".to_owned());
    check(&facts, &["general", "general"], &[]);
    let new_claims = launches(&facts, &KnownTypes::default()).new_claims;
    let names: Vec<&str> = new_claims.iter().map(|new| new.claim.name.as_str()).collect();
    assert_ne!(names[0], names[1]);
    for new in &new_claims {
        assert!(new.claim.pods.is_empty() && !new.possible.is_empty());
        assert_eq!(new.claim.labels[labels::NODE_POOL], "general");
        assert_eq!(new.claim.labels["team"], "payments");
        assert_eq!((new.claim.batch_size, &new.claim.batch), (2, &new_claims[0].claim.batch));
    }
}

#[test]
fn dollars_bound_static_pools_as_well() {
    // The node that is there has 16 CPUs, of which each costs ten cents on demand.
    let small = crate::planner::support::requirements("type=t.small");
    let capped = |most: &str| {
        let mut facts = world(4);
        facts.node_pools[0].template.requirements = small.clone();
        let annotations = &mut facts.node_pools[0].annotations;
        annotations.insert(labels::MAX_DOLLARS_PER_HOUR.to_owned(), most.to_owned());
        facts
    };
    check(&capped("10"), &["general"; 3], &[]);
    let facts = capped("10");
    let there = facts.ledger.claims.values().next().unwrap().instance.as_ref().unwrap().price;
    let most = there.saturating_add(HourlyPrice::parse_dollars("0.5").unwrap());
    check(
        &capped(&most.to_string()),
        &["general", "general"],
        &[&format!(
            "general: every instance type that fits costs more than may be spent \
             (journeyman/max-dollars-per-hour: $0.1000 of ${most} an hour are left)"
        )],
    );
    let mut of_cluster = world(4);
    of_cluster.node_pools[0].template.requirements = small.clone();
    of_cluster.policies.dollars_per_hour_max = Some(there);
    assert_eq!(launches(&of_cluster, &KnownTypes::default()).new_claims, Vec::new());
}

#[test]
fn what_a_pool_does_not_get_is_said() {
    check(&world(1), &[], &[]);
    check(&world(0), &[], &["general: nodes beyond its replicas are deleted: claim-a"]);
    let mut full = world(3);
    full.node_pools[0].limits = limits("nodes=1");
    check(&full, &[], &["general: 2 of its replicas are missing, and limits.nodes is 1"]);
    let mut closed = world(3);
    closed.policies = Policies::default();
    check(&closed, &[], &["general: it has replicas, and the feature gate StaticCapacity is off"]);
    let mut unready = world(3);
    unready.classes = Some([].into());
    check(&unready, &[], &["general: EC2NodeClass default does not exist"]);
    let mut broken = world(3);
    broken.node_pools[0].problems = vec![model::Problem::unusable("", "it is wrong")];
    check(&broken, &[], &["general: the NodePool cannot be used: it is wrong"]);
}

#[test]
fn pools_are_independent_and_a_cluster_is_not_filled_beyond_its_size() {
    let mut facts = world(2);
    facts.node_pools.push(NodePool { replicas: Some(1), ..node_pool("second") });
    facts.node_pools.push(node_pool("dynamic"));
    check(&facts, &["general", "second"], &[]);
    facts.node_pools[1].replicas = Some(u64::MAX);
    let outcome = launches(&facts, &KnownTypes::default());
    assert_eq!(outcome.new_claims.len(), NODES_PER_CLUSTER_MAX - 1);
    assert_eq!(outcome.notes.len(), 1);
}
