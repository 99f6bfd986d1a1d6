//! Commands: what is replaced is replaceable, within budgets, by what the plan promises; and goes only when
//! that is there (specification of disruption §4).

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClaimPhase, CommandId, NodeClaim, NodeClaimName, NodePoolName, Plan,
    disruption::{Command, DisruptionReason, Progress},
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
        let Progress::Launching { since, claims } = &command.progress else {
            if let Some(why) = plan.ended.contains(id).then_some("it is moved on and ended") {
                refuse(why.to_owned());
            }
            continue;
        };
        if *since != world.facts.now {
            refuse(format!("it launches since {since}, not now"));
        }
        if claims.is_empty() {
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
        let promised =
            |name: &NodeClaimName| plan.promises.iter().any(|promise| promise.claim.name == *name);
        for name in claims.iter().filter(|name| !promised(name)) {
            refuse(format!("its replacement {name} is not promised with it"));
        }
    }
    if let Some((id, _)) = plan.started.first_key_value().filter(|_| !expected.is_empty()) {
        let names = plan.promises.iter().map(|promise| &promise.claim.name);
        for name in names.filter(|name| !expected.contains(name)) {
            let why = format!("{name} is promised with it and replaces nothing");
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
        return Err("it is being given up already".to_owned());
    }
    let others = world.facts.ledger.commands.iter().filter(|(other, _)| *other != id);
    for (other, standing) in others {
        if standing.is_under_way() && standing.candidates.contains(name) {
            return Err(format!("command {other} replaces it"));
        }
    }
    match not_disruptable(world, claim, command.method.reason()) {
        None => Ok(claim),
        Some(why) => Err(why),
    }
}

/// Why the claim `name`, which is being replaced, may not go yet.
pub(crate) fn not_replaced(world: &World<'_>, plan: &Plan, name: &NodeClaimName) -> Option<String> {
    let commands = world.facts.ledger.commands.iter();
    let mut replacing = commands.filter(|(_, command)| command.candidates.contains(name));
    let ready = replacing.any(|(id, command)| {
        let Progress::Launching { claims, .. } = &command.progress else { return false };
        plan.ended.contains(id)
            && claims.iter().all(|claim| {
                let claim = world.facts.ledger.claims.get(claim);
                claim.is_some_and(|claim| claim.phase == ClaimPhase::Initialized)
            })
    });
    (!ready).then(|| "what replaces it is not ready, or its command is not ended".to_owned())
}
