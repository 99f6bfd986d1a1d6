//! A checked expression.

use std::sync::Arc;

use crate::{environment::CelFunction, value::CelValue};

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(CelValue),
    /// A variable of the environment, by its place.
    Global(usize),
    /// A variable of a macro, by how many stand around it.
    Local(usize),
    List(Vec<Self>),
    Map(Vec<(Self, Self)>),
    Field(Box<Self>, Arc<str>),
    HasField(Box<Self>, Arc<str>),
    Item(Box<(Self, Self)>),
    Not(Box<Self>),
    Negative(Box<Self>),
    Binary(Operator, Box<(Self, Self)>),
    /// `&&` of all.
    All(Vec<Self>),
    /// `||` of all.
    Any(Vec<Self>),
    /// Condition, then, else.
    Choice(Box<(Self, Self, Self)>),
    Call(&'static CelFunction, Vec<Self>),
    Each(Box<Each>),
    /// A value, and the expression in which it is the newest variable.
    Bind(Box<(Self, Self)>),
}

/// What is done with each item of a list, or each key of a map.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    pub(crate) what: Macro,
    pub(crate) range: Node,
    /// Which items count; `None` is all. Of `all`, `exists` and `exists_one` it is what they ask.
    pub(crate) test: Option<Node>,
    /// What `map` makes of an item.
    pub(crate) made: Option<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Macro {
    All,
    Exists,
    ExistsOne,
    /// `filter` and `map`
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}
