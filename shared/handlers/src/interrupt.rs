//! Instances end → their claims are given up, and their pods get new nodes.
//!
//! A batch of events is one read of the index and one commit, that nobody else's work refuses.

use std::collections::BTreeMap;

use model::{
    ClusterName, Function, InstanceId, NodeClaim, Plan,
    interruption::{Interruption, InterruptionKind, RebalanceRecommendations},
    ledger::{Basis, Guard},
    recorded::Question,
};
use ports::{Adapters, Fault, Invocation, Ledger as _, PortError};

use crate::{
    Error, Report, Settings,
    commit::{ATTEMPTS_MAX, Committed, Decided, commit_and_record},
    observe,
    pulse::wake,
};

/// Everything that `interrupt` may touch.
#[derive(Debug)]
pub struct InterruptPorts<'a, A: Adapters> {
    /// Where claims are found by their instances, and given up.
    pub ledger: &'a A::Ledger,
    /// For `drain`, and for `provision`, which finds their pods other nodes.
    pub mailbox: &'a A::Mailbox,
    /// What is done about recommendations.
    pub settings: &'a Settings,
}

/// Gives up the claims of instances that EC2 takes back or that end, and notes which ones it recommends to
/// leave, where anything is done about that. Instances of nobody here are no
/// concern: the rules that feed the queue see the whole account. That an instance ends whose claim is
/// given up already is no news, and while somebody else is in charge of the cluster nothing is.
pub async fn interrupt<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    interruptions: &[Interruption],
    at: &Invocation,
) -> Result<Report, Error> {
    let ignores = ports.settings.rebalance_recommendations == RebalanceRecommendations::Ignore;
    let is_heard = |interruption: &&Interruption| {
        interruption.kind != InterruptionKind::RebalanceRecommendation || !ignores
    };
    let by_instance: BTreeMap<&InstanceId, Vec<&Interruption>> =
        interruptions.iter().filter(is_heard).fold(BTreeMap::new(), |mut sorted, interruption| {
            sorted.entry(&interruption.instance).or_insert_with(Vec::new).push(interruption);
            sorted
        });
    let mut report = Report::default();
    for _ in 0..ATTEMPTS_MAX {
        let instances: Vec<InstanceId> = by_instance.keys().map(|id| (*id).clone()).collect();
        let claims = ports.ledger.claims_of_instances(&instances).await?;
        let mut by_cluster: BTreeMap<ClusterName, Vec<NodeClaim>> = BTreeMap::new();
        for (cluster, claim) in claims {
            by_cluster.entry(cluster).or_default().push(claim);
        }
        let mut is_overtaken = false;
        for (cluster, claims) in by_cluster {
            let at = &Invocation { cluster, ..at.clone() };
            let events = claims.iter().filter_map(|claim| {
                let instance = &claim.instance.as_ref()?.id;
                Some((claim, by_instance.get(instance)?.as_slice()))
            });
            let events: Vec<(&NodeClaim, &[&Interruption])> = events.collect();
            match give_up(ports, &events, at).await? {
                Some(plan) => report.plan = Some(plan),
                None => is_overtaken = true,
            }
        }
        if !is_overtaken {
            return Ok(report);
        }
    }
    // The notice runs out: come back by redelivery rather than give up.
    Err(PortError::new("commit", Fault::Conflict).into())
}

/// The plan that was committed, if nobody moved a claim meanwhile.
async fn give_up<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    events: &[(&NodeClaim, &[&Interruption])],
    at: &Invocation,
) -> Result<Option<Plan>, Error> {
    let head = ports.ledger.head(&at.cluster).await?;
    // Where nobody could look who is in charge for a while, what EC2 says counts all the same: nothing is done
    // about it until somebody did.
    if let Guard::Held { by, .. } = &head.guard {
        tracing::warn!(by, events = events.len(), "nothing is done");
        return Ok(Some(Plan::default()));
    }
    let claims = events.iter().map(|(claim, _)| (claim.name.clone(), (*claim).clone())).collect();
    let snapshot = model::ledger::Snapshot { head, claims, ..Default::default() };
    let plan = planner::interrupt(&snapshot, events, at.now);
    let facts = observe::ledger_only(snapshot, at);
    let question = || {
        let told = events.iter().map(|(claim, events)| {
            let events = events.iter().copied().cloned().collect();
            (claim.name.clone(), events)
        });
        Question::Interrupt(told.collect())
    };
    let decided = Decided::of(&plan, Basis::Claims).recorded(ports.settings.record, question);
    match commit_and_record(ports.ledger, &facts, &decided, at).await? {
        Committed::All(counters) => {
            if plan.changes.iter().any(NodeClaim::is_deleting) {
                wake(ports.mailbox, &[Function::Drain, Function::Provision], counters, at).await;
            }
            Ok(Some(plan))
        }
        Committed::Overtaken => Ok(None),
    }
}
