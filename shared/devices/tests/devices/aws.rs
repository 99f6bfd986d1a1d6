//! The devices of instance types.

use std::collections::BTreeMap;

use devices::{DeviceDrivers, Devices, InstanceDevices, Leaving};
use model::{
    InstanceTypeName, NodePoolName,
    dynamic_resources::{AttributeValue, DeviceFacts, DeviceTemplates, GpuSharing},
};

use super::support::{Words, facts, visit};

const BOTH: DeviceDrivers = DeviceDrivers { nvidia_gpu: true, sharing: None, efa: true };

fn name(text: &str) -> InstanceTypeName {
    InstanceTypeName::new(text).unwrap()
}

/// Types of a table with the number of their devices, as its lines say.
fn listed(table: &str) -> BTreeMap<InstanceTypeName, usize> {
    let lines = table.lines().filter_map(|line| line.strip_prefix("  "));
    let count = |word: &str| word.split_once('*').map_or(1, |(_, count)| count.parse().unwrap());
    lines
        .map(|line| {
            let (own, rest) = line.split_once(' ').unwrap();
            (name(own), rest.split(' ').map(count).sum::<usize>())
        })
        .collect()
}

fn texts(templates: &DeviceTemplates) -> Vec<String> {
    let mut texts = Vec::new();
    for slice in &templates.slices {
        for device in &slice.devices {
            let values = device.attributes.iter().map(|(name, value)| format!("{name}={value}"));
            let amounts = device.capacity.iter().map(|(name, own)| format!("{name}={}", own.value));
            let words: Vec<String> = values.chain(amounts).collect();
            texts.push(format!(
                "{}/{} {}: {}",
                slice.driver,
                slice.pool,
                device.name,
                words.join(" ")
            ));
        }
    }
    texts
}

#[test]
fn every_line_of_the_tables_is_read() {
    let devices = InstanceDevices::all();
    let tables = [
        (include_str!("../../src/aws/gpus.txt"), DeviceDrivers { efa: false, ..BOTH }, 53),
        (include_str!("../../src/aws/efas.txt"), DeviceDrivers { nvidia_gpu: false, ..BOTH }, 29),
    ];
    for (table, drivers, types) in tables {
        let listed = listed(table);
        assert_eq!(listed.len(), types);
        for (instance_type, count) in listed {
            let templates = devices.templates(&instance_type, &drivers).unwrap();
            let [slice] = templates.slices.as_slice() else { panic!("{instance_type}") };
            assert_eq!(slice.devices.len(), count, "{instance_type}");
        }
    }
}

#[test]
fn a_type_has_the_devices_of_the_drivers_that_are_there() {
    let devices = InstanceDevices::all();
    let templates = devices.templates(&name("g6.48xlarge"), &BOTH).unwrap();
    let texts = texts(&templates);
    assert_eq!(texts.len(), 9);
    assert_eq!(
        texts[7],
        "gpu.nvidia.com/gpus-g6.48xlarge gpu-7: architecture=Ada Lovelace brand=Nvidia \
         cudaComputeCapability=8.9.0 productName=NVIDIA L4 \
         resource.kubernetes.io/pcieRoot=pci0000:b3 type=gpu memory=24152899584"
    );
    assert_eq!(
        texts[8],
        "dra.net/network-g6.48xlarge efa-0: dra.net/numaNode=0 \
         dra.net/pciDevice=Elastic Fabric Adapter (EFA) dra.net/pciSubsystem=efa1 \
         dra.net/pciVendor=Amazon.com, Inc. dra.net/rdma=true \
         resource.kubernetes.io/pcieRoot=pci0000:84"
    );
    let gpu = &templates.slices[0].devices[0];
    let compute = AttributeValue::Version("8.9.0".to_owned());
    assert_eq!(gpu.attributes["cudaComputeCapability"], compute);
    let only_efa = DeviceDrivers { nvidia_gpu: false, ..BOTH };
    assert_eq!(devices.templates(&name("g6.xlarge"), &only_efa), None);
    assert_eq!(devices.templates(&name("m7g.large"), &BOTH), None);
    assert_eq!(devices.templates(&name("g6.48xlarge"), &DeviceDrivers::default()), None);
}

/// A claim for two GPUs of one version of the driver, and one for a share, on two types.
#[test]
fn templates_are_there_for_claims() {
    let world = "class gpu where type=gpu
        claim bound: r 2 gpu; same gpu.nvidia.com/driverVersion
        claim share: r 1 gpu with shares=3
        claim rest: r 1 gpu with shares=2";
    let mut facts: DeviceFacts = facts(world);
    let devices = InstanceDevices::all();
    let drivers = DeviceDrivers { sharing: Some(GpuSharing::Shares(4)), ..BOTH };
    let pool = facts.templates.entry(NodePoolName::new("p").unwrap()).or_default();
    for instance_type in ["g6.xlarge", "g6.12xlarge", "m7g.large"].map(name) {
        let templates = devices.templates(&instance_type, &drivers);
        pool.extend(templates.map(|templates| (instance_type, templates)));
    }
    let devices = Devices::new(&facts, &Words);
    let mut state = devices.begin(&Leaving::default());
    let mut types = |claim: &str| {
        let visit = visit(&format!("new-0 p g6.xlarge,g6.12xlarge,m7g.large: {claim}"));
        let allocation = devices.allocate(&state, &visit.place(), &visit.claims).unwrap();
        let names: Vec<String> = allocation.types.iter().map(ToString::to_string).collect();
        state.commit(allocation);
        names.join(" ")
    };
    // The only GPU of a g6.xlarge is bound to nothing, not even twice.
    assert_eq!(types("bound"), "g6.12xlarge");
    assert_eq!(types("share"), "g6.xlarge g6.12xlarge");
    assert_eq!(types("rest"), "g6.12xlarge");
}
