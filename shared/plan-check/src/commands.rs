//! Commands: what is replaced is replaceable, within budgets, by what the plan creates; and goes only when
//! that is there (specification of disruption §4).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    ClaimPhase, CommandId, NodeClaim, NodeClaimName, NodePoolName, Plan,
    claim::Reboot,
    disruption::{Command, DisruptionReason, Method, Progress},
    repair::{self, RepairAction},
};

use crate::{
    Violation,
    changes::{not_disruptable, takes_of_budget},
    world::World,
};

/// How many claims of a pool go for a reason.
type Disrupted<'a> = BTreeMap<(&'a NodePoolName, DisruptionReason), usize>;

pub(crate) fn check<'a>(
    world: &World<'a>,
    plan: &Plan,
    disrupted: &mut Disrupted<'a>,
    violations: &mut Vec<Violation>,
) {
    let mut seen: BTreeSet<&NodeClaimName> = BTreeSet::new();
    let mut expected: BTreeSet<&NodeClaimName> = BTreeSet::new();
    for (id, command) in &plan.started {
        let mut refuse =
            |why: String| violations.push(Violation::Command { command: id.clone(), why });
        let (since, claims) = match &command.progress {
            Progress::Launching { since, claims } => (since, claims.as_slice()),
            Progress::Rebooting { since } => (since, [].as_slice()),
            Progress::Found
            | Progress::RolledBack { .. }
            | Progress::Moved { .. }
            | Progress::Halted(_)
            | Progress::Accepted(_) => {
                if let Some(why) = plan.ended.contains(id).then_some("it is moved on and ended") {
                    refuse(why.to_owned());
                }
                continue;
            }
        };
        if *since != world.facts.now {
            refuse(format!("it launches since {since}, not now"));
        }
        if claims.is_empty() && !command.reboots() {
            refuse("it waits for no replacement".to_owned());
        }
        expected.extend(claims);
        for name in &command.candidates {
            if !seen.insert(name) {
                refuse(format!("{name} is replaced twice"));
            }
            match replaceable(world, (id, command), name) {
                Ok(claim) => {
                    let reason = command.method.reason();
                    let takes = usize::from(takes_of_budget(world, claim, reason));
                    *disrupted.entry((&claim.node_pool, reason)).or_default() += takes;
                }
                Err(why) => refuse(format!("{name}: {why}")),
            }
        }
        let created =
            |name: &NodeClaimName| plan.new_claims.iter().any(|new| new.claim.name == *name);
        for name in claims.iter().filter(|name| !created(name)) {
            refuse(format!("its replacement {name} is not created with it"));
        }
    }
    if let Some((id, _)) = plan.started.first_key_value().filter(|_| !expected.is_empty()) {
        let names = plan.new_claims.iter().map(|new| &new.claim.name);
        for name in names.filter(|name| !expected.contains(name)) {
            let why = format!("{name} is created with it and replaces nothing");
            violations.push(Violation::Command { command: id.clone(), why });
        }
    }
}

/// The claim `name`, if it may be replaced now.
fn replaceable<'a>(
    world: &World<'a>,
    (id, command): (&CommandId, &Command),
    name: &NodeClaimName,
) -> Result<&'a NodeClaim, String> {
    let Some(claim) = world.facts.ledger.claims.get(name) else {
        return Err("the ledger does not hold it".to_owned());
    };
    if claim.is_deleting() {
        return Err("it is being deleted already".to_owned());
    }
    let others = world.facts.ledger.commands.iter().filter(|(other, _)| *other != id);
    for (other, standing) in others {
        if standing.is_under_way() && standing.candidates.contains(name) {
            return Err(format!("command {other} replaces it"));
        }
    }
    let why_not = not_disruptable(world, claim, command.method.reason());
    match why_not.or_else(|| not_rebootable(world, command, claim)) {
        None => Ok(claim),
        Some(why) => Err(why),
    }
}

/// Why `command` may not reboot the claim, if it would: changes after 1.14.1, 4.3 and 4.4.
fn not_rebootable(world: &World<'_>, command: &Command, claim: &NodeClaim) -> Option<String> {
    if !command.reboots() {
        return None;
    }
    let now = world.facts.now;
    let node = world.node_of.get(&claim.name)?;
    let from = repair::counted_from(node.created_at, Some(claim));
    let due = repair::due(&node.ill_conditions, from, now);
    let is_enough = due.is_some_and(|due| due.action == RepairAction::Reboot);
    if command.method != Method::Repair || !world.facts.policies.reboot_for_repair {
        Some("no node is rebooted for that".to_owned())
    } else if !is_enough {
        Some("a reboot does not cure what it is ill with".to_owned())
    } else {
        let is_enough = claim.conditions.is_rebooted_enough(now);
        is_enough.then(|| "it was rebooted twice within a day".to_owned())
    }
}

/// Whether a reboot that began at `since` was waited for as long as it may take.
fn is_reboot_over(claim: &NodeClaim, since: Timestamp, now: Timestamp) -> bool {
    claim.conditions.reboot(since).is_some_and(|reboot| {
        let (from, within) = match reboot.issued_at {
            None => (reboot.drained_at, Reboot::ACCEPTED_WITHIN),
            Some(issued_at) => (issued_at, Reboot::BACK_WITHIN),
        };
        reboot.ended_at.is_none() && within <= now.duration_since(from)
    })
}

/// Why the claim `name`, which is being replaced, may not go yet.
pub(crate) fn not_replaced(world: &World<'_>, plan: &Plan, name: &NodeClaimName) -> Option<String> {
    let commands = world.facts.ledger.commands.iter();
    let mut replacing = commands.filter(|(_, command)| command.candidates.contains(name));
    let ready = replacing.any(|(id, command)| {
        let claims = match &command.progress {
            Progress::Launching { claims, .. } => claims,
            Progress::Rebooting { since } => {
                let stored = world.facts.ledger.claims.get(name);
                let now = world.facts.now;
                return plan.ended.contains(id)
                    && stored.is_some_and(|claim| is_reboot_over(claim, *since, now));
            }
            _ => return false,
        };
        plan.ended.contains(id)
            && claims.iter().all(|claim| {
                let claim = world.facts.ledger.claims.get(claim);
                claim.is_some_and(|claim| claim.phase == ClaimPhase::Initialized)
            })
    });
    (!ready).then(|| "what replaces it is not ready, or its command is not ended".to_owned())
}
