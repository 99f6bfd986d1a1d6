//! Which nodes of a NodePool are canaries, and how many there may be.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{
    DeletionReason, ImageId, NodeClaim, NodeClassName,
    disruption::DisruptionReason,
    node_pool::{BudgetNodes, NodePool},
    rollout::Rollout,
    static_hash::{NODE_CLASS, NODE_POOL, StoredHash},
};

use crate::world::World;

/// What a node of a NodePool is to be.
pub(super) struct Wanted<'a> {
    pub(super) class: &'a NodeClassName,
    pub(super) pool_hash: Option<StoredHash<'a>>,
    pub(super) class_hash: Option<&'a str>,
    pub(super) image: Option<&'a ImageId>,
}

impl<'a> Wanted<'a> {
    /// What a node of the instance type of `claim` is to be.
    pub(super) fn of(world: &World<'a>, claim: &NodeClaim, pool: &'a NodePool) -> Self {
        let facts = world.facts;
        let class = &pool.template.node_class;
        let instance_type = claim.instance.as_ref().map(|instance| &instance.instance_type);
        let image = instance_type.and_then(|instance_type| {
            let candidates = facts.class_candidates.get(class);
            let candidate = candidates.and_then(|images| images.get(instance_type));
            let open = candidate.filter(|image| !facts.is_halted(class, image));
            open.or_else(|| facts.class_images.get(class)?.get(instance_type))
        });
        let class_hash = facts.class_hashes.as_ref().and_then(|hashes| hashes.get(class));
        let pool_hash = NODE_POOL.of(&pool.annotations);
        Self { class, pool_hash, class_hash: class_hash.map(String::as_str), image }
    }

    /// Whether `claim` has another hash or image. What is not known is not another.
    pub(super) fn differs(&self, claim: &NodeClaim) -> bool {
        let stored = NODE_POOL.of(&claim.annotations);
        let in_pool = self.pool_hash.zip(stored).and_then(|(wanted, hash)| wanted.differs(hash));
        in_pool == Some(true) || self.differs_in_class(claim) || self.differs_in_image(claim)
    }

    pub(super) fn differs_in_class(&self, claim: &NodeClaim) -> bool {
        self.class_hash.is_some_and(|hash| NODE_CLASS.differs(&claim.annotations, hash))
    }

    pub(super) fn differs_in_image(&self, claim: &NodeClaim) -> bool {
        claim.image().zip(self.image).is_some_and(|(image, wanted)| image != wanted)
    }
}

/// Whether `claim` is moved back to what is `wanted` from an image whose rollout is halted: that is no rollout.
pub(super) fn leads_back(world: &World<'_>, claim: &NodeClaim, wanted: &Wanted<'_>) -> bool {
    wanted.differs_in_image(claim)
        && claim.image().is_some_and(|image| world.facts.is_halted(wanted.class, image))
}

/// The nodes of a NodePool that are moved to one image, or, without images, to the same hashes.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub(super) old: Vec<&'a NodeClaim>,
    pub(super) new: Vec<&'a NodeClaim>,
    /// Drifted nodes that are being deleted.
    leaving: usize,
}

/// The nodes of one NodePool, by the image to which they are moved.
pub(super) struct Fleet<'a> {
    pub(super) groups: BTreeMap<Option<&'a ImageId>, Group<'a>>,
    /// The number of canaries that there may be.
    pub(super) most: usize,
}

impl<'a> Fleet<'a> {
    /// The nodes of the NodePool of `claim`; `None` if the rollout has no canaries.
    pub(super) fn of(world: &World<'a>, claim: &NodeClaim, rollout: &Rollout) -> Option<Self> {
        let canary = rollout.canary?;
        let pool = *world.pools.get(&claim.node_pool)?;
        let stored = world.facts.ledger.claims.values();
        let of_pool: Vec<&NodeClaim> =
            stored.filter(|other| other.node_pool == claim.node_pool).collect();
        let is_going = |claim: &NodeClaim| {
            let node = world.node_of.get(&claim.name);
            claim.is_deleting()
                || world.is_being_replaced(&claim.name)
                || node.is_some_and(|node| node.is_deleting)
        };
        let total = of_pool.iter().filter(|claim| !is_going(claim)).count();
        let mut groups: BTreeMap<Option<&ImageId>, Group<'a>> = BTreeMap::new();
        for claim in &of_pool {
            let wanted = Wanted::of(world, claim, pool);
            if wanted.differs(claim) && !leads_back(world, claim, &wanted) {
                let group = groups.entry(wanted.image).or_default();
                group.leaving += usize::from(is_deleted_for_drift(claim));
                if !is_going(claim) {
                    group.old.push(claim);
                }
            }
        }
        let stay = world.facts.ledger.claims.values().filter(|claim| !claim.is_deleting());
        for claim in stay.filter(|claim| is_of(world, claim, pool)) {
            let Some(of_claim) = world.pools.get(&claim.node_pool) else { continue };
            let is_moved = !Wanted::of(world, claim, of_claim).differs(claim);
            if !is_moved || has_drifted_otherwise(claim) {
                continue;
            }
            let image = claim.image();
            for (wanted, group) in &mut groups {
                if image.is_none() || wanted.is_none() || image == *wanted {
                    group.new.push(claim);
                }
            }
        }
        let most = match canary {
            BudgetNodes::Count(count) => usize::try_from(count).unwrap_or(usize::MAX),
            BudgetNodes::Percent(percent) => {
                total * usize::try_from(percent).unwrap_or(usize::MAX) / 100
            }
        };
        Some(Self { groups, most: most.max(1) })
    }

    /// Whether as many canaries of `group` as there may be were initialized before the bake time, and are ready. That
    /// is not enough, but without it none has passed.
    pub(super) fn may_have_passed(
        &self,
        world: &World<'_>,
        group: &Group<'_>,
        bake_time: SignedDuration,
    ) -> bool {
        let has_baked = |claim: &&&NodeClaim| {
            let since = claim.initialized_at();
            let is_over =
                since.is_some_and(|since| bake_time <= world.facts.now.duration_since(since));
            is_over && world.node_of.get(&claim.name).is_some_and(|node| node.is_ready)
        };
        let baked = group.new.iter().filter(has_baked).count();
        let moved: usize = self.groups.values().map(|group| group.new.len()).sum();
        self.most <= moved && 0 < baked && group.new.len().min(self.most) <= baked
    }

    /// The canaries that there are of groups whose canaries have not passed.
    pub(super) fn open(&self, world: &World<'_>, bake_time: SignedDuration) -> usize {
        let groups = self.groups.values();
        let open = groups.filter(|group| !self.may_have_passed(world, group, bake_time));
        open.map(|group| group.leaving + group.new.len()).sum()
    }
}

/// Whether `claim` is a canary of `pool`, if it is one: it came in the place of one of its nodes as the NodePool is now,
/// or is one of its nodes that came in the place of no other NodePool's.
fn is_of(world: &World<'_>, claim: &NodeClaim, pool: &NodePool) -> bool {
    let class_of = |name: &str| {
        let pool = world.facts.node_pools.iter().find(|pool| pool.name.as_str() == name);
        pool.map(|pool| &pool.template.node_class)
    };
    let class = class_of(claim.node_pool.as_str());
    let from = claim.moved_from().filter(|(from, _)| class.is_some() && class_of(from) == class);
    let Some((from, hash)) = from else { return claim.node_pool == pool.name };
    let stored = NODE_POOL.of(&pool.annotations).map(|stored| stored.hash);
    pool.name.as_str() == from && hash.zip(stored).is_none_or(|(hash, stored)| hash == stored)
}

fn is_deleted_for_drift(claim: &NodeClaim) -> bool {
    let drifted = DeletionReason::Disrupted(DisruptionReason::Drifted);
    claim.deletion.as_ref().is_some_and(|deletion| deletion.reason == drifted)
}

/// Whether its condition says that `claim` has drifted, for a reason that neither hash nor image shows.
fn has_drifted_otherwise(claim: &NodeClaim) -> bool {
    let compared = ["NodePoolDrifted", "NodeClassDrift", "AMIDrift"];
    claim.conditions.drifted.as_ref().is_some_and(|reason| !compared.contains(&reason.as_str()))
}
