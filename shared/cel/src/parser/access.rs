//! Fields and items of a value.

use super::{Parsed, Part, above, make, wrong};
use crate::{node::Node, types::Type};

pub(super) fn field(name: &str, part: Part, at: usize) -> Parsed {
    let kind = match &part.kind {
        Type::Map(parts) if parts.0.fits(&Type::Text) => parts.1.clone(),
        Type::Object(fields) => {
            let Some((_, kind)) = fields.iter().find(|(known, _)| *known == name) else {
                let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
                let words = format!("there is no field `{name}`; there are {}", names.join(", "));
                return wrong(at, words);
            };
            kind.clone()
        }
        Type::Dyn => Type::Dyn,
        kind => return wrong(at, format!("a {kind} has no fields")),
    };
    let depth = part.depth + 1;
    make(Node::Field(Box::new(part.node), name.into()), kind, at, depth)
}

pub(super) fn item(part: Part, index: Part, at: usize) -> Parsed {
    let (wanted, kind) = match &part.kind {
        Type::List(items) => (Type::Int, Type::clone(items)),
        Type::Map(parts) => (parts.0.clone(), parts.1.clone()),
        Type::Dyn => (Type::Dyn, Type::Dyn),
        kind => return wrong(at, format!("a {kind} has no items")),
    };
    if !index.kind.fits(&wanted) {
        return wrong(index.at, format!("an index of a {} is no {}", part.kind, index.kind));
    }
    let depth = above([&part, &index]);
    make(Node::Item(Box::new((part.node, index.node))), kind, at, depth)
}
