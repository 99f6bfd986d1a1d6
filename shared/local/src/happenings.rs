//! What happens in the account and the ledger, as lines of the function or controller that caused it.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use dispatch::Reports;
use model::{ClaimPhase, Function, NodeClaimName};
use simulator::{Happening, Sim};

/// What was told so far.
pub(crate) struct Happenings {
    account: Sim,
    told: Cell<usize>,
    phases: RefCell<BTreeMap<NodeClaimName, ClaimPhase>>,
}

impl Happenings {
    pub(crate) fn of(account: &Sim) -> Self {
        Self { account: account.clone(), told: Cell::new(0), phases: RefCell::default() }
    }

    /// What happened since the last call, by the name of the enclosing span.
    pub(crate) fn tell(&self) {
        let events = self.account.timeline(self.told.get());
        self.told.set(self.told.get() + events.len());
        for event in events {
            if let Some(text) = text(&event.happening) {
                tracing::info!("{text}");
            }
        }
    }

    /// What a call of `function` came to.
    pub(crate) fn tell_of(&self, function: Function, reports: &Reports) {
        for decided in reports.take() {
            for malformed in &decided.report.malformed {
                let (object, problem) = (&malformed.object, &malformed.problem);
                tracing::warn!("{object} is skipped: {problem}");
            }
            let Some(plan) = decided.report.plan else { continue };
            // Each look that finds nothing to do is a decision too.
            for decision in plan.decisions.iter().filter(|known| known.claims().next().is_some()) {
                tracing::info!("{}", decision.summary);
            }
            for unplaced in &plan.unplaced {
                let reasons: Vec<String> =
                    unplaced.reasons.iter().map(ToString::to_string).collect();
                tracing::info!("{} finds no place: {}", unplaced.pod, reasons.join("; "));
            }
        }
        if function == Function::Settle {
            self.tell_of_phases();
        }
    }

    /// Which claims came further, which is what `settle` is for.
    fn tell_of_phases(&self) {
        let claims = self.account.claims().into_iter();
        let now: BTreeMap<_, _> = claims.map(|claim| (claim.name, claim.phase)).collect();
        let before = self.phases.replace(now.clone());
        for (claim, phase) in now {
            let is_news = matches!(phase, ClaimPhase::Registered | ClaimPhase::Initialized);
            if is_news && before.get(&claim) != Some(&phase) {
                tracing::info!("{claim} is {}", phase.to_string().to_lowercase());
            }
        }
    }
}

/// In words; nothing for what functions say themselves, and for what the simulated cluster does, which is
/// not the one that is played in.
fn text(happening: &Happening) -> Option<String> {
    match happening {
        Happening::ClaimRemoved { claim } => Some(format!("{claim} is gone")),
        Happening::OfferingUnavailable { offering } => {
            Some(format!("EC2 has no capacity: {offering}"))
        }
        Happening::SpotNotice { instance, .. } => {
            Some(format!("EC2 takes {instance} back in two minutes"))
        }
        Happening::InstanceEnding { instance } => Some(format!("{instance} is shutting down")),
        Happening::InstanceTerminated { instance, .. } => Some(format!("{instance} is terminated")),
        Happening::ClaimCreated { .. }
        | Happening::ClaimDeleted { .. }
        | Happening::InstanceLaunched { .. }
        | Happening::PodPending { .. }
        | Happening::PodUnschedulable { .. }
        | Happening::PodBound { .. }
        | Happening::PodRunning { .. }
        | Happening::PodEvicted { .. }
        | Happening::PodLost { .. }
        | Happening::WorkloadScaled { .. }
        | Happening::NodeJoined { .. }
        | Happening::NodeReady { .. }
        | Happening::NodeReboots { .. }
        | Happening::NodeDrained { .. }
        | Happening::CallFailed { .. }
        | Happening::Planned { .. }
        | Happening::NodeRemoved { .. } => None,
    }
}
