//! EC2NodeClasses whose nodes are launched from a launch template of the user's own.

use model::{LaunchTemplateName, node_class::TemplateSource};

use crate::document::field::Field;

/// The annotation of classes whose nodes are launched from a launch template of the user's own: its
/// name. `convert` writes it.
pub(crate) const LAUNCH_TEMPLATE: &str = "compatibility.karpenter.k8s.aws/v1alpha1-launch-template";

/// Members of `spec` that are in the launch template, if anywhere: here they would change nothing.
/// `metadataOptions` is not among them, because the API server fills it in.
const IN_TEMPLATE: [&str; 11] = [
    "associatePublicIPAddress",
    "blockDeviceMappings",
    "capacityReservationSelectorTerms",
    "connectionTracking",
    "cpuOptions",
    "detailedMonitoring",
    "instanceStorePolicy",
    "ipPrefixCount",
    "networkInterfaces",
    "placementGroupSelector",
    "userData",
];

/// The launch template called `name`, which stands at `place`. What of `spec` would have no effect
/// makes the class unusable.
///
/// Karpenter: `validateLaunchTemplate` of v1alpha1's `provider_validation.go`.
pub(super) fn read(name: &str, place: &Field<'_>, spec: &Field<'_>) -> TemplateSource {
    for member in IN_TEMPLATE {
        if spec.tree().get(member).is_some() {
            spec.at(member).complain_unusable(format!(
                "has no effect beside the launch template `{name}`: set it there and leave it out here"
            ));
        }
    }
    let name = LaunchTemplateName::new(name);
    place.beyond_definition().accept(name).map_or(TemplateSource::Made, TemplateSource::Named)
}
