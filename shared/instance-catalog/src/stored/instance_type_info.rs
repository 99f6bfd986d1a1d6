//! What EC2 says about one type, as bytes and back: the fields in the order of the struct.

use model::{
    CapacityType, InstanceTypeInfo,
    instance_type_info::{Device, LocalDisks, Network, Processor, TableFacts},
};

use super::{
    Error,
    wire::{Reader, Writer, bad},
};

pub(super) fn write(out: &mut Writer, info: &InstanceTypeInfo) {
    let small = |out: &mut Writer, number: u32| out.number(u64::from(number));
    let text = |out: &mut Writer, text: &String| out.text(text);
    let InstanceTypeInfo { processor, network, table, .. } = info;
    out.text(info.name.as_str());
    out.list(&processor.architectures, text);
    out.option(processor.manufacturer.as_ref(), text);
    out.option(processor.clock_mhz, small);
    // One byte with a bit for each: catalogs that were stored before there was a second one are read.
    let abilities = [processor.has_nested_virtualization, processor.has_enclaves];
    out.bits(&abilities);
    small(out, info.vcpus);
    out.number(info.memory_mib);
    out.option(info.ebs_mbps, small);
    out.text(&info.hypervisor);
    out.list(&info.capacity_types, |out, kind| out.text(kind.as_str()));
    for devices in [&info.gpus, &info.accelerators, &info.neuron_devices] {
        out.list(devices, write_device);
    }
    out.option(info.local_disks, |out, disks| {
        out.number(disks.gigabytes);
        out.truth(disks.is_nvme);
    });
    out.list(&network.cards, |out, (card, most)| {
        small(out, *card);
        small(out, *most);
    });
    small(out, network.default_card);
    small(out, network.ipv4_per_interface);
    out.truth(network.has_ena);
    small(out, network.efa_interfaces);
    out.truth(network.encrypts_in_transit);
    out.list(&info.placement_strategies, text);
    for fact in [table.network_mbps, table.branch_interfaces, table.ipv4_per_interface] {
        out.option(fact, small);
    }
}

fn write_device(out: &mut Writer, device: &Device) {
    out.text(&device.name);
    out.text(&device.manufacturer);
    out.number(u64::from(device.count));
    out.number(device.memory_mib);
    out.number(u64::from(device.cores));
}

pub(super) fn read(read: &mut Reader<'_>) -> Result<InstanceTypeInfo, Error> {
    Ok(InstanceTypeInfo {
        name: read.parsed()?,
        processor: processor(read)?,
        vcpus: read.small()?,
        memory_mib: read.number()?,
        ebs_mbps: read.option(Reader::small)?,
        hypervisor: owned(read)?,
        capacity_types: read.list(|read| {
            let text = read.text()?;
            CapacityType::parse(text).ok_or_else(|| bad(text))
        })?,
        gpus: read.list(device)?,
        accelerators: read.list(device)?,
        neuron_devices: read.list(device)?,
        local_disks: read
            .option(|read| Ok(LocalDisks { gigabytes: read.number()?, is_nvme: read.truth()? }))?,
        network: Network {
            cards: read.list(|read| Ok((read.small()?, read.small()?)))?,
            default_card: read.small()?,
            ipv4_per_interface: read.small()?,
            has_ena: read.truth()?,
            efa_interfaces: read.small()?,
            encrypts_in_transit: read.truth()?,
        },
        placement_strategies: read.list(owned)?,
        table: TableFacts {
            network_mbps: read.option(Reader::small)?,
            branch_interfaces: read.option(Reader::small)?,
            ipv4_per_interface: read.option(Reader::small)?,
        },
    })
}

fn processor(read: &mut Reader<'_>) -> Result<Processor, Error> {
    let architectures = read.list(owned)?;
    let manufacturer = read.option(owned)?;
    let clock_mhz = read.option(Reader::small)?;
    let [has_nested_virtualization, has_enclaves] = read.bits()?;
    Ok(Processor {
        architectures,
        manufacturer,
        clock_mhz,
        has_nested_virtualization,
        has_enclaves,
    })
}

fn owned(read: &mut Reader<'_>) -> Result<String, Error> {
    read.text().map(ToOwned::to_owned)
}

fn device(read: &mut Reader<'_>) -> Result<Device, Error> {
    Ok(Device {
        name: owned(read)?,
        manufacturer: owned(read)?,
        count: read.small()?,
        memory_mib: read.number()?,
        cores: read.small()?,
    })
}
