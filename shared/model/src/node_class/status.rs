//! The status of an EC2NodeClass: what its selectors name, and whether it can be launched from.
//!
//! Karpenter: `pkg/apis/v1/ec2nodeclass_status.go` of the AWS provider.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{CapacityReservation, Image, NodeClass, PlacementGroup, Subnet};
use crate::{
    Condition, ConditionKind, ImageId, SecurityGroupId, condition::NotReady, labels,
    static_hash::NODE_CLASS,
};

/// An EC2NodeClass as it was listed, so that its status is about that very spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNodeClass {
    /// What its spec says.
    pub class: NodeClass,
    /// `metadata.uid`: a namesake that took its place is another one.
    pub uid: String,
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// What its status says that it selects, of whatever generation; `None` where that cannot be read.
    pub status: Option<ClassStatus>,
}

/// An EC2NodeClass as it was listed, for those who launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedNodeClass {
    /// What its spec says.
    pub class: NodeClass,
    /// Why nothing may be launched from it yet, by what its status says.
    pub not_ready: Option<NotReady>,
    /// What its status says that it selects. `None` where that cannot be read, or is about another
    /// generation of the class than the present one.
    pub status: Option<ClassStatus>,
}

/// What a controller found that an EC2NodeClass selects, as it stands in the class's status and in the
/// annotations [`labels::SELECTED_PLACEMENT_GROUP`], [`labels::LAUNCH_TEMPLATE_VERSION`] and
/// [`labels::CANDIDATE_IMAGES`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassStatus {
    /// In the order of the status; free addresses are not among it.
    pub subnets: Vec<Subnet>,
    /// In the order of the status.
    pub security_groups: Vec<SecurityGroupId>,
    /// In the order of the status; dates are not among it.
    pub images: Vec<Image>,
    /// Of these, the ones that only canaries start from.
    pub candidates: BTreeSet<ImageId>,
    /// The profile that instances get.
    pub instance_profile: Option<String>,
    /// In the order of the status; instances left are not among it.
    pub reservations: Vec<CapacityReservation>,
    /// The placement group.
    pub placement_group: Option<PlacementGroup>,
    /// The number of the version of the launch template that the class names.
    pub launch_template_version: Option<u64>,
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
    /// Newest first; candidates last.
    pub images: Vec<Image>,
    /// Of these, the ones that only canaries start from.
    pub candidates: BTreeSet<ImageId>,
    /// By id.
    pub reservations: Vec<CapacityReservation>,
    /// The instance profile in use, once it is known.
    pub instance_profile: Option<String>,
    /// The placement group that the class selects, if it was found.
    pub placement_group: Option<PlacementGroup>,
    /// The number of the version that was looked at, of the launch template that the class names.
    pub launch_template_version: Option<u64>,
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

    /// The annotations that the class gets: the drift hash where it is known, and what is selected that
    /// Karpenter's status has no field for. `None` is an annotation that has to go.
    pub fn annotations(&self) -> BTreeMap<String, Option<String>> {
        let hash = self
            .hash
            .map(|hash| NODE_CLASS.annotations(&hash.to_string()))
            .into_iter()
            .flatten()
            .map(|(key, value)| (key, Some(value)));
        let group = self.placement_group.as_ref().map(ToString::to_string);
        let version = self.launch_template_version.map(|version| version.to_string());
        let candidates: Vec<&str> = self.candidates.iter().map(ImageId::as_str).collect();
        let candidates = (!candidates.is_empty()).then(|| candidates.join(","));
        let own = [
            (labels::SELECTED_PLACEMENT_GROUP, group),
            (labels::LAUNCH_TEMPLATE_VERSION, version),
            (labels::CANDIDATE_IMAGES, candidates),
        ];
        hash.chain(own.map(|(key, value)| (key.to_owned(), value))).collect()
    }

    /// What is read again of this after it was stored: without what changes from one moment to the next.
    pub fn stored(&self) -> ClassStatus {
        let subnets = self.subnets.iter().cloned();
        let images = self.images.iter().cloned();
        let reservations = self.reservations.iter().cloned();
        ClassStatus {
            subnets: subnets
                .map(|subnet| Subnet { available_ip_address_count: 0, ..subnet })
                .collect(),
            security_groups: self.security_groups.iter().map(|group| group.id.clone()).collect(),
            images: images
                .map(|image| Image { created_at: None, deprecated_at: None, ..image })
                .collect(),
            candidates: self.candidates.clone(),
            instance_profile: self.instance_profile.clone(),
            reservations: reservations
                .map(|reservation| CapacityReservation { available_count: 0, ..reservation })
                .collect(),
            placement_group: self.placement_group.clone(),
            launch_template_version: self.launch_template_version,
        }
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
