//! Rollouts: which drifted nodes are replaced first, and when others follow, if annotations of the EC2NodeClass ask for
//! it. Canaries are found by what they are: nodes of a NodePool that look as the drifted ones are to look.
//!
//! ```text
//!   drifted nodes ──► canaries ──► initialized, healthy for the bake time ──► all others, within budgets
//!                        │
//!                        └ not healthy ──► halted: remembered in the ledger until class or NodePool is changed
//! ```

mod health;
mod images;

use std::{collections::BTreeMap, slice};

use jiff::Timestamp;
use model::{
    CommandId, Condition, ConditionKind, ConditionReason, DeletionReason, ImageId, NodeClaim,
    NodeClassName, NodePoolName, Plan,
    disruption::{Command, DisruptionReason, Method, Progress},
    duration::later,
    facts::Facts,
    ledger::Snapshot,
    node_class::NodeClass,
    node_pool::NodePool,
    rollout::{Halt, Rollout, RolloutTarget},
    static_hash::{NODE_CLASS, NODE_POOL},
};

use super::{candidate::Candidate, conditions, nodes::State, objection::Objection};
use crate::index::{
    id::{CandidateId, kind},
    table::Table,
};
use health::Health;
pub use images::{accepted_before, images_of_rollout};

/// The rollouts of a state, by EC2NodeClass and NodePool.
#[derive(Debug, Default)]
pub(crate) struct Rollouts<'a> {
    settings: BTreeMap<&'a NodeClassName, Result<Rollout, String>>,
    pools: BTreeMap<&'a NodePoolName, PoolRollout<'a>>,
}

/// The rollouts of one NodePool.
#[derive(Debug, Default)]
struct PoolRollout<'a> {
    /// Nodes that stay.
    total: usize,
    /// Canaries that there may be; `None` is no limit.
    most: Option<usize>,
    groups: BTreeMap<RolloutTarget, Group<'a>>,
}

/// Nodes that are moved to one target.
#[derive(Debug, Default)]
struct Group<'a> {
    /// Drifted nodes that stay.
    old: Vec<Health<'a>>,
    /// Drifted nodes that go without a replacement of their own.
    leaving: usize,
    /// Nodes that are moved already, or launched in the place of others.
    new: Vec<Health<'a>>,
    /// Of these, the ones that passed.
    proven: usize,
    /// Since when it is known that nodes have drifted, if no hash and no image distinguishes old and new nodes.
    since: Option<Timestamp>,
    /// When the bake time of all canaries is over, if all of them are ready and it is not.
    bake_ends: Option<Timestamp>,
    /// Why no other node is moved: canaries are not healthy.
    halt: Option<Halt>,
    /// Whether the ledger has that already.
    is_recorded: bool,
    /// Whether canaries passed, so that all other nodes follow.
    has_passed: bool,
}

impl<'a> Rollouts<'a> {
    /// What `state` says.
    pub(crate) fn of(state: &State<'a>) -> Self {
        let facts = state.facts;
        if facts.class_rollouts.is_empty() {
            return Self::default();
        }
        let read = facts.class_rollouts.iter().map(|(class, texts)| (class, texts.read()));
        let mut rollouts = Self { settings: read.collect(), pools: BTreeMap::new() };
        rollouts.add_old(state);
        rollouts.add_new(state);
        for (name, pool) in &mut rollouts.pools {
            let Some(Ok(rollout)) = state
                .pool(name.as_str())
                .and_then(|pool| rollouts.settings.get(&pool.template.node_class))
            else {
                continue;
            };
            pool.most = rollout.canaries(pool.total);
            judge(state, pool, rollout);
        }
        rollouts
    }

    /// The NodePool of `claim`, if it has a rollout with canaries.
    fn pool(&self, state: &State<'a>, claim: &NodeClaim) -> Option<&'a NodePool> {
        let pool = state.pool(claim.node_pool.as_str())?;
        let read = self.settings.get(&pool.template.node_class)?;
        read.as_ref().is_ok_and(|rollout| rollout.canary.is_some()).then_some(pool)
    }

    /// Adds the drifted nodes.
    fn add_old(&mut self, state: &State<'a>) {
        for entry in state.nodes.iter() {
            let Some(claim) = entry.claim else { continue };
            let Some(pool) = self.pool(state, claim) else { continue };
            let of_pool = self.pools.entry(&pool.name).or_default();
            of_pool.total += usize::from(!entry.is_marked_for_deletion());
            if leads_back(state, claim, pool) {
                continue;
            }
            let Some((since, reason)) = conditions::drift(state, entry, pool) else { continue };
            let group = of_pool.groups.entry(wanted(state, claim, pool)).or_default();
            if is_leaving(claim) {
                group.leaving += 1;
            }
            if entry.is_marked_for_deletion() {
                continue;
            }
            let is_shown = conditions::IN_HASHES_AND_IMAGE.contains(&reason.as_str());
            let noted = claim.conditions.drifted_since.map(|_| since);
            let since = (!is_shown).then(|| noted.unwrap_or(state.now));
            group.since = match (group.old.is_empty(), group.since, since) {
                (true, _, since) => since,
                (false, Some(first), Some(since)) => Some(first.min(since)),
                (false, ..) => None,
            };
            group.old.push(Health::of(entry, claim, state.now));
        }
    }

    /// Adds the nodes that look as the drifted ones are to look.
    fn add_new(&mut self, state: &State<'a>) {
        for entry in state.nodes.iter() {
            let Some(claim) = entry.claim.filter(|claim| !claim.is_deleting()) else { continue };
            let Some(pool) = self.pool(state, claim) else { continue };
            if conditions::drift(state, entry, pool).is_some()
                || conditions::has_other_hash(claim, pool)
                || conditions::has_other_class_hash(state, claim, pool)
            {
                continue;
            }
            let image = claim.image();
            // What came in the place of a node of another NodePool is a canary of that one, and not of its own.
            let from = claim.moved_from().and_then(|(name, hash)| {
                let from = state.pool(name)?;
                (from.template.node_class == pool.template.node_class).then_some((from, hash))
            });
            let (of, hash) = from.unwrap_or((pool, None));
            let Some(of_pool) = self.pools.get_mut(&of.name) else { continue };
            for (target, group) in &mut of_pool.groups {
                let is_image = is_same_or_unknown(image, target.image.as_ref());
                // It came for an earlier change of that NodePool.
                let is_hash = is_same_or_unknown(hash, target.pool_hash.as_deref());
                let is_recent = group.since.is_none_or(|since| since <= claim.created_at);
                if is_image && is_hash && is_recent {
                    group.new.push(Health::of(entry, claim, state.now));
                }
            }
        }
    }

    /// Why the drifted node `candidate` is not replaced now, if so.
    pub(crate) fn objection(
        &self,
        state: &State<'a>,
        candidate: &Candidate<'a>,
    ) -> Option<Objection> {
        let class = &candidate.pool.template.node_class;
        let rollout = match self.settings.get(class)? {
            Ok(rollout) => rollout,
            Err(why) => return Some(Objection::UnreadableRollout(class.clone(), why.clone())),
        };
        if let Some(freeze) = rollout.frozen_by(state.now) {
            let (text, ends) = (freeze.text.clone(), freeze.ends(state.now));
            return Some(Objection::Frozen { class: class.clone(), text, ends });
        }
        let (pool, group) = self.group_of(state, candidate)?;
        if let Some(halt) = &group.halt {
            return Some(Objection::RolloutHalted(class.clone(), halt.why.clone()));
        }
        let is_open = group.has_passed || pool.room().is_none_or(|room| 0 < room);
        (!is_open).then(|| group.awaits_canaries(class))
    }

    /// Those of `ids` that may be replaced together, in their order; the others get a note.
    pub(crate) fn within(
        &self,
        state: &State<'a>,
        candidates: &Table<kind::Candidate, Candidate<'a>>,
        ids: Vec<CandidateId>,
        notes: &mut BTreeMap<CandidateId, Objection>,
    ) -> Vec<CandidateId> {
        let mut taken: BTreeMap<&NodePoolName, usize> = BTreeMap::new();
        let mut within = Vec::new();
        for id in ids {
            let candidate = &candidates[id];
            let objection = self.objection(state, candidate).or_else(|| {
                let (room, group) = self.room_for(state, candidate)?;
                let taken = taken.entry(&candidate.pool.name).or_default();
                *taken += 1;
                let class = &candidate.pool.template.node_class;
                (room < *taken).then(|| group.awaits_canaries(class))
            });
            match objection {
                None => within.push(id),
                Some(objection) => drop(notes.insert(id, objection)),
            }
        }
        within
    }

    /// The rollout that moves `candidate`; `None` if it is moved back, or by no rollout.
    fn group_of(
        &self,
        state: &State<'a>,
        candidate: &Candidate<'a>,
    ) -> Option<(&PoolRollout<'a>, &Group<'a>)> {
        if leads_back(state, candidate.claim, candidate.pool) {
            return None;
        }
        let pool = self.pools.get(&candidate.pool.name)?;
        Some((pool, pool.groups.get(&wanted(state, candidate.claim, candidate.pool))?))
    }

    /// How many nodes of the NodePool of `candidate` may be moved before canaries have passed, and those that are; `None`
    /// if they have, or there is no limit.
    fn room_for(
        &self,
        state: &State<'a>,
        candidate: &Candidate<'a>,
    ) -> Option<(usize, &Group<'a>)> {
        let (pool, group) = self.group_of(state, candidate)?;
        pool.room().filter(|_| !group.has_passed).map(|room| (room, group))
    }

    /// Puts into `plan` the halts that are new, and ends those that are over.
    pub(crate) fn note(&self, state: &State<'a>, plan: &mut Plan) {
        for pool in self.pools.values() {
            for group in pool.groups.values().filter(|group| !group.is_recorded) {
                let Some(halt) = &group.halt else { continue };
                let command = Command {
                    method: Method::Drift,
                    found_at: state.now,
                    candidates: group.new.iter().map(|node| node.claim.name.clone()).collect(),
                    replacements: Vec::new(),
                    drain: None,
                    progress: Progress::Halted(halt.clone()),
                };
                plan.started.insert(CommandId::halting(&CommandId::derived(&command)), command);
            }
        }
        self.accept(state, plan);
        let facts = state.facts;
        let over = facts.ledger.commands.iter().filter(|(_, command)| match &command.progress {
            Progress::Halted(halt) => is_over(facts, halt),
            Progress::Accepted(accepted) => images::is_written(facts, accepted),
            _ => false,
        });
        plan.ended.extend(over.map(|(id, _)| id.clone()));
    }
}

impl Group<'_> {
    /// That other nodes of `class` wait for these canaries.
    fn awaits_canaries(&self, class: &NodeClassName) -> Objection {
        Objection::AwaitsCanaries { class: class.clone(), bake_ends: self.bake_ends }
    }
}

impl PoolRollout<'_> {
    /// How many nodes more may be moved before canaries have passed; `None` is any number.
    fn room(&self) -> Option<usize> {
        let open = self.groups.values().filter(|group| !group.has_passed);
        let touched: usize = open.map(|group| group.leaving + group.new.len()).sum();
        Some(self.most?.saturating_sub(touched))
    }
}

/// Says of each group of `pool` whether its canaries passed, or are not healthy.
fn judge(state: &State<'_>, pool: &mut PoolRollout<'_>, rollout: &Rollout) {
    let moved: usize = pool.groups.values().map(|group| group.new.len()).sum();
    let most = pool.most.unwrap_or(usize::MAX);
    for (target, group) in &mut pool.groups {
        let Group { old, new, .. } = group;
        let failure = health::failure(new, old);
        let has_baked = |node: &&Health<'_>| {
            node.ready_since.is_some_and(|since| later(since, rollout.bake_time) <= state.now)
        };
        let works = |node: &&Health<'_>| health::failure(slice::from_ref(*node), old).is_none();
        let ready = new.iter().filter(works).filter_map(|node| node.ready_since);
        let mut ends: Vec<Timestamp> = ready.map(|since| later(since, rollout.bake_time)).collect();
        ends.sort_unstable();
        let last = new.len().min(most).checked_sub(1).and_then(|last| ends.get(last));
        group.bake_ends = last.copied().filter(|ends| state.now < *ends);
        // More would change nothing.
        group.proven = new.iter().filter(has_baked).filter(works).take(most).count();
        let is_enough = 0 < group.proven && new.len().min(most) <= group.proven;
        // Once canaries passed, others may fail as nodes do.
        group.has_passed = most <= moved && is_enough && (failure.is_none() || most < new.len());
        let recorded = recorded_halt(state, target, old);
        group.is_recorded = recorded.is_some();
        let settings = state.facts.class_rollouts.get(&target.node_class);
        let fresh = failure.filter(|_| !group.has_passed).zip(settings).map(|(why, texts)| Halt {
            target: target.clone(),
            settings: texts.digest(),
            why,
        });
        group.halt = recorded.or(fresh);
    }
}

/// The halt in the ledger that is about `target`, to which the nodes `old` are to be moved: of its NodePool, or of
/// another one with the same EC2NodeClass and image if these are what the nodes differ in.
fn recorded_halt(state: &State<'_>, target: &RolloutTarget, old: &[Health<'_>]) -> Option<Halt> {
    let settings = state.facts.class_rollouts.get(&target.node_class)?.digest();
    let is_of_class = |Health { claim, .. }: &Health<'_>| {
        let hash = target.class_hash.as_ref();
        hash.is_some_and(|hash| NODE_CLASS.differs(&claim.annotations, hash))
            || claim
                .image()
                .zip(target.image.as_ref())
                .is_some_and(|(image, wanted)| image != wanted)
    };
    let mut halts = state.facts.ledger.halts();
    let halt = halts.find(|halt| {
        let other = &halt.target;
        let is_same = other.node_class == target.node_class
            && other.class_hash == target.class_hash
            && other.image == target.image
            && halt.settings == settings;
        let is_about = if other.node_pool == target.node_pool {
            other.pool_hash == target.pool_hash
        } else {
            old.iter().any(is_of_class)
        };
        is_same && is_about
    });
    halt.cloned()
}

/// The condition `RolloutHalted` of `class`, if it has that: drifted nodes are not replaced.
#[must_use]
pub fn rollout_condition(class: &NodeClass, ledger: &Snapshot) -> Option<Condition> {
    let annotations = class.rollout.as_ref()?;
    let settings = annotations.digest();
    let is_about = |halt: &&Halt| halt.target.node_class == class.name && halt.settings == settings;
    let (reason, message) = match (annotations.read(), ledger.halts().find(is_about)) {
        (Err(why), _) => (ConditionReason::InvalidRollout, why),
        (Ok(_), Some(halt)) => {
            (ConditionReason::CanariesUnhealthy, format!("{}: {}", halt.target, halt.why))
        }
        (Ok(_), None) => return None,
    };
    let halted = Condition::holds(ConditionKind::RolloutHalted);
    Some(Condition { reason, message, ..halted })
}

/// Whether the EC2NodeClass, the NodePool or the settings are others than those that `halt` is about. What is not known
/// is not another.
fn is_over(facts: &Facts, halt: &Halt) -> bool {
    let target = &halt.target;
    let class = &target.node_class;
    let is_read = facts.classes.as_ref().is_some_and(|classes| classes.contains_key(class));
    if !is_read {
        let is_named = |pool: &NodePool| pool.template.node_class == *class;
        return facts.classes.is_some() && !facts.node_pools.iter().any(is_named);
    }
    if facts.class_rollouts.get(class).is_none_or(|texts| texts.digest() != halt.settings) {
        return true;
    }
    let differs = |known: Option<&str>, then: Option<&str>| {
        known.zip(then).is_some_and(|(known, then)| known != then)
    };
    let hash = facts.class_hashes.as_ref().and_then(|hashes| hashes.get(class));
    let pool = facts.node_pools.iter().find(|pool| pool.name == target.node_pool);
    let pool_hash = pool.and_then(|pool| NODE_POOL.of(&pool.annotations));
    let is_image = |image: &ImageId| {
        let images = facts.class_images.get(class).filter(|images| !images.is_empty());
        let candidates = facts.class_candidates.get(class);
        let mut candidates = candidates.into_iter().flat_map(|images| images.values());
        images.is_none_or(|images| images.values().any(|known| known == image))
            || candidates.any(|known| known == image)
    };
    differs(hash.map(String::as_str), target.class_hash.as_deref())
        || differs(pool_hash.map(|stored| stored.hash), target.pool_hash.as_deref())
        || !target.image.as_ref().is_none_or(is_image)
}

/// Whether `claim` of `pool` is moved back from an image whose rollout is halted. The way back has no canaries, and
/// nothing halts it.
fn leads_back(state: &State<'_>, claim: &NodeClaim, pool: &NodePool) -> bool {
    claim.image().is_some_and(|image| {
        state.facts.is_halted(&claim.node_class, image)
            && conditions::wanted_image(state, claim, pool).is_some_and(|wanted| wanted != image)
    })
}

/// What `claim` of `pool` is moved to.
fn wanted(state: &State<'_>, claim: &NodeClaim, pool: &NodePool) -> RolloutTarget {
    let node_class = pool.template.node_class.clone();
    let hashes = state.facts.class_hashes.as_ref();
    RolloutTarget {
        pool_hash: NODE_POOL.of(&pool.annotations).map(|stored| stored.hash.to_owned()),
        class_hash: hashes.and_then(|hashes| hashes.get(&node_class)).cloned(),
        image: conditions::wanted_image(state, claim, pool).cloned(),
        node_pool: pool.name.clone(),
        node_class,
    }
}

fn is_same_or_unknown<T: PartialEq>(stored: Option<T>, wanted: Option<T>) -> bool {
    stored.zip(wanted).is_none_or(|(stored, wanted)| stored == wanted)
}

/// Whether `claim` is deleted because it has drifted.
fn is_leaving(claim: &NodeClaim) -> bool {
    let drifted = DeletionReason::Disrupted(DisruptionReason::Drifted);
    claim.deletion.as_ref().is_some_and(|deletion| deletion.reason == drifted)
}
