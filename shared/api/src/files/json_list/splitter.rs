//! Where the items of a list in JSON begin and end, while its text comes in pieces.

use serde::{Deserialize, de::IgnoredAny};

use crate::lists::pods::cursor::spaces;

/// Takes the items out of a text that comes in pieces. What is left of it is the skeleton: the same text
/// with a `0` for each item, which says whether it was a list in JSON at all.
#[derive(Debug)]
pub(super) struct Splitter {
    skeleton: Vec<u8>,
    /// What came so far of an item that began in an earlier piece.
    item: Vec<u8>,
    /// The line that is read, and the one on which the item at hand begins; from 1 on.
    lines: (u32, u32),
    /// How many brackets are open.
    depth: u32,
    place: Place,
    is_in_items: bool,
    items: usize,
    /// The kind of the list, if it comes before the items.
    kind: Option<String>,
}

/// An item of a list.
pub(super) struct Item<'a> {
    pub(super) text: &'a [u8],
    /// On which it begins, from 1 on.
    pub(super) line: u32,
    /// The kind of the list, if it comes before the items.
    pub(super) list_kind: Option<&'a str>,
}

/// Where in the text the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing but spaces came so far.
    Before,
    Structure,
    Text,
    /// After a backslash in a text.
    Escaped,
}

/// Members of a list other than its items.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Skeleton {
    pub(super) api_version: String,
    pub(super) kind: String,
    items: Vec<IgnoredAny>,
}

/// What is known of a list when its items begin.
#[derive(Deserialize)]
struct Beginning {
    kind: Option<String>,
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self {
            skeleton: Vec::new(),
            item: Vec::new(),
            lines: (1, 1),
            depth: 0,
            place: Place::Before,
            is_in_items: false,
            items: 0,
            kind: None,
        }
    }

    /// Hands every item that ends in `piece` to `each`. `None` once it is no list in JSON, or `each` has
    /// enough.
    pub(super) fn add(
        &mut self,
        piece: &[u8],
        mut each: impl FnMut(Item<'_>) -> Option<()>,
    ) -> Option<()> {
        // Up to here everything is handed on or kept.
        let mut handed_on = 0;
        let mut next = 0;
        while let Some(byte) = piece.get(next) {
            let at = next;
            next += 1;
            if *byte == b'\n' {
                self.lines.0 += 1;
                next += spaces(piece, next);
            }
            match (self.place, byte) {
                (Place::Text, b'"') => self.place = Place::Structure,
                (Place::Text, b'\\') => self.place = Place::Escaped,
                (Place::Escaped, _) | (Place::Structure, b'"') => self.place = Place::Text,
                (Place::Before, b'{') => {
                    self.place = Place::Structure;
                    self.depth = 1;
                }
                (Place::Before, byte) if byte.is_ascii_whitespace() => {}
                (Place::Before, _) => return None,
                (Place::Structure, b'{' | b'[') => {
                    if self.depth < 3 {
                        self.skeleton.extend_from_slice(piece.get(handed_on..at)?);
                        handed_on = at;
                        self.opens(*byte);
                    }
                    self.depth += 1;
                }
                (Place::Structure, b'}' | b']') => {
                    self.depth = self.depth.checked_sub(1)?;
                    if self.is_in_items && self.depth == 2 {
                        self.items += 1;
                        let end = piece.get(handed_on..=at)?;
                        handed_on = at + 1;
                        let is_whole = self.item.is_empty();
                        if !is_whole {
                            self.item.extend_from_slice(end);
                        }
                        let text = if is_whole { end } else { &self.item };
                        each(Item { text, line: self.lines.1, list_kind: self.kind.as_deref() })?;
                        self.item.clear();
                    }
                    self.is_in_items &= self.depth > 1;
                }
                (Place::Text | Place::Structure, _) => {}
            }
        }
        let rest = piece.get(handed_on..)?;
        let is_in_item = self.is_in_items && self.depth > 2;
        let begun = if is_in_item { &mut self.item } else { &mut self.skeleton };
        begun.extend_from_slice(rest);
        Some(())
    }

    /// A bracket opens outside of items, the first of an item among them.
    fn opens(&mut self, bracket: u8) {
        if self.is_in_items && self.depth == 2 {
            self.lines.1 = self.lines.0;
            self.skeleton.push(b'0');
        }
        if self.depth == 1 && bracket == b'[' && is_after_items(&self.skeleton) {
            self.is_in_items = true;
            let begun = [self.skeleton.as_slice(), b"0}"].concat();
            self.kind = serde_json::from_slice(&begun).ok().and_then(|Beginning { kind }| kind);
        }
    }

    /// The rest of the list, at the end of the text, if that was one.
    pub(super) fn finish(self) -> Option<Skeleton> {
        let skeleton: Skeleton = serde_json::from_slice(&self.skeleton).ok()?;
        // What is no object was left in the skeleton.
        (skeleton.items.len() == self.items).then_some(skeleton)
    }
}

/// Whether `text` ends with the key `items` of an object, whose value comes next.
fn is_after_items(text: &[u8]) -> bool {
    let key = text.trim_ascii_end().strip_suffix(b":").map(<[u8]>::trim_ascii_end);
    let before = key.and_then(|key| key.strip_suffix(b"\"items\""));
    before.is_some_and(|before| matches!(before.trim_ascii_end().last(), Some(b'{' | b',')))
}
