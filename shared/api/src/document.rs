//! Text as documents: values with their lines, the objects that stand in them, and what is wrong.
//!
//! What an object means is not known here; `objects` reads it. Objects of Karpenter's older versions
//! become those of v1 here, so that nobody else knows them.

use std::fmt;

use self::tree::{Tree, Value};

pub(crate) mod field;
pub(crate) mod older;
pub(crate) mod placeholder;
pub(crate) mod tree;
pub mod yaml;

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// Kind and name, such as `NodePool general`; empty when no object could be read.
    pub object: String,
    /// The field, such as `spec.weight`; empty when it is about the whole.
    pub field: String,
    /// What is wrong with it, and the rule that it breaks.
    pub rule: String,
    /// What to write instead, where people commonly go wrong.
    pub cure: Option<String>,
}

impl fmt::Display for Problem {
    /// `pool.yaml:12: NodePool general: spec.weight: must be 1 to 100`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        for part in [&self.object, &self.field, &self.rule] {
            if !part.is_empty() {
                // A text that is quoted may have lines of its own.
                write!(f, ": {}", part.replace('\n', "\\n"))?;
            }
        }
        self.cure.as_ref().map_or(Ok(()), |cure| write!(f, "; {cure}"))
    }
}

/// The documents of `text`; none, and a problem, if it is no YAML.
pub(crate) fn documents(text: &str, file: &str, problems: &mut Vec<Problem>) -> Vec<Tree> {
    tree::parse_yaml(text).unwrap_or_else(|error| {
        let line = error.line.and_then(|line| text.lines().nth(usize::try_from(line).ok()? - 1));
        let left_in = line.and_then(placeholder::in_text);
        problems.push(Problem {
            file: file.to_owned(),
            line: error.line,
            object: String::new(),
            field: String::new(),
            rule: error.rule,
            cure: left_in.map(|name| format!("`{name}` was left in: put the value in its place")),
        });
        Vec::new()
    })
}

/// An object of a file that has not been read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

/// Every object of `documents` in order; those of lists by themselves.
pub(crate) fn found_in<'a>(documents: &'a [Tree], file: &str) -> Vec<Result<Found<'a>, Problem>> {
    let mut found = Vec::new();
    for document in documents {
        find(document, None, file, &mut found);
    }
    found
}

/// Type of the items of a list, for items that do not say it themselves.
#[derive(Clone, Copy)]
struct ItemType<'a> {
    api_version: &'a str,
    kind: &'a str,
}

fn find<'a>(
    document: &'a Tree,
    item_type: Option<ItemType<'a>>,
    file: &str,
    found: &mut Vec<Result<Found<'a>, Problem>>,
) {
    let text = |key: &str| document.get(key).and_then(Tree::as_text);
    let api_version = text("apiVersion").or_else(|| item_type.map(|item| item.api_version));
    let kind = text("kind").or_else(|| item_type.map(|item| item.kind));
    let (Some(api_version), Some(kind)) = (api_version, kind) else {
        found.push(Err(Problem {
            file: file.to_owned(),
            line: Some(document.line),
            object: String::new(),
            field: String::new(),
            rule: "not a Kubernetes object: `apiVersion` and `kind` are required".to_owned(),
            cure: None,
        }));
        return;
    };
    if let (Some(item_kind), Some(Value::List(items))) =
        (kind.strip_suffix("List"), document.get("items").map(|tree| &tree.value))
    {
        let item_type = ItemType { api_version, kind: item_kind };
        let item_type = (!item_kind.is_empty()).then_some(item_type);
        for item in items {
            find(item, item_type, file, found);
        }
        return;
    }
    found.push(Ok(Found { tree: document, api_version, kind }));
}
