//! Facts of any kind are drawn, written and read.

use std::sync::Arc;

use model::{InstanceType, facts::ClassOffer, recorded::RecordedFacts};
use proptest::prelude::*;

use super::{
    UnreadableFacts, VERSION,
    codec::{Damaged, Shared, Source, Stored, Writer},
    decode, encode,
};

/// Draws values of any type: whatever a member may be, it is at some time.
struct Dice {
    state: u64,
    shared: Shared,
}

/// Texts of which each name and each word takes one at least.
const TEXTS: [&str; 24] = [
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
];

impl Dice {
    fn of(seed: u64) -> Self {
        Self { state: seed, shared: Shared::default() }
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

    fn text<T>(&mut self, read: impl Fn(&str) -> Result<T, Damaged>) -> Result<T, Damaged> {
        let (before, after) = TEXTS.split_at(self.below(24).into());
        let mut taken = after.iter().chain(before).filter_map(|text| read(text).ok());
        taken.next().ok_or_else(|| "no text is taken".to_owned())
    }

    fn count(&mut self) -> Result<usize, Damaged> {
        Ok(self.below(3).into())
    }

    fn shared<T: 'static>(&mut self) -> &mut Vec<T> {
        self.shared.of()
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

/// What another list of members writes, this one does not read.
#[test]
fn a_change_of_what_is_written_raises_the_version() {
    let mut bytes = Vec::new();
    for recorded in (1..60).filter_map(drawn) {
        let mut writer = Writer::default();
        recorded.put(&mut writer);
        bytes.extend(writer.finish());
    }
    let written = (VERSION, model::ledger::digest(&bytes));
    assert_eq!(
        written,
        (2, 0x8d93_ce20_3b01_5b04),
        "raise `VERSION`, and note what is written from now on"
    );
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
        let offers = classes.iter().cloned();
        let offers = offers.map(|(name, types)| (name.parse().unwrap(), ClassOffer::Ready(types)));
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
