//! What is there and the ledger does not know → claims.
//!
//! One mechanism for a lost table, an old backup, a move from Karpenter and an instance whose launch
//! was not recorded: a NodeClaim object with an instance is a claim, and so is an instance whose tags say
//! which NodePool it was launched for.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    BatchId, ClaimPhase, InstanceId, NodeClaim, NodeClaimName, NodePoolName, OfferingKey,
    ProviderId, RegionCatalog,
    claim::LaunchedInstance,
    labels,
    launch::{Instance, InstanceState},
    ledger::Snapshot,
    node::Node,
    node_pool::NodePool,
};

use super::settle::REGISTRATION_TTL;

/// A younger instance is left to the function that launched it.
///
/// Karpenter: `pkg/controllers/nodeclaim/garbagecollection` of the AWS provider leaves 30 seconds; a launch
/// whose answer was lost is read back for longer than that here.
const YOUNG: SignedDuration = SignedDuration::from_mins(5);

/// The kind of what has nodes, as objects that cannot be read are called.
const NODE_POOL: &str = "NodePool";

/// What is there.
#[derive(Clone, Debug, Default)]
pub struct Present<'a> {
    /// NodeClaim objects, as claims.
    pub objects: &'a [NodeClaim],
    /// Instances of the cluster, listed before the ledger was read.
    pub instances: &'a [Instance],
    /// Nodes that joined.
    pub nodes: &'a [Node],
    /// NodePools.
    pub node_pools: &'a [NodePool],
    /// NodeClaim objects and NodePools that cannot be read, such as `NodePool general`: one of them may be what an
    /// instance belongs to.
    pub unreadable: Vec<&'a str>,
}

impl Present<'_> {
    /// Whether an object that cannot be read may be the NodeClaim or the NodePool of `instance`. One without a
    /// name may be any. The name of the NodeClaim of an instance that is not tagged yet begins with that of its NodePool.
    fn may_own(&self, instance: &Instance) -> bool {
        self.unreadable.iter().any(|object| match object.split_once(' ') {
            Some((kind, name)) if kind == NODE_POOL => match name.parse::<NodePoolName>() {
                Ok(name) => instance.node_pool.as_ref() == Some(&name),
                Err(_) => true,
            },
            Some((_, name)) => {
                match (NodeClaimName::new(name), &instance.node_claim, &instance.node_pool) {
                    (Ok(name), Some(of_tag), _) => name == *of_tag,
                    (Ok(name), None, Some(pool)) => name.may_be_of(pool),
                    (Ok(_), None, None) | (Err(_), ..) => true,
                }
            }
            None => true,
        })
    }
}

/// What becomes of instances that no claim of the ledger has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adoption {
    /// Claims for them, each with a name that the ledger does not know.
    pub claims: Vec<NodeClaim>,
    /// Those of this very ledger without a known claim: they are terminated.
    pub strays: Vec<InstanceId>,
}

/// Finds a claim for every instance that the ledger of `snapshot` has none for.
#[must_use]
pub fn adopt(
    present: &Present<'_>,
    snapshot: &Snapshot,
    catalog: &RegionCatalog,
    now: Timestamp,
) -> Adoption {
    let unreadable = snapshot.unreadable.iter().filter_map(|item| item.instance.as_ref());
    let of_claims: BTreeSet<&InstanceId> = snapshot
        .claims
        .values()
        .filter_map(|claim| Some(&claim.instance.as_ref()?.id))
        .chain(unreadable)
        .collect();
    let created = snapshot.claims.values().filter(|claim| claim.phase == ClaimPhase::Created);
    let open: BTreeSet<&BatchId> = created.map(|claim| &claim.batch).collect();
    let objects: BTreeMap<&InstanceId, &NodeClaim> = present
        .objects
        .iter()
        .filter_map(|claim| Some((&claim.instance.as_ref()?.id, claim)))
        .collect();
    let nodes: BTreeMap<InstanceId, &Node> = present
        .nodes
        .iter()
        .filter_map(|node| Some((node.provider_id.as_ref()?.instance()?, node)))
        .collect();
    let mut adoption = Adoption::default();
    let unreadable = snapshot.unreadable.iter().filter_map(|item| item.claim.as_ref());
    let mut names: BTreeSet<NodeClaimName> =
        snapshot.claims.keys().chain(unreadable).cloned().collect();
    for instance in present.instances {
        let is_open = instance.batch.as_ref().is_some_and(|batch| open.contains(batch));
        let is_live = instance.state < InstanceState::ShuttingDown;
        if !is_live || is_open || of_claims.contains(&instance.id) {
            continue;
        }
        let (object, node) = (objects.get(&instance.id), nodes.get(&instance.id).copied());
        let claim = match object {
            Some(object) => Some(of_object(object, instance, node, catalog, now)),
            None if now.duration_since(instance.launched_at) < YOUNG => continue,
            None => of_tags(instance, node, present.node_pools, catalog, now),
        };
        match claim {
            Some(claim) if names.insert(claim.name.clone()) => adoption.claims.push(claim),
            None if present.may_own(instance) => {}
            None if instance.ledger == snapshot.head.ledger && instance.ledger.is_some() => {
                adoption.strays.push(instance.id.clone());
            }
            // Its name is another's; or it is of another ledger, or of an unknown one.
            Some(_) | None => {}
        }
    }
    adoption
}

/// The claim that `object` says, with what EC2 says of its instance.
fn of_object(
    object: &NodeClaim,
    instance: &Instance,
    node: Option<&Node>,
    catalog: &RegionCatalog,
    now: Timestamp,
) -> NodeClaim {
    let phase = object.phase.max(phase_of(node));
    let mut claim = NodeClaim {
        version: ADOPTED_VERSION,
        phase,
        phase_since: now,
        batch_index: 0,
        batch_size: 1,
        instance: Some(launched(instance, catalog)),
        node: object.node.clone().or_else(|| node.map(|node| node.name.clone())),
        instance_types: std::sync::Arc::default(),
        retry: None,
        ..object.clone()
    };
    // The former writer of this condition does not write it any more: it is calculated from here on.
    claim.conditions.is_consolidatable = None;
    // It gets the tags of this ledger.
    claim.annotations.remove(labels::TAGGED);
    claim.annotations.extend(kept_name(instance));
    claim
}

/// That an instance with a name keeps it.
fn kept_name(instance: &Instance) -> Option<(String, String)> {
    instance.is_named.then(|| (labels::KEEPS_NAME.to_owned(), "true".to_owned()))
}

/// Written once, at its adoption.
const ADOPTED_VERSION: u64 = model::ledger::CREATED_VERSION + 1;

/// The claim that the tags of `instance` tell, if its NodePool is there.
fn of_tags(
    instance: &Instance,
    node: Option<&Node>,
    node_pools: &[NodePool],
    catalog: &RegionCatalog,
    now: Timestamp,
) -> Option<NodeClaim> {
    let pool_name: &NodePoolName = instance.node_pool.as_ref()?;
    let pool = node_pools.iter().find(|pool| pool.name == *pool_name)?;
    let node_class =
        instance.node_class.clone().unwrap_or_else(|| pool.template.node_class.clone());
    let name = instance.node_claim.clone().or_else(|| {
        let suffix = instance.id.as_str().trim_start_matches("i-");
        NodeClaimName::new(&format!("{pool_name}-{suffix}")).ok()
    })?;
    let batch = BatchId::new(name.as_str()).ok()?;
    let launched = launched(instance, catalog);
    let sold = catalog.instance_types.iter().find(|sold| sold.name == instance.instance_type);
    let mut labels: BTreeMap<String, String> =
        node.map(|node| node.labels.clone()).unwrap_or_default();
    for (key, value) in [
        (labels::NODE_POOL, pool_name.as_str()),
        (labels::NODE_CLASS, node_class.as_str()),
        (labels::INSTANCE_TYPE, instance.instance_type.as_str()),
        (labels::ZONE, instance.zone.as_str()),
        (labels::CAPACITY_TYPE, instance.capacity_type.as_str()),
    ] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    let claim =
        NodeClaim::created(name, pool_name.clone(), node_class, batch, instance.launched_at);
    Some(NodeClaim {
        version: ADOPTED_VERSION,
        labels,
        annotations: kept_name(instance).into_iter().collect(),
        taints: pool.template.taints.clone(),
        startup_taints: pool.template.startup_taints.clone(),
        expire_after: pool.template.expire_after,
        termination_grace_period: pool.template.termination_grace_period,
        capacity: sold.map(|sold| sold.capacity.clone()).unwrap_or_default(),
        allocatable: sold.map(|sold| sold.allocatable()).unwrap_or_default(),
        requested_at: Some(instance.launched_at),
        instance: Some(launched),
        phase: phase_of(node),
        phase_since: now,
        node: node.map(|node| node.name.clone()),
        ..claim
    })
}

/// How far a claim with an instance has come whose node is `node`. No function looks for a node that is
/// initialized: a claim that waited for it would be deleted for not joining.
fn phase_of(node: Option<&Node>) -> ClaimPhase {
    match node {
        Some(node) if node.is_initialized() => ClaimPhase::Initialized,
        Some(node) if node.is_registered() => ClaimPhase::Registered,
        Some(_) | None => ClaimPhase::Launched,
    }
}

fn launched(instance: &Instance, catalog: &RegionCatalog) -> LaunchedInstance {
    let key = OfferingKey {
        capacity_type: instance.capacity_type,
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
    };
    let sold = catalog.instance_types.iter().find(|sold| sold.name == key.instance_type);
    let offering = sold.and_then(|sold| sold.offering(&key));
    LaunchedInstance {
        id: instance.id.clone(),
        instance_type: key.instance_type,
        zone: key.zone,
        capacity_type: key.capacity_type,
        price: offering.map(|offering| offering.price).unwrap_or_default(),
        image: Some(instance.image.clone()),
        launched_at: instance.launched_at,
    }
}

/// Claims whose instances are not among `instances`, which were listed after the claims: EC2 does not know
/// them any more. One whose node is ready lives, and one whose node never joined is left to its deadline.
///
/// Karpenter: `pkg/controllers/nodeclaim/garbagecollection/controller.go`.
#[must_use]
pub fn without_instance<'c>(
    claims: impl IntoIterator<Item = &'c NodeClaim>,
    instances: &[Instance],
    nodes: &[Node],
    now: Timestamp,
) -> Vec<&'c NodeClaim> {
    let living = Living::of(instances, nodes);
    let is_lost = |claim: &&NodeClaim| {
        let joined = matches!(claim.phase, ClaimPhase::Registered | ClaimPhase::Initialized);
        joined && living.is_missing(claim, YOUNG, now)
    };
    claims.into_iter().filter(is_lost).collect()
}

/// NodeClaim objects that users made and that name an instance which EC2 does not list, so that none of them is ever
/// adopted: they have no claim in the ledger of `snapshot`, and their nodes are not ready. One whose node never joined
/// has as long as every claim has for that.
///
/// Karpenter: `pkg/controllers/nodeclaim/garbagecollection/controller.go`; `lifecycle/liveness.go`.
#[must_use]
pub fn users_without_instance<'p>(
    present: &Present<'p>,
    snapshot: &Snapshot,
    now: Timestamp,
) -> Vec<&'p NodeClaim> {
    let living = Living::of(present.instances, present.nodes);
    let unreadable = snapshot.unreadable.iter().filter_map(|item| item.claim.as_ref());
    let known: BTreeSet<&NodeClaimName> = snapshot.claims.keys().chain(unreadable).collect();
    let is_lost = |object: &&NodeClaim| {
        let age = match object.phase {
            ClaimPhase::Created => return false,
            ClaimPhase::Launched => REGISTRATION_TTL,
            ClaimPhase::Registered | ClaimPhase::Initialized | ClaimPhase::Deleting => YOUNG,
        };
        object.is_standalone()
            && !object.is_managed_here()
            && !known.contains(&object.name)
            && living.is_missing(object, age, now)
    };
    present.objects.iter().filter(is_lost).collect()
}

/// What of the cluster's instances is alive, as EC2 or a kubelet says.
struct Living<'p> {
    listed: BTreeSet<&'p InstanceId>,
    with_ready_node: BTreeSet<InstanceId>,
}

impl<'p> Living<'p> {
    fn of(instances: &'p [Instance], nodes: &[Node]) -> Self {
        let listed =
            instances.iter().filter(|instance| instance.state < InstanceState::ShuttingDown);
        let ready = nodes.iter().filter(|node| node.is_ready);
        let of_node = |node: &Node| node.provider_id.as_ref().and_then(ProviderId::instance);
        Self {
            listed: listed.map(|instance| &instance.id).collect(),
            with_ready_node: ready.filter_map(of_node).collect(),
        }
    }

    /// Whether the instance of `claim` is not alive, `age` after its launch or later.
    fn is_missing(&self, claim: &NodeClaim, age: SignedDuration, now: Timestamp) -> bool {
        claim.instance.as_ref().is_some_and(|instance| {
            !self.listed.contains(&instance.id)
                && !self.with_ready_node.contains(&instance.id)
                && age <= now.duration_since(instance.launched_at)
        })
    }
}

/// Nodes that are deleted and that our finalizer alone holds: no claim of the ledger is theirs, none is being
/// adopted, and no instance of the cluster lives behind them. Nothing else would ever remove our finalizer.
///
/// Karpenter: `pkg/controllers/node/termination/controller.go`, where a node needs no claim.
#[must_use]
pub fn left_behind<'n>(
    present: &Present<'n>,
    snapshot: &Snapshot,
    adopted: &[NodeClaim],
    now: Timestamp,
) -> Vec<&'n Node> {
    if !snapshot.unreadable.is_empty() {
        return Vec::new();
    }
    let claims = || snapshot.claims.values().chain(adopted);
    let instances = claims().filter_map(|claim| Some(&claim.instance.as_ref()?.id));
    let live =
        present.instances.iter().filter(|instance| instance.state < InstanceState::ShuttingDown);
    let live_instances: BTreeSet<&InstanceId> =
        instances.chain(live.map(|instance| &instance.id)).collect();
    let named: BTreeSet<_> = claims().filter_map(|claim| claim.node.as_ref()).collect();
    let is_kept = |node: &Node| {
        let instance = node.provider_id.as_ref().and_then(ProviderId::instance);
        instance.is_some_and(|instance| live_instances.contains(&instance))
            || named.contains(&node.name)
    };
    let is_left = |node: &&Node| {
        node.is_deleting
            && !node.is_ready
            && node.finalizers.contains(labels::TERMINATION_FINALIZER)
            && YOUNG <= now.duration_since(node.created_at)
            && !is_kept(node)
    };
    present.nodes.iter().filter(is_left).collect()
}
