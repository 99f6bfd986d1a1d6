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
        FleetReaction::MarkUnavailable(keys) => {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            format!("cool down {}", keys.join(", "))
        }
        FleetReaction::MarkSpotUnavailable(why) => format!("cool down spot: {why}"),
        FleetReaction::Retry(why) => format!("retry {why}"),
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
    for code in ["SpotMaxPriceTooLow", "InvalidCapacityReservationState.Unavailable"] {
        check(code, "no more", "cool down spot m7i.large us-west-2b");
        assert!(is_without_capacity(code));
    }
    // A full placement group is the same code as a full zone.
    let text = "You've reached the limit of instances in this spread placement group";
    check("InsufficientInstanceCapacity", text, "cool down spot m7i.large us-west-2b");
}

#[test]
fn spot_as_a_whole_is_unavailable_without_its_role() {
    let expected = format!("cool down spot: SpotSLRCreationFailed: {SPOT_ROLE}: no permission");
    check(SPOT_ROLE, "no permission", &expected);
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
        shown(&reaction(&about(None), &both)),
        "cool down spot m7g.large us-west-2b, spot m7i.large us-west-2a"
    );
    let expected = "cool down spot m7g.large us-west-2b";
    assert_eq!(shown(&reaction(&about(Some("m7g.large")), &both)), expected);
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
