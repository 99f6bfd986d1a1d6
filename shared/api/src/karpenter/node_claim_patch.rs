//! What has to be sent so that a NodeClaim object says what the ledger's claim says. Pure: the claim
//! and the object as it is stored give documents for server-side apply.
//!
//! The claim is the truth and the object shows it; nothing is read back but what only the object
//! keeps: since when its conditions are as they are, and which spec was looked at. So the same claim
//! over an object that shows it gives nothing to send.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go`, `ToNodeClaim`;
//! `pkg/controllers/nodeclaim/lifecycle`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, Condition as Found, ConditionKind, ConditionReason, DeletionReason, NodeClaim,
    Resources, claim::ClaimMessage, duration, labels, resources::format_amount,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

mod going;

use self::going::{rebooting, termination};
use super::{
    common::{
        ConditionEntry, ConditionStatus, NodeClassReference, OptionalReason, QuantityText,
        RequirementSpec, TaintSpec,
    },
    conditions::{About, NODE_CLAIM, shown, updated},
    node_claim::{NodeClaimSpec, NodeClaimStatus, ResourceRequirements},
    node_class_patch::unless_empty,
    word::Word,
};

const API_VERSION: &str = model::api_version::KARPENTER_V1;
const KIND: &str = "NodeClaim";
/// Conditions that come from the claim. Other conditions belong to other writers.
const OWN_CONDITIONS: [ConditionKind; 13] = [
    ConditionKind::Launched,
    ConditionKind::Registered,
    ConditionKind::Initialized,
    ConditionKind::Empty,
    ConditionKind::Consolidatable,
    ConditionKind::ConsistentStateFound,
    ConditionKind::Drifted,
    ConditionKind::DisruptionReason,
    ConditionKind::Drained,
    ConditionKind::VolumesDetached,
    ConditionKind::InstanceTerminating,
    ConditionKind::Rebooting,
    ConditionKind::Ready,
];

/// A NodeClaim object as the API server has it, as far as it is looked at here.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredNodeClaim {
    metadata: StoredMetadata,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredMetadata {
    uid: Option<String>,
    generation: Option<i64>,
    resource_version: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    finalizers: Vec<String>,
    #[serde(default)]
    owner_references: Vec<Value>,
    #[serde(default)]
    managed_fields: Vec<ManagedFields>,
}

#[derive(Clone, Debug, Deserialize)]
struct ManagedFields {
    #[serde(default)]
    manager: String,
}

impl StoredNodeClaim {
    /// Reads an answer of the API server.
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Whether it shows a claim of the ledger: a NodeClaim of Karpenter or another writer is left alone.
    /// Removing the label does not change that.
    pub fn is_ours(&self) -> bool {
        let metadata = &self.metadata;
        metadata.labels.get(labels::MANAGED_BY).is_some_and(|value| value == labels::MANAGER)
            || metadata.managed_fields.iter().any(|entry| entry.manager == labels::MANAGER)
    }

    /// Whether it may say what `claim` says: it is ours, or the one that a user made for this very claim.
    pub fn may_show(&self, claim: &NodeClaim) -> bool {
        self.is_ours()
            || claim.is_standalone() && !self.metadata.labels.contains_key(labels::NODE_POOL)
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// What tells it from a namesake.
    pub fn uid(&self) -> Option<&str> {
        self.metadata.uid.as_deref()
    }

    /// The version of the claim that it shows in full.
    fn version(&self) -> u64 {
        let text = self.metadata.annotations.get(labels::CLAIM_VERSION);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

/// What there is to send, in this order: the version that the object says goes last, so that an
/// object which says a version says all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Of the subresource `status`.
    pub status: Option<Value>,
    /// Of the object itself.
    pub object: Option<Value>,
}

/// The object of `claim` as it is made, owned by the NodePool with the uid `owner`.
///
/// The owner has Kubernetes delete the claims of a NodePool that is deleted, as Karpenter does.
pub fn created(claim: &NodeClaim, owner: Option<&str>) -> Value {
    let owner = owner.map(|uid| {
        json!({
            "apiVersion": API_VERSION, "kind": "NodePool", "name": claim.node_pool.as_str(),
            "uid": uid, "blockOwnerDeletion": true,
        })
    });
    let mut metadata = metadata(claim);
    metadata.insert("name".to_owned(), claim.name.as_str().into());
    metadata.insert("finalizers".to_owned(), json!([labels::TERMINATION_FINALIZER]));
    metadata.extend(owner.map(|owner| ("ownerReferences".to_owned(), json!([owner]))));
    json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec(claim) })
}

/// What has to be applied to `stored`, which is ours, so that it says what `claim` says. Nothing when
/// it says something newer.
pub fn changes(stored: &StoredNodeClaim, claim: &NodeClaim) -> Changes {
    let stored_version = stored.version();
    if stored_version > claim.version {
        return Changes::default();
    }
    let status = json!(status(claim, stored));
    // What an older version said and this one does not can only be found in another version.
    let status =
        (stored_version < claim.version || !contains(&stored.status, &status)).then_some(status);
    let mut metadata = metadata(claim);
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        let version = claim.version.to_string();
        annotations.insert(labels::CLAIM_VERSION.to_owned(), version.into());
    }
    let StoredMetadata { labels, annotations, finalizers, owner_references, .. } = &stored.metadata;
    let texts = json!({ "labels": labels, "annotations": annotations });
    let has_finalizer = finalizers.iter().any(|name| name == labels::TERMINATION_FINALIZER);
    // What is being deleted can be held back no more.
    let holds = has_finalizer || !stored.is_deleting();
    let is_said = has_finalizer == holds && contains(&texts, &json!(metadata));
    if holds {
        metadata.insert("finalizers".to_owned(), json!([labels::TERMINATION_FINALIZER]));
    }
    let owners: Vec<&Value> =
        owner_references.iter().filter(|owner| owner["kind"] == "NodePool").collect();
    if !owners.is_empty() {
        metadata.insert("ownerReferences".to_owned(), json!(owners));
    }
    // The spec never changes, so it stays as it is, also where it would be written otherwise today. A user's
    // is the user's own.
    let own_spec = (!claim.is_standalone()).then_some(("spec", &stored.spec));
    let object = (!is_said).then(|| applied(claim, stored, metadata, own_spec));
    let status = status.map(|status| applied(claim, stored, Map::new(), Some(("status", &status))));
    Changes { status, object }
}

/// What is sent about the very object `stored`: a namesake that took its place is another one.
fn applied(
    claim: &NodeClaim,
    stored: &StoredNodeClaim,
    mut metadata: Map<String, Value>,
    part: Option<(&str, &Value)>,
) -> Value {
    metadata.insert("name".to_owned(), claim.name.as_str().into());
    metadata.extend(stored.uid().map(|uid| ("uid".to_owned(), uid.into())));
    let mut object = json!({ "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata });
    if let (Some(object), Some((field, value))) = (object.as_object_mut(), part) {
        object.insert(field.to_owned(), value.clone());
    }
    object
}

/// The JSON merge patch that takes our finalizer from `stored`; `None` where it has none.
pub fn released(stored: &StoredNodeClaim) -> Option<Value> {
    let StoredMetadata { uid, resource_version, finalizers, .. } = &stored.metadata;
    let others: Vec<&String> =
        finalizers.iter().filter(|name| *name != labels::TERMINATION_FINALIZER).collect();
    (others.len() < finalizers.len()).then(|| {
        // A list is replaced whole: finalizers of others must not get lost.
        let metadata =
            json!({ "uid": uid, "resourceVersion": resource_version, "finalizers": others });
        json!({ "metadata": metadata })
    })
}

/// Labels and annotations.
fn metadata(claim: &NodeClaim) -> Map<String, Value> {
    let mut claim_labels: BTreeMap<String, String> = BTreeMap::new();
    claim_labels.extend(claim.pool_label().map(|(key, value)| (key.to_owned(), value.to_owned())));
    claim_labels.insert(labels::NODE_CLASS.to_owned(), claim.node_class.to_string());
    if let Some(instance) = &claim.instance {
        let type_name = instance.instance_type.to_string();
        claim_labels.insert(labels::INSTANCE_TYPE.to_owned(), type_name);
        claim_labels.insert(labels::ZONE.to_owned(), instance.zone.to_string());
        claim_labels
            .insert(labels::CAPACITY_TYPE.to_owned(), instance.capacity_type.as_str().to_owned());
    }
    claim_labels.extend(claim.labels.clone());
    claim_labels.insert(labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned());
    let mut annotations = claim.annotations.clone();
    let deadline = claim.deletion.as_ref().and_then(|deletion| deletion.deadline);
    annotations.extend(deadline.map(|at| (labels::TERMINATION_TIMESTAMP.to_owned(), shown(at))));
    let labels_and_annotations =
        [("labels", json!(claim_labels)), ("annotations", json!(annotations))];
    labels_and_annotations.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}

fn spec(claim: &NodeClaim) -> NodeClaimSpec {
    let requests = amounts(&claim.requests);
    NodeClaimSpec {
        taints: unless_empty(claim.taints.iter().map(taint)),
        startup_taints: unless_empty(claim.startup_taints.iter().map(taint)),
        requirements: claim.requirements.iter().flat_map(requirement).collect(),
        resources: (!requests.is_empty())
            .then_some(ResourceRequirements { requests: Some(requests) }),
        node_class_ref: NodeClassReference {
            group: model::api_version::AWS_GROUP.to_owned(),
            kind: "EC2NodeClass".to_owned(),
            name: claim.node_class.to_string(),
        },
        termination_grace_period: claim.termination_grace_period.map(duration::format_go),
        expire_after: Some(claim.expire_after.map_or_else(|| "Never".to_owned(), groups)),
    }
}

fn status(claim: &NodeClaim, stored: &StoredNodeClaim) -> NodeClaimStatus {
    let instance = claim.instance.as_ref();
    NodeClaimStatus {
        node_name: claim.node.as_ref().map(ToString::to_string),
        provider_id: instance.map(|instance| instance.provider_id().to_string()),
        image_id: instance.and_then(|instance| Some(instance.image.as_ref()?.to_string())),
        // Before there is an instance, they are what it would have at least.
        capacity: instance.map(|_| amounts(&claim.capacity)),
        allocatable: instance.map(|_| amounts(&claim.allocatable)),
        conditions: Some(conditions(claim, stored)),
        last_pod_event_time: claim.conditions.last_pod_event_at.map(shown),
    }
}

fn conditions(claim: &NodeClaim, stored: &StoredNodeClaim) -> Vec<OptionalReason> {
    // Unreadable conditions are written anew.
    let stored_entries = stored.status.get("conditions").cloned().unwrap_or_default();
    let stored_entries: Vec<OptionalReason> =
        serde_json::from_value(stored_entries).unwrap_or_default();
    let entries = findings(claim);
    let is_kept = |kind: ConditionKind| match kind {
        ConditionKind::Consolidatable
        | ConditionKind::Empty
        | ConditionKind::Drifted
        | ConditionKind::DisruptionReason
        | ConditionKind::Drained
        | ConditionKind::VolumesDetached
        | ConditionKind::InstanceTerminating
        | ConditionKind::Rebooting => entries.iter().any(|(finding, _)| finding.kind == kind),
        _ => OWN_CONDITIONS.contains(&kind),
    };
    let stored_entries: Vec<ConditionEntry> = stored_entries
        .into_iter()
        .filter(|condition| ConditionKind::parse(&condition.kind).is_some_and(is_kept))
        .map(ConditionEntry::from)
        .collect();
    let about = About {
        generation: stored.metadata.generation.unwrap_or(1),
        created_at: claim.created_at,
        is_deleting: stored.is_deleting(),
    };
    let (findings, times): (Vec<Found>, Vec<Timestamp>) = entries.into_iter().unzip();
    let mut conditions = updated(&stored_entries, &findings, NODE_CLAIM, about, claim.phase_since);
    for (finding, since) in findings.iter().zip(times) {
        let is_same = |condition: &&ConditionEntry| {
            condition.is(finding.kind) && condition.status.holds() == finding.status
        };
        let is_new = !stored_entries.iter().any(|before| is_same(&before));
        for condition in conditions.iter_mut().filter(|stored| is_new && stored.is(finding.kind)) {
            // What was never known began with the claim.
            if condition.status != ConditionStatus::Unknown {
                condition.last_transition_time = shown(since);
            }
        }
    }
    conditions.into_iter().map(OptionalReason::from).collect()
}

/// What the claim says by itself, and since when. Whether a deleted claim was initialized, only the object
/// knows.
fn findings(claim: &NodeClaim) -> Vec<(Found, Timestamp)> {
    use ConditionKind::{DisruptionReason, Drifted, Initialized, Launched, Registered};
    let since = claim.phase_since;
    let mut entries = Vec::new();
    match (&claim.instance, &claim.message) {
        (Some(instance), _) => entries.push((Found::holds(Launched), instance.launched_at)),
        (None, Some(why)) => {
            let reason = why.reason.clone().unwrap_or(ConditionReason::LaunchFailed);
            entries.push((Found::unknown(Launched, reason, &why.text), since));
        }
        (None, None) => {}
    }
    match claim.phase {
        ClaimPhase::Created => {}
        ClaimPhase::Launched if claim.is_ambiguous() => {
            let why = claim.message.as_ref().map(|message| message.text.clone());
            let reason = ConditionReason::MultipleNodesFound;
            entries.push((Found::fails(Registered, reason, why.unwrap_or_default()), since));
        }
        ClaimPhase::Launched => {
            let (reason, why) = match &claim.message {
                Some(ClaimMessage {
                    reason: Some(found @ ConditionReason::NotJoined(_)),
                    text,
                }) => (found.clone(), text.as_str()),
                _ => (ConditionReason::NodeNotFound, "Node not registered with cluster"),
            };
            entries.push((Found::unknown(Registered, reason, why), since));
        }
        ClaimPhase::Registered => {
            entries.push((Found::holds(Registered), since));
            if let Some(ClaimMessage { reason: Some(reason), text }) = &claim.message {
                entries.push((Found::unknown(Initialized, reason.clone(), text), since));
            }
        }
        ClaimPhase::Initialized => {
            let both = [Registered, Initialized];
            entries.extend(both.map(|kind| (Found::holds(kind), since)));
        }
        ClaimPhase::Deleting => {
            entries.extend(claim.node.iter().map(|_| (Found::holds(Registered), since)));
        }
    }
    entries.extend(seen_of_node(claim));
    entries.extend(claim.conditions.reboots.last().map(rebooting));
    if let Some(reason) = &claim.conditions.drifted {
        let reason = ConditionReason::Other(reason.clone());
        let at = claim.conditions.drifted_since.unwrap_or(since);
        entries.push((Found { reason, ..Found::holds(Drifted) }, at));
    }
    if let (Some(disruption), None) = (&claim.conditions.disruption, &claim.deletion) {
        let reason = ConditionReason::Disrupted(DeletionReason::Disrupted(disruption.reason));
        entries.push((Found { reason, ..Found::holds(DisruptionReason) }, disruption.since));
    }
    if let Some(deletion) = &claim.deletion {
        let finding = Found {
            reason: ConditionReason::Disrupted(deletion.reason),
            message: claim.message.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..Found::holds(DisruptionReason)
        };
        entries.push((finding, deletion.at));
        entries.extend(termination(claim, deletion.at));
    }
    entries
}

/// What is seen of the node of a claim that is initialized: whether it is empty, whether it may be consolidated, and
/// whether it is as large as was expected.
///
/// Karpenter: `pkg/controllers/nodeclaim/{disruption/consolidation,consistency/controller}.go`; before v1, condition
/// `Empty`.
fn seen_of_node(claim: &NodeClaim) -> Vec<(Found, Timestamp)> {
    if claim.phase != ClaimPhase::Initialized {
        return Vec::new();
    }
    let kind = ConditionKind::ConsistentStateFound;
    let consistent = match &claim.conditions.inconsistent {
        None => Found::holds(kind),
        Some(why) => Found::fails(kind, ConditionReason::ConsistencyCheckFailed, why),
    };
    let since = [
        (ConditionKind::Empty, claim.empty_since),
        (ConditionKind::Consolidatable, claim.conditions.consolidatable_since),
    ];
    let holding = since.into_iter().filter_map(|(kind, since)| Some((Found::holds(kind), since?)));
    holding.chain([(consistent, claim.phase_since)]).collect()
}

/// Whether `stored` says everything that `wanted` says. Of lists the order does not count, and their
/// entries are told apart by their `type` where they have one.
fn contains(stored: &Value, wanted: &Value) -> bool {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, value)| stored.get(key).is_some_and(|member| contains(member, value))),
        (Value::Array(stored), Value::Array(wanted)) => wanted.iter().all(|value| {
            let mut stored = stored.iter().filter(|member| member.get("type") == value.get("type"));
            stored.any(|member| contains(member, value))
        }),
        _ => stored == wanted,
    }
}

fn requirement(own: &model::Requirement) -> Vec<RequirementSpec> {
    let min_values = own.min_values().and_then(|count| i32::try_from(count).ok());
    let entry = |(operator, values): (model::Operator, Vec<String>)| RequirementSpec {
        key: own.key().to_string(),
        operator: Word(operator),
        values: unless_empty(values.into_iter()),
        min_values,
    };
    own.entries().into_iter().map(entry).collect()
}

fn taint(own: &model::Taint) -> TaintSpec {
    TaintSpec {
        key: own.key.clone(),
        value: Some(own.value.clone()).filter(|value| !value.is_empty()),
        effect: Word(own.effect),
        time_added: None,
    }
}

fn amounts(resources: &Resources) -> BTreeMap<String, QuantityText> {
    resources
        .iter()
        .map(|(name, amount)| (name.to_owned(), QuantityText(format_amount(name, amount))))
        .collect()
}

/// Hours, minutes and seconds, without those that are none: `720h`, `1h30m`, `0s`. A part of a second
/// is none, as the API has it.
fn groups(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let some = parts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = some.map(|(count, unit)| format!("{count}{unit}")).collect();
    if texts.is_empty() { "0s".to_owned() } else { texts.concat() }
}
