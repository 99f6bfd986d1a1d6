//! The members of a pod that decisions read; all others are passed over.
//!
//! What the pods of one workload share stays text as it came, so that equal texts are read once.
//! Nothing is interpreted here: [`Trimmed::write_shared`] writes the shared part as a pod of its own,
//! which the reader of manifests understands.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::manifest::metadata;

/// A pod, borrowed from its page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Trimmed<'a> {
    #[serde(borrow, default)]
    pub(super) api_version: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) metadata: Metadata<'a>,
    #[serde(borrow)]
    pub(super) spec: Spec<'a>,
    #[serde(borrow, default)]
    pub(super) status: Option<Status<'a>>,
}

/// A text that is borrowed unless something in it is escaped.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) creation_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) deletion_timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
    #[serde(borrow)]
    pub(super) owner_references: Option<Vec<Reference<'a>>>,
}

/// One of `ownerReferences`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference<'a> {
    #[serde(borrow)]
    pub(super) api_version: Text<'a>,
    #[serde(borrow)]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    pub(super) controller: Option<bool>,
}

/// The annotations that decide something: other tools give each pod some of its own.
struct Annotations<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Annotations<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kept;
        impl<'de> Visitor<'de> for Kept {
            type Value = Vec<(Text<'de>, Text<'de>)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut kept = Vec::new();
                while let Some((key, value)) = map.next_entry::<Text<'de>, Text<'de>>()? {
                    if metadata::is_read_of_pods(&key.0) {
                        kept.push((key, value));
                    }
                }
                Ok(kept)
            }
        }
        deserializer.deserialize_map(Kept).map(Annotations)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec<'a> {
    #[serde(borrow)]
    pub(super) node_name: Option<Text<'a>>,
    #[serde(borrow)]
    volumes: Option<Vec<Volume<'a>>>,
    #[serde(borrow)]
    init_containers: Option<Vec<Container<'a>>>,
    #[serde(borrow)]
    containers: Vec<Container<'a>>,
    #[serde(borrow)]
    host_network: Option<&'a RawValue>,
    #[serde(borrow)]
    overhead: Option<&'a RawValue>,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
    #[serde(borrow)]
    node_selector: Option<&'a RawValue>,
    #[serde(borrow)]
    affinity: Option<&'a RawValue>,
    #[serde(borrow)]
    tolerations: Option<&'a RawValue>,
    #[serde(borrow)]
    topology_spread_constraints: Option<&'a RawValue>,
    #[serde(borrow)]
    resource_claims: Option<&'a RawValue>,
    #[serde(borrow)]
    priority_class_name: Option<&'a RawValue>,
    #[serde(borrow)]
    priority: Option<&'a RawValue>,
    #[serde(borrow)]
    termination_grace_period_seconds: Option<&'a RawValue>,
    #[serde(borrow)]
    scheduling_gates: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    restart_policy: Option<&'a RawValue>,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
    #[serde(borrow)]
    ports: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Volume<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    persistent_volume_claim: Option<Claim<'a>>,
    #[serde(borrow)]
    ephemeral: Option<&'a RawValue>,
    aws_elastic_block_store: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claim<'a> {
    #[serde(borrow)]
    claim_name: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status<'a> {
    #[serde(borrow)]
    pub(super) phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) start_time: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) nominated_node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) conditions: Option<Conditions<'a>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<ContainerStatus<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<ContainerStatus<'a>>>,
}

/// What the conditions of a pod say. Of several of a type the first counts.
#[derive(Default)]
#[expect(clippy::option_option, reason = "not unschedulable and no known time are two things")]
pub(super) struct Conditions<'a> {
    pub(super) is_ready: bool,
    /// When kube-scheduler found no node, if it did: known, or not.
    pub(super) unschedulable_since: Option<Option<Text<'a>>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Conditions<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Condition<'a> {
            #[serde(borrow, rename = "type")]
            kind: Option<Text<'a>>,
            #[serde(borrow)]
            status: Option<Text<'a>>,
            #[serde(borrow)]
            reason: Option<Text<'a>>,
            #[serde(borrow)]
            last_transition_time: Option<Text<'a>>,
        }
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Conditions<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("conditions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut all = Conditions::default();
                let (mut has_ready, mut has_scheduled) = (false, false);
                while let Some(one) = items.next_element::<Condition<'de>>()? {
                    let is = |text: &Option<Text<'_>>, wanted| {
                        text.as_ref().is_some_and(|text| text.0 == wanted)
                    };
                    if !has_ready && is(&one.kind, "Ready") {
                        has_ready = true;
                        all.is_ready = is(&one.status, "True");
                    } else if !has_scheduled && is(&one.kind, "PodScheduled") {
                        has_scheduled = true;
                        if is(&one.reason, "Unschedulable") {
                            all.unschedulable_since = Some(one.last_transition_time);
                        }
                    }
                }
                Ok(all)
            }
        }
        deserializer.deserialize_seq(Read)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    allocated_resources: Option<&'a RawValue>,
}

impl Trimmed<'_> {
    /// The names of the claims among its volumes, or `None` where it has volumes that are part of
    /// what [`Self::write_shared`] writes.
    pub(super) fn claims(&self) -> Option<impl Iterator<Item = &str>> {
        let volumes = self.spec.volumes.as_deref().unwrap_or_default();
        let is_plain =
            |one: &Volume<'_>| one.ephemeral.is_none() && one.aws_elastic_block_store.is_none();
        let claims = volumes.iter().filter_map(|one| one.persistent_volume_claim.as_ref());
        volumes.iter().all(is_plain).then_some(claims.map(|claim| claim.claim_name.0.as_ref()))
    }

    /// Writes what pods of one workload have in common, as a pod: labels, what it takes, what it
    /// asks for.
    pub(super) fn write_shared(&self, text: &mut String) {
        text.push_str(r#"{"metadata":{"name":"shared""#);
        member(text, "labels", self.metadata.labels);
        if let Some(Annotations(kept)) = self.metadata.annotations.as_ref() {
            text.push_str(r#","annotations":{"#);
            for (index, (key, value)) in kept.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                quoted(text, &key.0);
                text.push(':');
                quoted(text, &value.0);
            }
            text.push('}');
        }
        text.push_str(r#"},"spec":{"containers":"#);
        list(text, &self.spec.containers, Container::write);
        self.spec.write_rest(text);
        if self.claims().is_none() {
            text.push_str(r#","volumes":"#);
            list(text, self.spec.volumes.as_deref().unwrap_or_default(), Volume::write);
        }
        text.push('}');
        if let Some(status) = &self.status {
            status.write_allocated(text);
        }
        text.push('}');
    }
}

impl Spec<'_> {
    fn write_rest(&self, text: &mut String) {
        if let Some(init) = &self.init_containers {
            text.push_str(r#","initContainers":"#);
            list(text, init, Container::write);
        }
        member(text, "hostNetwork", self.host_network);
        member(text, "overhead", self.overhead);
        member(text, "resources", self.resources);
        member(text, "nodeSelector", self.node_selector);
        if let Some(affinity) = self.affinity {
            text.push_str(r#","affinity":"#);
            text.push_str(&without_node_names(affinity.get()));
        }
        member(text, "tolerations", self.tolerations);
        member(text, "topologySpreadConstraints", self.topology_spread_constraints);
        member(text, "resourceClaims", self.resource_claims);
        member(text, "priorityClassName", self.priority_class_name);
        member(text, "priority", self.priority);
        member(text, "terminationGracePeriodSeconds", self.termination_grace_period_seconds);
        member(text, "schedulingGates", self.scheduling_gates);
    }
}

impl Container<'_> {
    fn write(&self, text: &mut String) {
        // A first member, so that each of the others begins with a comma.
        text.push_str(r#"{"image":"""#);
        member(text, "name", self.name);
        member(text, "restartPolicy", self.restart_policy);
        member(text, "resources", self.resources);
        member(text, "ports", self.ports);
        text.push('}');
    }
}

impl Volume<'_> {
    fn write(&self, text: &mut String) {
        text.push_str(r#"{"hostPath":null"#);
        member(text, "name", self.name);
        member(text, "ephemeral", self.ephemeral);
        if self.aws_elastic_block_store.is_some() {
            text.push_str(r#","awsElasticBlockStore":{}"#);
        }
        if let Some(claim) = &self.persistent_volume_claim {
            text.push_str(r#","persistentVolumeClaim":{"claimName":"#);
            quoted(text, &claim.claim_name.0);
            text.push('}');
        }
        text.push('}');
    }
}

impl Status<'_> {
    /// What the kubelet has given to containers: a pod may have been resized in its place.
    fn write_allocated(&self, text: &mut String) {
        text.push_str(r#","status":{"phase":"Pending""#);
        for (key, statuses) in [
            ("containerStatuses", &self.container_statuses),
            ("initContainerStatuses", &self.init_container_statuses),
        ] {
            let statuses = statuses.as_deref().unwrap_or_default();
            if statuses.iter().any(|one| one.allocated_resources.is_some()) {
                quoted_key(text, key);
                list(text, statuses, |one, text| {
                    text.push_str(r#"{"image":"""#);
                    member(text, "name", one.name);
                    member(text, "allocatedResources", one.allocated_resources);
                    text.push('}');
                });
            }
        }
        text.push('}');
    }
}

/// The pods of a DaemonSet name their node in `matchFields`, of which only matters whether there are
/// any: without the name they are alike.
fn without_node_names(affinity: &str) -> Cow<'_, str> {
    if !affinity.contains("\"matchFields\"") {
        return Cow::Borrowed(affinity);
    }
    let Ok(mut value) = serde_json::from_str(affinity) else { return Cow::Borrowed(affinity) };
    empty_match_fields(&mut value);
    Cow::Owned(value.to_string())
}

fn empty_match_fields(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(empty_match_fields),
        serde_json::Value::Object(members) => {
            for (key, member) in members {
                match member {
                    serde_json::Value::Array(fields) if key == "matchFields" => {
                        fields.fill(serde_json::Value::Null);
                        fields.truncate(1);
                    }
                    member => empty_match_fields(member),
                }
            }
        }
        _ => {}
    }
}

fn list<T>(text: &mut String, items: &[T], write: impl Fn(&T, &mut String)) {
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        write(item, text);
    }
    text.push(']');
}

fn quoted_key(text: &mut String, key: &str) {
    text.push_str(",\"");
    text.push_str(key);
    text.push_str("\":");
}

fn member(text: &mut String, key: &str, value: Option<&RawValue>) {
    if let Some(value) = value {
        quoted_key(text, key);
        text.push_str(value.get());
    }
}

/// `value` as JSON writes a text.
fn quoted(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}
