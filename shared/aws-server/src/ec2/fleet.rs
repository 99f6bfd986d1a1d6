//! CreateFleet of type `instant`.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html>

use model::{
    CapacityType, HourlyPrice,
    launch::{
        FleetAnswer, FleetError, FleetInstance, FleetOverride, FleetRequest, FleetTemplate,
        ReservationMarket, TemplateVersion,
    },
    ledger::digest,
};
use simulator::AwsError;

use super::{Answer, Call, refused, would_have_worked};
use crate::{
    parameters::{Parameters, invalid, refusal},
    xml::{Element, list, node, text},
};

/// Letters of a client token.
const TOKEN_MAX: usize = 64;

pub(super) async fn create(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let request = request(&mut call.parameters).map_err(refused)?;
    call.parameters.finish().map_err(refused)?;
    if is_dry {
        call.sim.try_fleet(&request).await?;
        return Err(would_have_worked());
    }
    let answer = call.sim.create_fleet(&request).await?;
    Ok(answered(&request, &answer))
}

fn request(parameters: &mut Parameters) -> Result<FleetRequest, AwsError> {
    match parameters.text("Type").as_deref() {
        Some("instant") => {}
        other => return Err(unsupported("Type", other.unwrap_or("maintain"))),
    }
    let token = parameters.required("ClientToken")?;
    if token.len() > TOKEN_MAX || !token.is_ascii() {
        return Err(invalid("clientToken", &token));
    }
    let (count, capacity_type, market) = target(parameters)?;
    let is_prioritized = is_prioritized(parameters, capacity_type)?;
    reservation_types(parameters, market)?;
    let mut tags = std::collections::BTreeMap::new();
    for mut specification in parameters.branches("TagSpecification") {
        let kind = specification.required("ResourceType")?;
        let pairs = specification.pairs("Tag")?;
        specification.finish()?;
        match kind.as_str() {
            "instance" => tags = pairs,
            // Volumes and fleets are not described by anybody.
            "volume" | "fleet" => {}
            other => return Err(invalid("tagSpecifications", other)),
        }
    }
    let configs = parameters.branches("LaunchTemplateConfigs");
    let templates: Result<Vec<FleetTemplate>, AwsError> = configs.into_iter().map(config).collect();
    Ok(FleetRequest {
        token: token.parse().map_err(|_| invalid("clientToken", &token))?,
        count,
        capacity_type,
        market,
        is_prioritized,
        context: parameters.text("Context"),
        templates: templates?,
        tags,
    })
}

fn target(parameters: &mut Parameters) -> Result<(u32, CapacityType, ReservationMarket), AwsError> {
    let missing = || refusal("MissingParameter", "TargetCapacitySpecification is missing");
    let mut target = parameters.branch("TargetCapacitySpecification").ok_or_else(missing)?;
    let count = target.parsed("TotalTargetCapacity")?.ok_or_else(missing)?;
    let kind = target.text("DefaultTargetCapacityType");
    // Whether on-demand ones run in a reservation, their launch template says.
    let (capacity_type, market) = match kind.as_deref() {
        None | Some("on-demand") => (CapacityType::OnDemand, ReservationMarket::OnDemand),
        Some("spot") => (CapacityType::Spot, ReservationMarket::OnDemand),
        Some("capacity-block") => (CapacityType::Reserved, ReservationMarket::CapacityBlock),
        Some("reserved-capacity") => (CapacityType::Reserved, ReservationMarket::Interruptible),
        Some(other) => return Err(unsupported("DefaultTargetCapacityType", other)),
    };
    target.finish()?;
    Ok((count, capacity_type, market))
}

/// Which reservations a request for `reserved-capacity` is about.
fn reservation_types(
    parameters: &mut Parameters,
    market: ReservationMarket,
) -> Result<(), AwsError> {
    let mut options = parameters.branch("ReservedCapacityOptions").unwrap_or_default();
    let kinds = options.texts("ReservationType");
    options.finish()?;
    let is_interruptible = market == ReservationMarket::Interruptible;
    let wanted: &[&str] =
        if is_interruptible { &["interruptible-capacity-reservation"] } else { &[] };
    if kinds == wanted {
        return Ok(());
    }
    Err(unsupported("ReservedCapacityOptions", &kinds.join(" ")))
}

/// Whether the request's own priorities decide, and not EC2.
fn is_prioritized(
    parameters: &mut Parameters,
    capacity_type: CapacityType,
) -> Result<bool, AwsError> {
    let (wanted, other) = match capacity_type {
        CapacityType::Spot => ("SpotOptions", "OnDemandOptions"),
        CapacityType::OnDemand | CapacityType::Reserved => ("OnDemandOptions", "SpotOptions"),
    };
    // Options of the other kind apply to no instance of this request.
    parameters.accept(other);
    let Some(mut options) = parameters.branch(wanted) else { return Ok(false) };
    let strategy = options.text("AllocationStrategy");
    options.finish()?;
    match strategy.as_deref() {
        None | Some("lowest-price" | "lowestPrice" | "price-capacity-optimized") => Ok(false),
        Some("prioritized" | "capacity-optimized-prioritized") => Ok(true),
        Some(other) => Err(unsupported("AllocationStrategy", other)),
    }
}

fn config(mut config: Parameters) -> Result<FleetTemplate, AwsError> {
    let missing = || refusal("MissingParameter", "LaunchTemplateSpecification is missing");
    let mut specification = config.branch("LaunchTemplateSpecification").ok_or_else(missing)?;
    let name = specification.required("LaunchTemplateName")?;
    let version = match specification.required("Version")?.as_str() {
        "$Latest" | "$Default" => TemplateVersion::Latest,
        other => match other.parse() {
            Ok(number) => TemplateVersion::Number(number),
            Err(_) => return Err(invalid("version", other)),
        },
    };
    specification.finish()?;
    let overrides: Result<Vec<FleetOverride>, AwsError> =
        config.branches("Overrides").into_iter().map(choice).collect();
    config.finish()?;
    let template = name.parse().map_err(|_| invalid("launchTemplateName", &name))?;
    Ok(FleetTemplate { template, version, overrides: overrides? })
}

/// Type, zone, subnet and image must be there: leaving one to EC2 is not supported yet.
fn choice(mut choice: Parameters) -> Result<FleetOverride, AwsError> {
    let mut named = |name: &str| {
        let open = || unsupported("Overrides", &format!("without {name}"));
        choice.text(name).ok_or_else(open)
    };
    let [instance_type, zone, subnet, image] =
        [named("InstanceType")?, named("AvailabilityZone")?, named("SubnetId")?, named("ImageId")?];
    let price = match choice.text("Priority") {
        None => HourlyPrice::default(),
        Some(text) => price(&text).ok_or_else(|| invalid("priority", &text))?,
    };
    choice.finish()?;
    Ok(FleetOverride {
        instance_type: instance_type
            .parse()
            .map_err(|_| invalid("instanceType", &instance_type))?,
        zone: zone.parse().map_err(|_| invalid("availabilityZone", &zone))?,
        subnet: subnet.parse().map_err(|_| invalid("subnetId", &subnet))?,
        image: image.parse().map_err(|_| invalid("imageId", &image))?,
        price,
    })
}

/// A priority is a float; small ones may come as `3e-5`.
fn price(text: &str) -> Option<HourlyPrice> {
    let plain = match text.split_once(['e', 'E']) {
        None => text.to_owned(),
        Some((digits, exponent)) => {
            let places: usize = exponent.strip_prefix('-')?.parse().ok()?;
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let zeros = "0".repeat(places.checked_sub(whole.len())?);
            format!("0.{zeros}{whole}{fraction}")
        }
    };
    HourlyPrice::parse_dollars(&plain).ok()
}

fn unsupported(what: &str, value: &str) -> AwsError {
    refusal("UnsupportedOperation", format!("not supported yet: {what} {value}"))
}

fn answered(request: &FleetRequest, answer: &FleetAnswer) -> Vec<Element> {
    let fleet = format!("fleet-0{:016x}", digest(request.token.as_str().as_bytes()));
    let lifecycle = || {
        let lifecycle = match request.market {
            ReservationMarket::OnDemand => request.capacity_type.as_str(),
            ReservationMarket::CapacityBlock => "capacity-block",
            ReservationMarket::Interruptible => "interruptible-capacity-reservation",
        };
        text("lifecycle", lifecycle)
    };
    let errors = answer.errors.iter().map(|error| {
        let mut item = of_override(request, |choice| {
            error.instance_type.as_ref() == Some(&choice.instance_type)
                && error.zone.as_ref() == Some(&choice.zone)
        });
        let FleetError { code, message, .. } = error;
        item.extend([lifecycle(), text("errorCode", code), text("errorMessage", message)]);
        item
    });
    let instances = groups(&answer.instances).into_iter().map(|group| {
        let mut item = Vec::new();
        if let Some(first) = group.first() {
            item = of_override(request, |choice| {
                first.instance_type == choice.instance_type && first.zone == choice.zone
            });
            item.push(text("instanceType", &first.instance_type));
        }
        let ids = group.iter().map(|instance| text("item", &instance.id));
        item.extend([lifecycle(), node("instanceIds", ids)]);
        item
    });
    vec![text("fleetId", fleet), list("errorSet", errors), list("fleetInstanceSet", instances)]
}

/// EC2 lists together what came from one override.
fn groups(instances: &[FleetInstance]) -> Vec<Vec<&FleetInstance>> {
    let mut groups: Vec<Vec<&FleetInstance>> = Vec::new();
    for instance in instances {
        let is_like = |group: &&mut Vec<&FleetInstance>| {
            group.first().is_some_and(|first| {
                first.instance_type == instance.instance_type
                    && first.zone == instance.zone
                    && first.image == instance.image
            })
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(instance),
            None => groups.push(vec![instance]),
        }
    }
    groups
}

/// The first override that `is_meant`, and its launch template.
fn of_override(request: &FleetRequest, is_meant: impl Fn(&FleetOverride) -> bool) -> Vec<Element> {
    let entry = request.templates.iter().find_map(|template| {
        let choice = template.overrides.iter().find(|choice| is_meant(choice))?;
        Some((template, choice))
    });
    let Some((template, choice)) = entry else { return Vec::new() };
    let specification = [text("launchTemplateName", &template.template), text("version", "1")];
    let overrides = [
        text("instanceType", &choice.instance_type),
        text("subnetId", &choice.subnet),
        text("availabilityZone", &choice.zone),
        text("priority", choice.price),
        text("imageId", &choice.image),
    ];
    vec![node(
        "launchTemplateAndOverrides",
        [node("launchTemplateSpecification", specification), node("overrides", overrides)],
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_read_exactly() {
        for (text, nanos) in
            [("0.0816", 81_600_000), ("3e-5", 30_000), ("1.25E-3", 1_250_000), ("2", 2_000_000_000)]
        {
            assert_eq!(price(text), Some(HourlyPrice::from_nanos(nanos)), "{text}");
        }
        assert_eq!(price("e5"), None);
    }
}
