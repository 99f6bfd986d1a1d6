//! What EC2's own words are read as.

mod sold;

use std::io::Write as _;

use instance_catalog::ec2::{Answers, read, thousandths};
use model::{CapacityType, HourlyPrice, instance_type_info::LocalDisks};

const TYPES: &str = r#"{"InstanceTypes": [{
    "InstanceType": "p4d.24xlarge", "Hypervisor": "nitro",
    "SupportedUsageClasses": ["on-demand", "spot", "capacity-block"],
    "ProcessorInfo": {"SupportedArchitectures": ["x86_64"], "Manufacturer": "Intel",
        "SustainedClockSpeedInGhz": 3.1, "SupportedFeatures": ["nested-virtualization"]},
    "VCpuInfo": {"DefaultVCpus": 96}, "MemoryInfo": {"SizeInMiB": 1179648},
    "EbsInfo": {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 19000}},
    "GpuInfo": {"Gpus": [{"Name": "A100", "Manufacturer": "NVIDIA", "Count": 8,
        "MemoryInfo": {"SizeInMiB": 40960}}]},
    "InstanceStorageInfo": {"TotalSizeInGB": 8000, "NvmeSupport": "required"},
    "NetworkInfo": {"NetworkCards": [
            {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 15},
            {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 14}],
        "DefaultNetworkCardIndex": 0, "Ipv4AddressesPerInterface": 50, "EnaSupport": "required",
        "EfaInfo": {"MaximumEfaInterfaces": 4}, "EncryptionInTransitSupported": true},
    "PlacementGroupInfo": {"SupportedStrategies": ["cluster", "spread"]}}]}"#;
const OFFERINGS: &str = r#"{"InstanceTypeOfferings": [
    {"InstanceType": "p4d.24xlarge", "LocationType": "availability-zone", "Location": "us-west-2b"}]}"#;
const LIMITS: &str = r#"{"limits": {"p4d.24xlarge": {"networkBandwidthMbps": 400000, "trunking": false,
    "branchInterfaces": 120, "ipv4PerInterface": 50}}}"#;
const PRICES: &str = r#"{"currency": "USD", "prices": {"p4d.24xlarge":
    {"onDemand": "21.9576", "spot": {"us-west-2b": "8.2"}}}}"#;

fn answers<'a>(types: &'a [u8], prices: &'a str) -> Answers<'a> {
    Answers {
        instance_types: types,
        offerings: OFFERINGS.as_bytes(),
        limits: LIMITS.as_bytes(),
        prices: prices.as_bytes(),
    }
}

#[test]
fn a_description_becomes_a_shape() {
    let (market, descriptions) = read("us-west-2", &answers(TYPES.as_bytes(), PRICES)).unwrap();
    let [info] = descriptions.as_slice() else { panic!("{descriptions:?}") };
    assert_eq!(info.processor.clock_mhz, Some(3_100));
    assert!(info.processor.has_nested_virtualization);
    assert_eq!(info.capacity_types, [CapacityType::OnDemand, CapacityType::Spot]);
    assert_eq!((info.vcpus, info.memory_mib, info.ebs_mbps), (96, 1_179_648, Some(19_000)));
    assert_eq!((info.gpus[0].count, info.gpus[0].memory_mib), (8, 40_960));
    assert_eq!(info.local_disks, Some(LocalDisks { gigabytes: 8_000, is_nvme: true }));
    assert_eq!(info.network.cards, [(0, 15), (1, 14)]);
    assert_eq!((info.network.efa_interfaces, info.interface_pods(0)), (4, 737));
    assert_eq!(info.table.branch_interfaces, None, "without trunking there are none");
    assert_eq!(info.table.network_mbps, Some(400_000));
    assert_eq!(market.on_demand.values().next(), Some(&HourlyPrice::from_nanos(21_957_600_000)));
    assert_eq!(market.all_zones().len(), 1);
}

#[test]
fn the_built_in_descriptions_are_those_of_the_built_in_types() {
    let (market, descriptions) = instance_catalog::builtin_market().unwrap();
    assert_eq!(descriptions.len(), 1_309);
    assert!(descriptions.iter().all(|info| market.offered.contains_key(&info.name)));
    let p4d = descriptions.iter().find(|info| info.name.as_str() == "p4d.24xlarge").unwrap();
    assert_eq!((p4d.network.efa_interfaces, p4d.interface_pods(0)), (4, 737));
}

#[test]
fn compressed_answers_are_read_as_well() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(TYPES.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(
        read("us-west-2", &answers(&packed, PRICES)),
        read("us-west-2", &answers(TYPES.as_bytes(), PRICES))
    );
}

#[test]
fn what_is_wrong_is_named() {
    let error = |types: &str, prices: &str| {
        read("us-west-2", &answers(types.as_bytes(), prices)).unwrap_err().to_string()
    };
    assert!(error("{}", PRICES).contains("instance types: missing field"));
    let price = PRICES.replace("21.9576", "free");
    assert!(error(TYPES, &price).contains("price of p4d.24xlarge: `free` is not a price"));
    let twice = TYPES.replacen("{\"InstanceTypes\": [", "", 1);
    let text = twice.trim_end_matches("]}");
    let doubled = format!("{{\"InstanceTypes\": [{text},{text}]}}");
    assert!(error(&doubled, PRICES).contains("p4d.24xlarge stands there twice"));
}

#[test]
fn gigahertz_become_megahertz() {
    for (text, expected) in
        [("3.1", Some(3_100)), ("2", Some(2_000)), ("2.4996", Some(2_500)), ("x", None)]
    {
        assert_eq!(thousandths(text), expected, "{text}");
    }
}
