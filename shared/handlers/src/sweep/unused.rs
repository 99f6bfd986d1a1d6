//! What was made in the account and is of no use any more.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use model::{
    ClaimPhase, NodeClaim, NodeClassName, labels,
    ledger::{Snapshot, UnreadableItem},
    node_class::{
        ClusterSettings, InstanceProfile, ListedNodeClass, NodeClass, NodeIdentity, TemplateSource,
    },
};
use ports::{Adapters, Invocation, NodeClaims as _, PortError, Profiles as _, Templates as _};

use super::SweepPorts;
use crate::job::Tally;

/// Minutes between two looks for instance profiles that are unused.
///
/// Karpenter: `pkg/controllers/nodeclass/garbagecollection` of the AWS provider.
pub(super) const PROFILES_MINUTES: i64 = 30;
/// Minutes between two looks for launch templates that are old.
pub(super) const TEMPLATES_MINUTES: i64 = 60;

/// For this time a new instance profile is not removed.
///
/// Karpenter: `pkg/providers/instanceprofile`, protected profiles.
const PROTECTED: SignedDuration = SignedDuration::from_hours(1);

/// A launch template is kept for so long. One that is wanted after that is made again.
const TEMPLATE_KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Who may use an instance profile.
pub(super) struct ProfileUsers<'a> {
    pub(super) settings: &'a ClusterSettings,
    pub(super) classes: &'a [ListedNodeClass],
    /// Classes that cannot be read.
    pub(super) unreadable: BTreeSet<NodeClassName>,
    pub(super) snapshot: &'a Snapshot,
    /// What NodeClaim objects show of claims that the ledger has and that cannot be read there.
    pub(super) shown: Vec<NodeClaim>,
}

/// What NodeClaim objects show of the claims that `items` are, which cannot be read. `None`, and the log says why, if an
/// item is no claim or no object shows it: it may use any profile.
pub(super) async fn shown<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    items: &[UnreadableItem],
) -> Result<Option<Vec<NodeClaim>>, PortError> {
    let objects = ports.node_claims.objects().await?.items;
    let mut shown = Vec::new();
    for item in items {
        let is_its = |object: &&NodeClaim| item.claim.as_ref() == Some(&object.name);
        let Some(object) = objects.iter().find(is_its) else {
            let why = "it cannot be read, and no NodeClaim shows it";
            tracing::warn!(item = item.item, why, "no instance profile is removed");
            return Ok(None);
        };
        shown.push(object.clone());
    }
    Ok(Some(shown))
}

/// Removes those of `profiles` that are of no use. They were listed before the claims were read: one
/// that is wanted later than that is made later, and then it is young.
pub(super) async fn remove_profiles<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    profiles: &[InstanceProfile],
    users: &ProfileUsers<'_>,
    at: &Invocation,
) -> Result<(), PortError> {
    let wanted: BTreeSet<String> =
        users.classes.iter().filter_map(|listed| users.profile_of(&listed.class)).collect();
    let mut tally = Tally::default();
    for profile in profiles {
        let age = at.now.duration_since(profile.created_at);
        if age <= PROTECTED || wanted.contains(&profile.name) || users.have(profile) {
            continue;
        }
        let removed = ports.profiles.remove(&profile.name).await;
        if tally.note(format_args!("instance profile {}", profile.name), removed) {
            tracing::info!(profile = profile.name, "instance profile removed");
        }
    }
    tally.done()
}

impl ProfileUsers<'_> {
    /// The profile that launches with `class` take, if it is one of ours.
    fn profile_of(&self, class: &NodeClass) -> Option<String> {
        match &class.identity {
            _ if class.launch_template != TemplateSource::Made => None,
            NodeIdentity::Role(role) if !class.is_deleting => {
                Some(launch_template::instance_profile_name(self.settings, role, &class.name))
            }
            NodeIdentity::Role(_) | NodeIdentity::InstanceProfile(_) => None,
        }
    }

    /// Whether the class of `profile` cannot be read, or a claim has or may get an instance with `profile`: one of its
    /// class that says so, that is still to be launched, or that does not say with which it was.
    fn have(&self, profile: &InstanceProfile) -> bool {
        let is_of = |class: &NodeClassName| {
            launch_template::instance_profile_path(self.settings, class) == profile.path
        };
        let is_of_claim = |claim: &NodeClaim| {
            let named = claim.annotations.get(labels::INSTANCE_PROFILE);
            let is_open = claim.phase == ClaimPhase::Created || named.is_none();
            named == Some(&profile.name) || is_open && is_of(&claim.node_class)
        };
        let mut claims = self.snapshot.claims.values().chain(&self.shown);
        self.unreadable.iter().any(is_of) || claims.any(is_of_claim)
    }
}

/// Removes old launch templates. A launch that finds its template gone makes it again.
pub(super) async fn remove_templates<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<(), PortError> {
    let mut tally = Tally::default();
    for (name, created_at) in ports.templates.list(&at.cluster).await? {
        if at.now.duration_since(created_at) <= TEMPLATE_KEPT {
            continue;
        }
        let removed = ports.templates.remove(&name).await;
        if tally.note(format_args!("launch template {name}"), removed) {
            tracing::info!(template = %name, "launch template removed");
        }
    }
    tally.done()
}
