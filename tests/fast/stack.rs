//! `template.yaml` as a tree.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "only tests read it, and it is the repository's own"
)]

use serde_json::{Map, Value, json};
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle};

use crate::repository;

/// The template with `!Ref x` as `{"Ref": "x"}`, and so on.
///
/// # Panics
///
/// When it is no YAML.
pub fn template() -> Value {
    let text = std::fs::read_to_string(repository().join("template.yaml")).expect("the template");
    let events = Parser::new_from_str(&text).map(|event| event.expect("YAML").0);
    let mut events = events.filter(|event| {
        !matches!(event, Event::StreamStart | Event::DocumentStart(..) | Event::Comment(..))
    });
    let event = events.next().expect("a document");
    value(event, &mut events)
}

fn value<'a>(event: Event<'a>, events: &mut impl Iterator<Item = Event<'a>>) -> Value {
    let (value, tag) = match event {
        Event::Scalar(text, style, _, tag) => {
            let plain = style == ScalarStyle::Plain && tag.is_none();
            let value = match text.as_ref() {
                "true" if plain => json!(true),
                "false" if plain => json!(false),
                text => match text.parse::<i64>() {
                    Ok(number) if plain => json!(number),
                    _ => json!(text),
                },
            };
            (value, tag)
        }
        Event::SequenceStart(.., tag) => {
            let mut items = Vec::new();
            loop {
                match events.next().expect("an item") {
                    Event::SequenceEnd => break (Value::Array(items), tag),
                    event => items.push(value(event, events)),
                }
            }
        }
        Event::MappingStart(.., tag) => {
            let mut fields = Map::new();
            loop {
                match events.next().expect("a key") {
                    Event::MappingEnd => break (Value::Object(fields), tag),
                    key => {
                        let key = value(key, events).as_str().expect("a text").to_owned();
                        let event = events.next().expect("a value");
                        fields.insert(key, value(event, events));
                    }
                }
            }
        }
        other => panic!("{other:?} in the template"),
    };
    match tag.map(|tag| tag.suffix().to_string()).as_deref() {
        None => value,
        Some(name @ ("Ref" | "Condition")) => json!({ name: value }),
        Some(name) => json!({ format!("Fn::{name}"): value }),
    }
}

/// The parameters of the template, in its order.
///
/// # Panics
///
/// When it is no YAML.
pub fn parameters() -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(repository().join("template.yaml")).expect("the template");
    let mut template = template();
    let parameters = template.get_mut("Parameters").expect("parameters");
    let (_, text) = text.split_once("\nParameters:\n").expect("parameters");
    let (text, _) = text.split_once("\nConditions:\n").expect("conditions");
    let names = text.lines().filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    names.filter_map(|name| Some((name.to_owned(), parameters.get_mut(name)?.take()))).collect()
}

/// A name as resources of the template begin with it.
pub fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
