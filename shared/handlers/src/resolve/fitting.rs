//! What the instance types of the EC2NodeClasses that are ready mean for NodePools and NodeOverlays: pools that no
//! type fits, and overlays that are applied nowhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use launch_template::{Live, of_status};
use model::{
    Condition, ConditionKind, ConditionReason, NodePoolName, ObjectName, RegionCatalog,
    facts::{ClassOffer, Facts},
    ledger::Snapshot,
    node_class::{ListedNodeClass, NodeClass, NodeClassStatus},
    node_pool::NodePool,
    overlay::{NodeOverlay, ObservedOverlay},
    policies::Policies,
};
use planner::Rejection;
use ports::{AlphaStatuses, Invocation, PortError};

use crate::{job::Tally, memory::ProcessMemory};

/// EC2NodeClasses that are ready, with what their status says.
pub(super) type ReadyClasses = Vec<(NodeClass, NodeClassStatus)>;

/// What was found.
#[derive(Debug)]
pub(super) struct Fitting {
    /// Why NodePools fit no instance type.
    pub(super) without_types: BTreeMap<NodePoolName, String>,
    /// Why overlays are applied nowhere.
    rejected: BTreeMap<ObjectName, Rejection>,
}

impl Fitting {
    /// What `pools` and `overlays` come to with the types of `ready` classes, as if none of these were unavailable for
    /// the moment.
    pub(super) fn of(
        memory: &ProcessMemory,
        (catalog, ready): (&Arc<RegionCatalog>, &ReadyClasses),
        (pools, overlays): (Vec<NodePool>, Vec<NodeOverlay>),
        policies: Policies,
        at: &Invocation,
    ) -> Self {
        let nothing = Snapshot::default();
        let mut facts = Facts::of(at.cluster.clone(), at.now, nothing.clone());
        let named: BTreeSet<_> = pools.iter().map(|pool| &pool.template.node_class).collect();
        let ready = ready.iter().filter(|(class, _)| named.contains(&class.name));
        let classes = ready.filter_map(|(class, status)| {
            let reservations = status.reservations.iter();
            let left = reservations.map(|listed| (listed.id.clone(), listed.available_count));
            let live = Live { free_addresses: None, reservations_left: left.collect() };
            let status = Some(status.stored());
            let listed = ListedNodeClass { class: class.clone(), not_ready: None, status };
            let class = of_status(&listed, &live, at.now).ok()?;
            let types = memory.offers.offer(catalog, &class, &nothing, at.now);
            Some((listed.class.name, ClassOffer::Ready(types)))
        });
        facts.classes = Some(classes.collect());
        facts.node_pools = pools;
        facts.policies = policies;
        facts.surroundings.node_overlays = overlays;
        let rejected = planner::overlays(&facts).rejected;
        Self {
            without_types: planner::pools_without_types(&facts, &memory.planner.types),
            rejected,
        }
    }

    /// The condition `ValidationSucceeded` of the overlay called `name`.
    fn validation(&self, name: &ObjectName) -> Condition {
        let kind = ConditionKind::ValidationSucceeded;
        match self.rejected.get(name) {
            None => Condition::holds(kind),
            Some(why) => {
                let reason = match why {
                    Rejection::RuntimeValidation(_) => ConditionReason::RuntimeValidation,
                    Rejection::Conflict { .. } => ConditionReason::Conflict,
                };
                Condition::fails(kind, reason, why.to_string())
            }
        }
    }

    /// Updates the status of each of `overlays`. One that fails does not keep the others from it.
    pub(super) async fn update_overlays(
        &self,
        statuses: &impl AlphaStatuses,
        overlays: &[ObservedOverlay],
        at: &Invocation,
    ) -> Result<(), PortError> {
        let mut tally = Tally::default();
        for observed in overlays {
            let name = &observed.overlay.name;
            let validation = self.validation(name);
            let updated = statuses.update_overlay_status(observed, &validation, at.now).await;
            tally.note_update(format_args!("NodeOverlay {name}"), updated);
        }
        tally.done()
    }
}
