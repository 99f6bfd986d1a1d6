//! `journeyman install`: what an installation puts into a cluster, and what that changes there first.
//!
//! It is what `crds` and `rbac` print, and with `--wake` what has the API server call `wake`, applied on the server's side as the field manager `journeyman`, so that fields
//! of others stay theirs. The server itself says what would become of each object: nothing is changed for that.

pub mod changes;

use std::io::{BufRead, Write};

use changes::Change;
use model::ClusterName;
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    progress::{self, ProgressLine},
    screen::Screen,
};
use serde_json::Value;

use crate::{
    doctor::gather::InstallationClients,
    installation::{InstallationArgs, answers, is_wanted, now},
    live::{self, ClusterClient, LiveAnswer, Manifests, ObjectKind, RoleArgs, namespace_of},
    wake::{self, WakeArgs},
};

/// Options of `install`.
#[derive(Clone, Debug, clap::Args)]
pub struct InstallArgs {
    /// Show the changes and exit.
    #[arg(long, conflicts_with = "yes")]
    pub diff: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Which roles the functions have.
    #[command(flatten)]
    pub roles: RoleArgs,
    /// How the cluster calls `wake`.
    #[command(flatten)]
    pub wake: WakeArgs,
    /// Where to.
    #[command(flatten)]
    pub place: InstallationArgs,
}

/// An object, and what becomes of it.
struct Outlook {
    object: Value,
    change: Change,
}

/// Shows what would change, and applies it if that is wanted. `true`: the cluster has everything.
pub fn run(args: &InstallArgs, screen: Screen, out: &mut impl Write) -> Result<bool, CommandError> {
    run_with(args, answers().as_mut(), screen, out)
}

impl RunCommand for InstallArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen, &mut { out })
    }
}

/// Like [`run`], with the user's `answers`; `None` without a terminal.
pub(crate) fn run_with(
    args: &InstallArgs,
    answers: Option<&mut impl BufRead>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    let key = wake::key_of_environment();
    let calls = args.wake.wanted(key.as_deref())?;
    live::needed("install")?;
    let looking = ProgressLine::new("comparing with the cluster");
    let place = args.place.found_to_change(args.yes)?;
    let ends = InstallationClients::open(&place);
    let identity = ends.verified(&place)?;
    let cluster = ends.cluster().map_err(BadInput::one)?;
    let name = ClusterName::new(&place.cluster).map_err(|why| BadInput::one(why.to_string()))?;
    let calls = calls.map(|wanted| wanted.objects(&name, now())).unwrap_or_default();
    let outlooks = outlooks(cluster, args.roles, calls).map_err(BadInput::one)?;
    drop(looking);
    screen.lines(&identity.to_string(), out)?;
    for Outlook { object, change } in &outlooks {
        for (indent, line) in change.lines(object) {
            screen.text(indent, &line, out)?;
        }
    }
    let wanted: Vec<&Outlook> =
        outlooks.iter().filter(|outlook| outlook.change != Change::Unchanged).collect();
    if wanted.is_empty() {
        let done = "Nothing to do: the cluster is up to date.";
        screen.lines(done, out)?;
        return Ok(true);
    }
    if args.diff {
        return Ok(false);
    }
    if !is_wanted(args.yes, "Apply this?", answers, out)? {
        screen.lines("Nothing was applied.", out)?;
        return Ok(false);
    }
    let applying = ProgressLine::new("applying");
    for (done, Outlook { object, change }) in wanted.iter().enumerate() {
        cluster.apply(object, false).map_err(|why| {
            BadInput::one(format!(
                "{why}\n{done} of {} objects were applied. Fix this, and run the command again.",
                wanted.len()
            ))
        })?;
        let how = if *change == Change::New { "created" } else { "changed" };
        let line = format!("{} {how}", changes::named(object));
        progress::hidden(|| screen.text(2, &line, out))?;
    }
    drop(applying);
    let next = format!("Applied. `journeyman doctor {}` shows what else is needed.", place.cluster);
    screen.lines(&next, out)?;
    Ok(true)
}

/// What would become of every object, definitions first and `calls` last.
fn outlooks(
    cluster: &ClusterClient,
    roles: RoleArgs,
    calls: Vec<Value>,
) -> LiveAnswer<Vec<Outlook>> {
    let outlook = |object: Value| {
        let kind = ObjectKind::of(&object).ok_or_else(|| format!("an unknown kind: {object}"))?;
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let present = cluster.object(kind, namespace_of(&object), name)?;
        let applied = cluster.apply(&object, true)?;
        Ok(Outlook { change: Change::of(present.as_ref(), &applied), object })
    };
    Manifests::all(roles)?.into_iter().chain(calls).map(outlook).collect()
}
