//! What is told about an EC2NodeClass: what its selectors name, and whether it can be launched from.
//!
//! Karpenter: `pkg/apis/v1/ec2nodeclass_status.go` of the AWS provider.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{CapacityReservation, Image, NodeClass, Subnet};
use crate::SecurityGroupId;

/// An EC2NodeClass as it was listed, so that what is told about it is about that very spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenNodeClass {
    /// What its spec says.
    pub class: NodeClass,
    /// `metadata.uid`: a namesake that took its place is another one.
    pub uid: String,
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
}

/// An EC2NodeClass as it was listed, for those who launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedNodeClass {
    /// What its spec says.
    pub class: NodeClass,
    /// Why nothing may be launched from it yet, by what was told about it; in words.
    pub not_ready: Option<String>,
}

/// A security group that a class selects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecurityGroup {
    /// Its id.
    pub id: SecurityGroupId,
    /// Its name.
    pub name: String,
}

/// What the status of a class says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeClassStatus {
    /// Those with the most free addresses first, then by id.
    pub subnets: Vec<Subnet>,
    /// By id.
    pub security_groups: Vec<SecurityGroup>,
    /// Newest first.
    pub images: Vec<Image>,
    /// By id.
    pub reservations: Vec<CapacityReservation>,
    /// The instance profile in use, once it is known.
    pub instance_profile: Option<String>,
    /// What its nodes are launched with, as one number.
    pub hash: Option<u64>,
    /// Whether nodes can be launched; `Ready` last.
    pub conditions: Vec<ClassCondition>,
    /// When all of this was found.
    pub found_at: Timestamp,
}

/// A condition, without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCondition {
    /// Its type.
    pub kind: &'static str,
    /// `None` is unknown.
    pub status: Option<bool>,
    /// Its reason.
    pub reason: &'static str,
    /// In words; empty when true.
    pub message: String,
}

impl ClassCondition {
    /// It holds.
    pub fn yes(kind: &'static str) -> Self {
        Self { kind, status: Some(true), reason: kind, message: String::new() }
    }

    /// It does not hold.
    pub fn no(kind: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, status: Some(false), reason, message: message.into() }
    }

    /// It is not known.
    pub fn open(kind: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, status: None, reason, message: message.into() }
    }
}

/// An instance profile that was made for a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceProfile {
    /// Its name.
    pub name: String,
    /// Its path: whose it is.
    pub path: String,
    /// When it was made.
    pub created_at: Timestamp,
}
