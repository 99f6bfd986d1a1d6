//! Why a command ends without an answer.

use std::{fmt, io};

/// What is wrong with the input of a command: each problem is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput(pub Vec<String>);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for BadInput {}

impl BadInput {
    /// One problem.
    pub fn one(text: impl Into<String>) -> Self {
        Self(vec![text.into()])
    }
}

/// Why a command ends without an answer.
#[derive(Debug)]
pub enum CommandError {
    /// The input is wrong.
    Input(BadInput),
    /// The input is right, and the answer is that there is none: nothing would be launched.
    Refused(String),
    /// The simulation stopped: an invariant was violated or it went round in circles.
    Stopped(String),
    /// The output could not be written.
    Output(io::Error),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(input) => input.fmt(f),
            Self::Refused(why) => f.write_str(why),
            Self::Stopped(why) => write!(f, "the simulation stopped: {why}"),
            Self::Output(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl std::error::Error for CommandError {}

impl From<BadInput> for CommandError {
    fn from(input: BadInput) -> Self {
        Self::Input(input)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
