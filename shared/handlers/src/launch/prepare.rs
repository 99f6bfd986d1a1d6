//! Everything that a fleet request names, found and made.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use launch_template::Refusal;
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

/// What becomes of a batch that is to be requested.
pub(super) enum Preparation {
    /// It can be.
    Ready(Box<Prepared>),
    /// It cannot.
    Refused(LaunchRefusal),
}

/// Why there is no request for a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LaunchRefusal {
    /// There is no EC2NodeClass of this name.
    #[error("EC2NodeClass {0} does not exist")]
    ClassNotFound(NodeClassName),
    /// It cannot be launched.
    #[error(transparent)]
    Launch(#[from] Refusal),
}

/// Makes the request for a batch.
pub(super) async fn prepare<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    asked: &mut Asked,
    snapshot: &Snapshot,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<Preparation, PortError> {
    let LaunchPorts { cluster, catalog, discovery, profiles, offers, .. } = *ports;
    let refused = |refusal: LaunchRefusal| Ok(Preparation::Refused(refusal));
    let Some(first) = claims.first() else { return refused(Refusal::NoClaims.into()) };
    if asked.classes.is_none() {
        // It was ready when the claims were promised.
        let listed = cluster.node_classes().await?.items.into_iter();
        asked.classes = Some(listed.map(|listed| listed.class).collect());
    }
    let mut classes = asked.classes.iter().flatten();
    let Some(class) = classes.find(|class| class.name == first.node_class).cloned() else {
        return refused(LaunchRefusal::ClassNotFound(first.node_class.clone()));
    };
    let settings = discovery.cluster_settings(&at.cluster).await?;
    let class = match asked.resolutions.of(discovery, &settings, &class, at.now).await? {
        Resolution::Ready(class) => *class,
        Resolution::NotReady(obstacles) => {
            let class = first.node_class.clone();
            return refused(Refusal::NotReady { class, obstacles }.into());
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
        Err(refusal) => return refused(refusal.into()),
    };
    let mut request = launch.request;
    request.tags.insert(labels::BATCH_TAG.to_owned(), first.batch.to_string());
    let reserved = launch.templates.iter().filter_map(|template| {
        Some((template.name.clone(), template.data.reservation.as_ref()?.id.clone()))
    });
    let reservations = reserved.collect();
    let templates = launch.templates;
    let prepared = Prepared { request, templates, class, types, profile, reservations };
    Ok(Preparation::Ready(Box::new(prepared)))
}
