//! Values from texts as manifests write them.

use std::{fmt::Display, str::FromStr};

use jiff::{SignedDuration, Timestamp};
use model::{
    HourlyPrice, Operator, Requirement, Requirements, Resources, Taint, TaintEffect, Toleration,
    taint::TolerationOperator,
};

use super::words::{Read, each_word, long, parsed, set_amount};

/// What stands in a test must be right.
#[track_caller]
#[expect(clippy::panic, reason = "a wrong text in a test ends the test, at the test's own line")]
pub(crate) fn valid<T, E: Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// An id or name of any kind: `id("m7g.large")`.
///
/// # Panics
///
/// When `text` is not one.
#[track_caller]
pub fn id<T: FromStr>(text: &str) -> T
where
    T::Err: Display,
{
    valid(text.parse())
}

/// A time such as `2026-08-01T12:00:00Z`.
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn at(text: &str) -> Timestamp {
    valid(text.parse())
}

/// A price in dollars for an hour.
///
/// # Panics
///
/// When `dollars` is none.
#[track_caller]
pub fn price(dollars: &str) -> HourlyPrice {
    valid(price_of(dollars))
}

pub(crate) fn price_of(dollars: &str) -> Read<HourlyPrice> {
    HourlyPrice::parse_dollars(dollars).map_err(|error| error.to_string())
}

/// The present of every test: noon of the first of August 2026.
pub fn now() -> Timestamp {
    at("2026-08-01T12:00:00Z")
}

/// A number of seconds before [`now`].
pub fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

/// Amounts such as `cpu=500m memory=1Gi nvidia.com/gpu=1`.
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn resources(text: &str) -> Resources {
    let mut resources = Resources::default();
    valid(each_word(text, |word| set_amount(&mut resources, word)));
    resources
}

/// One requirement such as `zone=us-west-2a,us-west-2b@2`, by the rules of [`super::words`].
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn requirement(text: &str) -> Requirement {
    valid(read_requirement(text))
}

/// Requirements with white space or `&` between them.
///
/// # Panics
///
/// When one of them is none.
#[track_caller]
pub fn requirements(text: &str) -> Requirements {
    valid(read_requirements(text))
}

pub(crate) fn read_requirements(text: &str) -> Read<Requirements> {
    let words = text.split(|c: char| c == '&' || c.is_whitespace());
    words.filter(|word| !word.is_empty()).map(read_requirement).collect()
}

/// What stands between a label and its values. The longer ones come first.
const OPERATORS: [(&str, Operator); 6] = [
    ("!=", Operator::NotIn),
    (">=", Operator::Gte),
    ("<=", Operator::Lte),
    ("=", Operator::In),
    (">", Operator::Gt),
    ("<", Operator::Lt),
];

pub(crate) fn read_requirement(text: &str) -> Read<Requirement> {
    let (text, min_values) = match text.split_once('@') {
        Some((text, min_values)) => (text, Some(parsed(min_values)?)),
        None => (text, None),
    };
    let compared = OPERATORS.iter().find_map(|(sign, operator)| {
        text.split_once(sign).map(|(key, values)| (key, *operator, values))
    });
    let (key, operator, values) = match (compared, text.strip_prefix('!')) {
        (Some(compared), _) => compared,
        (None, Some(key)) => (key, Operator::DoesNotExist, ""),
        (None, None) => (text, Operator::Exists, ""),
    };
    let values = values.split(',').filter(|value| !value.is_empty());
    Requirement::new(long(key), operator, values)
        .map(|requirement| requirement.with_min_values(min_values))
        .map_err(|error| error.to_string())
}

/// A taint such as `dedicated=gpu:NoSchedule`; the value may be missing.
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn taint(text: &str) -> Taint {
    valid(read_taint(text))
}

pub(crate) fn read_taint(text: &str) -> Read<Taint> {
    let (name, effect) = text.rsplit_once(':').ok_or("a taint is `key=value:Effect`")?;
    let effect = TaintEffect::parse(effect).ok_or("a taint ends with its effect")?;
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    Ok(Taint { key: key.to_owned(), value: value.to_owned(), effect })
}

/// A toleration of every taint called `key`.
pub fn tolerates_key(key: &str) -> Toleration {
    let operator = TolerationOperator::Exists;
    Toleration { key: key.to_owned(), operator, ..Toleration::default() }
}

/// A toleration of every taint there is.
pub fn tolerates_everything() -> Toleration {
    tolerates_key("")
}
