//! Checkers: what must never be so, and what must not stay so.
//!
//! They look at the world from outside and share no code with what they judge.

mod disruption;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, InstanceType, NodeClaim, NodePoolName, Pod, PodSpec, Requirements, Resources,
    duration::later, node_pool::NodePool, taint::untolerated,
};

use crate::{account::InstanceRecord, ledger::ClusterLedger, world::World};

/// An instance may be without a claim for so long: the next visits find and end it.
const UNCLAIMED_GRACE: SignedDuration = SignedDuration::from_mins(10);
/// Whatever a claim waits for is over after so long.
const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(30);
/// A node may outlive its instance by so long.
const GHOST_GRACE: SignedDuration = SignedDuration::from_mins(10);
/// A NodeClaim object may be so late: two sweeps, and whatever befalls the first.
const SHOWN_GRACE: SignedDuration = SignedDuration::from_mins(3);
/// A pod may wait so long.
const PENDING_GRACE: SignedDuration = SignedDuration::from_mins(10);

impl World {
    pub(crate) fn check_safety(&mut self) -> Vec<String> {
        if self.violations.is_empty() && self.now < self.next_scan {
            return Vec::new();
        }
        self.next_scan = later(self.now, SignedDuration::from_secs(30));
        let mut violations = self.violations.clone();
        violations.extend(self.unclaimed_instances());
        violations.extend(self.overfull_reservations());
        violations
    }

    /// Instances that no claim names and no launch will, but for those of other NodeClaims and those that EC2
    /// does not let end.
    fn unclaimed_instances(&self) -> Vec<String> {
        let records = self.account.instances.values().filter(|record| record.is_live());
        let unclaimed = records.filter(|record| {
            // What ran before the story is found by the first sweeps, however old it is.
            let since = self.ledger.disturbed_at.unwrap_or(self.settings.start);
            later(since.max(record.launched_at), UNCLAIMED_GRACE) < self.now
                && self.ledger.claim_of(&record.id).is_none()
                && !self.ledger.is_batch_open(&record.token)
                && !self.account.protected.contains(&record.id)
                && !self.is_foreign(&record.id)
        });
        let words = |record: &InstanceRecord| {
            format!("instance {} of batch {} has no claim", record.id, record.token)
        };
        unclaimed.map(words).collect()
    }

    /// Why evicting `pod` breaks its protection, if it does.
    ///
    /// A protected pod may be asked to leave when its grace period would reach beyond the time at
    /// which its node is ended whatever runs on it.
    pub(crate) fn protected_eviction(&self, pod: &Pod) -> Option<String> {
        if !pod.is_protected(self.now) {
            return None;
        }
        let node = self.cluster.nodes.get(pod.node.as_ref()?)?;
        let claim = self.ledger.claim_of(&node.instance);
        let deadline = claim.and_then(|claim| claim.deletion.as_ref()?.deadline);
        let grace = i64::from(pod.spec.termination_grace_seconds);
        let leaves_by = later(self.now, SignedDuration::from_secs(grace));
        if deadline.is_some_and(|deadline| deadline <= leaves_by) {
            return None;
        }
        Some(format!("protected pod {} was evicted before its deadline", pod.key))
    }

    /// Which limit of `pool` its instances exceed, if any. Disks are left out: they come from the
    /// class, not from the instance type. So are instances of claims that are being deleted: while a node is drained
    /// another may take its share.
    ///
    /// Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, where nodes that are marked for deletion
    /// take nothing of what is left.
    pub(crate) fn exceeded_limit(&self, pool: &NodePoolName) -> Option<String> {
        let limits = &self.cluster.node_pools.get(pool)?.limits;
        let (used, nodes) = self.pool_usage(pool);
        let problem = limits.exceeded_by(&used, nodes)?;
        Some(format!("NodePool {pool}: {problem}"))
    }

    fn pool_usage(&self, pool: &NodePoolName) -> (Resources, u64) {
        let records = self.account.instances.values().filter(|record| record.is_live());
        let is_deleted = |record: &&InstanceRecord| {
            self.ledger.claim_of(&record.id).is_some_and(|claim| claim.is_deleting())
        };
        let counted = records
            .filter(|record| record.node_pool().as_ref() == Some(pool) && !is_deleted(record));
        counted.fold((Resources::default(), 0), |(sum, nodes), record| {
            let mut capacity = record.capacity.clone();
            capacity.ephemeral_storage = model::Bytes(0);
            (sum.saturating_add(&capacity), nodes + 1)
        })
    }

    pub(crate) fn check_liveness(&self) -> Vec<String> {
        let mut problems = self.violations.clone();
        problems.extend(self.waiting_pods());
        problems.extend(self.stuck_claims());
        problems.extend(self.unclaimed_instances());
        problems.extend(self.ghost_nodes());
        problems
    }

    fn waiting_pods(&self) -> Vec<String> {
        let is_over = |since: Timestamp| later(since, PENDING_GRACE) < self.now;
        let pods = self.cluster.pods.values().map(|entry| &entry.pod);
        let waiting = pods.filter(|pod| {
            let is_waiting = pod.node.is_none() || pod.phase == model::pod::PodPhase::Pending;
            is_waiting && !pod.is_owned_by_daemon_set() && is_over(pod.created_at)
        });
        let unplaced = waiting.filter(|pod| pod.node.is_some() || self.is_placeable(&pod.spec));
        unplaced.map(|pod| format!("pod {} still waits", pod.key)).collect()
    }

    /// Whether some pool could still launch a node for a pod without ResourceClaims, roughly: one instance type with an
    /// offering in stock that suits pool and pod, with room for the pod and every daemon, within the
    /// pool's limits.
    fn is_placeable(&self, spec: &PodSpec) -> bool {
        spec.problems.is_empty()
            && spec.claims.is_empty()
            && self.cluster.node_pools.values().any(|pool| self.is_placeable_by(spec, pool))
    }

    fn is_placeable_by(&self, spec: &PodSpec, pool: &NodePool) -> bool {
        let class = self.cluster.node_classes.get(&pool.template.node_class);
        let is_class_ready =
            class.is_some_and(|class| self.cluster.listed(class).not_ready.is_none());
        let hard = pool
            .template
            .taints
            .iter()
            .filter(|taint| taint.effect != model::TaintEffect::PreferNoSchedule);
        if !pool.is_usable() || !is_class_ready || !untolerated(hard, &spec.tolerations).is_empty()
        {
            return false;
        }
        let map = pool.template.labels.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let chain = map.chain([(model::labels::NODE_POOL, pool.name.as_str())]);
        let mut offered = Requirements::of_labels(chain);
        offered.add_all(&pool.template.requirements);
        let terms = spec.required_terms.len().max(1);
        (0..terms).any(|term| {
            let wanted = spec.requirements(term);
            let mut both = offered.clone();
            let is_compatible =
                offered.compatible(&wanted, model::requirements::Undefined::WellKnown).is_ok();
            both.add_all(&wanted);
            is_compatible
                && self.catalog.instance_types.iter().any(|t| self.can_launch(pool, t, &both, spec))
        })
    }

    fn can_launch(
        &self,
        pool: &NodePool,
        instance_type: &InstanceType,
        wanted: &Requirements,
        spec: &PodSpec,
    ) -> bool {
        let daemons = self.cluster.daemon_specs();
        let needed = daemons.fold(spec.requests.clone(), |sum, d| sum.saturating_add(&d.requests));
        // Disks come from the class.
        let fits = |mut needed: Resources| {
            needed.ephemeral_storage = model::Bytes(0);
            needed.fits_in(&instance_type.allocatable())
        };
        let (used, nodes) = self.pool_usage(&pool.name);
        let after = used.saturating_add(&instance_type.capacity);
        let is_in_stock = |offering: &&model::Offering| {
            offering.is_available
                && offering.is_compatible(wanted)
                && self.has_capacity(&instance_type.key_of(offering))
        };
        fits(needed)
            && instance_type.requirements.intersects(wanted).is_ok()
            && instance_type.offerings.iter().any(|offering| is_in_stock(&offering))
            && pool.limits.exceeded_by(&after, nodes + 1).is_none()
    }

    /// The ledger of the cluster whose functions run; `None` before they open it.
    fn own_ledger(&self) -> Option<&ClusterLedger> {
        self.ledger.clusters.get(&self.settings.cluster)
    }

    /// Claims that are where they do not belong for long. One that is being deleted may wait for pods
    /// that nothing may force.
    fn stuck_claims(&self) -> Vec<String> {
        let claims = self.own_ledger().into_iter().flat_map(|ledger| ledger.claims.values());
        let is_stuck = |claim: &&std::rc::Rc<NodeClaim>| {
            let is_late = later(claim.phase_since, STUCK_AFTER) < self.now;
            is_late && claim.phase != ClaimPhase::Initialized && !self.waits_for_pods(claim)
        };
        let stuck = claims.filter(is_stuck);
        stuck.map(|claim| format!("claim {} is still {}", claim.name, claim.phase)).collect()
    }

    fn waits_for_pods(&self, claim: &NodeClaim) -> bool {
        let node = claim.instance.as_ref().and_then(|instance| {
            let name = self.cluster.node_of_instance.get(&instance.id)?;
            self.cluster.nodes.get(name)
        });
        claim.is_deleting() && node.is_some_and(|node| !self.cluster.is_drained(&node.node.name))
    }

    /// Nodes whose instance is gone.
    fn ghost_nodes(&self) -> Vec<String> {
        let nodes = self.cluster.nodes.values();
        let ghosts = nodes.filter(|entry| {
            let record = self.account.instances.get(&entry.instance);
            record.is_none_or(|r| !r.is_live() && later(r.since(), GHOST_GRACE) < self.now)
        });
        ghosts.map(|entry| format!("node {} has no instance", entry.node.name)).collect()
    }

    /// Claims whose objects do not say how far they are, and objects without a claim.
    pub(crate) fn check_node_claims(&self) -> Vec<String> {
        let is_over = |since: Timestamp| later(since, SHOWN_GRACE) < self.now;
        let ledger = self.own_ledger();
        let mut problems: Vec<String> = ledger
            .into_iter()
            .flat_map(|ledger| ledger.claims.values())
            .filter(|claim| is_over(claim.phase_since))
            .filter_map(|claim| {
                let Some(object) = self.cluster.node_claims.get(&claim.name) else {
                    return (!claim.is_deleting())
                        .then(|| format!("claim {} is not shown", claim.name));
                };
                let phase = object.claim.as_ref().map(|shown| shown.phase);
                let is_right =
                    phase == Some(claim.phase) && (object.is_deleting || !claim.is_deleting());
                (!is_right).then(|| format!("claim {} is shown as {phase:?}", claim.name))
            })
            .collect();
        for (name, object) in &self.cluster.node_claims {
            let is_claimed = ledger.is_some_and(|ledger| ledger.claims.contains_key(name));
            if object.unclaimed_since.is_some_and(is_over) && !is_claimed {
                problems.push(format!("NodeClaim {name} shows a claim that is gone"));
            }
        }
        problems
    }
}
