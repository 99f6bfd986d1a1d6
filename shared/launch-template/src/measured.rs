//! Memory that nodes were seen with, in place of what was estimated.
//!
//! An instance has less memory than EC2 says, by what firmware and kernel keep. How much is known
//! only when a node tells; until then `VM_MEMORY_OVERHEAD_PERCENT` stands for it.
//!
//! Karpenter: `pkg/controllers/providers/instancetype/capacity` of the AWS provider.

use std::{collections::BTreeMap, sync::Arc};

use model::{Bytes, InstanceType, ledger::MeasuredKey, node_class::Image};

use crate::image::image_for;

/// Gives those of `types`, which are sorted by name, the memory that was `measured` with the image
/// that they start from now: another image is another measurement. What is reserved, percentages of
/// the estimate among it, stays. Types without a measurement stay the very same.
pub(crate) fn apply(
    types: &mut [Arc<InstanceType>],
    images: &[Image],
    measured: &BTreeMap<MeasuredKey, Bytes>,
) {
    for (key, memory) in measured {
        let index = types.binary_search_by(|t| t.name.cmp(&key.instance_type));
        let Some(instance_type) = index.ok().and_then(|index| types.get_mut(index)) else {
            continue;
        };
        let is_of_image =
            image_for(instance_type, images).is_some_and(|image| image.id == key.image);
        if is_of_image && instance_type.capacity.memory != *memory {
            Arc::make_mut(instance_type).capacity.memory = *memory;
        }
    }
}

#[cfg(test)]
mod tests {
    use model::node_class::ImageFamily;

    use super::*;
    use crate::{
        offer,
        testing::{catalog, class, now},
    };

    const M7I: &str = "m7i.large amd64 2 8Gi 29 0.1008 0.04";
    const M7G: &str = "m7g.large arm64 2 8Gi 29 0.0816 0.03";

    fn key(instance_type: &str, image: &str) -> MeasuredKey {
        MeasuredKey { instance_type: instance_type.parse().unwrap(), image: image.parse().unwrap() }
    }

    /// How the memory that is left for pods changes with `measured` MiB, by type.
    #[track_caller]
    fn check(measured: &[(&str, &str, u64)], expected: &[(&str, i64)]) {
        let mut class = class(ImageFamily::Al2023);
        let percent = ("memory.available".to_owned(), "10%".to_owned());
        class.class.kubelet.eviction_hard.extend([percent]);
        let before = offer(&catalog(&[M7G, M7I]), &class, &BTreeMap::new(), now());
        let mut after = before.clone();
        let measured = measured
            .iter()
            .map(|(name, image, mebibytes)| (key(name, image), Bytes::from_mebibytes(*mebibytes)));
        apply(&mut after, &class.images, &measured.collect());
        let mebibytes = |t: &InstanceType| i64::try_from(t.allocatable().memory.0 >> 20).unwrap();
        let changes: Vec<(&str, i64)> = before
            .iter()
            .zip(&after)
            .map(|(instance_type, other)| {
                (instance_type.name.as_str(), mebibytes(other) - mebibytes(instance_type))
            })
            .collect();
        assert_eq!(changes, expected);
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(instance_type, other)| instance_type.overhead == other.overhead)
        );
    }

    #[test]
    fn what_was_measured_takes_the_place_of_the_estimate_less_or_more() {
        let images = ("ami-0a01", "ami-0a02");
        check(
            &[("m7i.large", images.0, 8_000), ("m7g.large", images.1, 8_200)],
            &[("m7g.large", 8), ("m7i.large", -192)],
        );
    }

    #[test]
    fn another_image_or_type_says_nothing() {
        check(
            &[
                ("m7i.large", "ami-0a02", 10),
                ("m7i.large", "ami-9", 10),
                ("m5.large", "ami-0a01", 10),
            ],
            &[("m7g.large", 0), ("m7i.large", 0)],
        );
    }
}
