//! Text as documents: values with their lines, the objects that stand in them, and what is wrong.
//!
//! What an object means is not known here; `objects` reads it.

use std::fmt;

use model::{
    Problem,
    problem::{Rule, Weight},
    words,
};

use self::tree::{SyntaxError, Tree, TreeValue};

pub(crate) mod field;
pub mod json_tree;
pub mod placeholder;
pub(crate) mod spelling;
pub mod tree;
pub mod yaml;

/// The kind and the name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectReference {
    /// The kind, such as `NodePool`.
    pub kind: String,
    /// The name; `(without a name)` of an object that says none.
    pub name: String,
}

impl ObjectReference {
    /// What `tree`, an object of `kind`, is called.
    pub(crate) fn of(kind: &str, tree: &Tree) -> Self {
        let name = tree.get("metadata").and_then(|metadata| metadata.get("name"));
        let name = name.and_then(Tree::as_text).unwrap_or("(without a name)");
        Self { kind: kind.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for ObjectReference {
    /// `NodePool general`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// One thing that is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// The object; `None` when none could be read.
    pub object: Option<ObjectReference>,
    /// What is wrong.
    pub problem: Problem,
    /// What to write instead, where people commonly go wrong.
    pub cure: Option<String>,
    /// Whether an API server has stored the object: it has a uid. Then its text is not what the user wrote.
    pub is_stored: bool,
}

impl Diagnostic {
    /// What keeps `file` from being read at `line`, before there is an object.
    fn of_file(file: &str, line: Option<u32>, rule: impl Into<Rule>) -> Self {
        let problem = Problem { weight: Weight::Refused, field: String::new(), rule: rule.into() };
        Self { file: file.to_owned(), line, object: None, problem, cure: None, is_stored: false }
    }
}

impl fmt::Display for Diagnostic {
    /// `pool.yaml:12: NodePool general: spec.weight: must be 1 to 100`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let object = self.object.as_ref().map(ToString::to_string);
        for part in object.into_iter().chain([self.problem.to_string()]) {
            // A text that is quoted may have lines of its own.
            write!(f, ": {}", part.replace('\n', "\\n"))?;
        }
        self.cure.as_ref().map_or(Ok(()), |cure| write!(f, "; {cure}"))
    }
}

/// Documents of a file up to which those are read that are beside one that is no YAML.
const PARTS_MAX: usize = 10_000;

/// The documents of `text`, and a problem for each that is no YAML.
pub(crate) fn documents(text: &str, file: &str, problems: &mut Vec<Diagnostic>) -> Vec<Tree> {
    let error = match tree::parse_yaml(text) {
        Ok(documents) => return documents,
        Err(error) => error,
    };
    let parts = parts(text);
    if parts.len() < 2 {
        problems.push(unreadable(text, file, error));
        return Vec::new();
    }
    if PARTS_MAX < parts.len() {
        let documents = words::many(parts.len());
        let rule = format!("{}; none of the {documents} documents of the file is read", error.rule);
        problems.push(unreadable(text, file, SyntaxError { rule, ..error }));
        return Vec::new();
    }
    let mut documents = Vec::new();
    for (before, part) in parts {
        match tree::parse_yaml(part) {
            Ok(read) => documents.extend(read.into_iter().map(|tree| tree.moved_down(before))),
            Err(error) => {
                let line = error.line.map(|line| line.saturating_add(before));
                problems.push(unreadable(text, file, SyntaxError { line, ..error }));
            }
        }
    }
    documents
}

/// The documents of a stream, each with the number of lines before it. A line that begins with `---` begins a document
/// wherever it stands: <https://yaml.org/spec/1.2.2/#91-document>. Directives, which come first or after a line `...`,
/// belong to the document after them.
fn parts(text: &str) -> Vec<(u32, &str)> {
    let is_marker = |line: &str, marker: &str| {
        let rest = line.strip_prefix(marker);
        rest.is_some_and(|rest| rest.trim_start() != rest || rest.is_empty())
    };
    let mut parts = Vec::new();
    let (mut start, mut start_line, mut at) = (0, 0, 0);
    // Whether no document has begun since the start or the last `...`, and the first directive since then.
    let (mut is_between, mut directive) = (true, None);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let here = (at, u32::try_from(number).unwrap_or(u32::MAX));
        at += line.len();
        if is_marker(line, "...") {
            (is_between, directive) = (true, None);
        } else if is_marker(line, "---") {
            let (begin, line) = directive.take().unwrap_or(here);
            is_between = false;
            if start < begin {
                parts.push((start_line, text.get(start..begin).unwrap_or_default()));
                (start, start_line) = (begin, line);
            }
        } else if is_between && line.starts_with('%') {
            directive = directive.or(Some(here));
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            is_between = false;
        }
    }
    parts.push((start_line, text.get(start..).unwrap_or_default()));
    parts
}

/// What keeps a document of `text` from being read.
fn unreadable(text: &str, file: &str, error: SyntaxError) -> Diagnostic {
    if let Some(line) = error.line.filter(|line| are_two_objects(text, *line)) {
        let cure = "put a line `---` above this one".to_owned();
        let rule = "two objects stand without `---` between them";
        return Diagnostic { cure: Some(cure), ..Diagnostic::of_file(file, Some(line), rule) };
    }
    let line = error.line.and_then(|line| text.lines().nth(usize::try_from(line).ok()? - 1));
    let left_in = line.and_then(placeholder::in_text);
    Diagnostic {
        cure: left_in.map(|name| format!("`{name}` was left in: put the value in its place")),
        ..Diagnostic::of_file(file, error.line, error.rule)
    }
}

/// Whether a second object begins at `line`, which repeats a key, in a document that has one already: both
/// say `apiVersion` and `kind`.
fn are_two_objects(text: &str, line: u32) -> bool {
    let Some(before) = usize::try_from(line).ok().and_then(|line| line.checked_sub(1)) else {
        return false;
    };
    let is_parting = |line: &&str| line.starts_with("---");
    let lines: Vec<&str> = text.lines().collect();
    let (before, after) = lines.split_at(before.min(lines.len()));
    let started = before.iter().rposition(is_parting).map_or(0, |last| last + 1);
    let before = before.get(started..).unwrap_or_default();
    let key = |line: &str| {
        let (key, _) = line.split_once(':')?;
        Some(key.trim_matches(['"', '\'']).to_owned()).filter(|key| !key.starts_with(' '))
    };
    let says = |lines: &[&str], wanted: &str| {
        lines.iter().any(|line| key(line).is_some_and(|key| key == wanted))
    };
    let after: Vec<&str> = after.iter().take_while(|line| !is_parting(line)).copied().collect();
    let is_top = after.first().is_some_and(|line| !line.starts_with([' ', '\t', '-']));
    is_top && ["apiVersion", "kind"].iter().all(|key| says(before, key) && says(&after, key))
}

/// An object of a file that has not been read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

/// Every object of `documents` in order; those of lists by themselves.
pub(crate) fn found_in<'a>(
    documents: &'a [Tree],
    file: &str,
) -> Vec<Result<Found<'a>, Diagnostic>> {
    let mut founds = Vec::new();
    for document in documents {
        find(document, None, file, &mut founds);
    }
    founds
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
    founds: &mut Vec<Result<Found<'a>, Diagnostic>>,
) {
    let text = |key: &str| document.get(key).and_then(Tree::as_text);
    let api_version = text("apiVersion").or_else(|| item_type.map(|item| item.api_version));
    let kind = text("kind").or_else(|| item_type.map(|item| item.kind));
    let (Some(api_version), Some(kind)) = (api_version, kind) else {
        let rule = "not a Kubernetes object: `apiVersion` and `kind` are required";
        founds.push(Err(Diagnostic::of_file(file, Some(document.line), rule)));
        return;
    };
    if let (Some(item_kind), Some(TreeValue::List(items))) =
        (kind.strip_suffix("List"), document.get("items").map(|tree| &tree.value))
    {
        let item_type = ItemType { api_version, kind: item_kind };
        let item_type = (!item_kind.is_empty()).then_some(item_type);
        for item in items {
            find(item, item_type, file, founds);
        }
        return;
    }
    founds.push(Ok(Found { tree: document, api_version, kind }));
}
