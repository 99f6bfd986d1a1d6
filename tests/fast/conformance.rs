//! The ports' conformance suites on the simulator. `tests/live` runs them over the wire.

use jiff::SignedDuration;
use simulator::{Settings, Sim};
use testkit::{Case, Clusters, FleetWorld};

#[track_caller]
fn check(cases: &[Case]) {
    assert!(!cases.is_empty(), "the suite has no case");
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("{}: {}", case.name, case.outcome.as_ref().err()?)))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn sim() -> Sim {
    let settings = Settings { listing_lag: SignedDuration::ZERO, ..Settings::default() };
    let catalog = api::catalog::builtin().expect("the built-in catalog is sound");
    Sim::new(settings, std::sync::Arc::new(catalog))
}
