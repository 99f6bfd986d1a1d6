//! How large calls of ports are in this world: what the table of costs multiplies by.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, Condition, Function, InstanceId, InstanceType, LaunchTemplateName, NodeClaim,
    NodeClaimName, NodeClassName, NodeName, NodePoolName, ObjectName,
    facts::Facts,
    image_alias,
    ledger::Decision,
    limits::{CLAIMS_PER_BATCH_MAX, requests},
    message::Delivery,
    node::NodePatch,
    node_class::{ImageTerm, NodeClassStatus, ReservationTerm, SecurityGroupTerm, SubnetTerm},
    node_pool::NodePoolStatus,
    wake::WakeFinding,
};
use ports::PodSelection;

use crate::{
    ledger::ClusterLedger,
    limits::{
        Load, claim_bytes, claim_units, created_bytes, decision_units, number, read_load,
        removal_units, write_units,
    },
    meter::{Bill, FixedCosts, Meter},
    world::World,
};

/// An item that is no larger than the smallest unit.
const SMALL_READ: Load = Load { items: 1, others: 0, read_units: 1, write_units: 0, bytes: 0 };
const SMALL_WRITE: Load = Load { items: 1, others: 0, read_units: 0, write_units: 1, bytes: 0 };
/// Bytes of the stored catalog of a whole region, compressed: an item holds it.
const CATALOG_BYTES: u64 = 96 << 10;
/// Bytes of an item that says that an offering is unavailable.
const OFFERING_BYTES: u64 = 120;
/// Packed bytes of facts beside their members, of each pod, node, claim and instance type, as the built-in story
/// has them (some 90 KB, most of them instance types), and of one item.
const FACTS_BYTES: u64 = 2 << 10;
const MEMBER_BYTES: u64 = 90;
const FACTS_PART_BYTES: u64 = 350_000;

/// How large a call of `operation` is that names nothing itself.
pub(crate) fn usual(world: &mut World, operation: &str) -> Load {
    let cluster = &world.cluster;
    match operation {
        "Cluster.nodes" => Load::items(cluster.nodes.len()),
        "Cluster.node_pools" | "NodePools.observed_pools" => Load::items(cluster.node_pools.len()),
        "Cluster.node_classes" | "NodeClasses.observed_classes" => {
            Load::items(cluster.node_classes.len())
        }
        "Cluster.node_overlays" | "AlphaStatuses.observed_overlays" => {
            Load::items(cluster.node_overlays.len())
        }
        "Cluster.devices" => Load {
            others: number(cluster.devices.claims.len()),
            ..Load::items(cluster.devices.slices.len())
        },
        "Nodes.resource_slices" => Load::items(cluster.devices.slices.len()),
        "Cluster.daemon_sets" => Load::items(cluster.daemon_sets.len()),
        "Cluster.surroundings" => Load {
            others: number(cluster.nodes.len()),
            ..Load::items(cluster.storage.claims.len())
        },
        "Cluster.pod_selectors" => Load {
            others: number(cluster.services.len()),
            ..Load::items(cluster.workloads_number())
        },
        "Cluster.volume_attachments" => Load::items(cluster.attachments.len()),
        "NodeClaims.synced" | "NodeClaims.objects" => Load::items(cluster.node_claims.len()),
        "Fleet.list" | "Fleet.of_batch" => Load::items(world.account.instances.len()),
        "Templates.list" => Load::items(world.account.templates.len()),
        "Profiles.list" => Load::items(world.account.profiles.len()),
        "Market.instance_types" | "Market.on_demand" => {
            Load::items(world.catalog.instance_types.len())
        }
        "Market.offered" => {
            let zones = |instance_type: &Arc<InstanceType>| -> usize {
                let offerings = instance_type.offerings.iter();
                offerings.map(|offering| &offering.zone).collect::<BTreeSet<_>>().len()
            };
            Load::items(world.catalog.instance_types.iter().map(zones).sum())
        }
        // Each type has a price in each zone for two products.
        "Market.spot" => {
            let sold = world.catalog.instance_types.iter();
            Load::items(sold.map(|instance_type| instance_type.offerings.len()).sum())
        }
        // Not a consistent read: half of the units.
        "Catalog.catalog" | "CatalogStore.stored" => {
            let load = read_load(CATALOG_BYTES);
            Load { read_units: load.read_units.div_ceil(2), ..load }
        }
        "CatalogStore.put" => Load { write_units: write_units(CATALOG_BYTES), ..Load::default() },
        "Ledger.snapshot" => snapshot(world),
        "Ledger.head" | "Ledger.pulse" | "Ledger.registrations" | "Ledger.validation" => SMALL_READ,
        "Ledger.open"
        | "Ledger.put_guard"
        | "Ledger.put_shifted_zones"
        | "Ledger.put_refusals"
        | "Ledger.put_registrations"
        | "Ledger.write_pulse"
        | "Ledger.measure"
        | "Ledger.put_validation" => SMALL_WRITE,
        _ => Load::items(1),
    }
}

/// Head, claims, unavailable offerings and measured memory of the simulated cluster.
fn snapshot(world: &mut World) -> Load {
    let name = world.settings.cluster.clone();
    let offerings = number(world.ledger.unavailable_count()) * OFFERING_BYTES;
    let claims = world.ledger.cluster(&name).claims.values();
    let bytes = claims.map(|claim| match claim.phase {
        ClaimPhase::Created => created_bytes(claim),
        _ => claim_bytes(claim),
    });
    let claims: u64 = bytes.sum();
    let load = read_load(claims + offerings);
    // Six queries and the head: each answer is rounded up.
    Load { read_units: load.read_units + 6, ..load }
}

impl World {
    /// The bill for a month of what `used` counted in `elapsed`.
    pub(crate) fn bill(&mut self, used: &Meter, elapsed: SignedDuration) -> Bill {
        let table_bytes = snapshot(self).bytes + CATALOG_BYTES;
        let fixed = FixedCosts { alarms: 0, table_bytes };
        Bill::of(used, &self.settings.limits.functions, fixed, elapsed)
    }
}

/// Claims that are written in `ledger`: those that leave their batch, and those of their own.
pub(crate) fn claims(claims: &[NodeClaim], ledger: &ClusterLedger) -> Load {
    let leaving = claims.iter().filter(|claim| claim.instance.is_none()).count();
    let units: u64 = claims.iter().map(|claim| claim_units(claim, ledger)).sum();
    Load {
        others: number(leaving),
        read_units: u64::from(leaving > 0),
        // A transaction takes twice as much, and what is left of the batch is written again.
        write_units: if leaving > 0 {
            units * 2 + number(leaving.div_ceil(requests::CLAIMS_LEAVING_MAX.into()))
        } else {
            units
        },
        ..Load::items(claims.len() - leaving)
    }
}

/// Offerings that are marked unavailable, each in an item of its own.
pub(crate) fn marks(offerings: usize) -> Load {
    Load { write_units: number(offerings), ..Load::items(offerings) }
}

/// Decisions that no commit makes real, each in an item of its own.
pub(crate) fn decisions(decisions: &[Decision]) -> Load {
    let write_units = decisions.iter().map(decision_units).sum();
    Load { write_units, ..Load::items(decisions.len()) }
}

/// What decisions were made on. How much room it takes is an estimate: nothing is packed here.
pub(crate) fn facts(facts: &Facts) -> Load {
    let types = facts.ready_classes().map(|(_, types)| types.len()).max().unwrap_or_default();
    let members = facts.pods.len() + facts.nodes.len() + facts.ledger.claims.len() + types;
    let bytes = FACTS_BYTES + number(members) * MEMBER_BYTES;
    let parts = bytes.div_ceil(FACTS_PART_BYTES);
    let items = usize::try_from(parts).unwrap_or(usize::MAX);
    Load { write_units: bytes.div_ceil(1 << 10), ..Load::items(items) }
}

/// A claim that is written in its own item in `ledger`.
pub(crate) fn claim(claim: &NodeClaim, ledger: &ClusterLedger) -> Load {
    Load { write_units: claim_units(claim, ledger), ..Load::items(1) }
}

/// A claim whose own item is removed.
pub(crate) fn removal(claim: &NodeClaim) -> Load {
    Load { write_units: removal_units(claim), ..Load::items(1) }
}

/// Instances that are named one by one.
pub(crate) fn instances(instances: &[InstanceId]) -> Load {
    Load::items(instances.len())
}

/// Nodes that are not initialized.
pub(crate) fn uninitialized(world: &World) -> Load {
    let nodes = world.cluster.nodes.values();
    Load::items(nodes.filter(|entry| !entry.node.is_initialized()).count())
}

/// Instances that are looked up in the index, and the claims of those that have one.
pub(crate) fn claims_of(world: &World, instances: &[InstanceId]) -> Load {
    let claims = instances.iter().filter_map(|id| world.ledger.claim_of(id));
    let (found, bytes) =
        claims.fold((0, 0), |(found, bytes), claim| (found + 1, bytes + claim_bytes(claim)));
    let read_units = number(instances.len()) + read_load(bytes).read_units;
    Load { others: found, read_units, ..Load::items(instances.len()) }
}

/// A batch's instances.
pub(crate) fn batch() -> Load {
    Load::items(CLAIMS_PER_BATCH_MAX)
}

/// Pods that are listed.
pub(crate) fn pods(world: &World, selection: &PodSelection) -> Load {
    Load::items(world.cluster.selected(selection).count())
}

/// Whether the object of a claim has to be made, and whether its text changes.
pub(crate) fn sync(world: &World, claim: &NodeClaim) -> Load {
    let object = world.cluster.node_claims.get(&claim.name);
    let is_missing = object.is_none() && !claim.is_deleting();
    let is_older = object.is_some_and(|object| {
        let shown = object.claim.as_ref();
        shown.is_some_and(|shown| shown.version < claim.version)
            || claim.is_deleting() && !object.is_deleting
    });
    Load { others: u64::from(is_missing || is_older), ..Load::items(usize::from(is_missing)) }
}

/// Whether a node changes.
pub(crate) fn patch(world: &World, node: &NodeName, patch: &NodePatch) -> Load {
    let entry = world.cluster.nodes.get(node);
    Load::items(usize::from(entry.is_some_and(|entry| !patch.is_satisfied_by(&entry.node))))
}

/// Whether the status of a class changes.
pub(crate) fn class_status(world: &World, name: &NodeClassName, status: &NodeClassStatus) -> Load {
    let told = world.cluster.class_statuses.get(name).map(|told| &told.status);
    let is_same = told
        .is_some_and(|told| *told == NodeClassStatus { found_at: told.found_at, ..status.clone() });
    Load::items(usize::from(!is_same))
}

/// Whether the status of a pool changes: that it was found again to be as it was is not written.
pub(crate) fn pool_status(world: &World, name: &NodePoolName, status: &NodePoolStatus) -> Load {
    let is_same = world.cluster.pool_statuses.get(name).is_some_and(|stored| {
        *stored == NodePoolStatus { found_at: stored.found_at, ..status.clone() }
    });
    let wake = wake_condition(world, name, &status.wake, status.found_at);
    if is_same { wake } else { Load::items(1) }
}

/// Whether the condition `WakeHealthy` of a pool changes.
pub(crate) fn wake_condition(
    world: &World,
    name: &NodePoolName,
    finding: &WakeFinding,
    now: Timestamp,
) -> Load {
    let record = world.cluster.pool_records.get(name);
    Load::items(usize::from(record.is_some_and(|record| record.is_changed_by(finding, now))))
}

/// Whether the status of an overlay changes.
pub(crate) fn overlay_status(world: &World, name: &ObjectName, validation: &Condition) -> Load {
    let record = world.cluster.overlay_records.get(name);
    let is_same = record.is_some_and(|record| {
        record.conditions.iter().any(|stored| stored.condition() == *validation)
    });
    Load::items(usize::from(!is_same))
}

/// Whether the object of a claim is there.
pub(crate) fn object(world: &World, claim: &NodeClaimName) -> Load {
    Load::items(usize::from(world.cluster.node_claims.contains_key(claim)))
}

/// Whether a launch template has to be made.
pub(crate) fn missing_template(world: &World, name: &LaunchTemplateName) -> Load {
    Load::items(usize::from(!world.account.templates.contains_key(name)))
}

/// Whether an instance profile has to be made.
pub(crate) fn missing_profile(world: &World, name: &str) -> Load {
    Load::items(usize::from(!world.account.profiles.contains_key(name)))
}

/// Queries of which those for `shared` values, ids or names, are one, and others one each.
fn queries<T>(terms: &[T], shared: impl Fn(&T) -> bool) -> usize {
    let is_shared = usize::from(terms.iter().any(&shared));
    is_shared + terms.iter().filter(|term| !shared(term)).count()
}

/// Queries that `terms` take.
pub(crate) fn subnets(terms: &[SubnetTerm]) -> Load {
    Load::items(queries(terms, |term| matches!(term, SubnetTerm::Id(_))))
}

/// Queries that `terms` take: ids share one, and names another one.
pub(crate) fn security_groups(terms: &[SecurityGroupTerm]) -> Load {
    let (names, others): (Vec<&SecurityGroupTerm>, Vec<&SecurityGroupTerm>) =
        terms.iter().partition(|term| matches!(term, SecurityGroupTerm::Name(_)));
    let is_id = |term: &&SecurityGroupTerm| matches!(term, SecurityGroupTerm::Id(_));
    Load::items(usize::from(!names.is_empty()) + queries(&others, is_id))
}

/// Queries that `terms` take.
pub(crate) fn reservations(terms: &[ReservationTerm]) -> Load {
    Load::items(queries(terms, |term| matches!(term, ReservationTerm::Id(_))))
}

/// SSM parameters that `terms` name.
pub(crate) fn parameters(terms: &[ImageTerm]) -> Vec<&str> {
    let named = terms.iter().filter_map(|term| match term {
        ImageTerm::SsmParameter(name) => Some(name.as_str()),
        ImageTerm::Alias { .. } | ImageTerm::Id(_) | ImageTerm::Search { .. } => None,
    });
    named.collect()
}

/// SSM parameters and queries that `terms` take.
pub(crate) fn images(terms: &[ImageTerm], kubernetes_version: &str) -> Load {
    let parameters = terms.iter().map(|term| match term {
        ImageTerm::Alias { family, version } => {
            image_alias::parameters(*family, version, kubernetes_version)
                .map_or(0, |list| list.len())
        }
        ImageTerm::SsmParameter(_) => 1,
        ImageTerm::Id(_) | ImageTerm::Search { .. } => 0,
    });
    let is_by_id = |term: &ImageTerm| matches!(term, ImageTerm::Id(_) | ImageTerm::SsmParameter(_));
    Load { others: number(parameters.sum()), ..Load::items(queries(terms, is_by_id)) }
}

/// Messages by queue: those of one queue share requests.
pub(crate) fn messages(deliveries: &[Delivery]) -> Load {
    let mut by_queue: BTreeMap<Function, usize> = BTreeMap::new();
    for delivery in deliveries {
        *by_queue.entry(delivery.message.function()).or_default() += 1;
    }
    let batch = usize::from(requests::MESSAGES_PER_REQUEST_MAX);
    // The table divides by the size of a batch: whole batches for each queue that is begun.
    Load::items(by_queue.values().map(|count| count.div_ceil(batch) * batch).sum())
}
