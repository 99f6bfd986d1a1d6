//! As much of YAML as NodeConfig needs: writing maps, lists and scalars in block style, and telling
//! whether a text is a mapping at all. It does not read values.

use std::fmt::Write as _;

/// A value to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Yaml {
    /// A text, quoted where it could be read as something else.
    Text(String),
    /// A number or a truth value.
    Plain(String),
    /// Items in order.
    List(Vec<Self>),
    /// Entries in order; callers sort them.
    Map(Vec<(String, Self)>),
}

impl Yaml {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn number(value: impl Into<u64>) -> Self {
        Self::Plain(value.into().to_string())
    }

    pub(super) fn truth(value: bool) -> Self {
        Self::Plain(value.to_string())
    }

    pub(super) fn map<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// The value as a document.
    pub(super) fn document(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    /// Writes the value from the beginning of a line or from where a `- ` left off.
    fn write(&self, out: &mut String, depth: usize) {
        match self {
            Self::Map(entries) if !entries.is_empty() => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    indent(out, if index == 0 && !at_line_start(out) { 0 } else { depth });
                    out.push_str(&scalar(key));
                    out.push(':');
                    value.write_after_key(out, depth);
                }
            }
            Self::List(items) if !items.is_empty() => {
                for item in items {
                    indent(out, depth);
                    out.push_str("- ");
                    item.write(out, depth + 1);
                }
            }
            flat => {
                out.push_str(&flat.flat());
                out.push('\n');
            }
        }
    }

    fn write_after_key(&self, out: &mut String, depth: usize) {
        match self {
            Self::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                self.write(out, depth + 1);
            }
            Self::List(items) if !items.is_empty() => {
                out.push('\n');
                self.write(out, depth);
            }
            flat => {
                out.push(' ');
                out.push_str(&flat.flat());
                out.push('\n');
            }
        }
    }

    fn flat(&self) -> String {
        match self {
            Self::Text(text) => scalar(text),
            Self::Plain(text) => text.clone(),
            Self::List(_) => "[]".to_owned(),
            Self::Map(_) => "{}".to_owned(),
        }
    }
}

fn at_line_start(out: &str) -> bool {
    out.is_empty() || out.ends_with('\n')
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// `text` plain where that can only be read as the same text, else in double quotes.
fn scalar(text: &str) -> String {
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "./:_-=+%".contains(c))
        && !text.ends_with(':')
        && !reserved.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Writing to a string cannot fail.
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or_default(),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether the first document of `text` is a mapping, or empty, which counts as one.
///
/// Judged by its outermost lines alone: each must be an entry, an item of the entry above it, or
/// the end of a flow collection. A shell script practically always has a line that is none of them.
pub(super) fn is_mapping(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.starts_with('{') {
        return trimmed.ends_with('}');
    }
    let mut margin = None;
    let mut is_open = false;
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        let is_blank = content.trim().is_empty() || content.starts_with('#');
        if is_blank || (margin.is_none() && (content.starts_with('%') || is_marker(content))) {
            continue;
        }
        if is_marker(line) {
            break;
        }
        let depth = line.len() - content.len();
        let margin = *margin.get_or_insert(depth);
        if depth > margin {
            continue;
        }
        let is_item = is_open && (content == "-" || content.starts_with("- "));
        let is_end = is_open && content.starts_with(['}', ']']);
        if depth < margin || !(is_item || is_end || is_entry(content)) {
            return false;
        }
        is_open |= is_entry(content);
    }
    true
}

/// A line that begins or ends a document.
fn is_marker(line: &str) -> bool {
    matches!(line.trim_end(), "---" | "...") || line.starts_with("--- ")
}

/// Whether a line reads `key: value` or `key:`.
fn is_entry(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let after_key = match line.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let rest = line.splitn(3, quote).nth(2).map(str::trim_start);
            rest.and_then(|rest| rest.strip_prefix(':'))
        }
        Some('-' | '[' | ']' | '}' | ',' | '&' | '*' | '!' | '|' | '>' | '@' | '`') | None => None,
        Some(_) => match line.split_once(": ") {
            Some((_, value)) => Some(value),
            None => line.strip_suffix(':').map(|_| ""),
        },
    };
    // A plain value holds no other entry.
    after_key.map(str::trim_start).is_some_and(|value| {
        let is_plain = !value.starts_with(['"', '\'', '{', '[', '&', '!']);
        !is_plain || !(value.contains(": ") || value.ends_with(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(is_mapping(text), expected, "{text:?}");
    }

    #[test]
    fn a_node_config_is_a_mapping() {
        check("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet: {}\n", true);
        check("---\n# mine\nspec:\n- a\n- b\n...\nnot: [yaml\n", true);
        check("  spec:\n    a: b\n  kind: X\n", true);
        check("{\"spec\": {\"kubelet\": {}}}", true);
        check("command: \"a: b\"\nflow: {a: b}\nscript: |\n  set -e: x\n", true);
        check("\"spec\": x\n'kind': y\nlist: [\n]\n", true);
        check("kind: NodeConfig\n---\n#!/bin/bash\necho\n", true);
    }

    #[test]
    fn an_empty_document_counts_as_a_mapping() {
        check("#!/bin/bash\n# nothing yet\n", true);
        check(" \n", true);
    }

    #[test]
    fn a_script_is_not_a_mapping() {
        check("#!/bin/bash\necho \"hello: world\"\nexit 0\n", false);
        check("- a\n- b\n", false);
        check("yum install x", false);
        check("if true; then\n  x: y\nfi\n", false);
        check("a: b\n- c: d\nfoo\n", false);
        check("echo one: two: three\n", false);
        check("http://example.com\n", false);
    }

    #[test]
    fn what_could_be_read_otherwise_is_quoted() {
        for (text, written) in [
            ("golden", "golden"),
            ("https://x.example", "https://x.example"),
            ("true", "\"true\""),
            ("Yes", "\"Yes\""),
            ("1000", "\"1000\""),
            ("10.100.0.10", "\"10.100.0.10\""),
            ("", "\"\""),
            ("a: b", "\"a: b\""),
            ("a:", "\"a:\""),
            ("--x=\"y\\\"", "\"--x=\\\"y\\\\\\\"\""),
            ("a\u{1}\n\t", "\"a\\u0001\\n\\t\""),
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    #[test]
    fn collections_are_written_in_block_style() {
        let taint = Yaml::map([("effect", Yaml::text("NoExecute")), ("key", Yaml::text("a/b"))]);
        let document = Yaml::map([
            ("empty", Yaml::List(Vec::new())),
            ("list", Yaml::List(vec![taint.clone(), taint])),
            ("map", Yaml::map([("inner", Yaml::map([("x", Yaml::number(1_u32))]))])),
        ]);
        expect_test::expect![[r"
            empty: []
            list:
            - effect: NoExecute
              key: a/b
            - effect: NoExecute
              key: a/b
            map:
              inner:
                x: 1
        "]]
        .assert_eq(&document.document());
    }
}
