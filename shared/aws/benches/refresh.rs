//! What a full refresh of the catalog costs: `cargo bench -p aws --bench refresh`.
//!
//! The handler of the function `catalog` asks the simulated account through its AWS server: 1,400 types in
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
use aws_server::{AwsServer, listen, serve};
use handlers::CatalogPorts;
use jiff::SignedDuration;
use model::{InstanceType, InstanceTypeInfo, InstanceTypeName, RegionCatalog};
use peak_alloc::PeakAlloc;
use ports::{Adapters, CatalogStore as _, Invocation};
use simulator::{Sim, WorldSettings};
use tokio::task::LocalSet;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const TYPES: usize = 1_400;
const REGION: &str = "us-west-2";

/// The simulated world, asked over the wire for what is sold.
enum OverTheWire {}

impl Adapters for OverTheWire {
    type Catalog = Sim;
    type Clock = Sim;
    type Cluster = Sim;
    type Discovery = Sim;
    type Events = Sim;
    type Fleet = Sim;
    type Forensics = Sim;
    type Leases = Sim;
    type Ledger = Sim;
    type Mailbox = Sim;
    type Market = Ec2Market;
    type NodeClaims = Sim;
    type NodeClasses = Sim;
    type NodePools = Sim;
    type AlphaStatuses = Sim;
    type Nodes = Sim;
    type Profiles = Sim;
    type CatalogStore = Sim;
    type Templates = Sim;
    type Webhooks = Sim;
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    LocalSet::new().run_until(Box::pin(refresh())).await;
}

async fn refresh() {
    let settings = WorldSettings::default().without_limits();
    let settings = WorldSettings { has_schedules: false, ..settings };
    let cluster = settings.cluster.clone();
    let sim = Sim::new(settings, Arc::new(region()));
    let server = Rc::new(AwsServer::new(&sim));
    let (listener, url) = listen(0).await.unwrap();
    let serving = Rc::clone(&server);
    tokio::task::spawn_local(async move { serve(serving, listener).await });
    let market = Account::emulated(&url, REGION).unwrap().market();
    let builtin = instance_catalog::builtin().unwrap();
    let now = sim.now();
    let deadline = now.checked_add(SignedDuration::from_secs(60)).unwrap();
    let at = Invocation { id: "refresh".to_owned(), cluster, now, deadline };
    HEAP.reset_peak_usage();
    let began = Instant::now();
    let settings = &handlers::Settings::default();
    let ports = CatalogPorts::<OverTheWire> { market: &market, catalog_store: &sim, settings };
    handlers::catalog(&ports, REGION, &builtin, &at).await.unwrap();
    let stored = sim.stored().await.unwrap().unwrap();
    let encoded = instance_catalog::stored::encode(&stored).unwrap();
    let (took, peak) = (began.elapsed(), HEAP.peak_usage());
    let types = stored.catalog.instance_types.len();
    assert_eq!(types, TYPES);
    let offerings: usize = stored
        .catalog
        .instance_types
        .iter()
        .map(|instance_type| instance_type.offerings.len())
        .sum();
    println!("refresh: {types} types with {offerings} offerings in {took:?}");
    println!("requests: {:?}", server.requests());
    println!("peak: {} MiB, the account included; stored: {} bytes", peak >> 20, encoded.len());
}

/// The catalog that comes with the program, and some of its types again under other names.
fn region() -> RegionCatalog {
    let mut catalog = instance_catalog::builtin().unwrap();
    let known = catalog.instance_types.clone();
    for instance_type in known.iter().cycle().take(TYPES - known.len()) {
        let name = InstanceTypeName::new(&format!("x{}", instance_type.name)).unwrap();
        if let Some(info) = catalog.descriptions.get(&instance_type.name) {
            let info = InstanceTypeInfo { name: name.clone(), ..InstanceTypeInfo::clone(info) };
            catalog.descriptions.insert(name.clone(), Arc::new(info));
        }
        catalog
            .instance_types
            .push(Arc::new(InstanceType { name, ..InstanceType::clone(instance_type) }));
    }
    catalog.instance_types.sort_by(|instance_type, other| instance_type.name.cmp(&other.name));
    catalog
}
