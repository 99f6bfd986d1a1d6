//! `journeyman template`: the stack as AWS SAM reads it, made of what is written by hand and of the tables.
//!
//! `deploy/template.yaml` says what there is once in a stack, `deploy/function.yaml` what every function has.
//! A line of theirs that begins with `#:` says what becomes of the lines about it:
//!
//! * `each KIND` … `end`: the lines once for each function of a kind, with `@{Name}` and its like filled in.
//! * `if KIND` and `unless KIND` … `end`: the lines for a function that is of the kind, or is not. The same behind
//!   a line is about that line.
//! * `text NAME` … `end`, or `line NAME LINE`: nothing here; `insert NAME` puts it elsewhere.
//! * `last TEXT`: what the line above ends with instead of its comma.
//! * `note`: nothing.
//!
//! A statement `- Sid: X #: grant CALLS` grants those of its actions that the function's calls need, and is left
//! out where they need none. Calls are named one by one or by their port; without any, the name of the
//! statement begins with the port.

mod expand;
mod facts;

use std::io::Write;

use report::{command::RunCommand, error::CommandError, screen::Screen};

const BY_HAND: &str = include_str!("../../deploy/template.yaml");
const FUNCTION: &str = include_str!("../../deploy/function.yaml");

/// `template` has no options.
#[derive(Clone, Debug, clap::Args)]
pub struct TemplateArgs {}

/// Prints `template.yaml`.
impl RunCommand for TemplateArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        out.write_all(text().as_bytes())?;
        Ok(true)
    }
}

/// The text of `template.yaml`.
pub fn text() -> String {
    let mut lines = expand::Template::new(&[BY_HAND, FUNCTION]).lines(BY_HAND, FUNCTION);
    lines.push(String::new());
    lines.join("\n")
}
