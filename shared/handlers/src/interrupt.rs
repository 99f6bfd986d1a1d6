//! An instance ends → its claim is given up, and its pods get a new node.

use model::interruption::Interruption;
use ports::{Adapters, Invocation, Ledger as _};

use crate::{
    Error, Report,
    commit::{ATTEMPTS_MAX, Committed, commit},
    mail::ask_to_provision,
    observe,
};

/// Everything that `interrupt` may touch.
#[derive(Debug)]
pub struct InterruptPorts<'a, A: Adapters> {
    /// Where claims are found by their instances, and given up.
    pub ledger: &'a A::Ledger,
    /// For `provision`, which finds their pods another node.
    pub mailbox: &'a A::Mailbox,
}

/// Gives up the claim of an instance that EC2 takes back or that ends. Instances of nobody here
/// are no concern: the rules that feed the queue see the whole account.
pub async fn interrupt<A: Adapters>(
    ports: &InterruptPorts<'_, A>,
    interruption: &Interruption,
    at: &Invocation,
) -> Result<Report, Error> {
    let InterruptPorts { ledger, mailbox } = *ports;
    let Some((cluster, found)) = ledger.claim_of_instance(&interruption.instance).await? else {
        return Ok(Report::default());
    };
    let at = &Invocation { cluster, ..at.clone() };
    for _ in 0..ATTEMPTS_MAX {
        let snapshot = ledger.snapshot(&at.cluster).await?;
        let Some(claim) = snapshot.claims.get(&found.name) else {
            return Ok(Report::default());
        };
        let plan = planner::interrupt(&snapshot, claim, interruption, at.now);
        let facts = observe::ledger_only(snapshot, at);
        if commit(ledger, &facts, &plan, at).await? == Committed::All {
            // Also when nothing changed: an earlier delivery may have crashed before this message.
            ask_to_provision(mailbox, at, 0).await?;
            return Ok(Report { plan: Some(plan), malformed: Vec::new() });
        }
    }
    // The notice runs out: come back by redelivery rather than give up.
    Err(ports::PortError::new("commit", ports::Fault::Conflict).into())
}
