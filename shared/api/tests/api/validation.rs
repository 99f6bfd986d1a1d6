//! What an API server accepts and refuses, the readers accept and refuse too: the tables of
//! `tests/validation` hold for both, but for rows that name their difference. `tests/live/api` asks
//! the server.

use std::{fs, path::Path};

use serde_json::{Map, Value};

/// Long lists, maps and texts are written short in the tables.
fn expanded(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expanded).collect(),
        Value::Object(map) => {
            let count = |key: &str| map.get(key).and_then(Value::as_u64);
            if let Some(count) = count("$items") {
                return (0..count).map(|number| numbered(&value["item"], number)).collect();
            }
            if let Some(count) = count("$keys") {
                let key = value["key"].as_str().expect("a key");
                let entry =
                    |number: u64| (key.replace("%d", &number.to_string()), value["value"].clone());
                return Value::Object((0..count).map(entry).collect());
            }
            if let Some(count) = count("$text") {
                return Value::from("a".repeat(usize::try_from(count).expect("a length")));
            }
            map.iter().map(|(key, inner)| (key.clone(), expanded(inner))).collect()
        }
        scalar => scalar.clone(),
    }
}

fn numbered(value: &Value, number: u64) -> Value {
    match value {
        Value::String(text) => Value::from(text.replace("%d", &number.to_string())),
        Value::Object(map) => {
            map.iter().map(|(key, inner)| (key.clone(), numbered(inner, number))).collect()
        }
        other => other.clone(),
    }
}

fn changed(base: &Value, changes: Option<&Value>) -> Value {
    let mut whole = base.clone();
    for (pointer, value) in changes.and_then(Value::as_object).into_iter().flatten() {
        let mut parts: Vec<_> = pointer.trim_start_matches('/').split('/').collect();
        let last = parts.pop().expect("a pointer");
        let mut at = &mut whole;
        for part in parts {
            let map = at.as_object_mut().expect("a map on the way");
            at = map.entry(part).or_insert_with(|| Value::Object(Map::new()));
        }
        let map = at.as_object_mut().expect("a map at the end");
        if value.is_null() {
            map.remove(last);
        } else {
            map.insert(last.to_owned(), expanded(value));
        }
    }
    whole
}

fn table(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/validation");
    let text = fs::read_to_string(folder.join(format!("{name}.json"))).expect("a table");
    serde_json::from_str(&text).expect("a table")
}

#[track_caller]
fn check(name: &str) {
    let table = table(name);
    let rows = table["rows"].as_array().expect("rows");
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row.get("then").is_none()) {
        let object = changed(&table["base"], row.get("set"));
        let manifest = api::files::read(&object.to_string(), "row");
        let accepted = !manifest.objects.is_empty();
        let wanted = match row.get("reader").and_then(Value::as_str) {
            Some(differs) => differs.starts_with("accepts"),
            None => row["accepts"] == true,
        };
        if accepted != wanted {
            let problems: Vec<_> = manifest.problems.iter().map(ToString::to_string).collect();
            wrong.push(format!("{}: accepted {accepted}: {}", row["row"], problems.join("; ")));
        }
    }
    assert!(rows.len() > 20, "the table is nearly empty");
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

/// The server of [`super::stored`] takes and refuses what a real one does.
#[test]
fn the_server_that_objects_are_made_for_agrees_with_the_api_server() {
    let names = ["node-pool", "node-claim", "node-overlay", "node-class", "capacity-buffer"];
    let tables = names.map(table);
    let mut wrong = Vec::new();
    for (name, definition) in &api::karpenter::crd::all() {
        let kind = &definition["spec"]["names"]["kind"];
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let table = tables.iter().find(|table| &table["base"]["kind"] == kind).expect(name);
        for row in table["rows"].as_array().expect("rows") {
            // Fields that no schema has are refused where a client asks for it, as kubectl does.
            let says = row["says"].as_str().unwrap_or_default();
            if row.get("then").is_some() || says.starts_with("unknown field") {
                continue;
            }
            let object = changed(&table["base"], row.get("set"));
            let answer = super::stored::server::stored(schema, &object);
            if answer.is_ok() != (row["accepts"] == true) {
                wrong.push(format!("{name} {}: {answer:?}", row["row"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_reader_of_node_pools_agrees_with_the_api_server() {
    check("node-pool");
}

#[test]
fn the_reader_of_node_claims_agrees_with_the_api_server() {
    check("node-claim");
}

#[test]
fn the_reader_of_node_classes_agrees_with_the_api_server() {
    check("node-class");
}

#[test]
fn the_reader_of_node_overlays_agrees_with_the_api_server() {
    check("node-overlay");
}

#[test]
fn the_reader_of_capacity_buffers_agrees_with_the_api_server() {
    check("capacity-buffer");
}
