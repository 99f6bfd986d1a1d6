//! What is sold: instance types, where, and for how much.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::{
    Client,
    types::{self, LocationType},
};
use jiff::Timestamp;
use model::{
    CapacityType, HourlyPrice, InstanceTypeInfo, InstanceTypeName, Zone, ZoneId,
    instance_type_info::{Device, LocalDisks, Network, Processor, TableFacts},
    limits,
    limits::requests,
};
use ports::{Market, PortError};

use super::filter;
use crate::{
    fault::{BadAnswer, port_error},
    pricing::Prices,
};

const TYPES: &str = "DescribeInstanceTypes";
const OFFERINGS: &str = "DescribeInstanceTypeOfferings";
const ZONES: &str = "DescribeAvailabilityZones";
const SPOT: &str = "DescribeSpotPriceHistory";
/// Linux costs the same in both; not every type is listed in each.
const PRODUCTS: [&str; 2] = ["Linux/UNIX", "Linux/UNIX (Amazon VPC)"];

/// [`Market`] over EC2 and Pricing.
#[derive(Clone, Debug)]
pub struct Ec2Market {
    client: Client,
    prices: Prices,
}

impl Ec2Market {
    pub(crate) fn new(client: Client, prices: Prices) -> Self {
        Self { client, prices }
    }
}

/// The token of the next page, if there is one.
fn next(token: Option<String>) -> Option<String> {
    token.filter(|token| !token.is_empty())
}

impl Market for Ec2Market {
    async fn instance_types(&self) -> Result<Vec<InstanceTypeInfo>, PortError> {
        let mut descriptions = Vec::new();
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .describe_instance_types()
                .max_results(requests::TYPES_PER_PAGE.into())
                .filters(filter("supported-virtualization-type", ["hvm"]))
                .filters(filter("processor-info.supported-architecture", ["x86_64", "arm64"]))
                .set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(TYPES, error))?;
            for described in answer.instance_types() {
                // One that cannot be read is left out of the list; the list does not fail.
                match from_type(described) {
                    Ok(info) => descriptions.push(info),
                    Err(problem) => tracing::warn!(problem, "instance type left out"),
                }
            }
            token = next(answer.next_token);
            if token.is_none() {
                return Ok(descriptions);
            }
        }
        Err(BadAnswer::of(TYPES, "too many pages"))
    }

    async fn zones(&self) -> Result<BTreeMap<Zone, ZoneId>, PortError> {
        let request = self.client.describe_availability_zones();
        let answer = request.send().await.map_err(|error| port_error(ZONES, error))?;
        let zones = answer.availability_zones().iter();
        Ok(zones
            .filter_map(|zone| {
                Some((Zone::new(zone.zone_name()?).ok()?, ZoneId::new(zone.zone_id()?).ok()?))
            })
            .collect())
    }

    async fn offered(&self) -> Result<BTreeMap<InstanceTypeName, BTreeSet<Zone>>, PortError> {
        let mut offered: BTreeMap<InstanceTypeName, BTreeSet<Zone>> = BTreeMap::new();
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .describe_instance_type_offerings()
                .max_results(requests::ENTRIES_PER_PAGE.into());
            let request =
                request.location_type(LocationType::AvailabilityZone).set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(OFFERINGS, error))?;
            for instance_type_offering in answer.instance_type_offerings() {
                let name = instance_type_offering.instance_type().map(types::InstanceType::as_str);
                let name = InstanceTypeName::new(name.unwrap_or_default());
                let zone = Zone::new(instance_type_offering.location().unwrap_or_default());
                if let (Ok(name), Ok(zone)) = (name, zone) {
                    offered.entry(name).or_default().insert(zone);
                }
            }
            token = next(answer.next_token);
            if token.is_none() {
                return Ok(offered);
            }
        }
        Err(BadAnswer::of(OFFERINGS, "too many pages"))
    }

    async fn on_demand(&self) -> Result<BTreeMap<InstanceTypeName, HourlyPrice>, PortError> {
        self.prices.on_demand().await
    }

    async fn spot(
        &self,
        now: Timestamp,
    ) -> Result<BTreeMap<(InstanceTypeName, Zone), HourlyPrice>, PortError> {
        let mut newest: BTreeMap<(InstanceTypeName, Zone), (i64, HourlyPrice)> = BTreeMap::new();
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .describe_spot_price_history()
                .max_results(requests::ENTRIES_PER_PAGE.into())
                .start_time(aws_smithy_types::DateTime::from_secs(now.as_second()))
                .set_product_descriptions(Some(PRODUCTS.map(str::to_owned).into()))
                .set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(SPOT, error))?;
            for spot_price in answer.spot_price_history() {
                let Some((key, price)) = from_spot(spot_price) else { continue };
                let since =
                    spot_price.timestamp().map_or(i64::MIN, aws_smithy_types::DateTime::secs);
                // The latest one counts.
                match newest.get(&key) {
                    Some((known, _)) if *known >= since => {}
                    _ => {
                        newest.insert(key, (since, price));
                    }
                }
            }
            token = next(answer.next_token);
            if token.is_none() {
                return Ok(newest.into_iter().map(|(key, (_, price))| (key, price)).collect());
            }
        }
        Err(BadAnswer::of(SPOT, "too many pages"))
    }
}

fn from_spot(spot_price: &types::SpotPrice) -> Option<((InstanceTypeName, Zone), HourlyPrice)> {
    let name = InstanceTypeName::new(spot_price.instance_type()?.as_str()).ok()?;
    let zone = Zone::new(spot_price.availability_zone()?).ok()?;
    let price = HourlyPrice::parse_dollars(spot_price.spot_price()?).ok()?;
    Some(((name, zone), price))
}

fn count(value: Option<i32>) -> u32 {
    value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

fn from_type(info: &types::InstanceTypeInfo) -> Result<InstanceTypeInfo, String> {
    let name = info.instance_type().map_or("", types::InstanceType::as_str);
    let name = InstanceTypeName::new(name).map_err(|error| error.to_string())?;
    let missing = |what: &str| format!("{name} has no {what}");
    let processor = info.processor_info();
    let cpus = info.v_cpu_info().ok_or_else(|| missing("VCpuInfo"))?;
    let memory = info.memory_info().ok_or_else(|| missing("MemoryInfo"))?.size_in_mib();
    let memory_mib = memory.and_then(|mebibytes| u64::try_from(mebibytes).ok());
    let network = info.network_info().ok_or_else(|| missing("NetworkInfo"))?;
    let classes = info.supported_usage_classes().iter().map(types::UsageClassType::as_str);
    let kinds = classes.filter_map(CapacityType::parse);
    let groups = info.placement_group_info();
    let enclaves = info.nitro_enclaves_support();
    let has_enclaves = enclaves.is_some_and(|support| support.as_str() == "supported");
    Ok(InstanceTypeInfo {
        processor: processor
            .map(|processor| from_processor(processor, has_enclaves))
            .unwrap_or_default(),
        vcpus: count(cpus.default_v_cpus()),
        memory_mib: memory_mib.ok_or_else(|| missing("MemoryInfo.SizeInMiB"))?,
        ebs_mbps: info.ebs_info().and_then(ebs_bandwidth),
        hypervisor: info
            .hypervisor()
            .map(|instance_type_hypervisor| instance_type_hypervisor.as_str().to_owned())
            .unwrap_or_default(),
        capacity_types: kinds.filter(|kind| *kind != CapacityType::Reserved).collect(),
        gpus: info.gpu_info().map(gpus).unwrap_or_default(),
        accelerators: info.inference_accelerator_info().map(accelerators).unwrap_or_default(),
        neuron_devices: info.neuron_info().map(neuron_devices).unwrap_or_default(),
        local_disks: info.instance_storage_info().and_then(local_disks),
        network: from_network(network),
        placement_strategies: groups
            .map(|groups| {
                let placement_group_strategies = groups.supported_strategies().iter();
                placement_group_strategies.map(|strategy| strategy.as_str().to_owned()).collect()
            })
            .unwrap_or_default(),
        table: TableFacts::default(),
        name,
    })
}

fn from_processor(processor_info: &types::ProcessorInfo, has_enclaves: bool) -> Processor {
    let mut features = processor_info.supported_features().iter();
    Processor {
        architectures: processor_info
            .supported_architectures()
            .iter()
            .map(|architecture_type| architecture_type.as_str().to_owned())
            .collect(),
        manufacturer: processor_info.manufacturer().map(str::to_owned),
        // A float in the answer: read as the decimal text that it was sent as.
        clock_mhz: processor_info
            .sustained_clock_speed_in_ghz()
            .and_then(|gigahertz| instance_catalog::ec2::thousandths(&gigahertz.to_string())),
        has_nested_virtualization: features.any(|supported_additional_processor_feature| {
            supported_additional_processor_feature.as_str() == "nested-virtualization"
        }),
        has_enclaves,
    }
}

fn ebs_bandwidth(ebs_info: &types::EbsInfo) -> Option<u32> {
    let is_by_default =
        ebs_info.ebs_optimized_support().is_some_and(|support| support.as_str() == "default");
    let most =
        ebs_info.ebs_optimized_info().filter(|_| is_by_default)?.maximum_bandwidth_in_mbps()?;
    u32::try_from(most).ok()
}

fn local_disks(instance_storage_info: &types::InstanceStorageInfo) -> Option<LocalDisks> {
    let gigabytes = u64::try_from(instance_storage_info.total_size_in_gb()?).ok()?;
    let is_nvme = instance_storage_info
        .nvme_support()
        .is_some_and(|support| support.as_str() != "unsupported");
    Some(LocalDisks { gigabytes, is_nvme })
}

fn from_network(network_info: &types::NetworkInfo) -> Network {
    let cards = network_info
        .network_cards()
        .iter()
        .map(|card| (count(card.network_card_index()), count(card.maximum_network_interfaces())));
    Network {
        cards: cards.collect(),
        default_card: count(network_info.default_network_card_index()),
        ipv4_per_interface: count(network_info.ipv4_addresses_per_interface()),
        has_ena: network_info
            .ena_support()
            .is_some_and(|support| support.as_str() != "unsupported"),
        efa_interfaces: network_info
            .efa_info()
            .map_or(0, |efa| count(efa.maximum_efa_interfaces())),
        encrypts_in_transit: network_info.encryption_in_transit_supported().unwrap_or_default(),
    }
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

fn gpus(gpu_info: &types::GpuInfo) -> Vec<Device> {
    let device = |gpu: &types::GpuDeviceInfo| Device {
        name: text(gpu.name()),
        manufacturer: text(gpu.manufacturer()),
        count: count(gpu.count()),
        memory_mib: u64::from(gpu.memory_info().map_or(0, |memory| count(memory.size_in_mib()))),
        cores: 0,
    };
    gpu_info.gpus().iter().map(device).collect()
}

fn accelerators(inference_accelerator_info: &types::InferenceAcceleratorInfo) -> Vec<Device> {
    let device = |inference_device_info: &types::InferenceDeviceInfo| Device {
        name: text(inference_device_info.name()),
        manufacturer: text(inference_device_info.manufacturer()),
        count: count(inference_device_info.count()),
        memory_mib: u64::from(
            inference_device_info.memory_info().map_or(0, |memory| count(memory.size_in_mib())),
        ),
        cores: 0,
    };
    inference_accelerator_info.accelerators().iter().map(device).collect()
}

fn neuron_devices(neuron_info: &types::NeuronInfo) -> Vec<Device> {
    let device = |neuron_device_info: &types::NeuronDeviceInfo| Device {
        name: text(neuron_device_info.name()),
        manufacturer: String::new(),
        count: count(neuron_device_info.count()),
        memory_mib: u64::from(
            neuron_device_info.memory_info().map_or(0, |memory| count(memory.size_in_mib())),
        ),
        cores: neuron_device_info.core_info().map_or(0, |cores| count(cores.count())),
    };
    neuron_info.neuron_devices().iter().map(device).collect()
}
