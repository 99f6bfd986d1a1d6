//! A part of the [Common Expression Language](https://github.com/cel-expr/cel-spec) that evaluates untrusted text.
//!
//! Why not a crate of others: `cel` 0.15 brings a parser generator's runtime and 27 dependencies into functions of at most
//! 12 MB, and panics abort these functions. Here nothing panics, and length, depth and steps have limits.
//!
//! [`CelEnvironment::compile`] parses and checks types as cel-go does: names and functions must exist, and numbers of
//! different types are neither added nor compared. [`Program::evaluate`] reports what only values decide, such as a
//! division by zero.
//!
//! Built: null, booleans, int, uint, double, strings, lists, maps; their operators; `?:`, `in`, `has`, `all`, `exists`,
//! `exists_one`, `filter`, `map`; `size`, `contains`, `startsWith`, `endsWith`; conversions `int`, `uint`, `double`,
//! `string`. An environment adds variables and functions, also methods, of values of these types; and those of Kubernetes:
//! objects of known fields, quantities, semantic versions, `cel.bind`. Not built: bytes, times and durations, messages,
//! optional values, macros of two variables, `dyn`, `type`.

mod environment;
mod error;
mod evaluate;
mod lexer;
mod library;
mod node;
mod operators;
mod parser;
mod semver;
mod types;
mod value;

pub use environment::{CelEnvironment, CelFunction, Program};
pub use error::{CompileError, EvaluationError};
pub use semver::Semver;
pub use types::Type;
pub use value::CelValue;

/// Bytes of an expression at most.
pub const LENGTH_MAX: usize = 10_240;
/// Levels of an expression at most: parentheses, arguments, conditions and operators within each other.
pub const DEPTH_MAX: usize = 128;
/// Steps of an evaluation at most. Each part of the expression that is evaluated is a step, and so are sixteen bytes or
/// items that an operator or a function reads.
pub const STEPS_MAX: usize = 100_000;
