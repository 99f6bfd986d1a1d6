//! What is told about an EC2NodeClass: what its selectors name, and whether it can be launched from.
//!
//! Karpenter: `pkg/apis/v1/ec2nodeclass_status.go` of the AWS provider.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{CapacityReservation, Image, NodeClass, Subnet};
use crate::{Condition, ConditionKind, SecurityGroupId, condition::NotReady};

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
    /// Why nothing may be launched from it yet, by what its status says.
    pub not_ready: Option<NotReady>,
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
    pub conditions: Vec<Condition>,
    /// When all of this was found.
    pub found_at: Timestamp,
}

impl NodeClassStatus {
    /// The condition `Ready`.
    pub fn ready(&self) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == ConditionKind::Ready)
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
