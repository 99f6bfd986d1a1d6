//! AMI aliases: which SSM parameters name the images of a family, and what each image is for.

use model::{image_alias::*, node_class::ImageFamily};

#[track_caller]
fn check(family: ImageFamily, version: &str, kubernetes: &str, expected: &[(&str, &[Variant])]) {
    let parameters_of = parameters(family, version, kubernetes).unwrap();
    let expected: Vec<Parameter> = expected
        .iter()
        .map(|(name, variants)| Parameter {
            name: format!("/aws/service/{name}/image_id"),
            variants: variants.to_vec(),
        })
        .collect();
    assert_eq!(parameters_of, expected);
}

#[test]
fn al2023_has_an_image_for_each_architecture_and_accelerator() {
    let folder = "eks/optimized-ami/1.34/amazon-linux-2023";
    let parameter = |rest: &str| format!("{folder}/{rest}");
    let builds = [
        (parameter("x86_64/standard/recommended"), Variant::Standard),
        (parameter("x86_64/nvidia/recommended"), Variant::Nvidia),
        (parameter("x86_64/neuron/recommended"), Variant::Neuron),
        (parameter("arm64/standard/recommended"), Variant::Standard),
        (parameter("arm64/nvidia/recommended"), Variant::Nvidia),
    ];
    let expected: Vec<(&str, &[Variant])> =
        builds.iter().map(|(name, v)| (name.as_str(), std::slice::from_ref(v))).collect();
    check(ImageFamily::Al2023, "latest", "1.34", &expected);
}

#[test]
fn a_pinned_build_is_named_in_full() {
    let first = |family, version| parameters(family, version, "1.32").unwrap().remove(0).name;
    assert_eq!(
        first(ImageFamily::Al2023, "v20240807"),
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/\
         amazon-eks-node-al2023-x86_64-standard-1.32-v20240807/image_id"
    );
    assert_eq!(
        first(ImageFamily::Al2, "v20240807"),
        "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/\
         amazon-eks-node-1.32-v20240807/image_id"
    );
    assert_eq!(
        first(ImageFamily::Bottlerocket, "v1.20.3"),
        "/aws/service/bottlerocket/aws-k8s-1.32/x86_64/1.20.3/image_id"
    );
}

#[test]
fn bottlerockets_standard_image_is_for_neuron_too() {
    check(
        ImageFamily::Bottlerocket,
        "latest",
        "1.34",
        &[
            ("bottlerocket/aws-k8s-1.34/x86_64/latest", &[Variant::Standard, Variant::Neuron]),
            ("bottlerocket/aws-k8s-1.34/arm64/latest", &[Variant::Standard]),
            ("bottlerocket/aws-k8s-1.34-nvidia/x86_64/latest", &[Variant::Nvidia]),
            ("bottlerocket/aws-k8s-1.34-nvidia/arm64/latest", &[Variant::Nvidia]),
        ],
    );
}

#[test]
fn windows_has_one_image_for_its_build() {
    check(
        ImageFamily::Windows2022,
        "latest",
        "1.34",
        &[(
            "ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.34",
            &[Variant::Windows("10.0.20348")],
        )],
    );
}

#[test]
fn families_that_a_kubernetes_version_has_not_are_refused() {
    for (family, kubernetes, is_there) in [
        (ImageFamily::Al2, "1.32", true),
        (ImageFamily::Al2, "1.33", false),
        (ImageFamily::Windows2025, "1.34", false),
        (ImageFamily::Windows2025, "1.35", true),
        (ImageFamily::Al2023, "", false),
        (ImageFamily::Custom, "1.34", false),
    ] {
        let is_known = parameters(family, "latest", kubernetes).is_ok();
        assert_eq!(is_known, is_there, "{family:?} {kubernetes}");
    }
}
