//! Selector terms of EC2NodeClasses: which resources of an account a class means.

use std::collections::BTreeMap;

use super::ImageFamily;
use crate::{ImageId, PlacementGroupId, ReservationId, SecurityGroupId, SubnetId};

/// A term of `subnetSelectorTerms`: an id or tags. The value `*` of a tag means that it is there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubnetTerm {
    /// `id`
    Id(SubnetId),
    /// `tags`
    Tags(BTreeMap<String, String>),
}

/// A term of `securityGroupSelectorTerms`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecurityGroupTerm {
    /// `id`
    Id(SecurityGroupId),
    /// `name`
    Name(String),
    /// `tags`
    Tags(BTreeMap<String, String>),
}

/// A term of `amiSelectorTerms`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImageTerm {
    /// `alias`
    Alias {
        /// The class's own family, or any but `Custom` where the class's is `Custom`.
        family: ImageFamily,
        /// Such as `latest` or `v20240625`.
        version: String,
    },
    /// `id`
    Id(ImageId),
    /// `ssmParameter`: its value is an image id.
    SsmParameter(String),
    /// `name`, `tags`, `owner` in any combination but `owner` alone.
    Search {
        /// With EC2's wildcards.
        name: Option<String>,
        /// An account id, `self` or `amazon`.
        owner: Option<String>,
        /// All of them must be there.
        tags: BTreeMap<String, String>,
    },
}

/// A term of `capacityReservationSelectorTerms`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReservationTerm {
    /// `id`
    Id(ReservationId),
    /// `tags`, `ownerID`, `instanceMatchCriteria` in any combination but `ownerID` alone.
    Search {
        /// All of them must be there.
        tags: BTreeMap<String, String>,
        /// The account that it belongs to.
        owner: Option<String>,
        /// Which instances run in it.
        match_criteria: Option<MatchCriteria>,
    },
}

/// Which instances run in a capacity reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchCriteria {
    /// All that match it.
    #[default]
    Open,
    /// Those that name it.
    Targeted,
}

impl MatchCriteria {
    /// EC2's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Targeted => "targeted",
        }
    }
}

/// `placementGroupSelector`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacementGroupTerm {
    /// `id`
    Id(PlacementGroupId),
    /// `name`; one that looks like an id is still a name.
    Name(String),
}
