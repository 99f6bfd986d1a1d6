//! Functions that the language has itself.

use crate::{
    environment::CelFunction, error::EvaluationError as Error, types::Type, value::CelValue,
};

pub(crate) const FUNCTIONS: &[CelFunction] = &[
    CelFunction { name: "size", is_method: false, result: sized, run: size },
    CelFunction { name: "size", is_method: true, result: sized, run: size },
    CelFunction {
        name: "contains",
        is_method: true,
        result: about_texts,
        run: |arguments| texts("contains", arguments, |text, part| text.contains(part)),
    },
    CelFunction {
        name: "startsWith",
        is_method: true,
        result: about_texts,
        run: |arguments| texts("startsWith", arguments, |text, part| text.starts_with(part)),
    },
    CelFunction {
        name: "endsWith",
        is_method: true,
        result: about_texts,
        run: |arguments| texts("endsWith", arguments, |text, part| text.ends_with(part)),
    },
    CelFunction { name: "int", is_method: false, result: |k| converted(k, Type::Int), run: int },
    CelFunction { name: "uint", is_method: false, result: |k| converted(k, Type::Uint), run: uint },
    CelFunction {
        name: "double",
        is_method: false,
        result: |kinds| converted(kinds, Type::Double),
        run: double,
    },
    CelFunction {
        name: "string",
        is_method: false,
        result: |kinds| match kinds {
            [Type::Bool] => Some(Type::Text),
            kinds => converted(kinds, Type::Text),
        },
        run: string,
    },
];

fn sized(kinds: &[Type]) -> Option<Type> {
    match kinds {
        [Type::Dyn | Type::Text | Type::List(_) | Type::Map(_)] => Some(Type::Int),
        _ => None,
    }
}

fn about_texts(kinds: &[Type]) -> Option<Type> {
    match kinds {
        [text, part] if text.fits(&Type::Text) && part.fits(&Type::Text) => Some(Type::Bool),
        _ => None,
    }
}

fn converted(kinds: &[Type], to: Type) -> Option<Type> {
    match kinds {
        [Type::Dyn | Type::Int | Type::Uint | Type::Double | Type::Text] => Some(to),
        _ => None,
    }
}

/// Characters of a text, items of a list, keys of a map.
fn size(arguments: &[CelValue]) -> Result<CelValue, Error> {
    let size = match arguments {
        [CelValue::Text(text)] => text.chars().count(),
        [value @ (CelValue::List(_) | CelValue::Map(_) | CelValue::OpenMap(_))] => value.size(),
        _ => return Err(Error::NoSuchOverload("size")),
    };
    i64::try_from(size).map(CelValue::Int).map_err(|_| Error::Overflow)
}

fn texts(
    name: &'static str,
    arguments: &[CelValue],
    holds: fn(&str, &str) -> bool,
) -> Result<CelValue, Error> {
    match arguments {
        [CelValue::Text(text), CelValue::Text(part)] => Ok(CelValue::Bool(holds(text, part))),
        _ => Err(Error::NoSuchOverload(name)),
    }
}

/// Towards zero. Of doubles, as in cel-go, not the largest and the smallest whole number.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit is refused before")]
pub(crate) fn int(arguments: &[CelValue]) -> Result<CelValue, Error> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match arguments {
        [CelValue::Int(number)] => Ok(CelValue::Int(*number)),
        [CelValue::Uint(number)] => {
            i64::try_from(*number).map(CelValue::Int).map_err(|_| Error::Overflow)
        }
        [CelValue::Double(number)] if number.abs() < LIMIT => Ok(CelValue::Int(*number as i64)),
        [CelValue::Double(_)] => Err(Error::Overflow),
        [CelValue::Text(text)] => parsed(text, "int").map(CelValue::Int),
        _ => Err(Error::NoSuchOverload("int")),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what does not fit is refused before"
)]
fn uint(arguments: &[CelValue]) -> Result<CelValue, Error> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    match arguments {
        [CelValue::Uint(number)] => Ok(CelValue::Uint(*number)),
        [CelValue::Int(number)] => {
            u64::try_from(*number).map(CelValue::Uint).map_err(|_| Error::Overflow)
        }
        [CelValue::Double(number)] if 0.0 <= *number && *number < LIMIT => {
            Ok(CelValue::Uint(*number as u64))
        }
        [CelValue::Double(_)] => Err(Error::Overflow),
        [CelValue::Text(text)] => parsed(text, "uint").map(CelValue::Uint),
        _ => Err(Error::NoSuchOverload("uint")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
pub(crate) fn double(arguments: &[CelValue]) -> Result<CelValue, Error> {
    match arguments {
        [CelValue::Int(number)] => Ok(CelValue::Double(*number as f64)),
        [CelValue::Uint(number)] => Ok(CelValue::Double(*number as f64)),
        [CelValue::Double(number)] => Ok(CelValue::Double(*number)),
        [CelValue::Text(text)] => parsed(text, "double").map(CelValue::Double),
        _ => Err(Error::NoSuchOverload("double")),
    }
}

fn parsed<T: std::str::FromStr>(text: &str, kind: &'static str) -> Result<T, Error> {
    let short: String = text.chars().take(40).collect();
    text.parse().map_err(|_| Error::NotConvertible(format!("{short:?}"), kind))
}

fn string(arguments: &[CelValue]) -> Result<CelValue, Error> {
    let text = match arguments {
        [value @ CelValue::Text(_)] => return Ok(value.clone()),
        [CelValue::Double(number)] => of_double(*number),
        [value @ (CelValue::Bool(_) | CelValue::Int(_) | CelValue::Uint(_))] => value.to_string(),
        _ => return Err(Error::NoSuchOverload("string")),
    };
    Ok(CelValue::from(text.as_str()))
}

/// As Go writes a double: the fewest digits that read back, with an exponent below -4 and from 6 on.
fn of_double(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{number:e}");
    match text.split_once('e').map(|(digits, power)| (digits, power.parse::<i32>())) {
        Some((digits, Ok(power))) if !(-4..6).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.unsigned_abs())
        }
        _ => number.to_string(),
    }
}
