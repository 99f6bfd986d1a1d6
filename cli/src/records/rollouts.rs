//! What records say of rollouts: which are halted, and why drifted nodes wait. They do not say which image is accepted
//! since long ago.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    Function, NodeClaim, NodeClaimName, NodeName,
    ledger::{Decision, Rejected, RejectionReason},
    rollout::{Halt, RolloutTarget},
    static_hash::{NODE_CLASS, NODE_POOL, StaticHash},
};

use super::Records;

impl Records {
    /// Rollouts that are halted, and since when.
    pub(crate) fn halts(&self) -> impl Iterator<Item = (Timestamp, &Halt)> {
        let commands = self.commands.values();
        commands.filter_map(|command| Some((command.found_at, command.progress.halt()?)))
    }

    /// Why nodes of the NodePool `pool` wait for a rollout, and when that was decided last; `None` if none waits, or a
    /// later decision disrupts one of these nodes or gives another reason.
    pub(crate) fn waiting(&self, pool: &str) -> Option<(Timestamp, &str)> {
        let of_pool = |claim: &&NodeClaim| claim.node_pool.as_str() == pool && !claim.is_deleting();
        let alive: BTreeSet<&str> =
            self.claims.values().filter(of_pool).flat_map(names_of).collect();
        let decisions = || self.decisions.iter().filter(|d| d.function == Function::Disrupt);
        let holding = decisions().filter_map(|decision| {
            let why = holds(decision).find(|rejected| is_about_any(rejected, &alive))?;
            Some((decision, why))
        });
        let (newest, why) = holding.max_by_key(|(decision, _)| decision.last_at)?;
        let waiting: BTreeSet<&str> =
            holds(newest).flat_map(Rejected::names).filter(|name| alive.contains(name)).collect();
        let mut later = decisions().filter(|decision| newest.last_at < decision.last_at);
        let is_over = later.any(|decision| {
            let mut subjects = decision.subjects.iter().filter(|_| decision.kind.ends_claims());
            decision.rejected.iter().any(|rejected| is_about_any(rejected, &waiting))
                || subjects.any(|subject| {
                    let node = subject.node.as_ref().map(NodeName::as_str);
                    let claim = subject.claim.as_ref().map(NodeClaimName::as_str);
                    node.into_iter().chain(claim).any(|name| waiting.contains(name))
                })
        });
        (!is_over).then_some((newest.last_at, &why.why))
    }
}

/// The names by which decisions speak of `claim`: that of its node, if it has one, and its own.
pub(crate) fn names_of(claim: &NodeClaim) -> impl Iterator<Item = &str> {
    claim.node.as_ref().map(NodeName::as_str).into_iter().chain([claim.name.as_str()])
}

/// What of `decision` waits for a rollout.
fn holds(decision: &Decision) -> impl Iterator<Item = &Rejected> {
    decision.rejected.iter().filter(|rejected| rejected.reason == RejectionReason::Rollout)
}

/// Whether `rejected` is about any of `names`.
pub(crate) fn is_about_any(rejected: &Rejected, names: &BTreeSet<&str>) -> bool {
    rejected.names().any(|name| names.contains(name))
}

/// Whether `claim` was moved to `target`: it has its hashes and its image, as far as the records name them.
pub(crate) fn is_at(claim: &NodeClaim, target: &RolloutTarget) -> bool {
    let has = |hash: StaticHash, wanted: &Option<String>| {
        let stored = hash.of(&claim.annotations);
        stored.zip(wanted.as_ref()).is_none_or(|(stored, wanted)| stored.hash == wanted)
    };
    claim.node_class == target.node_class
        && has(NODE_POOL, &target.pool_hash)
        && has(NODE_CLASS, &target.class_hash)
        && target.image.as_ref().is_none_or(|wanted| claim.image() == Some(wanted))
}
