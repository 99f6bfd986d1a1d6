//! What to do instead, where people commonly go wrong.

use model::api_version::{AWS_GROUP, KARPENTER_GROUP};

/// Cures of unknown fields in `spec` of a NodePool.
pub(crate) fn node_pool_spec(key: &str) -> Option<String> {
    let text = match key {
        "expireAfter" => "`expireAfter` belongs in spec.template.spec",
        "terminationGracePeriod" => "`terminationGracePeriod` belongs in spec.template.spec",
        "requirements" | "taints" | "startupTaints" | "nodeClassRef" => {
            return Some(format!("`{key}` belongs in spec.template.spec"));
        }
        "labels" | "annotations" => {
            return Some(format!("`{key}` belongs in spec.template.metadata"));
        }
        "consolidationPolicy" | "consolidateAfter" | "budgets" => {
            return Some(format!("`{key}` belongs in spec.disruption"));
        }
        "ttlSecondsAfterEmpty" => {
            "write spec.disruption with `consolidationPolicy: WhenEmpty` and `consolidateAfter`"
        }
        "ttlSecondsUntilExpired" => "write spec.template.spec.expireAfter, such as `720h`",
        "consolidation" => {
            "write spec.disruption with `consolidationPolicy: WhenEmptyOrUnderutilized`"
        }
        "provider" | "providerRef" => "write spec.template.spec.nodeClassRef",
        "kubelet" | "kubeletConfiguration" => "kubelet settings belong in the EC2NodeClass",
        _ => return None,
    };
    Some(text.to_owned())
}

/// Cures of unknown fields in `spec.disruption`.
pub(crate) fn disruption(key: &str) -> Option<String> {
    (key == "expireAfter").then(|| "`expireAfter` belongs in spec.template.spec".to_owned())
}

/// Cures of unknown fields in `spec.template.spec`.
pub(crate) fn template_spec(key: &str) -> Option<String> {
    let place = match key {
        "consolidationPolicy" | "consolidateAfter" | "budgets" => "spec.disruption",
        "labels" | "annotations" => "spec.template.metadata",
        "weight" | "limits" => "spec",
        _ => return None,
    };
    Some(format!("`{key}` belongs in {place}"))
}

/// Cures of unknown fields in `nodeClassRef`.
pub(crate) fn node_class_ref(key: &str) -> Option<String> {
    (key == "apiVersion")
        .then(|| "write `group: karpenter.k8s.aws` in place of `apiVersion`".to_owned())
}

/// Cures of unknown fields of an EC2NodeClass, in the map at `path`.
pub(crate) fn node_class(path: &str, key: &str) -> Option<String> {
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
