//! What others do to the cluster while a suite runs: kubelets register nodes, people deploy.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment},
    batch::v1::Job,
    core::v1 as core,
    policy::v1::PodDisruptionBudget,
    storage::v1::VolumeAttachment,
};
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use model::{
    InstanceId, Namespace, NodeName, ProviderId,
    event::EventObject,
    eviction::{self, CountOrPercent},
    labels,
    selector::SelectorOperator,
};
use serde_json::{Map, Value, json};
use testkit::{ClusterWorld, Deployed, EventWorld, ListedWorld, PodState};

use super::{
    definitions::{
        self, DEVICE_CLASS, NODE_CLASS, NODE_OVERLAY, NODE_POOL, RESOURCE_CLAIM, RESOURCE_SLICE,
        objects,
    },
    world::World,
};

#[expect(clippy::disallowed_methods, reason = "a real control plane takes real time")]
pub(crate) async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

fn is_true(pod: &core::Pod, kind: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|c| c.type_ == kind && c.status == "True")
}

fn is_as_far_as(state: PodState, pod: &core::Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    match state {
        PodState::Unschedulable => {
            let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|c| c.reason.as_deref() == Some("Unschedulable"))
        }
        PodState::Starting => phase == Some("Pending") && is_bound,
        PodState::Running => phase == Some("Running") && is_true(pod, "Ready"),
        // Its controller has counted it, and holds it no longer.
        PodState::Succeeded => {
            phase == Some("Succeeded") && pod.metadata.finalizers.iter().flatten().count() == 0
        }
    }
}

fn template(workload: &Deployed) -> Value {
    let mut annotations = Map::new();
    let mut annotate = |key: &str, value: &str| {
        annotations.insert(format!("kubelet.control-plane/{key}"), value.into());
    };
    if workload.is_slow {
        annotate("stop-after", "45s");
    }
    match workload.state {
        PodState::Starting => annotate("ready-after", "24h"),
        PodState::Running if workload.is_slow => annotate("ready-after", "3s"),
        PodState::Succeeded => annotate("succeed-after", "0s"),
        PodState::Unschedulable | PodState::Running => {}
    }
    let node = workload.node.as_ref().map_or("nowhere", NodeName::as_str);
    let requests = json!({ "requests": { "cpu": "10m", "memory": "10Mi" } });
    let is_job = workload.state == PodState::Succeeded;
    json!({
        "metadata": { "labels": { "app": workload.name }, "annotations": annotations },
        "spec": {
            "terminationGracePeriodSeconds": workload.grace_seconds,
            "restartPolicy": if is_job { "Never" } else { "Always" },
            "nodeSelector": { labels::HOSTNAME: node },
            "containers": [{ "name": "main", "image": "none", "resources": requests }],
        },
    })
}

fn share(count: CountOrPercent) -> Value {
    match count {
        CountOrPercent::Count(count) => count.into(),
        CountOrPercent::Percent(percent) => format!("{percent}%").into(),
    }
}

fn budget_of(budget: &eviction::PodDisruptionBudget) -> Value {
    let selector = budget.selector.as_ref().map(|selector| {
        let expressions = selector.expressions.iter().map(|expression| {
            assert_eq!(expression.operator, SelectorOperator::In, "what suites need");
            json!({ "key": expression.key, "operator": "In", "values": expression.values })
        });
        json!({ "matchExpressions": expressions.collect::<Vec<_>>() })
    });
    let mut spec = Map::new();
    spec.extend(selector.map(|selector| ("selector".to_owned(), selector)));
    spec.extend(budget.min_available.map(|count| ("minAvailable".to_owned(), share(count))));
    spec.extend(budget.max_unavailable.map(|count| ("maxUnavailable".to_owned(), share(count))));
    if budget.always_allows_unhealthy {
        spec.insert("unhealthyPodEvictionPolicy".to_owned(), "AlwaysAllow".into());
    }
    json!({ "metadata": { "name": budget.key.name.as_str() }, "spec": spec })
}

impl ClusterWorld for World {
    fn namespace(&self) -> Namespace {
        Namespace::new(&self.namespace).unwrap()
    }

    async fn join(&self, suffix: &str) -> (NodeName, InstanceId) {
        static INSTANCES: AtomicU64 = AtomicU64::new(0xabc_0000);
        let number = INSTANCES.fetch_add(1, Ordering::Relaxed);
        let instance = InstanceId::new(&format!("i-{number:017x}")).unwrap();
        let provider_id = ProviderId::of_instance(&"us-west-2a".parse().unwrap(), &instance);
        let name = self.create_node(suffix, json!({ "providerID": provider_id.as_str() })).await;
        let is_ready = |node: Option<&core::Node>| {
            let Some(node) = node else { return false };
            let status = node.status.as_ref().and_then(|status| status.conditions.as_ref());
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
            status.into_iter().flatten().any(|c| c.type_ == "Ready" && c.status == "True")
                && taints.is_none_or(Vec::is_empty)
        };
        self.until(&self.all::<core::Node>(), name.as_str(), "ready", is_ready).await;
        (name, instance)
    }

    async fn deploy(&self, workload: &Deployed) {
        let (name, template) = (workload.name.as_str(), template(workload));
        if workload.state == PodState::Succeeded {
            let count = workload.replicas;
            let spec = json!({ "completions": count, "parallelism": count, "template": template });
            let job = json!({ "metadata": { "name": name }, "spec": spec });
            self.create(&self.namespaced::<Job>(), job).await;
        } else {
            let selector = json!({ "matchLabels": { "app": name } });
            let spec = json!({ "replicas": workload.replicas, "selector": selector,
                               "template": template });
            let deployment = json!({ "metadata": { "name": name }, "spec": spec });
            self.create(&self.namespaced::<Deployment>(), deployment).await;
        }
        let pods = self.namespaced::<core::Pod>();
        let list_params = ListParams::default().labels(&format!("app={name}"));
        for _ in 0..300 {
            let far = pods
                .list(&list_params)
                .await
                .unwrap()
                .items
                .iter()
                .filter(|pod| is_as_far_as(workload.state, pod))
                .count();
            if u32::try_from(far).unwrap() == workload.replicas {
                return;
            }
            a_moment().await;
        }
        panic!("{workload:?} did not come so far within a minute");
    }

    async fn undeploy(&self, name: &str) {
        let now = DeleteParams::background();
        // It is one or the other.
        drop(self.namespaced::<Deployment>().delete(name, &now).await);
        drop(self.namespaced::<Job>().delete(name, &now).await);
    }

    async fn add_budget(&self, budget: &eviction::PodDisruptionBudget, healthy: u32) {
        let budgets = self.namespaced::<PodDisruptionBudget>();
        let made = self.create(&budgets, budget_of(budget)).await;
        let healthy = i32::try_from(healthy).unwrap();
        let is_counted = |budget: Option<&PodDisruptionBudget>| {
            let status = budget.and_then(|budget| budget.status.as_ref());
            status.is_some_and(|status| {
                status.observed_generation == made.metadata.generation
                    && status.current_healthy == healthy
            })
        };
        self.until(&budgets, budget.key.name.as_str(), "counted", is_counted).await;
    }

    async fn remove_budget(&self, name: &str) {
        let budgets = self.namespaced::<PodDisruptionBudget>();
        drop(budgets.delete(name, &DeleteParams::default()).await.unwrap());
        self.until(&budgets, name, "gone", |budget| budget.is_none()).await;
    }

    async fn wait(&self) {
        a_moment().await;
    }
}

async fn create(objects: &kube::Api<DynamicObject>, object: Value) {
    let object = serde_json::from_value(object).unwrap();
    drop(objects.create(&PostParams::default(), &object).await.unwrap());
}

impl EventWorld for World {
    async fn events_of(&self, object: &EventObject) -> Vec<(String, String)> {
        let (namespace, name) = match object {
            EventObject::Node(name) => ("default", name.as_str()),
            EventObject::NodeClaim(name) => ("default", name.as_str()),
            EventObject::NodePool(name) => ("default", name.as_str()),
            EventObject::Pod(key, _) => (key.namespace.as_str(), key.name.as_str()),
        };
        let events = kube::Api::<core::Event>::namespaced(self.client.clone(), namespace);
        let selector = format!("involvedObject.name={name},source=karpenter");
        let listed = events.list(&ListParams::default().fields(&selector)).await.unwrap().items;
        let mut texts: Vec<(String, String)> = listed
            .into_iter()
            .map(|event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
            .collect();
        texts.sort();
        texts
    }
}

impl ListedWorld for World {
    async fn make_pool_and_class(&self, name: &str) {
        create(&objects(self, NODE_POOL).await, definitions::node_pool(name)).await;
        create(&objects(self, NODE_CLASS).await, definitions::node_class(name)).await;
    }

    async fn delete_pool_and_class(&self, name: &str) {
        for kind in [NODE_POOL, NODE_CLASS] {
            let objects = objects(self, kind).await;
            drop(objects.delete(name, &DeleteParams::default()).await.unwrap());
        }
    }

    async fn make_daemon_set(&self, name: &str) {
        let template = json!({
            "metadata": { "labels": { "app": name } },
            "spec": { "nodeSelector": { labels::HOSTNAME: "nowhere" },
                      "containers": [{ "name": "main", "image": "none" }] },
        });
        let spec = json!({ "selector": { "matchLabels": { "app": name } }, "template": template });
        let daemon_set = json!({ "metadata": { "name": name }, "spec": spec });
        self.create(&self.namespaced::<DaemonSet>(), daemon_set).await;
    }

    async fn delete_daemon_set(&self, name: &str) {
        let sets = self.namespaced::<DaemonSet>();
        drop(sets.delete(name, &DeleteParams::background()).await.unwrap());
    }

    async fn make_namespace(&self, suffix: &str, (key, value): (&str, &str)) -> Namespace {
        let name = format!("{}-{suffix}", self.namespace);
        let namespace = json!({ "metadata": { "name": name, "labels": { key: value } } });
        self.create(&self.all::<core::Namespace>(), namespace).await;
        Namespace::new(&name).unwrap()
    }

    async fn make_waiting_pods(&self, prefix: &str, count: u32) {
        self.create_waiting_pods(prefix, usize::try_from(count).unwrap()).await;
    }

    async fn delete_waiting_pods(&self, prefix: &str) {
        let pods = self.namespaced::<core::Pod>();
        for pod in pods.list_metadata(&ListParams::default()).await.unwrap().items {
            let name = pod.metadata.name.unwrap();
            if name.starts_with(prefix) {
                drop(pods.delete(&name, &DeleteParams::default().grace_period(0)).await.unwrap());
            }
        }
    }

    async fn make_attached_volume(&self, name: &str, node: &NodeName) {
        let requests = json!({ "requests": { "storage": "1Gi" } });
        let spec = json!({ "accessModes": ["ReadWriteOnce"], "volumeName": name,
                           "storageClassName": "", "resources": requests });
        let claim = json!({ "metadata": { "name": name }, "spec": spec });
        self.create(&self.namespaced::<core::PersistentVolumeClaim>(), claim).await;
        let spec = json!({ "attacher": "example.com", "nodeName": node.as_str(),
                           "source": { "persistentVolumeName": name } });
        let attachment = json!({ "metadata": { "name": name }, "spec": spec });
        self.create(&self.all::<VolumeAttachment>(), attachment).await;
    }

    async fn delete_attached_volume(&self, name: &str) {
        let now = DeleteParams::default();
        let claims = self.namespaced::<core::PersistentVolumeClaim>();
        drop(claims.delete(name, &now).await.unwrap());
        drop(self.all::<VolumeAttachment>().delete(name, &now).await.unwrap());
    }

    async fn make_devices(&self, name: &str) {
        let object = |(kind, version): (&str, &str), spec: Value| json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name }, "spec": spec });
        let pool = json!({ "name": name, "generation": 1, "resourceSliceCount": 1 });
        let slice = json!({ "driver": "driver.example", "pool": pool, "allNodes": true,
                            "devices": [{ "name": "device" }] });
        let request = json!({ "name": "device", "exactly": { "deviceClassName": name } });
        let claim = json!({ "devices": { "requests": [request] } });
        for (kind, spec) in
            [(RESOURCE_SLICE, slice), (DEVICE_CLASS, json!({})), (RESOURCE_CLAIM, claim)]
        {
            create(&objects(self, kind).await, object(kind, spec)).await;
        }
    }

    async fn make_overlays(&self, readable: &str, unreadable: &str) {
        let overlays = objects(self, NODE_OVERLAY).await;
        let spec = json!({ "requirements": [{ "key": "kubernetes.io/arch", "operator": "In",
                                              "values": ["arm64"] }] });
        for (name, spec) in [(readable, spec), (unreadable, json!(5))] {
            let overlay = json!({ "apiVersion": NODE_OVERLAY.1, "kind": NODE_OVERLAY.0,
                                  "metadata": { "name": name }, "spec": spec });
            create(&overlays, overlay).await;
        }
    }
}
