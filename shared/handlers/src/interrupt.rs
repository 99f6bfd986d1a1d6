//! Announcements of EC2 → claims that are deleted, and whose pods get new nodes.
//!
//! A batch of announcements is one read of the index and one commit for each cluster, which no other function refuses.

use std::collections::BTreeMap;

use model::{
    ClusterName, InstanceId, NodeClaim, Plan,
    interruption::{Interruption, InterruptionKind, RebalanceRecommendations},
    ledger::{Guard, Snapshot},
    recorded::Question,
};
use ports::{Adapters, Fault, Invocation, Ledger as _, PortError};

use crate::{
    Report,
    decide::{ATTEMPTS_MAX, Decider},
    error::Error,
    memory::ProcessMemory,
    observe::ledger_only,
    settings::Settings,
};

/// Everything that `interrupt` may touch.
#[derive(Debug)]
pub struct InterruptPorts<'a, A: Adapters> {
    /// The claims, by their instances.
    pub ledger: &'a A::Ledger,
    /// For `drain`, and for `provision`, which finds other nodes for the pods.
    pub mailbox: &'a A::Mailbox,
    /// What is done about rebalance recommendations.
    pub settings: &'a Settings,
}

/// Deletes the claims of instances that EC2 takes back or that end, and marks the claims of instances with a
/// rebalance recommendation as drifted, if the settings ask for it. Instances without a claim are ignored: the rules
/// that feed the queue see the whole account. While something else is in charge of a cluster, nothing is done there.
pub async fn interrupt<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    interruptions: &[Interruption],
    at: &Invocation,
) -> Result<Report, Error> {
    let ignores = ports.settings.rebalance_recommendations == RebalanceRecommendations::Ignore;
    let mut by_instance: BTreeMap<InstanceId, Vec<Interruption>> = BTreeMap::new();
    for interruption in interruptions {
        if !ignores || interruption.kind != InterruptionKind::RebalanceRecommendation {
            let announced = by_instance.entry(interruption.instance.clone()).or_default();
            announced.push(interruption.clone());
        }
    }
    let instances: Vec<InstanceId> = by_instance.keys().cloned().collect();
    let mut report = Report::default();
    for _ in 0..ATTEMPTS_MAX {
        let mut by_cluster: BTreeMap<ClusterName, Vec<NodeClaim>> = BTreeMap::new();
        for (cluster, claim) in ports.ledger.claims_of_instances(&instances).await? {
            by_cluster.entry(cluster).or_default().push(claim);
        }
        let mut is_overtaken = false;
        for (cluster, claims) in by_cluster {
            let at = &Invocation { cluster, ..at.clone() };
            match decide(ports, claims, &by_instance, at).await? {
                Some(plan) => report.plan = Some(plan),
                None => is_overtaken = true,
            }
        }
        if !is_overtaken {
            return Ok(report);
        }
    }
    // The two minutes of a notice run: the message comes again.
    Err(PortError::new("commit", Fault::Conflict).into())
}

/// The plan that was committed for `claims`, all of one cluster; `None` if another function changed a claim first.
async fn decide<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    claims: Vec<NodeClaim>,
    by_instance: &BTreeMap<InstanceId, Vec<Interruption>>,
    at: &Invocation,
) -> Result<Option<Plan>, Error> {
    let InterruptPorts { ledger, mailbox, settings } = *ports;
    let head = ledger.head(&at.cluster).await?;
    // An old guard does not hold announcements up: nothing is done only while it says that something else is in charge.
    if let Guard::Held { by, .. } = &head.guard {
        tracing::warn!(by, claims = claims.len(), "nothing is done");
        return Ok(Some(Plan::default()));
    }
    let announced = claims.iter().filter_map(|claim| {
        let interruptions = by_instance.get(&claim.instance.as_ref()?.id)?;
        Some((claim.name.clone(), interruptions.clone()))
    });
    let question = Question::Interrupt(announced.collect());
    let claims = claims.into_iter().map(|claim| (claim.name.clone(), claim)).collect();
    let facts = ledger_only(Snapshot { head, claims, ..Snapshot::default() }, at);
    let memory = &ProcessMemory::default();
    let decider = Decider::<A> { ledger, mailbox, memory, record: settings.record };
    Ok(decider.decide(&facts, &question, at).await?.map(|(answer, _)| answer.plan))
}
