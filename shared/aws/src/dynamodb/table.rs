//! Calls of the table: reads and writes of items, each under its condition.

use std::time::Duration;

use aws_sdk_dynamodb::{
    error::SdkError,
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem},
};
use aws_smithy_async::rt::sleep::{AsyncSleep as _, default_async_sleep};
use model::{
    ClusterName, NodeClaim,
    ledger::{Basis, Commit, CommitOutcome, Counters, WriteOutcome},
    limits::{self, requests::table_pauses},
};
use ports::{Fault, PortError};

use super::{
    DynamoLedger, TRANSACTION,
    commit::{Cancellation, ItemUpdate},
    guard::{self, Guard},
    head::{HEAD, HeadUpdate, StoredHead},
    item::{self, Item, claim_item, claim_key, key, number},
    unreadable,
};
use crate::fault::{BadAnswer, has_code, port_error};

/// How long is waited before a transaction is tried again that met another one at an item.
pub(super) const CONTENDED_PAUSES: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(120),
    Duration::from_millis(300),
];

/// What became of a write under a condition.
pub(super) enum Guarded {
    Written,
    /// What stands there instead, if anything does.
    Refused(Option<Item>),
}

impl DynamoLedger {
    pub(super) async fn get(&self, key: Item) -> Result<Option<Item>, PortError> {
        self.read(key, true).await
    }

    /// The item as it was a moment ago, for half the price.
    pub(super) async fn get_recent(&self, key: Item) -> Result<Option<Item>, PortError> {
        self.read(key, false).await
    }

    async fn read(&self, key: Item, is_consistent: bool) -> Result<Option<Item>, PortError> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .consistent_read(is_consistent)
            .set_key(Some(key.into_iter().collect()));
        let answer = request.send().await.map_err(|error| port_error("GetItem", error))?;
        Ok(answer.item.map(|item| item.into_iter().collect()))
    }

    pub(super) async fn stored_head(&self, cluster: &ClusterName) -> Result<StoredHead, PortError> {
        let item = self.get(key(cluster, HEAD)).await?;
        item.map_or_else(
            || Ok(StoredHead::default()),
            |item| StoredHead::of(&item).map_err(unreadable),
        )
    }

    /// Changes the head if the change's condition holds.
    pub(super) async fn write_head(
        &self,
        cluster: &ClusterName,
        update: HeadUpdate,
    ) -> Result<WriteOutcome, PortError> {
        let updated = self.update_head(cluster, update).await?;
        Ok(updated.map_or(WriteOutcome::Conflict, |_| WriteOutcome::Written))
    }

    /// Changes the head if the change's condition holds. Brings the head afterwards, `None` where the
    /// condition did not hold.
    pub(super) async fn update_head(
        &self,
        cluster: &ClusterName,
        update: HeadUpdate,
    ) -> Result<Option<StoredHead>, PortError> {
        let mut request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(cluster, HEAD).into_iter().collect()))
            .update_expression(update.change)
            .condition_expression(update.condition)
            .return_values(ReturnValue::AllNew);
        for name in update.names {
            request = request.expression_attribute_names(format!("#{name}"), name);
        }
        for (name, value) in update.values {
            request = request.expression_attribute_values(name, value);
        }
        let mut pauses = CONTENDED_PAUSES.into_iter();
        loop {
            let error = match request.clone().send().await {
                Ok(answer) => {
                    let item: Item = answer.attributes.into_iter().flatten().collect();
                    return StoredHead::of(&item).map(Some).map_err(unreadable);
                }
                Err(error) => port_error("UpdateItem", error),
            };
            if has_code(&error, "ConditionalCheckFailedException") {
                return Ok(None);
            }
            match pauses.next() {
                // A transaction is at the head in this moment.
                Some(pause) if error.fault == Fault::Conflict => sleep(pause).await,
                _ => return Err(error),
            }
        }
    }

    /// Carries `writes` out, all or none, and tries again where other transactions are at the same items
    /// in this moment, or where the partition has no units left. `false` when a condition did not hold.
    pub(super) async fn transact(
        &self,
        writes: Vec<TransactWriteItem>,
        token: Option<String>,
    ) -> Result<bool, PortError> {
        let mut contended = CONTENDED_PAUSES.into_iter();
        // The SDK sends a cancelled transaction once, whatever its reasons are.
        let mut throttled = table_pauses();
        let refused = |fault, error: SdkError<_>| {
            Err(PortError::because(TRANSACTION, fault, ports::BoxError::from(error)))
        };
        loop {
            let request =
                self.client.transact_write_items().set_transact_items(Some(writes.clone()));
            let sent = request.set_client_request_token(token.clone()).send().await;
            let Err(error) = sent else { return Ok(true) };
            let pause = match error.as_service_error().and_then(Cancellation::of) {
                Some(Cancellation::Overtaken) => return Ok(false),
                Some(Cancellation::Contended) => match contended.next() {
                    Some(pause) => pause,
                    None => return Ok(false),
                },
                Some(Cancellation::Throttled) => match throttled.next() {
                    Some(pause) => pause,
                    None => return refused(Fault::Transient, error),
                },
                Some(Cancellation::Refused) => return refused(Fault::Permanent, error),
                None => return Err(port_error(TRANSACTION, error)),
            };
            sleep(pause).await;
        }
    }

    /// Every item of `partition` whose key starts with `prefix`, consistently read.
    pub(super) async fn items(
        &self,
        partition: &str,
        prefix: &str,
    ) -> Result<Vec<Item>, PortError> {
        let mut items: Vec<Item> = Vec::new();
        let mut start = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .query()
                .table_name(&self.table)
                .consistent_read(true)
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

    /// Puts `item`, whatever stands there.
    pub(super) async fn put(&self, item: Item) -> Result<(), PortError> {
        item::check_size(&item)?;
        let request = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item.into_iter().collect()));
        request.send().await.map(drop).map_err(|error| port_error("PutItem", error))
    }

    /// Puts `item` if `guard` holds.
    pub(super) async fn put_if(&self, item: Item, guard: Guard) -> Result<Guarded, PortError> {
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

    /// Writes a claim that has an item of its own. What another release keeps there stays.
    pub(super) async fn write_own_item(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let item = claim_item(self.partition(cluster), claim);
        item::check_size(&item)?;
        let update = ItemUpdate::of_claim(&item, item::follows(claim));
        let mut request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(update.key.into_iter().collect()))
            .update_expression(update.expression)
            .condition_expression(update.guard.expression())
            .expression_attribute_names(guard::ATTRIBUTE, update.guard.attribute())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        for name in update.names {
            request = request.expression_attribute_names(format!("#{name}"), name);
        }
        for (name, value) in update.values {
            request = request.expression_attribute_values(name, value);
        }
        if let Some(value) = update.guard.value() {
            request = request.expression_attribute_values(guard::VALUE, value.clone());
        }
        let Err(error) = request.send().await else { return Ok(WriteOutcome::Written) };
        let standing = match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => failed.item.clone(),
            _ => {
                return match port_error("UpdateItem", error) {
                    PortError { fault: Fault::Conflict, .. } => Ok(WriteOutcome::Conflict),
                    error => Err(error),
                };
            }
        };
        let standing: Item = standing.into_iter().flatten().collect();
        let is_same = item.iter().all(|(name, value)| standing.get(name) == Some(value))
            && item::OF_CLAIMS
                .iter()
                .all(|name| item.contains_key(*name) == standing.contains_key(*name));
        Ok(if is_same { WriteOutcome::Written } else { WriteOutcome::Conflict })
    }

    pub(super) async fn remove_own_item(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<WriteOutcome, PortError> {
        let key = key(cluster, &claim_key(&claim.name));
        let guard = Guard::absent_or_equal(item::VERSION, number(claim.version));
        let request = self
            .client
            .delete_item()
            .table_name(&self.table)
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

    /// What became of `commit`, whose transaction was not carried out now: the head says whether an
    /// earlier call did it.
    pub(super) async fn outcome_by_head(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<CommitOutcome, PortError> {
        let StoredHead { head, commit: last } = self.stored_head(cluster).await?;
        let is_ours = last.as_deref() == Some(commit.id.as_str());
        Ok(if is_ours { CommitOutcome::Committed(head.counters) } else { CommitOutcome::Conflict })
    }

    /// The counters after `commit`. What it was not based on may have moved meanwhile, and is read.
    pub(super) async fn counters_after(
        &self,
        cluster: &ClusterName,
        commit: &Commit,
    ) -> Result<Counters, PortError> {
        let made = commit.next(commit.parent);
        Ok(match commit.basis {
            Basis::Both => made,
            Basis::Arrivals => {
                let Counters { departures, .. } = self.stored_head(cluster).await?.head.counters;
                Counters { departures, ..made }
            }
            Basis::Claims => self.stored_head(cluster).await?.head.counters,
        })
    }
}

async fn sleep(pause: Duration) {
    if let Some(sleep) = default_async_sleep() {
        sleep.sleep(pause).await;
    }
}
