//! What the account owns. It is not described: it owns a matching subnet in each zone, security
//! group and image for whatever the classes select, and remembers what was assumed.
//!
//! Describing another account is not supported yet.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    ClusterName, ImageId, Requirements, SecurityGroupId, SubnetId, labels,
    ledger::digest,
    node_class::{
        ClusterSettings, Image, ImageFamily, ImageTerm, SecurityGroupTerm, Subnet, SubnetTerm,
    },
    requirement::{Operator, Requirement},
};

use crate::{made_up, world::World};

/// Addresses of a `/19`, without EC2's own five.
const ADDRESSES: u32 = 8_187;
/// When every image of an alias was made: 2025-12-01.
const IMAGES_MADE_AT: Timestamp = Timestamp::constant(1_764_547_200, 0);
/// Labels of accelerators by which the variants of an image differ.
const GPU_COUNT: &str = "karpenter.k8s.aws/instance-gpu-count";
const ACCELERATOR_COUNT: &str = "karpenter.k8s.aws/instance-accelerator-count";

/// A processor architecture, as images and as nodes call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Architecture {
    Amd64,
    Arm64,
}

/// What an image of an alias is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Standard,
    Nvidia,
    Neuron,
}

impl Architecture {
    const fn label(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    const fn of_image(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "arm64",
        }
    }

    /// The only architecture that a text names, if it names one.
    fn named_in(text: &str) -> Option<Self> {
        let is_arm = text.contains("arm64") || text.contains("aarch64");
        let is_amd = text.contains("x86_64") || text.contains("amd64");
        match (is_amd, is_arm) {
            (true, false) => Some(Self::Amd64),
            (false, true) => Some(Self::Arm64),
            _ => None,
        }
    }
}

impl World {
    pub(crate) fn subnets(&mut self, terms: &[SubnetTerm]) -> Vec<Subnet> {
        let mut found = BTreeMap::new();
        let catalog = std::sync::Arc::clone(&self.catalog);
        for (index, term) in terms.iter().enumerate() {
            match term {
                // Ids say nothing about zones: each is assumed to be in the next one.
                SubnetTerm::Id(id) => {
                    let known = self.account.subnets.get(id).cloned();
                    let nth = index.checked_rem(catalog.zones.len()).unwrap_or_default();
                    let Some(zone) = known.or_else(|| catalog.zones.keys().nth(nth).cloned())
                    else {
                        continue;
                    };
                    self.account.assumptions.insert(format!("subnet {id} in {zone}"));
                    found.insert(id.clone(), zone);
                }
                SubnetTerm::Tags(tags) => {
                    let tags = shown(tags);
                    for zone in catalog.zones.keys() {
                        let number = digest(format!("{zone} {tags}").as_bytes());
                        let id = made_up(SubnetId::new(&format!("subnet-0{number:016x}")));
                        found.insert(id, zone.clone());
                    }
                    let zones: Vec<&str> = catalog.zones.keys().map(model::Zone::as_str).collect();
                    let zones = zones.join(", ");
                    self.account.assumptions.insert(format!("subnets tagged {tags} in {zones}"));
                }
            }
        }
        self.account.subnets.extend(found.clone());
        let subnet = |(id, zone): (SubnetId, model::Zone)| {
            let zone_id = catalog.zones.get(&zone)?.clone();
            Some(Subnet { id, zone, zone_id, available_ip_address_count: ADDRESSES })
        };
        found.into_iter().filter_map(subnet).collect()
    }

    pub(crate) fn security_groups(&mut self, terms: &[SecurityGroupTerm]) -> Vec<SecurityGroupId> {
        let mut found = std::collections::BTreeSet::new();
        for term in terms {
            let (id, words) = match term {
                SecurityGroupTerm::Id(id) => (id.clone(), id.to_string()),
                SecurityGroupTerm::Name(name) => (group_id(name), format!("named {name}")),
                SecurityGroupTerm::Tags(tags) => {
                    let tags = shown(tags);
                    (group_id(&tags), format!("tagged {tags}"))
                }
            };
            self.account.assumptions.insert(format!("security group {words}"));
            found.insert(id);
        }
        found.into_iter().collect()
    }

    pub(crate) fn images(
        &mut self,
        family: ImageFamily,
        terms: &[ImageTerm],
        kubernetes_version: &str,
    ) -> Vec<Image> {
        let mut found: Vec<Image> = Vec::new();
        for term in terms {
            let (images, words) = match term {
                ImageTerm::Alias { version } => {
                    let name = family.as_str().to_ascii_lowercase();
                    (
                        aliased(family, version, kubernetes_version),
                        format!("alias {name}@{version}"),
                    )
                }
                ImageTerm::Id(id) => {
                    let architecture = self.wanted_architecture(term);
                    (vec![image(id.clone(), id.as_str(), architecture)], id.to_string())
                }
                ImageTerm::SsmParameter(name) => {
                    let named = Architecture::named_in(name);
                    let architecture = named.unwrap_or_else(|| self.wanted_architecture(term));
                    (
                        vec![image(image_id(name), name, architecture)],
                        format!("of parameter {name}"),
                    )
                }
                ImageTerm::Search { name, tags, .. } => {
                    let text = format!("{} {}", name.as_deref().unwrap_or("*"), shown(tags));
                    let text = text.trim_end().to_owned();
                    let architectures = match Architecture::named_in(&text) {
                        Some(architecture) => vec![architecture],
                        None => vec![Architecture::Amd64, Architecture::Arm64],
                    };
                    let images = architectures.into_iter().map(|architecture| {
                        let label = architecture.of_image();
                        let name = format!("{text} {label}");
                        image(image_id(&name), &name, architecture)
                    });
                    (images.collect(), format!("found by {text}"))
                }
            };
            let architectures = architectures_of(&images);
            self.account.assumptions.insert(format!("AMI {words} for {architectures}"));
            for image in images {
                if !found.iter().any(|known| known.id == image.id) {
                    found.push(image);
                }
            }
        }
        found
    }

    pub(crate) fn cluster_settings(&self, cluster: &ClusterName) -> ClusterSettings {
        let region = self.catalog.region.clone();
        ClusterSettings {
            name: cluster.clone(),
            endpoint: format!("https://0123456789ABCDEF.gr7.{region}.eks.amazonaws.com"),
            ca_bundle: "c2ltdWxhdGVk".to_owned(),
            service_cidr: Some("10.100.0.0/16".to_owned()),
            dns_ip: Some("10.100.0.10".to_owned()),
            kubernetes_version: self.settings.kubernetes_version.clone(),
            region,
        }
    }

    /// The architecture of an image that only its id names: the one that the pools of its classes
    /// ask for, x86_64 where they leave it open.
    fn wanted_architecture(&self, term: &ImageTerm) -> Architecture {
        let classes = self.cluster.node_classes.values();
        let classes: Vec<_> =
            classes.filter(|class| class.image_terms.contains(term)).map(|c| &c.name).collect();
        let pools = self.cluster.node_pools.values();
        let mut pools =
            pools.filter(|pool| classes.contains(&&pool.template.node_class)).peekable();
        let takes_only_arm = |pool: &model::node_pool::NodePool| {
            let wanted = pool.template.requirements.get(labels::ARCH);
            wanted.is_some_and(|wanted| wanted.has("arm64") && !wanted.has("amd64"))
        };
        if pools.peek().is_some() && pools.all(takes_only_arm) {
            Architecture::Arm64
        } else {
            Architecture::Amd64
        }
    }
}

/// `key=value` pairs.
fn shown(tags: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

fn group_id(text: &str) -> SecurityGroupId {
    made_up(SecurityGroupId::new(&format!("sg-0{:016x}", digest(text.as_bytes()))))
}

fn image_id(text: &str) -> ImageId {
    made_up(ImageId::new(&format!("ami-0{:016x}", digest(text.as_bytes()))))
}

fn image(id: ImageId, name: &str, architecture: Architecture) -> Image {
    let requirement = Requirement::of_label(labels::ARCH, architecture.label());
    Image {
        id,
        name: name.to_owned(),
        created_at: Some(IMAGES_MADE_AT),
        deprecated_at: None,
        requirements: requirement.into_iter().collect(),
    }
}

/// The images of an alias, standard ones first.
///
/// Karpenter: `pkg/providers/amifamily/{al2,al2023,bottlerocket}.go` of the AWS provider,
/// `DescribeImageQuery`.
fn aliased(family: ImageFamily, version: &str, kubernetes_version: &str) -> Vec<Image> {
    use {
        Architecture::{Amd64, Arm64},
        Variant::{Neuron, Nvidia, Standard},
    };
    let kinds: &[(Architecture, Variant)] = match family {
        ImageFamily::Al2 => {
            &[(Amd64, Standard), (Arm64, Standard), (Amd64, Nvidia), (Amd64, Neuron)]
        }
        ImageFamily::Al2023 | ImageFamily::Bottlerocket => &[
            (Amd64, Standard),
            (Arm64, Standard),
            (Amd64, Nvidia),
            (Arm64, Nvidia),
            (Amd64, Neuron),
        ],
        ImageFamily::Windows2019 | ImageFamily::Windows2022 | ImageFamily::Windows2025 => {
            &[(Amd64, Standard)]
        }
        ImageFamily::Custom => &[],
    };
    let family = family.as_str().to_ascii_lowercase();
    let images = kinds.iter().map(|(architecture, variant)| {
        let suffix = format!("{variant:?}").to_ascii_lowercase();
        let machine = architecture.of_image();
        let name = format!("eks-node-{family}-{machine}-{suffix}-{kubernetes_version}-{version}");
        let mut image = image(image_id(&name), &name, *architecture);
        image.requirements.add_all(&variant.requirements());
        image
    });
    images.collect()
}

impl Variant {
    fn requirements(self) -> Requirements {
        let pairs: &[(&str, Operator)] = match self {
            Self::Standard => {
                &[(GPU_COUNT, Operator::DoesNotExist), (ACCELERATOR_COUNT, Operator::DoesNotExist)]
            }
            Self::Nvidia => &[(GPU_COUNT, Operator::Exists)],
            Self::Neuron => &[(ACCELERATOR_COUNT, Operator::Exists)],
        };
        let requirements = pairs.iter().map(|(key, operator)| Requirement::new(key, *operator, []));
        requirements.filter_map(Result::ok).collect()
    }
}

/// `x86_64 and arm64`, whichever there are.
fn architectures_of(images: &[Image]) -> String {
    let has = |architecture: Architecture| {
        images.iter().any(|image| {
            image.requirements.get(labels::ARCH).is_some_and(|r| r.has(architecture.label()))
        })
    };
    let all = [Architecture::Amd64, Architecture::Arm64].into_iter().filter(|a| has(*a));
    all.map(Architecture::of_image).collect::<Vec<_>>().join(" and ")
}
