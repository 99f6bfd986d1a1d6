//! Nodes that are no longer wanted → claims given up.
//!
//! What emptiness and consolidation find waits 15 seconds in a message and is carried out only if it
//! still holds. Nodes go only while their pods fit onto others: launching a node before others go is
//! not supported yet, and every node that stays for it says so.

use std::collections::BTreeSet;

use launch_template::{Offers, selection::usable_reservations};
use model::{
    NodeClaim, Plan, ReservationId,
    claim::SyncedNodeClaim,
    disruption::{Command, DisruptionReason, DisruptionSchedule, VALIDATION_DELAY},
    facts::Facts,
    labels,
    message::Message,
    node_class::{CapacityReservation, ReservationTerm},
};
use planner::disruption::{self, Options};
use ports::{
    Adapters, Discovery, Invocation, Ledger as _, Listing, Malformed, NodeClaims as _, PortError,
};

use crate::{
    Error, Report,
    commit::{ATTEMPTS_MAX, Committed, commit},
    error::story,
    mail::send,
    observe::{self, Sources},
};

/// Why nodes are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisruptTrigger {
    /// A schedule came round.
    Schedule(DisruptionSchedule),
    /// A command was found a while ago.
    Validate(Command),
}

/// Everything that `disrupt` may touch.
#[derive(Debug)]
pub struct DisruptPorts<'a, A: Adapters> {
    /// Pods, nodes, NodePools, EC2NodeClasses and what else decides where pods may go.
    pub cluster: &'a A::Cluster,
    /// Which NodeClaims somebody deletes.
    pub node_claims: &'a A::NodeClaims,
    /// What can be bought.
    pub catalog: &'a A::Catalog,
    /// What EC2NodeClasses select, and which capacity reservations are about to end.
    pub discovery: &'a A::Discovery,
    /// Where claims are given up.
    pub ledger: &'a A::Ledger,
    /// For validation after its delay, and for `provision`.
    pub mailbox: &'a A::Mailbox,
    /// What earlier calls in this process worked out from the catalog.
    pub offers: &'a Offers,
}

/// Finds nodes to give up, or carries out what was found.
pub async fn disrupt<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    trigger: DisruptTrigger,
    at: &Invocation,
) -> Result<Report, Error> {
    let DisruptPorts { cluster, node_claims, catalog, discovery, ledger, mailbox, offers } = *ports;
    let sources = Sources::<A> { cluster, catalog, discovery, offers };
    for _ in 0..ATTEMPTS_MAX {
        let (mut facts, mut malformed) = if weighs_offers(&trigger) {
            let snapshot = ledger.snapshot(&at.cluster).await?;
            sources.facts(snapshot, at).await?
        } else {
            observe::facts_without_offers(cluster, ledger, at).await?
        };
        if trigger == DisruptTrigger::Schedule(DisruptionSchedule::Forced) {
            observe_deleted(node_claims.synced().await, &mut facts, &mut malformed);
            observe_ending(discovery, &mut facts, &mut malformed).await;
        }
        let (plan, follow_up) = decide(&facts, &trigger);
        if commit(ledger, &facts, &plan, at).await? == Committed::All {
            if let Some((message, delay_seconds)) = follow_up {
                send(mailbox, at, message, delay_seconds).await?;
            }
            return Ok(report(plan, malformed));
        }
    }
    // What holds is found again by the next run of the schedule.
    Ok(Report::default())
}

fn report(plan: Plan, malformed: Vec<Malformed>) -> Report {
    Report { plan: Some(plan), malformed }
}

/// Which claims somebody deletes. That nobody can say it now keeps no other claim from going.
fn observe_deleted(
    shown: Result<Listing<SyncedNodeClaim>, PortError>,
    facts: &mut Facts,
    malformed: &mut Vec<Malformed>,
) {
    match shown {
        Ok(listing) => {
            let deleted = listing.items.into_iter().filter(|shown| shown.is_deleting);
            facts.deleted_claims = Some(deleted.map(|shown| shown.name).collect());
            malformed.extend(listing.malformed);
        }
        Err(error) => {
            let (object, problem) = ("NodeClaims".to_owned(), story(&error));
            malformed.push(Malformed { object, problem });
        }
    }
}

/// Which capacity blocks with nodes in them are about to end. That nobody can say it now keeps no
/// other claim from going. One that is over is not asked for: EC2 ends its instances by itself.
async fn observe_ending(
    discovery: &impl Discovery,
    facts: &mut Facts,
    malformed: &mut Vec<Malformed>,
) {
    let default = CapacityReservation::DEFAULT;
    let of_blocks = planner::reserved(&facts.ledger).filter(|claim| {
        claim.labels.get(labels::RESERVATION_TYPE).is_none_or(|kind| kind != default)
    });
    let id = |claim: &NodeClaim| claim.labels.get(labels::RESERVATION_ID)?.parse().ok();
    let ids: BTreeSet<ReservationId> = of_blocks.filter_map(id).collect();
    if ids.is_empty() {
        facts.ending_reservations = Some(BTreeSet::new());
        return;
    }
    let terms: Vec<ReservationTerm> = ids.into_iter().map(ReservationTerm::Id).collect();
    match discovery.reservations(&terms).await {
        Ok(capacity_reservations) => {
            let usable = usable_reservations(capacity_reservations, facts.now).into_iter();
            let ending = usable.filter(|capacity_reservation| capacity_reservation.is_expiring);
            facts.ending_reservations =
                Some(ending.map(|capacity_reservation| capacity_reservation.id).collect());
        }
        Err(error) => {
            let (object, problem) = ("capacity reservations".to_owned(), story(&error));
            malformed.push(Malformed { object, problem });
        }
    }
}

/// Whether what can be bought has a say.
fn weighs_offers(trigger: &DisruptTrigger) -> bool {
    let reason = match trigger {
        DisruptTrigger::Schedule(DisruptionSchedule::Forced) => return false,
        DisruptTrigger::Schedule(DisruptionSchedule::Graceful(reason)) => *reason,
        DisruptTrigger::Validate(command) => command.method.reason(),
    };
    match reason {
        DisruptionReason::Drifted | DisruptionReason::Underutilized => true,
        DisruptionReason::Empty => false,
    }
}

/// What changes, and the message that follows, with its delay in seconds.
fn decide(facts: &Facts, trigger: &DisruptTrigger) -> (Plan, Option<(Message, u32)>) {
    let options = Options::deployed();
    match trigger {
        DisruptTrigger::Schedule(DisruptionSchedule::Forced) => {
            with_replacements(planner::forced(facts))
        }
        DisruptTrigger::Schedule(DisruptionSchedule::Graceful(reason)) => {
            let outlook = disruption::look(facts, *reason, &options);
            match outlook.command {
                Some(command) if command.method.is_eventual() => {
                    let changes = disruption::given_up(facts, &command);
                    with_replacements(Plan { changes, ..outlook.observed })
                }
                Some(command) => {
                    let delay_seconds =
                        u32::try_from(VALIDATION_DELAY.as_secs()).unwrap_or_default();
                    (outlook.observed, Some((Message::Validate(command), delay_seconds)))
                }
                None => (outlook.observed, None),
            }
        }
        DisruptTrigger::Validate(command) => {
            with_replacements(disruption::validated(facts, command, &options))
        }
    }
}

/// Pods of nodes that are given up need others at once.
fn with_replacements(plan: Plan) -> (Plan, Option<(Message, u32)>) {
    let follow_up = (!plan.changes.is_empty()).then_some((Message::Provision { tick: None }, 0));
    (plan, follow_up)
}
