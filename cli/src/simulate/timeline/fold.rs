//! Lines that are alike, told as one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::PodKey;
use report::output::{count, elapsed, many, thousands};

use super::{
    line::{Like, Line, Thing},
    sentence::{self, Amount},
};

/// Of what things have in common, how much is named; the rest is counted.
const COMMON_SHOWN: usize = 3;
/// Names that are shown of several things.
const NAMES_SHOWN: usize = 2;

/// What makes lines alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    kind: &'a str,
    noun: &'a str,
    /// What happened, or all words.
    words: &'a str,
    /// What they have in common, where that parts them from others.
    common: Option<&'a str>,
}

/// Lines that are told as one.
struct Fold<'a> {
    first: &'a Line,
    latest: Timestamp,
    /// How many things it happened to, and in how many lines.
    number: u64,
    lines: u64,
    common: BTreeMap<&'a str, u64>,
    names: Vec<&'a str>,
    places: BTreeSet<&'a str>,
    /// Pods that lines are about, each with the newest reason.
    pods: BTreeMap<&'a PodKey, &'a str>,
    /// Of sentences: the sums of their numbers.
    sums: Vec<Amount>,
}

/// All of them, in the order in which each began.
pub(super) struct Folds<'a>(Vec<Fold<'a>>);

impl<'a> Folds<'a> {
    /// Those of `lines`, which are in the order of time. What is alike and begins within `part` is one.
    pub(super) fn of(lines: &'a [Line], part: SignedDuration) -> Self {
        let mut folds: Vec<Fold<'a>> = Vec::new();
        let mut open: BTreeMap<Key<'a>, usize> = BTreeMap::new();
        for line in lines {
            let key = Key::of(line);
            let fold = open.get(&key).and_then(|place| folds.get_mut(*place));
            let fold = fold.filter(|fold| {
                line.at.duration_since(fold.first.at) <= part && !fold.counts_again(line)
            });
            if let Some(fold) = fold {
                fold.add(line);
            } else {
                open.insert(key, folds.len());
                folds.push(Fold::of(line));
            }
        }
        Self(folds)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Each with when it began and its kind.
    pub(super) fn shown_by_kind(
        self,
        start: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, &'static str, String)> {
        self.0.into_iter().map(move |fold| (fold.first.at, fold.first.kind, fold.show(start)))
    }

    /// Each with when it began.
    pub(super) fn shown(self, start: Timestamp) -> Vec<(Timestamp, String)> {
        self.0.into_iter().map(|fold| (fold.first.at, fold.show(start))).collect()
    }
}

impl<'a> Key<'a> {
    fn of(line: &'a Line) -> Self {
        let (noun, words, common) = match &line.like {
            Like::Thing(thing) => {
                let common = thing.common.keys().next().filter(|_| thing.is_apart);
                (thing.noun, thing.verb, common.map(String::as_str))
            }
            Like::Words(words) => ("", words.as_str(), None),
            Like::Sentence(sentence) => ("", sentence.pattern(), None),
        };
        Self { kind: line.kind, noun, words, common }
    }
}

impl<'a> Fold<'a> {
    fn of(line: &'a Line) -> Self {
        let mut fold = Self {
            first: line,
            latest: line.at,
            number: 0,
            lines: 0,
            common: BTreeMap::new(),
            names: Vec::new(),
            places: BTreeSet::new(),
            pods: BTreeMap::new(),
            sums: Vec::new(),
        };
        fold.add(line);
        fold
    }

    /// Whether the sums of a sentence would have a pod of `line` twice.
    fn counts_again(&self, line: &Line) -> bool {
        matches!(line.like, Like::Sentence(_))
            && line.pods.iter().any(|pod| self.pods.contains_key(pod))
    }

    fn add(&mut self, line: &'a Line) {
        self.latest = line.at;
        self.number += line.number;
        self.lines += 1;
        if let Like::Sentence(sentence) = &line.like {
            sentence::add(&mut self.sums, sentence.amounts());
        }
        let reason = match &line.like {
            Like::Thing(thing) => thing.common.keys().next(),
            Like::Words(_) | Like::Sentence(_) => None,
        };
        let reason = reason.map(String::as_str).unwrap_or_default();
        self.pods.extend(line.pods.iter().map(|pod| (pod, reason)));
        if let Like::Thing(thing) = &line.like {
            for (what, number) in &thing.common {
                *self.common.entry(what).or_default() += number;
            }
            if !line.pods.is_empty() {
                self.number = u64::try_from(self.pods.len()).unwrap_or(u64::MAX);
                self.common.clear();
                self.pods.values().for_each(|reason| *self.common.entry(reason).or_default() += 1);
            }
            if self.names.len() < NAMES_SHOWN && !thing.name.is_empty() {
                self.names.push(&thing.name);
            }
            self.places.extend(thing.place.as_ref().map(|(_, node)| node.as_str()));
        }
    }

    fn show(self, start: Timestamp) -> String {
        let text = match &self.first.like {
            _ if self.lines == 1 && !self.first.is_about_pods => return self.first.show(),
            Like::Thing(thing) => self.of_things(thing),
            Like::Words(words) => format!("{words} (×{})", thousands(self.lines.into())),
            Like::Sentence(sentence) => {
                let (text, lines) = (sentence.with(&self.sums), thousands(self.lines.into()));
                if self.sums.is_empty() {
                    format!("{text} (×{lines})")
                } else {
                    format!("{text} in {lines} steps")
                }
            }
        };
        if self.latest.as_second() == self.first.at.as_second() {
            return text;
        }
        format!("{text} (until {})", elapsed(start, self.latest).trim_start_matches('+'))
    }

    fn of_things(&self, thing: &Thing) -> String {
        let place = thing.place.as_ref().map(|(preposition, node)| match self.places.len() {
            0 | 1 => format!(" {preposition} {node}"),
            number => format!(" {preposition} {} nodes", many(number)),
        });
        let shown = u64::try_from(self.names.len()).unwrap_or(u64::MAX);
        let names = match self.names.as_slice() {
            [] => String::new(),
            names if shown == self.number => format!(" ({})", names.join(", ")),
            [first, ..] => format!(" ({first}, …)"),
        };
        let common = match self.in_common() {
            common if common.is_empty() => common,
            common => format!(": {common}"),
        };
        let things = count(self.number, thing.noun);
        format!("{things} {}{}{names}{common}", thing.verb, place.unwrap_or_default())
    }

    /// What they have in common, the most frequent first.
    fn in_common(&self) -> String {
        let mut common: Vec<(&str, u64)> =
            self.common.iter().map(|(what, n)| (*what, *n)).collect();
        common.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        if let [(only, number)] = common.as_slice()
            && *number == self.number
        {
            return (*only).to_owned();
        }
        // A single one beyond that is named as well.
        let most = if common.len() == COMMON_SHOWN + 1 { common.len() } else { COMMON_SHOWN };
        let shown = common.iter().take(most);
        let mut parts: Vec<String> =
            shown.map(|(what, number)| format!("{} {what}", thousands((*number).into()))).collect();
        let rest = common.get(most..).unwrap_or_default();
        let others: u64 = rest.iter().map(|(_, number)| number).sum();
        if others > 0 {
            let others = thousands(others.into());
            let kinds = count(u64::try_from(rest.len()).unwrap_or(u64::MAX), "other kind");
            parts.push(format!("{others} of {kinds}"));
        }
        parts.join("; ")
    }
}
