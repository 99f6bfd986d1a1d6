//! Objects and offers → facts.

use jiff::Timestamp;
use model::{
    ClusterName, NodeClaim,
    facts::{ClassOffer, Facts, Surroundings},
    ledger::Snapshot,
    policies::Policies,
};
use report::error::BadInput;

use super::{expand, input::Loaded, offers::Offers};

/// Everything that the decision may look at, and what is left out of it.
pub(super) fn of(
    mut loaded: Loaded,
    offers: Offers,
    policies: Policies,
    now: Timestamp,
) -> Result<(Facts, Vec<String>), BadInput> {
    // Names nothing outside: what is planned here is only printed.
    let cluster = ClusterName::new("plan").map_err(|error| BadInput::one(error.to_string()))?;
    let pods = expand::pods(&mut loaded, now);
    let mut claims = loaded.claims;
    for claim in &mut claims {
        know_price(claim, &offers);
    }
    let mut node_pools = loaded.node_pools;
    node_pools.sort_by(|a, b| a.name.cmp(&b.name));
    let mut daemon_sets = loaded.daemon_sets;
    daemon_sets.sort_by(|a, b| a.key.cmp(&b.key));
    let mut surroundings = loaded.surroundings;
    let referable = &loaded.referable;
    let buffers = loaded.buffers.into_iter().map(|buffer| referable.resolved(buffer));
    surroundings.capacity_buffers = buffers.collect();
    sort(&mut surroundings);
    let claims = claims.into_iter().map(|claim| (claim.name.clone(), claim));
    let ledger = Snapshot { claims: claims.collect(), ..Snapshot::default() };
    // Of a class's hash nothing can be said: what the cluster's nodes trust it by is not among the
    // manifests.
    let facts = Facts {
        nodes: loaded.nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
        node_pools,
        classes: Some(offers.classes),
        node_charges: offers.charges,
        daemon_sets,
        pods,
        surroundings,
        policies,
        ..Facts::of(cluster, now, ledger)
    };
    Ok((facts, loaded.notes))
}

/// By name: the order of the input says nothing.
fn sort(surroundings: &mut Surroundings) {
    surroundings.node_overlays.sort_by(|a, b| a.name.cmp(&b.name));
    surroundings
        .capacity_buffers
        .sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    surroundings.disruption_budgets.sort_by(|a, b| a.key.cmp(&b.key));
}

/// What the instance of `claim` costs now.
fn know_price(claim: &mut NodeClaim, offers: &Offers) {
    let Some(instance) = &mut claim.instance else { return };
    let Some(ClassOffer::Ready(types)) = offers.classes.get(&claim.node_class) else { return };
    let instance_type = types.iter().find(|candidate| candidate.name == instance.instance_type);
    if let Some(offering) = instance_type.and_then(|sold| sold.offering(&instance.offering())) {
        instance.price = offering.price;
    }
}
