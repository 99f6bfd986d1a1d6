//! `${…}` that was left in: a template that nobody filled in.

use super::{field::Field, tree::Value};

/// Complains about every `${…}` that was left in, but for free text such as user data, where a
/// shell may mean it.
pub(crate) fn refuse(field: &Field<'_>) {
    match &field.tree().value {
        Value::Text(text) => {
            if let Some(name) = in_text(text) {
                left_in(field, name);
            }
        }
        Value::List(_) => field.list().iter().flatten().for_each(refuse),
        Value::Map(_) => {
            for (key, value) in field.entries().into_iter().flatten() {
                if let Some(name) = in_text(key) {
                    left_in(&value, name);
                } else if !matches!(key, "userData" | "annotations") {
                    refuse(&value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn left_in(field: &Field<'_>, name: &str) {
    field.complain_with(
        format!("`{name}` was left in: it is a placeholder"),
        "put the value in its place, for instance by sending the file through envsubst",
    );
}

/// `${NAME}` in `text`, if it has one.
pub(crate) fn in_text(text: &str) -> Option<&str> {
    let (_, rest) = text.split_at_checked(text.find("${")?)?;
    let end = rest.find('}')?;
    rest.get(..=end)
}
