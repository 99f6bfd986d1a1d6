//! What can be wrong with an expression, and with its evaluation.

/// Why an expression cannot be evaluated for any values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words} (at character {})", .at + 1)]
pub struct CompileError {
    /// Characters before what is wrong.
    pub at: usize,
    /// What is wrong.
    pub words: String,
}

/// Why an expression has no value for the variables at hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// `/` or `%` by the whole number zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A result that its type does not hold.
    #[error("integer overflow")]
    Overflow,
    /// A list has no such item.
    #[error("index {0} is out of range")]
    OutOfRange(String),
    /// A map has no such key.
    #[error("no such key: {0}")]
    NoSuchKey(String),
    /// A map with one key twice.
    #[error("a map has a key twice")]
    RepeatedKey,
    /// A conversion of a text or a number that the type does not have.
    #[error("{0} is no {1}")]
    NotConvertible(String, &'static str),
    /// An operator or a function of a value of another type, where the types were not known before.
    #[error("no such overload of {0}")]
    NoSuchOverload(&'static str),
    /// More steps than an evaluation may take.
    #[error("more than {} steps", crate::STEPS_MAX)]
    TooManySteps,
}
