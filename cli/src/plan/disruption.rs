//! `plan --disruption`: what would be given up, what would come in its place, and why every other
//! node stays.
//!
//! The decisions are the planner's; here they are only shown (`json`, `table`).

mod json;
mod table;

use std::io::Write;

use model::{facts::Facts, policies::ConsolidationSearch};
use planner::disruption::{self, Finding, Options, Outlook};
use report::{error::BadInput, output::count, screen::Screen};

use super::{CommandError, Remarks, print_document};
use crate::plan::args::PlanArgs;

/// How much a thorough search may simulate, in pods, unless it is said.
const WORK: u64 = 20_000_000;

/// What was found.
struct Found<'a> {
    facts: &'a Facts,
    outlook: Outlook,
    /// What the wider search found, if it was asked for.
    thorough: Option<Finding>,
}

/// Decides on the facts and prints.
pub(super) fn run(
    args: &PlanArgs,
    screen: Screen,
    (facts, remarks): (&Facts, &Remarks),
    out: &mut impl Write,
) -> Result<(), CommandError> {
    if let Some(node) = &args.explain
        && !facts.nodes.keys().any(|name| name.as_str() == node)
    {
        let rule = format!("--explain: there is no node `{node}` among {}", nodes(facts));
        return Err(BadInput::one(rule).into());
    }
    let options = Options::default();
    let is_thorough = args.settings()?.policies.consolidation == ConsolidationSearch::Thorough;
    let work = args.consolidation_work.unwrap_or(WORK);
    let outlook = Found {
        facts,
        outlook: disruption::outlook(facts, &options),
        thorough: is_thorough.then(|| disruption::thorough(facts, &options, work, None)),
    };
    if let Some(node) = &args.explain {
        return Ok(table::explain(&outlook, node, screen, out)?);
    }
    if let Some(format) = args.output {
        print_document(format, &json::document(&outlook, remarks), out)?;
    } else {
        table::show(&outlook, screen, out)?;
        super::table::remarks(remarks, screen, out)?;
    }
    Ok(())
}

/// `12 nodes`
fn nodes(facts: &Facts) -> String {
    count(u64::try_from(facts.nodes.len()).unwrap_or(u64::MAX), "node")
}
