//! Objects and offers → facts.

use jiff::Timestamp;
use model::{
    ClusterName, NodeClaim,
    facts::{ClassOffer, Facts, Surroundings},
    ledger::Snapshot,
    policies::Policies,
};

use super::{input::Loaded, offers::Offers};
use crate::manifests::BadInput;

/// Everything that the decision may look at.
pub(super) fn of(
    loaded: Loaded,
    offers: Offers,
    policies: Policies,
    now: Timestamp,
) -> Result<Facts, BadInput> {
    // Names nothing outside: what is planned here is only printed.
    let cluster = ClusterName::new("plan").map_err(|error| BadInput::one(error.to_string()))?;
    let mut claims = loaded.claims;
    for claim in &mut claims {
        know_price(claim, &offers);
    }
    let mut node_pools = loaded.node_pools;
    node_pools.sort_by(|a, b| a.name.cmp(&b.name));
    let mut daemon_sets = loaded.daemon_sets;
    daemon_sets.sort_by(|a, b| a.key.cmp(&b.key));
    let claims = claims.into_iter().map(|claim| (claim.name.clone(), claim));
    Ok(Facts {
        cluster,
        now,
        ledger: Snapshot { claims: claims.collect(), ..Snapshot::default() },
        nodes: loaded.nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
        node_pools,
        classes: offers.classes,
        daemon_sets,
        pods: loaded.pods.into_iter().map(|(pod, _)| pod).collect(),
        surroundings: Surroundings::default(),
        policies,
    })
}

/// What the instance of `claim` costs now.
fn know_price(claim: &mut NodeClaim, offers: &Offers) {
    let Some(instance) = &mut claim.instance else { return };
    let Some(ClassOffer::Ready(types)) = offers.classes.get(&claim.node_class) else { return };
    let own = types.iter().find(|one| one.name == instance.instance_type);
    if let Some(offering) = own.and_then(|one| one.offering(&instance.offering())) {
        instance.price = offering.price;
    }
}
