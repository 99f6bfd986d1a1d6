//! How values of the model become bytes and are read again: member by member, in the order in which they are
//! listed.
//!
//! Numbers are as short as they can be, texts are written once and named by number afterwards, and so is what
//! the model shares behind an `Arc`. Nothing says what it is: who reads must know the very same list, which
//! the version of the whole says.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Why bytes are not what was written.
pub(super) type Damaged = String;

/// A value that is written and read.
pub(super) trait Stored: Sized {
    /// Writes it.
    fn put(&self, to: &mut Writer);

    /// Reads what [`Self::put`] wrote.
    fn take(from: &mut impl Source) -> Result<Self, Damaged>;
}

/// Where values are taken from: bytes, or the dice of a test, which draw values of any type.
pub(super) trait Source {
    /// A number, `most` at most.
    fn number(&mut self, most: u128) -> Result<u128, Damaged>;

    /// A text that `read` takes.
    fn text<T>(&mut self, read: impl Fn(&str) -> Result<T, Damaged>) -> Result<T, Damaged>;

    /// How many values follow.
    fn count(&mut self) -> Result<usize, Damaged>;

    /// What was shared of the type `T`, in the order in which it was taken.
    fn shared<T: 'static>(&mut self) -> &mut Vec<T>;

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

    /// What [`Writer::once`] wrote.
    fn once<T: Clone + 'static>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<T, Damaged>,
    ) -> Result<T, Damaged> {
        let known = wide(self.shared::<T>().len());
        let number = narrow::<usize>(self.number(known)?)?;
        let Some(known) = number.checked_sub(1) else {
            let value = take(self)?;
            self.shared::<T>().push(value.clone());
            return Ok(value);
        };
        let known = self.shared::<T>().get(known).cloned();
        known.ok_or_else(|| format!("nothing is shared under {number}"))
    }
}

/// What is being written.
#[derive(Default)]
pub(super) struct Writer {
    words: BTreeMap<Box<str>, u64>,
    /// The words in the order of their numbers, each with its length.
    listed: Vec<u8>,
    bytes: Vec<u8>,
    shared: BTreeMap<(TypeId, Vec<u8>), u64>,
    /// How many of each type.
    counts: BTreeMap<TypeId, u64>,
}

/// What is being read.
pub(super) struct Reader<'a> {
    words: Vec<&'a str>,
    bytes: &'a [u8],
    shared: Shared,
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
        let next = u64::try_from(self.words.len()).unwrap_or(u64::MAX);
        let known = self.words.get(text).copied();
        let number = known.unwrap_or_else(|| {
            self.words.insert(text.into(), next);
            number_into(&mut self.listed, wide(text.len()));
            self.listed.extend_from_slice(text.as_bytes());
            next
        });
        self.number(number.into());
    }

    /// Writes `value` where it is the first of its kind that is so, and its number where it is not. There is
    /// nothing in it that is shared itself.
    fn once<T: Stored + 'static>(&mut self, put: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.bytes);
        put(self);
        let bytes = std::mem::replace(&mut self.bytes, before);
        let count = self.counts.entry(TypeId::of::<T>()).or_default();
        let key = (TypeId::of::<T>(), bytes);
        // Zero is what was not there before.
        if let Some(number) = self.shared.get(&key) {
            let number = u128::from(*number) + 1;
            self.number(number);
            return;
        }
        let number = *count;
        *count += 1;
        self.number(0);
        self.bytes.extend_from_slice(&key.1);
        self.shared.insert(key, number);
    }

    /// All of it: the words, then what was written.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.listed.len() + self.bytes.len() + 8);
        number_into(&mut whole, wide(self.words.len()));
        whole.extend(self.listed);
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

impl<'a> Reader<'a> {
    /// Of what [`Writer::finish`] made.
    pub(super) fn of(bytes: &'a [u8]) -> Result<Self, Damaged> {
        let mut reader = Self { words: Vec::new(), bytes, shared: Shared::default() };
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
        let mut number = 0_u128;
        for shift in (0..128).step_by(7) {
            let (byte, rest) = self.bytes.split_first().ok_or("it ends too early")?;
            self.bytes = rest;
            number |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let is_allowed = number <= most;
                return if is_allowed { Ok(number) } else { Err(format!("{number} is too large")) };
            }
        }
        Err("a number is too long".to_owned())
    }

    fn text<T>(&mut self, read: impl Fn(&str) -> Result<T, Damaged>) -> Result<T, Damaged> {
        let number = self.count()?;
        let word = self.words.get(number);
        read(word.ok_or_else(|| format!("there is no word {number}"))?)
    }

    fn count(&mut self) -> Result<usize, Damaged> {
        narrow(self.number(u128::MAX)?)
    }

    fn shared<T: 'static>(&mut self) -> &mut Vec<T> {
        self.shared.of()
    }
}

/// A `Vec<T>` of each type `T`.
#[derive(Default)]
pub(super) struct Shared(BTreeMap<TypeId, Box<dyn Any>>);

impl Shared {
    #[expect(clippy::expect_used, reason = "each list is put in under its own type")]
    pub(super) fn of<T: 'static>(&mut self) -> &mut Vec<T> {
        let list = self.0.entry(TypeId::of::<T>());
        let list = list.or_insert_with(|| Box::<Vec<T>>::default());
        list.downcast_mut().expect("a list is of the type that it stands under")
    }
}

fn wide(number: usize) -> u128 {
    u128::try_from(number).unwrap_or(u128::MAX)
}

fn narrow<T: TryFrom<u128>>(number: u128) -> Result<T, Damaged> {
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

            fn take(from: &mut impl Source) -> Result<Self, Damaged> {
                narrow(from.number(u128::try_from(Self::MAX).unwrap_or(u128::MAX))?)
            }
        })*
        $(impl Stored for $signed {
            fn put(&self, to: &mut Writer) {
                to.number(zigzag((*self).into()));
            }

            fn take(from: &mut impl Source) -> Result<Self, Damaged> {
                let number = from.signed(Self::MIN.into(), Self::MAX.into())?;
                number.try_into().map_err(|_| format!("{number} is out of range"))
            }
        })*
    };
}

numbers!(u16 u32 u64 u128 usize; i32 i64);

impl Stored for bool {
    fn put(&self, to: &mut Writer) {
        to.number(u128::from(*self));
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        Ok(from.variant(2)? == 1)
    }
}

impl Stored for String {
    fn put(&self, to: &mut Writer) {
        to.text(self);
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        from.text(|text| Ok(text.to_owned()))
    }
}

impl Stored for Arc<str> {
    fn put(&self, to: &mut Writer) {
        to.text(self);
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        from.text(|text| Ok(text.into()))
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, to: &mut Writer) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
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
fn take_all<T: Stored, C: Default + Extend<T>>(from: &mut impl Source) -> Result<C, Damaged> {
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

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        take_all(from)
    }
}

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn put(&self, to: &mut Writer) {
        put_all(self.iter(), to);
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
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

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        take_all(from)
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

/// What many share is written once.
impl<T: Stored + 'static> Stored for Arc<T> {
    fn put(&self, to: &mut Writer) {
        to.once::<Self>(|to| T::put(self, to));
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        from.once(|from| T::take(from).map(Self::new))
    }
}

impl<T: Stored + 'static> Stored for Arc<[T]> {
    fn put(&self, to: &mut Writer) {
        to.once::<Self>(|to| put_all(self.iter(), to));
    }

    fn take(from: &mut impl Source) -> Result<Self, Damaged> {
        from.once(|from| take_all::<T, Vec<T>>(from).map(Self::from))
    }
}

/// Structures by their members. One that is missing or too many does not compile.
macro_rules! structures {
    ($($name:ident$(<$parameter:ident>)? { $($member:ident),* $(,)? })*) => { $(
        impl$(<$parameter: Stored>)? Stored for $name$(<$parameter>)? {
            fn put(&self, to: &mut Writer) {
                let Self { $($member),* } = self;
                $($member.put(to);)*
            }

            fn take(from: &mut impl Source) -> Result<Self, Damaged> {
                Ok(Self { $($member: Stored::take(from)?),* })
            }
        }
    )* };
}

/// Enumerations by the number of each variant. One that is missing does not compile.
macro_rules! enumerations {
    ($($name:ident {
        $($number:literal $variant:ident$(($($part:ident),*))?$({ $($member:ident),* })?),* $(,)?
    })*) => { $(
        impl Stored for $name {
            fn put(&self, to: &mut Writer) {
                match self {
                    $(Self::$variant$(($($part),*))?$({ $($member),* })? => {
                        to.number($number);
                        $($($part.put(to);)*)?
                        $($($member.put(to);)*)?
                    })*
                }
            }

            fn take(from: &mut impl Source) -> Result<Self, Damaged> {
                Ok(match from.variant([$($number),*].len())? {
                    $($number => {
                        $($(let $part = Stored::take(from)?;)*)?
                        $($(let $member = Stored::take(from)?;)*)?
                        Self::$variant$(($($part),*))?$({ $($member),* })?
                    })*
                    other => return Err(format!("no {} has the number {other}", stringify!($name))),
                })
            }
        }
    )* };
}

/// Names, which are checked when they are read.
macro_rules! names {
    ($($name:ident)*) => { $(
        impl Stored for $name {
            fn put(&self, to: &mut Writer) {
                to.text(self.as_str());
            }

            fn take(from: &mut impl Source) -> Result<Self, Damaged> {
                from.text(|text| Self::new(text).map_err(|error| error.to_string()))
            }
        }
    )* };
}

/// Enumerations without parts by their words.
macro_rules! words {
    ($($name:ident)*) => { $(
        impl Stored for $name {
            fn put(&self, to: &mut Writer) {
                to.text(self.as_str());
            }

            fn take(from: &mut impl Source) -> Result<Self, Damaged> {
                let unknown = |word: &str| format!("`{word}` is no {}", stringify!($name));
                from.text(|word| Self::parse(word).ok_or_else(|| unknown(word)))
            }
        }
    )* };
}

pub(super) use {enumerations, names, structures, words};
