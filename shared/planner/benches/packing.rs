//! What packing costs: `cargo bench -p planner --bench packing`.
//!
//! Pods of nine kinds (`support/workloads.rs`) wait in a cluster without nodes, on-demand or spot, with
//! the whole catalog of us-west-2. For each case: what Karpenter's plan costs an hour, what the cheapest
//! costs, below what no plan can be, how long it takes from facts to a plan, and how much memory beside
//! its input. Words after `--` choose kinds, numbers choose sizes, `seeds=N` plays more of each.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/build.rs"]
mod build;
#[path = "support/measure.rs"]
mod measure;
#[path = "support/workloads.rs"]
mod workloads;

use measure::{measure, price};
use model::{HourlyPrice, facts::Facts, policies::Packing};
use plan_check::violations;
use planner::PreparedFacts;
use workloads::{Kind, packed, waiting};

const SIZES: [usize; 3] = [50, 400, 5_000];
const MARKETS: [(&str, &[&str]); 2] = [("on-demand", &["on-demand"]), ("spot", &["spot"])];

#[derive(Default)]
struct Sum {
    logs: f64,
    count: usize,
    worst: f64,
}

impl Sum {
    fn add(&mut self, ratio: f64) {
        self.logs += ratio.ln();
        self.count += 1;
        self.worst = self.worst.max(ratio);
    }

    fn mean(&self) -> f64 {
        (self.logs / self.count.max(1) as f64).exp()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut sizes: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    let seeds = words.iter().find_map(|word| word.strip_prefix("seeds=")?.parse().ok());
    let chosen: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| words.contains(&kind.name())).collect();
    let kinds = if chosen.is_empty() { Kind::ALL.to_vec() } else { chosen };
    let catalog = instance_catalog::builtin().unwrap();
    let (mut of_karpenter, mut of_bound) = (Sum::default(), Sum::default());
    for kind in kinds {
        for (market, capacity_types) in MARKETS {
            for size in &sizes {
                for seed in 0..seeds.unwrap_or(1_u64) {
                    let facts = waiting(kind, *size, capacity_types, &catalog.instance_types, seed);
                    let (karpenter, bound) =
                        one(&facts, &format!("{} {market}", kind.name()), *size);
                    of_karpenter.add(karpenter);
                    if kind.is_plain() && 400 <= *size {
                        of_bound.add(bound);
                    }
                }
            }
        }
    }
    println!(
        "all cases={} of_karpenter={:.4} worst={:.4}; plain from 400 pods cases={} of_bound={:.4} worst={:.4}",
        of_karpenter.count,
        of_karpenter.mean(),
        of_karpenter.worst,
        of_bound.count,
        of_bound.mean(),
        of_bound.worst,
    );
}

/// Measures one case; its price as parts of Karpenter's and of the bound.
fn one(facts: &Facts, name: &str, size: usize) -> (f64, f64) {
    let karpenter = planner::provision(facts);
    let cheap = packed(facts, Packing::Cheapest);
    let cost = measure(&cheap, 1);
    assert!(violations(&cheap, &cost.plan).is_empty(), "the judge refuses the plan");
    let mut prepared = PreparedFacts::of(facts);
    let solved = prepared.solve();
    let started = now();
    let bound = prepared.bound_of(&solved);
    let bounding = started.elapsed();
    let (before, after) = (price(&karpenter), price(&cost.plan));
    let ratio = |of: HourlyPrice| after.nanos() as f64 / of.nanos().max(1) as f64;
    let time = cost.whole();
    println!(
        "{name} n={size} karpenter={before} cheapest={after} bound={bound} of_karpenter={:.4} \
         of_bound={:.4} nodes={}/{} unplaced={}/{} seconds={}.{:03} bound_ms={} peak_memory_bytes={}",
        ratio(before),
        ratio(bound),
        cost.plan.new_claims.len(),
        karpenter.new_claims.len(),
        cost.plan.unplaced.len(),
        karpenter.unplaced.len(),
        time.as_secs(),
        time.subsec_millis(),
        bounding.as_millis(),
        cost.memory_bytes,
    );
    (ratio(before), ratio(bound))
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
