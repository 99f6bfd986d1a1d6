//! What the selectors of an EC2NodeClass name in the account right now, and its instance profile.

use std::collections::BTreeMap;

use jiff::Timestamp;
use launch_template::{
    TemplateProblem,
    selection::{chosen_images, usable_reservations},
};
use model::{
    NodeClassName, image_alias,
    node_class::{
        CapacityReservation, ClusterSettings, Image, ImageTerm, NodeClass, NodeIdentity,
        PlacementGroup, ResolvedNodeClass, ResolvedTemplate, SecurityGroup, Subnet, TemplateSource,
    },
};
use ports::{Discovery, PortError, Profiles};

use crate::error::story;

/// A class that can be launched from, or why it cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// Everything was found.
    Ready(Box<ResolvedNodeClass>),
    /// In words, each naming its field.
    NotReady(Vec<String>),
}

/// What the selectors of a class name. Empty is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// By id.
    pub(crate) subnets: Vec<Subnet>,
    /// By id; empty where they are in a launch template of the user's own.
    pub(crate) security_groups: Vec<SecurityGroup>,
    /// Newest first; the error is an alias that cannot be for the cluster's version.
    pub(crate) images: Result<Vec<Image>, String>,
    /// By id.
    pub(crate) reservations: Vec<CapacityReservation>,
    /// The error is EC2's: the others can be told all the same.
    pub(crate) placement_group: Result<Option<PlacementGroup>, String>,
    /// What nodes are launched from; the error is one of the user's own that cannot be used.
    pub(crate) launch_template: Result<ResolvedTemplate, TemplateProblem>,
}

/// Looks up everything that `class` selects.
pub(crate) async fn look_up(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    class: &NodeClass,
    now: Timestamp,
) -> Result<Found, PortError> {
    let placement_group = match &class.placement_group {
        None => Ok(None),
        Some(term) => discovery.placement_group(term).await.map_err(|error| story(&error)),
    };
    let (launch_template, security_groups, images) = match &class.launch_template {
        TemplateSource::Made => (
            Ok(ResolvedTemplate::Made),
            discovery.security_groups(&class.security_group_terms).await?,
            images(discovery, settings, &class.image_terms, now).await?,
        ),
        TemplateSource::Named(name) => {
            let found = discovery.launch_template(name).await?;
            let (template, terms) = match launch_template::named_template(name, found) {
                Ok((template, image)) => (Ok(template), vec![ImageTerm::Id(image)]),
                Err(problem) => (Err(problem), Vec::new()),
            };
            (template, Vec::new(), images(discovery, settings, &terms, now).await?)
        }
    };
    Ok(Found {
        subnets: discovery.subnets(&class.subnet_terms).await?,
        security_groups,
        images,
        reservations: usable_reservations(
            discovery.reservations(&class.reservation_terms).await?,
            now,
        ),
        placement_group,
        launch_template,
    })
}

async fn images(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    terms: &[ImageTerm],
    now: Timestamp,
) -> Result<Result<Vec<Image>, String>, PortError> {
    let version = &settings.kubernetes_version;
    for term in terms {
        if let ImageTerm::Alias { family, version: build } = term
            && let Err(why) = image_alias::parameters(*family, build, version)
        {
            return Ok(Err(why));
        }
    }
    let images = discovery.images(terms, version).await?;
    Ok(Ok(chosen_images(images, now)))
}

/// Looks up what `class` selects, for a launch or for a decision about one.
pub(crate) async fn resolved(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    class: &NodeClass,
    now: Timestamp,
) -> Result<Resolution, PortError> {
    let mut problems = class.problems.clone();
    if class.is_deleting {
        problems.push("EC2NodeClass is being deleted".to_owned());
    }
    if !problems.is_empty() {
        return Ok(Resolution::NotReady(problems));
    }
    Ok(ready(class, look_up(discovery, settings, class, now).await?))
}

/// `class` with what was `found`, unless something that a launch needs is missing.
fn ready(class: &NodeClass, found: Found) -> Resolution {
    let mut missing: Vec<String> = Vec::new();
    if found.subnets.is_empty() {
        missing.push("SubnetsNotFound: spec.subnetSelectorTerms select no subnet".to_owned());
    }
    let launch_template = match found.launch_template {
        Ok(template) => template,
        Err(problem) => {
            missing.push(format!("{}: {problem}", problem.reason()));
            return Resolution::NotReady(missing);
        }
    };
    if found.security_groups.is_empty() && launch_template == ResolvedTemplate::Made {
        let text =
            "SecurityGroupsNotFound: spec.securityGroupSelectorTerms select no security group";
        missing.push(text.to_owned());
    }
    let images = match found.images {
        Ok(images) if images.is_empty() => {
            missing.push("AMINotFound: spec.amiSelectorTerms select no image".to_owned());
            images
        }
        Ok(images) => images,
        Err(why) => {
            missing.push(format!("UnsupportedAlias: spec.amiSelectorTerms: {why}"));
            Vec::new()
        }
    };
    let placement_group = match found.placement_group {
        Ok(None) if class.placement_group.is_some() => {
            let text =
                "PlacementGroupNotFound: spec.placementGroupSelector selects no placement group";
            missing.push(text.to_owned());
            None
        }
        Ok(group) => group,
        Err(why) => {
            let field = "spec.placementGroupSelector";
            missing.push(format!("PlacementGroupResolutionFailed: {field}: {why}"));
            None
        }
    };
    if !missing.is_empty() {
        return Resolution::NotReady(missing);
    }
    Resolution::Ready(Box::new(ResolvedNodeClass {
        class: class.clone(),
        subnets: found.subnets,
        security_groups: found.security_groups.into_iter().map(|group| group.id).collect(),
        images,
        reservations: found.reservations,
        placement_group,
        launch_template,
    }))
}

/// Classes that were looked up in one call of a function, so that many batches of a class ask once.
#[derive(Debug, Default)]
pub(crate) struct Resolutions(BTreeMap<NodeClassName, Resolution>);

impl Resolutions {
    /// See [`resolved`]; the answer of an earlier question in the same call.
    pub(crate) async fn of(
        &mut self,
        discovery: &impl Discovery,
        settings: &ClusterSettings,
        class: &NodeClass,
        now: Timestamp,
    ) -> Result<Resolution, PortError> {
        if let Some(known) = self.0.get(&class.name) {
            return Ok(known.clone());
        }
        let resolution = resolved(discovery, settings, class, now).await?;
        self.0.insert(class.name.clone(), resolution.clone());
        Ok(resolution)
    }
}

/// The name of the instance profile that nodes of `class` get, one made from a role if need be;
/// `None` where a launch template of the user's own has it.
pub(crate) async fn ensure_profile(
    profiles: &impl Profiles,
    settings: &ClusterSettings,
    class: &NodeClass,
) -> Result<Option<String>, PortError> {
    match &class.identity {
        _ if class.launch_template != TemplateSource::Made => Ok(None),
        NodeIdentity::InstanceProfile(name) => Ok(Some(name.clone())),
        NodeIdentity::Role(role) => {
            let path = launch_template::instance_profile_path(settings, &class.name);
            let name = launch_template::instance_profile_name(settings, role, &class.name);
            let tags = launch_template::instance_profile_tags(settings, class);
            profiles.ensure(&path, &name, role, &tags).await?;
            Ok(Some(name))
        }
    }
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
