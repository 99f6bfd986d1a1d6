//! Caps in dollars, in storms: nothing that is there ever costs more, and pods that wait say why.

use model::{HourlyPrice, ledger::RejectionReason};
use simulator::{Chance, Sim};

use crate::{
    settings::settings,
    storm::{self, play_seeds},
    world::{MANIFESTS, minute, runner_with, scale, sim_of},
};

const MOST: &str = "0.35";

/// What claims cost that are not being deleted, by the prices that they were launched for.
fn spent(sim: &Sim) -> HourlyPrice {
    let claims = sim.claims().into_iter().filter(|claim| !claim.is_deleting());
    let prices = claims.filter_map(|claim| Some(claim.instance?.price));
    prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add)
}

/// Workloads grow and shrink under a cap of the NodePool, or of the cluster.
fn play(seed: u64) -> Result<(), String> {
    let is_of_pool = seed.is_multiple_of(2);
    let annotated =
        format!("{{name: general, annotations: {{journeyman/max-dollars-per-hour: \"{MOST}\"}}}}");
    let text = if is_of_pool {
        MANIFESTS.replacen("{name: general}", &annotated, 1)
    } else {
        MANIFESTS.to_owned()
    };
    let sim = sim_of(storm::settings(seed), &text);
    let mut chance = Chance::new(seed).child("dollars");
    for step in 1..8 {
        let replicas = u32::try_from(chance.below(30)).unwrap_or_default();
        sim.at(minute(step * 8), scale("web", replicas));
    }
    sim.at(minute(64), scale("web", 30));
    sim.at(minute(75), scale("web", 0));
    sim.at(minute(75), scale("store", 1));
    let parameters = [("MaxDollarsPerHour", MOST)];
    let (mut runner, _reports) =
        runner_with(&sim, settings(if is_of_pool { &[] } else { &parameters }));
    let most = HourlyPrice::parse_dollars(MOST).map_err(|error| error.to_string())?;
    let mut highest = HourlyPrice::default();
    for at in 1..95 {
        runner.run_until(minute(at)).map_err(|stopped| stopped.to_string())?;
        let spent = spent(&sim);
        highest = highest.max(spent);
        if most < spent {
            return Err(format!("minute {at}: ${spent} an hour, where ${most} is the cap"));
        }
        if at == 70 && sim.pods_waiting() == 0 {
            return Err("the cap holds nothing back: it shows nothing".to_owned());
        }
    }
    let failures = runner.failures().iter();
    let broken: Vec<_> =
        failures.filter(|(_, text)| text.contains("breaks its own rules")).collect();
    if !broken.is_empty() {
        return Err(format!("{broken:?}"));
    }
    let decisions = sim.decisions();
    let mut rejected = decisions.iter().flat_map(|decision| &decision.rejected);
    if !rejected.any(|rejected| rejected.reason == RejectionReason::DollarCapReached) {
        return Err("no decision says that a cap held pods back".to_owned());
    }
    // What is spent comes near to what may be spent.
    if highest.saturating_add(highest) < most {
        return Err(format!("only ${highest} of ${most} were ever spent"));
    }
    let problems = sim.check_liveness();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

#[test]
fn under_churn_nothing_ever_costs_more_than_its_cap() {
    play_seeds(3, play);
}
