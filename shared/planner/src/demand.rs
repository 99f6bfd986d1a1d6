//! Which pods need a place, and what they have in common.
//!
//! Karpenter: `pkg/controllers/provisioning/provisioner.go`, `GetPendingPods` and `Validate`;
//! `pkg/utils/disruption` for pods that move; `scheduling/queue.go` for the order.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use jiff::Timestamp;
use model::{
    NodeName, Operator, Pod, PodKey, PodSpec, PodUid, Requirement, Requirements, facts::Facts,
    labels, limits, policies::PreferencePolicy,
};

use crate::{
    class::Class,
    disruption::DisruptionBudgets,
    table::Table,
    volume::{self, Attachments},
};

/// A pod that needs a place, or would if its node went away.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) key: PodKey,
    pub(crate) class: usize,
    rank: Rank,
    /// The volumes that it attaches; `None` is that nobody knows.
    pub(crate) attachments: Option<Rc<Attachments>>,
    /// The node that it runs on.
    pub(crate) node: Option<NodeName>,
    pub(crate) why: Why,
    /// Whether it has not started: such pods go onto nodes that settle.
    pub(crate) is_pending: bool,
}

/// Why a pod needs a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has none.
    Pending,
    /// It keeps room for others.
    Virtual,
    /// Its node is being given up.
    Leaving,
    /// It would if its node went away.
    Supposed,
}

/// By CPU, then memory, largest first, then age, then uid.
type Rank = (Reverse<u64>, Reverse<u64>, Timestamp, PodUid);

/// The pods that need a place.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    /// Everybody.
    pub(crate) pods: Table<Wanted>,
    /// Those that need a place whatever is tried, in the order in which they are placed.
    pub(crate) now: Vec<usize>,
    /// Those that would need one if their node went away, by node.
    pub(crate) supposed: BTreeMap<NodeName, Vec<usize>>,
    /// Pods beyond the most that one plan considers.
    pub(crate) left_out: Vec<PodKey>,
}

/// Pods are alike if they have the same spec, namespace and wishes of their volumes.
type Alike<'a> = (&'a PodSpec, &'a str, Vec<Requirements>, Option<String>);

/// Pending pods, those of `leaving` nodes and `virtual_pods`, and, if `supposes`, all that would
/// need a place if their node went away. Their classes are added to `classes`.
pub(crate) fn demand(
    facts: &Facts,
    virtual_pods: &[Pod],
    leaving: &BTreeSet<&NodeName>,
    supposes: bool,
    classes: &mut Table<Class>,
) -> Demand {
    let budgets = DisruptionBudgets::of(facts);
    let mut all: Vec<(&Pod, Why)> = Vec::new();
    for pod in &facts.pods {
        if pod.is_provisionable() {
            all.push((pod, Why::Pending));
        } else if let Some(node) = &pod.node {
            let is_leaving = leaving.contains(node);
            if (is_leaving || supposes) && budgets.may_move(pod, facts.now) {
                all.push((pod, if is_leaving { Why::Leaving } else { Why::Supposed }));
            }
        }
    }
    all.extend(virtual_pods.iter().map(|pod| (pod, Why::Virtual)));
    all.sort_by_cached_key(|(pod, _)| rank(pod));
    let mut demand = Demand::default();
    let mut by_address: BTreeMap<(*const PodSpec, &str), usize> = BTreeMap::new();
    let mut by_content: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
    for (pod, why) in all {
        if why != Why::Supposed && demand.now.len() >= limits::PODS_PER_PLAN_MAX {
            demand.left_out.push(pod.key.clone());
            continue;
        }
        // Pods of one workload often share the very spec: its address answers without comparing.
        // The addresses order nothing but this map, which is only asked.
        let address = (Arc::as_ptr(&pod.spec), pod.key.namespace.as_str());
        let known = by_address.get(&address).copied().filter(|_| pod.volumes.is_empty());
        let class = known.unwrap_or_else(|| {
            let alike = alike(facts, pod, why);
            *by_content.entry(alike).or_insert_with_key(|(_, _, alternatives, refused)| {
                let refused = refused.clone();
                classes.push(Class::new(pod, alternatives.clone(), refused))
            })
        });
        if pod.volumes.is_empty() {
            by_address.insert(address, class);
        }
        let attachments = volume::attachments(pod, &facts.surroundings.storage).ok();
        let number = demand.pods.push(Wanted {
            key: pod.key.clone(),
            class,
            rank: rank(pod),
            attachments: attachments.map(Rc::new),
            node: pod.node.clone(),
            why,
            is_pending: why != Why::Virtual && pod.phase == model::pod::PodPhase::Pending,
        });
        match (&pod.node, why) {
            (Some(node), Why::Supposed) => {
                demand.supposed.entry(node.clone()).or_default().push(number);
            }
            _ => demand.now.push(number),
        }
    }
    demand
}

fn alike<'a>(facts: &Facts, pod: &'a Pod, why: Why) -> Alike<'a> {
    let storage = &facts.surroundings.storage;
    let refused = if why == Why::Pending { refused(facts, pod) } else { unsupported(&pod.spec) };
    let alternatives = volume::alternatives(pod, storage);
    (&*pod.spec, pod.key.namespace.as_str(), alternatives, refused)
}

impl Demand {
    /// The pods that need a place when `nodes` go away, in the order in which they are placed.
    pub(crate) fn without<'a>(&self, nodes: impl Iterator<Item = &'a NodeName>) -> Vec<usize> {
        let mut all = self.now.clone();
        let before = all.len();
        for node in nodes {
            all.extend(self.supposed.get(node.as_str()).into_iter().flatten());
        }
        if before < all.len() {
            all.sort_by(|a, b| self.pods[*a].rank.cmp(&self.pods[*b].rank));
        }
        all
    }
}

fn rank(pod: &Pod) -> Rank {
    let requests = &pod.spec.requests;
    (Reverse(requests.cpu.0), Reverse(requests.memory.0), pod.created_at, pod.uid.clone())
}

fn unsupported(spec: &PodSpec) -> Option<String> {
    let what = spec.unsupported.join(", ");
    (!what.is_empty()).then(|| format!("not supported yet: {what}"))
}

/// Why no node can be found for the pod, whatever there is.
///
/// Karpenter: `provisioner.go`, `Validate`.
fn refused(facts: &Facts, pod: &Pod) -> Option<String> {
    let spec = &pod.spec;
    if let Some(text) = unsupported(spec) {
        return Some(text);
    }
    let mut first = spec.requirements(0);
    if facts.policies.preferences == PreferencePolicy::Respect {
        // Of equal weights the first.
        let heaviest = spec.preferred_terms.iter().rev().max_by_key(|term| term.weight);
        for requirement in heaviest.into_iter().flat_map(|term| &term.term) {
            first.add(requirement.clone());
        }
    }
    let pool = first.get(labels::NODE_POOL);
    if pool.is_some_and(|pool| pool.operator() == Operator::DoesNotExist) {
        return Some(format!("it asks for a node without the label {}", labels::NODE_POOL));
    }
    if spec.has_match_fields {
        return Some("matchFields in its required node affinity are not supported".to_owned());
    }
    let all = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
    let wrong: BTreeSet<String> = all.filter_map(wrong).collect();
    let volumes = volume::problems(pod, &facts.surroundings.storage);
    let texts: Vec<String> = wrong.into_iter().chain(volumes).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// What is wrong with a requirement of a pod.
fn wrong(requirement: &Requirement) -> Option<String> {
    let key = requirement.key().as_str();
    if labels::is_restricted(key) {
        return Some(format!("it may not ask for the label {key}, which is restricted"));
    }
    if !model::id::is_qualified_name(key) {
        return Some(format!("it asks for the label {key}, which is not a valid key"));
    }
    let bad = requirement.values().iter().find(|value| !model::id::is_label_value(value))?;
    Some(format!("it asks for {key} with {bad}, which is not a valid value"))
}
