//! Whether nodes of a class can be launched: EC2 is asked to check, and nothing is launched.
//!
//! It is this function that makes dry runs, because it is this function's rights that are in question.
//! `resolve` asks for them, and writes what they came to into the status of the class.
//!
//! Karpenter: `pkg/controllers/nodeclass/validation.go` of the AWS provider.

use jiff::{SignedDuration, Timestamp};
use launch_template::{
    BatchRefusal, PricedTypes,
    dry_run::{DryRunRequests, dry_run_requests as requests, judged},
};
use model::{
    NodeClassName,
    ledger::Snapshot,
    node_class::{ListedNodeClass, NodeClass},
    validation::{DryRunAnswer, FailedCheck, Validation},
};
use ports::{
    Adapters, Catalog as _, Cluster as _, Discovery as _, Fault, Fleet as _, Invocation,
    Ledger as _, PortError, Templates as _,
};

use super::{
    LaunchPorts,
    prepare::{listed_classes, resolved},
};
use crate::{Error, error::story, live::reservations};

/// What was asked so long ago has been asked again since.
const STALE: SignedDuration = SignedDuration::from_secs(55);

/// A dry run that `resolve` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunTrigger {
    /// About which class.
    pub class: NodeClassName,
    /// The validation is kept under it.
    pub key: String,
    /// When it was asked.
    pub asked_at: Timestamp,
}

/// Has EC2 check a launch from the class, and keeps what it says. A class that cannot be launched
/// from for other reasons is not checked: `resolve` says those.
pub async fn dry_run<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    trigger: &DryRunTrigger,
    at: &Invocation,
) -> Result<(), Error> {
    let LaunchPorts { ledger, cluster, .. } = *ports;
    let DryRunTrigger { class, key, asked_at } = trigger;
    if at.now.duration_since(*asked_at) >= STALE {
        return Ok(());
    }
    let classes = listed_classes(cluster, ports.settings).await?;
    let Some(listed) = classes.into_iter().find(|listed| listed.class.name == *class) else {
        return Ok(());
    };
    // Its condition Ready waits for this very dry run.
    let listed = ListedNodeClass { not_ready: None, ..listed };
    let class = &listed.class;
    let answered = match prepare(ports, &listed, key, at).await {
        Ok(wanted) => ask(ports, &wanted, class, key, at).await,
        Err(Unprepared::Refused(refusal @ BatchRefusal::UserDataSize { .. })) => {
            let failure = (FailedCheck::UserDataSize, refusal.to_string());
            Ok(Some(Validation::found(key, Some(failure), at.now)))
        }
        Err(Unprepared::Refused(why)) => {
            tracing::info!(class = %class.name, %why, "no dry run of the EC2NodeClass");
            return Ok(());
        }
        Err(Unprepared::Port(error)) => Err(error),
    };
    match answered {
        Ok(Some(validation)) => {
            Ok(ledger.put_validation(&at.cluster, &class.name, &validation).await?)
        }
        // `resolve` asks again in a minute.
        Ok(None) => Ok(()),
        Err(error) if matches!(error.fault, Fault::Permanent | Fault::Conflict) => {
            tracing::warn!(class = %class.name, story = story(&error), "no dry run of the EC2NodeClass");
            Ok(())
        }
        Err(error) => {
            tracing::info!(class = %class.name, story = story(&error), "dry run again in a minute");
            Ok(())
        }
    }
}

/// Why EC2 is not asked.
enum Unprepared {
    /// No dry run can be made, for this reason.
    Refused(BatchRefusal),
    /// What to ask could not be found.
    Port(PortError),
}

impl From<PortError> for Unprepared {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

impl From<BatchRefusal> for Unprepared {
    fn from(refusal: BatchRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What to ask EC2, from what the status of the class says that it selects: `resolve` wrote it before it
/// asked.
async fn prepare<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    listed: &ListedNodeClass,
    key: &str,
    at: &Invocation,
) -> Result<Box<DryRunRequests>, Unprepared> {
    let LaunchPorts { cluster, catalog, discovery, memory, .. } = *ports;
    let live = reservations(discovery, [listed]).await?;
    let (class, profile) = resolved(listed, &live, at.now).map_err(|obstacles| {
        BatchRefusal::NotReady { class: listed.class.name.clone(), obstacles }
    })?;
    let settings = discovery.cluster_settings(&at.cluster).await?;
    let pools = cluster.node_pools().await?.items;
    let catalog = catalog.catalog().await?;
    // What is unavailable, or was measured, has nothing to do with what is allowed.
    let types = memory.offers.offer(&catalog, &class, &Snapshot::default(), at.now);
    // A launch template of the user's own has a profile.
    let profile = profile.unwrap_or_default();
    let sold = PricedTypes {
        descriptions: Some(&catalog.descriptions),
        ..PricedTypes::at_list_prices(&types)
    };
    Ok(Box::new(requests(&class, sold, &pools, &settings, &profile, key)?))
}

/// One check after the other, until one fails; nothing where it has to be asked again.
async fn ask<A: Adapters>(
    ports: &LaunchPorts<'_, A>,
    wanted: &DryRunRequests,
    class: &NodeClass,
    key: &str,
    at: &Invocation,
) -> Result<Option<Validation>, PortError> {
    let LaunchPorts { templates, fleet, memory, .. } = *ports;
    let ensured = &memory.templates;
    let judged = |check, answer: &DryRunAnswer| judged(check, answer, class, key, at.now);
    if let Some(template) = &wanted.template {
        let answer = templates.dry_run(template).await?;
        if answer != DryRunAnswer::Works {
            return Ok(judged(FailedCheck::CreateLaunchTemplate, &answer));
        }
        // The rest is checked with it. Like every other it goes when it is old.
        ensured.ensure(templates, template).await?;
    }
    let answer = fleet.dry_run(&wanted.fleet).await.inspect_err(|_| ensured.forget())?;
    if answer != DryRunAnswer::Works {
        return Ok(judged(FailedCheck::CreateFleet, &answer));
    }
    // One subnet that works is enough; where none does, the first one's answer counts.
    let mut first = None;
    for instance in &wanted.instances {
        match fleet.dry_run_instance(instance).await {
            Ok(DryRunAnswer::Works) => {
                return Ok(judged(FailedCheck::RunInstances, &DryRunAnswer::Works));
            }
            Err(error) if matches!(error.fault, Fault::Transient | Fault::Unknown) => {
                return Err(error);
            }
            answer => first = first.or(Some(answer)),
        }
    }
    match first {
        Some(answer) => Ok(judged(FailedCheck::RunInstances, &answer?)),
        None => Ok(None),
    }
}
