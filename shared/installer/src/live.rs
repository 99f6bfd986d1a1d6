//! The way to a running cluster and to an account: what `doctor`, `install`, `uninstall`, `adopt`, `release`,
//! `--live` and `--table` look at and act on.
//!
//! The clients of Kubernetes and AWS are compiled with the feature `live` only: together they take minutes. A build
//! without them has the same commands, which say how to build them in; what is judged and worked out before
//! anything is done needs none of them.

#[cfg(not(feature = "live"))]
mod absent;
#[cfg(feature = "live")]
pub mod account;
#[cfg(feature = "live")]
mod connection;
#[cfg(feature = "live")]
pub mod failure;
mod kind;
pub mod kubernetes;
mod manifests;

use std::collections::{BTreeMap, BTreeSet};

#[cfg(not(feature = "live"))]
pub(crate) use absent::called;
#[cfg(not(feature = "live"))]
pub use absent::{AccountClient, ApiConnection, BucketClient};
#[cfg(feature = "live")]
pub use account::{AccountClient, BucketClient};
#[cfg(feature = "live")]
pub use connection::ApiConnection;
#[cfg(feature = "live")]
pub(crate) use connection::called;
pub use kind::{ObjectKind, kinds};
pub use kubernetes::{ClusterClient, ObjectFilter, namespace_of};
pub use manifests::{Manifests, RoleArgs};
use model::{HourlyPrice, InstanceTypeInfo, InstanceTypeName, Zone, ZoneId};
use report::error::BadInput;

/// An answer, or why there is none. What cannot be read is never taken for absent.
pub type LiveAnswer<T> = Result<T, String>;

/// `text` without breaks of lines, however much there is between its words.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// That this build has the clients that `command` needs, or how to get one that has.
pub fn needed(command: &str) -> Result<(), BadInput> {
    if cfg!(feature = "live") {
        return Ok(());
    }
    Err(BadInput::one(format!(
        "journeyman {command}: not in this build; to contact a cluster and AWS, build with: cargo build -p cli \
         --features live"
    )))
}

/// A request to an API server.
#[derive(Clone, Debug)]
pub struct ApiCall {
    /// Such as `GET`.
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    /// What kind of content goes with it, and the content.
    pub content: Option<(&'static str, String)>,
}

/// Why a request to an API server brought nothing.
#[derive(Clone, Debug)]
pub enum ApiCallError {
    /// It refused it.
    Refused {
        /// HTTP's status.
        code: u16,
        /// Such as `Forbidden`.
        reason: String,
        /// In its own words.
        message: String,
    },
    /// There was no answer.
    Failed(String),
}

/// An attribute of an item of DynamoDB; those of other types are not asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemAttribute {
    /// `S`
    Text(String),
    /// `B`
    Bytes(Vec<u8>),
}

/// An item of DynamoDB.
pub type TableItem = BTreeMap<String, ItemAttribute>;

/// Which items of a table are asked for.
#[derive(Clone, Copy, Debug)]
pub struct ItemQuery<'a> {
    /// The table.
    pub table: &'a str,
    /// The value of `cluster`, the partition.
    pub cluster: &'a str,
    /// How the values of `item` begin.
    pub prefix: &'a str,
    /// The attribute that is asked for beside `item`.
    pub attribute: &'a str,
    /// Only this number of items, the last ones by `item`, and those first. `None`: all, in their order.
    pub newest: Option<usize>,
}

/// What is sold in a region.
#[derive(Clone, Debug)]
pub struct Sold {
    /// The region.
    pub region: String,
    /// What EC2 says of each type.
    pub types: Vec<InstanceTypeInfo>,
    /// Its zones.
    pub zones: BTreeMap<Zone, ZoneId>,
    /// Where each type is sold.
    pub offered: BTreeMap<InstanceTypeName, BTreeSet<Zone>>,
    /// Prices of the price list; none: it has none of this region.
    pub on_demand: Option<BTreeMap<InstanceTypeName, HourlyPrice>>,
    /// Present prices of spot instances.
    pub spot: BTreeMap<(InstanceTypeName, Zone), HourlyPrice>,
}

/// What the URL of a webhook answers a call from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlAnswer {
    /// With this status of HTTP.
    Status(u16),
    /// Not at all: why.
    Failed(String),
}

/// How far the deletion of a stack is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackState {
    /// Such as `DELETE_IN_PROGRESS`.
    pub status: String,
    /// Why it is so, in CloudFormation's words; often nothing.
    pub reason: String,
}

/// How far a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableState {
    /// Such as `ACTIVE`.
    pub status: String,
    /// Whether it cannot be deleted.
    pub is_protected: bool,
}

/// A stack as it is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedStack {
    /// How far CloudFormation is with it.
    pub state: StackState,
    /// Values by parameter; CloudFormation shows secrets as asterisks.
    pub parameters: BTreeMap<String, String>,
    /// Values by output.
    pub outputs: BTreeMap<String, String>,
}

/// What a change set does to a stack as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployment {
    /// It creates the stack.
    Create,
    /// It updates the stack.
    Update,
}

/// A parameter that a template declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateParameter {
    /// Such as `ClusterName`.
    pub name: String,
    /// `None`: it needs a value.
    pub default: Option<String>,
    /// What it is for.
    pub description: String,
}

/// Where the value of a parameter comes from; a parameter without an entry gets the template's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterValue {
    /// The command has it.
    New(String),
    /// The stack keeps its value.
    Former,
}

/// Values by parameter.
pub type ParameterValues = BTreeMap<String, ParameterValue>;

/// How far a change set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSetState {
    /// Such as `CREATE_COMPLETE`.
    pub status: String,
    /// Why it is so, in CloudFormation's words; often nothing.
    pub reason: String,
    /// What it changes, as soon as it is complete.
    pub changes: Vec<ResourceChange>,
}

/// What a change set does to one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceChange {
    /// Such as `Add`.
    pub action: String,
    /// The resource's name in the template.
    pub name: String,
    /// Such as `AWS::SQS::Queue`.
    pub kind: String,
    /// Whether it is replaced: `True`, `False`, `Conditional`; empty if it is new or removed.
    pub replacement: String,
}

/// What happened to a resource of a stack, or to the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackEvent {
    /// The resource's name in the template, or the stack's name.
    pub name: String,
    /// Such as `AWS::SQS::Queue`.
    pub kind: String,
    /// Such as `CREATE_FAILED`.
    pub status: String,
    /// Why, in CloudFormation's words; often nothing.
    pub reason: String,
}

/// An S3 bucket of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketPlace {
    /// Its name.
    pub name: String,
    /// Number of the account that owns it. S3 refuses calls if another account does.
    pub owner: String,
}
