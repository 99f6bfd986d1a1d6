//! What a scenario has happen at its time, in words: also that there is nothing that it could happen to.

use model::{CapacityType, OfferingKey};

use crate::{
    account::InstanceRecord,
    story::{Action, SpotTarget},
    timeline::Happening,
    world::World,
};

impl World {
    /// Lets `action` happen, which was planned for now, and tells of it what nothing else tells.
    pub(crate) fn act_as_planned(&mut self, action: Action) {
        let told = self.told(&action);
        if let Some((what, is_in_vain)) = told {
            self.happened(Happening::Planned { what, is_in_vain });
        }
        self.act(action);
    }

    /// What to tell of `action`, and whether it is about nothing that is there.
    fn told(&self, action: &Action) -> Option<(String, bool)> {
        let cluster = &self.cluster;
        let deleted = |kind: &str, name: &dyn std::fmt::Display, is_there: bool| {
            Some((format!("delete {kind} {name}"), !is_there))
        };
        let in_vain = |what: String, is_there: bool| (!is_there).then_some((what, true));
        match action {
            Action::Add(objects) => {
                let names: Vec<String> = objects.iter().map(ToString::to_string).collect();
                Some((format!("apply {}", names.join(", ")), false))
            }
            Action::Scale { workload, replicas } => {
                let is_there = cluster.workloads.contains_key(workload);
                in_vain(format!("scale workload {workload} to {replicas}"), is_there)
            }
            Action::DeleteWorkload(key) => {
                deleted("workload", key, cluster.workloads.contains_key(key))
            }
            Action::DeleteDaemonSet(key) => {
                deleted("DaemonSet", key, cluster.daemon_sets.contains_key(key))
            }
            Action::DeleteDisruptionBudget(key) => {
                deleted("PodDisruptionBudget", key, cluster.budgets.contains_key(key))
            }
            Action::DeleteCapacityBuffer(key) => {
                deleted("CapacityBuffer", key, cluster.capacity_buffers.contains_key(key))
            }
            Action::DeleteNodeOverlay(name) => {
                deleted("NodeOverlay", name, cluster.node_overlays.contains_key(name))
            }
            Action::DeleteNodePool(name) => {
                deleted("NodePool", name, cluster.node_pools.contains_key(name))
            }
            Action::DeleteNodeClaim(name) => {
                deleted("NodeClaim", name, cluster.node_claims.contains_key(name))
            }
            Action::DeleteNode(name) => deleted("Node", name, cluster.nodes.contains_key(name)),
            Action::DeleteNodeClass(name) => {
                deleted("EC2NodeClass", name, cluster.node_classes.contains_key(name))
            }
            Action::InterruptSpot(target) => {
                let is_spot = |record: &InstanceRecord| {
                    record.is_live() && record.offering.capacity_type == CapacityType::Spot
                };
                let is_there = self.has_target(target, is_spot);
                in_vain(format!("interrupt spot instance {}", aimed(target)), is_there)
            }
            Action::TerminateInstance(target) => {
                let is_there = self.has_target(target, InstanceRecord::is_live);
                in_vain(format!("terminate instance {}", aimed(target)), is_there)
            }
            Action::SetCapacity { offering, .. } => {
                in_vain(format!("set the capacity of {offering}"), self.sells(offering))
            }
            Action::SetPrice { offering, .. } => {
                in_vain(format!("set the price of {offering}"), self.sells(offering))
            }
            _ => None,
        }
    }

    fn has_target(&self, target: &SpotTarget, is_meant: impl Fn(&InstanceRecord) -> bool) -> bool {
        let instances = &self.account.instances;
        match target {
            SpotTarget::Oldest | SpotTarget::Any => instances.values().any(is_meant),
            SpotTarget::Node(node) => {
                let entry = self.cluster.nodes.get(node);
                entry.and_then(|entry| instances.get(&entry.instance)).is_some_and(is_meant)
            }
            SpotTarget::Instance(id) => instances.get(id).is_some_and(is_meant),
        }
    }

    fn sells(&self, offering: &OfferingKey) -> bool {
        let sold = self.catalog.instance_type(&offering.instance_type);
        sold.is_some_and(|sold| sold.offering(offering).is_some())
    }
}

fn aimed(target: &SpotTarget) -> String {
    match target {
        SpotTarget::Oldest => "`oldest`".to_owned(),
        SpotTarget::Any => "`any`".to_owned(),
        SpotTarget::Node(node) => format!("of node {node}"),
        SpotTarget::Instance(id) => id.to_string(),
    }
}
