//! What to do about an override that brought no instance.
//!
//! Karpenter: `pkg/errors/errors.go` of the AWS provider.

use jiff::{SignedDuration, Timestamp};
use model::{
    OfferingKey,
    launch::{FleetError, FleetOverride, FleetReaction, FleetRequest},
};

/// How long an offering without capacity is left alone. Karpenter: `UnavailableOfferingsTTL`.
const UNAVAILABLE_FOR: SignedDuration = SignedDuration::from_mins(3);

const SPOT_ROLE: &str = "AuthFailure.ServiceLinkedRoleCreationNotPermitted";

/// Codes that mean: not this offering, not now.
const NO_CAPACITY: [&str; 8] = [
    "InsufficientInstanceCapacity",
    "UnfulfillableCapacity",
    "Unsupported",
    "MaxSpotInstanceCountExceeded",
    "VcpuLimitExceeded",
    "MaxFleetCountExceeded",
    "ReservationCapacityExceeded",
    "InsufficientFreeAddressesInSubnet",
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
const REASONS: [(&str, &str); 14] = [
    ("Not authorized for images", "AMIAuthorizationFailure"),
    ("UnauthorizedOperation", "Unauthorized"),
    ("AccessDenied", "Unauthorized"),
    ("AuthFailure", "Unauthorized"),
    ("belong to different networks", "SecurityGroupSubnetVPCMismatch"),
    ("Invalid IAM Instance Profile", "InstanceProfileNameInvalid"),
    ("iamInstanceProfile.name is invalid", "InstanceProfileNameInvalid"),
    ("User data is limited to 16384 bytes", "UserDataSizeLimitExceeded"),
    ("InvalidAMIID.Malformed", "InvalidAMIID"),
    ("InvalidAMIID.NotFound", "AMINotFound"),
    ("InvalidAMIID", "InvalidAMIID"),
    ("not eligible for Free Tier", "FreeTierIneligible"),
    ("quota for maximum Fleet Requests", "FleetQuotaExceeded"),
    ("PendingVerification", "AccountPendingVerification"),
];

/// When an offering that had no capacity at `now` may be tried again.
pub fn unavailable_until(now: Timestamp) -> Timestamp {
    now.checked_add(UNAVAILABLE_FOR).unwrap_or(Timestamp::MAX)
}

/// What to do about `error`, one of those that the answer to `request` has.
///
/// An error without capacity that names neither type nor zone is about the request as a whole; it
/// is unavailable the only offering that was asked for, or nothing and is asked again.
pub fn reaction(error: &FleetError, request: &FleetRequest) -> FleetReaction {
    if error.code == SPOT_ROLE {
        return FleetReaction::MarkSpotUnavailable;
    }
    if NO_CAPACITY.contains(&error.code.as_str()) {
        return offering_of(error, request)
            .map_or(FleetReaction::Retry, FleetReaction::MarkUnavailable);
    }
    if RETRIED.contains(&error.code.as_str()) {
        return FleetReaction::Retry;
    }
    let mut reasons = REASONS.iter();
    let matches = |text: &str| error.code.contains(text) || error.message.contains(text);
    let reason = reasons.find(|(text, _)| matches(text)).map_or("LaunchFailed", |(_, word)| word);
    FleetReaction::Refuse(format!("{reason}: {}: {}", error.code, error.message))
}

/// The offering that `error` is about. What it leaves open is filled in where all overrides agree.
fn offering_of(error: &FleetError, request: &FleetRequest) -> Option<OfferingKey> {
    let overrides = || request.templates.iter().flat_map(|template| &template.overrides);
    let about = |choice: &&FleetOverride| {
        error.instance_type.as_ref().is_none_or(|name| *name == choice.instance_type)
            && error.zone.as_ref().is_none_or(|zone| *zone == choice.zone)
    };
    let first = overrides().find(about);
    let is_one = |choice: &FleetOverride| {
        let same = |other: &FleetOverride| {
            other.instance_type == choice.instance_type && other.zone == choice.zone
        };
        overrides().filter(about).all(same)
    };
    let (instance_type, zone) = match (&error.instance_type, &error.zone) {
        (Some(instance_type), Some(zone)) => (instance_type, zone),
        _ => first.filter(|choice| is_one(choice)).map(|c| (&c.instance_type, &c.zone))?,
    };
    Some(OfferingKey {
        capacity_type: request.capacity_type,
        instance_type: instance_type.clone(),
        zone: zone.clone(),
    })
}

#[cfg(test)]
mod tests;
