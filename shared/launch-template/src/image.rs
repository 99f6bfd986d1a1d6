//! Which image starts on which instance type.

use std::collections::BTreeMap;

use model::{ImageId, InstanceType, InstanceTypeName, node_class::Image, requirements::Undefined};

/// The image that each of `types` would start from, of those that a class selects, in the order of its status.
///
/// Karpenter: `pkg/providers/amifamily/ami.go`, `MapToInstanceTypes`.
pub fn images_of_types<'a>(
    images: &[Image],
    types: impl IntoIterator<Item = &'a InstanceType>,
) -> BTreeMap<InstanceTypeName, ImageId> {
    let of_type = |instance_type: &InstanceType| {
        let image = image_for(instance_type, images)?;
        Some((instance_type.name.clone(), image.id.clone()))
    };
    types.into_iter().filter_map(of_type).collect()
}

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
