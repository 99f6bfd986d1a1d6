//! One story: a namespace, an EC2NodeClass and a NodePool of its own, and what can be seen of them.

use std::{collections::BTreeSet, fmt::Debug, pin::pin};

use futures_util::{
    TryStreamExt as _,
    future::{Either, select},
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1 as core, policy::v1::PodDisruptionBudget};
use kube::{
    Api, Client, Resource,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
        WatchEvent, WatchParams,
    },
    core::GroupVersionKind,
};
use model::{InstanceId, labels, launch::InstanceState};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use simulator::{Action, Sim};

use super::stage::{Stage, a_moment};

/// How many fifths of a second the test waits for something.
const PATIENCE: u32 = 600;
/// The same in seconds.
const PATIENCE_SECONDS: u32 = 120;

/// A story that is played.
pub(crate) struct Story {
    pub(crate) stage: &'static Stage,
    pub(crate) client: Client,
    /// Of its namespace, its EC2NodeClass and its NodePool.
    pub(crate) name: &'static str,
}

impl Drop for Story {
    fn drop(&mut self) {
        self.stage.end_story();
    }
}

impl Story {
    /// Begins the story `name` in a NodePool with `template` over the spec of its NodeClaims. Nothing when
    /// there is no control plane.
    pub(crate) async fn begin(name: &'static str, template: Value) -> Option<Self> {
        let (stage, client) = Stage::open().await?;
        stage.begin_story();
        let story = Self { stage, client, name };
        story
            .create(&story.all::<core::Namespace>(), json!({ "metadata": { "name": name } }))
            .await;
        let tags = json!([{ "tags": { "karpenter.sh/discovery": "stories" } }]);
        let class = json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
            "metadata": { "name": name },
            "spec": { "role": "KarpenterNodeRole-stories",
                      "amiSelectorTerms": [{ "alias": "al2023@v20260101" }],
                      "subnetSelectorTerms": tags, "securityGroupSelectorTerms": tags },
        });
        story.create(&story.classes(), class).await;
        let reference =
            json!({ "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": name });
        let on_demand = json!({ "key": labels::CAPACITY_TYPE, "operator": "In",
                                "values": ["on-demand"] });
        let mut spec = json!({ "nodeClassRef": reference, "expireAfter": "Never",
                               "requirements": [on_demand] });
        spec.as_object_mut().unwrap().append(&mut template.as_object().unwrap().clone());
        let pool = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": name },
            "spec": { "template": { "spec": spec }, "disruption": {
                "consolidateAfter": "Never", "budgets": [{ "nodes": "100%" }] } },
        });
        story.create(&story.pools(), pool).await;
        // Pods that wait before are looked at again after half a minute.
        story
            .until("its NodePool is ready", async || {
                let pool = story.pools().get(name).await.unwrap();
                is_so(&serde_json::to_value(pool).unwrap(), "Ready", "True").then_some(())
            })
            .await;
        Some(story)
    }

    pub(crate) fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    pub(crate) fn namespaced<K>(&self) -> Api<K>
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), self.name)
    }

    fn dynamic(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        Api::all_with(self.client.clone(), &ApiResource::from_gvk_with_plural(&kind, plural))
    }

    pub(crate) fn claims(&self) -> Api<DynamicObject> {
        self.dynamic("karpenter.sh", "NodeClaim", "nodeclaims")
    }

    pub(crate) fn pools(&self) -> Api<DynamicObject> {
        self.dynamic("karpenter.sh", "NodePool", "nodepools")
    }

    pub(crate) fn classes(&self) -> Api<DynamicObject> {
        self.dynamic("karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclasses")
    }

    /// Creates `object`. With its kind and version left out they are `K`'s.
    pub(crate) async fn create<K>(&self, api: &Api<K>, object: Value) -> K
    where
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    /// Deletes as `kubectl delete --wait=false` does.
    pub(crate) async fn delete<K>(&self, api: &Api<K>, name: &str)
    where
        K: Clone + Debug + DeserializeOwned,
    {
        drop(api.delete(name, &DeleteParams::background()).await.unwrap());
    }

    pub(crate) async fn patch<K>(&self, api: &Api<K>, name: &str, patch: Value)
    where
        K: Clone + Debug + DeserializeOwned,
    {
        drop(api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap());
    }

    /// A pod of this NodePool with `spec` over it: four of them fill a node.
    pub(crate) fn pod_template(&self, annotations: &Value, spec: &Value) -> Value {
        let mut whole = json!({
            "terminationGracePeriodSeconds": 5,
            "nodeSelector": { labels::NODE_POOL: self.name },
            "containers": [{ "name": "main", "image": "none",
                             "resources": { "requests": { "cpu": "900m" } } }],
        });
        whole.as_object_mut().unwrap().append(&mut spec.as_object().unwrap().clone());
        json!({ "metadata": { "labels": { "app": "web" }, "annotations": annotations },
                "spec": whole })
    }

    /// A pod without a controller.
    pub(crate) async fn create_pod(&self, annotations: Value, spec: Value) {
        let mut pod = self.pod_template(&annotations, &spec);
        pod["metadata"]["name"] = "web".into();
        self.create(&self.namespaced::<core::Pod>(), pod).await;
    }

    /// A Deployment called `web`, and waits until its pods are ready.
    pub(crate) async fn deploy(&self, replicas: usize) {
        let deployment = json!({ "metadata": { "name": "web" }, "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "web" } },
            "template": self.pod_template(&json!({}), &json!({})),
        } });
        self.create(&self.namespaced::<Deployment>(), deployment).await;
        self.until_ready(replicas).await;
    }

    pub(crate) async fn protect(&self, min_available: usize) {
        let budget = json!({ "metadata": { "name": "web" }, "spec": {
            "minAvailable": min_available, "selector": { "matchLabels": { "app": "web" } } } });
        self.create(&self.namespaced::<PodDisruptionBudget>(), budget).await;
        self.until("its budget is counted", async || {
            let budget = self.namespaced::<PodDisruptionBudget>().get("web").await.unwrap();
            budget.status.filter(|status| 0 < status.disruptions_allowed)
        })
        .await;
    }

    /// What `look` finds, when it finds something.
    pub(crate) async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..PATIENCE {
            if let Some(found) = look().await {
                return found;
            }
            a_moment().await;
        }
        panic!("{}: not within two minutes: {what}: {:#?}", self.name, self.shown().await)
    }

    /// Plays `story`, all the while at least `least` pods are ready and stay.
    pub(crate) async fn with_ready<T>(&self, least: usize, story: impl Future<Output = T>) -> T {
        let watch = async {
            loop {
                let ready = self.ready().await.len();
                assert!(least <= ready, "{ready} pods are ready and not leaving, not {least}");
                a_moment().await;
            }
        };
        match select(pin!(watch), pin!(story)).await {
            Either::Left(((), _)) => unreachable!("it watches for ever"),
            Either::Right((output, _)) => output,
        }
    }

    /// The pods that are ready and not on their way out.
    pub(crate) async fn ready(&self) -> Vec<core::Pod> {
        let pods = self.namespaced::<core::Pod>().list(&ListParams::default()).await.unwrap();
        let is_ready = |pod: &core::Pod| {
            let status = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            let mut conditions = status.into_iter().flatten();
            pod.metadata.deletion_timestamp.is_none()
                && conditions.any(|c| c.type_ == "Ready" && c.status == "True")
        };
        pods.items.into_iter().filter(is_ready).collect()
    }

    /// Waits until this number of pods is ready.
    pub(crate) async fn until_ready(&self, count: usize) {
        self.until("its pods are ready", async || {
            (self.ready().await.len() == count).then_some(())
        })
        .await;
    }

    /// Waits until this number of pods is ready, all of them on the node of `claim`.
    pub(crate) async fn until_ready_on(&self, claim: &Claim, count: usize) {
        self.until("its pods are ready there", async || {
            let pods = self.ready().await;
            let nodes = pods.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.as_ref());
            (nodes.filter(|node| **node == claim.node).count() == count).then_some(())
        })
        .await;
    }

    /// The NodeClaims of the NodePool, as they are shown.
    pub(crate) async fn shown(&self) -> Vec<Value> {
        let of_pool = ListParams::default().labels(&format!("{}={}", labels::NODE_POOL, self.name));
        let claims = self.claims().list(&of_pool).await.unwrap().items;
        claims.into_iter().map(|claim| serde_json::to_value(claim).unwrap()).collect()
    }

    /// The only NodeClaim, once its node is initialized.
    pub(crate) async fn initialized(&self) -> Claim {
        self.until("one NodeClaim is ready", async || {
            let claims = self.shown().await;
            let [claim] = claims.as_slice() else { return None };
            is_so(claim, "Ready", "True").then(|| Claim::of(claim))
        })
        .await
    }

    /// The NodeClaim of `claim`, if it is there.
    pub(crate) async fn claim(&self, claim: &Claim) -> Option<Value> {
        let shown = self.claims().get_opt(&claim.name).await.unwrap();
        shown.map(|claim| serde_json::to_value(claim).unwrap())
    }

    /// The node of `claim`, if there is one.
    pub(crate) async fn node(&self, claim: &Claim) -> Option<core::Node> {
        if claim.node.is_empty() {
            return None;
        }
        self.all::<core::Node>().get_opt(&claim.node).await.unwrap()
    }

    /// The first state of an object after `version` that `is` says yes to. What lasts for a second is seen too:
    /// a test that only looks now and then misses it on a busy machine.
    async fn first_after<K>(
        &self,
        api: &Api<K>,
        (name, version): (&str, &str),
        (what, is): (&str, impl Fn(&Value) -> bool),
    ) -> Value
    where
        K: Clone + Debug + DeserializeOwned + Serialize,
    {
        let of_name = format!("metadata.name={name}");
        let params = WatchParams::default().fields(&of_name).timeout(PATIENCE_SECONDS);
        let mut events = pin!(api.watch(&params, version).await.unwrap());
        while let Some(event) = events.try_next().await.unwrap() {
            let state = match event {
                WatchEvent::Added(state)
                | WatchEvent::Modified(state)
                | WatchEvent::Deleted(state) => serde_json::to_value(state).unwrap(),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(error) => panic!("{}: {what}: {error:?}", self.name),
            };
            if is(&state) {
                return state;
            }
        }
        panic!("{}: not within two minutes: {what}: {:#?}", self.name, self.shown().await)
    }

    /// The pod as it was when it was deleted, whenever after `before` that was.
    pub(crate) async fn deleted(&self, before: &core::Pod) -> Value {
        let metadata = &before.metadata;
        let (name, version) =
            (metadata.name.as_ref().unwrap(), metadata.resource_version.as_ref().unwrap());
        let is = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
        let what = ("the pod is deleted", is);
        self.first_after(&self.namespaced::<core::Pod>(), (name, version), what).await
    }

    /// The NodeClaim as it was when its condition came to be so, whenever after `claim` that was.
    pub(crate) async fn until_condition(&self, claim: &Claim, kind: &str, status: &str) -> Value {
        let what = format!("{kind} is {status}");
        let is = |shown: &Value| is_so(shown, kind, status);
        self.first_after(&self.claims(), (&claim.name, &claim.version), (&what, is)).await
    }

    /// The same, and the reason of the condition.
    pub(crate) async fn until_reason(&self, claim: &Claim, kind: &str, status: &str) -> String {
        let shown = self.until_condition(claim, kind, status).await;
        condition(&shown, kind).unwrap()["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until nothing is left of a NodeClaim: object, node, instance and record.
    pub(crate) async fn until_gone(&self, claim: &Claim) {
        self.until("the NodeClaim is gone", async || {
            self.claim(claim).await.is_none().then_some(())
        })
        .await;
        assert!(self.node(claim).await.is_none(), "the node of {} outlives it", claim.name);
        assert!(!self.instances().await.contains(&claim.instance), "{} leaks", claim.name);
    }

    /// The instances of the NodePool that run.
    pub(crate) async fn instances(&self) -> BTreeSet<String> {
        let name = self.name;
        let (answer, found) = tokio::sync::oneshot::channel();
        self.stage
            .account(move |account| {
                let account = account.clone();
                drop(tokio::task::spawn_local(async move {
                    let described = account.describe_instances().await.unwrap().into_iter();
                    let live = described.map(|described| described.instance).filter(|instance| {
                        matches!(instance.state, InstanceState::Pending | InstanceState::Running)
                            && instance.node_pool.as_ref().is_some_and(|pool| pool.as_str() == name)
                    });
                    drop(answer.send(live.map(|instance| instance.id.to_string()).collect()));
                }));
            })
            .await;
        found.await.unwrap()
    }

    /// Waits until the instances that run are those that NodeClaims show, and those of the ledger.
    pub(crate) async fn nothing_leaks(&self) {
        let name = self.name;
        self.until("account, ledger and NodeClaims are the same", async || {
            let shown: BTreeSet<String> =
                self.shown().await.iter().map(|c| Claim::of(c).instance).collect();
            let known = move |account: &Sim| {
                let claims =
                    account.claims().into_iter().filter(|claim| claim.node_pool.as_str() == name);
                claims.filter_map(|claim| Some(claim.instance?.id.to_string())).collect()
            };
            let known: BTreeSet<String> = self.stage.account(known).await;
            (shown == self.instances().await && shown == known).then_some(())
        })
        .await;
    }

    /// Something happens to the account.
    pub(crate) async fn act(&self, action: Action) {
        self.stage.account(move |account| account.act(action)).await;
    }

    /// The reasons of the events about the object called `name`.
    pub(crate) async fn told(&self, name: &str) -> BTreeSet<String> {
        let of = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let events = self.all::<core::Event>().list(&of).await.unwrap().items;
        events.into_iter().filter_map(|event| event.reason).collect()
    }
}

/// Where a NodeClaim is, and as of when.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) name: String,
    version: String,
    pub(crate) node: String,
    pub(crate) instance: String,
}

impl Claim {
    pub(crate) fn of(claim: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let provider_id = text(&claim["status"]["providerID"]);
        Self {
            name: text(&claim["metadata"]["name"]),
            version: text(&claim["metadata"]["resourceVersion"]),
            node: text(&claim["status"]["nodeName"]),
            instance: provider_id.rsplit('/').next().unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn instance_id(&self) -> InstanceId {
        InstanceId::new(&self.instance).unwrap()
    }
}

/// A condition in the status of an object.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

pub(crate) fn is_so(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == status)
}
