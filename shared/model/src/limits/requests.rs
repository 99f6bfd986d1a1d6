//! How many requests the calls of ports come to: pages, batches, and for how long a process keeps an answer.
//!
//! Adapters send by these numbers, and the simulated account counts by them.

use jiff::SignedDuration;

/// Objects on one page of a list of the API server, which is client-go's own size.
pub const OBJECTS_PER_PAGE: u16 = 500;
/// Instances, their checks, spot prices, offered types and reservations on one page, as many as EC2 allows.
pub const ENTRIES_PER_PAGE: u16 = 1_000;
/// Subnets and security groups on one page.
pub const NETWORKS_PER_PAGE: u16 = 500;
/// Launch templates on one page, as many as EC2 allows.
pub const TEMPLATES_PER_PAGE: u16 = 200;
/// Described instance types on one page, as many as EC2 allows.
pub const TYPES_PER_PAGE: u16 = 100;
/// On-demand prices on one page, as many as the Price List API allows.
pub const PRICES_PER_PAGE: u16 = 100;
/// Instance profiles on one page, which is IAM's own size.
/// <https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListInstanceProfiles.html>
pub const PROFILES_PER_PAGE: u16 = 100;

/// Values of one EC2 filter.
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html>
pub const FILTER_VALUES_MAX: u16 = 200;
/// Instances of one TerminateInstances; EC2 advises against more than a thousand.
/// <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html>
pub const TERMINATIONS_PER_REQUEST_MAX: u16 = 500;
/// Keys of one BatchGetItem.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html>
pub const KEYS_PER_GET_MAX: u16 = 100;
/// NodeClaims that leave the item of their batch in one transaction. That item is one more, of at most 100.
pub const CLAIMS_LEAVING_MAX: u16 = 90;
/// Items that are written, or looked up in the index, at the same time.
pub const ITEMS_AT_ONCE: u16 = 16;
/// Items of up to 400 KB that are written at the same time.
pub const LARGE_ITEMS_AT_ONCE: u16 = 4;
/// Messages of one SendMessageBatch.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>
pub const MESSAGES_PER_REQUEST_MAX: u16 = 10;

/// How long a process uses the stored catalog before it reads it again. `catalog` writes it once an hour.
pub const CATALOG_KEPT_FOR: SignedDuration = SignedDuration::from_mins(5);
/// How long a process uses security groups, images and the values of a user's own SSM parameters.
///
/// Karpenter looks as often: `pkg/controllers/nodeclass/securitygroup.go`, `pkg/controllers/nodeclass/ami.go`
/// and `pkg/cache/cache.go` of the AWS provider.
pub const SELECTED_KEPT_FOR: SignedDuration = SignedDuration::from_mins(5);
/// How long a process uses the subnets that a class selects. `resolve` looks each minute: every second look asks,
/// and `launch` asks for the free addresses itself.
///
/// Karpenter asks each minute: `pkg/controllers/nodeclass/subnet.go` of the AWS provider.
pub const SUBNETS_KEPT_FOR: SignedDuration = SignedDuration::from_secs(90);
/// How long a process uses the value of a parameter that AWS publishes for an alias.
///
/// Karpenter: `SSMCacheTTL` of `pkg/cache/cache.go` of the AWS provider.
pub const PUBLISHED_KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How long a process uses what EKS says of the cluster. Only the version changes, by an upgrade. Four functions ask:
/// together they ask as often as Karpenter.
///
/// Karpenter: `pkg/providers/version/controller.go` of the AWS provider, every five minutes.
pub const CLUSTER_KEPT_FOR: SignedDuration = SignedDuration::from_mins(20);
/// For how long a process does not look again whether an instance profile has its role.
///
/// Karpenter: `InstanceProfileTTL` of `pkg/cache/cache.go` of the AWS provider.
pub const PROFILE_KEPT_FOR: SignedDuration = SignedDuration::from_mins(15);
