//! A namespace of a test's own, what a test puts into the cluster, and waiting without sleeping.

use std::{fmt::Debug, path::PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1 as core;
use kube::{
    Api, Client, Config, Resource,
    api::{ListParams, PostParams, WatchEvent, WatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use model::{Namespace, NodeName, PodKey, node::EvictionRequest};
use ports::Nodes as _;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::rights::EachWithItsRights;

/// A cluster, seen through the ports and from beside them.
pub(crate) struct World {
    /// What is tested, each call with no more rights than its row in the table says.
    pub(crate) cluster: EachWithItsRights,
    /// How the test sees and changes what it must.
    pub(crate) client: Client,
    /// The test's own namespace. Nodes are called after it.
    pub(crate) namespace: String,
}

/// The kubeconfig of the control plane, if there is one to test against.
#[expect(clippy::disallowed_methods, reason = "a test that an environment variable starts")]
#[expect(clippy::print_stderr, reason = "what is skipped has to be seen")]
pub(crate) fn kubeconfig() -> Option<PathBuf> {
    let path = std::env::var_os("JOURNEYMAN_KUBECONFIG");
    if path.is_none() {
        eprintln!("skipped: JOURNEYMAN_KUBECONFIG names no kubeconfig");
    }
    path.map(PathBuf::from)
}

impl World {
    /// Deletes the node called `name`, as it is now.
    pub(crate) async fn delete_node(&self, name: &NodeName) {
        let node = self.cluster.node(name).await.unwrap().unwrap();
        self.cluster.delete(&node).await.unwrap();
    }

    /// Nothing when there is no control plane.
    pub(crate) async fn open() -> Option<Self> {
        let path = kubeconfig()?;
        let kubeconfig = Kubeconfig::read_from(&path).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let cluster = EachWithItsRights::of(&path, &client).await;
        let world = Self { cluster, client, namespace: String::new() };
        let namespace: core::Namespace = world
            .create(
                &Api::all(world.client.clone()),
                json!({ "metadata": { "generateName": "t-" } }),
            )
            .await;
        Some(Self { namespace: namespace.metadata.name.unwrap(), ..world })
    }

    pub(crate) fn namespaced<K>(&self) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    /// Creates `object`. With its kind and version left out they are `K`'s.
    pub(crate) async fn create<K>(&self, api: &Api<K>, object: Value) -> K
    where
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    /// A node as an instance's kubelet registers it, and `spec` with it.
    pub(crate) async fn create_node(&self, suffix: &str, spec: Value) -> NodeName {
        let name = self.node_name(suffix);
        let resources = json!({ "cpu": "4", "memory": "16Gi", "pods": "58" });
        let node = json!({
            "metadata": { "name": name.as_str(), "labels": { "test": name.as_str(), "kubernetes.io/hostname": name.as_str() } },
            "spec": spec,
            "status": { "capacity": resources, "allocatable": resources },
        });
        self.create(&self.all::<core::Node>(), node).await;
        name
    }

    pub(crate) fn node_name(&self, suffix: &str) -> NodeName {
        NodeName::new(&format!("{}-{suffix}", self.namespace)).unwrap()
    }

    /// A pod of one container with `spec` over it.
    pub(crate) async fn create_pod(&self, name: &str, spec: Value) -> core::Pod {
        let mut value = json!({
            "terminationGracePeriodSeconds": 1,
            "containers": [{ "name": "main", "image": "none",
                             "resources": { "requests": { "cpu": "100m" } } }],
        });
        value.as_object_mut().unwrap().append(&mut spec.as_object().unwrap().clone());
        let pod =
            json!({ "metadata": { "name": name, "labels": { "app": "web" } }, "spec": value });
        self.create(&self.namespaced(), pod).await
    }

    /// Pods that no scheduler looks at, many at a time.
    pub(crate) async fn create_waiting_pods(&self, prefix: &str, count: usize) {
        let spec = json!({ "schedulerName": "none" });
        let created = stream::iter(0..count)
            .map(|index| {
                let spec = spec.clone();
                async move { self.create_pod(&format!("{prefix}-{index:04}"), spec).await }
            })
            .buffer_unordered(20);
        assert_eq!(created.count().await, count);
    }

    /// The request to evict `pod`.
    pub(crate) fn eviction(&self, pod: &core::Pod, grace_seconds: Option<u32>) -> EvictionRequest {
        let name = pod.metadata.name.as_ref().unwrap().parse().unwrap();
        EvictionRequest {
            pod: PodKey { namespace: Namespace::new(&self.namespace).unwrap(), name },
            uid: pod.metadata.uid.as_ref().unwrap().parse().unwrap(),
            grace_seconds,
        }
    }

    /// Waits until the object called `name` is so; `None` is one that is not there. At most a minute.
    pub(crate) async fn until<K>(
        &self,
        api: &Api<K>,
        name: &str,
        what: &str,
        is_so: impl Fn(Option<&K>) -> bool,
    ) where
        K: Clone + Debug + DeserializeOwned,
    {
        let fields = format!("metadata.name={name}");
        let list = api.list(&ListParams::default().fields(&fields)).await.unwrap();
        if is_so(list.items.first()) {
            return;
        }
        let mut last = list.items.first().cloned();
        let from = list.metadata.resource_version.unwrap();
        let params = WatchParams::default().fields(&fields).timeout(60);
        let mut events = Box::pin(api.watch(&params, &from).await.unwrap());
        while let Some(event) = events.try_next().await.unwrap() {
            last = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                WatchEvent::Deleted(_) => None,
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(status) => panic!("{name}: {status}"),
            };
            if is_so(last.as_ref()) {
                return;
            }
        }
        panic!("{name} was not {what} within a minute: {last:#?}");
    }
}
