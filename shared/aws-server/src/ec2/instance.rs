//! Instances: DescribeInstances, GetConsoleOutput, CreateTags, RebootInstances, TerminateInstances, and RunInstances as a dry run.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{
    CapacityType, InstanceId, InstanceTypeName, LaunchTemplateName, SecurityGroupId, SubnetId,
    launch::{InstanceState, ReservationMarket},
};
use ports::PortError;
use simulator::{AwsError, DescribedInstance, ReservationPreference};

use super::{Answer, Call, refused, would_have_worked};
use crate::{
    filter::Filter,
    page::Page,
    parameters::{Parameters, invalid, refusal},
    xml::{Element, list, node, tags, text},
};

/// The account's number.
const OWNER: &str = "123456789012";

/// What the console says, in Base64. It is the latest, asked for or not.
pub(super) async fn console(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let id = call.parameters.required("InstanceId").map_err(refused)?;
    let id: InstanceId = id.parse().map_err(|_| refused(invalid("instanceId", &id)))?;
    call.parameters.accept("Latest");
    call.tried("GetConsoleOutput", is_dry).await?;
    let told = call.sim.get_console_output(&id).await?;
    Ok(vec![text("instanceId", id), text("output", BASE64_STANDARD.encode(told))])
}

/// RunInstances is only ever tried: nodes come from fleets.
pub(super) async fn run(mut call: Call<'_>) -> Answer {
    if !call.parameters.flag("DryRun").map_err(refused)? {
        let text = "not supported yet: RunInstances without DryRun";
        return Err(refused(refusal("UnsupportedOperation", text)));
    }
    let template = run_template(&mut call.parameters).map_err(refused)?;
    call.parameters.finish().map_err(refused)?;
    call.sim.try_instance(&template).await?;
    Err(would_have_worked())
}

/// The launch template of a RunInstances request for one instance; the rest must be well-formed.
fn run_template(parameters: &mut Parameters) -> Result<LaunchTemplateName, AwsError> {
    for count in ["MinCount", "MaxCount"] {
        let number = parameters.required(count)?;
        if number != "1" {
            return Err(invalid(count, &number));
        }
    }
    let instance_type = parameters.required("InstanceType")?;
    let _instance_type: InstanceTypeName =
        instance_type.parse().map_err(|_| invalid("instanceType", &instance_type))?;
    let _subnet: Option<SubnetId> = parameters.parsed("SubnetId")?;
    for mut interface in parameters.branches("NetworkInterface") {
        interface.required("DeviceIndex")?;
        let subnet = interface.required("SubnetId")?;
        let _subnet: SubnetId = subnet.parse().map_err(|_| invalid("subnetId", &subnet))?;
        let _groups: Vec<SecurityGroupId> = interface.all("SecurityGroupId")?;
        interface.finish()?;
    }
    for mut specification in parameters.branches("TagSpecification") {
        specification.required("ResourceType")?;
        specification.pairs("Tag")?;
        specification.finish()?;
    }
    // The SDK makes one up where the caller gives none.
    parameters.accept("ClientToken");
    let missing = || refusal("MissingParameter", "LaunchTemplate is missing");
    let mut template = parameters.branch("LaunchTemplate").ok_or_else(missing)?;
    let name = template.required("LaunchTemplateName")?;
    template.accept("Version");
    template.finish()?;
    name.parse().map_err(|_| invalid("launchTemplateName", &name))
}

pub(super) async fn describe(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let ids: Vec<InstanceId> = call.parameters.all("InstanceId").map_err(refused)?;
    let is_paged = call.parameters.clone().text("MaxResults").is_some();
    if is_paged && !ids.is_empty() {
        let text = "The parameter instancesSet cannot be used with the parameter maxResults";
        return Err(refused(refusal("InvalidParameterCombination", text)));
    }
    let page = Page::take(&mut call.parameters, 5..=1_000, call.page_max).map_err(refused)?;
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeInstances", is_dry).await?;
    let mut known = call.sim.describe_instances().await?;
    if let Some(missing) = ids.iter().find(|id| known.iter().all(|k| k.instance.id != **id)) {
        let text = format!("The instance ID '{missing}' does not exist");
        return Err(refused(refusal("InvalidInstanceID.NotFound", text)));
    }
    if !ids.is_empty() {
        known.retain(|described_instance| ids.contains(&described_instance.instance.id));
    }
    let mut described_instances = Vec::new();
    for instance in known {
        if passes(&instance, &filters).map_err(refused)? {
            described_instances.push(instance);
        }
    }
    if !ids.is_empty() {
        return Ok(vec![list("reservationSet", described_instances.iter().map(reservation))]);
    }
    // Filters are judged even when there is nothing that they could apply to.
    for filter in &filters {
        is_known(filter).map_err(refused)?;
    }
    let (found, next) = page.of(described_instances);
    let mut children = vec![list("reservationSet", found.iter().map(reservation))];
    children.extend(next);
    Ok(children)
}

const FILTERS: [&str; 8] = [
    "availability-zone",
    "client-token",
    "image-id",
    "instance-id",
    "instance-lifecycle",
    "instance-state-name",
    "instance-type",
    "subnet-id",
];

fn is_known(filter: &Filter) -> Result<(), AwsError> {
    let name = filter.name.as_str();
    let is_known = name == "tag-key" || name.starts_with("tag:") || FILTERS.contains(&name);
    if is_known { Ok(()) } else { Err(filter.unknown()) }
}

fn passes(described_instance: &DescribedInstance, filters: &[Filter]) -> Result<bool, AwsError> {
    for filter in filters {
        let instance = &described_instance.instance;
        let holds = match filter.name.as_str() {
            "availability-zone" => filter.has(instance.zone.as_str()),
            "client-token" => filter.has(&described_instance.token),
            "image-id" => filter.has(instance.image.as_str()),
            "instance-id" => filter.has(instance.id.as_str()),
            "instance-lifecycle" => {
                lifecycle(described_instance).is_some_and(|word| filter.has(word))
            }
            "instance-state-name" => filter.has(state_of(instance.state).1),
            "instance-type" => filter.has(instance.instance_type.as_str()),
            "subnet-id" => {
                instance.subnet.as_ref().is_some_and(|subnet| filter.has(subnet.as_str()))
            }
            _ => filter.has_tag(&described_instance.tags).ok_or_else(|| filter.unknown())?,
        };
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html>
fn state_of(state: InstanceState) -> (u32, &'static str) {
    match state {
        InstanceState::Pending => (0, "pending"),
        InstanceState::Running => (16, "running"),
        InstanceState::ShuttingDown => (32, "shutting-down"),
        InstanceState::Terminated => (48, "terminated"),
        InstanceState::Stopped => (80, "stopped"),
    }
}

fn state(name: &'static str, state: InstanceState) -> Element {
    let (code, word) = state_of(state);
    node(name, [text("code", code), text("name", word)])
}

fn reservation(described_instance: &DescribedInstance) -> Vec<Element> {
    let instance = &described_instance.instance;
    let number = instance.id.as_str().trim_start_matches("i-");
    let mut item = vec![
        text("instanceId", &instance.id),
        text("imageId", &instance.image),
        state("instanceState", instance.state),
        text("instanceType", &instance.instance_type),
        text("launchTime", instance.launched_at),
        node("placement", [text("availabilityZone", &instance.zone), text("tenancy", "default")]),
        text("clientToken", &described_instance.token),
        tags("tagSet", &described_instance.tags),
    ];
    if instance.capacity_type == CapacityType::Spot {
        item.push(text("spotInstanceRequestId", format_args!("sir-{number}")));
    }
    item.push(text("vpcId", simulator::VPC));
    item.extend(instance.subnet.iter().map(|subnet| text("subnetId", subnet)));
    let groups = instance.security_groups.iter().map(|group| vec![text("groupId", group)]);
    item.push(list("groupSet", groups));
    item.extend(lifecycle(described_instance).map(|word| text("instanceLifecycle", word)));
    item.extend(
        described_instance.reservation.as_ref().map(|id| text("capacityReservationId", id)),
    );
    item.extend(described_instance.instance_profile.iter().map(|name| {
        let arn = format!("arn:aws:iam::{OWNER}:instance-profile/{name}");
        node("iamInstanceProfile", [text("arn", arn)])
    }));
    item.push(node("capacityReservationSpecification", preference(described_instance)));
    vec![
        text("reservationId", format_args!("r-{number}")),
        text("ownerId", OWNER),
        list("instancesSet", [item]),
    ]
}

/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Instance.html>
fn lifecycle(described_instance: &DescribedInstance) -> Option<&'static str> {
    if described_instance.instance.capacity_type == CapacityType::Spot {
        return Some("spot");
    }
    match &described_instance.preference {
        ReservationPreference::Only(target) => match target.market {
            ReservationMarket::OnDemand => None,
            ReservationMarket::CapacityBlock => Some("capacity-block"),
            ReservationMarket::Interruptible => Some("interruptible-capacity-reservation"),
        },
        ReservationPreference::Open | ReservationPreference::None => None,
    }
}

/// It stays when the reservation has ended.
fn preference(described_instance: &DescribedInstance) -> Vec<Element> {
    let word = |word: &str| text("capacityReservationPreference", word);
    match &described_instance.preference {
        ReservationPreference::Open => vec![word("open")],
        ReservationPreference::None => vec![word("none")],
        ReservationPreference::Only(target) => {
            let id = text("capacityReservationId", &target.id);
            vec![word("capacity-reservations-only"), node("capacityReservationTarget", [id])]
        }
    }
}

pub(super) async fn tag(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let ids = call.parameters.texts("ResourceId");
    let pairs = call.parameters.pairs("Tag").map_err(refused)?;
    call.tried("CreateTags", is_dry).await?;
    let instances: Result<Vec<InstanceId>, AwsError> = ids
        .iter()
        .map(|id| {
            let instance = if id.starts_with("i-") { id.parse().ok() } else { None };
            instance.ok_or_else(|| refusal("InvalidID", format!("The ID '{id}' is not valid")))
        })
        .collect();
    call.sim.create_tags(&instances.map_err(refused)?, &pairs).await?;
    Ok(vec![text("return", true)])
}

/// The instances that a request is about, unless it is only to be tried.
async fn named(call: &mut Call<'_>, operation: &'static str) -> Result<Vec<InstanceId>, PortError> {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let ids = call.parameters.texts("InstanceId");
    call.tried(operation, is_dry).await?;
    if ids.is_empty() {
        let text = "The request must contain the parameter InstanceId";
        return Err(refused(refusal("MissingParameter", text)));
    }
    let malformed = |id: &String| refused(invalid("instanceId", id));
    ids.iter().map(|id| id.parse().map_err(|_| malformed(id))).collect()
}

pub(super) async fn reboot(mut call: Call<'_>) -> Answer {
    let instances = named(&mut call, "RebootInstances").await?;
    call.sim.reboot_instances(&instances).await?;
    Ok(vec![text("return", true)])
}

pub(super) async fn terminate(mut call: Call<'_>) -> Answer {
    let instances = named(&mut call, "TerminateInstances").await?;
    let changes = call.sim.terminate_instances(&instances).await?;
    let items = changes.iter().map(|change| {
        vec![
            text("instanceId", &change.instance),
            state("currentState", change.current),
            state("previousState", change.previous),
        ]
    });
    Ok(vec![list("instancesSet", items)])
}
