//! Why a command ends early.

use std::{fmt, io};

use crate::manifests::BadInput;

/// Why there is no answer.
#[derive(Debug)]
pub enum Error {
    /// The input is wrong.
    Input(BadInput),
    /// The input is right, and the answer is that there is none: nothing would be launched.
    Refused(String),
    /// The simulation stopped: an invariant was violated or it went round in circles.
    Stopped(simulator::Stopped),
    /// The output could not be written.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(input) => input.fmt(f),
            Self::Refused(why) => f.write_str(why),
            Self::Stopped(stopped) => write!(f, "the simulation stopped: {stopped}"),
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
