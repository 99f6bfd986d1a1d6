//! NodePools → what their status says: whether they can be used, and what they have.
//!
//! It is for people: deciders look at the classes themselves.
//!
//! Karpenter: `pkg/controllers/nodepool/{counter,readiness,registrationhealth,validation}`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeClaim, NodeClassName, NodePoolName, Resources,
    ledger::{Shortage, Snapshot},
    node_class::NodeClassStatus,
    node_pool::{
        ClassReadiness, LaunchedSpec, NodePoolStatus, ObservedNodePool, Registrations, TypeMatch,
    },
    wake::WakeFinding,
};
use ports::{Invocation, Ledger, NodePools, PortError};

use crate::{Metrics, error::story, job::Tally, metrics};

/// What is known of an EC2NodeClass: whether it can be launched from, and of which spec that is.
pub(crate) type Classes = BTreeMap<NodeClassName, (ClassReadiness, i64)>;

/// What is known beside the pools.
pub(crate) struct Beside<'a> {
    pub(crate) classes: &'a Classes,
    pub(crate) all_classes_are_known: bool,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) registrations: BTreeMap<NodePoolName, Registrations>,
    /// Why pools fit no instance type; `None` if that is not known.
    pub(crate) without_types: Option<&'a BTreeMap<NodePoolName, String>>,
    /// What was found of the calls of `wake`.
    pub(crate) wake: &'a WakeFinding,
    /// Where it is logged, too.
    pub(crate) metrics: &'a Metrics,
}

/// Updates the status of every pool that is not being deleted. One that fails does not keep the others from
/// it.
pub(crate) async fn update_statuses(
    pools: &impl NodePools,
    ledger: &impl Ledger,
    observed: &[ObservedNodePool],
    beside: &Beside<'_>,
    at: &Invocation,
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    metrics::note_claims(beside.metrics, observed, beside.snapshot);
    metrics::note_wake(beside.metrics, observed, beside.wake, at.now);
    for observed in observed.iter().filter(|observed| !observed.pool.is_deleting) {
        let name = &observed.pool.name;
        let class = beside.classes.get(&observed.pool.template.node_class);
        let missing = if beside.all_classes_are_known {
            ClassReadiness::NotFound
        } else {
            ClassReadiness::Unknown
        };
        let node_class_generation = class.map(|(_, generation)| *generation);
        let registrations =
            registrations(ledger, observed, node_class_generation, beside, at).await;
        let node_class = class.map_or(missing, |(readiness, _)| readiness.clone());
        let status = NodePoolStatus {
            types: types(name, &node_class, beside),
            node_class,
            node_class_generation,
            registrations,
            wake: beside.wake.clone(),
            found_at: at.now,
            ..counted(name, beside.snapshot, at)
        };
        metrics::note_pool(beside.metrics, observed, &status);
        let updated = pools.update_pool_status(observed, &status).await;
        tally.note_update(format_args!("NodePool {name}"), updated);
    }
    tally.done()
}

/// Whether an instance type meets the requirements of the pool called `name`.
fn types(name: &NodePoolName, node_class: &ClassReadiness, beside: &Beside<'_>) -> TypeMatch {
    match (beside.without_types, node_class) {
        (None, _) | (_, ClassReadiness::Unknown) => TypeMatch::Unknown,
        (Some(whys), _) => {
            whys.get(name).map_or(TypeMatch::Some, |why| TypeMatch::None(why.clone()))
        }
    }
}

/// How the latest launches of `observed` ended. What was kept of another spec of it or of its class is
/// forgotten first. After a concurrent write, the next look finds it again.
async fn registrations(
    ledger: &impl Ledger,
    observed: &ObservedNodePool,
    class_generation: Option<i64>,
    beside: &Beside<'_>,
    at: &Invocation,
) -> Registrations {
    let name = &observed.pool.name;
    let stored = beside.registrations.get(name).cloned().unwrap_or_default();
    let (uid, generation) = (observed.uid.clone(), observed.generation);
    let spec = LaunchedSpec { uid, generation, class_generation };
    let Some(renewed) = stored.renewed(&spec, at.now) else { return stored };
    if let Err(error) = ledger.put_registrations(&at.cluster, name, &renewed).await {
        let story = story(&error);
        tracing::warn!(pool = %name, story, "which spec launches are about is not noted");
    }
    renewed
}

/// What the status that a class was just given says.
pub(crate) fn readiness(status: &NodeClassStatus) -> ClassReadiness {
    match status.ready().map(|ready| (ready.status, ready)) {
        Some((Some(true), _)) => ClassReadiness::Ready,
        Some((Some(false), ready)) => {
            let (reason, message) = (ready.reason.clone(), ready.message.clone());
            ClassReadiness::NotReady { reason, message }
        }
        Some((None, _)) | None => ClassReadiness::Unknown,
    }
}

/// What the pool called `name` has: whatever was launched counts until it is gone.
fn counted(name: &NodePoolName, snapshot: &Snapshot, at: &Invocation) -> NodePoolStatus {
    let launched = launched(name, snapshot);
    NodePoolStatus {
        node_class: ClassReadiness::Unknown,
        node_class_generation: None,
        nodes: u64::try_from(launched.clone().count()).unwrap_or(u64::MAX),
        resources: launched
            .fold(Resources::default(), |sum, claim| sum.saturating_add(&claim.capacity)),
        registrations: Registrations::default(),
        quotas: quotas(name, snapshot, at),
        types: TypeMatch::Unknown,
        wake: WakeFinding::Unknown,
        found_at: at.now,
    }
}

/// The quotas of the account for which EC2 refuses launches of the pool called `name`.
fn quotas(name: &NodePoolName, snapshot: &Snapshot, at: &Invocation) -> BTreeSet<String> {
    let short = snapshot.shortages.iter().filter(|(_, until)| at.now < **until);
    let of_pool = short.filter_map(|(shortage, _)| match shortage {
        Shortage::Quota { node_pool, word } if node_pool == name => Some(word.clone()),
        _ => None,
    });
    of_pool.collect()
}

/// The claims of the pool called `name` that have an instance.
pub(crate) fn launched<'s>(
    name: &NodePoolName,
    snapshot: &'s Snapshot,
) -> impl Iterator<Item = &'s NodeClaim> + Clone {
    let claims_of_pool = snapshot.claims.values().filter(move |claim| claim.node_pool == *name);
    claims_of_pool.filter(|claim| claim.instance.is_some())
}
