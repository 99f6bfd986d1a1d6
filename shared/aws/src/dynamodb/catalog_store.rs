//! What is sold in the region, kept in the ledger's table: one item of some 95 KB.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use model::{ClusterName, instance_type_info::StoredRegionCatalog};
use ports::{CatalogStore, PortError};

use super::{
    DynamoLedger,
    item::{self, Item, key},
};
use crate::fault::{BadRequest, port_error};

const CATALOG: &str = "catalog";
const FOUND_AT: &str = "found_at";
const PUT: &str = "PutItem";

/// [`CatalogStore`] beside the ledger of one cluster.
#[derive(Clone, Debug)]
pub struct DynamoCatalogStore {
    ledger: DynamoLedger,
    cluster: ClusterName,
}

impl DynamoCatalogStore {
    pub(crate) fn new(ledger: DynamoLedger, cluster: ClusterName) -> Self {
        Self { ledger, cluster }
    }
}

impl CatalogStore for DynamoCatalogStore {
    async fn stored(&self) -> Result<Option<StoredRegionCatalog>, PortError> {
        let item = self.ledger.get_recent(key(&self.cluster, item::CATALOG)).await?;
        Ok(item.and_then(|item| from_item(&item)))
    }

    async fn put(&self, stored: &StoredRegionCatalog) -> Result<(), PortError> {
        let item = to_item(&self.cluster, stored)?;
        let request = self
            .ledger
            .client
            .put_item()
            .table_name(&self.ledger.table)
            .set_item(Some(item.into_iter().collect()));
        request.send().await.map(drop).map_err(|error| port_error(PUT, error))
    }
}

fn to_item(cluster: &ClusterName, stored: &StoredRegionCatalog) -> Result<Item, PortError> {
    let packed = instance_catalog::stored::encode(stored)
        .map_err(|error| BadRequest::of(PUT, error.to_string()))?;
    let mut item = key(cluster, item::CATALOG);
    item.insert(FOUND_AT.to_owned(), item::text(&stored.found_at.to_string()));
    item.insert(CATALOG.to_owned(), AttributeValue::B(Blob::new(packed)));
    item::check_size(&item)?;
    Ok(item)
}

/// What another version of this program stored is none: what is sold is soon asked for again, and
/// then it is stored in this one's form.
fn from_item(item: &Item) -> Option<StoredRegionCatalog> {
    let packed = item.get(CATALOG).and_then(|value| value.as_b().ok());
    let Some(packed) = packed else {
        tracing::warn!("the stored catalog has no `{CATALOG}` and counts as none");
        return None;
    };
    instance_catalog::stored::decode(packed.as_ref())
        .inspect_err(|error| tracing::warn!(%error, "the stored catalog counts as none"))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sold_comes_back_as_it_was_stored_in_one_item() {
        let catalog = instance_catalog::builtin().unwrap();
        let stored =
            StoredRegionCatalog { catalog, found_at: "2026-08-01T12:00:00Z".parse().unwrap() };
        let item = to_item(&testkit::build::id("demo"), &stored).unwrap();
        assert!(from_item(&item) == Some(stored));
    }

    #[test]
    fn what_another_version_stored_is_none() {
        let mut item = key(&testkit::build::id("demo"), item::CATALOG);
        item.insert("sales".to_owned(), AttributeValue::B(Blob::new(b"journeyman-sales".to_vec())));
        assert_eq!(from_item(&item), None);
        item.insert(CATALOG.to_owned(), AttributeValue::B(Blob::new(b"of tomorrow".to_vec())));
        assert_eq!(from_item(&item), None);
    }
}
