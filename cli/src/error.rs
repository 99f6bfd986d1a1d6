//! Why a command that only reads and prints ends early.

use std::{fmt, io};

use crate::manifests::BadInput;

/// Why there is no answer.
#[derive(Debug)]
pub enum Error {
    /// The input is wrong.
    Input(BadInput),
    /// The output could not be written.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(input) => input.fmt(f),
            Self::Output(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<BadInput> for Error {
    fn from(input: BadInput) -> Self {
        Self::Input(input)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
