//! Types that can share a launch template.
//!
//! Karpenter: `pkg/providers/amifamily/resolver.go` of the AWS provider.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CapacityType, NodeClaim, Offering,
    launch::{ReservationMarket, ReservationTarget},
    node_class::{Image, ResolvedNodeClass},
};

use super::BatchRefusal;
use crate::{
    filter::{Candidate, market},
    image::image_for,
};

const EFA: &str = "vpc.amazonaws.com/efa";

/// Types with the same image, pods and network adapters, and the reservation that they go into.
pub(super) struct Group<'a> {
    pub(super) image: &'a Image,
    pub(super) pods: u64,
    /// Elastic Fabric Adapters, if the claim asks for any.
    pub(super) adapters: u64,
    pub(super) reservation: Option<ReservationTarget>,
    pub(super) candidates: Vec<&'a Candidate<'a>>,
}

impl Group<'_> {
    /// How its reservation is bought.
    pub(super) fn market(&self) -> ReservationMarket {
        self.reservation.as_ref().map(|target| target.market).unwrap_or_default()
    }

    /// Whether `offering` is one of its reservation's, if it has one.
    pub(super) fn covers(&self, offering: &Offering) -> bool {
        let id = offering.reservation.as_ref().map(|reservation| reservation.id.as_str());
        self.reservation.as_ref().is_none_or(|target| id == Some(target.id.as_str()))
    }
}

/// The groups of `candidates` that an image of the class starts on.
pub(super) fn groups<'a>(
    candidates: &'a [Candidate<'a>],
    claim: &NodeClaim,
    class: &'a ResolvedNodeClass,
    capacity_type: CapacityType,
) -> Result<Vec<Group<'a>>, BatchRefusal> {
    let wants_adapters = claim.requests.get(EFA) > 0;
    let mut groups = BTreeMap::new();
    for candidate in candidates {
        let Some(image) = image_for(candidate.instance_type, &class.images) else {
            continue;
        };
        let capacity = &candidate.instance_type.capacity;
        let pods = capacity.pods;
        let adapters = if wants_adapters { capacity.get(EFA) } else { 0 };
        for reservation in reservations(candidate, capacity_type) {
            let key = (&image.id, pods, adapters, reservation.clone());
            let new = || Group { image, pods, adapters, reservation, candidates: Vec::new() };
            groups.entry(key).or_insert_with(new).candidates.push(candidate);
        }
    }
    if groups.is_empty() {
        let images: BTreeSet<&str> = class.images.iter().map(|image| image.id.as_str()).collect();
        let images: Vec<&str> = images.into_iter().collect();
        let why = format!("none of {} starts on the instance types", images.join(", "));
        return Err(BatchRefusal::NoImage { class: class.class.name.clone(), why });
    }
    Ok(groups.into_values().collect())
}

/// The reservations of `candidate` when the launch is into reservations; else no reservation, once.
fn reservations(
    candidate: &Candidate<'_>,
    capacity_type: CapacityType,
) -> BTreeSet<Option<ReservationTarget>> {
    if capacity_type != CapacityType::Reserved {
        return BTreeSet::from([None]);
    }
    let targets = candidate.offerings.iter().filter_map(|offering| {
        let id = offering.reservation.as_ref()?.id.clone();
        Some(Some(ReservationTarget { id, market: market(offering)? }))
    });
    targets.collect()
}
