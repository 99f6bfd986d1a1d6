//! Everything that a fleet request names, found and made.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use launch_template::{BatchRefusal, Live, PricedTypes, of_status};
use model::{
    InstanceType, LaunchTemplateName, NodeClaim, NodeClassName, ReservationId,
    condition::{ConditionReason, NotReady},
    event::EventReason,
    labels,
    launch::{FleetRequest, LaunchTemplate},
    node_class::{ListedNodeClass, Obstacle, ResolvedNodeClass, TemplateSource},
};
use ports::{Adapters, Cluster, Discovery as _, Invocation, PortError};

use super::{LaunchPorts, Shared};
use crate::{Settings, observe::candidate_images};

/// A request, and what it was made of.
pub(super) struct Prepared {
    pub(super) request: FleetRequest,
    /// Launch templates that must exist before it is sent.
    pub(super) templates: Vec<LaunchTemplate>,
    pub(super) class: ResolvedNodeClass,
    /// As nodes of the class would have them, without what overlays change.
    pub(super) types: Vec<Arc<InstanceType>>,
    /// The instance profile, unless a launch template of the user's own has it.
    pub(super) profile: Option<String>,
    /// Launch templates that are for a capacity reservation, and for which.
    pub(super) reservations: BTreeMap<LaunchTemplateName, ReservationId>,
}

/// EC2NodeClasses, and what of that which they select changes with every launch.
pub(super) struct Classes {
    pub(super) listed: Vec<ListedNodeClass>,
    pub(super) live: Live,
}

impl Classes {
    /// Asks once for all batches of a pass.
    pub(super) async fn look<A: Adapters>(
        ports: &LaunchPorts<'_, A>,
        at: &Invocation,
    ) -> Result<Self, PortError> {
        let LaunchPorts { cluster, discovery, memory, settings, .. } = *ports;
        let listed = listed_classes(cluster, settings).await?;
        let live = memory.addresses.live(discovery, &listed, at.now).await?;
        Ok(Self { listed, live })
    }
}

/// The EC2NodeClasses of the cluster, with the gates of `settings`.
pub(super) async fn listed_classes(
    cluster: &impl Cluster,
    settings: &Settings,
) -> Result<Vec<ListedNodeClass>, PortError> {
    let mut listed = cluster.node_classes().await?.items;
    settings.open_gates(listed.iter_mut().map(|listed| &mut listed.class));
    Ok(listed)
}

/// Why there is no request for a batch.
#[derive(Debug)]
pub(super) enum Unprepared {
    /// There never will be.
    Refused(LaunchRefusal),
    /// What its class selects now is not known: its newest generation was not resolved yet, or it is not
    /// known whether it can be launched from, as the value says.
    NotYet(LaunchRefusal, ConditionReason),
    /// It could not be asked.
    Port(PortError),
}

impl<R: Into<LaunchRefusal>> From<R> for Unprepared {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

/// What stands against a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LaunchRefusal {
    /// There is no EC2NodeClass of this name.
    #[error("EC2NodeClass {0} does not exist")]
    ClassNotFound(NodeClassName),
    /// It cannot be launched.
    #[error(transparent)]
    Launch(#[from] BatchRefusal),
}

impl LaunchRefusal {
    /// The event about the claims, which are deleted.
    ///
    /// Karpenter: `pkg/controllers/nodeclaim/lifecycle/launch.go`, and `Create` of the AWS provider, by which a
    /// class that is not there or is being deleted is capacity that is not there.
    pub(super) fn event(&self) -> Option<EventReason> {
        let without_capacity = EventReason::InsufficientCapacityError;
        match self {
            Self::ClassNotFound(_) | Self::Launch(BatchRefusal::NoCapacity { .. }) => {
                Some(without_capacity)
            }
            Self::Launch(BatchRefusal::NotReady { obstacles, .. }) => {
                let is_deleting = obstacles.contains(&Obstacle::Terminating);
                Some(if is_deleting { without_capacity } else { EventReason::NodeClassNotReady })
            }
            Self::Launch(_) => None,
        }
    }
}

/// Makes the request for a batch, from what the status of its class says.
///
/// Karpenter: `pkg/controllers/nodeclaim/lifecycle/launch.go`: a claim whose class is not ready goes, and
/// one whose class is not known to be ready is tried again.
pub(super) async fn prepare<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    shared: &Shared,
    claims: &[NodeClaim],
    at: &Invocation,
) -> Result<Box<Prepared>, Unprepared> {
    let LaunchPorts { discovery, memory, .. } = *ports;
    let Shared { snapshot, catalog, classes: Classes { listed, live }, overlays } = shared;
    let Some(first) = claims.first() else { return Err(BatchRefusal::NoClaims.into()) };
    let name = &first.node_class;
    let Some(listed) = listed.iter().find(|listed| listed.class.name == *name) else {
        return Err(LaunchRefusal::ClassNotFound(name.clone()).into());
    };
    let (mut class, profile) = resolved(listed, live, at.now).map_err(|obstacles| {
        let refusal = BatchRefusal::NotReady { class: name.clone(), obstacles };
        match awaited(listed) {
            Some(word) => Unprepared::NotYet(refusal.into(), word),
            None => refusal.into(),
        }
    })?;
    if first.annotations.contains_key(labels::CANARY) {
        // The first that an instance type starts on is taken.
        class.images.splice(0..0, candidate_images(listed));
    }
    let settings = discovery.cluster_settings(&at.cluster).await.map_err(Unprepared::Port)?;
    launch_template::choose_last(&mut class, &snapshot.shortages, at.now);
    let types = memory.offers.offer(catalog, &class, snapshot, at.now);
    let overlaid = overlays.types(first, &types).map_err(Unprepared::Port)?;
    let descriptions = Some(&catalog.descriptions);
    let sold = PricedTypes { types: overlaid, listed: &types, descriptions };
    let named = profile.as_deref().unwrap_or_default();
    let min_values = ports.settings.policies.min_values;
    let launch =
        launch_template::requests_with(claims, &class, sold, &settings, named, min_values)?;
    let mut request = launch.request;
    request.tags.insert(labels::BATCH_TAG.to_owned(), first.batch.to_string());
    let ledger = snapshot.head.ledger.as_ref();
    request.tags.extend(ledger.map(|id| (labels::LEDGER_TAG.to_owned(), id.to_string())));
    let reserved = launch.templates.iter().filter_map(|template| {
        Some((template.name.clone(), template.data.reservation.as_ref()?.id.clone()))
    });
    let reservations = reserved.collect();
    let templates = launch.templates;
    Ok(Box::new(Prepared { request, templates, class: *class, types, profile, reservations }))
}

/// What is waited for, if it may only be a matter of time until the class that is `listed` can be launched
/// from.
fn awaited(listed: &ListedNodeClass) -> Option<ConditionReason> {
    if listed.class.is_deleting || !listed.class.problems.is_empty() {
        return None;
    }
    match listed.not_ready.as_ref()? {
        NotReady::Conditions { ready: Some(ready), .. } if ready.is_false => None,
        NotReady::Unseen | NotReady::Conditions { .. } => {
            Some(ConditionReason::NodeClassReadinessUnknown)
        }
        NotReady::Stale | NotReady::Unreadable(_) => Some(ConditionReason::NodeClassNotReady),
    }
}

/// The class that is `listed` with what it selects, and the instance profile of its nodes unless a launch
/// template of the user's own has it; or what stands against launching from it.
pub(super) fn resolved(
    listed: &ListedNodeClass,
    live: &Live,
    now: Timestamp,
) -> Result<(Box<ResolvedNodeClass>, Option<String>), Vec<Obstacle>> {
    let class = of_status(listed, live, now)?;
    let profile = listed.status.as_ref().and_then(|status| status.instance_profile.clone());
    match (&class.class.launch_template, profile) {
        (TemplateSource::Named(_), _) => Ok((class, None)),
        (TemplateSource::Made, Some(profile)) => Ok((class, Some(profile))),
        (TemplateSource::Made, None) => {
            let why = "it does not say which instance profile its nodes get";
            Err(vec![Obstacle::NotReady(NotReady::Unreadable(why.to_owned()))])
        }
    }
}
