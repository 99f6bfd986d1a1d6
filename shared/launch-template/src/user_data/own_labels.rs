//! The labels that the user's own user data registers nodes with.

use std::collections::BTreeMap;

use model::node_class::{ImageFamily, NodeClass};
use serde::Deserialize;

use super::{bottlerocket, custom, is_kept_from_kubelets, node_config};

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeConfig {
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    kubelet: KubeletOptions,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct KubeletOptions {
    flags: Vec<String>,
}

/// The labels that `userData` of `class` has the kubelet register its node with: `--node-labels` among the flags of a
/// NodeConfig, `settings.kubernetes.node-labels` of Bottlerocket. What a script does is not known. Taints of the user's
/// own are none: Karpenter's take their place in both.
pub fn own_labels(class: &NodeClass) -> BTreeMap<String, String> {
    let Some(text) = custom(class) else { return BTreeMap::new() };
    let mut labels = match class.image_family {
        ImageFamily::Al2023 => node_config::own_configs(text)
            .iter()
            .filter_map(|config| serde_saphyr::from_str::<NodeConfig>(config).ok())
            .flat_map(|config| of_flags(&config.spec.kubelet.flags))
            .collect(),
        ImageFamily::Bottlerocket => bottlerocket::own_labels(text),
        ImageFamily::Al2
        | ImageFamily::Windows2019
        | ImageFamily::Windows2022
        | ImageFamily::Windows2025
        | ImageFamily::Custom => BTreeMap::new(),
    };
    labels.retain(|key, _| !is_kept_from_kubelets(key));
    labels
}

/// `--node-labels=a=b,c=d` in one word or in two.
fn of_flags(flags: &[String]) -> Vec<(String, String)> {
    let mut flags = flags.iter();
    let mut labels = Vec::new();
    while let Some(flag) = flags.next() {
        let Some(rest) = flag.strip_prefix("--node-labels") else { continue };
        let value = match rest.strip_prefix(['=', ' ']) {
            Some(value) => value,
            None if rest.is_empty() => flags.next().map_or("", String::as_str),
            None => continue,
        };
        let pairs = value.trim().trim_matches(['"', '\'']).split(',');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        labels.extend(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    labels
}
