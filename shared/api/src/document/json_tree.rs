//! JSON as a tree, where line numbers are not needed: much quicker than as YAML.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::tree::{Entry, Tree, TreeValue};

/// The tree of `json`, all of it at `line`. `None` where YAML would read it otherwise, or not at all:
/// numbers with a fraction keep their text there, and no key stands twice.
pub fn parse(json: &str, line: u32) -> Option<Tree> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let tree = At(line).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(tree)
}

/// The line at which everything stands.
#[derive(Clone, Copy)]
struct At(u32);

impl At {
    fn tree(self, value: TreeValue) -> Tree {
        Tree::new(self.0, value)
    }
}

impl<'de> DeserializeSeed<'de> for At {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without fractions and without keys that stand twice")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(self.tree(TreeValue::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Tree, E> {
        Ok(self.tree(TreeValue::Bool(value)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Tree, E> {
        Ok(self.tree(TreeValue::Number(number.to_string())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Tree, E> {
        Ok(self.tree(TreeValue::Number(number.to_string())))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree, E> {
        Ok(self.tree(TreeValue::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(self.tree(TreeValue::List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(key) = members.next_key::<String>()? {
            if entries.iter().any(|entry| entry.key == key) {
                return Err(A::Error::custom("a key stands twice"));
            }
            let value = members.next_value_seed(self)?;
            entries.push(Entry { key, line: self.0, value });
        }
        Ok(self.tree(TreeValue::Map(entries)))
    }
}
