//! The ledger's port.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use jiff::Timestamp;
use model::{
    Bytes, ClusterName, Function, InstanceId, LedgerId, NodeClaim, NodeClassName, NodePoolName,
    OfferingKey, Plan, Zone,
    facts::Facts,
    ledger::{
        CREATED_VERSION, Commit, CommitOutcome, Decision, DecisionPage, DecisionQuery, Guard, Head,
        LaunchRefusals, MeasuredKey, Shortage, Snapshot, WriteOutcome,
    },
    node_pool::Registrations,
    pulse::Pulse,
    recorded::{Question, RecordedFacts},
    validation::Validation,
};
use ports::{Clock, Decisions, Fault, Ledger, PortError};

use crate::{
    Sim,
    fault::Access::{self, Read, Write},
    limits, loads,
    sim::yield_once,
    world::World,
};

impl Sim {
    /// What decisions in the ledger of the simulated cluster were made on, by number.
    pub fn recorded_facts(&self) -> BTreeMap<u64, Rc<RecordedFacts>> {
        self.with(|world| {
            let cluster = world.settings.cluster.clone();
            world.ledger.cluster(&cluster).facts.clone()
        })
    }

    /// Does something with each of `claims` of `cluster`, which are of one batch. A conflict of one is all's.
    async fn each(
        &self,
        cluster: &ClusterName,
        operation: (&'static str, Access),
        claims: &[NodeClaim],
        act: impl Fn(&mut World, &NodeClaim) -> WriteOutcome,
    ) -> Result<WriteOutcome, PortError> {
        let batch = claims.first().map(|claim| claim.batch.as_str()).unwrap_or_default();
        let load = |world: &mut World| loads::claims(claims, world.ledger.cluster(cluster));
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

impl Clock for Sim {
    fn now(&self) -> Timestamp {
        Self::now(self)
    }

    async fn wait_until(&self, time: Timestamp) {
        Self::wait_until(self, time).await;
    }
}

impl Ledger for Sim {
    async fn head(&self, cluster: &ClusterName) -> Result<Head, PortError> {
        self.step(("Ledger.head", Read), cluster, |world| {
            Ok(world.ledger.cluster(cluster).head.clone())
        })
        .await
    }

    async fn open(
        &self,
        cluster: &ClusterName,
        replaced: Option<&LedgerId>,
    ) -> Result<Head, PortError> {
        self.step(("Ledger.open", Write), cluster, |world| Ok(world.ledger.open(cluster, replaced)))
            .await
    }

    async fn put_guard(
        &self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        guard: &Guard,
    ) -> Result<WriteOutcome, PortError> {
        self.step(("Ledger.put_guard", Write), format!("{guard:?}"), |world| {
            Ok(world.ledger.put_guard(cluster, ledger, guard))
        })
        .await
    }

    async fn put_shifted_zones(
        &self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        zones: &BTreeMap<Zone, Timestamp>,
    ) -> Result<WriteOutcome, PortError> {
        self.step(("Ledger.put_shifted_zones", Write), format!("{zones:?}"), |world| {
            Ok(world.ledger.put_shifted_zones(cluster, ledger, zones))
        })
        .await
    }

    async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError> {
        // The head is read first and the rest later, as over the wire.
        let head = self.with(|world| world.ledger.cluster(cluster).head.clone());
        yield_once().await;
        self.step(("Ledger.snapshot", Read), cluster, |world| {
            let now = world.now;
            let mut snapshot = world.ledger.snapshot(cluster, head, now);
            if world.forgets_unlaunched_claims() {
                snapshot.claims.retain(|_, claim| claim.node.is_some());
            }
            if world.settings.sabotage.forget_retries {
                for claim in snapshot.claims.values_mut() {
                    claim.retry = None;
                }
            }
            if world.settings.sabotage.forget_refusals {
                snapshot.refusals.clear();
            }
            if world.settings.sabotage.mix_clusters {
                snapshot.claims.extend(world.ledger.claims_of_all());
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
            "{} on {}: {} created, {} changed",
            commit.id,
            commit.parent,
            commit.created.len(),
            commit.changed.len()
        )
        .to_string();
        let load = |world: &mut World| limits::commit_load(commit, world.ledger.cluster(cluster));
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

    async fn claims_of_instances(
        &self,
        cluster: &ClusterName,
        instances: &[InstanceId],
    ) -> Result<Vec<NodeClaim>, PortError> {
        let load = |world: &mut World| loads::claims_of(world, instances);
        self.step_of(("Ledger.claims_of_instances", Read), instances.len(), load, |world| {
            let until = world.index_time();
            let distinct: BTreeSet<&InstanceId> = instances.iter().collect();
            let claims =
                distinct.into_iter().filter_map(|id| world.ledger.indexed(cluster, id, until));
            let mut claims: Vec<NodeClaim> = claims.collect();
            claims.sort_by(|claim, other| claim.name.cmp(&other.name));
            Ok(claims)
        })
        .await
    }

    async fn write_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let subject = format!("{} {} {}", claim.name, claim.version, claim.phase);
        let load = |world: &mut World| loads::claim(claim, world.ledger.cluster(cluster));
        self.step_of(("Ledger.write_claim", Write), subject, load, |world| {
            let stored = world.ledger.cluster(cluster).claims.get(&claim.name);
            let is_created = stored.is_some_and(|stored| stored.version == CREATED_VERSION);
            let outcome =
                if is_created { WriteOutcome::Conflict } else { world.write_claim(cluster, claim) };
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
        self.each(cluster, ("Ledger.write_claims", Write), claims, |world, claim| {
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
        let load = |_: &mut World| loads::removal(claim);
        self.step_of(("Ledger.remove_claim", Write), subject, load, |world| {
            if claim.version <= CREATED_VERSION {
                let problem = format!("claim {} is still in its batch", claim.name);
                return Err(PortError::because("remove a claim", Fault::Permanent, problem));
            }
            Ok(world.remove_claim(cluster, claim))
        })
        .await
    }

    async fn withdraw_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        let outcome = self
            .each(cluster, ("Ledger.withdraw_claims", Write), claims, |world, claim| {
                world.remove_claim(cluster, claim)
            })
            .await?;
        self.with(|world| world.ledger.cluster(cluster).head.counters.departures += 1);
        Ok(outcome)
    }

    async fn mark_unavailable(
        &self,
        cluster: &ClusterName,
        offerings: &[(OfferingKey, Timestamp)],
        shortages: &[(Shortage, Timestamp)],
    ) -> Result<(), PortError> {
        let marks = offerings.len() + shortages.len();
        let load = |_: &mut World| loads::marks(marks);
        self.step_of(("Ledger.mark_unavailable", Write), marks, load, |world| {
            let is_shared = world.settings.sabotage.share_shortages;
            for (shortage, until) in shortages {
                match shortage {
                    Shortage::Unsupported { offering, .. } | Shortage::Group { offering, .. }
                        if is_shared =>
                    {
                        world.ledger.mark_unavailable(offering, *until);
                    }
                    _ => world.ledger.mark_short(cluster, shortage, *until),
                }
            }
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

    async fn put_refusals(
        &self,
        cluster: &ClusterName,
        pool: &NodePoolName,
        refusals: Option<&LaunchRefusals>,
    ) -> Result<(), PortError> {
        self.step(("Ledger.put_refusals", Write), pool, |world| {
            let stored = &mut world.ledger.cluster(cluster).refusals;
            match refusals {
                Some(refusals) => stored.insert(pool.clone(), refusals.clone()),
                None => stored.remove(pool),
            };
            Ok(())
        })
        .await
    }

    async fn registrations(
        &self,
        cluster: &ClusterName,
    ) -> Result<BTreeMap<NodePoolName, Registrations>, PortError> {
        self.step(("Ledger.registrations", Read), cluster, |world| {
            Ok(world.ledger.cluster(cluster).registrations.clone())
        })
        .await
    }

    async fn put_registrations(
        &self,
        cluster: &ClusterName,
        pool: &NodePoolName,
        registrations: &Registrations,
    ) -> Result<WriteOutcome, PortError> {
        self.step(("Ledger.put_registrations", Write), pool, |world| {
            let stored = &mut world.ledger.cluster(cluster).registrations;
            let standing = stored.get(pool).cloned().unwrap_or_default();
            if standing == *registrations {
                return Ok(WriteOutcome::Written);
            }
            if standing.version + 1 != registrations.version {
                return Ok(WriteOutcome::Conflict);
            }
            stored.insert(pool.clone(), registrations.clone());
            Ok(WriteOutcome::Written)
        })
        .await
    }

    async fn pulse(&self, cluster: &ClusterName, function: Function) -> Result<Pulse, PortError> {
        self.step(("Ledger.pulse", Read), function, |world| {
            Ok(world.ledger.cluster(cluster).pulse(function))
        })
        .await
    }

    async fn write_pulse(
        &self,
        cluster: &ClusterName,
        function: Function,
        from: u64,
        pulse: &Pulse,
    ) -> Result<WriteOutcome, PortError> {
        let subject = format!("{function} {from}");
        self.step(("Ledger.write_pulse", Write), subject, |world| {
            let is_any = world.settings.sabotage.ignore_pulse_sequence;
            let from = (!is_any).then_some(from);
            Ok(world.ledger.cluster(cluster).write_pulse(function, from, pulse))
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

    async fn put_decisions(
        &self,
        cluster: &ClusterName,
        decisions: &[Decision],
    ) -> Result<(), PortError> {
        let load = |_: &mut World| loads::decisions(decisions);
        self.step_of(("Ledger.put_decisions", Write), decisions.len(), load, |world| {
            world.ledger.cluster(cluster).keep(decisions);
            Ok(())
        })
        .await
    }

    async fn put_facts(
        &self,
        cluster: &ClusterName,
        number: u64,
        question: &Question,
        facts: &Facts,
        plan: &Plan,
    ) -> Result<(), PortError> {
        let load = |_: &mut World| loads::facts(facts);
        self.step_of(("Ledger.put_facts", Write), number, load, |world| {
            let (question, facts, plan) = (question.clone(), facts.clone(), plan.clone());
            let recorded = Rc::new(RecordedFacts { question, facts, plan });
            world.ledger.cluster(cluster).facts.insert(number, recorded);
            Ok(())
        })
        .await
    }
}

impl Decisions for Sim {
    async fn decisions(
        &self,
        cluster: &ClusterName,
        query: &DecisionQuery,
    ) -> Result<DecisionPage, PortError> {
        Ok(self.with(|world| world.ledger.cluster(cluster).decisions(query)))
    }

    async fn facts(
        &self,
        cluster: &ClusterName,
        number: u64,
    ) -> Result<Option<RecordedFacts>, PortError> {
        let known = |world: &mut World| world.ledger.cluster(cluster).facts.get(&number).cloned();
        Ok(self.with(known).map(|recorded| RecordedFacts::clone(&recorded)))
    }
}
