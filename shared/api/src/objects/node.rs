//! Nodes.

use jiff::Timestamp;
use model::{ConditionKind, NodeName, ProviderId, Resources, node::Node};

use super::{conditions::Conditions, container, metadata::Metadata, requirement};
use crate::document::{field::Field, tree};

/// Reads a Node. Without a creation time it is as old as can be.
pub(crate) fn read(object: &Field<'_>) -> Option<Node> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let mut provider_id = None;
    let mut taints = Vec::new();
    if let Some(mut spec) = fields.get("spec").and_then(|field| field.fields()) {
        spec.ignore(&["podCIDR", "podCIDRs", "unschedulable", "externalID", "configSource"]);
        provider_id = spec.get("providerID").and_then(|f| f.text()).filter(|text| !text.is_empty());
        taints = requirement::taints(spec.get("taints").as_ref());
        spec.done();
    }
    let conditions = Conditions::of(object.tree());
    let is_ready = conditions.is_true(ConditionKind::Ready);
    let status = fields.get("status").map(|field| read_status(&field)).unwrap_or_default();
    fields.done();
    let metadata = metadata?;
    Some(Node {
        name: object.name().accept(NodeName::new(&metadata.name))?,
        provider_id: provider_id.and_then(|text| ProviderId::new(text).ok()),
        created_at: metadata.created_at.unwrap_or(Timestamp::UNIX_EPOCH),
        is_deleting: metadata.deleted_at.is_some(),
        annotations: metadata.node_annotations(),
        labels: metadata.labels,
        finalizers: metadata.finalizers,
        taints,
        capacity: status.capacity,
        allocatable: status.allocatable,
        is_ready,
        boot_id: status.boot_id,
        ill_conditions: conditions.of_ill_node(),
    })
}

/// `spec.providerID` of a Node that cannot be read.
pub(crate) fn read_provider_id(text: &str) -> Option<ProviderId> {
    let tree = tree::parse_json(text).ok()?;
    ProviderId::new(tree.get("spec")?.get("providerID")?.as_text()?).ok()
}

#[derive(Default)]
struct Status {
    capacity: Resources,
    allocatable: Resources,
    boot_id: String,
}

fn read_status(field: &Field<'_>) -> Status {
    let Some(mut fields) = field.fields() else { return Status::default() };
    let mut resources = |key: &'static str| {
        let amounts = fields.get(key).and_then(|field| container::amounts(&field));
        container::resources_of(&amounts.unwrap_or_default())
    };
    let (capacity, allocatable) = (resources("capacity"), resources("allocatable"));
    let info = fields.get("nodeInfo");
    let boot_id = info
        .and_then(|info| Some(info.fields()?.get("bootID")?.text()?.to_owned()))
        .unwrap_or_default();
    Status { capacity, allocatable, boot_id }
}
