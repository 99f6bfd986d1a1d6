//! An AWS account and a cluster in memory, with virtual time and injected faults.
//!
//! [`Sim`] implements every port of the crate `ports`. A [`Runner`] (or [`Sim::run_until`]) hands
//! what queues, schedules and the ledger's stream deliver to the handlers; this crate does not know
//! them. It is a test bed (seeds, crashes, duplicates, checkers) and what `journeyman simulate`
//! plays on.
//!
//! It does not simulate networks, images, volumes or what runs inside of containers. A node joins with what its
//! instance type and its claim say, and with the labels of its class's user data; scripts in it are not run.

pub mod account;
mod authorization;
pub mod chance;
mod check;
mod cluster;
mod delivery;
mod fault;
mod ledger;
pub mod limits;
mod loads;
mod mail;
pub mod meter;
mod port;
mod runner;
mod settings;
mod sim;
mod story;
mod supply;
mod timeline;
mod webhooks;
mod world;

pub use account::{
    AccessEntryRecord, AwsError, CLUSTER_GROUP, CapacityReservationState, DescribedInstance,
    DescribedReservation, JoinFailure, NewEntry, NewTemplate, ProfileRecord, ROUTE_TABLE,
    ReservationPreference, ReservationRecord, RoleRecord, SpotPrice, StateChange, TemplateRecord,
    VPC, is_like,
};
pub use authorization::{ACCOUNT_ID, Authorization};
pub use chance::{Chance, Span};
pub use cluster::{
    Bindings, ConditionRecord, NodeClaimObject, ObjectRecord, bindings, published_slices,
};
pub use delivery::{DeliveryOutcome, FunctionCall, Payload, SCHEDULED};
pub use devices::DeviceDrivers;
pub use fault::{
    Access, Call, FaultRule, Injection, RecordRule, Storm, api_server_away, at_call, first_calls,
};
pub use limits::{
    AccountLimits, ApiAction, ApiService, FunctionLimits, FunctionQueue, FunctionTable, Latencies,
    Load, Quotas, RECURSIVE_INVOCATIONS_MAX, RecursiveLoop, RequestLimits, TableLimits,
    TokenBucket, actions_of, claim_bytes, decision_bytes,
};
pub use mail::DeadLetter;
pub use meter::{
    ALARMS, Bill, BillLine, FixedCosts, InvocationCount, Meter, RequestCount, TableUnits,
    prices::MONTH_MILLIS,
};
pub use runner::{Dispatch, Runner, Stopped, Work};
pub use settings::{Disorder, Sabotage, ScoringStrategy, Trace, WakeFaults, WorldSettings};
pub use sim::Sim;
pub use story::{
    Action, BufferReferent, ClassFindings, ClusterObject, SpotTarget, StartedPod,
    StoryClaimTemplate, StoryNode, StoryWorkload, StoryWorkloadKind,
};
pub use supply::Supply;
pub use timeline::{Happening, RunningInstance, Summary, TimelineEvent};
pub use webhooks::WakeCounts;

use model::id::InvalidId;

/// An id that the simulator made up.
///
/// # Panics
///
/// When its text does not have the form of its kind: a mistake in this crate.
#[expect(clippy::expect_used, reason = "the texts are built in this crate, in the wanted form")]
pub(crate) fn made_up<T>(id: Result<T, InvalidId>) -> T {
    id.expect("a made-up id has the form of its kind")
}
