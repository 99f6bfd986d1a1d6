//! The launch templates and the fleet request for one batch of claims.

use std::sync::Arc;

use model::{
    InstanceType, NodeClaim, NodeClassName, NodePoolName,
    launch::{FleetRequest, LaunchTemplate},
    node_class::{ClusterSettings, ResolvedNodeClass},
};

/// What to send to EC2 for one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The launch templates that must be there first.
    pub templates: Vec<LaunchTemplate>,
    /// The fleet request.
    pub request: FleetRequest,
}

/// Why a batch cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No offering that the claims allow is available now.
    #[error("NodePool `{node_pool}`: no available offering fits: {why}")]
    NoCapacity {
        /// The pool of the claims.
        node_pool: NodePoolName,
        /// What left none.
        why: String,
    },
    /// No image starts on any of the instance types.
    #[error("EC2NodeClass `{class}`: spec.amiSelectorTerms: {why}")]
    NoImage {
        /// The class.
        class: NodeClassName,
        /// Nothing selected, or nothing that starts on the types.
        why: String,
    },
    /// No subnet is selected.
    #[error("EC2NodeClass `{0}`: spec.subnetSelectorTerms select no subnet")]
    NoSubnet(NodeClassName),
    /// No security group is selected.
    #[error("EC2NodeClass `{0}`: spec.securityGroupSelectorTerms select no security group")]
    NoSecurityGroup(NodeClassName),
    /// The class cannot be launched from as it is.
    #[error("{0}")]
    NotReady(String),
    /// `spec.userData` cannot be merged.
    #[error("{0}")]
    UserData(String),
    /// Something that we do not do yet.
    #[error("not supported yet: {0}")]
    NotSupportedYet(String),
}

/// The launch templates and the fleet request for `claims`, one batch.
pub fn requests(
    claims: &[NodeClaim],
    class: &ResolvedNodeClass,
    types: &[Arc<InstanceType>],
    settings: &ClusterSettings,
    instance_profile: &str,
) -> Result<Launch, Refusal> {
    let _ = (claims, types, settings, instance_profile);
    Err(Refusal::NotSupportedYet(format!("launching from EC2NodeClass `{}`", class.class.name)))
}
