//! The form of recorded facts of c7ddc5b, which is read and no longer written: version 2.
//!
//! Members follow each other in the order of their numbers, and nothing says which they are. Texts are named by
//! their place in the table of words, from zero. What is shared stands where it is used first, after a zero;
//! later it is named by its place among the values of its type, from one. Records are kept 90 days: 90 days
//! after the release that writes version 3, this module can go.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    rc::Rc,
};

use super::codec::{
    Damaged, Frame, NUMBER_LATER, Sharing, Source, Window, narrow, number_from, wide,
};

/// What is being read.
pub(super) struct Reader<'a> {
    words: Vec<&'a str>,
    bytes: &'a [u8],
    /// Values of each type, in the order of their first uses.
    shared: BTreeMap<TypeId, Vec<Rc<dyn Any>>>,
    /// Whether the member that is read was added by a later release.
    is_missing: bool,
}

impl<'a> Reader<'a> {
    /// Of unpacked bytes.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, Damaged> {
        let shared = BTreeMap::new();
        let mut reader = Self { words: Vec::new(), bytes, shared, is_missing: false };
        for _ in 0..reader.count()? {
            let length = reader.count()?;
            let (word, rest) = reader.bytes.split_at_checked(length).ok_or("a word is cut off")?;
            let word = std::str::from_utf8(word).map_err(|error| error.to_string())?;
            reader.words.push(word);
            reader.bytes = rest;
        }
        Ok(reader)
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), Damaged> {
        let left = self.bytes.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} bytes are left over")) }
    }
}

impl Source for Reader<'_> {
    fn number(&mut self, most: u128) -> Result<u128, Damaged> {
        if self.is_missing {
            return Ok(0);
        }
        let (number, rest) = number_from(self.bytes, most)?;
        self.bytes = rest;
        Ok(number)
    }

    fn text(&mut self, read: &mut dyn FnMut(&str) -> Result<(), Damaged>) -> Result<(), Damaged> {
        if self.is_missing {
            return read("");
        }
        let place = self.count()?;
        read(self.words.get(place).ok_or_else(|| format!("there is no word {place}"))?)
    }

    fn count(&mut self) -> Result<usize, Damaged> {
        narrow(self.number(u128::MAX)?)
    }

    fn shared(&mut self, of: TypeId) -> Result<Sharing, Damaged> {
        let values = self.shared.get(&of).map_or(0, Vec::len);
        let number = narrow::<usize>(self.number(wide(values))?)?;
        let Some(place) = number.checked_sub(1) else {
            return Ok(Sharing::First { number: 0, outer: Window::default() });
        };
        let value = self
            .shared
            .get(&of)
            .and_then(|values| values.get(place))
            .ok_or_else(|| format!("nothing is shared under {number}"))?;
        Ok(Sharing::Before(Rc::clone(value)))
    }

    fn share(
        &mut self,
        of: TypeId,
        _place: (u64, Window),
        value: Rc<dyn Any>,
    ) -> Result<(), Damaged> {
        // What is missing has no place among the values of its type.
        if !self.is_missing {
            self.shared.entry(of).or_default().push(value);
        }
        Ok(())
    }

    fn member(&mut self, frame: &mut Frame, number: u64) -> Result<(), Damaged> {
        self.is_missing = frame.is_missing() || NUMBER_LATER <= number;
        Ok(())
    }

    fn open(&mut self) -> Frame {
        Frame::missing(self.is_missing)
    }

    fn close(&mut self, frame: Frame) -> Result<(), Damaged> {
        self.is_missing = frame.is_missing();
        Ok(())
    }
}
