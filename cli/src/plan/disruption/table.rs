//! The answer for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Write},
};

use jiff::Timestamp;
use model::{
    NodeClaimName, NodeName, NodePoolName,
    disruption::{DisruptionReason, Method, Replacement, VALIDATION_DELAY},
    node_pool::{BudgetNodes, NodePool},
    plan::Target,
};
use planner::{
    disruption::{Destination, Finding, Objection, Outlook, Proposal},
    foreseen::DisruptionStep,
};
use report::{
    output::{HOURS_PER_MONTH, count, dollars, many},
    screen::Screen,
};

use super::Found;
use crate::plan::args::View;

/// Instance types that a line names.
const TYPES_SHOWN: usize = 4;
/// Nodes that a line names.
const NODES_SHOWN: usize = 3;
/// Nodes that a line names for what they have in common.
const DRIFTED_SHOWN: usize = 10;

/// What would go, what would come, what that saves, and why every other node stays.
pub(super) fn show(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let outlook = &found.outlook;
    if let Some(waiting) = &outlook.waiting {
        screen.text(0, &format!("Nothing is given up: {waiting}."), out)?;
    }
    show_ahead(found, screen, out)?;
    screen.title(&headline(found), out)?;
    screen.text(0, whose(found.view), out)?;
    for (method, answer) in &outlook.answers {
        if let Some(proposal) = &answer.proposal {
            let is_first = found.proposal().is_some_and(|acting| acting.command.method == *method);
            let after = if is_first { "" } else { " (another time)" };
            show_proposal(&format!("{method}{after}"), proposal, screen, out)?;
        }
        if let Some((proposal, voided)) = &answer.voided {
            let names: Vec<&str> = proposal.nodes().map(NodeName::as_str).collect();
            writeln!(out)?;
            let when = if method.is_eventual() {
                "could not begin".to_owned()
            } else {
                let delay = model::duration::format_go(VALIDATION_DELAY);
                format!("would no longer stand when it is checked again, after {delay}")
            };
            let text = format!("{method}: {} {when}: {voided}", names.join(", "));
            screen.text(0, &text, out)?;
        }
        if let Some(error) = &answer.error {
            writeln!(out)?;
            screen.text(0, &format!("{method}: {error}"), out)?;
        }
    }
    if let Some(thorough) = &found.thorough {
        show_thorough(thorough, screen, out)?;
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

/// Whose decisions these are.
pub(super) const fn whose(view: View) -> &'static str {
    match view {
        View::Karpenter => {
            "As Karpenter decides, which manages these nodes (--view journeyman: as Journeyman would)."
        }
        View::Journeyman => "As the function `disrupt` decides.",
    }
}

/// What goes before a method is asked.
fn show_ahead(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    if found.ahead.is_empty() {
        return Ok(());
    }
    screen.title("First, whatever runs there", out)?;
    found.ahead.iter().try_for_each(|decision| screen.text(2, &decision.summary, out))?;
    writeln!(out)
}

/// `2 nodes would go and 1 come, by underutilized: saves $123 a month, 5 pods move ($24.60 for each)`
pub(super) fn headline(found: &Found<'_>) -> String {
    let Some(proposal) = found.proposal() else {
        let nothing = if found.ahead.is_empty() { "Nothing" } else { "Nothing else" };
        return format!("{nothing} would be given up");
    };
    let going = counted(proposal.nodes().count(), "node");
    let coming = match proposal.command.replacements.len() {
        0 => String::new(),
        number => format!(" and {} come", many(number)),
    };
    format!("{going} would go{coming}, by {}: {}", proposal.command.method, worth(proposal))
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
        return format!("what comes has no price yet, {moves}");
    }
    if before < after {
        return format!("costs {} more a month, {moves}", per_month(after - before));
    }
    let saved = before - after;
    let each = saved.checked_div(u64::try_from(proposal.moves.len()).unwrap_or(0));
    let each = each.map(|each| format!(" ({} for each)", per_month(each))).unwrap_or_default();
    format!("saves {} a month, {moves}{each}", per_month(saved))
}

fn counted(number: usize, noun: &str) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX), noun)
}

fn show_proposal(
    title: &str,
    proposal: &Proposal,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out)?;
    screen.title(&format!("{title}: {}", worth(proposal)), out)?;
    for disrupted in &proposal.disrupted {
        let price = dollars(disrupted.price.nanos().into());
        let (node, pool, reason) = (&disrupted.node, &disrupted.node_pool, &disrupted.reason);
        screen.text(2, &format!("goes   {node} ({pool}, {price}/h): {reason}"), out)?;
    }
    for replacement in &proposal.command.replacements {
        screen.text(2, &format!("comes  {}", in_words(replacement)), out)?;
    }
    for (to, pods) in destinations(proposal) {
        screen.text(2, &format!("moves  {pods} to {to}"), out)?;
    }
    Ok(())
}

/// What the function commits one after the other, where that is more than the first command.
fn show_next(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let lines = next_lines(found);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    screen.title("What `disrupt` does next, in this order", out)?;
    lines.iter().try_for_each(|line| screen.text(2, line, out))
}

/// A line for each of these steps; none where there is one step at most.
pub(super) fn next_lines(found: &Found<'_>) -> Vec<String> {
    if found.next.len() < 2 {
        return Vec::new();
    }
    let name = |name: &NodeClaimName| {
        let node = found.facts.ledger.claims.get(name).and_then(|claim| claim.node.as_ref());
        node.map_or_else(|| name.to_string(), ToString::to_string)
    };
    let line = |step: &DisruptionStep| {
        let names: Vec<String> = step.claims.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let comes: Vec<String> = step.replacements.iter().map(in_words).collect();
        let comes =
            if comes.is_empty() { comes } else { vec![format!(" → {}", comes.join(", "))] };
        format!("{}: {}{}", step.reason, named(&names, NODES_SHOWN), comes.concat())
    };
    found.next.iter().map(line).collect()
}

/// Nodes that have drifted, those with the same reason together, whether they may go now or not.
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
        screen.text(2, &format!("{reason}: {}", named(&nodes, DRIFTED_SHOWN)), out)?;
    }
    Ok(())
}

/// Nodes that stay, those with the same reasons together.
fn show_staying(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let groups = staying(found);
    if groups.is_empty() {
        return Ok(());
    }
    let staying: usize = groups.iter().map(|(_, nodes)| nodes.len()).sum();
    writeln!(out)?;
    let verb = if staying == 1 { "stays" } else { "stay" };
    screen
        .title(&format!("{} {verb} (--explain NODE says more)", counted(staying, "node")), out)?;
    for (reasons, nodes) in groups {
        screen.text(2, &named(&nodes, NODES_SHOWN), out)?;
        reasons.iter().try_for_each(|reason| screen.text(4, reason, out))?;
    }
    Ok(())
}

/// Reasons to stay and the nodes that have them, most nodes first.
pub(super) fn staying<'a>(found: &'a Found<'_>) -> Vec<(Vec<String>, Vec<&'a str>)> {
    let mut by_reasons: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for (node, mut reasons) in remarks(found) {
        if reasons.is_empty() {
            reasons.push("no method looks at it".to_owned());
        }
        by_reasons.entry(reasons).or_default().push(node);
    }
    let mut groups: Vec<_> = by_reasons.into_iter().collect();
    groups.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    groups
}

/// `a, b, c and 12 more`
pub(super) fn named(nodes: &[&str], most: usize) -> String {
    let first: Vec<&str> = nodes.iter().take(most).copied().collect();
    let more = match nodes.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {} more", many(more)),
    };
    format!("{}{more}", first.join(", "))
}

/// How many nodes of each NodePool with nodes may go now, and until when where none may.
fn show_budgets(found: &Found<'_>, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let lines = budget_lines(found);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    screen.title("What the budgets allow now", out)?;
    lines.iter().try_for_each(|line| screen.text(2, line, out))
}

/// A line for each NodePool with nodes.
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
                let until = reasons.first().and_then(|reason| closed_until(pool, *reason, now));
                let until = until.map(|until| format!(", until {until}")).unwrap_or_default();
                format!("no node for {names}{until}")
            }
            u64::MAX => format!("any number for {names}"),
            number => format!("{} for {names}", count(number, "node")),
        }
    };
    by_number.into_iter().map(words).collect::<Vec<_>>().join("; ")
}

/// When the window ends of the budget of `pool` that allows no node for `reason`, if it has one.
fn closed_until(pool: &NodePool, reason: DisruptionReason, now: Timestamp) -> Option<Timestamp> {
    let closing = pool.disruption.budgets.iter().filter(|budget| {
        let is_meant = budget.reasons.is_empty() || budget.reasons.contains(&reason);
        is_meant && matches!(budget.nodes, BudgetNodes::Count(0) | BudgetNodes::Percent(0))
    });
    let ends = closing.filter_map(|budget| {
        let window = budget.window.as_ref()?;
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
    ends.max()
}

pub(super) fn per_month(nanos: u64) -> String {
    dollars(u128::from(nanos) * HOURS_PER_MONTH)
}

pub(super) fn in_words(replacement: &Replacement) -> String {
    let pool = &replacement.node_pool;
    let Some((key, price)) = &replacement.cheapest else {
        return format!("one node of {pool}, of the type that is launched then");
    };
    let (shown, instance_types) =
        (replacement.instance_types.iter().take(TYPES_SHOWN), &replacement.instance_types);
    let mut names: Vec<String> = shown.map(ToString::to_string).collect();
    if TYPES_SHOWN < instance_types.len() {
        names.push(format!("{} more", many(instance_types.len() - TYPES_SHOWN)));
    }
    let price = dollars(price.nanos().into());
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

fn show_thorough(thorough: &Finding, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let examined = count(thorough.examined, "what-if");
    if let Some(proposal) = &thorough.proposal {
        show_proposal("thorough search", proposal, screen, out)?;
        let more = proposal.saving().nanos().saturating_sub(thorough.compatible_saving.nanos());
        let more = per_month(more);
        let text = format!("that is {more} a month beyond Karpenter's choice; {examined}");
        screen.text(2, &text, out)?;
    } else {
        writeln!(out)?;
        screen.text(0, &format!("thorough search: nothing better; {examined}"), out)?;
    }
    if thorough.left.is_some() {
        let text = "not everything was looked at: the search stopped at its limit of work";
        screen.text(2, text, out)?;
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
            Self::Objection(objection) => f.write_str(&objection.in_full()),
            Self::After(first) => write!(f, "{first} goes first"),
        }
    }
}

/// What the methods say about a node, those that say the same together.
fn said(outlook: &Found<'_>, node: &str) -> Vec<String> {
    let mut by_reason: Vec<(Remark<'_>, Vec<Method>)> = Vec::new();
    for (method, answer) in &outlook.outlook.answers {
        let first = answer.proposal.as_ref().and_then(|proposal| proposal.nodes().next());
        let goes_first = || first.filter(|first| first.as_str() != node).map(Remark::After);
        let note = answer.notes.get(node).map(Remark::Objection);
        let Some(reason) = note.or_else(goes_first) else {
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

/// Everything about one node, which is there.
pub(super) fn explain(
    found: &Found<'_>,
    node: &str,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let outlook = &found.outlook;
    if let Some(reason) = outlook.ineligible.get(node) {
        return screen.text(0, &format!("{node} stays: {reason}"), out);
    }
    let mut goes = false;
    for (method, answer) in &outlook.answers {
        let named = |proposal: &&Proposal| proposal.nodes().any(|name| name.as_str() == node);
        let Some(proposal) = answer.proposal.as_ref().filter(named) else { continue };
        goes = true;
        let disrupted = proposal.disrupted.iter().find(|node_of| node_of.node.as_str() == node);
        let reason = disrupted.map(|node_of| node_of.reason.as_str()).unwrap_or_default();
        screen.text(0, &format!("{node} goes by {method}: {reason}"), out)?;
        for pod_move in proposal.moves.iter().filter(|step| step.from.as_str() == node) {
            let to = match &pod_move.to {
                Destination::Existing(Target::Node(node)) => node.to_string(),
                Destination::Existing(Target::Claim(claim)) => claim.to_string(),
                Destination::Replacement(_) => "a new node".to_owned(),
            };
            screen.text(2, &format!("{} goes to {to}", pod_move.pod), out)?;
        }
    }
    for reason in said(found, node) {
        // A node that goes by one method does not stay for what others say.
        let start = if goes { "not by" } else { "stays for" };
        screen.text(0, &format!("{node} {start} {reason}"), out)?;
    }
    Ok(())
}
