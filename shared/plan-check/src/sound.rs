//! What is left of a plan without what breaks a rule.

use std::collections::BTreeSet;

use model::{
    BatchId, CommandId, NodeClaimName, NodePoolName, Plan, PodKey,
    disruption::{Command, Progress},
    facts::Facts,
    plan::Target,
};

use crate::{Invalid, Violation, violations};

/// The part of `plan`, made from `facts`, that may be committed: without what `invalid` names, judged anew until
/// nothing is wrong. A batch is left out as a whole, and so is a command with what it deletes and launches. An error
/// where a violation names nothing that could be left out, and where nothing is left.
pub fn sound(facts: &Facts, mut plan: Plan, invalid: Invalid) -> Result<Plan, Invalid> {
    let (mut wrong, mut latest) = (Vec::new(), invalid.violations);
    while !latest.is_empty() {
        let before = size(&plan);
        leave_out(&mut plan, &latest);
        wrong.append(&mut latest);
        if size(&plan) == before || plan.is_empty() {
            return Err(Invalid { violations: wrong });
        }
        latest = violations(facts, &plan);
    }
    Ok(plan)
}

/// Grows with everything that can be left out.
fn size(plan: &Plan) -> usize {
    let pods = plan.placements.iter().map(|placement| placement.pods.len());
    pods.sum::<usize>()
        + plan.new_claims.len()
        + plan.changes.len()
        + plan.unplaced.len()
        + plan.started.len()
}

/// What violations name.
#[derive(Default)]
struct Named<'a> {
    pods: BTreeSet<&'a PodKey>,
    claims: BTreeSet<&'a NodeClaimName>,
    batches: BTreeSet<&'a BatchId>,
    commands: BTreeSet<&'a CommandId>,
    targets: BTreeSet<&'a Target>,
    /// Pools that would have more than they may, and those that would lose more.
    growing: BTreeSet<&'a NodePoolName>,
    shrinking: BTreeSet<&'a NodePoolName>,
    /// Too many claims are new, of no particular pool.
    new_claims: bool,
}

impl<'a> Named<'a> {
    fn note(&mut self, violation: &'a Violation) {
        use Violation as V;
        match violation {
            V::Parent { .. } | V::Cooling { .. } => {}
            V::PodUnknown(pod)
            | V::PodTwice(pod)
            | V::PodNeedsNoNode(pod)
            | V::PodUnsupported { pod, .. }
            | V::Taint { pod, .. }
            | V::Labels { pod, .. }
            | V::VolumeUnusable { pod, .. }
            | V::DevicesUnusable { pod, .. }
            | V::HostPort { pod, .. }
            | V::Spread { pod, .. }
            | V::Affinity { pod, .. } => drop(self.pods.insert(pod)),
            V::AntiAffinity { pod, other, .. } => self.pods.extend([pod, other]),
            V::Resources { pods, .. } | V::Attachments { pods, .. } | V::Devices { pods, .. } => {
                self.pods.extend(pods);
            }
            V::Target { target, .. } => drop(self.targets.insert(target)),
            V::ClaimTwice(claim)
            | V::ClaimExists(claim)
            | V::ClaimForNothing(claim)
            | V::ClaimNotNew { claim, .. }
            | V::ClaimUnlikePool { claim, .. }
            | V::ClaimStates { claim, .. }
            | V::NotALabel { claim, .. }
            | V::PoolUnusable { claim, .. }
            | V::ClassUnusable { claim, .. }
            | V::InstanceType { claim, .. }
            | V::InstanceTypes { claim, .. }
            | V::MinValues { claim, .. }
            | V::Cheapest { claim, .. }
            | V::NodeShare { claim, .. }
            | V::ChangeUnknown(claim)
            | V::ChangeTwice(claim)
            | V::ChangeVersion { claim, .. }
            | V::ChangeForbidden { claim, .. }
            | V::Deleted { claim, .. } => drop(self.claims.insert(claim)),
            V::Batch { batch, .. } => drop(self.batches.insert(batch)),
            V::Command { command, .. } => drop(self.commands.insert(command)),
            V::Limit { node_pool, .. } => drop(self.growing.insert(node_pool)),
            V::Replicas { node_pool, .. } => {
                self.growing.insert(node_pool);
                self.shrinking.insert(node_pool);
            }
            V::Budget { node_pool, .. } => drop(self.shrinking.insert(node_pool)),
            V::Reservation { .. } | V::TooManyClaims { .. } | V::Dollars { .. } => {
                self.new_claims = true;
            }
        }
    }

    /// The claims of `plan` that are left out: those that are named, and with each the rest of its batch and of its
    /// command.
    fn claims_of(&self, plan: &Plan) -> BTreeSet<NodeClaimName> {
        let is_named = |claim: &model::NodeClaim, pools: &BTreeSet<&NodePoolName>| {
            self.claims.contains(&claim.name) || pools.contains(&claim.node_pool)
        };
        let created = plan.new_claims.iter().map(|new| &new.claim).filter(|claim| {
            self.new_claims
                || is_named(claim, &self.growing)
                || self.batches.contains(&claim.batch)
                || claim.pods.iter().any(|pod| self.pods.contains(pod))
        });
        let changed = plan.changes.iter().filter(|claim| is_named(claim, &self.shrinking));
        let mut names: BTreeSet<NodeClaimName> =
            created.chain(changed).map(|claim| claim.name.clone()).collect();
        let commands = plan.started.iter().filter(|(id, _)| self.commands.contains(id));
        names.extend(commands.flat_map(|(_, command)| of_command(command)).cloned());
        loop {
            let before = names.len();
            let created = || plan.new_claims.iter().map(|new| &new.claim);
            let batches: BTreeSet<&BatchId> = created()
                .filter(|claim| names.contains(&claim.name))
                .map(|claim| &claim.batch)
                .collect();
            let its = created().filter(|claim| batches.contains(&claim.batch));
            let mut more: Vec<NodeClaimName> = its.map(|claim| claim.name.clone()).collect();
            let torn = plan.started.values().filter(|c| of_command(c).any(|n| names.contains(n)));
            more.extend(torn.flat_map(of_command).cloned());
            names.extend(more);
            if names.len() == before {
                return names;
            }
        }
    }
}

/// The claims that `command` deletes and launches.
fn of_command(command: &Command) -> impl Iterator<Item = &NodeClaimName> {
    let launched = match &command.progress {
        Progress::Launching { claims, .. } => claims.as_slice(),
        _ => &[],
    };
    command.candidates.iter().chain(launched)
}

fn leave_out(plan: &mut Plan, violations: &[Violation]) {
    let mut named = Named::default();
    for violation in violations {
        named.note(violation);
    }
    let claims = named.claims_of(plan);
    plan.new_claims.retain(|new| !claims.contains(&new.claim.name));
    plan.changes.retain(|claim| !claims.contains(&claim.name));
    plan.started.retain(|_, command| !of_command(command).any(|name| claims.contains(name)));
    plan.unplaced.retain(|unplaced| !named.pods.contains(&unplaced.pod));
    plan.placements.retain_mut(|placement| {
        placement.pods.retain(|pod| !named.pods.contains(pod));
        let is_left = match &placement.target {
            Target::Claim(name) => claims.contains(name),
            Target::Node(_) => false,
        };
        !is_left && !named.targets.contains(&placement.target) && !placement.pods.is_empty()
    });
    plan.decisions.retain_mut(|decision| {
        let had_claims = decision.subjects.iter().any(|subject| subject.claim.is_some());
        decision.subjects.retain(|s| s.claim.as_ref().is_none_or(|name| !claims.contains(name)));
        !had_claims || !decision.subjects.is_empty()
    });
}
