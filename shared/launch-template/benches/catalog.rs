//! What the stored catalog costs: `cargo bench -p launch-template --bench catalog`.
//!
//! A region of 1,400 types in three zones, on demand and spot, made of the shapes that come with the
//! program: how long its catalog takes to work out and to store, how large it is then, and how long
//! `provision` takes to read it back.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers: it prints, measures, and ends where something is wrong"
)]

use std::time::{Duration, Instant};

use instance_catalog::stored::{decode, encode};
use jiff::Timestamp;
use launch_template::{NodeSettings, catalog};
use model::{
    CapacityType, HourlyPrice, InstanceTypeInfo, InstanceTypeName, Zone,
    instance_type_info::{RegionMarket, StoredRegionCatalog},
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const TYPES: usize = 1_400;
const ZONES: usize = 3;
const ROUNDS: u32 = 20;

fn main() {
    let (market, descriptions) = region();
    let (working_out, sold) =
        fastest(|| catalog(&market, descriptions.clone(), &NodeSettings::default()));
    println!("work out: {TYPES} types, {ZONES} zones in {working_out:?}");
    let stored = StoredRegionCatalog { catalog: sold, found_at: Timestamp::UNIX_EPOCH };
    let (packing, packed) = fastest(|| encode(&stored).unwrap());
    println!("store: {} bytes in {packing:?}", packed.len());
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let (reading, read) = fastest(|| decode(&packed).unwrap());
    assert!(read == stored);
    let offerings: usize = read.catalog.instance_types.iter().map(|t| t.offerings.len()).sum();
    println!("read: {offerings} offerings in {reading:?}");
    println!("a catalog: {} KiB", (HEAP.current_usage() - before) / 1_024);
    println!("peak: {} KiB", HEAP.peak_usage() / 1_024);
}

/// 1,400 types: those that come with the program, and some of them again under other names.
fn region() -> (RegionMarket, Vec<InstanceTypeInfo>) {
    let (mut market, known) = instance_catalog::builtin_market().unwrap();
    let zones: Vec<Zone> = market.zones.keys().take(ZONES).cloned().collect();
    market.zones.retain(|zone, _| zones.contains(zone));
    let mut descriptions = known.clone();
    for info in known.iter().cycle().take(TYPES - known.len()) {
        let mut more = info.clone();
        more.name = InstanceTypeName::new(&format!("x{}", info.name)).unwrap();
        descriptions.push(more);
    }
    market.spot.clear();
    for (number, info) in (1_u64..).zip(&descriptions) {
        let price = 10_000_000 + number * 7_919;
        market.offered.insert(info.name.clone(), zones.iter().cloned().collect());
        market.on_demand.insert(info.name.clone(), HourlyPrice::from_nanos(price));
        for (place, zone) in (1_u64..).zip(&zones) {
            if info.capacity_types.contains(&CapacityType::Spot) {
                let spot = HourlyPrice::from_nanos(price / 3 + place * 104_729 + number);
                market.spot.insert((info.name.clone(), zone.clone()), spot);
            }
        }
    }
    (market, descriptions)
}

fn fastest<T>(run: impl Fn() -> T) -> (Duration, T) {
    let mut best = (Duration::MAX, run());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let made = run();
        let took = began.elapsed();
        if took < best.0 {
            best = (took, made);
        }
    }
    best
}
