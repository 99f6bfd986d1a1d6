//! NodePools of `karpenter.sh/v1`.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`, `nodeclaim.go` and the rules in their CRDs. What the model
//! holds and nothing honors yet is among the pool's own `problems`.

use jiff::SignedDuration;
use model::{
    HourlyPrice, NodeClassName, NodePoolName, ResourceName,
    condition::NotReady,
    duration, labels,
    node_pool::{Limits, NodeClaimTemplate, NodePool, parse_share},
    policies::Packing,
    quantity::Quantity,
    resources,
};

use super::{conditions::Conditions, cures, disruption, metadata::Metadata, requirement};
use crate::document::{
    field::{Complaints, Field, Fields},
    placeholder,
    tree::Tree,
};

/// 720 hours.
const EXPIRE_AFTER: SignedDuration = SignedDuration::from_hours(720);

/// A pool, and the line of its `nodeClassRef`.
pub(crate) struct Read {
    pub(crate) pool: NodePool,
    pub(crate) node_class_line: u32,
}

/// Reads a NodePool; what is wrong goes to the complaints behind `object`.
pub(crate) fn read(object: &Field<'_>, complaints: &Complaints) -> Option<Read> {
    placeholder::refuse(object);
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let spec = fields.require("spec").and_then(|field| read_spec(&field));
    fields.done();
    let (metadata, spec) = (metadata?, spec?);
    let packing = metadata.annotations.get(labels::PACKING);
    if packing.is_some_and(|text| Packing::parse(text).is_none()) {
        object.complain_unusable(format!(
            "annotation {} must be `karpenter` or `cheapest`",
            labels::PACKING
        ));
    }
    let share = metadata.annotations.get(labels::MAX_NODE_SHARE);
    if share.is_some_and(|text| parse_share(text).is_none()) {
        object.complain_unusable(format!(
            "annotation {} must be a whole number of per cent from 1% to 100%",
            labels::MAX_NODE_SHARE
        ));
    }
    let cap = metadata.annotations.get(labels::MAX_DOLLARS_PER_HOUR);
    if cap.is_some_and(|text| HourlyPrice::parse_dollars(text).is_err()) {
        object.complain_unusable(format!(
            "annotation {} must be a decimal number of dollars such as `12.5`",
            labels::MAX_DOLLARS_PER_HOUR
        ));
    }
    let name = object.name().accept(NodePoolName::new(&metadata.name))?;
    let pool = NodePool {
        name,
        annotations: metadata.own_annotations(),
        weight: spec.weight,
        replicas: spec.replicas,
        limits: spec.limits,
        template: spec.template,
        disruption: spec.disruption,
        is_deleting: metadata.deleted_at.is_some(),
        problems: complaints.own_problems(),
    };
    Some(Read { pool, node_class_line: spec.node_class_line })
}

/// Why the pool `object` may launch nothing, by its status: a pool without conditions is ready.
///
/// Karpenter: `pkg/controllers/provisioning/provisioner.go`, `NewScheduler`, which asks for no generation.
pub(crate) fn not_ready(object: &Tree) -> Option<NotReady> {
    Conditions::of(object).not_ready(None)
}

/// Whether the pool `object` names a class of another provider.
pub(crate) fn is_of_another_provider(object: &Tree) -> bool {
    let path = ["spec", "template", "spec", "nodeClassRef", "group"];
    let group = path.iter().try_fold(object, |tree, key| tree.get(key));
    group.and_then(Tree::as_text).is_some_and(|group| group != model::api_version::AWS_GROUP)
}

struct Spec {
    weight: u32,
    replicas: Option<u64>,
    limits: Limits,
    template: NodeClaimTemplate,
    disruption: model::node_pool::Disruption,
    node_class_line: u32,
}

fn read_spec(field: &Field<'_>) -> Option<Spec> {
    let mut fields = field.fields()?;
    let weight_field = fields.get("weight");
    let weight = weight_field.as_ref().and_then(|field| field.integer::<u32>(1, 100));
    let replicas_field = fields.get("replicas");
    let replicas = replicas_field.as_ref().and_then(|field| field.integer::<u64>(0, i64::MAX));
    let limits_field = fields.get("limits");
    let limits = limits_field.as_ref().map(read_limits).unwrap_or_default();
    let disruption = fields.get("disruption").map(|field| disruption::read(&field));
    let template = fields.require("template").and_then(|field| read_template(&field));
    if replicas_field.is_some() {
        if let Some(weight) = &weight_field {
            weight.complain("must not be set on a static pool (one with spec.replicas)");
        }
        if let Some(limits_field) = &limits_field
            && limits.0.keys().any(|name| name.as_str() != "nodes")
        {
            limits_field.complain("a static pool (one with spec.replicas) may only limit `nodes`");
        }
    }
    fields.done_with(cures::node_pool_spec);
    let (template, node_class_line) = template?;
    Some(Spec {
        weight: weight.unwrap_or_default(),
        replicas,
        limits,
        template,
        disruption: disruption.unwrap_or_default(),
        node_class_line,
    })
}

fn read_limits(field: &Field<'_>) -> Limits {
    let mut limits = Limits::default();
    for (key, value) in field.entries().unwrap_or_default() {
        let name = value.accept(ResourceName::new(key));
        let quantity =
            value.quantity().and_then(|text| value.accept(Quantity::parse_unsigned(text)));
        if let (Some(name), Some(quantity)) = (name, quantity) {
            let amount = resources::base_units(name.as_str(), quantity);
            limits.0.insert(name, amount);
        }
    }
    limits
}

fn read_template(field: &Field<'_>) -> Option<(NodeClaimTemplate, u32)> {
    let mut fields = field.fields()?;
    let mut labels = std::collections::BTreeMap::new();
    let mut annotations = std::collections::BTreeMap::new();
    if let Some(mut metadata) = fields.get("metadata").and_then(|field| field.fields()) {
        labels =
            metadata.get("labels").map(|f| requirement::template_labels(&f)).unwrap_or_default();
        annotations = metadata.get("annotations").and_then(|f| f.text_map()).unwrap_or_default();
        metadata.ignore(&["creationTimestamp"]);
        metadata.done();
    }
    let spec = fields.require("spec").and_then(|field| field.fields());
    fields.done();
    let mut spec = spec?;
    let node_class = node_class_ref(&mut spec);
    let requirements = spec.require("requirements").map(|f| requirement::of_node_pool(&f));
    let (taints_field, startup_field) = (spec.get("taints"), spec.get("startupTaints"));
    let taints = requirement::taints(taints_field.as_ref());
    let startup_taints = requirement::taints(startup_field.as_ref());
    requirement::check_unique(&[taints_field.as_ref(), startup_field.as_ref()]);
    let expire_after = match spec.get("expireAfter") {
        Some(field) => field.parsed(duration::parse_nillable),
        None => Some(Some(EXPIRE_AFTER)),
    };
    let grace = spec.get("terminationGracePeriod");
    let grace = grace.and_then(|field| field.parsed(duration::parse_groups));
    // Left over from v1beta1: an API server prunes it, and says so in a warning. So does `files`.
    spec.ignore(&["kubelet"]);
    spec.done_with(cures::template_spec);
    let (node_class, node_class_line) = node_class?;
    let template = NodeClaimTemplate {
        labels,
        annotations,
        node_class,
        requirements: requirements?,
        taints,
        startup_taints,
        expire_after: expire_after?,
        termination_grace_period: grace,
    };
    Some((template, node_class_line))
}

/// A pool whose classes are another provider's: one thing is said of it, and nothing is wrong with it.
fn of_another_provider(
    field: &Field<'_>,
    fields: &mut Fields<'_>,
    group: &str,
) -> Option<(NodeClassName, u32)> {
    let whose = match group {
        "eks.amazonaws.com" => "EKS Auto Mode",
        "karpenter.kwok.sh" => "kwok",
        "karpenter.azure.com" => "the Azure provider",
        _ => "another provider",
    };
    let kind = fields.get("kind").and_then(|kind| kind.text()).unwrap_or("class");
    let name = fields.require("name").and_then(|field| field.text_not_empty());
    field.complain_unusable(format!(
        "names a {kind} of {group}: the pool is left to {whose}, only those with an EC2NodeClass of \
         karpenter.k8s.aws are planned for"
    ));
    Some((field.accept(NodeClassName::new(name?))?, field.line()))
}

/// The EC2NodeClass that a pool names, and the line where it does.
fn node_class_ref(spec: &mut Fields<'_>) -> Option<(NodeClassName, u32)> {
    let field = spec.require("nodeClassRef")?;
    let mut fields = field.fields()?;
    let has_api_version = fields.has("apiVersion");
    let group = if has_api_version { fields.get("group") } else { fields.require("group") };
    if let Some(group) = group
        && let Some(text) = group.text_not_empty()
    {
        if text.contains('/') {
            group.complain_with("must not contain `/`", "write `karpenter.k8s.aws`");
        } else if text != model::api_version::AWS_GROUP {
            return of_another_provider(&field, &mut fields, text);
        }
    }
    if let Some(kind) = fields.require("kind")
        && let Some(text) = kind.text_not_empty()
        && text != "EC2NodeClass"
    {
        kind.complain_unusable(format!("must be `EC2NodeClass`, not `{text}`"));
    }
    let name = fields.require("name").and_then(|field| {
        let text = field.text_not_empty()?;
        field.accept(NodeClassName::new(text))
    });
    fields.done_with(cures::node_class_ref);
    Some((name?, field.line()))
}
