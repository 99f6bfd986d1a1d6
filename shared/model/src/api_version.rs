//! The groups and versions of Karpenter's objects.
//!
//! Karpenter: `pkg/apis/apis.go`, and the same file of the AWS provider.

/// The group of NodePools, NodeClaims and NodeOverlays.
pub const KARPENTER_GROUP: &str = "karpenter.sh";
/// The group of EC2NodeClasses.
pub const AWS_GROUP: &str = "karpenter.k8s.aws";
/// The group of CapacityBuffers.
pub const AUTOSCALING_GROUP: &str = "autoscaling.x-k8s.io";
/// NodePools and NodeClaims.
pub const KARPENTER_V1: &str = "karpenter.sh/v1";
/// NodeOverlays.
pub const KARPENTER_V1ALPHA1: &str = "karpenter.sh/v1alpha1";
/// EC2NodeClasses.
pub const AWS_V1: &str = "karpenter.k8s.aws/v1";
/// CapacityBuffers.
pub const AUTOSCALING_V1BETA1: &str = "autoscaling.x-k8s.io/v1beta1";
/// ResourceSlices, DeviceClasses, ResourceClaims and ResourceClaimTemplates.
pub const RESOURCE_V1: &str = "resource.k8s.io/v1";

/// The group of `api_version`; empty of `v1`, which is in none.
pub fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
