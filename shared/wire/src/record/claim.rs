//! A NodeClaim as it is stored.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    BatchId, CapacityType, ClaimPhase, DeletionReason, ImageId, InstanceId, InstanceTypeName,
    NodeClaim, NodeClaimName, NodeClassName, NodeName, NodePoolName, Zone,
    claim::{
        ClaimConditions, ClaimMessage, Deletion, Disrupting, LaunchedInstance, Reboot, VolumeState,
        VolumesDetached,
    },
    disruption::DisruptionReason,
    duration,
};
use serde::{Deserialize, Serialize};

use super::parts::{self, RequirementV1, ResourcesV1, TaintV1};

/// Version 1 of a stored NodeClaim. Amounts are in base units, prices in nano-dollars per hour,
/// durations in Go's notation, times in RFC 3339. That visits failed is not part of it: see
/// [`super::encode_retry`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClaimRecordV1 {
    v: u32,
    name: String,
    version: u64,
    node_pool: String,
    node_class: String,
    batch: String,
    batch_index: u32,
    batch_size: u32,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    requirements: Vec<RequirementV1>,
    instance_types: Vec<String>,
    requests: ResourcesV1,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pods: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    taints: Vec<TaintV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    startup_taints: Vec<TaintV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expire_after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    termination_grace_period: Option<String>,
    phase: String,
    phase_since: Timestamp,
    capacity: ResourcesV1,
    allocatable: ResourcesV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<InstanceV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    empty_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "ConditionsV1::is_default")]
    conditions: ConditionsV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deletion: Option<DeletionV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct InstanceV1 {
    id: String,
    instance_type: String,
    zone: String,
    capacity_type: String,
    price: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    launched_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
struct DeletionV1 {
    reason: String,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Timestamp>,
}

/// Absent in records that were written before it was there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
struct ConditionsV1 {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_pod_event_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initialized_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_consolidatable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drifted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drifted_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drained_since: Option<Timestamp>,
    /// Earlier releases say no more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_instance_terminating: bool,
    /// Absent where it is as long as the claim is in its phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_terminating_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volumes: Option<VolumesV1>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consolidatable_since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inconsistent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disruption: Option<DisruptingV1>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reboots: Vec<RebootV1>,
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_into_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct RebootV1 {
    requested_at: Timestamp,
    boot_id: String,
    drained_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issued_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
}

impl From<&Reboot> for RebootV1 {
    fn from(reboot: &Reboot) -> Self {
        let Reboot { requested_at, boot_id, drained_at, issued_at, ended_at } = reboot.clone();
        Self { requested_at, boot_id, drained_at, issued_at, ended_at }
    }
}

impl From<RebootV1> for Reboot {
    fn from(stored: RebootV1) -> Self {
        let RebootV1 { requested_at, boot_id, drained_at, issued_at, ended_at } = stored;
        Self { requested_at, boot_id, drained_at, issued_at, ended_at }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct DisruptingV1 {
    reason: String,
    since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct VolumesV1 {
    state: String,
    since: Timestamp,
}

impl ConditionsV1 {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl ClaimRecordV1 {
    pub(super) fn of(claim: &NodeClaim) -> Self {
        // Every field is named, so that a new one cannot be forgotten here.
        let NodeClaim {
            name,
            version,
            node_pool,
            node_class,
            batch,
            batch_index,
            batch_size,
            created_at,
            labels,
            annotations,
            requirements,
            instance_types,
            requests,
            pods,
            taints,
            startup_taints,
            expire_after,
            termination_grace_period,
            phase,
            phase_since,
            capacity,
            allocatable,
            requested_at,
            instance,
            node,
            empty_since,
            conditions,
            deletion,
            message,
            retry: _,
            not_understood: _,
        } = claim;
        Self {
            v: super::VERSION,
            name: name.to_string(),
            version: *version,
            node_pool: node_pool.to_string(),
            node_class: node_class.to_string(),
            batch: batch.to_string(),
            batch_index: *batch_index,
            batch_size: *batch_size,
            created_at: *created_at,
            labels: labels.clone(),
            annotations: annotations.clone(),
            requirements: parts::of_requirements(requirements),
            instance_types: parts::texts(instance_types),
            requests: parts::of_resources(requests),
            pods: parts::texts(pods),
            taints: parts::of_taints(taints),
            startup_taints: parts::of_taints(startup_taints),
            expire_after: expire_after.map(duration::format_go),
            termination_grace_period: termination_grace_period.map(duration::format_go),
            phase: phase.code().to_owned(),
            phase_since: *phase_since,
            capacity: parts::of_resources(capacity),
            allocatable: parts::of_resources(allocatable),
            requested_at: *requested_at,
            instance: instance.as_ref().map(InstanceV1::of),
            node: node.as_ref().map(ToString::to_string),
            empty_since: *empty_since,
            conditions: ConditionsV1::of(conditions, *phase_since),
            deletion: deletion.as_ref().map(|deletion| DeletionV1 {
                reason: deletion.reason.as_str().to_owned(),
                at: deletion.at,
                deadline: deletion.deadline,
            }),
            message: message.as_ref().map(ToString::to_string),
        }
    }

    pub(super) fn into_claim(self) -> Result<NodeClaim, String> {
        Ok(NodeClaim {
            name: parts::id(&self.name, NodeClaimName::new)?,
            version: self.version,
            node_pool: pool(&self.node_pool)?,
            node_class: parts::id(&self.node_class, NodeClassName::new)?,
            batch: parts::id(&self.batch, BatchId::new)?,
            batch_index: self.batch_index,
            batch_size: self.batch_size,
            created_at: self.created_at,
            labels: self.labels,
            annotations: self.annotations,
            requirements: parts::into_requirements(&self.requirements)?,
            instance_types: parts::ids(&self.instance_types, InstanceTypeName::new)?.into(),
            requests: parts::into_resources(&self.requests)?,
            pods: self.pods.iter().map(|text| parts::pod_key(text)).collect::<Result<_, _>>()?,
            taints: parts::into_taints(self.taints)?,
            startup_taints: parts::into_taints(self.startup_taints)?,
            expire_after: read_duration(self.expire_after)?,
            termination_grace_period: read_duration(self.termination_grace_period)?,
            phase: parts::known(&self.phase, "phase", ClaimPhase::of_code)?,
            phase_since: self.phase_since,
            capacity: parts::into_resources(&self.capacity)?,
            allocatable: parts::into_resources(&self.allocatable)?,
            requested_at: self.requested_at,
            instance: self.instance.map(InstanceV1::into_instance).transpose()?,
            node: self.node.map(|name| parts::id(&name, NodeName::new)).transpose()?,
            empty_since: self.empty_since,
            conditions: self.conditions.into_conditions(self.phase_since),
            deletion: self.deletion.map(DeletionV1::into_deletion),
            message: self.message.as_deref().map(ClaimMessage::parse),
            retry: None,
            not_understood: None,
        })
    }
}

/// A claim that a user made has no NodePool.
fn pool(text: &str) -> Result<NodePoolName, String> {
    if text.is_empty() { Ok(NodePoolName::none()) } else { parts::id(text, NodePoolName::new) }
}

fn read_duration(text: Option<String>) -> Result<Option<SignedDuration>, String> {
    text.map(|text| duration::parse_go(&text).map_err(|error| error.to_string())).transpose()
}

impl InstanceV1 {
    fn of(instance: &LaunchedInstance) -> Self {
        Self {
            id: instance.id.to_string(),
            instance_type: instance.instance_type.to_string(),
            zone: instance.zone.to_string(),
            capacity_type: instance.capacity_type.as_str().to_owned(),
            price: instance.price.nanos(),
            image: instance.image.as_ref().map(ToString::to_string),
            launched_at: instance.launched_at,
        }
    }

    fn into_instance(self) -> Result<LaunchedInstance, String> {
        Ok(LaunchedInstance {
            id: parts::id(&self.id, InstanceId::new)?,
            instance_type: parts::id(&self.instance_type, InstanceTypeName::new)?,
            zone: parts::id(&self.zone, Zone::new)?,
            capacity_type: parts::known(&self.capacity_type, "capacity type", CapacityType::parse)?,
            price: parts::price(self.price),
            image: self.image.map(|image| parts::id(&image, ImageId::new)).transpose()?,
            launched_at: self.launched_at,
        })
    }
}

impl ConditionsV1 {
    fn of(conditions: &ClaimConditions, phase_since: Timestamp) -> Self {
        let ClaimConditions {
            last_pod_event_at,
            initialized_at,
            is_consolidatable,
            drifted,
            drifted_since,
            drained_since,
            volumes,
            instance_terminating_since,
            consolidatable_since,
            inconsistent,
            disruption,
            reboots,
            looked_into_at,
        } = conditions;
        Self {
            last_pod_event_at: *last_pod_event_at,
            initialized_at: *initialized_at,
            is_consolidatable: *is_consolidatable,
            drifted: drifted.clone(),
            drifted_since: *drifted_since,
            drained_since: *drained_since,
            reboots: reboots.iter().map(RebootV1::from).collect(),
            looked_into_at: *looked_into_at,
            is_instance_terminating: instance_terminating_since.is_some(),
            instance_terminating_since: instance_terminating_since
                .filter(|since| *since != phase_since),
            volumes: volumes.map(|volumes| VolumesV1 {
                state: volumes.state.as_str().to_owned(),
                since: volumes.since,
            }),
            consolidatable_since: *consolidatable_since,
            inconsistent: inconsistent.clone(),
            disruption: disruption.map(|disruption| DisruptingV1 {
                reason: disruption.reason.as_str().to_owned(),
                since: disruption.since,
            }),
        }
    }

    fn into_conditions(self, phase_since: Timestamp) -> ClaimConditions {
        let is_terminating = self.is_instance_terminating.then_some(phase_since);
        ClaimConditions {
            last_pod_event_at: self.last_pod_event_at,
            initialized_at: self.initialized_at,
            is_consolidatable: self.is_consolidatable,
            drifted: self.drifted,
            drifted_since: self.drifted_since,
            drained_since: self.drained_since,
            // A state that is not known is looked at again.
            volumes: self.volumes.and_then(|volumes| {
                let state = VolumeState::parse(&volumes.state)?;
                Some(VolumesDetached { state, since: volumes.since })
            }),
            consolidatable_since: self.consolidatable_since,
            inconsistent: self.inconsistent,
            reboots: self.reboots.into_iter().map(Reboot::from).collect(),
            looked_into_at: self.looked_into_at,
            disruption: self.disruption.and_then(|disruption| {
                let known = DisruptionReason::ALL.into_iter();
                let reason = known.into_iter().find(|known| known.as_str() == disruption.reason)?;
                Some(Disrupting { reason, since: disruption.since })
            }),
            instance_terminating_since: self.instance_terminating_since.or(is_terminating),
        }
    }
}

/// The reason called `text`. The release of commit 405e221 knew two more for a claim whose node never
/// came, and another release may know others: a deleted claim stays deleted, whatever for.
fn reason(text: &str) -> DeletionReason {
    match text {
        "InsufficientCapacity" | "LaunchFailed" => DeletionReason::NotRegistered,
        _ => DeletionReason::parse(text).unwrap_or(DeletionReason::NotUnderstood),
    }
}

impl DeletionV1 {
    fn into_deletion(self) -> Deletion {
        Deletion { reason: reason(&self.reason), at: self.at, deadline: self.deadline }
    }
}
