//! What the selectors of an EC2NodeClass name in the account right now, and its instance profile.
//!
//! Only `resolve` looks: everybody else reads what it wrote into the status.

use jiff::Timestamp;
use launch_template::{
    Selected,
    selection::{chosen_images, usable_reservations},
};
use model::{
    image_alias,
    node_class::{
        ClusterSettings, Image, ImageTerm, NodeClass, NodeIdentity, ResolvedTemplate,
        TemplateSource,
    },
};
use ports::{Discovery, PortError, Profiles};

use crate::error::story;

/// Looks up everything that `class` selects.
pub(super) async fn look_up(
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
            let described_template = discovery.launch_template(name).await?;
            let (template, terms) = match launch_template::named_template(name, described_template)
            {
                Ok((template, image)) => (Ok(template), vec![ImageTerm::Id(image)]),
                Err(problem) => (Err(problem), Vec::new()),
            };
            (template, Vec::new(), images(discovery, settings, &terms, now).await?)
        }
    };
    Ok(Selected {
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

/// The images that are launched from; the inner error is why an alias cannot be for the cluster's version
/// of Kubernetes.
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
    Ok(Ok(chosen_images(discovery.images(terms, version).await?, now)))
}

/// The name of the instance profile that nodes of `class` get, one made from a role if need be;
/// `None` where a launch template of the user's own has it.
pub(super) async fn ensure_profile(
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
