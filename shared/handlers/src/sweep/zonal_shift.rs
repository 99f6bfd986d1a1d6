//! Zones that traffic of the cluster is shifted away from: looked up each minute and kept for all functions.
//!
//! If AWS does not answer, the last known shift holds until its end.
//!
//! Karpenter: `pkg/providers/zonalshift` of the AWS provider.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    Zone,
    ledger::{Head, WriteOutcome},
    zonal_shift::shifted_zones,
};
use ports::{Adapters, Catalog as _, Discovery as _, Fault, Invocation, Ledger as _, PortError};

use super::SweepPorts;

/// Keeps which zones are left, and brings them if they changed. While nothing is shifted, nothing is written.
pub(super) async fn look<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    head: &Head,
    at: &Invocation,
) -> Result<Option<BTreeMap<Zone, Timestamp>>, PortError> {
    let seen = seen(ports, at).await?;
    let Some(ledger) = head.ledger.as_ref().filter(|_| head.shifted_zones != seen) else {
        return Ok(None);
    };
    for (zone, until) in seen.iter().filter(|(zone, _)| !head.shifted_zones.contains_key(*zone)) {
        tracing::warn!(%zone, %until, "traffic is shifted away: nothing is launched there");
    }
    for zone in head.shifted_zones.keys().filter(|zone| !seen.contains_key(*zone)) {
        tracing::info!(%zone, "traffic is shifted away no longer");
    }
    match ports.ledger.put_shifted_zones(&at.cluster, ledger, &seen).await? {
        WriteOutcome::Written => Ok(Some(seen)),
        WriteOutcome::Conflict => Err(PortError::new("put shifted zones", Fault::Conflict)),
    }
}

async fn seen<A: Adapters>(
    ports: &SweepPorts<'_, A>,
    at: &Invocation,
) -> Result<BTreeMap<Zone, Timestamp>, PortError> {
    if !ports.settings.heeds_zonal_shifts {
        return Ok(BTreeMap::new());
    }
    let shifts = ports.discovery.zonal_shifts(&at.cluster).await?;
    if shifts.is_empty() {
        return Ok(BTreeMap::new());
    }
    let catalog = ports.catalog.catalog().await?;
    Ok(shifted_zones(&shifts, &catalog.zones, at.now))
}
