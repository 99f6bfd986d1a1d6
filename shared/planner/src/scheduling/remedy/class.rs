//! Rules of an EC2NodeClass, as far as the instance types that it offers show them.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    CapacityType, InstanceType, Operator, Requirement, ResourceName, Resources, Zone, labels,
    resources::PRIVATE_IPV4_ADDRESS,
};

use super::words::Words;

/// Zones without a subnet that are tried.
const ZONES_MAX: usize = 6;
/// Architectures of nodes.
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];
/// Systems of nodes.
const SYSTEMS: [&str; 2] = ["linux", "windows"];
/// What instance types of another architecture are not called.
const OF_ONE_ARCHITECTURE: [&str; 3] =
    [labels::INSTANCE_TYPE, labels::INSTANCE_FAMILY, labels::INSTANCE_CPU_MANUFACTURER];
/// More than a pod asks for, in pods, in addresses and in bytes of ephemeral storage.
const PLENTY: u64 = 1 << 50;

/// What could be otherwise in an EC2NodeClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It has a subnet in the zone.
    Subnet(Zone),
    /// It has an image for the architecture. Types of an architecture without one are not offered at all, and so not
    /// known: the types of the other stand for them, without their names.
    Image(&'static str),
    /// Its AMI family is for the system.
    System(&'static str),
    Volumes,
    MaxPods,
    Reserved,
    Reservations,
}

impl Rule {
    /// Those of a class that offers `types`.
    pub(super) fn of(types: &[Arc<InstanceType>]) -> Vec<Self> {
        let missing = |label: &'static str, values: [&'static str; 2]| {
            values.into_iter().filter(move |value| !is_offered(types, label, value))
        };
        let zones = zones_without_subnet(types).into_iter().take(ZONES_MAX).map(Self::Subnet);
        let images = missing(labels::ARCH, ARCHITECTURES).map(Self::Image);
        let systems = missing(labels::OS, SYSTEMS).map(Self::System);
        let others = [Self::Volumes, Self::MaxPods, Self::Reserved];
        let reservations = has_full_reservation(types).then_some(Self::Reservations);
        zones.chain(images).chain(systems).chain(others).chain(reservations).collect()
    }

    /// The label of nodes that it changes: beside others it would keep pods away that do not ask for the label.
    pub(super) const fn label(&self) -> Option<&'static str> {
        match self {
            Self::Image(_) => Some(labels::ARCH),
            Self::System(_) => Some(labels::OS),
            _ => None,
        }
    }

    /// Makes of `offered` what the class would offer then.
    pub(super) fn apply(&self, offered: &mut InstanceType) {
        let mut labeled = |key: &str, operator, values: &[&str]| {
            if let Ok(label) = Requirement::new(key, operator, values.iter().copied()) {
                offered.requirements.replace(label);
            }
        };
        match self {
            Self::Subnet(zone) => {
                for offering in &mut offered.offerings {
                    offering.is_available |=
                        offering.zone == *zone && offering.reservation.is_none();
                }
            }
            Self::Image(architecture) => {
                for label in OF_ONE_ARCHITECTURE {
                    labeled(label, Operator::DoesNotExist, &[]);
                }
                labeled(labels::ARCH, Operator::In, &[*architecture]);
            }
            Self::System(system) => {
                let is_windows = *system == "windows";
                let build = if is_windows { Operator::Exists } else { Operator::DoesNotExist };
                labeled(labels::OS, Operator::In, &[*system]);
                labeled(labels::WINDOWS_BUILD, build, &[]);
                let address = ResourceName::new(PRIVATE_IPV4_ADDRESS).ok();
                if let Some(address) = address.filter(|_| is_windows) {
                    offered.capacity.set(&address, PLENTY);
                }
            }
            Self::Volumes => offered.capacity.ephemeral_storage.0 = PLENTY,
            Self::MaxPods => offered.capacity.pods = PLENTY,
            Self::Reserved => offered.overhead = Resources::default(),
            Self::Reservations => {
                let reservations = offered.offerings.iter_mut();
                for held in reservations.filter_map(|offering| offering.reservation.as_mut()) {
                    held.count = held.count.max(1);
                }
            }
        }
    }

    /// `a subnet in us-west-2a for EC2NodeClass default (subnetSelectorTerms)`
    pub(super) fn in_words(&self, class: &str) -> Words {
        Words::With(match self {
            Self::Subnet(zone) => {
                format!("a subnet in {zone} for EC2NodeClass {class} (subnetSelectorTerms)")
            }
            Self::Image(architecture) => {
                format!("an image for {architecture} in EC2NodeClass {class} (amiSelectorTerms)")
            }
            Self::System(system) => format!(
                "an AMI family for {system} in EC2NodeClass {class} (amiFamily, or an alias in amiSelectorTerms)"
            ),
            Self::Volumes => format!(
                "larger volumes in EC2NodeClass {class} (blockDeviceMappings, instanceStorePolicy)"
            ),
            Self::MaxPods => format!("a higher maxPods in EC2NodeClass {class} (kubelet)"),
            Self::Reserved => {
                return Words::Without(format!(
                    "what EC2NodeClass {class} reserves (kubelet: kubeReserved, systemReserved, eviction)"
                ));
            }
            Self::Reservations => {
                format!("free instances in the capacity reservations of EC2NodeClass {class}")
            }
        })
    }
}

/// Whether nodes are offered that have this `value` of `label`, or none at all.
fn is_offered(types: &[Arc<InstanceType>], label: &str, value: &str) -> bool {
    let is_of = |instance_type: &Arc<InstanceType>| {
        instance_type.requirements.get(label).is_none_or(|of_type| of_type.has(value))
    };
    types.is_empty() || types.iter().any(is_of)
}

/// Zones in which nothing is available that is not reserved.
fn zones_without_subnet(types: &[Arc<InstanceType>]) -> BTreeSet<Zone> {
    let offerings = || {
        let offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
        offerings.filter(|offering| offering.capacity_type != CapacityType::Reserved)
    };
    let open: BTreeSet<&Zone> =
        offerings().filter(|offering| offering.is_available).map(|o| &o.zone).collect();
    offerings().map(|o| &o.zone).filter(|zone| !open.contains(zone)).cloned().collect()
}

fn has_full_reservation(types: &[Arc<InstanceType>]) -> bool {
    let mut offerings = types.iter().flat_map(|instance_type| &instance_type.offerings);
    offerings.any(|offering| offering.reservation.as_ref().is_some_and(|held| held.count == 0))
}
