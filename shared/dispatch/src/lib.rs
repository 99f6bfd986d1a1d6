//! The functions on the simulator's ports: each delivery goes to the handler that the Lambda function
//! of that name runs.
//!
//! What `bootstrap` is for Lambda this crate is for a simulated world. The command and the tests that
//! span crates play through it, so that they run the very handlers that are deployed. It decides
//! nothing and reads no text.

use std::{cell::RefCell, rc::Rc};

use handlers::{
    DisruptPorts, DisruptTrigger, DrainPorts, DryRuns, Error, InterruptPorts, LaunchPorts, Offers,
    POLL_INTERVAL_SECONDS_DEFAULT, ProvisionPorts, ProvisionSource, ProvisionTrigger, Question,
    Report, ResolvePorts, SettlePorts,
};
use jiff::Timestamp;
use model::{Function, NodeClaimName, message::Message};
use ports::Invocation;
use simulator::{Delivery, Dispatch, Payload, Schedule, Sim};

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

/// Hands deliveries to the handlers, all on the ports of `sim`.
pub fn dispatch(sim: &Sim, reports: &Reports) -> impl Dispatch + use<> {
    let (sim, reports, offers) = (sim.clone(), reports.clone(), Rc::new(Offers::default()));
    move |delivery: Delivery| {
        let (sim, reports, offers) = (sim.clone(), reports.clone(), Rc::clone(&offers));
        Box::pin(async move {
            let (function, at) = (delivery.function, delivery.invocation.now);
            let report =
                call(&sim, &offers, delivery).await.map_err(|error| handlers::story(&error))?;
            reports.keep(function, at, report);
            Ok(())
        })
    }
}

async fn call(sim: &Sim, offers: &Offers, delivery: Delivery) -> Result<Report, Error> {
    let at = &delivery.invocation;
    match delivery.payload {
        Payload::Schedule(Schedule::Provision) => {
            provision(sim, offers, ProvisionSource::Schedule, at).await
        }
        Payload::Schedule(Schedule::Disrupt(schedule)) => {
            disrupt(sim, offers, DisruptTrigger::Schedule(schedule), at).await
        }
        Payload::Schedule(Schedule::Resolve) => resolve(sim, at).await,
        Payload::Interruption(interruption) => {
            let ports = InterruptPorts::<Sim> { ledger: sim, mailbox: sim };
            handlers::interrupt(&ports, &interruption, at).await
        }
        Payload::Claims(claims) => {
            visit(sim, offers, delivery.function, &claims, at).await?;
            Ok(Report::default())
        }
        Payload::Message(message) => receive(sim, offers, message, at).await,
    }
}

async fn receive(
    sim: &Sim,
    offers: &Offers,
    message: Message,
    at: &Invocation,
) -> Result<Report, Error> {
    let function = message.function();
    match message {
        Message::Provision { tick } => {
            let source = tick.map_or(ProvisionSource::Request, ProvisionSource::Tick);
            return provision(sim, offers, source, at).await;
        }
        Message::Validate(command) => {
            return disrupt(sim, offers, DisruptTrigger::Validate(command), at).await;
        }
        Message::TryOut { class, key, asked_at } => {
            let question = Question { class, key, asked_at };
            handlers::try_out(&launch_ports(sim, offers), &question, at).await?;
        }
        Message::Launch { claim } | Message::Settle { claim } | Message::Drain { claim } => {
            visit(sim, offers, function, &[claim], at).await?;
        }
    }
    Ok(Report::default())
}

async fn provision(
    sim: &Sim,
    offers: &Offers,
    source: ProvisionSource,
    at: &Invocation,
) -> Result<Report, Error> {
    let ports = ProvisionPorts::<Sim> {
        cluster: sim,
        catalog: sim,
        discovery: sim,
        ledger: sim,
        mailbox: sim,
        offers,
    };
    let poll_interval_seconds = POLL_INTERVAL_SECONDS_DEFAULT;
    handlers::provision(&ports, ProvisionTrigger { source, poll_interval_seconds }, at).await
}

async fn disrupt(
    sim: &Sim,
    offers: &Offers,
    trigger: DisruptTrigger,
    at: &Invocation,
) -> Result<Report, Error> {
    let ports = DisruptPorts::<Sim> {
        cluster: sim,
        node_claims: sim,
        catalog: sim,
        discovery: sim,
        ledger: sim,
        mailbox: sim,
        offers,
    };
    handlers::disrupt(&ports, trigger, at).await
}

async fn resolve(sim: &Sim, at: &Invocation) -> Result<Report, Error> {
    let ports = ResolvePorts::<Sim> {
        node_classes: sim,
        node_pools: sim,
        node_claims: sim,
        discovery: sim,
        profiles: sim,
        templates: sim,
        fleet: sim,
        ledger: sim,
        mailbox: sim,
        dry_runs: DryRuns::Enabled,
    };
    handlers::resolve(&ports, at).await
}

fn launch_ports<'a>(sim: &'a Sim, offers: &'a Offers) -> LaunchPorts<'a, Sim> {
    LaunchPorts {
        ledger: sim,
        cluster: sim,
        catalog: sim,
        discovery: sim,
        templates: sim,
        profiles: sim,
        fleet: sim,
        mailbox: sim,
        offers,
    }
}

/// What the functions that look after claims do with them.
async fn visit(
    sim: &Sim,
    offers: &Offers,
    function: Function,
    claims: &[NodeClaimName],
    at: &Invocation,
) -> Result<(), Error> {
    match function {
        Function::Launch => handlers::launch(&launch_ports(sim, offers), claims, at).await?,
        Function::Settle => {
            let (nodes, node_claims) = (sim, sim);
            let ports =
                SettlePorts::<Sim> { ledger: sim, nodes, node_claims, fleet: sim, mailbox: sim };
            for claim in claims {
                handlers::settle(&ports, claim, at).await?;
            }
        }
        Function::Drain => {
            let (nodes, node_claims) = (sim, sim);
            let ports =
                DrainPorts::<Sim> { ledger: sim, nodes, node_claims, fleet: sim, mailbox: sim };
            for claim in claims {
                handlers::drain(&ports, claim, at).await?;
            }
        }
        Function::Provision
        | Function::Interrupt
        | Function::Disrupt
        | Function::Resolve
        | Function::Catalog => {}
    }
    Ok(())
}
