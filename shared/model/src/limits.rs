//! Every maximum in one place. Reaching one is always visible: an error or a line in the plan.

pub mod requests;

use jiff::SignedDuration;

/// Claims that one commit may create.
pub const CLAIMS_PER_COMMIT_MAX: usize = 1_000;
/// Pods that the claims which one commit creates may be for. A DynamoDB transaction takes 4 MB, the key
/// of a pod has 317 bytes at most, and the record of the decision names each once more.
pub const PODS_PER_COMMIT_MAX: usize = 6_000;
/// Items of one DynamoDB transaction.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html>
pub const ITEMS_PER_COMMIT_MAX: usize = 100;
/// Pods that the new claims in one item may be for: no item is larger than DynamoDB allows.
pub const PODS_PER_ITEM_MAX: usize = 1_000;
/// Pods that the record of one decision names.
pub const PODS_PER_DECISION_MAX: usize = PODS_PER_ITEM_MAX;
/// Reasons that the record of one decision keeps.
pub const REJECTED_PER_DECISION_MAX: usize = 20;
/// Pods that one plan considers; the rest waits for the next.
pub const PODS_PER_PLAN_MAX: usize = 50_000;
/// How often one plan tries a pod, over all of its pods; what has no place then waits for the next.
pub const TRIES_PER_PLAN_MAX: usize = 1_000_000;
/// Nodes of one cluster, and its NodeClaims: as many as memory bears. A node with its 21 pods takes 44 KiB of
/// `provision` and `disrupt`, beside 30 MiB for none (docs/cost.md): 10,000 take 460 of their 512 MiB.
pub const NODES_PER_CLUSTER_MAX: usize = 10_000;
/// What helps against too many nodes.
pub const TOO_MANY_NODES_CURE: &str =
    "use fewer and larger nodes, or give some workloads a cluster of their own";
/// From this number of nodes on, logs and `doctor` warn that the maximum is near.
pub const NODES_PER_CLUSTER_NEAR: usize = NODES_PER_CLUSTER_MAX / 10 * 9;
/// Instance types of one plan.
pub const INSTANCE_TYPES_PER_PLAN_MAX: usize = 1_500;
/// Instance types a claim keeps, cheapest first. Karpenter: `MaxInstanceTypes`.
pub const INSTANCE_TYPES_PER_CLAIM_MAX: usize = 600;
/// Instance types sent to EC2 for one claim.
pub const INSTANCE_TYPES_PER_FLEET_MAX: usize = 60;
/// Claims launched by one CreateFleet request. An instant fleet answers when it has all of its instances, and one whose
/// answer is lost is read back for two minutes. Karpenter asks for 1,000 (`MaxItems` of `pkg/batcher/createfleet.go`).
pub const CLAIMS_PER_BATCH_MAX: usize = 100;
/// NodeClaim objects that one sweep brings up to date; the rest waits for the next.
pub const NODE_CLAIMS_PER_SWEEP_MAX: usize = 500;
/// Devices that one ResourceClaim may get. Kubernetes: `AllocationResultsMaxSize` of `resource.k8s.io/v1`.
pub const DEVICES_PER_CLAIM_MAX: usize = 32;
/// How often one search tries a device for a pod, over all instance types of a node. Karpenter searches for five
/// seconds instead (`allocateTimeout`), so its answer depends on the machine.
pub const DEVICE_TRIES_PER_SEARCH_MAX: usize = 100_000;
/// How long an offering without capacity is not used.
/// Karpenter: `UnavailableOfferingsTTL` of `pkg/cache/cache.go` of the AWS provider.
pub const UNAVAILABLE_FOR: SignedDuration = SignedDuration::from_mins(3);
/// Longest delay of an SQS message, in seconds.
pub const MESSAGE_DELAY_SECONDS_MAX: u32 = 900;
/// Bytes of one DynamoDB item.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;
/// Items that the facts of one pass may take in the table.
pub const FACTS_PARTS_MAX: usize = 32;
/// Bytes of EC2 user data before base64.
pub const USER_DATA_BYTES_MAX: usize = 16_384;
/// Pages that one listing may have in AWS; more is an error, never a shorter list.
pub const PAGES_PER_LISTING_MAX: usize = 1_000;

/// Pods, and nodes, whose annotations `doctor` reads.
pub const ANNOTATED_OBJECTS_READ_MAX: usize = 5_000;

/// CapacityBuffers whose status one look of `provision` writes at most; the next look writes others.
pub const BUFFER_STATUSES_PER_LOOK_MAX: usize = 500;

const _: () = assert!(PODS_PER_ITEM_MAX <= PODS_PER_COMMIT_MAX);
const _: () = assert!(CLAIMS_PER_BATCH_MAX <= CLAIMS_PER_COMMIT_MAX);
const _: () = assert!(INSTANCE_TYPES_PER_FLEET_MAX <= INSTANCE_TYPES_PER_CLAIM_MAX);
