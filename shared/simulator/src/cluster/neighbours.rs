//! What kube-scheduler asks about other pods: spread, affinity and anti-affinity, ports of the node.
//!
//! It shares no code with the planner, on purpose. Preferences are a score: the node that keeps more
//! of them is taken before one with more room.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>

use std::collections::BTreeMap;

use model::{
    Namespace, Pod, PodSpec,
    node::Node,
    selector::LabelSelector,
    taint::untolerated,
    topology::{
        NodeInclusionPolicy, PodAffinity, PodAffinityTerm, SpreadConstraint, WhenUnsatisfiable,
    },
};

use super::{ClusterState, controllers::is_hard, scheduler::selects};

/// Pods on nodes, as they are at one moment.
pub(super) struct Neighbours<'a> {
    placed: Vec<(&'a Pod, &'a Node)>,
    nodes: Vec<&'a Node>,
    namespaces: &'a BTreeMap<Namespace, BTreeMap<String, String>>,
}

/// Whether a pod with this spec looks at other pods, or at ports.
pub(super) fn is_choosy(spec: &PodSpec) -> bool {
    let asks = |pod_affinity: &PodAffinity| {
        !pod_affinity.required.is_empty() || !pod_affinity.preferred.is_empty()
    };
    !spec.spread.is_empty()
        || asks(&spec.pod_affinity)
        || asks(&spec.pod_anti_affinity)
        || !spec.host_ports.is_empty()
        || !spec.preferred_terms.is_empty()
}

impl ClusterState {
    /// Whether some pod on a node keeps others away.
    pub(super) fn has_guards(&self) -> bool {
        self.pods_called(&self.guards).any(|pod| pod.node.is_some())
    }

    /// The pods that are on nodes now.
    pub(super) fn neighbours(&self) -> Neighbours<'_> {
        let placed =
            self.pods.values().filter(|entry| !entry.pod.is_terminal()).filter_map(|entry| {
                let node = self.nodes.get(entry.pod.node.as_ref()?)?;
                Some((&entry.pod, &node.node))
            });
        Neighbours {
            placed: placed.collect(),
            nodes: self.nodes.values().map(|entry| &entry.node).collect(),
            namespaces: &self.namespaces,
        }
    }
}

fn domain<'a>(node: &'a Node, key: &str) -> Option<&'a String> {
    node.labels.get(key)
}

fn is_selected(selector: Option<&LabelSelector>, pod: &Pod) -> bool {
    selector.is_some_and(|selector| selector.selects(&pod.spec.labels))
}

impl Neighbours<'_> {
    /// Whether nothing about other pods keeps `pod` off `node`.
    pub(super) fn allow(&self, pod: &Pod, node: &Node) -> bool {
        let spec = &pod.spec;
        let hard = |spread_constraint: &&SpreadConstraint| {
            spread_constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
        };
        self.has_free_ports(pod, node)
            && spec
                .spread
                .iter()
                .filter(hard)
                .all(|spread_constraint| self.spreads(spread_constraint, pod, node))
            && spec.pod_affinity.required.iter().all(|term| self.attracts(term, pod, node))
            && !spec.pod_anti_affinity.required.iter().any(|term| self.is_near(term, pod, node))
            && !self.is_kept_away(pod, node)
    }

    fn has_free_ports(&self, pod: &Pod, node: &Node) -> bool {
        let on_node = self.placed.iter().filter(|(_, own)| own.name == node.name);
        let mut taken = on_node.flat_map(|(other, _)| &other.spec.host_ports);
        let wanted = &pod.spec.host_ports;
        wanted.is_empty()
            || !taken.any(|port| wanted.iter().any(|host_port| host_port.conflicts(port)))
    }

    /// Whether the domain of `node` stays within the skew with `pod` in it.
    fn spreads(&self, constraint: &SpreadConstraint, pod: &Pod, node: &Node) -> bool {
        let key = constraint.topology_key.as_str();
        let Some(text) = domain(node, key) else { return false };
        let counted = |node: &Node| {
            let affinity = constraint.node_affinity_policy == NodeInclusionPolicy::Ignore
                || selects(&pod.spec, node);
            let taints = constraint.node_taints_policy == NodeInclusionPolicy::Ignore || {
                let taints = node.taints.iter().filter(|taint| is_hard(taint));
                untolerated(taints, &pod.spec.tolerations).is_empty()
            };
            affinity && taints
        };
        let eligible = self.nodes.iter().filter(|node| counted(node));
        let mut counts: BTreeMap<&String, u32> =
            eligible.filter_map(|node| Some((domain(node, key)?, 0))).collect();
        for (other, node) in &self.placed {
            let is_counted = other.key.namespace == pod.key.namespace
                && !other.is_terminating()
                && is_selected(constraint.selector.as_ref(), other)
                && counted(node);
            if let Some(count) = domain(node, key).filter(|_| is_counted)
                && let Some(count) = counts.get_mut(count)
            {
                *count += 1;
            }
        }
        let domains = u32::try_from(counts.len()).unwrap_or(u32::MAX);
        let is_short = constraint.min_domains.is_some_and(|least| domains < least);
        let fewest = if is_short { 0 } else { counts.values().min().copied().unwrap_or_default() };
        let number = counts.get(text).copied().unwrap_or_default();
        let itself = u32::from(is_selected(constraint.selector.as_ref(), pod));
        number + itself <= fewest.saturating_add(constraint.max_skew)
    }

    /// Whether `term`, which `owner` has, means `other`.
    fn means(&self, term: &PodAffinityTerm, owner: &Pod, other: &Pod) -> bool {
        let namespace = &other.key.namespace;
        let is_own = term.namespaces.is_empty()
            && term.namespace_selector.is_none()
            && *namespace == owner.key.namespace;
        let nothing = BTreeMap::new();
        let labels = self.namespaces.get(namespace).unwrap_or(&nothing);
        let by_labels = || {
            term.namespace_selector
                .as_ref()
                .is_some_and(|label_selector| label_selector.selects(labels))
        };
        (is_own || term.namespaces.contains(namespace) || by_labels())
            && is_selected(term.selector.as_ref(), other)
    }

    /// Whether a pod that `term` means is in the domain of `node`.
    fn is_near(&self, term: &PodAffinityTerm, pod: &Pod, node: &Node) -> bool {
        let key = term.topology_key.as_str();
        let Some(text) = domain(node, key) else { return false };
        self.placed
            .iter()
            .any(|(other, node)| domain(node, key) == Some(text) && self.means(term, pod, other))
    }

    /// The same, or the pod is the first of those that `term` means.
    fn attracts(&self, term: &PodAffinityTerm, pod: &Pod, node: &Node) -> bool {
        if self.is_near(term, pod, node) {
            return true;
        }
        let is_first = || !self.placed.iter().any(|(other, _)| self.means(term, pod, other));
        domain(node, term.topology_key.as_str()).is_some()
            && self.means(term, pod, pod)
            && is_first()
    }

    /// Whether a pod that is there keeps `pod` out of its domain.
    fn is_kept_away(&self, pod: &Pod, node: &Node) -> bool {
        self.placed.iter().any(|(other, place)| {
            other.spec.pod_anti_affinity.required.iter().any(|term| {
                let key = term.topology_key.as_str();
                let is_same =
                    domain(node, key).is_some() && domain(node, key) == domain(place, key);
                is_same && self.means(term, other, pod)
            })
        })
    }

    /// How much of what `pod` prefers `node` keeps.
    pub(super) fn liking(&self, pod: &Pod, node: &Node) -> i64 {
        let spec = &pod.spec;
        let holds =
            |requirement: &model::Requirement| match node.labels.get(requirement.key().as_str()) {
                Some(value) => requirement.has(value),
                None => requirement.allows_absence(),
            };
        let preferred =
            spec.preferred_terms.iter().filter(|weighted| weighted.term.iter().all(holds));
        let mut score: i64 = preferred.map(|weighted| i64::from(weighted.weight)).sum();
        for weighted in &spec.pod_affinity.preferred {
            score +=
                i64::from(weighted.weight) * i64::from(self.is_near(&weighted.term, pod, node));
        }
        for weighted in &spec.pod_anti_affinity.preferred {
            score -=
                i64::from(weighted.weight) * i64::from(self.is_near(&weighted.term, pod, node));
        }
        let soft = |spread_constraint: &&SpreadConstraint| {
            spread_constraint.when_unsatisfiable == WhenUnsatisfiable::ScheduleAnyway
        };
        for spread_constraint in spec.spread.iter().filter(soft) {
            score -= 100 * i64::from(!self.spreads(spread_constraint, pod, node));
        }
        score
    }
}
