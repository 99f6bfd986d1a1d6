//! Which of an account's resources the selector terms of an EC2NodeClass name.
//!
//! Terms are alternatives; what a term says must hold all at once. Nothing is asked for here: the
//! resources are what EC2 and SSM described.
//!
//! Karpenter: `pkg/providers/{subnet,securitygroup,amifamily,capacityreservation,placementgroup}`
//! of the AWS provider.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use jiff::{SignedDuration, Timestamp};
use model::{
    ImageId, Requirements, SecurityGroupId, image_alias, labels,
    node_class::{
        CapacityReservation, Image, ImageTerm, PlacementGroup, PlacementGroupTerm, ReservationTerm,
        SecurityGroupTerm, Subnet, SubnetTerm,
    },
};

mod wildcard;

/// Tags by key.
pub type Tags = BTreeMap<String, String>;

/// How long before its end a capacity block is not launched into any more.
const EXPIRING: SignedDuration = SignedDuration::from_mins(40);

/// A security group of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityGroup {
    /// Its id.
    pub id: SecurityGroupId,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Tags,
}

/// An image that the account may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedImage {
    /// Its id.
    pub id: ImageId,
    /// Its name.
    pub name: String,
    /// The account that it belongs to, or `self` or `amazon`.
    pub owners: BTreeSet<String>,
    /// `x86_64`, `arm64` or something else.
    pub architecture: String,
    /// Whether its state is `available`.
    pub is_available: bool,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// From when on EC2 advises against it.
    pub deprecated_at: Option<Timestamp>,
    /// Its tags.
    pub tags: Tags,
}

/// A capacity reservation of the account or shared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedReservation {
    /// What EC2 says about it.
    pub reservation: CapacityReservation,
    /// Whether its state is `active`.
    pub is_active: bool,
    /// Its tags.
    pub tags: Tags,
}

/// The subnets that `terms` name, those with the most free addresses first, then by id.
pub fn subnets(terms: &[SubnetTerm], all: &[(Subnet, Tags)]) -> Vec<Subnet> {
    let is_named = |subnet: &Subnet, tags: &Tags| {
        terms.iter().any(|term| match term {
            SubnetTerm::Id(id) => subnet.id == *id,
            SubnetTerm::Tags(wanted) => has_tags(tags, wanted),
        })
    };
    let named = all.iter().filter(|(subnet, tags)| is_named(subnet, tags));
    let mut named: Vec<Subnet> = named.map(|(subnet, _)| subnet.clone()).collect();
    named.sort_by_key(|one| (Reverse(one.available_ip_address_count), one.id.clone()));
    named.dedup_by(|a, b| a.id == b.id);
    named
}

/// The security groups that `terms` name, by id.
pub fn security_groups<'a>(
    terms: &[SecurityGroupTerm],
    all: &'a [SecurityGroup],
) -> Vec<&'a SecurityGroup> {
    let is_named = |group: &SecurityGroup| {
        terms.iter().any(|term| match term {
            SecurityGroupTerm::Id(id) => group.id == *id,
            SecurityGroupTerm::Name(name) => wildcard::matches(name, &group.name),
            SecurityGroupTerm::Tags(wanted) => has_tags(&group.tags, wanted),
        })
    };
    let named: BTreeMap<&SecurityGroupId, &SecurityGroup> =
        all.iter().filter(|group| is_named(group)).map(|group| (&group.id, group)).collect();
    named.into_values().collect()
}

/// The capacity reservations that `terms` name and that have not ended at `now`, by id.
pub fn reservations(
    terms: &[ReservationTerm],
    all: &[DescribedReservation],
    now: Timestamp,
) -> Vec<CapacityReservation> {
    let is_named = |described: &DescribedReservation| {
        terms.iter().any(|term| match term {
            ReservationTerm::Id(id) => described.reservation.id == *id,
            ReservationTerm::Search { tags, owner, match_criteria } => {
                let reservation = &described.reservation;
                has_tags(&described.tags, tags)
                    && owner.as_ref().is_none_or(|owner| *owner == reservation.owner)
                    && match_criteria.is_none_or(|wanted| wanted == reservation.match_criteria)
            }
        })
    };
    let active = all.iter().filter(|described| described.is_active);
    let named = active.filter(|described| is_named(described));
    usable_reservations(named.map(|described| described.reservation.clone()).collect(), now)
}

/// Those of `found` that have not ended at `now`, by id, each once. A capacity block that is about
/// to end is marked.
pub fn usable_reservations(
    found: Vec<CapacityReservation>,
    now: Timestamp,
) -> Vec<CapacityReservation> {
    let usable = found.into_iter().filter(|one| one.ends_at.is_none_or(|end| end > now));
    let seen = usable.map(|reservation| {
        let last = reservation.ends_at.and_then(|end| end.checked_sub(EXPIRING).ok());
        let is_expiring = reservation.is_capacity_block && last.is_some_and(|last| last <= now);
        (reservation.id.clone(), CapacityReservation { is_expiring, ..reservation })
    });
    seen.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The placement group that `term` names: the first, if several do.
pub fn placement_group<'a>(
    term: &PlacementGroupTerm,
    all: &'a [PlacementGroup],
) -> Option<&'a PlacementGroup> {
    all.iter().find(|group| match term {
        PlacementGroupTerm::Id(id) => group.id == *id,
        PlacementGroupTerm::Name(name) => group.name == *name,
    })
}

/// The images that `terms` name for a class of `family`: of those for the same instance types the
/// best one, newest first. `parameters` are the SSM parameters that are known.
///
/// The error is an alias that has no images for this version of Kubernetes.
pub fn images(
    terms: &[ImageTerm],
    kubernetes_version: &str,
    parameters: &BTreeMap<String, String>,
    all: &[DescribedImage],
    now: Timestamp,
) -> Result<Vec<Image>, String> {
    let mut found = Vec::new();
    let of_parameter = |name: &str| {
        let id = parameters.get(name)?;
        all.iter().find(|image| image.id.as_str() == id)
    };
    for term in terms {
        match term {
            ImageTerm::Alias { family, version } => {
                for parameter in image_alias::parameters(*family, version, kubernetes_version)? {
                    let Some(image) = of_parameter(&parameter.name) else { continue };
                    let variants = parameter.variants.iter();
                    found.extend(variants.filter_map(|v| resolved(image, &v.requirements())));
                }
            }
            ImageTerm::Id(id) => {
                let named = all.iter().filter(|image| image.id == *id);
                found.extend(named.filter_map(|image| resolved(image, &Requirements::new())));
            }
            ImageTerm::SsmParameter(name) => {
                let image = of_parameter(name);
                found.extend(image.and_then(|image| resolved(image, &Requirements::new())));
            }
            ImageTerm::Search { name, owner, tags } => {
                let named = all.iter().filter(|image| {
                    let has_name =
                        name.as_ref().is_none_or(|name| wildcard::matches(name, &image.name));
                    has_name
                        && is_trusted(image, name.is_some(), owner.as_deref())
                        && has_tags(&image.tags, tags)
                });
                found.extend(named.filter_map(|image| resolved(image, &Requirements::new())));
            }
        }
    }
    Ok(chosen_images(found, now))
}

/// By name alone, only the account's own images and Amazon's: anybody may give an image any name.
fn is_trusted(image: &DescribedImage, is_by_name: bool, owner: Option<&str>) -> bool {
    match owner {
        Some(owner) => image.owners.contains(owner),
        None => !is_by_name || ["self", "amazon"].iter().any(|own| image.owners.contains(*own)),
    }
}

/// `image` for types that `variant` asks for; `None` where no node can start from it.
fn resolved(image: &DescribedImage, variant: &Requirements) -> Option<Image> {
    let arch = match image.architecture.as_str() {
        "x86_64" => "amd64",
        "arm64" => "arm64",
        _ => return None,
    };
    let mut requirements = Requirements::of_labels([(labels::ARCH, arch)]);
    requirements.add_all(variant);
    image.is_available.then(|| Image {
        id: image.id.clone(),
        name: image.name.clone(),
        created_at: image.created_at,
        deprecated_at: image.deprecated_at,
        requirements,
    })
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

/// Whether `tags` has all of `wanted`. The value `*` is any; otherwise EC2's wildcards hold.
fn has_tags(tags: &Tags, wanted: &Tags) -> bool {
    wanted.iter().all(|(key, value)| {
        tags.get(key).is_some_and(|own| value == "*" || wildcard::matches(value, own))
    })
}

#[cfg(test)]
mod tests;
