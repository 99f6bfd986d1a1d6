//! `journeyman plan`: what objects and pending pods would lead to. Nothing is created.

mod disruption;
mod expand;
mod facts;
pub(crate) mod gates;
mod input;
mod json;
mod live;
mod offers;
mod progress;
mod table;

use std::io::{self, Write};

use jiff::Timestamp;
use model::{Plan, facts::Facts};
use planner::Launches;

use self::progress::Progress;
use crate::{
    args::{Color, PlanArgs, PlanFormat},
    error::Error,
    manifests::BadInput,
};

/// What a plan says about the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanExit {
    /// Pods without a place.
    pub unplaced: usize,
    /// What is wrong with objects.
    pub problems: usize,
}

impl PlanExit {
    /// Whether every object could be read and every pod found a place.
    pub fn is_clean(self) -> bool {
        self.unplaced == 0 && self.problems == 0
    }
}

/// What was planned on what.
struct Planned {
    plan: Plan,
    /// A NodeClaim has no instance yet: Karpenter plans nothing for pods until it has.
    is_waiting: bool,
    /// What static pools launch, whether pods wait or not.
    fixed: Launches,
}

/// Plans and prints: the plan to `out`, what is wrong with the input to `complaints`.
pub fn run(
    args: &PlanArgs,
    out: &mut impl Write,
    complaints: &mut impl Write,
) -> Result<PlanExit, Error> {
    let now = now(args)?;
    let policies = gates::policies(args)?;
    let progress = Progress::new();
    let loaded = input::load(args, &progress)?;
    progress.says("planning");
    let mut problems = loaded.problems.iter();
    progress.hidden(|| problems.try_for_each(|problem| writeln!(complaints, "{problem}")))?;
    let problems = loaded.problems.len();
    let offers = offers::load(args, &loaded, now)?;
    let facts = facts::of(loaded, offers, policies, now)?;
    if args.disruption {
        drop(progress);
        disruption::run(args, &facts, out)?;
        return Ok(PlanExit { unplaced: 0, problems });
    }
    let planned = plan(&facts);
    drop(progress);
    match args.output {
        Some(PlanFormat::Json) => {
            let document = json::document(&planned);
            serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        Some(PlanFormat::Yaml) => {
            let text = serde_saphyr::to_string(&json::document(&planned));
            let text = text.map_err(|error| io::Error::other(error.to_string()))?;
            out.write_all(text.as_bytes())?;
        }
        None => table::show(&planned, &facts, args.color == Color::Always, out)?,
    }
    Ok(PlanExit { unplaced: planned.plan.unplaced.len(), problems })
}

/// One pass of provisioning. While a claim has no instance Karpenter makes none, because it does not
/// know what will join.
fn plan(facts: &Facts) -> Planned {
    let is_waiting = facts.ledger.claims.values().any(|claim| claim.instance.is_none());
    let plan = if is_waiting { Plan::default() } else { planner::provision(facts) };
    Planned { plan, is_waiting, fixed: planner::launches(facts) }
}

#[expect(clippy::disallowed_methods, reason = "the command is where the clock is read")]
fn now(args: &PlanArgs) -> Result<Timestamp, BadInput> {
    let Some(text) = &args.now else { return Ok(Timestamp::now()) };
    text.parse().map_err(|_| {
        BadInput::one(format!("--now: `{text}` is not a time such as `2026-08-01T12:00:00Z`"))
    })
}

#[cfg(test)]
mod tests;
