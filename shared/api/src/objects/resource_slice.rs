//! ResourceSlices and DeviceClasses: devices, and what selects them.
//!
//! Kubernetes: `resource.k8s.io/v1`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    NodeName, Quantity, Requirement,
    dynamic_resources::{
        AttributeValue, CounterSet, DeviceCapacity, DeviceClass, DeviceSelector, NodeSelector,
        NodeSelectorTerm, RequestPolicy, ResourcePool, ResourceSlice, SliceAccess, SliceDevice,
        ValidAmounts,
    },
};

use super::{affinity, metadata::Metadata};
use crate::document::field::{Field, Fields};

/// Reads a ResourceSlice. Taints of devices and what drivers bind late are not looked at, as in Karpenter.
pub(crate) fn read(object: &Field<'_>) -> Option<ResourceSlice> {
    let mut fields = object.fields()?;
    let owner = fields.get("metadata").and_then(|metadata| owner(&metadata));
    let metadata = Metadata::read(&mut fields);
    let mut spec = fields.require("spec").and_then(|field| field.fields())?;
    fields.done();
    let driver = spec.require("driver").and_then(|field| field.text_not_empty());
    let pool = spec.require("pool").and_then(|field| pool(&field));
    let access = access(&mut spec);
    let devices = each(spec.get("devices"), device);
    let shared_counters = each(spec.get("sharedCounters"), counter_set);
    spec.done();
    Some(ResourceSlice {
        name: metadata?.name,
        owner,
        driver: Arc::from(driver?),
        pool: pool?,
        access: access?,
        devices: devices?,
        shared_counters: shared_counters?,
    })
}

/// Reads a DeviceClass.
pub(crate) fn read_class(object: &Field<'_>) -> Option<DeviceClass> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let mut spec = fields.require("spec").and_then(|field| field.fields())?;
    fields.done();
    spec.ignore(&["config", "extendedResourceName", "managementPolicy"]);
    let selectors = selectors(spec.get("selectors"));
    spec.done();
    Some(DeviceClass { name: metadata?.name, selectors: selectors? })
}

/// `selectors` of a class or of a request.
pub(crate) fn selectors(field: Option<Field<'_>>) -> Option<Vec<DeviceSelector>> {
    each(field, |item| {
        let Some(cel) = item.fields()?.get("cel") else { return Some(DeviceSelector::Unsupported) };
        let expression = cel.fields()?.require("expression")?.text()?;
        Some(DeviceSelector::Cel(expression.to_owned()))
    })
}

/// All items of a list that may be absent; `None` if one of them cannot be read.
pub(crate) fn each<T>(
    field: Option<Field<'_>>,
    read: impl Fn(&Field<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let items = field.map_or(Some(Vec::new()), |field| field.list())?;
    let read: Vec<Option<T>> = items.iter().map(read).collect();
    read.into_iter().collect()
}

/// A map of quantities.
pub(crate) fn amounts(field: &Field<'_>) -> Option<BTreeMap<String, Quantity>> {
    let amount = |(name, field): (&str, Field<'_>)| Some((name.to_owned(), quantity(&field)?));
    field.entries()?.into_iter().map(amount).collect()
}

fn quantity(field: &Field<'_>) -> Option<Quantity> {
    field.accept(Quantity::parse(field.quantity()?))
}

/// A node selector. Of fields a node has its name alone.
pub(crate) fn node_selector(field: &Field<'_>) -> Option<NodeSelector> {
    let terms = field.fields()?.require("nodeSelectorTerms");
    Some(NodeSelector { terms: each(terms, term)? })
}

fn term(item: &Field<'_>) -> Option<NodeSelectorTerm> {
    let mut refused = Vec::new();
    let term = affinity::term(item, &mut refused)?;
    if let Some(problem) = refused.into_iter().next() {
        item.complain(problem.rule);
    }
    let names = term.match_fields.iter().map(|field| node_names(item, field));
    let names: Vec<_> = names.collect::<Option<_>>()?;
    let nodes = names.into_iter().reduce(|these, others| &these & &others);
    Some(NodeSelectorTerm { requirements: term.expressions.into_iter().collect(), nodes })
}

fn node_names(item: &Field<'_>, field: &Requirement) -> Option<BTreeSet<NodeName>> {
    let place = item.at("matchFields");
    if field.key().as_str() != "metadata.name" || field.is_complement() {
        place.complain("must say which `metadata.name` is `In` a list");
        return None;
    }
    field.values().iter().map(|name| place.accept(NodeName::new(name))).collect()
}

/// The Node that a slice belongs to.
fn owner(metadata: &Field<'_>) -> Option<NodeName> {
    let owners = metadata.fields()?.get("ownerReferences")?.list()?;
    let node = owners.iter().find(|owner| owner.text_at("kind") == Some("Node"))?;
    node.fields()?.require("name")?.parsed(NodeName::new)
}

fn pool(field: &Field<'_>) -> Option<ResourcePool> {
    let mut fields = field.fields()?;
    let name = fields.require("name").and_then(|field| field.text_not_empty());
    let mut number = |key| fields.require(key).and_then(|field| field.integer(0, i64::MAX));
    let (generation, slice_count) = (number("generation"), number("resourceSliceCount"));
    fields.done();
    Some(ResourcePool {
        name: Arc::from(name?),
        generation: generation?,
        slice_count: slice_count?,
    })
}

fn access(spec: &mut Fields<'_>) -> Option<SliceAccess> {
    let is_everywhere = spec.get("allNodes").map_or(Some(false), |field| field.boolean());
    let node = spec.get("nodeName");
    let selector = spec.get("nodeSelector");
    spec.ignore(&["perDeviceNodeSelection"]);
    Some(match (is_everywhere?, node, selector) {
        (true, _, _) => SliceAccess::AllNodes,
        (false, Some(node), _) => SliceAccess::Node(node.parsed(NodeName::new)?),
        (false, None, Some(selector)) => SliceAccess::Selector(node_selector(&selector)?),
        (false, None, None) => SliceAccess::Unsupported,
    })
}

fn device(item: &Field<'_>) -> Option<SliceDevice> {
    let mut fields = item.fields()?;
    let name = fields.require("name").and_then(|field| field.text_not_empty());
    let attributes = fields.get("attributes").map_or(Some(BTreeMap::new()), |f| attributes(&f));
    let capacity = fields.get("capacity").map_or(Some(BTreeMap::new()), |field| {
        let named = |(name, field): (&str, Field<'_>)| Some((name.to_owned(), capacity(&field)?));
        field.entries()?.into_iter().map(named).collect()
    });
    let is_shared =
        fields.get("allowMultipleAllocations").map_or(Some(false), |field| field.boolean());
    let consumed = each(fields.get("consumesCounters"), |item| {
        let mut fields = item.fields()?;
        let set = fields.require("counterSet").and_then(|field| field.text_not_empty());
        let counters = fields.require("counters").and_then(|field| counters(&field));
        Some((set?.to_owned(), counters?))
    });
    Some(SliceDevice {
        name: Arc::from(name?),
        attributes: attributes?,
        capacity: capacity?,
        allows_multiple_allocations: is_shared?,
        consumes_counters: consumed?.into_iter().collect(),
    })
}

/// Attributes with one value of a type that constraints compare; others have no value here.
fn attributes(field: &Field<'_>) -> Option<BTreeMap<String, AttributeValue>> {
    let mut attributes = BTreeMap::new();
    for (name, field) in field.entries()? {
        let mut fields = field.fields()?;
        let text = |field: Option<Field<'_>>| field.map(|field| field.text().map(str::to_owned));
        let (int, bool) = (fields.get("int"), fields.get("bool"));
        let (string, version) = (text(fields.get("string")), text(fields.get("version")));
        let int = int.map(|f| f.integer(i64::MIN, i64::MAX).map(AttributeValue::Int));
        let bool = bool.map(|field| field.boolean().map(AttributeValue::Bool));
        let string = string.map(|text| text.map(AttributeValue::String));
        let version = version.map(|text| text.map(AttributeValue::Version));
        if let Some(value) = string.or(int).or(bool).or(version) {
            attributes.insert(name.to_owned(), value?);
        }
    }
    Some(attributes)
}

fn capacity(field: &Field<'_>) -> Option<DeviceCapacity> {
    let mut fields = field.fields()?;
    let value = fields.require("value").and_then(|field| quantity(&field));
    let policy = fields.get("requestPolicy").map(|field| policy(&field));
    Some(DeviceCapacity { value: value?, policy: optional(policy)? })
}

fn policy(field: &Field<'_>) -> Option<RequestPolicy> {
    let mut fields = field.fields()?;
    let default = fields.get("default").map(|field| quantity(&field));
    let range = fields.get("validRange").map(|field| {
        let mut fields = field.fields()?;
        let min = fields.require("min").and_then(|field| quantity(&field));
        let mut amount = |key| optional(fields.get(key).map(|field| quantity(&field)));
        let (max, step) = (amount("max"), amount("step"));
        Some(ValidAmounts::Range { min: min?, max: max?, step: step? })
    });
    let values = fields.get("validValues").map(|field| each(Some(field), quantity));
    let values = optional(values)?.filter(|values| !values.is_empty()).map(ValidAmounts::Values);
    Some(RequestPolicy { default: optional(default)?, valid: optional(range)?.or(values) })
}

/// What is absent, or can be read.
#[expect(clippy::option_option, reason = "absent and unreadable are two things")]
fn optional<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |value| value.map(Some))
}

fn counter_set(item: &Field<'_>) -> Option<CounterSet> {
    let mut fields = item.fields()?;
    let name = fields.require("name").and_then(|field| field.text_not_empty());
    let counters = fields.require("counters").and_then(|field| counters(&field));
    Some(CounterSet { name: name?.to_owned(), counters: counters? })
}

fn counters(field: &Field<'_>) -> Option<BTreeMap<String, Quantity>> {
    let counter = |(name, field): (&str, Field<'_>)| {
        Some((name.to_owned(), quantity(&field.fields()?.require("value")?)?))
    };
    field.entries()?.into_iter().map(counter).collect()
}
