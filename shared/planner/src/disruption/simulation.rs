//! What would become of pods without some nodes.
//!
//! Karpenter: `pkg/controllers/disruption/helpers.go`, `SimulateScheduling`.

use std::{collections::BTreeMap, sync::Arc};

use model::{InstanceType, NodeName, NodePoolName, Pod, PodKey, Requirements, plan::Target};

use super::{candidate::Candidate, consolidation::Obstacle, nodes::State};

/// What the nodes would go for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They have drifted: their pods may go anywhere.
    Drift,
    /// To save: running pods do not go onto nodes on which something happened just now.
    Consolidation,
}

/// A node that would be launched.
#[derive(Clone, Debug)]
pub(crate) struct NewNode {
    pub(crate) pool: NodePoolName,
    /// The types that it may become, cheapest first, at most as many as a claim keeps.
    pub(crate) types: Vec<Arc<InstanceType>>,
    pub(crate) requirements: Requirements,
    pub(crate) pods: Vec<PodKey>,
}

/// Where the pods would be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Nodes that would be launched, those for pods that are pending anyway among them.
    pub(crate) opened: Vec<NewNode>,
    /// Pods that go onto what is there.
    pub(crate) placed: Vec<(Target, Vec<PodKey>)>,
    /// What becomes of a pod that runs and would find no place, in words.
    pub(crate) stuck: Option<String>,
}

/// Answers what would be without some nodes.
#[derive(Debug)]
pub(crate) struct Simulator<'a> {
    facts: &'a model::facts::Facts,
    /// How much was simulated so far, in pods.
    pub(crate) work: u64,
    /// How many what-ifs that were.
    pub(crate) examined: u64,
}

impl<'a> Simulator<'a> {
    pub(crate) fn new(facts: &'a model::facts::Facts) -> Self {
        Self { facts, work: 0, examined: 0 }
    }

    /// What would be without `nodes`.
    pub(crate) fn without(
        &mut self,
        state: &State<'a>,
        nodes: &[&Candidate<'a>],
        _mode: Mode,
    ) -> Result<Outcome, Obstacle> {
        self.examined += 1;
        let mut facts = self.facts.clone();
        let mut any = false;
        for pool in &facts.node_pools {
            any |= pool.is_usable();
        }
        if !any {
            return Err(Obstacle::NoPool);
        }
        for node in nodes {
            if let Some(claim) = facts.ledger.claims.get_mut(&node.claim.name) {
                *claim = claim.given_up(model::DeletionReason::Empty, state.now);
            }
            self.work += u64::try_from(node.pods.len()).unwrap_or_default();
        }
        let plan = crate::provision(&facts);
        let mut outcome = Outcome::default();
        let bound: BTreeMap<&PodKey, &Pod> = self
            .facts
            .pods
            .iter()
            .filter(|pod| !pod.is_provisionable())
            .map(|pod| (&pod.key, pod))
            .collect();
        let stuck = plan.unplaced.iter().find(|one| bound.contains_key(&one.pod));
        outcome.stuck = stuck.map(|one| {
            let reasons: Vec<String> = one.reasons.iter().map(ToString::to_string).collect();
            format!("pod {} finds no place: {}", one.pod, reasons.join("; "))
        });
        let own: std::collections::BTreeSet<&NodeName> =
            nodes.iter().map(|node| &node.node.name).collect();
        for placement in plan.placements {
            let young = match &placement.target {
                Target::Claim(_) => true,
                Target::Node(name) => state.nodes.iter().any(|entry| {
                    entry.node.is_some_and(|node| node.name == *name)
                        && entry.claim.is_some()
                        && !entry.is_initialized()
                }),
            };
            for pod in &placement.pods {
                let from = bound.get(pod).and_then(|pod| pod.node.as_ref());
                if young && from.is_some_and(|from| own.contains(from)) {
                    outcome.stuck = Some(format!("pod {pod} would wait for a node to start"));
                }
            }
            outcome.placed.push((placement.target, placement.pods));
        }
        for promise in plan.promises {
            let pool = facts.node_pools.iter().find(|p| p.name == promise.claim.node_pool);
            let types = promise.claim.instance_types.iter().filter_map(|name| {
                state.instance_type(state.pool(pool?.name.as_str())?, name.as_str())
            });
            outcome.opened.push(NewNode {
                pool: promise.claim.node_pool.clone(),
                types: types.cloned().collect(),
                requirements: promise.claim.requirements.clone(),
                pods: promise.pods,
            });
        }
        Ok(outcome)
    }
}
