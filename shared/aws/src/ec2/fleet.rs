//! Instances: CreateFleet, DescribeInstances, CreateTags, TerminateInstances.

use std::collections::BTreeMap;

use aws_sdk_ec2::{
    Client,
    config::timeout::TimeoutConfig,
    operation::{
        create_fleet::{CreateFleetInput, CreateFleetOutput, builders::CreateFleetInputBuilder},
        run_instances::{RunInstancesInput, builders::RunInstancesInputBuilder},
    },
    types::{
        self, CreateFleetError, CreateFleetInstance, DefaultTargetCapacityType, Filter,
        FleetLaunchTemplateConfigRequest, FleetLaunchTemplateOverrides,
        FleetLaunchTemplateOverridesRequest, FleetLaunchTemplateSpecificationRequest,
        FleetOnDemandAllocationStrategy, FleetReservationType, FleetType,
        InstanceNetworkInterfaceSpecification, InstanceType, LaunchTemplateSpecification,
        OnDemandOptionsRequest, ReservedCapacityOptionsRequest, ResourceType,
        SpotAllocationStrategy, SpotOptionsRequest, TagSpecification,
        TargetCapacitySpecificationRequest,
    },
};
use model::{
    BatchId, CapacityType, ClusterName, ImageId, InstanceId, InstanceTypeName, Zone,
    interruption::StatusReport,
    labels,
    launch::{
        FleetAnswer, FleetError, FleetInstance, FleetOverride, FleetRequest, FleetTemplate,
        Instance, ReservationMarket, RunRequest,
    },
    limits,
    limits::requests,
    validation::DryRunAnswer,
};
use ports::{Fault, Fleet, PortError};

use super::{
    dry_run::{dry_run_answer, once},
    filter,
    instance::from_instance,
    status, to_tags,
};
use crate::fault::{BadAnswer, BadRequest, port_error};

const CREATE: &str = "CreateFleet";
const RUN: &str = "RunInstances";
const DESCRIBE: &str = "DescribeInstances";
const TERMINATE: &str = "TerminateInstances";
/// Everything but `terminated`.
const LIVING: [&str; 5] = ["pending", "running", "shutting-down", "stopping", "stopped"];

/// [`Fleet`] over EC2.
#[derive(Clone, Debug)]
pub struct Ec2Fleet {
    client: Client,
    /// For what is only tried.
    once: Client,
    /// For instances that are waited for.
    patient: Client,
}

impl Ec2Fleet {
    pub(crate) fn new(client: Client) -> Self {
        Self { once: once(&client), patient: patient(&client), client }
    }

    async fn instances(&self, filters: Vec<Filter>) -> Result<Vec<Instance>, PortError> {
        let mut instances = Vec::new();
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .describe_instances()
                .max_results(requests::ENTRIES_PER_PAGE.into())
                .set_filters(Some(filters.clone()))
                .set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(DESCRIBE, error))?;
            for described in answer.reservations().iter().flat_map(types::Reservation::instances) {
                // Not left out: an instance that is not listed counts as gone.
                let instance = from_instance(described);
                instances.push(instance.map_err(|problem| BadAnswer::of(DESCRIBE, problem))?);
            }
            token = answer.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                instances.sort_by(|a: &Instance, b| a.id.cmp(&b.id));
                return Ok(instances);
            }
        }
        Err(BadAnswer::of(DESCRIBE, "too many pages"))
    }

    async fn terminate_all(&self, instances: &[InstanceId]) -> Result<(), PortError> {
        let ids = instances.iter().map(ToString::to_string).collect();
        let request = self.client.terminate_instances().set_instance_ids(Some(ids));
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(port_error(TERMINATE, error)),
        }
    }
}

impl Ec2Fleet {
    /// Terminates what is left of instances of which some are gone: together, or one by one where it is
    /// not known which are or more went meanwhile.
    async fn terminate_known(
        &self,
        instances: &[InstanceId],
        is_unknown: bool,
    ) -> Result<(), PortError> {
        if instances.is_empty() {
            return Ok(());
        }
        if !is_unknown {
            match self.terminate_all(instances).await {
                Err(error) if error.fault == Fault::NotFound => {}
                outcome => return outcome,
            }
        }
        let mut refused = None;
        for id in instances {
            match self.terminate_all(std::slice::from_ref(id)).await {
                Err(error) if error.fault == Fault::NotFound => {}
                outcome => keep_refusal(&mut refused, outcome)?,
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

impl Fleet for Ec2Fleet {
    async fn launch(&self, request: &FleetRequest) -> Result<FleetAnswer, PortError> {
        let input = to_input(request)?;
        let sent = input.send_with(&self.patient).await;
        let answer = sent.map_err(|error| port_error(CREATE, error))?;
        let (mut fleet, incomplete) =
            from_output(request, &answer).map_err(|problem| BadAnswer::of(CREATE, problem))?;
        // EC2 names type, zone and image of every instance; its emulators do not.
        for instance in self.describe(&incomplete).await? {
            let Instance { id, instance_type, zone, image, .. } = instance;
            fleet.instances.push(FleetInstance { id, instance_type, zone, image });
        }
        fleet.instances.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(fleet)
    }

    async fn dry_run(&self, request: &FleetRequest) -> Result<DryRunAnswer, PortError> {
        let input = to_input(request)?.dry_run(true);
        match input.send_with(&self.once).await {
            Ok(_) => Err(BadAnswer::of(CREATE, "a dry run was carried out")),
            Err(error) => dry_run_answer(port_error(CREATE, error)),
        }
    }

    async fn dry_run_instance(&self, request: &RunRequest) -> Result<DryRunAnswer, PortError> {
        match to_run(request).dry_run(true).send_with(&self.once).await {
            Ok(_) => Err(BadAnswer::of(RUN, "a dry run was carried out")),
            Err(error) => dry_run_answer(port_error(RUN, error)),
        }
    }

    async fn describe(&self, instances: &[InstanceId]) -> Result<Vec<Instance>, PortError> {
        let mut described = Vec::new();
        for ids in instances.chunks(requests::FILTER_VALUES_MAX.into()) {
            // A filter leaves out what is not known; as a list of ids it would fail the call.
            described.extend(self.instances(vec![filter("instance-id", ids)]).await?);
        }
        described.sort_by(|a: &Instance, b| a.id.cmp(&b.id));
        Ok(described)
    }

    async fn of_batch(
        &self,
        cluster: &ClusterName,
        batch: &BatchId,
    ) -> Result<Vec<Instance>, PortError> {
        self.instances(in_batch(cluster, batch)).await
    }

    async fn list(&self, cluster: &ClusterName) -> Result<Vec<Instance>, PortError> {
        self.instances(of_cluster(cluster)).await
    }

    async fn impaired(&self) -> Result<Vec<StatusReport>, PortError> {
        status::impaired(&self.client).await
    }

    async fn tag(
        &self,
        instance: &InstanceId,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        let request =
            self.client.create_tags().resources(instance.as_str()).set_tags(Some(to_tags(tags)));
        request.send().await.map_err(|error| port_error("CreateTags", error))?;
        Ok(())
    }

    async fn reboot(&self, instance: &InstanceId) -> Result<(), PortError> {
        let request = self.client.reboot_instances().instance_ids(instance.as_str());
        request.send().await.map_err(|error| port_error("RebootInstances", error))?;
        Ok(())
    }

    async fn terminate(&self, instances: &[InstanceId]) -> Result<(), PortError> {
        let mut refused = None;
        for ids in instances.chunks(requests::TERMINATIONS_PER_REQUEST_MAX.into()) {
            let outcome = match self.terminate_all(ids).await {
                // If one is gone, the whole call fails and terminates none: EC2 names those that are gone.
                Err(error) if error.fault == Fault::NotFound => {
                    let known: Vec<InstanceId> =
                        ids.iter().filter(|id| !names(&error, id)).cloned().collect();
                    self.terminate_known(&known, known.len() == ids.len()).await
                }
                outcome => outcome,
            };
            keep_refusal(&mut refused, outcome)?;
        }
        refused.map_or(Ok(()), Err)
    }
}

/// A client that waits for the one answer that there will be.
fn patient(client: &Client) -> Client {
    let timeouts = client.config().timeout_config().map(TimeoutConfig::to_builder);
    let timeouts = timeouts
        .unwrap_or_default()
        .disable_operation_attempt_timeout()
        .operation_timeout(requests::FLEET_TIMEOUT);
    Client::from_conf(client.config().to_builder().timeout_config(timeouts.build()).build())
}

/// Keeps the first refusal, so that the other requests are sent; whatever else failed ends them.
fn keep_refusal(
    refused: &mut Option<PortError>,
    outcome: Result<(), PortError>,
) -> Result<(), PortError> {
    match outcome {
        Err(error) if error.fault == Fault::Permanent => {
            refused.get_or_insert(error);
            Ok(())
        }
        outcome => outcome,
    }
}

/// Whether the refusal `error` names `instance`.
fn names(error: &PortError, instance: &InstanceId) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mentioned = error.refusal().into_iter().flat_map(|refusal| {
        refusal.message.split(|c: char| !is_part(c)).filter_map(|part| InstanceId::new(part).ok())
    });
    mentioned.into_iter().any(|mentioned| mentioned == *instance)
}

/// What makes an instance one of `cluster`'s.
///
/// Karpenter: `pkg/providers/instance/instance.go`, `List`.
fn of_cluster(cluster: &ClusterName) -> Vec<Filter> {
    vec![
        filter("tag-key", [labels::NODE_POOL]),
        filter("tag-key", [labels::NODE_CLASS]),
        filter(&format!("tag:{}", labels::CLUSTER_NAME_TAG), [cluster]),
        filter("instance-state-name", LIVING),
    ]
}

/// Also those that are gone: the batch was launched all the same.
fn in_batch(cluster: &ClusterName, batch: &BatchId) -> Vec<Filter> {
    vec![
        filter(&format!("tag:{}", labels::CLUSTER_NAME_TAG), [cluster]),
        filter(&format!("tag:{}", labels::BATCH_TAG), [batch]),
    ]
}

fn to_input(request: &FleetRequest) -> Result<CreateFleetInputBuilder, PortError> {
    let refuse = |problem: &str| BadRequest::of(CREATE, problem);
    let count = i32::try_from(request.count).map_err(|_| refuse("too many instances"))?;
    let input = CreateFleetInput::builder();
    let (capacity_type, input) = match (request.capacity_type, request.market) {
        (CapacityType::Spot, _) => {
            let strategy = if request.is_prioritized {
                SpotAllocationStrategy::CapacityOptimizedPrioritized
            } else {
                SpotAllocationStrategy::PriceCapacityOptimized
            };
            let options = SpotOptionsRequest::builder().allocation_strategy(strategy).build();
            (DefaultTargetCapacityType::Spot, input.spot_options(options))
        }
        (CapacityType::Reserved, ReservationMarket::CapacityBlock) => {
            (DefaultTargetCapacityType::CapacityBlock, input)
        }
        (CapacityType::Reserved, ReservationMarket::Interruptible) => {
            let options = ReservedCapacityOptionsRequest::builder()
                .reservation_types(FleetReservationType::InterruptibleCapacityReservation)
                .build();
            (DefaultTargetCapacityType::ReservedCapacity, input.reserved_capacity_options(options))
        }
        // The launch templates say into which reservations.
        (CapacityType::OnDemand | CapacityType::Reserved, _) => {
            let strategy = if request.is_prioritized {
                FleetOnDemandAllocationStrategy::Prioritized
            } else {
                FleetOnDemandAllocationStrategy::LowestPrice
            };
            let options = OnDemandOptionsRequest::builder().allocation_strategy(strategy).build();
            (DefaultTargetCapacityType::OnDemand, input.on_demand_options(options))
        }
    };
    let target = TargetCapacitySpecificationRequest::builder()
        .total_target_capacity(count)
        .default_target_capacity_type(capacity_type)
        .build();
    let tags = [ResourceType::Instance, ResourceType::Volume, ResourceType::Fleet].map(|kind| {
        let specification = TagSpecification::builder().resource_type(kind);
        specification.set_tags(Some(to_tags(&request.tags))).build()
    });
    let templates: Result<_, PortError> = request.templates.iter().map(to_config).collect();
    Ok(input
        .client_token(request.token.as_str())
        .r#type(FleetType::Instant)
        .target_capacity_specification(target)
        .set_context(request.context.clone())
        .set_launch_template_configs(Some(templates?))
        .set_tag_specifications(Some(tags.into())))
}

/// A launch template that is made here has network interfaces, so that the subnet must be one's as well.
/// One of the user's own has none, and its security groups would not go with one.
fn to_run(request: &RunRequest) -> RunInstancesInputBuilder {
    let template = LaunchTemplateSpecification::builder()
        .launch_template_name(request.template.as_str())
        .version(request.version.to_string());
    let groups: Vec<String> = request.security_groups.iter().map(ToString::to_string).collect();
    let input = if groups.is_empty() {
        RunInstancesInput::builder().subnet_id(request.subnet.as_str())
    } else {
        let interface = InstanceNetworkInterfaceSpecification::builder()
            .device_index(0)
            .subnet_id(request.subnet.as_str())
            .set_groups(Some(groups));
        RunInstancesInput::builder().network_interfaces(interface.build())
    };
    let tags = [ResourceType::Instance, ResourceType::Volume].map(|kind| {
        let specification = TagSpecification::builder().resource_type(kind);
        specification.set_tags(Some(to_tags(&request.tags))).build()
    });
    input
        .min_count(1)
        .max_count(1)
        .instance_type(InstanceType::from(request.instance_type.as_str()))
        .launch_template(template.build())
        .set_tag_specifications(Some(tags.into()))
}

fn to_config(template: &FleetTemplate) -> Result<FleetLaunchTemplateConfigRequest, PortError> {
    let specification = FleetLaunchTemplateSpecificationRequest::builder()
        .launch_template_name(template.template.as_str())
        .version(template.version.to_string())
        .build();
    let overrides: Result<_, PortError> = template.overrides.iter().map(to_override).collect();
    Ok(FleetLaunchTemplateConfigRequest::builder()
        .launch_template_specification(specification)
        .set_overrides(Some(overrides?))
        .build())
}

fn to_override(wanted: &FleetOverride) -> Result<FleetLaunchTemplateOverridesRequest, PortError> {
    // EC2 takes the priority as a float: made from the exact decimal text, never calculated with.
    let priority: f64 = wanted.price.to_string().parse().map_err(|error| {
        PortError::because(CREATE, Fault::Permanent, ports::BoxError::from(error))
    })?;
    Ok(FleetLaunchTemplateOverridesRequest::builder()
        .instance_type(InstanceType::from(wanted.instance_type.as_str()))
        .availability_zone(wanted.zone.as_str())
        .subnet_id(wanted.subnet.as_str())
        .image_id(wanted.image.as_str())
        .priority(priority)
        .build())
}

/// What the fleet brought, sorted by id, and the instances of which EC2 did not say enough.
fn from_output(
    request: &FleetRequest,
    output: &CreateFleetOutput,
) -> Result<(FleetAnswer, Vec<InstanceId>), String> {
    let mut answer = FleetAnswer::default();
    let mut incomplete = Vec::new();
    for create_fleet_instance in output.instances() {
        let described = described(create_fleet_instance);
        for id in create_fleet_instance.instance_ids() {
            let id = InstanceId::new(id).map_err(|error| error.to_string())?;
            match &described {
                Some((instance_type, zone, image)) => answer.instances.push(FleetInstance {
                    id,
                    instance_type: instance_type.clone(),
                    zone: zone.clone(),
                    image: image.clone(),
                }),
                None => incomplete.push(id),
            }
        }
    }
    answer.instances.sort_by(|a, b| a.id.cmp(&b.id));
    let brought = answer.instances.len() + incomplete.len();
    if usize::try_from(request.count).is_ok_and(|count| brought > count) {
        return Err(format!("{brought} instances, and {} were asked for", request.count));
    }
    answer.errors = output.errors().iter().map(from_error).collect();
    Ok((answer, incomplete))
}

fn described(
    create_fleet_instance: &CreateFleetInstance,
) -> Option<(InstanceTypeName, Zone, ImageId)> {
    let overrides = create_fleet_instance.launch_template_and_overrides()?.overrides()?;
    let instance_type =
        create_fleet_instance.instance_type().or_else(|| overrides.instance_type())?;
    Some((
        InstanceTypeName::new(instance_type.as_str()).ok()?,
        Zone::new(overrides.availability_zone()?).ok()?,
        ImageId::new(overrides.image_id()?).ok()?,
    ))
}

fn from_error(create_fleet_error: &CreateFleetError) -> FleetError {
    let overrides: Option<&FleetLaunchTemplateOverrides> = create_fleet_error
        .launch_template_and_overrides()
        .and_then(|response| response.overrides());
    let instance_type = overrides.and_then(|overrides| overrides.instance_type());
    let zone = overrides.and_then(|overrides| overrides.availability_zone());
    FleetError {
        code: create_fleet_error.error_code().unwrap_or_default().to_owned(),
        message: create_fleet_error.error_message().unwrap_or_default().to_owned(),
        instance_type: instance_type.and_then(|name| InstanceTypeName::new(name.as_str()).ok()),
        zone: zone.and_then(|zone| Zone::new(zone).ok()),
    }
}

#[cfg(test)]
mod tests;
