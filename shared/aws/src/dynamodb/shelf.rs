//! What is sold in the region, kept in the ledger's table: one item of some 60 KB.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use model::{ClusterName, shape::Sales};
use ports::{PortError, Shelf};

use super::{
    DynamoLedger,
    item::{self, Item, key},
};
use crate::fault::{BadAnswer, BadRequest, port_error};

const SALES: &str = "sales";
const FOUND_AT: &str = "found_at";
const PUT: &str = "PutItem";

/// [`Shelf`] beside the ledger of one cluster.
#[derive(Clone, Debug)]
pub struct DynamoShelf {
    ledger: DynamoLedger,
    cluster: ClusterName,
}

impl DynamoShelf {
    pub(crate) fn new(ledger: DynamoLedger, cluster: ClusterName) -> Self {
        Self { ledger, cluster }
    }
}

impl Shelf for DynamoShelf {
    async fn sales(&self) -> Result<Option<Sales>, PortError> {
        let item = self.ledger.get(key(&self.cluster, item::CATALOG)).await?;
        item.map(|item| from_item(&item)).transpose()
    }

    async fn put(&self, sales: &Sales) -> Result<(), PortError> {
        let item = to_item(&self.cluster, sales)?;
        let request = self.ledger.client.put_item().table_name(&self.ledger.table);
        let request = request.set_item(Some(item.into_iter().collect()));
        request.send().await.map(drop).map_err(|error| port_error(PUT, error))
    }
}

fn to_item(cluster: &ClusterName, sales: &Sales) -> Result<Item, PortError> {
    let packed = api::catalog::stored::encode(sales)
        .map_err(|error| BadRequest::of(PUT, error.to_string()))?;
    let mut item = key(cluster, item::CATALOG);
    item.insert(FOUND_AT.to_owned(), item::text(&sales.found_at.to_string()));
    item.insert(SALES.to_owned(), AttributeValue::B(Blob::new(packed)));
    item::check_size(&item)?;
    Ok(item)
}

fn from_item(item: &Item) -> Result<Sales, PortError> {
    let bad = |problem: String| BadAnswer::of("GetItem", format!("item `catalog`: {problem}"));
    let packed = item.get(SALES).and_then(|value| value.as_b().ok());
    let packed = packed.ok_or_else(|| bad(format!("`{SALES}` must be bytes")))?;
    api::catalog::stored::decode(packed.as_ref()).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sold_comes_back_as_it_was_stored_in_one_item() {
        let (market, shapes) = api::catalog::builtin_market().unwrap();
        let found_at = "2026-08-01T12:00:00Z".parse().unwrap();
        let sales = Sales { market, shapes, found_at };
        let item = to_item(&testkit::build::id("demo"), &sales).unwrap();
        let read = from_item(&item).unwrap();
        assert_eq!((read.market, read.found_at), (sales.market, found_at));
        assert_eq!(read.shapes, sales.shapes);
    }

    #[test]
    fn an_item_without_its_bytes_says_so() {
        let error = from_item(&key(&testkit::build::id("demo"), item::CATALOG)).unwrap_err();
        let source = error.source.unwrap().to_string();
        assert_eq!(source, "the answer is not usable: item `catalog`: `sales` must be bytes");
    }
}
