//! Capacity reservations: described, launched into, and seen on instances.

use serde_json::json;

use super::{market::control, *};

const DESCRIBE: &str = "Action=DescribeCapacityReservations";

fn reserve(sim: &Sim, server: &AwsServer, id: &str, criteria: &str, team: &str) {
    let body = json!({
        "id": id, "instanceType": "m7g.large", "zone": "us-west-2a", "instances": 1,
        "criteria": criteria, "tags": { "team": team }, "endsIn": 3_600,
    });
    assert_eq!(control(sim, server, "POST", "reserve", &body).0, 200);
}

fn found(sim: &Sim, server: &AwsServer, lines: &str) -> Vec<String> {
    let answer = ec2(sim, server, &format!("{DESCRIBE}\n{lines}"));
    assert_eq!(answer.0, 200, "{}", answer.1);
    texts(&answer, "capacityReservationId")
}

fn filter(name: &str, value: &str) -> String {
    format!("Filter.1.Name={name}\nFilter.1.Value.1={value}")
}

#[test]
fn reservations_are_found_by_id_and_by_every_filter() {
    let (sim, server) = open();
    reserve(&sim, &server, "cr-1", "open", "a");
    reserve(&sim, &server, "cr-2", "targeted", "b");
    let texts = ["cr-1", "cr-2"];
    assert_eq!(found(&sim, &server, ""), texts);
    assert_eq!(found(&sim, &server, "CapacityReservationId.1=cr-2"), ["cr-2"]);
    for (name, value, expected) in [
        ("state", "active", &texts[..]),
        ("state", "expired", &[]),
        ("owner-id", "123456789012", &texts),
        ("owner-id", "000000000000", &[]),
        ("instance-match-criteria", "targeted", &["cr-2"]),
        ("instance-type", "m7g.large", &texts),
        ("availability-zone", "us-west-2b", &[]),
        ("end-date-type", "limited", &texts),
        ("tag:team", "a", &["cr-1"]),
        ("tag:team", "*", &texts),
        ("tag-key", "team", &texts),
        ("tag-key", "colour", &[]),
    ] {
        assert_eq!(found(&sim, &server, &filter(name, value)), expected, "{name} {value}");
    }
    contains(
        &ec2(&sim, &server, DESCRIBE),
        200,
        &[
            "<instanceType>m7g.large</instanceType>",
            "<availabilityZone>us-west-2a</availabilityZone>",
            "<totalInstanceCount>1</totalInstanceCount>",
            "<availableInstanceCount>1</availableInstanceCount>",
            "<reservationType>default</reservationType>",
            "<interruptible>false</interruptible>",
            "<startDate>",
            "<endDate>",
            "<key>team</key><value>a</value>",
        ],
    );
}

#[test]
fn what_is_not_known_of_reservations_is_refused() {
    let (sim, server) = open();
    reserve(&sim, &server, "cr-1", "open", "a");
    let ask = |lines: &str| ec2(&sim, &server, &format!("{DESCRIBE}\n{lines}"));
    let missing = "CapacityReservationId.1=cr-1\nCapacityReservationId.2=cr-9";
    contains(&ask(missing), 400, &["InvalidCapacityReservationId.NotFound", "cr-9"]);
    contains(&ask(&filter("colour", "red")), 400, &["The filter 'colour' is invalid"]);
    let paged = "CapacityReservationId.1=cr-1\nMaxResults=10";
    contains(&ask(paged), 400, &["InvalidParameterCombination"]);
    contains(&ask("MaxResults=1001"), 400, &["between 1 and 1000"]);
    let first = ask("MaxResults=1");
    contains(&first, 200, &["cr-1"]);
    assert_eq!(texts(&first, "nextToken"), Vec::<String>::new());
    reserve(&sim, &server, "cr-2", "open", "a");
    let token = texts(&ask("MaxResults=1"), "nextToken").remove(0);
    let second = ask(&format!("MaxResults=1\nNextToken={token}"));
    assert_eq!(texts(&second, "capacityReservationId"), ["cr-2"]);
}

#[test]
fn an_instance_says_in_which_reservation_it_is() {
    let (sim, server) = open();
    reserve(&sim, &server, "cr-1", "targeted", "a");
    let template = format!(
        "{TEMPLATE}
         LaunchTemplateData.CapacityReservationSpecification.CapacityReservationPreference=capacity-reservations-only
         LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId=cr-1"
    );
    contains(&ec2(&sim, &server, &template), 200, &["karpenter.k8s.aws/17"]);
    let answer = ec2(&sim, &server, &fleet("a-1", 2));
    contains(
        &answer,
        200,
        &[
            "<errorCode>ReservationCapacityExceeded</errorCode>",
            // The other override is of another type.
            "<errorCode>InvalidParameterValue</errorCode>",
        ],
    );
    assert_eq!(texts(&answer, "instanceIds").len(), 1, "{}", answer.1);
    let only = "<capacityReservationPreference>capacity-reservations-only\
                </capacityReservationPreference><capacityReservationTarget>\
                <capacityReservationId>cr-1</capacityReservationId>";
    let described = ec2(&sim, &server, "Action=DescribeInstances");
    contains(&described, 200, &[only]);
    assert_eq!(texts(&described, "capacityReservationId"), ["cr-1", "cr-1"]);
    let body = json!({ "id": "cr-1" });
    assert_eq!(control(&sim, &server, "POST", "cancel-reservation", &body).0, 200);
    let described = ec2(&sim, &server, "Action=DescribeInstances");
    contains(&described, 200, &[only]);
    assert_eq!(texts(&described, "capacityReservationId"), ["cr-1"], "what it was launched with");
}
