//! A commit as one transaction, and what a transaction that was not carried out means.

use aws_sdk_dynamodb::{
    error::BuildError,
    operation::transact_write_items::TransactWriteItemsError,
    types::{Put, TransactWriteItem, Update},
};
use model::{
    ClusterName,
    ledger::{Commit, Generation, batch_items, digest},
};
use ports::{Fault, PortError};

use super::{
    TRANSACTION, batch,
    guard::{self, Guard},
    item::{self, Item},
};

/// What is sent for a commit.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) writes: Vec<TransactWriteItem>,
    /// `ClientRequestToken`: at most 36 characters.
    pub(super) token: String,
}

/// The transaction that makes `commit` real: the head first. `region` is the partition of what all
/// clusters share.
pub(super) fn to_transaction(
    table: &str,
    cluster: &ClusterName,
    region: &str,
    commit: &Commit,
) -> Result<Transaction, PortError> {
    let mut puts: Vec<(Item, Option<Guard>)> = Vec::new();
    for claims in batch_items(&commit.promised) {
        puts.extend(batch::promised(cluster, &claims).map(|item| (item, Some(batch::is_new()))));
    }
    for claim in &commit.changed {
        puts.push((item::claim_item(cluster, claim), Some(item::follows(claim))));
    }
    for (offering, until) in &commit.unavailable_offerings {
        let item = item::unavailable_item(region, offering, *until);
        puts.push((item, Some(item::is_unavailable_longer(*until))));
    }
    for (index, decision) in commit.decisions.iter().enumerate() {
        puts.push((item::decision_item(cluster, &commit.id, index, decision), None));
    }
    let mut content = digest(commit.parent.0.to_string().as_bytes());
    let mut writes = vec![head_update(table, cluster, commit)?];
    for (item, guard) in puts {
        item::check_size(&item)?;
        // Each digest goes into the next: one number for the whole content, in order.
        content = digest(format!("{content} {item:?}").as_bytes());
        writes.push(to_put(table, item, guard)?);
    }
    // The id alone would not do: DynamoDB refuses a token that comes back with other content, and
    // what stands in the table already is left out of a repeated commit.
    let token = format!("{:016x}{content:016x}", digest(commit.id.as_str().as_bytes()));
    Ok(Transaction { writes, token })
}

fn head_update(
    table: &str,
    cluster: &ClusterName,
    commit: &Commit,
) -> Result<TransactWriteItem, PortError> {
    let guard = match commit.parent {
        Generation(0) => Guard::absent(item::GENERATION),
        Generation(parent) => Guard::equal(item::GENERATION, item::number(parent)),
    };
    let mut update = Update::builder()
        .table_name(table)
        .set_key(Some(item::key(cluster, item::HEAD).into_iter().collect()))
        .update_expression("SET #guarded = :next, #commit = :commit")
        .expression_attribute_names("#commit", item::COMMIT_ID)
        .expression_attribute_values(":next", item::number(commit.parent.next().0))
        .expression_attribute_values(":commit", item::text(commit.id.as_str()))
        .condition_expression(guard.expression())
        .expression_attribute_names(guard::ATTRIBUTE, guard.attribute());
    if let Some(value) = guard.value() {
        update = update.expression_attribute_values(guard::VALUE, value.clone());
    }
    let update = update.build().map_err(incomplete)?;
    Ok(TransactWriteItem::builder().update(update).build())
}

/// Puts `item` if `guard` holds.
pub(super) fn to_put(
    table: &str,
    item: Item,
    guard: Option<Guard>,
) -> Result<TransactWriteItem, PortError> {
    let mut put = Put::builder().table_name(table).set_item(Some(item.into_iter().collect()));
    if let Some(guard) = guard {
        put = put
            .condition_expression(guard.expression())
            .expression_attribute_names(guard::ATTRIBUTE, guard.attribute());
        if let Some(value) = guard.value() {
            put = put.expression_attribute_values(guard::VALUE, value.clone());
        }
    }
    Ok(TransactWriteItem::builder().put(put.build().map_err(incomplete)?).build())
}

pub(super) fn incomplete(error: BuildError) -> PortError {
    PortError::because(TRANSACTION, Fault::Permanent, error)
}

/// Why a transaction was cancelled. Nothing of it happened, except where an earlier call of the
/// same transaction did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cancellation {
    /// A condition did not hold, or another writer was at one of the items: look at the head.
    Overtaken,
    /// Only capacity was missing.
    Throttled,
    /// It never works as asked.
    Refused,
}

impl Cancellation {
    /// Whether `error` is a cancellation, and which.
    pub(super) fn of(error: &TransactWriteItemsError) -> Option<Self> {
        match error {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                let reasons = cancelled.cancellation_reasons().iter();
                let codes: Vec<&str> = reasons.filter_map(|reason| reason.code()).collect();
                Some(Self::of_codes(&codes))
            }
            // Ours by its id, but with other content: only the head can tell.
            TransactWriteItemsError::IdempotentParameterMismatchException(_) => {
                Some(Self::Overtaken)
            }
            _ => None,
        }
    }

    /// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>
    fn of_codes(codes: &[&str]) -> Self {
        let any = |wanted: &[&str]| codes.iter().any(|code| wanted.contains(code));
        if any(&["ConditionalCheckFailed", "TransactionConflict"]) {
            Self::Overtaken
        } else if any(&["ProvisionedThroughputExceeded", "ThrottlingError"]) {
            Self::Throttled
        } else {
            Self::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_condition_is_enough_to_be_overtaken() {
        for (codes, expected) in [
            (vec!["None", "ConditionalCheckFailed"], Cancellation::Overtaken),
            (vec!["TransactionConflict", "None"], Cancellation::Overtaken),
            (vec!["ThrottlingError", "ConditionalCheckFailed"], Cancellation::Overtaken),
            (vec!["None", "ThrottlingError"], Cancellation::Throttled),
            (vec!["ProvisionedThroughputExceeded"], Cancellation::Throttled),
            (vec!["ValidationError"], Cancellation::Refused),
            (vec![], Cancellation::Refused),
        ] {
            assert_eq!(Cancellation::of_codes(&codes), expected, "{codes:?}");
        }
    }
}
