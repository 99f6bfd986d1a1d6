//! EC2NodeClasses of `karpenter.k8s.aws/v1`.
//!
//! Karpenter's AWS provider: `pkg/apis/v1/ec2nodeclass.go` and the rules in its CRD. What is
//! not supported yet is among the class's `problems`.

use std::collections::BTreeMap;

use model::{
    NodeClassName, Problem,
    condition::NotReady,
    labels,
    node_class::{
        ClassStatus, ImageFamily, MetadataOptions, NodeClass, NodeIdentity, TemplateSource,
    },
    static_hash::NodeClassHash,
};

use super::{
    block_device,
    conditions::{self, Conditions},
    cures, kubelet,
    launch_template::{self, LAUNCH_TEMPLATE},
    metadata::Metadata,
    network, selector,
};
use crate::{
    document::{
        field::{Complaints, Field, Fields},
        placeholder,
        tree::Tree,
    },
    karpenter::hash,
};

/// An EC2NodeClass, with what a controller found for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClassManifest {
    /// The class.
    pub class: NodeClass,
    /// Its status; empty if it has none. What is wrong with it stands against those only who need it.
    pub status: Result<ClassStatus, Box<Problem>>,
}

/// Reads an EC2NodeClass; what is wrong goes to the complaints behind `object`.
pub(crate) fn read(object: &Field<'_>, complaints: &Complaints) -> Option<NodeClass> {
    placeholder::refuse(object);
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let name = metadata.as_ref().and_then(|m| object.name().accept(NodeClassName::new(&m.name)));
    let class = fields.require("spec").and_then(|field| read_spec(name, &field));
    fields.done();
    let (metadata, mut class) = (metadata?, class?);
    if let Some(name) = metadata.annotations.get(LAUNCH_TEMPLATE) {
        let place = object.at("metadata").at("annotations").at(LAUNCH_TEMPLATE);
        class.launch_template = launch_template::read(name, &place, &object.at("spec"));
    }
    class.is_deleting = metadata.deleted_at.is_some();
    class.hash = hash_of(object);
    class.problems = complaints.own_problems();
    Some(class)
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

/// [`not_ready`] in a cluster, where somebody looks at every class: one without conditions is new.
pub(crate) fn not_ready_in_cluster(object: &Tree) -> Option<NotReady> {
    if Conditions::of(object).is_empty() { Some(NotReady::Unseen) } else { not_ready(object) }
}

/// Its drift hash. One that is not as its schema asks for has none.
fn hash_of(object: &Field<'_>) -> Option<NodeClassHash> {
    let spec = serde_json::from_value(object.at("spec").tree().to_json()).ok()?;
    hash::node_class(&spec).ok()
}

/// Reads `spec`. Without a name all that is wrong is said, but there is no class.
fn read_spec(name: Option<NodeClassName>, field: &Field<'_>) -> Option<NodeClass> {
    let mut fields = field.fields()?;
    let subnet_terms = fields
        .require_or("subnetSelectorTerms", "subnetSelector")
        .and_then(|f| selector::subnets(&f));
    let security_group_terms = fields
        .require_or("securityGroupSelectorTerms", "securityGroupSelector")
        .and_then(|f| selector::security_groups(&f));
    let images =
        fields.require_or("amiSelectorTerms", "amiSelector").and_then(|f| selector::images(&f));
    let family = read_family(&mut fields, images.as_ref());
    let identity = read_identity(&mut fields);
    let policy = fields.get("instanceStorePolicy");
    let is_raid0 = policy.is_some_and(|f| f.choice(&[("RAID0", true)]).unwrap_or_default());
    let text = |field: Option<Field<'_>>| field.and_then(|f| f.text()).map(ToOwned::to_owned);
    let boolean = |field: Option<Field<'_>>| field.and_then(|f| f.boolean());
    let user_data = text(fields.get("userData"));
    let context = text(fields.get("context"));
    let tags = fields.get("tags").map(|f| read_tags(&f)).unwrap_or_default();
    let metadata_options = fields.get("metadataOptions").map(|f| read_metadata_options(&f));
    let block_devices =
        fields.get("blockDeviceMappings").map(|f| block_device::read(&f)).unwrap_or_default();
    let kubelet = fields.get("kubelet").map(|f| kubelet::read(&f, family)).unwrap_or_default();
    let detailed_monitoring = boolean(fields.get("detailedMonitoring"));
    let associate_public_ip_address = boolean(fields.get("associatePublicIPAddress"));
    let ip_prefix_count =
        fields.get("ipPrefixCount").and_then(|f| f.integer::<u32>(0, i64::from(i32::MAX)));
    let reservation_terms = fields
        .get("capacityReservationSelectorTerms")
        .and_then(|f| selector::reservations(&f))
        .unwrap_or_default();
    let placement_group =
        fields.get("placementGroupSelector").and_then(|f| selector::placement_group(&f));
    let network_interfaces =
        fields.get("networkInterfaces").map(|f| network::interfaces(&f)).unwrap_or_default();
    let connection_tracking =
        fields.get("connectionTracking").and_then(|f| network::connection_tracking(&f));
    let nested_virtualization = fields.get("cpuOptions").and_then(|f| read_cpu_options(&f));
    let enclaves = fields.get("enclaveOptions").and_then(|f| read_enclave_options(&f));
    fields.done_with(cures::node_class_spec);
    Some(NodeClass {
        name: name?,
        subnet_terms: subnet_terms?,
        security_group_terms: security_group_terms?,
        image_terms: images?.terms,
        reservation_terms,
        placement_group,
        image_family: family?,
        user_data,
        identity: identity?,
        tags,
        block_devices,
        is_raid0,
        metadata_options: metadata_options.unwrap_or_default(),
        detailed_monitoring,
        associate_public_ip_address,
        ip_prefix_count,
        network_interfaces,
        connection_tracking,
        nested_virtualization,
        enclaves,
        context,
        kubelet,
        hash: None,
        launch_template: TemplateSource::Made,
        is_deleting: false,
        problems: Vec::new(),
    })
}

/// `amiFamily`, or the alias's. Without an alias it must be given; with one it must be the alias's
/// or `Custom`.
fn read_family(fields: &mut Fields<'_>, images: Option<&selector::Images>) -> Option<ImageFamily> {
    let field = fields.get("amiFamily");
    let given = match &field {
        Some(field) => {
            Some(field.choice(&ImageFamily::ALL.map(|family| (family.as_str(), family)))?)
        }
        None => None,
    };
    let alias = images?.alias_family;
    let family = match (given, alias) {
        (Some(given), Some(alias)) if given != alias && given != ImageFamily::Custom => {
            let rule = format!("must be `{}` as in the alias, or `Custom`", alias.as_str());
            if let Some(field) = field {
                field.complain(rule);
            }
            return None;
        }
        (Some(given), _) => given,
        (None, Some(alias)) => alias,
        (None, None) => {
            fields
                .missing("amiFamily")
                .complain("is required when no amiSelectorTerms has an alias");
            return None;
        }
    };
    Some(family)
}

fn read_identity(fields: &mut Fields<'_>) -> Option<NodeIdentity> {
    let (role, profile) = (fields.get("role"), fields.get("instanceProfile"));
    match (role, profile) {
        (Some(role), None) => Some(NodeIdentity::Role(role.text_not_empty()?.to_owned())),
        (None, Some(profile)) => {
            Some(NodeIdentity::InstanceProfile(profile.text_not_empty()?.to_owned()))
        }
        (Some(role), Some(_)) => {
            role.complain_with(
                "`role` and `instanceProfile` exclude each other",
                "keep `role` to have an instance profile made, or `instanceProfile` to bring one",
            );
            None
        }
        (None, None) => {
            fields.missing("role").complain("either `role` or `instanceProfile` is required");
            None
        }
    }
}

fn read_tags(field: &Field<'_>) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    for (key, value) in field.entries().unwrap_or_default() {
        if key.is_empty() {
            field.complain("must not have an empty key");
        } else if labels::is_launch_tag(key) {
            value.complain(format!("tag `{key}` is set by the launch and cannot be given"));
        } else if let Some(text) = value.text() {
            tags.insert(key.to_owned(), text.to_owned());
        }
    }
    tags
}

/// `cpuOptions`: whether nested virtualization is on.
fn read_cpu_options(field: &Field<'_>) -> Option<bool> {
    let mut fields = field.fields()?;
    let nested = fields.get("nestedVirtualization");
    fields.done();
    nested?.choice(&[("enabled", true), ("disabled", false)])
}

/// `enclaveOptions`: whether the instances may run Nitro Enclaves.
fn read_enclave_options(field: &Field<'_>) -> Option<bool> {
    let mut fields = field.fields()?;
    let enabled = fields.require("enabled");
    fields.done();
    enabled?.boolean()
}

fn read_metadata_options(field: &Field<'_>) -> MetadataOptions {
    let mut options = MetadataOptions::default();
    let Some(mut fields) = field.fields() else { return options };
    let enabled = &[("enabled", true), ("disabled", false)];
    let set = |target: &mut bool, field: Option<Field<'_>>, names: &[(&str, bool)]| {
        if let Some(value) = field.and_then(|field| field.choice(names)) {
            *target = value;
        }
    };
    set(&mut options.http_endpoint, fields.get("httpEndpoint"), enabled);
    set(&mut options.http_protocol_ipv6, fields.get("httpProtocolIPv6"), enabled);
    let tokens = &[("required", true), ("optional", false)];
    set(&mut options.http_tokens_required, fields.get("httpTokens"), tokens);
    if let Some(hops) = fields.get("httpPutResponseHopLimit").and_then(|f| f.integer(1, 64)) {
        options.http_put_response_hop_limit = hops;
    }
    fields.done();
    options
}
