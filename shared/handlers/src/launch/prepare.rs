//! Everything that a fleet request names, found and made.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    InstanceType, LaunchTemplateName, NodeClaim, NodeClassName, labels,
    launch::{FleetRequest, LaunchTemplate},
    ledger::Snapshot,
    node_class::{NodeClass, ResolvedNodeClass},
};
use ports::{Adapters, Catalog as _, Cluster as _, Discovery as _, Invocation, PortError};

use super::LaunchPorts;
use crate::resolution::{Resolution, Resolutions, ensure_profile};

/// A request, and what it was made of.
pub(super) struct Prepared {
    pub(super) request: FleetRequest,
    /// Launch templates that must exist before it is sent.
    pub(super) templates: Vec<LaunchTemplate>,
    pub(super) class: ResolvedNodeClass,
    /// As nodes of the class would have them.
    pub(super) types: Vec<Arc<InstanceType>>,
    /// The instance profile, unless a launch template of the user's own has it.
    pub(super) profile: Option<String>,
    /// Launch templates that are for a capacity reservation, and for which.
    pub(super) reservations: BTreeMap<LaunchTemplateName, String>,
}

/// What was asked once for all batches of a call.
#[derive(Default)]
pub(super) struct Asked {
    classes: Option<Vec<NodeClass>>,
    resolutions: Resolutions,
    profiles: BTreeMap<NodeClassName, Option<String>>,
    /// Launch templates that are there.
    pub(super) templates: BTreeSet<LaunchTemplateName>,
}

/// Makes the request for a batch, or says in words why there is none.
pub(super) async fn prepare<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    asked: &mut Asked,
    snapshot: &Snapshot,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<Result<Prepared, String>, PortError> {
    let LaunchPorts { cluster, catalog, discovery, profiles, offers, .. } = *ports;
    let Some(first) = claims.first() else { return Ok(Err("no claim is promised".to_owned())) };
    if asked.classes.is_none() {
        // It was ready when the claims were promised.
        let listed = cluster.node_classes().await?.items.into_iter();
        asked.classes = Some(listed.map(|listed| listed.class).collect());
    }
    let mut classes = asked.classes.iter().flatten();
    let Some(class) = classes.find(|class| class.name == first.node_class).cloned() else {
        return Ok(Err(format!("EC2NodeClass {} does not exist", first.node_class)));
    };
    let settings = discovery.cluster_settings(&at.cluster).await?;
    let class = match asked.resolutions.of(discovery, &settings, &class, at.now).await? {
        Resolution::Ready(class) => *class,
        Resolution::NotReady(problems) => {
            let name = &first.node_class;
            return Ok(Err(format!("EC2NodeClass {name} is not ready: {}", problems.join("; "))));
        }
    };
    let profile = match asked.profiles.get(&first.node_class) {
        Some(known) => known.clone(),
        None => ensure_profile(profiles, &settings, &class.class).await?,
    };
    asked.profiles.insert(first.node_class.clone(), profile.clone());
    let catalog = catalog.catalog().await?;
    let types = offers.offer(&catalog, &class, snapshot, at.now);
    let named = profile.as_deref().unwrap_or_default();
    let launch = match launch_template::requests(claims, &class, &types, &settings, named) {
        Ok(launch) => launch,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let mut request = launch.request;
    request.tags.insert(labels::BATCH_TAG.to_owned(), first.batch.to_string());
    let reserved = launch.templates.iter().filter_map(|template| {
        Some((template.name.clone(), template.data.reservation.as_ref()?.id.clone()))
    });
    let reservations = reserved.collect();
    let templates = launch.templates;
    Ok(Ok(Prepared { request, templates, class, types, profile, reservations }))
}
