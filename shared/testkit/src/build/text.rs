//! Values from texts as manifests write them.

use std::{fmt::Display, str::FromStr};

use jiff::Timestamp;
use model::{
    HourlyPrice, Operator, Requirement, Requirements, ResourceName, Resources, Taint, TaintEffect,
    Toleration, taint::TolerationOperator,
};

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
    valid(HourlyPrice::parse_dollars(dollars))
}

/// Amounts such as `cpu=500m memory=1Gi nvidia.com/gpu=1`.
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn resources(text: &str) -> Resources {
    let mut resources = Resources::default();
    for part in text.split_whitespace() {
        let (name, amount) = valid(part.split_once('=').ok_or("an amount is `name=quantity`"));
        let name: ResourceName = id(name);
        valid(resources.set_quantity(&name, amount));
    }
    resources
}

/// One requirement such as `topology.kubernetes.io/zone In us-west-2a us-west-2b min 2`; what
/// follows `min` is `minValues`.
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn requirement(text: &str) -> Requirement {
    let (text, min_values) = match text.split_once(" min ") {
        Some((text, min_values)) => (text, Some(valid(min_values.trim().parse()))),
        None => (text, None),
    };
    let mut words = text.split_whitespace();
    let key = valid(words.next().ok_or("a requirement starts with a label"));
    let operator = words.next().and_then(Operator::parse);
    let operator = valid(operator.ok_or("a requirement is `label Operator values…`"));
    valid(Requirement::new(key, operator, words)).with_min_values(min_values)
}

/// Requirements separated by `;`.
///
/// # Panics
///
/// When one of them is none.
#[track_caller]
pub fn requirements(text: &str) -> Requirements {
    text.split(';').filter(|part| !part.trim().is_empty()).map(requirement).collect()
}

/// A taint such as `dedicated=gpu:NoSchedule`; the value may be missing.
///
/// # Panics
///
/// When `text` is none.
#[track_caller]
pub fn taint(text: &str) -> Taint {
    let (name, effect) = valid(text.rsplit_once(':').ok_or("a taint is `key=value:Effect`"));
    let effect = valid(TaintEffect::parse(effect).ok_or("a taint ends with its effect"));
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    Taint { key: key.to_owned(), value: value.to_owned(), effect }
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
