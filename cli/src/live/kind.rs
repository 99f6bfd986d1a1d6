//! Kinds of objects by where an API server has them.

use std::fmt;

use serde_json::Value;

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The API group; nothing for the oldest one.
    pub(crate) group: &'static str,
    /// The version that is asked for.
    pub(crate) version: &'static str,
    /// Its name in paths.
    pub(crate) plural: &'static str,
    /// Its name in objects.
    pub(crate) name: &'static str,
    /// Whether a cluster may not know it: somebody has to define it.
    pub(crate) is_custom: bool,
}

impl Kind {
    /// `v1`, `apps/v1`
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Where all of its objects are, in `version`.
    pub(crate) fn path_in(&self, version: &str) -> String {
        match self.group {
            "" => format!("/api/{version}/{}", self.plural),
            group => format!("/apis/{group}/{version}/{}", self.plural),
        }
    }

    /// Where one object is. Objects of namespaces are below them.
    pub(crate) fn path_of(&self, namespace: Option<&str>, name: &str) -> String {
        let collection = self.path_in(self.version);
        let Some(namespace) = namespace else { return format!("{collection}/{name}") };
        let root = collection.strip_suffix(self.plural).unwrap_or(&collection);
        format!("{root}namespaces/{namespace}/{}/{name}", self.plural)
    }

    /// The kind of `object`, if it is one of those of [`kinds`].
    pub(crate) fn of(object: &Value) -> Option<&'static Self> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        kinds::ALL.iter().find(|known| known.name == kind && known.api_version() == version)
    }
}

/// As `kubectl` takes it: `nodes`, `nodepools.karpenter.sh`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str(self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

/// All kinds that are asked for.
pub(crate) mod kinds {
    use super::Kind;

    const fn built_in(
        (group, version): (&'static str, &'static str),
        plural: &'static str,
        name: &'static str,
    ) -> Kind {
        Kind { group, version, plural, name, is_custom: false }
    }

    const fn custom(
        (group, version): (&'static str, &'static str),
        plural: &'static str,
        name: &'static str,
    ) -> Kind {
        Kind { is_custom: true, ..built_in((group, version), plural, name) }
    }

    const CORE: (&str, &str) = ("", "v1");
    const APPS: (&str, &str) = ("apps", "v1");
    const STORAGE: (&str, &str) = ("storage.k8s.io", "v1");
    const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
    const KARPENTER: (&str, &str) = ("karpenter.sh", "v1");

    pub(crate) const NODE_POOLS: Kind = custom(KARPENTER, "nodepools", "NodePool");
    pub(crate) const NODE_CLAIMS: Kind = custom(KARPENTER, "nodeclaims", "NodeClaim");
    pub(crate) const NODE_OVERLAYS: Kind =
        custom(("karpenter.sh", "v1alpha1"), "nodeoverlays", "NodeOverlay");
    pub(crate) const NODE_CLASSES: Kind =
        custom(("karpenter.k8s.aws", "v1"), "ec2nodeclasses", "EC2NodeClass");
    pub(crate) const BUFFERS: Kind =
        custom(("autoscaling.x-k8s.io", "v1beta1"), "capacitybuffers", "CapacityBuffer");
    pub(crate) const NODES: Kind = built_in(CORE, "nodes", "Node");
    pub(crate) const PODS: Kind = built_in(CORE, "pods", "Pod");
    pub(crate) const NAMESPACES: Kind = built_in(CORE, "namespaces", "Namespace");
    pub(crate) const CONFIG_MAPS: Kind = built_in(CORE, "configmaps", "ConfigMap");
    pub(crate) const POD_TEMPLATES: Kind = built_in(CORE, "podtemplates", "PodTemplate");
    pub(crate) const VOLUMES: Kind = built_in(CORE, "persistentvolumes", "PersistentVolume");
    pub(crate) const VOLUME_CLAIMS: Kind =
        built_in(CORE, "persistentvolumeclaims", "PersistentVolumeClaim");
    pub(crate) const DAEMON_SETS: Kind = built_in(APPS, "daemonsets", "DaemonSet");
    pub(crate) const DEPLOYMENTS: Kind = built_in(APPS, "deployments", "Deployment");
    pub(crate) const REPLICA_SETS: Kind = built_in(APPS, "replicasets", "ReplicaSet");
    pub(crate) const STATEFUL_SETS: Kind = built_in(APPS, "statefulsets", "StatefulSet");
    pub(crate) const STORAGE_CLASSES: Kind = built_in(STORAGE, "storageclasses", "StorageClass");
    pub(crate) const CSI_NODES: Kind = built_in(STORAGE, "csinodes", "CSINode");
    pub(crate) const DISRUPTION_BUDGETS: Kind =
        built_in(("policy", "v1"), "poddisruptionbudgets", "PodDisruptionBudget");
    pub(crate) const LEASES: Kind = built_in(("coordination.k8s.io", "v1"), "leases", "Lease");
    pub(crate) const CLUSTER_ROLES: Kind = built_in(RBAC, "clusterroles", "ClusterRole");
    pub(crate) const CLUSTER_ROLE_BINDINGS: Kind =
        built_in(RBAC, "clusterrolebindings", "ClusterRoleBinding");
    pub(crate) const ROLES: Kind = built_in(RBAC, "roles", "Role");
    pub(crate) const ROLE_BINDINGS: Kind = built_in(RBAC, "rolebindings", "RoleBinding");
    pub(crate) const DEFINITIONS: Kind = built_in(
        ("apiextensions.k8s.io", "v1"),
        "customresourcedefinitions",
        "CustomResourceDefinition",
    );

    pub(super) const ALL: &[Kind] = &[
        NODE_POOLS,
        NODE_CLAIMS,
        NODE_OVERLAYS,
        NODE_CLASSES,
        BUFFERS,
        NODES,
        PODS,
        NAMESPACES,
        CONFIG_MAPS,
        POD_TEMPLATES,
        VOLUMES,
        VOLUME_CLAIMS,
        DAEMON_SETS,
        DEPLOYMENTS,
        REPLICA_SETS,
        STATEFUL_SETS,
        STORAGE_CLASSES,
        CSI_NODES,
        DISRUPTION_BUDGETS,
        LEASES,
        CLUSTER_ROLES,
        CLUSTER_ROLE_BINDINGS,
        ROLES,
        ROLE_BINDINGS,
        DEFINITIONS,
    ];
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_where_an_api_server_has_it() {
        assert_eq!(kinds::NODES.path_in("v1"), "/api/v1/nodes");
        assert_eq!(kinds::NODES.path_of(None, "ip-1"), "/api/v1/nodes/ip-1");
        let lease = kinds::LEASES.path_of(Some("kube-system"), "journeyman");
        assert_eq!(lease, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/journeyman");
        assert_eq!(kinds::NODE_POOLS.to_string(), "nodepools.karpenter.sh");
        assert_eq!(kinds::NODES.to_string(), "nodes");
    }

    /// Those of this release are asked for in the versions that it defines.
    #[test]
    fn our_own_kinds_are_asked_for_as_they_are_defined() {
        for (_, definition) in api::karpenter::crd::all() {
            let spec = &definition["spec"];
            let group = spec["group"].as_str().unwrap();
            let version = spec["versions"][0]["name"].as_str().unwrap();
            let object =
                json!({"apiVersion": format!("{group}/{version}"), "kind": spec["names"]["kind"]});
            let kind = Kind::of(&object).unwrap_or_else(|| panic!("{object} is not known"));
            assert_eq!(kind.plural, spec["names"]["plural"]);
            assert!(kind.is_custom);
        }
    }
}
