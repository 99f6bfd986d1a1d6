//! How values of the model become bytes and are read again.
//!
//! A structure is a list of members, each with its number, the length of its bytes and its bytes; number zero
//! ends the list. A member whose bytes are one zero is not written. A reader skips members whose numbers it does
//! not know. A member that is missing is read as if all its numbers were zero: zero, false, none, no elements,
//! the empty text, the variant zero. What cannot be that, such as a name, makes the record damaged.
//!
//! Thus a release may add a member (under a new number of at least [`NUMBER_LATER`]) or drop one (its number is
//! not used again), and old and new releases read each other's records. An enumeration is the number of its
//! variant, then its parts as the members of a structure; a variant that the reader does not know makes the
//! record damaged. Lists are the count of their elements, then these.
//!
//! Numbers take seven bits a byte. Texts, and values that the model shares behind an `Arc`, stand once in
//! tables before the root and are named by their place, from one; zero names the empty text and the value of
//! zeros. `numbered` reads this form, `positional` the one before.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    rc::Rc,
    sync::Arc,
};

/// Why bytes are not what was written.
pub(super) type Damaged = String;

/// The least number of a member that releases after c7ddc5b added: the positional form holds none of them.
pub(super) const NUMBER_LATER: u64 = 64;

/// A value that is written and read.
pub(super) trait Stored {
    /// Writes it.
    fn put(&self, to: &mut Writer);

    /// Reads what [`Self::put`] wrote.
    fn take(from: &mut dyn Source) -> Result<Self, Damaged>
    where
        Self: Sized;
}

/// The structure that is being read: where it stands among its members.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// What was read around the structure.
    pub(super) outer: Window,
    /// Where the members that were not looked at yet begin.
    pub(super) next: usize,
    /// Whether the list has ended.
    pub(super) is_ended: bool,
    /// The member whose header was read and whose value was not: its number and its bytes.
    pub(super) ahead: Option<(u64, Range<usize>)>,
}

impl Frame {
    /// Of a structure that is missing itself, or is not, for readers that follow no members.
    pub(super) fn missing(is_missing: bool) -> Self {
        Self { outer: Window { is_missing, ..Window::default() }, ..Self::default() }
    }

    /// Whether the structure is missing.
    pub(super) const fn is_missing(&self) -> bool {
        self.outer.is_missing
    }
}

/// Which bytes are read next, and where they end.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    pub(super) at: usize,
    pub(super) end: usize,
    /// Whether there are none, because what they would be the bytes of is missing.
    pub(super) is_missing: bool,
}

/// A value that many share: one that was read before, or one that is to be read now.
pub(super) enum Sharing {
    /// It was read before.
    Before(Rc<dyn Any>),
    /// It is to be read, and handed to [`Source::share`] with this.
    First { number: u64, outer: Window },
}

/// Where values are taken from: bytes of one of two forms, or the dice of a test, which draw values of any type.
pub(super) trait Source {
    /// A number, `most` at most.
    fn number(&mut self, most: u128) -> Result<u128, Damaged>;

    /// Calls `read` with a text that it takes.
    fn text(&mut self, read: &mut dyn FnMut(&str) -> Result<(), Damaged>) -> Result<(), Damaged>;

    /// How many values follow.
    fn count(&mut self) -> Result<usize, Damaged>;

    /// The value of the type `of` that many share and that stands here.
    fn shared(&mut self, of: TypeId) -> Result<Sharing, Damaged>;

    /// Keeps `value` of the type `of`, which stood where [`Source::shared`] found the first use of it.
    fn share(
        &mut self,
        of: TypeId,
        place: (u64, Window),
        value: Rc<dyn Any>,
    ) -> Result<(), Damaged>;

    /// Begins a structure.
    fn open(&mut self) -> Frame {
        Frame::default()
    }

    /// Moves to the member `number` of a structure; it is the next larger one that the reader knows.
    fn member(&mut self, _frame: &mut Frame, _number: u64) -> Result<(), Damaged> {
        Ok(())
    }

    /// Ends a structure: skips what is left of it.
    fn close(&mut self, _frame: Frame) -> Result<(), Damaged> {
        Ok(())
    }

    /// A number from `least` to `most`.
    fn signed(&mut self, least: i128, most: i128) -> Result<i128, Damaged> {
        let number = unzigzag(self.number(zigzag(least).max(zigzag(most)))?);
        let is_allowed = (least..=most).contains(&number);
        if is_allowed { Ok(number) } else { Err(format!("{number} is out of range")) }
    }

    /// A number below `count`, of a variant.
    fn variant(&mut self, count: usize) -> Result<u128, Damaged> {
        self.number(wide(count.saturating_sub(1)))
    }
}

/// A text that `read` takes.
pub(super) fn text<T>(
    from: &mut dyn Source,
    read: impl Fn(&str) -> Result<T, Damaged>,
) -> Result<T, Damaged> {
    let mut value = None;
    from.text(&mut |text| {
        value = Some(read(text)?);
        Ok(())
    })?;
    value.ok_or_else(|| "there is no text".to_owned())
}

/// The member `number` of a structure; `name` says in an error which it is.
pub(super) fn member<T: Stored>(
    from: &mut dyn Source,
    frame: &mut Frame,
    (number, name): (u64, &str),
) -> Result<T, Damaged> {
    let value = from.member(frame, number).and_then(|()| T::take(from));
    value.map_err(|error| format!("{name}: {error}"))
}

/// What [`Writer::once`] wrote.
fn once<T: Clone + 'static>(
    from: &mut dyn Source,
    take: fn(&mut dyn Source) -> Result<T, Damaged>,
) -> Result<T, Damaged> {
    let of = TypeId::of::<T>();
    match from.shared(of)? {
        Sharing::Before(value) => {
            value.downcast_ref().cloned().ok_or_else(|| "it is of another type".to_owned())
        }
        Sharing::First { number, outer } => {
            let value = take(from)?;
            from.share(of, (number, outer), Rc::new(value.clone()))?;
            Ok(value)
        }
    }
}

/// Whether each of `numbers` is larger than the one before it: each member has a number of its own.
pub(super) const fn is_ascending(numbers: &[u64]) -> bool {
    let mut rest = numbers;
    while let [first, others @ ..] = rest {
        if let [second, ..] = others
            && *second <= *first
        {
            return false;
        }
        rest = others;
    }
    true
}

/// What is being written.
#[derive(Default)]
pub(super) struct Writer {
    words: Table,
    shared: Table,
    bytes: Vec<u8>,
}

/// Byte strings, each once.
#[derive(Default)]
struct Table {
    numbers: BTreeMap<Vec<u8>, u64>,
    /// The strings in the order of their numbers, each with its length.
    listed: Vec<u8>,
}

impl Table {
    /// The number of `bytes`, from one.
    fn number(&mut self, bytes: &[u8]) -> u64 {
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        let number = u64::try_from(self.numbers.len()).unwrap_or(u64::MAX).saturating_add(1);
        self.numbers.insert(bytes.to_owned(), number);
        number_into(&mut self.listed, wide(bytes.len()));
        self.listed.extend_from_slice(bytes);
        number
    }

    fn finish(self, whole: &mut Vec<u8>) {
        number_into(whole, wide(self.numbers.len()));
        whole.extend(self.listed);
    }
}

impl Writer {
    /// Seven bits in each byte, the lowest first; the highest bit says that there are more.
    pub(super) fn number(&mut self, number: u128) {
        number_into(&mut self.bytes, number);
    }

    fn count(&mut self, count: usize) {
        self.number(wide(count));
    }

    pub(super) fn text(&mut self, text: &str) {
        let number = if text.is_empty() { 0 } else { self.words.number(text.as_bytes()) };
        self.number(number.into());
    }

    /// Members of a structure, each under its number.
    pub(super) fn structure(&mut self, members: &[(u64, &dyn Stored)]) {
        for (number, member) in members {
            let before = std::mem::take(&mut self.bytes);
            member.put(self);
            let bytes = std::mem::replace(&mut self.bytes, before);
            if bytes != [0] {
                self.number((*number).into());
                self.count(bytes.len());
                self.bytes.extend(bytes);
            }
        }
        self.number(0);
    }

    /// Writes the number of a value that many share.
    fn once(&mut self, put: &dyn Fn(&mut Self)) {
        let before = std::mem::take(&mut self.bytes);
        put(self);
        let bytes = std::mem::replace(&mut self.bytes, before);
        let number = self.shared.number(&bytes);
        self.number(number.into());
    }

    /// All of it: the words, what is shared, then the root.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut whole = Vec::new();
        self.words.finish(&mut whole);
        self.shared.finish(&mut whole);
        whole.extend(self.bytes);
        whole
    }
}

fn number_into(bytes: &mut Vec<u8>, mut number: u128) {
    loop {
        let low = number.to_le_bytes().first().copied().unwrap_or_default() & 0x7f;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// The number at the beginning of `bytes`, `most` at most, and what follows it.
pub(super) fn number_from(mut bytes: &[u8], most: u128) -> Result<(u128, &[u8]), Damaged> {
    let mut number = 0_u128;
    for shift in (0..128).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or("it ends too early")?;
        bytes = rest;
        number |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let is_allowed = number <= most;
            return if is_allowed {
                Ok((number, bytes))
            } else {
                Err(format!("{number} is too large"))
            };
        }
    }
    Err("a number is too long".to_owned())
}

pub(super) fn wide(number: usize) -> u128 {
    u128::try_from(number).unwrap_or(u128::MAX)
}

pub(super) fn narrow<T: TryFrom<u128>>(number: u128) -> Result<T, Damaged> {
    number.try_into().map_err(|_| format!("{number} is too large"))
}

/// A signed number as one that is small where it is near zero.
fn zigzag(number: i128) -> u128 {
    ((number << 1) ^ (number >> 127)).cast_unsigned()
}

fn unzigzag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

macro_rules! numbers {
    ($($unsigned:ty)*; $($signed:ty)*) => {
        $(impl Stored for $unsigned {
            fn put(&self, to: &mut Writer) {
                to.number(u128::try_from(*self).unwrap_or(u128::MAX));
            }

            fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
                narrow(from.number(u128::try_from(Self::MAX).unwrap_or(u128::MAX))?)
            }
        })*
        $(impl Stored for $signed {
            fn put(&self, to: &mut Writer) {
                to.number(zigzag((*self).into()));
            }

            fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
                let number = from.signed(Self::MIN.into(), Self::MAX.into())?;
                number.try_into().map_err(|_| format!("{number} is out of range"))
            }
        })*
    };
}

numbers!(u16 u32 u64 u128 usize; i32 i64 i128);

impl Stored for bool {
    fn put(&self, to: &mut Writer) {
        to.number(u128::from(*self));
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        Ok(from.variant(2)? == 1)
    }
}

impl Stored for String {
    fn put(&self, to: &mut Writer) {
        to.text(self);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        text(from, |text| Ok(text.to_owned()))
    }
}

impl Stored for Arc<str> {
    fn put(&self, to: &mut Writer) {
        to.text(self);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        text(from, |text| Ok(text.into()))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, to: &mut Writer) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        Ok(if bool::take(from)? { Some(T::take(from)?) } else { None })
    }
}

pub(super) fn put_all<'v, T: Stored + 'v>(
    values: impl ExactSizeIterator<Item = &'v T>,
    to: &mut Writer,
) {
    to.count(values.len());
    for value in values {
        value.put(to);
    }
}

/// Reads what [`put_all`] wrote. No room is made beforehand: damaged bytes may count more than there is.
fn take_all<T: Stored, C: Default + Extend<T>>(from: &mut dyn Source) -> Result<C, Damaged> {
    let mut values = C::default();
    for _ in 0..from.count()? {
        values.extend([T::take(from)?]);
    }
    Ok(values)
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, to: &mut Writer) {
        put_all(self.iter(), to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        take_all(from)
    }
}

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn put(&self, to: &mut Writer) {
        put_all(self.iter(), to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        take_all(from)
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn put(&self, to: &mut Writer) {
        to.count(self.len());
        for (key, value) in self {
            key.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        take_all(from)
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

/// What many share is written once.
impl<T: Stored + 'static> Stored for Arc<T> {
    fn put(&self, to: &mut Writer) {
        to.once(&|to| T::put(self, to));
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        once(from, |from| T::take(from).map(Self::new))
    }
}

impl<T: Stored + 'static> Stored for Arc<[T]> {
    fn put(&self, to: &mut Writer) {
        to.once(&|to| put_all(self.iter(), to));
    }

    fn take(from: &mut dyn Source) -> Result<Self, Damaged> {
        once(from, |from| take_all::<T, Vec<T>>(from).map(Self::from))
    }
}
