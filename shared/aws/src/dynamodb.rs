//! The ledger in DynamoDB: one table, one partition for each cluster and one for the region.
//!
//! | item | attributes |
//! |---|---|
//! | `head` | `generation`, `commit_id` |
//! | `batch#<batch>#<index>` | `claims`: their number, `record`: promised claims nobody wrote to yet |
//! | `claim#<name>` | `phase`, `version`, `record`, `instance_id` once there is one |
//! | `measured#<type>#<image>` | `memory`, `expires_at` |
//! | `tick#<chain>` | `sequence`, `ticked_at` |
//! | `catalog` | `found_at`, `catalog`: what is sold in the region |
//! | `validation#<class>` | `record`, `expires_at`: what the dry run of the class came to |
//! | `decision#<time>#<commit>#<index>` | `record`, `expires_at` |
//! | of `region#<region>`: `unavailable_offerings#<capacity-type>#<type>#<zone>` | `expires_at` |
//!
//! Reads are consistent. What a failed write means is looked up in the table, never guessed.

mod batch;
mod catalog_store;
mod commit;
mod guard;
mod item;
mod promised;

pub use catalog_store::DynamoCatalogStore;

use aws_sdk_dynamodb::{
    Client,
    error::SdkError,
    operation::{put_item::PutItemError, transact_write_items::TransactWriteItemsError},
    types::ReturnValuesOnConditionCheckFailure,
};
use futures_util::{
    future::try_join3,
    stream::{self, StreamExt as _, TryStreamExt as _},
};
use jiff::Timestamp;
use model::{
    Bytes, ClusterName, InstanceId, NodeClaim, NodeClaimName, NodeClassName, OfferingKey,
    ledger::{Commit, CommitOutcome, MeasuredKey, PROMISED_VERSION, Snapshot, WriteOutcome},
    limits,
    validation::Validation,
};
use ports::{Fault, Ledger, PortError};

use self::{
    batch::Leaving,
    commit::{Cancellation, to_transaction},
    guard::Guard,
    item::{
        BATCH_PREFIX, CLAIM_PREFIX, Head, Item, MEASURED_PREFIX, UNAVAILABLE_PREFIX,
        claim_from_item, claim_item, claim_key, head_from_item, key, measured_from_item,
        measured_item, number, tick_from_item, tick_item, tick_key, unavailable_from_item,
        unavailable_item, validation_from_item, validation_item, validation_key,
    },
};
use crate::fault::{BadAnswer, BadRequest, port_error};

const TRANSACTION: &str = "TransactWriteItems";
/// Claims that are written at the same time.
const WRITES_AT_ONCE: usize = 16;
/// The index of claims by instance.
const INSTANCE_INDEX: &str = "instance";

/// [`Ledger`] over DynamoDB.
#[derive(Clone, Debug)]
pub struct DynamoLedger {
    client: Client,
    table: String,
    /// Partition of what all clusters of the region share.
    region: String,
}

/// What became of a write under a condition.
enum Guarded {
    Written,
    /// What stands there instead, if anything does.
    Refused(Option<Item>),
}

impl DynamoLedger {
    /// The ledger in the table called `table`, for clusters in `region`.
    pub fn new(client: Client, table: &str, region: &str) -> Self {
        Self { client, table: table.to_owned(), region: item::region_partition(region) }
    }

    async fn get(&self, key: Item) -> Result<Option<Item>, PortError> {
        let request = self.client.get_item().table_name(&self.table).consistent_read(true);
        let request = request.set_key(Some(key.into_iter().collect()));
        let answer = request.send().await.map_err(|error| port_error("GetItem", error))?;
        Ok(answer.item.map(|item| item.into_iter().collect()))
    }

    async fn head(&self, cluster: &ClusterName) -> Result<Head, PortError> {
        let item = self.get(key(cluster, item::HEAD)).await?;
        item.map_or_else(|| Ok(Head::default()), |item| head_from_item(&item).map_err(unreadable))
    }

    /// Every item of `partition` whose key starts with `prefix`, consistently read.
    async fn items(&self, partition: &str, prefix: &str) -> Result<Vec<Item>, PortError> {
        let mut items: Vec<Item> = Vec::new();
        let mut start = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self.client.query().table_name(&self.table).consistent_read(true);
            let request = request
                .key_condition_expression("#cluster = :cluster AND begins_with(#item, :prefix)")
                .expression_attribute_names("#cluster", item::CLUSTER)
                .expression_attribute_names("#item", item::ITEM)
                .expression_attribute_values(":cluster", item::text(partition))
                .expression_attribute_values(":prefix", item::text(prefix))
                .set_exclusive_start_key(start);
            let answer = request.send().await.map_err(|error| port_error("Query", error))?;
            items.extend(answer.items.into_iter().flatten().map(|item| item.into_iter().collect()));
            start = answer.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() {
                return Ok(items);
            }
        }
        Err(BadAnswer::of("Query", format!("`{prefix}` has too many pages")))
    }

    /// Puts `item` if `guard` holds.
    async fn put_if(&self, item: Item, guard: Guard) -> Result<Guarded, PortError> {
        item::check_size(&item)?;
        let mut request = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item.into_iter().collect()))
            .condition_expression(guard.expression())
            .expression_attribute_names(guard::ATTRIBUTE, guard.attribute())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        if let Some(value) = guard.value() {
            request = request.expression_attribute_values(guard::VALUE, value.clone());
        }
        let Err(error) = request.send().await else { return Ok(Guarded::Written) };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                let standing = failed.item.clone();
                Ok(Guarded::Refused(standing.map(|item| item.into_iter().collect())))
            }
            _ => Err(port_error("PutItem", error)),
        }
    }

    async fn write_own_item(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let item = claim_item(cluster, claim);
        Ok(match self.put_if(item.clone(), item::follows(claim)).await? {
            Guarded::Written => WriteOutcome::Written,
            Guarded::Refused(Some(standing)) if standing == item => WriteOutcome::Written,
            Guarded::Refused(_) => WriteOutcome::Conflict,
        })
    }

    async fn remove_own_item(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let key = key(cluster, &claim_key(&claim.name));
        let guard = Guard::absent_or_equal(item::VERSION, number(claim.version));
        let request = self.client.delete_item().table_name(&self.table);
        let request = request
            .set_key(Some(key.into_iter().collect()))
            .condition_expression(guard.expression())
            .expression_attribute_names(guard::ATTRIBUTE, guard.attribute())
            .expression_attribute_values(guard::VALUE, number(claim.version));
        match request.send().await {
            Ok(_) => Ok(WriteOutcome::Written),
            Err(error) => match port_error("DeleteItem", error) {
                PortError { fault: Fault::Conflict, .. } => Ok(WriteOutcome::Conflict),
                error => Err(error),
            },
        }
    }

    /// What a transaction that was not carried out means.
    async fn reaction(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
        error: SdkError<TransactWriteItemsError>,
    ) -> Result<CommitOutcome, PortError> {
        match overtaken(error) {
            Ok(()) => self.outcome_by_head(cluster, commit).await,
            Err(error) => Err(error),
        }
    }

    /// Whether the head is the one that `commit` made, by an earlier call whose answer was lost.
    async fn outcome_by_head(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<CommitOutcome, PortError> {
        let head = self.head(cluster).await?;
        let made = commit.parent.next();
        let is_ours = head.generation == made && head.commit.as_deref() == Some(commit.id.as_str());
        Ok(if is_ours { CommitOutcome::Committed(made) } else { CommitOutcome::Conflict })
    }
}

impl Ledger for DynamoLedger {
    async fn snapshot(&self, cluster: &ClusterName) -> Result<Snapshot, PortError> {
        let generation = self.head(cluster).await?.generation;
        let mut snapshot = Snapshot { generation, ..Snapshot::default() };
        // Before claims of their own: what moves meanwhile is seen twice, never not at all.
        let promised = self.promised(cluster, BATCH_PREFIX).await?;
        let promised = promised.into_iter().flat_map(|batch| batch.claims);
        snapshot.claims.extend(promised.map(|claim| (claim.name.clone(), claim)));
        let claims = self.items(cluster.as_str(), CLAIM_PREFIX);
        let unavailable_offerings = self.items(&self.region, UNAVAILABLE_PREFIX);
        let measured = self.items(cluster.as_str(), MEASURED_PREFIX);
        let (claims, unavailable_offerings, measured) =
            Box::pin(try_join3(claims, unavailable_offerings, measured)).await?;
        for item in claims {
            // A claim that cannot be read must not be forgotten: its instance would be bought
            // again. So nothing is decided until somebody has looked.
            let claim = claim_from_item(&item).map_err(unreadable)?;
            snapshot.claims.insert(claim.name.clone(), claim);
        }
        for item in unavailable_offerings {
            let (offering, until) = unavailable_from_item(&item).map_err(unreadable)?;
            snapshot.unavailable_offerings.insert(offering, until);
        }
        for item in measured {
            match measured_from_item(&item) {
                Ok((key, memory)) => {
                    snapshot.measured.insert(key, memory);
                }
                // It only makes an estimate better.
                Err(problem) => tracing::warn!(%problem, "measured memory left out"),
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
                let (offering, standing) = unavailable_from_item(&item).map_err(unreadable)?;
                if commit
                    .unavailable_offerings
                    .get(&offering)
                    .is_some_and(|until| *until <= standing)
                {
                    commit.unavailable_offerings.remove(&offering);
                }
            }
        }
        let transaction = to_transaction(&self.table, cluster, &self.region, &commit)?;
        let request = self.client.transact_write_items();
        let request = request.set_transact_items(Some(transaction.writes));
        match request.client_request_token(transaction.token).send().await {
            Ok(_) => Ok(CommitOutcome::Committed(commit.parent.next())),
            Err(error) => self.reaction(cluster, &commit, error).await,
        }
    }

    async fn claim(
        &self,
        cluster: &ClusterName,
        name: &NodeClaimName,
    ) -> Result<Option<NodeClaim>, PortError> {
        let item = self.get(key(cluster, &claim_key(name))).await?;
        item.map(|item| claim_from_item(&item).map_err(unreadable)).transpose()
    }

    async fn claim_of_instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<(ClusterName, NodeClaim)>, PortError> {
        let request = self.client.query().table_name(&self.table).index_name(INSTANCE_INDEX);
        let request = request
            .key_condition_expression("#instance = :instance")
            .expression_attribute_names("#instance", item::INSTANCE_ID)
            .expression_attribute_values(":instance", item::text(instance.as_str()));
        let answer = request.send().await.map_err(|error| port_error("Query", error))?;
        for attribute_values in answer.items() {
            let stored: Item = attribute_values.clone().into_iter().collect();
            let cluster = item::cluster_of(&stored).map_err(unreadable)?;
            let name = claim_from_item(&stored).map_err(unreadable)?.name;
            // The index lags: what counts is what the table says.
            let claim = self.claim(&cluster, &name).await?;
            let is_its = |claim: &NodeClaim| {
                claim.instance.as_ref().is_some_and(|launched| launched.id == *instance)
            };
            if let Some(claim) = claim.filter(is_its) {
                return Ok(Some((cluster, claim)));
            }
        }
        Ok(None)
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
        if claim.version <= PROMISED_VERSION {
            let problem = format!("claim {} is still in its batch", claim.name);
            return Err(BadRequest::of("DeleteItem", problem));
        }
        self.remove_own_item(cluster, claim).await
    }

    async fn remove_claims(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<WriteOutcome, PortError> {
        let gone = self.take_out(cluster, claims, Leaving::ForGood).await?;
        let others = claims.iter().filter(|claim| !gone.contains(&claim.name));
        all(others.map(|claim| self.remove_own_item(cluster, claim))).await
    }

    async fn mark_unavailable(
        &self,
        offerings: &[(OfferingKey, Timestamp)],
    ) -> Result<(), PortError> {
        for (offering, until) in offerings {
            let item = unavailable_item(&self.region, offering, *until);
            // Refused is as good as written: a later time stands there.
            self.put_if(item, item::is_unavailable_longer(*until)).await?;
        }
        Ok(())
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

    async fn advance_tick(
        &self,
        cluster: &ClusterName,
        chain: &str,
        from: Option<u64>,
        now: Timestamp,
    ) -> Result<WriteOutcome, PortError> {
        let next = from.map_or(0, |from| from.saturating_add(1));
        let item = tick_item(cluster, chain, next, now);
        let guard = from.map_or_else(
            || Guard::absent(item::SEQUENCE),
            |from| Guard::equal(item::SEQUENCE, number(from)),
        );
        Ok(match self.put_if(item, guard).await? {
            Guarded::Written => WriteOutcome::Written,
            Guarded::Refused(_) => WriteOutcome::Conflict,
        })
    }

    async fn tick(
        &self,
        cluster: &ClusterName,
        chain: &str,
    ) -> Result<Option<(u64, Timestamp)>, PortError> {
        let item = self.get(key(cluster, &tick_key(chain))).await?;
        item.map(|item| tick_from_item(&item).map_err(unreadable)).transpose()
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
        let item = validation_item(cluster, class, validation);
        item::check_size(&item)?;
        let request = self.client.put_item().table_name(&self.table);
        let request = request.set_item(Some(item.into_iter().collect()));
        request.send().await.map(drop).map_err(|error| port_error("PutItem", error))
    }
}

/// The outcomes of writes, several at a time: a conflict of one is all's.
async fn all(
    writes: impl Iterator<Item = impl Future<Output = Result<WriteOutcome, PortError>>>,
) -> Result<WriteOutcome, PortError> {
    let outcomes: Vec<WriteOutcome> =
        stream::iter(writes).buffer_unordered(WRITES_AT_ONCE).try_collect().await?;
    let refused = outcomes.into_iter().find(|outcome| *outcome == WriteOutcome::Conflict);
    Ok(refused.unwrap_or(WriteOutcome::Written))
}

/// `Ok` when a transaction was not carried out because somebody else was faster.
fn overtaken(error: SdkError<TransactWriteItemsError>) -> Result<(), PortError> {
    match error.as_service_error().and_then(Cancellation::of) {
        Some(Cancellation::Overtaken) => Ok(()),
        Some(Cancellation::Throttled) => {
            Err(PortError::because(TRANSACTION, Fault::Transient, ports::BoxError::from(error)))
        }
        Some(Cancellation::Refused) => {
            Err(PortError::because(TRANSACTION, Fault::Permanent, ports::BoxError::from(error)))
        }
        None => Err(port_error(TRANSACTION, error)),
    }
}

fn unreadable(error: item::Unreadable) -> PortError {
    PortError::because("read the ledger", Fault::Permanent, error)
}

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire_tests;
