//! Small clusters of nodes that run pods, for tests of what is disrupted.

use std::{collections::BTreeMap, sync::Arc};

use jiff::SignedDuration;
use model::{
    CapacityType, InstanceType, NodeClaim, NodeClaimName, NodeName, Pod, PodSpec, Taint, Zone,
    disruption::Method,
    eviction::{CountOrPercent, PodDisruptionBudget},
    facts::Facts,
    labels,
    node::Node,
    node_pool::{Budget, BudgetNodes},
    selector::LabelSelector,
};
use planner::disruption::{Finding, Options, PreparedCluster};

pub(crate) use super::*;

/// A node of the pool `general` for each name, of the named type, on-demand in the first zone, that
/// may be consolidated; no budgets.
pub(crate) fn cluster(nodes: &[(&str, &str)]) -> Facts {
    let mut facts = facts(Vec::new());
    facts.node_pools[0].disruption.budgets.clear();
    facts.node_pools[0].disruption.consolidate_after = Some(SignedDuration::ZERO);
    facts.node_pools[0].template.requirements = requirements("paid=on-demand");
    for (name, instance_type) in nodes {
        add(&mut facts, name, instance_type, CapacityType::OnDemand);
    }
    facts
}

/// Adds a node of the pool `general`.
pub(crate) fn add(facts: &mut Facts, name: &str, type_name: &str, paid: CapacityType) {
    let (_, types) = facts.ready_classes().next().unwrap();
    let instance_type: Arc<InstanceType> = Arc::clone(
        types.iter().find(|instance_type| instance_type.name.as_str() == type_name).unwrap(),
    );
    let mut claim = add_managed(facts, name);
    let offering = instance_type
        .offerings
        .iter()
        .find(|offered| {
            offered.capacity_type == paid && offered.zone == Zone::new(ZONES[0]).unwrap()
        })
        .unwrap();
    claim.capacity = instance_type.capacity.clone();
    claim.allocatable = instance_type.allocatable();
    let instance = claim.instance.as_mut().unwrap();
    instance.instance_type = instance_type.name.clone();
    instance.zone = offering.zone.clone();
    instance.capacity_type = paid;
    instance.price = offering.price;
    claim.conditions.is_consolidatable = Some(true);
    claim.conditions.initialized_at = Some(ago(3_000));
    let mut node = node_of(&claim, name);
    node.labels.insert(labels::HOSTNAME.to_owned(), name.to_owned());
    node.labels.insert(labels::NODE_POOL.to_owned(), "general".to_owned());
    add_node(facts, node);
    facts.ledger.claims.insert(claim.name.clone(), claim);
}

pub(crate) fn claim<'f>(facts: &'f mut Facts, node: &str) -> &'f mut NodeClaim {
    let name: NodeClaimName = format!("claim-{node}").parse().unwrap();
    facts.ledger.claims.get_mut(&name).unwrap()
}

pub(crate) fn node<'f>(facts: &'f mut Facts, node: &str) -> &'f mut Node {
    facts.nodes.get_mut(&NodeName::new(node).unwrap()).unwrap()
}

/// A ready pod of an app, so large.
pub(crate) fn app(name: &str, on: &str, requests: &str) -> Pod {
    let mut spec = spec(requests);
    spec.labels = BTreeMap::from([("app".to_owned(), name.to_owned())]);
    Pod { is_ready: true, ..running(name, on, spec) }
}

/// The same pod with its spec changed.
pub(crate) fn with(pod: Pod, change: impl FnOnce(&mut PodSpec)) -> Pod {
    let mut spec = PodSpec::clone(&pod.spec);
    change(&mut spec);
    Pod { spec: Arc::new(spec), ..pod }
}

pub(crate) fn annotated(pod: Pod, key: &str, value: &str) -> Pod {
    with(pod, |spec| drop(spec.annotations.insert(key.to_owned(), value.to_owned())))
}

pub(crate) fn owned(pod: Pod, api_version: &str, kind: &str) -> Pod {
    Pod { owner: owner(&format!("{api_version}/{kind}")), ..pod }
}

/// A PodDisruptionBudget over one app that allows nothing now.
pub(crate) fn pdb(name: &str, app: &str) -> PodDisruptionBudget {
    PodDisruptionBudget {
        key: pod_key(name),
        selector: Some(LabelSelector::of_labels([("app", app)])),
        min_available: None,
        max_unavailable: Some(CountOrPercent::Count(1)),
        always_allows_unhealthy: false,
        disruptions_allowed: 0,
    }
}

pub(crate) fn budget(nodes: BudgetNodes) -> Budget {
    Budget { nodes, reasons: Vec::new(), window: None }
}

pub(crate) fn decide(facts: &Facts, methods: &[Method], options: &Options) -> Finding {
    PreparedCluster::of(facts, options).first(methods)
}

pub(crate) fn ask(facts: &Facts, method: Method) -> Finding {
    decide(facts, &[method], &Options::default())
}

/// What a method would do: `a b → t.small` or why not.
pub(crate) fn decided(facts: &Facts, method: Method) -> String {
    let answer = ask(facts, method);
    let Some(proposal) = answer.proposal else { return "nothing".to_owned() };
    let mut nodes: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
    nodes.sort_unstable();
    let new: Vec<String> = proposal
        .command
        .replacements
        .iter()
        .map(|replacement| {
            replacement
                .instance_types
                .iter()
                .map(InstanceTypeName::as_str)
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect();
    if new.is_empty() {
        nodes.join(" ")
    } else {
        format!("{} → {}", nodes.join(" "), new.join(", "))
    }
}

/// Why a method leaves a node alone.
pub(crate) fn why(facts: &Facts, method: Method, node: &str) -> String {
    let outlook = planner::disruption::outlook(facts, &Options::default());
    let as_node = NodeName::new(node).unwrap();
    let note = outlook.answers[&method].notes.get(&as_node).cloned();
    let objection = note.or_else(|| outlook.ineligible.get(node).cloned());
    objection.map(|objection| objection.in_full()).unwrap_or_default()
}

pub(crate) fn disrupted_taint() -> Taint {
    taint("karpenter.sh/disrupted:NoSchedule")
}
