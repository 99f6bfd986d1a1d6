//! What a record says that this release does not understand, and how it is kept.
//!
//! Two releases share a table while functions are rolled forward or back. What one of them does not
//! understand is neither an error nor lost: who writes the record changes only what it understands.

use serde_json::{Map, Value};

/// Makes in `stored` the changes that lead from `read`, which is what was understood of it, to `written`.
/// All else stays.
pub(super) fn rewrite(stored: &mut Value, read: &Value, written: &Value) {
    match (stored, read, written) {
        (Value::Object(stored), Value::Object(read), Value::Object(written)) => {
            rewrite_members(stored, read, written);
        }
        (stored, ..) => *stored = written.clone(),
    }
}

fn rewrite_members(
    stored: &mut Map<String, Value>,
    read: &Map<String, Value>,
    written: &Map<String, Value>,
) {
    for name in read.keys().filter(|name| !written.contains_key(*name)) {
        stored.remove(name);
    }
    for (name, now) in written {
        let before = read.get(name);
        if before == Some(now) {
            continue;
        }
        match (stored.get_mut(name), before) {
            (Some(stored), Some(before)) => rewrite(stored, before, now),
            _ => {
                stored.insert(name.clone(), now.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_understood_changes() {
        let mut stored = json!({"a": 1, "b": {"c": 2, "new": 3}, "d": [{"e": 4, "new": 5}],
            "f": [{"g": 6, "new": 7}], "gone": {"new": 8}, "new": 9});
        let read = json!({"a": 1, "b": {"c": 2}, "d": [{"e": 4}], "f": [{"g": 6}], "gone": {}});
        let written = json!({"a": 2, "b": {"c": 3}, "d": [{"e": 4}], "f": [], "came": true});
        rewrite(&mut stored, &read, &written);
        assert_eq!(
            stored,
            json!({"a": 2, "b": {"c": 3, "new": 3}, "d": [{"e": 4, "new": 5}], "f": [],
                "came": true, "new": 9})
        );
    }
}
