//! A catalog from what EC2 says: every label, capacity, offerings and prices of each type, as an
//! AL2023 class with subnets everywhere and nothing else would have it.
//!
//! Karpenter: `pkg/providers/instancetype/types.go` of the AWS provider.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    CapacityType, HourlyPrice, InstanceType, InstanceTypeInfo, LabelKey, Millicores, Offering,
    RegionCatalog, Requirement, Requirements, Resources, Zone,
    instance_type_info::{Device, RegionMarket},
    labels,
    node_class::Kubelet,
    requirement::Value,
};

use crate::{
    capacity::{Sizing, resize, set},
    node_settings::NodeSettings,
};

/// The catalog of `descriptions` at the prices and in the zones of `market`. Types that the market does
/// not offer anywhere are there as well, without an available offering.
pub fn catalog(
    market: &RegionMarket,
    descriptions: Vec<InstanceTypeInfo>,
    settings: &NodeSettings,
) -> RegionCatalog {
    // Once, and not for each type: it looks at all of them.
    let zones = market.all_zones();
    let make = |info| Arc::new(instance_type(info, market, &zones, settings));
    let mut instance_types: Vec<Arc<InstanceType>> = descriptions.iter().map(make).collect();
    instance_types.sort_by(|a, b| a.name.cmp(&b.name));
    RegionCatalog {
        region: market.region.clone(),
        zones: market.zones.clone(),
        instance_types,
        descriptions: descriptions
            .into_iter()
            .map(|info| (info.name.clone(), Arc::new(info)))
            .collect(),
    }
}

fn instance_type(
    info: &InstanceTypeInfo,
    market: &RegionMarket,
    zones: &BTreeSet<Zone>,
    settings: &NodeSettings,
) -> InstanceType {
    let mut instance_type = InstanceType {
        name: info.name.clone(),
        requirements: requirements(info, market),
        capacity: capacity(info),
        overhead: Resources::default(),
        offerings: offerings(info, market, zones),
    };
    // Without expressions nothing fails.
    let kubelet = Kubelet::default();
    let resized = resize(&instance_type, Some(info), &Sizing::al2023(&kubelet), settings);
    if let Ok((capacity, overhead)) = resized {
        instance_type.capacity = capacity;
        instance_type.overhead = overhead.sum();
    }
    instance_type
}

fn offerings(
    info: &InstanceTypeInfo,
    market: &RegionMarket,
    zones: &BTreeSet<Zone>,
) -> Vec<Offering> {
    let sold = market.offered.get(&info.name);
    let in_zone = |capacity_type: CapacityType, zone: &Zone| {
        let price = match capacity_type {
            CapacityType::Spot => market.spot.get(&(info.name.clone(), zone.clone())),
            CapacityType::OnDemand | CapacityType::Reserved => market.on_demand.get(&info.name),
        };
        Offering {
            zone: zone.clone(),
            zone_id: market.zones.get(zone).cloned(),
            capacity_type,
            price: price.copied().unwrap_or(HourlyPrice::from_nanos(0)),
            is_available: price.is_some() && sold.is_some_and(|zones| zones.contains(zone)),
            reservation: None,
        }
    };
    let bought = info.capacity_types.iter();
    bought.flat_map(|kind| zones.iter().map(move |zone| in_zone(*kind, zone))).collect()
}

fn capacity(info: &InstanceTypeInfo) -> Resources {
    let mut capacity = Resources {
        cpu: Millicores(u64::from(info.vcpus).saturating_mul(1_000)),
        ..Resources::default()
    };
    let count = |devices: &[Device], manufacturer: Option<&str>| {
        let filter = devices.iter().filter(|d| manufacturer.is_none_or(|m| d.manufacturer == m));
        filter.map(|device| u64::from(device.count)).fold(0, u64::saturating_add)
    };
    let first = info.neuron_devices.first();
    let cores = first.map_or(0, |d| u64::from(d.count).saturating_mul(u64::from(d.cores)));
    for (name, amount) in [
        ("nvidia.com/gpu", count(&info.gpus, Some("NVIDIA"))),
        ("amd.com/gpu", count(&info.gpus, Some("AMD"))),
        ("habana.ai/gaudi", count(&info.gpus, Some("Habana"))),
        ("aws.amazon.com/neuron", count(&info.neuron_devices, None)),
        ("aws.amazon.com/neuroncore", cores),
        ("vpc.amazonaws.com/pod-eni", u64::from(info.table.branch_interfaces.unwrap_or(0))),
        ("vpc.amazonaws.com/efa", u64::from(info.network.efa_interfaces)),
    ] {
        set(&mut capacity, name, amount);
    }
    capacity
}

fn requirements(info: &InstanceTypeInfo, market: &RegionMarket) -> Requirements {
    let zones: Vec<&Zone> = market.offered.get(&info.name).into_iter().flatten().collect();
    let zone_ids: Vec<&str> =
        zones.iter().filter_map(|zone| Some(market.zones.get(*zone)?.as_str())).collect();
    let name = info.name.as_str();
    let mut requirements = Requirements::new();
    let mut put = |key: &str, values: Vec<&str>| {
        if let Ok(key) = LabelKey::new(key) {
            let values = values.into_iter().map(Value::from).collect();
            requirements.replace(Requirement::listed(key, values));
        }
    };
    put(labels::INSTANCE_TYPE, vec![name]);
    put(labels::ARCH, info.architecture().into_iter().collect());
    put(labels::OS, vec!["linux"]);
    put(labels::WINDOWS_BUILD, Vec::new());
    put(labels::REGION, vec![&market.region]);
    put(labels::ZONE, zones.iter().map(|zone| zone.as_str()).collect());
    if !zone_ids.is_empty() {
        put(labels::ZONE_ID, zone_ids);
    }
    put(labels::CAPACITY_TYPE, info.capacity_types.iter().map(|kind| kind.as_str()).collect());
    for (key, value) in own_labels(info) {
        put(&format!("karpenter.k8s.aws/{key}"), value.as_deref().into_iter().collect());
    }
    put(labels::INSTANCE_TENANCY, vec!["default", "dedicated"]);
    requirements
}

/// Labels of Karpenter's AWS provider, without their domain; `None` where one does not apply.
fn own_labels(info: &InstanceTypeInfo) -> BTreeMap<&'static str, Option<String>> {
    let name = info.name.as_str();
    let kind = name_parts(name);
    let (family, size) = match name.split_once('.') {
        Some((family, size)) if !size.contains('.') => (Some(family), Some(size)),
        _ => (None, None),
    };
    let gpu = single(&info.gpus);
    let neuron = single(&info.neuron_devices);
    let inference = single(&info.accelerators).filter(|_| info.neuron_devices.is_empty());
    let accelerator = inference.or(neuron);
    let nvme = info.local_disks.filter(|disks| disks.is_nvme).map(|disks| disks.gigabytes);
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let text = |value: Option<&str>| value.map(ToOwned::to_owned);
    let is_flex = family.is_some_and(|family| family.contains("-flex"));
    let maker_of_accelerator = inference.map(|device| kebab(&device.manufacturer));
    BTreeMap::from([
        ("instance-cpu", Some(info.vcpus.to_string())),
        ("instance-cpu-manufacturer", info.processor.manufacturer.as_deref().map(kebab)),
        // For the oldest types it is unknown; Karpenter says 0.
        ("instance-cpu-sustained-clock-speed-mhz", number(info.processor.clock_mhz.or(Some(0)))),
        ("instance-memory", Some(info.memory_mib.to_string())),
        ("instance-ebs-bandwidth", number(info.ebs_mbps)),
        ("instance-network-bandwidth", number(info.table.network_mbps)),
        ("instance-category", text(kind.map(|(category, _)| category))),
        ("instance-generation", text(kind.map(|(_, generation)| generation))),
        ("instance-family", text(family)),
        ("instance-size", text(size)),
        ("instance-capability-flex", Some(is_flex.to_string())),
        ("instance-local-nvme", nvme.map(|gigabytes| gigabytes.to_string())),
        ("instance-gpu-name", gpu.map(|gpu| kebab(&gpu.name))),
        ("instance-gpu-manufacturer", gpu.map(|gpu| kebab(&gpu.manufacturer))),
        ("instance-gpu-count", gpu.map(|gpu| gpu.count.to_string())),
        ("instance-gpu-memory", gpu.map(|gpu| gpu.memory_mib.to_string())),
        ("instance-accelerator-name", accelerator.map(|device| kebab(&device.name))),
        (
            "instance-accelerator-manufacturer",
            maker_of_accelerator.or_else(|| neuron.map(|_| "aws".to_owned())),
        ),
        ("instance-accelerator-count", accelerator.map(|device| device.count.to_string())),
        ("instance-hypervisor", Some(info.hypervisor.clone())),
        (
            "instance-encryption-in-transit-supported",
            Some(info.network.encrypts_in_transit.to_string()),
        ),
        ("capacity-reservation-id", None),
        ("capacity-reservation-type", None),
        ("capacity-reservation-interruptible", None),
    ])
}

fn single(devices: &[Device]) -> Option<&Device> {
    match devices {
        [device] => Some(device),
        _ => None,
    }
}

/// Lower case, with dashes for spaces.
fn kebab(text: &str) -> String {
    text.to_lowercase().replace(' ', "-")
}

/// Category and generation of a type's name: `m` and `7` of `m7i-flex.large`, `u` and `1` of
/// `u-6tb1.112xlarge`. Karpenter: `(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.`
fn name_parts(name: &str) -> Option<(&str, &str)> {
    let (before_dot, _) = name.rsplit_once('.')?;
    let letters = before_dot.find(|c: char| !c.is_ascii_lowercase())?;
    let (category, rest) = before_dot.split_at_checked(letters)?;
    let without_size = rest.strip_prefix('-').and_then(|rest| {
        let (size, rest) = rest.split_once("tb")?;
        (!size.is_empty() && size.chars().all(|c| c.is_ascii_digit())).then_some(rest)
    });
    let rest = without_size.unwrap_or(rest);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (generation, _) = rest.split_at_checked(digits)?;
    (!category.is_empty() && !generation.is_empty()).then_some((category, generation))
}

#[cfg(test)]
mod tests;
