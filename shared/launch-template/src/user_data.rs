//! User data: what an instance reads when it starts.
//!
//! The user's own part and ours, merged as the image family wants it. Text before base64; the
//! adapter encodes it.

mod bootstrap;
mod bottlerocket;
mod kubelet_arguments;
mod mime;
mod node_config;
mod own_labels;
mod quote;
mod warnings;
mod yaml;

use std::collections::BTreeMap;

use model::{
    ClusterName, NodeClaimName, Taint, TaintEffect, id, labels, limits,
    node_class::{
        ClusterSettings, ImageFamily, Kubelet, NodeClass, Obstacle, ResolvedNodeClass,
        is_expression,
    },
};

pub use self::{own_labels::own_labels, warnings::user_data_warnings};
use crate::BatchRefusal;

/// Domains of labels that a kubelet may not give its own node.
/// <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction>
const NOT_FOR_KUBELETS: [&str; 3] = ["kubernetes.io", "k8s.io", "node-restriction.kubernetes.io"];

/// The content type of a shell script.
const SHELL: &str = "text/x-shellscript; charset=\"us-ascii\"";

/// What user data is written from.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// A claim that it is for.
    pub(crate) claim: &'a NodeClaimName,
    pub(crate) class: &'a ResolvedNodeClass,
    pub(crate) settings: &'a ClusterSettings,
    /// The claim's, and how it is paid for.
    pub(crate) labels: BTreeMap<String, String>,
    /// Those that stay, then those of the start.
    pub(crate) taints: Vec<Taint>,
    /// The class's, without expressions.
    pub(crate) kubelet: &'a Kubelet,
    pub(crate) max_pods: u64,
}

impl Node<'_> {
    /// Labels that the kubelet registers its node with.
    fn registered_labels(&self) -> BTreeMap<&str, &str> {
        let map = self.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let marked = map.chain([(labels::DO_NOT_SYNC_TAINTS, "true")]);
        marked.filter(|(key, _)| !is_kept_from_kubelets(key)).collect()
    }

    /// Taints that the kubelet registers its node with, in the end the one that keeps pods off
    /// until the node is known.
    fn registered_taints(&self) -> Vec<Taint> {
        let key = labels::UNREGISTERED_TAINT;
        let effect = TaintEffect::NoExecute;
        let mut taints = self.taints.clone();
        if !taints.iter().any(|taint| taint.key == key && taint.effect == effect) {
            taints.push(Taint { key: key.to_owned(), value: String::new(), effect });
        }
        taints
    }

    /// The class's `clusterDNS`, else the address of the cluster's DNS service, if it has one.
    fn cluster_dns(&self) -> Vec<&str> {
        let given = &self.class.class.kubelet.cluster_dns;
        if given.is_empty() {
            self.settings.dns_ip.as_deref().into_iter().collect()
        } else {
            given.iter().map(String::as_str).collect()
        }
    }

    /// Refuses labels and taints that Kubernetes takes for none. They stand within words of a command
    /// line that more than one program reads, where no way of quoting reaches the last of them.
    fn check_names(&self) -> Result<(), BatchRefusal> {
        let labels = self.labels.iter().map(|(key, value)| ("label", key, value));
        let taints = self.taints.iter().map(|taint| ("taint", &taint.key, &taint.value));
        for (what, key, value) in labels.chain(taints) {
            let wrong = if !id::is_qualified_name(key) {
                format!("the key {key:?} of a {what}")
            } else if !id::is_label_value(value) {
                format!("the value {value:?} of the {what} {key:?}")
            } else {
                continue;
            };
            return Err(BatchRefusal::NotALabel { claim: self.claim.clone(), wrong });
        }
        Ok(())
    }

    /// The class's `userData`, if it says anything.
    fn custom(&self) -> Option<&str> {
        custom(&self.class.class)
    }
}

/// The user data of `node`, at most as long as EC2 takes it.
pub(crate) fn user_data(node: &Node<'_>) -> Result<String, BatchRefusal> {
    let class = &node.class.class.name;
    if node.class.class.image_family != ImageFamily::Custom {
        node.check_names()?;
    }
    let wrong = |why: String| {
        BatchRefusal::UserData(format!("EC2NodeClass `{class}`: spec.userData: {why}"))
    };
    let text = match node.class.class.image_family {
        ImageFamily::Al2 => bootstrap::shell(node).map_err(wrong)?,
        ImageFamily::Al2023 => {
            let Some(cidr) = &node.settings.service_cidr else {
                let unknown = Obstacle::ServiceCidrUnknown(node.settings.name.clone());
                let obstacles = vec![unknown];
                return Err(BatchRefusal::NotReady { class: class.clone(), obstacles });
            };
            node_config::user_data(node, cidr).map_err(wrong)?
        }
        ImageFamily::Bottlerocket => bottlerocket::user_data(node).map_err(wrong)?,
        ImageFamily::Windows2019 | ImageFamily::Windows2022 | ImageFamily::Windows2025 => {
            bootstrap::powershell(node).map_err(|text| {
                let rule = "a `>` would end a tag of its user data";
                BatchRefusal::UserData(format!(
                    "EC2NodeClass `{class}`: no Windows node can be told {text:?}: {rule}"
                ))
            })?
        }
        // Byte for byte: the owner of an image knows how it joins.
        ImageFamily::Custom => node.custom().unwrap_or_default().to_owned(),
    };
    if text.len() > limits::USER_DATA_BYTES_MAX {
        return Err(BatchRefusal::UserDataSize {
            class: class.clone(),
            bytes: text.len(),
            bytes_max: limits::USER_DATA_BYTES_MAX,
        });
    }
    Ok(text)
}

/// Whether any node of the class could be told what its `userData` says, before there is a node or a
/// cluster: in the words of [`BatchRefusal::UserData`] why not.
///
/// # Errors
///
/// What is wrong with the class's own part.
pub fn check_user_data(class: &ResolvedNodeClass) -> Result<(), BatchRefusal> {
    let (Ok(claim), Ok(cluster)) = (NodeClaimName::new("any"), ClusterName::new("any")) else {
        return Ok(());
    };
    let settings = ClusterSettings {
        name: cluster,
        endpoint: "https://any".to_owned(),
        ca_bundle: String::new(),
        service_cidr: Some("10.0.0.0/16".to_owned()),
        dns_ip: None,
        kubernetes_version: "1.34".to_owned(),
        region: String::new(),
    };
    let (labels, taints) = (BTreeMap::new(), Vec::new());
    let mut kubelet = class.class.kubelet.clone();
    // What they come to changes nothing about the user's own part.
    kubelet.kube_reserved.retain(|_, amount| !is_expression(amount));
    kubelet.system_reserved.retain(|_, amount| !is_expression(amount));
    let node = Node {
        claim: &claim,
        class,
        settings: &settings,
        labels,
        taints,
        kubelet: &kubelet,
        max_pods: 110,
    };
    user_data(&node).map(drop)
}

fn custom(class: &NodeClass) -> Option<&str> {
    class.user_data.as_deref().filter(|text| !text.is_empty())
}

fn is_kept_from_kubelets(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else {
        return false;
    };
    let is_within = |restricted: &str| {
        domain.strip_suffix(restricted).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    NOT_FOR_KUBELETS.into_iter().any(is_within)
}

#[cfg(test)]
mod tests;
