//! What the tests of this crate are made of: a small catalog, a class, a claim, a cluster.

use std::sync::Arc;

use jiff::Timestamp;
use model::{
    BatchId, CapacityType, ClusterName, HourlyPrice, ImageId, InstanceType, InstanceTypeInfo,
    InstanceTypeName, NodeClaim, NodeClaimName, NodeClassName, NodePoolName, Offering, Operator,
    RegionCatalog, Requirement, Requirements, ResourceName, Resources, SecurityGroupId, SubnetId,
    Zone, ZoneId,
    instance_type_info::{LocalDisks, Network, Processor, TableFacts},
    labels,
    node_class::{
        ClusterSettings, Image, ImageFamily, ImageTerm, Kubelet, MetadataOptions, NodeClass,
        NodeIdentity, ResolvedNodeClass, ResolvedTemplate, Subnet, TemplateSource,
    },
};

pub(crate) const ZONES: [(&str, &str); 2] =
    [("us-west-2a", "usw2-az1"), ("us-west-2b", "usw2-az2")];
pub(crate) const PROFILE: &str = "golden_12345678901234567890";

pub(crate) fn now() -> Timestamp {
    "2026-08-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn resources(amounts: &[(&str, &str)]) -> Resources {
    let mut resources = Resources::default();
    for (name, text) in amounts {
        resources.set_quantity(&ResourceName::new(name).unwrap(), text).unwrap();
    }
    resources
}

pub(crate) fn requirement(text: &str) -> Requirement {
    let mut words = text.split(' ');
    let key = words.next().unwrap();
    let operator = Operator::parse(words.next().unwrap()).unwrap();
    Requirement::new(key, operator, words).unwrap()
}

/// A type as the catalog has it: `name arch cpu memory pods on-demand spot`, prices in dollars, `-`
/// for a type that cannot be spot; then labels and devices such as `nvidia.com/gpu=1`.
pub(crate) fn instance_type(text: &str) -> Arc<InstanceType> {
    let mut words = text.split(' ');
    let mut next = || words.next().unwrap();
    let (name, arch, cpu, memory, pods) = (next(), next(), next(), next(), next());
    let prices = [(CapacityType::OnDemand, next()), (CapacityType::Spot, next())];
    let (family, size) = name.split_once('.').unwrap();
    let mut requirements: Requirements = [
        requirement(&format!("{} In {name}", labels::INSTANCE_TYPE)),
        requirement(&format!("{} In {arch}", labels::ARCH)),
        requirement(&format!("{} In us-west-2", labels::REGION)),
        requirement(&format!("{} In us-west-2a us-west-2b", labels::ZONE)),
        requirement(&format!("{} In usw2-az1 usw2-az2", labels::ZONE_ID)),
        requirement(&format!("{} In on-demand spot", labels::CAPACITY_TYPE)),
        requirement(&format!("karpenter.k8s.aws/instance-family In {family}")),
        requirement(&format!("karpenter.k8s.aws/instance-size In {size}")),
        requirement("karpenter.k8s.aws/instance-tenancy In default dedicated"),
        requirement("karpenter.k8s.aws/instance-gpu-count DoesNotExist"),
        requirement("karpenter.k8s.aws/instance-local-nvme DoesNotExist"),
        requirement("karpenter.k8s.aws/capacity-reservation-id DoesNotExist"),
    ]
    .into_iter()
    .collect();
    let mut capacity = resources(&[
        ("cpu", cpu),
        ("memory", memory),
        ("pods", pods),
        ("ephemeral-storage", "20Gi"),
    ]);
    for word in words {
        let (key, value) = word.split_once('=').unwrap();
        if key.starts_with("karpenter.k8s.aws/") {
            requirements.replace(requirement(&format!("{key} In {value}")));
        } else {
            capacity.set_quantity(&ResourceName::new(key).unwrap(), value).unwrap();
        }
    }
    let offering = |zone: &str, id: &str, capacity_type, price: &str| Offering {
        zone: Zone::new(zone).unwrap(),
        zone_id: Some(ZoneId::new(id).unwrap()),
        capacity_type,
        price: HourlyPrice::parse_dollars(price).unwrap(),
        is_available: family != "a1",
        reservation: None,
    };
    let bought = prices.into_iter().filter(|(_, price)| *price != "-");
    let offerings = bought.flat_map(|(capacity_type, price)| {
        ZONES.map(|(zone, id)| offering(zone, id, capacity_type, price))
    });
    Arc::new(InstanceType {
        name: InstanceTypeName::new(name).unwrap(),
        requirements,
        capacity,
        overhead: Resources::default(),
        offerings: offerings.collect(),
    })
}

pub(crate) fn catalog(types: &[&str]) -> RegionCatalog {
    let mut instance_types: Vec<_> = types.iter().map(|text| instance_type(text)).collect();
    instance_types.sort_by(|a, b| a.name.cmp(&b.name));
    let zones = ZONES.map(|(zone, id)| (Zone::new(zone).unwrap(), ZoneId::new(id).unwrap()));
    RegionCatalog {
        region: "us-west-2".to_owned(),
        zones: zones.into(),
        instance_types,
        descriptions: std::collections::BTreeMap::new(),
    }
}

pub(crate) fn image(id: &str, name: &str, requirements: &[&str]) -> Image {
    Image {
        id: ImageId::new(id).unwrap(),
        name: name.to_owned(),
        created_at: None,
        deprecated_at: None,
        requirements: requirements.iter().map(|text| requirement(text)).collect(),
    }
}

pub(crate) fn subnet(id: &str, zone: &str, zone_id: &str, free: u32) -> Subnet {
    Subnet {
        id: SubnetId::new(id).unwrap(),
        zone: Zone::new(zone).unwrap(),
        zone_id: ZoneId::new(zone_id).unwrap(),
        available_ip_address_count: free,
    }
}

/// A class by alias with a subnet in both zones and an image for each architecture.
pub(crate) fn class(image_family: ImageFamily) -> ResolvedNodeClass {
    let ordinary = "karpenter.k8s.aws/instance-gpu-count DoesNotExist";
    ResolvedNodeClass {
        class: NodeClass {
            name: NodeClassName::new("default").unwrap(),
            subnet_terms: Vec::new(),
            security_group_terms: Vec::new(),
            image_terms: vec![ImageTerm::Alias {
                family: image_family,
                version: "latest".to_owned(),
            }],
            reservation_terms: Vec::new(),
            placement_group: None,
            image_family,
            user_data: None,
            identity: NodeIdentity::Role("KarpenterNodeRole-golden".to_owned()),
            tags: std::collections::BTreeMap::new(),
            block_devices: Vec::new(),
            is_raid0: false,
            metadata_options: MetadataOptions::default(),
            detailed_monitoring: None,
            associate_public_ip_address: None,
            ip_prefix_count: None,
            network_interfaces: Vec::new(),
            connection_tracking: None,
            nested_virtualization: None,
            enclaves: None,
            context: None,
            kubelet: Kubelet::default(),
            hash: None,
            launch_template: TemplateSource::Made,
            is_deleting: false,
            problems: Vec::new(),
        },
        subnets: vec![
            subnet("subnet-0a", "us-west-2a", "usw2-az1", 4_000),
            subnet("subnet-0b", "us-west-2b", "usw2-az2", 3_000),
        ],
        security_groups: ["sg-0a", "sg-0b"].map(|id| SecurityGroupId::new(id).unwrap()).to_vec(),
        images: vec![
            image("ami-0a01", "standard-amd64", &["kubernetes.io/arch In amd64", ordinary]),
            image("ami-0a02", "standard-arm64", &["kubernetes.io/arch In arm64", ordinary]),
            image(
                "ami-0a03",
                "nvidia-amd64",
                &["kubernetes.io/arch In amd64", "karpenter.k8s.aws/instance-gpu-count Exists"],
            ),
        ],
        reservations: Vec::new(),
        placement_group: None,
        launch_template: ResolvedTemplate::Made,
    }
}

/// A claim on `instance_types` that allows what `requirements` say.
pub(crate) fn claim(requirements: &[&str], instance_types: &[&str]) -> NodeClaim {
    let names = instance_types.iter().map(|text| text.split(' ').next().unwrap());
    let name = NodeClaimName::new("general-1").unwrap();
    let node_pool = NodePoolName::new("general").unwrap();
    let node_class = NodeClassName::new("default").unwrap();
    let batch = BatchId::new("golden-1-0").unwrap();
    NodeClaim {
        requirements: requirements.iter().map(|text| requirement(text)).collect(),
        instance_types: names.map(|name| InstanceTypeName::new(name).unwrap()).collect(),
        requests: resources(&[("cpu", "100m"), ("pods", "1")]),
        ..NodeClaim::promised(name, node_pool, node_class, batch, now())
    }
}

pub(crate) fn settings() -> ClusterSettings {
    ClusterSettings {
        name: ClusterName::new("golden").unwrap(),
        endpoint: "https://0123456789ABCDEF.gr7.us-west-2.eks.example".to_owned(),
        ca_bundle: "Z29sZGVuLWNhLWJ1bmRsZQ==".to_owned(),
        service_cidr: Some("10.100.0.0/16".to_owned()),
        dns_ip: Some("10.100.0.10".to_owned()),
        kubernetes_version: "1.34".to_owned(),
        region: "us-west-2".to_owned(),
    }
}

/// The same cluster with IPv6 addresses.
pub(crate) fn ipv6_settings() -> ClusterSettings {
    ClusterSettings {
        service_cidr: Some("fd30:1c53:5f8a::/108".to_owned()),
        dns_ip: Some("fd30:1c53:5f8a::a".to_owned()),
        ..settings()
    }
}

/// `text` in lines of at most 80 characters.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < 80 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// What EC2 would say about a type with `vcpus` and local disks, of which the first card has three
/// interfaces, the second one.
pub(crate) fn instance_type_info(name: &str, vcpus: u32) -> InstanceTypeInfo {
    InstanceTypeInfo {
        name: InstanceTypeName::new(name).unwrap(),
        processor: Processor {
            architectures: vec!["x86_64".to_owned()],
            manufacturer: Some("Intel".to_owned()),
            clock_mhz: Some(3_100),
            has_nested_virtualization: false,
            has_enclaves: false,
        },
        vcpus,
        memory_mib: 8_192,
        ebs_mbps: None,
        hypervisor: "nitro".to_owned(),
        capacity_types: vec![CapacityType::OnDemand, CapacityType::Spot],
        gpus: Vec::new(),
        accelerators: Vec::new(),
        neuron_devices: Vec::new(),
        local_disks: Some(LocalDisks { gigabytes: 32, is_nvme: false }),
        network: Network {
            cards: vec![(0, 3), (1, 1)],
            default_card: 0,
            ipv4_per_interface: 10,
            has_ena: true,
            efa_interfaces: 2,
            encrypts_in_transit: false,
        },
        placement_strategies: vec!["cluster".to_owned(), "partition".to_owned()],
        table: TableFacts {
            network_mbps: None,
            branch_interfaces: Some(9),
            ipv4_per_interface: Some(10),
        },
    }
}

/// `catalog(types)` with a [`info`] of two CPUs for each.
pub(crate) fn described(types: &[&str]) -> RegionCatalog {
    let mut sold = catalog(types);
    let names = sold.instance_types.iter().map(|instance_type| instance_type.name.clone());
    sold.descriptions =
        names.map(|name| (name.clone(), Arc::new(instance_type_info(name.as_str(), 2)))).collect();
    sold
}
