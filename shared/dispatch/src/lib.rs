//! The functions on the simulator's ports: each delivery goes to the handler that the Lambda function
//! of that name runs.
//!
//! What `bootstrap` is for Lambda this crate is for a simulated world. The command and the tests that
//! span crates play through it, so that they run the very handlers that are deployed. It decides
//! nothing and reads no text. The crate `local` puts a real API server in the place of the
//! simulated cluster: a [`World`] is whatever stands behind every port.

mod world;

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

pub use handlers::{
    Allowed, InvalidSetting, Record, SETTINGS, Setting, Settings, WakeMemory, calls, receivers,
};
use handlers::{
    CatalogPorts, DisruptPorts, DrainPorts, DryRunTrigger, Error, InterruptPorts, LaunchPorts,
    Metrics, ProcessMemory, ProvisionPorts, Recorder, Report, ResolvePorts, SettlePorts,
    SweepPorts, function,
};
use jiff::Timestamp;
use model::{Function, message::Message, pulse::Signal, wake::AdmissionRequest};
use ports::{Invocation, Only};
use simulator::{Dispatch, FunctionCall, Payload};

pub use world::World;

/// What a decider did, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The present of the call.
    pub at: Timestamp,
    /// Which function.
    pub function: Function,
    /// What it did.
    pub report: Report,
}

/// What deciders did so far, oldest first. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Reports(Rc<RefCell<Vec<Decided>>>);

impl Reports {
    /// Takes what came since the last call.
    pub fn take(&self) -> Vec<Decided> {
        self.0.take()
    }

    fn keep(&self, function: Function, at: Timestamp, report: Report) {
        if report.plan.is_some() || !report.malformed.is_empty() {
            self.0.borrow_mut().push(Decided { at, function, report });
        }
    }
}

/// The processes of the functions: one of each.
struct Process {
    settings: Settings,
    memories: BTreeMap<Function, ProcessMemory>,
    metrics: Metrics,
    /// Those processes of `wake` that run nothing.
    wakes: RefCell<Vec<WakeMemory>>,
}

impl Process {
    fn with(settings: Settings) -> Self {
        let memory = |function| (function, ProcessMemory::with(settings.nodes));
        let memories = Function::ALL.into_iter().map(memory).collect();
        Self { memories, settings, metrics: Metrics::default(), wakes: RefCell::default() }
    }

    #[expect(clippy::indexing_slicing, reason = "each function has a memory")]
    fn memory(&self, function: Function) -> &ProcessMemory {
        &self.memories[&function]
    }
}

/// Hands deliveries to the handlers, all on the ports of `world`.
pub fn dispatch<W: World>(world: &W, reports: &Reports) -> impl Dispatch + use<W> {
    dispatch_with(world, reports, Settings::default())
}

/// The same, where the functions have `settings`.
pub fn dispatch_with<W: World>(
    world: &W,
    reports: &Reports,
    settings: Settings,
) -> impl Dispatch + use<W> {
    let (world, reports) = (world.clone(), reports.clone());
    let process = Rc::new(Process::with(settings));
    move |delivery: FunctionCall| {
        let (world, reports, process) = (world.clone(), reports.clone(), Rc::clone(&process));
        Box::pin(async move {
            let (function, at) = (delivery.function, delivery.invocation.now);
            let report =
                call(&world, &process, delivery).await.map_err(|error| handlers::story(&error))?;
            reports.keep(function, at, report);
            Ok(())
        })
    }
}

async fn call<W: World>(
    outside: &W,
    process: &Process,
    delivery: FunctionCall,
) -> Result<Report, Error> {
    let (function, at) = (delivery.function, &delivery.invocation);
    match delivery.payload {
        Payload::Schedule => beat(outside, process, function, Signal::Schedule, at).await,
        Payload::Interruptions(interruptions) => {
            let world =
                &Only::<function::Interrupt, _, _>::new(outside.account(), outside.cluster());
            let settings = &process.settings;
            let ports = InterruptPorts::<Only<'_, _, _, _>> {
                ledger: world,
                mailbox: world,
                settings,
                clock: world,
            };
            handlers::interrupt(&ports, &interruptions, at).await
        }
        Payload::Message(Message::Pulse { function, signal }) => {
            beat(outside, process, function, signal, at).await
        }
        Payload::Request(request) => {
            let memory = process.wakes.borrow_mut().pop().unwrap_or_default();
            let woken = wake(outside, &memory, &request, at).await;
            process.wakes.borrow_mut().push(memory);
            woken.map(|()| Report::default())
        }
        Payload::Message(Message::DryRun { class, key, asked_at }) => {
            let trigger = DryRunTrigger { class, key, asked_at };
            let world = Only::new(outside.account(), outside.cluster());
            handlers::dry_run(&launch_ports::<W>(&world, process), &trigger, at).await?;
            Ok(Report::default())
        }
    }
}

/// A call of a function with continued work, or of one that is called by a schedule and by `wake`.
async fn beat<W: World>(
    outside: &W,
    process: &Process,
    function: Function,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    match function {
        Function::Provision => provision(outside, process, signal, at).await,
        Function::Disrupt => disrupt(outside, process, signal, at).await,
        Function::Launch => {
            let world = Only::new(outside.account(), outside.cluster());
            handlers::launch(&launch_ports::<W>(&world, process), signal, at).await
        }
        Function::Settle => settle(outside, process, signal, at).await,
        Function::Drain => drain(outside, process, signal, at).await,
        Function::Resolve => {
            let at = handlers::waited(outside.account(), signal, at).await;
            resolve(outside, process, &at).await
        }
        Function::Sweep => {
            let at = handlers::waited(outside.account(), signal, at).await;
            sweep(outside, process, &at).await
        }
        Function::Interrupt | Function::Catalog | Function::Wake => Ok(Report::default()),
    }
}

async fn provision<W: World>(
    outside: &W,
    process: &Process,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let world = &Only::<function::Provision, _, _>::new(outside.account(), outside.cluster());
    let ports = ProvisionPorts::<Only<'_, _, _, _>> {
        cluster: world,
        catalog: world,
        discovery: world,
        ledger: world,
        mailbox: world,
        node_pools: world,
        statuses: world,
        clock: world,
        memory: process.memory(Function::Provision),
        recorder: Recorder { events: world, memory: process.memory(Function::Provision) },
        settings: &process.settings,
    };
    handlers::provision(&ports, signal, at).await
}

async fn disrupt<W: World>(
    outside: &W,
    process: &Process,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let world = &Only::<function::Disrupt, _, _>::new(outside.account(), outside.cluster());
    let ports = DisruptPorts::<Only<'_, _, _, _>> {
        cluster: world,
        node_claims: world,
        nodes: world,
        catalog: world,
        discovery: world,
        ledger: world,
        mailbox: world,
        clock: world,
        memory: process.memory(Function::Disrupt),
        recorder: Recorder { events: world, memory: process.memory(Function::Disrupt) },
        settings: &process.settings,
        metrics: &process.metrics,
    };
    handlers::disrupt(&ports, signal, at).await
}

async fn resolve<W: World>(
    outside: &W,
    process: &Process,
    at: &Invocation,
) -> Result<Report, Error> {
    let world = &Only::<function::Resolve, _, _>::new(outside.account(), outside.cluster());
    let ports = ResolvePorts::<Only<'_, _, _, _>> {
        node_classes: world,
        node_pools: world,
        statuses: world,
        catalog: world,
        discovery: world,
        profiles: world,
        ledger: world,
        mailbox: world,
        settings: &process.settings,
        metrics: &process.metrics,
        memory: process.memory(Function::Resolve),
    };
    handlers::resolve(&ports, at).await
}

async fn sweep<W: World>(outside: &W, process: &Process, at: &Invocation) -> Result<Report, Error> {
    let world = &Only::<function::Sweep, _, _>::new(outside.account(), outside.cluster());
    let ports = SweepPorts::<Only<'_, _, _, _>> {
        cluster: world,
        node_claims: world,
        discovery: world,
        profiles: world,
        templates: world,
        fleet: world,
        ledger: world,
        leases: world,
        webhooks: world,
        catalog: world,
        mailbox: world,
        nodes: world,
        settings: &process.settings,
        memory: process.memory(Function::Sweep),
        recorder: Recorder { events: world, memory: process.memory(Function::Sweep) },
        clock: world,
    };
    handlers::sweep(&ports, at).await
}

fn launch_ports<'a, W: World>(
    world: &'a Only<'a, function::Launch, W::Account, W::Cluster>,
    process: &'a Process,
) -> LaunchPorts<'a, Only<'a, function::Launch, W::Account, W::Cluster>> {
    LaunchPorts {
        ledger: world,
        cluster: world,
        catalog: world,
        discovery: world,
        templates: world,
        fleet: world,
        mailbox: world,
        clock: world,
        memory: process.memory(Function::Launch),
        recorder: Recorder { events: world, memory: process.memory(Function::Launch) },
        settings: &process.settings,
    }
}

async fn settle<W: World>(
    outside: &W,
    process: &Process,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let world = &Only::<function::Settle, _, _>::new(outside.account(), outside.cluster());
    let ports = SettlePorts::<Only<'_, _, _, _>> {
        ledger: world,
        nodes: world,
        node_claims: world,
        fleet: world,
        forensics: world,
        mailbox: world,
        recorder: Recorder { events: world, memory: process.memory(Function::Settle) },
        clock: world,
    };
    handlers::settle(&ports, signal, at).await
}

async fn drain<W: World>(
    outside: &W,
    process: &Process,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let world = &Only::<function::Drain, _, _>::new(outside.account(), outside.cluster());
    let ports = DrainPorts::<Only<'_, _, _, _>> {
        ledger: world,
        cluster: world,
        nodes: world,
        node_claims: world,
        fleet: world,
        mailbox: world,
        recorder: Recorder { events: world, memory: process.memory(Function::Drain) },
        settings: &process.settings,
        clock: world,
    };
    handlers::drain(&ports, signal, at).await
}

/// What the function `wake` does with `request` of the API server; `memory` is that of its process.
pub async fn wake<W: World>(
    outside: &W,
    memory: &WakeMemory,
    request: &AdmissionRequest,
    at: &Invocation,
) -> Result<(), Error> {
    let world = &Only::<function::Wake, _, _>::new(outside.account(), outside.cluster());
    handlers::wake(world, memory, request, at).await
}

/// Asks once what is sold in `region` and stores it, as the function `catalog` does. No schedule of
/// a simulated world does it: what is sold there is known from its start.
pub async fn catalog<W: World>(
    outside: &W,
    region: &str,
    builtin: &model::RegionCatalog,
    at: &Invocation,
) -> Result<(), Error> {
    let world = &Only::<function::Catalog, _, _>::new(outside.account(), outside.cluster());
    let settings = &Settings::default();
    let ports = CatalogPorts::<Only<'_, _, _, _>> { market: world, catalog_store: world, settings };
    handlers::catalog(&ports, region, builtin, at).await
}
