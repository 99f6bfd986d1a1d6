//! Which kinds the groups of Kubernetes have that are read here, and which versions of them it has removed.
//!
//! <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>

use model::api_version::{RESOURCE_V1, group};

use crate::document::spelling;

/// Kinds by version. A kubeconfig counts as an object of `v1`: it lies beside manifests.
const SERVED: [(&str, &[&str]); 8] = [
    (
        "v1",
        &[
            "Binding",
            "ComponentStatus",
            "Config",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
            "Status",
        ],
    ),
    ("apps/v1", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("batch/v1", &["CronJob", "Job"]),
    ("policy/v1", &["Eviction", "PodDisruptionBudget"]),
    (
        "storage.k8s.io/v1",
        &[
            "CSIDriver",
            "CSINode",
            "CSIStorageCapacity",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
    ("scheduling.k8s.io/v1", &["PriorityClass"]),
    (RESOURCE_V1, &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"]),
    ("node.k8s.io/v1", &["RuntimeClass"]),
];

/// Versions without a kind that is served, with the release of Kubernetes that removed the last one.
const REMOVED: [(&str, &str); 8] = [
    ("apps/v1beta1", "1.16"),
    ("apps/v1beta2", "1.16"),
    ("batch/v1beta1", "1.25"),
    ("batch/v2alpha1", "1.21"),
    ("extensions/v1beta1", "1.22"),
    ("node.k8s.io/v1beta1", "1.25"),
    ("policy/v1beta1", "1.25"),
    ("scheduling.k8s.io/v1beta1", "1.22"),
];

/// That API servers have no `kind` in `api_version`, and what to write instead where that is clear; `None` if they
/// have it, or if nothing is known of it. Of what a server stored, only removed versions count: the server may be newer.
pub(super) fn unserved(
    api_version: &str,
    kind: &str,
    is_stored: bool,
) -> Option<(String, Option<String>)> {
    let elsewhere = SERVED.iter().find(|(_, kinds)| kinds.contains(&kind));
    let elsewhere = elsewhere.map(|(version, _)| format!("write {version}"));
    if let Some((version, release)) = REMOVED.into_iter().find(|(old, _)| *old == api_version) {
        return Some((format!("Kubernetes {release} removed `{version}`"), elsewhere));
    }
    if api_version != RESOURCE_V1 && group(api_version) == group(RESOURCE_V1) && elsewhere.is_some()
    {
        return Some((format!("`{api_version}` is not read, only `{RESOURCE_V1}` is"), elsewhere));
    }
    let kinds = SERVED.into_iter().find(|(version, _)| *version == api_version);
    let is_known = kinds.is_some_and(|(_, kinds)| kinds.contains(&kind));
    let is_of_group = SERVED.into_iter().any(|(version, _)| group(version) == group(api_version));
    // Alpha and beta versions have kinds that are not known here.
    let is_stable =
        kinds.is_some() || !["alpha", "beta"].iter().any(|stage| api_version.contains(stage));
    if is_stored || is_known || !is_of_group || !is_stable {
        return None;
    }
    let rule = format!("`{api_version}` has no kind `{kind}`, so the object is not read");
    match kinds {
        Some((_, kinds)) => {
            Some((rule, elsewhere.or_else(|| spelling::cure(kind, kinds.iter().copied()))))
        }
        None => elsewhere.map(|cure| (rule, Some(cure))),
    }
}
