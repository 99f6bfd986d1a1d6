//! `plan --disruption`: what would be given up, what would come in its place, and why every other
//! node stays.
//!
//! The decisions are the planner's; here they are only shown (`json`, `table`).

mod json;
mod table;

use std::io::{self, Write};

use model::facts::Facts;
use planner::disruption::{self, Options, Outlook, Thorough};

use super::Error;
use crate::args::{Consolidation, PlanArgs, PlanFormat};

/// How much a thorough search may simulate, in pods, unless it is said.
const WORK: u64 = 20_000_000;

/// What was found.
struct Found<'a> {
    facts: &'a Facts,
    outlook: Outlook,
    /// What the wider search found, if it was asked for.
    thorough: Option<Thorough>,
}

/// Decides on `facts` and prints.
pub(super) fn run(args: &PlanArgs, facts: &Facts, out: &mut impl Write) -> Result<(), Error> {
    let options = Options::default();
    let is_thorough = args.consolidation == Consolidation::Thorough;
    let work = args.consolidation_work.unwrap_or(WORK);
    let outlook = Found {
        facts,
        outlook: disruption::outlook(facts, &options),
        thorough: is_thorough.then(|| disruption::thorough(facts, &options, work, None)),
    };
    if let Some(node) = &args.explain {
        return Ok(table::explain(&outlook, node, out)?);
    }
    match args.output {
        Some(PlanFormat::Json) => {
            let document = json::document(&outlook);
            serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Some(PlanFormat::Yaml) => {
            let text = serde_saphyr::to_string(&json::document(&outlook));
            let text = text.map_err(|error| io::Error::other(error.to_string()))?;
            out.write_all(text.as_bytes())?;
        }
        None => table::show(&outlook, out)?,
    }
    Ok(())
}
