//! `journeyman doctor`: whether an installation is whole, step by step, and what helps where it is not.
//!
//! What is there is looked at first, all of it, and only read; then each step judges what was seen.

pub(crate) mod gather;
pub(crate) mod observed;
pub(crate) mod steps;

use std::io::Write;

use gather::Ends;
use observed::Observed;
use serde_json::json;
use steps::{Finding, STEPS, Verdict};

use crate::{
    args::Format,
    error::Error,
    installation::{InstallationArgs, now},
    live,
    screen::Screen,
};

/// Options of `doctor`.
#[derive(Clone, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Where to look, and with what.
    #[command(flatten)]
    pub place: InstallationArgs,
    /// How to print.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Looks, and prints what was found. `true`: every step is done, or not needed.
pub fn run(args: &DoctorArgs, screen: Screen, out: &mut impl Write) -> Result<bool, Error> {
    live::needed("doctor")?;
    let ends = Ends::open(&args.place);
    let verdicts = judged(&ends.observed(&args.place.cluster, now()));
    match args.output {
        Format::Text => print(&verdicts, screen, out)?,
        Format::Json => {
            let steps: Vec<_> =
                verdicts.iter().map(|(step, verdict)| document(step, verdict)).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({ "steps": steps }))
                .map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    let is_good = |verdict: &Verdict| matches!(verdict, Verdict::Done(_) | Verdict::NotNeeded(_));
    Ok(verdicts.iter().all(|(_, verdict)| is_good(verdict)))
}

pub(crate) fn judged(seen: &Observed) -> Vec<(&'static steps::Step, Verdict)> {
    STEPS.iter().map(|step| (step, step.judged(seen))).collect()
}

/// A verdict for programs.
fn document(step: &steps::Step, verdict: &Verdict) -> serde_json::Value {
    let (state, found, cure) = match verdict {
        Verdict::Done(how) => ("done", vec![how.clone()], None),
        Verdict::NotNeeded(why) => ("not-needed", vec![why.clone()], None),
        Verdict::Wrong(Finding { found, cure }) => ("wrong", found.clone(), Some(cure)),
        Verdict::Unknown(Finding { found, cure }) => ("unknown", found.clone(), Some(cure)),
    };
    json!({ "step": step.id, "what": step.what, "state": state, "found": found, "cure": cure })
}

fn print(
    verdicts: &[(&'static steps::Step, Verdict)],
    screen: Screen,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (mut wrong, mut unknown) = (0_u32, 0_u32);
    for (step, verdict) in verdicts {
        let (mark, said) = match verdict {
            Verdict::Done(how) => ("ok", how),
            Verdict::NotNeeded(why) => ("--", why),
            Verdict::Wrong(_) => ("!!", &String::new()),
            Verdict::Unknown(_) => ("??", &String::new()),
        };
        let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
        screen.behind(&format!("{mark}  "), &format!("{}{said}", step.what), out)?;
        let finding = match verdict {
            Verdict::Wrong(finding) => {
                wrong += 1;
                finding
            }
            Verdict::Unknown(finding) => {
                unknown += 1;
                finding
            }
            Verdict::Done(_) | Verdict::NotNeeded(_) => continue,
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

#[cfg(test)]
pub(crate) mod tests;
