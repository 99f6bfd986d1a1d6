//! EC2's codes and what becomes of them.

use model::{
    BatchId, CapacityType, HourlyPrice, ImageId, InstanceTypeName, LaunchTemplateName, SubnetId,
    Zone, launch::FleetTemplate,
};

use super::*;

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
        FleetReaction::MarkUnavailable(key) => format!("cool down {key}"),
        FleetReaction::MarkSpotUnavailable => "cool down spot".to_owned(),
        FleetReaction::Retry => "retry".to_owned(),
        FleetReaction::Refuse(text) => format!("refuse {text}"),
    }
}

#[track_caller]
fn check(code: &str, message: &str, expected: &str) {
    let request =
        request(vec![choice("m7i.large", "us-west-2a"), choice("m7i.large", "us-west-2b")]);
    let error = error(code, message, Some(("m7i.large", "us-west-2b")));
    assert_eq!(shown(&reaction(&error, &request)), expected, "{code}");
}

#[test]
fn an_offering_without_capacity_is_unavailable() {
    for code in NO_CAPACITY {
        check(code, "", "cool down spot m7i.large us-west-2b");
    }
}

#[test]
fn spot_as_a_whole_is_unavailable_without_its_role() {
    check(SPOT_ROLE, "The provided credentials do not have permission", "cool down spot");
}

#[test]
fn what_may_pass_is_tried_again() {
    for code in RETRIED {
        check(code, "", "retry");
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
fn an_error_about_nothing_in_particular_is_unavailable_the_only_offering() {
    let about_all = error("InsufficientInstanceCapacity", "", None);
    let fleet_request = request(vec![choice("m7i.large", "us-west-2a")]);
    assert_eq!(shown(&reaction(&about_all, &fleet_request)), "cool down spot m7i.large us-west-2a");
    let two = request(vec![choice("m7i.large", "us-west-2a"), choice("m7g.large", "us-west-2a")]);
    assert_eq!(shown(&reaction(&about_all, &two)), "retry");
}

#[test]
fn an_offering_is_unavailable_for_three_minutes() {
    let now: Timestamp = "2026-08-01T12:00:00Z".parse().unwrap();
    assert_eq!(unavailable_until(now).to_string(), "2026-08-01T12:03:00Z");
    assert_eq!(unavailable_until(Timestamp::MAX), Timestamp::MAX);
}
