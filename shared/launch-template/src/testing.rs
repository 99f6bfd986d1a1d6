//! What the tests of this crate are made of: a small catalog, a class, a claim, a cluster.

use std::sync::Arc;

use model::{
    CapacityType, InstanceType, InstanceTypeInfo, NodeClaim, Offering, RegionCatalog, Resources,
    instance_type_info::{LocalDisks, Network, Processor, TableFacts},
    node_class::{
        ClusterSettings, Image, ImageFamily, ImageTerm, Kubelet, MaxPods, NodeClass, NodeIdentity,
        ResolvedNodeClass, ResolvedTemplate, Subnet,
    },
};
use testkit::build::{id, node_class, price, requirements};
pub(crate) use testkit::build::{now, requirement, resources};

pub(crate) const ZONES: [(&str, &str); 2] =
    [("us-west-2a", "usw2-az1"), ("us-west-2b", "usw2-az2")];
pub(crate) const PROFILE: &str = "golden_12345678901234567890";

/// A type as the catalog has it: `name arch cpu memory pods on-demand spot`, prices in dollars, `-`
/// for a type that cannot be spot; then labels and devices such as `nvidia.com/gpu=1`.
pub(crate) fn instance_type(text: &str) -> Arc<InstanceType> {
    let mut words = text.split(' ');
    let mut next = || words.next().unwrap();
    let (name, arch, cpu, memory, pods) = (next(), next(), next(), next(), next());
    let prices = [(CapacityType::OnDemand, next()), (CapacityType::Spot, next())];
    let (family, size) = name.split_once('.').unwrap();
    let mut requirements = requirements(&format!(
        "type={name} arch={arch} region=us-west-2 zone=us-west-2a,us-west-2b paid=on-demand,spot
         topology.k8s.aws/zone-id=usw2-az1,usw2-az2 karpenter.k8s.aws/instance-family={family}
         karpenter.k8s.aws/instance-size={size} karpenter.k8s.aws/instance-tenancy=default,dedicated
         !karpenter.k8s.aws/instance-gpu-count !karpenter.k8s.aws/instance-local-nvme
         !karpenter.k8s.aws/capacity-reservation-id"
    ));
    let mut amounts = format!("cpu={cpu} memory={memory} pods={pods} ephemeral-storage=20Gi");
    for word in words {
        if word.starts_with("karpenter.k8s.aws/") {
            requirements.replace(requirement(word));
        } else {
            amounts = format!("{amounts} {word}");
        }
    }
    let offering = |zone: &str, zone_id: &str, capacity_type, dollars: &str| Offering {
        zone: id(zone),
        zone_id: Some(id(zone_id)),
        capacity_type,
        price: price(dollars),
        is_available: family != "a1",
        reservation: None,
    };
    let bought = prices.into_iter().filter(|(_, price)| *price != "-");
    let offerings = bought.flat_map(|(capacity_type, price)| {
        ZONES.map(|(zone, id)| offering(zone, id, capacity_type, price))
    });
    Arc::new(InstanceType {
        name: id(name),
        requirements,
        capacity: resources(&amounts),
        overhead: Resources::default(),
        offerings: offerings.collect(),
    })
}

pub(crate) fn catalog(types: &[&str]) -> RegionCatalog {
    let mut instance_types: Vec<_> = types.iter().map(|text| instance_type(text)).collect();
    instance_types.sort_by(|a, b| a.name.cmp(&b.name));
    let zones = ZONES.map(|(zone, zone_id)| (id(zone), id(zone_id)));
    RegionCatalog {
        region: "us-west-2".to_owned(),
        zones: zones.into(),
        instance_types,
        descriptions: std::collections::BTreeMap::new(),
    }
}

pub(crate) fn image(image: &str, name: &str, requirements: &[&str]) -> Image {
    Image {
        id: id(image),
        name: name.to_owned(),
        created_at: None,
        deprecated_at: None,
        requirements: requirements.iter().map(|text| requirement(text)).collect(),
    }
}

pub(crate) fn subnet(subnet: &str, zone: &str, zone_id: &str, free: u32) -> Subnet {
    Subnet {
        id: id(subnet),
        zone: id(zone),
        zone_id: id(zone_id),
        available_ip_address_count: free,
    }
}

/// A class by alias with a subnet in both zones and an image for each architecture.
pub(crate) fn class(image_family: ImageFamily) -> ResolvedNodeClass {
    let ordinary = "!karpenter.k8s.aws/instance-gpu-count";
    ResolvedNodeClass {
        class: NodeClass {
            subnet_terms: Vec::new(),
            security_group_terms: Vec::new(),
            image_terms: vec![ImageTerm::Alias {
                family: image_family,
                version: "latest".to_owned(),
            }],
            image_family,
            identity: NodeIdentity::Role("KarpenterNodeRole-golden".to_owned()),
            hash: None,
            ..node_class("default")
        },
        subnets: vec![
            subnet("subnet-0a", "us-west-2a", "usw2-az1", 4_000),
            subnet("subnet-0b", "us-west-2b", "usw2-az2", 3_000),
        ],
        security_groups: ["sg-0a", "sg-0b"].map(id).to_vec(),
        images: vec![
            image("ami-0a01", "standard-amd64", &["arch=amd64", ordinary]),
            image("ami-0a02", "standard-arm64", &["arch=arm64", ordinary]),
            image(
                "ami-0a03",
                "nvidia-amd64",
                &["arch=amd64", "karpenter.k8s.aws/instance-gpu-count"],
            ),
        ],
        reservations: Vec::new(),
        placement_group: None,
        launch_template: ResolvedTemplate::Made,
    }
}

/// Settings of the kubelet that say how many pods run, and nothing else.
pub(crate) fn kubelet(max_pods: u32) -> Kubelet {
    Kubelet { max_pods: Some(MaxPods::Number(max_pods)), ..Kubelet::default() }
}

/// A claim on `instance_types` that allows what `requirements` say.
pub(crate) fn claim(requirements: &[&str], instance_types: &[&str]) -> NodeClaim {
    let names = instance_types.iter().map(|text| text.split(' ').next().unwrap());
    let (name, batch) = (id("general-1"), id("golden-1-0"));
    NodeClaim {
        requirements: requirements.iter().map(|text| requirement(text)).collect(),
        instance_types: names.map(|name| id(name)).collect(),
        requests: resources("cpu=100m pods=1"),
        ..NodeClaim::created(name, id("general"), id("default"), batch, now())
    }
}

pub(crate) fn settings() -> ClusterSettings {
    ClusterSettings {
        name: id("golden"),
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
        name: id(name),
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
