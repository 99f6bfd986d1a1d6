//! New claims of a batch, kept together.
//!
//! A commit is one transaction, and a transaction has few items: so claims that are created
//! together, and alike, are one item until one of them is written. Then they move to items of their
//! own. A claim is always in exactly one of the two: a move does both in one transaction.
//! So a reader that reads batches first and claims second sees every claim.

use aws_sdk_dynamodb::types::{Delete, TransactWriteItem};
use model::{BatchId, NodeClaim};
use ports::PortError;

use super::{
    commit::{incomplete, to_put},
    guard::{self, Guard},
    item::{self, BATCH_PREFIX, CLAIMS, Item, Partition, RECORD, Unreadable},
};

/// What becomes of claims that leave their batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// They get items of their own, as they are given.
    ToOwnItems,
    /// They are gone.
    ForGood,
}

/// An item of new claims.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Batch {
    /// Its sort key.
    key: String,
    pub(super) claims: Vec<NodeClaim>,
}

/// What the sort keys of the items of `batch` start with.
pub(super) fn prefix(batch: &BatchId) -> String {
    format!("{BATCH_PREFIX}{batch}#")
}

/// The item of `claims`, which are of one batch, when they are created.
pub(super) fn created(to: Partition<'_>, claims: &[&NodeClaim]) -> Option<Item> {
    let first = claims.first()?;
    let key = format!("{}{}", prefix(&first.batch), first.batch_index);
    Some(to_item(to, &key, claims))
}

/// That there is no such item.
pub(super) fn is_new() -> Guard {
    Guard::absent(CLAIMS)
}

fn to_item(to: Partition<'_>, key: &str, claims: &[&NodeClaim]) -> Item {
    let mut item = item::key(to.cluster, key);
    item.insert(CLAIMS.to_owned(), item::number(count(claims.len())));
    item.insert(RECORD.to_owned(), to.form.of(&wire::record::encode_claims(claims)));
    item
}

fn count(claims: usize) -> u64 {
    u64::try_from(claims).unwrap_or(u64::MAX)
}

impl Batch {
    pub(super) fn of(item: &Item) -> Result<Self, Unreadable> {
        let claims = wire::record::decode_claims(&item::record_of(item)?);
        let claims =
            claims.map_err(|error| item::unreadable(item, format!("`{RECORD}`: {error}")))?;
        Ok(Self { key: item::text_of(item, item::ITEM)?.to_owned(), claims })
    }

    /// The transaction after which claims with the names of `gone` are not here any more; with what is
    /// left. Claims only ever leave a batch, so their number tells one state of it from all others.
    pub(super) fn without(
        &self,
        to: Partition<'_>,
        gone: &[NodeClaim],
        leaving: Leaving,
    ) -> Result<(Vec<TransactWriteItem>, Self), PortError> {
        let stays = |claim: &&NodeClaim| gone.iter().all(|leaving| leaving.name != claim.name);
        let left: Vec<&NodeClaim> = self.claims.iter().filter(stays).collect();
        let mut writes = vec![self.shrunk(to, &left)?];
        if leaving == Leaving::ToOwnItems {
            for claim in gone {
                let item = item::claim_item(to, claim);
                item::check_size(&item)?;
                writes.push(to_put(to.table, item, Some(Guard::absent(item::VERSION)))?);
            }
        }
        let claims = left.into_iter().cloned().collect();
        Ok((writes, Self { key: self.key.clone(), claims }))
    }

    /// The write after which only `left` are here.
    fn shrunk(
        &self,
        to: Partition<'_>,
        left: &[&NodeClaim],
    ) -> Result<TransactWriteItem, PortError> {
        let is_as_read = Guard::equal(CLAIMS, item::number(count(self.claims.len())));
        if !left.is_empty() {
            return to_put(to.table, to_item(to, &self.key, left), Some(is_as_read));
        }
        let mut delete = Delete::builder()
            .table_name(to.table)
            .set_key(Some(item::key(to.cluster, &self.key).into_iter().collect()))
            .condition_expression(is_as_read.expression())
            .expression_attribute_names(guard::ATTRIBUTE, is_as_read.attribute());
        if let Some(value) = is_as_read.value() {
            delete = delete.expression_attribute_values(guard::VALUE, value.clone());
        }
        let delete = delete.build().map_err(incomplete)?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }
}
