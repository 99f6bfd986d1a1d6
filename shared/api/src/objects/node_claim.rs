//! NodeClaims of `karpenter.sh/v1`.
//!
//! Those that Karpenter wrote are not judged: an API server did that. Those that a user wrote are, by the definition of
//! their kind. What the ledger knows and an object does not (batch, version) is filled in with what is true of a claim by
//! itself.
//!
//! Karpenter: `pkg/apis/v1/nodeclaim.go`, `nodeclaim_status.go`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    BatchId, CapacityType, ClaimPhase, ConditionKind, DeletionReason, HourlyPrice, ImageId,
    InstanceTypeName, NodeClaim, NodeClaimName, NodeClassName, NodeName, NodePoolName, ProviderId,
    Requirement, Requirements, Resources, Zone,
    api_version::AWS_GROUP,
    claim::{ClaimConditions, Deletion, Disrupting, LaunchedInstance},
    disruption::DisruptionReason,
    duration, labels,
};

use super::{
    amounts,
    conditions::Conditions,
    container,
    metadata::{Metadata, timestamp},
    requirement,
};
use crate::{
    document::field::{Field, Fields},
    karpenter::{
        kind::CustomKind,
        node_claim::NodeClaimSpec,
        walk::{self, Hints},
        word::Words,
    },
};

/// A claim that was read.
pub(crate) enum ReadNodeClaim {
    /// One of a NodePool.
    Claim(Box<NodeClaim>),
    /// One without the label of a NodePool: a user made it.
    Standalone(Box<NodeClaim>),
    /// One of another kind of node class: its provider looks after it.
    Foreign,
}

/// Reads a NodeClaim. Without a creation time it is as old as can be.
pub(crate) fn read(object: &Field<'_>) -> Option<ReadNodeClaim> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    let spec = fields.require("spec").and_then(|field| {
        if !field.ignores_unknown() {
            let _as_defined: NodeClaimSpec =
                walk::typed(&field, NodeClaimSpec::schema(), Hints::NONE)?;
        }
        read_spec(&field)
    });
    let conditions = Conditions::of(object.tree());
    let status =
        fields.get("status").and_then(|field| read_status(&field, &conditions)).unwrap_or_default();
    fields.done();
    let (metadata, spec) = (metadata?, spec?);
    if spec.is_foreign {
        return Some(ReadNodeClaim::Foreign);
    }
    let node_pool = match metadata.labels.get(labels::NODE_POOL) {
        Some(pool) => {
            let pool_label = object.at("metadata").at("labels").at(labels::NODE_POOL);
            pool_label.accept(NodePoolName::new(pool))?
        }
        None => NodePoolName::none(),
    };
    let is_standalone = node_pool.is_none();
    let name = object.name().accept(NodeClaimName::new(&metadata.name))?;
    let created_at = metadata.created_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let (phase, phase_since) = phase(&metadata, &status, created_at);
    let instance = status.instance(&metadata, &spec, created_at);
    let is_ours =
        metadata.labels.get(labels::MANAGED_BY).is_some_and(|value| value == labels::MANAGER);
    let conditions = status.claim_conditions(is_ours, &metadata, phase_since);
    let claim = Box::new(NodeClaim {
        batch: object.name().accept(BatchId::new(name.as_str()))?,
        name,
        version: 1,
        node_pool,
        node_class: spec.node_class,
        batch_index: 0,
        batch_size: 1,
        pods: Vec::new(),
        created_at,
        annotations: metadata.claim_annotations(is_standalone),
        requirements: spec.requirements,
        instance_types: spec.instance_types.into(),
        requests: spec.requests,
        taints: spec.taints,
        startup_taints: spec.startup_taints,
        expire_after: spec.expire_after,
        termination_grace_period: spec.termination_grace_period,
        phase,
        phase_since,
        capacity: status.capacity,
        allocatable: status.allocatable,
        requested_at: instance.as_ref().map(|instance| instance.launched_at),
        instance,
        node: status.node,
        empty_since: is_ours.then(|| status.conditions.since(ConditionKind::Empty)).flatten(),
        deletion: metadata.deleted_at.map(|at| deletion(&metadata, at)),
        conditions,
        labels: metadata.labels,
        message: None,
        retry: None,
        not_understood: None,
    });
    Some(if is_standalone { ReadNodeClaim::Standalone(claim) } else { ReadNodeClaim::Claim(claim) })
}

struct Spec {
    node_class: NodeClassName,
    /// Whether its class is of a kind that is none of ours.
    is_foreign: bool,
    requirements: Requirements,
    instance_types: Vec<InstanceTypeName>,
    requests: Resources,
    taints: Vec<model::Taint>,
    startup_taints: Vec<model::Taint>,
    expire_after: Option<jiff::SignedDuration>,
    termination_grace_period: Option<jiff::SignedDuration>,
}

fn read_spec(field: &Field<'_>) -> Option<Spec> {
    let mut fields = field.fields()?;
    let mut is_foreign = false;
    let class = fields.require("nodeClassRef").and_then(|field| {
        let mut fields = field.fields()?;
        for (key, wanted) in [("group", AWS_GROUP), ("kind", "EC2NodeClass")] {
            let text = fields.get(key).and_then(|field| field.text().map(str::to_owned));
            is_foreign |= text.is_some_and(|text| text != wanted);
        }
        let name = fields.require("name")?;
        fields.done();
        name.accept(NodeClassName::new(name.text()?))
    });
    let requirements = fields.get("requirements").map(|f| requirements(&f)).unwrap_or_default();
    let types = requirements.get(labels::INSTANCE_TYPE).filter(|types| !types.is_complement());
    let names = types.into_iter().flat_map(Requirement::values);
    let spec = Spec {
        node_class: class?,
        is_foreign,
        instance_types: names.filter_map(|name| InstanceTypeName::new(name).ok()).collect(),
        requirements,
        requests: requests(&mut fields),
        taints: requirement::taints(fields.get("taints").as_ref()),
        startup_taints: requirement::taints(fields.get("startupTaints").as_ref()),
        expire_after: fields
            .get("expireAfter")
            .and_then(|field| field.parsed(duration::parse_nillable))
            .flatten(),
        termination_grace_period: fields
            .get("terminationGracePeriod")
            .and_then(|field| field.parsed(duration::parse_groups)),
    };
    fields.done();
    Some(spec)
}

fn requests(fields: &mut Fields<'_>) -> Resources {
    let resources = fields.get("resources").and_then(|field| field.fields());
    let requests = resources.and_then(|mut resources| resources.get("requests"));
    // Its instance is chosen by them.
    let amounts = requests.map(|field| amounts::read_whole(&field));
    container::resources_of(&amounts.unwrap_or_default())
}

fn requirements(field: &Field<'_>) -> Requirements {
    let mut requirements = Requirements::new();
    for item in field.list().unwrap_or_default() {
        if let Some(requirement) = one(&item) {
            requirements.add(requirement);
        }
    }
    requirements
}

fn one(item: &Field<'_>) -> Option<Requirement> {
    let mut fields = item.fields()?;
    let key = fields.require("key").and_then(|field| field.text_not_empty());
    let operator = fields.require("operator").and_then(|field| field.choice(Words::WORDS));
    let values = fields.get("values").map_or(Some(Vec::new()), |field| field.texts());
    let min_values = fields.get("minValues").and_then(|field| field.integer(0, 1_000));
    fields.done();
    let requirement = item.accept(Requirement::new(key?, operator?, values?.iter().copied()))?;
    Some(requirement.with_min_values(min_values))
}

#[derive(Default)]
struct Status {
    node: Option<NodeName>,
    provider_id: Option<ProviderId>,
    image: Option<ImageId>,
    capacity: Resources,
    allocatable: Resources,
    last_pod_event_at: Option<Timestamp>,
    conditions: Conditions,
}

fn read_status(field: &Field<'_>, conditions: &Conditions) -> Option<Status> {
    let mut fields = field.fields()?;
    let mut text = |key: &'static str| {
        fields.get(key).and_then(|field| field.text()).filter(|text| !text.is_empty())
    };
    let node = text("nodeName").and_then(|text| NodeName::new(text).ok());
    let provider_id = text("providerID").and_then(|text| ProviderId::new(text).ok());
    let image = text("imageID").and_then(|text| ImageId::new(text).ok());
    let mut resources = |key: &'static str| {
        let amounts = fields.get(key).map(|field| amounts::read(&field));
        container::resources_of(&amounts.unwrap_or_default())
    };
    let (capacity, allocatable) = (resources("capacity"), resources("allocatable"));
    let last_pod_event_at =
        fields.get("lastPodEventTime").and_then(|field| timestamp(&field.beyond_definition()));
    let conditions = conditions.clone();
    Some(Status { node, provider_id, image, capacity, allocatable, last_pod_event_at, conditions })
}

impl Status {
    /// What the claim is replaced for, where it is deleted once its replacement is there.
    fn disruption(&self) -> Option<Disrupting> {
        let kind = ConditionKind::DisruptionReason;
        let text = self.conditions.reason_if_true(kind)?;
        let reason = DisruptionReason::ALL.into_iter().find(|reason| reason.as_str() == text)?;
        Some(Disrupting { reason, since: self.conditions.since(kind)? })
    }

    /// What it says beside its phase; `is_ours` if the functions wrote the object.
    fn claim_conditions(
        &self,
        is_ours: bool,
        metadata: &Metadata,
        phase_since: Timestamp,
    ) -> ClaimConditions {
        let Self { conditions, .. } = self;
        let terminating = ConditionKind::InstanceTerminating;
        ClaimConditions {
            last_pod_event_at: self.last_pod_event_at,
            // Of our own claims the phase says it.
            initialized_at: conditions.since(ConditionKind::Initialized).filter(|_| !is_ours),
            // Our own objects never say: it is worked out.
            is_consolidatable: (!is_ours)
                .then(|| conditions.is_true(ConditionKind::Consolidatable)),
            drifted: conditions.reason_if_true(ConditionKind::Drifted),
            drifted_since: conditions.since(ConditionKind::Drifted),
            drained_since: conditions.since(ConditionKind::Drained),
            // `drain` looks when it deletes the claim.
            volumes: None,
            consolidatable_since: conditions.since(ConditionKind::Consolidatable),
            inconsistent: None,
            disruption: self.disruption().filter(|_| is_ours && metadata.deleted_at.is_none()),
            reboots: Vec::new(),
            looked_into_at: None,
            instance_terminating_since: conditions
                .is_true(terminating)
                .then(|| conditions.since(terminating).unwrap_or(phase_since)),
        }
    }

    /// The instance that the provider id names. Its type, zone and capacity type are its labels';
    /// where a label is missing, what the provider id or the requirements leave of them.
    fn instance(
        &self,
        metadata: &Metadata,
        spec: &Spec,
        created_at: Timestamp,
    ) -> Option<LaunchedInstance> {
        let provider_id = self.provider_id.as_ref()?;
        let id = provider_id.instance()?;
        let label = |key: &str| {
            let only = || spec.requirements.get(key).and_then(Requirement::single_value);
            let text = metadata.labels.get(key).map(String::as_str);
            text.or_else(|| only().map(|value| &**value))
        };
        let in_id = provider_id.as_str().split('/').rev().nth(1).filter(|zone| !zone.is_empty());
        let zone = metadata.labels.get(labels::ZONE).map(String::as_str).or(in_id);
        let instance_type = label(labels::INSTANCE_TYPE)
            .and_then(|name| InstanceTypeName::new(name).ok())
            .or_else(|| spec.instance_types.first().cloned())?;
        Some(LaunchedInstance {
            id,
            instance_type,
            zone: Zone::new(zone.or_else(|| label(labels::ZONE))?).ok()?,
            capacity_type: label(labels::CAPACITY_TYPE)
                .and_then(CapacityType::parse)
                .unwrap_or(CapacityType::OnDemand),
            price: HourlyPrice::default(),
            image: self.image.clone(),
            launched_at: self.conditions.since(ConditionKind::Launched).unwrap_or(created_at),
        })
    }
}

/// Where a claim is in its life, and since when.
fn phase(metadata: &Metadata, status: &Status, created_at: Timestamp) -> (ClaimPhase, Timestamp) {
    if let Some(at) = metadata.deleted_at {
        return (ClaimPhase::Deleting, at);
    }
    let since = |kind: ConditionKind| status.conditions.since(kind).unwrap_or(created_at);
    if status.provider_id.is_none() {
        (ClaimPhase::Created, created_at)
    } else if status.conditions.is_true(ConditionKind::Initialized) {
        (ClaimPhase::Initialized, since(ConditionKind::Initialized))
    } else if status.conditions.is_true(ConditionKind::Registered) {
        (ClaimPhase::Registered, since(ConditionKind::Registered))
    } else {
        (ClaimPhase::Launched, since(ConditionKind::Launched))
    }
}

/// The claim is being deleted. An annotation says when its instance ends at the latest.
fn deletion(metadata: &Metadata, at: Timestamp) -> Deletion {
    let annotations: &BTreeMap<String, String> = &metadata.annotations;
    let deadline =
        annotations.get(labels::TERMINATION_TIMESTAMP).and_then(|text| text.parse().ok());
    Deletion { reason: DeletionReason::NodeDeleted, at, deadline }
}
