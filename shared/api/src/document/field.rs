//! Reading a tree field by field: every complaint knows path and line, and reading goes on.
//!
//! One field gets one complaint, the first: what follows from it is not repeated.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use model::{
    Problem,
    problem::{Rule, Weight},
};

use super::{
    spelling,
    tree::{Entry, Tree, TreeValue},
};

/// What is wrong with one field, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) problem: Problem,
    /// 0 is unknown.
    pub(crate) line: u32,
    pub(crate) cure: Option<String>,
}

/// Whether fields that no reader knows are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Written by people: a misspelled field must not be lost.
    Refused,
    /// Sent by an API server, which may be newer than this program.
    Ignored,
}

/// Complaints about one object, in the order in which they were found.
#[derive(Debug)]
pub(crate) struct Complaints {
    unknown: Unknown,
    list: RefCell<Vec<Complaint>>,
    /// Of `list`, so that many complaints cost no more each than few.
    paths: RefCell<BTreeSet<String>>,
}

impl Complaints {
    pub(crate) fn new(unknown: Unknown) -> Self {
        Self { unknown, list: RefCell::default(), paths: RefCell::default() }
    }

    /// What was found.
    pub(crate) fn into_list(self) -> Vec<Complaint> {
        self.list.into_inner()
    }

    /// What makes an object that was read unusable.
    pub(crate) fn own_problems(&self) -> Vec<Problem> {
        let list = self.list.borrow();
        let problems = list.iter().map(|complaint| &complaint.problem);
        let is_own =
            |problem: &&Problem| matches!(problem.weight, Weight::Unusable | Weight::Unsupported);
        problems.filter(is_own).cloned().collect()
    }

    fn add(&self, complaint: Complaint) {
        let field = &complaint.problem.field;
        let mut paths = self.paths.borrow_mut();
        // What is wrong with a part explains what is wrong with the whole.
        let has_part = |separator: &str| {
            let start = format!("{field}{separator}");
            paths.range(start.clone()..).next().is_some_and(|path| path.starts_with(&start))
        };
        if paths.contains(field) || has_part(".") || has_part("[") {
            return;
        }
        // What only closes disruption explains nothing that keeps the object away.
        if complaint.problem.weight != Weight::ClosesDisruption {
            paths.insert(field.clone());
        }
        self.list.borrow_mut().push(complaint);
    }
}

/// Complains of what is wrong with a field.
pub(crate) type Check = fn(&Field<'_>);

/// A value at its place in the object.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    path: String,
    line: u32,
    tree: &'a Tree,
    complaints: &'a Complaints,
    /// See [`Field::checked_later`].
    is_checked_later: bool,
}

impl<'a> Field<'a> {
    /// The whole object.
    pub(crate) fn root(tree: &'a Tree, complaints: &'a Complaints) -> Self {
        Self { path: String::new(), line: tree.line, tree, complaints, is_checked_later: false }
    }

    /// The value of `key`, or a place for a complaint about it.
    pub(crate) fn at(&self, key: &str) -> Self {
        let entry = match &self.tree.value {
            TreeValue::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        };
        match entry {
            Some(entry) => self.of_entry(entry),
            None => Self { path: joined(&self.path, key), ..self.clone() },
        }
    }

    /// Whether there is a value at `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.tree.get(key).is_some_and(|value| !value.is_null())
    }

    /// The text at `key`, if there is one.
    pub(crate) fn text_at(&self, key: &str) -> Option<&'a str> {
        self.tree.get(key).and_then(Tree::as_text)
    }

    /// A place for a complaint about `key`, which is not there.
    pub(crate) fn missing(&self, key: &str) -> Self {
        Self { path: joined(&self.path, key), ..self.clone() }
    }

    /// Where it stands in the object: `spec.tags`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether its key is `key`.
    pub(crate) fn is_at(&self, key: &str) -> bool {
        self.path.rsplit('.').next() == Some(key)
    }

    /// Whether fields that no reader knows are as good as absent.
    pub(crate) fn ignores_unknown(&self) -> bool {
        self.complaints.unknown == Unknown::Ignored
    }

    /// `metadata.name` of the object, for complaints about it.
    pub(crate) fn name(&self) -> Self {
        self.at("metadata").at("name")
    }

    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    pub(crate) fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// The same for a part of which the API server only looks at the kind: what is wrong within it
    /// makes an object unusable, and does not keep it away.
    pub(crate) fn checked_later(&self) -> Self {
        Self { is_checked_later: true, ..self.clone() }
    }

    /// The same field, for rules that are stricter than the definition of the object's kind: a stored object that breaks
    /// one is read, and is unusable.
    pub(crate) fn beyond_definition(&self) -> Self {
        if self.ignores_unknown() { self.checked_later() } else { self.clone() }
    }

    /// Says that a rule is broken.
    pub(crate) fn complain(&self, rule: impl Into<Rule>) {
        self.add(Weight::Refused, rule.into(), None);
    }

    /// Says that a rule is broken, of an object that people wrote. One that a server stored it took
    /// by rules of its own time.
    pub(crate) fn complain_if_written(&self, rule: impl Into<Rule>) {
        if self.complaints.unknown == Unknown::Refused {
            self.complain(rule);
        }
    }

    /// The same, with what to write instead.
    pub(crate) fn complain_if_written_with(&self, rule: impl Into<Rule>, cure: impl Into<String>) {
        if self.complaints.unknown == Unknown::Refused {
            self.complain_with(rule, cure);
        }
    }

    /// Says that a rule is broken which Karpenter looks at when the object is there already.
    pub(crate) fn complain_unusable(&self, rule: impl Into<Rule>) {
        self.add(Weight::Unusable, rule.into(), None);
    }

    /// Says that this is not supported yet; `what` goes on after the field's name.
    pub(crate) fn complain_unsupported(&self, what: impl Into<Rule>) {
        self.add(Weight::Unsupported, what.into(), None);
    }

    /// Says that a rule is broken without which nothing of a NodePool is disrupted, and what to write instead
    /// where that is known.
    pub(crate) fn complain_closing(&self, rule: impl Into<Rule>, cure: Option<String>) {
        self.add(Weight::ClosesDisruption, rule.into(), cure);
    }

    /// Says that a rule is broken, with what to write instead.
    pub(crate) fn complain_with(&self, rule: impl Into<Rule>, cure: impl Into<String>) {
        self.add(Weight::Refused, rule.into(), Some(cure.into()));
    }

    /// Says that a rule is broken, and what to write instead where that is known.
    pub(crate) fn complain_cured(&self, rule: impl Into<Rule>, cure: Option<String>) {
        self.add(Weight::Refused, rule.into(), cure);
    }

    /// Whether anything of this weight was said of this or of what is within it.
    pub(crate) fn has_within(&self, weight: Weight) -> bool {
        let list = self.complaints.list.borrow();
        let mut problems = list.iter().map(|complaint| &complaint.problem);
        problems.any(|problem| problem.weight == weight && problem.is_within(&self.path))
    }

    /// Complains with an error's own words.
    pub(crate) fn accept<T>(&self, outcome: Result<T, impl ToString>) -> Option<T> {
        outcome.map_err(|error| self.complain(error.to_string())).ok()
    }

    fn add(&self, weight: Weight, rule: Rule, cure: Option<String>) {
        let weight = match weight {
            Weight::Refused if self.is_checked_later => Weight::Unusable,
            weight => weight,
        };
        let problem = Problem { weight, field: self.path.clone(), rule };
        self.complaints.add(Complaint { problem, line: self.line, cure });
    }

    fn wrong_type<T>(&self, wanted: &str) -> Option<T> {
        let rule = format!("must be {wanted}, not {}", self.shown());
        match &self.tree.value {
            TreeValue::Number(_) | TreeValue::Bool(_) if wanted == "a text" => {
                let written = self.tree.as_written().unwrap_or_default();
                self.complain_with(rule, format!("quote it: \"{written}\""));
            }
            _ => self.complain(rule),
        }
        None
    }

    /// What stands there: scalars as written, the rest by kind.
    fn shown(&self) -> String {
        let written = self.tree.as_written().unwrap_or_default();
        match &self.tree.value {
            TreeValue::Text(text) => format!("the text `{text}`"),
            TreeValue::Number(_) => format!("the number {written}"),
            TreeValue::Bool(_) => format!("the boolean {written}"),
            other => other.kind().to_owned(),
        }
    }

    /// The text, or `None` and a complaint.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.tree.as_text().or_else(|| self.wrong_type("a text"))
    }

    /// The text, which must not be empty.
    pub(crate) fn text_not_empty(&self) -> Option<&'a str> {
        let text = self.text()?;
        if text.is_empty() {
            self.complain("must not be empty");
            return None;
        }
        Some(text)
    }

    /// The text, read by `parse`.
    pub(crate) fn parsed<T, E: ToString>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        self.accept(parse(self.text()?))
    }

    /// A quantity's text: Kubernetes takes numbers there as well.
    pub(crate) fn quantity(&self) -> Option<&'a str> {
        match &self.tree.value {
            TreeValue::Text(text) | TreeValue::Number(text) => Some(text),
            _ => self.wrong_type("a quantity such as `500m` or `2Gi`"),
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.tree.value {
            TreeValue::Bool(value) => Some(*value),
            _ => self.wrong_type("true or false"),
        }
    }

    /// A whole number from `least` to `most`.
    pub(crate) fn integer<T: TryFrom<i64>>(&self, least: i64, most: i64) -> Option<T> {
        let TreeValue::Number(text) = &self.tree.value else {
            return self.wrong_type("a whole number");
        };
        let Ok(number) = text.parse::<i64>() else { return self.wrong_type("a whole number") };
        if number < least || most < number {
            if number < least && most >= i64::from(i32::MAX) {
                self.complain(format!("must be at least {least}, not {number}"));
            } else {
                self.complain(format!("must be {least} to {most}, not {number}"));
            }
            return None;
        }
        T::try_from(number).ok()
    }

    /// One of `choices`, matched exactly.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Option<T> {
        // Quotes cure only what would be a choice with them.
        let written = self.tree.as_written();
        let choice = written.and_then(|text| choices.iter().find(|(name, _)| *name == text));
        if let (None, Some(written)) = (choice, written) {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
            self.complain(format!("must be one of {}, not `{written}`", names.join(", ")));
            return None;
        }
        self.text()?;
        choice.map(|(_, value)| *value)
    }

    pub(crate) fn is_null(&self) -> bool {
        self.tree.is_null()
    }

    /// The items of a list.
    pub(crate) fn list(&self) -> Option<Vec<Self>> {
        let TreeValue::List(items) = &self.tree.value else { return self.wrong_type("a list") };
        let item = |(index, tree): (usize, &'a Tree)| Self {
            path: format!("{}[{index}]", self.path),
            line: tree.line,
            tree,
            complaints: self.complaints,
            is_checked_later: self.is_checked_later,
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The items of a list, if there is one.
    pub(crate) fn list_if_any(&self) -> Option<Vec<Self>> {
        matches!(self.tree.value, TreeValue::List(_)).then(|| self.list()).flatten()
    }

    /// The texts of a list.
    pub(crate) fn texts(&self) -> Option<Vec<&'a str>> {
        self.list()?.iter().map(Self::text).collect()
    }

    /// A map with fields that are known by name.
    pub(crate) fn fields(&self) -> Option<Fields<'a>> {
        let TreeValue::Map(entries) = &self.tree.value else { return self.wrong_type("a map") };
        Some(Fields { at: self.clone(), entries, asked: Vec::new() })
    }

    /// A map with keys of the user's own.
    pub(crate) fn entries(&self) -> Option<Vec<(&'a str, Self)>> {
        let TreeValue::Map(entries) = &self.tree.value else { return self.wrong_type("a map") };
        Some(entries.iter().map(|entry| (entry.key.as_str(), self.of_entry(entry))).collect())
    }

    /// A map of texts. Values that are none are complained about and left out.
    pub(crate) fn text_map(&self) -> Option<BTreeMap<String, String>> {
        let entries = self.entries()?.into_iter();
        let text = |(key, field): (&str, Self)| Some((key.to_owned(), field.text()?.to_owned()));
        Some(entries.filter_map(text).collect())
    }

    fn of_entry(&self, entry: &'a Entry) -> Self {
        Self {
            path: joined(&self.path, &entry.key),
            line: entry.line,
            tree: &entry.value,
            complaints: self.complaints,
            is_checked_later: self.is_checked_later,
        }
    }
}

/// `path.key`; keys with dots or slashes in brackets, so that the path stays readable.
fn joined(path: &str, key: &str) -> String {
    if key.contains(['.', '/']) {
        format!("{path}[{key}]")
    } else if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The fields of a map. Ask for every one that is known, then call [`Fields::done`].
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    at: Field<'a>,
    entries: &'a [Entry],
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The field called `key`, unless it is absent or null.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Field<'a>> {
        self.asked.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (!entry.value.is_null()).then(|| self.at.of_entry(entry))
    }

    /// The same; its absence is complained about, unless a field that is spelled alike will be.
    pub(crate) fn require(&mut self, key: &'static str) -> Option<Field<'a>> {
        let field = self.get(key);
        let alike = |entry: &Entry| entry.key != key && entry.key.eq_ignore_ascii_case(key);
        if field.is_none() && (self.at.ignores_unknown() || !self.entries.iter().any(alike)) {
            self.at.missing(key).complain("is required");
        }
        field
    }

    /// Names that are known and decide nothing here.
    pub(crate) fn ignore(&mut self, keys: &[&'static str]) {
        self.asked.extend(keys);
    }

    /// Whether `key` is there and not null.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key && !entry.value.is_null())
    }

    /// Complains about every field that no reader asked for.
    pub(crate) fn done(self) {
        for entry in self.entries.iter().filter(|_| !self.at.ignores_unknown()) {
            if !self.asked.contains(&entry.key.as_str()) {
                let cure = spelling::cure(&entry.key, self.asked.iter().copied());
                self.at.of_entry(entry).complain_cured("unknown field", cure);
            }
        }
    }
}
