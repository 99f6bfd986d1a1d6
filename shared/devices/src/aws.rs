//! The devices of AWS's instance types, before there is an instance.
//!
//! Karpenter: `pkg/cloudprovider/dynamicresources.go`, `pkg/providers/nvidiadra`, `pkg/providers/efadra` of the AWS
//! provider.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use model::{
    InstanceTypeName, Quantity,
    dynamic_resources::{
        AttributeBinding, AttributeValue, DeviceCapacity, DeviceId, DeviceTemplates, EFA_DRIVER,
        GpuSharing, SliceDevice, TemplateSlice,
    },
    policies::Policies,
};

/// The driver of NVIDIA's GPUs.
pub const NVIDIA_DRIVER: &str = "gpu.nvidia.com";

const PCIE_ROOT: &str = "resource.kubernetes.io/pcieRoot";
/// Attributes that all GPUs of an instance have in common; the values are known once the driver runs.
const BOUND: [&str; 2] = ["gpu.nvidia.com/driverVersion", "gpu.nvidia.com/cudaDriverVersion"];

/// Which drivers there are in a cluster, as feature gates and an EC2NodeClass say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceDrivers {
    /// `DRANVIDIAGPU`
    pub nvidia_gpu: bool,
    /// What claims share of a GPU.
    pub sharing: Option<GpuSharing>,
    /// `DRAEFA`
    pub efa: bool,
}

impl DeviceDrivers {
    /// Those that gates say there are; GPUs are not shared.
    pub const fn of(policies: &Policies) -> Self {
        Self { nvidia_gpu: policies.dra_nvidia_gpu, sharing: None, efa: policies.dra_efa }
    }
}

/// The devices of every instance type that has some.
#[derive(Clone, Debug)]
pub struct InstanceDevices {
    gpus: BTreeMap<InstanceTypeName, Vec<SliceDevice>>,
    efas: BTreeMap<InstanceTypeName, Vec<SliceDevice>>,
}

impl InstanceDevices {
    /// The devices of all types, read once.
    pub fn all() -> &'static Self {
        static ALL: LazyLock<InstanceDevices> = LazyLock::new(|| InstanceDevices {
            gpus: table(include_str!("aws/gpus.txt"), gpu),
            efas: table(include_str!("aws/efas.txt"), efa),
        });
        &ALL
    }

    /// What `drivers` will publish on an instance; `None` if that is nothing.
    pub fn templates(
        &self,
        instance_type: &InstanceTypeName,
        drivers: &DeviceDrivers,
    ) -> Option<Arc<DeviceTemplates>> {
        let mut templates = DeviceTemplates::default();
        if let Some(gpus) = self.gpus.get(instance_type).filter(|_| drivers.nvidia_gpu) {
            let shared = |gpu: &SliceDevice| match drivers.sharing {
                Some(sharing) => sharing.of(gpu),
                None => gpu.clone(),
            };
            let devices = gpus.iter().map(shared).collect();
            let slice = slice(NVIDIA_DRIVER, &format!("gpus-{instance_type}"), devices);
            let bound = |attribute: &str| AttributeBinding {
                attribute: attribute.to_owned(),
                devices: ids(&slice),
            };
            templates.bindings = BOUND.into_iter().map(bound).collect();
            templates.slices.push(slice);
        }
        if let Some(efas) = self.efas.get(instance_type).filter(|_| drivers.efa) {
            let pool = format!("network-{instance_type}");
            templates.slices.push(slice(EFA_DRIVER, &pool, efas.clone()));
        }
        (!templates.slices.is_empty()).then(|| Arc::new(templates))
    }
}

/// Pools are each type's own: no driver publishes them.
fn slice(driver: &str, pool: &str, devices: Vec<SliceDevice>) -> TemplateSlice {
    let (driver, pool) = (Arc::from(driver), Arc::from(pool));
    TemplateSlice { driver, pool, devices, shared_counters: Vec::new() }
}

fn ids(slice: &TemplateSlice) -> Vec<DeviceId> {
    let id = |device: &SliceDevice| DeviceId {
        driver: Arc::clone(&slice.driver),
        pool: Arc::clone(&slice.pool),
        device: Arc::clone(&device.name),
    };
    slice.devices.iter().map(id).collect()
}

/// A table of types: a line with what its devices have in common, then one for each type with what each has alone.
/// What is there several times in a row is written once: `0000:00*4`.
fn table(
    text: &str,
    device: fn(&[&str], &str) -> Option<SliceDevice>,
) -> BTreeMap<InstanceTypeName, Vec<SliceDevice>> {
    let mut types = BTreeMap::new();
    let mut common: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(rest) = line.strip_prefix("  ") else {
            let words = line.split_once(' ').map_or("", |(_, words)| words);
            common = words.split(" | ").collect();
            continue;
        };
        let mut words = rest.split(' ');
        let name = words.next().and_then(|name| InstanceTypeName::new(name).ok());
        let each = words.flat_map(|word| {
            let (word, count) = word.split_once('*').unwrap_or((word, "1"));
            std::iter::repeat_n(word, count.parse().unwrap_or(0))
        });
        let numbered = each.enumerate().filter_map(|(number, word)| {
            let made = device(&common, word)?;
            Some(SliceDevice { name: format!("{}{number}", made.name).into(), ..made })
        });
        types.extend(name.map(|name| (name, numbered.collect())));
    }
    types
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::String(value.to_owned())
}

fn root(word: &str) -> AttributeValue {
    text(&format!("pci{word}"))
}

fn attributes<const N: usize>(
    attributes: [(&str, AttributeValue); N],
) -> BTreeMap<String, AttributeValue> {
    attributes.map(|(name, value)| (name.to_owned(), value)).into()
}

fn gpu(common: &[&str], word: &str) -> Option<SliceDevice> {
    let [architecture, brand, compute, product, memory] = common else { return None };
    let memory = DeviceCapacity { value: Quantity::parse(memory).ok()?, policy: None };
    Some(SliceDevice {
        name: "gpu-".into(),
        attributes: attributes([
            ("architecture", text(architecture)),
            ("brand", text(brand)),
            ("cudaComputeCapability", AttributeValue::Version((*compute).to_owned())),
            ("productName", text(product)),
            ("type", text("gpu")),
            (PCIE_ROOT, root(word)),
        ]),
        capacity: BTreeMap::from([("memory".to_owned(), memory)]),
        ..SliceDevice::default()
    })
}

fn efa(common: &[&str], word: &str) -> Option<SliceDevice> {
    let [subsystem, rdma] = common else { return None };
    let (word, numa) = word.split_once('/').map_or((word, None), |(word, n)| (word, Some(n)));
    let mut attributes = attributes([
        ("dra.net/pciDevice", text("Elastic Fabric Adapter (EFA)")),
        ("dra.net/pciSubsystem", text(subsystem)),
        ("dra.net/pciVendor", text("Amazon.com, Inc.")),
        ("dra.net/rdma", AttributeValue::Bool(*rdma == "true")),
        (PCIE_ROOT, root(word)),
    ]);
    if let Some(numa) = numa {
        let node = AttributeValue::Int(numa.parse().ok()?);
        attributes.insert("dra.net/numaNode".to_owned(), node);
    }
    Some(SliceDevice { name: "efa-".into(), attributes, ..SliceDevice::default() })
}
