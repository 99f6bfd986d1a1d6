//! NodeClaim objects in the API server: what shows a claim of the ledger, and what belongs to others.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    InstanceId, NodeClaim, NodeClaimName, NodePoolName,
    claim::SyncedNodeClaim,
    duration::later,
    labels,
    lease::{KarpenterLease, LEDGER_LEASE, ObservedLeases, UnreadableLease},
};

use ports::{Fault, Malformed, PortError};

use crate::world::World;

/// A NodeClaim object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClaimObject {
    /// The claim as it is shown; `None` is an object of another writer.
    pub claim: Option<NodeClaim>,
    /// The claim that another writer says with it, such as Karpenter.
    pub foreign: Option<NodeClaim>,
    /// Labels that others put on it.
    pub labels: BTreeMap<String, String>,
    /// Whether it is being deleted. Those that show a claim have a finalizer, others have none.
    pub is_deleting: bool,
    /// When a function made it; of other objects 1970.
    pub made_at: Timestamp,
    /// How often it was written.
    pub writes: u64,
    /// Since when its claim is not in the ledger.
    pub(crate) unclaimed_since: Option<Timestamp>,
}

impl World {
    /// The objects that show claims.
    pub(crate) fn synced_node_claims(&self) -> Vec<SyncedNodeClaim> {
        let objects = self.cluster.node_claims.iter();
        let shown = |(name, object): (&NodeClaimName, &NodeClaimObject)| {
            let version = object.claim.as_ref()?.version;
            Some(SyncedNodeClaim { name: name.clone(), version, is_deleting: object.is_deleting })
        };
        objects.filter_map(shown).collect()
    }

    /// Lets an object show `claim`: `Conflict` when one of that name belongs to another writer, `NotFound` when a user
    /// took the own one away.
    pub(crate) fn sync(&mut self, claim: &NodeClaim) -> Result<(), Fault> {
        let is_claimed =
            self.ledger.cluster(&self.settings.cluster).claims.contains_key(&claim.name);
        let objects = &mut self.cluster.node_claims;
        if claim.is_deleting() && !objects.contains_key(&claim.name) {
            return Ok(());
        }
        if claim.is_standalone() {
            let object = objects.get_mut(&claim.name).ok_or(Fault::NotFound)?;
            if object.foreign.take_if(|foreign| foreign.is_standalone()).is_some() {
                object.claim = Some(NodeClaim { version: 0, ..claim.clone() });
            }
        }
        let now = self.now;
        let object = objects.entry(claim.name.clone()).or_insert_with(|| NodeClaimObject {
            claim: Some(claim.clone()),
            made_at: now,
            unclaimed_since: (!is_claimed).then_some(now),
            ..NodeClaimObject::default()
        });
        let Some(shown) = &mut object.claim else { return Err(Fault::Conflict) };
        let is_new = object.writes == 0 || shown.version < claim.version;
        if is_new {
            shown.clone_from(claim);
        }
        if is_new || claim.is_deleting() && !object.is_deleting {
            object.is_deleting |= claim.is_deleting();
            object.writes += 1;
        }
        Ok(())
    }

    /// Karpenter's lease, renewed at this moment while it runs, and that of a ledger: an error where that cannot be
    /// read. Others that cannot be read are among them.
    pub(crate) fn observed_leases(&self) -> Result<ObservedLeases, PortError> {
        let foreign = self.cluster.foreign_leases.karpenter.iter().cloned();
        let karpenter = self.cluster.has_karpenter.then(|| KarpenterLease {
            namespace: "kube-system".to_owned(),
            holder: "karpenter-0".to_owned(),
            renewed_at: self.now,
            duration: SignedDuration::from_secs(15),
        });
        let karpenter = karpenter.into_iter();
        let ours = format!("kube-system/{LEDGER_LEASE}");
        let ledger = self
            .unreadable_object("list leases", "Lease", &ours)
            .unwrap_or_else(|| Ok(self.cluster.ledger_lease.clone()))?;
        let others = self.reported("Lease").into_iter();
        let others = others.filter_map(|Malformed { object, problem, .. }| {
            let (namespace, _) = object.strip_prefix("Lease ")?.split_once('/')?;
            Some(UnreadableLease { namespace: namespace.to_owned(), why: problem })
        });
        let unreadable = self.cluster.foreign_leases.unreadable.iter().cloned();
        let mut leases = ObservedLeases {
            karpenter: karpenter.chain(foreign).collect(),
            unreadable: unreadable.chain(others).collect(),
            without_lease: self.cluster.foreign_leases.without_lease.clone(),
            ledger,
        };
        if self.settings.sabotage.count_every_lease {
            let namespace = "kube-system";
            for lease in &mut leases.karpenter {
                let ends = later(lease.renewed_at, lease.duration);
                let remaining = ends.duration_since(self.now);
                namespace.clone_into(&mut lease.namespace);
                lease.renewed_at = self.now;
                lease.duration = remaining.min(SignedDuration::from_mins(5));
            }
            for lease in &mut leases.unreadable {
                namespace.clone_into(&mut lease.namespace);
            }
        }
        Ok(leases)
    }

    /// Every object that says a claim, of any writer.
    pub(crate) fn node_claim_objects(&self) -> Vec<NodeClaim> {
        let marked = |claim: &NodeClaim| {
            let mut claim = claim.clone();
            if claim.is_standalone() {
                claim.labels.insert(labels::MANAGED_BY.to_owned(), labels::MANAGER.to_owned());
            }
            claim
        };
        let objects = self.cluster.node_claims.values();
        objects
            .filter_map(|object| {
                object.claim.as_ref().map(marked).or_else(|| object.foreign.clone())
            })
            .collect()
    }

    /// Whether an object of another writer says that `instance` is its own.
    pub(crate) fn is_foreign(&self, instance: &InstanceId) -> bool {
        let mut foreign =
            self.cluster.node_claims.values().filter_map(|o| o.foreign.as_ref()?.instance.as_ref());
        foreign.any(|launched| launched.id == *instance)
    }

    /// Makes an object one of ours.
    pub(crate) fn take_over(&mut self, name: &NodeClaimName) {
        if let Some(object) = self.cluster.node_claims.get_mut(name)
            && let Some(foreign) = object.foreign.take()
        {
            object.claim = Some(NodeClaim { version: 0, ..foreign });
        }
    }

    /// Takes away an object that shows a claim.
    pub(crate) fn remove_node_claim(&mut self, name: &NodeClaimName) {
        if self.cluster.node_claims.get(name).is_some_and(|object| object.claim.is_some()) {
            self.cluster.node_claims.remove(name);
        }
    }

    /// What `kubectl delete nodeclaim` does.
    pub(crate) fn delete_node_claim(&mut self, name: &NodeClaimName) {
        match self.cluster.node_claims.get_mut(name) {
            Some(object) if object.claim.is_some() => object.is_deleting = true,
            Some(_) | None => drop(self.cluster.node_claims.remove(name)),
        }
    }

    /// What the garbage collector does when a pool is gone.
    pub(crate) fn delete_node_claims_of(&mut self, pool: &NodePoolName) {
        for object in self.cluster.node_claims.values_mut() {
            object.is_deleting |= object.claim.as_ref().is_some_and(|c| c.node_pool == *pool);
        }
    }

    /// Its claim is gone.
    pub(crate) fn unclaim(&mut self, name: &NodeClaimName) {
        if let Some(object) = self.cluster.node_claims.get_mut(name) {
            object.unclaimed_since = Some(self.now);
        }
    }
}
