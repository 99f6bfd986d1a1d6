//! Objects and offers → facts.

use std::collections::BTreeMap;

use dispatch::Settings;
use jiff::{SignedDuration, Timestamp};
use model::{
    ClusterName, CommandId, NodeClaim, NodeClaimName, NodeClassName,
    buffer::{BufferTarget, CapacityBuffer},
    claim::Disrupting,
    disruption::{Command, Method, Progress},
    facts::{ClassOffer, Facts, Surroundings},
    ledger::Snapshot,
};
use planner::disruption::CLASS_DRIFT;
use report::error::BadInput;

use super::{expand, input::Loaded, offers::Offers};
use crate::{
    hashes::{Authority, ClassHashes, ToHash},
    records::Records,
};

/// What no object says.
pub(super) struct Outside {
    /// The certificate authority of the cluster.
    pub(super) authority: Authority,
    /// What the ledger says; `None` if it was not read.
    pub(super) records: Option<Records>,
}

/// What the decision may look at, and what people should know about it.
pub(super) struct Gathered {
    pub(super) facts: Facts,
    /// What is left out.
    pub(super) notes: Vec<String>,
    /// The drift hashes of EC2NodeClasses.
    pub(super) hashes: ClassHashes<NodeClassName>,
}

/// Everything that the decision may look at.
pub(super) fn of(
    mut loaded: Loaded,
    offers: Offers,
    settings: &Settings,
    outside: Outside,
    now: Timestamp,
) -> Result<Gathered, BadInput> {
    // Names nothing outside: what is planned here is only printed.
    let cluster = ClusterName::new("plan").map_err(|error| BadInput::one(error.to_string()))?;
    let policies = settings.policies;
    let pods = expand::pods(&mut loaded, now);
    let mut claims = loaded.claims;
    let to_hash = loaded.node_classes.iter().map(|(read, _)| ToHash::from(read)).collect();
    let stored = claims.iter().map(|claim| (&claim.node_class, &claim.annotations));
    let hashes = ClassHashes::of(outside.authority, to_hash, stored);
    for claim in &mut claims {
        know_price(claim, &offers);
        note_drift(claim, &hashes);
    }
    let mut node_pools = loaded.node_pools;
    node_pools.sort_by(|a, b| a.name.cmp(&b.name));
    let mut daemon_sets = loaded.daemon_sets;
    daemon_sets.sort_by(|a, b| a.key.cmp(&b.key));
    let mut surroundings = loaded.surroundings;
    let referable = &loaded.referable;
    let buffers = loaded.buffers.into_iter().map(|buffer| referable.resolved(buffer));
    surroundings.capacity_buffers = buffers.collect();
    let is_open = policies.capacity_buffer;
    let missing = surroundings.capacity_buffers.iter().filter(|_| is_open).filter_map(empty_buffer);
    loaded.notes.extend(missing);
    sort(&mut surroundings);
    let ledger = ledger(claims, outside.records);
    let classes = loaded.node_classes.iter().map(|(read, _)| &read.class);
    let rollouts = classes.filter_map(|class| Some((class.name.clone(), class.rollout.clone()?)));
    let rollouts = rollouts.collect();
    let mut facts = Facts {
        nodes: loaded.nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
        node_pools,
        classes: Some(offers.classes),
        class_hashes: Some(hashes.known.clone()),
        class_images: offers.images,
        class_candidates: offers.candidates,
        class_rollouts: rollouts,
        node_charges: offers.charges,
        daemon_sets,
        pods,
        surroundings,
        policies,
        ..Facts::of(cluster, now, ledger)
    };
    let classes = loaded.node_classes.iter().map(|(read, _)| &read.class);
    loaded.notes.extend(loaded.devices.add_to(&mut facts, classes));
    settings.apply_to(&mut facts, &loaded.selectors);
    Ok(Gathered { facts, notes: loaded.notes, hashes })
}

/// The note that a CapacityBuffer keeps no room, if what it refers to is not there.
fn empty_buffer(buffer: &CapacityBuffer) -> Option<String> {
    let CapacityBuffer { namespace, name, target, .. } = buffer;
    let BufferTarget::Missing(why) = target else { return None };
    Some(format!("CapacityBuffer {namespace}/{name} keeps no room: {why}"))
}

/// The ledger of `claims`, with what `records` say of them that no object does.
fn ledger(claims: Vec<NodeClaim>, records: Option<Records>) -> Snapshot {
    let mut claims: BTreeMap<NodeClaimName, NodeClaim> =
        claims.into_iter().map(|claim| (claim.name.clone(), claim)).collect();
    let commands = if let Some(mut records) = records {
        for (name, claim) in &mut claims {
            if let Some(recorded) = records.claims.remove(name) {
                take_recorded(claim, recorded);
            }
        }
        records.commands
    } else {
        let commands = claims.values().filter_map(replacing);
        commands.map(|command| (CommandId::derived(&command), command)).collect()
    };
    Snapshot { claims, commands, ..Snapshot::default() }
}

/// Gives `claim` the pods of the `recorded` one, and its times where they are those of the object: objects have whole
/// seconds, by which `consolidateAfter` can end a moment sooner or later.
fn take_recorded(claim: &mut NodeClaim, recorded: NodeClaim) {
    claim.pods = recorded.pods;
    claim.phase_since = exact(claim.phase_since, recorded.phase_since);
    let both = claim.empty_since.zip(recorded.empty_since);
    claim.empty_since = both.map(|(shown, at)| exact(shown, at)).or(claim.empty_since);
    let (shown, recorded) = (&mut claim.conditions, &recorded.conditions);
    let both = shown.last_pod_event_at.zip(recorded.last_pod_event_at);
    shown.last_pod_event_at = both.map(|(shown, at)| exact(shown, at)).or(shown.last_pod_event_at);
}

/// `recorded`, unless `shown` is another time than its second.
fn exact(shown: Timestamp, recorded: Timestamp) -> Timestamp {
    if shown.duration_since(recorded).abs() < SignedDuration::from_secs(1) {
        recorded
    } else {
        shown
    }
}

/// The command that replaces the node of `claim`, as far as the NodeClaim says it: which nodes come in its place only the
/// ledger knows.
fn replacing(claim: &NodeClaim) -> Option<Command> {
    let Disrupting { reason, since } = claim.conditions.disruption?;
    Some(Command {
        method: Method::ALL.into_iter().find(|method| method.reason() == reason)?,
        found_at: since,
        candidates: vec![claim.name.clone()],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Launching { since, claims: Vec::new() },
    })
}

/// Notes that `claim` has drifted where only the hash that is stored with its class can say so.
fn note_drift(claim: &mut NodeClaim, hashes: &ClassHashes<NodeClassName>) {
    let has_drifted = hashes.stored_difference(&claim.node_class, &claim.annotations).is_some();
    if has_drifted && claim.conditions.drifted.is_none() {
        claim.conditions.drifted = Some(CLASS_DRIFT.to_owned());
    }
}

/// By name: the order of the input says nothing.
fn sort(surroundings: &mut Surroundings) {
    surroundings.node_overlays.sort_by(|a, b| a.name.cmp(&b.name));
    surroundings
        .capacity_buffers
        .sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    surroundings.disruption_budgets.sort_by(|a, b| a.key.cmp(&b.key));
}

/// What the instance of `claim` costs now.
fn know_price(claim: &mut NodeClaim, offers: &Offers) {
    let Some(instance) = &mut claim.instance else { return };
    let Some(ClassOffer::Ready(types)) = offers.classes.get(&claim.node_class) else { return };
    let instance_type = types.iter().find(|candidate| candidate.name == instance.instance_type);
    if let Some(offering) = instance_type.and_then(|sold| sold.offering(&instance.offering())) {
        instance.price = offering.price;
    }
}
