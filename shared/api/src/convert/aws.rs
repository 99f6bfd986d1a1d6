//! EC2NodeClasses of v1beta1 and AWSNodeTemplates of v1alpha1.

use std::collections::BTreeMap;

use super::{ConversionSettings, Draft, edit};
use crate::{
    document::{
        tree::{Entry, Tree, TreeValue},
        yaml::below,
    },
    objects::launch_template::LAUNCH_TEMPLATE,
};

const V1: &str = model::api_version::AWS_V1;
/// Karpenter's own mark on classes that were Ubuntu.
const UBUNTU: &str = "compatibility.karpenter.k8s.aws/v1beta1-ubuntu";
/// Most terms that v1 takes.
const TERMS_MAX: usize = 30;

/// An EC2NodeClass of v1beta1.
pub(super) fn from_v1beta1(draft: &mut Draft) {
    let line = draft.tree.line;
    draft.tree.put("apiVersion", edit::text(line, V1));
    let Some(mut spec) = draft.tree.take("spec") else { return };
    for terms in ["subnetSelectorTerms", "securityGroupSelectorTerms", "amiSelectorTerms"] {
        any_value(draft, &mut spec, terms);
    }
    hop_limit(draft, &mut spec);
    common(draft, &mut spec);
    draft.tree.put("spec", spec);
}

/// The default of metadata options that v1 changed.
fn hop_limit(draft: &mut Draft, spec: &mut Tree) {
    let line = spec.line;
    if let Some(options) = spec.child("metadataOptions")
        && !options.has("httpPutResponseHopLimit")
    {
        options.put("httpPutResponseHopLimit", edit::number(line, 2));
        draft.note(
            "/spec/metadataOptions/httpPutResponseHopLimit",
            "The default was 2, which lets pods reach the metadata service. In v1 the default is 1.",
        );
    }
}

/// What is alike in both older versions.
fn common(draft: &mut Draft, spec: &mut Tree) {
    images(draft, spec);
    if let Some(tags) = spec.get_mut("tags")
        && tags.take("eks:eks-cluster-name").is_some()
    {
        draft.note("/spec/tags", "eks:eks-cluster-name was left out: every launch sets it.");
    }
    let family = spec.get("amiFamily").and_then(Tree::as_text).unwrap_or_default().to_owned();
    if family == "AL2023" && spec.has("userData") {
        draft.note(
            "/spec/userData",
            "Where both set the same, the cluster's part now wins over this.",
        );
    }
    if family == "Custom" && spec.has("userData") {
        draft.note(
            "/spec/userData",
            "Nodes of v1 register with the taint karpenter.sh/unregistered:NoExecute: a custom image sets it itself.",
        );
    }
}

/// `amiSelectorTerms` where there were none, and Ubuntu, which v1 does not know.
fn images(draft: &mut Draft, spec: &mut Tree) {
    let line = spec.line;
    let family = spec.get("amiFamily").and_then(Tree::as_text).unwrap_or_default().to_owned();
    let has_terms = spec.get("amiSelectorTerms").is_some_and(|terms| !terms.items().is_empty());
    if family == "Ubuntu" {
        if !has_terms {
            draft.complain(
                line,
                "spec.amiSelectorTerms",
                "is required: v1 does not look for Ubuntu's images by itself",
                "name the image or its owner, 099720109477, and name",
            );
        }
        spec.put("amiFamily", edit::text(line, "AL2"));
        draft
            .note("/spec/amiFamily", "It was Ubuntu, whose images take the same user data as AL2.");
        let mut changed = "amiFamily";
        if !spec.has("blockDeviceMappings") {
            spec.put("blockDeviceMappings", ubuntu_volume(line));
            draft.note("/spec/blockDeviceMappings", "The volume that Ubuntu's family had.");
            changed = "amiFamily,blockDeviceMappings";
        }
        if let Some(metadata) = draft.tree.child("metadata")
            && let Some(annotations) = metadata.child("annotations")
        {
            annotations.put(UBUNTU, edit::text(line, changed));
        }
        return;
    }
    if has_terms {
        return;
    }
    if matches!(family.as_str(), "AL2" | "AL2023" | "Bottlerocket" | "Windows2019" | "Windows2022")
    {
        let alias = format!("{}@latest", family.to_ascii_lowercase());
        let term = edit::map(line, [("alias", edit::text(line, &alias))]);
        spec.put("amiSelectorTerms", edit::list(line, vec![term]));
        let next = if family == "AL2" {
            "EKS has no AL2 images for Kubernetes 1.33 and later: then use al2023@latest."
        } else {
            "Pin a version to control when nodes are replaced."
        };
        let text = format!("Without terms, nodes got the newest image of the family. {next}");
        draft.note("/spec/amiSelectorTerms", text);
    }
}

fn ubuntu_volume(line: u32) -> Tree {
    let ebs = edit::map(
        line,
        [
            ("encrypted", Tree::new(line, TreeValue::Bool(true))),
            ("volumeType", edit::text(line, "gp3")),
            ("volumeSize", edit::text(line, "20Gi")),
        ],
    );
    let root = Tree::new(line, TreeValue::Bool(true));
    let name = edit::text(line, "/dev/sda1");
    edit::list(
        line,
        vec![edit::map(line, [("deviceName", name), ("rootVolume", root), ("ebs", ebs)])],
    )
}

/// Empty tag values, which v1 refuses, meant any.
fn any_value(draft: &mut Draft, spec: &mut Tree, terms: &str) {
    let Some(Tree { value: TreeValue::List(items), .. }) = spec.get_mut(terms) else { return };
    for (index, item) in items.iter_mut().enumerate() {
        let Some(Tree { value: TreeValue::Map(tags), .. }) = item.get_mut("tags") else { continue };
        for Entry { key, value, .. } in tags {
            if value.as_text() == Some("") {
                value.value = TreeValue::Text("*".to_owned());
                let pointer = below(&format!("/spec/{terms}/{index}/tags"), key);
                draft.note(&pointer, "It was empty, which meant any value.");
            }
        }
    }
}

/// An AWSNodeTemplate, or what stood in `spec.provider` of a Provisioner.
pub(super) fn from_node_template(draft: &mut Draft, settings: &ConversionSettings) {
    let line = draft.tree.line;
    draft.tree.put("apiVersion", edit::text(line, V1));
    draft.tree.put("kind", edit::text(line, "EC2NodeClass"));
    let mut spec = draft.tree.take("spec").unwrap_or_else(|| edit::map(line, []));
    let line = spec.line;
    for key in ["apiVersion", "kind"] {
        spec.take(key);
    }
    // The status does not contain the profile again.
    if let Some(profile) = spec.get("instanceProfile").cloned()
        && let Some(status) = draft.tree.get_mut("status")
    {
        status.put("instanceProfile", profile);
    }
    let template =
        spec.take("launchTemplate").and_then(|name| name.as_written().map(ToOwned::to_owned));
    if !spec.has("amiFamily") {
        let family = if template.is_some() { "Custom" } else { "AL2" };
        spec.put("amiFamily", edit::text(line, family));
        let text = match template {
            Some(_) => "The launch template has image and user data.",
            None => "It was the default.",
        };
        draft.note("/spec/amiFamily", text);
    }
    for (old, new, field) in [
        ("subnetSelector", "subnetSelectorTerms", "subnet"),
        ("securityGroupSelector", "securityGroupSelectorTerms", "security group"),
        ("amiSelector", "amiSelectorTerms", "image"),
    ] {
        if let Some(selector) = spec.take(old) {
            let terms = terms(draft, &selector, new, field);
            spec.put(new, terms);
        }
    }
    match &template {
        Some(name) => from_launch_template(draft, &mut spec, name),
        None => hop_limit(draft, &mut spec),
    }
    if template.is_none() && !spec.has("instanceProfile") {
        match &settings.role {
            Some(role) => {
                spec.put("role", edit::text(line, role));
                draft.note("/spec/role", "From --role: the AWSNodeTemplate left it to a setting.");
            }
            None => draft.complain(
                line,
                "spec.instanceProfile",
                "was left to the setting aws.defaultInstanceProfile, which v1 does not have",
                "name the nodes' IAM role: journeyman convert --role NAME",
            ),
        }
    }
    common(draft, &mut spec);
    draft.tree.put("spec", spec);
}

/// The template stays named; what v1 must have besides says that it stands in the template.
fn from_launch_template(draft: &mut Draft, spec: &mut Tree, name: &str) {
    let line = spec.line;
    if let Some(annotations) =
        draft.tree.child("metadata").and_then(|metadata| metadata.child("annotations"))
    {
        annotations.put(LAUNCH_TEMPLATE, edit::text(line, name));
    }
    for text in [
        format!("Nodes are launched from the newest version of the launch template {name}, as before: only"),
        "instance type, subnet and tags are chosen for them, so it must set neither an instance type nor".to_owned(),
        "network interfaces. Image, user data, instance profile, security groups and volumes are in it:".to_owned(),
        "nodes do not drift when they change, its image is for one architecture, the size of the disk and".to_owned(),
        "the number of pods (kubelet.maxPods) are assumed. To leave it behind, write what it has below,".to_owned(),
        "with the taint karpenter.sh/unregistered:NoExecute in userData, and remove the annotation.".to_owned(),
    ] {
        draft.note("/metadata/annotations", text);
    }
    let placeholder =
        |id: &str| edit::list(line, vec![edit::map(line, [("id", edit::text(line, id))])]);
    for (key, id) in [
        ("amiSelectorTerms", "ami-00000000000000000"),
        ("securityGroupSelectorTerms", "sg-00000000000000000"),
    ] {
        if !spec.has(key) {
            spec.put(key, placeholder(id));
            draft.note(&format!("/spec/{key}"), "In the launch template; v1 wants something here.");
        }
    }
    if !spec.has("instanceProfile") {
        spec.put("instanceProfile", edit::text(line, "in-the-launch-template"));
        draft.note("/spec/instanceProfile", "In the launch template; v1 wants something here.");
    }
}

/// A selector of v1alpha1 as terms: ids and names one by one, tags together. Commas part
/// alternatives.
fn terms(draft: &mut Draft, selector: &Tree, field: &str, what: &str) -> Tree {
    let line = selector.line;
    let TreeValue::Map(entries) = &selector.value else { return selector.clone() };
    let (mut ids, mut names, mut owners) = (Vec::new(), Vec::new(), Vec::new());
    let mut tags = vec![BTreeMap::new()];
    for entry in entries {
        let written = entry.value.as_written().unwrap_or_default();
        let parts: Vec<_> = written.split(',').map(|part| part.trim().to_owned()).collect();
        match entry.key.as_str() {
            "aws-ids" | "aws::ids" => ids = parts,
            "aws::name" => names = parts,
            "aws::owners" => owners = parts,
            key => {
                let with = |tags: &BTreeMap<String, String>, part: &String| {
                    let value = if part.is_empty() { "*" } else { part };
                    let mut all_tags = tags.clone();
                    all_tags.insert(key.to_owned(), value.to_owned());
                    all_tags
                };
                tags = tags
                    .iter()
                    .flat_map(|tags| parts.iter().map(|part| with(tags, part)))
                    .collect();
            }
        }
    }
    let has_tags = tags.iter().any(|tags| !tags.is_empty());
    let pointer = format!("/spec/{field}");
    let trees = if ids.is_empty() {
        by_search(line, &tags, &some_or_any(names), &some_or_any(owners))
    } else {
        if has_tags || !names.is_empty() || !owners.is_empty() {
            let text = format!("Every id names one {what}: the rest of the selector was left out.");
            draft.note(&pointer, text);
        }
        ids.iter().map(|id| edit::map(line, [("id", edit::text(line, id))])).collect()
    };
    if trees.len() > 1 {
        draft.note(&pointer, "One term for each alternative.");
    }
    if trees.len() > TERMS_MAX {
        let rule = format!("has {} alternatives, and v1 takes {TERMS_MAX} terms", trees.len());
        draft.complain(line, &format!("spec.{field}"), &rule, "");
    }
    edit::list(line, trees)
}

/// Each of `texts`; if there are none, any.
fn some_or_any(texts: Vec<String>) -> Vec<Option<String>> {
    if texts.is_empty() { vec![None] } else { texts.into_iter().map(Some).collect() }
}

fn by_search(
    line: u32,
    tags: &[BTreeMap<String, String>],
    names: &[Option<String>],
    owners: &[Option<String>],
) -> Vec<Tree> {
    let mut trees = Vec::new();
    for tags in tags {
        for name in names {
            for owner in owners {
                let mut term = edit::map(line, []);
                if !tags.is_empty() {
                    let mut map = edit::map(line, []);
                    for (key, value) in tags {
                        map.put(key, edit::text(line, value));
                    }
                    term.put("tags", map);
                }
                for (key, value) in [("name", name), ("owner", owner)] {
                    if let Some(value) = value {
                        term.put(key, edit::text(line, value));
                    }
                }
                trees.push(term);
            }
        }
    }
    trees
}
