//! As much of YAML as NodeConfig needs: writing maps, lists and scalars in block style, and telling
//! whether a text is a mapping at all. It does not read values.
//!
//! What is written here is user data, and so in the names of launch templates: its bytes stay as they
//! are. `api::document::yaml` writes for people, with comments and scripts as lines.

use std::fmt::Write as _;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle};

/// What a document that says nothing says.
const NULLS: [&str; 5] = ["", "~", "null", "Null", "NULL"];

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
            // Readers of YAML 1.1 end lines where JSON does not; outside of quotes it is ASCII anyway.
            Self::Plain(text) => text.chars().map(ascii).collect(),
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
            c => out.push_str(&ascii(c)),
        }
    }
    out.push('"');
    out
}

/// A character between double quotes. Beyond ASCII it is escaped: YAML 1.1, which nodes read, knows more ends of
/// lines and more characters that may not be there than YAML 1.2.
fn ascii(c: char) -> String {
    match u32::from(c) {
        0..0x80 => c.to_string(),
        code @ 0x80..0x1_0000 => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

/// Whether the first document of `text` is a mapping, or empty, which counts as one; the others are
/// not looked at. So Karpenter tells a NodeConfig from a shell script.
///
/// Karpenter: `pkg/providers/amifamily/bootstrap/nodeadm.go` of the AWS provider, `parseUserData`.
pub(super) fn is_mapping(text: &str) -> bool {
    let mut is_mapping = None;
    for event in Parser::new_from_str(text) {
        let Ok((event, _)) = event else { return false };
        let judged = match event {
            Event::MappingStart(..) => Some(true),
            Event::Scalar(value, style, ..) => {
                Some(style == ScalarStyle::Plain && NULLS.contains(&value.as_ref()))
            }
            Event::SequenceStart(..) => Some(false),
            Event::UnresolvedAlias(_) => return false,
            // What comes after it may be anything, and need not be YAML.
            Event::DocumentEnd => break,
            _ => None,
        };
        is_mapping = is_mapping.or(judged);
    }
    is_mapping.unwrap_or(true)
}

/// The line and the words of what makes the first document of `text` no YAML; `None` if it is YAML.
pub(super) fn fault(text: &str) -> Option<(usize, String)> {
    for event in Parser::new_from_str(text) {
        match event {
            Ok((Event::DocumentEnd, _)) => break,
            Ok(_) => {}
            Err(error) => return Some((error.marker().line(), error.info())),
        }
    }
    None
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
        check("---\n", true);
        check("null\n", true);
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
    fn what_only_a_parser_finds_is_reported() {
        check("{ [ -f /etc/x ] && reboot; }\n", false);
        check("spec:\n  a: b\n   c: d\n", false);
        check("spec: [a\n", false);
        check("\"a\\\"b\": c\n", true);
        check("? spec\n: a\n", true);
        check("a: 1\na: 2\n", true);
        check("a: *missing\n", false);
        check("spec: &x {a: b}\nagain: *x\n", true);
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
            ("\u{e9}\u{85}\u{2028}\u{1f600}", "\"\\u00e9\\u0085\\u2028\\U0001f600\""),
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
