//! How many requests the calls of ports come to: pages, batches, and for how long a process keeps an answer.
//!
//! Adapters send by these numbers, and the simulated account counts by them.

use std::time::Duration;

use jiff::SignedDuration;

use crate::Function;

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
/// How long looks into nodes that do not join use what EKS says of the cluster: all parts of a look, and the looks of a
/// pass.
pub const LOOK_KEPT_FOR: SignedDuration = SignedDuration::from_mins(1);
/// For how long a process does not look again whether an instance profile has its role.
///
/// Karpenter: `InstanceProfileTTL` of `pkg/cache/cache.go` of the AWS provider.
pub const PROFILE_KEPT_FOR: SignedDuration = SignedDuration::from_mins(15);

/// How long one call of AWS may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// One attempt of it.
    pub attempt: Duration,
    /// All attempts, and the pauses between them.
    pub operation: Duration,
}

impl Timeouts {
    const fn of_seconds(attempt: u64, operation: u64) -> Self {
        let (attempt, operation) = (Duration::from_secs(attempt), Duration::from_secs(operation));
        Self { attempt, operation }
    }

    /// Looks into an instance whose node does not join: ten calls one after another, of services that the functions
    /// may have no way to.
    pub const OF_LOOKS: Self = Self::of_seconds(3, 6);

    /// Calls of `function`. `interrupt` has 20 seconds, and a spot instance two minutes: a connection that hangs
    /// leaves time for another one. The others have a minute.
    pub const fn of(function: Function) -> Self {
        match function {
            Function::Interrupt => Self::of_seconds(2, 6),
            // An API server waits for a second.
            Function::Wake => {
                Self { attempt: Duration::from_millis(700), operation: Duration::from_millis(800) }
            }
            _ => Self::of_seconds(12, 25),
        }
    }

    /// Those of calls of DynamoDB in place of these: it answers within milliseconds, and 4 MB within a second.
    #[must_use]
    pub fn of_table(self) -> Self {
        let Self { attempt, operation } = Self::of_seconds(4, 12);
        Self { attempt: self.attempt.min(attempt), operation: self.operation.min(operation) }
    }
}

/// How often a throttled request of the ledger's table is sent in all: DynamoDB gives a partition its units anew each
/// second.
pub const TABLE_ATTEMPTS_MAX: u32 = 7;
/// The longest pause before the second attempt of a throttled request of the table; before each further one it is twice
/// as long.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>
pub const TABLE_BACKOFF: Duration = Duration::from_millis(50);

/// The longest pauses between the attempts of a throttled request of the table, in order.
pub fn table_pauses() -> impl Iterator<Item = Duration> {
    (0..TABLE_ATTEMPTS_MAX.saturating_sub(1))
        .map(|doublings| TABLE_BACKOFF.saturating_mul(2_u32.saturating_pow(doublings)))
}

/// How long a CreateFleet request may take, in one attempt: a repeated one waits for the same instances. `launch` has
/// a minute.
pub const FLEET_TIMEOUT: Duration = Duration::from_secs(50);
