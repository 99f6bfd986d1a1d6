//! Stand-ins for kubelets: nodes join, become ready, run pods and end them.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InstanceId, NodeName, PodKey, PodUid, ProviderId, Requirement, Resources, Taint, TaintEffect,
    labels, node::Node, node_class::ImageFamily, pod::PodPhase,
};

use super::NodeEntry;
use crate::{
    account::{INHERITED, InstanceRecord},
    made_up,
    timeline::Happening,
    world::{Event, World},
};

/// Taint of a node that is not ready yet.
pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";

impl World {
    /// A kubelet registers its node, if its instance is still there.
    pub(crate) fn node_joins(&mut self, instance: &InstanceId) {
        let Some(record) = self.account.instances.get(instance) else { return };
        if !record.is_live() || self.cluster.node_of_instance.contains_key(instance) {
            return;
        }
        let (capacity, allocatable) = self.sizes(record);
        let provider_id = ProviderId::of_instance(&record.offering.zone, instance);
        let mut node_labels = self.kubelet_labels(record);
        self.cluster.addresses += 1;
        let (high, low) = (self.cluster.addresses / 250, self.cluster.addresses % 250);
        let region = &self.catalog.region;
        let name = format!("ip-10-0-{high}-{}.{region}.compute.internal", low + 4);
        let name = made_up(NodeName::new(&name));
        let mut taints = vec![
            taint(NOT_READY, TaintEffect::NoSchedule),
            taint(NOT_READY, TaintEffect::NoExecute),
        ];
        // User data of the user's own, as it stands in old launch templates, knows nothing of it.
        if has_bootstrap(record) {
            taints.insert(0, taint(labels::UNREGISTERED_TAINT, TaintEffect::NoExecute));
        }
        node_labels.insert(labels::HOSTNAME.to_owned(), name.to_string());
        let node = Node {
            name: name.clone(),
            provider_id: Some(provider_id),
            created_at: self.now,
            is_deleting: false,
            labels: node_labels,
            annotations: BTreeMap::new(),
            finalizers: BTreeSet::new(),
            taints,
            capacity,
            allocatable,
            is_ready: false,
            boot_id: format!("{instance}/1"),
            ill_conditions: Vec::new(),
        };
        let entry = NodeEntry::empty(node, instance.clone());
        self.cluster.nodes.insert(name.clone(), entry);
        self.cluster.node_of_instance.insert(instance.clone(), name.clone());
        self.happened(Happening::NodeJoined { node: name.clone(), instance: instance.clone() });
        let ready_after = self.chances.cluster.within(self.settings.node_ready_after);
        self.plan_devices(&name);
        self.after(ready_after, Event::NodeReady(name));
        self.touch();
    }

    /// Capacity and allocatable of an instance's node: the claim knows what kubelet settings and
    /// volumes of its class make of the instance type; without one, the catalog's.
    fn sizes(&self, record: &InstanceRecord) -> (Resources, Resources) {
        let (mut capacity, mut allocatable) = self.expected_sizes(record);
        let instance_type = self.catalog.instance_type(&record.offering.instance_type);
        if let Some(instance_type) = instance_type {
            // What is expected may be what was learned: real is what the catalog makes of it.
            let share = instance_type.capacity.memory.0 / 1_000;
            let real = match self.settings.node_memory_per_mille {
                1_000 => capacity.memory.0,
                per_mille => share.saturating_mul(per_mille),
            };
            let reserved = capacity.memory.0.saturating_sub(allocatable.memory.0);
            capacity.memory.0 = real;
            allocatable.memory.0 = real.saturating_sub(reserved);
        }
        (capacity, allocatable)
    }

    fn expected_sizes(&self, record: &InstanceRecord) -> (Resources, Resources) {
        if let Some(claim) = self.ledger.claim_of(&record.id)
            && !claim.capacity.is_zero()
        {
            return (claim.capacity.clone(), claim.allocatable.clone());
        }
        let instance_type = self.catalog.instance_type(&record.offering.instance_type);
        instance_type.map(|t| (t.capacity.clone(), t.allocatable())).unwrap_or_default()
    }

    /// The labels that user data gives the kubelet: those that the user wrote into it, and those of its claim over
    /// them. Of an image of the user's own there are none.
    fn user_data_labels(&self, record: &InstanceRecord) -> BTreeMap<String, String> {
        let claim = self.ledger.claim_of(&record.id).filter(|claim| {
            let class = self.cluster.node_classes.get(&claim.node_class);
            let is_custom = class.is_some_and(|class| class.image_family == ImageFamily::Custom);
            has_bootstrap(record) && !is_custom
        });
        let Some(claim) = claim else { return BTreeMap::new() };
        let class = self.cluster.node_classes.get(&claim.node_class);
        let mut given = class.map(launch_template::own_labels).unwrap_or_default();
        given.extend(claim.labels.clone());
        given.extend(claim.pool_label().map(|(key, value)| (key.to_owned(), value.to_owned())));
        given.insert(labels::NODE_CLASS.to_owned(), claim.node_class.to_string());
        given
    }

    /// The labels that kubelet, cloud provider and user data give a node.
    fn kubelet_labels(&self, record: &InstanceRecord) -> BTreeMap<String, String> {
        let offering = &record.offering;
        let mut node_labels = BTreeMap::new();
        if let Some(instance_type) = self.catalog.instance_type(&offering.instance_type) {
            let requirements = instance_type.requirements.iter();
            let single = requirements.filter_map(|requirement: &Requirement| {
                let value = requirement.single_value()?;
                Some((requirement.key().to_string(), value.to_string()))
            });
            node_labels.extend(single);
        }
        node_labels.extend(self.user_data_labels(record));
        let mut set = |key: &str, value: &str| node_labels.insert(key.to_owned(), value.to_owned());
        set(labels::INSTANCE_TYPE, offering.instance_type.as_str());
        set(labels::ZONE, offering.zone.as_str());
        set(labels::REGION, &self.catalog.region);
        set(labels::OS, "linux");
        set(labels::CAPACITY_TYPE, offering.capacity_type.as_str());
        if let Some(zone_id) = self.catalog.zones.get(&offering.zone) {
            set(labels::ZONE_ID, zone_id.as_str());
        }
        node_labels
    }

    pub(crate) fn node_ready(&mut self, name: &NodeName) {
        if !self.is_kubelet_alive(name) {
            return;
        }
        let Some(entry) = self.cluster.nodes.get_mut(name) else { return };
        let was_ready = std::mem::replace(&mut entry.node.is_ready, true);
        entry.node.taints.retain(|taint| taint.key != NOT_READY);
        if !was_ready {
            self.happened(Happening::NodeReady { node: name.clone() });
        }
        self.plan_startup_taints(name);
        self.touch();
    }

    /// The machine of a node boots again. Its pods start anew with it; what it was ill with is over.
    pub(crate) fn node_reboots(&mut self, name: &NodeName) {
        let Some(entry) = self.cluster.nodes.get_mut(name) else { return };
        entry.node.is_ready = false;
        self.happened(Happening::NodeReboots { node: name.clone() });
        let back_after = self.chances.cluster.within(self.settings.node_ready_after);
        let boot = jiff::SignedDuration::from_secs(60);
        self.after(back_after.saturating_add(boot), Event::NodeRebooted(name.clone()));
        self.touch();
    }

    /// A node is back after another boot.
    pub(crate) fn node_rebooted(&mut self, name: &NodeName) {
        if !self.is_kubelet_alive(name) {
            return;
        }
        let Some(entry) = self.cluster.nodes.get_mut(name) else { return };
        let (instance, boot) = entry.node.boot_id.split_once('/').unwrap_or_default();
        let boot = boot.parse().unwrap_or(0_u64).saturating_add(1);
        entry.node.boot_id = format!("{instance}/{boot}");
        entry.node.is_ready = true;
        entry.node.ill_conditions.clear();
        self.happened(Happening::NodeReady { node: name.clone() });
        self.touch();
    }

    pub(crate) fn pod_runs(&mut self, key: &PodKey, uid: &PodUid) {
        let now = self.now;
        let Some(entry) = self.cluster.pods.get(key) else { return };
        let Some(node) = entry.pod.node.clone() else { return };
        let is_due = entry.pod.uid == *uid
            && entry.pod.phase == PodPhase::Pending
            && !entry.pod.is_terminating();
        if !is_due || !self.is_kubelet_alive(&node) {
            return;
        }
        let crashes = self.breaks_pods(&node);
        let Some(entry) = self.cluster.pods.get_mut(key) else { return };
        entry.pod.phase = PodPhase::Running;
        entry.pod.started_at = Some(now);
        entry.pod.is_ready = !crashes;
        let (is_daemon, runs_for) = (entry.pinned.is_some(), entry.runs_for);
        if !is_daemon {
            self.happened(Happening::PodRunning { pod: key.clone(), node });
        }
        if let Some(runs_for) = runs_for {
            self.after(runs_for, Event::PodFinishes(key.clone(), uid.clone()));
        }
    }

    /// Whether pods crash on the node `name` because of its image.
    fn breaks_pods(&self, name: &NodeName) -> bool {
        let entry = self.cluster.nodes.get(name);
        let instance = entry.and_then(|entry| self.account.instances.get(&entry.instance));
        instance.is_some_and(|instance| self.account.broken_images.contains(&instance.image))
    }

    /// A kubelet confirms that a deleted pod ended. One that is dead confirms nothing.
    pub(crate) fn pod_ends(&mut self, key: &PodKey, uid: &PodUid) {
        let Some(entry) = self.cluster.pods.get(key) else { return };
        if entry.pod.uid != *uid || !entry.pod.is_terminating() {
            return;
        }
        let Some(node) = entry.pod.node.clone() else { return };
        if self.is_kubelet_alive(&node) {
            self.remove_pod(key);
        }
    }
}

/// Whether the user data of an instance is ours, or Karpenter's.
fn has_bootstrap(record: &InstanceRecord) -> bool {
    record.template.is_of_digest() || record.template.as_str() == INHERITED
}

pub(super) fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.to_owned(), value: String::new(), effect }
}
