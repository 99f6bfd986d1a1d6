//! Each call of a port as a user who may do nothing else: the table of rights suffices.
//!
//! The API server's audit log shows which rights were never used, after everything else was played.

use std::{collections::BTreeSet, path::Path};

use cluster::KubeCluster;
use jiff::Timestamp;
use k8s_openapi::api::{authorization::v1::SubjectAccessReview, rbac::v1 as rbac};
use kube::{Api, Client, api::PostParams};
use model::{
    Condition, NodeClaim, NodeClaimName, NodeName, Pod,
    buffer::{BufferStatus, ObservedBuffer},
    claim::SyncedNodeClaim,
    dynamic_resources::ResourceSlice,
    event::ObjectEvent,
    facts::DaemonSet,
    lease::{LedgerLease, ObservedLeases},
    node::{Eviction, EvictionRequest, Node, NodePatch},
    node_class::{ListedNodeClass, NodeClassStatus, ObservedNodeClass},
    node_pool::{NodePool, NodePoolStatus, ObservedNodePool},
    overlay::{NodeOverlay, ObservedOverlay},
    pod::DeletionCost,
    policies::Policies,
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
    wake::{ProbeAnswer, WakeFinding, WakeWebhooks},
};
use ports::{
    FoundDevices, FoundSelectors, Listing, PodSelection, PortError, Surrounded,
    rights::rbac::{RIGHTS, Right},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{
    definitions::{NODE_CLAIM, objects},
    world::{World, kubeconfig},
};

/// What an apply needs beside `patch` where it makes an object; no audit log has it.
const BY_APPLY: [&str; 4] = ["NodeClaims.sync", "create", "karpenter.sh", "nodeclaims"];

/// Before the name of a call: who makes it.
const USER: &str = "rights:";

/// The ports, each call as a user of its own with the rights that the table says.
pub(crate) struct EachWithItsRights {
    users: Vec<(&'static str, KubeCluster)>,
}

impl EachWithItsRights {
    /// Users of the control plane of `kubeconfig`, which `client` administers.
    pub(crate) async fn of(kubeconfig: &Path, client: &Client) -> Self {
        static GRANTED: OnceCell<()> = OnceCell::const_new();
        GRANTED.get_or_init(|| grant(client)).await;
        let mut users = Vec::new();
        for (call, _) in RIGHTS {
            users.push((*call, cluster_as(kubeconfig, &format!("{USER}{call}")).await));
        }
        Self { users }
    }

    fn user(&self, call: &str) -> &KubeCluster {
        let user = self.users.iter().find(|(known, _)| *known == call);
        &user.unwrap_or_else(|| panic!("{call} has no row in ports::rights::rbac")).1
    }
}

macro_rules! each_with_its_rights {
    ($($port:ident {
        $(fn $call:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*
    })*) => { $(
        impl ports::$port for EachWithItsRights {
            $(async fn $call(&self, $($argument: $kind),*) -> Result<$answer, PortError> {
                let user = self.user(concat!(stringify!($port), ".", stringify!($call)));
                ports::$port::$call(user, $($argument),*).await
            })*
        }
    )* };
}

each_with_its_rights! {
    Cluster {
        fn nodes() -> Listing<Node>;
        fn node_pools() -> Listing<NodePool>;
        fn node_classes() -> Listing<ListedNodeClass>;
        fn node_overlays() -> Listing<NodeOverlay>;
        fn daemon_sets() -> Listing<DaemonSet>;
        fn surroundings(policies: &Policies) -> Surrounded;
        fn devices() -> FoundDevices;
        fn pod_selectors() -> FoundSelectors;
        fn pods(selection: &PodSelection) -> Listing<Pod>;
        fn volume_attachments() -> Listing<VolumeAttachment>;
        fn volume_claim(key: &VolumeClaimKey) -> Option<VolumeClaim>;
    }
    Events {
        fn publish(event: &ObjectEvent, now: Timestamp) -> ();
    }
    Nodes {
        fn node(name: &NodeName) -> Option<Node>;
        fn uninitialized() -> Listing<Node>;
        fn resource_slices() -> Listing<ResourceSlice>;
        fn pods_on(node: &NodeName) -> Listing<Pod>;
        fn patch(node: &NodeName, patch: &NodePatch) -> ();
        fn evict(eviction: &EvictionRequest) -> Eviction;
        fn set_deletion_cost(cost: &DeletionCost) -> ();
        fn delete(node: &Node) -> ();
    }
    NodeClasses {
        fn observed_classes() -> Listing<ObservedNodeClass>;
        fn update_class_status(observed: &ObservedNodeClass, status: &NodeClassStatus) -> ();
    }
    NodePools {
        fn observed_pools() -> Listing<ObservedNodePool>;
        fn update_pool_status(observed: &ObservedNodePool, status: &NodePoolStatus) -> ();
        fn update_wake_condition(
            observed: &ObservedNodePool, finding: &WakeFinding, now: Timestamp
        ) -> ();
        fn probe_wake() -> ProbeAnswer;
    }
    AlphaStatuses {
        fn observed_overlays() -> Listing<ObservedOverlay>;
        fn update_overlay_status(
            observed: &ObservedOverlay, validation: &Condition, now: Timestamp
        ) -> ();
        fn update_buffer_status(
            observed: &ObservedBuffer, status: &BufferStatus, now: Timestamp
        ) -> ();
    }
    Leases {
        fn leases() -> ObservedLeases;
        fn hold(lease: &LedgerLease) -> ();
    }
    Webhooks {
        fn of_wake() -> Option<WakeWebhooks>;
        fn set_urls(changed: &WakeWebhooks) -> ();
    }
    NodeClaims {
        fn synced() -> Listing<SyncedNodeClaim>;
        fn objects() -> Listing<NodeClaim>;
        fn take_over(claim: &NodeClaimName) -> ();
        fn sync(claim: &NodeClaim) -> ();
        fn remove(claim: &NodeClaimName) -> ();
    }
}

/// The control plane as `user` sees it.
async fn cluster_as(kubeconfig: &Path, user: &str) -> KubeCluster {
    KubeCluster::from_kubeconfig_as(kubeconfig, user, &[]).await.unwrap()
}

/// A role and its binding for the user of each call. The API server takes a moment to know them.
async fn grant(client: &Client) {
    for (call, rights) in RIGHTS {
        for namespace in rights.iter().map(|right| right.namespace).collect::<BTreeSet<_>>() {
            let rules: Vec<Value> =
                rights.iter().filter(|right| right.namespace == namespace).map(rule).collect();
            bind(client, call, namespace, &rules).await;
        }
    }
    for (call, rights) in RIGHTS {
        for right in *rights {
            until_allowed(client, call, right).await;
        }
    }
}

fn rule(right: &Right) -> Value {
    let names: Vec<&str> = right.name.into_iter().collect();
    json!({ "apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb],
            "resourceNames": names })
}

async fn bind(client: &Client, call: &str, namespace: Option<&str>, rules: &[Value]) {
    let user = format!("{USER}{call}");
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let role = json!({ "metadata": { "name": user }, "rules": rules });
    let binding = json!({
        "metadata": { "name": user },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    let (client, params) = (client.clone(), PostParams::default());
    if let Some(namespace) = namespace {
        let roles: Api<rbac::Role> = Api::namespaced(client.clone(), namespace);
        unless_there(roles.create(&params, &serde_json::from_value(role).unwrap()).await);
        let bindings: Api<rbac::RoleBinding> = Api::namespaced(client, namespace);
        unless_there(bindings.create(&params, &serde_json::from_value(binding).unwrap()).await);
    } else {
        let roles: Api<rbac::ClusterRole> = Api::all(client.clone());
        unless_there(roles.create(&params, &serde_json::from_value(role).unwrap()).await);
        let bindings: Api<rbac::ClusterRoleBinding> = Api::all(client);
        unless_there(bindings.create(&params, &serde_json::from_value(binding).unwrap()).await);
    }
}

/// Of an earlier process, which used the same table.
fn unless_there<K>(answer: kube::Result<K>) {
    match answer {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
        Err(error) => panic!("{error}"),
    }
}

async fn until_allowed(client: &Client, call: &str, right: &Right) {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, subresource),
        None => (right.resource, ""),
    };
    let review = json!({ "metadata": {}, "spec": { "user": format!("{USER}{call}"), "resourceAttributes": {
        "group": right.group, "resource": resource, "subresource": subresource, "verb": right.verb,
        "namespace": right.namespace, "name": right.name,
    } } });
    let review: SubjectAccessReview = serde_json::from_value(review).unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    for _ in 0..150 {
        let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
        if answer.status.is_some_and(|status| status.allowed) {
            return;
        }
        super::others::a_moment().await;
    }
    panic!("{call} is not allowed to {right:?} after half a minute");
}

/// What the audit log says that the users of calls asked for: user, verb, group and resource.
fn asked(log: &Path) -> BTreeSet<[String; 4]> {
    let text = std::fs::read_to_string(log).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of = |event: Value| {
        let user = event["impersonatedUser"]["username"].as_str()?.strip_prefix(USER)?.to_owned();
        RIGHTS.iter().find(|(call, _)| **call == user)?;
        let object = &event["objectRef"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut resource = text(&object["resource"]);
        if let Some(subresource) = object["subresource"].as_str() {
            resource = format!("{resource}/{subresource}");
        }
        Some([user, text(&event["verb"]), text(&object["apiGroup"]), resource])
    };
    events.filter_map(of).collect()
}

/// Started by `tests/live/cluster` when all other tests have ended.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test that an environment variable starts")]
#[expect(clippy::print_stderr, reason = "what is skipped has to be seen")]
async fn no_right_is_granted_in_vain() {
    let Some(log) = std::env::var_os("JOURNEYMAN_AUDIT_LOG") else {
        eprintln!("skipped: JOURNEYMAN_AUDIT_LOG names no audit log");
        return;
    };
    let asked = asked(Path::new(&log));
    let granted: BTreeSet<[String; 4]> = RIGHTS
        .iter()
        .flat_map(|(call, rights)| {
            rights.iter().map(|right| [*call, right.verb, right.group, right.resource])
        })
        .map(|right| right.map(str::to_owned))
        .collect();
    let by_apply = BY_APPLY.map(str::to_owned);
    let in_vain: Vec<_> = granted.difference(&asked).filter(|right| **right != by_apply).collect();
    assert!(in_vain.is_empty(), "nothing asked for {in_vain:#?}");
    let refused: Vec<_> = asked.difference(&granted).collect();
    assert!(refused.is_empty(), "the table lacks {refused:#?}");
}

#[tokio::test]
async fn an_apply_makes_no_object_for_who_may_only_patch() {
    let Some(world) = World::open().await else { return };
    objects(&world, NODE_CLAIM).await;
    let (call, rights) = RIGHTS.iter().find(|(call, _)| *call == BY_APPLY[0]).unwrap();
    let rules: Vec<Value> =
        rights.iter().filter(|right| right.verb != BY_APPLY[1]).map(rule).collect();
    let name = "patches-only";
    bind(&world.client, name, None, &rules).await;
    for right in rights.iter().filter(|right| right.verb != BY_APPLY[1]) {
        until_allowed(&world.client, name, right).await;
    }
    let cluster = cluster_as(&kubeconfig().unwrap(), &format!("{USER}{name}")).await;
    let claim = testkit::build::claim(&format!("{}-patched", world.namespace));
    let error = ports::NodeClaims::sync(&cluster, &claim).await.unwrap_err();
    let why = error.source.unwrap().to_string();
    assert!(why.contains("cannot create resource \"nodeclaims\""), "{call}: {why}");
}
