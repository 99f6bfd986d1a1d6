//! The claims that static pools lack.
//!
//! Karpenter: `pkg/controllers/static/provisioning/controller.go`. Such a claim is made from its
//! pool's template alone: no pod is for it, and of its limits only `limits.nodes` counts, which
//! [`replicas`] has looked at.

use std::iter;

use model::{
    NodeClaimName, NodePoolName,
    facts::Facts,
    limits::NODES_PER_CLUSTER_MAX,
    node_pool::{Limits, NodePool},
    plan::{Promise, Reason},
};

use super::{Replicas, replicas};
use crate::{
    KnownTypes,
    index::bits::BitSet,
    scheduling::{
        output,
        problem::Problem,
        solver::{InFlightClaim, Solution},
    },
};

/// What static pools launch, and what keeps them from their replicas.
///
/// Names and batches are those of a plan of its own: not to be committed together with another of
/// the same generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launches {
    /// Claims to promise.
    pub promises: Vec<Promise>,
    /// Pools that do not get what they want, and why.
    pub notes: Vec<Reason>,
}

/// What the static pools of `facts` launch now.
#[must_use]
pub fn launches(facts: &Facts) -> Launches {
    let (mut wanted, mut notes) = (Vec::new(), Vec::new());
    for pool in facts.node_pools.iter().filter(|pool| pool.replicas.is_some()) {
        let name = &pool.name;
        let why = match replicas(facts, pool) {
            Some(Replicas::Enough) => continue,
            Some(Replicas::Missing(missing)) => {
                wanted.push((name, missing));
                continue;
            }
            Some(Replicas::Limited { missing, nodes_max }) => {
                format!("{missing} of its replicas are missing, and limits.nodes is {nodes_max}")
            }
            Some(Replicas::Surplus(claims)) => {
                let names: Vec<&str> = claims.iter().map(NodeClaimName::as_str).collect();
                let what = "giving up nodes beyond its replicas, first of all";
                format!("not supported yet: {what} {}", names.join(", "))
            }
            Some(Replicas::Unusable(why)) => why,
            None => "it has replicas, and the feature gate StaticCapacity is closed".to_owned(),
        };
        notes.push(note(name, why));
    }
    if wanted.is_empty() {
        return Launches { promises: Vec::new(), notes };
    }
    let facts = facts_of_templates(facts, &wanted);
    let mut problem = Problem::of(&facts, false, &KnownTypes::default());
    let (mut in_flight, mut room) = (Vec::new(), room(&facts));
    for (name, missing) in wanted {
        let in_flight_claim = match from_template(&mut problem, name) {
            Ok(in_flight_claim) => in_flight_claim,
            Err(why) => {
                notes.push(note(name, why));
                continue;
            }
        };
        let count = usize::try_from(missing).unwrap_or(usize::MAX).min(room);
        room -= count;
        if u64::try_from(count).unwrap_or(u64::MAX) < missing {
            let text = format!("a cluster has at most {NODES_PER_CLUSTER_MAX} nodes");
            notes.push(note(name, text));
        }
        in_flight.extend(iter::repeat_n(in_flight_claim, count));
    }
    let plan = output::plan(
        &mut problem,
        &Solution { in_flight: in_flight.into_iter().collect(), ..Solution::default() },
    );
    Launches { promises: plan.promises, notes }
}

fn note(pool: &NodePoolName, text: String) -> Reason {
    Reason { node_pool: Some(pool.clone()), text }
}

/// The facts without pods, and with the `wanted` pools alone, as pools that may launch.
fn facts_of_templates(facts: &Facts, wanted: &[(&NodePoolName, u64)]) -> Facts {
    let pools = facts.node_pools.iter();
    let wanted = pools.filter(|pool| wanted.iter().any(|(name, _)| **name == pool.name));
    let free =
        |pool: &NodePool| NodePool { replicas: None, limits: Limits::default(), ..pool.clone() };
    let mut facts = Facts { node_pools: wanted.map(free).collect(), ..facts.clone() };
    facts.pods.clear();
    facts.surroundings.capacity_buffers.clear();
    facts
}

/// How many claims more there may be.
fn room(facts: &Facts) -> usize {
    NODES_PER_CLUSTER_MAX.saturating_sub(facts.ledger.claims.len())
}

/// A claim of the pool's template; or why there can be none.
fn from_template(problem: &mut Problem<'_>, pool: &NodePoolName) -> Result<InFlightClaim, String> {
    let template = problem.templates.entries().find(|(_, template)| template.name() == pool);
    let Some((number, template)) = template else {
        let closed = problem.closed.iter().find(|(name, _)| *name == pool);
        return Err(closed.map(|(_, why)| why.clone()).unwrap_or_default());
    };
    let in_flight_claim = InFlightClaim {
        template: number,
        set: template.set,
        types: template.types.clone(),
        requests: vec![0; problem.resources.len()].into(),
        pods: Vec::new(),
        is_relaxed: !template.unmet(&template.types, template.set, &problem.sets).is_empty(),
        held: BitSet::default(),
    };
    match output::draft(problem, &in_flight_claim) {
        Ok(_) => Ok(in_flight_claim),
        Err(why) => Err(why.to_owned()),
    }
}

#[cfg(test)]
mod tests;
