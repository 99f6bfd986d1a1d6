//! Annotations by which people mean to keep pods and nodes from voluntary disruption, and that keep them from nothing,
//! unless a setting has those of Cluster Autoscaler honored.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Pod, PodSpec, labels, node::Node, pod};

/// An annotation of another program, or of an older version of Karpenter.
struct Foreign {
    key: &'static str,
    /// The value that protects there.
    value: &'static str,
    whose: &'static str,
    /// The setting that has it honored, if there is one.
    setting: Option<&'static str>,
}

const HONOR: Option<&str> = Some("AutoscalerAnnotations=honor");

const SAFE_TO_EVICT: Foreign = Foreign {
    key: "cluster-autoscaler.kubernetes.io/safe-to-evict",
    value: "false",
    whose: "Cluster Autoscaler",
    setting: HONOR,
};

const SCALE_DOWN_DISABLED: Foreign = Foreign {
    key: "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    value: "true",
    whose: "Cluster Autoscaler",
    setting: HONOR,
};

const OF_PODS: [Foreign; 2] = [
    Foreign {
        key: "karpenter.sh/do-not-evict",
        value: "true",
        whose: "Karpenter v1alpha5",
        setting: None,
    },
    SAFE_TO_EVICT,
];

const OF_NODES: [Foreign; 2] = [
    Foreign {
        key: "karpenter.sh/do-not-consolidate",
        value: "true",
        whose: "Karpenter v1alpha5",
        setting: None,
    },
    SCALE_DOWN_DISABLED,
];

impl Foreign {
    /// Whether it is set among `annotations`, without Karpenter's own.
    fn is_meant(&self, annotations: &BTreeMap<String, String>) -> bool {
        annotations.get(self.key).is_some_and(|value| value == self.value)
            && !annotations.contains_key(labels::DO_NOT_DISRUPT)
    }
}

/// Has each of `pods` that Cluster Autoscaler would not evict say so by Karpenter's annotation. A pod that a DaemonSet or
/// a kubelet puts onto its node keeps no node there.
pub fn honor_on_pods<'p>(pods: impl IntoIterator<Item = &'p mut Pod>) {
    let protected = pods.into_iter().filter(|pod| {
        SAFE_TO_EVICT.is_meant(&pod.spec.annotations)
            && !pod.is_owned_by_daemon_set()
            && !pod.is_mirror()
    });
    pod::change_specs(
        protected,
        |_| (),
        |pod| {
            let mut spec = PodSpec::clone(&pod.spec);
            protect(&mut spec.annotations);
            Some(Arc::new(spec))
        },
    );
}

/// Has each of `nodes` that Cluster Autoscaler would not remove say so by Karpenter's annotation.
pub fn honor_on_nodes<'n>(nodes: impl IntoIterator<Item = &'n mut Node>) {
    let meant = nodes.into_iter().filter(|node| SCALE_DOWN_DISABLED.is_meant(&node.annotations));
    meant.for_each(|node| protect(&mut node.annotations));
}

fn protect(annotations: &mut BTreeMap<String, String>) {
    annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
}

/// An annotation that protects nothing although its writer meant it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// Its key.
    pub key: &'static str,
    /// What it is, and what to write: `annotation karpenter.sh/do-not-disrupt is …`.
    pub text: String,
    /// Whether a setting has it honored.
    pub may_be_honored: bool,
}

/// The annotation of a pod like `spec` that protects nothing.
pub fn ineffective_of_pod(spec: &PodSpec) -> Option<Ineffective> {
    let text = spec.ineffective_do_not_disrupt();
    let invalid =
        text.map(|text| Ineffective { key: labels::DO_NOT_DISRUPT, text, may_be_honored: false });
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
            Some(Ineffective { key, text, may_be_honored: false })
        }
    }
}

/// Whether `key` is read of pods or of nodes for what is said here alone.
pub fn is_foreign(key: &str) -> bool {
    OF_PODS.iter().chain(&OF_NODES).any(|foreign| foreign.key == key)
}

fn foreign(annotations: &BTreeMap<String, String>, known: &[Foreign]) -> Option<Ineffective> {
    let right = labels::DO_NOT_DISRUPT;
    let Foreign { key, whose, setting, .. } =
        known.iter().find(|foreign| foreign.is_meant(annotations))?;
    let may_be_honored = setting.is_some();
    let setting = setting.map(|setting| format!(", or set {setting}")).unwrap_or_default();
    let text = format!(
        "annotation {key} is of {whose}, and protects nothing here: write `{right}: \"true\"`{setting}"
    );
    Some(Ineffective { key, text, may_be_honored })
}
