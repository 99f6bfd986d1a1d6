//! The answer for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Write},
};

use model::{
    NodeName,
    disruption::{Method, Replacement},
    plan::Target,
};
use planner::disruption::{Destination, Objection, Proposal, Thorough};

use super::Found;
use crate::output::{count, dollars};

/// Hours of a month, as AWS reckons.
const HOURS_PER_MONTH: u64 = 730;
/// Instance types that a line names.
const TYPES_SHOWN: usize = 4;

/// What would go, what would come, what that saves, and why every other node stays.
pub(super) fn show(outlook: &Found<'_>, out: &mut impl Write) -> io::Result<()> {
    if let Some(waiting) = &outlook.outlook.waiting {
        writeln!(out, "Nothing is given up: {waiting}.")?;
    }
    match outlook.outlook.first() {
        Some(first) => writeln!(out, "First acts {first}.")?,
        None => writeln!(out, "Nothing would be given up.")?,
    }
    for (method, answer) in &outlook.outlook.answers {
        if let Some(proposal) = &answer.proposal {
            show_proposal(method.as_str(), proposal, out)?;
        }
        if let Some((proposal, voided)) = &answer.voided {
            let names: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
            writeln!(out, "\n{method}: {} would not hold: {voided}", names.join(", "))?;
        }
        if let Some(error) = &answer.error {
            writeln!(out, "\n{method}: {error}")?;
        }
    }
    if let Some(thorough) = &outlook.thorough {
        show_thorough(thorough, out)?;
    }
    let remarks = remarks(outlook);
    if !remarks.is_empty() {
        writeln!(out, "\nStays:")?;
    }
    for (node, reasons) in remarks {
        writeln!(out, "  {node}: {}", reasons.join("; "))?;
    }
    Ok(())
}

fn show_proposal(title: &str, proposal: &Proposal, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{title}:")?;
    for disrupted in &proposal.disrupted {
        let price = dollars(disrupted.price.0.into());
        writeln!(
            out,
            "  goes   {} ({}, {price}/h): {}",
            disrupted.node, disrupted.node_pool, disrupted.reason
        )?;
    }
    for replacement in &proposal.command.replacements {
        writeln!(out, "  comes  {}", in_words(replacement))?;
    }
    let (before, after) = (proposal.price_before.0, proposal.price_after.0);
    let pods = count(u64::try_from(proposal.moves.len()).unwrap_or(u64::MAX), "pod");
    if let Some(more) = after.checked_sub(before).filter(|more| *more > 0) {
        writeln!(out, "  costs  {} more per month; {pods} move", per_month(more))?;
    } else {
        writeln!(out, "  saves  {} per month; {pods} move", per_month(before - after))?;
    }
    for (to, pods) in destinations(proposal) {
        writeln!(out, "  moves  {pods} to {to}")?;
    }
    Ok(())
}

fn per_month(nanos: u64) -> String {
    dollars(u128::from(nanos) * u128::from(HOURS_PER_MONTH))
}

fn in_words(replacement: &Replacement) -> String {
    let pool = &replacement.node_pool;
    let Some((key, price)) = &replacement.cheapest else {
        return format!("one node of {pool}, made from the pool alone");
    };
    let (shown, instance_types) =
        (replacement.instance_types.iter().take(TYPES_SHOWN), &replacement.instance_types);
    let mut names: Vec<String> = shown.map(ToString::to_string).collect();
    if TYPES_SHOWN < instance_types.len() {
        names.push(format!("{} more", instance_types.len() - TYPES_SHOWN));
    }
    let price = dollars(price.0.into());
    format!("one node of {pool} ({}): {key} at {price}/h or dearer", names.join(", "))
}

fn destinations(proposal: &Proposal) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, u64> = BTreeMap::new();
    for pod_move in &proposal.moves {
        let to = match &pod_move.to {
            Destination::Existing(Target::Node(node)) => node.to_string(),
            Destination::Existing(Target::Claim(claim)) => claim.to_string(),
            Destination::Replacement(_) => "the new node".to_owned(),
        };
        *texts.entry(to).or_default() += 1;
    }
    texts.into_iter().map(|(to, pods)| (to, count(pods, "pod"))).collect()
}

fn show_thorough(thorough: &Thorough, out: &mut impl Write) -> io::Result<()> {
    let examined = count(thorough.examined, "what-if");
    match &thorough.proposal {
        Some(proposal) => {
            show_proposal("thorough search", proposal, out)?;
            let more = proposal.saving().0.saturating_sub(thorough.compatible_saving.0);
            let more = per_month(more);
            writeln!(out, "  that is {more} per month beyond Karpenter's choice; {examined}")?;
        }
        None => writeln!(out, "\nthorough search: nothing better; {examined}")?,
    }
    if thorough.left.is_some() {
        writeln!(out, "  not everything was looked at: the search stopped at its limit of work")?;
    }
    Ok(())
}

/// Every node that no command names, and why it stays: one reason for all methods, or what each of
/// them says.
pub(super) fn remarks<'a>(found: &'a Found<'_>) -> BTreeMap<&'a str, Vec<String>> {
    let outlook = &found.outlook;
    let proposals = outlook.answers.values().filter_map(|answer| answer.proposal.as_ref());
    let going: BTreeSet<&str> = proposals.flat_map(Proposal::nodes).map(NodeName::as_str).collect();
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (node, reason) in &outlook.ineligible {
        texts.insert(node, vec![reason.to_string()]);
    }
    for node in found.facts.nodes.keys().map(NodeName::as_str) {
        if !going.contains(node) && !texts.contains_key(node) {
            texts.insert(node, said(found, node));
        }
    }
    texts
}

/// What a method says about a node that it leaves alone.
#[derive(PartialEq, Eq)]
enum Remark<'a> {
    /// What stands against giving it up.
    Objection(&'a Objection),
    /// The method gives up others, this one first.
    After(&'a NodeName),
}

impl fmt::Display for Remark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objection(objection) => objection.fmt(f),
            Self::After(first) => write!(f, "{first} goes first"),
        }
    }
}

/// What the methods say about a node, those that say the same together.
fn said(outlook: &Found<'_>, node: &str) -> Vec<String> {
    let mut by_reason: Vec<(Remark<'_>, Vec<Method>)> = Vec::new();
    for (method, answer) in &outlook.outlook.answers {
        let note = answer.notes.iter().find(|(name, _)| name.as_str() == node);
        let goes_first = || answer.proposal.as_ref()?.nodes().next().map(Remark::After);
        let Some(reason) = note.map(|(_, why)| Remark::Objection(why)).or_else(goes_first) else {
            continue;
        };
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, methods)) => methods.push(*method),
            None => by_reason.push((reason, vec![*method])),
        }
    }
    let shown = |(reason, methods): (Remark<'_>, Vec<Method>)| {
        let names: Vec<&str> = methods.into_iter().map(Method::as_str).collect();
        format!("{}: {reason}", names.join(", "))
    };
    by_reason.into_iter().map(shown).collect()
}

/// Everything about one node.
pub(super) fn explain(found: &Found<'_>, node: &str, out: &mut impl Write) -> io::Result<()> {
    let outlook = &found.outlook;
    if let Some(reason) = outlook.ineligible.get(node) {
        return writeln!(out, "{node} stays: {reason}");
    }
    if !found.facts.nodes.keys().any(|name| name.as_str() == node) {
        return writeln!(out, "{node} is not there");
    }
    for (method, answer) in &outlook.answers {
        let named = |proposal: &&Proposal| proposal.nodes().any(|name| name.as_str() == node);
        if let Some(proposal) = answer.proposal.as_ref().filter(named) {
            let disrupted = proposal.disrupted.iter().find(|node_of| node_of.node.as_str() == node);
            let reason = disrupted.map(|node_of| node_of.reason.as_str()).unwrap_or_default();
            writeln!(out, "{node} goes by {method}: {reason}")?;
            for pod_move in proposal.moves.iter().filter(|step| step.from.as_str() == node) {
                let to = match &pod_move.to {
                    Destination::Existing(Target::Node(node)) => node.to_string(),
                    Destination::Existing(Target::Claim(claim)) => claim.to_string(),
                    Destination::Replacement(_) => "a new node".to_owned(),
                };
                writeln!(out, "  {} goes to {to}", pod_move.pod)?;
            }
        }
    }
    for reason in said(found, node) {
        writeln!(out, "{node} stays for {reason}")?;
    }
    Ok(())
}
