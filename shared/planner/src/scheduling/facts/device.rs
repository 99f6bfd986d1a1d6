//! ResourceClaims of pods, and the devices that they get.
//!
//! Karpenter: `pkg/controllers/provisioning/dra.go` and `scheduling/dra.go`.

use std::{collections::BTreeMap, rc::Rc};

use devices::{Allocations, CelSelectors, DeviceRefusal, Devices, Leaving};
use model::{NodeName, Pod, PodUid, dynamic_resources::ResourceClaimKey, facts::Facts};

use crate::index::{bits::BitSet, id::kind};

/// Why pods with claims wait while claims are ignored.
///
/// Karpenter: `DRAError` of `pkg/controllers/provisioning/scheduling/scheduler.go`.
pub const CLAIMS_IGNORED: &str = "it has Dynamic Resource Allocation requirements, which are not supported \
                                  while IGNORE_DRA_REQUESTS is true: set IgnoreDraRequests=false";

/// What is known of devices, where a pod claims any.
#[derive(Debug)]
pub(crate) struct KnownDevices<'a> {
    pub(crate) devices: Devices<'a>,
    /// Nodes that go whatever is tried, and the pods on them that need another.
    leaving: Leaving,
    /// Pods with claims that would need another node, by node.
    claimants: BTreeMap<&'a NodeName, Vec<&'a PodUid>>,
}

/// Devices that are taken.
#[derive(Clone, Debug)]
pub(crate) struct TakenDevices {
    pub(crate) allocations: Allocations,
    /// By what claims ask for: existing capacity that will not have it any more.
    pub(crate) short: BTreeMap<Vec<usize>, Rc<BitSet<kind::Place>>>,
}

impl<'a> KnownDevices<'a> {
    /// What `facts` say while the nodes `leaving` go; `None` if no pod, nor any of `virtual_pods`, names a claim.
    pub(crate) fn of<'n>(
        facts: &'a Facts,
        virtual_pods: &[Pod],
        leaving: impl Iterator<Item = &'n NodeName>,
    ) -> Option<Self> {
        let names_one = |pod: &&Pod| !pod.spec.claims.references.is_empty();
        let devices = facts.devices.as_deref()?;
        let mut pods = facts.pods.iter().chain(virtual_pods);
        pods.find(names_one)?;
        let mut claimants: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let moved = facts.pods.iter().filter(names_one).filter(|pod| pod.is_reschedulable());
        for (node, pod) in moved.filter_map(|pod| Some((pod.node.as_ref()?, pod))) {
            claimants.entry(node).or_default().push(&pod.uid);
        }
        let devices = Devices::new(devices, CelSelectors::default());
        let mut devices = Self { devices, leaving: Leaving::default(), claimants };
        let nodes: Vec<&NodeName> = leaving.collect();
        devices.leaving = devices.without(&nodes);
        Some(devices)
    }

    fn without(&self, nodes: &[&NodeName]) -> Leaving {
        let pods = nodes.iter().filter_map(|node| self.claimants.get(*node)).flatten();
        let mut leaving = self.leaving.clone();
        leaving.pods.extend(pods.map(|uid| PodUid::clone(uid)));
        leaving.nodes.extend(nodes.iter().copied().cloned());
        leaving
    }

    /// What is allocated when `nodes` have gone away.
    pub(crate) fn begin(&self, nodes: &[&NodeName]) -> TakenDevices {
        let allocations = self.devices.begin(&self.without(nodes));
        TakenDevices { allocations, short: BTreeMap::new() }
    }
}

/// The claims of `pod`; or why it waits, wherever it could go.
pub(crate) fn claims(
    facts: &Facts,
    devices: Option<&KnownDevices<'_>>,
    pod: &Pod,
) -> Result<Vec<ResourceClaimKey>, String> {
    match devices {
        _ if pod.spec.claims.is_empty() => Ok(Vec::new()),
        _ if facts.devices.is_none() => Err(CLAIMS_IGNORED.to_owned()),
        Some(devices) => devices.devices.claims_of(pod).map_err(|refusal| in_words(&refusal, pod)),
        None => Ok(Vec::new()),
    }
}

/// Why `pod` gets no devices. A claim that was made for it is called as its spec calls it: alike pods have one reason.
pub(crate) fn in_words(refusal: &DeviceRefusal, pod: &Pod) -> String {
    let text = refusal.to_string();
    let Some(claim) = refusal.claim() else { return text };
    let mut made = pod.made_claims.iter();
    match made.find(|(_, made)| made.as_ref() == Some(&claim.name)) {
        Some((reference, _)) => {
            let (stored, own) =
                (format!("ResourceClaim {claim}"), format!("its ResourceClaim {reference}"));
            text.replacen(&stored, &own, 1)
        }
        None => text,
    }
}
