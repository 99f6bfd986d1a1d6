//! The conditions `Consolidatable` and `Drifted`: read where something keeps them up, else worked out.
//!
//! What only EC2 knows (subnet, security groups, placement group of an instance) is not worked out here: facts
//! do not have it.
//!
//! Karpenter: `pkg/controllers/nodeclaim/disruption/{consolidation,drift}.go`; for the hash of a class and
//! its images the AWS provider's `pkg/cloudprovider/drift.go`.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ImageId, InstanceType, NodeClaim, NodePoolName, Offering, Requirement,
    Requirements, labels,
    node_pool::NodePool,
    requirements::Undefined,
    static_hash::{NODE_CLASS, NODE_POOL},
};

use super::{
    candidate::Candidate,
    nodes::{State, StateNode},
    objection::Objection,
};
use crate::pod_events::quiet_since;

/// How old a claim must be before its instance type may be missed.
///
/// Karpenter: `drift.go`, `InstanceTypeNotFoundCheckRequeueInterval` and its first use.
const INSTANCE_TYPE_GRACE: SignedDuration = SignedDuration::from_hours(1);

/// Karpenter's reason: the class has another hash than the claim was launched with.
pub const CLASS_DRIFT: &str = "NodeClassDrift";

/// Why `candidate` may not be consolidated yet, if so.
pub(crate) fn not_consolidatable(
    state: &State<'_>,
    candidate: &Candidate<'_>,
) -> Option<Objection> {
    let (claim, pool) = (candidate.claim, candidate.pool);
    let Some(after) = pool.disruption.consolidate_after else {
        return Some(Objection::NeverConsolidated(pool.name.clone()));
    };
    match claim.conditions.is_consolidatable {
        Some(true) => None,
        Some(false) => Some(Objection::NotConsolidatable(after)),
        None => {
            let since = quiet_since(claim, &candidate.pods, state.now, state.is_watched);
            let quiet = state.now.duration_since(since);
            (quiet < after).then_some(Objection::Unsettled(after))
        }
    }
}

/// Since when and why a claim no longer looks like its pool, if so. Worked out once for each node of a state.
pub fn drift(
    state: &State<'_>,
    entry: &StateNode<'_>,
    pool: &NodePool,
) -> Option<(Timestamp, String)> {
    let claim = entry.claim?;
    let (now, name) = (state.now, &pool.name);
    let known = entry.drift.get_or_init(|| Drift {
        now,
        pool: name.clone(),
        found: worked_out(state, entry, claim, pool),
    });
    if known.now == now && known.pool == *name {
        return known.found.clone();
    }
    worked_out(state, entry, claim, pool)
}

/// What [`drift`] found of one claim, with what else it depends on than the facts.
#[derive(Debug)]
pub(crate) struct Drift {
    now: Timestamp,
    pool: NodePoolName,
    found: Option<(Timestamp, String)>,
}

fn worked_out(
    state: &State<'_>,
    entry: &StateNode<'_>,
    claim: &NodeClaim,
    pool: &NodePool,
) -> Option<(Timestamp, String)> {
    let stored = claim.conditions.drifted.as_ref();
    let is_kept =
        |reason: &&String| state.is_watched || !is_found_again(state, claim, pool, reason);
    if let Some(reason) = stored.filter(is_kept) {
        return Some((claim.conditions.drifted_since.unwrap_or(claim.created_at), reason.clone()));
    }
    let reason = found_drift(state, entry, claim, pool)?;
    Some((claim.created_at, reason.to_owned()))
}

/// Karpenter's reason: the NodePool has another hash.
const OF_NODE_POOL: &str = "NodePoolDrifted";
/// Karpenter's reason: the requirements of the NodePool exclude the node.
const OF_REQUIREMENTS: &str = "RequirementsDrifted";
/// Karpenter's reason: EC2 does not offer the instance type any more.
const OF_INSTANCE_TYPE: &str = "InstanceTypeNotFound";
/// Karpenter's reason: the EC2NodeClass selects another image.
const OF_IMAGE: &str = "AMIDrift";

/// The reasons for which hashes or the image of a node are others than those of a node that is launched now.
pub(super) const IN_HASHES_AND_IMAGE: [&str; 3] = [OF_NODE_POOL, CLASS_DRIFT, OF_IMAGE];

/// Whether [`found_drift`] finds the drift for `reason` again for as long as it lasts, so that the condition on the
/// claim only shows it. Where the facts lack what would be compared, what was found before stays true.
fn is_found_again(state: &State<'_>, claim: &NodeClaim, pool: &NodePool, reason: &str) -> bool {
    match reason {
        OF_NODE_POOL => differs(claim, pool).is_some(),
        OF_REQUIREMENTS => true,
        OF_INSTANCE_TYPE => state.is_catalog_whole && !state.types(pool).is_empty(),
        CLASS_DRIFT => {
            let hashes = state.facts.class_hashes.as_ref();
            let version = claim.annotations.get(NODE_CLASS.version_key);
            hashes.is_some_and(|hashes| hashes.contains_key(&pool.template.node_class))
                && version.is_some_and(|version| version == NODE_CLASS.version)
        }
        OF_IMAGE => images(state, claim, pool).is_some(),
        _ => false,
    }
}

fn found_drift(
    state: &State<'_>,
    entry: &StateNode<'_>,
    claim: &NodeClaim,
    pool: &NodePool,
) -> Option<&'static str> {
    claim.instance.as_ref()?;
    if has_other_hash(claim, pool) {
        return Some(OF_NODE_POOL);
    }
    let labels_of_node = known_labels(state, entry, claim, pool);
    if labels_of_node.compatible(&pool.template.requirements, Undefined::Refused).is_err() {
        return Some(OF_REQUIREMENTS);
    }
    if state.is_catalog_whole && is_missing(state, (claim, pool), &labels_of_node) {
        return Some(OF_INSTANCE_TYPE);
    }
    if has_other_class_hash(state, claim, pool) {
        return Some(CLASS_DRIFT);
    }
    has_other_image(state, claim, pool).then_some(OF_IMAGE)
}

/// What claims were launched as and the lists of instance types lack, if these need not be whole.
pub(crate) fn not_listed(state: &State<'_>) -> BTreeSet<String> {
    if state.is_catalog_whole {
        return BTreeSet::new();
    }
    let offering = |(_, entry): (_, &StateNode<'_>)| {
        let claim = entry.claim?;
        let pool = state.pool(claim.node_pool.as_str())?;
        let labels = known_labels(state, entry, claim, pool);
        let instance = claim.instance.as_ref()?;
        is_missing(state, (claim, pool), &labels).then(|| instance.offering().to_string())
    };
    state.nodes.entries().filter_map(offering).collect()
}

/// Whether the list of instance types of `pool` lacks what `claim` was launched as, which is no longer young.
fn is_missing(
    state: &State<'_>,
    (claim, pool): (&NodeClaim, &NodePool),
    known: &Requirements,
) -> bool {
    let is_old = state.now.duration_since(claim.created_at) > INSTANCE_TYPE_GRACE;
    is_old && !state.types(pool).is_empty() && !is_offered(state, claim, pool, known)
}

/// Whether a node of the same instance type would start from another image now. What is not known is no drift.
fn has_other_image(state: &State<'_>, claim: &NodeClaim, pool: &NodePool) -> bool {
    images(state, claim, pool).is_some_and(|(wanted, image)| wanted != image)
}

/// The image that a node of the instance type of `claim` would start from now, if that is known.
pub(super) fn wanted_image<'s>(
    state: &'s State<'_>,
    claim: &NodeClaim,
    pool: &NodePool,
) -> Option<&'s ImageId> {
    let (class, instance_type) =
        (&pool.template.node_class, &claim.instance.as_ref()?.instance_type);
    let candidates = state.facts.class_candidates.get(class);
    let candidate = candidates.and_then(|images| images.get(instance_type));
    let open = candidate.filter(|image| !state.facts.is_halted(class, image));
    open.or_else(|| state.facts.class_images.get(class)?.get(instance_type))
}

/// The image that a node of the same instance type would start from now, and that of the instance.
fn images<'s>(
    state: &'s State<'_>,
    claim: &'s NodeClaim,
    pool: &NodePool,
) -> Option<(&'s ImageId, &'s ImageId)> {
    Some((wanted_image(state, claim, pool)?, claim.instance.as_ref()?.image.as_ref()?))
}

/// Whether `claim` was made for another spec of `pool`, whether it was launched or not.
pub(super) fn has_other_hash(claim: &NodeClaim, pool: &NodePool) -> bool {
    differs(claim, pool) == Some(true)
}

/// Whether `claim` was made for another spec of the EC2NodeClass of `pool`, whether it was launched or not.
pub(super) fn has_other_class_hash(state: &State<'_>, claim: &NodeClaim, pool: &NodePool) -> bool {
    let hashes = state.facts.class_hashes.as_ref();
    let hash = hashes.and_then(|texts| texts.get(&pool.template.node_class));
    hash.is_some_and(|hash| NODE_CLASS.differs(&claim.annotations, hash))
}

/// Whether the hash of the NodePool on the claim is another than its own; `None` if they cannot be compared.
fn differs(claim: &NodeClaim, pool: &NodePool) -> Option<bool> {
    NODE_POOL.of(&pool.annotations)?.differs(NODE_POOL.of(&claim.annotations)?)
}

/// The labels of a claim that its pool or an offering asks for: what its instance type says, what its
/// launch decided, its own.
fn known_labels(
    state: &State<'_>,
    entry: &StateNode<'_>,
    claim: &NodeClaim,
    pool: &NodePool,
) -> Requirements {
    let asked = &pool.template.requirements;
    let is_asked = |key: &str| asked.contains(key) || Offering::LABELS.contains(&key);
    let mut requirements = Requirements::new();
    let mut put = |key: &str, value: &str| {
        if let (true, Ok(requirement)) = (is_asked(key), Requirement::of_label(key, value)) {
            requirements.replace(requirement);
        }
    };
    if let Some(instance) = &claim.instance {
        let instance_type = state.instance_type(pool, instance.instance_type.as_str());
        for requirement in instance_type.into_iter().flat_map(|known| known.requirements.iter()) {
            if let Some(value) = requirement.single_value() {
                put(requirement.key().as_str(), value);
            }
        }
        for (key, value) in [
            (labels::INSTANCE_TYPE, instance.instance_type.as_str()),
            (labels::ZONE, instance.zone.as_str()),
            (labels::CAPACITY_TYPE, instance.capacity_type.as_str()),
        ] {
            put(key, value);
        }
    }
    put(labels::NODE_POOL, claim.node_pool.as_str());
    put(labels::NODE_CLASS, claim.node_class.as_str());
    let map = claim.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in entry.all_labels().chain(map) {
        put(key, value);
    }
    requirements
}

/// Whether the pool's class has an offering like the one that the claim came from, to be bought now
/// or not. What was launched as reserved capacity may have become on-demand.
fn is_offered(state: &State<'_>, claim: &NodeClaim, pool: &NodePool, known: &Requirements) -> bool {
    let Some(instance) = &claim.instance else { return true };
    let Some(instance_type) = state.instance_type(pool, instance.instance_type.as_str()) else {
        return false;
    };
    let mut wanted = known.clone();
    if instance.capacity_type == CapacityType::Reserved {
        wanted.remove(labels::CAPACITY_TYPE);
        for key in labels::OF_RESERVATIONS {
            wanted.remove(key);
        }
        let kinds = [CapacityType::Reserved, CapacityType::OnDemand];
        return has_offering(instance_type, &wanted, &kinds);
    }
    has_offering(instance_type, &wanted, &CapacityType::ALL)
}

fn has_offering(
    instance_type: &InstanceType,
    wanted: &Requirements,
    kinds: &[CapacityType],
) -> bool {
    let mut offerings = instance_type.offerings.iter();
    offerings
        .any(|offering| kinds.contains(&offering.capacity_type) && offering.is_compatible(wanted))
}
