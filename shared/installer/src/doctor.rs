//! `journeyman doctor`: whether an installation is whole, step by step, and what helps where it is not.
//!
//! What is there is looked at first, all of it, and only read; then each step judges what was seen.

pub mod concurrency;
pub mod gather;
pub mod identity;
pub mod observed;
pub mod release;
pub mod steps;

use std::io::Write;

use gather::InstallationClients;
use observed::Observed;
use report::{
    command::RunCommand, error::CommandError, format::Format, progress::ProgressLine,
    screen::Screen,
};
use serde_json::json;
use steps::{STEPS, StepFinding, StepVerdict};

use crate::{
    installation::{InstallationArgs, now},
    live,
};

/// Options of `doctor`.
#[derive(Clone, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Where to look, and with what.
    #[command(flatten)]
    pub place: InstallationArgs,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
}

/// Looks, and prints what was found. `true`: every step is done, or not needed. The functions are to be of this release,
/// or of the one that a `rollback` put in its place.
pub fn run(
    args: &DoctorArgs,
    rollback: Option<String>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    live::needed("doctor")?;
    let place = args.place.found()?;
    let looking = ProgressLine::new("looking at the cluster and the account");
    let ends = InstallationClients::open(&place);
    let verdicts = judged(&Observed { rollback, ..ends.observed(&place, now()) });
    drop(looking);
    if args.output.is_document() {
        let steps: Vec<_> =
            verdicts.iter().map(|(step, verdict)| document(step, verdict)).collect();
        report::json::write(&json!({ "steps": steps }), args.output, out)?;
    } else {
        print(&verdicts, screen, out)?;
    }
    let is_good =
        |verdict: &StepVerdict| matches!(verdict, StepVerdict::Done(_) | StepVerdict::NotNeeded(_));
    Ok(verdicts.iter().all(|(_, verdict)| is_good(verdict)))
}

impl RunCommand for DoctorArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, None, screen, &mut { out })
    }
}

/// Every step with its verdict, in their order.
pub fn judged(seen: &Observed) -> Vec<(&'static steps::Step, StepVerdict)> {
    STEPS.iter().map(|step| (step, step.judged(seen))).collect()
}

/// A verdict for programs.
fn document(step: &steps::Step, verdict: &StepVerdict) -> serde_json::Value {
    let (state, found, cure) = match verdict {
        StepVerdict::Done(how) => ("done", vec![how.clone()], None),
        StepVerdict::NotNeeded(why) => ("not-needed", vec![why.clone()], None),
        StepVerdict::Wrong(StepFinding { found, cure }) => ("wrong", found.clone(), Some(cure)),
        StepVerdict::Unknown(StepFinding { found, cure }) => ("unknown", found.clone(), Some(cure)),
    };
    json!({ "step": step.id, "what": step.what, "state": state, "found": found, "cure": cure })
}

/// Prints the verdicts for people.
pub fn print(
    verdicts: &[(&'static steps::Step, StepVerdict)],
    screen: Screen,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (mut wrong, mut unknown) = (0_u32, 0_u32);
    for (step, verdict) in verdicts {
        let (mark, said) = match verdict {
            StepVerdict::Done(how) => ("ok", how),
            StepVerdict::NotNeeded(why) => ("--", why),
            StepVerdict::Wrong(_) => ("!!", &String::new()),
            StepVerdict::Unknown(_) => ("??", &String::new()),
        };
        let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
        screen.behind(&format!("{mark}  "), &format!("{}{said}", step.what), out)?;
        let finding = match verdict {
            StepVerdict::Wrong(finding) => {
                wrong += 1;
                finding
            }
            StepVerdict::Unknown(finding) => {
                unknown += 1;
                finding
            }
            StepVerdict::Done(_) | StepVerdict::NotNeeded(_) => continue,
        };
        for sentence in &finding.found {
            screen.text(4, sentence, out)?;
        }
        screen.text(4, &format!("→ {}", finding.cure), out)?;
    }
    writeln!(out)?;
    let verdict = match (wrong, unknown) {
        (0, 0) => "everything is in order".to_owned(),
        (wrong, 0) => format!("{wrong} not in order"),
        (0, unknown) => format!("{unknown} could not be seen"),
        (wrong, unknown) => format!("{wrong} not in order, {unknown} could not be seen"),
    };
    screen.title(&format!("{} steps: {verdict}", verdicts.len()), out)
}
