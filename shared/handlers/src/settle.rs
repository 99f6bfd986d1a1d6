//! New claims → their objects; launched claims → nodes in service.
//!
//! A pass looks after every claim that is not initialized: one list of nodes, one question to EC2 now and
//! then, and then each claim by itself. A claim that fails keeps no other from its next step.

use std::{
    cell::Cell,
    collections::{BTreeMap, btree_map::Entry},
};

mod join;
mod slices;
mod unlaunched;

use futures_util::future::join;
use jiff::{SignedDuration, Timestamp};
use model::{
    Bytes, ClaimPhase, Function, InstanceId, NodeClaim, NodeName, Plan,
    claim::LaunchedInstance,
    labels,
    launch::{Instance, InstanceState},
    ledger::{Decision, DecisionKind, MeasuredKey, Snapshot, WriteOutcome},
    node::Node,
    pulse::{PassEnd, PulseNote, Signal},
};
use planner::SeenSlices;
use ports::{Adapters, Fault, Fleet, Invocation, Ledger as _, Nodes as _, PortError};

use crate::{
    Report,
    decide::delete,
    error::{Error, story},
    observe,
    pass::{each, postpone, sooner},
    pulse::{Beating, Pass, Start},
    recorder::Recorder,
    registrations,
    sync::sync,
};

use slices::Slices;

pub use join::architecture_of;

/// Listings of EC2 may lag a launch by less than this.
pub(crate) const LISTING_LAG_MAX: SignedDuration = SignedDuration::from_mins(5);
/// Instances that one pass tags. With [`TAGGED_LATER`] between two passes it is what the account's bucket of
/// CreateTags refills, which others use, too: ten a second.
///
/// <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>
const TAGS_PER_PASS: usize = 20;
/// When instances that were not tagged are looked at again.
const TAGGED_LATER: SignedDuration = SignedDuration::from_secs(2);
/// Claims that are visited at the same time.
const AT_ONCE: usize = 16;
/// How often EC2 is asked about instances whose nodes are not ready. That one ended is announced, too.
const DESCRIBED_EVERY: SignedDuration = SignedDuration::from_secs(30);
/// A node does not join earlier than this after its launch.
const JOINS_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// When claims that have not launched are looked for again: EC2 answers within four seconds as a rule, and what `launch`
/// then makes of claims moves no counter. A launch that takes longer is not waited for so closely.
const LOOKED_FOR_AFTER: [SignedDuration; 2] =
    [SignedDuration::from_secs(5), SignedDuration::from_secs(15)];

/// How long measured memory is kept after it was seen last.
///
/// Karpenter: `pkg/cache/cache.go` of the AWS provider, `DiscoveredCapacityCacheTTL`.
const MEASURED_KEPT: SignedDuration = SignedDuration::from_hours(60 * 24);

/// Everything that `settle` may touch.
#[derive(Debug)]
pub struct SettlePorts<'a, A: Adapters> {
    /// The claims, the memory that their nodes have, and how launches ended.
    pub ledger: &'a A::Ledger,
    /// The nodes that joined.
    pub nodes: &'a A::Nodes,
    /// The claims' objects.
    pub node_claims: &'a A::NodeClaims,
    /// The instances and their tags.
    pub fleet: &'a A::Fleet,
    /// The instances whose nodes do not join.
    pub forensics: &'a A::Forensics,
    /// The next beat; `drain`, and `provision` for the pods of claims that are deleted.
    pub mailbox: &'a A::Mailbox,
    /// Events of claims whose nodes do not join.
    pub recorder: Recorder<'a, A>,
    /// The time that is left.
    pub clock: &'a A::Clock,
}

/// Moves claims with an instance on: registered, initialized, or deleted when that takes too long.
pub async fn settle<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    signal: Signal,
    at: &Invocation,
) -> Result<Report, Error> {
    let SettlePorts { ledger, mailbox, clock, ref recorder, .. } = *ports;
    let beating = Beating { function: Function::Settle, ledger, mailbox, clock, recorder };
    beating.call(signal, at, async |start| pass(ports, start, at).await).await
}

/// What a visit came to.
enum Visited {
    /// It is due again then, if ever.
    Again(Option<Timestamp>),
    /// The claim is to be deleted.
    Deleted(Box<NodeClaim>),
}

async fn pass<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    start: &Start,
    at: &Invocation,
) -> Result<Pass, Error> {
    let snapshot = ports.ledger.snapshot(&at.cluster).await?;
    let unlaunched = unlaunched::show(ports, start, &snapshot, at);
    let (followed, look_at) = join(follow(ports, start, &snapshot, at), unlaunched).await;
    let mut pass = followed?;
    pass.end.next_at = sooner(pass.end.next_at, look_at);
    Ok(pass)
}

/// Follows the claims of `snapshot` that have an instance.
async fn follow<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    start: &Start,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<Pass, Error> {
    let read = start.head.counters;
    let open: Vec<&NodeClaim> = snapshot.claims.values().filter(|claim| is_open(claim)).collect();
    if open.is_empty() {
        return Ok(Pass::whole(Report::default(), read, None));
    }
    registrations::note(ports.ledger, registrations::joined(open.iter().copied()), at).await;
    for pool in planner::joined_again(snapshot) {
        if let Err(error) = ports.ledger.put_refusals(&at.cluster, &pool, None).await {
            tracing::warn!(%pool, story = story(&error), "that its nodes join again is not kept");
        }
    }
    let retries = open.iter().filter_map(|claim| Some(claim.retry?.not_before));
    let waiting = retries.filter(|not_before| at.now < *not_before).min();
    let mut due: Vec<&NodeClaim> = open.into_iter().filter(|claim| claim.is_due(at.now)).collect();
    // Those that fail again and again take no other's turn.
    due.sort_by_key(|claim| claim.retry.map_or(0, |retry| retry.failures));
    let last = start.pulse.note;
    let observed = Observed::look(ports, &due, last, at).await?;
    let (visited, rest_at) = each(due, AT_ONCE, ports.clock, at, async |claim| {
        visit(ports, claim, &observed, last, at).await
    })
    .await;
    ports.recorder.publish(ports.clock, at).await;
    let mut next_at = sooner(waiting, rest_at);
    let mut deleted = Vec::new();
    for visited in visited {
        match visited {
            Visited::Again(time) => next_at = sooner(next_at, time),
            Visited::Deleted(claim) => deleted.push(*claim),
        }
    }
    if !deleted.is_empty() && !delete_claims(ports, snapshot, deleted, at).await? {
        next_at = Some(at.now);
    }
    let note = PulseNote::of_time(observed.described_at, at.now);
    let end = PassEnd { read: Some(read), next_at, note: Some(note) };
    Ok(Pass { report: Report { plan: None, malformed: observed.malformed }, end })
}

/// Whether something is to be done about `claim` until its node is in service and its instance says whose
/// it is.
fn is_open(claim: &NodeClaim) -> bool {
    match claim.phase {
        ClaimPhase::Launched | ClaimPhase::Registered => true,
        ClaimPhase::Initialized => !claim.is_tagged(),
        ClaimPhase::Created | ClaimPhase::Deleting => false,
    }
}

/// What was seen of nodes and instances once for all claims, and what may still be asked for.
struct Observed {
    /// By the instance that they report.
    nodes: BTreeMap<InstanceId, Node>,
    /// Nodes that report the same instance as others.
    several: BTreeMap<InstanceId, Vec<NodeName>>,
    /// Instances that EC2 says have ended, each with its reason if EC2 says one, or does not know though it should.
    gone: BTreeMap<InstanceId, Option<String>>,
    /// When EC2 was asked last.
    described_at: Timestamp,
    malformed: Vec<ports::Malformed>,
    slices: Slices,
    /// Instances that this pass may still tag.
    tags_left: Cell<usize>,
    /// Instances that this pass may still look into.
    looks_left: Cell<usize>,
}

impl Observed {
    async fn look<A: Adapters>(
        ports: &SettlePorts<'_, A>,
        claims: &[&NodeClaim],
        last: Option<PulseNote>,
        at: &Invocation,
    ) -> Result<Self, PortError> {
        let mut observed = Self {
            nodes: BTreeMap::new(),
            several: BTreeMap::new(),
            gone: BTreeMap::new(),
            described_at: last.and_then(PulseNote::time).unwrap_or(at.now),
            malformed: Vec::new(),
            slices: Slices::look(ports.nodes, claims).await,
            tags_left: Cell::new(TAGS_PER_PASS),
            looks_left: Cell::new(join::LOOKS_PER_PASS),
        };
        let may_have_joined = |claim: &&NodeClaim| {
            JOINS_AFTER <= at.now.duration_since(claim.phase_since)
                || claim.phase != ClaimPhase::Launched
        };
        if claims.iter().any(may_have_joined) {
            let listing = ports.nodes.uninitialized().await?;
            observed.malformed = listing.malformed;
            for node in listing.items {
                let instance = node.provider_id.as_ref().and_then(model::ProviderId::instance);
                observed.take(instance, node);
            }
        }
        observed.malformed.extend_from_slice(observed.slices.malformed());
        if DESCRIBED_EVERY <= at.now.duration_since(observed.described_at) {
            observed.describe(ports, claims, at).await?;
        }
        Ok(observed)
    }

    /// Knows that `node` reports `instance`.
    fn take(&mut self, instance: Option<InstanceId>, node: Node) {
        let Some(instance) = instance else { return };
        match self.nodes.entry(instance) {
            Entry::Vacant(place) => drop(place.insert(node)),
            Entry::Occupied(known) => {
                let before = vec![known.get().name.clone()];
                self.several.entry(known.key().clone()).or_insert(before).push(node.name);
            }
        }
    }

    /// Asks EC2 about the instances without a ready node.
    async fn describe<A: Adapters>(
        &mut self,
        ports: &SettlePorts<'_, A>,
        claims: &[&NodeClaim],
        at: &Invocation,
    ) -> Result<(), PortError> {
        let is_ready = |id: &InstanceId| self.nodes.get(id).is_some_and(|node| node.is_ready);
        let is_asked = |claim: &&&NodeClaim| claim.phase != ClaimPhase::Initialized;
        let instances = claims.iter().filter(is_asked).filter_map(|claim| claim.instance.as_ref());
        let unready: Vec<&LaunchedInstance> =
            instances.filter(|instance| !is_ready(&instance.id)).collect();
        self.described_at = at.now;
        if unready.is_empty() {
            return Ok(());
        }
        let ids: Vec<InstanceId> = unready.iter().map(|instance| instance.id.clone()).collect();
        let described = ports.fleet.describe(&ids).await?;
        let described: BTreeMap<&InstanceId, &Instance> =
            described.iter().map(|instance| (&instance.id, instance)).collect();
        for instance in unready {
            let listed = described.get(&instance.id);
            let is_gone = match listed {
                Some(listed) => listed.state >= InstanceState::Stopped,
                None => at.now.duration_since(instance.launched_at) >= LISTING_LAG_MAX,
            };
            if is_gone {
                let reason = listed.and_then(|listed| listed.state_reason.clone());
                self.gone.insert(instance.id.clone(), reason);
            }
        }
        Ok(())
    }

    /// Tags the instance of `claim`, whose node is `node`. `false` if this pass may tag no more.
    async fn tag(
        &self,
        fleet: &impl Fleet,
        claim: &NodeClaim,
        node: &Node,
    ) -> Result<bool, PortError> {
        let (Some(instance), Some(left)) = (&claim.instance, self.tags_left.get().checked_sub(1))
        else {
            return Ok(false);
        };
        self.tags_left.set(left);
        let mut tags = tags(claim, node);
        let mut answer = fleet.tag(&instance.id, &tags).await;
        // Its role may give a name and change none: a user gave the instance one.
        if answer.as_ref().is_err_and(is_forbidden) && tags.remove(labels::NAME_TAG).is_some() {
            answer = fleet.tag(&instance.id, &tags).await;
        }
        let Err(error) = answer else { return Ok(true) };
        let tags_left = match error.fault {
            // It is gone, or not visible yet: that says nothing of the next one.
            Fault::NotFound | Fault::Conflict => self.tags_left.get(),
            // A right that the role lacks is lacking for the next one, too, and what one instance has of tags is not:
            // it costs the others half of what is left.
            Fault::Permanent => self.tags_left.get() / 2,
            // EC2 does not answer now.
            Fault::Transient | Fault::Unknown => 0,
        };
        self.tags_left.set(tags_left);
        Err(error)
    }

    /// The node of `claim`: of those that are not initialized, or by its name. Of several that
    /// report its instance, only its name tells.
    async fn node_of<A: Adapters>(
        &self,
        ports: &SettlePorts<'_, A>,
        claim: &NodeClaim,
        instance: &InstanceId,
    ) -> Result<Option<Node>, PortError> {
        let reporting = self.nodes.get(instance).filter(|_| !self.several.contains_key(instance));
        match (reporting, &claim.node) {
            (Some(node), _) => Ok(Some(node.clone())),
            (None, Some(name)) => ports.nodes.node(name).await,
            (None, None) => Ok(None),
        }
    }
}

async fn visit<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    claim: &NodeClaim,
    observed: &Observed,
    last: Option<PulseNote>,
    at: &Invocation,
) -> Visited {
    match step(ports, claim, observed, last, at).await {
        Ok(visited) => visited,
        Err(error) => {
            Visited::Again(Some(postpone::<A>(ports.ledger, ports.clock, claim, &error, at).await))
        }
    }
}

async fn step<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    claim: &NodeClaim,
    observed: &Observed,
    last: Option<PulseNote>,
    at: &Invocation,
) -> Result<Visited, PortError> {
    let SettlePorts { ledger, nodes, node_claims, fleet, .. } = *ports;
    let Some(instance) = &claim.instance else { return Ok(Visited::Again(None)) };
    if observed.tags_left.get() == 0 && claim.phase == ClaimPhase::Initialized {
        return Ok(Visited::Again(Some(at.after(TAGGED_LATER))));
    }
    let node = observed.node_of(ports, claim, &instance.id).await?;
    let end_reason = observed.gone.get(&instance.id);
    let is_gone = end_reason.is_some();
    let settlement = match observed.several.get(&instance.id) {
        Some(nodes) if !is_gone && node.is_none() => planner::settle_among(claim, nodes, at.now),
        _ => {
            let slices =
                if is_gone { Ok(SeenSlices::default()) } else { observed.slices.of(claim) };
            planner::settle(claim, node.as_ref(), slices?, is_gone, at.now)
        }
    };
    let settlement = match (&node, &settlement.patch) {
        (Some(node), Some(patch)) => match ignore_missing(nodes.patch(&node.name, patch).await) {
            Ok(()) => settlement,
            Err(refused) => join::not_joined(claim, &refused, is_gone, at).ok_or(refused)?,
        },
        _ => settlement,
    };
    let mut again = settlement
        .revisit_after_seconds
        .map(|seconds| at.after(SignedDuration::from_secs(i64::from(seconds))));
    let mut next = settlement.claim;
    if next.as_ref().is_some_and(NodeClaim::is_deleting) {
        let mut unreadable = observed.malformed.iter();
        let unreadable = unreadable.find(|unreadable| unreadable.may_be_node_of(&instance.id));
        if let (None, false, Some(unreadable)) = (&node, is_gone, unreadable) {
            // It may be the node that is missed.
            let why = format!("{} cannot be read: {}", unreadable.object, unreadable.problem);
            return Err(PortError::because("read nodes", Fault::Permanent, why));
        }
        if let (Some(claim), Some(Some(reason))) = (&mut next, end_reason) {
            claim.message = Some(format!("its instance ended: {reason}").as_str().into());
        }
        return Ok(next.map_or(Visited::Again(None), |claim| Visited::Deleted(Box::new(claim))));
    }
    if let (Some(next), Some(node)) = (&next, &node) {
        measure::<A>(ledger, next, node, at).await;
    }
    if let (Some(node), false) = (&node, claim.is_tagged()) {
        let is_in_service = claim.phase == ClaimPhase::Initialized;
        // Whose it is, is worth knowing, and holds nothing else up.
        match observed.tag(fleet, claim, node).await {
            Ok(true) => next = Some(next.unwrap_or_else(|| claim.following()).tagged()),
            Err(error) if is_in_service && is_of_instance(&error) => return Err(error),
            Ok(false) | Err(_) => again = sooner(again, Some(at.after(TAGGED_LATER))),
        }
    }
    if next.is_none() && node.is_none() {
        next = join::look(ports, claim, &observed.looks_left, at).await;
    }
    if next.is_none() && claim.retry.is_some() {
        next = Some(claim.following());
    }
    let is_new = last.is_none_or(|note| note.at <= claim.phase_since);
    match next {
        Some(next) => {
            let next = NodeClaim { retry: None, ..next };
            match ledger.write_claim(&at.cluster, &next).await? {
                WriteOutcome::Written => sync(node_claims, &next).await,
                WriteOutcome::Conflict => again = Some(at.now),
            }
        }
        // Its object was not created yet.
        None if is_new => sync(node_claims, claim).await,
        None => {}
    }
    Ok(Visited::Again(again))
}

/// Deletes `claims` in one commit; whether it was made. If another function changed one of them meanwhile, that is for
/// the next pass.
async fn delete_claims<A: Adapters>(
    ports: &SettlePorts<'_, A>,
    snapshot: &Snapshot,
    claims: Vec<NodeClaim>,
    at: &Invocation,
) -> Result<bool, Error> {
    let decision = |claim: &NodeClaim| {
        let why = claim.message.as_ref().map(ToString::to_string).unwrap_or_default();
        let summary = format!("{} is deleted: {why}", claim.name);
        let who = (Function::Settle, at.now);
        Decision::about(DecisionKind::Termination, [claim], who, summary)
    };
    let plan = Plan {
        parent: snapshot.head.counters,
        decisions: claims.iter().map(decision).collect(),
        changes: claims,
        ..Plan::default()
    };
    // Before they are: after a crash in between, it is published again.
    registrations::note(ports.ledger, registrations::not_joined(&plan.changes, at), at).await;
    let facts = observe::ledger_only(snapshot.clone(), at);
    delete::<A>((ports.ledger, ports.mailbox), &facts, &plan, at).await
}

/// Keeps how much memory a node has that joined: the next node of its type and image will not have
/// more. One that does not report any yet will when it is initialized.
async fn measure<A: Adapters>(ledger: &A::Ledger, claim: &NodeClaim, node: &Node, at: &Invocation) {
    let joined = matches!(claim.phase, ClaimPhase::Registered | ClaimPhase::Initialized);
    let Some(instance) = claim.instance.as_ref().filter(|_| joined) else { return };
    let (Some(image), true) = (&instance.image, node.capacity.memory > Bytes(0)) else { return };
    let instance_type = instance.instance_type.clone();
    let key = MeasuredKey { instance_type, image: image.clone() };
    let until = at.after(MEASURED_KEPT);
    if let Err(error) = ledger.measure(&at.cluster, &key, node.capacity.memory, until).await {
        tracing::warn!(claim = %claim.name, story = story(&error), "its memory is not kept");
    }
}

/// Whether a refusal of tags is about the instance rather than about how many were asked for.
fn is_of_instance(error: &PortError) -> bool {
    !matches!(error.fault, Fault::Transient | Fault::Unknown)
}

/// Whether a role does not allow it, rather than anything else.
fn is_forbidden(error: &PortError) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == "UnauthorizedOperation")
}

/// Those that an instance lacks: a name that it has stays.
///
/// Karpenter: `pkg/controllers/nodeclaim/tagging/controller.go` of the AWS provider.
fn tags(claim: &NodeClaim, node: &Node) -> BTreeMap<String, String> {
    let claim_tag = (labels::NODE_CLAIM_TAG.to_owned(), claim.name.to_string());
    let name = (labels::NAME_TAG.to_owned(), node.name.to_string());
    let name = Some(name).filter(|_| !claim.annotations.contains_key(labels::KEEPS_NAME));
    name.into_iter().chain([claim_tag]).collect()
}

/// A node that went away meanwhile is looked at again by the next visit.
pub(crate) fn ignore_missing(result: Result<(), PortError>) -> Result<(), PortError> {
    match result {
        Err(error) if error.fault == Fault::NotFound => Ok(()),
        other => other,
    }
}
