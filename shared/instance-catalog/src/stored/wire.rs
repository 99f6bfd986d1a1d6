//! Numbers, texts and lists as bytes, and back.
//!
//! What they mean is not known here.

use std::str::FromStr;

use super::Error;

/// For how many a list makes room before they were read: a length is not to be believed.
const ROOM_MAX: usize = 2_048;

/// What was written so far.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    /// LEB128: seven bits a byte, the lowest first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(low_bits(number) | 0x80);
            number >>= 7;
        }
        self.0.push(low_bits(number));
    }

    pub(super) fn truth(&mut self, holds: bool) {
        self.0.push(u8::from(holds));
    }

    /// At most eight, in one byte, the first in its lowest bit.
    pub(super) fn bits(&mut self, holds: &[bool]) {
        let byte = holds.iter().rev().fold(0, |byte, holds| byte << 1 | u8::from(*holds));
        self.0.push(byte);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.truth(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let counted = items.into_iter();
        self.length(counted.len());
        for item in counted {
            write(self, item);
        }
    }

    fn length(&mut self, length: usize) {
        self.number(u64::try_from(length).unwrap_or(u64::MAX));
    }
}

fn low_bits(number: u64) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or_default()
}

/// What is left to read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(bad("a number above 64 bits"))
    }

    pub(super) fn small(&mut self) -> Result<u32, Error> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| bad(&number.to_string()))
    }

    pub(super) fn truth(&mut self) -> Result<bool, Error> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(bad(&other.to_string())),
        }
    }

    /// This number of bits of a byte that has no others.
    pub(super) fn bits<const N: usize>(&mut self) -> Result<[bool; N], Error> {
        let byte = self.byte()?;
        if u32::from(byte) >> N != 0 {
            return Err(bad(&byte.to_string()));
        }
        Ok(std::array::from_fn(|bit| byte >> bit & 1 == 1))
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Error> {
        let length = self.length()?;
        let (text, left) = self.0.split_at_checked(length).ok_or_else(cut_off)?;
        self.0 = left;
        str::from_utf8(text).map_err(|error| bad(&error.to_string()))
    }

    pub(super) fn parsed<T: FromStr>(&mut self) -> Result<T, Error> {
        let text = self.text()?;
        text.parse().map_err(|_| bad(text))
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if self.truth()? { read(self).map(Some) } else { Ok(None) }
    }

    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let length = self.length()?;
        let mut items = Vec::with_capacity(length.min(ROOM_MAX));
        for _ in 0..length {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// What is named by its number.
    pub(super) fn one_of<'b, T>(&mut self, items: &'b [T]) -> Result<&'b T, Error> {
        let number = self.length()?;
        items.get(number).ok_or_else(|| bad(&number.to_string()))
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(bad("more at the end")) }
    }

    fn length(&mut self) -> Result<usize, Error> {
        usize::try_from(self.number()?).map_err(|_| cut_off())
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let (byte, left) = self.0.split_first().ok_or_else(cut_off)?;
        self.0 = left;
        Ok(*byte)
    }
}

pub(super) fn bad(what: &str) -> Error {
    Error(format!("the stored one: `{what}` does not belong there"))
}

fn cut_off() -> Error {
    Error("the stored one is cut off".to_owned())
}
