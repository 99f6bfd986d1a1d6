//! Kinds of objects by where an API server has them.

use std::fmt;

use serde_json::Value;

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectKind {
    /// The API group; nothing for the oldest one.
    pub group: &'static str,
    /// The version that is asked for.
    pub version: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// Its name in objects.
    pub name: &'static str,
    /// Whether a cluster may not know it: a user has to define it.
    pub is_custom: bool,
}

impl ObjectKind {
    /// `v1`, `apps/v1`
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Where all of its objects are, in `version`.
    pub fn path_in(&self, version: &str) -> String {
        match self.group {
            "" => format!("/api/{version}/{}", self.plural),
            group => format!("/apis/{group}/{version}/{}", self.plural),
        }
    }

    /// Where one object is. Objects of namespaces are below them.
    pub fn path_of(&self, namespace: Option<&str>, name: &str) -> String {
        let collection = self.path_in(self.version);
        let Some(namespace) = namespace else { return format!("{collection}/{name}") };
        let root = collection.strip_suffix(self.plural).unwrap_or(&collection);
        format!("{root}namespaces/{namespace}/{}/{name}", self.plural)
    }

    /// The kind of `object`, if it is one of those of [`kinds`].
    pub fn of(object: &Value) -> Option<&'static Self> {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        kinds::ALL.iter().find(|known| known.name == kind && known.api_version() == version)
    }
}

/// As `kubectl` takes it: `nodes`, `nodepools.karpenter.sh`.
impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group {
            "" => f.write_str(self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

/// All kinds that are asked for.
#[expect(missing_docs, reason = "each is called as its kind")]
pub mod kinds {
    use super::ObjectKind;

    const fn built_in(
        (group, version): (&'static str, &'static str),
        plural: &'static str,
        name: &'static str,
    ) -> ObjectKind {
        ObjectKind { group, version, plural, name, is_custom: false }
    }

    const fn custom(
        (group, version): (&'static str, &'static str),
        plural: &'static str,
        name: &'static str,
    ) -> ObjectKind {
        ObjectKind { is_custom: true, ..built_in((group, version), plural, name) }
    }

    const CORE: (&str, &str) = ("", "v1");
    const APPS: (&str, &str) = ("apps", "v1");
    const STORAGE: (&str, &str) = ("storage.k8s.io", "v1");
    /// Clusters before Kubernetes 1.34 do not know it.
    const DEVICES: (&str, &str) = ("resource.k8s.io", "v1");
    const ADMISSION: (&str, &str) = ("admissionregistration.k8s.io", "v1");
    const RBAC: (&str, &str) = ("rbac.authorization.k8s.io", "v1");
    const FLOW_CONTROL: (&str, &str) = ("flowcontrol.apiserver.k8s.io", "v1");
    const KARPENTER: (&str, &str) = ("karpenter.sh", "v1");

    pub const NODE_POOLS: ObjectKind = custom(KARPENTER, "nodepools", "NodePool");
    pub const NODE_CLAIMS: ObjectKind = custom(KARPENTER, "nodeclaims", "NodeClaim");
    pub const NODE_OVERLAYS: ObjectKind =
        custom(("karpenter.sh", "v1alpha1"), "nodeoverlays", "NodeOverlay");
    pub const NODE_CLASSES: ObjectKind =
        custom(("karpenter.k8s.aws", "v1"), "ec2nodeclasses", "EC2NodeClass");
    pub const BUFFERS: ObjectKind =
        custom(("autoscaling.x-k8s.io", "v1beta1"), "capacitybuffers", "CapacityBuffer");
    pub const NODES: ObjectKind = built_in(CORE, "nodes", "Node");
    pub const EVENTS: ObjectKind = built_in(CORE, "events", "Event");
    pub const PODS: ObjectKind = built_in(CORE, "pods", "Pod");
    pub const NAMESPACES: ObjectKind = built_in(CORE, "namespaces", "Namespace");
    pub const CONFIG_MAPS: ObjectKind = built_in(CORE, "configmaps", "ConfigMap");
    pub const POD_TEMPLATES: ObjectKind = built_in(CORE, "podtemplates", "PodTemplate");
    pub const VOLUMES: ObjectKind = built_in(CORE, "persistentvolumes", "PersistentVolume");
    pub const VOLUME_CLAIMS: ObjectKind =
        built_in(CORE, "persistentvolumeclaims", "PersistentVolumeClaim");
    pub const DAEMON_SETS: ObjectKind = built_in(APPS, "daemonsets", "DaemonSet");
    pub const DEPLOYMENTS: ObjectKind = built_in(APPS, "deployments", "Deployment");
    pub const REPLICA_SETS: ObjectKind = built_in(APPS, "replicasets", "ReplicaSet");
    pub const SERVICES: ObjectKind = built_in(CORE, "services", "Service");
    pub const REPLICATION_CONTROLLERS: ObjectKind =
        built_in(CORE, "replicationcontrollers", "ReplicationController");
    pub const STATEFUL_SETS: ObjectKind = built_in(APPS, "statefulsets", "StatefulSet");
    pub const STORAGE_CLASSES: ObjectKind = built_in(STORAGE, "storageclasses", "StorageClass");
    pub const CSI_NODES: ObjectKind = built_in(STORAGE, "csinodes", "CSINode");
    pub const RESOURCE_SLICES: ObjectKind = custom(DEVICES, "resourceslices", "ResourceSlice");
    pub const DEVICE_CLASSES: ObjectKind = custom(DEVICES, "deviceclasses", "DeviceClass");
    pub const RESOURCE_CLAIMS: ObjectKind = custom(DEVICES, "resourceclaims", "ResourceClaim");
    pub const DISRUPTION_BUDGETS: ObjectKind =
        built_in(("policy", "v1"), "poddisruptionbudgets", "PodDisruptionBudget");
    pub const LEASES: ObjectKind = built_in(("coordination.k8s.io", "v1"), "leases", "Lease");
    pub const CLUSTER_ROLES: ObjectKind = built_in(RBAC, "clusterroles", "ClusterRole");
    pub const CLUSTER_ROLE_BINDINGS: ObjectKind =
        built_in(RBAC, "clusterrolebindings", "ClusterRoleBinding");
    pub const ROLES: ObjectKind = built_in(RBAC, "roles", "Role");
    pub const ROLE_BINDINGS: ObjectKind = built_in(RBAC, "rolebindings", "RoleBinding");
    pub const FLOW_SCHEMAS: ObjectKind = built_in(FLOW_CONTROL, "flowschemas", "FlowSchema");
    pub const PRIORITY_LEVELS: ObjectKind =
        built_in(FLOW_CONTROL, "prioritylevelconfigurations", "PriorityLevelConfiguration");
    pub const WEBHOOKS: ObjectKind =
        built_in(ADMISSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration");
    pub const POLICIES: ObjectKind =
        built_in(ADMISSION, "validatingadmissionpolicies", "ValidatingAdmissionPolicy");
    pub const POLICY_BINDINGS: ObjectKind = built_in(
        ADMISSION,
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
    );
    pub const DEFINITIONS: ObjectKind = built_in(
        ("apiextensions.k8s.io", "v1"),
        "customresourcedefinitions",
        "CustomResourceDefinition",
    );

    pub const ALL: &[ObjectKind] = &[
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
        SERVICES,
        REPLICATION_CONTROLLERS,
        STATEFUL_SETS,
        STORAGE_CLASSES,
        CSI_NODES,
        RESOURCE_SLICES,
        DEVICE_CLASSES,
        RESOURCE_CLAIMS,
        DISRUPTION_BUDGETS,
        LEASES,
        CLUSTER_ROLES,
        CLUSTER_ROLE_BINDINGS,
        ROLES,
        ROLE_BINDINGS,
        FLOW_SCHEMAS,
        PRIORITY_LEVELS,
        WEBHOOKS,
        POLICIES,
        POLICY_BINDINGS,
        DEFINITIONS,
    ];
}
