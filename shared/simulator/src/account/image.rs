//! Images: those of the aliases, and whatever else is asked for. One that was asked for once stays
//! as it was, until its owner takes it away.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    ImageId, LaunchTemplateName, Requirements, labels,
    ledger::digest,
    node_class::{Image, ImageFamily, ImageTerm, NodeClass, TemplateSource},
    requirement::{Operator, Requirement},
};

use super::discovery::shown;
use crate::{made_up, world::World};

/// When every image of an alias was made: 2025-12-01.
const IMAGES_MADE_AT: Timestamp = Timestamp::constant(1_764_547_200, 0);

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
    pub(crate) fn images(&mut self, terms: &[ImageTerm], kubernetes_version: &str) -> Vec<Image> {
        if let Some(known) = self.account.found.images(terms).cloned() {
            let images = known.iter().map(|image| (image.id.clone(), image.clone()));
            self.account.images.extend(images);
            let is_there = |image: &Image| !self.account.deregistered.contains(&image.id);
            return known.into_iter().filter(is_there).collect();
        }
        let mut selected: Vec<Image> = Vec::new();
        for term in terms {
            let (images, words) = match term {
                ImageTerm::Alias { family, version } => {
                    let name = family.as_str().to_ascii_lowercase();
                    (
                        aliased(*family, version, kubernetes_version),
                        format!("alias {name}@{version}"),
                    )
                }
                ImageTerm::Id(id) => (self.images_by_id(std::slice::from_ref(id)), id.to_string()),
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
                self.account.images.entry(image.id.clone()).or_insert_with(|| image.clone());
                if self.account.deregistered.contains(&image.id) {
                    continue;
                }
                if !selected.iter().any(|known| known.id == image.id) {
                    selected.push(image);
                }
            }
        }
        selected
    }

    /// The architecture of an image that only its id names: the one that the pools of its classes
    /// ask for, x86_64 where they leave it open.
    fn wanted_architecture(&self, term: &ImageTerm) -> Architecture {
        self.architecture_for(|class| class.image_terms.contains(term))
    }

    /// The image that is assumed to be in the user's own launch template `name`.
    pub(super) fn image_of_template(&mut self, name: &LaunchTemplateName) -> ImageId {
        let source = TemplateSource::Named(name.clone());
        let named = Architecture::named_in(name.as_str());
        let architecture =
            named.unwrap_or_else(|| self.architecture_for(|class| class.launch_template == source));
        let image = image(image_id(name.as_str()), name.as_str(), architecture);
        let id = image.id.clone();
        self.account.images.entry(id.clone()).or_insert(image);
        id
    }

    fn architecture_for(&self, is_meant: impl Fn(&NodeClass) -> bool) -> Architecture {
        let classes: Vec<_> = self
            .cluster
            .node_classes
            .values()
            .filter(|class| is_meant(class))
            .map(|c| &c.name)
            .collect();
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

    /// The image that the public parameter `name` of SSM holds; `None` when there is none.
    ///
    /// It is the one that the alias of the same build names.
    pub(crate) fn image_of_parameter(&mut self, name: &str) -> Option<ImageId> {
        let image = if let Some(path) = name.strip_prefix("/aws/service/") {
            image_of_path(path)?
        } else {
            let term = ImageTerm::SsmParameter(name.to_owned());
            let named = Architecture::named_in(name);
            let architecture = named.unwrap_or_else(|| self.wanted_architecture(&term));
            image(image_id(name), name, architecture)
        };
        let id = image.id.clone();
        self.account.images.entry(id.clone()).or_insert(image);
        Some(id)
    }

    /// The images called `ids`, except those that were taken away.
    pub(crate) fn images_by_id(&mut self, ids: &[ImageId]) -> Vec<Image> {
        let mut images = BTreeMap::new();
        for id in ids.iter().filter(|id| !self.account.deregistered.contains(*id)) {
            if !self.account.images.contains_key(id) {
                let architecture = self.wanted_architecture(&ImageTerm::Id(id.clone()));
                let image = image(id.clone(), id.as_str(), architecture);
                self.account.images.insert(id.clone(), image);
            }
            images.insert(id, self.account.images.get(id).cloned());
        }
        images.into_values().flatten().collect()
    }

    pub(crate) fn deregister(&mut self, image: ImageId) {
        self.account.deregistered.insert(image);
    }
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
        let name = image_name(&family, *architecture, *variant, kubernetes_version, version);
        let mut image = image(image_id(&name), &name, *architecture);
        image.requirements.add_all(&variant.requirements());
        image
    });
    images.collect()
}

impl Variant {
    fn requirements(self) -> Requirements {
        let pairs: &[(&str, Operator)] = match self {
            Self::Standard => &[
                (labels::INSTANCE_GPU_COUNT, Operator::DoesNotExist),
                (labels::INSTANCE_ACCELERATOR_COUNT, Operator::DoesNotExist),
            ],
            Self::Nvidia => &[(labels::INSTANCE_GPU_COUNT, Operator::Exists)],
            Self::Neuron => &[(labels::INSTANCE_ACCELERATOR_COUNT, Operator::Exists)],
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
    let filter = [Architecture::Amd64, Architecture::Arm64].into_iter().filter(|a| has(*a));
    filter.map(Architecture::of_image).collect::<Vec<_>>().join(" and ")
}

/// The image behind a public parameter, below `/aws/service/`.
///
/// Karpenter: `pkg/providers/amifamily/{al2,al2023,bottlerocket,windows}.go`, `DescribeImageQuery`.
fn image_of_path(path: &str) -> Option<Image> {
    use Variant::{Neuron, Nvidia, Standard};
    let parts: Vec<&str> = path.split('/').collect();
    let (family, version, kubernetes, architecture, variant) = match *parts.as_slice() {
        [
            "eks",
            "optimized-ami",
            kubernetes,
            "amazon-linux-2023",
            machine,
            kind,
            build,
            "image_id",
        ] => {
            let variant = [(Standard, "standard"), (Nvidia, "nvidia"), (Neuron, "neuron")];
            let (variant, _) = variant.into_iter().find(|(_, name)| *name == kind)?;
            (ImageFamily::Al2023, build, kubernetes, Architecture::named_in(machine)?, variant)
        }
        ["eks", "optimized-ami", kubernetes, folder, build, "image_id"] => {
            let (architecture, variant) = match folder {
                "amazon-linux-2" => (Architecture::Amd64, Standard),
                "amazon-linux-2-arm64" => (Architecture::Arm64, Standard),
                "amazon-linux-2-gpu" => (Architecture::Amd64, Nvidia),
                _ => return None,
            };
            (ImageFamily::Al2, build, kubernetes, architecture, variant)
        }
        ["bottlerocket", folder, machine, build, "image_id"] => {
            let kubernetes = folder.strip_prefix("aws-k8s-")?;
            let (kubernetes, variant) = match kubernetes.strip_suffix("-nvidia") {
                Some(kubernetes) => (kubernetes, Nvidia),
                None => (kubernetes, Standard),
            };
            let architecture = Architecture::named_in(machine)?;
            (ImageFamily::Bottlerocket, build, kubernetes, architecture, variant)
        }
        ["ami-windows-latest", server, "image_id"] => {
            let server = server.strip_prefix("Windows_Server-")?;
            let (year, kubernetes) = server.split_once("-English-Core-EKS_Optimized-")?;
            let years = [
                ("2019", ImageFamily::Windows2019),
                ("2022", ImageFamily::Windows2022),
                ("2025", ImageFamily::Windows2025),
            ];
            let (_, family) = years.into_iter().find(|(known, _)| *known == year)?;
            (family, "latest", kubernetes, Architecture::Amd64, Standard)
        }
        _ => return None,
    };
    // A pinned build is named in full: `amazon-eks-node-al2023-x86_64-standard-1.34-v20240625`.
    let version = match build_of(version) {
        "recommended" => "latest",
        version => version,
    };
    let family = family.as_str().to_ascii_lowercase();
    let name = image_name(&family, architecture, variant, kubernetes, version);
    Some(image(image_id(&name), &name, architecture))
}

/// The version at the end of a build's full name.
fn build_of(build: &str) -> &str {
    if build.starts_with("amazon-eks-") {
        return build.rsplit('-').next().unwrap_or(build);
    }
    build
}

fn image_name(
    family: &str,
    architecture: Architecture,
    variant: Variant,
    kubernetes_version: &str,
    version: &str,
) -> String {
    let suffix = format!("{variant:?}").to_ascii_lowercase();
    let machine = architecture.of_image();
    format!("eks-node-{family}-{machine}-{suffix}-{kubernetes_version}-{version}")
}
