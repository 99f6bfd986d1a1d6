//! Follows the lines that begin with `#:`, as the parent says.
//!
//! A line that it cannot follow stays where it is: a test refuses every template with one.

use std::collections::BTreeMap;

use model::Function;

use super::facts;

const SIGN: &str = "#: ";

/// Texts by name.
#[derive(Debug)]
pub(super) struct Template<'a> {
    texts: BTreeMap<&'a str, Vec<&'a str>>,
}

/// A line: how far it is from the left, and what it says.
fn split(line: &str) -> (usize, &str) {
    let text = line.trim_start();
    (line.len() - text.len(), text)
}

fn indented(by: usize, lines: impl IntoIterator<Item = String>) -> impl Iterator<Item = String> {
    let indented = move |line: String| if line.is_empty() { line } else { " ".repeat(by) + &line };
    lines.into_iter().map(indented)
}

/// What a line asks for: the word and what it is about.
fn directive(line: &str) -> Option<(&str, &str)> {
    let text = split(line).1.strip_prefix(SIGN)?;
    Some(text.split_once(' ').unwrap_or((text, "")))
}

/// The lines until the end of the block that has begun, and those behind it.
fn block<'s, 'a>(lines: &'s [&'a str]) -> (&'s [&'a str], &'s [&'a str]) {
    let mut open = 1_usize;
    let end = lines.iter().position(|line| {
        match directive(line) {
            Some(("each" | "if" | "unless" | "text", _)) => open += 1,
            Some(("end", _)) => open -= 1,
            _ => {}
        }
        open == 0
    });
    let end = end.unwrap_or(lines.len());
    let (block, rest) = lines.split_at(end);
    (block, rest.get(1..).unwrap_or_default())
}

impl<'a> Template<'a> {
    /// With the texts of all `parts`.
    pub(super) fn new(parts: &[&'a str]) -> Self {
        let mut texts = BTreeMap::new();
        for part in parts {
            let lines: Vec<&str> = part.lines().collect();
            let mut rest = lines.as_slice();
            while let Some((line, after)) = rest.split_first() {
                rest = after;
                match directive(line) {
                    Some(("text", name)) => {
                        let (block, after) = block(rest);
                        let indent = split(line).0;
                        let text = block.iter().map(|line| line.get(indent..).unwrap_or_default());
                        texts.insert(name, text.collect());
                        rest = after;
                    }
                    Some(("line", what)) => {
                        if let Some((name, text)) = what.split_once(' ') {
                            texts.insert(name, vec![text]);
                        }
                    }
                    _ => {}
                }
            }
        }
        Self { texts }
    }

    /// The lines of `text`; `functions` are inserted by that name.
    pub(super) fn lines(mut self, text: &str, functions: &'a str) -> Vec<String> {
        self.texts.insert("functions", functions.lines().collect());
        let lines: Vec<&str> = text.lines().collect();
        self.expanded(&lines, None)
    }

    fn expanded(&self, lines: &[&str], function: Option<Function>) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut rest = lines;
        while let Some((line, after)) = rest.split_first() {
            rest = match (directive(line), line.split_once(" #: grant"), function) {
                (Some(directive), _, _) => {
                    self.followed(line, directive, after, function, &mut out)
                }
                (None, Some((head, calls)), Some(function)) => {
                    let is_part = |part: &&&str| split(part).0 > split(line).0;
                    let (body, after) = after.split_at(after.iter().take_while(is_part).count());
                    out.extend(self.statement(head, calls, body, function));
                    after
                }
                (None, ..) => {
                    out.extend(filled(line, function));
                    after
                }
            };
        }
        out
    }

    /// Follows `line`, which asks for something, and gives back the lines that are left.
    fn followed<'s, 'l>(
        &self,
        line: &str,
        (word, what): (&str, &str),
        lines: &'s [&'l str],
        function: Option<Function>,
        out: &mut Vec<String>,
    ) -> &'s [&'l str] {
        let has_block = matches!(word, "each" | "if" | "unless" | "text");
        let (inner, after) = if has_block { block(lines) } else { lines.split_at(0) };
        let text = match word {
            "note" | "line" | "text" => Some(Vec::new()),
            "each" => {
                let is = |function: &Function| facts::is(*function, what) == Some(true);
                let functions = Function::ALL.into_iter().filter(is);
                let texts: Vec<_> = functions.map(|f| self.expanded(inner, Some(f))).collect();
                (!texts.is_empty()).then(|| texts.concat())
            }
            "if" | "unless" => function.and_then(|f| facts::is(f, what)).map(|is| {
                if is == (word == "if") { self.expanded(inner, function) } else { Vec::new() }
            }),
            "last" => out.pop().map(|last| vec![last.trim_end_matches(',').to_owned() + what]),
            "insert" => {
                let name = filled(what, function).unwrap_or_default();
                let text = self.inserted(&name, function);
                text.map(|text| indented(split(line).0, text).collect())
            }
            _ => None,
        };
        out.extend(text.unwrap_or_else(|| vec![line.to_owned()]));
        after
    }

    fn inserted(&self, name: &str, function: Option<Function>) -> Option<Vec<String>> {
        match name {
            "parameters" => Some(facts::parameters()),
            "variables" => Some(facts::variables()),
            "receivers" => function.map(facts::receivers_of),
            "called" => function.map(facts::called_by),
            name => Some(self.expanded(self.texts.get(name)?, function)),
        }
    }

    /// A statement with those of its actions that the calls of `function` need.
    fn statement(&self, head: &str, calls: &str, body: &[&str], function: Function) -> Vec<String> {
        let mut named: Vec<&str> = calls.split_whitespace().collect();
        if named.is_empty() {
            named.extend(head.split_once("Sid: ").and_then(|(_, sid)| facts::port_of(sid)));
        }
        let needed = facts::needed(function, &named);
        let mut statement = vec![head.to_owned()];
        statement.extend(indented(split(head).0 + 2, ["Effect: Allow".to_owned()]));
        let mut grants_any = false;
        for line in self.expanded(body, Some(function)) {
            let (indent, text) = split(&line);
            let actions = text.strip_prefix("Action: [").and_then(|list| list.strip_suffix(']'));
            let Some(actions) = actions else {
                statement.push(line);
                continue;
            };
            let granted = actions.split(", ").filter(|action| needed.contains(action));
            // Behind the action of an index stands its name.
            let granted: Vec<&str> =
                granted.map(|action| action.split(' ').next().unwrap_or(action)).collect();
            grants_any |= !granted.is_empty();
            statement.extend(indented(indent, facts::values("Action", granted.into_iter())));
        }
        if grants_any { statement } else { Vec::new() }
    }
}

/// A line with the names in it filled in, or none, if it is for other functions.
fn filled(line: &str, function: Option<Function>) -> Option<String> {
    let mut text = line.to_owned();
    if let Some((before, condition)) = line.rsplit_once(" #: ")
        && let Some((word @ ("if" | "unless"), kind)) = condition.split_once(' ')
        && let Some(is) = function.and_then(|function| facts::is(function, kind))
    {
        if is != (word == "if") {
            return None;
        }
        before.clone_into(&mut text);
    }
    for (name, value) in function.map(facts::names).unwrap_or_default() {
        text = text.replace(&format!("@{{{name}}}"), &value);
    }
    let text = text.replace("@{sources}", &facts::sources());
    Some(text.replace("@{ledger-format}", &facts::ledger_format()))
}
