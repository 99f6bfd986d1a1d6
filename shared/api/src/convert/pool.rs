//! NodePools of v1beta1 and Provisioners of v1alpha5.

use model::labels;

use super::{Draft, edit};
use crate::document::{
    ObjectReference,
    tree::{Tree, TreeValue},
    yaml::Comments,
};

const V1: &str = model::api_version::KARPENTER_V1;
/// Where a pool keeps its kubelet until it is known where it goes. No kind has such a field.
pub(super) const KUBELET: &str = "\u{0}kubelet";

/// A NodePool of v1beta1.
pub(super) fn from_v1beta1(draft: &mut Draft) {
    let line = draft.tree.line;
    draft.tree.put("apiVersion", edit::text(line, V1));
    let Some(spec) = draft.tree.get_mut("spec") else { return };
    let expire_after = spec.get_mut("disruption").and_then(|d| d.take("expireAfter"));
    let mut notes = disruption_of_v1beta1(spec);
    let Some(template) = spec.get_mut("template").and_then(|t| t.get_mut("spec")) else { return };
    if let Some(expire_after) = expire_after {
        template.put("expireAfter", expire_after);
        notes.push(("/spec/template/spec/expireAfter", "It was spec.disruption.expireAfter."));
    }
    if template.take("resources").is_some() {
        notes.push(("/spec/template/spec", "`resources` was left out: it never counted here."));
    }
    if let Some(reference) = template.get_mut("nodeClassRef") {
        notes.extend(reference_of_v1beta1(reference));
    }
    if let Some(kubelet) = template.take("kubelet") {
        template.put(KUBELET, kubelet);
    }
    for (pointer, text) in notes {
        draft.note(pointer, text);
    }
}

fn disruption_of_v1beta1(spec: &mut Tree) -> Vec<(&'static str, &'static str)> {
    let mut notes = Vec::new();
    let Some(disruption) = spec.child("disruption") else { return notes };
    let line = disruption.line;
    let policy = disruption.get("consolidationPolicy").and_then(Tree::as_text);
    if policy == Some("WhenUnderutilized") {
        disruption.put("consolidationPolicy", edit::text(line, "WhenEmptyOrUnderutilized"));
        notes.push(("/spec/disruption/consolidationPolicy", "It was WhenUnderutilized."));
    }
    if !disruption.has("consolidateAfter") {
        disruption.put("consolidateAfter", edit::text(line, "0s"));
        let text = "v1 requires this field. v1beta1 did not wait before it consolidated.";
        notes.push(("/spec/disruption/consolidateAfter", text));
    }
    notes
}

/// `nodeClassRef`: its group was a part of `apiVersion`.
pub(super) fn reference_of_v1beta1(reference: &mut Tree) -> Option<(&'static str, &'static str)> {
    let line = reference.line;
    let old = reference.take("apiVersion");
    if !reference.has("kind") {
        reference.put("kind", edit::text(line, "EC2NodeClass"));
    }
    if reference.has("group") {
        return None;
    }
    let group = old.as_ref().and_then(Tree::as_text).and_then(|text| text.split_once('/'));
    let group = group.map_or(model::api_version::AWS_GROUP, |(group, _)| group);
    reference.put("group", edit::text(line, group));
    Some(("/spec/template/spec/nodeClassRef/group", "It was a part of `apiVersion`."))
}

/// A Provisioner; the second is the AWSNodeTemplate that it has within itself, if so.
pub(super) fn from_provisioner(draft: &mut Draft, name: &str) -> Option<Draft> {
    let line = draft.tree.line;
    draft.tree.put("apiVersion", edit::text(line, V1));
    draft.tree.put("kind", edit::text(line, "NodePool"));
    let mut old = draft.tree.take("spec").unwrap_or_else(|| edit::map(line, []));
    let mut spec = edit::map(old.line, []);
    let mut metadata = edit::map(old.line, []);
    for key in ["labels", "annotations"] {
        if let Some(value) = old.take(key) {
            metadata.put(key, value);
        }
    }
    let mut template = edit::map(old.line, []);
    let provider = node_class_of(draft, &mut old, &mut template, name);
    let requirements = requirements(draft, old.take("requirements"), old.line);
    template.put("requirements", requirements);
    for key in ["taints", "startupTaints"] {
        if let Some(value) = old.take(key) {
            template.put(key, value);
        }
    }
    if let Some(kubelet) = old.take("kubeletConfiguration") {
        template.put(KUBELET, kubelet);
    }
    let expire_after = seconds(old.take("ttlSecondsUntilExpired"));
    if expire_after.is_none() {
        draft.note(
            "/spec/template/spec/expireAfter",
            "Nodes of a Provisioner without ttlSecondsUntilExpired did not expire. The default of v1 is 720h.",
        );
    }
    let expire_after = expire_after.unwrap_or_else(|| edit::text(old.line, "Never"));
    template.put("expireAfter", expire_after);
    let mut whole = edit::map(old.line, [("spec", template)]);
    if metadata.value != TreeValue::Map(Vec::new()) {
        whole.put("metadata", metadata);
    }
    spec.put("template", whole);
    let disruption = disruption(draft, &mut old);
    spec.put("disruption", disruption);
    if let Some(mut limits) = old.take("limits")
        && let Some(resources) = limits.take("resources")
    {
        spec.put("limits", resources);
    }
    // The rest has the same name, or is none of v1: then the reader says so.
    if let TreeValue::Map(entries) = old.value {
        for entry in entries {
            spec.put(&entry.key, entry.value);
        }
    }
    draft.tree.put("spec", spec);
    provider
}

/// The reference to a class, and the class if it stands within the Provisioner.
fn node_class_of(
    draft: &mut Draft,
    old: &mut Tree,
    template: &mut Tree,
    name: &str,
) -> Option<Draft> {
    let line = old.line;
    let (provider, reference) = (old.take("provider"), old.take("providerRef"));
    let class_name = match (&provider, &reference) {
        (Some(_), _) => {
            let text = format!("EC2NodeClass `{name}` is what stood in spec.provider.");
            draft.note("/spec/template/spec/nodeClassRef/name", text);
            name.to_owned()
        }
        (None, Some(reference)) => {
            let text = reference.get("name").and_then(Tree::as_text);
            text.unwrap_or_default().to_owned()
        }
        // Then the reader asks for it.
        (None, None) => return None,
    };
    let reference = edit::map(
        reference.as_ref().map_or(line, |reference| reference.line),
        [
            ("group", edit::text(line, model::api_version::AWS_GROUP)),
            ("kind", edit::text(line, "EC2NodeClass")),
            ("name", edit::text(line, &class_name)),
        ],
    );
    template.put("nodeClassRef", reference);
    let spec = provider?;
    let line = spec.line;
    let metadata = edit::map(line, [("name", edit::text(line, &class_name))]);
    let tree = edit::map(line, [("metadata", metadata), ("spec", spec)]);
    let mut class = Draft {
        tree,
        comments: Comments::new(),
        complaints: Vec::new(),
        was: ObjectReference {
            kind: "spec.provider of Provisioner".to_owned(),
            name: name.to_owned(),
        },
        from: draft.from.clone(),
        file: draft.file.clone(),
    };
    class.note("", format!("Converted from spec.provider of Provisioner {name}."));
    Some(class)
}

/// What the old webhook filled in where a Provisioner said nothing.
fn requirements(draft: &mut Draft, given: Option<Tree>, line: u32) -> Tree {
    let mut tree = given.unwrap_or_else(|| edit::list(line, Vec::new()));
    let TreeValue::List(items) = &mut tree.value else { return tree };
    let gone = ["karpenter.sh/provisioner-name", "karpenter.k8s.aws/instance-pods"];
    let key = |item: &Tree| item.get("key").and_then(Tree::as_text).map(ToOwned::to_owned);
    items.retain(|item| {
        let is_gone = key(item).is_some_and(|key| gone.contains(&key.as_str()));
        if is_gone {
            let text = format!(
                "A requirement on {} was left out: v1 does not have it.",
                key(item).unwrap_or_default()
            );
            draft.note("/spec/template/spec/requirements", text);
        }
        !is_gone
    });
    let has = |items: &[Tree], wanted: &str| {
        items.iter().filter_map(key).any(|key| labels::canonical(&key) == wanted)
    };
    let mut add = |items: &mut Vec<Tree>, key: &str, operator: &str, values: &[&str]| {
        let values = values.iter().map(|value| edit::text(line, value)).collect();
        let pointer = format!("/spec/template/spec/requirements/{}", items.len());
        draft.note(&pointer, "The default of a Provisioner.");
        items.push(edit::map(
            line,
            [
                ("key", edit::text(line, key)),
                ("operator", edit::text(line, operator)),
                ("values", edit::list(line, values)),
            ],
        ));
    };
    for (key, value) in
        [(labels::OS, "linux"), (labels::ARCH, "amd64"), (labels::CAPACITY_TYPE, "on-demand")]
    {
        if !has(items, key) {
            add(items, key, "In", &[value]);
        }
    }
    let narrows = [
        labels::INSTANCE_TYPE,
        labels::INSTANCE_FAMILY,
        labels::INSTANCE_CATEGORY,
        labels::INSTANCE_GENERATION,
    ];
    if !narrows.into_iter().any(|key| has(items, key)) {
        add(items, labels::INSTANCE_CATEGORY, "In", &["c", "m", "r"]);
        add(items, labels::INSTANCE_GENERATION, "Gt", &["2"]);
    }
    tree
}

fn disruption(draft: &mut Draft, old: &mut Tree) -> Tree {
    let line = old.line;
    let consolidates = old.take("consolidation").and_then(|consolidation| {
        consolidation.get("enabled").map(|enabled| enabled.value == TreeValue::Bool(true))
    });
    let after_empty = seconds(old.take("ttlSecondsAfterEmpty"));
    let at = "/spec/disruption/consolidateAfter";
    let (policy, after) = match (consolidates, after_empty) {
        (Some(true), _) => {
            draft.note(at, "Consolidation was enabled, and did not wait.");
            ("WhenEmptyOrUnderutilized", edit::text(line, "0s"))
        }
        (_, Some(after)) => {
            draft.note(at, "It was ttlSecondsAfterEmpty.");
            ("WhenEmpty", after)
        }
        _ => {
            let text = "Neither consolidation nor ttlSecondsAfterEmpty was set: nodes stayed.";
            draft.note(at, text);
            ("WhenEmpty", edit::text(line, "Never"))
        }
    };
    let policy = edit::text(line, policy);
    edit::map(line, [("consolidationPolicy", policy), ("consolidateAfter", after)])
}

/// A number of seconds as a duration.
fn seconds(given: Option<Tree>) -> Option<Tree> {
    let given = given?;
    let (TreeValue::Text(number) | TreeValue::Number(number)) = &given.value else { return None };
    Some(edit::text(given.line, &format!("{number}s")))
}
