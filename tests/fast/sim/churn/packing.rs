//! The same events with either packing: what is spent, evicted and waited for.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use dispatch::Settings;
use model::RegionCatalog;

use super::{Figures, Size, catalog, churn_among, kept, size};
use crate::{settings::settings, storm::play_seeds};

/// Types of general use of all sizes, burstable ones among them, as a NodePool without requirements allows them.
fn wide_catalog() -> Arc<RegionCatalog> {
    static CATALOG: OnceLock<Arc<RegionCatalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| {
        let families =
            ["c6g", "c7g", "c7i", "m6g", "m7g", "m7i", "r6g", "r7g", "r7i", "t3", "t3a", "t4g"];
        let sizes = [
            "medium", "large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge",
            "24xlarge",
        ];
        Arc::new(kept(&families, &sizes))
    });
    Arc::clone(catalog)
}

/// The same events with either packing: what each came to. A claim counts against limits as the largest type that it
/// may become, so the limit of the pool is wide.
fn both(catalog: fn() -> Arc<RegionCatalog>, seed: u64) -> Result<[Figures; 2], String> {
    let size = Size { limit: 1_000, ..size() };
    let usual = churn_among(catalog(), seed, size, Settings::default())?;
    let cheapest = churn_among(catalog(), seed, size, settings(&[("Packing", "cheapest")]))?;
    println!("seed {seed}: karpenter {usual}");
    println!("seed {seed}: cheapest {cheapest}");
    Ok([usual, cheapest])
}

/// Plays each seed with both packings. `cheapest` spends less than `most` hundredths of what Karpenter's packing
/// spends with each seed, and evicts at most twice as often with all of them together: of one seed a few dozen
/// evictions are left to chance.
fn compare(catalog: fn() -> Arc<RegionCatalog>, most: u128) {
    let evictions = [AtomicU64::new(0), AtomicU64::new(0)];
    play_seeds(2, |seed| {
        let [usual, cheapest] = both(catalog, seed)?;
        evictions[0].fetch_add(usual.evictions, Relaxed);
        evictions[1].fetch_add(cheapest.evictions, Relaxed);
        if usual.spent_nanos * most <= cheapest.spent_nanos * 100 {
            return Err(format!("{usual}, and cheapest {cheapest}"));
        }
        Ok(())
    });
    let [usual, cheapest] = evictions.map(AtomicU64::into_inner);
    println!("all seeds: karpenter {usual} evictions, cheapest {cheapest}");
    assert!(cheapest <= 2 * usual, "{cheapest} evictions instead of {usual}");
}

/// Consolidated as Karpenter does. `docs/cheapest.md` has the figures of 48 hours, which `JOURNEYMAN_HOURS=48` plays.
#[test]
fn packing_cheapest_breaks_no_rule_and_spends_less() {
    compare(wide_catalog, 100);
}

/// Where nothing is to be saved, among eight types with four CPUs at most, it costs hardly more.
#[test]
fn packing_cheapest_among_small_types_costs_hardly_more() {
    compare(catalog, 115);
}
