//! AL2023: a MIME archive for nodeadm, the user's parts first, ours last, so that ours win.
//!
//! <https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/>
//! Karpenter: `pkg/providers/amifamily/bootstrap/nodeadm.go` of the AWS provider.

use std::collections::BTreeMap;

use model::{Taint, duration::format_go, node_class::Kubelet};

use super::{
    Node, SHELL,
    mime::{self, Keep, MimeError, Part},
    yaml::{self, Yaml},
};

/// The content type of a NodeConfig.
pub(super) const NODE_CONFIG: &str = "application/node.eks.aws";

/// The user data of an AL2023 node whose cluster's services have addresses in `cidr`.
pub(super) fn user_data(node: &Node<'_>, cidr: &str) -> Result<String, String> {
    let mut parts = match node.custom() {
        Some(text) => custom_parts(text).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    let config = node_config(node, cidr).document();
    let body = format!("# Karpenter Generated NodeConfig\n{config}");
    parts.push(Part::new(NODE_CONFIG, body));
    mime::write(&parts).map_err(|error| error.to_string())
}

/// The NodeConfigs of the user's text; none of one that is no archive.
pub(super) fn own_configs(text: &str) -> Vec<String> {
    let parts = custom_parts(text).unwrap_or_default().into_iter();
    let is_config = |part: &Part| {
        part.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.starts_with(NODE_CONFIG)
        })
    };
    parts.filter(is_config).map(|part| part.body).collect()
}

/// The user's text: MIME, a NodeConfig, or else a shell script.
fn custom_parts(text: &str) -> Result<Vec<Part>, MimeError> {
    if mime::looks_like_mime(text) {
        return mime::parse(text, Keep::ContentType);
    }
    let content_type = if yaml::is_mapping(text) { NODE_CONFIG } else { SHELL };
    Ok(vec![Part::new(content_type, text)])
}

fn node_config(node: &Node<'_>, cidr: &str) -> Yaml {
    let settings = node.settings;
    let local_storage = if node.class.class.is_raid0 {
        Yaml::map([("strategy", Yaml::text("RAID0"))])
    } else {
        Yaml::map::<&str>([])
    };
    let labels: Vec<String> =
        node.registered_labels().iter().map(|(key, value)| format!("{key}={value}")).collect();
    let flags = Yaml::List(vec![Yaml::text(format!("--node-labels=\"{}\"", labels.join(",")))]);
    let cluster = Yaml::map([
        ("apiServerEndpoint", Yaml::text(&settings.endpoint)),
        ("certificateAuthority", Yaml::text(&settings.ca_bundle)),
        ("cidr", Yaml::text(cidr)),
        ("name", Yaml::text(settings.name.as_str())),
    ]);
    let spec = Yaml::map([
        ("cluster", cluster),
        ("containerd", Yaml::map::<&str>([])),
        ("instance", Yaml::map([("localStorage", local_storage)])),
        ("kubelet", Yaml::map([("config", kubelet_config(node)), ("flags", flags)])),
    ]);
    Yaml::map([
        ("apiVersion", Yaml::text("node.eks.aws/v1alpha1")),
        ("kind", Yaml::text("NodeConfig")),
        ("metadata", Yaml::map::<&str>([])),
        ("spec", spec),
    ])
}

/// The kubelet's configuration: what the class says, the pods and the DNS that were worked out,
/// and the taints. What the class does not say is absent; a given zero stays.
fn kubelet_config(node: &Node<'_>) -> Yaml {
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
        passed_through,
        fault: _,
    } = node.kubelet;
    let texts = |map: &BTreeMap<String, String>| {
        Yaml::map(map.iter().map(|(key, value)| (key.as_str(), Yaml::text(value))))
    };
    let reserved = |map: &BTreeMap<model::ResourceName, String>| {
        Yaml::map(map.iter().map(|(name, value)| (name.as_str(), Yaml::text(value))))
    };
    let grace = eviction_soft_grace_period;
    let grace =
        Yaml::map(grace.iter().map(|(key, time)| (key.as_str(), Yaml::text(format_go(*time)))));
    let dns = node.cluster_dns().into_iter().map(Yaml::text).collect();
    let taints = node.registered_taints().iter().map(taint).collect();
    let number = |value: &Option<u32>| value.map(Yaml::number);
    let entries = [
        ("clusterDNS", present(Yaml::List(dns))),
        ("cpuCFSQuota", cpu_cfs_quota.map(Yaml::truth)),
        ("evictionHard", present(texts(eviction_hard))),
        ("evictionMaxPodGracePeriod", number(eviction_max_pod_grace_period)),
        ("evictionSoft", present(texts(eviction_soft))),
        ("evictionSoftGracePeriod", present(grace)),
        ("imageGCHighThresholdPercent", number(image_gc_high_threshold_percent)),
        ("imageGCLowThresholdPercent", number(image_gc_low_threshold_percent)),
        ("kubeReserved", present(reserved(kube_reserved))),
        ("maxPods", Some(Yaml::number(node.max_pods))),
        ("podsPerCore", number(pods_per_core)),
        ("registerWithTaints", Some(Yaml::List(taints))),
        ("systemReserved", present(reserved(system_reserved))),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)));
    // JSON is YAML, too.
    let others = passed_through.iter().map(|(key, json)| (key.as_str(), Yaml::Plain(json.clone())));
    Yaml::map(entries.chain(others).collect::<BTreeMap<_, _>>())
}

/// `value` unless it is an empty collection.
fn present(value: Yaml) -> Option<Yaml> {
    match &value {
        Yaml::Map(entries) if entries.is_empty() => None,
        Yaml::List(items) if items.is_empty() => None,
        _ => Some(value),
    }
}

fn taint(taint: &Taint) -> Yaml {
    let value = (!taint.value.is_empty()).then(|| ("value", Yaml::text(&taint.value)));
    let always = [("effect", Yaml::text(taint.effect.as_str())), ("key", Yaml::text(&taint.key))];
    Yaml::map(always.into_iter().chain(value))
}
