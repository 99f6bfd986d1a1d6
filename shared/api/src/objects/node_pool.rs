//! NodePools of `karpenter.sh/v1`.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`, `nodeclaim.go` and the rules in their CRDs. What the model
//! holds and nothing honors yet is among the pool's own `problems`.

use jiff::SignedDuration;
use model::{
    HourlyPrice, NodeClassName, NodePoolName,
    condition::NotReady,
    duration, id, labels,
    node_pool::{Limits, NodeClaimTemplate, NodePool, parse_share},
    policies::Packing,
    problem::Weight,
    static_hash::NODE_POOL,
};

use super::{
    amounts, conditions::Conditions, cures, disruption, metadata::Metadata, node_class, requirement,
};
use crate::{
    document::{
        field::{Complaints, Field},
        placeholder,
        tree::Tree,
    },
    karpenter::{
        common::NodeClassReference,
        hash,
        kind::CustomKind,
        node_pool::{NodePoolSpec, NodePoolTemplate, TemplateMetadata},
        pattern, walk,
    },
};

/// 720 hours.
const EXPIRE_AFTER: SignedDuration = SignedDuration::from_hours(720);

/// A pool with its drift hash among its annotations, and the line of its `nodeClassRef`: all of one typed spec.
pub(crate) struct ReadNodePool {
    pub(crate) pool: NodePool,
    pub(crate) node_class_line: u32,
}

/// Complains of a `name` of `object` that the nodes made of it cannot have as a label.
pub(super) fn refuse_as_label(object: &Field<'_>, name: &str) {
    if !id::is_label_value(name) {
        object.name().complain_unusable(pattern::not_a_label_value(name));
    }
}

/// Reads a NodePool with its drift hash, whichever its annotations say: no Karpenter may run that keeps them up to
/// date. What is wrong goes to the complaints behind `object`.
pub(crate) fn read(object: &Field<'_>, complaints: &Complaints) -> Option<ReadNodePool> {
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
    refuse_as_label(object, &metadata.name);
    let mut annotations = metadata.own_annotations();
    // The hash of the spec as it is: no Karpenter may run that keeps the annotation up to date.
    if let Some(hash) = spec.hash {
        annotations.extend(NODE_POOL.annotations(&hash.to_string()));
    }
    let pool = NodePool {
        name,
        annotations,
        weight: spec.weight,
        replicas: spec.replicas,
        limits: spec.limits,
        template: spec.template,
        disruption: spec.disruption,
        is_deleting: metadata.deleted_at.is_some(),
        problems: complaints.own_problems(),
    };
    Some(ReadNodePool { pool, node_class_line: spec.node_class_line })
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
    /// `None` where a duration is longer than the hash can hold.
    hash: Option<u64>,
}

fn read_spec(field: &Field<'_>) -> Option<Spec> {
    let spec: Option<NodePoolSpec> = walk::typed(field, NodePoolSpec::schema(), cures::NODE_POOL);
    let Some(spec) = spec else {
        check_parts(&field.at("template"));
        return None;
    };
    let hash = hash::node_pool(&spec.template).ok();
    let limits = spec.limits.map(|_| Limits(amounts::read(&field.at("limits"))));
    let (template, node_class_line) = template(spec.template, &field.at("template"))?;
    Some(Spec {
        weight: spec.weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or_default(),
        replicas: spec.replicas.and_then(|replicas| u64::try_from(replicas).ok()),
        limits: limits.unwrap_or_default(),
        template,
        disruption: match spec.disruption {
            Some(disruption) => disruption::read(disruption)?,
            None => model::node_pool::Disruption::default(),
        },
        node_class_line,
        hash,
    })
}

/// Complains of what can be read of the template of a pool that is refused for other parts.
fn check_parts(template: &Field<'_>) {
    let metadata = template.at("metadata");
    if template.has("metadata") && metadata.has("labels") {
        let labels = metadata.at("labels");
        requirement::check_labels(&labels.text_map().unwrap_or_default(), &labels);
    }
    let spec = template.at("spec");
    let has_requirements = template.has("spec") && spec.has("requirements");
    let items = spec.at("requirements").list_if_any().filter(|_| has_requirements);
    for item in items.into_iter().flatten().filter(|item| !item.has_within(Weight::Refused)) {
        if let Ok(spec) = serde_json::from_value(item.tree().to_json()) {
            let _of_no_pool = requirement::of_node_pool(&spec, &item);
        }
    }
}

/// The template of `spec`, which stands at `field`, and the line of its `nodeClassRef`.
fn template(spec: NodePoolTemplate, field: &Field<'_>) -> Option<(NodeClaimTemplate, u32)> {
    let TemplateMetadata { labels, annotations } = spec.metadata.unwrap_or_default();
    let labels = labels.unwrap_or_default();
    requirement::check_labels(&labels, &field.at("metadata").at("labels"));
    let (spec, field) = (spec.spec, field.at("spec"));
    let (node_class, node_class_line) =
        class_reference(&spec.node_class_ref, &field.at("nodeClassRef"))?;
    let items = field.at("requirements").list()?;
    let requirements = spec
        .requirements
        .iter()
        .zip(&items)
        .map(|(spec, item)| requirement::of_node_pool(spec, item))
        .collect::<Option<_>>();
    let lists = ["taints", "startupTaints"].map(|key| field.at(key));
    let [taints, startup_taints] = &lists;
    let taints = requirement::taints_of(spec.taints.unwrap_or_default(), taints);
    let startup_taints =
        requirement::taints_of(spec.startup_taints.unwrap_or_default(), startup_taints);
    requirement::check_unique(&lists);
    let template = NodeClaimTemplate {
        labels,
        annotations: annotations.unwrap_or_default(),
        node_class,
        requirements: requirements?,
        taints,
        startup_taints,
        expire_after: match spec.expire_after {
            Some(text) => duration::parse_nillable(&text).ok()?,
            None => Some(EXPIRE_AFTER),
        },
        termination_grace_period: match spec.termination_grace_period {
            Some(text) => Some(duration::parse_groups(&text).ok()?),
            None => None,
        },
    };
    Some((template, node_class_line))
}

/// The EC2NodeClass that a pool names at `field`, and the line where it does. Of a pool whose classes
/// are another provider's one thing is said, and nothing is wrong with it.
fn class_reference(
    reference: &NodeClassReference,
    field: &Field<'_>,
) -> Option<(NodeClassName, u32)> {
    let NodeClassReference { group, kind, name } = reference;
    if group != model::api_version::AWS_GROUP {
        let whose = match group.as_str() {
            "eks.amazonaws.com" => "EKS Auto Mode",
            "karpenter.kwok.sh" => "kwok",
            "karpenter.azure.com" => "the Azure provider",
            _ => "another provider",
        };
        field.complain_unusable(format!(
            "names a {kind} of {group}: the pool is left to {whose}, only those with an \
             EC2NodeClass of karpenter.k8s.aws are planned for"
        ));
    } else if kind != "EC2NodeClass" {
        let rule = format!("must be `EC2NodeClass`, not `{kind}`");
        field.at("kind").complain_unusable(rule);
    }
    let place = field.at("name");
    if let Some(rule) = node_class::name_rule(name) {
        place.complain_unusable(rule);
    }
    Some((place.accept(NodeClassName::new(name))?, field.line()))
}
