//! The way to a running cluster and to an account: what `doctor`, `install`, `uninstall`, `adopt`, `release`,
//! `--live` and `--table` look at and act on.
//!
//! The clients of Kubernetes and AWS are compiled with the feature `live` only: together they take minutes. A build
//! without them has the same commands, which say how to build them in; what is judged and worked out before
//! anything is done needs none of them.

#[cfg(not(feature = "live"))]
mod absent;
#[cfg(feature = "live")]
mod account;
#[cfg(feature = "live")]
mod connection;
#[cfg(feature = "live")]
mod failure;
mod kind;
mod kubernetes;
mod manifests;

use std::collections::{BTreeMap, BTreeSet};

#[cfg(not(feature = "live"))]
pub(crate) use absent::{Account, Connection};
#[cfg(feature = "live")]
pub(crate) use account::Account;
#[cfg(feature = "live")]
pub(crate) use connection::Connection;
pub(crate) use kind::{Kind, kinds};
pub(crate) use kubernetes::{Cluster, Selected, namespace_of};
pub(crate) use manifests::Manifests;
use model::{HourlyPrice, InstanceTypeInfo, InstanceTypeName, Zone, ZoneId};

use crate::manifests::BadInput;

/// An answer, or why there is none. What cannot be read is never taken for absent.
pub(crate) type Answer<T> = Result<T, String>;

/// `text` without breaks of lines, however much there is between its words.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// That this build has the clients that `command` needs, or how to get one that has.
pub(crate) fn needed(command: &str) -> Result<(), BadInput> {
    if cfg!(feature = "live") {
        return Ok(());
    }
    Err(BadInput::one(format!(
        "journeyman {command}: not in this build, which has no client of Kubernetes and AWS; build one with them: \
         cargo build --profile local -p cli --features live"
    )))
}

/// A request to an API server.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "live"),
    expect(dead_code, reason = "nobody is asked without the clients")
)]
pub(crate) struct Call {
    /// Such as `GET`.
    pub(crate) method: &'static str,
    /// Path and query.
    pub(crate) path: String,
    /// What kind of content goes with it, and the content.
    pub(crate) content: Option<(&'static str, String)>,
}

/// Why a request to an API server brought nothing.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "live"),
    expect(dead_code, reason = "nobody is asked without the clients")
)]
pub(crate) enum CallError {
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
#[cfg_attr(
    all(not(feature = "live"), not(test)),
    expect(dead_code, reason = "nobody is asked without the clients")
)]
pub(crate) enum Attribute {
    /// `S`
    Text(String),
    /// `B`
    Bytes(Vec<u8>),
}

/// An item of DynamoDB.
pub(crate) type Item = BTreeMap<String, Attribute>;

/// Which items of a table are asked for.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "live"),
    expect(dead_code, reason = "nobody is asked without the clients")
)]
pub(crate) struct Asked<'a> {
    /// The table.
    pub(crate) table: &'a str,
    /// The value of `cluster`, the partition.
    pub(crate) cluster: &'a str,
    /// How the values of `item` begin.
    pub(crate) prefix: &'a str,
    /// The attribute that is asked for beside `item`.
    pub(crate) attribute: &'a str,
    /// Only so many, the last ones by `item`, and those first. All otherwise, in their order.
    pub(crate) newest: Option<usize>,
}

/// What is sold in a region.
#[derive(Clone, Debug)]
pub(crate) struct Sold {
    /// The region.
    pub(crate) region: String,
    /// What EC2 says of each type.
    pub(crate) types: Vec<InstanceTypeInfo>,
    /// Its zones.
    pub(crate) zones: BTreeMap<Zone, ZoneId>,
    /// Where each type is sold.
    pub(crate) offered: BTreeMap<InstanceTypeName, BTreeSet<Zone>>,
    /// Prices of the price list; none: it has none of this region.
    pub(crate) on_demand: Option<BTreeMap<InstanceTypeName, HourlyPrice>>,
    /// Present prices of spot instances.
    pub(crate) spot: BTreeMap<(InstanceTypeName, Zone), HourlyPrice>,
}

/// How far the deletion of a stack is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StackState {
    /// Such as `DELETE_IN_PROGRESS`.
    pub(crate) status: String,
    /// Why it is so, in CloudFormation's words; often nothing.
    pub(crate) reason: String,
}

/// How far a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableState {
    /// Such as `ACTIVE`.
    pub(crate) status: String,
    /// Whether it cannot be deleted.
    pub(crate) is_protected: bool,
}
