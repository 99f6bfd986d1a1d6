//! Facts of any kind are drawn, written and read.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    rc::Rc,
    sync::Arc,
};

use model::{InstanceType, facts::ClassOffer, recorded::RecordedFacts};
use proptest::prelude::*;

use super::{
    UnreadableFacts, VERSION,
    codec::{Damaged, Sharing, Source, Stored, Window, Writer, narrow},
    decode, encode,
    macros::{enumerations, structures},
    numbered::Reader,
    positional,
};

/// Draws values of any type: whatever a member may be, it is at some time.
struct Dice {
    state: u64,
    shared: BTreeMap<TypeId, Vec<Rc<dyn Any>>>,
}

/// Texts of which each name and each word takes one at least.
const TEXTS: [&str; 25] = [
    "",
    "general-1-0",
    "web",
    "m7g.large",
    "i-0123456789abcdef0",
    "ami-0123456789abcdef0",
    "us-west-2a",
    "example.com/gpu",
    "cpu",
    "17",
    "Ünïcode",
    "0.0.0.0",
    "fd00::7",
    "spot",
    "Ready",
    "CreateFleetAuthCheckFailed",
    "launched",
    "deleting",
    "provision",
    "drift",
    "detached",
    "Launch",
    "BudgetSpent",
    "0123abcd",
    "subnet-0a",
];

impl Dice {
    fn of(seed: u64) -> Self {
        Self { state: seed, shared: BTreeMap::new() }
    }

    /// xorshift64*.
    fn roll(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u8) -> u8 {
        u8::try_from(self.roll() % u64::from(end)).unwrap()
    }

    /// A number of any length up to `bits`, short ones as often as long ones.
    fn any(&mut self, bits: u8) -> u128 {
        let length = self.below(bits + 1);
        let any = u128::from(self.roll()) << 64 | u128::from(self.roll());
        any.checked_shr(128 - u32::from(length)).unwrap_or_default()
    }
}

impl Source for Dice {
    fn number(&mut self, most: u128) -> Result<u128, Damaged> {
        let any = self.any(128);
        Ok(most.checked_add(1).map_or(any, |end| any % end))
    }

    fn text(&mut self, read: &mut dyn FnMut(&str) -> Result<(), Damaged>) -> Result<(), Damaged> {
        let (before, after) = TEXTS.split_at(self.below(25).into());
        let is_taken = after.iter().chain(before).any(|text| read(text).is_ok());
        if is_taken { Ok(()) } else { Err("no text is taken".to_owned()) }
    }

    fn count(&mut self) -> Result<usize, Damaged> {
        Ok(self.below(3).into())
    }

    fn shared(&mut self, of: TypeId) -> Result<Sharing, Damaged> {
        let values = self.shared.get(&of).map_or(0, |values| values.len() as u128);
        let place = narrow::<usize>(self.number(values)?)?.checked_sub(1);
        Ok(place.map_or(Sharing::First { number: 0, outer: Window::default() }, |place| {
            Sharing::Before(Rc::clone(&self.shared[&of][place]))
        }))
    }

    fn share(&mut self, of: TypeId, _: (u64, Window), value: Rc<dyn Any>) -> Result<(), Damaged> {
        self.shared.entry(of).or_default().push(value);
        Ok(())
    }

    fn signed(&mut self, least: i128, most: i128) -> Result<i128, Damaged> {
        let any = self.any(127).cast_signed();
        let any = if self.below(2) == 0 { any } else { -any };
        let is_allowed = (least..=most).contains(&any);
        Ok(if is_allowed { any } else { least + any.rem_euclid(most - least + 1) })
    }
}

/// `None` where a time or a duration is too long, which happens hardly ever.
fn drawn(seed: u64) -> Option<RecordedFacts> {
    RecordedFacts::take(&mut Dice::of(seed)).ok()
}

fn whole(recorded: &RecordedFacts) -> Vec<u8> {
    encode(&recorded.question, &recorded.facts, &recorded.plan)
}

#[test]
fn what_is_drawn_is_not_always_the_same_nor_always_empty() {
    let facts: Vec<RecordedFacts> = (1..200).filter_map(drawn).collect();
    let pods: usize = facts.iter().map(|recorded| recorded.facts.pods.len()).sum();
    let claims: usize = facts.iter().map(|recorded| recorded.facts.ledger.claims.len()).sum();
    assert!(190 < facts.len(), "{} of 199 were drawn", facts.len());
    assert!(50 < pods && 50 < claims, "{pods} pods, {claims} claims");
}

/// A number that changes its meaning makes what was recorded before it unreadable. Where members were added, or
/// were taken away, other bytes are written, and nothing is lost.
#[test]
fn numbers_of_members_mean_what_they_meant() {
    let mut bytes = Vec::new();
    for recorded in (1..60).filter_map(drawn) {
        let mut writer = Writer::default();
        recorded.put(&mut writer);
        bytes.extend(writer.finish());
    }
    let written = (VERSION, model::ledger::digest(&bytes));
    assert_eq!(
        written,
        (3, 0xa94d_54c5_b112_22fe),
        "if members were only added under new numbers, note what is written from now on"
    );
}

/// A structure as one release knows it, and as another one does.
#[derive(Debug, PartialEq, Eq)]
struct Earlier {
    name: String,
    shared: Vec<Arc<Inner>>,
    is_dropped: bool,
    last: Choice,
}

#[derive(Debug, PartialEq, Eq)]
struct Later {
    name: String,
    last: Choice,
    added: Vec<Arc<Inner>>,
    count: u32,
    price: Option<i64>,
    choice: Choice,
    text: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    number: i64,
}

#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Neither,
    Some(u32),
    Both { least: u32, most: Arc<Inner> },
}

structures! {
    Earlier { 1 name, 2 shared, 3 is_dropped, 4 last }
    Later { 1 name, 4 last, 64 added, 65 count, 66 price, 70 choice, 71 text }
    Inner { 1 number }
}

enumerations! {
    Choice { 0 Neither, 1 Some(1 number), 2 Both { 1 least, 2 most } }
}

fn written(value: &impl Stored) -> Vec<u8> {
    let mut writer = Writer::default();
    value.put(&mut writer);
    writer.finish()
}

fn read<T: Stored>(bytes: &[u8]) -> Result<T, Damaged> {
    let mut reader = Reader::of(bytes)?;
    let value = T::take(&mut reader)?;
    reader.end().map(|()| value)
}

fn inner(number: i64) -> Arc<Inner> {
    Arc::new(Inner { number })
}

#[test]
fn unknown_members_are_skipped_and_missing_ones_are_zero() {
    // What `last` shares stands first in a member that the later release has dropped.
    let earlier = Earlier {
        name: "web".to_owned(),
        shared: vec![inner(-7), inner(0), inner(-7)],
        is_dropped: true,
        last: Choice::Both { least: 3, most: inner(-7) },
    };
    let bytes = written(&earlier);
    assert_eq!(read(&bytes), Ok(earlier));
    let expected = Later {
        name: "web".to_owned(),
        last: Choice::Both { least: 3, most: inner(-7) },
        added: Vec::new(),
        count: 0,
        price: None,
        choice: Choice::Neither,
        text: "".into(),
    };
    assert_eq!(read(&bytes), Ok(expected));

    let later = Later {
        name: "web".to_owned(),
        last: Choice::Some(0),
        added: vec![inner(5)],
        count: 300,
        price: Some(0),
        choice: Choice::Some(9),
        text: "zone".into(),
    };
    let bytes = written(&later);
    assert_eq!(read(&bytes), Ok(later));
    let expected = Earlier {
        name: "web".to_owned(),
        shared: Vec::new(),
        is_dropped: false,
        last: Choice::Some(0),
    };
    assert_eq!(read(&bytes), Ok(expected));
}

#[test]
fn the_positional_form_has_no_member_that_was_added_later() {
    // One word of three letters; the name is word 0, the choice is variant 1 of 3.
    let mut reader = positional::Reader::of(&[1, 3, b'w', b'e', b'b', 0, 1, 3]).unwrap();
    let later = Later::take(&mut reader).unwrap();
    reader.end().unwrap();
    let expected = Later {
        name: "web".to_owned(),
        last: Choice::Some(3),
        added: Vec::new(),
        count: 0,
        price: None,
        choice: Choice::Neither,
        text: "".into(),
    };
    assert_eq!(later, expected);
}

#[test]
fn a_name_that_is_missing_is_named() {
    let error = read::<model::PodKey>(&written(&inner(0))).unwrap_err();
    assert!(error.starts_with("PodKey.namespace: "), "{error}");
}

#[test]
fn what_classes_share_is_written_once() {
    let mut recorded = (1..).find_map(drawn).expect("some can be drawn");
    let types = |of: u32| -> Vec<Arc<InstanceType>> {
        let drawn = (u64::from(of)..)
            .filter_map(|seed| Arc::<InstanceType>::take(&mut Dice::of(seed + 1)).ok());
        drawn.take(300).collect()
    };
    let mut bytes_with = |classes: &[(&str, Vec<Arc<InstanceType>>)]| {
        let offers = classes
            .iter()
            .cloned()
            .map(|(name, types)| (name.parse().unwrap(), ClassOffer::Ready(types)));
        recorded.facts.classes = Some(offers.collect());
        whole(&recorded).len()
    };
    let alone = bytes_with(&[("a", types(0))]);
    // The same types, but in other places of the memory.
    let same = bytes_with(&[("a", types(0)), ("b", types(0))]);
    let others = bytes_with(&[("a", types(0)), ("b", types(1_000))]);
    assert!(
        same < alone + alone / 10,
        "{alone} bytes of one class, {same} of two with the same types"
    );
    assert!(alone + alone / 2 < others, "{alone} bytes of one class, {others} of two with others");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn facts_are_read_as_they_were(seed in 1..u64::MAX) {
        let Some(recorded) = drawn(seed) else { return Ok(()) };
        prop_assert_eq!(decode(&whole(&recorded)), Ok(recorded));
    }

    #[test]
    fn facts_that_are_cut_off_are_refused(seed in 1..u64::MAX, cut in 0_usize..1_000) {
        let Some(recorded) = drawn(seed) else { return Ok(()) };
        let bytes = whole(&recorded);
        let kept = &bytes[..=(bytes.len() - 2) * cut / 1_000];
        prop_assert!(matches!(decode(kept), Err(UnreadableFacts::Damaged(_))));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut packed = vec![VERSION];
        packed.extend(bytes);
        drop(decode(&packed));
    }
}
