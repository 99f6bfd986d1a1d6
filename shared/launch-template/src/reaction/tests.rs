//! EC2's codes and what becomes of them.

use model::{
    BatchId, CapacityType, HourlyPrice, ImageId, InstanceTypeName, LaunchTemplateName,
    PlacementGroupId, SubnetId, Zone,
    launch::FleetTemplate,
    node_class::{ImageFamily, PlacementGroup, PlacementStrategy},
};

use testkit::build;

use super::*;
use crate::testing::class;

fn choice(instance_type: &str, zone: &str) -> FleetOverride {
    FleetOverride {
        instance_type: InstanceTypeName::new(instance_type).unwrap(),
        zone: Zone::new(zone).unwrap(),
        subnet: SubnetId::new("subnet-0a").unwrap(),
        image: ImageId::new("ami-0a01").unwrap(),
        price: HourlyPrice::from_nanos(1),
    }
}

fn request(overrides: Vec<FleetOverride>) -> FleetRequest {
    FleetRequest {
        token: BatchId::new("golden-1-0").unwrap(),
        count: 1,
        capacity_type: CapacityType::Spot,
        market: model::launch::ReservationMarket::OnDemand,
        is_prioritized: false,
        context: None,
        templates: vec![FleetTemplate {
            template: LaunchTemplateName::of_digest(1),
            version: model::launch::TemplateVersion::Latest,
            overrides,
        }],
        tags: std::collections::BTreeMap::new(),
    }
}

fn error(code: &str, message: &str, about: Option<(&str, &str)>) -> FleetError {
    FleetError {
        code: code.to_owned(),
        message: message.to_owned(),
        instance_type: about.map(|(name, _)| InstanceTypeName::new(name).unwrap()),
        zone: about.map(|(_, zone)| Zone::new(zone).unwrap()),
    }
}

fn shown(reaction: &FleetReaction) -> String {
    match reaction {
        FleetReaction::MarkUnavailable(keys) => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            format!("cool down {}", keys.join(", "))
        }
        FleetReaction::MarkShort(shortages) => {
            let shortages: Vec<String> =
                shortages.iter().map(|short| format!("{short:?}")).collect();
            format!("short of {}", shortages.join(", "))
        }
        FleetReaction::Retry(why) => format!("retry {why}"),
        FleetReaction::Refuse(text) => format!("refuse {text}"),
    }
}

#[track_caller]
fn check(code: &str, message: &str, expected: &str) {
    let request =
        request(vec![choice("m7i.large", "us-west-2a"), choice("m7i.large", "us-west-2b")]);
    let error = error(code, message, Some(("m7i.large", "us-west-2b")));
    assert_eq!(shown(&reaction(&error, &request, &of_class(None))), expected, "{code}");
}

/// A class with a placement group, or without one.
fn of_class(group: Option<PlacementStrategy>) -> ResolvedNodeClass {
    let id = build::id("pg-0a");
    let placement_group =
        group.map(|strategy| PlacementGroup { id, name: "group".to_owned(), strategy });
    ResolvedNodeClass { placement_group, ..class(ImageFamily::Al2023) }
}

/// What an error about m7i.large in us-west-2b says of launches from a class with a placement group.
fn in_group(code: &str, message: &str) -> FleetReaction {
    let request =
        request(vec![choice("m7i.large", "us-west-2b"), choice("m7i.large", "us-west-2a")]);
    let error = error(code, message, Some(("m7i.large", "us-west-2b")));
    reaction(&error, &request, &of_class(Some(PlacementStrategy::Spread)))
}

#[test]
fn an_offering_without_capacity_is_unavailable() {
    for code in NO_CAPACITY {
        if ["Unsupported", "InsufficientFreeAddressesInSubnet"].contains(&code) {
            continue;
        }
        check(code, "", "cool down spot m7i.large us-west-2b");
    }
    for code in ["SpotMaxPriceTooLow", "InvalidCapacityReservationState.Unavailable"] {
        check(code, "no more", "cool down spot m7i.large us-west-2b");
        assert!(is_without_capacity(code));
    }
}

#[test]
fn what_is_short_for_some_launches_leaves_others_their_offerings() {
    let offering = OfferingKey {
        capacity_type: CapacityType::Spot,
        instance_type: build::id("m7i.large"),
        zone: build::id("us-west-2b"),
    };
    let group = build::id::<PlacementGroupId>("pg-0a");
    // A full placement group is the same code as a full zone.
    let text = "You've reached the limit of instances in this spread placement group";
    let zone = offering.zone.clone();
    let short = |shortage| FleetReaction::MarkShort(BTreeSet::from([shortage]));
    let capacity = "InsufficientInstanceCapacity";
    assert_eq!(in_group(capacity, text), short(Shortage::Spread { group: group.clone(), zone }));
    let of_group = Shortage::Group { group, offering: offering.clone() };
    assert_eq!(in_group(capacity, "none"), short(of_group));
    let subnet = build::id("subnet-0a");
    let addresses = in_group("InsufficientFreeAddressesInSubnet", "none");
    assert_eq!(addresses, short(Shortage::Addresses { subnet }));
    let class = build::id("default");
    let unsupported = Shortage::Unsupported { class, offering: offering.clone() };
    assert_eq!(in_group("Unsupported", "none"), short(unsupported));
    // A quota is the account's, whatever the class.
    let quota = in_group("MaxSpotInstanceCountExceeded", "none");
    assert_eq!(quota, FleetReaction::MarkUnavailable(BTreeSet::from([offering])));
}

#[test]
fn spot_as_a_whole_is_unavailable_without_its_role() {
    check(SPOT_ROLE, "no permission", "short of Spot");
    let words = in_words(SPOT_ROLE, "no permission");
    assert_eq!(words, format!("SpotSLRCreationFailed: {SPOT_ROLE}: no permission"));
}

#[test]
fn what_may_pass_is_tried_again() {
    for (code, word) in RETRIED.iter().zip([
        "RequestLimitExceeded",
        "LaunchFailed",
        "InternalError",
        "LaunchFailed",
        "LaunchFailed",
        "LaunchTemplateNotFound",
        "LaunchTemplateNotFound",
    ]) {
        check(code, "later", &format!("retry {word}: {code}: later"));
    }
}

#[test]
fn everything_else_is_refused_with_karpenters_word() {
    for (code, message, expected) in [
        ("UnauthorizedOperation", "You are not authorized", "Unauthorized"),
        ("AuthFailure", "Not authorized for images: [ami-0a01]", "AMIAuthorizationFailure"),
        ("InvalidAMIID.NotFound", "no such image", "AMINotFound"),
        ("InvalidAMIID.Malformed", "not an image", "InvalidAMIID"),
        (
            "InvalidParameter",
            "Security group sg-0a and subnet subnet-0a belong to different networks.",
            "SecurityGroupSubnetVPCMismatch",
        ),
        (
            "InvalidParameterValue",
            "Value (x) for parameter iamInstanceProfile.name is invalid.",
            "InstanceProfileNameInvalid",
        ),
        (
            "InvalidParameterValue",
            "User data is limited to 16384 bytes",
            "UserDataSizeLimitExceeded",
        ),
        ("PendingVerification", "wait", "AccountPendingVerification"),
        ("SomethingNew", "never seen", "LaunchFailed"),
    ] {
        check(code, message, &format!("refuse {expected}: {code}: {message}"));
    }
}

#[test]
fn an_error_about_the_request_makes_all_that_was_asked_for_unavailable() {
    let both = request(vec![choice("m7i.large", "us-west-2a"), choice("m7g.large", "us-west-2b")]);
    let about = |name: Option<&str>| FleetError {
        instance_type: name.map(|name| InstanceTypeName::new(name).unwrap()),
        ..error("VcpuLimitExceeded", "", None)
    };
    assert_eq!(
        shown(&reaction(&about(None), &both, &of_class(None))),
        "cool down spot m7g.large us-west-2b, spot m7i.large us-west-2a"
    );
    let expected = "cool down spot m7g.large us-west-2b";
    let about_one = reaction(&about(Some("m7g.large")), &both, &of_class(None));
    assert_eq!(shown(&about_one), expected);
}

#[test]
fn quotas_have_karpenters_words() {
    for (code, word) in [
        ("MaxSpotInstanceCountExceeded", "SpotQuotaExceeded"),
        ("VcpuLimitExceeded", "VCPULimitExceeded"),
        ("InsufficientFreeAddressesInSubnet", "InsufficientFreeAddressesInSubnet"),
        ("UnauthorizedOperation", "Unauthorized"),
        ("UnfulfillableCapacity", "LaunchFailed"),
    ] {
        assert_eq!(in_words(code, "text"), format!("{word}: {code}: text"));
        assert_eq!(is_without_capacity(code), word != "Unauthorized");
        let is_quota = ["SpotQuotaExceeded", "VCPULimitExceeded"].contains(&word);
        assert_eq!(quota(code, "text"), is_quota.then_some(word));
    }
}

#[test]
fn an_offering_is_unavailable_for_three_minutes() {
    let now: Timestamp = "2026-08-01T12:00:00Z".parse().unwrap();
    assert_eq!(unavailable_until(now).to_string(), "2026-08-01T12:03:00Z");
    assert_eq!(unavailable_until(Timestamp::MAX), Timestamp::MAX);
}

#[test]
fn a_claim_knows_each_word_again() {
    for (text, word) in REASONS {
        let message = model::claim::ClaimMessage::parse(&in_words(text, "no"));
        let reason = message.reason.as_ref().map(model::condition::ConditionReason::as_str);
        assert_eq!(reason, Some(word), "{text}");
    }
}
