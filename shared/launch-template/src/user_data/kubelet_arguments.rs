//! Kubelet's settings as arguments, for families whose bootstrap script takes them so.
//!
//! <https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/>
//! Karpenter: `pkg/providers/amifamily/bootstrap/bootstrap.go` of the AWS provider.

use std::fmt::Display;

use model::{Taint, duration::format_go, node_class::Kubelet};

use super::Node;

/// The arguments in Karpenter's order; what is not given is not there.
pub(super) fn arguments(node: &Node<'_>) -> String {
    let Kubelet {
        cluster_dns: _,
        max_pods: _,
        pods_per_core,
        system_reserved,
        kube_reserved,
        eviction_hard,
        eviction_soft,
        eviction_soft_grace_period,
        eviction_max_pod_grace_period,
        image_gc_high_threshold_percent,
        image_gc_low_threshold_percent,
        cpu_cfs_quota,
        // A class that has any is not ready.
        passed_through: _,
        fault: _,
    } = node.kubelet;
    let labels = node.registered_labels();
    let taints: Vec<String> = node.registered_taints().iter().map(taint).collect();
    let grace = eviction_soft_grace_period.iter().map(|(key, time)| (key, format_go(*time)));
    [
        pairs("node-labels", "=", labels),
        Some(format!("--register-with-taints=\"{}\"", taints.join(","))),
        value("max-pods", Some(node.max_pods)),
        value("pods-per-core", pods_per_core.as_ref()),
        pairs("system-reserved", "=", system_reserved),
        pairs("kube-reserved", "=", kube_reserved),
        pairs("eviction-hard", "<", eviction_hard),
        pairs("eviction-soft", "<", eviction_soft),
        pairs("eviction-soft-grace-period", "=", grace),
        value("eviction-max-pod-grace-period", eviction_max_pod_grace_period.as_ref()),
        value("image-gc-high-threshold", image_gc_high_threshold_percent.as_ref()),
        value("image-gc-low-threshold", image_gc_low_threshold_percent.as_ref()),
        value("cpu-cfs-quota", cpu_cfs_quota.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" ")
}

fn value(name: &str, value: Option<impl Display>) -> Option<String> {
    value.map(|value| format!("--{name}={value}"))
}

/// `--name="a=b,c=d"`, unless there are no entries.
fn pairs<K: Display, V: Display>(
    name: &str,
    between: &str,
    entries: impl IntoIterator<Item = (K, V)>,
) -> Option<String> {
    let texts: Vec<String> =
        entries.into_iter().map(|(key, value)| format!("{key}{between}{value}")).collect();
    (!texts.is_empty()).then(|| format!("--{name}=\"{}\"", texts.join(",")))
}

/// `key[=value]:Effect`
fn taint(taint: &Taint) -> String {
    let equals = if taint.value.is_empty() { "" } else { "=" };
    format!("{}{equals}{}:{}", taint.key, taint.value, taint.effect.as_str())
}
