//! What the stored catalog costs: `cargo bench -p launch-template --bench catalog`.
//!
//! A region of 1,400 types in three zones, on demand and spot, made of the shapes that come with the
//! program: how large it is when stored, how long packing takes, and how long `provision` takes to
//! read it back into a catalog.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers: it prints, measures, and ends where something is wrong"
)]

use std::time::{Duration, Instant};

use api::catalog::stored::{decode, encode};
use launch_template::{NodeSettings, catalog};
use model::{CapacityType, HourlyPrice, InstanceTypeName, Zone, shape::Sales};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const TYPES: usize = 1_400;
const ZONES: usize = 3;
const ROUNDS: u32 = 20;

fn main() {
    let sales = region();
    HEAP.reset_peak_usage();
    let (packing, packed) = fastest(|| encode(&sales).unwrap());
    println!("store: {} types, {ZONES} zones: {} bytes in {packing:?}", TYPES, packed.len());
    let (unpacking, _) = fastest(|| decode(&packed).unwrap());
    let (reading, read) = fastest(|| {
        let sales = decode(&packed).unwrap();
        catalog(&sales.market, sales.shapes, &NodeSettings::default())
    });
    assert_eq!(read.instance_types.len(), TYPES);
    let offerings: usize = read.instance_types.iter().map(|one| one.offerings.len()).sum();
    println!("read: {offerings} offerings in {reading:?}, {unpacking:?} of it to unpack");
    println!("peak: {} KiB", HEAP.peak_usage() / 1_024);
}

/// 1,400 types: those that come with the program, and some of them again under other names.
fn region() -> Sales {
    let (mut market, known) = api::catalog::builtin_market().unwrap();
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
    Sales { market, shapes, found_at: "2026-08-01T12:00:00Z".parse().unwrap() }
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
