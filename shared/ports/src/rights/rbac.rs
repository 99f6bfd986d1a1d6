//! What the adapters over Kubernetes need of its RBAC for each call of a port: the one table.
//!
//! A test of `cluster` holds it to what they ask of a real API server, and `deploy/rbac.yaml` is made of it.
//! Which calls a function makes is said by `handlers::calls`.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/>

use model::wake::WEBHOOKS;

/// One verb on the objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group; empty for the core.
    pub group: &'static str,
    /// The resource, with its subresource if it is about one: `pods/eviction`.
    pub resource: &'static str,
    /// The namespace that it is about, unless it is about all of the cluster.
    pub namespace: Option<&'static str>,
    /// The object that it is about, unless it is about all of them. A list is about one object if it
    /// selects by `metadata.name`, and what is created has no name yet.
    pub name: Option<&'static str>,
    /// What is done.
    pub verb: &'static str,
}

const ADMISSION: &str = "admissionregistration.k8s.io";
const APPS: &str = "apps";
const AWS: &str = "karpenter.k8s.aws";
const BUFFERS: &str = "autoscaling.x-k8s.io";
const CORE: &str = "";
const DEVICES: &str = "resource.k8s.io";
const EVENTS: &str = "events.k8s.io";
const KARPENTER: &str = "karpenter.sh";
const LEASES: &str = "coordination.k8s.io";
const POLICY: &str = "policy";
const STORAGE: &str = "storage.k8s.io";

const fn right(verb: &'static str, group: &'static str, resource: &'static str) -> Right {
    Right { group, resource, namespace: None, name: None, verb }
}

const fn of_our_lease(verb: &'static str) -> Right {
    let right = right(verb, LEASES, "leases");
    Right { namespace: Some("kube-system"), name: Some("journeyman"), ..right }
}

const fn of_our_webhooks(verb: &'static str) -> Right {
    Right { name: Some(WEBHOOKS), ..right(verb, ADMISSION, "validatingwebhookconfigurations") }
}

/// Of leases in `kube-system`; what is created has no name yet.
const CREATE_LEASE: Right =
    Right { namespace: Some("kube-system"), ..right("create", LEASES, "leases") };

/// Karpenter may be installed into any namespace.
const FIND_KARPENTER: Right =
    Right { name: Some("karpenter-leader-election"), ..right("list", LEASES, "leases") };

const DELETE_CLAIM: Right = right("delete", KARPENTER, "nodeclaims");
const GET_CLAIM: Right = right("get", KARPENTER, "nodeclaims");
const LIST_CLAIMS: Right = right("list", KARPENTER, "nodeclaims");
const LIST_CLASSES: Right = right("list", AWS, "ec2nodeclasses");
const LIST_NODES: Right = right("list", CORE, "nodes");
const LIST_OVERLAYS: Right = right("list", KARPENTER, "nodeoverlays");
const LIST_PODS: Right = right("list", CORE, "pods");
const LIST_POOLS: Right = right("list", KARPENTER, "nodepools");
const LIST_REPLICA_SETS: Right = right("list", APPS, "replicasets");
const LIST_SLICES: Right = right("list", DEVICES, "resourceslices");
const LIST_STATEFUL_SETS: Right = right("list", APPS, "statefulsets");
const PATCH_CLAIM: Right = right("patch", KARPENTER, "nodeclaims");
const PATCH_POD: Right = right("patch", CORE, "pods");
const PROBE_WAKE: Right = Right { namespace: Some("default"), ..right("create", EVENTS, "events") };

/// A call, as port and method, and what it needs. Calls without a row ask the API server for nothing.
pub const RIGHTS: &[(&str, &[Right])] = &[
    ("AlphaStatuses.observed_overlays", &[LIST_OVERLAYS]),
    (
        "AlphaStatuses.update_buffer_status",
        &[
            right("get", BUFFERS, "capacitybuffers"),
            right("patch", BUFFERS, "capacitybuffers/status"),
        ],
    ),
    (
        "AlphaStatuses.update_overlay_status",
        &[
            right("get", KARPENTER, "nodeoverlays"),
            right("patch", KARPENTER, "nodeoverlays/status"),
        ],
    ),
    ("Cluster.daemon_sets", &[right("list", APPS, "daemonsets")]),
    (
        "Cluster.devices",
        &[
            right("list", DEVICES, "deviceclasses"),
            right("list", DEVICES, "resourceclaims"),
            LIST_SLICES,
        ],
    ),
    ("Cluster.node_classes", &[LIST_CLASSES]),
    ("Cluster.node_overlays", &[LIST_OVERLAYS]),
    ("Cluster.node_pools", &[LIST_POOLS]),
    ("Cluster.nodes", &[LIST_NODES]),
    (
        "Cluster.pod_selectors",
        &[
            right("list", CORE, "replicationcontrollers"),
            right("list", CORE, "services"),
            LIST_REPLICA_SETS,
            LIST_STATEFUL_SETS,
        ],
    ),
    ("Cluster.pods", &[LIST_PODS]),
    (
        "Cluster.surroundings",
        &[
            right("list", CORE, "namespaces"),
            right("list", CORE, "persistentvolumeclaims"),
            right("list", CORE, "persistentvolumes"),
            right("list", CORE, "podtemplates"),
            right("list", APPS, "deployments"),
            LIST_REPLICA_SETS,
            LIST_STATEFUL_SETS,
            right("list", BUFFERS, "capacitybuffers"),
            LIST_OVERLAYS,
            right("list", POLICY, "poddisruptionbudgets"),
            right("list", STORAGE, "csinodes"),
            right("list", STORAGE, "storageclasses"),
        ],
    ),
    ("Cluster.volume_attachments", &[right("list", STORAGE, "volumeattachments")]),
    ("Cluster.volume_claim", &[right("get", CORE, "persistentvolumeclaims")]),
    (
        "Events.publish",
        &[
            right("create", CORE, "events"),
            // Who it is that an event is about.
            right("get", CORE, "nodes"),
            right("get", CORE, "pods"),
            GET_CLAIM,
            right("get", KARPENTER, "nodepools"),
        ],
    ),
    ("Leases.hold", &[CREATE_LEASE, of_our_lease("get"), of_our_lease("patch")]),
    ("Leases.leases", &[FIND_KARPENTER, LIST_PODS, of_our_lease("get")]),
    ("NodeClaims.objects", &[LIST_CLAIMS]),
    ("NodeClaims.remove", &[DELETE_CLAIM, GET_CLAIM, PATCH_CLAIM]),
    (
        "NodeClaims.sync",
        &[
            // Server-side apply makes what is not there, and the API server asks for the right to.
            right("create", KARPENTER, "nodeclaims"),
            DELETE_CLAIM,
            GET_CLAIM,
            PATCH_CLAIM,
            right("patch", KARPENTER, "nodeclaims/status"),
            // Whose uid the owner reference has.
            right("get", KARPENTER, "nodepools"),
        ],
    ),
    ("NodeClaims.synced", &[LIST_CLAIMS]),
    ("NodeClaims.take_over", &[GET_CLAIM, PATCH_CLAIM]),
    ("NodeClasses.observed_classes", &[LIST_CLASSES]),
    (
        "NodeClasses.update_class_status",
        &[
            right("get", AWS, "ec2nodeclasses"),
            right("patch", AWS, "ec2nodeclasses"),
            right("patch", AWS, "ec2nodeclasses/status"),
        ],
    ),
    ("NodePools.observed_pools", &[LIST_POOLS]),
    // A dry run needs the right to what it tries.
    ("NodePools.probe_wake", &[PROBE_WAKE]),
    (
        "NodePools.update_pool_status",
        &[
            right("get", KARPENTER, "nodepools"),
            right("patch", KARPENTER, "nodepools"),
            right("patch", KARPENTER, "nodepools/status"),
        ],
    ),
    (
        "NodePools.update_wake_condition",
        &[right("get", KARPENTER, "nodepools"), right("patch", KARPENTER, "nodepools/status")],
    ),
    ("Nodes.delete", &[right("get", CORE, "nodes"), right("delete", CORE, "nodes")]),
    (
        "Nodes.evict",
        &[
            right("create", CORE, "pods/eviction"),
            // With a grace period of our own: beyond a deadline no budget is asked.
            right("delete", CORE, "pods"),
            // Whether what was refused is still the same pod.
            right("get", CORE, "pods"),
        ],
    ),
    ("Nodes.node", &[right("get", CORE, "nodes")]),
    ("Nodes.patch", &[right("get", CORE, "nodes"), right("patch", CORE, "nodes")]),
    ("Nodes.pods_on", &[LIST_PODS]),
    ("Nodes.resource_slices", &[LIST_SLICES]),
    ("Nodes.set_deletion_cost", &[PATCH_POD]),
    ("Nodes.uninitialized", &[LIST_NODES]),
    ("Webhooks.of_wake", &[of_our_webhooks("get")]),
    ("Webhooks.set_urls", &[of_our_webhooks("patch")]),
];

/// Calls behind the gate `PodDeletionCostManagement`: they need a role of their own, `deploy/pod-deletion-costs.yaml`.
/// A pod that may be patched may get another image: only clusters that open the gate grant it.
pub const OF_DELETION_COSTS: &[&str] = &["Nodes.set_deletion_cost"];
