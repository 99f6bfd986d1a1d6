//! What the selectors of an EC2NodeClass name in the account right now.
//!
//! Until the function `resolve` keeps this in the class's status, whoever needs it asks.

use jiff::Timestamp;
use launch_template::selection::chosen_images;
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
    now: Timestamp,
) -> Result<Resolution, PortError> {
    let mut problems = class.problems.clone();
    problems.extend(not_looked_up_yet(class));
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
    let images = chosen_images(images, now);
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
    let resolved = ResolvedNodeClass {
        class,
        subnets,
        security_groups,
        images,
        reservations: Vec::new(),
        placement_group: None,
    };
    Ok(Resolution::Ready(Box::new(resolved)))
}

/// What a class may ask for that the ports do not look up or send yet.
fn not_looked_up_yet(class: &NodeClass) -> Vec<String> {
    [
        (
            "spec.capacityReservationSelectorTerms (capacity reservations)",
            !class.reservation_terms.is_empty(),
        ),
        ("spec.placementGroupSelector (placement groups)", class.placement_group.is_some()),
        (
            "spec.networkInterfaces (more than the one network interface)",
            !class.network_interfaces.is_empty(),
        ),
        (
            "spec.connectionTracking (connection tracking timeouts)",
            class.connection_tracking.is_some(),
        ),
        ("spec.cpuOptions (CPU options)", class.nested_virtualization.is_some()),
    ]
    .into_iter()
    .filter(|(_, is_wanted)| *is_wanted)
    .map(|(field, _)| format!("not supported yet: {field}"))
    .collect()
}

#[cfg(test)]
mod tests {
    use model::{Requirement, node_class::Image};

    use super::*;

    fn image(id: &str, arch: &str, created: i64, deprecated: Option<i64>) -> Image {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        Image {
            id: id.parse().unwrap(),
            name: id.to_owned(),
            created_at: Some(at(created)),
            deprecated_at: deprecated.map(at),
            requirements: [Requirement::of_label(model::labels::ARCH, arch).unwrap()]
                .into_iter()
                .collect(),
        }
    }

    #[track_caller]
    fn check(images: Vec<Image>, expected: &[&str]) {
        let chosen = chosen_images(images, Timestamp::from_second(1_000).unwrap());
        let ids: Vec<&str> = chosen.iter().map(|image| image.id.as_str()).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn the_newest_image_that_is_not_deprecated_is_taken_for_each_architecture() {
        let old = || image("ami-1", "amd64", 10, None);
        check(vec![image("ami-2", "amd64", 20, None), old()], &["ami-2"]);
        check(vec![image("ami-2", "amd64", 20, Some(1_000)), old()], &["ami-1"]);
        check(vec![image("ami-2", "amd64", 20, Some(1_001)), old()], &["ami-2"]);
        check(
            vec![image("ami-2", "amd64", 20, Some(30)), image("ami-3", "amd64", 15, Some(30))],
            &["ami-2"],
        );
        check(vec![image("ami-2", "amd64", 10, None), old()], &["ami-2"]);
        check(vec![old(), image("ami-2", "arm64", 20, None)], &["ami-2", "ami-1"]);
    }
}
