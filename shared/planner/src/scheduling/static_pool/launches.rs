//! The claims that static pools lack.
//!
//! Karpenter: `pkg/controllers/static/provisioning/controller.go`. Such a claim is made from its
//! pool's template alone: no pod is for it, and of its limits only `limits.nodes` counts, which
//! [`replicas`] has looked at. Caps in dollars hold for it as for every other.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    iter,
};

use model::{
    Function, HourlyPrice, NodeClaimName, NodePoolName, Plan,
    facts::Facts,
    ledger::{Decision, DecisionKind, RejectionReason},
    limits::NODES_PER_CLUSTER_MAX,
    node_pool::{Limits, NodePool},
    plan::{NewClaim, Reason},
    words,
};

use super::{Replicas, replicas};
use crate::{
    KnownTypes,
    index::bits::BitSet,
    scheduling::{
        output::{self, explain, told},
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
    /// Claims to create.
    pub new_claims: Vec<NewClaim>,
    /// Pools that do not get what they want, and why.
    pub notes: Vec<Reason>,
}

impl Launches {
    /// What creates them, on these very facts.
    #[must_use]
    pub fn plan(self, facts: &Facts) -> Plan {
        let mut by_pool: BTreeMap<&NodePoolName, Vec<&NewClaim>> = BTreeMap::new();
        for new in &self.new_claims {
            by_pool.entry(&new.claim.node_pool).or_default().push(new);
        }
        let decision = |(pool, new_claims): (&NodePoolName, Vec<&NewClaim>)| {
            let prices = new_claims.iter().map(|new| new.price);
            let price = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
            let replicas = facts.node_pools.iter().find(|known| known.name == *pool);
            let replicas = replicas.and_then(|pool| pool.replicas).unwrap_or_default();
            let count = words::many(new_claims.len());
            let replicas = words::thousands(replicas.into());
            let summary =
                format!("{pool}: {count} of its {replicas} replicas, from ${price} an hour");
            let decision = told::created(new_claims, (Function::Provision, facts.now), summary);
            Decision { price_after: Some(price), ..decision }
        };
        let mut decisions: Vec<Decision> = by_pool.into_iter().map(decision).collect();
        decisions.extend(self.notes.iter().map(|note| refusal(facts, note)));
        let parent = facts.ledger.head.counters;
        Plan { parent, new_claims: self.new_claims, decisions, ..Plan::default() }
    }
}

/// What the static pools of `facts` launch now.
#[must_use]
pub fn launches(facts: &Facts, known: &KnownTypes) -> Launches {
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
                let [missing, nodes_max] =
                    [missing, nodes_max].map(|number| words::thousands(number.into()));
                format!("{missing} of its replicas are missing, and limits.nodes is {nodes_max}")
            }
            Some(Replicas::Surplus(claims)) => {
                let names: Vec<&str> = claims.iter().map(NodeClaimName::as_str).collect();
                let what = "nodes beyond its replicas are deleted:";
                format!("{what} {}", names.join(", "))
            }
            Some(Replicas::Unusable(why)) => why,
            None => "it has replicas, and the feature gate StaticCapacity is off".to_owned(),
        };
        notes.push(note(name, why));
    }
    let new_claims = from_templates(facts, wanted, known, &mut notes);
    Launches { new_claims, notes }
}

/// A claim of each pool's template for each node that is `wanted`; of a pool that gets fewer, `notes` say
/// why.
fn from_templates(
    facts: &Facts,
    wanted: Vec<(&NodePoolName, u64)>,
    known: &KnownTypes,
    notes: &mut Vec<Reason>,
) -> Vec<NewClaim> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let facts = facts_of_templates(facts, &wanted);
    let mut problem = Problem::of(&facts, false, known);
    let (mut in_flight, mut room) = (Vec::new(), room(&facts));
    let mut dollars = problem.start.dollars.clone();
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
            let text =
                format!("a cluster has at most {} nodes", words::many(NODES_PER_CLUSTER_MAX));
            notes.push(note(name, text));
        }
        if !problem.is_capped() {
            in_flight.extend(iter::repeat_n(in_flight_claim, count));
            continue;
        }
        for _ in 0..count {
            let Some(affordable) = problem.afford(&mut dollars, &in_flight_claim) else {
                let caps = problem.caps(&dollars, in_flight_claim.template);
                notes.push(note(name, explain::over_caps(&caps)));
                break;
            };
            in_flight.push(affordable);
        }
    }
    let solution = Solution { in_flight: in_flight.into_iter().collect(), ..Solution::default() };
    output::plan(&mut problem, &solution).new_claims
}

/// A claim of its pool's template for each of `pools`, in their order, and nothing for those that get none; or why
/// none of them can be created.
pub(crate) fn replacements(
    facts: &Facts,
    pools: &[&NodePoolName],
    known: &KnownTypes,
) -> Result<Vec<Option<NewClaim>>, String> {
    let mut counts: BTreeMap<&NodePoolName, u64> = BTreeMap::new();
    for pool in pools {
        *counts.entry(pool).or_default() += 1;
    }
    let mut notes = Vec::new();
    let new_claims = from_templates(facts, counts.into_iter().collect(), known, &mut notes);
    if new_claims.is_empty() {
        let why = notes.first().map(ToString::to_string);
        return Err(why.unwrap_or_else(|| "a claim of its template cannot be created".to_owned()));
    }
    let mut by_pool: BTreeMap<NodePoolName, VecDeque<NewClaim>> = BTreeMap::new();
    for new in new_claims {
        by_pool.entry(new.claim.node_pool.clone()).or_default().push_back(new);
    }
    let next = |pool: &&NodePoolName| by_pool.get_mut(*pool).and_then(VecDeque::pop_front);
    Ok(pools.iter().map(next).collect())
}

fn note(pool: &NodePoolName, text: String) -> Reason {
    Reason { node_pool: Some(pool.clone()), reason: RejectionReason::ReplicasMissing, text }
}

fn refusal(facts: &Facts, note: &Reason) -> Decision {
    let who = (Function::Provision, facts.now);
    Decision {
        node_pool: note.node_pool.clone(),
        rejected: vec![told::rejected(note)],
        ..Decision::about(DecisionKind::Refusal, [], who, note.to_string())
    }
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
        device_drivers: BTreeSet::new(),
    };
    match output::draft(problem, &in_flight_claim) {
        Ok(_) => Ok(in_flight_claim),
        Err(why) => Err(why.to_owned()),
    }
}
