//! AMI aliases: which SSM parameters name the images of a family, and what each image is for.
//!
//! Karpenter: `pkg/providers/amifamily/{al2,al2023,bottlerocket,windows}.go`.

use crate::{Operator, Requirement, Requirements, labels, node_class::ImageFamily};

/// What an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Neither GPU nor accelerator.
    Standard,
    /// GPUs.
    Nvidia,
    /// AWS's accelerators.
    Neuron,
    /// Windows, of this build.
    Windows(&'static str),
}

/// An SSM parameter whose value is an image id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Each makes an image of its own, for different instance types.
    pub variants: Vec<Variant>,
}

/// The parameters of `version` (`latest` or a build) of `family` for a cluster of
/// `kubernetes_version`, or why there are none.
pub fn parameters(
    family: ImageFamily,
    version: &str,
    kubernetes_version: &str,
) -> Result<Vec<Parameter>, String> {
    let minor = minor(kubernetes_version)
        .ok_or_else(|| format!("`{kubernetes_version}` is not a Kubernetes version"))?;
    let unsupported = |why: &str| {
        let family = family.as_str().to_lowercase();
        Err(format!("`{family}@{version}` {why}"))
    };
    match family {
        ImageFamily::Al2 if minor >= 33 => {
            unsupported("is not built for Kubernetes 1.33 and later: use al2023")
        }
        ImageFamily::Windows2025 if minor < 35 => {
            unsupported("is not built for Kubernetes before 1.35")
        }
        ImageFamily::Al2 => Ok(al2(version, kubernetes_version)),
        ImageFamily::Al2023 => Ok(al2023(version, kubernetes_version)),
        ImageFamily::Bottlerocket => Ok(bottlerocket(version, kubernetes_version)),
        ImageFamily::Windows2019 => Ok(windows("2019", "10.0.17763", kubernetes_version)),
        ImageFamily::Windows2022 => Ok(windows("2022", "10.0.20348", kubernetes_version)),
        ImageFamily::Windows2025 => Ok(windows("2025", "10.0.26100", kubernetes_version)),
        ImageFamily::Custom => unsupported("has no images of its own"),
    }
}

fn minor(kubernetes_version: &str) -> Option<u32> {
    let (major, minor) = kubernetes_version.split_once('.')?;
    (major == "1").then(|| minor.parse().ok()).flatten()
}

fn al2(version: &str, kubernetes: &str) -> Vec<Parameter> {
    let parameter = |folder: &str, build: &str, variants: &[Variant]| {
        let version = match version {
            "latest" => "recommended".to_owned(),
            version => format!("{build}-{kubernetes}-{version}"),
        };
        let name =
            format!("/aws/service/eks/optimized-ami/{kubernetes}/{folder}/{version}/image_id");
        Parameter { name, variants: variants.to_vec() }
    };
    vec![
        parameter("amazon-linux-2", "amazon-eks-node", &[Variant::Standard]),
        parameter("amazon-linux-2-arm64", "amazon-eks-arm64-node", &[Variant::Standard]),
        parameter("amazon-linux-2-gpu", "amazon-eks-gpu-node", &[Variant::Nvidia, Variant::Neuron]),
    ]
}

fn al2023(version: &str, kubernetes: &str) -> Vec<Parameter> {
    let builds = [
        ("x86_64", "standard", Variant::Standard),
        ("x86_64", "nvidia", Variant::Nvidia),
        ("x86_64", "neuron", Variant::Neuron),
        ("arm64", "standard", Variant::Standard),
        ("arm64", "nvidia", Variant::Nvidia),
    ];
    let parameter = |(arch, kind, variant): (&str, &str, Variant)| {
        let version = match version {
            "latest" => "recommended".to_owned(),
            version => format!("amazon-eks-node-al2023-{arch}-{kind}-{kubernetes}-{version}"),
        };
        let folder = format!("/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023");
        let name = format!("{folder}/{arch}/{kind}/{version}/image_id");
        Parameter { name, variants: vec![variant] }
    };
    builds.map(parameter).into()
}

fn bottlerocket(version: &str, kubernetes: &str) -> Vec<Parameter> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let parameter = |flavor: &str, arch: &str, variants: &[Variant]| Parameter {
        name: format!(
            "/aws/service/bottlerocket/aws-k8s-{kubernetes}{flavor}/{arch}/{version}/image_id"
        ),
        variants: variants.to_vec(),
    };
    vec![
        parameter("", "x86_64", &[Variant::Standard, Variant::Neuron]),
        parameter("", "arm64", &[Variant::Standard]),
        parameter("-nvidia", "x86_64", &[Variant::Nvidia]),
        parameter("-nvidia", "arm64", &[Variant::Nvidia]),
    ]
}

fn windows(year: &str, build: &'static str, kubernetes: &str) -> Vec<Parameter> {
    let name = format!(
        "/aws/service/ami-windows-latest/Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}/image_id"
    );
    vec![Parameter { name, variants: vec![Variant::Windows(build)] }]
}

impl Variant {
    /// What an instance type must be for such an image, besides its architecture.
    pub fn requirements(self) -> Requirements {
        let wanted: &[(&str, Operator)] = match self {
            Self::Standard => &[
                (labels::INSTANCE_GPU_COUNT, Operator::DoesNotExist),
                (labels::INSTANCE_ACCELERATOR_COUNT, Operator::DoesNotExist),
            ],
            Self::Nvidia => &[(labels::INSTANCE_GPU_COUNT, Operator::Exists)],
            Self::Neuron => &[(labels::INSTANCE_ACCELERATOR_COUNT, Operator::Exists)],
            Self::Windows(build) => {
                return Requirements::of_labels([
                    (labels::OS, "windows"),
                    (labels::WINDOWS_BUILD, build),
                ]);
            }
        };
        // Constant keys, and operators without values: each makes a requirement.
        wanted
            .iter()
            .filter_map(|(key, operator)| Requirement::new(key, *operator, []).ok())
            .collect()
    }
}
