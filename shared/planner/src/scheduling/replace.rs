//! Nodes that a command launches in place of others → claims to create.
//!
//! What the pods ask for, and which instance types are cheap enough, the command says; what a claim is
//! beyond that comes from its NodePool, as for every other claim.
//!
//! Karpenter: `pkg/controllers/disruption/queue.go`, `createReplacementNodeClaims`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    PodKey,
    disruption::Replacement,
    limits::NODES_PER_CLUSTER_MAX,
    plan::{NewClaim, Reason},
    words,
};

use crate::{
    index::{bits::BitSet, id::PodId},
    scheduling::{
        launchable::offer::Types,
        numbers::amounts::{self, Amounts},
        output,
        problem::Problem,
        solver::{InFlightClaim, Solution},
    },
};

/// A claim for each of `wanted`; or why one of them cannot be created.
///
/// Names and batches are those of a plan of its own: not to be committed together with another of the
/// same generation.
pub(crate) fn new_claims(
    problem: &mut Problem<'_>,
    wanted: &[Replacement],
) -> Result<Vec<NewClaim>, String> {
    let claims = problem.facts.ledger.claims.len() + wanted.len();
    if NODES_PER_CLUSTER_MAX < claims {
        return Err(format!("a cluster has at most {} nodes", words::many(NODES_PER_CLUSTER_MAX)));
    }
    let keys: BTreeSet<&PodKey> = wanted.iter().flat_map(|replacement| &replacement.pods).collect();
    let pods: BTreeMap<&PodKey, PodId> = problem
        .demand
        .pods
        .entries()
        .filter_map(|(id, pod)| Some((keys.get(pod.key.as_ref()).copied()?, id)))
        .collect();
    let in_flight: Vec<InFlightClaim> = wanted
        .iter()
        .map(|replacement| claim(problem, replacement, &pods))
        .collect::<Result<_, _>>()?;
    let solution = Solution { in_flight: in_flight.into_iter().collect(), ..Solution::default() };
    let plan = output::plan(problem, &solution);
    if plan.new_claims.len() == wanted.len() {
        return Ok(plan.new_claims);
    }
    let first = plan.unplaced.iter().flat_map(|unplaced| &unplaced.reasons).next();
    Err(first.map(Reason::to_string).unwrap_or_default())
}

/// What `replacement` asks for, as if the scheduler had opened it.
fn claim(
    problem: &mut Problem<'_>,
    replacement: &Replacement,
    known: &BTreeMap<&PodKey, PodId>,
) -> Result<InFlightClaim, String> {
    let name = &replacement.node_pool;
    let template = problem.templates.entries().find(|(_, template)| template.name() == name);
    let Some((number, template)) = template else {
        let closed = problem.closed.iter().find(|(closed, _)| *closed == name);
        let why = closed.map_or("it may not launch now", |(_, why)| why.as_str());
        return Err(format!("NodePool {name}: {why}"));
    };
    let offer = &problem.offers[template.offer];
    let mut types = Types::empty(offer.index.types.len());
    types.extend(offer.named(&replacement.instance_types));
    let pods: Vec<PodId> =
        replacement.pods.iter().filter_map(|pod| known.get(pod).copied()).collect();
    let mut requests: Amounts = vec![0; problem.resources.len()].into();
    for pod in &pods {
        let class = &problem.classes[problem.demand.pods[*pod].class];
        amounts::add(&mut requests, &problem.requests[class.requests]);
    }
    let set = problem.sets.id(&replacement.requirements);
    let template = &problem.templates[number];
    let is_relaxed = !template.unmet(&types, set, &problem.sets).is_empty();
    let held = BitSet::default();
    let device_drivers = replacement.device_drivers.clone();
    let template = number;
    Ok(InFlightClaim { template, set, types, requests, pods, is_relaxed, held, device_drivers })
}
