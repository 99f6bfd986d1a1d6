//! `journeyman uninstall`: leaves without a trace. What it would do is shown first; each step accepts that what it
//! removes is gone already, and one that fails names what is left to do.

mod acts;

use std::{
    io::{self, BufRead, Write},
    process::{Command, Stdio},
};

use acts::{Act, Nodes, Present, Program};
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    crds,
    doctor::{
        gather,
        observed::{Answer, items, text},
        steps,
    },
    error::Error,
    installation::{InstallationArgs, answers, is_wanted, now},
    manifests::BadInput,
    rbac,
    screen::Screen,
};

/// Options of `uninstall`.
#[derive(Clone, Debug, clap::Args)]
pub struct UninstallArgs {
    /// Where to look, and with what.
    #[command(flatten)]
    pub place: InstallationArgs,
    /// Leave nodes and their pods as they are: only finalizers and objects of ours go. The stack must be gone.
    #[arg(long)]
    pub keep_nodes: bool,
    /// Remove the definitions of Karpenter's kinds, too, and with them every object of these kinds.
    #[arg(long)]
    pub definitions: bool,
    /// Do not ask before it is done.
    #[arg(short, long)]
    pub yes: bool,
}

/// Shows what is to be done, and does it if that is wanted. `true`: nothing is left.
pub fn run(args: &UninstallArgs, screen: Screen, out: &mut impl Write) -> Result<bool, Error> {
    run_with(args, answers().as_mut(), screen, out)
}

fn run_with(
    args: &UninstallArgs,
    answers: Option<&mut impl BufRead>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, Error> {
    let (present, has_karpenter) = look(&args.place, now()).map_err(BadInput::one)?;
    let nodes = match (has_karpenter, args.keep_nodes) {
        (true, _) => Nodes::Karpenters,
        (false, true) => Nodes::Stay,
        (false, false) => Nodes::End,
    };
    let acts = acts::acts(&present, nodes, args.definitions).map_err(Error::Refused)?;
    let what = match nodes {
        Nodes::End => "Nodes are drained and end, then everything of Journeyman goes:",
        Nodes::Stay => "Nodes stay as they are, and with them their instance profiles. What goes:",
        Nodes::Karpenters => "A Karpenter has the nodes, the objects and what they use. What goes:",
    };
    screen.lines(what, out)?;
    for act in &acts {
        screen.text(2, &shown(act), out)?;
    }
    if !is_wanted(args.yes, "Do this?", answers, out)? {
        screen.lines("Nothing was done.", out)?;
        return Ok(false);
    }
    for (done, act) in acts.iter().enumerate() {
        screen.text(0, &shown(act), out)?;
        carry_out(&args.place, act).map_err(|why| {
            // The functions, which name the table, may be gone by then.
            let left: Vec<String> = acts.iter().skip(done).map(shown).collect();
            BadInput::one(format!("{why}\nThis is left to do:\n{}", left.join("\n")))
        })?;
    }
    screen.lines("Done. What you made before is yours: docs/uninstall.md, step 5.", out)?;
    Ok(true)
}

/// What there is, and whether a Karpenter provisions the cluster. What cannot be seen ends it: nothing is removed
/// on a guess.
fn look(place: &InstallationArgs, now: Timestamp) -> Answer<(Present, bool)> {
    let seen = gather::observed(place, now);
    let nodes =
        gather::kubectl(place, &["nodes", "--selector=karpenter.sh/nodepool", "--output=json"])?;
    let cluster = format!("Name=tag:eks:eks-cluster-name,Values={}", place.cluster);
    let words = [
        "ec2",
        "describe-launch-templates",
        "--filters",
        &cluster,
        "Name=tag-key,Values=karpenter.sh/nodepool",
    ];
    let templates = gather::aws(place, &words)?.unwrap_or_default();
    let templates = items(&templates, "/LaunchTemplates").iter();
    let profiles =
        gather::aws(place, &["iam", "list-instance-profiles", "--path-prefix", "/journeyman/"])?;
    let profiles = profiles.unwrap_or_default();
    // The path is /journeyman/REGION/CLUSTER/CLASS/.
    let is_ours = |profile: &&Value| {
        let mut parts = text(profile, "/Path").split('/').skip(2);
        let region = parts.next();
        let is_here = place.region.as_deref().is_none_or(|wanted| region == Some(wanted));
        is_here && parts.next() == Some(place.cluster.as_str())
    };
    let profiles = items(&profiles, "/InstanceProfiles").iter().filter(is_ours).map(|profile| {
        let roles = items(profile, "/Roles").iter().map(|role| text(role, "/RoleName").to_owned());
        (text(profile, "/InstanceProfileName").to_owned(), roles.collect())
    });
    let leases = seen.leases?;
    let present = Present {
        functions: seen.functions?,
        pools: seen.pools?,
        classes: seen.classes?,
        claims: seen.claims?,
        nodes: nodes.map(|nodes| items(&nodes, "/items").to_vec()).unwrap_or_default(),
        templates: templates.map(|t| text(t, "/LaunchTemplateId").to_owned()).collect(),
        profiles: profiles.collect(),
    };
    Ok((present, !steps::karpenters(&leases, now).is_empty()))
}

/// The command as a person would type it.
fn shown(act: &Act) -> String {
    let words = act.words.join(" ");
    match act.program {
        Program::Kubectl => format!("kubectl {words}"),
        Program::KubectlWith(manifests) => format!("journeyman {manifests} | kubectl {words}"),
        Program::Aws => format!("aws {words}"),
    }
}

fn carry_out(place: &InstallationArgs, act: &Act) -> Result<(), String> {
    let kubectl = || {
        let mut command = place.kubectl.command();
        command.args(&act.words);
        command
    };
    let (mut command, input) = match act.program {
        Program::Aws => (place.aws(&act.words), String::new()),
        Program::Kubectl => (kubectl(), String::new()),
        Program::KubectlWith("rbac") => (kubectl(), rbac::ROLES.to_owned()),
        Program::KubectlWith(_) => {
            (kubectl(), crds::files().into_iter().map(|(_, text)| text).collect())
        }
    };
    let said = given(&mut command, &input).map_err(|error| format!("{}: {error}", shown(act)))?;
    match said {
        None => Ok(()),
        Some(said) if gather::is_absent(&said) => Ok(()),
        Some(said) => Err(format!("{}: {}", shown(act), said.trim())),
    }
}

/// Runs `command` with `input`: nothing, or what it complained of.
fn given(command: &mut Command, input: &str) -> io::Result<Option<String>> {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = pipes.spawn()?;
    if let Some(mut pipe) = child.stdin.take()
        && let Err(error) = pipe.write_all(input.as_bytes())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return Err(error);
    }
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((!output.status.success()).then_some(said))
}

#[cfg(test)]
mod tests;
