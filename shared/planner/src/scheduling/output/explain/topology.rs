//! Which rules about other pods leave a pod no place, and which pods they are about.

use model::{
    NodeName, Pod, PodKey, Requirements, ledger::RejectionReason, requirement::Value,
    selector::LabelSelector,
};

use super::View;
use crate::index::id::KeyId;
use crate::scheduling::{
    launchable::template::Template,
    topology::{
        groups::{Group, Purpose},
        rules::{self, Rule},
    },
};

impl View<'_, '_> {
    /// Why its rules about other pods leave nothing, where it asks for `wanted` and its volumes for `volumes`, and
    /// `both` is that together with what its NodePool asks for.
    pub(super) fn of_rules(
        &self,
        template: &Template<'_>,
        (both, wanted, volumes): (&Requirements, &Requirements, &Requirements),
    ) -> (RejectionReason, String) {
        let Some(preference) = self.preference else {
            let text = "its NodePool had room for it, and no longer has";
            return (RejectionReason::NothingTogether, text.to_owned());
        };
        let on_hosts = preference.on_hosts.iter().filter_map(|rule| self.of_host_rule(rule));
        let mut reasons: Vec<String> = on_hosts.collect();
        for (key, rule) in &preference.on_domains {
            let of_rule = self.of_domain_rule((*key, rule), (both, wanted, volumes));
            reasons.extend(of_rule.filter(|text| !reasons.contains(text)));
        }
        if !reasons.is_empty() {
            return (RejectionReason::TopologyRules, reasons.join("; "));
        }
        let keys = preference.on_domains.iter().map(|(key, _)| *key);
        let text = self.min_values(both, keys).unwrap_or_else(|| {
            let pool = template.name();
            format!("all that it asks for together is nowhere in NodePool {pool}")
        });
        (RejectionReason::NothingTogether, text)
    }

    fn of_host_rule(&self, rule: &Rule) -> Option<String> {
        let (problem, state) = (self.problem, self.state);
        if rules::allows_new_host(rule, &problem.groups, &state.tallies[rule.group]) {
            return None;
        }
        let group = &problem.groups.all[rule.group];
        let mut daemon_sets = problem.facts.daemon_sets.iter();
        let daemon_set = daemon_sets.find(|set| group.means(&set.key.namespace, &set.spec.labels));
        let remark = match daemon_set {
            Some(set) => format!(
                " (the pod of DaemonSet {} does not count: it comes after the node)",
                set.key
            ),
            None => self.near_misses(group),
        };
        let pods = selected(group);
        Some(format!("a new node has no pod that its affinity asks to be with{pods}{remark}"))
    }

    /// Why a rule about the label `key` leaves no value that is open, if so.
    fn of_domain_rule(
        &self,
        (key, rule): (KeyId, &Rule),
        (both, wanted, volumes): (&Requirements, &Requirements, &Requirements),
    ) -> Option<String> {
        let (problem, state) = (self.problem, self.state);
        let (known, label) = (&problem.keys.all[key], problem.keys.all[key].label.as_str());
        let tally = &state.tallies[rule.group];
        let allowed = rules::allowed(rule, key, &problem.groups, tally, None, false).domains;
        let is_open =
            |value: &&Value| both.get(label).is_none_or(|requirement| requirement.has(value));
        if known.names(&allowed).any(|value| is_open(&value)) {
            return None;
        }
        let group = &problem.groups.all[rule.group];
        let pods = selected(group);
        Some(match group.purpose {
            Purpose::Spread { max_skew, min_domains } => {
                let count = |domain| format!("{} {}", known.name(domain), tally.count(domain));
                let there: Vec<String> = tally.known.iter().map(count).collect();
                let open: Vec<String> = known.names(&allowed).map(ToString::to_string).collect();
                let why = if open.is_empty() {
                    too_few_domains(min_domains, there.len())
                } else {
                    kept_from(label, &open, (wanted, volumes))
                };
                let there =
                    if there.is_empty() { "there is none".to_owned() } else { there.join(", ") };
                format!(
                    "spreading over {label} with maxSkew {max_skew} leaves nothing that it may use (pods there: \
                     {there}){why}"
                )
            }
            Purpose::Affinity => {
                let misses = self.near_misses(group);
                format!(
                    "no {label} that it may use has a pod that its affinity asks to be with{pods}{misses}"
                )
            }
            Purpose::AntiAffinity => format!(
                "every {label} that it may use has, or may get, a pod to keep away from{pods}"
            ),
            Purpose::Inverse => {
                let other = self.repelling(label, group);
                // A pod that keeps away from its like says so above.
                let is_own = other.is_some_and(|other| {
                    let terms = self.class.spec.pod_anti_affinity.required.iter();
                    other.spec.labels == self.class.spec.labels
                        && terms.clone().any(|term| term.selector == group.selector)
                });
                if is_own {
                    return None;
                }
                let such_as = other.map(such_as).unwrap_or_default();
                format!(
                    "every {label} that it may use has, or may get, a pod whose anti-affinity keeps it away{such_as}"
                )
            }
        })
    }

    /// The pod whose anti-affinity `group` is: one that runs, or else one that waits. Which is the same in whatever order
    /// pods are listed.
    fn repelling(&self, label: &str, group: &Group) -> Option<&Pod> {
        let repels = |pod: &&Pod| {
            let mut terms = pod.spec.pod_anti_affinity.required.iter();
            !pod.is_terminal()
                && terms.any(|term| {
                    term.topology_key.as_str() == label && term.selector == group.selector
                })
        };
        let pods = self.problem.facts.pods.iter().filter(repels);
        pods.min_by_key(|pod| {
            let name = pod.node.is_some().then_some(&pod.key.name);
            (name.is_none(), &pod.key.namespace, name, &pod.spec.labels)
        })
    }

    /// Pods with the labels that an affinity asks for, and why none of them counts.
    fn near_misses(&self, group: &Group) -> String {
        let pods = self.problem.facts.pods.iter();
        let pods = pods.filter(|pod| !pod.is_terminal() && group.selects(&pod.spec.labels));
        let (meant, others): (Vec<&Pod>, Vec<&Pod>) =
            pods.partition(|pod| group.means(&pod.key.namespace, &pod.spec.labels));
        if let Some((key, node)) = first_bound(&meant) {
            return format!(": pod {key} is on {node}, which does not take the pod");
        }
        let words = |(key, _): (&PodKey, &NodeName)| {
            format!(
                ": pod {key} is in another namespace, which the affinity does not name (namespaces, namespaceSelector)"
            )
        };
        first_bound(&others).map(words).unwrap_or_default()
    }

    /// That a NodePool asks for several values of one of the labels `keys`, while its rules leave each node one of them.
    fn min_values(&self, both: &Requirements, keys: impl Iterator<Item = KeyId>) -> Option<String> {
        let mut labels = keys.map(|key| self.problem.keys.all[key].label.as_str());
        let (label, min) = labels.find_map(|label| {
            let min = both.get(label)?.min_values().filter(|min| 1 < *min)?;
            Some((label, min))
        })?;
        Some(format!(
            "its NodePool asks for minValues {min} on {label}, and its rules about other pods leave each node one value"
        ))
    }
}

/// The first by name of those of `pods` that have a node, with the node.
fn first_bound<'p>(pods: &[&'p Pod]) -> Option<(&'p PodKey, &'p NodeName)> {
    pods.iter().filter_map(|pod| Some((&pod.key, pod.node.as_ref()?))).min()
}

/// `, such as pod default/db-0`. Of pods that wait, which are told apart by nothing else, the labels are named.
fn such_as(pod: &Pod) -> String {
    if pod.node.is_some() {
        return format!(", such as pod {}", pod.key);
    }
    let labels: Vec<String> =
        pod.spec.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!(", such as one with {} that waits", labels.join(","))
}

/// Which pods `group` is about: ` (app=web)`.
fn selected(group: &Group) -> String {
    let words = |selector: &LabelSelector| format!(" ({selector})");
    group.selector.as_ref().map(words).unwrap_or_default()
}

/// What `minDomains` makes of a spread over fewer domains than it asks for; nothing where it has enough.
fn too_few_domains(min_domains: Option<u32>, there: usize) -> String {
    match min_domains {
        Some(least) if there < usize::try_from(least).unwrap_or(usize::MAX) => format!(
            ": minDomains is {least} and there are {there}, so that the fewest pods count as 0"
        ),
        Some(_) | None => String::new(),
    }
}

/// What keeps a pod from every value of `label` in `open`, which its spread leaves: its volumes, itself, or else its
/// NodePool.
fn kept_from(
    label: &str,
    open: &[String],
    (wanted, volumes): (&Requirements, &Requirements),
) -> String {
    let excludes = |requirements: &Requirements| {
        let of_label = requirements.get(label);
        of_label.is_some_and(|requirement| !open.iter().any(|value| requirement.has(value)))
    };
    let by = if excludes(volumes) {
        "its volumes cannot be"
    } else if excludes(wanted) {
        "its node selector or affinity does not let it be"
    } else {
        "its NodePool has no nodes"
    };
    format!(": it could use {}, where {by}", open.join(" or "))
}
