//! EC2's own answers, and the two tables beside them, as shapes and a market.
//!
//! `DescribeInstanceTypes` and `DescribeInstanceTypeOfferings` as the AWS command line prints them.
//! What no EC2 call answers comes from two files of our own making: limits (`{"limits": {TYPE:
//! {"networkBandwidthMbps", "trunking", "branchInterfaces", "ipv4PerInterface"}}}`) and prices
//! (`{"prices": {TYPE: {"onDemand": DECIMAL, "spot": {ZONE: DECIMAL}}}}`). Nothing is judged here.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
};

use flate2::read::GzDecoder;
use model::{
    CapacityType, HourlyPrice, InstanceTypeInfo, InstanceTypeName, Zone,
    instance_type_info::{Device, LocalDisks, Network, Processor, RegionMarket, TableFacts},
};
use serde::Deserialize;

use super::Error;

mod sold;

pub use sold::{Zones, offered, spot, zones};

/// The most that a file may unpack to.
const BYTES_MAX: u64 = 256 << 20;

/// The files, plain or compressed with gzip.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    /// `{"InstanceTypes": […]}`
    pub instance_types: &'a [u8],
    /// `{"InstanceTypeOfferings": […]}` by zone
    pub offerings: &'a [u8],
    /// The limits.
    pub limits: &'a [u8],
    /// The prices.
    pub prices: &'a [u8],
}

/// Reads what EC2 answered for `region`. The ids of zones are not among it.
pub fn read(
    region: &str,
    answers: &Answers<'_>,
) -> Result<(RegionMarket, Vec<InstanceTypeInfo>), Error> {
    let limits: RawLimits = json("limits", answers.limits)?;
    let prices: RawPrices = json("prices", answers.prices)?;
    let offered = offered(answers.offerings)?;
    let mut market = RegionMarket { region: region.to_owned(), offered, ..RegionMarket::default() };
    for (instance_type, price) in prices.prices {
        let name = name(&instance_type)?;
        let dollars = |text: &str| {
            HourlyPrice::parse_dollars(text)
                .map_err(|error| Error(format!("price of {instance_type}: {error}")))
        };
        if let Some(text) = &price.on_demand {
            market.on_demand.insert(name.clone(), dollars(text)?);
        }
        for (location, text) in &price.spot {
            market.spot.insert((name.clone(), zone(location)?), dollars(text)?);
        }
    }
    let known = |name: &str| limits.limits.get(name).map(RawLimit::facts);
    Ok((market, instance_types(answers.instance_types, known)?))
}

/// Instance types, from `{"InstanceTypes": […]}`; `known` has what that does not say.
pub fn instance_types(
    instance_types: &[u8],
    known: impl Fn(&str) -> Option<TableFacts>,
) -> Result<Vec<InstanceTypeInfo>, Error> {
    let types: RawTypes = json("instance types", instance_types)?;
    let mut seen = BTreeSet::new();
    let mut descriptions = Vec::with_capacity(types.instance_types.len());
    for raw in types.instance_types {
        let table = known(&raw.instance_type);
        let info = instance_type_info(raw, table.unwrap_or_default())?;
        if !seen.insert(info.name.clone()) {
            return Err(Error(format!("{} stands there twice", info.name)));
        }
        descriptions.push(info);
    }
    Ok(descriptions)
}

/// `bytes` unpacked, if they are packed.
pub(crate) fn unpacked<'a>(what: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut out = Vec::new();
    let read = GzDecoder::new(bytes).take(BYTES_MAX).read_to_end(&mut out);
    read.map_err(|error| Error(format!("{what}: does not unpack: {error}")))?;
    Ok(Cow::Owned(out))
}

fn json<T: for<'a> Deserialize<'a>>(what: &str, bytes: &[u8]) -> Result<T, Error> {
    let bytes = unpacked(what, bytes)?;
    serde_json::from_slice(&bytes).map_err(|error| Error(format!("{what}: {error}")))
}

fn name(text: &str) -> Result<InstanceTypeName, Error> {
    InstanceTypeName::new(text).map_err(|error| Error(error.to_string()))
}

fn zone(text: &str) -> Result<Zone, Error> {
    Zone::new(text).map_err(|error| Error(error.to_string()))
}

fn instance_type_info(raw: RawType, table: TableFacts) -> Result<InstanceTypeInfo, Error> {
    let processor = raw.processor_info;
    let network = raw.network_info;
    let is_by_default = raw.ebs_info.ebs_optimized_support.as_deref() == Some("default");
    let ebs = raw.ebs_info.ebs_optimized_info.and_then(|ebs| ebs.maximum_bandwidth_in_mbps);
    let classes = raw.supported_usage_classes.iter();
    let capacity_types = classes.filter_map(|class| CapacityType::parse(class));
    Ok(InstanceTypeInfo {
        name: name(&raw.instance_type)?,
        processor: Processor {
            architectures: processor.supported_architectures,
            manufacturer: processor.manufacturer,
            clock_mhz: processor
                .sustained_clock_speed_in_ghz
                .and_then(|gigahertz| thousandths(&gigahertz.to_string())),
            has_nested_virtualization: processor
                .supported_features
                .iter()
                .any(|feature| feature == "nested-virtualization"),
            has_enclaves: raw.nitro_enclaves_support == "supported",
        },
        vcpus: raw.v_cpu_info.default_v_cpus,
        memory_mib: raw.memory_info.size_in_mi_b,
        ebs_mbps: ebs.filter(|_| is_by_default),
        hypervisor: raw.hypervisor,
        capacity_types: capacity_types.filter(|kind| *kind != CapacityType::Reserved).collect(),
        gpus: devices(raw.gpu_info.gpus),
        accelerators: devices(raw.inference_accelerator_info.accelerators),
        neuron_devices: devices(raw.neuron_info.neuron_devices),
        local_disks: raw.instance_storage_info.and_then(|disks| {
            let is_nvme =
                disks.nvme_support.as_deref().is_some_and(|support| support != "unsupported");
            Some(LocalDisks { gigabytes: disks.total_size_in_gb?, is_nvme })
        }),
        network: Network {
            cards: network
                .network_cards
                .iter()
                .map(|card| (card.network_card_index, card.maximum_network_interfaces))
                .collect(),
            default_card: network.default_network_card_index,
            ipv4_per_interface: network.ipv4_addresses_per_interface,
            has_ena: network.ena_support.as_deref().is_some_and(|s| s != "unsupported"),
            efa_interfaces: network.efa_info.unwrap_or_default().maximum_efa_interfaces,
            encrypts_in_transit: network.encryption_in_transit_supported,
        },
        placement_strategies: raw.placement_group_info.supported_strategies,
        table,
    })
}

fn devices(raw: Vec<RawDevice>) -> Vec<Device> {
    let device = |raw: RawDevice| Device {
        name: raw.name,
        manufacturer: raw.manufacturer,
        count: raw.count,
        memory_mib: raw.memory_info.size_in_mi_b,
        cores: raw.core_info.count,
    };
    raw.into_iter().map(device).collect()
}

/// The decimal in `text` times a thousand, rounded to the nearest; a half is rounded up. `None` if it is no
/// decimal without a sign, or does not fit.
pub fn thousandths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut digits = fraction.chars().chain(std::iter::repeat('0'));
    let kept: String = digits.by_ref().take(3).collect();
    let rounds_up = digits.next().is_some_and(|digit| digit >= '5');
    let whole: u32 = whole.parse().ok()?;
    let thousandths: u32 = kept.parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(thousandths)?.checked_add(u32::from(rounds_up))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawTypes {
    instance_types: Vec<RawType>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawType {
    instance_type: String,
    #[serde(default)]
    processor_info: RawProcessor,
    #[serde(default)]
    nitro_enclaves_support: String,
    v_cpu_info: RawCpus,
    memory_info: RawMemory,
    #[serde(default)]
    ebs_info: RawEbs,
    #[serde(default)]
    hypervisor: String,
    #[serde(default)]
    supported_usage_classes: Vec<String>,
    #[serde(default)]
    gpu_info: RawGpus,
    #[serde(default)]
    inference_accelerator_info: RawAccelerators,
    #[serde(default)]
    neuron_info: RawNeuron,
    instance_storage_info: Option<RawDisks>,
    network_info: RawNetwork,
    #[serde(default)]
    placement_group_info: RawPlacement,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawProcessor {
    supported_architectures: Vec<String>,
    manufacturer: Option<String>,
    sustained_clock_speed_in_ghz: Option<serde_json::Number>,
    supported_features: Vec<String>,
}

#[derive(Deserialize)]
struct RawCpus {
    #[serde(rename = "DefaultVCpus")]
    default_v_cpus: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawMemory {
    #[serde(rename = "SizeInMiB")]
    size_in_mi_b: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawEbs {
    ebs_optimized_support: Option<String>,
    ebs_optimized_info: Option<RawEbsInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawEbsInfo {
    maximum_bandwidth_in_mbps: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawGpus {
    gpus: Vec<RawDevice>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawAccelerators {
    accelerators: Vec<RawDevice>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawNeuron {
    neuron_devices: Vec<RawDevice>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawDevice {
    name: String,
    manufacturer: String,
    count: u32,
    memory_info: RawMemory,
    core_info: RawCores,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawCores {
    count: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawDisks {
    #[serde(rename = "TotalSizeInGB")]
    total_size_in_gb: Option<u64>,
    nvme_support: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawNetwork {
    #[serde(default)]
    network_cards: Vec<RawCard>,
    #[serde(default)]
    default_network_card_index: u32,
    #[serde(default)]
    ipv4_addresses_per_interface: u32,
    ena_support: Option<String>,
    efa_info: Option<RawEfa>,
    #[serde(default)]
    encryption_in_transit_supported: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawEfa {
    maximum_efa_interfaces: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawCard {
    network_card_index: u32,
    maximum_network_interfaces: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct RawPlacement {
    supported_strategies: Vec<String>,
}

#[derive(Deserialize)]
struct RawLimits {
    limits: BTreeMap<String, RawLimit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLimit {
    network_bandwidth_mbps: Option<u32>,
    #[serde(default)]
    trunking: bool,
    branch_interfaces: Option<u32>,
    ipv4_per_interface: Option<u32>,
}

impl RawLimit {
    fn facts(&self) -> TableFacts {
        TableFacts {
            network_mbps: self.network_bandwidth_mbps,
            branch_interfaces: self.branch_interfaces.filter(|_| self.trunking),
            ipv4_per_interface: self.ipv4_per_interface,
        }
    }
}

#[derive(Deserialize)]
struct RawPrices {
    prices: BTreeMap<String, RawPrice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPrice {
    on_demand: Option<String>,
    #[serde(default)]
    spot: BTreeMap<String, String>,
}
