//! Launched → registered → initialized: the next state of one claim.
//!
//! A claim that is being deleted is `drain`'s, one that has not launched is `launch`'s: `launch` says when
//! it removes such a claim. The patch and the stored claim may arrive in any order, once, twice or not at all: what a node lacks is found out anew on
//! every visit.
//!
//! Karpenter: `pkg/controllers/nodeclaim/lifecycle/{registration,initialization,liveness}.go`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, ConditionReason, DeletionReason, NodeClaim, NodeName, Taint,
    TaintEffect,
    claim::ClaimMessage,
    dynamic_resources::ResourceSlice,
    labels,
    node::{Node, NodePatch},
    taint::is_ephemeral,
};

/// How long a node may take to join, from the claim's creation on; and how long a claim whose instance several nodes
/// report is kept after that was seen.
///
/// Karpenter: `liveness.go`, `registrationTimeout`.
pub(super) const REGISTRATION_TTL: SignedDuration = SignedDuration::from_mins(15);

/// The next state of a claim, and what has to be done for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    /// As it should be stored, one version on; `None` when nothing changes.
    pub claim: Option<NodeClaim>,
    /// What its node lacks.
    pub patch: Option<NodePatch>,
    /// When to look again; `None` is never.
    pub revisit_after_seconds: Option<u32>,
}

/// What drivers published.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenSlices<'s> {
    /// The ResourceSlices that can be read.
    pub readable: &'s [ResourceSlice],
    /// The first one that cannot be, such as `ResourceSlice a`: it may be of any node and driver.
    pub unreadable: Option<&'s str>,
}

/// Whether the devices that drivers publish decide about `claim`.
#[must_use]
pub fn awaits_devices(claim: &NodeClaim) -> bool {
    claim.phase == ClaimPhase::Registered && devices::requested_drivers(claim).next().is_some()
}

/// The next state of `claim`, whose node is `node` if it joined and whose instance EC2 does not
/// know any more if `instance_is_gone`. `slices` are asked for if it [awaits devices](awaits_devices).
#[must_use]
pub fn settle(
    claim: &NodeClaim,
    node: Option<&Node>,
    slices: SeenSlices<'_>,
    instance_is_gone: bool,
    now: Timestamp,
) -> Settlement {
    if claim.is_deleting() {
        return Settlement::default();
    }
    if instance_is_gone && claim.instance.is_some() {
        return deleted(claim, DeletionReason::InstanceEnded, "its instance is gone", now);
    }
    match (claim.phase, node) {
        (ClaimPhase::Launched, _) if claim.is_ambiguous() => joining(claim, now),
        (ClaimPhase::Launched, None) => joining(claim, now),
        (ClaimPhase::Launched, Some(node)) => registered(claim, node, now),
        (ClaimPhase::Registered, Some(node)) => initializing(claim, node, slices, now),
        (ClaimPhase::Registered, None) => {
            let text = "its node is not there".to_owned();
            waiting(claim, ConditionReason::NodeNotFound, text, now)
        }
        (ClaimPhase::Initialized, Some(node)) => Settlement {
            patch: lacking(initialized_patch(claim, node), node),
            ..Settlement::default()
        },
        (ClaimPhase::Initialized, None) | (ClaimPhase::Created | ClaimPhase::Deleting, _) => {
            Settlement::default()
        }
    }
}

/// The next state of `claim`, whose instance several nodes report. Which of them is its own cannot
/// be known, and neither when only one is left: it is deleted when its time to join is over.
///
/// Karpenter: `registration.go`, `MultipleNodesFound`.
#[must_use]
pub fn settle_among(claim: &NodeClaim, nodes: &[NodeName], now: Timestamp) -> Settlement {
    if claim.phase != ClaimPhase::Launched || claim.is_ambiguous() {
        return settle(claim, None, SeenSlices::default(), false, now);
    }
    let names: Vec<&str> = nodes.iter().map(NodeName::as_str).collect();
    let text = format!("several nodes report its instance: {}", names.join(", "));
    // Its time to join begins anew, as the condition `Registered` changes by it.
    let claim = NodeClaim { phase_since: now, ..claim.clone() };
    waiting(&claim, ConditionReason::MultipleNodesFound, text, now)
}

fn joining(claim: &NodeClaim, now: Timestamp) -> Settlement {
    let since = if claim.is_ambiguous() { claim.phase_since } else { claim.created_at };
    if let Some(left) = left(since, REGISTRATION_TTL, now) {
        return revisit(claim, Some(left), now);
    }
    let mut message = "its node did not join within 15 minutes".to_owned();
    if let Some(told) = claim.message.as_ref().filter(|_| !claim.is_ambiguous()) {
        message = format!("{message}: {told}");
    }
    deleted(claim, DeletionReason::NotRegistered, &message, now)
}

fn registered(claim: &NodeClaim, node: &Node, now: Timestamp) -> Settlement {
    let next = NodeClaim {
        node: Some(node.name.clone()),
        message: None,
        ..claim.moved_to(ClaimPhase::Registered, now)
    };
    Settlement {
        claim: Some(next),
        patch: lacking(registration_patch(claim, node), node),
        revisit_after_seconds: Some(delay_seconds(claim, None, now)),
    }
}

fn initializing(
    claim: &NodeClaim,
    node: &Node,
    slices: SeenSlices<'_>,
    now: Timestamp,
) -> Settlement {
    if !node.is_registered() {
        // The claim was stored and its patch was lost.
        let patch = lacking(registration_patch(claim, node), node);
        return Settlement { patch, ..revisit(claim, None, now) };
    }
    if let Some((reason, text)) = not_yet(claim, node, slices) {
        return waiting(claim, reason, text, now);
    }
    // Its pods are on it by now, or will never be.
    let next = NodeClaim {
        message: None,
        pods: Vec::new(),
        ..claim.moved_to(ClaimPhase::Initialized, now)
    };
    Settlement {
        claim: Some(next),
        patch: lacking(initialized_patch(claim, node), node),
        revisit_after_seconds: None,
    }
}

/// Why a registered node is not initialized, by the first check that fails.
fn not_yet(
    claim: &NodeClaim,
    node: &Node,
    slices: SeenSlices<'_>,
) -> Option<(ConditionReason, String)> {
    use ConditionReason::{
        DraDriverPoolsNotPublished, KnownEphemeralTaintsExist, NodeNotReady, ResourceNotRegistered,
        StartupTaintsExist,
    };
    let is_on_node = |taint: &&Taint| node.taints.iter().any(|present| is_same(present, taint));
    if !node.is_ready {
        return Some((NodeNotReady, "its node is not ready".to_owned()));
    }
    if let Some(taint) = claim.startup_taints.iter().find(is_on_node) {
        return Some((StartupTaintsExist, format!("{taint} is still on its node")));
    }
    if let Some(taint) = node.taints.iter().find(|taint| is_ephemeral(taint)) {
        return Some((KnownEphemeralTaintsExist, format!("{taint} is still on its node")));
    }
    let mut requested = claim.requests.iter();
    if let Some((name, _)) = requested.find(|(name, _)| node.allocatable.get(name) == 0) {
        return Some((ResourceNotRegistered, format!("its node reports no {name} yet")));
    }
    let mut drivers = devices::requested_drivers(claim);
    let missing =
        drivers.find(|driver| !devices::has_published(slices.readable, &node.name, driver))?;
    let mut text = format!("{missing} has not published the devices of its node yet");
    if let Some(object) = slices.unreadable {
        text = format!("{text}, or {object}, which cannot be read, is among them");
    }
    Some((DraDriverPoolsNotPublished, text))
}

/// Everything that a node gets from its claim when it joined. Startup taints are put on here and
/// never again: what takes them away later must not fight with us.
fn registration_patch(claim: &NodeClaim, node: &Node) -> NodePatch {
    let keeps_own_taints =
        node.labels.get(labels::DO_NOT_SYNC_TAINTS).is_some_and(|value| value == "true");
    let mut add_taints: Vec<Taint> = Vec::new();
    if !keeps_own_taints {
        for taint in claim.taints.iter().chain(&claim.startup_taints) {
            if !node.taints.iter().chain(&add_taints).any(|present| is_same(present, taint)) {
                add_taints.push(taint.clone());
            }
        }
    }
    let mut node_labels = instance_labels(claim);
    node_labels.extend(claim.labels.clone());
    node_labels.insert(labels::REGISTERED.to_owned(), "true".to_owned());
    let unregistered = Taint {
        key: labels::UNREGISTERED_TAINT.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoExecute,
    };
    NodePatch {
        labels: node_labels,
        remove_labels: BTreeSet::new(),
        annotations: claim.annotations.clone(),
        add_taints,
        remove_taints: vec![unregistered],
        add_finalizers: BTreeSet::from([labels::TERMINATION_FINALIZER.to_owned()]),
        remove_finalizers: BTreeSet::new(),
    }
}

/// What launching decided. The claim's own labels win over these.
fn instance_labels(claim: &NodeClaim) -> BTreeMap<String, String> {
    let Some(instance) = &claim.instance else { return BTreeMap::new() };
    [
        (labels::CAPACITY_TYPE, instance.capacity_type.as_str()),
        (labels::INSTANCE_TYPE, instance.instance_type.as_str()),
        (labels::ZONE, instance.zone.as_str()),
        (labels::NODE_CLASS, claim.node_class.as_str()),
    ]
    .into_iter()
    .chain(claim.pool_label())
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .collect()
}

fn initialized_patch(claim: &NodeClaim, node: &Node) -> NodePatch {
    let label = (labels::INITIALIZED.to_owned(), "true".to_owned());
    let mut patch = if node.is_registered() {
        NodePatch::default()
    } else {
        NodePatch { add_taints: Vec::new(), ..registration_patch(claim, node) }
    };
    patch.labels.extend([label]);
    let is_reserved =
        claim.instance.as_ref().is_none_or(|i| i.capacity_type == CapacityType::Reserved);
    let of_reservations = labels::OF_RESERVATIONS.into_iter();
    let stale: BTreeSet<String> = of_reservations
        .filter(|key| !is_reserved && node.labels.contains_key(*key))
        .map(str::to_owned)
        .collect();
    if !stale.is_empty() {
        // Its reservation ended, and its claim is on-demand since.
        let on_demand = CapacityType::OnDemand.as_str().to_owned();
        patch.labels.insert(labels::CAPACITY_TYPE.to_owned(), on_demand);
        patch.remove_labels = stale;
    }
    patch
}

fn lacking(patch: NodePatch, node: &Node) -> Option<NodePatch> {
    (!patch.is_satisfied_by(node)).then_some(patch)
}

/// Whether two taints have the same key and effect; values do not count, as in Kubernetes.
pub fn is_same(a: &Taint, b: &Taint) -> bool {
    a.key == b.key && a.effect == b.effect
}

fn deleted(claim: &NodeClaim, reason: DeletionReason, message: &str, now: Timestamp) -> Settlement {
    let next = NodeClaim { message: Some(message.into()), ..claim.deleted(reason, now) };
    Settlement { claim: Some(next), ..Settlement::default() }
}

/// The claim stays where it is; why is stored only when it is new.
fn waiting(claim: &NodeClaim, reason: ConditionReason, text: String, now: Timestamp) -> Settlement {
    let message = Some(ClaimMessage { reason: Some(reason), text });
    let waiting_claim = NodeClaim { message, ..claim.clone() };
    let next = (waiting_claim != *claim)
        .then(|| NodeClaim { version: claim.version + 1, ..waiting_claim });
    Settlement { claim: next, ..revisit(claim, None, now) }
}

fn revisit(claim: &NodeClaim, left: Option<SignedDuration>, now: Timestamp) -> Settlement {
    Settlement {
        revisit_after_seconds: Some(delay_seconds(claim, left, now)),
        ..Settlement::default()
    }
}

/// What is left of `ttl` after `since`, or `None` when it is over.
fn left(since: Timestamp, ttl: SignedDuration, now: Timestamp) -> Option<SignedDuration> {
    let time = ttl.saturating_sub(now.duration_since(since));
    time.is_positive().then_some(time)
}

/// Often while the claim is young and nodes join, seldom later, and never past a deadline.
fn delay_seconds(claim: &NodeClaim, left: Option<SignedDuration>, now: Timestamp) -> u32 {
    let delay = match now.duration_since(claim.created_at).as_secs() {
        ..60 => 2,
        60..300 => 5,
        300..900 => 15,
        _ => 60,
    };
    let seconds = |left: SignedDuration| u32::try_from(left.as_secs().saturating_add(1));
    left.map_or(u32::MAX, |left| seconds(left).unwrap_or(u32::MAX)).min(delay)
}
