//! Objects by which an API server refuses or changes new pods, and which nothing here applies: ResourceQuotas, webhooks and
//! admission policies.

use crate::document::{
    field::Field,
    tree::{Tree, TreeValue},
};

/// One of these objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Admitter {
    /// Its kind.
    pub kind: &'static str,
    /// Of a ResourceQuota its namespace; the other kinds have none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Admitter {
    /// Whether it may also change pods.
    pub fn changes(&self) -> bool {
        self.kind.starts_with("Mutating")
    }
}

/// The kinds of `admissionregistration.k8s.io`, each with where its rules are: the fields from the object down.
const OF_RULES: [(&str, &[&str]); 4] = [
    ("MutatingWebhookConfiguration", &["webhooks", "rules"]),
    ("ValidatingWebhookConfiguration", &["webhooks", "rules"]),
    ("MutatingAdmissionPolicy", &["spec", "matchConstraints", "resourceRules"]),
    ("ValidatingAdmissionPolicy", &["spec", "matchConstraints", "resourceRules"]),
];

/// `object` of `group` and `kind`, if it may refuse or change new pods. Nothing in it is judged.
pub(crate) fn read(object: &Field<'_>, group: &str, kind: &str) -> Option<Admitter> {
    let metadata = object.tree().get("metadata")?;
    let text = |key: &str| metadata.get(key).and_then(Tree::as_text).map(ToOwned::to_owned);
    let name = text("name")?;
    if (group, kind) == ("", "ResourceQuota") {
        let namespace = text("namespace").unwrap_or_else(|| "default".to_owned());
        return Some(Admitter { kind: "ResourceQuota", namespace: Some(namespace), name });
    }
    let (kind, path) = OF_RULES.into_iter().find(|(known, _)| *known == kind)?;
    let rules = path.iter().fold(vec![object.tree()], |trees, key| {
        trees.into_iter().filter_map(|tree| tree.get(key)).flat_map(items).collect()
    });
    let is_meant = group == "admissionregistration.k8s.io" && rules.into_iter().any(is_of_new_pods);
    is_meant.then_some(Admitter { kind, namespace: None, name })
}

/// The items of a list, or `tree` itself.
fn items(tree: &Tree) -> Vec<&Tree> {
    match &tree.value {
        TreeValue::List(items) => items.iter().collect(),
        _ => vec![tree],
    }
}

/// Whether `rule` is about pods that are created.
fn is_of_new_pods(rule: &Tree) -> bool {
    let has = |key: &str, wanted: &[&str]| {
        let texts = rule.get(key).map(items).unwrap_or_default();
        texts.into_iter().filter_map(Tree::as_text).any(|text| wanted.contains(&text))
    };
    has("operations", &["CREATE", "*"])
        && has("apiGroups", &["", "*"])
        && has("resources", &["pods", "*", "*/*"])
}
