//! The contract of `Leases`: ours is held and read back.
//!
//! Leases of Karpenter are not made here: what is read of them is a case of the adapter's own tests.

use model::{LedgerId, lease::LedgerLease};
use ports::Leases;

use super::{Case, Failure, same};
use crate::build;

/// Runs every case, in a cluster whose lease no other program holds meanwhile.
pub async fn leases<P: Leases>(port: &P) -> Vec<Case> {
    vec![
        Case::of("the lease is held and renewed", renewed(port).await),
        Case::of("another ledger takes the lease", taken(port).await),
    ]
}

fn lease(ledger: &str, arrivals: u64, at: &str) -> LedgerLease {
    let ledger: LedgerId = build::id(ledger);
    LedgerLease { ledger, arrivals, renewed_at: build::at(at) }
}

async fn held<P: Leases>(port: &P, lease: &LedgerLease) -> Result<(), Failure> {
    port.hold(lease).await?;
    same("our lease", &port.leases().await?.ledger.as_ref(), &Some(lease))
}

async fn renewed<P: Leases>(port: &P) -> Result<(), Failure> {
    let first = lease("abc12", 3, "2026-08-01T12:00:00.5Z");
    held(port, &first).await?;
    held(port, &first).await?;
    held(port, &lease("abc12", u64::MAX, "2026-08-01T12:01:00Z")).await
}

async fn taken<P: Leases>(port: &P) -> Result<(), Failure> {
    held(port, &lease("xyz98", 0, "2026-08-01T12:10:00Z")).await?;
    held(port, &lease("abc12", 7, "2026-08-01T12:20:00Z")).await
}
