//! A cluster that Karpenter left, as `sweep` finds it: objects, instances, nodes, and an empty ledger.

use std::collections::BTreeMap;

use model::{
    ImageId, NodeClaim, NodeClaimName, RegionCatalog,
    facts::Facts,
    launch::{Instance, InstanceState},
    ledger::Snapshot,
};
use planner::Present;

/// Replaces the claims of `facts` by those that are adopted from their objects; `false` where one of them
/// has no instance yet, which Karpenter is waited for to launch.
pub(crate) fn adopt(facts: &mut Facts, catalog: &RegionCatalog) -> bool {
    let objects: Vec<NodeClaim> = facts.ledger.claims.values().cloned().collect();
    let instances: Option<Vec<Instance>> = objects.iter().map(instance).collect();
    let Some(instances) = instances.filter(|instances| !instances.is_empty()) else { return false };
    let nodes: Vec<model::node::Node> = facts.nodes.values().cloned().collect();
    let present = Present {
        objects: &objects,
        instances: &instances,
        nodes: &nodes,
        node_pools: &facts.node_pools,
        unreadable: Vec::new(),
    };
    let adoption = planner::adopt(&present, &Snapshot::default(), catalog, facts.now);
    assert_eq!(adoption.strays, [], "nothing of Karpenter's is terminated");
    let claims: BTreeMap<NodeClaimName, NodeClaim> =
        adoption.claims.into_iter().map(|claim| (claim.name.clone(), claim)).collect();
    assert_eq!(claims.len(), objects.len(), "every claim is adopted");
    facts.ledger = Snapshot { claims, ..Snapshot::default() };
    true
}

/// The instance of `claim`, as EC2 describes it.
fn instance(claim: &NodeClaim) -> Option<Instance> {
    let launched = claim.instance.as_ref()?;
    Some(Instance {
        id: launched.id.clone(),
        state: InstanceState::Running,
        instance_type: launched.instance_type.clone(),
        zone: launched.zone.clone(),
        capacity_type: launched.capacity_type,
        image: ImageId::new("ami-0a").expect("an id"),
        subnet: None,
        security_groups: std::collections::BTreeSet::new(),
        launched_at: launched.launched_at,
        reservation: None,
        state_reason: None,
        is_named: false,
        node_pool: Some(claim.node_pool.clone()),
        node_class: Some(claim.node_class.clone()),
        ledger: None,
        node_claim: Some(claim.name.clone()),
        batch: None,
    })
}
