//! What the API server keeps of EC2NodeClasses and NodePools beside what their specs say: identity,
//! annotations, conditions.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/>,
//! <https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#metadata>

use std::collections::{BTreeMap, btree_map::Entry};

use jiff::Timestamp;
use model::{
    Condition, ConditionKind, ConditionReason, NodeClassName, NodePoolName,
    node_class::{NodeClass, NodeClassStatus, ObservedNodeClass},
    node_pool::{NodePool, NodePoolStatus, ObservedNodePool, TypeMatch},
    static_hash::NODE_POOL,
    wake::{HealthChange, WakeFinding, WakeHealth},
};
use ports::{Fault, PortError};

use super::{ClassStatusRecord, ClusterState};
use crate::Sim;

const WAKE_HEALTHY: ConditionKind = ConditionKind::WakeHealthy;

/// A condition as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRecord {
    /// `type`
    pub kind: ConditionKind,
    /// `status`; `None` is `Unknown`.
    pub status: Option<bool>,
    /// `reason`
    pub reason: ConditionReason,
    /// `message`
    pub message: String,
    /// `lastTransitionTime`: when its status became what it is.
    pub since: Timestamp,
}

impl ConditionRecord {
    pub(super) fn of(condition: &Condition, since: Timestamp) -> Self {
        let Condition { kind, status, reason, message } = condition.clone();
        Self { kind, status, reason, message, since }
    }

    /// The condition without its time.
    pub(crate) fn condition(&self) -> Condition {
        let Self { kind, status, reason, message, since: _ } = self.clone();
        Condition { kind, status, reason, message }
    }
}

/// What is kept of an EC2NodeClass or a NodePool beside its spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRecord {
    /// `metadata.uid`: another one for each namesake.
    pub uid: String,
    /// `metadata.generation`: how often its spec was written.
    pub generation: i64,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// How often anything of it was written: moves as `metadata.resourceVersion` does.
    pub writes: u64,
    /// `status.conditions`
    pub conditions: Vec<ConditionRecord>,
    /// `observedGeneration` of the conditions: the generation that a function looked at last; `None` is none yet.
    pub conditions_generation: Option<i64>,
}

impl ObjectRecord {
    fn new(uid: String) -> Self {
        let (annotations, conditions) = (BTreeMap::new(), Vec::new());
        let conditions_generation = None;
        Self { uid, generation: 1, annotations, writes: 1, conditions, conditions_generation }
    }

    /// Whether it still is the object and the spec that was seen.
    fn check(&self, uid: &str, generation: i64, operation: &'static str) -> Result<(), PortError> {
        if self.uid == uid && self.generation == generation {
            return Ok(());
        }
        Err(PortError::new(operation, Fault::Conflict))
    }

    /// Puts conditions in the place of their namesakes, whose time stands while their status does.
    /// Whether anything changed.
    pub(super) fn put(&mut self, conditions: Vec<ConditionRecord>) -> bool {
        let mut is_changed = false;
        for mut new in conditions {
            let known = self.conditions.iter_mut().find(|known| known.kind == new.kind);
            let Some(known) = known else {
                is_changed = true;
                self.conditions.push(new);
                continue;
            };
            if known.status == new.status {
                new.since = known.since;
            }
            is_changed |= *known != new;
            *known = new;
        }
        is_changed
    }

    /// The condition `WakeHealthy` of a NodePool.
    fn wake(&self) -> Option<WakeHealth> {
        let stored = self.conditions.iter().find(|stored| stored.kind == WAKE_HEALTHY)?;
        Some(WakeHealth::of(stored.status, stored.reason.as_str(), stored.since))
    }

    /// Whether `finding` changes the condition `WakeHealthy` at `now`.
    pub(crate) fn is_changed_by(&self, finding: &WakeFinding, now: Timestamp) -> bool {
        self.clone().put_wake(finding, now)
    }

    /// Changes the condition `WakeHealthy` as `finding` does at `now`. Whether anything changed.
    fn put_wake(&mut self, finding: &WakeFinding, now: Timestamp) -> bool {
        match finding.change(self.wake().as_ref(), now) {
            HealthChange::Is(condition) => self.put(vec![ConditionRecord::of(&condition, now)]),
            HealthChange::Stays => false,
            HealthChange::Removed => {
                let before = self.conditions.len();
                self.conditions.retain(|stored| stored.kind != WAKE_HEALTHY);
                self.conditions.len() < before
            }
        }
    }

    /// Sets annotations, and removes those that are `None`. Whether anything changed.
    fn annotate(
        &mut self,
        annotations: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> bool {
        let before = self.annotations.clone();
        for (key, value) in annotations {
            match value {
                Some(value) => drop(self.annotations.insert(key, value)),
                None => drop(self.annotations.remove(&key)),
            }
        }
        self.annotations != before
    }
}

/// The records of one kind.
#[derive(Debug)]
pub(crate) struct Records<N> {
    records: BTreeMap<N, ObjectRecord>,
    /// How often an object of this name was made.
    made: BTreeMap<N, u32>,
}

impl<N> Default for Records<N> {
    fn default() -> Self {
        Self { records: BTreeMap::new(), made: BTreeMap::new() }
    }
}

impl<N: Clone + Ord + std::fmt::Display> Records<N> {
    pub(crate) fn get(&self, name: &N) -> Option<&ObjectRecord> {
        self.records.get(name)
    }

    /// The object called `name`, for a write by `operation` to the object and the spec that were seen.
    pub(super) fn seen(
        &mut self,
        name: &N,
        (uid, generation): (&str, i64),
        operation: &'static str,
    ) -> Result<&mut ObjectRecord, PortError> {
        let missing = || PortError::new(operation, Fault::NotFound);
        let record = self.records.get_mut(name).ok_or_else(missing)?;
        record.check(uid, generation, operation)?;
        Ok(record)
    }

    pub(super) fn remove(&mut self, name: &N) {
        self.records.remove(name);
    }

    /// An object is made, or its spec is written: whether with `is_other` content.
    pub(super) fn put(&mut self, name: &N, is_other: bool) {
        match self.records.entry(name.clone()) {
            Entry::Occupied(known) if is_other => {
                let record = known.into_mut();
                record.generation += 1;
                record.writes += 1;
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                let made = self.made.entry(name.clone()).or_default();
                *made += 1;
                let uid = match *made {
                    1 => format!("uid-of-{name}"),
                    count => format!("uid-of-{name}-{count}"),
                };
                free.insert(ObjectRecord::new(uid));
            }
        }
    }

    /// Another writer annotates an object.
    pub(crate) fn annotate(&mut self, name: &N, key: &str, value: &str) {
        if let Some(record) = self.records.get_mut(name) {
            let is_changed = record.annotate([(key.to_owned(), Some(value.to_owned()))]);
            record.writes += u64::from(is_changed);
        }
    }
}

/// A spec without what metadata says of it.
pub(crate) fn spec_of(pool: &NodePool) -> NodePool {
    NodePool { annotations: BTreeMap::new(), ..pool.clone() }
}

impl ClusterState {
    pub(crate) fn put_class(&mut self, class: NodeClass) {
        let is_other = self.node_classes.get(&class.name).is_some_and(|known| *known != class);
        self.class_records.put(&class.name, is_other);
        self.node_classes.insert(class.name.clone(), class);
    }

    pub(crate) fn delete_class(&mut self, name: &NodeClassName) {
        self.node_classes.remove(name);
        self.class_records.remove(name);
        self.class_statuses.remove(name);
        self.classes_from_before.remove(name);
    }

    pub(crate) fn put_pool(&mut self, pool: NodePool) {
        let known = self.node_pools.get(&pool.name);
        let is_other = known.is_some_and(|known| spec_of(known) != spec_of(&pool));
        self.pool_records.put(&pool.name, is_other);
        self.node_pools.insert(pool.name.clone(), pool);
    }

    pub(crate) fn delete_pool(&mut self, name: &NodePoolName) {
        self.node_pools.remove(name);
        self.pool_records.remove(name);
        self.pool_statuses.remove(name);
    }

    pub(crate) fn observed_classes(&self) -> impl Iterator<Item = ObservedNodeClass> {
        self.node_classes.values().filter_map(|class| {
            let record = self.class_records.get(&class.name)?;
            Some(ObservedNodeClass {
                class: class.clone(),
                uid: record.uid.clone(),
                generation: record.generation,
                annotations: record.annotations.clone(),
                status: self.class_statuses.get(&class.name).map(|told| told.status.stored()),
            })
        })
    }

    pub(crate) fn observed_pools(&self) -> impl Iterator<Item = ObservedNodePool> {
        self.node_pools.values().filter_map(|pool| {
            let record = self.pool_records.get(&pool.name)?;
            let (uid, generation) = (record.uid.clone(), record.generation);
            Some(ObservedNodePool { pool: pool.clone(), uid, generation, wake: record.wake() })
        })
    }

    pub(crate) fn update_class_status(
        &mut self,
        seen: &ObservedNodeClass,
        status: &NodeClassStatus,
    ) -> Result<(), PortError> {
        let (name, about) = (&seen.class.name, (&*seen.uid, seen.generation));
        let record = self.class_records.seen(name, about, "tell of an EC2NodeClass")?;
        record.conditions_generation = Some(seen.generation);
        let mut is_changed = record.annotate(status.annotations());
        let standing = status.conditions.iter();
        let conditions = standing.map(|condition| ConditionRecord::of(condition, status.found_at));
        is_changed |= record.put(conditions.collect());
        let before = self.class_statuses.get(name).map(|told| &told.status);
        let is_same = |before: &NodeClassStatus| {
            *before == NodeClassStatus { found_at: before.found_at, ..status.clone() }
        };
        is_changed |= !before.is_some_and(is_same);
        record.writes += u64::from(is_changed);
        // What gates make of a class is not in the cluster.
        let written = self.node_classes.get(name).unwrap_or(&seen.class);
        let class = NodeClass {
            kubelet: written.kubelet.clone(),
            problems: written.problems.clone(),
            ..seen.class.clone()
        };
        self.put_class_status(ClassStatusRecord { class, status: status.clone() });
        Ok(())
    }

    pub(crate) fn update_pool_status(
        &mut self,
        seen: &ObservedNodePool,
        status: &NodePoolStatus,
    ) -> Result<(), PortError> {
        let (name, about) = (&seen.pool.name, (&*seen.uid, seen.generation));
        let record = self.pool_records.seen(name, about, "tell of a NodePool")?;
        record.conditions_generation = Some(seen.generation);
        let hash = seen.pool.annotations.get(NODE_POOL.key);
        let hash = hash.into_iter().flat_map(|hash| NODE_POOL.annotations(hash));
        let mut is_changed = record.annotate(hash.map(|(key, value)| (key, Some(value))));
        is_changed |= record.put_wake(&status.wake, status.found_at);
        is_changed |= record.put(pool_conditions(&seen.pool, status));
        if status.quotas.is_empty() {
            record.conditions.retain(|stored| stored.kind != ConditionKind::QuotaExceeded);
        }
        if status.types == TypeMatch::Some {
            let kind = ConditionKind::NoCompatibleInstanceTypes;
            record.conditions.retain(|stored| stored.kind != kind);
        }
        let before = self.pool_statuses.get(name);
        let is_same = |before: &NodePoolStatus| {
            *before == NodePoolStatus { found_at: before.found_at, ..status.clone() }
        };
        is_changed |= !before.is_some_and(is_same);
        record.writes += u64::from(is_changed);
        self.pool_statuses.insert(name.clone(), status.clone());
        Ok(())
    }

    pub(crate) fn update_wake_condition(
        &mut self,
        seen: &ObservedNodePool,
        finding: &WakeFinding,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let (name, about) = (&seen.pool.name, (&*seen.uid, seen.generation));
        let record = self.pool_records.seen(name, about, "tell of a NodePool")?;
        let is_changed = record.put_wake(finding, now);
        record.writes += u64::from(is_changed);
        Ok(())
    }
}

/// The conditions of a pool, `Ready` last.
///
/// Karpenter: `pkg/controllers/nodepool/{readiness,registrationhealth,validation}`.
fn pool_conditions(pool: &NodePool, status: &NodePoolStatus) -> Vec<ConditionRecord> {
    let health = ConditionKind::NodeRegistrationHealthy;
    let registration = match status.registrations.are_healthy() {
        Some(true) => Condition::holds(health),
        Some(false) => Condition::fails(health, ConditionReason::RegistrationFailed, ""),
        None => Condition::unknown(health, ConditionReason::AwaitingReconciliation, ""),
    };
    let dependents = [pool.validation(), status.node_class.condition()];
    let unready = dependents.iter().find(|condition| condition.status != Some(true));
    let ready = match unready {
        None => Condition::holds(ConditionKind::Ready),
        Some(condition) => Condition { kind: ConditionKind::Ready, ..condition.clone() },
    };
    let [validation, class] = dependents;
    let conditions = [validation, class, registration].into_iter();
    let conditions = conditions.chain(status.quota_condition()).chain(status.types.condition());
    let conditions = conditions.chain([ready]);
    conditions.map(|condition| ConditionRecord::of(&condition, status.found_at)).collect()
}

impl Sim {
    /// Whether the API server calls `wake` for a probe from now on, and gets an answer.
    pub fn set_wake_answers(&self, answers: bool) {
        self.with(|world| world.settings.wake_answers = answers);
    }

    /// The EC2NodeClasses that the API server has, by name.
    pub fn classes_written(&self) -> Vec<ObservedNodeClass> {
        self.with(|world| world.cluster.observed_classes().collect())
    }

    /// The NodePools that the API server has, by name.
    pub fn pools_written(&self) -> Vec<ObservedNodePool> {
        self.with(|world| world.cluster.observed_pools().collect())
    }
}
