//! Requests with EC2's names, as JSON.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RequestLaunchTemplateData.html>

use std::{collections::BTreeMap, io, io::Write};

use model::{
    CapacityType,
    launch::{
        FleetOverride, FleetRequest, Interface, InterfaceKind, LaunchTemplate, LaunchTemplateData,
        ReservationMarket,
    },
    node_class::{BlockDevice, ConnectionTracking, MetadataOptions},
};
use report::format::Format;
use serde_json::{Map, Value, json};

use super::{Rendered, compare::Change};

const GIBIBYTE: u64 = 1 << 30;

/// Writes the launch as one document.
pub(super) fn write(rendered: &Rendered, format: Format, out: &mut impl Write) -> io::Result<()> {
    report::json::write(&document(rendered), format, out)
}

/// Writes what a change changes, and why nodes that run would drift.
pub(super) fn difference(
    changes: &[Change],
    drift: &[String],
    format: Format,
    out: &mut impl Write,
) -> io::Result<()> {
    let changes: Vec<Value> = changes
        .iter()
        .map(|change| json!({"path": change.path, "old": change.old, "new": change.new}))
        .collect();
    report::json::write(&json!({"changes": changes, "drift": drift}), format, out)
}

/// The launch as one value.
pub(super) fn document(rendered: &Rendered) -> Value {
    let templates = &rendered.launch.templates;
    let shown: Vec<Value> =
        templates.iter().map(|launch_template| template(rendered, launch_template)).collect();
    let mut document = json!({"launchTemplates": shown, "fleet": fleet(rendered)});
    let texts =
        [("assumed", rendered.assumptions.clone()), ("warnings", rendered.warnings.clone())];
    if let Value::Object(fields) = &mut document {
        let present = texts.into_iter().filter(|(_, texts)| !texts.is_empty());
        fields.extend(present.map(|(key, texts)| (key.to_owned(), json!(texts))));
    }
    document
}

/// The instance types that `template` is for.
pub(super) fn types_of(request: &FleetRequest, template: &LaunchTemplate) -> Vec<String> {
    let configs = request.templates.iter().filter(|config| config.template == template.name);
    let overrides = configs.flat_map(|config| &config.overrides);
    let mut names: Vec<String> =
        overrides.map(|fleet_override| fleet_override.instance_type.to_string()).collect();
    names.sort();
    names.dedup();
    names
}

fn template(rendered: &Rendered, template: &LaunchTemplate) -> Value {
    let data = &template.data;
    let mut tags = Map::new();
    tags.insert("launch-template".to_owned(), json!(template.tags));
    tags.insert("network-interface".to_owned(), json!(data.tags));
    if data.is_spot {
        tags.insert("spot-instances-request".to_owned(), json!(data.tags));
    }
    json!({
        "name": template.name.as_str(),
        "imageId": data.image.as_str(),
        "instanceTypes": types_of(&rendered.launch.request, template),
        "userData": data.user_data,
        "data": launch_template_data(data, rendered.settings.reserved_capacity),
        "tags": tags,
    })
}

/// `data` as RequestLaunchTemplateData, without user data and tags.
pub(super) fn launch_template_data(data: &LaunchTemplateData, knows_reservations: bool) -> Value {
    let mut document = json!({
        "ImageId": data.image.as_str(),
        "IamInstanceProfile": {"Name": data.instance_profile},
        "MetadataOptions":
            metadata_options(&data.metadata_options, data.sends_http_protocol_ipv6),
        "Monitoring": {"Enabled": data.detailed_monitoring},
        "NetworkInterfaces":
            data.interfaces.iter().map(|card| interface(data, *card)).collect::<Vec<_>>(),
        "Placement": placement(data),
        "EnclaveOptions": {"Enabled": data.runs_enclaves},
    });
    let mut put = |key: &str, value: Value| {
        if let Some(map) = document.as_object_mut() {
            map.insert(key.to_owned(), value);
        }
    };
    if !data.block_devices.is_empty() {
        let devices: Vec<Value> = data.block_devices.iter().map(block_device).collect();
        put("BlockDeviceMappings", Value::Array(devices));
    }
    if let Some(is_enabled) = data.nested_virtualization {
        let state = if is_enabled { "enabled" } else { "disabled" };
        put("CpuOptions", json!({"NestedVirtualization": state}));
    }
    match &data.reservation {
        Some(target) => {
            put(
                "CapacityReservationSpecification",
                json!({
                    "CapacityReservationPreference": "capacity-reservations-only",
                    "CapacityReservationTarget": {"CapacityReservationId": target.id.as_str()},
                }),
            );
            let market = match target.market {
                ReservationMarket::OnDemand => None,
                ReservationMarket::CapacityBlock => Some("capacity-block"),
                ReservationMarket::Interruptible => Some("interruptible-capacity-reservation"),
            };
            if let Some(market) = market {
                put("InstanceMarketOptions", json!({"MarketType": market}));
            }
        }
        None if knows_reservations => {
            put(
                "CapacityReservationSpecification",
                json!({"CapacityReservationPreference": "none"}),
            );
        }
        None => {}
    }
    document
}

/// The fields that are there.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let there = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(there.collect())
}

fn metadata_options(options: &MetadataOptions, sends_ipv6: bool) -> Value {
    let state = |is_enabled: bool| if is_enabled { "enabled" } else { "disabled" };
    object([
        ("HttpEndpoint", Some(json!(state(options.http_endpoint)))),
        ("HttpProtocolIpv6", sends_ipv6.then(|| json!(state(options.http_protocol_ipv6)))),
        ("HttpPutResponseHopLimit", Some(json!(options.http_put_response_hop_limit))),
        (
            "HttpTokens",
            Some(json!(if options.http_tokens_required { "required" } else { "optional" })),
        ),
        ("InstanceMetadataTags", Some(json!("disabled"))),
    ])
}

fn interface(data: &LaunchTemplateData, one: Interface) -> Value {
    // Adapters without addresses have nothing else.
    let has_addresses = one.kind != Some(InterfaceKind::EfaOnly);
    let groups: Vec<&str> =
        data.security_groups.iter().map(model::SecurityGroupId::as_str).collect();
    let prefixes = data.ip_prefix_count.filter(|_| has_addresses).map(|count| json!(count));
    let (v4, v6) = if data.is_ipv6 { (None, prefixes) } else { (prefixes, None) };
    let is_ipv6 = has_addresses && data.is_ipv6;
    let public = data.associate_public_ip_address.filter(|_| has_addresses);
    let tracking = data.connection_tracking.filter(|_| has_addresses);
    object([
        ("NetworkCardIndex", one.card.map(|card| json!(card))),
        ("DeviceIndex", Some(json!(one.device))),
        ("InterfaceType", one.kind.map(|kind| json!(kind.as_str()))),
        ("Groups", Some(json!(groups))),
        ("AssociatePublicIpAddress", public.map(|is_public| json!(is_public))),
        ("Ipv4PrefixCount", v4),
        ("Ipv6PrefixCount", v6),
        ("PrimaryIpv6", is_ipv6.then_some(Value::Bool(true))),
        ("Ipv6AddressCount", is_ipv6.then(|| json!(1))),
        ("ConnectionTrackingSpecification", tracking.map(connection_tracking)),
    ])
}

fn connection_tracking(tracking: ConnectionTracking) -> Value {
    object([
        ("TcpEstablishedTimeout", tracking.tcp_established_seconds.map(|n| json!(n))),
        ("UdpStreamTimeout", tracking.udp_stream_seconds.map(|n| json!(n))),
        ("UdpTimeout", tracking.udp_seconds.map(|n| json!(n))),
    ])
}

fn placement(data: &LaunchTemplateData) -> Value {
    let group = data.placement_group.as_ref();
    object([
        ("Tenancy", Some(json!(data.tenancy))),
        ("GroupId", group.map(|placement| json!(placement.group.as_str()))),
        ("PartitionNumber", group.and_then(|placement| Some(json!(placement.partition?)))),
    ])
}

fn block_device(device: &BlockDevice) -> Value {
    let number = |value: Option<u32>| value.map(|value| json!(value));
    let text = |value: &Option<String>| value.as_ref().map(|value| json!(value));
    let ebs = object([
        ("DeleteOnTermination", device.delete_on_termination.map(|value| json!(value))),
        ("Encrypted", device.encrypted.map(|value| json!(value))),
        ("Iops", number(device.iops)),
        ("KmsKeyId", text(&device.kms_key_id)),
        ("SnapshotId", text(&device.snapshot_id)),
        ("Throughput", number(device.throughput)),
        ("VolumeInitializationRate", number(device.initialization_rate)),
        ("VolumeSize", device.size.map(|size| json!(size.0.div_ceil(GIBIBYTE)))),
        ("VolumeType", text(&device.volume_type)),
    ]);
    object([("DeviceName", text(&device.device_name)), ("Ebs", Some(ebs))])
}

fn fleet(rendered: &Rendered) -> Value {
    let request = &rendered.launch.request;
    let strategy = |name: &str| json!({"AllocationStrategy": name});
    let (target, options) = match (request.capacity_type, request.market) {
        (CapacityType::Spot, _) => {
            let name = if request.is_prioritized {
                "capacity-optimized-prioritized"
            } else {
                "price-capacity-optimized"
            };
            ("spot", Some(("spotOptions", strategy(name))))
        }
        (CapacityType::Reserved, ReservationMarket::CapacityBlock) => ("capacity-block", None),
        (CapacityType::Reserved, ReservationMarket::Interruptible) => {
            let kinds = json!({"ReservationTypes": ["interruptible-capacity-reservation"]});
            ("reserved-capacity", Some(("reservedCapacityOptions", kinds)))
        }
        (CapacityType::OnDemand | CapacityType::Reserved, _) => {
            let name = if request.is_prioritized { "prioritized" } else { "lowest-price" };
            ("on-demand", Some(("onDemandOptions", strategy(name))))
        }
    };
    let mut document = json!({
        "type": "instant",
        "targetCapacity":
            {"DefaultTargetCapacityType": target, "TotalTargetCapacity": request.count},
        "launchTemplateConfigs": configs(rendered),
        "tags": {"fleet": request.tags, "instance": request.tags, "volume": request.tags},
    });
    if let Some(map) = document.as_object_mut() {
        map.extend(options.map(|(key, value)| (key.to_owned(), value)));
        map.extend(request.context.iter().map(|text| ("context".to_owned(), json!(text))));
    }
    document
}

fn configs(rendered: &Rendered) -> Vec<Value> {
    let launch = &rendered.launch;
    let indices: BTreeMap<_, _> = launch
        .templates
        .iter()
        .enumerate()
        .map(|(index, launch_template)| (&launch_template.name, index))
        .collect();
    let configs = launch.request.templates.iter();
    configs
        .map(|config| {
            let overrides: Vec<Value> =
                config.overrides.iter().map(|choice| one_override(rendered, choice)).collect();
            match indices.get(&config.template) {
                Some(index) => json!({"launchTemplate": index, "overrides": overrides}),
                // The user's own: it is named, because what is in it is not known here.
                None => json!({
                    "launchTemplateName": config.template.as_str(),
                    "launchTemplateVersion": config.version.to_string(),
                    "overrides": overrides,
                }),
            }
        })
        .collect()
}

fn one_override(rendered: &Rendered, choice: &FleetOverride) -> Value {
    let capacity_type = rendered.launch.request.capacity_type;
    let offerings = rendered.types.get(&choice.instance_type).and_then(|instance_type| {
        let mut offerings = instance_type.offerings.iter();
        let offered = offerings.find(|offering| {
            offering.capacity_type == capacity_type && offering.zone == choice.zone
        })?;
        Some(offered.price.to_string())
    });
    let dollars = offerings.unwrap_or_else(|| choice.price.to_string());
    let priority: Option<serde_json::Number> = serde_json::from_str(&dollars).ok();
    json!({
        "instanceType": choice.instance_type.as_str(),
        "availabilityZone": choice.zone.as_str(),
        "subnetId": choice.subnet.as_str(),
        "imageId": choice.image.as_str(),
        "priority": priority,
    })
}
