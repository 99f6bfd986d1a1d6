//! What a full refresh of the catalog costs: `cargo bench -p aws --bench refresh`.
//!
//! The handler of the function `catalog` asks the simulated account through its door: 1,400 types in
//! four zones, on demand and spot, with the account's own pages, the price list and the history of
//! spot prices. The account is in the same process, so the memory is more than the function's own.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers: it prints, measures, and ends where something is wrong"
)]

use std::{rc::Rc, sync::Arc, time::Instant};

use aws::{Account, Ec2Market};
use door::{Door, listen, serve};
use handlers::CatalogPorts;
use jiff::SignedDuration;
use model::{Catalog, InstanceShape, InstanceType, InstanceTypeName};
use peak_alloc::PeakAlloc;
use ports::{Adapters, Invocation, Shelf as _};
use simulator::{Settings, Sim};
use tokio::task::LocalSet;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const TYPES: usize = 1_400;
const REGION: &str = "us-west-2";

/// The simulated world, asked over the wire for what is sold.
enum OverTheWire {}

impl Adapters for OverTheWire {
    type Catalog = Sim;
    type Cluster = Sim;
    type Discovery = Sim;
    type Fleet = Sim;
    type Ledger = Sim;
    type Mailbox = Sim;
    type Market = Ec2Market;
    type NodeClaims = Sim;
    type NodeClasses = Sim;
    type NodePools = Sim;
    type Nodes = Sim;
    type Profiles = Sim;
    type Shelf = Sim;
    type Templates = Sim;
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    LocalSet::new().run_until(Box::pin(refresh())).await;
}

async fn refresh() {
    let settings = Settings { has_schedules: false, ..Settings::default() };
    let cluster = settings.cluster.clone();
    let sim = Sim::new(settings, Arc::new(region()));
    let door = Rc::new(Door::new(&sim));
    let (listener, url) = listen(0).await.unwrap();
    let server = Rc::clone(&door);
    tokio::task::spawn_local(async move { serve(server, listener).await });
    let market = Account::emulated(&url, REGION).unwrap().market();
    let builtin = instance_catalog::builtin().unwrap();
    let now = sim.now();
    let deadline = now.checked_add(SignedDuration::from_secs(60)).unwrap();
    let at = Invocation { id: "refresh".to_owned(), cluster, now, deadline };
    HEAP.reset_peak_usage();
    let began = Instant::now();
    let ports = CatalogPorts::<OverTheWire> { market: &market, shelf: &sim };
    handlers::catalog(&ports, REGION, &builtin, &at).await.unwrap();
    let shelved = sim.shelved().await.unwrap().unwrap();
    let stored = instance_catalog::stored::encode(&shelved).unwrap();
    let (took, peak) = (began.elapsed(), HEAP.peak_usage());
    let types = shelved.catalog.instance_types.len();
    assert_eq!(types, TYPES);
    let offerings: usize =
        shelved.catalog.instance_types.iter().map(|one| one.offerings.len()).sum();
    println!("refresh: {types} types with {offerings} offerings in {took:?}");
    println!("requests: {:?}", door.requests());
    println!("peak: {} MiB, the account included; stored: {} bytes", peak >> 20, stored.len());
}

/// The catalog that comes with the program, and some of its types again under other names.
fn region() -> Catalog {
    let mut catalog = instance_catalog::builtin().unwrap();
    let known = catalog.instance_types.clone();
    for one in known.iter().cycle().take(TYPES - known.len()) {
        let name = InstanceTypeName::new(&format!("x{}", one.name)).unwrap();
        if let Some(shape) = catalog.shapes.get(&one.name) {
            let shape = InstanceShape { name: name.clone(), ..InstanceShape::clone(shape) };
            catalog.shapes.insert(name.clone(), Arc::new(shape));
        }
        catalog.instance_types.push(Arc::new(InstanceType { name, ..InstanceType::clone(one) }));
    }
    catalog.instance_types.sort_by(|one, other| one.name.cmp(&other.name));
    catalog
}
