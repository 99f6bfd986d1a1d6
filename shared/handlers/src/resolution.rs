//! What the selectors of an EC2NodeClass name in the account right now, and its instance profile.

use std::collections::BTreeMap;

use jiff::Timestamp;
use launch_template::{
    Selected, own_obstacles,
    selection::{chosen_images, usable_reservations},
};
use model::{
    NodeClassName, image_alias,
    node_class::{
        ClusterSettings, Image, ImageTerm, NodeClass, NodeIdentity, Obstacle, ResolvedNodeClass,
        ResolvedTemplate, TemplateSource,
    },
};
use ports::{Discovery, PortError, Profiles};

use crate::error::story;

/// A class that can be launched from, or what stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// Everything was found.
    Ready(Box<ResolvedNodeClass>),
    /// Nothing can be launched from it.
    NotReady(Vec<Obstacle>),
}

/// What terms about images came to.
enum Images {
    Found(Vec<Image>),
    /// An alias cannot be for the cluster's version of Kubernetes, for this reason.
    UnsupportedAlias(String),
}

/// Looks up everything that `class` selects.
pub(crate) async fn look_up(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    class: &NodeClass,
    now: Timestamp,
) -> Result<Selected, PortError> {
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
    Ok(Selected {
        subnets: discovery.subnets(&class.subnet_terms).await?,
        security_groups,
        images: match images {
            Images::Found(images) => Ok(images),
            Images::UnsupportedAlias(why) => Err(why),
        },
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
) -> Result<Images, PortError> {
    let version = &settings.kubernetes_version;
    for term in terms {
        if let ImageTerm::Alias { family, version: build } = term
            && let Err(why) = image_alias::parameters(*family, build, version)
        {
            return Ok(Images::UnsupportedAlias(why));
        }
    }
    let images = discovery.images(terms, version).await?;
    Ok(Images::Found(chosen_images(images, now)))
}

/// Looks up what `class` selects, for a launch or for a decision about one.
pub(crate) async fn resolved(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    class: &NodeClass,
    now: Timestamp,
) -> Result<Resolution, PortError> {
    let obstacles = own_obstacles(class);
    if !obstacles.is_empty() {
        return Ok(Resolution::NotReady(obstacles));
    }
    let selected = look_up(discovery, settings, class, now).await?;
    Ok(match launch_template::resolved(class, selected) {
        Ok(resolved) => Resolution::Ready(resolved),
        Err(obstacles) => Resolution::NotReady(obstacles),
    })
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
