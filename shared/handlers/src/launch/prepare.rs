//! Everything that a fleet request names, found and made.

use std::sync::Arc;

use launch_template::Offers;
use model::{
    InstanceType, NodeClaim, labels,
    launch::{FleetRequest, LaunchTemplate},
    ledger::Snapshot,
    node_class::{ClusterSettings, NodeIdentity, ResolvedNodeClass},
};
use ports::{Catalog, Cluster, Discovery, Invocation, PortError, Profiles};

use crate::resolution::{Resolution, resolve};

/// A request, and what it was made of.
pub(super) struct Prepared {
    pub(super) request: FleetRequest,
    pub(super) class: ResolvedNodeClass,
    /// As nodes of the class would have them.
    pub(super) types: Vec<Arc<InstanceType>>,
}

/// Launch templates that must exist, and the request; or why there is none, in words.
pub(super) type Preparation = Result<(Vec<LaunchTemplate>, Prepared), String>;

/// Makes the request for a batch.
#[expect(clippy::too_many_arguments, reason = "the parameters are what the function may touch")]
pub(super) async fn prepare(
    cluster: &impl Cluster,
    catalog: &impl Catalog,
    discovery: &impl Discovery,
    profiles: &impl Profiles,
    offers: &Offers,
    snapshot: &Snapshot,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<Preparation, PortError> {
    let Some(first) = claims.first() else { return Ok(Err("no claim is promised".to_owned())) };
    let classes = cluster.node_classes().await?.items;
    let Some(class) = classes.into_iter().find(|class| class.name == first.node_class) else {
        return Ok(Err(format!("EC2NodeClass {} does not exist", first.node_class)));
    };
    let settings = discovery.cluster_settings(&at.cluster).await?;
    let class = match resolve(discovery, &settings, &class, at.now).await? {
        Resolution::Ready(class) => *class,
        Resolution::NotReady(problems) => {
            let name = &first.node_class;
            return Ok(Err(format!("EC2NodeClass {name} is not ready: {}", problems.join("; "))));
        }
    };
    let profile = ensure_profile(profiles, &settings, &class).await?;
    let catalog = catalog.catalog().await?;
    let types = offers.offer(&catalog, &class, &snapshot.cooling, at.now);
    let launch = match launch_template::requests(claims, &class, &types, &settings, &profile) {
        Ok(launch) => launch,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let mut request = launch.request;
    request.tags.insert(labels::BATCH_TAG.to_owned(), first.batch.to_string());
    Ok(Ok((launch.templates, Prepared { request, class, types })))
}

/// The name of the instance profile that nodes of `class` get; one made from a role if need be.
async fn ensure_profile(
    profiles: &impl Profiles,
    settings: &ClusterSettings,
    class: &ResolvedNodeClass,
) -> Result<String, PortError> {
    match &class.class.identity {
        NodeIdentity::InstanceProfile(name) => Ok(name.clone()),
        NodeIdentity::Role(role) => {
            let class = &class.class;
            let name = launch_template::instance_profile_name(settings, role, &class.name);
            let tags = launch_template::instance_profile_tags(settings, class);
            profiles.ensure(&name, role, &tags).await?;
            Ok(name)
        }
    }
}
