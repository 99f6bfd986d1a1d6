//! What to do about an override that brought no instance.
//!
//! Karpenter: `pkg/errors/errors.go` of the AWS provider.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    InstanceTypeName, OfferingKey, Zone,
    duration::later,
    launch::{FleetError, FleetOverride, FleetReaction, FleetRequest},
    ledger::Shortage,
    limits,
    node_class::ResolvedNodeClass,
};

const SPOT_ROLE: &str = "AuthFailure.ServiceLinkedRoleCreationNotPermitted";

/// A part of the message by which EC2 says that a spread placement group is full in a zone, with the code of missing
/// capacity.
const SPREAD_IS_FULL: &str = "spread placement group";

/// Codes that mean: not this offering, not now.
const NO_CAPACITY: [&str; 10] = [
    "InsufficientInstanceCapacity",
    "UnfulfillableCapacity",
    "Unsupported",
    "MaxSpotInstanceCountExceeded",
    "VcpuLimitExceeded",
    "MaxFleetCountExceeded",
    "ReservationCapacityExceeded",
    "InsufficientFreeAddressesInSubnet",
    "SpotMaxPriceTooLow",
    // AWS takes the capacity of an interruptible reservation back.
    "InvalidCapacityReservationState.Unavailable",
];

/// Codes after which the same request may succeed later. A launch template that is gone is made
/// anew before every attempt.
const RETRIED: [&str; 7] = [
    "RequestLimitExceeded",
    "Throttling",
    "InternalError",
    "InternalFailure",
    "ServiceUnavailable",
    "InvalidLaunchTemplateName.NotFoundException",
    "InvalidLaunchTemplateId.NotFound",
];

/// Karpenter's reason word for a code or message that contains the text; the first that matches.
const REASONS: [(&str, &str); 21] = [
    ("ServiceLinkedRoleCreationNotPermitted", "SpotSLRCreationFailed"),
    ("Not authorized for images", "AMIAuthorizationFailure"),
    ("UnauthorizedOperation", "Unauthorized"),
    ("AccessDenied", "Unauthorized"),
    ("AuthFailure", "Unauthorized"),
    ("belong to different networks", "SecurityGroupSubnetVPCMismatch"),
    ("Invalid IAM Instance Profile", "InstanceProfileNameInvalid"),
    ("iamInstanceProfile.name is invalid", "InstanceProfileNameInvalid"),
    ("User data is limited to 16384 bytes", "UserDataSizeLimitExceeded"),
    ("InvalidLaunchTemplate", "LaunchTemplateNotFound"),
    ("InvalidAMIID.Malformed", "InvalidAMIID"),
    ("InvalidAMIID.NotFound", "AMINotFound"),
    ("InvalidAMIID", "InvalidAMIID"),
    ("RequestLimitExceeded", "RequestLimitExceeded"),
    ("InternalError", "InternalError"),
    ("not eligible for Free Tier", "FreeTierIneligible"),
    ("quota for maximum Fleet Requests", "FleetQuotaExceeded"),
    ("PendingVerification", "AccountPendingVerification"),
    ("MaxSpotInstanceCountExceeded", "SpotQuotaExceeded"),
    ("VcpuLimitExceeded", "VCPULimitExceeded"),
    ("InsufficientFreeAddressesInSubnet", "InsufficientFreeAddressesInSubnet"),
];

/// Karpenter's words for quotas of the account.
const QUOTAS: [&str; 3] = ["FleetQuotaExceeded", "SpotQuotaExceeded", "VCPULimitExceeded"];

/// When an offering that had no capacity at `now` may be tried again.
pub fn unavailable_until(now: Timestamp) -> Timestamp {
    later(now, limits::UNAVAILABLE_FOR)
}

/// Whether EC2 says with `code` that there is no capacity or that a quota is reached, and not that
/// something is wrong with the request.
pub fn is_without_capacity(code: &str) -> bool {
    code == SPOT_ROLE || NO_CAPACITY.contains(&code)
}

/// What EC2 said, after Karpenter's word for it.
pub fn in_words(code: &str, message: &str) -> String {
    format!("{}: {code}: {message}", word(code, message))
}

/// Karpenter's word for the quota of the account that EC2 says is used up; `None` if it says something else.
pub fn quota(code: &str, message: &str) -> Option<&'static str> {
    Some(word(code, message)).filter(|word| QUOTAS.contains(word))
}

fn word(code: &str, message: &str) -> &'static str {
    let mut reasons = REASONS.iter();
    let matches = |text: &str| code.contains(text) || message.contains(text);
    reasons.find(|(text, _)| matches(text)).map_or("LaunchFailed", |(_, word)| word)
}

/// What to do about `error`, one of those that the answer to `request` has.
///
/// An error without capacity that names neither type nor zone is about the request as a whole: all that
/// was asked for is unavailable. What is about the subnets, the placement group or the demands of `class` says nothing
/// of other launches.
pub fn reaction(
    error: &FleetError,
    request: &FleetRequest,
    class: &ResolvedNodeClass,
) -> FleetReaction {
    let (code, words) = (error.code.as_str(), || in_words(&error.code, &error.message));
    if code == SPOT_ROLE {
        return FleetReaction::MarkShort(BTreeSet::from([Shortage::Spot]));
    }
    if NO_CAPACITY.contains(&code) {
        let shortages = shortages(error, request, class);
        return if shortages.is_empty() {
            FleetReaction::MarkUnavailable(offerings_of(error, request))
        } else {
            FleetReaction::MarkShort(shortages)
        };
    }
    if RETRIED.contains(&code) {
        return FleetReaction::Retry(words());
    }
    FleetReaction::Refuse(words())
}

/// What `error` says to be short for launches from `class` only.
///
/// Karpenter: `updateUnavailableOfferingsCache` in `pkg/providers/instance/instance.go` of the AWS provider.
fn shortages(
    error: &FleetError,
    request: &FleetRequest,
    class: &ResolvedNodeClass,
) -> BTreeSet<Shortage> {
    let meant = || overrides_of(error, request);
    match (error.code.as_str(), &class.placement_group) {
        ("InsufficientFreeAddressesInSubnet", _) => {
            meant().map(|choice| Shortage::Addresses { subnet: choice.subnet.clone() }).collect()
        }
        ("Unsupported", _) => {
            let class = &class.class.name;
            let of_class = |offering| Shortage::Unsupported { class: class.clone(), offering };
            offerings_of(error, request).into_iter().map(of_class).collect()
        }
        (_, Some(group)) if error.message.contains(SPREAD_IS_FULL) => {
            let zones: BTreeSet<&Zone> = meant().map(|choice| &choice.zone).collect();
            let of_zone =
                |zone: &Zone| Shortage::Spread { group: group.id.clone(), zone: zone.clone() };
            zones.into_iter().map(of_zone).collect()
        }
        // Another group, or none, may have room where this one has not.
        ("InsufficientInstanceCapacity" | "UnfulfillableCapacity", Some(group)) => {
            let of_group = |offering| Shortage::Group { group: group.id.clone(), offering };
            offerings_of(error, request).into_iter().map(of_group).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// The overrides that `error` is about, as far as it says which.
fn overrides_of<'a>(
    error: &'a FleetError,
    request: &'a FleetRequest,
) -> impl Iterator<Item = &'a FleetOverride> {
    let about = |choice: &&FleetOverride| {
        error.instance_type.as_ref().is_none_or(|name| *name == choice.instance_type)
            && error.zone.as_ref().is_none_or(|zone| *zone == choice.zone)
    };
    request.templates.iter().flat_map(|template| &template.overrides).filter(about)
}

/// The offerings that `error` is about: those that were asked for, as far as it says which.
fn offerings_of(error: &FleetError, request: &FleetRequest) -> BTreeSet<OfferingKey> {
    let offering = |instance_type: &InstanceTypeName, zone: &Zone| OfferingKey {
        capacity_type: request.capacity_type,
        instance_type: instance_type.clone(),
        zone: zone.clone(),
    };
    if let (Some(instance_type), Some(zone)) = (&error.instance_type, &error.zone) {
        return BTreeSet::from([offering(instance_type, zone)]);
    }
    let meant = overrides_of(error, request);
    meant.map(|choice| offering(&choice.instance_type, &choice.zone)).collect()
}

#[cfg(test)]
mod tests;
