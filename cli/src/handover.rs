//! `journeyman adopt` and `journeyman release`: a cluster changes hands between Karpenter and Journeyman, with its
//! nodes as they are.
//!
//! NodeClaim objects are the way in both directions, and the functions take and give back by themselves: they look
//! who holds Karpenter's lease. So what a command does is to see that nothing would be lost, to scale Karpenter's
//! Deployment, and to wait until the other one has everything.

mod judged;

use std::{
    io::{BufRead, Write},
    thread,
    time::Duration,
};

use jiff::Timestamp;
use judged::{Handover, Owned, adopted, adoption, handed, release};
use serde_json::Value;

use crate::{
    doctor::{gather, observed::Answer},
    error::Error,
    installation::{InstallationArgs, answers, is_wanted, now},
    manifests::BadInput,
    program::{self, Failed},
    screen::Screen,
};

/// Between two looks while it is waited.
const LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Options of `adopt` and `release`.
#[derive(Clone, Debug, clap::Args)]
pub struct HandoverArgs {
    /// Where to look, and with what.
    #[command(flatten)]
    pub place: InstallationArgs,
    /// Karpenter's Deployment. Otherwise what has the label `app.kubernetes.io/name=karpenter` of its chart.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub karpenter: Option<String>,
    /// Minutes to wait at most until the nodes have changed hands.
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    pub wait: u32,
    /// Do not ask before it is done.
    #[arg(short, long)]
    pub yes: bool,
}

/// Which way the nodes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From Karpenter, or from a ledger of ours that was lost, to Journeyman.
    Adopt,
    /// From Journeyman to Karpenter.
    Release,
}

/// Shows what is to be done, does it if that is wanted, and waits. `true`: every node changed hands.
pub fn run(
    args: &HandoverArgs,
    direction: Direction,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, Error> {
    run_with(args, direction, answers().as_mut(), (&mut now, &pause), (screen, out))
}

#[expect(clippy::disallowed_methods, reason = "a command that waits for others")]
fn pause() {
    thread::sleep(LOOKS_EVERY);
}

fn run_with(
    args: &HandoverArgs,
    direction: Direction,
    answers: Option<&mut impl BufRead>,
    (clock, pause): (&mut dyn FnMut() -> Timestamp, &dyn Fn()),
    (screen, out): (Screen, &mut impl Write),
) -> Result<bool, Error> {
    let seen = gather::observed(&args.place, clock());
    let deployments = deployments(args).map_err(BadInput::one)?;
    let handover = match direction {
        Direction::Adopt => adoption(&seen, &deployments),
        Direction::Release => {
            let nodes = gather::objects(&args.place, "nodes").map_err(BadInput::one)?;
            release(&seen, &deployments, &nodes)
        }
    };
    let Handover { what, scaled } = handover.map_err(Error::Refused)?;
    screen.lines(&what, out)?;
    for words in &scaled {
        screen.text(2, &format!("kubectl {}", words.join(" ")), out)?;
    }
    if !scaled.is_empty() && !is_wanted(args.yes, "Do this?", answers, out)? {
        screen.lines("Nothing was done.", out)?;
        return Ok(false);
    }
    for words in &scaled {
        carry_out(args, words).map_err(BadInput::one)?;
    }
    let looks = args.wait.saturating_mul(60) / u32::try_from(LOOKS_EVERY.as_secs()).unwrap_or(1);
    let mut last = String::new();
    for look in 0..=looks {
        if look > 0 {
            pause();
        }
        match state(&args.place, direction, clock()) {
            Ok(said) => {
                screen.lines(&said, out)?;
                return Ok(true);
            }
            Err(waits) if waits != last => {
                screen.text(2, &waits, out)?;
                last = waits;
            }
            Err(_) => {}
        }
    }
    let next = "It was waited for long enough. Nothing is lost meanwhile: say the command again to go on waiting, or see \
                what holds it back with `journeyman doctor`.";
    screen.lines(next, out)?;
    Ok(false)
}

/// That it is done, or what is waited for.
fn state(place: &InstallationArgs, direction: Direction, now: Timestamp) -> Result<String, String> {
    let owned = Owned::of(now, gather::leases(place), gather::claims(place))?;
    match direction {
        Direction::Adopt => adopted(&owned),
        Direction::Release => handed(&owned, &place.cluster),
    }
}

/// Karpenter's Deployments.
fn deployments(args: &HandoverArgs) -> Answer<Vec<Value>> {
    let place = &args.place;
    let Some(named) = &args.karpenter else {
        let words = [
            "deployments.apps",
            "--selector=app.kubernetes.io/name=karpenter",
            "--all-namespaces",
            "--output=json",
        ];
        let list = gather::kubectl(place, &words)?.unwrap_or_default();
        return Ok(list.get("items").and_then(Value::as_array).cloned().unwrap_or_default());
    };
    let (namespace, name) = named
        .split_once('/')
        .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
        .ok_or_else(|| format!("--karpenter {named}: it is NAMESPACE/NAME"))?;
    let words = ["deployments.apps", name, &format!("--namespace={namespace}"), "--output=json"];
    let there = gather::kubectl(place, &words)?;
    there.map(|there| vec![there]).ok_or_else(|| format!("There is no Deployment {named}."))
}

fn carry_out(args: &HandoverArgs, words: &[String]) -> Result<(), String> {
    let said = program::output(args.place.kubectl.command().args(words));
    said.map(drop).map_err(|failed| match failed {
        Failed::Said(said) => format!("kubectl {}: {said}", words.join(" ")),
        Failed::NotStarted(error) => format!("kubectl: {error}"),
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
