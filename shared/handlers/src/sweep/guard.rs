//! Who is in charge of the cluster: looked up each minute, before anything is done.

use model::{
    lease::LedgerLease,
    ledger::{Guard, Head, WriteOutcome},
};
use planner::Verdict;
use ports::{Adapters, Fault, Invocation, Leases as _, Ledger as _, Malformed, PortError};

use super::{SweepPorts, instances};
use crate::Error;

/// Looks who is in charge, and keeps it for all functions. A ledger that is not there, or that is an old
/// backup, is opened under a new id, and what is there is adopted before the functions act. Brings the leases that
/// could not be read.
pub(super) async fn check<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<Vec<Malformed>, Error> {
    let head = ports.ledger.head(&at.cluster).await?;
    let leases = ports.leases.leases().await?;
    let namespaces = &ports.settings.karpenter_namespaces;
    for lease in planner::passed_over(&leases, namespaces, at.now) {
        tracing::warn!(lease, "passed over: Karpenter's lease counts in KarpenterNamespaces only");
    }
    let malformed =
        leases.unreadable.iter().map(|lease| Malformed::new(lease.object(), lease.why.clone()));
    let malformed = malformed.collect();
    let head = match planner::verdict(&head, &leases, namespaces, at.now) {
        Verdict::Unknown(why) => {
            return Err(PortError::because("read leases", Fault::Permanent, why).into());
        }
        Verdict::Held(by) => {
            tracing::warn!(by, "another program provisions the cluster: nothing is done");
            if head.ledger.is_some() {
                put(ports, &head, Guard::Held { by, checked_at: at.now }, at).await?;
            }
            return Ok(malformed);
        }
        Verdict::Open => {
            let head = ports.ledger.open(&at.cluster, head.ledger.as_ref()).await?;
            tracing::info!(ledger = ?head.ledger, "ledger opened");
            instances::adopt(ports, at).await?;
            head
        }
        Verdict::Adopt => {
            instances::adopt(ports, at).await?;
            head
        }
        Verdict::Free => head,
    };
    let Some(ledger) = head.ledger.clone() else { return Ok(malformed) };
    let arrivals = ports.ledger.head(&at.cluster).await?.counters.arrivals;
    ports.leases.hold(&LedgerLease { ledger, arrivals, renewed_at: at.now }).await?;
    put(ports, &head, Guard::Free { checked_at: at.now }, at).await?;
    Ok(malformed)
}

async fn put<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    head: &Head,
    guard: Guard,
    at: &Invocation,
) -> Result<(), Error> {
    let Some(ledger) = &head.ledger else { return Ok(()) };
    match ports.ledger.put_guard(&at.cluster, ledger, &guard).await? {
        WriteOutcome::Written => Ok(()),
        WriteOutcome::Conflict => Err(PortError::new("put the guard", Fault::Conflict).into()),
    }
}
