//! One launch template: what every instance of a group of types has in common.
//!
//! Karpenter: `pkg/providers/launchtemplate/launchtemplate.go` of the AWS provider.

use std::collections::BTreeMap;

use model::{
    InstanceType, LaunchTemplateName, NodeClaim, labels,
    launch::{
        Interface, InterfaceKind, LaunchTemplate, LaunchTemplateData, PlacementGroupPlacement,
        ReservationMarket, ReservationTarget,
    },
    node_class::{
        BlockDevice, ClusterSettings, ConnectionTracking, MetadataOptions, NodeClass,
        PlacementStrategy, ResolvedNodeClass,
    },
    requirement::Value,
};

use crate::digest::Digest;

/// Regions whose EC2 refuses `HttpProtocolIpv6`.
const WITHOUT_IPV6_METADATA: [&str; 6] = [
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-isob-west-1",
    "us-isof-south-1",
    "us-isof-east-1",
];

/// The launch template with `data`, named after everything in it.
pub(crate) fn launch_template(data: LaunchTemplateData) -> LaunchTemplate {
    let name = LaunchTemplateName::of_digest(digest(&data));
    let tags = data.tags.clone();
    LaunchTemplate { name, data, tags }
}

/// Whether the cluster's addresses are IPv6: its DNS service has one.
pub(crate) fn is_ipv6(settings: &ClusterSettings) -> bool {
    settings.dns_ip.as_deref().is_some_and(|address| address.contains(':'))
}

/// Whether instances in the cluster's region may be told about IPv6 metadata.
pub(crate) fn sends_http_protocol_ipv6(settings: &ClusterSettings) -> bool {
    !WITHOUT_IPV6_METADATA.contains(&settings.region.as_str())
}

/// `default` if the claim allows it, else `dedicated`.
pub(crate) fn tenancy(claim: &NodeClaim) -> &'static str {
    let requirement = claim.requirements.get(labels::INSTANCE_TENANCY);
    let allows = |tenancy: &str| requirement.is_none_or(|requirement| requirement.has(tenancy));
    if !allows("default") && allows("dedicated") { "dedicated" } else { "default" }
}

/// The volumes of nodes of `class`: its own if it names any, else the family's. A zero is what EC2
/// chooses.
pub(crate) fn block_devices(class: &NodeClass, defaults: Vec<BlockDevice>) -> Vec<BlockDevice> {
    let chosen =
        if class.block_devices.is_empty() { defaults } else { class.block_devices.clone() };
    let sent = |device: BlockDevice| BlockDevice {
        iops: device.iops.filter(|n| *n > 0),
        throughput: device.throughput.filter(|n| *n > 0),
        ..device
    };
    chosen.into_iter().map(sent).collect()
}

/// The network interfaces of nodes of `class`: its own if it names any, else one for each of
/// `adapters`, else the one that every instance has.
pub(crate) fn interfaces(class: &NodeClass, adapters: u64) -> Vec<Interface> {
    if !class.network_interfaces.is_empty() {
        let map = class.network_interfaces.iter().map(|network_interface| Interface {
            card: Some(network_interface.card),
            device: network_interface.device,
            kind: Some(if network_interface.is_efa_only {
                InterfaceKind::EfaOnly
            } else {
                InterfaceKind::Interface
            }),
        });
        return map.collect();
    }
    let count = u32::try_from(adapters).unwrap_or(u32::MAX);
    if count == 0 {
        return vec![Interface::ONLY];
    }
    let adapter = |card: u32| Interface {
        card: Some(card),
        device: u32::from(card > 0),
        kind: Some(InterfaceKind::Efa),
    };
    (0..count).map(adapter).collect()
}

/// The partition of its placement group that a node of `claim` is in, which is of `instance_type`: the one that
/// [`placement`] names.
pub(crate) fn partition<'t>(
    claim: &NodeClaim,
    instance_type: &'t InstanceType,
) -> Option<&'t Value> {
    let key = labels::PLACEMENT_GROUP_PARTITION;
    let there = instance_type.requirements.get(key).filter(|there| !there.is_complement())?;
    let wanted = claim.requirements.get(key);
    there.values().iter().find(|number| wanted.is_none_or(|wanted| wanted.has(number)))
}

/// Where in the class's placement group nodes of `claim` go: into the partition whose number sorts
/// first, as text, of those that the claim allows.
pub(crate) fn placement(
    class: &ResolvedNodeClass,
    claim: &NodeClaim,
) -> Option<PlacementGroupPlacement> {
    let group = class.placement_group.as_ref()?;
    let partition = match group.strategy {
        PlacementStrategy::Partition { count } => {
            let wanted = claim.requirements.get(labels::PLACEMENT_GROUP_PARTITION);
            let allowed = |number: &u32| wanted.is_none_or(|w| w.has(&number.to_string()));
            (1..=count).filter(allowed).min_by_key(ToString::to_string)
        }
        PlacementStrategy::Cluster | PlacementStrategy::Spread => None,
    };
    Some(PlacementGroupPlacement { group: group.id.clone(), partition })
}

/// The labels of `claim` that its requirements give, its pool's and its class's among them: one
/// value for each listed requirement on a label of the user's own.
pub(crate) fn claim_labels(claim: &NodeClaim) -> BTreeMap<String, String> {
    let filter = claim.requirements.iter().filter(|requirement| {
        let key = requirement.key().as_str();
        !labels::is_well_known(key) && !labels::is_restricted(key) && !requirement.is_complement()
    });
    let values = filter.filter_map(|requirement| {
        Some((requirement.key().to_string(), requirement.any_value()?.to_string()))
    });
    let mut node_labels: BTreeMap<String, String> = values.collect();
    node_labels.extend(claim.labels.clone());
    node_labels.extend(claim.pool_label().map(|(key, value)| (key.to_owned(), value.to_owned())));
    node_labels.insert(labels::NODE_CLASS.to_owned(), claim.node_class.to_string());
    node_labels
}

/// Everything that makes a launch template another one. Cluster, class and pool are in the tags.
fn digest(data: &LaunchTemplateData) -> u64 {
    let LaunchTemplateData {
        image,
        user_data,
        instance_profile,
        block_devices,
        metadata_options,
        sends_http_protocol_ipv6,
        detailed_monitoring,
        interfaces,
        security_groups,
        associate_public_ip_address,
        ip_prefix_count,
        is_ipv6,
        connection_tracking,
        nested_virtualization,
        runs_enclaves,
        tenancy,
        placement_group,
        reservation,
        tags,
        is_spot,
    } = data;
    let mut digest = Digest::default();
    digest.field("image", image);
    digest.field("user data", user_data);
    digest.field("instance profile", instance_profile);
    digest.field("block devices", block_devices.len());
    for device in block_devices {
        volume(&mut digest, device);
    }
    add_metadata_options(&mut digest, metadata_options);
    digest.field("sends http protocol ipv6", sends_http_protocol_ipv6);
    digest.field("detailed monitoring", detailed_monitoring);
    digest.list("security group", security_groups.iter());
    digest.optional("public address", associate_public_ip_address.as_ref());
    digest.optional("prefix count", ip_prefix_count.as_ref());
    digest.field("ipv6", is_ipv6);
    connections(&mut digest, *connection_tracking);
    digest.optional("nested virtualization", nested_virtualization.as_ref());
    // Only where it is on: other launch templates keep the names that they had.
    if *runs_enclaves {
        digest.field("enclaves", runs_enclaves);
    }
    digest.field("tenancy", tenancy);
    placed(&mut digest, interfaces, placement_group.as_ref(), reservation.as_ref());
    digest.field("spot", is_spot);
    digest
        .list("tag", tags.iter().flat_map(|(key, value)| [key, value]).collect::<Vec<_>>().iter());
    digest.finish()
}

pub(crate) fn add_metadata_options(digest: &mut Digest, options: &MetadataOptions) {
    let MetadataOptions {
        http_endpoint,
        http_protocol_ipv6,
        http_put_response_hop_limit,
        http_tokens_required,
    } = options;
    digest.field("http endpoint", http_endpoint);
    digest.field("http protocol ipv6", http_protocol_ipv6);
    digest.field("hop limit", http_put_response_hop_limit);
    digest.field("http tokens required", http_tokens_required);
}

pub(crate) fn connections(digest: &mut Digest, tracking: Option<ConnectionTracking>) {
    let tracking = tracking.unwrap_or_default();
    digest.optional("tcp established", tracking.tcp_established_seconds);
    digest.optional("udp stream", tracking.udp_stream_seconds);
    digest.optional("udp", tracking.udp_seconds);
}

fn placed(
    digest: &mut Digest,
    interfaces: &[Interface],
    placement: Option<&PlacementGroupPlacement>,
    reservation: Option<&ReservationTarget>,
) {
    digest.field("interfaces", interfaces.len());
    for Interface { card, device, kind } in interfaces {
        digest.optional("card", *card);
        digest.field("device", device);
        digest.optional("kind", kind.map(InterfaceKind::as_str));
    }
    digest.optional("placement group", placement.map(|placement| &placement.group));
    digest.optional("partition", placement.and_then(|placement| placement.partition));
    digest.optional("reservation", reservation.map(|reservation| &reservation.id));
    let market = |reservation: &ReservationTarget| match reservation.market {
        ReservationMarket::OnDemand => "on-demand",
        ReservationMarket::CapacityBlock => "capacity-block",
        ReservationMarket::Interruptible => "interruptible",
    };
    digest.optional("market", reservation.map(market));
}

pub(crate) fn volume(digest: &mut Digest, device: &BlockDevice) {
    digest.optional("device", device.device_name.as_ref());
    digest.optional("size", device.size.map(|size| size.0));
    digest.optional("type", device.volume_type.as_ref());
    digest.optional("encrypted", device.encrypted);
    digest.optional("delete on termination", device.delete_on_termination);
    digest.optional("iops", device.iops);
    digest.optional("throughput", device.throughput);
    digest.optional("initialization rate", device.initialization_rate);
    digest.optional("kms key", device.kms_key_id.as_ref());
    digest.optional("snapshot", device.snapshot_id.as_ref());
}
