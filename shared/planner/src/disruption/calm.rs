//! Leaving nodes and pods in peace, if a setting asks for more of it than Karpenter gives: what was moved lately
//! holds back what would be moved next.
//!
//! What a command moves is written down when it begins (`moves`), beside the command, and forgotten when no
//! setting asks for it any more. What is rolled back counts as moved, too: its pods did not move, and it was not known
//! that they would not.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    CommandId, NodeClaimName, NodeName, Plan, Pod,
    disruption::{Command, Method, Progress},
    duration::later,
    facts::Facts,
    policies::Calm,
};

use super::{candidate::Candidate, objection::Objection};

/// What was moved lately.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Workloads that rest.
    pub resting: BTreeSet<u64>,
    /// Pods within the last hour.
    pub moved: u64,
    /// Most pods that may move in the window; `None` without a limit.
    pub most: Option<u64>,
}

impl History {
    /// What the ledger says, at `now`.
    pub(crate) fn of(facts: &Facts, now: Timestamp) -> Self {
        let calm = facts.policies.calm;
        let mut history = Self { most: calm.moves_per_hour_max, ..Self::default() };
        if calm.remembers_for().is_none() {
            return history;
        }
        for command in facts.ledger.commands.values() {
            let Progress::Moved { pods, workloads, .. } = &command.progress else { continue };
            let age = now.duration_since(command.found_at);
            if age < Calm::HOUR {
                history.moved = history.moved.saturating_add(*pods);
            }
            if age < calm.workload_rest {
                history.resting.extend(workloads);
            }
        }
        history
    }

    /// Why `candidate` may not be moved by `method` now, if so.
    pub fn objection(&self, method: Method, candidate: &Candidate<'_>) -> Option<Objection> {
        match method {
            Method::Repair | Method::Emptiness => None,
            Method::StaticDrift | Method::Drift => self.too_many(candidate.pods.len()),
            Method::MultiNode | Method::SingleNode => {
                self.resting(candidate).or_else(|| self.too_many(candidate.pods.len()))
            }
        }
    }

    fn resting(&self, candidate: &Candidate<'_>) -> Option<Objection> {
        if self.resting.is_empty() {
            return None;
        }
        let rests =
            |pod: &&&Pod| pod.workload().is_some_and(|digest| self.resting.contains(&digest));
        let pod = candidate.pods.iter().find(rests)?;
        Some(Objection::MovedLately(pod.key.clone()))
    }

    /// Why this number of pods more may not be moved, if so. In an hour in which none was, anything may: what is
    /// larger than the bound would never go otherwise.
    pub fn too_many(&self, pods: usize) -> Option<Objection> {
        let most = self.most?;
        let after = self.moved.saturating_add(u64::try_from(pods).unwrap_or(u64::MAX));
        let moved = usize::try_from(self.moved).unwrap_or(usize::MAX);
        (0 < moved && 0 < pods && most < after).then_some(Objection::ManyMoves(moved))
    }
}

/// What is to be remembered of `plan`, by which `id` begins: the pods on nodes that go or are replaced.
pub(super) fn moves(
    facts: &Facts,
    (id, command): (&CommandId, &Command),
    plan: &Plan,
) -> Option<(CommandId, Command)> {
    let remembered = facts.policies.calm.remembers_for()?;
    let replaced = plan.started.values().filter(|started| started.is_under_way());
    let names = replaced.flat_map(|started| started.candidates.iter());
    let deleted = plan.changes.iter().filter(|claim| claim.is_deleting());
    let going: BTreeSet<&NodeClaimName> = names.chain(deleted.map(|claim| &claim.name)).collect();
    let node = |name: &&NodeClaimName| facts.ledger.claims.get(*name)?.node.as_ref();
    let nodes: BTreeSet<&NodeName> = going.iter().filter_map(node).collect();
    let is_moved = |pod: &&Pod| {
        pod.is_reschedulable() && pod.node.as_ref().is_some_and(|node| nodes.contains(node))
    };
    let pods: Vec<&Pod> = facts.pods.iter().filter(is_moved).collect();
    if pods.is_empty() {
        return None;
    }
    let progress = Progress::Moved {
        until: later(facts.now, remembered),
        pods: u64::try_from(pods.len()).unwrap_or(u64::MAX),
        workloads: pods.iter().filter_map(|pod| pod.workload()).collect(),
    };
    let moved = Command {
        method: command.method,
        found_at: facts.now,
        candidates: going.into_iter().cloned().collect(),
        replacements: Vec::new(),
        drain: None,
        progress,
    };
    Some((CommandId::moved_by(id), moved))
}
