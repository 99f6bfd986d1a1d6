//! Launch templates.

use std::collections::BTreeMap;

use aws_sdk_ec2::{
    Client,
    operation::create_launch_template::{
        CreateLaunchTemplateInput, builders::CreateLaunchTemplateInputBuilder,
    },
    types::{
        CapacityReservationPreference, CapacityReservationTarget,
        ConnectionTrackingSpecificationRequest, LaunchTemplateBlockDeviceMappingRequest,
        LaunchTemplateCapacityReservationSpecificationRequest, LaunchTemplateCpuOptionsRequest,
        LaunchTemplateEbsBlockDeviceRequest, LaunchTemplateEnclaveOptionsRequest,
        LaunchTemplateHttpTokensState, LaunchTemplateIamInstanceProfileSpecificationRequest,
        LaunchTemplateInstanceMarketOptionsRequest, LaunchTemplateInstanceMetadataEndpointState,
        LaunchTemplateInstanceMetadataOptionsRequest, LaunchTemplateInstanceMetadataProtocolIpv6,
        LaunchTemplateInstanceMetadataTagsState,
        LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, LaunchTemplatePlacementRequest,
        LaunchTemplateTagSpecificationRequest, LaunchTemplatesMonitoringRequest, MarketType,
        NestedVirtualizationSpecification, RequestLaunchTemplateData, ResourceType,
        TagSpecification, Tenancy, VolumeType,
    },
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use model::{
    Bytes, ClusterName, LaunchTemplateName, labels,
    launch::{
        Interface, InterfaceKind, LaunchTemplate, LaunchTemplateData, ReservationMarket,
        ReservationTarget,
    },
    limits,
    limits::requests,
    node_class::{BlockDevice, ConnectionTracking, MetadataOptions},
    validation::DryRunAnswer,
};
use ports::{Fault, PortError, Templates};

use super::{
    dry_run::{dry_run_answer, once},
    filter, to_tags,
};
use crate::fault::{BadAnswer, BadRequest, has_code, port_error};

const CREATE: &str = "CreateLaunchTemplate";
const DESCRIBE: &str = "DescribeLaunchTemplates";
const GIB: u64 = 1 << 30;

/// [`Templates`] over EC2.
#[derive(Clone, Debug)]
pub struct Ec2Templates {
    client: Client,
    /// For what is only tried.
    once: Client,
}

impl Ec2Templates {
    pub(crate) fn new(client: Client) -> Self {
        Self { once: once(&client), client }
    }

    async fn exists(&self, name: &LaunchTemplateName) -> Result<bool, PortError> {
        let request = self.client.describe_launch_templates();
        match request.launch_template_names(name.as_str()).send().await {
            Ok(answer) => Ok(!answer.launch_templates().is_empty()),
            Err(error) => match port_error(DESCRIBE, error) {
                PortError { fault: Fault::NotFound, .. } => Ok(false),
                error => Err(error),
            },
        }
    }
}

impl Templates for Ec2Templates {
    async fn ensure(&self, template: &LaunchTemplate) -> Result<(), PortError> {
        if self.exists(&template.name).await? {
            return Ok(());
        }
        match to_creation(template)?.send_with(&self.client).await {
            Ok(_) => Ok(()),
            Err(error) => match port_error(CREATE, error) {
                // Another call made it a moment ago; the name says that its content is equal.
                error if has_code(&error, "InvalidLaunchTemplateName.AlreadyExistsException") => {
                    Ok(())
                }
                error => Err(error),
            },
        }
    }

    async fn dry_run(&self, template: &LaunchTemplate) -> Result<DryRunAnswer, PortError> {
        match to_creation(template)?.dry_run(true).send_with(&self.once).await {
            Ok(_) => Err(BadAnswer::of(CREATE, "a dry run was carried out")),
            Err(error) => dry_run_answer(port_error(CREATE, error)),
        }
    }

    async fn list(
        &self,
        cluster: &ClusterName,
    ) -> Result<BTreeMap<LaunchTemplateName, Timestamp>, PortError> {
        let mut times = BTreeMap::new();
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .describe_launch_templates()
                .max_results(requests::TEMPLATES_PER_PAGE.into())
                .filters(filter(&format!("tag:{}", labels::CLUSTER_NAME_TAG), [cluster]))
                .filters(filter("tag-key", [labels::NODE_POOL]))
                .set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(DESCRIBE, error))?;
            for launch_template in answer.launch_templates() {
                let name = LaunchTemplateName::new(
                    launch_template.launch_template_name().unwrap_or_default(),
                );
                let created_at =
                    launch_template.create_time().map(|at| Timestamp::from_second(at.secs()));
                // One that others made and tagged alike is none of ours.
                if let (Ok(name), Some(Ok(created_at))) = (name, created_at)
                    && name.is_of_digest()
                {
                    times.insert(name, created_at);
                }
            }
            token = answer.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(times);
            }
        }
        Err(BadAnswer::of(DESCRIBE, "too many pages"))
    }

    async fn remove(&self, name: &LaunchTemplateName) -> Result<(), PortError> {
        let request = self.client.delete_launch_template().launch_template_name(name.as_str());
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => match port_error("DeleteLaunchTemplate", error) {
                PortError { fault: Fault::NotFound, .. } => Ok(()),
                error => Err(error),
            },
        }
    }
}

fn to_creation(template: &LaunchTemplate) -> Result<CreateLaunchTemplateInputBuilder, PortError> {
    let tags = TagSpecification::builder()
        .resource_type(ResourceType::LaunchTemplate)
        .set_tags(Some(to_tags(&template.tags)))
        .build();
    Ok(CreateLaunchTemplateInput::builder()
        .launch_template_name(template.name.as_str())
        .launch_template_data(to_data(&template.data)?)
        .tag_specifications(tags))
}

fn to_data(data: &LaunchTemplateData) -> Result<RequestLaunchTemplateData, PortError> {
    let profile = LaunchTemplateIamInstanceProfileSpecificationRequest::builder()
        .name(&data.instance_profile)
        .build();
    let devices: Result<Vec<_>, PortError> = data.block_devices.iter().map(to_device).collect();
    let devices = devices?;
    let mut tagged = vec![ResourceType::NetworkInterface];
    if data.is_spot {
        tagged.push(ResourceType::SpotInstancesRequest);
    }
    let tags = tagged.into_iter().map(|kind| {
        let specification = LaunchTemplateTagSpecificationRequest::builder().resource_type(kind);
        specification.set_tags(Some(to_tags(&data.tags))).build()
    });
    let interfaces: Result<Vec<_>, PortError> =
        data.interfaces.iter().map(|interface| to_interface(data, *interface)).collect();
    let (reservation, market) = to_reservation(data.reservation.as_ref());
    let enclaves = LaunchTemplateEnclaveOptionsRequest::builder().enabled(data.runs_enclaves);
    Ok(RequestLaunchTemplateData::builder()
        .image_id(data.image.as_str())
        .user_data(BASE64_STANDARD.encode(&data.user_data))
        .iam_instance_profile(profile)
        .set_block_device_mappings((!devices.is_empty()).then_some(devices))
        .metadata_options(to_metadata(&data.metadata_options, data.sends_http_protocol_ipv6)?)
        .monitoring(
            LaunchTemplatesMonitoringRequest::builder().enabled(data.detailed_monitoring).build(),
        )
        .set_network_interfaces(Some(interfaces?))
        .capacity_reservation_specification(reservation)
        .set_instance_market_options(market)
        .set_cpu_options(data.nested_virtualization.map(to_processor))
        .enclave_options(enclaves.build())
        .placement(to_placement(data)?)
        .set_tag_specifications(Some(tags.collect()))
        .build())
}

/// An adapter without addresses has nothing that is about addresses.
fn to_interface(
    data: &LaunchTemplateData,
    one: Interface,
) -> Result<LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, PortError> {
    let groups = data.security_groups.iter().map(ToString::to_string).collect();
    let card = one.card.map(|card| to_i32("networkCardIndex", card)).transpose()?;
    let interface = LaunchTemplateInstanceNetworkInterfaceSpecificationRequest::builder()
        .set_network_card_index(card)
        .device_index(to_i32("deviceIndex", one.device)?)
        .set_interface_type(one.kind.map(|kind| kind.as_str().to_owned()))
        .set_groups(Some(groups));
    if one.kind == Some(InterfaceKind::EfaOnly) {
        return Ok(interface.build());
    }
    let interface = interface
        .set_associate_public_ip_address(data.associate_public_ip_address)
        .set_connection_tracking_specification(
            data.connection_tracking.map(to_tracking).transpose()?,
        );
    let prefixes = data.ip_prefix_count.map(|count| to_i32("ipPrefixCount", count)).transpose()?;
    let interface = if data.is_ipv6 {
        interface.primary_ipv6(true).ipv6_address_count(1).set_ipv6_prefix_count(prefixes)
    } else {
        interface.set_ipv4_prefix_count(prefixes)
    };
    Ok(interface.build())
}

fn to_tracking(
    tracking: ConnectionTracking,
) -> Result<ConnectionTrackingSpecificationRequest, PortError> {
    let seconds = |field: &str, value: Option<u32>| {
        value.map(|seconds| to_i32(&format!("connectionTracking.{field}"), seconds)).transpose()
    };
    let tcp = seconds("tcpEstablishedTimeout", tracking.tcp_established_seconds)?;
    Ok(ConnectionTrackingSpecificationRequest::builder()
        .set_tcp_established_timeout(tcp)
        .set_udp_stream_timeout(seconds("udpStreamTimeout", tracking.udp_stream_seconds)?)
        .set_udp_timeout(seconds("udpTimeout", tracking.udp_seconds)?)
        .build())
}

fn to_processor(has_nested_virtualization: bool) -> LaunchTemplateCpuOptionsRequest {
    let state = if has_nested_virtualization { "enabled" } else { "disabled" };
    LaunchTemplateCpuOptionsRequest::builder()
        .nested_virtualization(NestedVirtualizationSpecification::from(state))
        .build()
}

fn to_placement(data: &LaunchTemplateData) -> Result<LaunchTemplatePlacementRequest, PortError> {
    let group = data.placement_group.as_ref();
    let partition = group
        .and_then(|group| group.partition)
        .map(|number| to_i32("partitionNumber", number))
        .transpose()?;
    Ok(LaunchTemplatePlacementRequest::builder()
        .tenancy(Tenancy::from(data.tenancy.as_str()))
        .set_group_id(group.map(|group| group.group.to_string()))
        .set_partition_number(partition)
        .build())
}

/// Into `target` and nowhere else; without one into none: instances must not fall into open
/// reservations that were bought for something else.
fn to_reservation(
    target: Option<&ReservationTarget>,
) -> (
    LaunchTemplateCapacityReservationSpecificationRequest,
    Option<LaunchTemplateInstanceMarketOptionsRequest>,
) {
    let specification = LaunchTemplateCapacityReservationSpecificationRequest::builder();
    let Some(target) = target else {
        let none = specification
            .capacity_reservation_preference(CapacityReservationPreference::None)
            .build();
        return (none, None);
    };
    let capacity_reservation_target =
        CapacityReservationTarget::builder().capacity_reservation_id(target.id.as_str()).build();
    let only = CapacityReservationPreference::CapacityReservationsOnly;
    let specification = specification
        .capacity_reservation_preference(only)
        .capacity_reservation_target(capacity_reservation_target)
        .build();
    let market = match target.market {
        ReservationMarket::OnDemand => None,
        ReservationMarket::CapacityBlock => Some(MarketType::CapacityBlock),
        ReservationMarket::Interruptible => Some(MarketType::InterruptibleCapacityReservation),
    };
    let options = LaunchTemplateInstanceMarketOptionsRequest::builder();
    (specification, market.map(|market| options.market_type(market).build()))
}

fn to_metadata(
    options: &MetadataOptions,
    sends_ipv6: bool,
) -> Result<LaunchTemplateInstanceMetadataOptionsRequest, PortError> {
    type Endpoint = LaunchTemplateInstanceMetadataEndpointState;
    type Ipv6 = LaunchTemplateInstanceMetadataProtocolIpv6;
    type Tokens = LaunchTemplateHttpTokensState;
    let hops = to_i32("httpPutResponseHopLimit", options.http_put_response_hop_limit)?;
    let ipv6 = if options.http_protocol_ipv6 { Ipv6::Enabled } else { Ipv6::Disabled };
    let endpoint = if options.http_endpoint { Endpoint::Enabled } else { Endpoint::Disabled };
    let tokens = if options.http_tokens_required { Tokens::Required } else { Tokens::Optional };
    Ok(LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_endpoint(endpoint)
        .set_http_protocol_ipv6(sends_ipv6.then_some(ipv6))
        .http_put_response_hop_limit(hops)
        .http_tokens(tokens)
        // Our tag keys contain `/`, which the metadata service refuses.
        .instance_metadata_tags(LaunchTemplateInstanceMetadataTagsState::Disabled)
        .build())
}

fn to_device(device: &BlockDevice) -> Result<LaunchTemplateBlockDeviceMappingRequest, PortError> {
    let positive = |field: &str, value: Option<u32>| {
        value.filter(|value| *value > 0).map(|value| to_i32(field, value)).transpose()
    };
    let ebs = LaunchTemplateEbsBlockDeviceRequest::builder()
        .set_encrypted(device.encrypted)
        .set_delete_on_termination(device.delete_on_termination)
        .set_iops(positive("iops", device.iops)?)
        .set_throughput(positive("throughput", device.throughput)?)
        .set_volume_initialization_rate(positive(
            "volumeInitializationRate",
            device.initialization_rate,
        )?)
        .set_kms_key_id(device.kms_key_id.clone())
        .set_snapshot_id(device.snapshot_id.clone())
        .set_volume_size(device.size.map(to_gibibytes).transpose()?)
        .set_volume_type(device.volume_type.as_deref().map(VolumeType::from))
        .build();
    Ok(LaunchTemplateBlockDeviceMappingRequest::builder()
        .set_device_name(device.device_name.clone())
        .ebs(ebs)
        .build())
}

/// Whole GiB, rounded up: `200G` is 187.
fn to_gibibytes(size: Bytes) -> Result<i32, PortError> {
    i32::try_from(size.0.div_ceil(GIB))
        .map_err(|_| BadRequest::of(CREATE, format!("volumeSize: {} bytes are too many", size.0)))
}

fn to_i32(field: &str, value: u32) -> Result<i32, PortError> {
    i32::try_from(value)
        .map_err(|_| BadRequest::of(CREATE, format!("{field}: {value} is too much")))
}

#[cfg(test)]
mod tests;
