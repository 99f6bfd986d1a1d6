//! `journeyman explain`: why a pod, a node, a NodeClaim or a NodePool is, or was, as it is.
//!
//! The answer comes from the records of decisions, so that it is there after the pod, the node and the claim
//! are gone. What a reason means comes from the pages in `docs`.

mod found;
mod html;
mod reason;
mod rollout;

use std::{io::Write, path::PathBuf};

use clap::ValueEnum;
use model::{
    PodKey,
    ledger::{Decision, DecisionKind, Rejected, Subject},
    words,
};
use planner::KnownTypes;
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    format::Format,
    json,
    output::{dollars, in_order, named},
    page,
    screen::Screen,
};
use serde_json::json;

use crate::{
    near,
    records::{self, Records, RecordsArgs},
};

pub(crate) use found::{Explained, explained};
pub use reason::explained_reasons;

/// Options of `explain`.
#[derive(Clone, Debug, clap::Args)]
pub struct ExplainArgs {
    /// Kind of object.
    #[arg(value_enum)]
    pub kind: ExplainedKind,
    /// Name, or its beginning. For pods also the name of a Deployment, or NAMESPACE/NAME. For nodes
    /// also the instance ID. `reason` without a name lists all reasons.
    pub name: Option<String>,
    /// Namespace of the pod.
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Where it is read from.
    #[command(flatten)]
    pub records: RecordsArgs,
    /// Maximum number of decisions to show, newest first.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub limit: usize,
    /// Output format; `wide` adds the limits and inputs of each decision.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::value_variants()), default_value_t)]
    pub output: Format,
    /// Write a report for the browser: decisions over time and the lifetime of each node. One file,
    /// no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// What can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplainedKind {
    /// Which node it was assigned to, or why it got none, and why it was moved.
    #[value(alias = "pods", alias = "po")]
    Pod,
    /// Why it was launched, and why it was disrupted or not.
    #[value(alias = "nodes", alias = "no")]
    Node,
    /// Like `node`, by the name of the NodeClaim.
    #[value(name = "nodeclaim", alias = "nodeclaims")]
    NodeClaim,
    /// Which nodes were launched for it or not, and which were terminated.
    #[value(name = "nodepool", alias = "nodepools")]
    NodePool,
    /// What the reason of a decision, event or condition means, or an alarm, and what to do. Needs
    /// no records.
    #[value(alias = "reasons", alias = "alarm", alias = "alarms")]
    Reason,
}

impl ExplainedKind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Pod => "pod",
            Self::Node => "node",
            Self::NodeClaim => "NodeClaim",
            Self::NodePool => "NodePool",
            Self::Reason => "reason",
        }
    }
}

/// Reads and prints.
pub fn run(args: &ExplainArgs, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
    if args.kind == ExplainedKind::Reason {
        return reason::run(args.name.as_deref(), args.output, (screen, out));
    }
    // The facts of a decision are read from the same place.
    let args = &ExplainArgs { records: args.records.found()?, ..args.clone() };
    show(&args.records.read()?, args, screen, out)
}

impl RunCommand for ExplainArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen.with_short_nodes(), &mut { out })?;
        Ok(true)
    }
}

/// Prints what `records` say.
///
/// # Errors
///
/// When nothing is known of what is asked for.
pub fn show(
    records: &Records,
    args: &ExplainArgs,
    screen: Screen,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let Some(name) = &args.name else {
        let what = args.kind.noun();
        return Err(BadInput::one(format!("explain {what}: name the {what}")).into());
    };
    let name = match args.kind {
        ExplainedKind::Pod if !name.contains('/') => format!("{}/{name}", args.namespace),
        _ => name.clone(),
    };
    let explained = explained(records, args.kind, &name);
    if !explained.is_unknown() {
        return one(records, args, &name, &explained, (screen, out));
    }
    let names = found::names_that_begin(records, args.kind, &name);
    match names.as_slice() {
        [] => {
            let noun = args.kind.noun();
            let read = words::counted(records.decisions.len(), "decision");
            let names = found::all_names(records, args.kind);
            let near = near::did_you_mean(&name, names.iter().map(String::as_str));
            let why = format!("nothing is known of {noun} {name} in {read}{near}");
            Err(CommandError::Refused(why))
        }
        [full] => {
            let explained = self::explained(records, args.kind, full);
            one(records, args, full, &explained, (screen, out))
        }
        names => several(records, args, names, (screen, out)),
    }
}

/// What is known of each of `names`, in a line each.
fn several(
    records: &Records,
    args: &ExplainArgs,
    names: &[String],
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    let states = names.iter().map(|name| (name, explained(records, args.kind, name).state));
    if args.output.is_document() {
        let named = |(name, state)| json!({"kind": args.kind.noun(), "name": name, "state": state});
        let items: Vec<_> = states.map(named).collect();
        return Ok(json::write(&json!({ "items": items }), args.output, out)?);
    }
    let noun = args.kind.noun();
    if args.output == Format::Name {
        return Ok(names.iter().try_for_each(|name| writeln!(out, "{}", entry(noun, name)))?);
    }
    let title =
        format!("{} match; give a full name for details", words::counted(names.len(), noun));
    screen.title(&title, out)?;
    for (name, state) in states.take(args.limit) {
        let first = state.into_iter().next().unwrap_or_default();
        screen.text(2, &format!("{name}: {first}"), out)?;
    }
    let hidden = names.len().saturating_sub(args.limit);
    if hidden > 0 {
        screen.text(2, &format!("and {hidden} more: --limit shows more"), out)?;
    }
    Ok(())
}

/// What is known of `name`.
fn one(
    records: &Records,
    args: &ExplainArgs,
    name: &str,
    explained: &Explained<'_>,
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    if let Some(path) = &args.html {
        page::write(&html::report(records, (args.kind, name), explained, args.limit), path)?;
    }
    let remedy = remedy(args, name, explained);
    match args.output {
        Format::Json | Format::Yaml => {
            let decisions = explained.decisions.iter().take(args.limit);
            let answer = json!({
                "kind": args.kind.noun(),
                "name": name,
                "state": explained.state,
                "remedy": remedy,
                "nodeClaims": explained.claims.iter().map(|c| records::claim(c)).collect::<Vec<_>>(),
                "decisions": decisions.map(|d| records::decision(d)).collect::<Vec<_>>(),
            });
            json::write(&answer, args.output, out)?;
        }
        Format::Name => writeln!(out, "{}", entry(args.kind.noun(), name))?,
        Format::Table | Format::Wide => {
            let (noun, is_wide) = (args.kind.noun(), args.output == Format::Wide);
            screen.title(&format!("{noun} {name}"), out)?;
            let state = explained.state.iter().chain(&remedy);
            state.into_iter().try_for_each(|line| screen.text(0, line, out))?;
            for decision in explained.decisions.iter().take(args.limit) {
                writeln!(out)?;
                told(decision, explained, is_wide, (screen, out))?;
            }
            remarks(records, explained, args.limit, (screen, out))?;
        }
    }
    Ok(())
}

/// How `-o name` shows a thing, as `get` does: `KIND/NAME`.
fn entry(noun: &str, name: &str) -> String {
    format!("{}/{name}", noun.to_lowercase())
}

/// What would let the pod called `name` be scheduled, which the newest decision about it refuses: worked out from the
/// facts of that decision, if they were kept.
fn remedy(args: &ExplainArgs, name: &str, explained: &Explained<'_>) -> Option<String> {
    if args.kind != ExplainedKind::Pod {
        return None;
    }
    let newest = explained.decisions.first().filter(|d| d.kind == DecisionKind::Refusal)?;
    let packed = args.records.facts(newest.origin.as_ref()?.recorded?).ok().flatten()?;
    let mut recorded = wire::recorded::decode(&packed).ok()?;
    let unplaced = &mut recorded.plan.unplaced;
    let place = unplaced.iter().position(|unplaced| unplaced.pod.to_string() == name)?;
    // If steps are too few for all, it is searched.
    unplaced.swap(0, place);
    let pod = unplaced.first()?.pod.clone();
    let types = KnownTypes::default();
    planner::remedies(&recorded.facts, &recorded.plan, &types, planner::STEPS_MAX)
        .of_pods
        .remove(&pod)
}

/// What the answer leaves out.
fn remarks(
    records: &Records,
    explained: &Explained<'_>,
    limit: usize,
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    let lines = left_out(records, explained, limit);
    if !lines.is_empty() {
        writeln!(out)?;
    }
    Ok(lines.iter().try_for_each(|line| screen.text(0, line, out))?)
}

/// What an answer with at most `limit` decisions leaves out, in sentences.
fn left_out(records: &Records, explained: &Explained<'_>, limit: usize) -> Vec<String> {
    let hidden = explained.decisions.len().saturating_sub(limit);
    let mut lines = Vec::new();
    if hidden > 0 {
        let hidden = words::counted(hidden, "older decision");
        lines.push(format!("{hidden} not shown: --limit shows more"));
    }
    if records.is_cut {
        lines.push("older decisions were not read: --records reads more".to_owned());
    }
    lines.extend(records.unreadable_in_words());
    lines
}

/// What `decision` rejected, with why: of what is explained, or all of it if none of it is.
fn not_chosen(decision: &Decision, explained: &Explained<'_>, is_wide: bool) -> Vec<String> {
    let about =
        |rejected: &&Rejected| rejected.what.as_ref().is_none_or(|what| explained.is_named(what));
    let is_of_it = decision.rejected.iter().any(|rejected| about(&rejected));
    let concerning = decision.rejected.iter().filter(|rejected| !is_of_it || about(rejected));
    let mut alike: Vec<(&Rejected, Vec<&str>)> = Vec::new();
    for rejected in concerning {
        let is_like =
            |first: &Rejected| (&first.why, first.reason) == (&rejected.why, rejected.reason);
        let names = rejected.what.as_deref();
        match alike.iter_mut().find(|(first, _)| is_like(first)) {
            Some((_, known)) => known.extend(names),
            None => alike.push((rejected, names.into_iter().collect())),
        }
    }
    let most = if is_wide { usize::MAX - 1 } else { NAMES_SHOWN };
    let line = |(rejected, names): (&Rejected, Vec<&str>)| {
        let (names, why) = (named(&in_order(names), most), &rejected.why);
        let about = if names.is_empty() { names } else { format!("{names}: ") };
        format!("{about}{why} ({})", rejected.reason.as_str())
    };
    alike.into_iter().map(line).collect()
}

/// Names of what was rejected for one reason that are shown.
const NAMES_SHOWN: usize = 3;

/// One decision, as far as it concerns what is explained.
fn told(
    decision: &Decision,
    explained: &Explained<'_>,
    is_wide: bool,
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    let seconds = |time: jiff::Timestamp| format!("{time:.0}");
    let title = format!("{}  {}", seconds(decision.at), decision.kind.as_str());
    screen.title(&title, out)?;
    screen.text(2, &decision.summary, out)?;
    let mut lines: Vec<String> = Vec::new();
    if decision.count > 1 {
        let (count, last) = (words::many(decision.count as usize), seconds(decision.last_at));
        lines.push(format!("decided {count} times, last at {last}"));
    }
    let concerned: Vec<&Subject> =
        decision.subjects.iter().filter(|subject| explained.is_about(subject)).collect();
    let shown = if concerned.is_empty() { decision.subjects.iter().collect() } else { concerned };
    let most = if is_wide { usize::MAX } else { SUBJECTS_SHOWN };
    lines.extend(shown.iter().take(most).map(|subject| in_words(subject, is_wide)));
    if most < shown.len() {
        lines.push(format!("and {} more", words::counted(shown.len() - most, "node")));
    }
    if let (Some(before), Some(after)) = (decision.price_before, decision.price_after) {
        let [before, after] = [before, after].map(|price| dollars(u128::from(price.nanos())));
        lines.push(format!("price: {before} an hour before, {after} after"));
    }
    let rejected = not_chosen(decision, explained, is_wide).into_iter();
    lines.extend(rejected.map(|rejected| format!("not chosen: {rejected}")));
    if is_wide {
        for bound in &decision.bounds {
            let left = bound.left.as_deref().unwrap_or("unbounded");
            lines.push(format!("limit: {} {}: {left}", bound.node_pool, bound.what));
        }
    }
    let by = match &decision.origin {
        Some(origin) if is_wide => format!(
            "by {} {}, facts {:016x}, ledger {}, delivery {}, id {}",
            decision.function,
            origin.version,
            origin.facts,
            origin.counters,
            origin.delivery,
            decision.short_id()
        ),
        _ => format!("by {}, id {}", decision.function, decision.short_id()),
    };
    lines.push(by);
    Ok(lines.iter().try_for_each(|line| screen.text(4, line, out))?)
}

/// Nodes of one decision that are shown.
const SUBJECTS_SHOWN: usize = 5;
/// Pods of one node that are shown.
const PODS_SHOWN: usize = 5;

/// `NodeClaim general-1-0, node ip-10-0-0-7 (m7g.large spot in us-west-2a, $0.0312 an hour): web/a, web/b`
fn in_words(subject: &Subject, is_wide: bool) -> String {
    let claim = subject.claim.as_ref().map(|claim| format!("NodeClaim {claim}"));
    let node = subject.node.as_ref().map(|node| format!("node {node}"));
    let instance = subject.instance.as_ref().map(|instance| format!("instance {instance}"));
    let names: Vec<String> = [claim, node, instance].into_iter().flatten().collect();
    let price = subject.price.map(|price| format!("{} an hour", dollars(price.nanos().into())));
    let offering = subject.offering.as_ref().map(|offering| {
        let (kind, zone) = (offering.capacity_type, &offering.zone);
        format!("{} {kind} in {zone}", offering.instance_type)
    });
    let what: Vec<String> = offering.into_iter().chain(price).collect();
    let what = if what.is_empty() { String::new() } else { format!(" ({})", what.join(", ")) };
    let most = if is_wide { usize::MAX } else { PODS_SHOWN };
    let mut pods: Vec<String> = subject.pods.iter().take(most).map(PodKey::to_string).collect();
    if most < subject.pods.len() {
        pods.push(format!("and {} more", words::counted(subject.pods.len() - most, "pod")));
    }
    let pods = if pods.is_empty() { String::new() } else { format!(": {}", pods.join(", ")) };
    format!("{}{what}{pods}", names.join(", "))
}
