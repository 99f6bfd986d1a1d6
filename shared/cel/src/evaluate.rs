//! The value of a checked expression.

use std::sync::Arc;

use crate::{
    STEPS_MAX,
    error::EvaluationError as Error,
    node::{Each, Macro, Node, Operator},
    operators,
    value::CelValue,
};

/// One evaluation.
pub(crate) struct Evaluation<'a> {
    globals: &'a [CelValue],
    locals: Vec<CelValue>,
    steps: usize,
}

type Evaluated = Result<CelValue, Error>;

impl<'a> Evaluation<'a> {
    pub(crate) fn with(globals: &'a [CelValue]) -> Self {
        Self { globals, locals: Vec::new(), steps: 0 }
    }

    /// Counts a step, and those of reading `size` bytes or items. Too many stay too many: nothing absorbs the error.
    fn step(&mut self, size: usize) -> Result<(), Error> {
        self.steps = self.steps.saturating_add(1 + size / 16);
        if self.steps > STEPS_MAX { Err(Error::TooManySteps) } else { Ok(()) }
    }

    pub(crate) fn value(&mut self, node: &Node) -> Evaluated {
        self.step(0)?;
        match node {
            Node::Literal(value) => Ok(value.clone()),
            Node::Global(place) => variable(self.globals, *place),
            Node::Local(place) => variable(&self.locals, *place),
            Node::List(nodes) => Ok(CelValue::List(self.values(nodes)?.into())),
            Node::Map(entries) => self.map(entries),
            Node::Field(whole, name) => {
                let whole = self.value(whole)?;
                self.field(&whole, name)?.ok_or_else(|| Error::NoSuchKey(format!("{name:?}")))
            }
            Node::HasField(whole, name) => {
                let whole = self.value(whole)?;
                Ok(CelValue::Bool(self.field(&whole, name)?.is_some()))
            }
            Node::Item(parts) => {
                let (whole, index) = (self.value(&parts.0)?, self.value(&parts.1)?);
                self.item(&whole, &index)
            }
            Node::Not(node) => Ok(CelValue::Bool(!self.truth(node, "!")?)),
            Node::Negative(node) => operators::negative(&self.value(node)?),
            Node::Binary(operator, parts) => {
                let (left, right) = (self.value(&parts.0)?, self.value(&parts.1)?);
                self.binary(*operator, &left, &right)
            }
            Node::All(nodes) => self.logic(nodes, false),
            Node::Any(nodes) => self.logic(nodes, true),
            Node::Choice(parts) => {
                let is_chosen = self.truth(&parts.0, "?")?;
                self.value(if is_chosen { &parts.1 } else { &parts.2 })
            }
            Node::Call(function, nodes) => {
                let arguments = self.values(nodes)?;
                self.step(arguments.iter().map(CelValue::size).sum())?;
                (function.run)(&arguments)
            }
            Node::Each(each) => self.each(each),
            Node::Bind(parts) => {
                let bound = self.value(&parts.0)?;
                self.locals.push(bound);
                let value = self.value(&parts.1);
                self.locals.pop();
                value
            }
        }
    }

    fn values(&mut self, nodes: &[Node]) -> Result<Vec<CelValue>, Error> {
        nodes.iter().map(|node| self.value(node)).collect()
    }

    fn truth(&mut self, node: &Node, asked_by: &'static str) -> Result<bool, Error> {
        match self.value(node)? {
            CelValue::Bool(truth) => Ok(truth),
            _ => Err(Error::NoSuchOverload(asked_by)),
        }
    }

    /// `||` if `decisive` is true, else `&&`: one that is decisive decides, whatever fails beside it.
    fn logic(&mut self, nodes: &[Node], decisive: bool) -> Evaluated {
        let symbol = if decisive { "||" } else { "&&" };
        let mut failure = None;
        for node in nodes {
            match self.truth(node, symbol) {
                Ok(truth) if truth == decisive => return Ok(CelValue::Bool(decisive)),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(CelValue::Bool(!decisive)), Err)
    }

    fn map(&mut self, entries: &[(Node, Node)]) -> Evaluated {
        let mut made: Vec<(CelValue, CelValue)> = Vec::new();
        for (key, value) in entries {
            let key = self.value(key)?;
            if !matches!(
                key,
                CelValue::Bool(_) | CelValue::Int(_) | CelValue::Uint(_) | CelValue::Text(_)
            ) {
                return Err(Error::NoSuchOverload("a key of a map"));
            }
            if self.of_key(&made, &key)?.is_some() {
                return Err(Error::RepeatedKey);
            }
            made.push((key, self.value(value)?));
        }
        Ok(CelValue::Map(made.into()))
    }

    fn of_key(
        &mut self,
        entries: &[(CelValue, CelValue)],
        key: &CelValue,
    ) -> Result<Option<CelValue>, Error> {
        for (known, value) in entries {
            if self.are_equal(known, key)? {
                return Ok(Some(value.clone()));
            }
        }
        Ok(None)
    }

    fn field(&mut self, whole: &CelValue, name: &Arc<str>) -> Result<Option<CelValue>, Error> {
        match whole {
            CelValue::Map(_) | CelValue::OpenMap(_) => {
                self.entry(whole, &CelValue::Text(Arc::clone(name)))
            }
            _ => Err(Error::NoSuchOverload("a field")),
        }
    }

    /// What a map has at `key`.
    fn entry(&mut self, whole: &CelValue, key: &CelValue) -> Result<Option<CelValue>, Error> {
        match whole {
            CelValue::Map(entries) => self.of_key(entries, key),
            CelValue::OpenMap(entries) => {
                let empty = || CelValue::Map(Arc::from([]));
                Ok(Some(self.of_key(entries, key)?.unwrap_or_else(empty)))
            }
            _ => Ok(None),
        }
    }

    fn item(&mut self, whole: &CelValue, index: &CelValue) -> Evaluated {
        match (whole, index) {
            (CelValue::Map(_) | CelValue::OpenMap(_), key) => {
                self.entry(whole, key)?.ok_or_else(|| Error::NoSuchKey(key.to_string()))
            }
            (CelValue::List(items), CelValue::Int(_) | CelValue::Uint(_)) => {
                let place = match index {
                    CelValue::Int(place) => usize::try_from(*place).ok(),
                    CelValue::Uint(place) => usize::try_from(*place).ok(),
                    _ => None,
                };
                let item = place.and_then(|place| items.get(place)).cloned();
                item.ok_or_else(|| Error::OutOfRange(index.to_string()))
            }
            _ => Err(Error::NoSuchOverload("an index")),
        }
    }

    fn binary(&mut self, operator: Operator, left: &CelValue, right: &CelValue) -> Evaluated {
        match operator {
            Operator::Equal => Ok(CelValue::Bool(self.are_equal(left, right)?)),
            Operator::Unequal => Ok(CelValue::Bool(!self.are_equal(left, right)?)),
            Operator::In => match right {
                CelValue::List(items) => {
                    for item in items.iter() {
                        if self.are_equal(item, left)? {
                            return Ok(CelValue::Bool(true));
                        }
                    }
                    Ok(CelValue::Bool(false))
                }
                CelValue::Map(entries) | CelValue::OpenMap(entries) => {
                    Ok(CelValue::Bool(self.of_key(entries, left)?.is_some()))
                }
                _ => Err(Error::NoSuchOverload("in")),
            },
            operator => {
                self.step(left.size().saturating_add(right.size()))?;
                operators::apply(operator, left, right)
            }
        }
    }

    /// Whether two values are equal: numbers by what they are, not by their types. What is compared is counted, because
    /// lists of lists may share theirs.
    fn are_equal(&mut self, left: &CelValue, right: &CelValue) -> Result<bool, Error> {
        self.step(left.size().min(right.size()))?;
        Ok(match (left, right) {
            (CelValue::Null, CelValue::Null) => true,
            (CelValue::Bool(left), CelValue::Bool(right)) => left == right,
            (CelValue::Text(left), CelValue::Text(right)) => left == right,
            (CelValue::List(left), CelValue::List(right)) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (left, right) in left.iter().zip(right.iter()) {
                    if !self.are_equal(left, right)? {
                        return Ok(false);
                    }
                }
                true
            }
            (CelValue::Quantity(left), CelValue::Quantity(right)) => left == right,
            (CelValue::Semver(left), CelValue::Semver(right)) => left == right,
            (
                CelValue::Map(left) | CelValue::OpenMap(left),
                CelValue::Map(right) | CelValue::OpenMap(right),
            ) => {
                if left.len() != right.len() {
                    return Ok(false);
                }
                for (key, value) in left.iter() {
                    match self.of_key(right, key)? {
                        Some(other) if self.are_equal(value, &other)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (left, right) => {
                operators::number_order(left, right).is_some_and(std::cmp::Ordering::is_eq)
            }
        })
    }

    fn each(&mut self, each: &Each) -> Evaluated {
        let items: Arc<[CelValue]> = match self.value(&each.range)? {
            CelValue::List(items) => items,
            CelValue::Map(entries) | CelValue::OpenMap(entries) => {
                entries.iter().map(|(key, _)| key.clone()).collect()
            }
            _ => return Err(Error::NoSuchOverload("a macro")),
        };
        let (mut made, mut found, mut failure) = (Vec::new(), 0_usize, None);
        for item in items.iter() {
            self.locals.push(item.clone());
            let outcome = self.of_item(each, item);
            self.locals.pop();
            match (each.what, outcome) {
                (Macro::All, Ok(None)) => return Ok(CelValue::Bool(false)),
                (Macro::Exists, Ok(Some(_))) => return Ok(CelValue::Bool(true)),
                (Macro::All | Macro::Exists, Err(error)) => failure = failure.or(Some(error)),
                (Macro::ExistsOne | Macro::List, Err(error)) => return Err(error),
                (Macro::List, Ok(value)) => made.extend(value),
                (Macro::ExistsOne, Ok(value)) => found += usize::from(value.is_some()),
                (Macro::All, Ok(Some(_))) | (Macro::Exists, Ok(None)) => {}
            }
        }
        match (failure, each.what) {
            (Some(error), _) => Err(error),
            (None, Macro::All) => Ok(CelValue::Bool(true)),
            (None, Macro::Exists) => Ok(CelValue::Bool(false)),
            (None, Macro::ExistsOne) => Ok(CelValue::Bool(found == 1)),
            (None, Macro::List) => Ok(CelValue::List(made.into())),
        }
    }

    /// What is made of `item`, which is the newest variable; `None` if it does not count.
    fn of_item(&mut self, each: &Each, item: &CelValue) -> Result<Option<CelValue>, Error> {
        self.step(0)?;
        if let Some(test) = &each.test
            && !self.truth(test, "a macro")?
        {
            return Ok(None);
        }
        each.made.as_ref().map_or_else(|| Ok(item.clone()), |made| self.value(made)).map(Some)
    }
}

/// A value that the caller did not give has no type.
fn variable(values: &[CelValue], place: usize) -> Evaluated {
    values.get(place).cloned().ok_or(Error::NoSuchOverload("a variable"))
}
