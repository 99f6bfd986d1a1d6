//! What to do instead, where people commonly go wrong.

use model::api_version::{AWS_GROUP, KARPENTER_GROUP};

use crate::karpenter::walk::Hints;

/// What is known of EC2NodeClasses beside their schema.
pub(crate) const NODE_CLASS: Hints = Hints { cure: node_class, dropped: &[] };

/// What is known of NodePools beside their schema. `kubelet` is left over from v1beta1: an API server
/// prunes it and says so in a warning, and so does `files`.
pub(crate) const NODE_POOL: Hints = Hints {
    cure: node_pool,
    dropped: &["spec.template.spec.kubelet", "spec.template.metadata.creationTimestamp"],
};

fn node_pool(path: &str, key: &str) -> Option<String> {
    let text = match (path, key) {
        ("spec.disruption.consolidationPolicy", "WhenUnderutilized") => {
            "write `WhenEmptyOrUnderutilized`"
        }
        ("spec.template.spec.nodeClassRef", "apiVersion") => {
            "write `group: karpenter.k8s.aws` in place of `apiVersion`"
        }
        ("spec", "ttlSecondsAfterEmpty") => {
            "write spec.disruption with `consolidationPolicy: WhenEmpty` and `consolidateAfter`"
        }
        ("spec", "ttlSecondsUntilExpired") => {
            "write spec.template.spec.expireAfter, such as `720h`"
        }
        ("spec", "consolidation") => {
            "write spec.disruption with `consolidationPolicy: WhenEmptyOrUnderutilized`"
        }
        ("spec", "provider" | "providerRef") => "write spec.template.spec.nodeClassRef",
        ("spec", "kubelet" | "kubeletConfiguration") => {
            "kubelet settings belong in the EC2NodeClass"
        }
        ("spec" | "spec.disruption" | "spec.template.spec", _) => {
            let place = match key {
                "expireAfter"
                | "terminationGracePeriod"
                | "requirements"
                | "taints"
                | "startupTaints"
                | "nodeClassRef" => "spec.template.spec",
                "labels" | "annotations" => "spec.template.metadata",
                "consolidationPolicy" | "consolidateAfter" | "budgets" => "spec.disruption",
                "weight" | "limits" => "spec",
                _ => return None,
            };
            return Some(format!("`{key}` belongs in {place}"));
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// Cures of unknown fields of an EC2NodeClass, in the map at `path`.
fn node_class(path: &str, key: &str) -> Option<String> {
    let text = match key {
        _ if path != "spec" => return None,
        "subnetSelector" => "write `subnetSelectorTerms`, a list of `tags` or `id`",
        "securityGroupSelector" => {
            "write `securityGroupSelectorTerms`, a list of `tags`, `id` or `name`"
        }
        "amiSelector" => "write `amiSelectorTerms`, a list of `alias`, `tags`, `id` or `name`",
        "launchTemplate" => {
            "launch templates are made by `launch`; write `amiSelectorTerms`, `userData` and \
             `blockDeviceMappings`"
        }
        "blockDevices" => "it is called `blockDeviceMappings`",
        _ => return None,
    };
    Some(text.to_owned())
}

/// What is said about objects of older versions and of kinds that went away.
pub(crate) fn old_version(api_version: &str, kind: &str) -> Option<(String, String)> {
    let (group, version) = api_version.split_once('/')?;
    let rule = |what: &str| format!("not supported yet: {what}");
    let to_v1 = |group: &str| format!("convert it to {group}/v1");
    match (group, kind) {
        (KARPENTER_GROUP | AWS_GROUP, _) if version == "v1" => None,
        (_, "Provisioner") => {
            Some((rule(api_version), "convert it to a karpenter.sh/v1 NodePool".into()))
        }
        (_, "AWSNodeTemplate") => {
            Some((rule(api_version), "convert it to a karpenter.k8s.aws/v1 EC2NodeClass".into()))
        }
        (KARPENTER_GROUP | AWS_GROUP, "NodePool" | "NodeClaim" | "EC2NodeClass") => {
            let right = if kind == "EC2NodeClass" { AWS_GROUP } else { KARPENTER_GROUP };
            Some((rule(api_version), to_v1(right)))
        }
        _ => None,
    }
}
