//! Nodes that are no longer wanted → claims given up.
//!
//! Each pass observes the cluster once for all methods. What emptiness and consolidation find waits 15
//! seconds in the ledger and is carried out only if it still holds. Nodes go only while their pods fit
//! onto others: launching a node before others go is not supported yet, and every node that stays for it
//! says so.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use launch_template::selection::usable_reservations;
use model::{
    CommandId, Function, NodeClaim, Plan, ReservationId,
    claim::SyncedNodeClaim,
    disruption::{Command, DisruptionReason, VALIDATION_DELAY},
    facts::Facts,
    labels,
    ledger::Basis,
    node_class::{CapacityReservation, ReservationTerm},
    pulse::Signal,
};
use planner::disruption::{self, Options};
use ports::{
    Adapters, Discovery, Invocation, Ledger as _, Listing, Malformed, NodeClaims as _, PortError,
};

use crate::{
    Error, KnownOffers, Report,
    commit::{ATTEMPTS_MAX, Committed, Decided, commit},
    error::story,
    observe::Sources,
    pulse::{Beating, Pass, Start, wake},
};

/// Between two looks while nothing is under way.
const IDLE: SignedDuration = SignedDuration::from_mins(1);
/// Until the next look when something was found: more may follow.
///
/// Karpenter: `pkg/controllers/disruption/controller.go`, `pollingPeriod`.
const BUSY: SignedDuration = SignedDuration::from_secs(10);

/// The reasons in the order in which they are asked: the first that finds something acts.
const REASONS: [DisruptionReason; 3] =
    [DisruptionReason::Empty, DisruptionReason::Drifted, DisruptionReason::Underutilized];

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
    /// Where claims are given up, and where commands wait.
    pub ledger: &'a A::Ledger,
    /// The next beat, `drain` and `provision`.
    pub mailbox: &'a A::Mailbox,
    /// The time that is left.
    pub clock: &'a A::Clock,
    /// What earlier calls in this process worked out from the catalog.
    pub offers: &'a KnownOffers,
}

/// Finds nodes to give up, and carries out what was found.
pub async fn disrupt<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let DisruptPorts { ledger, mailbox, clock, .. } = *ports;
    let beating = Beating::<A> { function: Function::Disrupt, ledger, mailbox, clock };
    beating.call(signal, at, async |start| pass(ports, start, at).await).await
}

/// One step: what is decided on one state of the ledger and committed at once.
struct Step {
    plan: Plan,
    basis: Basis,
    started: BTreeMap<CommandId, Command>,
    ended: BTreeSet<CommandId>,
}

async fn pass<A: Adapters>(
    ports: &DisruptPorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let DisruptPorts { cluster, node_claims, catalog, discovery, ledger, mailbox, offers, .. } =
        *ports;
    let sources = Sources::<A> { cluster, catalog, discovery, offers };
    let snapshot = ledger.snapshot(&at.cluster).await?;
    let (mut facts, mut malformed) = sources.facts(snapshot, at).await?;
    observe_deleted(node_claims.synced().await, &mut facts, &mut malformed);
    observe_ending(discovery, &mut facts, &mut malformed).await;
    for _ in 0..ATTEMPTS_MAX {
        let Step { plan, basis, started, ended } = decide(&facts, offers);
        let next_at = next_at(&facts, &plan, &started, &ended);
        let decided = Decided { plan: &plan, basis, started, ended };
        if let Committed::All(counters) = commit(ledger, &facts, &decided, at).await? {
            if plan.changes.iter().any(NodeClaim::is_deleting) {
                wake(mailbox, &[Function::Drain, Function::Provision], counters, at).await;
            }
            let report = Report { plan: Some(plan), malformed };
            return Ok(Pass::whole(report, start.head.counters, Some(next_at)));
        }
        // What others did is in the ledger. What they saw of the cluster was seen here, too.
        facts.ledger = ledger.snapshot(&at.cluster).await?;
    }
    let report = Report { plan: None, malformed };
    Ok(Pass::whole(report, start.head.counters, Some(at.after(BUSY))))
}

/// What is to be done first: what must go, then what was found a while ago, then a new look.
fn decide(facts: &Facts, offers: &KnownOffers) -> Step {
    let options = Options { types: offers.types.clone(), ..Options::deployed() };
    let nothing = |plan, basis| {
        let (started, ended) = (BTreeMap::new(), BTreeSet::new());
        Step { plan, basis, started, ended }
    };
    let forced = planner::forced(facts);
    if !forced.is_empty() {
        return nothing(forced, Basis::Claims);
    }
    if let Some((id, command)) = facts.ledger.commands.first_key_value() {
        if facts.now < due_at(command) {
            return nothing(disruption::observed(facts), Basis::Claims);
        }
        let plan = disruption::validated(facts, command, &options);
        return Step { ended: BTreeSet::from([id.clone()]), ..nothing(plan, Basis::Both) };
    }
    let mut observed = disruption::observed(facts);
    for reason in REASONS {
        let outlook = disruption::look(facts, reason, &options);
        observed.decisions.extend(outlook.decision);
        match outlook.command {
            Some(command) if command.method.is_eventual() => {
                observed.changes.extend(disruption::given_up(facts, &command));
                return nothing(observed, Basis::Both);
            }
            Some(command) => {
                let started = BTreeMap::from([(CommandId::derived(&command), command)]);
                return Step { started, ..nothing(observed, Basis::Claims) };
            }
            None => {}
        }
    }
    nothing(observed, Basis::Claims)
}

fn due_at(command: &Command) -> Timestamp {
    command.found_at.checked_add(VALIDATION_DELAY).unwrap_or(Timestamp::MAX)
}

/// When to look again after `plan`.
fn next_at(
    facts: &Facts,
    plan: &Plan,
    started: &BTreeMap<CommandId, Command>,
    ended: &BTreeSet<CommandId>,
) -> Timestamp {
    let waiting = facts.ledger.commands.iter().filter(|(id, _)| !ended.contains(*id));
    let due = waiting.map(|(_, command)| command).chain(started.values()).map(due_at).min();
    let is_idle = plan.changes.is_empty() && ended.is_empty();
    let delay = if is_idle { IDLE } else { BUSY };
    let again = facts.now.checked_add(delay).unwrap_or(Timestamp::MAX);
    due.map_or(again, |due| due.min(again))
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
