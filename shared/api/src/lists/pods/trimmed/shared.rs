//! What the pods of one workload have in common, as the text of a pod.

use std::borrow::Cow;

use model::{ConditionKind, ConditionReason};

use super::{Container, ContainerStatus, Raw, Spec, Status, Trimmed, Volume};

impl Trimmed<'_> {
    /// Writes what pods of one workload have in common, as a pod: labels, what it takes, what it
    /// asks for.
    pub(in super::super) fn write_shared(&self, text: &mut String) -> Option<()> {
        let (metadata, spec) = (self.metadata()?, self.spec()?);
        text.push_str(r#"{"metadata":{"name":"shared""#);
        member(text, "labels", &metadata.labels);
        if let Some(kept) = metadata.annotations.get() {
            text.push_str(r#","annotations":{"#);
            for (index, (key, value)) in kept.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                quoted(text, key);
                text.push(':');
                quoted(text, value);
            }
            text.push('}');
        }
        text.push_str(r#"},"spec":{"containers":"#);
        list(text, spec.containers.items(), Container::write);
        spec.write_rest(text);
        if spec.claims().is_none() {
            text.push_str(r#","volumes":"#);
            list(text, spec.volumes.items(), Volume::write);
        }
        text.push('}');
        if let Some(status) = self.status() {
            status.write_granted(text);
        }
        text.push('}');
        Some(())
    }
}

impl Spec<'_> {
    /// The names of the claims among its volumes, or `None` where it has volumes that are part of
    /// what [`Trimmed::write_shared`] writes.
    pub(in super::super) fn claims(&self) -> Option<impl Iterator<Item = &str>> {
        let volumes = self.volumes.items();
        let is_plain = |volume: &Volume<'_>| {
            volume.ephemeral.get().is_none() && volume.aws_elastic_block_store.get().is_none()
        };
        let claims = volumes.iter().filter_map(|volume| volume.persistent_volume_claim.get());
        volumes.iter().all(is_plain).then_some(claims.map(Cow::as_ref))
    }

    fn write_rest(&self, text: &mut String) {
        if let Some(init) = self.init_containers.get() {
            text.push_str(r#","initContainers":"#);
            list(text, init, Container::write);
        }
        member(text, "hostNetwork", &self.host_network);
        member(text, "overhead", &self.overhead);
        member(text, "resources", &self.resources);
        member(text, "nodeSelector", &self.node_selector);
        if let Some(affinity) = self.affinity.text() {
            text.push_str(r#","affinity":"#);
            text.push_str(&without_node_names(affinity));
        }
        member(text, "tolerations", &self.tolerations);
        member(text, "topologySpreadConstraints", &self.topology_spread_constraints);
        member(text, "resourceClaims", &self.resource_claims);
        member(text, "priorityClassName", &self.priority_class_name);
        member(text, "priority", &self.priority);
        member(text, "terminationGracePeriodSeconds", &self.termination_grace_period_seconds);
        member(text, "schedulingGates", &self.scheduling_gates);
    }
}

impl Container<'_> {
    fn write(&self, text: &mut String) {
        // A first member, so that each of the others begins with a comma.
        text.push_str(r#"{"image":"""#);
        member(text, "name", &self.name);
        member(text, "restartPolicy", &self.restart_policy);
        member(text, "resources", &self.resources);
        member(text, "ports", &self.ports);
        text.push('}');
    }
}

impl Volume<'_> {
    fn write(&self, text: &mut String) {
        text.push_str(r#"{"hostPath":null"#);
        member(text, "name", &self.name);
        member(text, "ephemeral", &self.ephemeral);
        if self.aws_elastic_block_store.get().is_some() {
            text.push_str(r#","awsElasticBlockStore":{}"#);
        }
        if let Some(name) = self.persistent_volume_claim.get() {
            text.push_str(r#","persistentVolumeClaim":{"claimName":"#);
            quoted(text, name);
            text.push('}');
        }
        text.push('}');
    }
}

impl Status<'_> {
    /// What the kubelet has given to containers: a pod may have been resized in its place.
    fn write_granted(&self, text: &mut String) {
        text.push_str(r#","status":{"phase":"Pending""#);
        if self.conditions.get().is_some_and(|conditions| conditions.is_resize_infeasible) {
            text.push_str(r#","conditions":[{"status":"True","type":"#);
            quoted(text, ConditionKind::PodResizePending.as_str());
            text.push_str(r#","reason":"#);
            quoted(text, ConditionReason::Infeasible.as_str());
            text.push_str("}]");
        }
        for (key, statuses) in [
            ("containerStatuses", &self.container_statuses),
            ("initContainerStatuses", &self.init_container_statuses),
        ] {
            let statuses = statuses.items();
            let says_something = |container_status: &ContainerStatus<'_>| {
                container_status.allocated_resources.get().is_some()
                    || container_status.resources.get().is_some()
            };
            if statuses.iter().any(says_something) {
                quoted_key(text, key);
                list(text, statuses, |container_status, text| {
                    text.push_str(r#"{"image":"""#);
                    member(text, "name", &container_status.name);
                    member(text, "allocatedResources", &container_status.allocated_resources);
                    member(text, "resources", &container_status.resources);
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

fn member(text: &mut String, key: &str, value: &Raw<'_>) {
    if let Some(value) = value.text() {
        quoted_key(text, key);
        text.push_str(value);
    }
}

/// `value` as JSON writes a text.
fn quoted(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}
