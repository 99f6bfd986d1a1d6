//! Functions of selectors that the language does not have.

use std::{cmp::Ordering, sync::Arc};

use cel::{CelFunction, CelValue, EvaluationError as Error, Semver, Type};
use model::Quantity;
use regex_lite::RegexBuilder;

/// Bytes of a text and of a pattern of `matches` at most: its time grows with their product. An attribute has 64.
const MATCHED_MAX: usize = 256;
/// Bytes of a compiled pattern at most.
const PATTERN_SIZE_MAX: usize = 16_384;
const NANOS: i128 = 1_000_000_000;

type Evaluated = Result<CelValue, Error>;

macro_rules! function {
    ($name:literal, $result:expr, $run:expr) => {
        CelFunction { name: $name, is_method: false, result: $result, run: $run }
    };
}
macro_rules! method {
    ($name:literal, $result:expr, $run:expr) => {
        CelFunction { name: $name, is_method: true, result: $result, run: $run }
    };
}

pub(super) const FUNCTIONS: &[CelFunction] = &[
    function!("quantity", |k| of(k, &[Type::Text], Type::Quantity), |a| quantity(a)),
    function!("isQuantity", |k| of(k, &[Type::Text], Type::Bool), |a| is_any(quantity(a))),
    function!("semver", |k| of_version(k, Type::Semver), |a| semver(a)),
    function!("isSemver", |k| of_version(k, Type::Bool), |a| is_any(semver(a))),
    method!("isGreaterThan", |k| compared(k, Type::Bool), |a| is_ordered(a, Ordering::Greater)),
    method!("isLessThan", |k| compared(k, Type::Bool), |a| is_ordered(a, Ordering::Less)),
    method!("compareTo", |k| compared(k, Type::Int), |a| Ok(CelValue::Int(i64::from(
        order(a)? as i8
    )))),
    method!("major", |k| of(k, &[Type::Semver], Type::Int), |a| number(a, |v| v.major)),
    method!("minor", |k| of(k, &[Type::Semver], Type::Int), |a| number(a, |v| v.minor)),
    method!("patch", |k| of(k, &[Type::Semver], Type::Int), |a| number(a, |v| v.patch)),
    method!("sign", |k| of(k, &[Type::Quantity], Type::Int), |a| {
        Ok(CelValue::Int(if nanos(a)? < 0 { -1 } else { i64::from(nanos(a)? > 0) }))
    }),
    method!("isInteger", |k| of(k, &[Type::Quantity], Type::Bool), |a| {
        Ok(CelValue::Bool(integer(nanos(a)?).is_some()))
    }),
    method!("asInteger", |k| of(k, &[Type::Quantity], Type::Int), |a| {
        let whole = integer(nanos(a)?).map(CelValue::Int);
        whole.ok_or_else(|| Error::NotConvertible("a quantity".to_owned(), "int"))
    }),
    method!("asApproximateFloat", |k| of(k, &[Type::Quantity], Type::Double), |a| {
        Ok(CelValue::Double(approximate(nanos(a)?)))
    }),
    method!("add", summed, |a| sum(a, i128::saturating_add)),
    method!("sub", summed, |a| sum(a, i128::saturating_sub)),
    method!("lowerAscii", |k| of(k, &[Type::Text], Type::Text), |a| {
        changed(a, str::to_ascii_lowercase)
    }),
    method!("upperAscii", |k| of(k, &[Type::Text], Type::Text), |a| {
        changed(a, str::to_ascii_uppercase)
    }),
    method!("trim", |k| of(k, &[Type::Text], Type::Text), |a| changed(a, |t| t.trim().to_owned())),
    method!("split", |k| of(k, &[Type::Text, Type::Text], Type::list(Type::Text)), |a| split(a)),
    method!("substring", of_part, |a| substring(a)),
    method!("matches", |k| of(k, &[Type::Text, Type::Text], Type::Bool), |a| matches(a)),
    function!("matches", |k| of(k, &[Type::Text, Type::Text], Type::Bool), |a| matches(a)),
];

/// `result` if `kinds` may be those that are `wanted`.
fn of(kinds: &[Type], wanted: &[Type], result: Type) -> Option<Type> {
    let is_wanted = kinds.len() == wanted.len() && kinds.iter().zip(wanted).all(|(k, w)| k.fits(w));
    is_wanted.then_some(result)
}

fn of_version(kinds: &[Type], result: Type) -> Option<Type> {
    of(kinds, &[Type::Text], result.clone())
        .or_else(|| of(kinds, &[Type::Text, Type::Bool], result))
}

fn of_part(kinds: &[Type]) -> Option<Type> {
    of(kinds, &[Type::Text, Type::Int], Type::Text)
        .or_else(|| of(kinds, &[Type::Text, Type::Int, Type::Int], Type::Text))
}

fn compared(kinds: &[Type], result: Type) -> Option<Type> {
    of(kinds, &[Type::Quantity, Type::Quantity], result.clone())
        .or_else(|| of(kinds, &[Type::Semver, Type::Semver], result))
}

fn summed(kinds: &[Type]) -> Option<Type> {
    of(kinds, &[Type::Quantity, Type::Quantity], Type::Quantity)
        .or_else(|| of(kinds, &[Type::Quantity, Type::Int], Type::Quantity))
}

fn quantity(arguments: &[CelValue]) -> Evaluated {
    let [CelValue::Text(text)] = arguments else { return Err(Error::NoSuchOverload("quantity")) };
    let parsed = Quantity::parse(text).map(|quantity| CelValue::Quantity(quantity.nanos()));
    parsed.map_err(|_| not_convertible(text, "quantity"))
}

fn semver(arguments: &[CelValue]) -> Evaluated {
    let (text, parsed) = match arguments {
        [CelValue::Text(text)] | [CelValue::Text(text), CelValue::Bool(false)] => {
            (text, Semver::parse(text))
        }
        [CelValue::Text(text), CelValue::Bool(true)] => (text, Semver::parse_tolerant(text)),
        _ => return Err(Error::NoSuchOverload("semver")),
    };
    let version = parsed.map(|version| CelValue::Semver(Arc::new(version)));
    version.ok_or_else(|| not_convertible(text, "semantic version"))
}

fn not_convertible(text: &str, kind: &'static str) -> Error {
    let short: String = text.chars().take(40).collect();
    Error::NotConvertible(format!("{short:?}"), kind)
}

/// Whether a text could be converted.
fn is_any(converted: Evaluated) -> Evaluated {
    match converted {
        Ok(_) => Ok(CelValue::Bool(true)),
        Err(Error::NotConvertible(..)) => Ok(CelValue::Bool(false)),
        Err(error) => Err(error),
    }
}

fn order(arguments: &[CelValue]) -> Result<Ordering, Error> {
    match arguments {
        [CelValue::Quantity(left), CelValue::Quantity(right)] => Ok(left.cmp(right)),
        [CelValue::Semver(left), CelValue::Semver(right)] => Ok(left.cmp(right)),
        _ => Err(Error::NoSuchOverload("a comparison")),
    }
}

fn is_ordered(arguments: &[CelValue], wanted: Ordering) -> Evaluated {
    Ok(CelValue::Bool(order(arguments)? == wanted))
}

fn number(arguments: &[CelValue], part: fn(&Semver) -> u64) -> Evaluated {
    let [CelValue::Semver(version)] = arguments else {
        return Err(Error::NoSuchOverload("a part of a version"));
    };
    i64::try_from(part(version)).map(CelValue::Int).map_err(|_| Error::Overflow)
}

fn nanos(arguments: &[CelValue]) -> Result<i128, Error> {
    match arguments {
        [CelValue::Quantity(nanos)] => Ok(*nanos),
        _ => Err(Error::NoSuchOverload("a method of quantities")),
    }
}

fn integer(nanos: i128) -> Option<i64> {
    if nanos % NANOS == 0 { i64::try_from(nanos / NANOS).ok() } else { None }
}

#[expect(clippy::cast_precision_loss, clippy::float_arithmetic, reason = "what is asked for")]
fn approximate(nanos: i128) -> f64 {
    nanos as f64 / NANOS as f64
}

fn sum(arguments: &[CelValue], of: fn(i128, i128) -> i128) -> Evaluated {
    match arguments {
        [CelValue::Quantity(left), CelValue::Quantity(right)] => {
            Ok(CelValue::Quantity(of(*left, *right)))
        }
        [CelValue::Quantity(left), CelValue::Int(right)] => {
            Ok(CelValue::Quantity(of(*left, i128::from(*right) * NANOS)))
        }
        _ => Err(Error::NoSuchOverload("add or sub")),
    }
}

fn changed(arguments: &[CelValue], change: fn(&str) -> String) -> Evaluated {
    match arguments {
        [CelValue::Text(text)] => Ok(CelValue::from(change(text).as_str())),
        _ => Err(Error::NoSuchOverload("a method of strings")),
    }
}

/// An empty separator parts every two characters.
fn split(arguments: &[CelValue]) -> Evaluated {
    let [CelValue::Text(text), CelValue::Text(separator)] = arguments else {
        return Err(Error::NoSuchOverload("split"));
    };
    let parts = if separator.is_empty() {
        text.chars().map(|c| CelValue::from(c.encode_utf8(&mut [0; 4]) as &str)).collect()
    } else {
        text.split(separator.as_ref()).map(CelValue::from).collect()
    };
    Ok(CelValue::List(parts))
}

/// The characters from a place on, or up to another.
fn substring(arguments: &[CelValue]) -> Evaluated {
    let (text, start, end) = match arguments {
        [CelValue::Text(text), CelValue::Int(start)] => (text, *start, None),
        [CelValue::Text(text), CelValue::Int(start), CelValue::Int(end)] => {
            (text, *start, Some(*end))
        }
        _ => return Err(Error::NoSuchOverload("substring")),
    };
    let length = text.chars().count();
    let place = |at: i64| {
        let place = usize::try_from(at).ok().filter(|place| *place <= length);
        place.ok_or_else(|| Error::OutOfRange(at.to_string()))
    };
    let (from, to) = (place(start)?, end.map_or(Ok(length), place)?);
    let count = to.checked_sub(from).ok_or_else(|| Error::OutOfRange(start.to_string()))?;
    let part: String = text.chars().skip(from).take(count).collect();
    Ok(CelValue::from(part.as_str()))
}

fn matches(arguments: &[CelValue]) -> Evaluated {
    let [CelValue::Text(text), CelValue::Text(pattern)] = arguments else {
        return Err(Error::NoSuchOverload("matches"));
    };
    if text.len().max(pattern.len()) > MATCHED_MAX {
        return Err(Error::TooManySteps);
    }
    let regex = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_MAX).build();
    let regex = regex.map_err(|_| not_convertible(pattern, "regular expression"))?;
    Ok(CelValue::Bool(regex.is_match(text)))
}
