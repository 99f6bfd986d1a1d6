//! Volumes of nodes whose pods are gone: waited for before the instances are terminated.
//!
//! The API server does not select attachments by node, so one list serves all claims of a pass, and only
//! passes in which a node has become empty ask for it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeClaim,
    claim::ClaimConditions,
    event::{EventObject, EventReason, ObjectEvent},
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
};
use planner::{VolumeStep, await_volumes};
use ports::{Adapters, Cluster, Fault, Invocation, Listing, Malformed, PortError};

use super::{AT_ONCE, DrainPorts, Ending};
use crate::{
    error::story,
    pass::{each, postpone, sooner},
    sync::keep,
};

/// What became of an ending.
enum Looked {
    /// Its instance may be terminated.
    Ends(Box<Ending>),
    /// Its volumes are waited for until then, and people are told.
    Waits(Timestamp, Option<ObjectEvent>),
}

/// What became of all of them.
pub(super) struct Settled {
    /// Those whose volumes are not waited for any more.
    pub(super) endings: Vec<Ending>,
    /// When the first of the others is due again.
    pub(super) again: Option<Timestamp>,
    /// What people are told of the others.
    pub(super) events: Vec<ObjectEvent>,
    /// Attachments that could not be read.
    pub(super) malformed: Vec<Malformed>,
}

/// Looks at the volumes of `endings`, where they have to be looked at.
pub(super) async fn settle<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    endings: Vec<Ending>,
    at: &Invocation,
) -> Settled {
    if endings.iter().all(|ending| ending.look.is_none()) {
        return Settled { endings, again: None, events: Vec::new(), malformed: Vec::new() };
    }
    // One that cannot be read waits with its own node only.
    let (attachments, malformed) = match ports.cluster.volume_attachments().await {
        Ok(Listing { items, malformed }) => (Ok(items), malformed),
        Err(error) => (Err(error), Vec::new()),
    };
    let attachments = attachments.as_deref();
    let (looked, mut again) = each(endings, AT_ONCE, ports.clock, at, async |ending| {
        look(ports, ending, attachments, at).await
    })
    .await;
    let (mut endings, mut events) = (Vec::new(), Vec::new());
    for looked in looked {
        match looked {
            Looked::Ends(ending) => endings.push(*ending),
            Looked::Waits(until, event) => {
                again = sooner(again, Some(until));
                events.extend(event);
            }
        }
    }
    Settled { endings, again, events, malformed }
}

async fn look<A: Adapters>(
    ports: &DrainPorts<'_, A>,
    ending: Ending,
    attachments: Result<&[VolumeAttachment], &PortError>,
    at: &Invocation,
) -> Looked {
    let Some(look) = &ending.look else { return Looked::Ends(Box::new(ending)) };
    let mut error = None;
    let (attachments, claims) = match attachments {
        Err(unread) => {
            error = Some(story(unread));
            (None, BTreeMap::new())
        }
        Ok(attachments) => {
            let is_any_here = attachments.iter().any(|attached| attached.node == look.node);
            let kept = look.kept.iter().filter(|_| is_any_here).collect();
            match claims(ports.cluster, kept).await {
                Ok(claims) => (Some(attachments), claims),
                Err(unread) => {
                    error = Some(story(&unread));
                    (None, BTreeMap::new())
                }
            }
        }
    };
    match await_volumes(&ending.claim, look, attachments, &claims, at.now) {
        VolumeStep::End(volumes) => {
            Looked::Ends(Box::new(Ending { volumes: Some(volumes), ..ending }))
        }
        VolumeStep::Wait { volumes, why, revisit_after_seconds } => {
            if let Some(error) = error {
                let error = PortError::because("look for volumes", Fault::Transient, error);
                let until =
                    postpone::<A>(ports.ledger, ports.clock, &ending.claim, &error, at).await;
                return Looked::Waits(until, None);
            }
            let conditions = ClaimConditions {
                drained_since: ending.drained_since,
                volumes: Some(volumes),
                ..ending.claim.conditions.clone()
            };
            let message = Some(why.as_str().into());
            let next = NodeClaim { conditions, message, retry: None, ..ending.claim.following() };
            let is_known =
                ending.claim.conditions == next.conditions && ending.claim.retry.is_none();
            if !is_known {
                keep::<A>(ports.ledger, ports.node_claims, &next, at).await;
            }
            let until = at.after(SignedDuration::from_secs(i64::from(revisit_after_seconds)));
            let about = EventObject::Node(look.node.clone());
            let event = ObjectEvent::new(about, EventReason::AwaitingVolumeDetachment, why);
            Looked::Waits(until, Some(event))
        }
    }
}

/// Those of `keys` that are there.
async fn claims(
    cluster: &impl Cluster,
    keys: BTreeSet<&VolumeClaimKey>,
) -> Result<BTreeMap<VolumeClaimKey, VolumeClaim>, PortError> {
    let mut claims = BTreeMap::new();
    for key in keys {
        claims.extend(cluster.volume_claim(key).await?.map(|claim| (key.clone(), claim)));
    }
    Ok(claims)
}
