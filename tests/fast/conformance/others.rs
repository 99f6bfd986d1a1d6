//! What others do to the simulated cluster while a suite runs.

use std::{collections::BTreeMap, sync::Arc};

use jiff::SignedDuration;
use model::{
    InstanceId, Namespace, NodeName, Pod, PodKey, PodSpec, Requirement,
    dynamic_resources::{
        DeviceAsk, DeviceClass, DeviceCount, DeviceRequest, RequestKind, ResourceClaim,
        ResourceClaimKey, ResourcePool, ResourceSlice, SliceAccess, SliceDevice,
    },
    event::EventObject,
    eviction::PodDisruptionBudget,
    facts::DaemonSet,
    labels,
    node::NodePatch,
    overlay::NodeOverlay,
    pod::PodPhase,
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
};
use ports::{Fleet as _, Malformed, Nodes as _, Templates as _};
use simulator::{Action, ClusterObject, Sim, StoryWorkload, StoryWorkloadKind, WorldSettings};
use testkit::{ClusterWorld, Deployed, EventWorld, ListedWorld, PodState, build};

/// The hands of others on a simulated cluster.
pub(crate) struct Others(pub(crate) Sim);

impl Others {
    pub(crate) fn pass(&self, time: SignedDuration) {
        let later = self.0.now().checked_add(time).expect("a time of this year");
        self.0.pass_until(later);
    }

    fn key(&self, name: &str) -> PodKey {
        PodKey { namespace: self.namespace(), name: build::id(name) }
    }

    fn own(&self, workload: &str) -> Vec<Pod> {
        let mut pods = self.0.pods();
        pods.retain(|pod| pod.spec.labels.get("app").is_some_and(|app| app == workload));
        pods
    }
}

/// Whether the kubelet of `pod` and the scheduler are done with it.
fn is_as_far_as(state: PodState, pod: &Pod) -> bool {
    match state {
        PodState::Unschedulable => pod.unschedulable_at.is_some(),
        PodState::Starting => pod.phase == PodPhase::Pending && pod.node.is_some(),
        PodState::Running => pod.phase == PodPhase::Running,
        PodState::Succeeded => pod.phase == PodPhase::Succeeded,
    }
}

impl ClusterWorld for Others {
    fn namespace(&self) -> Namespace {
        build::id("suite")
    }

    async fn join(&self, suffix: &str) -> (NodeName, InstanceId) {
        let sim = &self.0;
        sim.ensure(&build::template(build::TEMPLATE)).await.expect("a template");
        let cluster = WorldSettings::default().cluster;
        let request = build::fleet_request(&cluster, &format!("join-{suffix}"));
        let answer = sim.launch(&request).await.expect("capacity");
        let instance = answer.instances.first().expect("an instance").id.clone();
        self.pass(SignedDuration::from_secs(120));
        let nodes = sim.nodes();
        let is_its = |node: &model::node::Node| {
            node.provider_id.as_ref().and_then(model::ProviderId::instance).as_ref()
                == Some(&instance)
        };
        let node = nodes.into_iter().find(is_its).expect("a node");
        let patch = NodePatch { remove_taints: node.taints, ..NodePatch::default() };
        sim.patch(&node.name, &patch).await.expect("a patch");
        (node.name, instance)
    }

    async fn deploy(&self, workload: &Deployed) {
        let node = workload.node.as_ref().map_or("nowhere", NodeName::as_str);
        let hostname = Requirement::of_label(labels::HOSTNAME, node).expect("a label");
        let spec = PodSpec {
            labels: [("app".to_owned(), workload.name.clone())].into(),
            node_selector: [hostname].into_iter().collect(),
            requests: build::resources("cpu=10m memory=10Mi pods=1"),
            termination_grace_seconds: workload.grace_seconds,
            ..PodSpec::default()
        };
        let key = self.key(&workload.name);
        let made = StoryWorkload::deployment(key, workload.replicas, Arc::new(spec));
        let made = match workload.state {
            PodState::Succeeded => {
                let runs_for = Some(SignedDuration::from_secs(1));
                StoryWorkload { kind: StoryWorkloadKind::Job, runs_for, ..made }
            }
            PodState::Unschedulable | PodState::Starting | PodState::Running => made,
        };
        self.0.add(vec![ClusterObject::Workload(made)]);
        for _ in 0..1_000 {
            let pods = self.own(&workload.name);
            let far = pods.iter().filter(|pod| is_as_far_as(workload.state, pod)).count();
            if u32::try_from(far) == Ok(workload.replicas) {
                return;
            }
            self.pass(SignedDuration::from_millis(50));
        }
        panic!("{workload:?} did not come so far: {:?}", self.own(&workload.name));
    }

    async fn undeploy(&self, name: &str) {
        self.0.act(Action::DeleteWorkload(self.key(name)));
    }

    async fn add_budget(&self, budget: &PodDisruptionBudget, _healthy: u32) {
        self.0.add(vec![ClusterObject::DisruptionBudget(budget.clone())]);
    }

    async fn remove_budget(&self, name: &str) {
        self.0.act(Action::DeleteDisruptionBudget(self.key(name)));
    }

    async fn wait(&self) {
        self.pass(SignedDuration::from_secs(1));
    }
}

impl EventWorld for Others {
    async fn events_of(&self, object: &EventObject) -> Vec<(String, String)> {
        let events = self.0.told().into_iter().map(|(_, event)| event);
        let of_object = events.filter(|event| event.about == *object);
        let mut texts: Vec<(String, String)> =
            of_object.map(|event| (event.reason.to_string(), event.message)).collect();
        texts.sort();
        texts
    }
}

impl ListedWorld for Others {
    async fn make_pool_and_class(&self, name: &str) {
        let class = ClusterObject::NodeClass(build::node_class(name));
        self.0.add(vec![ClusterObject::NodePool(build::node_pool(name)), class]);
    }

    async fn delete_pool_and_class(&self, name: &str) {
        self.0.act(Action::DeleteNodePool(build::id(name)));
        self.0.act(Action::DeleteNodeClass(build::id(name)));
    }

    async fn make_daemon_set(&self, name: &str) {
        let daemon_set = DaemonSet { key: self.key(name), spec: Arc::new(PodSpec::default()) };
        self.0.add(vec![ClusterObject::DaemonSet(daemon_set, BTreeMap::new())]);
    }

    async fn delete_daemon_set(&self, name: &str) {
        self.0.act(Action::DeleteDaemonSet(self.key(name)));
    }

    async fn make_namespace(&self, suffix: &str, (key, value): (&str, &str)) -> Namespace {
        let name: Namespace = build::id(&format!("suite-{suffix}"));
        let labels = [(key.to_owned(), value.to_owned())].into();
        self.0.add(vec![ClusterObject::Namespace(name.clone(), labels)]);
        name
    }

    async fn make_waiting_pods(&self, prefix: &str, count: u32) {
        let workload = Deployed {
            name: prefix.to_owned(),
            node: None,
            replicas: count,
            grace_seconds: 0,
            is_slow: false,
            state: PodState::Unschedulable,
        };
        self.deploy(&workload).await;
    }

    async fn delete_waiting_pods(&self, prefix: &str) {
        self.undeploy(prefix).await;
    }

    async fn make_attached_volume(&self, name: &str, node: &NodeName) {
        let PodKey { namespace, name: object } = self.key(name);
        let volume = Some(name.to_owned());
        let claim = VolumeClaim { volume: volume.clone(), ..VolumeClaim::default() };
        let attachment = VolumeAttachment { name: name.to_owned(), node: node.clone(), volume };
        self.0.add(vec![
            ClusterObject::VolumeClaim(VolumeClaimKey { namespace, name: object }, claim),
            ClusterObject::VolumeAttachment(attachment),
        ]);
    }

    async fn delete_attached_volume(&self, name: &str) {
        let PodKey { namespace, name: object } = self.key(name);
        self.0.act(Action::DeleteVolumeClaim(VolumeClaimKey { namespace, name: object }));
        self.0.act(Action::DeleteVolumeAttachment(name.to_owned()));
    }

    async fn make_devices(&self, name: &str) {
        let ask = DeviceAsk {
            class: name.to_owned(),
            selectors: Vec::new(),
            count: DeviceCount::Exact(1),
            capacity: BTreeMap::new(),
        };
        let request = DeviceRequest { name: "device".to_owned(), kind: RequestKind::Exactly(ask) };
        let PodKey { namespace, name: object } = self.key(name);
        self.0.add(vec![
            ClusterObject::DeviceClass(DeviceClass {
                name: name.to_owned(),
                selectors: Vec::new(),
            }),
            ClusterObject::ResourceSlice(Box::new(ResourceSlice {
                name: name.to_owned(),
                owner: None,
                driver: "driver.example".into(),
                pool: ResourcePool { name: name.into(), generation: 1, slice_count: 1 },
                access: SliceAccess::AllNodes,
                devices: vec![SliceDevice { name: "device".into(), ..SliceDevice::default() }],
                shared_counters: Vec::new(),
            })),
            ClusterObject::ResourceClaim(Box::new(ResourceClaim {
                key: ResourceClaimKey { namespace, name: object },
                requests: vec![request],
                constraints: Vec::new(),
                allocation: None,
                reserved_for: Vec::new(),
            })),
        ]);
    }

    async fn make_overlays(&self, readable: &str, unreadable: &str) {
        let overlay = NodeOverlay {
            name: build::id(readable),
            weight: 0,
            requirements: build::requirements("arch=arm64"),
            price: None,
            capacity: None,
            problems: Vec::new(),
        };
        let object = format!("NodeOverlay {unreadable}");
        let problem = "spec: must be a map, not the number 5".to_owned();
        self.0.add(vec![
            ClusterObject::NodeOverlay(overlay),
            ClusterObject::Unreadable(Malformed::new(object, problem)),
        ]);
    }
}
