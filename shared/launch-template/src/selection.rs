//! What of an EC2NodeClass's images and capacity reservations is launched from. EC2 has found what its
//! selector terms name; here the best of it is taken.
//!
//! Karpenter: `pkg/providers/{amifamily,capacityreservation}` of the AWS provider.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    Requirements,
    node_class::{CapacityReservation, Image},
};

/// How long before its end a capacity block is not launched into any more.
const EXPIRING: SignedDuration = SignedDuration::from_mins(40);

/// Those of `found` that have not ended at `now`, by id, each once. A capacity block that is about
/// to end is marked.
pub fn usable_reservations(
    capacity_reservations: Vec<CapacityReservation>,
    now: Timestamp,
) -> Vec<CapacityReservation> {
    let usable = capacity_reservations
        .into_iter()
        .filter(|capacity_reservation| capacity_reservation.ends_at.is_none_or(|end| end > now));
    let seen = usable.map(|reservation| {
        let last = reservation.ends_at.and_then(|end| end.checked_sub(EXPIRING).ok());
        let is_expiring = reservation.is_capacity_block && last.is_some_and(|last| last <= now);
        (reservation.id.clone(), CapacityReservation { is_expiring, ..reservation })
    });
    seen.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Of the images for the same instance types one: not deprecated before deprecated, then the newest,
/// then the greater name. Newest first, ties by id.
///
/// Karpenter's AWS provider: `pkg/providers/amifamily/ami.go`.
pub fn chosen_images(images: Vec<Image>, now: Timestamp) -> Vec<Image> {
    let rank = |image: &Image| {
        let is_deprecated = image.deprecated_at.is_some_and(|at| at <= now);
        (!is_deprecated, image.created_at, image.name.clone())
    };
    let mut best: BTreeMap<Requirements, Image> = BTreeMap::new();
    for image in images {
        match best.get(&image.requirements) {
            Some(kept) if rank(&image) <= rank(kept) => {}
            _ => {
                best.insert(image.requirements.clone(), image);
            }
        }
    }
    let mut chosen: Vec<Image> = best.into_values().collect();
    chosen.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| a.id.cmp(&b.id)));
    chosen
}

#[cfg(test)]
mod tests;
