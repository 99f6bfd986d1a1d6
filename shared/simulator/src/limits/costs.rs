//! What one call of a port costs over the wire: the one table that buckets and the meter share.
//!
//! `shared/aws/tests` compare its rows of EC2, IAM, SSM, EKS and the ledger with what the adapters send to a simulated
//! account and to a DynamoDB engine. Those of the cluster and of the queues are read off the adapters.

use jiff::SignedDuration;
use model::limits::requests;

use super::{ApiAction, ApiService, load::Load};

/// How many requests a row makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    /// This many.
    Call(u64),
    /// One for each page of this number of items, at least one.
    Page(u16),
    /// One for this number of items, none for none.
    Chunk(u16),
    /// One for each item, this number of them at the same time.
    Each(u16),
    /// One for this number of the other amount, at least one.
    OtherPage(u16),
    /// One for this number of the other amount, none for none.
    OtherChunk(u16),
    /// One for each megabyte that is read, at least one.
    Megabyte,
}

/// Requests to one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// The action.
    pub action: ApiAction,
    /// How many requests.
    pub count: u64,
    /// Objects of the API server that a list brings, or instances that EC2 launches.
    pub(crate) objects: u64,
    /// How many of them are sent at the same time.
    pub(crate) at_once: u64,
}

type Row = (ApiAction, Per);

/// One port call.
#[derive(Debug)]
pub struct Cost {
    /// Port and method, such as `Ledger.commit`.
    pub operation: &'static str,
    rows: &'static [Row],
    /// Actions whose answers a process keeps, and for how long it does not ask again.
    kept: &'static [(&'static str, SignedDuration)],
    /// Whether the adapter sends it once, whatever is answered.
    is_sent_once: bool,
    /// Whether the adapter sends the rows side by side: the longest of them is waited for.
    is_abreast: bool,
}

const fn cost(operation: &'static str, rows: &'static [Row]) -> Cost {
    Cost { operation, rows, kept: &[], is_sent_once: false, is_abreast: false }
}

const fn abreast(operation: &'static str, rows: &'static [Row]) -> Cost {
    Cost { is_abreast: true, ..cost(operation, rows) }
}

const fn kept(
    actions: &'static [(&'static str, SignedDuration)],
    operation: &'static str,
    rows: &'static [Row],
) -> Cost {
    Cost { kept: actions, ..cost(operation, rows) }
}

const fn tried(operation: &'static str, rows: &'static [Row]) -> Cost {
    Cost { is_sent_once: true, ..cost(operation, rows) }
}

const fn ec2(name: &'static str, per: Per) -> Row {
    (ApiAction::ec2(name), per)
}

const fn table(name: &'static str, per: Per) -> Row {
    (ApiAction::dynamodb(name), per)
}

const CLUSTER: Row = (ApiAction { service: ApiService::Eks, name: "DescribeCluster" }, ONCE);
const LOOKED_AT: &[(&str, SignedDuration)] = &[("DescribeCluster", requests::LOOK_KEPT_FOR)];
const ENTRY: Row = (ApiAction { service: ApiService::Eks, name: "DescribeAccessEntry" }, ONCE);
const GROUPS: Row = ec2("DescribeSecurityGroups", ONCE);

const fn iam(name: &'static str, per: Per) -> Row {
    (ApiAction::iam(name), per)
}

const fn cluster(name: &'static str, per: Per) -> Row {
    (ApiAction::kubernetes(name), per)
}

const ONCE: Per = Per::Call(1);
/// One request for each page of a list.
const PAGE: Per = Per::Page(requests::OBJECTS_PER_PAGE);
const GET_OVERLAY: Row = cluster("get nodeoverlays", ONCE);
const OVERLAY_TOLD: &[Row] = &[GET_OVERLAY, cluster("patch nodeoverlays", Per::Chunk(1))];
const GET_BUFFER: Row = cluster("get capacitybuffers", ONCE);
const GET_POOL: Row = cluster("get nodepools", ONCE);
const POOL_TOLD: &[Row] = &[GET_POOL, cluster("patch nodepools", Per::Chunk(1))];
const BUFFER_TOLD: &[Row] = &[GET_BUFFER, cluster("patch capacitybuffers", Per::Chunk(1))];

/// Every call of every port.
pub const COSTS: &[Cost] = &[
    // ------------------------------------------------------------------ the cluster, to read
    cost("Cluster.nodes", &[cluster("list nodes", PAGE)]),
    cost("Cluster.node_pools", &[cluster("list nodepools", PAGE)]),
    cost("Cluster.node_classes", &[cluster("list ec2nodeclasses", PAGE)]),
    cost("Cluster.node_overlays", &[cluster("list nodeoverlays", PAGE)]),
    cost("Cluster.daemon_sets", &[cluster("list daemonsets", PAGE)]),
    // Items are volume claims, others nodes.
    abreast(
        "Cluster.surroundings",
        &[
            cluster("list namespaces", ONCE),
            cluster("list storageclasses", ONCE),
            cluster("list persistentvolumeclaims", PAGE),
            cluster("list persistentvolumes", PAGE),
            cluster("list csinodes", Per::OtherPage(requests::OBJECTS_PER_PAGE)),
            cluster("list poddisruptionbudgets", ONCE),
        ],
    ),
    // Items are slices, others claims. Classes are listed beside both.
    cost(
        "Cluster.devices",
        &[
            cluster("list deviceclasses", ONCE),
            cluster("list resourceslices", PAGE),
            cluster("list resourceclaims", Per::OtherPage(requests::OBJECTS_PER_PAGE)),
        ],
    ),
    // Items are workloads, others Services.
    abreast(
        "Cluster.pod_selectors",
        &[
            cluster("list services", Per::OtherPage(requests::OBJECTS_PER_PAGE)),
            cluster("list replicationcontrollers", ONCE),
            cluster("list replicasets", PAGE),
            cluster("list statefulsets", PAGE),
        ],
    ),
    cost("Cluster.pods", &[cluster("list pods", PAGE)]),
    cost("Cluster.volume_attachments", &[cluster("list volumeattachments", PAGE)]),
    cost("Cluster.volume_claim", &[cluster("get persistentvolumeclaims", ONCE)]),
    cost("NodeClasses.observed_classes", &[cluster("list ec2nodeclasses", PAGE)]),
    // Items are objects that change.
    cost(
        "NodeClasses.update_class_status",
        &[cluster("get ec2nodeclasses", ONCE), cluster("patch ec2nodeclasses", Per::Chunk(1))],
    ),
    cost("AlphaStatuses.observed_overlays", &[cluster("list nodeoverlays", PAGE)]),
    cost("AlphaStatuses.update_overlay_status", OVERLAY_TOLD),
    cost("AlphaStatuses.update_buffer_status", BUFFER_TOLD),
    cost("NodePools.observed_pools", &[cluster("list nodepools", PAGE)]),
    cost("NodePools.update_pool_status", POOL_TOLD),
    cost("NodePools.update_wake_condition", POOL_TOLD),
    cost("NodePools.probe_wake", &[cluster("create events", ONCE)]),
    cost("NodeClaims.synced", &[cluster("list nodeclaims", PAGE)]),
    // Items are objects that have to be made first, others those that change.
    cost(
        "NodeClaims.sync",
        &[
            cluster("get nodeclaims", ONCE),
            cluster("get nodepools", Per::Chunk(1)),
            cluster("patch nodeclaims", Per::Chunk(1)),
            cluster("patch nodeclaims", Per::OtherChunk(1)),
        ],
    ),
    // Items are objects that are there.
    cost(
        "NodeClaims.remove",
        &[
            cluster("get nodeclaims", ONCE),
            cluster("delete nodeclaims", Per::Chunk(1)),
            cluster("get nodeclaims", Per::Chunk(1)),
            cluster("patch nodeclaims", Per::Chunk(1)),
        ],
    ),
    // ------------------------------------------------------------------ one node
    // Items are the nodes that are read until it is found.
    // Leases and pods of Karpenter in all namespaces, and our lease.
    cost(
        "Leases.leases",
        &[cluster("list leases", ONCE), cluster("list pods", ONCE), cluster("get leases", ONCE)],
    ),
    cost("Leases.hold", &[cluster("patch leases", ONCE)]),
    cost("Webhooks.of_wake", &[cluster("get validatingwebhookconfigurations", ONCE)]),
    cost("Webhooks.set_urls", &[cluster("patch validatingwebhookconfigurations", ONCE)]),
    cost("NodeClaims.objects", &[cluster("list nodeclaims", PAGE)]),
    cost("NodeClaims.take_over", &[cluster("patch nodeclaims", ONCE)]),
    // Items are objects whose uid is asked for.
    cost(
        "Events.publish",
        &[cluster("get metadata", Per::Chunk(1)), cluster("create events", ONCE)],
    ),
    cost("Nodes.node", &[cluster("get nodes", ONCE)]),
    cost("Nodes.uninitialized", &[cluster("list nodes", PAGE)]),
    cost("Nodes.resource_slices", &[cluster("list resourceslices", PAGE)]),
    cost("Nodes.pods_on", &[cluster("list pods", PAGE)]),
    // Items are nodes that change.
    cost("Nodes.patch", &[cluster("get nodes", ONCE), cluster("patch nodes", Per::Chunk(1))]),
    cost("Nodes.evict", &[cluster("create pods/eviction", ONCE)]),
    cost("Nodes.set_deletion_cost", &[cluster("patch pods", ONCE)]),
    cost("Nodes.delete", &[cluster("get nodes", ONCE), cluster("delete nodes", ONCE)]),
    // ------------------------------------------------------------------ EC2, SSM, IAM, EKS
    cost("Fleet.launch", &[ec2("CreateFleet", ONCE)]),
    tried("Fleet.dry_run", &[ec2("CreateFleet", ONCE)]),
    tried("Fleet.dry_run_instance", &[ec2("RunInstances", ONCE)]),
    cost("Fleet.describe", &[ec2("DescribeInstances", Per::Chunk(requests::FILTER_VALUES_MAX))]),
    cost("Fleet.of_batch", &[ec2("DescribeInstances", Per::Page(requests::ENTRIES_PER_PAGE))]),
    cost("Fleet.list", &[ec2("DescribeInstances", Per::Page(requests::ENTRIES_PER_PAGE))]),
    // Of instances whose checks fail, of failing hosts, of scheduled events: a page holds a thousand.
    abreast(
        "Fleet.impaired",
        &[
            ec2("DescribeInstanceStatus", ONCE),
            ec2("DescribeInstanceStatus", ONCE),
            ec2("DescribeInstanceStatus", ONCE),
        ],
    ),
    cost("Forensics.console", &[ec2("GetConsoleOutput", ONCE)]),
    cost("Forensics.checks", &[ec2("DescribeInstanceStatus", ONCE)]),
    cost("Forensics.instance", &[ec2("DescribeInstances", ONCE)]),
    kept(LOOKED_AT, "Forensics.access", &[iam("GetInstanceProfile", ONCE), CLUSTER, ENTRY]),
    kept(LOOKED_AT, "Forensics.network", &[CLUSTER, ec2("DescribeRouteTables", ONCE), GROUPS]),
    cost("Forensics.image", &[ec2("DescribeImages", ONCE)]),
    cost("Fleet.tag", &[ec2("CreateTags", ONCE)]),
    cost("Fleet.reboot", &[ec2("RebootInstances", ONCE)]),
    cost(
        "Fleet.terminate",
        &[ec2("TerminateInstances", Per::Chunk(requests::TERMINATIONS_PER_REQUEST_MAX))],
    ),
    // Items are templates that have to be made.
    cost(
        "Templates.ensure",
        &[ec2("DescribeLaunchTemplates", ONCE), ec2("CreateLaunchTemplate", Per::Chunk(1))],
    ),
    tried("Templates.dry_run", &[ec2("CreateLaunchTemplate", ONCE)]),
    cost(
        "Templates.list",
        &[ec2("DescribeLaunchTemplates", Per::Page(requests::TEMPLATES_PER_PAGE))],
    ),
    cost("Templates.remove", &[ec2("DeleteLaunchTemplate", ONCE)]),
    // Items are profiles that have to be made.
    kept(
        &[
            ("GetInstanceProfile", requests::PROFILE_KEPT_FOR),
            ("CreateInstanceProfile", requests::PROFILE_KEPT_FOR),
            ("AddRoleToInstanceProfile", requests::PROFILE_KEPT_FOR),
        ],
        "Profiles.ensure",
        &[
            iam("GetInstanceProfile", ONCE),
            iam("CreateInstanceProfile", Per::Chunk(1)),
            iam("AddRoleToInstanceProfile", Per::Chunk(1)),
        ],
    ),
    cost("Profiles.list", &[iam("ListInstanceProfiles", Per::Page(requests::PROFILES_PER_PAGE))]),
    cost(
        "Profiles.remove",
        &[
            iam("GetInstanceProfile", ONCE),
            iam("RemoveRoleFromInstanceProfile", ONCE),
            iam("DeleteInstanceProfile", ONCE),
        ],
    ),
    // Items are queries: ids share one, each set of tags has one of its own.
    kept(
        &[("DescribeSubnets", requests::SUBNETS_KEPT_FOR)],
        "Discovery.subnets",
        &[ec2("DescribeSubnets", Per::Chunk(1))],
    ),
    cost("Discovery.free_addresses", &[ec2("DescribeSubnets", Per::Chunk(1))]),
    kept(
        &[("DescribeSecurityGroups", requests::SELECTED_KEPT_FOR)],
        "Discovery.security_groups",
        &[ec2("DescribeSecurityGroups", Per::Chunk(1))],
    ),
    cost("Discovery.reservations", &[ec2("DescribeCapacityReservations", Per::Page(1))]),
    cost("Discovery.placement_group", &[ec2("DescribePlacementGroups", ONCE)]),
    // Items are queries, others SSM parameters.
    kept(
        &[
            ("GetParameter", requests::PUBLISHED_KEPT_FOR),
            ("DescribeImages", requests::SELECTED_KEPT_FOR),
        ],
        "Discovery.images",
        &[
            (ApiAction { service: ApiService::Ssm, name: "GetParameter" }, Per::OtherChunk(1)),
            ec2("DescribeImages", Per::Chunk(1)),
        ],
    ),
    cost("Discovery.launch_template", &[ec2("DescribeLaunchTemplateVersions", ONCE)]),
    kept(
        &[("DescribeCluster", requests::CLUSTER_KEPT_FOR)],
        "Discovery.cluster_settings",
        &[(ApiAction { service: ApiService::Eks, name: "DescribeCluster" }, ONCE)],
    ),
    // EKS says the cluster's ARN.
    kept(
        &[("DescribeCluster", requests::CLUSTER_KEPT_FOR)],
        "Discovery.zonal_shifts",
        &[
            (ApiAction { service: ApiService::Eks, name: "DescribeCluster" }, ONCE),
            (ApiAction { service: ApiService::ArcZonalShift, name: "GetManagedResource" }, ONCE),
        ],
    ),
    // ------------------------------------------------------------------ the catalog
    kept(&[("GetItem", requests::CATALOG_KEPT_FOR)], "Catalog.catalog", &[table("GetItem", ONCE)]),
    cost("CatalogStore.stored", &[table("GetItem", ONCE)]),
    cost("CatalogStore.put", &[table("PutItem", ONCE)]),
    cost(
        "Market.instance_types",
        &[ec2("DescribeInstanceTypes", Per::Page(requests::TYPES_PER_PAGE))],
    ),
    cost("Market.zones", &[ec2("DescribeAvailabilityZones", ONCE)]),
    cost(
        "Market.offered",
        &[ec2("DescribeInstanceTypeOfferings", Per::Page(requests::ENTRIES_PER_PAGE))],
    ),
    cost(
        "Market.on_demand",
        &[(
            ApiAction { service: ApiService::Pricing, name: "GetProducts" },
            Per::Page(requests::PRICES_PER_PAGE),
        )],
    ),
    cost("Market.spot", &[ec2("DescribeSpotPriceHistory", Per::Page(requests::ENTRIES_PER_PAGE))]),
    // ------------------------------------------------------------------ the ledger
    // Head, claims of batches, claims, unavailable offerings, measured memory, commands, refusals.
    abreast(
        "Ledger.snapshot",
        &[
            table("GetItem", ONCE),
            table("Query", Per::Megabyte),
            table("Query", ONCE),
            table("Query", ONCE),
            table("Query", ONCE),
            table("Query", ONCE),
            table("Query", ONCE),
        ],
    ),
    // Others are offerings that are marked. The counters after it are read.
    cost(
        "Ledger.commit",
        &[
            table("Query", Per::OtherChunk(1_000)),
            table("TransactWriteItems", ONCE),
            table("GetItem", ONCE),
        ],
    ),
    cost(
        "Ledger.claims_of_instances",
        &[
            table("Query", Per::Each(requests::ITEMS_AT_ONCE)),
            table("BatchGetItem", Per::OtherChunk(requests::KEYS_PER_GET_MAX)),
        ],
    ),
    cost("Ledger.write_claim", &[table("UpdateItem", ONCE)]),
    // Items are claims of their own, others claims that leave their batch.
    cost(
        "Ledger.write_claims",
        &[
            table("Query", Per::OtherChunk(1_000)),
            table("TransactWriteItems", Per::OtherChunk(requests::CLAIMS_LEAVING_MAX)),
            table("UpdateItem", Per::Each(requests::ITEMS_AT_ONCE)),
        ],
    ),
    cost("Ledger.remove_claim", &[table("DeleteItem", ONCE)]),
    // The same, and the head's counter of departures.
    cost(
        "Ledger.withdraw_claims",
        &[
            table("Query", Per::OtherChunk(1_000)),
            table("TransactWriteItems", Per::OtherChunk(requests::CLAIMS_LEAVING_MAX)),
            table("DeleteItem", Per::Each(requests::ITEMS_AT_ONCE)),
            table("UpdateItem", ONCE),
        ],
    ),
    cost("Ledger.mark_unavailable", &[table("PutItem", Per::Each(requests::ITEMS_AT_ONCE))]),
    cost("Ledger.measure", &[table("PutItem", ONCE)]),
    cost("Ledger.head", &[table("GetItem", ONCE)]),
    cost("Ledger.open", &[table("UpdateItem", ONCE)]),
    cost("Ledger.put_guard", &[table("UpdateItem", ONCE)]),
    cost("Ledger.put_shifted_zones", &[table("UpdateItem", ONCE)]),
    cost("Ledger.put_refusals", &[table("PutItem", ONCE)]),
    // One query for all pools.
    cost("Ledger.registrations", &[table("Query", ONCE)]),
    cost("Ledger.put_registrations", &[table("PutItem", ONCE)]),
    cost("Ledger.pulse", &[table("GetItem", ONCE)]),
    cost("Ledger.write_pulse", &[table("PutItem", ONCE)]),
    cost("Ledger.validation", &[table("GetItem", ONCE)]),
    cost("Ledger.put_decisions", &[table("PutItem", Per::Each(requests::ITEMS_AT_ONCE))]),
    cost("Ledger.put_facts", &[table("PutItem", Per::Each(requests::LARGE_ITEMS_AT_ONCE))]),
    cost("Ledger.put_validation", &[table("PutItem", ONCE)]),
    // ------------------------------------------------------------------ queues
    cost("Mailbox.call", &[(ApiAction { service: ApiService::Lambda, name: "Invoke" }, ONCE)]),
    // Items are messages of one function's queue.
    cost(
        "Mailbox.send",
        &[(
            ApiAction { service: ApiService::Sqs, name: "SendMessageBatch" },
            Per::Chunk(requests::MESSAGES_PER_REQUEST_MAX),
        )],
    ),
];

/// What a call of `operation` sends.
#[derive(Debug)]
pub struct Sent {
    /// The requests, in the order in which they are sent.
    pub requests: Vec<Requests>,
    pub(crate) kept: &'static [(&'static str, SignedDuration)],
    pub(crate) is_sent_once: bool,
    pub(crate) is_abreast: bool,
    /// Whether the request itself came from outside, and takes the time that it takes there.
    pub(crate) is_over_the_wire: bool,
}

/// The action that a call of the account's own API is: `operation` is its name alone, as a server in
/// front of the account has it. `None` for the calls of ports.
///
/// Its sender is outside: it is not repeated here, and its time is the network's.
fn over_the_wire(operation: &'static str) -> Option<Sent> {
    if operation.contains('.') {
        return None;
    }
    let action = match operation {
        "GetParameter" | "GetParameters" => ApiAction { service: ApiService::Ssm, name: operation },
        "GetProducts" => ApiAction { service: ApiService::Pricing, name: operation },
        "DescribeCluster" | "DescribeAccessEntry" => {
            ApiAction { service: ApiService::Eks, name: operation }
        }
        "GetManagedResource" => ApiAction { service: ApiService::ArcZonalShift, name: operation },
        name if name.contains("InstanceProfile") => ApiAction::iam(operation),
        _ => ApiAction::ec2(operation),
    };
    Some(Sent {
        requests: vec![Requests { action, count: 1, objects: 0, at_once: 1 }],
        kept: &[],
        is_sent_once: true,
        is_abreast: false,
        is_over_the_wire: true,
    })
}

/// What a call of `operation` sends, or `None` when the table has no row for it.
pub fn sent(operation: &'static str, load: &Load) -> Option<Sent> {
    let Some(cost) = COSTS.iter().find(|cost| cost.operation == operation) else {
        return over_the_wire(operation);
    };
    let requests = cost.rows.iter().map(|(action, per)| Requests {
        action: *action,
        count: match *per {
            Per::Call(count) => count,
            Per::Page(size) => load.items.div_ceil(size.into()).max(1),
            Per::Chunk(size) => load.items.div_ceil(size.into()),
            Per::Each(_) => load.items,
            Per::OtherPage(size) => load.others.div_ceil(size.into()).max(1),
            Per::OtherChunk(size) => load.others.div_ceil(size.into()),
            Per::Megabyte => load.bytes.div_ceil(1 << 20).max(1),
        },
        objects: match (action.service, *per) {
            (ApiService::Kubernetes, Per::Page(_)) => load.items,
            (ApiService::Kubernetes, Per::OtherPage(_)) => load.others,
            _ if *action == ApiAction::ec2("CreateFleet") => load.items,
            _ => 0,
        },
        at_once: match *per {
            Per::Each(at_once) => at_once.into(),
            _ => 1,
        },
    });
    Some(Sent {
        requests: requests.filter(|requests| requests.count > 0).collect(),
        kept: cost.kept,
        is_sent_once: cost.is_sent_once,
        is_abreast: cost.is_abreast,
        is_over_the_wire: false,
    })
}

/// The API actions that a call of `operation` may make, for tests and documents; empty when the table
/// has no row for it.
pub fn actions_of(operation: &str) -> Vec<ApiAction> {
    let rows = COSTS.iter().find(|cost| cost.operation == operation).map(|cost| cost.rows);
    let mut actions: Vec<ApiAction> =
        rows.unwrap_or_default().iter().map(|(action, _)| *action).collect();
    actions.sort();
    actions.dedup();
    actions
}
