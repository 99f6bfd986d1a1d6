//! The members of a pod that decisions read; all others are passed over.
//!
//! What the pods of one workload share stays text as it came, so that equal texts are read once.
//! Nothing is interpreted here: [`Trimmed::write_shared`] writes the shared part as a pod of its own,
//! which the reader of manifests understands.

use std::borrow::Cow;

use super::cursor::{JsonCursor, Member};
use model::{ConditionKind, ConditionReason};

use crate::objects::metadata;

mod shared;

/// A text that is borrowed unless something in it is escaped.
pub(super) type Text<'a> = Member<'a, Cow<'a, str>>;

/// A member that stays text.
type Raw<'a> = Member<'a, ()>;

/// A pod, borrowed from its page.
#[derive(Default)]
pub(super) struct Trimmed<'a> {
    pub(super) api_version: Text<'a>,
    pub(super) kind: Text<'a>,
    metadata: Member<'a, Metadata<'a>>,
    spec: Member<'a, Spec<'a>>,
    status: Member<'a, Status<'a>>,
}

#[derive(Clone, Default)]
pub(super) struct Metadata<'a> {
    pub(super) name: Text<'a>,
    pub(super) namespace: Text<'a>,
    pub(super) uid: Text<'a>,
    pub(super) creation_timestamp: Text<'a>,
    pub(super) deletion_timestamp: Text<'a>,
    labels: Raw<'a>,
    annotations: Member<'a, Annotations<'a>>,
    pub(super) owner_references: Member<'a, Vec<Reference<'a>>>,
    /// `fieldsV1` of each: not used, but a quarter of the text.
    managed_fields: Vec<Raw<'a>>,
}

/// One of `ownerReferences`.
#[derive(Clone, Default)]
pub(super) struct Reference<'a> {
    pub(super) api_version: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) controller: Member<'a, bool>,
}

/// The annotations that decide something: other tools give each pod some of its own.
type Annotations<'a> = Vec<(&'a str, Cow<'a, str>)>;

#[derive(Clone, Default)]
pub(super) struct Spec<'a> {
    pub(super) node_name: Text<'a>,
    volumes: Member<'a, Vec<Volume<'a>>>,
    init_containers: Member<'a, Vec<Container<'a>>>,
    containers: Member<'a, Vec<Container<'a>>>,
    host_network: Raw<'a>,
    overhead: Raw<'a>,
    resources: Raw<'a>,
    node_selector: Raw<'a>,
    affinity: Raw<'a>,
    tolerations: Raw<'a>,
    topology_spread_constraints: Raw<'a>,
    resource_claims: Raw<'a>,
    priority_class_name: Raw<'a>,
    priority: Raw<'a>,
    termination_grace_period_seconds: Raw<'a>,
    scheduling_gates: Raw<'a>,
}

#[derive(Clone, Default)]
struct Container<'a> {
    name: Raw<'a>,
    restart_policy: Raw<'a>,
    resources: Raw<'a>,
    ports: Raw<'a>,
}

#[derive(Clone, Default)]
struct Volume<'a> {
    name: Raw<'a>,
    /// `claimName`.
    persistent_volume_claim: Member<'a, Cow<'a, str>>,
    ephemeral: Raw<'a>,
    aws_elastic_block_store: Raw<'a>,
}

#[derive(Clone, Default)]
pub(super) struct Status<'a> {
    pub(super) phase: Text<'a>,
    pub(super) start_time: Text<'a>,
    pub(super) nominated_node_name: Text<'a>,
    pub(super) conditions: Member<'a, Conditions<'a>>,
    container_statuses: Member<'a, Vec<ContainerStatus<'a>>>,
    init_container_statuses: Member<'a, Vec<ContainerStatus<'a>>>,
    /// `resourceClaimStatuses`.
    pub(super) made_claims: Member<'a, Vec<MadeClaim<'a>>>,
}

/// A name, and the ResourceClaim that was made for it.
type MadeClaim<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// What the conditions of a pod say. Of several of a type the first counts.
#[derive(Clone, Default)]
pub(super) struct Conditions<'a> {
    pub(super) is_ready: bool,
    /// When kube-scheduler found no node, if it did: known, or not.
    pub(super) unschedulable_since: Option<Text<'a>>,
    /// Whether the node can never give what the spec asks for.
    is_resize_infeasible: bool,
}

#[derive(Clone, Default)]
struct Condition<'a> {
    kind: Text<'a>,
    status: Text<'a>,
    reason: Text<'a>,
    last_transition_time: Text<'a>,
}

#[derive(Clone, Default)]
struct ContainerStatus<'a> {
    name: Raw<'a>,
    allocated_resources: Raw<'a>,
    resources: Raw<'a>,
}

impl<'a> Trimmed<'a> {
    /// Reads the pod at the cursor; `before` is the one that came before it, or one with nothing in it.
    pub(super) fn read(cursor: &mut JsonCursor<'a>, before: &Self) -> Option<Self> {
        let mut pod = Self::default();
        let none = (Metadata::default(), Spec::default(), Status::default());
        cursor.members(|key, cursor| match key {
            "apiVersion" => pod.api_version.read(cursor, &before.api_version, JsonCursor::text),
            "kind" => pod.kind.read(cursor, &before.kind, JsonCursor::text),
            "metadata" => pod.metadata.read(cursor, &before.metadata, |cursor| {
                Metadata::read(cursor, before.metadata.get().unwrap_or(&none.0))
            }),
            "spec" => pod.spec.read(cursor, &before.spec, |cursor| {
                Spec::read(cursor, before.spec.get().unwrap_or(&none.1))
            }),
            "status" => pod.status.read(cursor, &before.status, |cursor| {
                Status::read(cursor, before.status.get().unwrap_or(&none.2))
            }),
            _ => cursor.skip(),
        })?;
        Some(pod)
    }

    pub(super) fn metadata(&self) -> Option<&Metadata<'a>> {
        self.metadata.get()
    }

    pub(super) fn spec(&self) -> Option<&Spec<'a>> {
        self.spec.get()
    }

    pub(super) fn status(&self) -> Option<&Status<'a>> {
        self.status.get()
    }
}

impl<'a> Metadata<'a> {
    fn read(cursor: &mut JsonCursor<'a>, before: &Self) -> Option<Self> {
        let mut read = Self::default();
        cursor.members(|key, cursor| match key {
            "name" => read.name.read(cursor, &before.name, JsonCursor::text),
            "namespace" => read.namespace.read(cursor, &before.namespace, JsonCursor::text),
            "uid" => read.uid.read(cursor, &before.uid, JsonCursor::text),
            "creationTimestamp" => {
                let before = &before.creation_timestamp;
                read.creation_timestamp.read(cursor, before, JsonCursor::text)
            }
            "deletionTimestamp" => {
                let before = &before.deletion_timestamp;
                read.deletion_timestamp.read(cursor, before, JsonCursor::text)
            }
            "labels" => read.labels.read(cursor, &before.labels, JsonCursor::skip),
            "annotations" => read.annotations.read(cursor, &before.annotations, annotations),
            "ownerReferences" => {
                let before = &before.owner_references;
                read.owner_references.read(cursor, before, |cursor| cursor.list(Reference::read))
            }
            "managedFields" => {
                managed_fields(cursor, &before.managed_fields, &mut read.managed_fields)
            }
            _ => cursor.skip(),
        })?;
        Some(read)
    }
}

fn annotations<'a>(cursor: &mut JsonCursor<'a>) -> Option<Annotations<'a>> {
    let mut annotations = Vec::new();
    cursor.members(|key, cursor| {
        let value = cursor.text()?;
        if metadata::is_read_of_pods(key) {
            annotations.push((key, value));
        }
        Some(())
    })?;
    Some(annotations)
}

/// Passes over `metadata.managedFields`, whatever it is. What a manager manages is alike in pods that
/// are alike, but for addresses; when it managed them is not.
fn managed_fields<'a>(
    cursor: &mut JsonCursor<'a>,
    before: &[Raw<'a>],
    read: &mut Vec<Raw<'a>>,
) -> Option<()> {
    if cursor.peek()? != b'[' {
        return cursor.skip();
    }
    cursor.items(|cursor| {
        let mut fields = Raw::default();
        if cursor.peek()? == b'{' {
            cursor.members(|key, cursor| match (key, before.get(read.len())) {
                ("fieldsV1", Some(before)) => fields.read(cursor, before, JsonCursor::skip),
                ("fieldsV1", None) => fields.read(cursor, &Raw::default(), JsonCursor::skip),
                _ => cursor.skip(),
            })?;
        } else {
            cursor.skip()?;
        }
        read.push(fields);
        Some(())
    })
}

impl<'a> Reference<'a> {
    fn read(cursor: &mut JsonCursor<'a>) -> Option<Self> {
        let mut read = Self::default();
        let none = Self::default();
        cursor.members(|key, cursor| match key {
            "apiVersion" => read.api_version.read(cursor, &none.api_version, JsonCursor::text),
            "kind" => read.kind.read(cursor, &none.kind, JsonCursor::text),
            "name" => read.name.read(cursor, &none.name, JsonCursor::text),
            "controller" => read.controller.read(cursor, &none.controller, JsonCursor::boolean),
            _ => cursor.skip(),
        })?;
        let has_all =
            [&read.api_version, &read.kind, &read.name].iter().all(|member| member.get().is_some());
        has_all.then_some(read)
    }
}

impl<'a> Spec<'a> {
    fn read(cursor: &mut JsonCursor<'a>, before: &Self) -> Option<Self> {
        let mut read = Self::default();
        let containers = |cursor: &mut JsonCursor<'a>| cursor.list(Container::read);
        cursor.members(|key, cursor| {
            let (raw, before) = match key {
                "nodeName" => {
                    return read.node_name.read(cursor, &before.node_name, JsonCursor::text);
                }
                "volumes" => {
                    let volumes = |cursor: &mut JsonCursor<'a>| cursor.list(Volume::read);
                    return read.volumes.read(cursor, &before.volumes, volumes);
                }
                "initContainers" => {
                    return read.init_containers.read(cursor, &before.init_containers, containers);
                }
                "containers" => {
                    return read.containers.read(cursor, &before.containers, containers);
                }
                "hostNetwork" => (&mut read.host_network, &before.host_network),
                "overhead" => (&mut read.overhead, &before.overhead),
                "resources" => (&mut read.resources, &before.resources),
                "nodeSelector" => (&mut read.node_selector, &before.node_selector),
                "affinity" => (&mut read.affinity, &before.affinity),
                "tolerations" => (&mut read.tolerations, &before.tolerations),
                "topologySpreadConstraints" => {
                    (&mut read.topology_spread_constraints, &before.topology_spread_constraints)
                }
                "resourceClaims" => (&mut read.resource_claims, &before.resource_claims),
                "priorityClassName" => (&mut read.priority_class_name, &before.priority_class_name),
                "priority" => (&mut read.priority, &before.priority),
                "terminationGracePeriodSeconds" => (
                    &mut read.termination_grace_period_seconds,
                    &before.termination_grace_period_seconds,
                ),
                "schedulingGates" => (&mut read.scheduling_gates, &before.scheduling_gates),
                _ => return cursor.skip(),
            };
            raw.read(cursor, before, JsonCursor::skip)
        })?;
        // A pod without containers is none.
        read.containers.get().is_some().then_some(read)
    }
}

impl<'a> Container<'a> {
    fn read(cursor: &mut JsonCursor<'a>) -> Option<Self> {
        let mut read = Self::default();
        cursor.members(|key, cursor| {
            let raw = match key {
                "name" => &mut read.name,
                "restartPolicy" => &mut read.restart_policy,
                "resources" => &mut read.resources,
                "ports" => &mut read.ports,
                _ => return cursor.skip(),
            };
            raw.read(cursor, &Raw::default(), JsonCursor::skip)
        })?;
        Some(read)
    }
}

impl<'a> Volume<'a> {
    fn read(cursor: &mut JsonCursor<'a>) -> Option<Self> {
        let mut read = Self::default();
        cursor.members(|key, cursor| {
            let raw = match key {
                "name" => &mut read.name,
                "persistentVolumeClaim" => {
                    let claim = &mut read.persistent_volume_claim;
                    return claim.read(cursor, &Member::default(), claim_name);
                }
                "ephemeral" => &mut read.ephemeral,
                "awsElasticBlockStore" => &mut read.aws_elastic_block_store,
                _ => return cursor.skip(),
            };
            raw.read(cursor, &Raw::default(), JsonCursor::skip)
        })?;
        Some(read)
    }
}

fn claim_name<'a>(cursor: &mut JsonCursor<'a>) -> Option<Cow<'a, str>> {
    let mut name = Text::default();
    cursor.members(|key, cursor| match key {
        "claimName" => name.read(cursor, &Text::default(), JsonCursor::text),
        _ => cursor.skip(),
    })?;
    name.get().cloned()
}

impl<'a> Status<'a> {
    fn read(cursor: &mut JsonCursor<'a>, before: &Self) -> Option<Self> {
        let mut read = Self::default();
        let statuses = |cursor: &mut JsonCursor<'a>| cursor.list(ContainerStatus::read);
        cursor.members(|key, cursor| match key {
            "phase" => read.phase.read(cursor, &before.phase, JsonCursor::text),
            "startTime" => read.start_time.read(cursor, &before.start_time, JsonCursor::text),
            "nominatedNodeName" => {
                let before = &before.nominated_node_name;
                read.nominated_node_name.read(cursor, before, JsonCursor::text)
            }
            "conditions" => read.conditions.read(cursor, &before.conditions, Conditions::read),
            "containerStatuses" => {
                read.container_statuses.read(cursor, &before.container_statuses, statuses)
            }
            "initContainerStatuses" => {
                read.init_container_statuses.read(cursor, &before.init_container_statuses, statuses)
            }
            "resourceClaimStatuses" => {
                let claims = |cursor: &mut JsonCursor<'a>| cursor.list(made_claim);
                read.made_claims.read(cursor, &before.made_claims, claims)
            }
            _ => cursor.skip(),
        })?;
        Some(read)
    }
}

fn made_claim<'a>(cursor: &mut JsonCursor<'a>) -> Option<MadeClaim<'a>> {
    let (mut name, mut claim) = (Text::default(), Text::default());
    cursor.members(|key, cursor| match key {
        "name" => name.read(cursor, &Text::default(), JsonCursor::text),
        "resourceClaimName" => claim.read(cursor, &Text::default(), JsonCursor::text),
        _ => cursor.skip(),
    })?;
    Some((name.take()?, claim.take()))
}

impl<'a> Conditions<'a> {
    fn read(cursor: &mut JsonCursor<'a>) -> Option<Self> {
        let mut conditions = Self::default();
        let (mut has_ready, mut has_scheduled, mut has_resize) = (false, false, false);
        cursor.items(|cursor| {
            let condition = Condition::read(cursor)?;
            let is = |text: &Text<'_>, wanted| text.get().is_some_and(|text| text == wanted);
            if !has_ready && is(&condition.kind, ConditionKind::Ready.as_str()) {
                has_ready = true;
                conditions.is_ready = is(&condition.status, "True");
            } else if !has_scheduled && is(&condition.kind, ConditionKind::PodScheduled.as_str()) {
                has_scheduled = true;
                if is(&condition.reason, ConditionReason::Unschedulable.as_str()) {
                    conditions.unschedulable_since = Some(condition.last_transition_time);
                }
            } else if !has_resize && is(&condition.kind, ConditionKind::PodResizePending.as_str()) {
                has_resize = true;
                conditions.is_resize_infeasible = is(&condition.status, "True")
                    && is(&condition.reason, ConditionReason::Infeasible.as_str());
            }
            Some(())
        })?;
        Some(conditions)
    }
}

impl<'a> Condition<'a> {
    fn read(cursor: &mut JsonCursor<'a>) -> Option<Self> {
        let mut read = Self::default();
        cursor.members(|key, cursor| {
            let text = match key {
                "type" => &mut read.kind,
                "status" => &mut read.status,
                "reason" => &mut read.reason,
                "lastTransitionTime" => &mut read.last_transition_time,
                _ => return cursor.skip(),
            };
            text.read(cursor, &Text::default(), JsonCursor::text)
        })?;
        Some(read)
    }
}

impl<'a> ContainerStatus<'a> {
    fn read(cursor: &mut JsonCursor<'a>) -> Option<Self> {
        let mut read = Self::default();
        cursor.members(|key, cursor| {
            let raw = match key {
                "name" => &mut read.name,
                "allocatedResources" => &mut read.allocated_resources,
                "resources" => &mut read.resources,
                _ => return cursor.skip(),
            };
            raw.read(cursor, &Raw::default(), JsonCursor::skip)
        })?;
        Some(read)
    }
}
