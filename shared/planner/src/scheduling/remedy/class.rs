//! Rules of an EC2NodeClass, as far as the instance types that it offers show them.

use std::{collections::BTreeSet, sync::Arc};

use model::{
    CapacityType, InstanceType, NodeClassName, Operator, Requirement, Resources, Zone, labels,
};

/// Zones without a subnet that are tried.
const ZONES_MAX: usize = 6;
/// Architectures of nodes.
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];
/// What instance types of another architecture are not called.
const OF_ONE_ARCHITECTURE: [&str; 3] =
    [labels::INSTANCE_TYPE, labels::INSTANCE_FAMILY, labels::INSTANCE_CPU_MANUFACTURER];
/// More than a pod asks for, in pods and in bytes of ephemeral storage.
const PLENTY: u64 = 1 << 50;

/// What could be otherwise in the EC2NodeClass `name`, which offers `types`: in words, with the instance types that it
/// would offer then. Types of an architecture without an image are not offered at all, and so not known: types of the other
/// architecture stand for them, without their names.
pub(super) fn relaxed<'t>(
    name: &'t NodeClassName,
    types: &'t [Arc<InstanceType>],
) -> impl Iterator<Item = (String, NodeClassName, Vec<Arc<InstanceType>>)> + 't {
    let with = move |words: String, change: &dyn Fn(&mut InstanceType)| {
        (words, name.clone(), changed(types, change))
    };
    let zones = zones_without_subnet(types).into_iter().take(ZONES_MAX).map(move |zone| {
        let words =
            format!("with a subnet in {zone} for EC2NodeClass {name} (subnetSelectorTerms)");
        with(words, &|instance_type| {
            for offering in &mut instance_type.offerings {
                offering.is_available |= offering.zone == zone && offering.reservation.is_none();
            }
        })
    });
    let missing = ARCHITECTURES.into_iter().filter(|architecture| !is_offered(types, architecture));
    let architectures = missing.map(move |architecture| {
        let words =
            format!("with an image for {architecture} in EC2NodeClass {name} (amiSelectorTerms)");
        with(words, &|instance_type| {
            let nothing = |key| Requirement::new(key, Operator::DoesNotExist, []);
            let labels = OF_ONE_ARCHITECTURE.into_iter().map(nothing);
            let architecture = Requirement::of_label(labels::ARCH, architecture);
            for label in labels.chain([architecture]).flatten() {
                instance_type.requirements.replace(label);
            }
        })
    });
    let others = (0..4).filter_map(move |number| match number {
        0 => Some(with(
            format!("with larger volumes in EC2NodeClass {name} (blockDeviceMappings, instanceStorePolicy)"),
            &|instance_type| instance_type.capacity.ephemeral_storage.0 = PLENTY,
        )),
        1 => Some(with(
            format!("with a higher maxPods in EC2NodeClass {name} (kubelet)"),
            &|instance_type| instance_type.capacity.pods = PLENTY,
        )),
        2 => Some(with(
            format!("without what EC2NodeClass {name} reserves (kubelet: kubeReserved, systemReserved, eviction)"),
            &|instance_type| instance_type.overhead = Resources::default(),
        )),
        _ => has_full_reservation(types).then(|| {
            with(
                format!("with free instances in the capacity reservations of EC2NodeClass {name}"),
                &|instance_type| {
                    let reservations = instance_type.offerings.iter_mut();
                    for reservation in reservations.filter_map(|offering| offering.reservation.as_mut()) {
                        reservation.count = reservation.count.max(1);
                    }
                },
            )
        }),
    });
    zones.chain(architectures).chain(others)
}

/// Whether nodes of `architecture` are offered, or none at all.
fn is_offered(types: &[Arc<InstanceType>], architecture: &str) -> bool {
    let is_of = |instance_type: &Arc<InstanceType>| {
        let of_type = instance_type.requirements.get(labels::ARCH);
        of_type.is_none_or(|of_type| of_type.has(architecture))
    };
    types.is_empty() || types.iter().any(is_of)
}

fn changed(
    types: &[Arc<InstanceType>],
    change: &dyn Fn(&mut InstanceType),
) -> Vec<Arc<InstanceType>> {
    let changed = |instance_type: &Arc<InstanceType>| {
        let mut changed = InstanceType::clone(instance_type);
        change(&mut changed);
        Arc::new(changed)
    };
    types.iter().map(changed).collect()
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
