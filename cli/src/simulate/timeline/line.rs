//! A line of the timeline, and what it has in common with others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::PodKey;
use report::output::{count, thousands};

use super::{about::About, sentence::Sentence};

/// A line: when, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    /// What is said of it alone; of pods without how many they are.
    pub(super) text: String,
    /// To how many things it happened.
    pub(super) number: u64,
    /// Whether pods of one second are counted in it.
    pub(super) is_about_pods: bool,
    /// The pods that it is about, where the same pod may be in several lines and counts once.
    pub(super) pods: Vec<PodKey>,
    /// What it is about, for machines.
    pub(super) about: About,
    /// How it is printed together with others.
    pub(super) like: Like,
}

/// What makes lines alike, and what may differ between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Like {
    /// The same happened to other things of a kind.
    Thing(Thing),
    /// The same words.
    Words(String),
    /// The same words, but for names and numbers.
    Sentence(Sentence),
}

/// Something that happened to a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thing {
    /// What it is, in the singular: `instance`.
    pub(super) noun: &'static str,
    /// What happened to it: `launched`.
    pub(super) verb: &'static str,
    /// What things may have in common, such as type, zone and price, and how many have it.
    pub(super) common: BTreeMap<String, u64>,
    /// What it is called; empty where that says nothing.
    pub(super) name: String,
    /// Whether what is said is only true of those that have the same in common.
    pub(super) is_apart: bool,
    /// Where it happened: a preposition and a node.
    pub(super) place: Option<(&'static str, String)>,
}

impl Like {
    /// Something that happened to a `noun`; `common` is empty where nothing is known.
    pub(super) fn thing(noun: &'static str, verb: &'static str, common: String) -> Self {
        Self::things(1, noun, verb, common)
    }

    /// The line for a number of things.
    pub(super) fn things(
        number: u64,
        noun: &'static str,
        verb: &'static str,
        common: String,
    ) -> Self {
        let mut common = BTreeMap::from([(common, number)]);
        common.remove("");
        Self::Thing(Thing { noun, verb, common, name: String::new(), is_apart: false, place: None })
    }

    /// The same of a thing that is called `name`.
    pub(super) fn called(self, name: &str) -> Self {
        match self {
            Self::Thing(thing) => Self::Thing(Thing { name: name.to_owned(), ..thing }),
            words @ (Self::Words(_) | Self::Sentence(_)) => words,
        }
    }

    /// The same, told together only with those that have the same in common.
    pub(super) fn apart(self) -> Self {
        match self {
            Self::Thing(thing) => Self::Thing(Thing { is_apart: true, ..thing }),
            words @ (Self::Words(_) | Self::Sentence(_)) => words,
        }
    }

    /// The same at a place.
    pub(super) fn at(self, preposition: &'static str, node: String) -> Self {
        match self {
            Self::Thing(thing) => Self::Thing(Thing { place: Some((preposition, node)), ..thing }),
            words @ (Self::Words(_) | Self::Sentence(_)) => words,
        }
    }
}

impl Line {
    pub(super) fn of(at: Timestamp, kind: &'static str, text: String, like: Like) -> Self {
        let (pods, about) = (Vec::new(), About::default());
        Self { at, kind, text, number: 1, is_about_pods: false, pods, about, like }
    }

    /// A line that is only alike one with the same words.
    pub(super) fn of_words(at: Timestamp, kind: &'static str, text: String) -> Self {
        let like = Like::Words(text.clone());
        Self::of(at, kind, text, like)
    }

    /// A line whose numbers can be summed up with those of others that say the same of other things.
    pub(super) fn of_sentence(at: Timestamp, kind: &'static str, text: String) -> Self {
        let like = Like::Sentence(Sentence::of(&text));
        Self::of(at, kind, text, like)
    }

    /// `pods` of `workload` cannot be scheduled.
    pub(super) fn of_unplaced(
        at: Timestamp,
        workload: &str,
        reasons: &str,
        pods: Vec<PodKey>,
    ) -> Self {
        let number = u64::try_from(pods.len()).unwrap_or(u64::MAX);
        let times =
            if number > 1 { format!(" ×{}", thousands(number.into())) } else { String::new() };
        let text = format!("no node for {workload}{times}: {reasons}");
        let common = format!("{workload}: {reasons}");
        let like = Like::things(number, "pod", "without a node", common);
        Self { number, pods, ..Self::of(at, "PodUnplaced", text, like) }
    }

    /// Whether the same happened to other pods in the same second and place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.text == other.text
    }

    /// Counts the pods of `other` in.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.number += other.number;
        if let (Like::Thing(thing), Like::Thing(more)) = (&mut self.like, &other.like) {
            more.common.iter().for_each(|(what, number)| {
                *thing.common.entry(what.clone()).or_default() += number;
            });
        }
    }

    /// The line by itself.
    pub(super) fn show(&self) -> String {
        if self.is_about_pods {
            format!("{} {}", count(self.number, "pod"), self.text)
        } else {
            self.text.clone()
        }
    }
}
