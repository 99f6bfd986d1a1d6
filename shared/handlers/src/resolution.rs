//! What the selectors of an EC2NodeClass name in the account right now.
//!
//! Until the function `resolve` keeps this in the class's status, whoever needs it asks.

use model::node_class::{ClusterSettings, NodeClass, ResolvedNodeClass};
use ports::{Discovery, PortError};

/// A class that can be launched from, or why it cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Everything was found.
    Ready(Box<ResolvedNodeClass>),
    /// In words, each naming its field.
    NotReady(Vec<String>),
}

/// Looks up the subnets, security groups and images of `class`.
pub async fn resolve(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    class: &NodeClass,
) -> Result<Resolution, PortError> {
    let mut problems = class.problems.clone();
    if class.is_deleting {
        problems.push("EC2NodeClass is being deleted".to_owned());
    }
    if !problems.is_empty() {
        return Ok(Resolution::NotReady(problems));
    }
    let subnets = discovery.subnets(&class.subnet_terms).await?;
    let security_groups = discovery.security_groups(&class.security_group_terms).await?;
    let images = discovery
        .images(class.image_family, &class.image_terms, &settings.kubernetes_version)
        .await?;
    let found = [
        ("SubnetsNotFound: spec.subnetSelectorTerms select no subnet", subnets.is_empty()),
        (
            "SecurityGroupsNotFound: spec.securityGroupSelectorTerms select no security group",
            security_groups.is_empty(),
        ),
        ("AMINotFound: spec.amiSelectorTerms select no image", images.is_empty()),
    ];
    let missing: Vec<String> =
        found.iter().filter(|(_, missing)| *missing).map(|(text, _)| (*text).to_owned()).collect();
    if !missing.is_empty() {
        return Ok(Resolution::NotReady(missing));
    }
    let class = class.clone();
    let resolved = ResolvedNodeClass { class, subnets, security_groups, images };
    Ok(Resolution::Ready(Box::new(resolved)))
}
