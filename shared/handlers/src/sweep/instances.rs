//! Instances and claims are compared: what has no claim is adopted or ends, what has no instance goes.
//!
//! Karpenter: `pkg/controllers/nodeclaim/garbagecollection`, of the core and of the AWS provider.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{
    CommitId, DeletionReason, Function, InstanceId, NodeClaim, NodeClaimName, Plan,
    launch::Instance,
    ledger::{Basis, Commit, CommitOutcome, Counters, Decision, DecisionKind, Snapshot},
    limits,
    node::Node,
};
use planner::{Adoption, Present, Standalone};
use ports::{
    Adapters, Catalog as _, Cluster as _, Fault, Fleet as _, Invocation, Ledger as _, Listing,
    NodeClaims as _, Nodes as _, PortError,
};

use super::{SweepPorts, in_turn, read_ledger, standalone};
use crate::{
    Error,
    commit::origin,
    decide::delete,
    error::story,
    job::{Job, Jobs, Tally},
    observe,
    pass::each,
    pulse::wake,
    settle::ignore_missing,
};

/// Instances are compared every second minute, as Karpenter does.
pub(super) fn is_due(at: &Invocation) -> bool {
    super::is_minute_of(2, at)
}

/// NodeClaim objects that are taken over at the same time.
const AT_ONCE: usize = 10;

/// Adopts what is there, and ends nothing.
pub(super) async fn adopt<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<(), Error> {
    let compared = compare(ports, at).await?;
    store(ports, &compared, at).await.map(drop)
}

/// Adopts what is there, terminates instances that belong to no claim, and deletes claims whose instances are
/// gone. Nodes that neither has are let go. Each of it is tried, and what fails is noted in `jobs`. Brings the
/// instances that EC2 listed.
pub(super) async fn equalize<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    jobs: &mut Jobs,
    at: &Invocation,
) -> Option<Vec<Instance>> {
    let mut compared = jobs.take(Job::Instances, compare(ports, at).await)?;
    let instances = std::mem::take(&mut compared.instances);
    let stored = jobs.take(Job::Instances, store(ports, &compared, at).await);
    let counters = stored.unwrap_or(compared.snapshot.head.counters);
    let Standalone { claims, left } = &compared.standalone;
    standalone::tell_left(left);
    let head = &compared.snapshot.head;
    jobs.note(Job::Instances, standalone::create(ports, (head, counters), claims, at).await);
    jobs.note(Job::Instances, standalone::remove(ports, &compared.abandoned, at).await);
    jobs.note(Job::Instances, end(ports, &compared, &instances, at).await);
    let Compared { lost, left_behind, snapshot, .. } = compared;
    let because = Because {
        reason: DeletionReason::InstanceEnded,
        words: "EC2 does not list its instance any more",
    };
    jobs.note(Job::Instances, delete_claims(ports, lost, &snapshot, because, at).await);
    jobs.note(Job::Instances, let_go(ports, &left_behind).await);
    Some(instances)
}

/// Terminates instances of this ledger that have no known claim, except in zones that are left. Where
/// EC2 refuses that, each is asked for by itself, so that a protected one keeps no other.
async fn end<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    Compared { adoption, snapshot, .. }: &Compared,
    instances: &[Instance],
    at: &Invocation,
) -> Result<(), PortError> {
    let is_left = |stray: &&InstanceId| {
        let mut zones = instances.iter().filter(|instance| instance.id == **stray);
        zones.any(|instance| snapshot.head.is_left(&instance.zone, at.now))
    };
    let strays: Vec<InstanceId> =
        adoption.strays.iter().filter(|stray| !is_left(stray)).cloned().collect();
    if strays.is_empty() {
        return Ok(());
    }
    tracing::warn!(instances = ?strays, "instances of this ledger without a claim are terminated");
    match ports.fleet.terminate(&strays).await {
        Err(error) if error.fault == Fault::Permanent => {}
        outcome => return outcome,
    }
    let end = async |stray: InstanceId| {
        let answer = ports.fleet.terminate(std::slice::from_ref(&stray)).await;
        (stray, answer)
    };
    let (answers, _) = each(in_turn(strays, usize::MAX, at), AT_ONCE, ports.clock, at, end).await;
    let mut tally = Tally::default();
    for (stray, answer) in answers {
        tally.note(format_args!("instance {stray}"), answer);
    }
    tally.done()
}

/// What is there, beside the ledger.
struct Compared {
    instances: Vec<Instance>,
    adoption: Adoption,
    standalone: Standalone,
    /// Users' objects whose instances are gone.
    abandoned: Vec<NodeClaimName>,
    lost: Vec<NodeClaim>,
    left_behind: Vec<Node>,
    snapshot: Rc<Snapshot>,
}

/// Instances are listed before the ledger is read: what is launched meanwhile is not missed there. Claims
/// that may have lost theirs are looked for among instances that were listed later.
async fn compare<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<Compared, Error> {
    let node_pools = ports.cluster.node_pools().await?;
    let nodes = ports.cluster.nodes().await?;
    let objects = match ports.node_claims.objects().await {
        Ok(listing) => listing,
        // A cluster without the kind has none.
        Err(error) if error.fault == Fault::NotFound => Listing::default(),
        Err(error) => return Err(error.into()),
    };
    let instances = ports.fleet.list(&at.cluster).await?;
    let catalog = ports.catalog.catalog().await?;
    let snapshot = read_ledger(ports, at).await?;
    let present = Present {
        objects: &objects.items,
        instances: &instances,
        nodes: &nodes.items,
        node_pools: &node_pools.items,
        unreadable: (objects.malformed.iter().chain(&node_pools.malformed))
            .map(|malformed| malformed.object.as_str())
            .collect(),
    };
    let adoption = planner::adopt(&present, &snapshot, &catalog, at.now);
    let standalone = planner::standalone(&at.cluster, &objects.items, &snapshot, at.now);
    let claims = snapshot.claims.values();
    let lost = planner::without_instance(claims, &instances, &nodes.items, at.now);
    // A node that cannot be read may be ready.
    let unreadable: BTreeSet<&str> =
        nodes.malformed.iter().map(|malformed| malformed.object.as_str()).collect();
    let may_be_ready = |claim: &NodeClaim| match &claim.node {
        Some(node) => unreadable.contains(format!("Node {node}").as_str()),
        None => !unreadable.is_empty(),
    };
    // Of an instance in a zone that is left, EC2's silence says nothing.
    let is_shifted = |claim: &NodeClaim| snapshot.head.is_shifted(claim, at.now);
    let is_gone = |claim: &&NodeClaim| !may_be_ready(claim) && !is_shifted(claim);
    let lost = lost.into_iter().filter(is_gone).cloned().collect();
    let abandoned = planner::users_without_instance(&present, &snapshot, at.now).into_iter();
    let abandoned = abandoned.filter(is_gone).map(|claim| claim.name.clone()).collect();
    let left_behind = planner::left_behind(&present, &snapshot, &adoption.claims, at.now)
        .into_iter()
        .cloned()
        .collect();
    Ok(Compared { instances, adoption, standalone, abandoned, lost, left_behind, snapshot })
}

/// Takes our finalizer from nodes that nothing else holds.
async fn let_go<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    left_behind: &[Node],
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    for node in left_behind {
        if let Some(patch) = planner::let_go(node) {
            tracing::info!(node = %node.name, "a node without a claim is let go");
            let answer = ignore_missing(ports.nodes.patch(&node.name, &patch).await);
            tally.note(format_args!("Node {}", node.name), answer);
        }
    }
    tally.done()
}

/// Takes over the NodeClaim objects of `claims` that another writer made, and returns the claims whose objects are ours
/// now. An object that refuses it is logged and holds up no other: the next comparison tries it again, and until then
/// nothing touches its instance.
async fn taken_over<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Vec<NodeClaim> {
    let take_over = async |claim: &NodeClaim| match ports.node_claims.take_over(&claim.name).await {
        Ok(()) => Some(claim.clone()),
        Err(error) => {
            let why = story(&error);
            tracing::warn!(claim = %claim.name, story = why, "not adopted");
            ports.recorder.note(vec![planner::events::of_refused_adoption(&claim.name, &why)]);
            None
        }
    };
    let (claims, _) = each(claims.iter().collect(), AT_ONCE, ports.clock, at, take_over).await;
    let mut claims: Vec<NodeClaim> = claims.into_iter().flatten().collect();
    claims.sort_by(|a, b| a.name.cmp(&b.name));
    claims
}

/// Puts adopted claims into the ledger, and brings its counters then. Their objects are taken over first: a function that
/// repeats it finds them so.
async fn store<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    compared: &Compared,
    at: &Invocation,
) -> Result<Counters, Error> {
    let head = &compared.snapshot.head;
    let mut parent = head.counters;
    let adopted = taken_over(ports, &compared.adoption.claims, at).await;
    for claims in adopted.chunks(limits::ITEMS_PER_COMMIT_MAX - 2) {
        let names: Vec<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
        let summary = format!("adopted: {}", names.join(", "));
        tracing::info!(claims = claims.len(), "claims adopted");
        let facts = observe::ledger_only(Snapshot::clone(&compared.snapshot), at);
        let decision = Decision {
            origin: Some(origin(&facts, at)),
            ..Decision::about(DecisionKind::Adoption, claims, (Function::Sweep, at.now), summary)
        };
        let commit = Commit {
            id: CommitId::derived(&format!("{}/{parent}/adopted", at.id), 0),
            ledger: head.ledger.clone(),
            parent,
            basis: Basis::Arrivals,
            created: Vec::new(),
            adopted: claims.to_vec(),
            changed: Vec::new(),
            unavailable_offerings: BTreeMap::new(),
            started: BTreeMap::new(),
            ended: BTreeSet::new(),
            decisions: vec![decision],
        };
        match ports.ledger.commit(&at.cluster, &commit).await? {
            CommitOutcome::Committed(counters) => parent = counters,
            CommitOutcome::Conflict => return Err(PortError::new("adopt", Fault::Conflict).into()),
            CommitOutcome::TooLarge { items, items_max } => {
                return Err(Error::TooLarge { items, items_max });
            }
        }
    }
    if !adopted.is_empty() {
        wake(ports.mailbox, &[Function::Settle, Function::Drain], parent, at).await;
    }
    Ok(parent)
}

/// Why claims are deleted here.
#[derive(Clone, Copy)]
pub(super) struct Because {
    pub(super) reason: DeletionReason,
    pub(super) words: &'static str,
}

/// Deletes claims that lost what they cannot be without.
pub(super) async fn delete_claims<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    lost: Vec<NodeClaim>,
    snapshot: &Snapshot,
    because: Because,
    at: &Invocation,
) -> Result<(), Error> {
    if lost.is_empty() {
        return Ok(());
    }
    let Because { reason, words } = because;
    let decision = |claim: &NodeClaim| {
        let summary = format!("{} is deleted: {words}", claim.name);
        let who = (Function::Sweep, at.now);
        Decision::about(DecisionKind::Termination, [claim], who, summary)
    };
    let plan = Plan {
        parent: snapshot.head.counters,
        decisions: lost.iter().map(decision).collect(),
        changes: lost.iter().map(|claim| claim.deleted(reason, at.now)).collect(),
        ..Plan::default()
    };
    ports.memory.ledger.forget();
    let mut facts = observe::ledger_only(snapshot.clone(), at);
    if reason == DeletionReason::NodeClaimDeleted {
        facts.deleted_claims = Some(lost.iter().map(|claim| claim.name.clone()).collect());
    }
    delete::<A>((ports.ledger, ports.mailbox), &facts, &plan, at).await.map(drop)
}
