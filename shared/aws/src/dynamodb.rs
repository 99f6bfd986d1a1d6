//! The ledger in DynamoDB: one table, one partition for each cluster and one for the region.
//!
//! | item | attributes |
//! |---|---|
//! | `head` | `ledger_id`, `generation`: arrivals, `departures`, `commit_id`, `guard` and what it says, `shifted_zones` |
//! | `batch#<batch>#<index>` | `claims`: their number, `record`: claims that were not written to since they were created |
//! | `claim#<name>` | `phase`, `version`, `record`, `instance_id` once there is one, `retry` after a failure |
//! | `measured#<type>#<image>` | `memory`, `expires_at` |
//! | `pulse#<function>` | `sequence`, `record` |
//! | `command#<id>` | `record`: a command of disruption that waits |
//! | `refusals#<pool>` | `record`, `expires_at`: launches for the pool were refused |
//! | `registrations#<pool>` | `version`, `record`, `expires_at`: how launches for the pool ended |
//! | `catalog` | `found_at`, `catalog`: what is sold in the region |
//! | `validation#<class>` | `record`, `expires_at`: what the dry run of the class came to |
//! | `decision#<time>#<digest>` | `record`, `expires_at`: what was decided, why, and how often |
//! | `facts#<number>#<part>` | `part`: facts that decisions were made on, packed and cut, `expires_at` |
//! | of `region#<region>`: `cooling#<capacity-type>#<type>#<zone>` | `expires_at` |
//!
//! Functions of two releases share the table while they are replaced. What one of them does not know is
//! passed over, and stays where it is rewritten: in a claim's record, and as an attribute of a claim or of
//! the head. An item that cannot be read stops nothing but itself; only the head stops everything.
//!
//! Reads are consistent. What a failed write means is looked up in the table, never guessed.

mod batch;
mod catalog_store;
mod commit;
mod decisions;
mod examine;
mod facts;
mod guard;
mod head;
mod item;
mod lookup;
mod table;
mod unavailable;
mod unlaunched;

pub use catalog_store::DynamoCatalogStore;
pub use examine::ExaminedLedger;
pub use item::RecordForm;

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use futures_util::{
    future::{TryFutureExt as _, try_join_all},
    stream::{self, StreamExt as _, TryStreamExt as _},
};
use jiff::Timestamp;
use model::{
    Bytes, ClusterName, Function, InstanceId, LedgerId, NodeClaim, NodeClassName, NodePoolName,
    OfferingKey, Plan, Zone,
    facts::Facts,
    ledger::{
        CREATED_VERSION, Commit, CommitOutcome, Decision, Guard as LedgerGuard, Head,
        LaunchRefusals, MeasuredKey, Shortage, Snapshot, WriteOutcome,
    },
    limits,
    limits::requests,
    node_pool::Registrations,
    pulse::Pulse,
    recorded::Question,
    validation::Validation,
};
use ports::{Fault, Ledger, PortError};

use self::{
    batch::{Batch, Leaving},
    commit::to_transaction,
    decisions::decision_item,
    facts::facts_items,
    guard::Guard,
    head::HeadUpdate,
    item::{
        BATCH_PREFIX, CLAIM_PREFIX, COMMAND_PREFIX, Item, MEASURED_PREFIX, Partition,
        REFUSALS_PREFIX, REGISTRATIONS_PREFIX, UNAVAILABLE_PREFIX, Unreadable, claim_from_item,
        command_from_item, key, measured_from_item, measured_item, number, pulse_from_item,
        pulse_item, pulse_key, refusals_from_item, refusals_item, refusals_key,
        registrations_from_item, registrations_item, validation_from_item, validation_item,
        validation_key,
    },
    table::Guarded,
    unavailable::{
        is_shortage, is_unavailable_longer, shortage_from_item, shortage_key,
        unavailable_from_item, unavailable_item, unavailable_key,
    },
};
use crate::fault::{BadRequest, port_error};

const TRANSACTION: &str = "TransactWriteItems";

/// [`Ledger`] over DynamoDB.
#[derive(Clone, Debug)]
pub struct DynamoLedger {
    client: Client,
    table: String,
    /// Partition of what all clusters of the region share.
    region: String,
    form: RecordForm,
}

impl DynamoLedger {
    /// The ledger in the table called `table`, for clusters in `region`.
    pub fn new(client: Client, table: &str, region: &str) -> Self {
        let form = RecordForm::default();
        Self { client, table: table.to_owned(), region: item::region_partition(region), form }
    }

    /// The same, with records of claims written as `form` says.
    #[must_use]
    pub fn writing(self, form: RecordForm) -> Self {
        Self { form, ..self }
    }

    fn partition<'a>(&'a self, cluster: &'a ClusterName) -> Partition<'a> {
        Partition { table: &self.table, cluster, form: self.form }
    }
}

impl Ledger for DynamoLedger {
    async fn head(&self, cluster: &ClusterName) -> Result<Head, PortError> {
        Ok(self.stored_head(cluster).await?.head)
    }

    async fn open(
        &self,
        cluster: &ClusterName,
        replaced: Option<&LedgerId>,
    ) -> Result<Head, PortError> {
        let drawn = head::drawn().ok_or_else(|| BadRequest::of("open a ledger", "no id"))?;
        match self.update_head(cluster, HeadUpdate::open(&drawn, replaced)).await? {
            Some(opened) => Ok(opened.head),
            None => self.head(cluster).await,
        }
    }

    async fn put_guard(
        &self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        guard: &LedgerGuard,
    ) -> Result<WriteOutcome, PortError> {
        self.write_head(cluster, HeadUpdate::guard(ledger, guard)).await
    }

    async fn put_shifted_zones(
        &self,
        cluster: &ClusterName,
        ledger: &LedgerId,
        zones: &BTreeMap<Zone, Timestamp>,
    ) -> Result<WriteOutcome, PortError> {
        self.write_head(cluster, HeadUpdate::shifted_zones(ledger, zones)).await
    }

    async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError> {
        let mut snapshot =
            Snapshot { head: self.stored_head(cluster).await?.head, ..Snapshot::default() };
        // Before claims of their own: what moves meanwhile is seen twice, never not at all.
        for item in self.items(cluster.as_str(), BATCH_PREFIX).await? {
            if let Some(Batch { claims, .. }) = understood(&mut snapshot, &item, Batch::of) {
                snapshot.claims.extend(claims.into_iter().map(|claim| (claim.name.clone(), claim)));
            }
        }
        let partition = cluster.as_str();
        let listings = [
            (partition, CLAIM_PREFIX),
            (self.region.as_str(), UNAVAILABLE_PREFIX),
            (partition, MEASURED_PREFIX),
            (partition, COMMAND_PREFIX),
            (partition, REFUSALS_PREFIX),
        ]
        .map(|(partition, prefix)| async move {
            Ok::<_, PortError>((prefix, self.items(partition, prefix).await?))
        });
        for (prefix, items) in Box::pin(try_join_all(listings)).await? {
            for item in items {
                read_into(&mut snapshot, cluster, prefix, &item);
            }
        }
        Ok(snapshot)
    }

    async fn commit(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<CommitOutcome, PortError> {
        let items = commit.items();
        if items > limits::ITEMS_PER_COMMIT_MAX {
            let items_max = limits::ITEMS_PER_COMMIT_MAX;
            return Ok(CommitOutcome::TooLarge { items, items_max });
        }
        // A transaction cannot say «unless a later time stands there»: it would fail as a whole. So
        // what stands already is left out, and what changes meanwhile is a conflict.
        let mut commit = commit.clone();
        if !commit.unavailable_offerings.is_empty() {
            for item in self.items(&self.region, UNAVAILABLE_PREFIX).await? {
                // One that cannot be read is written over, or refuses the commit by its condition.
                let Ok((offering, standing)) = unavailable_from_item(&item) else { continue };
                if commit
                    .unavailable_offerings
                    .get(&offering)
                    .is_some_and(|until| *until <= standing)
                {
                    commit.unavailable_offerings.remove(&offering);
                }
            }
        }
        let transaction = to_transaction(self.partition(cluster), &self.region, &commit)?;
        if self.transact(transaction.writes, Some(transaction.token)).await? {
            return Ok(CommitOutcome::Committed(self.counters_after(cluster, &commit).await?));
        }
        self.outcome_by_head(cluster, &commit).await
    }

    async fn claims_of_instances(
        &self,
        cluster: &ClusterName,
        instances: &[InstanceId],
    ) -> Result<Vec<NodeClaim>, PortError> {
        self.look_up(cluster, instances).await
    }

    async fn write_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        self.write_own_item(cluster, claim).await
    }

    async fn write_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        let moved = self.take_out(cluster, claims, Leaving::ToOwnItems).await?;
        let others = claims.iter().filter(|claim| !moved.contains(&claim.name));
        all(others.map(|claim| self.write_own_item(cluster, claim))).await
    }

    async fn remove_claim(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        if claim.version <= CREATED_VERSION {
            let problem = format!("claim {} is still in its batch", claim.name);
            return Err(BadRequest::of("DeleteItem", problem));
        }
        self.remove_own_item(cluster, claim).await
    }

    async fn withdraw_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        let gone = self.take_out(cluster, claims, Leaving::ForGood).await?;
        let others = claims.iter().filter(|claim| !gone.contains(&claim.name));
        let outcome = all(others.map(|claim| self.remove_own_item(cluster, claim))).await?;
        // Without a head, no reader can have read it.
        self.update_head(cluster, HeadUpdate::departed()).await?;
        Ok(outcome)
    }

    async fn mark_unavailable(
        &self,
        cluster: &ClusterName,
        offerings: &[(OfferingKey, Timestamp)],
        shortages: &[(Shortage, Timestamp)],
    ) -> Result<(), PortError> {
        let offerings = offerings.iter().map(|(key, until)| (unavailable_key(key), *until));
        let shortages =
            shortages.iter().map(|(short, until)| (shortage_key(cluster, short), *until));
        // Refused is as good as written: a later time stands there.
        let writes = offerings.chain(shortages).map(|(key, until)| {
            let item = unavailable_item(&self.region, &key, until);
            self.put_if(item, is_unavailable_longer(until)).map_ok(drop)
        });
        stream::iter(writes).buffer_unordered(requests::ITEMS_AT_ONCE.into()).try_collect().await
    }

    async fn measure(
        &self,
        cluster: &ClusterName,
        key: &MeasuredKey,
        memory: Bytes,
        until: Timestamp,
    ) -> Result<(), PortError> {
        let item = measured_item(cluster, key, memory, until);
        // Refused is as good as written: a smaller amount stands there.
        self.put_if(item, item::is_least(memory)).await?;
        Ok(())
    }

    async fn put_refusals(
        &self,
        cluster: &ClusterName,
        pool: &NodePoolName,
        refusals: Option<&LaunchRefusals>,
    ) -> Result<(), PortError> {
        if let Some(refusals) = refusals {
            return self.put(refusals_item(cluster, pool, refusals)).await;
        }
        let key = key(cluster, &refusals_key(pool));
        let request = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(key.into_iter().collect()));
        request.send().await.map(drop).map_err(|error| port_error("DeleteItem", error))
    }

    async fn registrations(
        &self,
        cluster: &ClusterName,
    ) -> Result<BTreeMap<NodePoolName, Registrations>, PortError> {
        let items = self.items(cluster.as_str(), REGISTRATIONS_PREFIX).await?;
        let read = items.iter().filter_map(|item| {
            registrations_from_item(item)
                .inspect_err(|problem| {
                    tracing::error!(%problem, "an item of the ledger cannot be read");
                })
                .ok()
        });
        Ok(read.collect())
    }

    async fn put_registrations(
        &self,
        cluster: &ClusterName,
        pool: &NodePoolName,
        registrations: &Registrations,
    ) -> Result<WriteOutcome, PortError> {
        let item = registrations_item(cluster, pool, registrations);
        let guard = match registrations.version {
            0 | 1 => Guard::absent(item::VERSION),
            version => Guard::equal(item::VERSION, number(version - 1)),
        };
        Ok(match self.put_if(item.clone(), guard).await? {
            Guarded::Written => WriteOutcome::Written,
            Guarded::Refused(Some(standing)) if standing == item => WriteOutcome::Written,
            Guarded::Refused(_) => WriteOutcome::Conflict,
        })
    }

    async fn pulse(&self, cluster: &ClusterName, function: Function) -> Result<Pulse, PortError> {
        let Some(item) = self.get(key(cluster, &pulse_key(function))).await? else {
            return Ok(Pulse::default());
        };
        pulse_from_item(&item).map_err(unreadable)
    }

    async fn write_pulse(
        &self,
        cluster: &ClusterName,
        function: Function,
        from: u64,
        pulse: &Pulse,
    ) -> Result<WriteOutcome, PortError> {
        let item = pulse_item(cluster, function, pulse);
        let guard = if from == 0 {
            Guard::absent_or_equal(item::SEQUENCE, number(0))
        } else {
            Guard::equal(item::SEQUENCE, number(from))
        };
        Ok(match self.put_if(item.clone(), guard).await? {
            Guarded::Written => WriteOutcome::Written,
            Guarded::Refused(Some(standing)) if standing == item => WriteOutcome::Written,
            Guarded::Refused(_) => WriteOutcome::Conflict,
        })
    }

    async fn validation(
        &self,
        cluster: &ClusterName,
        class: &NodeClassName,
    ) -> Result<Option<Validation>, PortError> {
        let item = self.get(key(cluster, &validation_key(class))).await?;
        item.map(|item| validation_from_item(&item).map_err(unreadable)).transpose()
    }

    async fn put_validation(
        &self,
        cluster: &ClusterName,
        class: &NodeClassName,
        validation: &Validation,
    ) -> Result<(), PortError> {
        self.put(validation_item(cluster, class, validation)).await
    }

    async fn put_decisions(
        &self,
        cluster: &ClusterName,
        decisions: &[Decision],
    ) -> Result<(), PortError> {
        let item = |decision| decision_item(self.partition(cluster), decision);
        stream::iter(decisions.iter().map(|decision| self.put(item(decision))))
            .buffer_unordered(requests::ITEMS_AT_ONCE.into())
            .try_collect()
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
        let packed = wire::recorded::encode(question, facts, plan);
        let parts = facts_items(cluster, number, &packed, facts.now)?;
        stream::iter(parts.into_iter().map(|part| self.put(part)))
            .buffer_unordered(requests::LARGE_ITEMS_AT_ONCE.into())
            .try_collect()
            .await
    }
}

/// What `read` makes of `item`; one that it cannot read is listed in `snapshot`.
fn understood<T>(
    snapshot: &mut Snapshot,
    item: &Item,
    read: impl FnOnce(&Item) -> Result<T, Unreadable>,
) -> Option<T> {
    read(item)
        .map_err(|problem| {
            tracing::error!(%problem, "an item of the ledger cannot be read");
            snapshot.unreadable.push(problem.of_snapshot(item));
        })
        .ok()
}

/// Adds what `item` says, whose sort key begins with `prefix`.
fn read_into(snapshot: &mut Snapshot, cluster: &ClusterName, prefix: &str, item: &Item) {
    match prefix {
        CLAIM_PREFIX => {
            let claim = understood(snapshot, item, claim_from_item);
            snapshot.claims.extend(claim.map(|claim| (claim.name.clone(), claim)));
        }
        UNAVAILABLE_PREFIX if is_shortage(item) => {
            let shortage = understood(snapshot, item, |item| shortage_from_item(cluster, item));
            snapshot.shortages.extend(shortage.flatten());
        }
        UNAVAILABLE_PREFIX => {
            let unavailable = understood(snapshot, item, unavailable_from_item);
            snapshot.unavailable_offerings.extend(unavailable);
        }
        MEASURED_PREFIX => {
            let measured = understood(snapshot, item, measured_from_item);
            snapshot.measured.extend(measured);
        }
        COMMAND_PREFIX => {
            let command = understood(snapshot, item, command_from_item);
            snapshot.commands.extend(command);
        }
        _ => {
            let refusals = understood(snapshot, item, refusals_from_item);
            snapshot.refusals.extend(refusals);
        }
    }
}

/// The outcomes of writes, several at a time: a conflict of one is all's.
async fn all(
    writes: impl Iterator<Item = impl Future<Output = Result<WriteOutcome, PortError>>>,
) -> Result<WriteOutcome, PortError> {
    let outcomes: Vec<WriteOutcome> =
        stream::iter(writes).buffer_unordered(requests::ITEMS_AT_ONCE.into()).try_collect().await?;
    let refused = outcomes.into_iter().find(|outcome| *outcome == WriteOutcome::Conflict);
    Ok(refused.unwrap_or(WriteOutcome::Written))
}

fn unreadable(error: Unreadable) -> PortError {
    PortError::because("read the ledger", Fault::Permanent, error)
}

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire_tests;
