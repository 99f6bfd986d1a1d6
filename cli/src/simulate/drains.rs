//! Drains that go on for long: the nodes, the pods that they wait for, and what would end them.

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim, NodeName, NodePoolName, Pod, PodKey, eviction::PodDisruptionBudget, labels,
};
use planner::lifecycle::drain;
use report::output::elapsed;
use serde_json::{Value, json};
use simulator::Sim;

/// How long a drain may take before it is named: longer than the grace period of most pods.
const USUAL: SignedDuration = SignedDuration::from_mins(10);

/// A node that has been draining for long, and that has no time at which it ends with its pods.
pub(super) struct LongDrain {
    node: NodeName,
    node_pool: NodePoolName,
    /// Whether its NodePool is there, from which next nodes take their `terminationGracePeriod`.
    has_node_pool: bool,
    /// Since when it is draining.
    since: Timestamp,
    now: Timestamp,
    /// Pods that stay although it is their turn, and why.
    pods: Vec<(PodKey, String)>,
}

impl LongDrain {
    /// Those of `sim` now, in the order of their NodeClaims.
    pub(super) fn of(sim: &Sim) -> Vec<Self> {
        let (now, pods) = (sim.now(), sim.pods());
        let drained = |claim: &NodeClaim| {
            let deletion =
                claim.deletion.as_ref().filter(|deletion| deletion.deadline.is_none())?;
            let node = claim.node.clone()?;
            let waited_for: Vec<&Pod> = pods
                .iter()
                .filter(|pod| pod.node.as_ref() == Some(&node) && drain::is_waited_for(pod, now))
                .collect();
            // Others are asked to leave when these are gone.
            let protected = waited_for.iter().filter(|pod| pod.is_protected(now));
            let asked = drain::evictions(&waited_for, None, now).into_iter();
            let refused = |key: PodKey| {
                let pod = waited_for.iter().find(|pod| pod.key == key);
                let why = pod.map(|pod| why(&sim.disruption_budgets_of(pod)));
                (key, why.unwrap_or_default())
            };
            let annotation = labels::DO_NOT_DISRUPT;
            let pods: Vec<_> = protected
                .map(|pod| {
                    (pod.key.clone(), format!("its annotation {annotation} keeps it from eviction"))
                })
                .chain(asked.map(|request| refused(request.pod)))
                .collect();
            let is_long = USUAL <= now.duration_since(deletion.at) && !pods.is_empty();
            let (node_pool, since) = (claim.node_pool.clone(), deletion.at);
            let has_node_pool = sim.node_pool_record(&node_pool).is_some();
            is_long.then_some(Self { node, node_pool, has_node_pool, since, now, pods })
        };
        sim.claims().iter().filter_map(drained).collect()
    }

    /// For people: the node, its pods, and what would end the drain.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { node, node_pool, has_node_pool, since, now, pods } = self;
        let taken = elapsed(*since, *now);
        let mut lines =
            vec![format!("node {node}: draining for {}", taken.trim_start_matches('+'))];
        lines.extend(pods.iter().map(|(pod, why)| format!("pod {pod}: {why}")));
        lines.push("the drain ends when these pods are deleted".to_owned());
        lines.extend(has_node_pool.then(|| {
            format!(
                "terminationGracePeriod in NodePool {node_pool} would end drains of its next nodes"
            )
        }));
        lines
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        let Self { node, node_pool, has_node_pool, since, now: _, pods } = self;
        let pods = pods.iter().map(|(pod, why)| json!({"pod": pod.to_string(), "why": why}));
        json!({
            "node": node.to_string(),
            "nodePool": node_pool.to_string(),
            "since": since.to_string(),
            "pods": pods.collect::<Vec<_>>(),
            "cure": has_node_pool.then_some("terminationGracePeriod"),
        })
    }
}

/// Why a pod that `budgets` select is still there although its eviction was requested.
fn why(budgets: &[PodDisruptionBudget]) -> String {
    match budgets {
        [budget] if budget.disruptions_allowed == 0 => {
            format!("PodDisruptionBudget {} allows no eviction", budget.key)
        }
        [_, _, ..] => {
            let names: Vec<String> = budgets.iter().map(|budget| budget.key.to_string()).collect();
            let names = names.join(", ");
            format!("several PodDisruptionBudgets select it, so the API server refuses: {names}")
        }
        _ => "its eviction was requested, and the pod is still there".to_owned(),
    }
}
