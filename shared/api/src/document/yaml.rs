//! Values as YAML: block style, the same bytes for the same value, with comments where there is
//! something to say. Reading is in `tree`.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

/// What is said about a value, by its JSON pointer (`/spec/role`); lines stand above it.
pub type Comments = BTreeMap<String, Vec<String>>;

/// Writes `value` as one document, without the line that starts a document.
pub fn to_text(value: &Value) -> String {
    to_text_with(value, &Comments::new())
}

/// The same, with `comments`. One for the empty pointer stands at the top.
pub fn to_text_with(value: &Value, comments: &Comments) -> String {
    let mut writer = Writer { text: String::new(), comments };
    writer.comment("", 0);
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, "", 0),
        Value::Array(items) if !items.is_empty() => writer.list(items, "", 0),
        scalar => {
            writer.scalar(scalar, 0);
        }
    }
    writer.text
}

struct Writer<'a> {
    text: String,
    comments: &'a Comments,
}

impl Writer<'_> {
    fn indent(&mut self, depth: usize) {
        self.text.extend(std::iter::repeat_n("  ", depth));
    }

    fn comment(&mut self, pointer: &str, depth: usize) {
        for line in self.comments.get(pointer).into_iter().flatten() {
            self.indent(depth);
            self.text.push_str("# ");
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn map(&mut self, map: &serde_json::Map<String, Value>, pointer: &str, depth: usize) {
        for (index, (key, value)) in map.iter().enumerate() {
            let pointer = below(pointer, key);
            // The first key of a list's item stands behind its dash.
            if index > 0 || !self.text.ends_with("- ") {
                self.comment(&pointer, depth);
                self.indent(depth);
            }
            self.text.push_str(&plain_or_quoted(key));
            self.text.push(':');
            self.after_colon(value, &pointer, depth);
        }
    }

    fn after_colon(&mut self, value: &Value, pointer: &str, depth: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                self.text.push('\n');
                self.map(map, pointer, depth + 1);
            }
            // Lists are as deep as their key, as kubectl prints them.
            Value::Array(items) if !items.is_empty() => {
                self.text.push('\n');
                self.list(items, pointer, depth);
            }
            scalar => {
                self.text.push(' ');
                self.scalar(scalar, depth + 1);
            }
        }
    }

    fn list(&mut self, items: &[Value], pointer: &str, depth: usize) {
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("{pointer}/{index}");
            self.comment(&pointer, depth);
            if let Value::Object(map) = item
                && let Some(first) = map.keys().next()
            {
                self.comment(&below(&pointer, first), depth);
            }
            self.indent(depth);
            self.text.push_str("- ");
            match item {
                Value::Object(map) if !map.is_empty() => self.map(map, &pointer, depth + 1),
                Value::Array(inner) if !inner.is_empty() => {
                    self.text.truncate(self.text.trim_end().len());
                    self.text.push('\n');
                    self.list(inner, &pointer, depth + 1);
                }
                scalar => self.scalar(scalar, depth + 1),
            }
        }
    }

    fn scalar(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) if is_block(text) => self.block(text, depth),
            Value::String(text) => {
                self.text.push_str(&plain_or_quoted(text));
                self.text.push('\n');
            }
            Value::Object(_) => self.text.push_str("{}\n"),
            Value::Array(_) => self.text.push_str("[]\n"),
            other => {
                self.text.push_str(&other.to_string());
                self.text.push('\n');
            }
        }
    }

    /// Lines as they are: scripts stay readable.
    fn block(&mut self, text: &str, depth: usize) {
        let end = match text.strip_suffix('\n') {
            Some(rest) if rest.ends_with('\n') => "+",
            Some(_) => "",
            None => "-",
        };
        self.text.push('|');
        self.text.push_str(end);
        self.text.push('\n');
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if !line.is_empty() {
                self.indent(depth);
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }
}

/// The pointer of `key` within `pointer`, as RFC 6901 escapes it.
pub fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Whether a text can stand as lines: it has several, the first starts at the margin, and no line
/// has what YAML would change.
fn is_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control() && !is_separator(c))
        && text.lines().all(|line| !line.ends_with([' ', '\t']))
        && text.trim_end_matches('\n').len() + 1 >= text.len()
}

fn is_separator(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// A text on one line, quoted where it would be read as something else.
fn plain_or_quoted(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let is_printable = |c: char| !c.is_control() && !is_separator(c);
    // Patterns and rules stay as they are between single quotes.
    if text.contains(['\\', '"']) && text.chars().all(is_printable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() || is_separator(c) => {
                let code = u32::from(c);
                // Writing to a String cannot fail.
                let _written = write!(quoted, "\\u{code:04x}");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether YAML of every version reads `text` as this very text without quotes.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return false };
    let starts = first.is_ascii_alphabetic() || matches!(first, '/' | '_' | '.' | '$' | '(' | '^');
    let rest = characters.all(|c| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                '/' | '_'
                    | '.'
                    | '-'
                    | '$'
                    | '('
                    | ')'
                    | '^'
                    | '@'
                    | '%'
                    | '+'
                    | '='
                    | ':'
                    | ' '
                    | ','
                    | ';'
                    | '\''
            )
    });
    let words =
        ["null", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf", "nan", "inf"];
    starts
        && rest
        && !text.starts_with('.')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && !words.contains(&text.to_ascii_lowercase().as_str())
}
