//! The simulated table counts what claims take as large as they are stored.

use simulator::{Sim, WorldSettings, claim_bytes, decision_bytes};

use crate::world::{minute, runner, sim};

/// Asserts that no estimate is off by more than a fifth.
#[track_caller]
fn check(sim: &Sim) {
    let claims = sim.claims();
    assert!(!claims.is_empty());
    for claim in claims {
        let packed = wire::packed::pack(&wire::record::encode_claim(&claim));
        let stored = u64::try_from(packed.len()).unwrap();
        let estimated = claim_bytes(&claim);
        let is_near = stored * 4 / 5 <= estimated && estimated <= stored * 6 / 5;
        assert!(is_near, "{} {}: {estimated} of {stored}", claim.name, claim.phase);
    }
}

#[test]
fn claims_count_as_large_as_they_are_stored() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    let created = sim.now().checked_add(jiff::SignedDuration::from_secs(12)).unwrap();
    runner.run_until(created).expect("nothing unsafe happens");
    check(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn decisions_count_as_large_as_they_are_stored() {
    let sim = sim(WorldSettings::default());
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let decisions = sim.decisions();
    assert!(!decisions.is_empty());
    let stored = |decision| {
        let packed = wire::packed::pack(&wire::record::encode_decision(decision));
        u64::try_from(packed.len()).unwrap()
    };
    let (stored, estimated) =
        decisions.iter().fold((0, 0), |(stored_bytes, estimated), decision| {
            (stored_bytes + stored(decision), estimated + decision_bytes(decision))
        });
    let is_near = stored * 3 / 4 <= estimated && estimated <= stored * 3 / 2;
    assert!(is_near, "{estimated} of {stored} in {} decisions", decisions.len());
}
