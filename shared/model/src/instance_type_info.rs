//! Instance types as EC2 describes them, before any EC2NodeClass.
//!
//! Only what labels, capacity and availability are worked out from. Texts are EC2's own; what they
//! become as labels is not decided here.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html>

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    CapacityType, HourlyPrice, InstanceTypeName, RegionCatalog, Requirement, Zone, ZoneId, labels,
};

/// The processor of an instance type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// `SupportedArchitectures`, in EC2's order.
    pub architectures: Vec<String>,
    /// `Manufacturer`
    pub manufacturer: Option<String>,
    /// `SustainedClockSpeedInGhz` in MHz
    pub clock_mhz: Option<u32>,
    /// Whether `SupportedFeatures` has `nested-virtualization`.
    pub has_nested_virtualization: bool,
    /// Whether `NitroEnclavesSupport` of the type is `supported`.
    pub has_enclaves: bool,
}

/// GPUs or other devices of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// `Name`
    pub name: String,
    /// `Manufacturer`; Neuron devices have none.
    pub manufacturer: String,
    /// `Count`
    pub count: u32,
    /// `MemoryInfo.SizeInMiB` of each
    pub memory_mib: u64,
    /// `CoreInfo.Count` of each, of Neuron devices
    pub cores: u32,
}

/// The local disks of an instance type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalDisks {
    /// `TotalSizeInGB`
    pub gigabytes: u64,
    /// Whether `NvmeSupport` is not `unsupported`.
    pub is_nvme: bool,
}

/// How an instance type is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// `NetworkCardIndex` and `MaximumNetworkInterfaces` of each card
    pub cards: Vec<(u32, u32)>,
    /// `DefaultNetworkCardIndex`
    pub default_card: u32,
    /// `Ipv4AddressesPerInterface`
    pub ipv4_per_interface: u32,
    /// Whether `EnaSupport` is not `unsupported`.
    pub has_ena: bool,
    /// `EfaInfo.MaximumEfaInterfaces`
    pub efa_interfaces: u32,
    /// `EncryptionInTransitSupported`
    pub encrypts_in_transit: bool,
}

/// What no EC2 call answers: facts from AWS's own tables.
///
/// <https://github.com/aws/amazon-vpc-resource-controller-k8s/blob/master/pkg/aws/vpc/limits.go>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// Baseline bandwidth in Mbps, where it is a number.
    pub network_mbps: Option<u32>,
    /// Branch interfaces for pods, where the type can have any.
    pub branch_interfaces: Option<u32>,
    /// IPv4 addresses of each interface.
    pub ipv4_per_interface: Option<u32>,
}

/// An instance type as EC2 describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceTypeInfo {
    /// Its name.
    pub name: InstanceTypeName,
    /// `ProcessorInfo`
    pub processor: Processor,
    /// `VCpuInfo.DefaultVCpus`
    pub vcpus: u32,
    /// `MemoryInfo.SizeInMiB`
    pub memory_mib: u64,
    /// `EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps`, where `EbsOptimizedSupport` is `default`
    pub ebs_mbps: Option<u32>,
    /// `Hypervisor`; empty on bare metal
    pub hypervisor: String,
    /// `SupportedUsageClasses`: on-demand and spot; others are left out
    pub capacity_types: Vec<CapacityType>,
    /// `GpuInfo.Gpus`
    pub gpus: Vec<Device>,
    /// `InferenceAcceleratorInfo.Accelerators`
    pub accelerators: Vec<Device>,
    /// `NeuronInfo.NeuronDevices`
    pub neuron_devices: Vec<Device>,
    /// `InstanceStorageInfo`
    pub local_disks: Option<LocalDisks>,
    /// `NetworkInfo`
    pub network: Network,
    /// `PlacementGroupInfo.SupportedStrategies`
    pub placement_strategies: Vec<String>,
    /// From AWS's tables.
    pub table: TableFacts,
}

/// What Kubernetes calls the architecture that EC2 calls `name`: `amd64` or `arm64`, and none of any other.
pub fn architecture(name: &str) -> Option<&'static str> {
    match name {
        "x86_64" => Some("amd64"),
        "arm64" => Some("arm64"),
        _ => None,
    }
}

impl InstanceTypeInfo {
    /// `amd64` or `arm64`, by the first of the architectures that is one of them.
    pub fn architecture(&self) -> Option<&'static str> {
        self.processor.architectures.iter().find_map(|name| architecture(name))
    }

    /// Pods with an address of the VPC's when `reserved` interfaces of the default card are taken.
    ///
    /// Karpenter: `ENILimitedPods` in `pkg/providers/instancetype/types.go` of the AWS provider.
    pub fn interface_pods(&self, reserved: u32) -> u64 {
        let network = &self.network;
        let default = network.cards.iter().find(|(index, _)| *index == network.default_card);
        let interfaces = default.map_or(0, |(_, most)| *most).saturating_sub(reserved);
        if interfaces == 0 {
            return 0;
        }
        let addresses = network.ipv4_per_interface.saturating_sub(1);
        u64::from(interfaces).saturating_mul(u64::from(addresses)).saturating_add(2)
    }
}

/// Where instance types are sold, and at what price.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionMarket {
    /// Such as `us-west-2`.
    pub region: String,
    /// The ids of the zones, where they are known.
    pub zones: BTreeMap<Zone, ZoneId>,
    /// The zones of each type.
    pub offered: BTreeMap<InstanceTypeName, BTreeSet<Zone>>,
    /// On-demand prices.
    pub on_demand: BTreeMap<InstanceTypeName, HourlyPrice>,
    /// Spot prices.
    pub spot: BTreeMap<(InstanceTypeName, Zone), HourlyPrice>,
}

impl RegionMarket {
    /// What `catalog` was worked out from, as far as it shows: of types that it has, and without
    /// prices of nothing.
    pub fn of(catalog: &RegionCatalog) -> Self {
        let (region, zones) = (catalog.region.clone(), catalog.zones.clone());
        let mut market = Self { region, zones, ..Self::default() };
        for instance_type in &catalog.instance_types {
            let name = &instance_type.name;
            let sold = instance_type
                .requirements
                .get(labels::ZONE)
                .map(Requirement::values)
                .into_iter()
                .flatten()
                .filter_map(|zone| Zone::new(zone).ok());
            market.offered.insert(name.clone(), sold.collect());
            for offering in
                instance_type.offerings.iter().filter(|offering| offering.price.nanos() > 0)
            {
                if offering.capacity_type == CapacityType::Spot {
                    market.spot.insert((name.clone(), offering.zone.clone()), offering.price);
                } else {
                    market.on_demand.insert(name.clone(), offering.price);
                }
            }
        }
        market
    }

    /// Every zone in which anything is sold.
    pub fn all_zones(&self) -> BTreeSet<Zone> {
        self.offered.values().flatten().cloned().collect()
    }
}

/// A catalog as it is kept for those who decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredRegionCatalog {
    /// What is sold.
    pub catalog: RegionCatalog,
    /// When it was asked for.
    pub found_at: jiff::Timestamp,
}
