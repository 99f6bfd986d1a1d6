//! EC2NodeClasses of `karpenter.k8s.aws/v1`.
//!
//! Karpenter's AWS provider: `pkg/apis/v1/ec2nodeclass.go` and the rules in its CRD. What is
//! not supported yet is among the class's `problems`, and so is what needs a gate, which is off unless it is opened.

use std::collections::BTreeMap;

use model::{
    NodeClassName, Problem,
    condition::NotReady,
    dynamic_resources::{GpuSharing, InvalidGpuSharing},
    id, labels,
    node_class::{
        BlockDevice, ClassStatus, ConnectionTracking, ImageFamily, MetadataOptions,
        NetworkInterface, NodeClass, NodeIdentity, TemplateSource,
    },
    problem::{Rule, Weight},
    quantity::Quantity,
    rollout::RolloutAnnotations,
    static_hash::NODE_CLASS,
};

use super::{
    conditions::{self, Conditions},
    cures, kubelet,
    launch_template::{self, LAUNCH_TEMPLATE},
    metadata::Metadata,
    node_pool, selector,
};
use crate::{
    document::{
        field::{Complaints, Field},
        placeholder,
        tree::Tree,
    },
    karpenter::{
        hash,
        kind::CustomKind,
        node_class::Ec2NodeClassSpec,
        node_class_parts::{
            BlockDeviceMapping, BlockDeviceSpec, ConnectionTrackingSpec, HttpTokens, InterfaceType,
            MetadataOptionsSpec, NetworkInterfaceSpec, Switch,
        },
        walk,
    },
};

/// An EC2NodeClass, with what a controller found for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClassManifest {
    /// The class.
    pub class: NodeClass,
    /// Its status; empty if it has none. What is wrong with it stands against those only who need it.
    pub status: Result<ClassStatus, Box<Problem>>,
    /// Those of its annotations that are its drift hash and the hash's version, as Karpenter wrote them.
    pub hash_annotations: BTreeMap<String, String>,
    /// Whether its status is about the present generation of its spec, which its controller has seen then.
    pub is_observed: bool,
}

/// Why no EC2NodeClass can have this name, if none can.
pub(super) fn name_rule(name: &str) -> Option<String> {
    let rule = "a name has at most 253 lower-case letters, digits, `-` and `.`";
    (!id::is_object_name(name)).then(|| format!("no EC2NodeClass can be called `{name}`: {rule}"))
}

/// Reads an EC2NodeClass; what is wrong goes to the complaints behind `object`.
pub(crate) fn read(object: &Field<'_>, complaints: &Complaints) -> Option<NodeClass> {
    placeholder::refuse(object);
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let name = metadata.as_ref().and_then(|metadata| {
        if let Some(rule) = name_rule(&metadata.name) {
            object.name().complain(rule);
        }
        node_pool::refuse_as_label(object, &metadata.name);
        NodeClassName::new(&metadata.name).ok()
    });
    let spec = fields.require("spec");
    let read = spec.as_ref().and_then(|field| {
        walk::typed::<Ec2NodeClassSpec>(field, Ec2NodeClassSpec::schema(), cures::NODE_CLASS)
    });
    fields.done();
    let (metadata, spec, read) = (metadata?, spec?, read?);
    let hash = hash::node_class(&read).ok();
    let mut class = class(name?, read, &spec)?;
    if let Some(name) = metadata.annotations.get(LAUNCH_TEMPLATE) {
        let place = object.at("metadata").at("annotations").at(LAUNCH_TEMPLATE);
        class.launch_template = launch_template::read(name, &place, &object.at("spec"));
    }
    class.is_deleting = metadata.deleted_at.is_some();
    class.hash = hash;
    class.problems = complaints.own_problems();
    let expressions = class.kubelet.expressions().into_iter();
    class.problems.extend(expressions.map(|(field, _)| Problem {
        weight: Weight::Unusable,
        field,
        rule: Rule::ExpressionsDisabled,
    }));
    class.rollout = RolloutAnnotations::among(&metadata.annotations);
    read_gpu_sharing(&metadata, &mut class);
    Some(class)
}

/// How GPUs are shared, unless that is invalid.
fn read_gpu_sharing(metadata: &Metadata, class: &mut NodeClass) {
    let Some(mode) = metadata.annotations.get(labels::NVIDIA_CONSUMABLE_CAPACITY) else { return };
    let rule = match GpuSharing::parse(mode) {
        Ok(None) => return,
        Ok(sharing) => {
            class.gpu_sharing = sharing;
            Rule::GpuSharingDisabled
        }
        Err(InvalidGpuSharing(mode)) => Rule::GpuSharingInvalid(mode),
    };
    let field = format!("metadata.annotations[{}]", labels::NVIDIA_CONSUMABLE_CAPACITY);
    class.problems.push(Problem { weight: Weight::Unusable, field, rule });
}

/// The annotations of `object` that are its drift hash and the hash's version.
pub(crate) fn hash_annotations(object: &Tree) -> BTreeMap<String, String> {
    let annotations = object.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let text = |key: &str| Some((key.to_owned(), annotations?.get(key)?.as_text()?.to_owned()));
    [NODE_CLASS.key, NODE_CLASS.version_key].into_iter().filter_map(text).collect()
}

/// Why nothing may be launched from the class `object`, by its status: a class without conditions is
/// ready.
///
/// Karpenter's AWS provider: `pkg/cloudprovider/cloudprovider.go`, `Create`: `Ready` must be true, and
/// about the present generation.
pub(crate) fn not_ready(object: &Tree) -> Option<NotReady> {
    Conditions::of(object).not_ready(conditions::generation(object))
}

/// Whether what the status of `object` says is about its present generation, by its condition `Ready`.
pub(crate) fn is_present(object: &Tree) -> bool {
    Conditions::of(object).is_about(conditions::generation(object))
}

/// Whether its controller has seen the present generation of `object`, as far as the object says both.
pub(crate) fn is_observed(object: &Tree) -> bool {
    conditions::generation(object).is_some() && is_present(object)
}

/// [`not_ready`] in a cluster, whose controller looks at every class: one without conditions is new.
pub(crate) fn not_ready_in_cluster(object: &Tree) -> Option<NotReady> {
    if Conditions::of(object).is_empty() { Some(NotReady::Unseen) } else { not_ready(object) }
}

/// Complains of a `role` or `instanceProfile` that is no name, such as its ARN: IAM and EC2 refuse the calls that name
/// it, so that the class never becomes ready.
fn refuse_unless_name(field: &Field<'_>) {
    let Some(text) = field.tree().as_text().filter(|text| text.contains([':', '/'])) else {
        return;
    };
    let name = text.rsplit(['/', ':']).next().unwrap_or_default();
    let what = if text.starts_with("arn:") { "an ARN" } else { "a path" };
    field.complain_unusable(format!("`{text}` is {what}, not a name: write `{name}`"));
}

/// The class that `spec` means, which stands at `field` and breaks no rule of its schema.
fn class(name: NodeClassName, spec: Ec2NodeClassSpec, field: &Field<'_>) -> Option<NodeClass> {
    let image_terms = selector::images(spec.ami_selector_terms, &field.at("amiSelectorTerms"));
    let image_family = match spec.ami_family {
        Some(family) => family.0,
        None => image_terms.iter().find_map(selector::family_of).unwrap_or(ImageFamily::Custom),
    };
    let kubelet = field.has("kubelet").then(|| kubelet::read(&field.at("kubelet"), image_family));
    for key in ["role", "instanceProfile"] {
        refuse_unless_name(&field.at(key));
    }
    let mappings = spec.block_device_mappings.unwrap_or_default().into_iter().enumerate();
    let field_of_volumes = field.at("blockDeviceMappings");
    let block_devices = mappings.map(|(index, mapping)| {
        Some(block_device(mapping, &field_of_volumes.list()?.get(index)?.at("ebs")))
    });
    Some(NodeClass {
        name,
        subnet_terms: selector::subnets(spec.subnet_selector_terms),
        security_group_terms: selector::security_groups(
            spec.security_group_selector_terms,
            &field.at("securityGroupSelectorTerms"),
        ),
        image_terms,
        reservation_terms: selector::reservations(
            spec.capacity_reservation_selector_terms.unwrap_or_default(),
        ),
        placement_group: spec.placement_group_selector.and_then(selector::placement_group),
        image_family,
        user_data: spec.user_data,
        identity: match (spec.role, spec.instance_profile) {
            (Some(role), _) => NodeIdentity::Role(role),
            (None, profile) => NodeIdentity::InstanceProfile(profile?),
        },
        tags: spec.tags.unwrap_or_default(),
        block_devices: block_devices.collect::<Option<_>>()?,
        is_raid0: spec.instance_store_policy.is_some(),
        metadata_options: spec.metadata_options.map(MetadataOptions::from).unwrap_or_default(),
        detailed_monitoring: spec.detailed_monitoring,
        associate_public_ip_address: spec.associate_public_ip_address,
        ip_prefix_count: spec.ip_prefix_count.map(count),
        network_interfaces: spec
            .network_interfaces
            .into_iter()
            .flatten()
            .map(NetworkInterface::from)
            .collect(),
        connection_tracking: spec.connection_tracking.map(ConnectionTracking::from),
        nested_virtualization: spec
            .cpu_options
            .and_then(|options| options.nested_virtualization)
            .map(Switch::is_on),
        enclaves: spec.enclave_options.map(|options| options.enabled),
        context: spec.context,
        kubelet: kubelet.unwrap_or_default(),
        gpu_sharing: None,
        rollout: None,
        hash: None,
        launch_template: TemplateSource::Made,
        is_deleting: false,
        problems: Vec::new(),
    })
}

/// A number of which the schema says that it is not negative.
fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

/// The volume of `mapping`, whose `ebs` stands at `field`: EC2 takes no negative numbers.
fn block_device(mapping: BlockDeviceMapping, field: &Field<'_>) -> BlockDevice {
    let ebs: BlockDeviceSpec = mapping.ebs.unwrap_or_default();
    let field = field.beyond_definition();
    let number = |key: &str, number: Option<i64>| {
        number.and_then(|_| field.at(key).integer(0, i64::from(u32::MAX)))
    };
    let size = ebs.volume_size.as_deref().and_then(|text| Quantity::parse_unsigned(text).ok());
    BlockDevice {
        device_name: mapping.device_name,
        is_root: mapping.root_volume.unwrap_or_default(),
        size: size.map(Quantity::to_bytes),
        volume_type: ebs.volume_type.map(|volume_type| volume_type.as_str().to_owned()),
        encrypted: ebs.encrypted,
        delete_on_termination: ebs.delete_on_termination,
        iops: number("iops", ebs.iops),
        throughput: number("throughput", ebs.throughput),
        initialization_rate: ebs.volume_initialization_rate.map(count),
        kms_key_id: ebs.kms_key_id,
        snapshot_id: ebs.snapshot_id,
    }
}

impl From<MetadataOptionsSpec> for MetadataOptions {
    fn from(spec: MetadataOptionsSpec) -> Self {
        let default = Self::default();
        let hops = spec.http_put_response_hop_limit.and_then(|hops| u32::try_from(hops).ok());
        let tokens = spec.http_tokens.map(|tokens| tokens == HttpTokens::Required);
        Self {
            http_endpoint: spec.http_endpoint.map_or(default.http_endpoint, Switch::is_on),
            http_protocol_ipv6: spec
                .http_protocol_ipv6
                .map_or(default.http_protocol_ipv6, Switch::is_on),
            http_put_response_hop_limit: hops.unwrap_or(default.http_put_response_hop_limit),
            http_tokens_required: tokens.unwrap_or(default.http_tokens_required),
        }
    }
}

impl From<NetworkInterfaceSpec> for NetworkInterface {
    fn from(spec: NetworkInterfaceSpec) -> Self {
        Self {
            card: count(spec.network_card_index),
            device: count(spec.device_index),
            is_efa_only: spec.interface_type == InterfaceType::EfaOnly,
        }
    }
}

impl From<ConnectionTrackingSpec> for ConnectionTracking {
    fn from(spec: ConnectionTrackingSpec) -> Self {
        Self {
            tcp_established_seconds: spec.tcp_established_timeout.map(count),
            udp_stream_seconds: spec.udp_stream_timeout.map(count),
            udp_seconds: spec.udp_timeout.map(count),
        }
    }
}
