//! The head: which ledger it is, what happened so far, who is in charge.
//!
//! Arrivals are counted in `generation`, which is what the release of commit 405e221 called its one counter:
//! while functions of both releases are there, each refuses plans that missed what the other created.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher as _, Hasher as _, RandomState},
};

use aws_sdk_dynamodb::types::{AttributeValue, Update, builders::UpdateBuilder};
use jiff::Timestamp;
use model::{
    ClusterName, LedgerId, Zone,
    ledger::{Basis, Commit, Counters, Guard, Head},
};

use super::item::{self, Item, Unreadable, number_of, text_of, unreadable};

/// Sort key of the head.
pub(super) const HEAD: &str = "head";
pub(super) const ARRIVALS: &str = "generation";
pub(super) const DEPARTURES: &str = "departures";
pub(super) const LEDGER_ID: &str = "ledger_id";
pub(super) const COMMIT_ID: &str = "commit_id";
/// `free` or `held`.
pub(super) const GUARD: &str = "guard";
pub(super) const HELD_BY: &str = "held_by";
pub(super) const CHECKED_AT: &str = "checked_at";
/// Such as `us-west-2a=2026-11-21T12:00:00Z,us-west-2b=…`; absent where traffic is shifted away from none.
pub(super) const SHIFTED_ZONES: &str = "shifted_zones";

const FREE: &str = "free";
const HELD: &str = "held";

/// The head as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoredHead {
    pub(super) head: Head,
    /// The last commit.
    pub(super) commit: Option<String>,
}

impl StoredHead {
    /// The head in `item`. Missing attributes are as in a ledger that was never opened.
    pub(super) fn of(item: &Item) -> Result<Self, Unreadable> {
        let count = |name: &str| match item.get(name) {
            Some(_) => number_of(item, name),
            None => Ok(0),
        };
        let counters = Counters { arrivals: count(ARRIVALS)?, departures: count(DEPARTURES)? };
        let ledger = match item.get(LEDGER_ID) {
            Some(_) => Some(
                LedgerId::new(text_of(item, LEDGER_ID)?)
                    .map_err(|error| unreadable(item, format!("`{LEDGER_ID}`: {error}")))?,
            ),
            None => None,
        };
        let commit = match item.get(COMMIT_ID) {
            Some(_) => Some(text_of(item, COMMIT_ID)?.to_owned()),
            None => None,
        };
        let (guard, shifted_zones) = (guard_of(item)?, shifted_zones_of(item)?);
        Ok(Self { head: Head { ledger, counters, guard, shifted_zones }, commit })
    }
}

/// A guard that another release wrote and this one does not know says nothing: nothing is done.
fn guard_of(item: &Item) -> Result<Guard, Unreadable> {
    if !item.contains_key(GUARD) {
        return Ok(Guard::Unchecked);
    }
    let checked_at = || -> Result<Timestamp, Unreadable> {
        let time = text_of(item, CHECKED_AT)?.parse();
        time.map_err(|error| unreadable(item, format!("`{CHECKED_AT}`: {error}")))
    };
    Ok(match text_of(item, GUARD)? {
        FREE => Guard::Free { checked_at: checked_at()? },
        HELD => Guard::Held { by: text_of(item, HELD_BY)?.to_owned(), checked_at: checked_at()? },
        _ => Guard::Unchecked,
    })
}

/// Zones that another release wrote in another way are passed over.
fn shifted_zones_of(item: &Item) -> Result<BTreeMap<Zone, Timestamp>, Unreadable> {
    if !item.contains_key(SHIFTED_ZONES) {
        return Ok(BTreeMap::new());
    }
    let zone = |text: &str| {
        let (zone, until) = text.split_once('=')?;
        Some((Zone::new(zone).ok()?, until.parse().ok()?))
    };
    Ok(text_of(item, SHIFTED_ZONES)?.split(',').filter_map(zone).collect())
}

/// An id that no ledger had before: five letters and digits, from the randomness with which the operating
/// system seeds hash maps.
///
/// <https://doc.rust-lang.org/std/hash/struct.RandomState.html>
pub(super) fn drawn() -> Option<LedgerId> {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut random = RandomState::new().build_hasher().finish();
    let mut id = String::new();
    for _ in 0..5 {
        let digit = usize::try_from(random % 36).unwrap_or_default();
        id.extend(DIGITS.get(digit).map(|digit| char::from(*digit)));
        random /= 36;
    }
    LedgerId::new(&id).ok()
}

/// What is changed of a head, under which condition: placeholders are the names themselves.
#[derive(Debug, Default)]
pub(super) struct HeadUpdate {
    pub(super) change: String,
    pub(super) condition: String,
    pub(super) names: Vec<&'static str>,
    pub(super) values: Vec<(String, AttributeValue)>,
}

impl HeadUpdate {
    fn of(change: &str, condition: &str, names: &[&'static str]) -> Self {
        let (change, condition) = (change.to_owned(), condition.to_owned());
        Self { change, condition, names: names.to_vec(), values: Vec::new() }
    }

    fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.push((format!(":{name}"), value));
        self
    }

    /// The head of a ledger that is not open, or that is `replaced`, becomes that of `ledger`.
    pub(super) fn open(ledger: &LedgerId, replaced: Option<&LedgerId>) -> Self {
        let or_replaced = if replaced.is_some() { " OR #ledger_id = :replaced" } else { "" };
        let update = Self::of(
            "SET #ledger_id = :ledger REMOVE #guard, #held_by, #checked_at",
            &format!("attribute_not_exists(#ledger_id){or_replaced}"),
            &[LEDGER_ID, GUARD, HELD_BY, CHECKED_AT],
        )
        .with("ledger", item::text(ledger.as_str()));
        match replaced {
            Some(replaced) => update.with("replaced", item::text(replaced.as_str())),
            None => update,
        }
    }

    /// What the guard of `ledger` says.
    pub(super) fn guard(ledger: &LedgerId, guard: &Guard) -> Self {
        let (set, remove) = match guard {
            Guard::Unchecked => ("", " REMOVE #guard, #held_by, #checked_at"),
            Guard::Free { .. } => {
                ("SET #guard = :guard, #checked_at = :checked_at", " REMOVE #held_by")
            }
            Guard::Held { .. } => {
                ("SET #guard = :guard, #held_by = :held_by, #checked_at = :checked_at", "")
            }
        };
        let names = &[LEDGER_ID, GUARD, HELD_BY, CHECKED_AT];
        let update = Self::of(&format!("{set}{remove}"), "#ledger_id = :ledger", names)
            .with("ledger", item::text(ledger.as_str()));
        let text = |time: &Timestamp| item::text(&time.to_string());
        match guard {
            Guard::Unchecked => update,
            Guard::Free { checked_at } => {
                update.with("guard", item::text(FREE)).with("checked_at", text(checked_at))
            }
            Guard::Held { by, checked_at } => update
                .with("guard", item::text(HELD))
                .with("held_by", item::text(by))
                .with("checked_at", text(checked_at)),
        }
    }

    /// The zones that traffic is shifted away from, of `ledger`.
    pub(super) fn shifted_zones(ledger: &LedgerId, zones: &BTreeMap<Zone, Timestamp>) -> Self {
        let change = if zones.is_empty() {
            "REMOVE #shifted_zones"
        } else {
            "SET #shifted_zones = :shifted_zones"
        };
        let update = Self::of(change, "#ledger_id = :ledger", &[LEDGER_ID, SHIFTED_ZONES])
            .with("ledger", item::text(ledger.as_str()));
        if zones.is_empty() {
            return update;
        }
        let texts: Vec<String> =
            zones.iter().map(|(zone, until)| format!("{zone}={until}")).collect();
        update.with("shifted_zones", item::text(&texts.join(",")))
    }

    /// The head after `commit`, if it is the one that the commit is based on.
    pub(super) fn commit(commit: &Commit) -> Self {
        let next = commit.next(Counters::default());
        let mut update = Self::of(
            "SET #commit_id = :commit ADD #generation :arrived, #departures :departed",
            "",
            &[COMMIT_ID, ARRIVALS, DEPARTURES, LEDGER_ID],
        )
        .with("commit", item::text(commit.id.as_str()))
        .with("arrived", item::number(next.arrivals))
        .with("departed", item::number(next.departures));
        let mut conditions = vec![match &commit.ledger {
            Some(ledger) => {
                update = update.with("ledger", item::text(ledger.as_str()));
                "#ledger_id = :ledger".to_owned()
            }
            None => "attribute_not_exists(#ledger_id)".to_owned(),
        }];
        let Counters { arrivals, departures } = commit.parent;
        let counted: &[(&str, u64)] = match commit.basis {
            Basis::Claims => &[],
            Basis::Arrivals => &[(ARRIVALS, arrivals)],
            Basis::Both => &[(ARRIVALS, arrivals), (DEPARTURES, departures)],
        };
        for (name, count) in counted {
            update = update.with(name, item::number(*count));
            let is_absent = format!("attribute_not_exists(#{name}) OR ");
            let or_absent = if *count == 0 { is_absent } else { String::new() };
            conditions.push(format!("({or_absent}#{name} = :{name})"));
        }
        update.condition = conditions.join(" AND ");
        update
    }

    /// One departure more, of a ledger that was begun.
    pub(super) fn departed() -> Self {
        let is_there = "attribute_exists(#ledger_id) OR attribute_exists(#generation)";
        Self::of("ADD #departures :departed", is_there, &[DEPARTURES, LEDGER_ID, ARRIVALS])
            .with("departed", item::number(1_u64))
    }

    /// The same as a write of a transaction.
    pub(super) fn to_update(&self, table: &str, cluster: &ClusterName) -> UpdateBuilder {
        let mut update = Update::builder()
            .table_name(table)
            .set_key(Some(item::key(cluster, HEAD).into_iter().collect()))
            .update_expression(&self.change)
            .condition_expression(&self.condition);
        for name in &self.names {
            update = update.expression_attribute_names(format!("#{name}"), *name);
        }
        for (name, value) in &self.values {
            update = update.expression_attribute_values(name, value.clone());
        }
        update
    }
}
