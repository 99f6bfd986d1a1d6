//! Drift hashes, to the bit as Karpenter calculates them.
//!
//! A node drifts when the hash of its NodePool or EC2NodeClass is not the one that is written on its
//! NodeClaim. A cluster that is taken over has Karpenter's hashes on its claims, so ours must be the
//! same: this is `github.com/mitchellh/hashstructure/v2`, format 2, with lists as sets and zero
//! values left out, over Karpenter's Go structs with their names and in their order.
//!
//! Objects are hashed as the API server returns them, defaults filled in.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`, `NodePool.Hash`; the AWS provider's
//! `pkg/apis/v1/ec2nodeclass.go`, `EC2NodeClass.Hash`, with the kubelet as text since version `v6`.

use std::collections::BTreeMap;

use model::{
    duration,
    node_class::ImageFamily,
    static_hash::{NodeClassHash, fnv},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    common::{NodeClassReference, TaintSpec},
    node_class::Ec2NodeClassSpec,
    node_class_parts::{
        BlockDeviceMapping, BlockDeviceSpec, ConnectionTrackingSpec, CpuOptions, EnclaveOptions,
        MetadataOptionsSpec, NetworkInterfaceSpec, PlacementGroupSelector,
    },
    node_pool::{NodeClaimTemplateSpec, NodePoolTemplate, TemplateMetadata},
};

/// Why an object has no hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A field does not hold what its schema asks for.
    #[error("{field}: `{text}` {rule}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What it holds.
        text: String,
        /// What is wrong with it.
        rule: String,
    },
}

/// The hash of a NodePool: of its template without requirements.
pub fn node_pool(template: &NodePoolTemplate) -> Result<u64, Error> {
    let NodePoolTemplate { metadata, spec } = template;
    let metadata = metadata.as_ref().filter(|metadata| **metadata != TemplateMetadata::default());
    let mut structure = Struct::new("NodeClaimTemplate");
    structure.field("ObjectMeta", metadata.map(object_meta));
    structure.field("Spec", Some(template_spec(spec)?));
    Ok(structure.hash)
}

fn object_meta(metadata: &TemplateMetadata) -> u64 {
    let TemplateMetadata { labels, annotations } = metadata;
    let mut structure = Struct::new("ObjectMeta");
    structure.field("Labels", labels.as_ref().map(text_map));
    structure.field("Annotations", annotations.as_ref().map(text_map));
    structure.hash
}

fn template_spec(spec: &NodeClaimTemplateSpec) -> Result<u64, Error> {
    let NodeClaimTemplateSpec {
        taints,
        startup_taints,
        requirements: _, // A node whose labels do not meet them drifts by that.
        node_class_ref,
        termination_grace_period,
        expire_after,
    } = spec;
    let of_taints = |taints: &Option<Vec<TaintSpec>>| {
        taints.as_ref().map(|listed| set(listed.iter().map(taint)))
    };
    let grace = match termination_grace_period {
        Some(text) => {
            let parsed = nanoseconds("spec.template.spec.terminationGracePeriod", text)?;
            let mut inner = Struct::new("Duration");
            inner.field("Duration", (parsed != 0).then(|| integer(parsed)));
            Some(inner.hash)
        }
        None => None,
    };
    let expire_after = match expire_after.as_deref() {
        None | Some("Never") => None,
        Some(text) => {
            let parsed = nanoseconds("spec.template.spec.expireAfter", text)?;
            let mut inner = Struct::new("NillableDuration");
            inner.field("Duration", Some(integer(parsed)));
            Some(inner.hash)
        }
    };
    let mut structure = Struct::new("NodeClaimTemplateSpec");
    structure.field("Taints", of_taints(taints));
    structure.field("StartupTaints", of_taints(startup_taints));
    structure.field("NodeClassRef", Some(node_class_reference(node_class_ref)));
    structure.field("TerminationGracePeriod", grace);
    structure.field("ExpireAfter", expire_after);
    Ok(structure.hash)
}

fn nanoseconds(field: &'static str, written: &str) -> Result<i64, Error> {
    let invalid = |rule: String| Error::Invalid { field, text: written.to_owned(), rule };
    let parsed = duration::parse_go(written).map_err(|error| invalid(error.to_string()))?;
    i64::try_from(parsed.as_nanos()).map_err(|_| invalid("is too long".to_owned()))
}

/// `timeAdded` is the API server's, not the user's; no template has it.
fn taint(taint: &TaintSpec) -> u64 {
    let TaintSpec { key, value, effect, time_added: _ } = taint;
    let mut structure = Struct::new("Taint");
    structure.field("Key", not_empty(key));
    structure.field("Value", value.as_deref().and_then(not_empty));
    structure.field("Effect", Some(text(effect.as_str())));
    structure.hash
}

fn node_class_reference(reference: &NodeClassReference) -> u64 {
    let NodeClassReference { group, kind, name } = reference;
    let mut structure = Struct::new("NodeClassReference");
    structure.field("Kind", not_empty(kind));
    structure.field("Name", not_empty(name));
    structure.field("Group", not_empty(group));
    structure.hash
}

/// The hash of an EC2NodeClass: of what its instances are launched with, but for what selectors
/// select and for what they are given to trust the cluster by.
pub fn node_class(spec: &Ec2NodeClassSpec) -> Result<NodeClassHash, Error> {
    let kubelet = spec.kubelet.as_ref().filter(|kubelet| !kubelet.is_empty());
    // `Map` is sorted by key, as Go writes maps.
    let kubelet = kubelet.map_or_else(|| "null".to_owned(), go_json);
    Ok(NodeClassHash(set([node_class_spec(spec)?, text(ami_family(spec)), text(&kubelet)])))
}

/// JSON as Go writes it: `<`, `>`, `&` and two line separators are escaped.
fn go_json(map: &serde_json::Map<String, Value>) -> String {
    let plain = Value::Object(map.clone()).to_string();
    let mut escaped = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// `amiFamily`, else that of the alias, else `Custom`.
fn ami_family(spec: &Ec2NodeClassSpec) -> &'static str {
    if let Some(family) = spec.ami_family {
        return family.0.as_str();
    }
    let alias = spec.ami_selector_terms.iter().find_map(|term| term.alias.as_deref());
    let family = alias.and_then(|alias| alias.split('@').next());
    family.and_then(ImageFamily::parse_alias).unwrap_or(ImageFamily::Custom).as_str()
}

fn node_class_spec(spec: &Ec2NodeClassSpec) -> Result<u64, Error> {
    let Ec2NodeClassSpec {
        // What they select is compared by itself, from the status.
        subnet_selector_terms: _,
        security_group_selector_terms: _,
        capacity_reservation_selector_terms: _,
        ip_prefix_count: _,
        ami_selector_terms: _,
        // Hashed beside the spec.
        ami_family: _,
        kubelet: _,
        placement_group_selector,
        associate_public_ip_address,
        user_data,
        role,
        instance_profile,
        tags,
        block_device_mappings,
        instance_store_policy,
        network_interfaces,
        detailed_monitoring,
        metadata_options,
        connection_tracking,
        context,
        cpu_options,
        enclave_options,
    } = spec;
    let volumes = block_device_mappings.as_ref().map(|block_device_mappings| {
        block_device_mappings
            .iter()
            .map(block_device_mapping)
            .collect::<Result<Vec<_>, _>>()
            .map(set)
    });
    let mut structure = Struct::new("EC2NodeClassSpec");
    structure
        .field("PlacementGroupSelector", placement_group_selector.as_ref().map(placement_group));
    structure.field("AssociatePublicIPAddress", associate_public_ip_address.map(boolean));
    structure.field("UserData", user_data.as_deref().map(text));
    structure.field("Role", role.as_deref().and_then(not_empty));
    structure.field("InstanceProfile", instance_profile.as_deref().map(text));
    structure.field("Tags", tags.as_ref().map(text_map));
    structure.field("BlockDeviceMappings", volumes.transpose()?);
    structure.field("InstanceStorePolicy", instance_store_policy.map(named));
    let interfaces = network_interfaces.as_ref();
    structure.field(
        "NetworkInterfaces",
        interfaces.map(|network_interfaces| set(network_interfaces.iter().map(network_interface))),
    );
    structure.field("DetailedMonitoring", detailed_monitoring.map(boolean));
    structure.field("MetadataOptions", metadata_options.as_ref().map(metadata));
    structure.field("EnclaveOptions", enclave_options.map(enclaves));
    structure.field("ConnectionTracking", connection_tracking.as_ref().map(tracking));
    structure.field("Context", context.as_deref().map(text));
    structure.field("CPUOptions", cpu_options.as_ref().map(cpu));
    Ok(structure.hash)
}

fn placement_group(selector: &PlacementGroupSelector) -> u64 {
    let PlacementGroupSelector { name, id } = selector;
    let mut structure = Struct::new("PlacementGroupSelector");
    structure.field("Name", name.as_deref().map(text));
    structure.field("ID", id.as_deref().map(text));
    structure.hash
}

fn block_device_mapping(mapping: &BlockDeviceMapping) -> Result<u64, Error> {
    let BlockDeviceMapping { device_name, ebs, root_volume } = mapping;
    let mut structure = Struct::new("BlockDeviceMapping");
    structure.field("DeviceName", device_name.as_deref().map(text));
    structure.field("EBS", ebs.as_ref().map(block_device).transpose()?);
    structure.field("RootVolume", root_volume.filter(|is_root| *is_root).map(boolean));
    Ok(structure.hash)
}

fn block_device(device: &BlockDeviceSpec) -> Result<u64, Error> {
    let BlockDeviceSpec {
        delete_on_termination,
        encrypted,
        iops,
        kms_key_id,
        snapshot_id,
        throughput,
        volume_initialization_rate,
        volume_size,
        volume_type,
    } = device;
    let size = volume_size.as_deref().map(|written| {
        canonical_size(written).ok_or_else(|| Error::Invalid {
            field: "spec.blockDeviceMappings.ebs.volumeSize",
            text: written.to_owned(),
            rule: "must be a whole number of Gi, Ti, G or T".to_owned(),
        })
    });
    let mut structure = Struct::new("BlockDevice");
    structure.field("DeleteOnTermination", delete_on_termination.map(boolean));
    structure.field("Encrypted", encrypted.map(boolean));
    structure.field("IOPS", iops.map(integer));
    structure.field("KMSKeyID", kms_key_id.as_deref().map(text));
    structure.field("SnapshotID", snapshot_id.as_deref().map(text));
    structure.field("Throughput", throughput.map(integer));
    structure.field("VolumeInitializationRate", volume_initialization_rate.map(short));
    structure.field("VolumeSize", size.transpose()?.as_deref().map(text));
    structure.field("VolumeType", volume_type.map(|kind| text(kind.as_str())));
    Ok(structure.hash)
}

/// A volume's size as Go writes it back: `1024Gi` is `1Ti`, `2000G` is `2T`.
pub fn canonical_size(written: &str) -> Option<String> {
    let (number, units, base) = [("Gi", 1024, ["Ti", "Pi", "Ei"]), ("G", 1000, ["T", "P", "E"])]
        .into_iter()
        .find_map(|(least, base, larger)| {
            let units = [least, larger[0], larger[1], larger[2]];
            let place = units.iter().position(|unit| written.ends_with(unit))?;
            let number = written.strip_suffix(units.get(place)?)?.parse::<u64>().ok()?;
            Some((number, units.into_iter().skip(place), base))
        })?;
    let mut number = number;
    let mut units = units.peekable();
    let mut unit = units.next()?;
    while number > 0 && number % base == 0 {
        let Some(larger) = units.next() else { break };
        (number, unit) = (number / base, larger);
    }
    Some(if number == 0 { "0".to_owned() } else { format!("{number}{unit}") })
}

fn network_interface(interface: &NetworkInterfaceSpec) -> u64 {
    let NetworkInterfaceSpec { network_card_index, device_index, interface_type } = interface;
    let mut structure = Struct::new("NetworkInterface");
    let not_zero = |number: i32| (number != 0).then(|| short(number));
    structure.field("NetworkCardIndex", not_zero(*network_card_index));
    structure.field("DeviceIndex", not_zero(*device_index));
    structure.field("InterfaceType", Some(named(interface_type)));
    structure.hash
}

fn metadata(options: &MetadataOptionsSpec) -> u64 {
    let MetadataOptionsSpec {
        http_endpoint,
        http_protocol_ipv6,
        http_put_response_hop_limit,
        http_tokens,
    } = options;
    let mut structure = Struct::new("MetadataOptions");
    structure.field("HTTPEndpoint", http_endpoint.map(named));
    structure.field("HTTPProtocolIPv6", http_protocol_ipv6.map(named));
    structure.field("HTTPPutResponseHopLimit", http_put_response_hop_limit.map(integer));
    structure.field("HTTPTokens", http_tokens.map(named));
    structure.hash
}

fn tracking(timeouts: &ConnectionTrackingSpec) -> u64 {
    let ConnectionTrackingSpec { tcp_established_timeout, udp_stream_timeout, udp_timeout } =
        timeouts;
    let mut structure = Struct::new("ConnectionTracking");
    structure.field("TCPEstablishedTimeout", tcp_established_timeout.map(short));
    structure.field("UDPStreamTimeout", udp_stream_timeout.map(short));
    structure.field("UDPTimeout", udp_timeout.map(short));
    structure.hash
}

fn cpu(options: &CpuOptions) -> u64 {
    let CpuOptions { nested_virtualization } = options;
    let mut structure = Struct::new("CPUOptions");
    structure.field("NestedVirtualization", nested_virtualization.map(named));
    structure.hash
}

fn enclaves(options: EnclaveOptions) -> u64 {
    let EnclaveOptions { enabled } = options;
    let mut structure = Struct::new("EnclaveOptions");
    structure.field("Enabled", enabled.then(|| boolean(true)));
    structure.hash
}

/// A Go struct: its name, then each field that is not zero, sealed one by one.
struct Struct {
    hash: u64,
}

impl Struct {
    fn new(name: &str) -> Self {
        Self { hash: text(name) }
    }

    /// Adds a field; `None` is Go's zero value, which does not count.
    fn field(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.hash = seal(self.hash ^ pair(text(name), value));
        }
    }
}

fn text(value: &str) -> u64 {
    fnv(value.bytes())
}

fn not_empty(value: &str) -> Option<u64> {
    (!value.is_empty()).then(|| text(value))
}

fn boolean(value: bool) -> u64 {
    fnv([u8::from(value)])
}

fn integer(value: i64) -> u64 {
    fnv(value.to_le_bytes())
}

fn short(value: i32) -> u64 {
    fnv(value.to_le_bytes())
}

fn pair(number: u64, other: u64) -> u64 {
    fnv(number.to_le_bytes().into_iter().chain(other.to_le_bytes()))
}

fn seal(hash: u64) -> u64 {
    fnv(hash.to_le_bytes())
}

/// Lists are sets: order does not matter, and two equal items cancel out.
fn set(items: impl IntoIterator<Item = u64>) -> u64 {
    items.into_iter().fold(0, |number, item| number ^ item)
}

fn text_map(map: &BTreeMap<String, String>) -> u64 {
    seal(set(map.iter().map(|(key, value)| pair(text(key), text(value)))))
}

/// The name that a constant has in JSON.
fn named(value: impl Serialize) -> u64 {
    let name = serde_json::to_value(value).ok();
    text(name.as_ref().and_then(Value::as_str).unwrap_or_default())
}
