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
    CapacityType, HourlyPrice, InstanceShape, InstanceTypeName, Zone,
    shape::{Market, Shelved},
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const TYPES: usize = 1_400;
const ZONES: usize = 3;
const ROUNDS: u32 = 20;

fn main() {
    let (market, shapes) = region();
    let (working_out, sold) =
        fastest(|| catalog(&market, shapes.clone(), &NodeSettings::default()));
    println!("work out: {TYPES} types, {ZONES} zones in {working_out:?}");
    let shelved = Shelved { catalog: sold, found_at: Timestamp::UNIX_EPOCH };
    let (packing, packed) = fastest(|| encode(&shelved).unwrap());
    println!("store: {} bytes in {packing:?}", packed.len());
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let (reading, read) = fastest(|| decode(&packed).unwrap());
    assert!(read == shelved);
    let offerings: usize = read.catalog.instance_types.iter().map(|t| t.offerings.len()).sum();
    println!("read: {offerings} offerings in {reading:?}");
    println!("a catalog: {} KiB", (HEAP.current_usage() - before) / 1_024);
    println!("peak: {} KiB", HEAP.peak_usage() / 1_024);
}

/// 1,400 types: those that come with the program, and some of them again under other names.
fn region() -> (Market, Vec<InstanceShape>) {
    let (mut market, known) = instance_catalog::builtin_market().unwrap();
    let zones: Vec<Zone> = market.zones.keys().take(ZONES).cloned().collect();
    market.zones.retain(|zone, _| zones.contains(zone));
    let mut shapes = known.clone();
    for shape in known.iter().cycle().take(TYPES - known.len()) {
        let mut more = shape.clone();
        more.name = InstanceTypeName::new(&format!("x{}", shape.name)).unwrap();
        shapes.push(more);
    }
    market.spot.clear();
    for (number, shape) in (1_u64..).zip(&shapes) {
        let price = 10_000_000 + number * 7_919;
        market.offered.insert(shape.name.clone(), zones.iter().cloned().collect());
        market.on_demand.insert(shape.name.clone(), HourlyPrice(price));
        for (place, zone) in (1_u64..).zip(&zones) {
            if shape.capacity_types.contains(&CapacityType::Spot) {
                let spot = HourlyPrice(price / 3 + place * 104_729 + number);
                market.spot.insert((shape.name.clone(), zone.clone()), spot);
            }
        }
    }
    (market, shapes)
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
