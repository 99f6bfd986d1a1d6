//! A commit as one transaction, and what a transaction that was not carried out means.

use aws_sdk_dynamodb::{
    error::BuildError,
    operation::transact_write_items::TransactWriteItemsError,
    types::{Delete, Put, TransactWriteItem, Update},
};
use model::{
    ClusterName,
    ledger::{Commit, batch_items, digest},
};
use ports::{Fault, PortError};

use super::{
    TRANSACTION, batch, decisions,
    guard::{self, Guard},
    head::HeadUpdate,
    item::{self, Item, Partition},
    unavailable::{is_unavailable_longer, unavailable_item, unavailable_key},
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
    to: Partition<'_>,
    region: &str,
    commit: &Commit,
) -> Result<Transaction, PortError> {
    let Partition { table, cluster, .. } = to;
    let mut puts: Vec<(Item, Option<Guard>)> = Vec::new();
    for claims in batch_items(&commit.created) {
        puts.extend(batch::created(to, &claims).map(|item| (item, Some(batch::is_new()))));
    }
    for claim in &commit.adopted {
        let item = item::claim_item(to, claim);
        puts.push((item, Some(Guard::absent(item::VERSION))));
    }
    for (offering, until) in &commit.unavailable_offerings {
        let item = unavailable_item(region, &unavailable_key(offering), *until);
        puts.push((item, Some(is_unavailable_longer(*until))));
    }
    for (id, command) in &commit.started {
        if !commit.ended.contains(id) {
            puts.push((item::command_item(cluster, id, command), None));
        }
    }
    for decision in &commit.decisions {
        puts.push((decisions::decision_item(to, decision), None));
    }
    let mut content = digest(format!("{} {:?}", commit.parent, commit.basis).as_bytes());
    let mut writes = vec![head_update(table, cluster, commit)?];
    // Each digest goes into the next: one number for the whole content, in order.
    let mut add = |item: &Item| content = digest(format!("{content} {item:?}").as_bytes());
    for claim in &commit.changed {
        let item = item::claim_item(to, claim);
        item::check_size(&item)?;
        add(&item);
        writes.push(to_update(table, &ItemUpdate::of_claim(&item, item::follows(claim)))?);
    }
    for (item, guard) in puts {
        item::check_size(&item)?;
        add(&item);
        writes.push(to_put(table, item, guard)?);
    }
    for id in &commit.ended {
        let key = item::key(cluster, &item::command_key(id));
        add(&key);
        let delete = Delete::builder()
            .table_name(table)
            .set_key(Some(key.into_iter().collect()))
            .build()
            .map_err(incomplete)?;
        writes.push(TransactWriteItem::builder().delete(delete).build());
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
    let update =
        HeadUpdate::commit(commit).to_update(table, cluster).build().map_err(incomplete)?;
    Ok(TransactWriteItem::builder().update(update).build())
}

/// What is written of an item that stands in the table; attributes of another release stay.
#[derive(Debug)]
pub(super) struct ItemUpdate {
    pub(super) key: Item,
    pub(super) expression: String,
    pub(super) names: Vec<String>,
    pub(super) values: Vec<(String, aws_sdk_dynamodb::types::AttributeValue)>,
    pub(super) guard: Guard,
}

impl ItemUpdate {
    /// The item of a claim becomes `item`, if `guard` holds.
    pub(super) fn of_claim(item: &Item, guard: Guard) -> Self {
        let is_key = |name: &str| [item::CLUSTER, item::ITEM].contains(&name);
        let (key, attributes): (Item, Item) =
            item.clone().into_iter().partition(|(name, _)| is_key(name));
        let set: Vec<String> = attributes.keys().map(|name| format!("#{name} = :{name}")).collect();
        let gone: Vec<String> = item::OF_CLAIMS
            .iter()
            .filter(|name| !attributes.contains_key(**name))
            .map(|name| format!("#{name}"))
            .collect();
        let remove =
            if gone.is_empty() { String::new() } else { format!(" REMOVE {}", gone.join(", ")) };
        Self {
            key,
            expression: format!("SET {}{remove}", set.join(", ")),
            names: item::OF_CLAIMS.map(str::to_owned).into(),
            values: attributes
                .into_iter()
                .map(|(name, value)| (format!(":{name}"), value))
                .collect(),
            guard,
        }
    }
}

fn to_update(table: &str, change: &ItemUpdate) -> Result<TransactWriteItem, PortError> {
    let ItemUpdate { key, expression, names, values, guard } = change;
    let mut update = Update::builder()
        .table_name(table)
        .set_key(Some(key.clone().into_iter().collect()))
        .update_expression(expression)
        .condition_expression(guard.expression())
        .expression_attribute_names(guard::ATTRIBUTE, guard.attribute());
    for name in names {
        update = update.expression_attribute_names(format!("#{name}"), name);
    }
    for (name, value) in values {
        update = update.expression_attribute_values(name, value.clone());
    }
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
    /// A condition did not hold: look at the head.
    Overtaken,
    /// Another writer was at one of the items in this moment.
    Contended,
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
        if any(&["ConditionalCheckFailed"]) {
            Self::Overtaken
        } else if any(&["TransactionConflict"]) {
            Self::Contended
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
            (vec!["TransactionConflict", "None"], Cancellation::Contended),
            (vec!["TransactionConflict", "ConditionalCheckFailed"], Cancellation::Overtaken),
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
