//! Which image starts on which instance type.

use model::{InstanceType, node_class::Image, requirements::Undefined};

/// The first of `images` that starts on `instance_type`.
///
/// Karpenter: `pkg/providers/amifamily/ami.go`, `MapToInstanceTypes`.
pub(crate) fn image_for<'a>(
    instance_type: &InstanceType,
    images: &'a [Image],
) -> Option<&'a Image> {
    let requirements = &instance_type.requirements;
    images
        .iter()
        .find(|image| requirements.compatible(&image.requirements, Undefined::WellKnown).is_ok())
}
