//! DescribeInstanceTypes: as much of each type as anything here reads.

use model::{
    InstanceTypeInfo,
    instance_type_info::{Device, Network},
};

use super::{Answer, Call, refused};
use crate::{
    filter::Filter,
    page::Page,
    xml::{Element, list, node, text},
};

pub(super) async fn describe(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 5..=100, call.page_max).map_err(refused)?;
    let names = call.parameters.texts("InstanceType");
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeInstanceTypes", is_dry).await?;
    let catalog = call.sim.for_sale("DescribeInstanceTypes").await?;
    let mut descriptions: Vec<&InstanceTypeInfo> =
        catalog.descriptions.values().map(AsRef::as_ref).collect();
    descriptions.retain(|info| names.is_empty() || names.contains(&info.name.to_string()));
    for filter in &filters {
        match filter.name.as_str() {
            // Every type that is described can.
            "supported-virtualization-type" if filter.has("hvm") => {}
            "processor-info.supported-architecture" => descriptions
                .retain(|info| info.processor.architectures.iter().any(|text| filter.has(text))),
            _ => return Err(refused(filter.unknown())),
        }
    }
    let (found, next) = page.of(descriptions);
    let mut children = vec![list("instanceTypeSet", found.into_iter().map(described))];
    children.extend(next);
    Ok(children)
}

fn described(info: &InstanceTypeInfo) -> Vec<Element> {
    let items = |name: &'static str, values: Vec<&str>| {
        node(name, values.into_iter().map(|value| text("item", value)))
    };
    let processor = &info.processor;
    let mut elements = vec![items(
        "supportedArchitectures",
        processor.architectures.iter().map(String::as_str).collect(),
    )];
    elements.extend(processor.manufacturer.as_ref().map(|name| text("manufacturer", name)));
    elements
        .extend(processor.clock_mhz.map(|mhz| text("sustainedClockSpeedInGhz", gigahertz(mhz))));
    if processor.has_nested_virtualization {
        elements.push(items("supportedFeatures", vec!["nested-virtualization"]));
    }
    let enclaves = if processor.has_enclaves { "supported" } else { "unsupported" };
    let classes = info.capacity_types.iter().map(|kind| kind.as_str()).collect();
    let mut all = vec![
        text("instanceType", &info.name),
        items("supportedUsageClasses", classes),
        text("bareMetal", info.hypervisor.is_empty()),
        text("nitroEnclavesSupport", enclaves),
        node("processorInfo", elements),
        node("vCpuInfo", [text("defaultVCpus", info.vcpus)]),
        node("memoryInfo", [text("sizeInMiB", info.memory_mib)]),
        node("networkInfo", network(&info.network)),
        node(
            "placementGroupInfo",
            [items(
                "supportedStrategies",
                info.placement_strategies.iter().map(String::as_str).collect(),
            )],
        ),
    ];
    if !info.hypervisor.is_empty() {
        all.push(text("hypervisor", &info.hypervisor));
    }
    all.extend(info.ebs_mbps.map(|mbps| {
        let bandwidth = node("ebsOptimizedInfo", [text("maximumBandwidthInMbps", mbps)]);
        node("ebsInfo", [text("ebsOptimizedSupport", "default"), bandwidth])
    }));
    all.extend(info.local_disks.as_ref().map(|disks| {
        let support = if disks.is_nvme { "required" } else { "unsupported" };
        node(
            "instanceStorageInfo",
            [text("totalSizeInGB", disks.gigabytes), text("nvmeSupport", support)],
        )
    }));
    let some = |devices: &[Device], outer: &'static str, inner: &'static str| {
        (!devices.is_empty()).then(|| node(outer, [list(inner, devices.iter().map(device))]))
    };
    all.extend(some(&info.gpus, "gpuInfo", "gpus"));
    if !info.accelerators.is_empty() {
        // The one list of the answer whose entries are called `member`.
        let members =
            info.accelerators.iter().map(|accelerator| node("member", device(accelerator)));
        all.push(node("inferenceAcceleratorInfo", [node("accelerators", members)]));
    }
    all.extend(some(&info.neuron_devices, "neuronInfo", "neuronDevices"));
    all
}

fn device(device: &Device) -> Vec<Element> {
    let mut elements = vec![
        text("name", &device.name),
        text("count", device.count),
        node("memoryInfo", [text("sizeInMiB", device.memory_mib)]),
        node("coreInfo", [text("count", device.cores)]),
    ];
    if !device.manufacturer.is_empty() {
        elements.push(text("manufacturer", &device.manufacturer));
    }
    elements
}

fn network(network: &Network) -> Vec<Element> {
    let cards = network.cards.iter().map(|(card, most)| {
        vec![text("networkCardIndex", card), text("maximumNetworkInterfaces", most)]
    });
    vec![
        list("networkCards", cards),
        text("defaultNetworkCardIndex", network.default_card),
        text("ipv4AddressesPerInterface", network.ipv4_per_interface),
        text("enaSupport", if network.has_ena { "required" } else { "unsupported" }),
        node("efaInfo", [text("maximumEfaInterfaces", network.efa_interfaces)]),
        text("encryptionInTransitSupported", network.encrypts_in_transit),
    ]
}

/// `2.5` of 2500.
fn gigahertz(megahertz: u32) -> String {
    let text = format!("{}.{:03}", megahertz / 1_000, megahertz % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
