//! What can be bought, as the function `catalog` keeps it; until it has run for the first time, the
//! catalog that comes with the program.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aws::DynamoCatalogStore;
use jiff::Timestamp;
use model::{RegionCatalog, instance_type_info::StoredRegionCatalog, limits::requests};
use ports::{CatalogStore, Fault, PortError};

use crate::clock;

/// [`ports::Catalog`] over the catalog store.
#[derive(Debug)]
pub struct StoredCatalog<S = DynamoCatalogStore> {
    catalog_store: S,
    /// Read when it is needed for the first time: as long as nothing is stored.
    builtin: OnceLock<Arc<RegionCatalog>>,
    /// What was read last: when, of which age, and what.
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    read_at: Timestamp,
    found_at: Timestamp,
    catalog: Arc<RegionCatalog>,
}

impl<S: CatalogStore> StoredCatalog<S> {
    /// A catalog over what is kept on `catalog_store`, read when it is asked for.
    pub fn new(catalog_store: S) -> Self {
        Self { catalog_store, builtin: OnceLock::new(), kept: Mutex::new(None) }
    }

    fn kept(&self) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What comes with the program, read when it is asked for: that takes longer than all else that a function does
    /// before its first poll.
    ///
    /// # Errors
    ///
    /// `Permanent`: it cannot be read.
    pub fn builtin(&self) -> Result<Arc<RegionCatalog>, PortError> {
        if let Some(builtin) = self.builtin.get() {
            return Ok(Arc::clone(builtin));
        }
        let read = instance_catalog::builtin().map_err(|error| {
            PortError::because("read the built-in catalog", Fault::Permanent, error)
        })?;
        Ok(Arc::clone(self.builtin.get_or_init(|| Arc::new(read))))
    }

    async fn read(&self, now: Timestamp) -> Result<Arc<RegionCatalog>, PortError> {
        let kept = self.kept();
        if let Some(kept) = &kept
            && now.duration_since(kept.read_at) < requests::CATALOG_KEPT_FOR
        {
            return Ok(Arc::clone(&kept.catalog));
        }
        let Some(StoredRegionCatalog { catalog, found_at }) = self.catalog_store.stored().await?
        else {
            let builtin = self.builtin()?;
            tracing::warn!("no catalog is stored yet: the built-in one is of {}", builtin.region);
            return Ok(builtin);
        };
        // The very same while nothing changed: what is worked out from it is kept too.
        let catalog = match kept {
            Some(kept) if kept.found_at == found_at => kept.catalog,
            _ => Arc::new(catalog),
        };
        let read = Kept { read_at: now, found_at, catalog: Arc::clone(&catalog) };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Ok(catalog)
    }
}

impl<S: CatalogStore> ports::Catalog for StoredCatalog<S> {
    async fn catalog(&self) -> Result<Arc<RegionCatalog>, PortError> {
        self.read(clock::now()).await
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts how often it is asked.
    struct Counting {
        stored: Option<StoredRegionCatalog>,
        asked: Cell<u32>,
    }

    impl CatalogStore for Counting {
        async fn stored(&self) -> Result<Option<StoredRegionCatalog>, PortError> {
            self.asked.set(self.asked.get() + 1);
            Ok(self.stored.clone())
        }

        async fn put(&self, _: &StoredRegionCatalog) -> Result<(), PortError> {
            Ok(())
        }
    }

    fn stored(stored: Option<StoredRegionCatalog>) -> StoredCatalog<Counting> {
        StoredCatalog::new(Counting { stored, asked: Cell::new(0) })
    }

    #[tokio::test]
    async fn what_was_read_is_kept_for_five_minutes_and_stays_the_same_while_nothing_changes() {
        let found_at = Timestamp::UNIX_EPOCH;
        let catalog = stored(Some(StoredRegionCatalog {
            catalog: instance_catalog::builtin().unwrap(),
            found_at,
        }));
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let first = catalog.read(at(1_000)).await.unwrap();
        let second = catalog.read(at(1_299)).await.unwrap();
        assert_eq!(catalog.catalog_store.asked.get(), 1);
        let third = catalog.read(at(1_300)).await.unwrap();
        assert_eq!(catalog.catalog_store.asked.get(), 2);
        assert!(Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first, &third));
        assert!(first.instance_types.len() > 1_000);
    }

    #[tokio::test]
    async fn until_there_is_one_the_built_in_catalog_serves_and_is_asked_for_again() {
        let catalog = stored(None);
        let read = catalog.read(Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(read.region, "us-west-2");
        catalog.read(Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(catalog.catalog_store.asked.get(), 2);
    }
}
