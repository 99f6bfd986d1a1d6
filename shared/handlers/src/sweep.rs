//! Compares the actual with the desired state: corrects what differs, and removes what is
//! unused.
//!
//! The jobs do not hang together: one that fails keeps no other from running, and the call's error names
//! all that failed. What a job could not do the next call finds again.
//!
//! What a job may take away is listed before the ledger is read. Nothing is made before its claim is in
//! the ledger, so what was listed and has no claim afterwards has lost it.
//!
//! Karpenter: `pkg/controllers/nodeclass/instanceprofile` and `pkg/controllers/nodeclass/hash` of the
//! AWS provider.

mod claims;
mod guard;
mod instances;
mod node_claims;
mod standalone;
mod unused;
mod webhooks;
mod zonal_shift;

use std::rc::Rc;

use model::{
    claim::SyncedNodeClaim,
    id::is_object_name,
    launch::Instance,
    ledger::Snapshot,
    node_class::{ClusterSettings, InstanceProfile, ListedNodeClass},
    node_pool::NodePool,
};
use ports::{
    Adapters, Cluster as _, Discovery as _, Fault, Fleet as _, Invocation, Ledger as _, Listing,
    Malformed, NodeClaims as _, PortError, Profiles as _,
};

use crate::{
    Report,
    decide::delete,
    error::{Error, story},
    job::{Job, Jobs},
    memory::ProcessMemory,
    observe,
    recorder::Recorder,
    settings::Settings,
};

/// What deciders note on claims in service is shown by the sweep after the next at the latest.
const PASSES_PER_READ: u32 = 2;

/// Everything that `sweep` may touch.
#[derive(Debug)]
pub struct SweepPorts<'a, A: Adapters> {
    /// EC2NodeClasses, NodePools and nodes.
    pub cluster: &'a A::Cluster,
    /// Who provisions the cluster.
    pub leases: &'a A::Leases,
    /// What instances are and cost that are adopted.
    pub catalog: &'a A::Catalog,
    /// NodeClaim objects.
    pub node_claims: &'a A::NodeClaims,
    /// What nodes need to know of the cluster.
    pub discovery: &'a A::Discovery,
    /// Instance profiles that were made.
    pub profiles: &'a A::Profiles,
    /// Launch templates that were made.
    pub templates: &'a A::Templates,
    /// Instances: those without claims, and those whose capacity reservation may be over.
    pub fleet: &'a A::Fleet,
    /// The claims.
    pub ledger: &'a A::Ledger,
    /// For `launch`, `settle` and `drain`, when claims were created, adopted or deleted.
    pub mailbox: &'a A::Mailbox,
    /// Nodes whose claims must say something else than they do.
    pub nodes: &'a A::Nodes,
    /// The webhooks that call `wake`.
    pub webhooks: &'a A::Webhooks,
    /// Whether zonal shifts are asked for, and of what the path of `wake` is made.
    pub settings: &'a Settings,
    /// The claims while nothing happens.
    pub memory: &'a ProcessMemory,
    /// What people are told of them.
    pub recorder: Recorder<'a, A>,
    /// The time that is left to tell it.
    pub clock: &'a A::Clock,
}

/// Does each job once.
pub async fn sweep<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<Report, Error> {
    let result = each_job(ports, at).await;
    ports.recorder.publish(ports.clock, at).await;
    result
}

async fn each_job<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<Report, Error> {
    let mut jobs = Jobs::default();
    // Where it cannot be looked up, what was seen last counts for a while.
    let mut malformed = jobs.take(Job::Guard, guard::check(ports, at).await).unwrap_or_default();
    jobs.note(Job::Webhooks, webhooks::renew(ports, at).await);
    let head = ports.ledger.head(&at.cluster).await?;
    if let Some(reason) = head.objection(at.now) {
        tracing::warn!(reason, "nothing is done");
        return jobs.done().map(|()| Report { plan: None, malformed });
    }
    // Before instances are compared: those in zones that are left are not judged.
    let shifted = jobs.take(Job::ZonalShifts, zonal_shift::look(ports, &head, at).await);
    let mut instances = None;
    if instances::is_due(at) {
        instances = instances::equalize(ports, &mut jobs, at).await;
    }
    let seen = Seen::look(ports, at).await;
    if let (Some(Some(shifted)), Ok(pools), Ok(classes)) =
        (&shifted, &seen.node_pools, &seen.node_classes)
    {
        let change = (&head.shifted_zones, shifted);
        ports.recorder.note(planner::events::of_zonal_shifts(change, &pools.items, &classes.items));
    }
    if let Ok(snapshot) = &seen.snapshot {
        claims::tell_overdue(snapshot, at);
    }
    jobs.note(Job::InstanceStatus, seen.delete_impaired(ports, at).await);
    jobs.note(Job::NodeClaimObjects, seen.equalize_node_claims(ports, at).await);
    jobs.note(Job::Reservations, seen.demote(ports, at).await);
    jobs.note(Job::DriftHashes, seen.renew_hashes(ports, at).await);
    if let Some(instances) = &instances {
        jobs.note(Job::Drift, seen.tell_drift(ports, instances, at).await);
    }
    jobs.note(Job::InstanceProfiles, seen.remove_profiles(ports, at).await);
    if is_minute_of(unused::TEMPLATES_MINUTES, at) {
        jobs.note(Job::LaunchTemplates, unused::remove_templates(ports, at).await);
    }
    jobs.done()?;
    malformed.extend(seen.malformed());
    Ok(Report { plan: None, malformed })
}

/// Whether a job with this period in minutes is due in this minute.
fn is_minute_of(every: i64, at: &Invocation) -> bool {
    at.now.as_second().div_euclid(60) % every == 0
}

/// At most `most` of `items`, others each minute: those that fail for ever keep no other waiting.
fn in_turn<T>(mut items: Vec<T>, most: usize, at: &Invocation) -> Vec<T> {
    let minute = usize::try_from(at.now.as_second().div_euclid(60)).unwrap_or_default();
    if let Some(first) = minute.wrapping_mul(most.min(items.len())).checked_rem(items.len()) {
        items.rotate_left(first);
    }
    items.truncate(most);
    items
}

/// What the jobs look at, each by itself: what cannot be read fails those jobs only that need it.
struct Seen {
    node_claims: Result<Listing<SyncedNodeClaim>, PortError>,
    node_classes: Result<Listing<ListedNodeClass>, PortError>,
    node_pools: Result<Listing<NodePool>, PortError>,
    settings: Result<ClusterSettings, PortError>,
    /// None but in those minutes in which they are looked for.
    profiles: Result<Vec<InstanceProfile>, PortError>,
    /// Read after everything else.
    snapshot: Result<Rc<Snapshot>, PortError>,
}

impl Seen {
    async fn look<A: Adapters>(ports: &SweepPorts<'_, A>, at: &Invocation) -> Self {
        let settings = ports.discovery.cluster_settings(&at.cluster).await;
        let profiles = match &settings {
            _ if !is_minute_of(unused::PROFILES_MINUTES, at) => Ok(Vec::new()),
            Ok(settings) => {
                ports.profiles.list(&launch_template::instance_profile_paths(settings)).await
            }
            Err(error) => Err(retold(error)),
        };
        let mut node_classes = ports.cluster.node_classes().await;
        let listed = node_classes.iter_mut().flat_map(|listing| &mut listing.items);
        ports.settings.open_gates(listed.map(|listed| &mut listed.class));
        Self {
            node_claims: ports.node_claims.synced().await,
            node_classes,
            node_pools: ports.cluster.node_pools().await,
            settings,
            profiles,
            snapshot: read_ledger(ports, at).await,
        }
    }

    /// Claims are told of before EC2 is asked: what is launched meanwhile works as far as anybody knows.
    async fn delete_impaired<A: Adapters>(
        &self,
        ports: &SweepPorts<'_, A>,
        at: &Invocation,
    ) -> Result<(), Error> {
        let snapshot = known(&self.snapshot)?;
        if snapshot.claims.values().all(|claim| claim.instance.is_none()) {
            return Ok(());
        }
        let reports = ports.fleet.impaired().await?;
        let plan = planner::impaired(snapshot, &reports, at.now);
        if plan.is_empty() {
            return Ok(());
        }
        ports.memory.ledger.forget();
        let facts = observe::ledger_only(Snapshot::clone(snapshot), at);
        delete::<A>((ports.ledger, ports.mailbox), &facts, &plan, at).await.map(drop)
    }

    async fn equalize_node_claims<A: Adapters>(
        &self,
        ports: &SweepPorts<'_, A>,
        at: &Invocation,
    ) -> Result<(), Error> {
        if self.node_claims.as_ref().is_err_and(|error| error.fault == Fault::NotFound) {
            tracing::warn!("the cluster has no kind NodeClaim: claims are synced nowhere");
            return Ok(());
        }
        let (listing, snapshot) = (known(&self.node_claims)?, known(&self.snapshot)?);
        node_claims::equalize(ports, listing, snapshot, at).await
    }

    async fn demote<A: Adapters>(
        &self,
        ports: &SweepPorts<'_, A>,
        at: &Invocation,
    ) -> Result<(), PortError> {
        claims::demote(ports, known(&self.snapshot)?, at).await
    }

    async fn renew_hashes<A: Adapters>(
        &self,
        ports: &SweepPorts<'_, A>,
        at: &Invocation,
    ) -> Result<(), PortError> {
        let (settings, snapshot) = (known(&self.settings)?, known(&self.snapshot)?);
        let (pools, classes) = (known(&self.node_pools)?, known(&self.node_classes)?);
        let hashes = claims::Hashes::of(settings, &pools.items, &classes.items);
        claims::renew_hashes(ports, snapshot, &hashes, at).await
    }

    async fn tell_drift<A: Adapters>(
        &self,
        ports: &SweepPorts<'_, A>,
        instances: &[Instance],
        at: &Invocation,
    ) -> Result<(), PortError> {
        let (classes, snapshot) = (known(&self.node_classes)?, known(&self.snapshot)?);
        claims::tell_drift(ports, (snapshot, instances, &classes.items), at).await
    }

    async fn remove_profiles<A: Adapters>(
        &self,
        ports: &SweepPorts<'_, A>,
        at: &Invocation,
    ) -> Result<(), PortError> {
        let (settings, profiles) = (known(&self.settings)?, known(&self.profiles)?);
        let (classes, snapshot) = (known(&self.node_classes)?, known(&self.snapshot)?);
        let unreadable = classes.malformed.iter();
        let unreadable = unreadable.map(|class| {
            let (_, name) = class.object.split_once(' ')?;
            name.parse().ok().filter(|_| is_object_name(name))
        });
        // A class without a name may be the one of any profile.
        let Some(unreadable) = unreadable.collect::<Option<_>>() else { return Ok(()) };
        let items = snapshot.unreadable.as_slice();
        let shown = if items.is_empty() || profiles.is_empty() {
            Some(Vec::new())
        } else {
            unused::shown(ports, items).await?
        };
        let Some(shown) = shown else { return Ok(()) };
        let classes = &classes.items;
        let users = unused::ProfileUsers { settings, classes, unreadable, snapshot, shown };
        unused::remove_profiles(ports, profiles, &users, at).await
    }

    /// Objects that could not be read.
    fn malformed(self) -> Vec<Malformed> {
        let of_claims = self.node_claims.map(|listing| listing.malformed);
        let of_classes = self.node_classes.map(|listing| listing.malformed);
        let of_pools = self.node_pools.map(|listing| listing.malformed);
        [of_claims, of_classes, of_pools].into_iter().filter_map(Result::ok).flatten().collect()
    }
}

/// The ledger, read after everything that was looked at before.
async fn read_ledger<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<Rc<Snapshot>, PortError> {
    let head = ports.ledger.head(&at.cluster).await?;
    ports.memory.ledger.under((&head, PASSES_PER_READ), ports.ledger, at).await
}

/// What was read, or for each job that needs it why it could not be.
fn known<T>(read: &Result<T, PortError>) -> Result<&T, PortError> {
    read.as_ref().map_err(retold)
}

/// The same failure once more, with its causes in words.
fn retold(error: &PortError) -> PortError {
    match std::error::Error::source(error) {
        Some(source) => PortError::because(error.operation, error.fault, story(source)),
        None => PortError::new(error.operation, error.fault),
    }
}
