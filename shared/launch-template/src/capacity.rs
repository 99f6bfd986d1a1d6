//! What a node of a class has and what is reserved of it, worked out from the catalog's shape.
//!
//! The catalog was computed for AL2023 with defaults; what a class can change is computed anew:
//! ephemeral storage, pods and the whole overhead. CPU, memory and devices stay.
//!
//! Karpenter: `pkg/providers/instancetype/types.go` of the AWS provider.

use std::collections::BTreeMap;

use model::{
    Bytes, InstanceType, Millicores, Quantity, ResourceName, Resources, node_class::NodeClass,
    resources::base_units,
};

use crate::{family::Family, instance_store};

const GIBIBYTE: u64 = 1 << 30;
const MEBIBYTE: u64 = 1 << 20;
const GIGABYTE: u64 = 1_000_000_000;
const DEFAULT_VOLUME: Bytes = Bytes::from_gibibytes(20);

/// Capacity and overhead of `base` as a node of `class`.
pub(crate) fn resize(
    base: &InstanceType,
    class: &NodeClass,
    family: Family,
) -> (Resources, Resources) {
    let interface_pods = base.capacity.pods;
    let capacity = Resources {
        pods: pods(base, class, family),
        ephemeral_storage: ephemeral_storage(base, class, family),
        ..base.capacity.clone()
    };
    let reserved_for =
        if family.reserves_for_interface_pods() { interface_pods } else { capacity.pods };
    let kubelet = &class.kubelet;
    let kube_reserved =
        overridden(kube_reserved(capacity.cpu, reserved_for), &kubelet.kube_reserved);
    let system_reserved = overridden(Resources::default(), &kubelet.system_reserved);
    let eviction = eviction_threshold(&capacity, &kubelet.eviction_hard);
    let overhead = kube_reserved.saturating_add(&system_reserved).saturating_add(&eviction);
    (capacity, overhead)
}

/// `maxPods` or as many as the network interfaces allow, then `podsPerCore` if heeded.
fn pods(base: &InstanceType, class: &NodeClass, family: Family) -> u64 {
    let count = class.kubelet.max_pods.map_or(base.capacity.pods, u64::from);
    let per_core = class.kubelet.pods_per_core.filter(|n| *n > 0 && family.honors_pods_per_core());
    let cores = base.capacity.cpu.0 / 1_000;
    per_core.map_or(count, |pods| count.min(u64::from(pods).saturating_mul(cores)))
}

fn ephemeral_storage(base: &InstanceType, class: &NodeClass, family: Family) -> Bytes {
    let local = if class.is_raid0 { instance_store::gigabytes(base) } else { 0 };
    if local > 0 {
        return Bytes(local.saturating_mul(GIGABYTE));
    }
    let root = class.block_devices.iter().filter(|device| device.is_root);
    let is_ephemeral = |name: Option<&str>| name == Some(family.ephemeral_device());
    let defaults = family.default_block_devices();
    let named = class.block_devices.iter().chain(&defaults);
    let named = named.filter(|device| is_ephemeral(device.device_name.as_deref()));
    root.chain(named).find_map(|device| device.size).unwrap_or(DEFAULT_VOLUME)
}

/// What is reserved for the kubelet: memory by pods, CPU by steps that grow more slowly.
///
/// <https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html> (`bootstrap.sh`).
fn kube_reserved(cpu: Millicores, pods: u64) -> Resources {
    // (to millicores, hundredths of a percent); what a step takes is cut to whole millicores.
    let steps = [(1_000, 600), (2_000, 100), (4_000, 50), (u64::MAX, 25)];
    let mut reserved = 0;
    let mut from = 0;
    for (to, share) in steps {
        let within = cpu.0.clamp(from, to) - from;
        reserved += within.saturating_mul(share) / 10_000;
        from = to;
    }
    let mebibytes = pods.saturating_mul(11).saturating_add(255);
    Resources {
        cpu: Millicores(reserved),
        memory: Bytes(mebibytes.saturating_mul(MEBIBYTE)),
        ephemeral_storage: Bytes(GIBIBYTE),
        ..Resources::default()
    }
}

/// `defaults` with each resource that `given` names replaced. A text that is no quantity was
/// refused when the class was read, and leaves the default here.
fn overridden(mut defaults: Resources, given: &BTreeMap<ResourceName, String>) -> Resources {
    for (name, text) in given {
        if let Ok(quantity) = Quantity::parse_unsigned(text) {
            defaults.set(name, base_units(name.as_str(), quantity));
        }
    }
    defaults
}

/// Memory and disk below which the kubelet evicts. `evictionSoft` never counts.
fn eviction_threshold(capacity: &Resources, hard: &BTreeMap<String, String>) -> Resources {
    let signal = |name: &str, of: Bytes, default: Bytes| {
        hard.get(name).and_then(|text| threshold(text, of)).unwrap_or(default)
    };
    let disk = capacity.ephemeral_storage;
    Resources {
        memory: signal("memory.available", capacity.memory, Bytes::from_mebibytes(100)),
        ephemeral_storage: signal("nodefs.available", disk, Bytes(disk.0.div_ceil(10))),
        ..Resources::default()
    }
}

/// A quantity, or a percentage of `of` rounded up; 100 % turns the threshold off. Of a percentage
/// three digits after the point count.
fn threshold(text: &str, of: Bytes) -> Option<Bytes> {
    let Some(percent) = text.strip_suffix('%') else {
        return Some(Quantity::parse_unsigned(text).ok()?.to_bytes());
    };
    let thousandths = u128::from(Quantity::parse_unsigned(percent).ok()?.to_millis());
    if thousandths == 100_000 {
        return Some(Bytes(0));
    }
    let share = (u128::from(of.0) * thousandths).div_ceil(100_000);
    Some(Bytes(u64::try_from(share).unwrap_or(u64::MAX)))
}
