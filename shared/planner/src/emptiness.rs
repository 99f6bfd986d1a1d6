//! Nodes that no pod needs: since when, which may go, and whether they still may later.
//!
//! Virtual pods of buffers and PodDisruptionBudgets are not looked at: both are not supported yet,
//! and a node without reschedulable pods has nothing that the latter protect but daemons.
//!
//! Karpenter: `pkg/controllers/disruption/{emptiness,helpers,validation,types}.go`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    DeletionReason, HourlyPrice, NodeClaim, NodeClaimName, NodeName, NodePoolName, Plan,
    facts::Facts,
    labels,
    ledger::Decision,
    message::DisruptionMethod,
    node::Node,
    node_pool::{BudgetReason, NodePool},
    plan::Target,
};

use crate::{budget, expiration::is_expired, provision::provision, world::World};

/// What was seen about empty nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptiness {
    /// Changes only since when claims are empty.
    pub observed: Plan,
    /// Claims that may be given up if nothing changes meanwhile, dearest first.
    pub candidates: Vec<NodeClaimName>,
}

/// Since when nodes are empty, and which of them may be given up within their pools' budgets.
#[must_use]
pub fn emptiness(facts: &Facts) -> Emptiness {
    let view = View::of(facts);
    let changes = facts.ledger.claims.values().filter_map(|claim| view.observed(claim)).collect();
    let observed = Plan { parent: facts.ledger.generation, changes, ..Plan::default() };
    let (chosen, _) = view.chosen(facts.ledger.claims.values());
    Emptiness { observed, candidates: chosen.iter().map(|claim| claim.name.clone()).collect() }
}

/// Gives up those of `claims`, found by `method` at `found_at`, for which the reason still holds.
/// The decision says which are refused, and why.
#[must_use]
pub fn validated(
    facts: &Facts,
    method: DisruptionMethod,
    claims: &[NodeClaimName],
    found_at: Timestamp,
) -> Plan {
    let names: BTreeSet<&NodeClaimName> = claims.iter().collect();
    let found: Vec<&NodeClaim> =
        names.iter().filter_map(|name| facts.ledger.claims.get(*name)).collect();
    let (reason, chosen, mut rejected) = match method {
        DisruptionMethod::Emptiness => {
            let (chosen, rejected) = View::of(facts).chosen(found.iter().copied());
            let (still, again): (Vec<_>, Vec<_>) = chosen
                .into_iter()
                .partition(|claim| claim.empty_since.is_none_or(|since| since <= found_at));
            let again = again.iter().map(|c| format!("{}: a pod needed it meanwhile", c.name));
            (DeletionReason::Empty, still, rejected.into_iter().chain(again).collect::<Vec<_>>())
        }
        DisruptionMethod::Expiration => {
            let (expired, young): (Vec<&NodeClaim>, Vec<_>) =
                found.iter().copied().partition(|claim| is_expired(claim, facts));
            let young = young.iter().map(|claim| format!("{}: it has not expired", claim.name));
            (DeletionReason::Expired, expired, young.collect())
        }
    };
    let gone = names.iter().filter(|name| !facts.ledger.claims.contains_key(**name));
    rejected.extend(gone.map(|name| format!("{name}: it is gone")));
    rejected.sort();
    let changes = chosen.iter().map(|claim| claim.given_up(reason, facts.now)).collect();
    let decision = (!names.is_empty()).then(|| decision(facts, method, &chosen, rejected));
    Plan {
        parent: facts.ledger.generation,
        changes,
        decisions: decision.into_iter().collect(),
        ..Plan::default()
    }
}

fn decision(
    facts: &Facts,
    method: DisruptionMethod,
    chosen: &[&NodeClaim],
    rejected: Vec<String>,
) -> Decision {
    let pools: BTreeSet<&NodePoolName> = chosen.iter().map(|claim| &claim.node_pool).collect();
    let total = chosen.iter().fold(HourlyPrice::default(), |sum, c| sum.saturating_add(price(c)));
    let (method, count) = (method.as_str(), chosen.len());
    let nodes = if count == 1 { "node is" } else { "nodes are" };
    Decision {
        at: facts.now,
        function: "disrupt".to_owned(),
        node_pool: pools.first().filter(|_| pools.len() == 1).map(|pool| (*pool).clone()),
        claims: chosen.iter().map(|claim| claim.name.clone()).collect(),
        summary: format!("{method}: {count} {nodes} given up, ${total} per hour"),
        rejected,
        price_before: Some(total),
        price_after: None,
    }
}

fn price(claim: &NodeClaim) -> HourlyPrice {
    claim.instance.as_ref().map(|instance| instance.price).unwrap_or_default()
}

/// What has to be known about all nodes to judge one.
struct View<'a> {
    facts: &'a Facts,
    world: World<'a>,
    /// Nodes with pods that would need another node.
    needed: BTreeSet<&'a NodeName>,
    /// Nodes with a pod that forbids to be disturbed.
    protected: BTreeMap<&'a NodeName, &'a model::PodKey>,
    /// Nodes that pending pods fit onto.
    nominated: BTreeSet<NodeName>,
}

impl<'a> View<'a> {
    fn of(facts: &'a Facts) -> Self {
        let mut needed = BTreeSet::new();
        let mut protected = BTreeMap::new();
        for (node, pod) in facts.pods.iter().filter_map(|pod| Some((pod.node.as_ref()?, pod))) {
            if pod.is_reschedulable() {
                needed.insert(node);
            }
            if pod.is_protected(facts.now) {
                protected.insert(node, &pod.key);
            }
        }
        let nominated = provision(facts).placements.into_iter();
        let nominated = nominated.filter_map(|placement| match placement.target {
            Target::Node(node) => Some(node),
            Target::Claim(_) => None,
        });
        let nominated = nominated.collect();
        Self { facts, world: World::of(facts), needed, protected, nominated }
    }

    /// The claim as it should be stored, if since when it is empty changed.
    fn observed(&self, claim: &NodeClaim) -> Option<NodeClaim> {
        let node = self.world.node(claim).filter(|node| node.is_initialized())?;
        if claim.is_deleting() {
            return None;
        }
        let empty_since = match (self.needed.contains(&node.name), claim.empty_since) {
            (true, Some(_)) => None,
            (false, None) => Some(self.facts.now),
            (true, None) | (false, Some(_)) => return None,
        };
        Some(NodeClaim { empty_since, version: claim.version + 1, ..claim.clone() })
    }

    /// Those of `claims` that may be given up, dearest first, within budgets; and why the others
    /// may not.
    fn chosen<'c>(
        &self,
        claims: impl IntoIterator<Item = &'c NodeClaim>,
    ) -> (Vec<&'c NodeClaim>, Vec<String>) {
        let mut rejected = Vec::new();
        let mut may_go: Vec<&NodeClaim> = Vec::new();
        for claim in claims {
            match self.objection(claim) {
                None => may_go.push(claim),
                Some(reason) => rejected.push(format!("{}: {reason}", claim.name)),
            }
        }
        may_go.sort_by(|a, b| (price(b), &a.name).cmp(&(price(a), &b.name)));
        let mut left: BTreeMap<&NodePoolName, Option<u64>> = BTreeMap::new();
        let mut chosen = Vec::new();
        for claim in may_go {
            let left =
                left.entry(&claim.node_pool).or_insert_with(|| self.budget(&claim.node_pool));
            match left {
                Some(0) => rejected.push(format!("{}: its pool's budget is spent", claim.name)),
                Some(left) => {
                    *left -= 1;
                    chosen.push(claim);
                }
                None => chosen.push(claim),
            }
        }
        (chosen, rejected)
    }

    /// Why `claim` may not be given up as empty, if so.
    fn objection(&self, claim: &NodeClaim) -> Option<String> {
        if claim.is_deleting() {
            return Some("it is being given up already".to_owned());
        }
        let Some(node) = self.world.node(claim) else {
            return Some("its node is not there".to_owned());
        };
        if !node.is_initialized() || node.is_deleting {
            return Some("its node is not initialized, or is being deleted".to_owned());
        }
        if self.needed.contains(&node.name) {
            return Some("pods need it".to_owned());
        }
        if self.nominated.contains(&node.name) {
            return Some("pending pods fit onto it".to_owned());
        }
        if is_protected(claim, node, self.facts.now) {
            return Some(format!("its annotation {} protects it", labels::DO_NOT_DISRUPT));
        }
        if let Some(pod) = self.protected.get(&node.name) {
            return Some(format!("the annotation of {pod} protects it"));
        }
        let Some(pool) = self.pool(&claim.node_pool) else {
            return Some("its NodePool is gone".to_owned());
        };
        self.too_soon(claim, pool)
    }

    fn too_soon(&self, claim: &NodeClaim, pool: &NodePool) -> Option<String> {
        if pool.replicas.is_some() {
            return Some("its NodePool is static".to_owned());
        }
        let Some(after) = pool.disruption.consolidate_after else {
            return Some("its NodePool's consolidateAfter is Never".to_owned());
        };
        // One that was not recorded yet is empty since now.
        let since = claim.empty_since.unwrap_or(self.facts.now);
        let age: SignedDuration = self.facts.now.duration_since(since);
        let shown = model::duration::show_go(after);
        (age < after).then(|| format!("it has not been empty for {shown} yet"))
    }

    fn pool(&self, name: &NodePoolName) -> Option<&'a NodePool> {
        self.facts.node_pools.iter().find(|pool| pool.name == *name)
    }

    /// How many more nodes of the pool may be given up; `None` is unlimited. Nodes that are going
    /// already, for whatever reason, and nodes that are not ready are spent.
    fn budget(&self, name: &NodePoolName) -> Option<u64> {
        let pool = self.pool(name)?;
        let claims = self.facts.ledger.claims.values().filter(|claim| claim.node_pool == *name);
        let nodes: Vec<(&NodeClaim, &Node)> = claims
            .filter_map(|claim| Some((claim, self.world.node(claim)?)))
            .filter(|(_, node)| node.is_initialized())
            .collect();
        let disrupting = nodes.iter().filter(|(claim, node)| claim.is_deleting() || !node.is_ready);
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let (total, disrupting) = (count(nodes.len()), count(disrupting.count()));
        let allowed = budget::allowed(pool, BudgetReason::Empty, total, self.facts.now);
        allowed.unwrap_or(Some(0)).map(|allowed| allowed.saturating_sub(disrupting))
    }
}

/// Whether the node's or the claim's annotation keeps it: `true`, or a duration since it was made.
/// Karpenter knows no durations on nodes; here they mean what they mean on pods.
fn is_protected(claim: &NodeClaim, node: &Node, now: Timestamp) -> bool {
    let holds = |annotations: &BTreeMap<String, String>, since: Timestamp| {
        let Some(text) = annotations.get(labels::DO_NOT_DISRUPT) else { return false };
        text == "true"
            || model::duration::parse_go(text).is_ok_and(|duration| {
                since.checked_add(duration).is_ok_and(|ends_at| now < ends_at)
            })
    };
    holds(&node.annotations, node.created_at) || holds(&claim.annotations, claim.created_at)
}

#[cfg(test)]
mod tests;
