//! Types that can share a launch template.
//!
//! Karpenter: `pkg/providers/amifamily/resolver.go` of the AWS provider.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CapacityType, NodeClaim, Offering,
    dynamic_resources::EFA_DRIVER,
    labels,
    launch::{ReservationMarket, ReservationTarget},
    node_class::{Image, Kubelet, ResolvedNodeClass},
};

use super::{BatchRefusal, Descriptions};
use crate::{
    expressions::{Expressions, Reserved, Variables},
    filter::{Candidate, market},
    image::image_for,
};

const EFA: &str = "vpc.amazonaws.com/efa";

/// Types with the same image, pods, network adapters and reserved resources, and the reservation that they go into.
pub(super) struct Group<'a> {
    pub(super) image: &'a Image,
    pub(super) pods: u64,
    /// If the class has expressions for it.
    pub(super) reserved: Option<Reserved>,
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

    /// The `given` settings of a class's kubelets as its nodes get them: what is reserved has no expressions.
    pub(super) fn kubelet(&self, given: &Kubelet) -> Kubelet {
        let mut kubelet = given.clone();
        if let Some(Reserved { kube, system }) = self.reserved.clone() {
            kubelet.kube_reserved = kube;
            kubelet.system_reserved = system;
        }
        kubelet
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
    descriptions: Option<&Descriptions>,
) -> Result<Vec<Group<'a>>, BatchRefusal> {
    let expressions = Expressions::of(&class.class.kubelet);
    let wants_adapters = claim.requests.get(EFA) > 0 || claims_adapters(claim);
    let mut groups = BTreeMap::new();
    for candidate in candidates {
        let Some(image) = image_for(candidate.instance_type, &class.images) else {
            continue;
        };
        let capacity = &candidate.instance_type.capacity;
        let pods = capacity.pods;
        let adapters = if wants_adapters { capacity.get(EFA) } else { 0 };
        let info = descriptions.and_then(|infos| infos.get(&candidate.instance_type.name));
        let variables = Variables::of(candidate.instance_type, info.map(|info| &**info));
        let reserved = expressions.reserved(&class.class.kubelet, &variables, pods);
        for reservation in reservations(candidate, capacity_type) {
            let key = (&image.id, pods, adapters, reserved.clone(), reservation.clone());
            let (reserved, candidates) = (reserved.clone(), Vec::new());
            let new = || Group { image, pods, reserved, adapters, reservation, candidates };
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

/// Whether pods of `claim` claim network interfaces as devices.
fn claims_adapters(claim: &NodeClaim) -> bool {
    let drivers = claim.annotations.get(labels::REQUESTED_DRA_DRIVERS);
    drivers.is_some_and(|drivers| drivers.split(',').any(|driver| driver == EFA_DRIVER))
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
