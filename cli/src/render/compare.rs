//! What a change of objects changes on the nodes: values by path, and whether nodes that run would drift.
//!
//! Launch templates are told apart by image and instance types, because their names are made of
//! their content.

use std::collections::{BTreeMap, BTreeSet};

use model::resources;
use serde_json::Value;

use super::{Rendered, json};

/// The path of user data behind its instance type: many lines.
pub(super) const USER_DATA: &str = "user data";

/// What a change means for nodes that run: why they would drift. Empty: by hashes and images they would not.
pub(super) fn drift(old: &Rendered, new: &Rendered) -> Vec<String> {
    let mut reasons = Vec::new();
    let changed = |name: &str, old: &Option<String>, new: &Option<String>| {
        let [old, new] = [old.as_deref()?, new.as_deref()?];
        (old != new).then(|| format!("the hash of {name} changes ({old} → {new})"))
    };
    reasons.extend(changed("NodePool", &old.pool_hash, &new.pool_hash));
    reasons.extend(changed("EC2NodeClass", &old.class_hash, &new.class_hash));
    if images(old) != images(new) {
        reasons.push("another image is selected".to_owned());
    }
    reasons
}

/// The images of the launch templates.
fn images(rendered: &Rendered) -> BTreeSet<&str> {
    rendered.launch.templates.iter().map(|template| template.data.image.as_str()).collect()
}

/// One value that is another, or there only before or after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Such as `ami-1 m7i.large: data.MetadataOptions.HttpTokens`.
    pub(crate) path: String,
    /// Before.
    pub(crate) old: Option<String>,
    /// After.
    pub(crate) new: Option<String>,
}

/// Every change from `old` to `new`, sorted by path.
pub(super) fn compare(old: &Rendered, new: &Rendered) -> Vec<Change> {
    let (old, new) = (leaves(old), leaves(new));
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let changed = paths.into_iter().filter(|path| old.get(*path) != new.get(*path));
    changed
        .map(|path| Change {
            path: path.clone(),
            old: old.get(path).cloned(),
            new: new.get(path).cloned(),
        })
        .collect()
}

/// Every value by its path. What a node of each type has for pods is among them.
fn leaves(rendered: &Rendered) -> BTreeMap<String, String> {
    let request = &rendered.launch.request;
    let mut texts = BTreeMap::new();
    for template in &rendered.launch.templates {
        let data = json::launch_template_data(&template.data, rendered.settings.reserved_capacity);
        for name in json::types_of(request, template) {
            let mut differences = BTreeMap::new();
            flatten("data", &data, &mut differences);
            differences.insert(USER_DATA.to_owned(), template.data.user_data.clone());
            let tags = template.data.tags.iter();
            differences.extend(tags.map(|(key, value)| (format!("tags.{key}"), value.clone())));
            texts.extend(
                differences.into_iter().map(|(path, value)| (format!("{name}: {path}"), value)),
            );
        }
    }
    for config in &request.templates {
        let is_made = rendered.launch.templates.iter().any(|made| made.name == config.template);
        for choice in &config.overrides {
            let name = &choice.instance_type;
            if !is_made {
                let template = config.template.to_string();
                texts.insert(format!("{name}: launch template"), template);
            }
            texts.insert(format!("{name}: offered in {}", choice.zone), choice.subnet.to_string());
            if let Some(allocatable) = rendered.allocatable(name) {
                let amounts = allocatable.iter().map(|(resource, amount)| {
                    let path = format!("{name}: allocatable.{resource}");
                    (path, resources::format_amount(resource, amount))
                });
                texts.extend(amounts);
            }
        }
    }
    let capacity_type = request.capacity_type.to_string();
    texts.insert("fleet: capacity type".to_owned(), capacity_type);
    let context = request.context.iter();
    texts.extend(context.map(|context| ("fleet: context".to_owned(), context.clone())));
    texts
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{path}.{key}"), value, out);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), value, out);
            }
        }
        Value::String(text) => {
            out.insert(path.to_owned(), text.clone());
        }
        other => {
            out.insert(path.to_owned(), other.to_string());
        }
    }
}
