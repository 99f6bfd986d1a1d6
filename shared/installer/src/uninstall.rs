//! `journeyman uninstall`: leaves without a trace. What it would do is shown first; each step accepts that what it
//! removes is gone already, and one that fails names what is left to do.

pub mod acts;
pub mod carry_out;

use std::io::{BufRead, Write};

use acts::{Act, Installed, NodesAfter};
use carry_out::carry_out;
use jiff::Timestamp;
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    progress::{self, ProgressLine},
    screen::Screen,
};
use serde_json::Value;

use crate::{
    doctor::{
        gather::InstallationClients,
        observed::{items, text},
        steps,
    },
    installation::{Installation, InstallationArgs, answers, is_wanted, now},
    live::{self, AccountClient, LiveAnswer, ObjectFilter, kinds},
};

/// Options of `uninstall`.
#[derive(Clone, Debug, clap::Args)]
pub struct UninstallArgs {
    /// Where to look, and with what.
    #[command(flatten)]
    pub place: InstallationArgs,
    /// Keep nodes and their pods; remove only finalizers and Journeyman's objects. Delete the stack
    /// first.
    #[arg(long)]
    pub keep_nodes: bool,
    /// Also remove Karpenter's CRDs and all objects of their kinds.
    #[arg(long)]
    pub definitions: bool,
    /// Maximum minutes to wait for each deletion: NodeClaims, EC2NodeClasses, stack, table.
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    pub wait: u32,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub yes: bool,
}

/// Shows what is to be done, and does it if that is wanted. `true`: nothing is left.
pub fn run(
    args: &UninstallArgs,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    run_with(args, answers().as_mut(), screen, out)
}

impl RunCommand for UninstallArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen, &mut { out })
    }
}

fn run_with(
    args: &UninstallArgs,
    answers: Option<&mut impl BufRead>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    live::needed("uninstall")?;
    let looking = ProgressLine::new("reading the cluster and the account");
    let place = args.place.found_to_change(args.yes)?;
    let ends = InstallationClients::open(&place);
    let identity = ends.verified(&place)?;
    let (present, has_karpenter) = look(&ends, &place, now()).map_err(BadInput::one)?;
    drop(looking);
    let nodes = match (has_karpenter, args.keep_nodes) {
        (true, _) => NodesAfter::Karpenters,
        (false, true) => NodesAfter::Stay,
        (false, false) => NodesAfter::End,
    };
    let acts =
        acts::acts(&present, nodes, args.definitions, args.wait).map_err(CommandError::Refused)?;
    let what = match nodes {
        NodesAfter::End => "Drain and terminate the nodes, then remove everything of Journeyman:",
        NodesAfter::Stay => "Keep the nodes and their instance profiles, and remove:",
        NodesAfter::Karpenters => "Karpenter manages the nodes and keeps their objects. Remove:",
    };
    screen.lines(&identity.to_string(), out)?;
    screen.lines(what, out)?;
    for act in &acts {
        screen.text(2, &act.to_string(), out)?;
    }
    if !is_wanted(args.yes, "Do this?", answers, out)? {
        screen.lines("Nothing was done.", out)?;
        return Ok(false);
    }
    for (done, act) in acts.iter().enumerate() {
        screen.text(0, &act.to_string(), out)?;
        let _doing = ProgressLine::new(act.to_string());
        let mut tell = |said: &str| {
            progress::hidden(|| {
                screen.text(2, said, out)?;
                out.flush()
            })
        };
        carry_out(&ends, act, args.wait, &mut tell)?.map_err(|why| {
            // The functions, which name the table, may be gone by then.
            let left: Vec<String> = acts.iter().skip(done).map(Act::to_string).collect();
            BadInput::one(format!("{why}\nRemaining steps:\n{}", left.join("\n")))
        })?;
    }
    screen.lines(
        "Done. For resources that you created yourself see docs/uninstall.md, step 5.",
        out,
    )?;
    Ok(true)
}

/// What there is, and whether a Karpenter provisions the cluster. What cannot be seen ends it: nothing is removed
/// on a guess.
fn look(
    ends: &InstallationClients,
    place: &Installation,
    now: Timestamp,
) -> LiveAnswer<(Installed, bool)> {
    let (cluster, account) = (ends.cluster()?, ends.account()?);
    let of_pools = ObjectFilter { labels: Some("karpenter.sh%2Fnodepool") };
    let nodes = cluster.selected(&kinds::NODES, of_pools)?.unwrap_or_default();
    // The path is /journeyman/REGION/CLUSTER/CLASS/.
    let path = format!("/journeyman/{}/{}/", account.region(), place.cluster);
    let profiles = account.instance_profiles(&path)?;
    let profiles = profiles.iter().map(|profile: &Value| {
        let roles = items(profile, "/Roles").iter().map(|role| text(role, "/RoleName").to_owned());
        (text(profile, "/InstanceProfileName").to_owned(), roles.collect())
    });
    let leases = ends.leases()?;
    let functions = ends.functions(&place.cluster)?;
    let present = Installed {
        tables: tables(account, &functions)?,
        functions,
        pools: cluster.objects(&kinds::NODE_POOLS)?,
        classes: cluster.objects(&kinds::NODE_CLASSES)?,
        claims: ends.claims()?,
        nodes,
        templates: account.launch_templates(&place.cluster)?,
        profiles: profiles.collect(),
    };
    Ok((present, !steps::karpenters(&leases, now).is_empty()))
}

/// The tables that the stacks of `functions` made. What was given to a stack (`ExistingTableName`) is not a
/// resource of it, and stays: others may use it.
fn tables(account: &AccountClient, functions: &[Value]) -> LiveAnswer<Vec<String>> {
    let mut tables = Vec::new();
    for stack in functions.iter().filter_map(acts::stack) {
        tables.extend(account.made_by_stack(stack, "AWS::DynamoDB::Table")?);
    }
    Ok(tables)
}
