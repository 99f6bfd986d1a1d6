//! The ledger's port.

use jiff::Timestamp;
use model::{
    Bytes, ClusterName, InstanceId, NodeClaim, NodeClaimName, NodeClassName, OfferingKey,
    ledger::{Commit, CommitOutcome, MeasuredKey, PROMISED_VERSION, Snapshot, WriteOutcome},
    validation::Validation,
};
use ports::{Fault, Ledger, PortError};

use crate::{
    Sim,
    fault::Access::{self, Read, Write},
    limits, loads,
    sim::yield_once,
    world::World,
};

impl Sim {
    /// Does something with each of `claims`, which are of one batch. A conflict of one is all's.
    async fn each(
        &self,
        operation: (&'static str, Access),
        claims: &[NodeClaim],
        act: impl Fn(&mut World, &NodeClaim) -> WriteOutcome,
    ) -> Result<WriteOutcome, PortError> {
        let batch = claims.first().map(|claim| claim.batch.as_str()).unwrap_or_default();
        let load = |_: &mut World| loads::claims(claims);
        self.step_of(operation, format!("{} of {batch}", claims.len()), load, |world| {
            let outcomes: Vec<WriteOutcome> =
                claims.iter().map(|claim| act(world, claim)).collect();
            let refused = outcomes.into_iter().find(|outcome| *outcome == WriteOutcome::Conflict);
            if refused.is_some() {
                world.note(format_args!("{} conflicts with claims of {batch}", operation.0));
            }
            Ok(refused.unwrap_or(WriteOutcome::Written))
        })
        .await
    }
}

impl Ledger for Sim {
    async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError> {
        // The head is read first and the rest later, as over the wire.
        let generation = self.with(|world| world.ledger.cluster(cluster).head);
        yield_once().await;
        self.step(("Ledger.snapshot", Read), cluster, |world| {
            let now = world.now;
            let mut snapshot = world.ledger.snapshot(cluster, generation, now);
            if world.forgets_promises() {
                snapshot.claims.retain(|_, claim| claim.node.is_some());
            }
            Ok(snapshot)
        })
        .await
    }

    async fn commit(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<CommitOutcome, PortError> {
        let subject = format_args!(
            "{} on {}: {} promised, {} changed",
            commit.id,
            commit.parent.0,
            commit.promised.len(),
            commit.changed.len()
        )
        .to_string();
        let load = |_: &mut World| limits::commit_load(commit);
        self.step_of(("Ledger.commit", Write), subject, load, |world| {
            let table = world.settings.limits.table;
            if let Some(refused) = table.and_then(|table| limits::refusal(commit, table)) {
                return Err(refused);
            }
            let outcome = world.commit(cluster, commit);
            if outcome == CommitOutcome::Conflict {
                world.note(format_args!("commit {} conflicts", commit.id));
            }
            Ok(outcome)
        })
        .await
    }

    async fn claim(
        &self,
        cluster: &ClusterName,
        name: &NodeClaimName,
    ) -> Result<Option<NodeClaim>, PortError> {
        self.step(("Ledger.claim", Read), name, |world| {
            let claim = world.ledger.cluster(cluster).claims.get(name);
            let was_written = |claim: &&std::rc::Rc<NodeClaim>| PROMISED_VERSION < claim.version;
            Ok(claim.filter(was_written).map(|claim| NodeClaim::clone(claim)))
        })
        .await
    }

    async fn claim_of_instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<(ClusterName, NodeClaim)>, PortError> {
        self.step(("Ledger.claim_of_instance", Read), instance, |world| {
            let until = world.index_time();
            Ok(world.ledger.indexed(instance, until))
        })
        .await
    }

    async fn write_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let subject = format!("{} {} {}", claim.name, claim.version, claim.phase);
        let load = |_: &mut World| loads::claim(claim);
        self.step_of(("Ledger.write_claim", Write), subject, load, |world| {
            let stored = world.ledger.cluster(cluster).claims.get(&claim.name);
            let is_promised = stored.is_some_and(|stored| stored.version == PROMISED_VERSION);
            let outcome = if is_promised {
                WriteOutcome::Conflict
            } else {
                world.write_claim(cluster, claim)
            };
            if outcome == WriteOutcome::Conflict {
                world.note(format_args!("write of {} conflicts", claim.name));
            }
            Ok(outcome)
        })
        .await
    }

    async fn write_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        self.each(("Ledger.write_claims", Write), claims, |world, claim| {
            world.write_claim(cluster, claim)
        })
        .await
    }

    async fn remove_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let subject = format!("{} {}", claim.name, claim.version);
        let load = |_: &mut World| loads::claim(claim);
        self.step_of(("Ledger.remove_claim", Write), subject, load, |world| {
            if claim.version <= PROMISED_VERSION {
                let problem = format!("claim {} is still in its batch", claim.name);
                return Err(PortError::because("remove a claim", Fault::Permanent, problem));
            }
            Ok(world.remove_claim(cluster, claim))
        })
        .await
    }

    async fn remove_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        self.each(("Ledger.remove_claims", Write), claims, |world, claim| {
            world.remove_claim(cluster, claim)
        })
        .await
    }

    async fn mark_unavailable(
        &self,
        offerings: &[(OfferingKey, Timestamp)],
    ) -> Result<(), PortError> {
        let load = |_: &mut World| loads::marks(offerings.len());
        self.step_of(("Ledger.mark_unavailable", Write), offerings.len(), load, |world| {
            for (offering, until) in offerings {
                world.ledger.mark_unavailable(offering, *until);
            }
            Ok(())
        })
        .await
    }

    async fn measure(
        &self,
        cluster: &ClusterName,
        key: &MeasuredKey,
        memory: Bytes,
        until: Timestamp,
    ) -> Result<(), PortError> {
        let subject = format!("{} {}", key.instance_type, key.image);
        self.step(("Ledger.measure", Write), subject, |world| {
            world.ledger.cluster(cluster).measure(key, memory, until);
            Ok(())
        })
        .await
    }

    async fn advance_tick(
        &self,
        cluster: &ClusterName,
        chain: &str,
        from: Option<u64>,
        now: Timestamp,
    ) -> Result<WriteOutcome, PortError> {
        self.step(("Ledger.advance_tick", Write), chain, |world| {
            Ok(world.ledger.cluster(cluster).advance_tick(chain, from, now))
        })
        .await
    }

    async fn tick(
        &self,
        cluster: &ClusterName,
        chain: &str,
    ) -> Result<Option<(u64, Timestamp)>, PortError> {
        self.step(("Ledger.tick", Read), chain, |world| {
            Ok(world.ledger.cluster(cluster).tick(chain))
        })
        .await
    }

    async fn validation(
        &self,
        cluster: &ClusterName,
        class: &NodeClassName,
    ) -> Result<Option<Validation>, PortError> {
        self.step(("Ledger.validation", Read), class, |world| {
            let now = world.now;
            let known = world.ledger.cluster(cluster).validations.get(class);
            Ok(known.filter(|known| now < known.kept_until()).cloned())
        })
        .await
    }

    async fn put_validation(
        &self,
        cluster: &ClusterName,
        class: &NodeClassName,
        validation: &Validation,
    ) -> Result<(), PortError> {
        self.step(("Ledger.put_validation", Write), class, |world| {
            world.ledger.cluster(cluster).validations.insert(class.clone(), validation.clone());
            Ok(())
        })
        .await
    }
}
