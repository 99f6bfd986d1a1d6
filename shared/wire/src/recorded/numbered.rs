//! The form of recorded facts that is written, version 3, is read: members by their numbers.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    ops::Range,
    rc::Rc,
};

use super::codec::{Damaged, Frame, Sharing, Source, Window, narrow, number_from};

/// What is being read. A window onto the whole says which bytes are next.
pub(super) struct Reader<'a> {
    whole: &'a [u8],
    words: Vec<&'a str>,
    /// Where the bytes of each shared value stand.
    places: Vec<Range<usize>>,
    shared: BTreeMap<(TypeId, u64), Rc<dyn Any>>,
    window: Window,
}

impl<'a> Reader<'a> {
    /// Of what [`Writer::finish`] made.
    pub(super) fn of(whole: &'a [u8]) -> Result<Self, Damaged> {
        let window = Window { at: 0, end: whole.len(), is_missing: false };
        let (words, places, shared) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut reader = Self { whole, words, places, shared, window };
        for _ in 0..reader.count()? {
            let place = reader.length_and_place()?;
            let word = whole.get(place).unwrap_or_default();
            let word = std::str::from_utf8(word).map_err(|error| error.to_string())?;
            reader.words.push(word);
        }
        for _ in 0..reader.count()? {
            let place = reader.length_and_place()?;
            reader.places.push(place);
        }
        Ok(reader)
    }

    /// That nothing is left.
    pub(super) fn end(&self) -> Result<(), Damaged> {
        let left = self.window.end.saturating_sub(self.window.at);
        if left == 0 || self.window.is_missing {
            Ok(())
        } else {
            Err(format!("{left} bytes are left over"))
        }
    }

    /// Reads a length, and passes over as many bytes: where they are.
    fn length_and_place(&mut self) -> Result<Range<usize>, Damaged> {
        let length = self.count()?;
        let from = self.window.at;
        let until = from
            .checked_add(length)
            .filter(|until| *until <= self.window.end)
            .ok_or("it is cut off")?;
        self.window.at = until;
        Ok(from..until)
    }
}

impl Source for Reader<'_> {
    fn number(&mut self, most: u128) -> Result<u128, Damaged> {
        if self.window.is_missing {
            return Ok(0);
        }
        let bytes = self.whole.get(self.window.at..self.window.end).unwrap_or_default();
        let (number, rest) = number_from(bytes, most)?;
        self.window.at = self.window.end - rest.len();
        Ok(number)
    }

    fn text(&mut self, read: &mut dyn FnMut(&str) -> Result<(), Damaged>) -> Result<(), Damaged> {
        match self.count()?.checked_sub(1) {
            None => read(""),
            Some(place) => {
                let word = self.words.get(place);
                read(word.ok_or_else(|| format!("there is no word {}", place + 1))?)
            }
        }
    }

    fn count(&mut self) -> Result<usize, Damaged> {
        narrow(self.number(u128::MAX)?)
    }

    fn shared(&mut self, of: TypeId) -> Result<Sharing, Damaged> {
        let number: u64 = narrow(self.number(u64::MAX.into())?)?;
        if let Some(value) = self.shared.get(&(of, number)) {
            return Ok(Sharing::Before(Rc::clone(value)));
        }
        let window = match number.checked_sub(1) {
            None => Window { is_missing: true, ..Window::default() },
            Some(place) => {
                let place = usize::try_from(place)
                    .ok()
                    .and_then(|place| self.places.get(place))
                    .ok_or_else(|| format!("nothing is shared under {number}"))?;
                Window { at: place.start, end: place.end, is_missing: false }
            }
        };
        let outer = std::mem::replace(&mut self.window, window);
        Ok(Sharing::First { number, outer })
    }

    fn share(
        &mut self,
        of: TypeId,
        (number, outer): (u64, Window),
        value: Rc<dyn Any>,
    ) -> Result<(), Damaged> {
        self.end()?;
        self.window = outer;
        self.shared.insert((of, number), value);
        Ok(())
    }

    fn open(&mut self) -> Frame {
        let outer = self.window.clone();
        let (next, is_ended) = (outer.at, outer.is_missing);
        // What the first call of `member` compares: nothing was read yet.
        self.window.end = self.window.at;
        Frame { outer, next, is_ended, ahead: None }
    }

    fn member(&mut self, frame: &mut Frame, number: u64) -> Result<(), Damaged> {
        self.end()?;
        self.window = Window { at: frame.next, ..frame.outer.clone() };
        while !frame.is_ended && frame.ahead.as_ref().is_none_or(|(ahead, _)| *ahead < number) {
            let ahead = narrow(self.number(u64::MAX.into())?)?;
            frame.is_ended = ahead == 0;
            frame.ahead = None;
            if !frame.is_ended {
                frame.ahead = Some((ahead, self.length_and_place()?));
            }
        }
        frame.next = self.window.at;
        let place = frame.ahead.take_if(|(ahead, _)| *ahead == number);
        self.window = place.map_or_else(
            || Window { is_missing: true, ..Window::default() },
            |(_, place)| Window { at: place.start, end: place.end, is_missing: false },
        );
        Ok(())
    }

    fn close(&mut self, mut frame: Frame) -> Result<(), Damaged> {
        // No number is larger: all that is left is passed over.
        self.member(&mut frame, u64::MAX)?;
        self.window = Window { at: frame.next, ..frame.outer };
        if frame.is_ended { Ok(()) } else { Err("a structure has no end".to_owned()) }
    }
}
