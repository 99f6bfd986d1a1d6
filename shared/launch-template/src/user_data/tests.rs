//! What instances are told, byte for byte; the shape is that of Karpenter's own answers.

use expect_test::Expect;
use jiff::SignedDuration;
use model::{
    ResourceName,
    node_class::{Kubelet, MaxPods},
};

use super::*;
use crate::testing::{claim, class, settings, wrapped};

mod al2023;
mod bootstrap;
mod bottlerocket;
mod hostile;
mod own_labels;
mod warnings;

fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
}

fn every_kubelet_field() -> Kubelet {
    let texts = |entries: &[(&str, &str)]| {
        entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    };
    let reserved = |entries: &[(&str, &str)]| {
        let name = |key: &str| ResourceName::new(key).unwrap();
        entries.iter().map(|(key, text)| (name(key), (*text).to_owned())).collect()
    };
    Kubelet {
        cluster_dns: vec!["10.100.0.20".to_owned()],
        max_pods: Some(MaxPods::Number(42)),
        pods_per_core: Some(0),
        system_reserved: reserved(&[("cpu", "100m"), ("pid", "1000")]),
        kube_reserved: reserved(&[("memory", "300Mi")]),
        eviction_hard: texts(&[("memory.available", "5%")]),
        eviction_soft: texts(&[("memory.available", "500Mi")]),
        eviction_soft_grace_period: [("memory.available".to_owned(), SignedDuration::from_mins(1))]
            .into(),
        eviction_max_pod_grace_period: Some(60),
        image_gc_high_threshold_percent: Some(85),
        image_gc_low_threshold_percent: Some(80),
        cpu_cfs_quota: Some(false),
        ..Kubelet::default()
    }
}

/// The user data of a node of `class` with labels and taints of every kind.
fn write(class: &ResolvedNodeClass, settings: &ClusterSettings) -> Result<String, BatchRefusal> {
    let labels = [
        ("team", "payments"),
        ("karpenter.sh/capacity-type", "spot"),
        ("node.kubernetes.io/exclude", "true"),
        ("sub.k8s.io/x", "y"),
        ("notk8s.io/x", "y"),
    ];
    let taints = vec![
        taint("dedicated", "payments", TaintEffect::NoSchedule),
        taint("dedicated", "", TaintEffect::NoExecute),
    ];
    write_with(class, settings, &labels, taints)
}

fn write_with(
    class: &ResolvedNodeClass,
    settings: &ClusterSettings,
    labels: &[(&str, &str)],
    taints: Vec<Taint>,
) -> Result<String, BatchRefusal> {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    user_data(&Node {
        claim: &claim(&[], &[]).name,
        class,
        settings,
        labels: labels.collect(),
        taints,
        kubelet: &class.class.kubelet,
        max_pods: match class.class.kubelet.max_pods {
            Some(MaxPods::Number(number)) => number.into(),
            _ => 29,
        },
    })
}

fn with(family: ImageFamily, change: impl Fn(&mut NodeClass)) -> ResolvedNodeClass {
    let mut class = class(family);
    change(&mut class.class);
    class
}

#[track_caller]
fn check(class: &ResolvedNodeClass, expected: &Expect) {
    expected.assert_eq(&write(class, &settings()).unwrap());
}

#[track_caller]
fn check_refused(family: ImageFamily, user_data: &str, expected: &Expect) {
    let class = with(family, |class| class.user_data = Some(user_data.to_owned()));
    let refusal = write(&class, &settings()).unwrap_err().to_string();
    let why = refusal.strip_prefix("EC2NodeClass `default`: spec.userData: ").unwrap();
    expected.assert_eq(&wrapped(why));
}
