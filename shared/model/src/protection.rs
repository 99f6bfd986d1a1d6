//! Annotations by which people mean to keep pods and nodes from voluntary disruption, and that keep them from nothing.

use std::collections::BTreeMap;

use crate::{PodSpec, labels};

/// An annotation of another program, or of an older version of Karpenter.
struct Foreign {
    key: &'static str,
    /// The value that protects there.
    value: &'static str,
    whose: &'static str,
}

const OF_PODS: [Foreign; 2] = [
    Foreign { key: "karpenter.sh/do-not-evict", value: "true", whose: "Karpenter v1alpha5" },
    Foreign {
        key: "cluster-autoscaler.kubernetes.io/safe-to-evict",
        value: "false",
        whose: "Cluster Autoscaler",
    },
];

const OF_NODES: [Foreign; 2] = [
    Foreign { key: "karpenter.sh/do-not-consolidate", value: "true", whose: "Karpenter v1alpha5" },
    Foreign {
        key: "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        value: "true",
        whose: "Cluster Autoscaler",
    },
];

/// An annotation that protects nothing although its writer meant it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// Its key.
    pub key: &'static str,
    /// What it is, and what to write: `annotation karpenter.sh/do-not-disrupt is …`.
    pub text: String,
}

/// The annotation of a pod like `spec` that protects nothing.
pub fn ineffective_of_pod(spec: &PodSpec) -> Option<Ineffective> {
    let text = spec.ineffective_do_not_disrupt();
    let invalid = text.map(|text| Ineffective { key: labels::DO_NOT_DISRUPT, text });
    invalid.or_else(|| foreign(&spec.annotations, &OF_PODS))
}

/// The annotation among those of a node, or of a NodePool's template, that protects nothing.
pub fn ineffective_of_node(annotations: &BTreeMap<String, String>) -> Option<Ineffective> {
    let key = labels::DO_NOT_DISRUPT;
    match annotations.get(key).map(String::as_str) {
        None => foreign(annotations, &OF_NODES),
        Some("true" | "false") => None,
        Some(value) => {
            let text = format!(
                "annotation {key} is `{value}`, which protects nothing: of nodes only `true` counts"
            );
            Some(Ineffective { key, text })
        }
    }
}

/// Whether `key` is read of pods or of nodes for what is said here alone.
pub fn is_foreign(key: &str) -> bool {
    OF_PODS.iter().chain(&OF_NODES).any(|foreign| foreign.key == key)
}

fn foreign(annotations: &BTreeMap<String, String>, known: &[Foreign]) -> Option<Ineffective> {
    let right = labels::DO_NOT_DISRUPT;
    let is_set = |foreign: &&Foreign| {
        annotations.get(foreign.key).is_some_and(|value| value == foreign.value)
    };
    let Foreign { key, whose, .. } = known.iter().find(is_set)?;
    let text = format!(
        "annotation {key} is of {whose}, and protects nothing here: write `{right}: \"true\"`"
    );
    (!annotations.contains_key(right)).then_some(Ineffective { key, text })
}
