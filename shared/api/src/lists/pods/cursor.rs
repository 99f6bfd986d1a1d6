//! JSON, read once from front to back.
//!
//! Most of a list of pods is text that is not used and that is like the text of the previous pod: a
//! member that begins with the whole text of its like need not be looked at again ([`Member`]). All
//! else is held to JSON's grammar as `serde_json` holds it. `None` says that something is not as
//! expected, never what: the page is then read by `serde_json`, which knows how to complain.

use std::borrow::Cow;

/// Deeper values are left to `serde_json`.
const DEPTH_MAX: u32 = 64;

/// A place in a text.
#[derive(Debug)]
pub struct JsonCursor<'a> {
    text: &'a str,
    at: usize,
}

/// A member of an object: its text, empty where it is not there, and what it says, if not `null`.
#[derive(Clone, Debug)]
pub struct Member<'a, T> {
    text: &'a str,
    value: Option<T>,
}

impl<T> Default for Member<'_, T> {
    fn default() -> Self {
        Self { text: "", value: None }
    }
}

impl<'a, T> Member<'a, T> {
    /// What it says.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// What it says, taken out.
    pub fn take(self) -> Option<T> {
        self.value
    }

    /// Its text, if it says something.
    pub fn text(&self) -> Option<&'a str> {
        self.value.as_ref().map(|_| self.text)
    }
}

impl<'a, T: Clone> Member<'a, T> {
    /// Reads the member at the cursor. It must not be there twice; where its text is that of `before`,
    /// so is what it says.
    pub fn read(
        &mut self,
        cursor: &mut JsonCursor<'a>,
        before: &Self,
        read: impl FnOnce(&mut JsonCursor<'a>) -> Option<T>,
    ) -> Option<()> {
        if !self.text.is_empty() {
            return None;
        }
        let first = cursor.peek()?;
        let start = cursor.at;
        // Only these end by themselves: `1` is also how `12` begins.
        let ends_itself = matches!(first, b'"' | b'{' | b'[');
        if ends_itself && !before.text.is_empty() && cursor.rest().starts_with(before.text) {
            cursor.at += before.text.len();
            self.clone_from(before);
            return Some(());
        }
        self.value = if first == b'n' {
            cursor.word("null")?;
            None
        } else {
            Some(read(cursor)?)
        };
        self.text = cursor.text.get(start..cursor.at)?;
        Some(())
    }
}

impl<T> Member<'_, Vec<T>> {
    /// What it lists.
    pub fn items(&self) -> &[T] {
        self.value.as_deref().unwrap_or_default()
    }
}

impl<'a> JsonCursor<'a> {
    /// A cursor at the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Nothing may follow.
    pub fn end(mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Reads an object: `read` gets each key, and reads the value. Keys are plain: one that is escaped
    /// might be another spelling of one that matters.
    pub fn members(
        &mut self,
        mut read: impl FnMut(&'a str, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.separated(b'{', b'}', |cursor| {
            let (key, is_plain) = cursor.string()?;
            cursor.eat(b':')?;
            if is_plain { read(key, cursor) } else { None }
        })
    }

    /// Reads an array: `read` reads each item.
    pub fn items(&mut self, read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.separated(b'[', b']', read)
    }

    /// Reads an array into a vector.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut list = Vec::new();
        self.items(|cursor| {
            list.push(read(cursor)?);
            Some(())
        })?;
        Some(list)
    }

    /// Reads a text, which is borrowed unless something in it is escaped.
    pub fn text(&mut self) -> Option<Cow<'a, str>> {
        self.peek()?;
        let start = self.at;
        let (inside, is_plain) = self.string()?;
        if is_plain {
            return Some(Cow::Borrowed(inside));
        }
        let quoted = self.text.get(start..self.at)?;
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    }

    /// The boolean that stands here; `None` if there is none.
    pub fn boolean(&mut self) -> Option<bool> {
        let is_true = self.peek()? == b't';
        self.word(if is_true { "true" } else { "false" })?;
        Some(is_true)
    }

    /// Passes over a value.
    pub fn skip(&mut self) -> Option<()> {
        self.skip_within(DEPTH_MAX)
    }

    fn skip_within(&mut self, depth: u32) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => {
                let depth = depth.checked_sub(1)?;
                self.separated(b'{', b'}', |cursor| {
                    cursor.string()?;
                    cursor.eat(b':')?;
                    cursor.skip_within(depth)
                })
            }
            b'[' => {
                let depth = depth.checked_sub(1)?;
                self.separated(b'[', b']', |cursor| cursor.skip_within(depth))
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    /// The next byte that is no white space.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
            if byte == b'\n' {
                self.at += spaces(self.text.as_bytes(), self.at);
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, wanted: u8) -> Option<()> {
        if self.peek()? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Whether `wanted` stands right here; then it is passed over.
    fn has(&mut self, wanted: u8) -> bool {
        let has = self.byte() == Some(wanted);
        self.at += usize::from(has);
        has
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let is_it = self.rest().starts_with(word);
        self.at += word.len();
        is_it.then_some(())
    }

    fn separated(
        &mut self,
        start: u8,
        end: u8,
        mut read: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.eat(start)?;
        if self.peek()? == end {
            self.at += 1;
            return Some(());
        }
        loop {
            read(self)?;
            let byte = self.peek()?;
            self.at += 1;
            if byte == end {
                return Some(());
            }
            if byte != b',' {
                return None;
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        self.has(b'-');
        if !self.has(b'0') {
            self.digits()?;
        }
        if self.has(b'.') {
            self.digits()?;
        }
        if self.has(b'e') || self.has(b'E') {
            let _signed = self.has(b'+') || self.has(b'-');
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    /// What stands between two quotation marks, and whether nothing in it is escaped.
    fn string(&mut self) -> Option<(&'a str, bool)> {
        self.eat(b'"')?;
        let (start, mut is_plain) = (self.at, true);
        loop {
            self.pass_plain();
            let byte = self.byte()?;
            self.at += 1;
            match byte {
                b'"' => return Some((self.text.get(start..self.at - 1)?, is_plain)),
                b'\\' => {
                    self.escape()?;
                    is_plain = false;
                }
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    /// Goes on to the next quotation mark, backslash or control character; near the end of the text, not
    /// beyond it.
    fn pass_plain(&mut self) {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let bytes = self.text.as_bytes();
        while let Some(chunk) = bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*chunk);
            // The lowest byte that is marked is one of them: only above it a carry may mark another.
            let zero = |word: u64| word.wrapping_sub(ONES) & !word;
            let control = word.wrapping_sub(ONES * 0x20) & !word;
            let quote = zero(word ^ (ONES * u64::from(b'"')));
            let backslash = zero(word ^ (ONES * u64::from(b'\\')));
            let marked = (control | quote | backslash) & HIGH;
            if marked != 0 {
                self.at += usize::try_from(marked.trailing_zeros() / 8).unwrap_or_default();
                return;
            }
            self.at += 8;
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = self.byte()?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }
}

/// How many spaces stand at `at`, or up to seven fewer: half of what `kubectl get -o json` prints is indentation.
pub(crate) fn spaces(bytes: &[u8], at: usize) -> usize {
    let chunks = bytes.get(at..).unwrap_or_default().chunks_exact(8);
    8 * chunks.take_while(|chunk| *chunk == b"        ").count()
}
