//! ResourceClaims: devices that pods need, and those that they got.
//!
//! Kubernetes: `resource.k8s.io/v1`.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    PodUid, Quantity,
    dynamic_resources::{
        ClaimAllocation, ClaimConsumer, DeviceAsk, DeviceConstraint, DeviceCount, DeviceId,
        DeviceRequest, RequestKind, ResourceClaim, ResourceClaimKey,
    },
};

use super::{
    claim_rules,
    metadata::Metadata,
    resource_slice::{amounts, each, node_selector, selectors},
};
use crate::document::{
    field::{Complaints, Field, Fields, Unknown},
    tree::{self, Tree},
};

/// A ResourceClaim, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimManifest {
    /// The claim.
    pub claim: ResourceClaim,
    /// Whether it was made for a pod from a ResourceClaimTemplate: a Pod controls it.
    pub is_of_pod: bool,
}

/// A ResourceClaimTemplate: what the claims that are made from it ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimTemplate {
    /// Namespace and name.
    pub key: ResourceClaimKey,
    /// All must be satisfied.
    pub requests: Vec<DeviceRequest>,
    /// What its devices must have in common.
    pub constraints: Vec<DeviceConstraint>,
}

impl ClaimTemplate {
    /// The claim called `key` that is made from it.
    pub fn claim(&self, key: ResourceClaimKey) -> ResourceClaim {
        let (requests, constraints) = (self.requests.clone(), self.constraints.clone());
        ResourceClaim { key, requests, constraints, allocation: None, reserved_for: Vec::new() }
    }
}

/// Reads a ResourceClaim with its owner.
pub(crate) fn read_manifest(object: &Field<'_>) -> Option<ClaimManifest> {
    let claim = read(object)?;
    let owner = Metadata::read(&mut object.fields()?)?.owner;
    Some(ClaimManifest { claim, is_of_pod: owner.is_some_and(|owner| owner.kind == "Pod") })
}

/// Reads a ResourceClaimTemplate.
pub(crate) fn read_template(object: &Field<'_>) -> Option<ClaimTemplate> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| {
        let mut template = field.fields()?;
        template.ignore(&["metadata"]);
        let spec = template.require("spec").and_then(|field| spec(&field));
        template.done();
        spec
    });
    fields.done();
    let (key, (requests, constraints)) = (metadata?.key(object)?, spec?);
    let key = ResourceClaimKey { namespace: key.namespace, name: key.name };
    Some(ClaimTemplate { key, requests, constraints })
}

/// `spec` of a claim: requests and constraints. What drivers are told of its devices, and who may see them, is not looked
/// at, as in Karpenter.
fn spec(field: &Field<'_>) -> Option<(Vec<DeviceRequest>, Vec<DeviceConstraint>)> {
    let mut fields = field.fields()?;
    let devices = fields.get("devices");
    fields.done();
    let Some(devices) = devices else { return Some((Vec::new(), Vec::new())) };
    let mut devices = devices.fields()?;
    devices.ignore(&["config"]);
    let (asks, common) = (devices.get("requests"), devices.get("constraints"));
    devices.done();
    let names = asks.as_ref().map(claim_rules::requests).unwrap_or_default();
    if let Some(constraints) = &common {
        claim_rules::constraints(constraints, &names);
    }
    let requests = each(asks, request);
    let constraints = each(common, constraint);
    Some((requests?, constraints?))
}

/// Reads a ResourceClaim.
pub(crate) fn read(object: &Field<'_>) -> Option<ResourceClaim> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| spec(&field));
    let mut status = fields.get("status").and_then(|field| field.fields());
    fields.done();
    let mut part = |key| status.as_mut().and_then(|status| status.get(key));
    let allocation = part("allocation").map_or(Some(None), |field| allocation(&field).map(Some));
    let reserved_for = each(part("reservedFor"), consumer);
    let (key, (requests, constraints)) = (metadata?.key(object)?, spec?);
    Some(ResourceClaim {
        key: ResourceClaimKey { namespace: key.namespace, name: key.name },
        requests,
        constraints,
        allocation: allocation?,
        reserved_for: reserved_for?,
    })
}

/// A ResourceClaim that cannot be read, with the devices that it is seen to have: they are taken for as long as it
/// is there, and its pods wait.
pub(crate) fn read_rest(text: &str) -> Option<ResourceClaim> {
    rest(&tree::parse_json(text).ok()?)
}

/// The same of an object that was parsed.
pub(crate) fn rest(tree: &Tree) -> Option<ResourceClaim> {
    let complaints = Complaints::new(Unknown::Ignored);
    let object = Field::root(tree, &complaints);
    let key = Metadata::read(&mut object.fields()?)?.key(&object)?;
    let status = object.at("status").at("allocation").at("devices").at("results");
    let results = status.list_if_any().unwrap_or_default();
    let devices: Vec<_> = results.iter().filter_map(result).collect();
    let allocation = ClaimAllocation { devices, selector: None };
    let request = DeviceRequest { name: String::new(), kind: RequestKind::Unsupported };
    Some(ResourceClaim {
        key: ResourceClaimKey { namespace: key.namespace, name: key.name },
        requests: vec![request],
        constraints: Vec::new(),
        allocation: (!allocation.devices.is_empty()).then_some(allocation),
        reserved_for: Vec::new(),
    })
}

fn request(item: &Field<'_>) -> Option<DeviceRequest> {
    let mut fields = item.fields()?;
    let name = fields.require("name").and_then(|field| field.text_not_empty());
    let alternative = |item: &Field<'_>| {
        let mut fields = item.fields()?;
        let name = fields.require("name").and_then(|field| field.text_not_empty());
        let ask = ask(&mut fields);
        fields.done();
        Some((name?.to_owned(), ask?))
    };
    let kinds = (fields.get("exactly"), fields.get("firstAvailable"));
    fields.done();
    if kinds.0.is_some() == kinds.1.is_some() {
        let rule = "needs `exactly` or `firstAvailable`, and only one of them";
        item.complain_if_written(rule);
    }
    let kind = match kinds {
        (Some(exactly), _) => {
            let mut fields = exactly.fields()?;
            fields.ignore(&["adminAccess"]);
            let ask = ask(&mut fields);
            fields.done();
            RequestKind::Exactly(ask?)
        }
        (None, Some(list)) => RequestKind::FirstAvailable(each(Some(list), alternative)?),
        (None, None) => RequestKind::Unsupported,
    };
    Some(DeviceRequest { name: name?.to_owned(), kind })
}

const MODES: &[(&str, ())] = &[("ExactCount", ()), ("All", ())];

fn ask(fields: &mut Fields<'_>) -> Option<DeviceAsk> {
    let class = fields.require("deviceClassName").and_then(|field| field.text_not_empty());
    let selectors = selectors(fields.get("selectors"));
    fields.ignore(&["tolerations"]);
    let mode = fields.get("allocationMode");
    let is_all = mode.as_ref().and_then(Field::text) == Some("All");
    if let Some(mode) = mode.filter(|mode| !mode.ignores_unknown()) {
        let _is_known = mode.choice(MODES);
    }
    let field = fields.get("count");
    let count = field.as_ref().map_or(Some(1), |f| f.integer(0, i64::from(u32::MAX)));
    if let (Some(field), Some(count)) = (&field, count) {
        match (is_all, count) {
            (true, _) => field.complain_if_written("must not be set with `allocationMode: All`"),
            (false, 0) => field.complain_if_written("must be at least 1"),
            (false, _) => {}
        }
    }
    let shares = fields.get("capacity").map_or(Some(BTreeMap::new()), |field| {
        field.fields()?.get("requests").map_or(Some(BTreeMap::new()), |field| amounts(&field))
    });
    Some(DeviceAsk {
        class: class?.to_owned(),
        selectors: selectors?,
        count: if is_all { DeviceCount::All } else { DeviceCount::Exact(count?) },
        capacity: shares?,
    })
}

fn constraint(item: &Field<'_>) -> Option<DeviceConstraint> {
    let mut fields = item.fields()?;
    let requests = fields.get("requests").map_or(Some(Vec::new()), |field| field.texts());
    let (attribute, distinct) = (fields.get("matchAttribute"), fields.get("distinctAttribute"));
    fields.done();
    let Some(attribute) = attribute else {
        let kind = if distinct.is_some() { "distinctAttribute" } else { "unknown" };
        return Some(DeviceConstraint::Unsupported(kind.to_owned()));
    };
    let requests = requests?.into_iter().map(ToOwned::to_owned).collect();
    let attribute = attribute.text_not_empty()?.to_owned();
    Some(DeviceConstraint::MatchAttribute { attribute, requests })
}

fn allocation(field: &Field<'_>) -> Option<ClaimAllocation> {
    let mut fields = field.fields()?;
    let results = fields.get("devices").map(|field| each(field.fields()?.get("results"), result));
    let selector = fields.get("nodeSelector").map(|field| node_selector(&field));
    Some(ClaimAllocation {
        devices: results.unwrap_or_else(|| Some(Vec::new()))?,
        selector: selector.map_or(Some(None), |selector| selector.map(Some))?,
    })
}

/// A device, and its share of each capacity.
type Device = (DeviceId, Option<BTreeMap<String, Quantity>>);

fn result(item: &Field<'_>) -> Option<Device> {
    let mut fields = item.fields()?;
    let mut name = |key| fields.require(key).and_then(|field| field.text_not_empty());
    let (driver, pool, device) = (name("driver"), name("pool"), name("device"));
    let consumed = fields.get("consumedCapacity").map(|field| amounts(&field));
    let id =
        DeviceId { driver: Arc::from(driver?), pool: Arc::from(pool?), device: Arc::from(device?) };
    Some((id, consumed.map_or(Some(None), |amounts| amounts.map(Some))?))
}

fn consumer(item: &Field<'_>) -> Option<ClaimConsumer> {
    let mut fields = item.fields()?;
    let uid = fields.require("uid").and_then(|field| field.parsed(PodUid::new));
    let group = fields.get("apiGroup").and_then(|field| field.text()).unwrap_or_default();
    let resource = fields.require("resource").and_then(|field| field.text());
    let is_pod = group.is_empty() && resource? == "pods";
    Some(if is_pod { ClaimConsumer::Pod(uid?) } else { ClaimConsumer::Other })
}
