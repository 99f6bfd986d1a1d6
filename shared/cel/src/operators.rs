//! What operators take, and what they make of it.

#![expect(clippy::float_arithmetic, reason = "doubles of the language are those of the processor")]

use std::{cmp::Ordering, sync::Arc};

use crate::{error::EvaluationError as Error, node::Operator, types::Type, value::CelValue};

/// The operator that is written so; those of logic are none.
pub(crate) fn of_symbol(symbol: &str) -> Operator {
    match symbol {
        "==" => Operator::Equal,
        "!=" => Operator::Unequal,
        "<" => Operator::Less,
        "<=" => Operator::AtMost,
        ">" => Operator::More,
        ">=" => Operator::AtLeast,
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "%" => Operator::Remainder,
        _ => Operator::In,
    }
}

/// The type of what `operator` makes of values of these types; `None` if it does not take them.
pub(crate) fn result(operator: Operator, left: &Type, right: &Type) -> Option<Type> {
    use Operator as Op;
    let kind = if *left == Type::Dyn { right } else { left };
    let takes = match operator {
        Op::In => {
            let takes = match right {
                Type::List(items) => left.fits(items),
                Type::Map(parts) => left.fits(&parts.0),
                other => *other == Type::Dyn,
            };
            return takes.then_some(Type::Bool);
        }
        Op::Equal | Op::Unequal => true,
        Op::Less | Op::AtMost | Op::More | Op::AtLeast => {
            matches!(kind, Type::Bool | Type::Text) || is_number(kind)
        }
        Op::Add => matches!(kind, Type::Text | Type::List(_)) || is_number(kind),
        Op::Subtract | Op::Multiply | Op::Divide => is_number(kind),
        Op::Remainder => matches!(kind, Type::Dyn | Type::Int | Type::Uint),
    };
    if !takes || !left.fits(right) {
        return None;
    }
    Some(match operator {
        Op::Add => left.clone().or(right),
        Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder => kind.clone(),
        _ => Type::Bool,
    })
}

fn is_number(kind: &Type) -> bool {
    matches!(kind, Type::Dyn | Type::Int | Type::Uint | Type::Double)
}

/// What `operator`, which is neither `==`, `!=` nor `in`, makes of `left` and `right`.
pub(crate) fn apply(
    operator: Operator,
    left: &CelValue,
    right: &CelValue,
) -> Result<CelValue, Error> {
    use Operator as Op;
    let is_ordered = |holds: fn(Ordering) -> bool| {
        let order = match (left, right) {
            (CelValue::Bool(left), CelValue::Bool(right)) => Some(left.cmp(right)),
            (CelValue::Text(left), CelValue::Text(right)) => Some(left.cmp(right)),
            _ if is_numeric(left) && is_numeric(right) => number_order(left, right),
            _ => return Err(Error::NoSuchOverload(operator.symbol())),
        };
        Ok(CelValue::Bool(order.is_some_and(holds)))
    };
    match operator {
        Op::Less => is_ordered(Ordering::is_lt),
        Op::AtMost => is_ordered(Ordering::is_le),
        Op::More => is_ordered(Ordering::is_gt),
        Op::AtLeast => is_ordered(Ordering::is_ge),
        _ => computed(operator, left, right),
    }
}

/// What an operator makes of two whole numbers of one type; `None` beyond its bounds.
macro_rules! checked {
    ($operator:expr, $left:expr, $right:expr) => {
        match $operator {
            Operator::Add => $left.checked_add(*$right),
            Operator::Subtract => $left.checked_sub(*$right),
            Operator::Multiply => $left.checked_mul(*$right),
            Operator::Divide => $left.checked_div(*$right),
            _ => $left.checked_rem(*$right),
        }
    };
}

fn computed(operator: Operator, left: &CelValue, right: &CelValue) -> Result<CelValue, Error> {
    use Operator as Op;
    let is_division = matches!(operator, Op::Divide | Op::Remainder);
    match (left, right) {
        (CelValue::Int(_), CelValue::Int(0)) | (CelValue::Uint(_), CelValue::Uint(0))
            if is_division =>
        {
            Err(Error::DivisionByZero)
        }
        (CelValue::Int(left), CelValue::Int(right)) => {
            checked!(operator, left, right).map(CelValue::Int).ok_or(Error::Overflow)
        }
        (CelValue::Uint(left), CelValue::Uint(right)) => {
            checked!(operator, left, right).map(CelValue::Uint).ok_or(Error::Overflow)
        }
        (CelValue::Double(left), CelValue::Double(right)) => match operator {
            Op::Add => Ok(CelValue::Double(left + right)),
            Op::Subtract => Ok(CelValue::Double(left - right)),
            Op::Multiply => Ok(CelValue::Double(left * right)),
            Op::Divide => Ok(CelValue::Double(left / right)),
            _ => Err(Error::NoSuchOverload(operator.symbol())),
        },
        (CelValue::Text(left), CelValue::Text(right)) if operator == Op::Add => {
            Ok(CelValue::Text([left.as_ref(), right.as_ref()].concat().into()))
        }
        (CelValue::List(left), CelValue::List(right)) if operator == Op::Add => {
            Ok(CelValue::List(Arc::from([left.as_ref(), right.as_ref()].concat())))
        }
        _ => Err(Error::NoSuchOverload(operator.symbol())),
    }
}

fn is_numeric(value: &CelValue) -> bool {
    matches!(value, CelValue::Int(_) | CelValue::Uint(_) | CelValue::Double(_))
}

/// The order of two numbers of any types; none with what is no number.
pub(crate) fn number_order(left: &CelValue, right: &CelValue) -> Option<Ordering> {
    let whole = |value: &CelValue| match value {
        CelValue::Int(number) => Some(i128::from(*number)),
        CelValue::Uint(number) => Some(i128::from(*number)),
        _ => None,
    };
    match (left, right) {
        (CelValue::Double(left), CelValue::Double(right)) => left.partial_cmp(right),
        (CelValue::Double(left), right) => double_order(*left, whole(right)?),
        (left, CelValue::Double(right)) => {
            double_order(*right, whole(left)?).map(Ordering::reverse)
        }
        (left, right) => Some(whole(left)?.cmp(&whole(right)?)),
    }
}

/// `number` with the other sign.
pub(crate) fn negative(number: &CelValue) -> Result<CelValue, Error> {
    match number {
        CelValue::Int(number) => number.checked_neg().map(CelValue::Int).ok_or(Error::Overflow),
        CelValue::Double(number) => Ok(CelValue::Double(-number)),
        _ => Err(Error::NoSuchOverload("-")),
    }
}

/// The order of a double and a whole number of 64 bits, exactly.
#[expect(clippy::cast_possible_truncation, reason = "what is beyond 64 bits is larger or smaller")]
fn double_order(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    // The cast keeps within 128 bits, and so beyond every whole number of 64.
    let order = (double.trunc() as i128).cmp(&whole);
    Some(order.then(double.fract().partial_cmp(&0.0)?))
}
