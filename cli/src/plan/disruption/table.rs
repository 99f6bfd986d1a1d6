//! The answer for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use jiff::Timestamp;
use model::{
    NodeClaimName, NodeName, NodePoolName,
    disruption::{DisruptionReason, Replacement, VALIDATION_DELAY},
    node_pool::{BudgetNodes, NodePool},
    plan::Target,
};
use planner::disruption::{Destination, Disrupted, Finding, Outlook, Proposal};
use planner::foreseen::DisruptionStep;
use report::{
    output::{HOURS_PER_MONTH, count, dollars, in_order, many, named},
    screen::Screen,
};

use super::{Found, moves, staying, staying::disrupted};
use crate::{plan::args::View, validate};

/// NodeClaims that are deleted before a method is asked, and that have a line.
const AHEAD_SHOWN: usize = 10;
/// Nodes that a line names.
const NODES_SHOWN: usize = 3;
/// Nodes that a line names for what they have in common.
const DRIFTED_SHOWN: usize = 10;

/// What would be disrupted and launched, what that saves, and why every other node is not disrupted.
pub(super) fn show(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let outlook = &found.outlook;
    if let Some(waiting) = &outlook.waiting {
        screen.text(0, &format!("Nothing is disrupted: {waiting}."), out)?;
    }
    show_ahead(found, screen, out)?;
    screen.title(&headline(found), out)?;
    if let Some(proposal) = found.proposal() {
        show_commands(proposal, found, screen, out)?;
    }
    screen.text(0, whose(found.view), out)?;
    let disrupted = disrupted(found);
    let is_disrupted = |proposal: &Proposal| proposal.nodes().all(|node| disrupted.contains(node));
    for (method, answer) in &outlook.answers {
        if let Some(proposal) = &answer.proposal
            && !is_disrupted(proposal)
        {
            let title = format!("If nothing came first, {method}: {}", worth(proposal));
            show_proposal(&title, (proposal, found), screen, out)?;
        }
        if let Some((proposal, voided)) = &answer.voided {
            let names: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
            writeln!(out)?;
            let when = if method.is_eventual() {
                "cannot be disrupted now".to_owned()
            } else {
                let delay = model::duration::format_go(VALIDATION_DELAY);
                format!("would not pass the second check {delay} later")
            };
            let text = format!("{method}: {} {when}: {voided}", named(&names, NODES_SHOWN));
            screen.text(0, &text, out)?;
        }
        if let Some(error) = &answer.error {
            writeln!(out)?;
            screen.text(0, &format!("{method}: {error}"), out)?;
        }
    }
    if let Some(thorough) = &found.thorough {
        show_thorough(thorough, found, screen, out)?;
    }
    show_next(found, screen, out)?;
    show_drifted(outlook, screen, out)?;
    show_staying(found, screen, out)?;
    show_budgets(found, screen, out)?;
    if found.unknown.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    screen.title("Unknown", out)?;
    found.unknown.iter().try_for_each(|line| screen.text(2, line, out))
}

/// What people ask first: what is disrupted, and of how many nodes.
pub(super) fn answer(found: &Found<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(waiting) = &found.outlook.waiting {
        lines.push(format!("Nothing is disrupted: {waiting}."));
    }
    if !found.ahead.is_empty() {
        let claims = counted(found.ahead.len(), "NodeClaim");
        lines.push(format!("Disrupted first, regardless of their pods: {claims}"));
    }
    lines.push(headline(found));
    let (nodes, staying) = (found.facts.nodes.len(), staying::of(found).len());
    lines.push(format!("{} of {} not disrupted", many(staying), counted(nodes, "node")));
    lines
}

/// Whose decisions these are.
pub(super) const fn whose(view: View) -> &'static str {
    match view {
        View::Karpenter => {
            "As Karpenter decides, which manages these nodes (--view journeyman: as Journeyman would)."
        }
        View::Journeyman => "As the function `disrupt` decides.",
    }
}

/// What is disrupted before a method is asked.
fn show_ahead(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    if found.ahead.is_empty() {
        return Ok(());
    }
    screen.title("Disrupted first, regardless of their pods", out)?;
    let lines = found.ahead_lines();
    let (shown, more) = lines.split_at(lines.len().min(AHEAD_SHOWN));
    shown.iter().try_for_each(|line| screen.text(2, line, out))?;
    if !more.is_empty() {
        screen.text(2, &format!("and {}", counted(more.len(), "other NodeClaim")), out)?;
    }
    writeln!(out)
}

/// `single-node-consolidation disrupts 2 nodes and launches 1: saves $123 a month, 5 pods move`
pub(super) fn headline(found: &Found<'_>) -> String {
    let Some(proposal) = found.proposal() else {
        let nothing = if found.ahead.is_empty() { "Nothing" } else { "Nothing else" };
        return format!("{nothing} to disrupt");
    };
    let nodes = counted(proposal.nodes().count(), "node");
    let launched = match proposal.command.replacements.len() {
        0 => String::new(),
        number => format!(" and launches {}", many(number)),
    };
    let following = disrupted(found).into_iter();
    let more = following.filter(|node| proposal.nodes().all(|name| name != *node));
    let more = match more.count() {
        0 => String::new(),
        1 => "; 1 node follows".to_owned(),
        more => format!("; {} follow", counted(more, "node")),
    };
    let waits = found.waits_of(proposal).into_iter().filter_map(|(_, waits)| waits.at_most).max();
    let waits = waits.map(|at_most| {
        let at_most = model::duration::format_go(at_most);
        let whose = if proposal.nodes().count() == 1 { "its drain takes" } else { "drains take" };
        format!("; {whose} up to {at_most}, and until then nothing is saved")
    });
    format!(
        "{} disrupts {nodes}{launched}: {}{more}{}",
        proposal.command.method,
        worth(proposal),
        waits.unwrap_or_default()
    )
}

/// What `proposal` saves or costs, and how many pods it moves.
pub(super) fn worth(proposal: &Proposal) -> String {
    let (before, after) = (proposal.price_before.nanos(), proposal.price_after.nanos());
    let is_unpriced = |replacement: &Replacement| replacement.cheapest.is_none();
    let moves = match proposal.moves.len() {
        1 => "1 pod moves".to_owned(),
        number => format!("{} move", counted(number, "pod")),
    };
    if proposal.command.replacements.iter().any(is_unpriced) {
        return format!("the new node has no price yet, {moves}");
    }
    if before == after {
        return format!("costs the same, {moves}");
    }
    if before < after {
        return format!("costs {} more a month, {moves}", per_month(after - before));
    }
    format!("saves {} a month, {moves}", per_month(before - after))
}

fn counted(number: usize, noun: &str) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX), noun)
}

fn show_proposal(
    title: &str,
    (proposal, found): (&Proposal, &Found<'_>),
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out)?;
    screen.title(title, out)?;
    show_commands(proposal, found, screen, out)
}

/// What `proposal` disrupts, launches and moves. Nodes that are alike share a line.
fn show_commands(
    proposal: &Proposal,
    found: &Found<'_>,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut alike: Vec<(&Disrupted, Vec<&str>)> = Vec::new();
    for disrupted in &proposal.disrupted {
        let is_like = |first: &Disrupted| {
            (&first.node_pool, first.price, &first.reason)
                == (&disrupted.node_pool, disrupted.price, &disrupted.reason)
        };
        match alike.iter_mut().find(|(first, _)| is_like(first)) {
            Some((_, nodes)) => nodes.push(disrupted.node.as_str()),
            None => alike.push((disrupted, vec![disrupted.node.as_str()])),
        }
    }
    for (disrupted, nodes) in alike {
        let price = dollars(disrupted.price.nanos().into());
        let each = if nodes.len() == 1 { "" } else { " each" };
        let (pool, reason) = (&disrupted.node_pool, &disrupted.reason);
        let names = named(&in_order(nodes), NODES_SHOWN);
        let text = format!("disrupts  {names} ({pool}, {price} an hour{each}): {reason}");
        screen.text(2, &text, out)?;
    }
    let waits = found.waits_of(proposal);
    for (node, waits) in waits.iter().take(NODES_SHOWN) {
        screen.text(2, &format!("drains    {node}, which will wait{}", waits.in_words()), out)?;
    }
    if let Some(more @ 1..) = waits.len().checked_sub(NODES_SHOWN) {
        screen.text(2, &format!("drains    and {} that will wait", counted(more, "other")), out)?;
    }
    for replacement in &proposal.command.replacements {
        screen.text(2, &format!("launches  {}", in_words(replacement)), out)?;
    }
    let moved = moves::in_words(proposal, found.facts);
    moved.iter().try_for_each(|moved| screen.text(2, &format!("moves     {moved}"), out))
}

/// What `step` launches.
fn words(step: &DisruptionStep) -> String {
    step.replacements.iter().map(in_words).collect::<Vec<_>>().join(", ")
}

/// What the function commits one after the other, where that is more than the first command.
fn show_next(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    if found.next.len() < 2 {
        return Ok(());
    }
    writeln!(out)?;
    screen.title("What `disrupt` does next, in this order", out)?;
    next_lines(found).iter().try_for_each(|line| screen.text(2, line, out))
}

/// The next commits, in order.
pub(super) fn next_lines(found: &Found<'_>) -> Vec<String> {
    let name = |name: &NodeClaimName| {
        let node = found.facts.ledger.claims.get(name).and_then(|claim| claim.node.as_ref());
        node.map_or_else(|| name.to_string(), ToString::to_string)
    };
    // Commands that differ in their nodes alone share a line.
    let mut alike: Vec<(&DisruptionStep, Vec<String>, usize)> = Vec::new();
    for step in &found.next {
        let names = step.claims.iter().map(name);
        let is_like =
            |other: &DisruptionStep| (other.reason, words(other)) == (step.reason, words(step));
        match alike.last_mut().filter(|(first, ..)| is_like(first)) {
            Some((_, nodes, times)) => {
                nodes.extend(names);
                *times += 1;
            }
            None => alike.push((step, names.collect(), 1)),
        }
    }
    let line = |(step, nodes, times): (&DisruptionStep, Vec<String>, usize)| {
        let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
        let each = if times == 1 { "" } else { "each " };
        let launched = words(step);
        let launched =
            if launched.is_empty() { launched } else { format!(" → {each}{launched}") };
        format!("{}: {}{launched}", step.reason, named(&names, NODES_SHOWN))
    };
    alike.into_iter().map(line).collect()
}

/// Nodes that have drifted, those with the same reason together, whether they may be disrupted now or not.
fn show_drifted(outlook: &Outlook, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, reason) in &outlook.drifted {
        by_reason.entry(reason).or_default().push(node.as_str());
    }
    if by_reason.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let number = outlook.drifted.len();
    let verb = if number == 1 { "has" } else { "have" };
    screen.title(&format!("{} {verb} drifted", counted(number, "node")), out)?;
    for (reason, nodes) in by_reason {
        screen.text(2, &format!("{reason}: {}", named(&in_order(nodes), DRIFTED_SHOWN)), out)?;
    }
    Ok(())
}

/// Nodes that are not disrupted, those with the same reason together.
fn show_staying(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let staying = staying::of(found);
    if staying.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let verb = if staying.len() == 1 { "is" } else { "are" };
    let nodes = counted(staying.len(), "node");
    let title = format!("{nodes} {verb} not disrupted (--explain NODE: what each method says)");
    screen.title(&title, out)?;
    for group in staying::grouped(&staying) {
        let text = format!("{}: {}", named(&group.nodes, NODES_SHOWN), group.in_words());
        screen.text(2, &text, out)?;
    }
    Ok(())
}

/// How many nodes of each NodePool with nodes may go now, and until when where none may.
fn show_budgets(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let lines = budget_lines(found);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    screen.title("Disruptions that the budgets allow now", out)?;
    lines.iter().try_for_each(|line| screen.text(2, line, out))
}

/// What the budgets of the NodePools with NodeClaims allow now, a line for each NodePool.
pub(super) fn budget_lines(found: &Found<'_>) -> Vec<String> {
    let claims = found.facts.ledger.claims.values();
    let in_use: BTreeSet<&NodePoolName> = claims.map(|claim| &claim.node_pool).collect();
    let pools = found.facts.node_pools.iter().filter(|pool| in_use.contains(&pool.name));
    let line = |pool: &NodePool| {
        let left = found.outlook.budgets.get(&pool.name)?;
        Some(format!("{}: {}", pool.name, budgets_in_words(pool, left, found.facts.now)))
    };
    pools.filter_map(line).collect()
}

/// `no node for Drifted, until 2026-11-26T17:00:00Z; any number for Empty and Underutilized`
fn budgets_in_words(
    pool: &NodePool,
    left: &BTreeMap<DisruptionReason, Option<u64>>,
    now: Timestamp,
) -> String {
    if let Some(why) = pool.unreadable_budgets().next() {
        return format!("no node is disrupted: {why}");
    }
    let mut by_number: BTreeMap<u64, Vec<DisruptionReason>> = BTreeMap::new();
    for (reason, number) in left {
        by_number.entry(number.unwrap_or(u64::MAX)).or_default().push(*reason);
    }
    let words = |(number, reasons): (u64, Vec<DisruptionReason>)| {
        let names: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
        let names = names.join(", ");
        match number {
            0 => {
                let until = reasons.first().map(|reason| closed_until(pool, *reason, now));
                format!("no node for {names}{}", until.unwrap_or_default())
            }
            u64::MAX => format!("any number for {names}"),
            number => format!("{} for {names}", count(number, "node")),
        }
    };
    by_number.into_iter().map(words).collect::<Vec<_>>().join("; ")
}

/// When the window ends of the budget of `pool` that allows no node for `reason`, if it has one: `, until …`.
fn closed_until(pool: &NodePool, reason: DisruptionReason, now: Timestamp) -> String {
    let closing = pool.disruption.budgets.iter().filter(|budget| {
        let is_meant = budget.reasons.is_empty() || budget.reasons.contains(&reason);
        is_meant && matches!(budget.nodes, BudgetNodes::Count(0) | BudgetNodes::Percent(0))
    });
    let windows = closing.filter_map(|budget| budget.window.as_ref());
    if windows.clone().any(validate::is_endless) {
        return ", without end: the window of a budget opens again before it closes".to_owned();
    }
    let ends = windows.filter_map(|window| {
        let schedule = window.read_schedule().ok()?;
        let mut hit = schedule.next_after(now.checked_sub(window.duration).ok()?)?;
        if hit > now {
            return None;
        }
        while let Some(next) = schedule.next_after(hit).filter(|next| *next <= now) {
            hit = next;
        }
        hit.checked_add(window.duration).ok()
    });
    ends.max().map(|until| format!(", until {until}")).unwrap_or_default()
}

pub(super) fn per_month(nanos: u64) -> String {
    dollars(u128::from(nanos) * HOURS_PER_MONTH)
}

pub(super) fn in_words(replacement: &Replacement) -> String {
    let pool = &replacement.node_pool;
    let Some((key, price)) = &replacement.cheapest else {
        return format!("1 node of {pool}, of an instance type that is chosen then");
    };
    let others = match replacement.instance_types.len().saturating_sub(1) {
        0 => String::new(),
        1 => " (or 1 other instance type)".to_owned(),
        others => format!(" (or {} other instance types)", many(others)),
    };
    let price = dollars(price.nanos().into());
    format!("1 node of {pool}: {key} for {price} an hour{others}")
}

fn show_thorough(
    thorough: &Finding,
    found: &Found<'_>,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let examined = count(thorough.examined, "what-if");
    if let Some(proposal) = &thorough.proposal {
        let title = format!("thorough search: {}", worth(proposal));
        show_proposal(&title, (proposal, found), screen, out)?;
        let more = proposal.saving().nanos().saturating_sub(thorough.compatible_saving.nanos());
        let more = per_month(more);
        let text = format!("that is {more} a month beyond Karpenter's choice; {examined}");
        screen.text(2, &text, out)?;
    } else {
        writeln!(out)?;
        screen.text(0, &format!("thorough search: nothing better; {examined}"), out)?;
    }
    if thorough.left.is_some() {
        let text = "the search stopped at its limit of work before it had tried everything";
        screen.text(2, text, out)?;
    }
    Ok(())
}

/// Everything about one node, which is there.
pub(super) fn explain(
    found: &Found<'_>,
    node: &str,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let outlook = &found.outlook;
    let node_of = |claim: &NodeClaimName| found.facts.ledger.claims.get(claim)?.node.as_ref();
    for (decision, line) in found.ahead.iter().zip(found.ahead_lines()) {
        if decision.claims().filter_map(node_of).any(|name| name.as_str() == node) {
            return screen.text(0, &line, out);
        }
    }
    for (method, answer) in &outlook.answers {
        let named = |proposal: &&Proposal| proposal.nodes().any(|name| name.as_str() == node);
        let Some(proposal) = answer.proposal.as_ref().filter(named) else { continue };
        let is_now = found.proposal().is_some_and(|acting| acting.command.method == *method);
        let when = if is_now { "disrupts" } else { "would disrupt" };
        let disrupted = proposal.disrupted.iter().find(|node_of| node_of.node.as_str() == node);
        let reason = disrupted.map(|node_of| node_of.reason.as_str()).unwrap_or_default();
        screen.text(0, &format!("{method} {when} {node}: {reason}"), out)?;
        for pod_move in proposal.moves.iter().filter(|step| step.from.as_str() == node) {
            let to = match &pod_move.to {
                Destination::Existing(Target::Node(node)) => node.to_string(),
                Destination::Existing(Target::Claim(claim)) => claim.to_string(),
                Destination::Replacement(_) => "a new node".to_owned(),
            };
            screen.text(2, &format!("{} → {to}", pod_move.pod), out)?;
        }
    }
    let staying = staying::of(found);
    let stays = staying.iter().find(|stays| stays.node.as_str() == node);
    if let Some(stays) = stays {
        screen.text(0, &format!("{node} is not disrupted: {}", stays.reason), out)?;
    }
    let Some(name) = found.facts.nodes.keys().find(|name| name.as_str() == node) else {
        return Ok(());
    };
    if outlook.ineligible.contains_key(node) {
        // No method says more than that.
        return Ok(());
    }
    let reasons = staying::said(found, name);
    let mut lines = reasons.iter().map(|(method, reason)| format!("{method}: {reason}"));
    lines.try_for_each(|line| screen.text(2, &line, out))
}
