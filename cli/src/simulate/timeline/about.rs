//! What a line is about, for machines.

use model::{HourlyPrice, OfferingKey, PodKey};
use report::json::Dollars;
use serde_json::{Map, Value, json};
use simulator::Happening;

/// The things that one line names; what it does not name is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About(Map<String, Value>);

impl About {
    /// What `happening` names.
    pub(super) fn of(happening: &Happening) -> Self {
        match happening {
            Happening::PodPending { pod } | Happening::PodUnschedulable { pod } => {
                Self::default().workload(pod)
            }
            Happening::PodBound { pod, node }
            | Happening::PodRunning { pod, node }
            | Happening::PodEvicted { pod, node }
            | Happening::PodLost { pod, node } => {
                Self::default().workload(pod).with("node", node.as_str())
            }
            Happening::WorkloadScaled { workload, replicas } => {
                Self::default().with("workload", workload.to_string()).with("replicas", *replicas)
            }
            Happening::Planned { .. } => Self::default(),
            Happening::ClaimCreated { claim, node_pool } => Self::default()
                .with("nodeClaim", claim.as_str())
                .with("nodePool", node_pool.as_str()),
            Happening::ClaimDeleted { claim, reason } => {
                Self::default().with("nodeClaim", claim.as_str()).with("reason", reason.as_str())
            }
            Happening::ClaimRemoved { claim } => Self::default().with("nodeClaim", claim.as_str()),
            Happening::InstanceLaunched { instance, offering, price } => {
                Self::default().with("instance", instance.as_str()).offering(offering).price(*price)
            }
            Happening::OfferingUnavailable { offering } => Self::default().offering(offering),
            Happening::NodeJoined { node, instance } => {
                Self::default().with("node", node.as_str()).with("instance", instance.as_str())
            }
            Happening::NodeReady { node }
            | Happening::NodeReboots { node }
            | Happening::NodeDrained { node }
            | Happening::NodeRemoved { node } => Self::default().with("node", node.as_str()),
            Happening::SpotNotice { instance, node, ends_at } => Self::default()
                .with("instance", instance.as_str())
                .some("node", node.as_ref().map(ToString::to_string))
                .with("endsAt", ends_at.to_string()),
            Happening::InstanceEnding { instance } => {
                Self::default().with("instance", instance.as_str())
            }
            Happening::InstanceTerminated { instance, node } => Self::default()
                .with("instance", instance.as_str())
                .some("node", node.as_ref().map(ToString::to_string)),
            Happening::CallFailed { function, error } => {
                Self::default().with("function", function.as_str()).with("reason", error.as_str())
            }
        }
    }

    /// The node that something happened to, by the names of NodeClaim, instance and node that stand here. Empty
    /// where pods are what it is about.
    pub(super) fn node_names(&self) -> impl Iterator<Item = &str> {
        let names =
            ["nodeClaim", "instance", "node"].into_iter().filter_map(|name| self.0.get(name));
        names.filter(|_| !self.0.contains_key("workload")).filter_map(Value::as_str)
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn some(self, name: &str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    fn workload(self, pod: &PodKey) -> Self {
        self.with("workload", crate::workloads::workload_of(pod))
    }

    fn offering(self, offering: &OfferingKey) -> Self {
        self.with("instanceType", offering.instance_type.as_str())
            .with("capacityType", offering.capacity_type.as_str())
            .with("zone", offering.zone.as_str())
    }

    fn price(self, price: HourlyPrice) -> Self {
        self.with("pricePerHour", json!(Dollars::from(price)))
    }

    /// As members of a line.
    pub(super) fn members(&self) -> Map<String, Value> {
        self.0.clone()
    }
}
