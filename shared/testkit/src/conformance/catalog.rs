//! The contracts of `Catalog`, `Market` and `CatalogStore`: what is sold, and where that is stored.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    CapacityType, HourlyPrice, InstanceTypeName, OfferingKey, Zone,
    instance_type_info::{StoredRegionCatalog, TableFacts},
};
use ports::{Catalog, CatalogStore, Market};

use super::{ATTEMPTS_MAX, Case, Failure, ensure, same};

/// Runs every case of a catalog that holds something.
pub async fn catalog<P: Catalog>(port: &P) -> Vec<Case> {
    vec![
        Case::of("what is sold is the same when it is asked for again", catalog_twice(port).await),
        Case::of("types are sorted, each once, and sold in known zones", sorted(port).await),
    ]
}

async fn catalog_twice<P: Catalog>(port: &P) -> Result<(), Failure> {
    let (first, second) = (port.catalog().await?, port.catalog().await?);
    ensure(first == second, || "it is another catalog".to_owned())?;
    ensure(!first.instance_types.is_empty(), || "it has no type".to_owned())
}

async fn sorted<P: Catalog>(port: &P) -> Result<(), Failure> {
    let catalog = port.catalog().await?;
    let names: Vec<_> =
        catalog.instance_types.iter().map(|instance_type| &instance_type.name).collect();
    ensure(names.is_sorted_by(|a, b| a < b), || format!("not sorted: {names:?}"))?;
    for instance_type in &catalog.instance_types {
        let name = &instance_type.name;
        let mut offerings = instance_type.offerings.iter();
        let stray = offerings.find(|offering| !catalog.zones.contains_key(&offering.zone));
        ensure(stray.is_none(), || format!("{name} is sold where there is no zone: {stray:?}"))?;
        let keys: BTreeSet<_> =
            instance_type.offerings.iter().map(|offering| instance_type.key_of(offering)).collect();
        let count = instance_type
            .offerings
            .iter()
            .filter(|offering| offering.reservation.is_none())
            .count();
        same(&format!("how often {name} is sold"), &keys.len(), &count)?;
    }
    Ok(())
}

/// What others do to the market.
pub trait MarketWorld {
    /// EC2 changes what an offering costs.
    async fn set_price(&self, offering: &OfferingKey, price: HourlyPrice);
    /// The present.
    fn now(&self) -> Timestamp;
    /// Lets a second pass, real or virtual.
    async fn wait(&self);
}

struct Subject<'a, P, W> {
    port: &'a P,
    world: &'a W,
}

/// Runs every case of a market that sells something on demand and as spot.
pub async fn market<P: Market, W: MarketWorld>(port: &P, world: &W) -> Vec<Case> {
    let subject = &Subject { port, world };
    vec![
        Case::of("types are described once each, as EC2 knows them", subject.described().await),
        Case::of("each zone has an id of its own", subject.zones().await),
        Case::of("what is offered is described, in zones that exist", subject.offered().await),
        Case::of("prices are of what is offered, and none is free", subject.priced().await),
        Case::of("a new price is the price from then on", subject.changed().await),
    ]
}

impl<P: Market, W: MarketWorld> Subject<'_, P, W> {
    async fn described(&self) -> Result<(), Failure> {
        let descriptions = self.port.instance_types().await?;
        ensure(!descriptions.is_empty(), || "nothing is described".to_owned())?;
        let names: BTreeSet<&InstanceTypeName> =
            descriptions.iter().map(|info| &info.name).collect();
        same("how many types there are", &names.len(), &descriptions.len())?;
        for info in &descriptions {
            let name = &info.name;
            same(&format!("what no call answers of {name}"), &info.table, &TableFacts::default())?;
            let is_whole = info.vcpus > 0 && info.memory_mib > 0 && info.architecture().is_some();
            ensure(is_whole, || format!("{info:?}"))?;
        }
        let again = self.port.instance_types().await?;
        ensure(again == descriptions, || "they are described otherwise the second time".to_owned())
    }

    async fn zones(&self) -> Result<(), Failure> {
        let zones = self.port.zones().await?;
        ensure(!zones.is_empty(), || "there is no zone".to_owned())?;
        let ids: BTreeSet<_> = zones.values().collect();
        same("how many ids there are", &ids.len(), &zones.len())
    }

    async fn offered(&self) -> Result<(), Failure> {
        let offered = self.port.offered().await?;
        ensure(!offered.is_empty(), || "nothing is offered".to_owned())?;
        let zones = self.port.zones().await?;
        let descriptions = self.port.instance_types().await?;
        let described: BTreeSet<&InstanceTypeName> = descriptions.iter().map(|s| &s.name).collect();
        for (name, places) in &offered {
            ensure(described.contains(name), || format!("{name} is not described"))?;
            let stray: Vec<&Zone> =
                places.iter().filter(|zone| !zones.contains_key(*zone)).collect();
            ensure(stray.is_empty() && !places.is_empty(), || format!("{name} in {places:?}"))?;
        }
        Ok(())
    }

    async fn priced(&self) -> Result<(), Failure> {
        let offered = self.port.offered().await?;
        let on_demand = self.port.on_demand().await?;
        let spot = self.port.spot(self.world.now()).await?;
        ensure(!on_demand.is_empty() && !spot.is_empty(), || "nothing has a price".to_owned())?;
        for (name, price) in &on_demand {
            let is_sound = offered.contains_key(name) && price.nanos() > 0;
            ensure(is_sound, || format!("{name} on demand for {price}"))?;
        }
        for ((name, zone), price) in &spot {
            let is_offered = offered.get(name).is_some_and(|zones| zones.contains(zone));
            ensure(is_offered && price.nanos() > 0, || {
                format!("{name} as spot in {zone} for {price}")
            })?;
        }
        Ok(())
    }

    async fn changed(&self) -> Result<(), Failure> {
        let before = self.port.spot(self.world.now()).await?;
        let ((instance_type, zone), old) =
            before.first_key_value().ok_or_else(|| Failure("nothing is sold".to_owned()))?;
        let capacity_type = CapacityType::Spot;
        let (instance_type, zone) = (instance_type.clone(), zone.clone());
        let offering = OfferingKey { capacity_type, instance_type, zone };
        // Cents, as spot prices are listed with four digits after the point.
        let price = HourlyPrice::from_nanos(old.nanos() + 10_000_000);
        self.world.wait().await;
        self.world.set_price(&offering, price).await;
        let mut wanted = before.clone();
        wanted.insert((offering.instance_type, offering.zone), price);
        let mut after = BTreeMap::new();
        for _ in 0..ATTEMPTS_MAX {
            self.world.wait().await;
            after = self.port.spot(self.world.now()).await?;
            if after == wanted {
                break;
            }
        }
        let differing: Vec<_> =
            after.iter().filter(|(key, price)| wanted.get(*key) != Some(*price)).collect();
        ensure(after == wanted, || format!("{} prices, other ones: {differing:?}", after.len()))
    }
}

/// Runs every case on a catalog store where nothing was put yet. `first` and `second` differ.
pub async fn catalog_store<P: CatalogStore>(
    port: &P,
    first: &StoredRegionCatalog,
    second: &StoredRegionCatalog,
) -> Vec<Case> {
    let is = async |wanted: Option<&StoredRegionCatalog>| {
        let stored = port.stored().await?;
        ensure(stored.as_ref() == wanted, || {
            let found_at = stored.as_ref().map(|stored| stored.found_at);
            format!("it is another one, found at {found_at:?}")
        })
    };
    let put = async |stored: &StoredRegionCatalog| {
        port.put(stored).await?;
        is(Some(stored)).await
    };
    vec![
        Case::of("before anything is put there is nothing", is(None).await),
        Case::of("what is put is there, whole", put(first).await),
        Case::of("putting it again changes nothing", put(first).await),
        Case::of("what is put later takes its place", put(second).await),
    ]
}
