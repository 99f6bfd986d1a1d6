//! What tests do to the account from outside, below `/_control/`: look at it, and let things happen.

use jiff::SignedDuration;
use model::{
    CapacityType, InstanceId, OfferingKey, Zone, interruption::InterruptionKind,
    node_class::MatchCriteria,
};
use serde_json::{Value, json};
use simulator::{Action, Injection, ReservationRecord, SpotTarget, first_calls};

use crate::{AwsServer, Reply, Request};

const JSON: &str = "application/json";

/// Answers `path`, below `/_control/`.
pub(crate) fn answer(server: &AwsServer, path: &str, request: &Request) -> Reply {
    match (request.method.as_str(), path) {
        ("GET", "health") => {
            Reply::json(200, JSON, &json!({ "now": server.sim.now().to_string() }))
        }
        ("GET", "requests") => Reply::json(200, JSON, &json!(server.requests())),
        ("GET", "trace") => Reply::json(200, JSON, &json!(server.sim.trace())),
        ("GET", "events") => {
            let from = request.query.strip_prefix("from=").and_then(|from| from.parse().ok());
            Reply::json(200, JSON, &json!(events(server, from.unwrap_or_default())))
        }
        ("POST", action) => {
            let body = serde_json::from_slice(&request.body).unwrap_or_default();
            match act(server, action, &body) {
                Ok(()) => Reply::json(200, JSON, &json!({})),
                Err(problem) => Reply::json(400, JSON, &json!({ "message": problem })),
            }
        }
        _ => {
            let problem = format!("nothing is at {} /_control/{path}", request.method);
            Reply::json(404, JSON, &json!({ "message": problem }))
        }
    }
}

/// The events as EventBridge delivers them, ready for PutEvents.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html>
fn events(server: &AwsServer, from: usize) -> Vec<Value> {
    let events = server.sim.events(from).into_iter().enumerate();
    events
        .map(|(index, event)| {
            let instance = event.instance.as_str();
            let (kind, detail) = match event.kind {
                InterruptionKind::SpotInterruption => (
                    "EC2 Spot Instance Interruption Warning",
                    json!({ "instance-id": instance, "instance-action": "terminate" }),
                ),
                // <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html>
                InterruptionKind::ReservationInterruption => (
                    "EC2 Capacity Reservation Instance Interruption Warning",
                    json!({ "instance-id": instance, "instance-action": "terminate" }),
                ),
                InterruptionKind::ScheduledChange => (
                    "AWS Health Event",
                    json!({
                        "service": "EC2",
                        "eventTypeCategory": "scheduledChange",
                        "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
                        "statusCode": "upcoming",
                        "affectedEntities": [{ "entityValue": instance }],
                    }),
                ),
                InterruptionKind::RebalanceRecommendation => {
                    ("EC2 Instance Rebalance Recommendation", json!({ "instance-id": instance }))
                }
                // EC2 sends no event: it has to be asked.
                InterruptionKind::CheckFailed | InterruptionKind::InstanceEnding => (
                    "EC2 Instance State-change Notification",
                    json!({ "instance-id": instance, "state": "shutting-down" }),
                ),
            };
            let is_health = event.kind == InterruptionKind::ScheduledChange;
            let source = if is_health { "aws.health" } else { "aws.ec2" };
            json!({
                "version": "0",
                "id": format!("event-{}", from + index),
                "detail-type": kind,
                "source": source,
                "account": "123456789012",
                "time": event.at.to_string(),
                "region": "us-west-2",
                "resources": [format!("arn:aws:ec2:us-west-2:123456789012:instance/{instance}")],
                "detail": detail,
            })
        })
        .collect()
}

fn act(server: &AwsServer, action: &str, body: &Value) -> Result<(), String> {
    let sim = &server.sim;
    match action {
        // {"offering": "spot m7g.large us-west-2a", "instances": 2}
        "capacity" => {
            let instances = match body.get("instances") {
                None | Some(Value::Null) => None,
                Some(count) => Some(number(count)?),
            };
            sim.act(Action::SetCapacity { offering: offering(body)?, instances });
        }
        // {"offering": "spot m7g.large us-west-2a", "dollars": "0.03"}
        "price" => {
            let price = model::HourlyPrice::parse_dollars(word(body, "dollars")?)
                .map_err(|error| error.to_string())?;
            sim.act(Action::SetPrice { offering: offering(body)?, price });
        }
        // {"instance": "i-…"}
        "interrupt" => {
            let instance = spot_instance(server, word(body, "instance")?)?;
            sim.act(Action::InterruptSpot(SpotTarget::Instance(instance)));
        }
        // {"zone": "us-west-2a"}
        "outage" => sim.act(Action::BeginOutage(zone(server, body)?)),
        "end-outage" => sim.act(Action::EndOutage(zone(server, body)?)),
        // {"instance": "i-…", "host": true}
        "fail-check" => {
            let instance = word(body, "instance")?
                .parse()
                .map_err(|error: model::id::InvalidId| error.to_string())?;
            let target = SpotTarget::Instance(instance);
            let is_of_host = body.get("host").and_then(Value::as_bool).unwrap_or(false);
            sim.act(Action::FailCheck { target, is_of_host });
        }
        // {"image": "ami-…"}
        "deregister" => {
            let image = word(body, "image")?.parse();
            sim.act(Action::DeregisterImage(
                image.map_err(|error: model::id::InvalidId| error.to_string())?,
            ));
        }
        // {"id": "cr-1", "instanceType": "m7g.large", "zone": "us-west-2a", "instances": 2}, and
        // where it is so: "criteria": "open", "block": true, "interruptible": true, "tags": {…},
        // "endsIn": seconds
        "reserve" => sim.act(Action::AddReservation(reservation(server, body)?)),
        // {"id": "cr-1"}
        "cancel-reservation" => {
            sim.act(Action::CancelReservation(word(body, "id")?.to_owned()));
        }
        "delete-launch-templates" => sim.act(Action::DeleteLaunchTemplates),
        // {"seconds": 60}
        "pass" => {
            let seconds = number(body.get("seconds").unwrap_or(&Value::Null))?;
            let later = sim.now().checked_add(SignedDuration::from_secs(i64::from(seconds)));
            sim.pass_until(later.map_err(|error| error.to_string())?);
        }
        // {"operation": "CreateFleet", "times": 2, "fault": "throttle"}
        "fault" => {
            let injection = injection(word(body, "fault")?)?;
            let times = body.get("times").map(number).transpose()?.unwrap_or(1);
            let operation = word(body, "operation")?;
            let known = OPERATIONS
                .into_iter()
                .find(|known| *known == operation)
                .ok_or_else(|| format!("no operation is called {operation}"))?;
            sim.add_rule(first_calls(known, times, injection));
        }
        "stop-faults" => sim.stop_faults(),
        _ => return Err(format!("nothing is called {action}")),
    }
    Ok(())
}

/// The spot instance called `id`, if it runs.
fn spot_instance(server: &AwsServer, id: &str) -> Result<InstanceId, String> {
    let working = server.sim.working_instances();
    let instance = working.into_iter().find(|instance| instance.id.as_str() == id);
    let instance = instance.ok_or_else(|| format!("instance {id}: none that runs has this id"))?;
    if instance.capacity_type != CapacityType::Spot {
        let bought = instance.capacity_type;
        return Err(format!("instance {id}: it is {bought}, and EC2 takes back spot alone"));
    }
    Ok(instance.id)
}

/// A zone of the region.
fn zone(server: &AwsServer, body: &Value) -> Result<Zone, String> {
    let name = word(body, "zone")?;
    let zones = server.sim.zones();
    if let Some(zone) = zones.iter().find(|zone| zone.as_str() == name) {
        return Ok(zone.clone());
    }
    let names: Vec<&str> = zones.iter().map(Zone::as_str).collect();
    Err(format!("zone {name}: there are {}", names.join(", ")))
}

fn reservation(server: &AwsServer, body: &Value) -> Result<ReservationRecord, String> {
    let wrong = |error: model::id::InvalidId| error.to_string();
    let flag = |name: &str| body.get(name).and_then(Value::as_bool).unwrap_or(false);
    let now = server.sim.now();
    let ends_at = body.get("endsIn").map(number).transpose()?.map(|seconds| {
        let ends_at = now.checked_add(SignedDuration::from_secs(i64::from(seconds)));
        ends_at.map_err(|error| error.to_string())
    });
    let tags = body.get("tags").and_then(Value::as_object).into_iter().flatten();
    let is_open = body.get("criteria").and_then(Value::as_str) == Some("open");
    Ok(ReservationRecord {
        id: word(body, "id")?.parse().map_err(wrong)?,
        instance_type: word(body, "instanceType")?.parse().map_err(wrong)?,
        zone: word(body, "zone")?.parse().map_err(wrong)?,
        owner: "123456789012".to_owned(),
        match_criteria: if is_open { MatchCriteria::Open } else { MatchCriteria::Targeted },
        is_capacity_block: flag("block"),
        is_interruptible: flag("interruptible"),
        tags: tags
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
        starts_at: now,
        ends_at: ends_at.transpose()?,
        total_count: number(body.get("instances").unwrap_or(&Value::Null))?,
    })
}

/// What a fault can be asked for.
const OPERATIONS: [&str; 19] = [
    "AddRoleToInstanceProfile",
    "CreateFleet",
    "CreateInstanceProfile",
    "CreateLaunchTemplate",
    "CreateTags",
    "DescribeCapacityReservations",
    "DescribeCluster",
    "DescribeImages",
    "DescribeInstanceStatus",
    "DescribeInstances",
    "DescribeLaunchTemplateVersions",
    "DescribeLaunchTemplates",
    "DescribeSecurityGroups",
    "DescribeSpotPriceHistory",
    "DescribeSubnets",
    "GetInstanceProfile",
    "GetParameter",
    "GetProducts",
    "TerminateInstances",
];

fn injection(fault: &str) -> Result<Injection, String> {
    Ok(match fault {
        "throttle" => Injection::FailBefore(ports::Fault::Transient),
        "forbid" => Injection::FailBefore(ports::Fault::Permanent),
        "lose" => Injection::FailBefore(ports::Fault::Unknown),
        "lose-answer" => Injection::FailAfter(ports::Fault::Unknown),
        _ => return Err(format!("no fault is called {fault}")),
    })
}

fn word<'a>(body: &'a Value, name: &str) -> Result<&'a str, String> {
    body.get(name).and_then(Value::as_str).ok_or_else(|| format!("{name} is missing"))
}

fn number(value: &Value) -> Result<u32, String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("{value} is no number"))
}

fn offering(body: &Value) -> Result<OfferingKey, String> {
    let text = word(body, "offering")?;
    let parts: Vec<&str> = text.split(' ').collect();
    let [capacity_type, instance_type, zone] = parts.as_slice() else {
        return Err(format!("`{text}` is no offering: capacity type, instance type, zone"));
    };
    let unknown = || format!("`{capacity_type}` is no capacity type");
    Ok(OfferingKey {
        capacity_type: CapacityType::parse(capacity_type).ok_or_else(unknown)?,
        instance_type: instance_type.parse().map_err(|e: model::id::InvalidId| e.to_string())?,
        zone: zone.parse().map_err(|e: model::id::InvalidId| e.to_string())?,
    })
}
