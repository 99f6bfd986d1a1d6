//! The contract of `Cluster`: what is listed, selected, and reported when it cannot be read.

use std::collections::BTreeSet;

use model::{
    Namespace, NodeName, Pod, PodKey,
    eviction::{CountOrPercent, PodDisruptionBudget},
    node::{Eviction, EvictionRequest},
    pod::PodPhase,
    policies::Policies,
    selector::{LabelSelector, SelectorExpression},
    storage::{VolumeAttachment, VolumeClaimKey},
};
use ports::{Cluster, Listing, Malformed, NodeClaims, NodeClasses, NodePools, Nodes, PodSelection};

use super::{
    ATTEMPTS_MAX, Case, Failure,
    cluster_world::{ClusterWorld, Deployed, PodState},
    delete_node, ensure, same,
};
use crate::build;

/// More than the API server is asked for at once.
const MORE_THAN_A_PAGE: u32 = 501;

/// What others make in a cluster that is only listed.
pub trait ListedWorld: ClusterWorld {
    /// Makes a NodePool and an EC2NodeClass of this name, that break no rule.
    async fn make_pool_and_class(&self, name: &str);
    /// Deletes both.
    async fn delete_pool_and_class(&self, name: &str);
    /// Makes a DaemonSet of this name in the world's namespace.
    async fn make_daemon_set(&self, name: &str);
    /// Deletes the DaemonSet of this name.
    async fn delete_daemon_set(&self, name: &str);
    /// Makes a namespace with a label, whose name ends in `suffix`.
    async fn make_namespace(&self, suffix: &str, label: (&str, &str)) -> Namespace;
    /// Makes pods that no scheduler looks at, in this number, whose names start with `prefix`.
    async fn make_waiting_pods(&self, prefix: &str, count: u32);
    /// Deletes those pods at once.
    async fn delete_waiting_pods(&self, prefix: &str);
    /// Makes a PersistentVolumeClaim of this name in the world's namespace that says it is bound to the volume
    /// of this name, and a VolumeAttachment of this name, which attaches the volume to `node`.
    async fn make_attached_volume(&self, name: &str, node: &NodeName);
    /// Deletes both.
    async fn delete_attached_volume(&self, name: &str);
    /// Makes a ResourceSlice of one device for all nodes, a DeviceClass and a ResourceClaim, all of this name.
    async fn make_devices(&self, name: &str);
    /// Makes a NodeOverlay that can be read and one that cannot, under their names.
    async fn make_overlays(&self, readable: &str, unreadable: &str);
}

struct Subject<'a, P, W> {
    port: &'a P,
    world: &'a W,
}

/// Runs every case, on objects that are new each time.
pub async fn cluster<P: Cluster + Nodes, W: ListedWorld>(port: &P, world: &W) -> Vec<Case> {
    let subject = &Subject { port, world };
    vec![
        Case::of("a node is listed until it is gone", subject.nodes().await),
        Case::of("pods are selected by where they are", subject.selected().await),
        Case::of("a pod that ends is listed until it is gone", subject.terminating().await),
        Case::of("unschedulable pods can be provisioned for", subject.unschedulable().await),
        Case::of("a list longer than a page is whole", subject.long().await),
        Case::of("pools and classes are listed", subject.pools_and_classes().await),
        Case::of("daemon sets are listed", subject.daemon_sets().await),
        Case::of("namespaces are listed with their labels", subject.namespaces().await),
        Case::of("budgets are listed with what they allow now", subject.budgets().await),
        Case::of("a volume is attached until it is not", subject.attached().await),
        Case::of("devices are listed with their classes and claims", subject.devices().await),
        Case::of("behind its gate, what cannot be read is reported", subject.overlays().await),
    ]
}

/// Runs every case of a cluster that knows no kind of Karpenter's: its definitions are not installed.
pub async fn without_definitions<P: Cluster + NodeClasses + NodePools + NodeClaims>(
    port: &P,
) -> Vec<Case> {
    let policies = Policies { node_overlay: true, capacity_buffer: true, ..Policies::default() };
    let overlays = async {
        let read = port.surroundings(&policies).await?;
        same("its overlays", &read.surroundings.node_overlays, &Vec::new())?;
        same("its buffers", &read.surroundings.capacity_buffers, &Vec::new())?;
        let kinds: BTreeSet<&str> =
            read.malformed.iter().map(|malformed| malformed.object.as_str()).collect();
        same("what is reported", &kinds, &BTreeSet::from(["CapacityBuffer", "NodeOverlay"]))?;
        let read = port.surroundings(&Policies::default()).await?;
        same("what is reported of closed gates", &read.malformed, &Vec::new())
    };
    let claims = async {
        let answer = port.synced().await.map_err(|error| error.fault);
        same("the answer", &answer.map(drop), &Err(ports::Fault::NotFound))
    };
    vec![
        Case::of("no pool, and a word about it", none("NodePool", port.node_pools().await)),
        Case::of("no pool to tell of, and a word", none("NodePool", port.observed_pools().await)),
        Case::of("no class, and a word about it", none("EC2NodeClass", port.node_classes().await)),
        Case::of(
            "no class to tell of, and a word",
            none("EC2NodeClass", port.observed_classes().await),
        ),
        Case::of("no overlay and no buffer, behind their gates", overlays.await),
        Case::of("claims cannot be shown where their kind is unknown", claims.await),
    ]
}

fn none<T>(kind: &str, listed: Result<Listing<T>, ports::PortError>) -> Result<(), Failure> {
    let listing = listed?;
    same("how many there are", &listing.items.len(), &0)?;
    let reported: Vec<&str> =
        listing.malformed.iter().map(|malformed| malformed.object.as_str()).collect();
    same("what is reported", &reported, &vec![kind])
}

impl<P: Cluster + Nodes, W: ListedWorld> Subject<'_, P, W> {
    async fn nodes(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("listed").await;
        let listed = self.port.nodes().await?.items.into_iter().find(|node| node.name == name);
        let joined = self.port.node(&name).await?;
        ensure(listed.is_some(), || format!("{name} is not listed"))?;
        same("the node", &listed, &joined)?;
        delete_node(self.port, &name).await?;
        let listed = self.port.nodes().await?.items;
        ensure(listed.iter().all(|node| node.name != name), || format!("{name} is still listed"))
    }

    /// The workload's pods among what is selected, by uid.
    async fn own(&self, app: &str, selection: &PodSelection) -> Result<Vec<Pod>, Failure> {
        let listing = self.port.pods(selection).await?;
        let is_own = |pod: &&Pod| {
            pod.key.namespace == self.world.namespace()
                && pod.spec.labels.get("app").is_some_and(|value| value == app)
        };
        let mut pods: Vec<Pod> = listing.items.iter().filter(is_own).cloned().collect();
        let malformed = |unreadable: &&Malformed| {
            unreadable.object.starts_with(&format!("Pod {}/{app}", self.world.namespace()))
        };
        let malformed: Vec<_> = listing.malformed.iter().filter(malformed).collect();
        ensure(malformed.is_empty(), || format!("malformed: {malformed:?}"))?;
        pods.sort_by(|pod, other| pod.uid.cmp(&other.uid));
        Ok(pods)
    }

    async fn check_selected(
        &self,
        state: PodState,
        node: Option<&NodeName>,
        is_waiting: bool,
    ) -> Result<(), Failure> {
        let name = match state {
            PodState::Unschedulable => "selected-unschedulable",
            PodState::Starting => "selected-starting",
            PodState::Running => "selected-running",
            PodState::Succeeded => "selected-succeeded",
        };
        let workload = Deployed {
            name: name.to_owned(),
            node: node.cloned(),
            replicas: 2,
            grace_seconds: 30,
            is_slow: false,
            state,
        };
        self.world.deploy(&workload).await;
        let all = self.own(name, &PodSelection::All).await?;
        same("how many there are", &all.len(), &2)?;
        for pod in &all {
            same("its node", &pod.node.as_ref(), &node)?;
            let phase = match state {
                PodState::Unschedulable | PodState::Starting => PodPhase::Pending,
                PodState::Running => PodPhase::Running,
                PodState::Succeeded => PodPhase::Succeeded,
            };
            same("its phase", &pod.phase, &phase)?;
            same("whether it is ready", &pod.is_ready, &(phase == PodPhase::Running))?;
            same("its grace", &pod.spec.termination_grace_seconds, &30)?;
        }
        let waiting = self.own(name, &PodSelection::Waiting).await?;
        same("how many wait", &waiting.len(), &(if is_waiting { 2 } else { 0 }))?;
        if let Some(node) = node {
            let on_node = self.own(name, &PodSelection::OnNode(node.clone())).await?;
            same("the pods on the node", &on_node, &all)?;
        }
        self.world.undeploy(name).await;
        Ok(())
    }

    async fn selected(&self) -> Result<(), Failure> {
        let (node, _) = self.world.join("selected").await;
        self.check_selected(PodState::Unschedulable, None, true).await?;
        for state in [PodState::Starting, PodState::Running, PodState::Succeeded] {
            self.check_selected(state, Some(&node), false).await?;
        }
        let unknown = PodSelection::OnNode(build::id("unknown"));
        same("pods of no node", &self.port.pods(&unknown).await?.items, &Vec::new())?;
        delete_node(self.port, &node).await
    }

    async fn terminating(&self) -> Result<(), Failure> {
        let (node, _) = self.world.join("terminating").await;
        let workload = Deployed {
            grace_seconds: 600,
            is_slow: true,
            ..Deployed::running("terminating", &node)
        };
        self.world.deploy(&workload).await;
        let pods = self.own("terminating", &PodSelection::All).await?;
        let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        let request =
            EvictionRequest { pod: pod.key.clone(), uid: pod.uid.clone(), grace_seconds: None };
        same("the eviction", &self.port.evict(&request).await?, &Eviction::Accepted)?;
        for selection in [PodSelection::All, PodSelection::OnNode(node.clone())] {
            let listed = self.own("terminating", &selection).await?;
            let same_pod = listed.iter().find(|listed| listed.uid == pod.uid);
            let is_ending = same_pod.is_some_and(Pod::is_terminating);
            ensure(is_ending, || format!("{selection:?}: {listed:?}"))?;
        }
        self.world.undeploy("terminating").await;
        delete_node(self.port, &node).await
    }

    async fn unschedulable(&self) -> Result<(), Failure> {
        let workload = Deployed {
            name: "unschedulable".to_owned(),
            node: None,
            replicas: 1,
            grace_seconds: 30,
            is_slow: false,
            state: PodState::Unschedulable,
        };
        self.world.deploy(&workload).await;
        let waiting = self.own("unschedulable", &PodSelection::Waiting).await?;
        let is_so = matches!(waiting.as_slice(), [pod] if pod.is_provisionable());
        ensure(is_so, || format!("{waiting:?}"))?;
        self.world.undeploy("unschedulable").await;
        Ok(())
    }

    async fn long(&self) -> Result<(), Failure> {
        self.world.make_waiting_pods("long", MORE_THAN_A_PAGE).await;
        for selection in [PodSelection::All, PodSelection::Waiting] {
            let listed = self.port.pods(&selection).await?.items;
            let filter = listed.into_iter().map(|pod| pod.key).filter(|key| {
                key.namespace == self.world.namespace() && key.name.as_str().starts_with("long-")
            });
            let pod_keys: Vec<PodKey> = filter.collect();
            let distinct: BTreeSet<&PodKey> = pod_keys.iter().collect();
            let count = usize::try_from(MORE_THAN_A_PAGE).unwrap_or_default();
            same("how many there are", &(pod_keys.len(), distinct.len()), &(count, count))?;
        }
        self.world.delete_waiting_pods("long").await;
        Ok(())
    }

    async fn pools_and_classes(&self) -> Result<(), Failure> {
        let name = "listed";
        let listed = async || {
            let pools = self.port.node_pools().await?.items;
            let classes = self.port.node_classes().await?.items;
            let pools = pools.iter().filter(|pool| pool.name.as_str() == name).count();
            let classes = classes
                .iter()
                .filter(|listed_node_class| listed_node_class.class.name.as_str() == name)
                .count();
            Ok::<_, Failure>((pools, classes))
        };
        same("before", &listed().await?, &(0, 0))?;
        self.world.make_pool_and_class(name).await;
        same("what is listed", &listed().await?, &(1, 1))?;
        let classes = self.port.node_classes().await?.items;
        let class = classes.iter().find(|listed| listed.class.name.as_str() == name);
        let is_closed = class.is_some_and(|listed| listed.not_ready.is_some());
        ensure(is_closed, || format!("no status says that it is ready: {class:?}"))?;
        self.world.delete_pool_and_class(name).await;
        same("afterwards", &listed().await?, &(0, 0))
    }

    async fn daemon_sets(&self) -> Result<(), Failure> {
        let key = PodKey { namespace: self.world.namespace(), name: build::id("agent") };
        let is_listed = async || {
            let listed = self.port.daemon_sets().await?.items;
            Ok::<_, Failure>(listed.iter().any(|set| set.key == key))
        };
        self.world.make_daemon_set("agent").await;
        same("whether it is listed", &is_listed().await?, &true)?;
        self.world.delete_daemon_set("agent").await;
        same("whether it is listed", &is_listed().await?, &false)
    }

    async fn attached(&self) -> Result<(), Failure> {
        // Attachments have no namespace.
        let name = format!("{}-volume", self.world.namespace());
        let (node, _) = self.world.join("attached").await;
        let key = VolumeClaimKey { namespace: self.world.namespace(), name: build::id(&name) };
        let seen = async || {
            let listing = self.port.volume_attachments().await?;
            let seen = listing.items.into_iter().find(|attached| attached.name == name);
            Ok::<_, Failure>((seen, self.port.volume_claim(&key).await?.and_then(|c| c.volume)))
        };
        same("before", &seen().await?, &(None, None))?;
        self.world.make_attached_volume(&name, &node).await;
        let volume = Some(name.clone());
        let attached =
            VolumeAttachment { name: name.clone(), node: node.clone(), volume: volume.clone() };
        same("what is attached", &seen().await?, &(Some(attached), volume))?;
        self.world.delete_attached_volume(&name).await;
        let mut left = seen().await?;
        for _ in 0..ATTEMPTS_MAX {
            if left == (None, None) {
                break;
            }
            self.world.wait().await;
            left = seen().await?;
        }
        same("afterwards", &left, &(None, None))?;
        delete_node(self.port, &node).await
    }

    async fn namespaces(&self) -> Result<(), Failure> {
        let name = self.world.make_namespace("team", ("team", "a")).await;
        let read = self.port.surroundings(&Policies::default()).await?;
        let labels = read.surroundings.namespaces.get(&name).and_then(|texts| texts.get("team"));
        same("its label", &labels.map(String::as_str), &Some("a"))
    }

    /// What the budget called `name` allows, if it is listed.
    async fn allowed(&self, name: &str) -> Result<Option<u32>, Failure> {
        let read = self.port.surroundings(&Policies::default()).await?.surroundings;
        let keys: Vec<&PodKey> = read
            .disruption_budgets
            .iter()
            .map(|pod_disruption_budget| &pod_disruption_budget.key)
            .collect();
        ensure(keys.is_sorted(), || format!("they are not sorted: {keys:?}"))?;
        let is_ours = |budget: &&PodDisruptionBudget| {
            budget.key.namespace == self.world.namespace() && budget.key.name.as_str() == name
        };
        Ok(read.disruption_budgets.iter().find(is_ours).map(|budget| budget.disruptions_allowed))
    }

    async fn budgets(&self) -> Result<(), Failure> {
        let (node, _) = self.world.join("budgets").await;
        let workload =
            Deployed { replicas: 2, is_slow: true, ..Deployed::running("budgets", &node) };
        self.world.deploy(&workload).await;
        let expressions = BTreeSet::from([SelectorExpression::is("app", "budgets")]);
        let budget = PodDisruptionBudget {
            key: PodKey { namespace: self.world.namespace(), name: build::id("budgets") },
            selector: Some(LabelSelector { expressions, is_invalid: false }),
            min_available: Some(CountOrPercent::Count(1)),
            max_unavailable: None,
            always_allows_unhealthy: false,
            disruptions_allowed: 0,
        };
        same("what it allows before it is made", &self.allowed("budgets").await?, &None)?;
        self.world.add_budget(&budget, 2).await;
        same("what it allows", &self.allowed("budgets").await?, &Some(1))?;
        let pods = self.own("budgets", &PodSelection::All).await?;
        let Some(pod) = pods.first() else { return Err(Failure("no pod".to_owned())) };
        let request =
            EvictionRequest { pod: pod.key.clone(), uid: pod.uid.clone(), grace_seconds: None };
        same("the eviction", &self.port.evict(&request).await?, &Eviction::Accepted)?;
        same("what it allows then", &self.allowed("budgets").await?, &Some(0))?;
        // Until the pod that takes its place is ready.
        let mut allowed = None;
        for _ in 0..ATTEMPTS_MAX {
            allowed = self.allowed("budgets").await?;
            if allowed == Some(1) {
                break;
            }
            self.world.wait().await;
        }
        same("what it allows in the end", &allowed, &Some(1))?;
        self.world.remove_budget("budgets").await;
        self.world.undeploy("budgets").await;
        delete_node(self.port, &node).await
    }

    async fn devices(&self) -> Result<(), Failure> {
        let name = "listed-devices";
        self.world.make_devices(name).await;
        let read = self.port.devices().await?;
        let slices = read.slices.iter().filter(|slice| slice.name == name);
        let classes = read.classes.iter().filter(|class| class.name == name);
        let claims = read.claims.iter().filter(|claim| claim.key.name.as_str() == name);
        same("the slices", &slices.map(|slice| slice.devices.len()).collect(), &vec![1])?;
        let alone = self.port.resource_slices().await?;
        ensure(alone.items.iter().any(|slice| slice.name == name), || {
            format!("{name} is not among {:?}", alone.items)
        })?;
        same("the classes", &classes.count(), &1)?;
        same("the claims", &claims.map(|claim| claim.requests.len()).collect(), &vec![1])
    }

    async fn overlays(&self) -> Result<(), Failure> {
        self.world.make_overlays("readable", "unreadable").await;
        for (node_overlay, wanted) in
            [(true, (vec!["readable"], vec!["NodeOverlay unreadable"])), (false, (vec![], vec![]))]
        {
            let policies = Policies { node_overlay, ..Policies::default() };
            let read = self.port.surroundings(&policies).await?;
            let names = read
                .surroundings
                .node_overlays
                .iter()
                .map(|node_overlay| node_overlay.name.as_str());
            let reported = read
                .malformed
                .iter()
                .map(|malformed| malformed.object.as_str())
                .filter(|object| object.starts_with("NodeOverlay"));
            let seen = (names.collect(), reported.collect());
            same(&format!("with the gate {node_overlay}"), &seen, &wanted)?;
        }
        // A launch asks for them alone, whatever the gate says.
        let listing = self.port.node_overlays().await?;
        let names: Vec<&str> = listing.items.iter().map(|overlay| overlay.name.as_str()).collect();
        same("the overlays by themselves", &names, &vec!["readable"])?;
        let reported: Vec<&str> = listing.malformed.iter().map(|m| m.object.as_str()).collect();
        same("which of them is reported", &reported, &vec!["NodeOverlay unreadable"])
    }
}
