//! What drivers published of nodes whose pods claim devices.

use model::{NodeClaim, dynamic_resources::ResourceSlice};
use planner::SeenSlices;
use ports::{Listing, Malformed, Nodes, PortError};

/// ResourceSlices, once for all claims. That they cannot be listed fails no claim that does not wait for some.
pub(super) struct Slices(Result<Listing<ResourceSlice>, PortError>);

impl Slices {
    /// Lists them if any of `claims` waits for some.
    pub(super) async fn look(nodes: &impl Nodes, claims: &[&NodeClaim]) -> Self {
        if claims.iter().any(|claim| planner::awaits_devices(claim)) {
            return Self(nodes.resource_slices().await);
        }
        Self(Ok(Listing::default()))
    }

    /// Those that cannot be read.
    pub(super) fn malformed(&self) -> &[Malformed] {
        self.0.as_ref().map_or(&[], |listing| listing.malformed.as_slice())
    }

    /// What decides about `claim`.
    pub(super) fn of(&self, claim: &NodeClaim) -> Result<SeenSlices<'_>, PortError> {
        if !planner::awaits_devices(claim) {
            return Ok(SeenSlices::default());
        }
        let listing = self.0.as_ref().map_err(PortError::clone)?;
        let unreadable = listing.malformed.first().map(|malformed| malformed.object.as_str());
        Ok(SeenSlices { readable: &listing.items, unreadable })
    }
}
