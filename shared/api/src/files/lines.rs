//! Where in a file a field or a value of an object stands, for what is said of an object that was read.

use crate::document::{
    found_in,
    tree::{Entry, Tree, TreeValue, parse_yaml},
};

/// The objects of one file with their lines.
#[derive(Clone, Debug, Default)]
pub struct Lines(Vec<Tree>);

impl Lines {
    /// Of a file's text; none of one that is no YAML.
    pub fn of(text: &str) -> Self {
        Self(parse_yaml(text).unwrap_or_default())
    }

    /// The line of `field`, such as `spec.userData`, of the object that begins at line `object`.
    pub fn of_field(&self, object: u32, field: &str) -> Option<u32> {
        let (parents, key) = field.rsplit_once('.').unwrap_or(("", field));
        let parents = parents.split('.').filter(|key| !key.is_empty());
        let parent = parents.fold(self.object(object), |tree, key| tree?.get(key))?;
        known(entry(parent, key)?.line)
    }

    /// The line where the object that begins at line `object` first names the label, annotation or taint `key`, with
    /// `value` if there is one: as a member of a map, or as `key` and `values` of a requirement.
    pub fn of_value(&self, object: u32, key: &str, value: Option<&str>) -> Option<u32> {
        known(line_of(self.object(object)?, key, value)?)
    }

    fn object(&self, line: u32) -> Option<&Tree> {
        found_in(&self.0, "").into_iter().flatten().map(|f| f.tree).find(|tree| tree.line == line)
    }
}

fn known(line: u32) -> Option<u32> {
    (line > 0).then_some(line)
}

fn entry<'t>(tree: &'t Tree, key: &str) -> Option<&'t Entry> {
    let TreeValue::Map(entries) = &tree.value else { return None };
    entries.iter().find(|entry| entry.key == key)
}

fn line_of(tree: &Tree, key: &str, value: Option<&str>) -> Option<u32> {
    let is_meant = |tree: &Tree| value.is_none_or(|value| tree.as_text() == Some(value));
    match &tree.value {
        TreeValue::Map(entries) => {
            if let Some(member) = entry(tree, key).filter(|member| is_meant(&member.value)) {
                return Some(member.line);
            }
            if let Some(named) = entry(tree, "key").filter(|e| e.value.as_text() == Some(key)) {
                let Some(value) = value else { return Some(named.line) };
                let values = tree.get("values").map(|tree| &tree.value);
                if let Some(TreeValue::List(items)) = values
                    && let Some(item) = items.iter().find(|item| item.as_text() == Some(value))
                {
                    return Some(item.line);
                }
            }
            entries.iter().find_map(|entry| line_of(&entry.value, key, value))
        }
        TreeValue::List(items) => items.iter().find_map(|item| line_of(item, key, value)),
        _ => None,
    }
}
