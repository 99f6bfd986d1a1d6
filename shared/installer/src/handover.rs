//! `journeyman adopt` and `journeyman release`: a cluster changes hands between Karpenter and Journeyman, with its
//! nodes as they are.
//!
//! NodeClaim objects are the way in both directions, and the functions take and give back by themselves: they look
//! who holds Karpenter's lease. So what a command does is to see that nothing would be lost, to scale Karpenter's
//! Deployment, and to wait until the other one has everything.

pub mod judged;

use std::{
    io::{self, BufRead, Write},
    time::Duration,
};

use jiff::Timestamp;
use judged::{Handover, Owned, Scale, adopted, adoption, handed, release};
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    progress::{self, ProgressLine},
    screen::Screen,
};
use serde_json::{Value, json};

use crate::{
    doctor::gather::InstallationClients,
    installation::{InstallationArgs, Look, answers, is_wanted, now, pause, waited},
    live::{self, LiveAnswer, ObjectFilter, kinds},
};

/// Options of `adopt` and `release`.
#[derive(Clone, Debug, clap::Args)]
pub struct HandoverArgs {
    /// Where to look, and with what.
    #[command(flatten)]
    pub place: InstallationArgs,
    /// Karpenter's Deployment. Default: the Deployment with the label
    /// `app.kubernetes.io/name=karpenter`.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub karpenter: Option<String>,
    /// Maximum minutes to wait until all nodes are handed over.
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    pub wait: u32,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub yes: bool,
}

/// Options of `adopt`.
#[derive(Clone, Debug, clap::Args)]
pub struct AdoptArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap takes it for the help of the whole command")]
    pub handover: HandoverArgs,
}

impl RunCommand for AdoptArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(&self.handover, Direction::Adopt, screen, &mut { out })
    }
}

/// Options of `release`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap takes it for the help of the whole command")]
    pub handover: HandoverArgs,
}

impl RunCommand for ReleaseArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(&self.handover, Direction::Release, screen, &mut { out })
    }
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
) -> Result<bool, CommandError> {
    run_with(args, direction, answers().as_mut(), (screen, out))
}

fn run_with(
    args: &HandoverArgs,
    direction: Direction,
    answers: Option<&mut impl BufRead>,
    (screen, out): (Screen, &mut impl Write),
) -> Result<bool, CommandError> {
    live::needed(match direction {
        Direction::Adopt => "adopt",
        Direction::Release => "release",
    })?;
    let looking = ProgressLine::new("reading the cluster and the account");
    let place = args.place.found_to_change(args.yes)?;
    let ends = InstallationClients::open(&place);
    let identity = ends.verified(&place)?;
    let seen = ends.observed(&place, now());
    let deployments = deployments(&ends, args).map_err(BadInput::one)?;
    let handover = match direction {
        Direction::Adopt => adoption(&seen, &deployments),
        Direction::Release => {
            let nodes = ends.objects(&kinds::NODES).map_err(BadInput::one)?;
            release(&seen, &deployments, &nodes)
        }
    };
    let Handover { what, scaled } = handover.map_err(CommandError::Refused)?;
    drop(looking);
    screen.lines(&identity.to_string(), out)?;
    screen.lines(&what, out)?;
    for scale in &scaled {
        screen.text(2, &scale.to_string(), out)?;
    }
    if !scaled.is_empty() && !is_wanted(args.yes, "Do this?", answers, out)? {
        screen.lines("Nothing was done.", out)?;
        return Ok(false);
    }
    let _waiting = ProgressLine::new("waiting for the nodes to change hands");
    for scale in &scaled {
        carry_out(&ends, scale).map_err(BadInput::one)?;
    }
    let look = || state(&ends, &place.cluster, direction, now());
    let tell = |indent: usize, said: &str| {
        progress::hidden(|| {
            screen.text(indent, said, out)?;
            out.flush()
        })
    };
    Ok(wait(look, args.wait, pause, tell)?)
}

/// Looks until it is done, for `minutes` at most, and tells each new state. Whether it is done.
pub fn wait(
    mut look: impl FnMut() -> Result<String, String>,
    minutes: u32,
    pause: impl Fn(Duration),
    mut tell: impl FnMut(usize, &str) -> io::Result<()>,
) -> io::Result<bool> {
    // What cannot be seen may be seen the next time.
    let look = || look().map_or_else(Look::Waits, Look::Done);
    if let Look::Done(said) = waited(look, minutes, pause, |waits| tell(2, waits))? {
        tell(0, &said)?;
        return Ok(true);
    }
    let next = "Not finished in time. Nothing is lost: run the command again to continue waiting, or run `journeyman \
                doctor` to see what blocks it.";
    tell(0, next)?;
    Ok(false)
}

/// That it is done, or what is waited for.
fn state(
    ends: &InstallationClients,
    cluster: &str,
    direction: Direction,
    now: Timestamp,
) -> Result<String, String> {
    let owned = Owned::of(now, ends.leases(), ends.claims())?;
    match direction {
        Direction::Adopt => adopted(&owned),
        Direction::Release => handed(&owned, cluster),
    }
}

/// Karpenter's Deployments.
fn deployments(ends: &InstallationClients, args: &HandoverArgs) -> LiveAnswer<Vec<Value>> {
    let cluster = ends.cluster()?;
    let Some(named) = &args.karpenter else {
        let karpenters = cluster.selected(&kinds::DEPLOYMENTS, ObjectFilter::OF_KARPENTER)?;
        return Ok(karpenters.unwrap_or_default());
    };
    let (namespace, name) = named
        .split_once('/')
        .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
        .ok_or_else(|| format!("--karpenter {named}: it is NAMESPACE/NAME"))?;
    let there = cluster.object(&kinds::DEPLOYMENTS, Some(namespace), name)?;
    there.map(|there| vec![there]).ok_or_else(|| format!("There is no Deployment {named}."))
}

fn carry_out(
    ends: &InstallationClients,
    Scale { namespace, name, replicas }: &Scale,
) -> LiveAnswer<()> {
    let change = json!({"spec": {"replicas": replicas}});
    ends.cluster()?.merge(&kinds::DEPLOYMENTS, (Some(namespace), name), Some("scale"), &change)
}
