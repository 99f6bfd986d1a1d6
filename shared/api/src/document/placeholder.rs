//! `${…}` and its like that were left in: a template that was not filled in.

use super::{field::Field, tree::TreeValue};

/// Complains about every placeholder that was left in an object that people wrote, but for free text such
/// as user data, where a shell may mean it.
pub(crate) fn refuse(field: &Field<'_>) {
    // What a server stored is what it says, and controllers quote such texts in its status.
    if field.ignores_unknown() {
        return;
    }
    match &field.tree().value {
        TreeValue::Text(text) => {
            if let Some(name) = in_text(text) {
                left_in(field, name);
            }
        }
        TreeValue::List(_) => field.list().iter().flatten().for_each(refuse),
        TreeValue::Map(_) => {
            for (key, value) in field.entries().into_iter().flatten() {
                if let Some(name) = in_text(key) {
                    left_in(&value, name);
                } else if !matches!(key, "userData" | "annotations") {
                    refuse(&value);
                }
            }
        }
        TreeValue::Null | TreeValue::Bool(_) | TreeValue::Number(_) => {}
    }
}

fn left_in(field: &Field<'_>, name: &str) {
    field.complain_with(
        format!("`{name}` was left in: it is a placeholder"),
        "put the value in its place, for instance by sending the file through envsubst",
    );
}

/// What ends a placeholder, by what begins it; longer ones come first.
const FORMS: [(&str, &str); 5] = [("${", "}"), ("{{", "}}"), ("<<", ">>"), ("<", ">"), ("$", "")];

/// A placeholder in `text`, if it has one: `${NAME}`, `$NAME`, `<NAME>`, `<<NAME>>` or `{{ name }}`.
pub fn in_text(text: &str) -> Option<&str> {
    FORMS.into_iter().find_map(|(start, end)| {
        text.match_indices(start).find_map(|(at, _)| of_form(text.get(at..)?, start, end))
    })
}

/// `text` up to the end of the placeholder that it begins with.
fn of_form<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(start)?;
    // Of a name alone: amounts, regular expressions and comparisons have the same signs.
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.'))
    };
    let name = match end {
        "" => {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            rest.get(..length.unwrap_or(rest.len()))?
        }
        end => rest.get(..rest.find(end)?)?,
    };
    let is_left_in = match start {
        // Text in these is never meant as a placeholder.
        "${" | "{{" => !name.is_empty(),
        "$" => is_name(name) && name.chars().all(|c| !c.is_ascii_lowercase()),
        _ => is_name(name),
    };
    is_left_in.then(|| text.get(..start.len() + name.len() + end.len()))?
}
