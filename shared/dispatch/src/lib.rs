//! The functions on the simulator's ports: each delivery goes to the handler that the Lambda function
//! of that name runs.
//!
//! What `bootstrap` is for Lambda this crate is for a simulated world. The command and the tests that
//! span crates play through it, so that they run the very handlers that are deployed. It decides
//! nothing and reads no text.

use std::{cell::RefCell, rc::Rc};

use handlers::{
    DisruptTrigger, Error, Offers, POLL_INTERVAL_SECONDS_DEFAULT, ProvisionSource,
    ProvisionTrigger, Question, Report,
};
use jiff::Timestamp;
use model::{Function, message::Message};
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
        Payload::Schedule(Schedule::Disrupt(method)) => {
            disrupt(sim, offers, DisruptTrigger::Schedule(method), at).await
        }
        Payload::Schedule(Schedule::Resolve) => {
            handlers::resolve(sim, sim, sim, sim, sim, sim, sim, sim, sim, false, at).await
        }
        Payload::Interruption(interruption) => {
            handlers::interrupt(sim, sim, &interruption, at).await
        }
        Payload::Claims(claims) => stream(sim, offers, delivery.function, &claims, at).await,
        Payload::Message(message) => receive(sim, offers, message, at).await,
    }
}

async fn receive(
    sim: &Sim,
    offers: &Offers,
    message: Message,
    at: &Invocation,
) -> Result<Report, Error> {
    match message {
        Message::Provision { tick } => {
            let source = tick.map_or(ProvisionSource::Request, ProvisionSource::Tick);
            provision(sim, offers, source, at).await
        }
        Message::Validate { method, claims, found_at } => {
            let trigger = DisruptTrigger::Validate { method, claims, found_at };
            disrupt(sim, offers, trigger, at).await
        }
        Message::Launch { claim } => stream(sim, offers, Function::Launch, &[claim], at).await,
        Message::TryOut { class, key, asked_at } => {
            let question = Question { class, key, asked_at };
            handlers::try_out(sim, sim, sim, sim, sim, sim, sim, sim, offers, &question, at)
                .await?;
            Ok(Report::default())
        }
        Message::Settle { claim } => stream(sim, offers, Function::Settle, &[claim], at).await,
        Message::Drain { claim } => stream(sim, offers, Function::Drain, &[claim], at).await,
    }
}

async fn provision(
    sim: &Sim,
    offers: &Offers,
    source: ProvisionSource,
    at: &Invocation,
) -> Result<Report, Error> {
    let poll_interval_seconds = POLL_INTERVAL_SECONDS_DEFAULT;
    let trigger = ProvisionTrigger { source, poll_interval_seconds };
    handlers::provision(sim, sim, sim, sim, sim, offers, trigger, at).await
}

async fn disrupt(
    sim: &Sim,
    offers: &Offers,
    trigger: DisruptTrigger,
    at: &Invocation,
) -> Result<Report, Error> {
    handlers::disrupt(sim, sim, sim, sim, sim, sim, offers, trigger, at).await
}

/// What the functions that look after claims do with them.
async fn stream(
    sim: &Sim,
    offers: &Offers,
    function: Function,
    claims: &[model::NodeClaimName],
    at: &Invocation,
) -> Result<Report, Error> {
    match function {
        Function::Launch => {
            handlers::launch(sim, sim, sim, sim, sim, sim, sim, sim, offers, claims, at).await?;
        }
        Function::Settle => {
            for claim in claims {
                handlers::settle(sim, sim, sim, sim, sim, claim, at).await?;
            }
        }
        Function::Drain => {
            for claim in claims {
                handlers::drain(sim, sim, sim, sim, sim, claim, at).await?;
            }
        }
        Function::Provision
        | Function::Interrupt
        | Function::Disrupt
        | Function::Resolve
        | Function::Catalog => {}
    }
    Ok(Report::default())
}
