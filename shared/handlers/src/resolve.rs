//! EC2NodeClasses and NodePools → what their status says; and instance profiles that nobody uses any
//! more go, and so do old launch templates. NodeClaim objects that do not say what the ledger
//! says are made to.
//!
//! Classes are told apart: one that cannot be looked up does not keep the others from being told.
//! Deciders launch nothing from a class that is not said to be ready.
//!
//! Karpenter: `pkg/controllers/nodeclass` and `pkg/controllers/nodeclass/instanceprofile` of the AWS
//! provider.

mod validation;

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use launch_template::conditions::{DryRun, Findings, conditions};
use model::{
    ClaimPhase, InstanceId, NodeClassName, labels,
    ledger::Snapshot,
    message::Message,
    node_class::{
        ClusterSettings, InstanceProfile, NodeClass, NodeClassStatus, NodeIdentity,
        ResolvedTemplate, SeenNodeClass, TemplateSource,
    },
    node_pool::{ClassReadiness, NodePool, SeenNodePool},
    static_hash::NODE_POOL,
};
use ports::{
    Adapters, Discovery as _, Fault, Fleet, Invocation, Ledger, Mailbox, Malformed,
    NodeClasses as _, NodePools as _, PortError, Profiles, Templates as _,
};

use crate::{
    Error, Report,
    error::story,
    mail::send,
    observe::class_hashes,
    pools::{self, Classes},
    projection,
    resolution::{ensure_profile, look_up},
};
use validation::Candidate;

/// A new instance profile is left alone for so long, whoever may want it.
///
/// Karpenter: `pkg/providers/instanceprofile`, protected profiles.
const PROTECTED: SignedDuration = SignedDuration::from_hours(1);

/// A launch template is kept for so long. One that is wanted after that is made again.
const TEMPLATE_KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Seconds until `settle` looks at a claim that is being written.
const TOLD_AFTER_SECONDS: u32 = 5;

/// Everything that `resolve` may touch.
#[derive(Debug)]
pub struct ResolvePorts<'a, A: Adapters> {
    /// EC2NodeClasses and their status.
    pub node_classes: &'a A::NodeClasses,
    /// NodePools and their status.
    pub node_pools: &'a A::NodePools,
    /// NodeClaim objects.
    pub node_claims: &'a A::NodeClaims,
    /// What EC2NodeClasses select, and what nodes need to know of the cluster.
    pub discovery: &'a A::Discovery,
    /// Instance profiles of the nodes.
    pub profiles: &'a A::Profiles,
    /// Launch templates that were made.
    pub templates: &'a A::Templates,
    /// Instances whose capacity reservation may be over.
    pub fleet: &'a A::Fleet,
    /// The claims, and what dry runs came to.
    pub ledger: &'a A::Ledger,
    /// Dry runs, which `launch` makes, and claims for `settle` to look at.
    pub mailbox: &'a A::Mailbox,
    /// Whether launches from a class are checked before it is ready.
    pub dry_runs: DryRuns,
}

/// Whether EC2 checks a launch from an EC2NodeClass before the class is ready.
///
/// Karpenter: the setting `DISABLE_DRY_RUN` of the AWS provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRuns {
    /// `launch` has EC2 check it.
    #[default]
    Enabled,
    /// Classes are ready without it.
    Disabled,
}

/// Tells of every EC2NodeClass what it selects and whether it can be launched from, of every
/// NodePool whether it can be used and what it has, and removes the instance profiles that were made
/// for a role and are not used any more, and old launch templates. Claims whose capacity reservation is
/// over are said to be on-demand.
///
/// Whether a class can be launched from is tried out by `launch`, unless dry runs are disabled.
pub async fn resolve<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    at: &Invocation,
) -> Result<Report, Error> {
    let ResolvePorts { node_classes, node_pools, node_claims, ledger, .. } = *ports;
    let ResolvePorts { discovery, profiles, templates, fleet, mailbox, .. } = *ports;
    if let Err(error) = projection::sweep(node_claims, ledger, at).await {
        tracing::warn!(story = story(&error), "NodeClaims not compared");
    }
    let seen = node_classes.seen().await?;
    let settings = discovery.cluster_settings(&at.cluster).await?;
    let (mut failed, mut known) = (None, Classes::new());
    for class in &seen.items {
        let name = class.class.name.clone();
        if class.class.is_deleting {
            known.insert(name, (ClassReadiness::Terminating, class.generation));
            continue;
        }
        known.insert(name.clone(), (ClassReadiness::Unknown, class.generation));
        let told = match status(ports, &settings, class, at).await {
            Ok(status) => {
                known.insert(name, (pools::readiness(&status), class.generation));
                node_classes.tell(class, &status).await
            }
            Err(error) => Err(error),
        };
        match told {
            Ok(()) => {}
            // It changed, or it went: the next look is about what is there then.
            Err(error) if matches!(error.fault, Fault::Conflict | Fault::NotFound) => {}
            Err(error) => {
                let class = &class.class.name;
                tracing::warn!(%class, story = story(&error), "EC2NodeClass not resolved");
                failed = failed.or(Some(error));
            }
        }
    }
    let snapshot = ledger.snapshot(&at.cluster).await?;
    let hashes = class_hashes(&settings, seen.items.iter().map(|seen| &seen.class));
    let all_are_known = seen.malformed.is_empty();
    let pools = node_pools.seen_pools().await?;
    let told = pools::tell(node_pools, &pools.items, &known, all_are_known, &snapshot, at).await;
    renew_hashes(ledger, &snapshot, &pools.items, &hashes, at).await?;
    demote(ledger, fleet, mailbox, &snapshot, at).await?;
    sweep(profiles, ledger, &settings, &seen.items, &seen.malformed, at).await?;
    // A launch that finds its template gone makes it again.
    for (name, created_at) in templates.list(&at.cluster).await? {
        if at.now.duration_since(created_at) > TEMPLATE_KEPT {
            templates.remove(&name).await?;
            tracing::info!(template = %name, "launch template removed");
        }
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    told?;
    let malformed = [seen.malformed, pools.malformed].concat();
    Ok(Report { plan: None, malformed })
}

/// Claims with drift hashes of another version get those of this one. Whoever writes a claim in
/// between does not know the hashes; the next look finds it again.
async fn renew_hashes(
    ledger: &impl Ledger,
    snapshot: &Snapshot,
    pools: &[SeenNodePool],
    classes: &BTreeMap<NodeClassName, String>,
    at: &Invocation,
) -> Result<(), PortError> {
    let hash =
        |pool: &NodePool| Some((pool.name.clone(), pool.annotations.get(NODE_POOL.key)?.clone()));
    let pools = pools.iter().filter_map(|seen| hash(&seen.pool)).collect();
    for claim in planner::renewed_hashes(snapshot, &pools, classes) {
        ledger.write_claim(&at.cluster, &claim).await?;
        tracing::info!(claim = %claim.name, "drift hash of another version written anew");
    }
    Ok(())
}

/// Claims whose capacity reservation is over, and whose instances are not, are on demand from now on.
/// `settle` is asked to tell their nodes, first: a claim that could not be written is found again.
async fn demote(
    ledger: &impl Ledger,
    fleet: &impl Fleet,
    mailbox: &impl Mailbox,
    snapshot: &Snapshot,
    at: &Invocation,
) -> Result<(), PortError> {
    let reserved = planner::reserved(snapshot).filter_map(|claim| claim.instance.as_ref());
    let reserved: Vec<InstanceId> = reserved.map(|instance| instance.id.clone()).collect();
    if reserved.is_empty() {
        return Ok(());
    }
    let described = fleet.describe(&reserved).await?;
    for claim in planner::demoted(snapshot, &described) {
        let message = Message::Settle { claim: claim.name.clone() };
        send(mailbox, at, message, TOLD_AFTER_SECONDS).await?;
        ledger.write_claim(&at.cluster, &claim).await?;
        tracing::info!(claim = %claim.name, "its capacity reservation is over: on-demand");
    }
    Ok(())
}

async fn status<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    settings: &ClusterSettings,
    seen: &SeenNodeClass,
    at: &Invocation,
) -> Result<NodeClassStatus, PortError> {
    let class = &seen.class;
    let found = look_up(ports.discovery, settings, class, at.now).await?;
    let profile = match ensure_profile(ports.profiles, settings, class).await {
        Ok(name) => name,
        // IAM's word leaves the condition open; everything else is told all the same.
        Err(error) if error.fault == Fault::Permanent => {
            tracing::warn!(class = %class.name, story = story(&error), "no instance profile");
            None
        }
        Err(error) => return Err(error),
    };
    let launched_with = match &found.launch_template {
        Ok(ResolvedTemplate::Named { name, version }) => Some(format!("{name} {version}")),
        Ok(ResolvedTemplate::Made) => profile.clone(),
        Err(_) => None,
    };
    let findings = Findings {
        launch_template: found.launch_template.map(|_| ()),
        images: found.images.as_ref().map(Vec::len).map_err(Clone::clone),
        subnets: found.subnets.len(),
        security_groups: found.security_groups.len(),
        has_instance_profile: profile.is_some(),
        placement_group: found.placement_group.map(|group| group.is_some()),
        has_service_cidr: settings.service_cidr.is_some(),
        dry_run: match ports.dry_runs {
            DryRuns::Enabled => DryRun::Pending,
            DryRuns::Disabled => DryRun::Disabled,
        },
    };
    let mut subnets = found.subnets;
    subnets.sort_by(|one, other| {
        let free = |subnet: &model::node_class::Subnet| subnet.available_ip_address_count;
        free(other).cmp(&free(one)).then_with(|| one.id.cmp(&other.id))
    });
    let mut status = NodeClassStatus {
        conditions: conditions(class, &findings, true),
        subnets,
        security_groups: found.security_groups,
        images: found.images.unwrap_or_default(),
        reservations: found.reservations,
        instance_profile: profile,
        hash: class.hash.map(|hash| hash.with_ca_bundle(&settings.ca_bundle)),
        found_at: at.now,
    };
    if let Some(launched_with) = launched_with {
        let candidate = Candidate { seen, launched_with: &launched_with, findings };
        validation::validate(ports, candidate, &mut status, at).await?;
    }
    Ok(status)
}

/// Removes the profiles of the cluster that are of no use. The profiles are listed before the claims
/// are: one that is wanted later than that is made later, and then it is young.
async fn sweep(
    profiles: &impl Profiles,
    ledger: &impl Ledger,
    settings: &ClusterSettings,
    classes: &[SeenNodeClass],
    malformed: &[Malformed],
    at: &Invocation,
) -> Result<(), Error> {
    // A class that could not be read may be one that has a profile.
    if !malformed.is_empty() {
        return Ok(());
    }
    let known = profiles.list(&launch_template::instance_profile_paths(settings)).await?;
    if known.is_empty() {
        return Ok(());
    }
    let snapshot = ledger.snapshot(&at.cluster).await?;
    let wanted: BTreeSet<String> =
        classes.iter().filter_map(|seen| profile_of(settings, &seen.class)).collect();
    for profile in known {
        let age = at.now.duration_since(profile.created_at);
        let is_used = wanted.contains(&profile.name) || is_in_use(settings, &snapshot, &profile);
        if !is_used && age > PROTECTED {
            profiles.remove(&profile.name).await?;
            tracing::info!(profile = profile.name, "instance profile removed");
        }
    }
    Ok(())
}

/// The profile that launches with `class` take, if it is one of ours.
fn profile_of(settings: &ClusterSettings, class: &NodeClass) -> Option<String> {
    match &class.identity {
        _ if class.launch_template != TemplateSource::Made => None,
        NodeIdentity::Role(role) if !class.is_deleting => {
            Some(launch_template::instance_profile_name(settings, role, &class.name))
        }
        NodeIdentity::Role(_) | NodeIdentity::InstanceProfile(_) => None,
    }
}

/// Whether a claim has or may get an instance with `profile`: one of its class that says so, that is
/// still to be launched, or that does not say with which it was.
fn is_in_use(settings: &ClusterSettings, snapshot: &Snapshot, profile: &InstanceProfile) -> bool {
    snapshot.claims.values().any(|claim| {
        let said = claim.annotations.get(labels::INSTANCE_PROFILE);
        let is_open = claim.phase == ClaimPhase::Promised || said.is_none();
        let path = launch_template::instance_profile_path(settings, &claim.node_class);
        said == Some(&profile.name) || is_open && path == profile.path
    })
}
