//! The simulated cluster: a store of objects, and stand-ins for what acts on them.
//!
//! Scheduler, controllers and kubelets act a moment after something changed, in one pass.

mod allocation;
mod alpha_records;
mod before;
mod bindings;
mod budgets;
mod controllers;
mod devices;
mod disturbances;
mod events;
mod kubelet;
mod lists;
mod neighbours;
mod node_claims;
mod nodes;
mod planned;
mod pods;
mod records;
mod scheduler;
mod selectors;
mod volumes;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    Condition, ConditionKind, InstanceId, Namespace, NodeClaimName, NodeClassName, NodeName,
    NodePoolName, ObjectName, Pod, PodKey, PodSpec, Resources,
    buffer::{BufferStatus, CapacityBuffer},
    condition::{NotReady, Untrue},
    eviction::PodDisruptionBudget,
    facts::DaemonSet,
    node::Node,
    node_class::{ListedNodeClass, NodeClass, NodeClassStatus},
    node_pool::{NodePool, NodePoolStatus},
    overlay::NodeOverlay,
    storage::{Storage, VolumeAttachment},
    wake::WakeWebhooks,
};
use ports::{Malformed, PodSelection};

pub use bindings::{Bindings, bindings};
pub use devices::published_slices;
pub(crate) use lists::{NODE_CLASS, NODE_POOL};
pub use node_claims::NodeClaimObject;
pub(crate) use records::spec_of;
pub use records::{ConditionRecord, ObjectRecord};

use self::{records::Records, selectors::SpreadSpecs, waiting::Waiting};
use crate::{
    story::{Action, BufferReferent, ClusterObject, StoryWorkload},
    timeline::{Happening, Summary},
    world::{Event, World},
};

/// From a change to the controllers' and the scheduler's next pass.
const REACTION: SignedDuration = SignedDuration::from_millis(100);

/// A node, and what is on it.
#[derive(Debug)]
pub(crate) struct NodeEntry {
    pub(crate) node: Node,
    pub(crate) instance: InstanceId,
    /// What the pods on it request.
    used: Resources,
    pods: BTreeSet<PodKey>,
    /// DaemonSets that have their pod for it.
    daemons: BTreeSet<PodKey>,
}

impl NodeEntry {
    /// A node without pods.
    fn empty(node: Node, instance: InstanceId) -> Self {
        let (used, pods, daemons) = (Resources::default(), BTreeSet::new(), BTreeSet::new());
        Self { node, instance, used, pods, daemons }
    }

    /// `pod` is bound to it.
    fn take(&mut self, pod: &Pod) {
        self.used = self.used.saturating_add(&pod.spec.requests);
        self.pods.insert(pod.key.clone());
    }
}

/// What makes a pod again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Controller {
    Workload(PodKey),
    DaemonSet(PodKey),
}

/// A pod, and what it belongs to.
#[derive(Debug)]
pub(crate) struct PodEntry {
    pub(crate) pod: Pod,
    controller: Controller,
    /// The only node that a daemon may go to.
    pinned: Option<NodeName>,
    runs_for: Option<SignedDuration>,
    /// Since when it is being deleted, and how many seconds it may take.
    deletion: Option<(Timestamp, u32)>,
}

/// A workload and its pods.
#[derive(Debug)]
struct WorkloadEntry {
    workload: StoryWorkload,
    pods: BTreeSet<PodKey>,
    /// Pods of a Job that ended well; whether a bare pod was ever made.
    done: u32,
    /// Whether its pods may not be as many as it wants.
    is_changed: bool,
    /// Part of the name of its ReplicaSet.
    hash: String,
}

/// What was told about an EC2NodeClass.
#[derive(Debug)]
pub(crate) struct ClassStatusRecord {
    /// As it was then.
    pub(crate) class: NodeClass,
    pub(crate) status: NodeClassStatus,
}

impl ClusterState {
    /// `class` with what was told about it.
    pub(crate) fn listed(&self, class: &NodeClass) -> ListedNodeClass {
        let told = self.class_statuses.get(&class.name);
        // Annotations of rollouts are no part of the spec.
        let of_spec = |class: &NodeClass| NodeClass { rollout: None, ..class.clone() };
        let present = told.filter(|told| of_spec(&told.class) == of_spec(class));
        let not_ready = match (told, present) {
            (None, _) => Some(NotReady::Unseen),
            (Some(_), None) => Some(NotReady::Stale),
            (Some(_), Some(told)) => self.not_ready(&class.name, &told.status),
        };
        let status = present.map(|told| told.status.stored());
        ListedNodeClass { class: class.clone(), not_ready, status }
    }

    /// Why nothing may be launched yet from the class called `name`, whose status is `status`.
    fn not_ready(&self, name: &NodeClassName, status: &NodeClassStatus) -> Option<NotReady> {
        let Some(ready) = status.ready() else { return Some(NotReady::Unseen) };
        match ready.status {
            Some(true) => return None,
            None if self.classes_from_before.contains(name) => return None,
            Some(false) | None => {}
        }
        let others = status.conditions.iter().filter(|condition| {
            condition.kind != ConditionKind::Ready && condition.status != Some(true)
        });
        let others = others.map(untrue).collect();
        Some(NotReady::Conditions { ready: Some(untrue(ready)), others })
    }

    /// A class was resolved.
    pub(crate) fn put_class_status(&mut self, told: ClassStatusRecord) {
        let name = told.class.name.clone();
        if told.status.ready().is_some_and(|ready| ready.status.is_some()) {
            self.classes_from_before.remove(&name);
        }
        self.class_statuses.insert(name, told);
    }
}

/// A condition that is not true, as it is read.
fn untrue(condition: &Condition) -> Untrue {
    Untrue {
        kind: condition.kind.to_string(),
        is_false: condition.status == Some(false),
        reason: condition.reason.to_string(),
        message: condition.message.clone(),
    }
}

/// Everything in the cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterState {
    pub(crate) node_pools: BTreeMap<NodePoolName, NodePool>,
    pub(crate) node_classes: BTreeMap<NodeClassName, NodeClass>,
    pub(crate) class_records: Records<NodeClassName>,
    pub(crate) pool_records: Records<NodePoolName>,
    pub(crate) overlay_records: Records<ObjectName>,
    pub(crate) buffer_records: Records<PodKey>,
    /// What was told about CapacityBuffers, beside conditions.
    pub(crate) buffer_statuses: BTreeMap<PodKey, BufferStatus>,
    /// The lease of a ledger, if one was ever held.
    pub(crate) ledger_lease: Option<model::lease::LedgerLease>,
    /// The webhooks that call `wake`, if they are installed.
    pub(crate) webhooks: Option<WakeWebhooks>,
    /// Whether Karpenter runs in the cluster and holds its lease.
    pub(crate) has_karpenter: bool,
    /// What others made under the name of Karpenter's lease.
    pub(crate) foreign_leases: model::lease::ObservedLeases,
    /// What was told about them.
    pub(crate) class_statuses: BTreeMap<NodeClassName, ClassStatusRecord>,
    /// Classes that were resolved before the world began: they can be launched from until
    /// a status says that they cannot.
    pub(crate) classes_from_before: BTreeSet<NodeClassName>,
    pub(crate) pool_statuses: BTreeMap<NodePoolName, NodePoolStatus>,
    pub(crate) node_claims: BTreeMap<NodeClaimName, NodeClaimObject>,
    /// The labels that Services select pods by.
    pub(crate) services: BTreeMap<PodKey, BTreeMap<String, String>>,
    /// What kube-scheduler takes for the specs of pods without spread constraints.
    pub(crate) spread_specs: SpreadSpecs,
    pub(crate) daemon_sets: BTreeMap<PodKey, DaemonSet>,
    pub(crate) nodes: BTreeMap<NodeName, NodeEntry>,
    pub(crate) pods: BTreeMap<PodKey, PodEntry>,
    pub(crate) node_of_instance: BTreeMap<InstanceId, NodeName>,
    pub(crate) storage: Storage,
    /// VolumeAttachments by name.
    pub(crate) attachments: BTreeMap<String, VolumeAttachment>,
    /// Volumes that are never detached.
    stuck_volumes: BTreeSet<String>,
    /// The class of claims that name none.
    default_storage_class: Option<String>,
    budgets: BTreeMap<PodKey, PodDisruptionBudget>,
    pub(crate) node_overlays: BTreeMap<ObjectName, NodeOverlay>,
    pub(crate) devices: devices::DeviceObjects,
    /// With their generations.
    pod_templates: BTreeMap<PodKey, (Arc<PodSpec>, i64)>,
    pub(crate) capacity_buffers: BTreeMap<PodKey, (CapacityBuffer, Option<BufferReferent>)>,
    /// What no list can show.
    unreadable: BTreeSet<Malformed>,
    /// Pods whose evictions a webhook refuses.
    refused_evictions: BTreeSet<PodKey>,
    namespaces: BTreeMap<Namespace, BTreeMap<String, String>>,
    workloads: BTreeMap<PodKey, WorkloadEntry>,
    waiting: Waiting,
    /// Pods that keep others away from where they are.
    guards: BTreeSet<PodKey>,
    is_reconcile_planned: bool,
    /// When the pods of an instance's node are collected, where chance does not decide it.
    pub(crate) collected_at: BTreeMap<InstanceId, Timestamp>,
    pub(crate) events: events::Events,
    uids: u64,
    addresses: u64,
    pending_times: Vec<SignedDuration>,
    evictions: u64,
    lost: u64,
}

impl ClusterState {
    /// Pods in the API server's order.
    pub(crate) fn selected<'a>(
        &'a self,
        selection: &PodSelection,
    ) -> Box<dyn Iterator<Item = &'a Pod> + 'a> {
        match selection {
            PodSelection::All => Box::new(self.pods.values().map(|entry| &entry.pod)),
            PodSelection::Waiting => Box::new(self.pods_called(self.waiting.keys())),
            PodSelection::OnNode(node) => {
                if let Some(entry) = self.nodes.get(node) {
                    return Box::new(self.pods_called(&entry.pods));
                }
                // Pods outlive their node until they are collected.
                let node = node.clone();
                let is_there = move |pod: &&Pod| pod.node.as_ref() == Some(&node);
                Box::new(self.pods.values().map(|entry| &entry.pod).filter(is_there))
            }
        }
    }

    fn pods_called<'a>(&'a self, keys: &'a BTreeSet<PodKey>) -> impl Iterator<Item = &'a Pod> {
        keys.iter().filter_map(|key| self.pods.get(key)).map(|entry| &entry.pod)
    }

    /// Whether a node has no pods that would need another one.
    pub(crate) fn is_drained(&self, node: &NodeName) -> bool {
        let Some(entry) = self.nodes.get(node) else { return false };
        !self.pods_called(&entry.pods).any(Pod::is_reschedulable)
    }

    /// What the pods of daemons would take of a node that does not exist yet, at most.
    pub(crate) fn daemon_specs(&self) -> impl Iterator<Item = &Arc<PodSpec>> {
        self.daemon_sets.values().map(|daemon_set| &daemon_set.spec)
    }
}

impl World {
    /// Lets controllers and scheduler look at what changed.
    pub(crate) fn touch(&mut self) {
        if !self.cluster.is_reconcile_planned {
            self.cluster.is_reconcile_planned = true;
            self.after(REACTION, Event::Reconcile);
        }
    }

    pub(crate) fn reconcile(&mut self) {
        self.cluster.is_reconcile_planned = false;
        self.evict_by_taints();
        self.reconcile_workloads();
        self.reconcile_daemons();
        self.schedule_pods();
    }

    /// Lets an action happen.
    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Add(objects) => {
                for object in objects {
                    self.add(object);
                }
            }
            Action::Scale { workload, replicas } => self.scale(workload, replicas),
            Action::DeleteWorkload(key) => self.delete_workload(&key),
            Action::DeleteDaemonSet(key) => self.delete_daemon_set(&key),
            Action::DeleteDisruptionBudget(key) => drop(self.cluster.budgets.remove(&key)),
            Action::DeleteCapacityBuffer(key) => self.cluster.delete_buffer(&key),
            Action::DeleteNodeOverlay(name) => self.cluster.delete_overlay(&name),
            Action::DeleteNodePool(name) => {
                self.cluster.delete_pool(&name);
                self.delete_node_claims_of(&name);
            }
            Action::DeleteNodeClaim(name) => self.delete_node_claim(&name),
            Action::DeleteNode(name) => self.delete_node(&name),
            Action::DeleteNodeClass(name) => self.cluster.delete_class(&name),
            Action::InterruptSpot(target) => self.interrupt_spot(&target),
            Action::RecommendRebalance(target) => self.recommend_rebalance(&target),
            Action::FailCheck { target, is_of_host } => self.fail_check(&target, is_of_host),
            Action::ShiftZone(zone, until) => self.shift_zone(zone, until),
            Action::BeginOutage(zone) => self.begin_outage(zone),
            Action::EndOutage(zone) => self.end_outage(&zone),
            Action::AnnounceChange(target) => self.announce_change(&target),
            Action::TerminateInstance(target) => self.terminate_one(&target),
            Action::SetCapacity { offering, instances } => self.set_capacity(offering, instances),
            Action::SetPrice { offering, price } => self.set_price(&offering, price),
            Action::AddLeases(leases) => self.cluster.foreign_leases = *leases,
            Action::EndLaunches(reason) => self.account.launches_end = reason,
            Action::ProtectInstance(id) => drop(self.account.protected.insert(id)),
            Action::LoseLedger => self.ledger.lose(self.now),
            Action::StopSchedule(function) => self.stop_schedule(function),
            Action::MakeReadable(object) => {
                self.cluster.unreadable.retain(|malformed| malformed.object != object);
            }
            Action::SetReadable { claim, is_readable } => {
                self.ledger.set_readable(claim, is_readable);
            }
            Action::ForgetClaim(name) => {
                self.ledger.forget(&name, self.now);
                self.cluster.node_claims.remove(&name);
            }
            Action::BackUpLedger => self.ledger.back_up(),
            Action::RestoreLedger => self.ledger.restore(self.now),
            Action::RunKarpenter(is_running) => self.cluster.has_karpenter = is_running,
            Action::AddForeignNodeClaim(claim) => {
                let name = claim.name.clone();
                let foreign = Some(*claim);
                let object = NodeClaimObject { foreign, ..NodeClaimObject::default() };
                self.cluster.node_claims.insert(name, object);
            }
            Action::DeregisterImage(image) => self.deregister(image),
            Action::BreakImage(image) => drop(self.account.broken_images.insert(image)),
            Action::Find(findings) => self.find(*findings),
            Action::AddReservation(record) => self.add_reservation(record),
            Action::CancelReservation(id) => self.cancel_reservation(&id),
            Action::DeleteLaunchTemplates => self.delete_templates(),
            Action::HoldVolume(volume) => drop(self.cluster.stuck_volumes.insert(volume)),
            Action::DeleteVolumeAttachment(name) => drop(self.cluster.attachments.remove(&name)),
            Action::DeleteVolumeClaim(key) => drop(self.cluster.storage.claims.remove(&key)),
            Action::RefuseEvictions(pod) => self.refuse_evictions(pod),
            Action::SetIll { node, conditions } => self.set_ill(&node, conditions),
            Action::StopFaults => self.stop_faults(),
        }
        self.touch();
    }

    fn add(&mut self, object: ClusterObject) {
        match object {
            ClusterObject::NodePool(pool) => self.cluster.put_pool(pool),
            ClusterObject::NodeClass(class) => {
                if self.now == self.settings.start && self.settings.classes_are_known {
                    self.cluster.classes_from_before.insert(class.name.clone());
                }
                self.cluster.put_class(class);
            }
            ClusterObject::DaemonSet(daemon_set, claims) => {
                self.cluster.devices.of_daemons.insert(daemon_set.key.clone(), claims);
                self.cluster.daemon_sets.insert(daemon_set.key.clone(), daemon_set);
            }
            ClusterObject::Node(node) => self.add_node(*node),
            ClusterObject::NodeClaim(claim) => self.add_node_claim(*claim),
            ClusterObject::Workload(workload) => self.add_workload(workload),
            ClusterObject::NodeOverlay(overlay) => self.cluster.put_overlay(overlay),
            ClusterObject::ResourceSlice(slice) => {
                self.cluster.devices.slices.insert(slice.name.clone(), *slice);
            }
            ClusterObject::DeviceClass(class) => {
                self.cluster.devices.classes.insert(class.name.clone(), class);
            }
            ClusterObject::ResourceClaim(claim) => {
                self.cluster.devices.claims.insert(claim.key.clone(), *claim);
            }
            ClusterObject::PodTemplate(key, spec) => self.cluster.put_template(key, spec),
            ClusterObject::CapacityBuffer { buffer, refers_to } => {
                self.cluster.put_buffer(buffer, refers_to);
            }
            ClusterObject::AttachLimits(node, limits) => {
                self.cluster.storage.attach_limits.insert(node, limits);
            }
            ClusterObject::Unreadable(object) => drop(self.cluster.unreadable.insert(object)),
            ClusterObject::DisruptionBudget(budget) => {
                self.cluster.budgets.insert(budget.key.clone(), budget);
            }
            ClusterObject::StorageClass { name, class, is_default } => {
                if is_default {
                    self.cluster.default_storage_class = Some(name.clone());
                    let claims = self.cluster.storage.claims.values_mut();
                    for claim in claims.filter(|claim| claim.volume.is_none()) {
                        claim.storage_class.get_or_insert_with(|| name.clone());
                    }
                }
                self.cluster.storage.classes.insert(name, class);
            }
            ClusterObject::VolumeAttachment(attachment) => {
                self.cluster.attachments.insert(attachment.name.clone(), attachment);
            }
            ClusterObject::Volume(name, volume) => {
                self.cluster.storage.volumes.insert(name, volume);
            }
            ClusterObject::VolumeClaim(key, mut claim) => {
                let default = &self.cluster.default_storage_class;
                claim.storage_class = claim.storage_class.or_else(|| default.clone());
                self.cluster.storage.claims.insert(key, claim);
            }
            ClusterObject::Service(key, selector) => {
                self.cluster.services.insert(key, selector);
                self.cluster.spread_specs.clear();
            }
            ClusterObject::Namespace(name, labels) => {
                self.cluster.namespaces.insert(name, labels);
            }
        }
    }

    /// The run in figures.
    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary {
            pods_placed: u64::try_from(self.cluster.pending_times.len()).unwrap_or(u64::MAX),
            pods_waiting: self.pods_waiting(),
            pending_times: self.cluster.pending_times.clone(),
            launched: self.account.launched.clone(),
            price_now: self.account.price_now(),
            spent_nanos: self.account.spent_nanos(self.now),
            evictions: self.cluster.evictions,
            pods_lost: self.cluster.lost,
            dead_letters: u64::try_from(self.mail.dead.len()).unwrap_or(u64::MAX),
            assumptions: self.account.assumptions(),
            ..Summary::default()
        };
        summary.assumptions.extend(self.startup_taint_notes());
        summary.pending_times.sort();
        for record in self.account.instances.values().filter(|record| record.is_live()) {
            let instance_type = record.offering.instance_type.clone();
            *summary.nodes_by_type.entry(instance_type).or_default() += 1;
        }
        summary
    }

    pub(crate) fn pods_waiting(&self) -> u64 {
        u64::try_from(self.cluster.waiting.len()).unwrap_or(u64::MAX)
    }

    fn scaled(&mut self, workload: PodKey, replicas: u32) {
        self.happened(Happening::WorkloadScaled { workload, replicas });
    }

    /// Whether kubelet of a node is alive.
    fn is_kubelet_alive(&self, node: &NodeName) -> bool {
        let entry = self.cluster.nodes.get(node);
        let record = entry.and_then(|entry| self.account.instances.get(&entry.instance));
        record.is_some_and(crate::account::InstanceRecord::is_live)
    }
}
