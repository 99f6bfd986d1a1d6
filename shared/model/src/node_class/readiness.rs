//! What stands against launching nodes from an EC2NodeClass.

use std::fmt;

use super::TemplateProblem;
use crate::{ClusterName, LaunchTemplateName, Problem, condition::NotReady};

/// One thing that stands against launching nodes from an EC2NodeClass.
///
/// Karpenter: `pkg/controllers/nodeclass` of the AWS provider, which gives most of them as reasons of
/// conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No image matches `spec.amiSelectorTerms`.
    AmiNotFound,
    /// The image of a launch template of the user's own does not exist.
    ImageOfTemplateNotFound(LaunchTemplateName),
    /// A launch template of the user's own cannot be launched from.
    LaunchTemplate(TemplateProblem),
    /// No instance type that an image of the class starts on is sold in the zones of its subnets.
    NoInstanceType,
    /// The status of the class says that it is not ready.
    NotReady(NotReady),
    /// No placement group matches `spec.placementGroupSelector`.
    PlacementGroupNotFound,
    /// EC2 could not be asked for the placement group; its words.
    PlacementGroupResolutionFailed(String),
    /// The class breaks a rule, or asks for what is not supported yet.
    Problem(Problem),
    /// No security group matches `spec.securityGroupSelectorTerms`.
    SecurityGroupsNotFound,
    /// Nodes of AL2023 must be told the addresses of the services of this cluster, which are not known.
    ServiceCidrUnknown(ClusterName),
    /// No subnet matches `spec.subnetSelectorTerms`.
    SubnetsNotFound,
    /// The class is being deleted.
    Terminating,
    /// An alias of `spec.amiSelectorTerms` cannot be for the cluster's version of Kubernetes, for this
    /// reason.
    UnsupportedAlias(String),
}

impl Obstacle {
    /// Whether the next look of `resolve` may remove it: nothing is wrong with the class so far.
    pub fn is_unresolved(&self) -> bool {
        match self {
            Self::NotReady(NotReady::Unseen | NotReady::Stale) => true,
            Self::NotReady(NotReady::Conditions { ready: Some(ready), others }) => {
                !ready.is_false && others.iter().all(|condition| !condition.is_false)
            }
            _ => false,
        }
    }

    /// Several obstacles on one line.
    pub fn in_words(obstacles: &[Self]) -> String {
        obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Obstacle {
    /// `SubnetsNotFound: spec.subnetSelectorTerms select no subnet`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AmiNotFound => f.write_str("AMINotFound: spec.amiSelectorTerms select no image"),
            Self::ImageOfTemplateNotFound(name) => {
                write!(f, "AMINotFound: the image of launch template `{name}` is not there")
            }
            Self::LaunchTemplate(problem) => write!(f, "{}: {problem}", problem.reason()),
            Self::NoInstanceType => f.write_str(
                "no instance type that its images start on is sold in its subnets' zones",
            ),
            Self::NotReady(why) => f.write_str(&why.in_detail()),
            Self::PlacementGroupNotFound => f.write_str(
                "PlacementGroupNotFound: spec.placementGroupSelector selects no placement group",
            ),
            Self::PlacementGroupResolutionFailed(why) => {
                write!(f, "PlacementGroupResolutionFailed: spec.placementGroupSelector: {why}")
            }
            Self::Problem(problem) => problem.fmt(f),
            Self::SecurityGroupsNotFound => f.write_str(
                "SecurityGroupsNotFound: spec.securityGroupSelectorTerms select no security group",
            ),
            Self::ServiceCidrUnknown(cluster) => write!(
                f,
                "AL2023 needs the CIDR of the cluster's services, which is not known for cluster \
                 `{cluster}`"
            ),
            Self::SubnetsNotFound => {
                f.write_str("SubnetsNotFound: spec.subnetSelectorTerms select no subnet")
            }
            Self::Terminating => f.write_str("EC2NodeClass is being deleted"),
            Self::UnsupportedAlias(why) => {
                write!(f, "UnsupportedAlias: spec.amiSelectorTerms: {why}")
            }
        }
    }
}
