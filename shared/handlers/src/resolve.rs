//! EC2NodeClasses, NodePools and NodeOverlays → what their status says.
//!
//! Each class by itself: one that cannot be looked up does not keep the status of others from being updated.
//! Deciders launch nothing from a class that is not said to be ready.
//!
//! Karpenter: `pkg/controllers/nodeclass` of the AWS provider.

mod fitting;
mod rollout;
mod selected;
mod validation;

use std::sync::Arc;

use launch_template::{
    Checks, DryRun, ExpressionCheck, Findings, NodeSettings, expression_failure, readiness,
};
use model::{
    RegionCatalog,
    ledger::{Head, Snapshot},
    message::{Delivery, Message},
    node_class::{
        ClusterSettings, NodeClass, NodeClassStatus, ObservedNodeClass, ResolvedTemplate,
    },
    node_pool::{ClassReadiness, ObservedNodePool},
    wake::WakeFinding,
};
use planner::disruption::rollout_condition;
use ports::{
    Adapters, AlphaStatuses as _, Catalog as _, Discovery as _, Fault, Invocation, Ledger as _,
    Listing, Mailbox as _, Malformed, NodeClasses as _, NodePools as _, PortError,
};

use crate::{
    Error, Metrics, ProcessMemory, Report, Settings,
    error::story,
    job::{Job, Jobs, Tally},
    pools::{self, Beside, Classes},
};
use fitting::{Fitting, ReadyClasses};
use selected::{ensure_profile, look_up};

/// What NodePools have stands with the ledger's counters. The words of a quota, which do not, are written before their
/// claims are withdrawn.
const PASSES_PER_READ: u32 = 10;

/// Everything that `resolve` may touch.
#[derive(Debug)]
pub struct ResolvePorts<'a, A: Adapters> {
    /// EC2NodeClasses and their status.
    pub node_classes: &'a A::NodeClasses,
    /// NodePools and their status.
    pub node_pools: &'a A::NodePools,
    /// NodeOverlays and their status.
    pub statuses: &'a A::AlphaStatuses,
    /// What can be bought.
    pub catalog: &'a A::Catalog,
    /// What EC2NodeClasses select, and what nodes need to know of the cluster.
    pub discovery: &'a A::Discovery,
    /// Instance profiles of the nodes.
    pub profiles: &'a A::Profiles,
    /// The claims, how launches ended, and what dry runs came to.
    pub ledger: &'a A::Ledger,
    /// Dry runs, which `launch` makes.
    pub mailbox: &'a A::Mailbox,
    /// Whether launches from a class are checked before it is ready.
    pub settings: &'a Settings,
    /// What NodePools have and may have.
    pub metrics: &'a Metrics,
    /// The instance types that each EC2NodeClass offers, and the claims while nothing happens.
    pub memory: &'a ProcessMemory,
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

/// Updates the status of every EC2NodeClass: what it selects and whether it can be launched from; and of
/// every NodePool: whether it can be used and what it has; and, with the gate `NodeOverlay`, of every NodeOverlay.
///
/// Whether a class can be launched from is checked by a dry run of `launch`, unless dry runs are disabled.
pub async fn resolve<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    at: &Invocation,
) -> Result<Report, Error> {
    let head = ports.ledger.head(&at.cluster).await?;
    if let Some(reason) = head.objection(at.now) {
        tracing::warn!(reason, "nothing is done");
        return Ok(Report::default());
    }
    let mut observed = ports.node_classes.observed_classes().await?;
    ports.settings.open_gates(observed.items.iter_mut().map(|observed| &mut observed.class));
    let settings = ports.discovery.cluster_settings(&at.cluster).await?;
    let mut jobs = Jobs::default();
    let types = types_of_expressions(ports, &observed.items, &mut jobs).await;
    let seen =
        update_class_statuses(ports, (&settings, types.as_deref()), &observed.items, at).await;
    let (classes, ready, updated) = seen;
    jobs.note(Job::NodeClassStatus, updated);
    let mut malformed = observed.malformed;
    let all_are_known = malformed.is_empty();
    let pools = jobs.take(Job::NodePoolStatus, ports.node_pools.observed_pools().await);
    let (pools, unreadable) = pools.map(|pools| (pools.items, pools.malformed)).unzip();
    malformed.extend(unreadable.unwrap_or_default());
    let fitting = look_at_types(ports, &ready, pools.as_deref(), &mut jobs, at).await;
    let (fitting, unreadable) = fitting.unzip();
    malformed.extend(unreadable.unwrap_or_default());
    if let Some(pools) = pools {
        let wake = probe(ports, &mut jobs).await;
        let beside = (&classes, all_are_known, fitting.as_ref(), &wake);
        let updated = update_pool_statuses(ports, (&head, &pools), beside, at).await;
        jobs.note(Job::NodePoolStatus, updated);
    }
    jobs.done()?;
    Ok(Report { plan: None, malformed })
}

/// What can be bought, if any of `classes` has an expression to evaluate for it.
async fn types_of_expressions<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    classes: &[ObservedNodeClass],
    jobs: &mut Jobs,
) -> Option<Arc<RegionCatalog>> {
    let is_evaluated = |class: &NodeClass| {
        !class.kubelet.expressions().is_empty() && class.kubelet_fault().is_none()
    };
    if !classes.iter().any(|observed| is_evaluated(&observed.class)) {
        return None;
    }
    jobs.take(Job::InstanceTypes, ports.catalog.catalog().await)
}

/// What the expressions of `class` come to on the `types`, if these are known.
fn check_expressions(
    class: &NodeClass,
    types: Option<&RegionCatalog>,
    nodes: &NodeSettings,
) -> ExpressionCheck {
    let types = types.filter(|types| !types.instance_types.is_empty());
    match types {
        _ if class.kubelet.expressions().is_empty() => ExpressionCheck::Passed,
        None => ExpressionCheck::Pending,
        Some(types) => expression_failure(types, class, nodes)
            .map_or(ExpressionCheck::Passed, ExpressionCheck::Failed),
    }
}

/// Looks which NodePools fit no instance type and, with the gate `NodeOverlay`, updates the status of every overlay.
/// `None` if the types or the NodePools could not be read; else what was found, and the overlays that could not be
/// read.
async fn look_at_types<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    ready: &ReadyClasses,
    pools: Option<&[ObservedNodePool]>,
    jobs: &mut Jobs,
    at: &Invocation,
) -> Option<(Fitting, Vec<Malformed>)> {
    let pools = pools?.iter().map(|observed| observed.pool.clone()).collect();
    let catalog = jobs.take(Job::InstanceTypes, ports.catalog.catalog().await)?;
    let policies = ports.settings.policies;
    let overlays = if policies.node_overlay {
        let listing = unless_refused(ports.statuses.observed_overlays().await);
        jobs.take(Job::NodeOverlayStatus, listing).unwrap_or_default()
    } else {
        Listing::default()
    };
    let specs = overlays.items.iter().map(|observed| observed.overlay.clone()).collect();
    let fitting = Fitting::of(ports.memory, (&catalog, ready), (pools, specs), policies, at);
    let updated = fitting.update_overlays(ports.statuses, &overlays.items, at).await;
    jobs.note(Job::NodeOverlayStatus, unless_refused(updated));
    Some((fitting, overlays.malformed))
}

/// Nothing where `result` is a refusal for good, as by RBAC of an older release: the log says so, and it fails nothing.
/// Nothing depends on the status of NodeOverlays, and each minute has the same answer.
fn unless_refused<T: Default>(result: Result<T, PortError>) -> Result<T, PortError> {
    match result {
        Err(error) if error.fault == Fault::Permanent => {
            let cure = "if the rights are missing, apply the RBAC of this release";
            tracing::warn!(story = story(&error), cure, "no status of NodeOverlays");
            Ok(T::default())
        }
        result => result,
    }
}

/// Updates the status of every class that is not being deleted. What is known of the classes then is known
/// whether or not their status could be updated.
async fn update_class_statuses<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    (settings, types): (&ClusterSettings, Option<&RegionCatalog>),
    observed: &[ObservedNodeClass],
    at: &Invocation,
) -> (Classes, ReadyClasses, Result<(), PortError>) {
    let (mut known, mut tally) = (Classes::new(), Tally::default());
    let mut ready = ReadyClasses::new();
    let ledger = ledger_of_rollouts(ports, observed, at).await;
    for class in observed {
        let name = class.class.name.clone();
        if class.class.is_deleting {
            known.insert(name, (ClassReadiness::Terminating, class.generation));
            continue;
        }
        known.insert(name.clone(), (ClassReadiness::Unknown, class.generation));
        let expressions = check_expressions(&class.class, types, &ports.settings.nodes);
        let resolved = match (&ledger, &class.class.rollout) {
            // What is halted or accepted is not known.
            (Err(error), Some(_)) => Err(error.clone()),
            (known, _) => {
                let none = Snapshot::default();
                let known = known.as_ref().unwrap_or(&none);
                status(ports, (settings, expressions), (class, known), at).await
            }
        };
        let updated = match resolved {
            Ok((status, message)) => {
                let readiness = pools::readiness(&status);
                let is_ready = readiness == ClassReadiness::Ready;
                known.insert(name.clone(), (readiness, class.generation));
                let updated = write_status(ports, class, &status, message, at).await;
                ready.extend(is_ready.then(|| (class.class.clone(), status)));
                updated
            }
            Err(error) => Err(error),
        };
        tally.note_update(format_args!("EC2NodeClass {name}"), updated);
    }
    (known, ready, tally.done())
}

/// The ledger, if any of `classes` has rollouts: what is halted or accepted moves no counter.
async fn ledger_of_rollouts<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    classes: &[ObservedNodeClass],
    at: &Invocation,
) -> Result<Snapshot, PortError> {
    if classes.iter().all(|observed| observed.class.rollout.is_none()) {
        return Ok(Snapshot::default());
    }
    ports.ledger.snapshot(&at.cluster).await
}

/// Updates the status of a class, and then asks for the dry run that it waits for: `launch` checks what the
/// status says.
async fn write_status<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    class: &ObservedNodeClass,
    status: &NodeClassStatus,
    message: Option<Message>,
    at: &Invocation,
) -> Result<(), PortError> {
    ports.node_classes.update_class_status(class, status).await?;
    match message {
        Some(message) => {
            let cluster = at.cluster.clone();
            ports.mailbox.send(&[Delivery { cluster, message, delay_seconds: 0 }]).await
        }
        None => Ok(()),
    }
}

/// Whether the API server calls `wake`, in a stack that has it. What is no answer of the API server for good says
/// nothing of `wake`.
async fn probe<A: Adapters>(ports: &ResolvePorts<'_, A>, jobs: &mut Jobs) -> WakeFinding {
    if !ports.settings.has_wake {
        return WakeFinding::Absent;
    }
    match ports.node_pools.probe_wake().await {
        Ok(answer) => WakeFinding::Probed(answer),
        Err(error) if matches!(error.fault, Fault::Permanent | Fault::NotFound) => {
            let why = story(&error);
            tracing::warn!(story = why, "wake cannot be probed");
            WakeFinding::Refused(why)
        }
        Err(error) => {
            jobs.note(Job::WakeProbe, Err(error));
            WakeFinding::Unknown
        }
    }
}

/// Updates the status of each of `pools`.
async fn update_pool_statuses<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    (head, pools): (&Head, &[ObservedNodePool]),
    (classes, all_classes_are_known, fitting, wake): (
        &Classes,
        bool,
        Option<&Fitting>,
        &WakeFinding,
    ),
    at: &Invocation,
) -> Result<(), PortError> {
    let snapshot = ports.memory.ledger.under((head, PASSES_PER_READ), ports.ledger, at).await?;
    let beside = Beside {
        classes,
        all_classes_are_known,
        snapshot: &snapshot,
        registrations: ports.ledger.registrations(&at.cluster).await?,
        without_types: fitting.map(|fitting| &fitting.without_types),
        wake,
        metrics: ports.metrics,
    };
    pools::update_statuses(ports.node_pools, ports.ledger, pools, &beside, at).await
}

/// What the status of a class is to say, and the dry run that it waits for, if one is due.
async fn status<A: Adapters>(
    ports: &ResolvePorts<'_, A>,
    (settings, expressions): (&ClusterSettings, ExpressionCheck),
    (observed, ledger): (&ObservedNodeClass, &Snapshot),
    at: &Invocation,
) -> Result<(NodeClassStatus, Option<Message>), PortError> {
    let class = &observed.class;
    let selected = look_up(ports.discovery, settings, class, at.now).await?;
    let profile = match ensure_profile(ports.profiles, settings, class).await {
        Ok(name) => name,
        // IAM's word leaves the condition open; everything else is written all the same.
        Err(error) if error.fault == Fault::Permanent => {
            tracing::warn!(class = %class.name, story = story(&error), "no instance profile");
            None
        }
        Err(error) => return Err(error),
    };
    let (launched_with, launch_template_version) = match &selected.launch_template {
        Ok(ResolvedTemplate::Named { name, version }) => {
            (Some(format!("{name} {version}")), version.number())
        }
        Ok(ResolvedTemplate::Made) => (profile.clone(), None),
        Err(_) => (None, None),
    };
    let findings = Findings::of(&selected);
    let checks = Checks {
        has_instance_profile: profile.is_some(),
        has_service_cidr: settings.service_cidr.is_some(),
        expressions,
        dry_run: match ports.settings.dry_runs {
            DryRuns::Enabled => DryRun::Pending,
            DryRuns::Disabled => DryRun::Disabled,
        },
        reserved_capacity: true,
    };
    let mut subnets = selected.subnets;
    subnets.sort_by(|left, other| {
        let free = |subnet: &model::node_class::Subnet| subnet.available_ip_address_count;
        free(other).cmp(&free(left)).then_with(|| left.id.cmp(&other.id))
    });
    let ready = readiness(class, &findings, Some(&checks));
    let awaits_dry_run = ready.awaits_dry_run();
    let hash = class.hash.map(|hash| hash.with_ca_bundle(&settings.ca_bundle));
    let images = (hash, selected.images.unwrap_or_default());
    let (images, candidates) =
        rollout::images(ports.discovery, settings, observed, images, ledger).await?;
    let mut status = NodeClassStatus {
        conditions: ready.into_conditions(),
        subnets,
        security_groups: selected.security_groups,
        images,
        candidates,
        reservations: selected.reservations,
        instance_profile: profile,
        placement_group: selected.placement_group.ok().flatten(),
        launch_template_version,
        hash,
        found_at: at.now,
    };
    if let (true, Some(launched_with)) = (awaits_dry_run, launched_with) {
        let (dry_run, message) =
            validation::dry_run(ports, observed, &status, &launched_with, at).await?;
        let checks = Checks { dry_run, ..checks };
        status.conditions = readiness(class, &findings, Some(&checks)).into_conditions();
        status.conditions.extend(rollout_condition(class, ledger));
        return Ok((status, message));
    }
    status.conditions.extend(rollout_condition(class, ledger));
    Ok((status, None))
}
