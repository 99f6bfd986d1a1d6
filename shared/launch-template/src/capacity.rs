//! What a node of a class has and what is reserved of it.
//!
//! CPU, memory and devices are the type's. What a class can change is worked out here: ephemeral
//! storage, pods, network adapters, and the whole overhead. For a catalog without
//! [`InstanceTypeInfo`]s its own number of pods stands for what the network interfaces allow.
//!
//! Karpenter: `pkg/providers/instancetype/types.go` of the AWS provider.

use std::collections::BTreeMap;

use model::{
    Bytes, InstanceType, InstanceTypeInfo, Millicores, Problem, Quantity, RegionCatalog,
    ResourceName, Resources, labels,
    node_class::{BlockDevice, ImageFamily, Kubelet, NetworkInterface, NodeClass, TemplateSource},
    resources::{PRIVATE_IPV4_ADDRESS, base_units},
};

use crate::{
    expressions::{Expressions, Variables},
    family,
    node_settings::NodeSettings,
};

const GIBIBYTE: u64 = 1 << 30;
const MEBIBYTE: u64 = 1 << 20;
/// What the kernel of an arm64 instance keeps for itself.
const ARM_RESERVED_MIB: u64 = 64;
const GIGABYTE: u64 = 1_000_000_000;
const DEFAULT_VOLUME: Bytes = Bytes::from_gibibytes(20);
const EFA: &str = "vpc.amazonaws.com/efa";

/// What is taken from a node's capacity before pods get any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// For the kubelet.
    pub kube_reserved: Resources,
    /// For everything else that is no pod.
    pub system_reserved: Resources,
    /// Below which the kubelet evicts.
    pub eviction_threshold: Resources,
}

impl Overhead {
    /// All of it.
    pub fn sum(&self) -> Resources {
        let reserved = self.kube_reserved.saturating_add(&self.system_reserved);
        reserved.saturating_add(&self.eviction_threshold)
    }
}

/// What of a class decides the size of its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Sizing<'a> {
    image_family: ImageFamily,
    kubelet: &'a Kubelet,
    expressions: Expressions,
    block_devices: &'a [BlockDevice],
    network_interfaces: &'a [NetworkInterface],
    is_raid0: bool,
    /// Whether elastic fabric adapters are attached: a launch template of the user's own has none.
    has_adapters: bool,
}

impl<'a> Sizing<'a> {
    pub(crate) fn of(class: &'a NodeClass) -> Self {
        Self {
            image_family: class.image_family,
            kubelet: &class.kubelet,
            expressions: Expressions::of(&class.kubelet),
            block_devices: &class.block_devices,
            network_interfaces: &class.network_interfaces,
            is_raid0: class.is_raid0,
            has_adapters: class.launch_template == TemplateSource::Made,
        }
    }

    /// Of an AL2023 class that says nothing else.
    pub(crate) fn al2023(kubelet: &'a Kubelet) -> Self {
        Self {
            image_family: ImageFamily::Al2023,
            kubelet,
            expressions: Expressions::default(),
            block_devices: &[],
            network_interfaces: &[],
            is_raid0: false,
            has_adapters: true,
        }
    }
}

/// A type as the nodes of a class would be.
struct Resizing<'a> {
    class: &'a Sizing<'a>,
    base: &'a InstanceType,
    info: Option<&'a InstanceTypeInfo>,
    settings: &'a NodeSettings,
}

impl<'a> Resizing<'a> {
    /// Pods that the network interfaces allow if `reserved` of them are not for pods.
    fn interface_pods(&self, reserved: u32) -> u64 {
        let interfaces = self.class.network_interfaces.iter();
        let on_first_card = interfaces.filter(|i| i.is_efa_only && i.card == 0);
        let without_addresses = u32::try_from(on_first_card.count()).unwrap_or(u32::MAX);
        match self.info {
            Some(info) => info.interface_pods(reserved.saturating_add(without_addresses)),
            None => self.base.capacity.pods,
        }
    }

    /// `max_pods`, or the family's number, or as many as the network interfaces allow; then
    /// `podsPerCore` if heeded.
    fn pods(&self, max_pods: Option<u32>) -> u64 {
        let Sizing { image_family, kubelet, .. } = *self.class;
        let default = || {
            let of_family = family::default_max_pods(image_family);
            of_family.unwrap_or_else(|| self.interface_pods(self.settings.reserved_enis))
        };
        let count = max_pods.map_or_else(default, u64::from);
        let per_core = kubelet
            .pods_per_core
            .filter(|number| *number > 0 && family::honors_pods_per_core(image_family));
        let cores = self.base.capacity.cpu.0 / 1_000;
        per_core.map_or(count, |pods| count.min(u64::from(pods).saturating_mul(cores)))
    }

    fn variables(&self) -> Variables<'a> {
        Variables::of(self.base, self.info)
    }

    /// That the expression at `field` has no amount, and why.
    fn problem(&self, field: &str, why: &str) -> Box<Problem> {
        let name = &self.base.name;
        Box::new(Problem::unusable(field, format!("for {name}: {why}")))
    }

    /// How many pods there are by the class's `maxPods`.
    fn given_pods(&self) -> Result<u64, Box<Problem>> {
        let Sizing { kubelet, expressions, .. } = self.class;
        let given = expressions.max_pods(kubelet, &self.variables(), self.pods(None));
        Ok(self.pods(given.map_err(|why| self.problem("spec.kubelet.maxPods", &why))?))
    }

    /// The first expression that has no amount.
    fn failure(&self) -> Option<Box<Problem>> {
        match self.given_pods() {
            Err(problem) => Some(problem),
            Ok(pods) => {
                let failure = self.class.expressions.failure(&self.variables(), pods);
                failure.map(|(field, why)| self.problem(&field, &why))
            }
        }
    }
}

/// The first expression of `class` that fails or is negative on a node of one of the types of `catalog`.
pub fn expression_failure(
    catalog: &RegionCatalog,
    class: &NodeClass,
    settings: &NodeSettings,
) -> Option<Box<Problem>> {
    if class.kubelet.expressions().is_empty() {
        return None;
    }
    let class = Sizing::of(class);
    catalog.instance_types.iter().find_map(|base| {
        let info = catalog.descriptions.get(&base.name).map(|info| &**info);
        Resizing { class: &class, base, info, settings }.failure()
    })
}

/// Capacity and overhead of `base` as a node of `class`, when `reserved_interfaces` of each
/// instance are not for pods.
///
/// # Errors
///
/// The expression `maxPods` has no number for it.
pub(crate) fn resize(
    base: &InstanceType,
    info: Option<&InstanceTypeInfo>,
    class: &Sizing<'_>,
    settings: &NodeSettings,
) -> Result<(Resources, Overhead), Box<Problem>> {
    let image_family = class.image_family;
    let resizing = Resizing { class, base, info, settings };
    let pods = resizing.given_pods()?;
    let mut capacity = Resources {
        pods,
        ephemeral_storage: ephemeral_storage(base, info, class),
        memory: info.map_or(base.capacity.memory, |info| memory(info, settings)),
        ..base.capacity.clone()
    };
    if !class.has_adapters {
        set(&mut capacity, EFA, 0);
    }
    if !class.network_interfaces.is_empty() {
        let adapters = class
            .network_interfaces
            .iter()
            .filter(|network_interface| network_interface.is_efa_only)
            .count();
        set(&mut capacity, EFA, u64::try_from(adapters).unwrap_or(u64::MAX));
    }
    if image_family.is_windows() && info.is_some_and(|s| s.architecture() == Some("amd64")) {
        let addresses = info.and_then(|info| info.table.ipv4_per_interface);
        let number = u64::from(addresses.unwrap_or_default().saturating_sub(1));
        set(&mut capacity, PRIVATE_IPV4_ADDRESS, number);
    }
    let reserved_for = if family::reserves_for_interface_pods(image_family) {
        resizing.interface_pods(0)
    } else {
        capacity.pods
    };
    let kubelet = class.kubelet;
    let reserved = class.expressions.reserved(kubelet, &resizing.variables(), pods);
    let (kube, system) = reserved.as_ref().map_or_else(
        || (&kubelet.kube_reserved, &kubelet.system_reserved),
        |reserved| (&reserved.kube, &reserved.system),
    );
    let overhead = Overhead {
        kube_reserved: overridden(kube_reserved(capacity.cpu, reserved_for), kube),
        system_reserved: overridden(Resources::default(), system),
        eviction_threshold: eviction_threshold(&capacity, &kubelet.eviction_hard),
    };
    Ok((capacity, overhead))
}

/// What the operating system will see of the memory, as far as can be known before it starts.
fn memory(info: &InstanceTypeInfo, settings: &NodeSettings) -> Bytes {
    let is_arm = info.processor.architectures.first().is_some_and(|first| first == "arm64");
    let kept = if is_arm { ARM_RESERVED_MIB } else { 0 };
    let mebibytes = info.memory_mib.saturating_sub(kept);
    let overhead = settings.memory_overhead.of_rounded_up(mebibytes);
    Bytes(mebibytes.saturating_sub(overhead).saturating_mul(MEBIBYTE))
}

/// Sets `name` to `amount`; zero is not there at all.
pub(crate) fn set(resources: &mut Resources, name: &str, amount: u64) {
    let Ok(name) = ResourceName::new(name) else { return };
    if amount == 0 {
        resources.extended.remove(&name);
    } else {
        resources.set(&name, amount);
    }
}

fn ephemeral_storage(
    base: &InstanceType,
    info: Option<&InstanceTypeInfo>,
    class: &Sizing<'_>,
) -> Bytes {
    let local = if class.is_raid0 { local_gigabytes(base, info) } else { 0 };
    if local > 0 {
        return Bytes(local.saturating_mul(GIGABYTE));
    }
    let devices = class.block_devices;
    let root = devices.iter().find(|device| device.is_root).and_then(|device| device.size);
    let of_family = || match family::ephemeral_device(class.image_family) {
        Some(name) => {
            let defaults = family::default_block_devices(class.image_family);
            let is_ephemeral = |name_of: Option<&str>| name_of == Some(name);
            let block_device =
                devices.iter().find(|device| is_ephemeral(device.device_name.as_deref()));
            block_device.and_then(|device| device.size).or_else(|| {
                let mut defaults = defaults.into_iter();
                defaults.find(|d| is_ephemeral(d.device_name.as_deref()))?.size
            })
        }
        // What a custom image has is not known: the last volume is the likeliest.
        None => devices.last().and_then(|device| device.size),
    };
    root.or_else(of_family).unwrap_or(DEFAULT_VOLUME)
}

/// Gigabytes (10^9) of all local disks. The label tells them only where they are NVMe.
fn local_gigabytes(base: &InstanceType, info: Option<&InstanceTypeInfo>) -> u64 {
    if let Some(info) = info {
        return info.local_disks.map_or(0, |disks| disks.gigabytes);
    }
    base.label(labels::INSTANCE_LOCAL_NVME).and_then(|size| size.parse().ok()).unwrap_or_default()
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
