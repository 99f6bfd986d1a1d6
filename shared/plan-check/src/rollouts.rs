//! Rollouts: what is replaced because it has drifted, while annotations of its EC2NodeClass limit that
//! (`docs/operations.md`, "Roll out a change to nodes").
//!
//! Nodes are compared by the hashes of NodePool and EC2NodeClass and by their image. The number of canaries is not judged
//! where nodes have drifted for another reason.

mod canaries;
mod health;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommandId, DeletionReason, NodeClaim, NodeClaimName, NodePoolName, Plan,
    disruption::{Command, DisruptionReason, Progress},
    labels,
    rollout::{Halt, Rollout},
};

use crate::{Violation, world::World};
use canaries::{Fleet, Wanted};

/// A claim that goes because it has drifted, and the command that replaces it, if one does.
type Begun<'a> = (&'a NodeClaim, Option<&'a CommandId>);

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    canary_annotations(world, plan, violations);
    if world.facts.class_rollouts.is_empty() {
        return;
    }
    let mut taken: BTreeMap<&NodePoolName, usize> = BTreeMap::new();
    for (claim, command) in begun(world, plan) {
        let Some(why) = forbidden(world, claim, &mut taken) else { continue };
        violations.push(match command {
            Some(command) => Violation::Command {
                command: command.clone(),
                why: format!("{}: {why}", claim.name),
            },
            None => Violation::Deleted {
                claim: claim.name.clone(),
                reason: DeletionReason::Disrupted(DisruptionReason::Drifted),
                why,
            },
        });
    }
}

/// What `plan` begins to move because it has drifted. What the ledger replaces already is not begun.
fn begun<'a>(world: &World<'a>, plan: &'a Plan) -> Vec<Begun<'a>> {
    let stored = |name: &NodeClaimName| world.facts.ledger.claims.get(name);
    let commands = plan.started.iter().filter(|(_, command)| is_for_drift(command));
    let replaced = commands.flat_map(|(id, command)| {
        command.candidates.iter().filter_map(move |name| Some((stored(name)?, Some(id))))
    });
    let deleted = plan.changes.iter().filter_map(|change| {
        let reason = DeletionReason::Disrupted(DisruptionReason::Drifted);
        let is_drift = change.deletion.as_ref().is_some_and(|deletion| deletion.reason == reason);
        let claim = stored(&change.name)?;
        let is_news = !claim.is_deleting() && !world.is_being_replaced(&claim.name);
        (is_drift && is_news).then_some((claim, None))
    });
    replaced.chain(deleted).collect()
}

/// Whether `command` replaces drifted nodes now.
fn is_for_drift(command: &Command) -> bool {
    command.is_under_way() && command.method.reason() == DisruptionReason::Drifted
}

/// What speaks against moving `claim`, beside `taken` others of each NodePool. It is counted there.
fn forbidden<'a>(
    world: &World<'a>,
    claim: &'a NodeClaim,
    taken: &mut BTreeMap<&'a NodePoolName, usize>,
) -> Option<String> {
    let pool = world.pools.get(&claim.node_pool)?;
    let class = &pool.template.node_class;
    let rollout = match world.facts.class_rollouts.get(class)?.read() {
        Ok(rollout) => rollout,
        Err(why) => return Some(format!("EC2NodeClass {class} has an invalid {why}")),
    };
    if let Some(freeze) = rollout.frozen_by(world.facts.now) {
        return Some(format!("EC2NodeClass {class} is frozen by `{}`", freeze.text));
    }
    let wanted = Wanted::of(world, claim, pool);
    if canaries::leads_back(world, claim, &wanted) {
        return None;
    }
    if let Some(halt) = halt(world, claim, &wanted) {
        return Some(format!("the rollout of EC2NodeClass {class} is halted: {}", halt.why));
    }
    let taken = taken.entry(&claim.node_pool).or_default();
    *taken += 1;
    too_many(world, (claim, &wanted), &rollout, *taken)
}

/// The halt of the ledger that forbids to move `claim` to what is `wanted`.
fn halt<'a>(world: &World<'a>, claim: &NodeClaim, wanted: &Wanted<'_>) -> Option<&'a Halt> {
    let settings = world.facts.class_rollouts.get(wanted.class)?.digest();
    world.facts.ledger.halts().find(|halt| {
        let target = &halt.target;
        let is_same = target.node_class == *wanted.class
            && target.class_hash.as_deref() == wanted.class_hash
            && target.image.as_ref() == wanted.image
            && halt.settings == settings;
        let is_of_pool = target.node_pool == claim.node_pool
            && target.pool_hash.as_deref() == wanted.pool_hash.map(|stored| stored.hash);
        // Another NodePool is held by what nodes have of the EC2NodeClass.
        let is_of_class = target.node_pool != claim.node_pool
            && (wanted.differs_in_class(claim) || wanted.differs_in_image(claim));
        is_same && (is_of_pool || is_of_class)
    })
}

/// Why the `taken`th node that moves now is one too many, if so.
fn too_many(
    world: &World<'_>,
    (claim, wanted): (&NodeClaim, &Wanted<'_>),
    rollout: &Rollout,
    taken: usize,
) -> Option<String> {
    if !wanted.differs(claim) {
        return None;
    }
    let fleet = Fleet::of(world, claim, rollout)?;
    let group = fleet.groups.get(&wanted.image)?;
    if group.new.len() <= fleet.most
        && let Some(why) = health::worse(world, &group.new, &group.old)
    {
        return Some(format!("canaries are not healthy: {why}"));
    }
    if fleet.may_have_passed(world, group, rollout.bake_time) {
        return None;
    }
    let (open, most) = (fleet.open(world, rollout.bake_time), fleet.most);
    (most < open + taken).then(|| {
        let (pool, canaries) = (&claim.node_pool, open + taken);
        format!(
            "NodePool {pool} would have {canaries} canaries, and {most} {} allowed",
            if most == 1 { "is" } else { "are" }
        )
    })
}

/// Only what replaces drifted nodes starts from an image that is not accepted, and only if that is not halted.
fn canary_annotations(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let launched = plan.started.values().filter(|command| is_for_drift(command));
    let launched: BTreeSet<&NodeClaimName> = launched.flat_map(launching).collect();
    for claim in plan.new_claims.iter().map(|new| &new.claim) {
        if !claim.annotations.contains_key(labels::CANARY) {
            continue;
        }
        let class = &claim.node_class;
        let images = world.facts.class_candidates.get(class);
        let mut images = images.into_iter().flat_map(BTreeMap::values);
        let why = if !launched.contains(&claim.name) {
            "it replaces no drifted node"
        } else if images.all(|image| world.facts.is_halted(class, image)) {
            "no AMI of its EC2NodeClass waits for canaries"
        } else {
            continue;
        };
        let (claim, why) = (claim.name.clone(), why.to_owned());
        violations.push(Violation::ClaimStates { claim, what: labels::CANARY, why });
    }
}

fn launching(command: &Command) -> &[NodeClaimName] {
    if let Progress::Launching { claims, .. } = &command.progress { claims } else { &[] }
}
