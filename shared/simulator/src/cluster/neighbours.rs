//! What kube-scheduler asks about other pods: spread, affinity and anti-affinity, ports of the node.
//!
//! It shares no code with the planner, on purpose. Preferences are a score: the node that keeps more
//! of them is taken before one with more room.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/>

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Namespace, NodeName, Pod, PodSpec,
    node::Node,
    selector::LabelSelector,
    taint::untolerated,
    topology::{
        NodeInclusionPolicy, PodAffinity, PodAffinityTerm, SpreadConstraint, Weighted,
        WhenUnsatisfiable,
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

    /// What pods that are on nodes now mean to others.
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

impl<'a> Neighbours<'a> {
    /// What these pods mean to `pod`, which is asked of many nodes.
    pub(super) fn of(&self, pod: &'a Pod) -> Around<'a> {
        let spec = &pod.spec;
        let hard = |constraint: &&SpreadConstraint| {
            constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
        };
        let spreads = spec.spread.iter();
        let (hard, soft): (Vec<_>, Vec<_>) = spreads.partition(hard);
        let spread = |list: Vec<&'a SpreadConstraint>| {
            list.into_iter().map(|constraint| self.spread(constraint, pod)).collect()
        };
        let near = |list: &'a [PodAffinityTerm]| -> Vec<Near<'a>> {
            list.iter().map(|term| self.near(term, pod)).collect()
        };
        let weighted = |list: &'a [Weighted<PodAffinityTerm>], sign: i64| {
            let near = move |weighted: &'a Weighted<PodAffinityTerm>| {
                (sign * i64::from(weighted.weight), self.near(&weighted.term, pod))
            };
            list.iter().map(near)
        };
        let preferred = weighted(&spec.pod_affinity.preferred, 1);
        Around {
            pod,
            without_ports: self.without_ports(pod),
            hard: spread(hard),
            soft: spread(soft),
            attracting: near(&spec.pod_affinity.required),
            repelling: near(&spec.pod_anti_affinity.required),
            kept_away: self.kept_away(pod),
            liked: preferred.chain(weighted(&spec.pod_anti_affinity.preferred, -1)).collect(),
        }
    }

    /// The nodes where a port that `pod` wants is taken.
    fn without_ports(&self, pod: &Pod) -> BTreeSet<&'a NodeName> {
        let wanted = &pod.spec.host_ports;
        let is_taken = |other: &Pod| {
            let mut taken = other.spec.host_ports.iter();
            taken.any(|port| wanted.iter().any(|host_port| host_port.conflicts(port)))
        };
        let placed = self.placed.iter().filter(|(other, _)| is_taken(other));
        placed.map(|(_, node)| &node.name).collect()
    }

    /// How many pods `constraint` counts in each domain.
    fn spread(&self, constraint: &'a SpreadConstraint, pod: &Pod) -> Spread<'a> {
        let key = constraint.topology_key.as_str();
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
        let itself = u32::from(is_selected(constraint.selector.as_ref(), pod));
        Spread { key, counts, itself, most: fewest.saturating_add(constraint.max_skew) }
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

    /// Where the pods are that `term` of `pod` means.
    fn near(&self, term: &'a PodAffinityTerm, pod: &Pod) -> Near<'a> {
        let key = term.topology_key.as_str();
        let mut meant =
            self.placed.iter().filter(|(other, _)| self.means(term, pod, other)).peekable();
        let is_first = meant.peek().is_none() && self.means(term, pod, pod);
        Near { key, domains: meant.filter_map(|(_, node)| domain(node, key)).collect(), is_first }
    }

    /// The domains out of which pods that are there keep `pod`, by their label.
    fn kept_away(&self, pod: &Pod) -> BTreeMap<&'a str, BTreeSet<&'a String>> {
        let mut kept: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
        for (other, node) in &self.placed {
            let terms = other.spec.pod_anti_affinity.required.iter();
            for term in terms.filter(|term| self.means(term, other, pod)) {
                let key = term.topology_key.as_str();
                kept.entry(key).or_default().extend(domain(node, key));
            }
        }
        kept
    }
}

/// What pods on nodes mean to one that looks for a node.
pub(super) struct Around<'a> {
    pod: &'a Pod,
    without_ports: BTreeSet<&'a NodeName>,
    hard: Vec<Spread<'a>>,
    soft: Vec<Spread<'a>>,
    attracting: Vec<Near<'a>>,
    repelling: Vec<Near<'a>>,
    kept_away: BTreeMap<&'a str, BTreeSet<&'a String>>,
    /// With their weights, which are negative for pods that it would rather not be near.
    liked: Vec<(i64, Near<'a>)>,
}

/// The domains of a label with pods that a term means.
struct Near<'a> {
    key: &'a str,
    domains: BTreeSet<&'a String>,
    /// Whether there are no such pods, and the one that asks is one.
    is_first: bool,
}

/// How many pods of a spread are in each domain of a label.
struct Spread<'a> {
    key: &'a str,
    counts: BTreeMap<&'a String, u32>,
    /// 1 if the pod that asks is counted, too.
    itself: u32,
    /// More may be in no domain.
    most: u32,
}

impl Near<'_> {
    fn has(&self, node: &Node) -> bool {
        domain(node, self.key).is_some_and(|name| self.domains.contains(name))
    }

    fn attracts(&self, node: &Node) -> bool {
        self.has(node) || (self.is_first && domain(node, self.key).is_some())
    }
}

impl Spread<'_> {
    fn allows(&self, node: &Node) -> bool {
        domain(node, self.key).is_some_and(|name| {
            self.counts.get(name).copied().unwrap_or_default() + self.itself <= self.most
        })
    }
}

impl Around<'_> {
    /// Whether nothing about other pods keeps the pod off `node`.
    pub(super) fn allow(&self, node: &Node) -> bool {
        let is_kept_away = |(key, domains): (&&str, &BTreeSet<&String>)| {
            domain(node, key).is_some_and(|name| domains.contains(name))
        };
        !self.without_ports.contains(&node.name)
            && self.hard.iter().all(|spread| spread.allows(node))
            && self.attracting.iter().all(|near| near.attracts(node))
            && !self.repelling.iter().any(|near| near.has(node))
            && !self.kept_away.iter().any(is_kept_away)
    }

    /// How much of what the pod prefers `node` keeps.
    pub(super) fn liking(&self, node: &Node) -> i64 {
        let holds =
            |requirement: &model::Requirement| match node.labels.get(requirement.key().as_str()) {
                Some(value) => requirement.has(value),
                None => requirement.allows_absence(),
            };
        let preferred = self.pod.spec.preferred_terms.iter();
        let preferred = preferred.filter(|weighted| weighted.term.iter().all(holds));
        let of_labels: i64 = preferred.map(|weighted| i64::from(weighted.weight)).sum();
        let liked = self.liked.iter().filter(|(_, near)| near.has(node));
        let of_pods: i64 = liked.map(|(weight, _)| weight).sum();
        let missed = self.soft.iter().filter(|spread| !spread.allows(node));
        missed.fold(of_labels + of_pods, |score, _| score - 100)
    }
}
