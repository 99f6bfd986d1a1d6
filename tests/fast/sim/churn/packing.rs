//! The same events with either packing: what is spent, evicted and waited for.

use std::sync::{Arc, OnceLock};

use dispatch::Settings;
use model::RegionCatalog;

use super::{Size, churn_among, kept, size};
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

/// The same events with either packing, among instance types of all sizes, consolidated as Karpenter does.
/// `docs/cheapest.md` has the figures of 48 hours, which `JOURNEYMAN_HOURS=48` plays.
#[test]
fn packing_cheapest_breaks_no_rule_and_spends_less() {
    // A claim counts against limits as the largest type that it may become.
    let size = Size { limit: 1_000, ..size() };
    play_seeds(2, |seed| {
        let usual = churn_among(wide_catalog(), seed, size, Settings::default())?;
        let packed = settings(&[("Packing", "cheapest")]);
        let cheapest = churn_among(wide_catalog(), seed, size, packed)?;
        println!("seed {seed}: karpenter {usual}");
        println!("seed {seed}: cheapest {cheapest}");
        if usual.spent_nanos <= cheapest.spent_nanos {
            return Err(format!("{usual}, and cheapest {cheapest}"));
        }
        // Karpenter's few large nodes hardly ever change, and where nodes are full to the last, kube-scheduler does not
        // always find the place that consolidation found for a pod.
        if usual.evictions * 10 < cheapest.evictions {
            return Err(format!("ten times as many evictions: {usual}, and cheapest {cheapest}"));
        }
        Ok(())
    });
}
