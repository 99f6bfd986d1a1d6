//! Writes the subresource `status` of NodeOverlays and CapacityBuffers.

use api::karpenter::alpha_status_patch::{buffer_status_patch, overlay_status_patch};
use jiff::Timestamp;
use model::{
    Condition, api_version,
    buffer::{BufferStatus, ObservedBuffer},
    overlay::ObservedOverlay,
};
use ports::{AlphaStatuses, Listing, PortError};

use crate::{
    KubeCluster,
    list::{AtMost, Kind, or_not_installed},
    status::StatusUpdate,
    surroundings::OVERLAYS_PATH,
};

const SEEN: Kind<ObservedOverlay> = Kind {
    operation: "list NodeOverlays",
    path: OVERLAYS_PATH,
    read: api::lists::observed_overlay_list,
    at_most: AtMost::Unlimited,
};

impl AlphaStatuses for KubeCluster {
    async fn observed_overlays(&self) -> Result<Listing<ObservedOverlay>, PortError> {
        let listing = self.list(&SEEN).await;
        or_not_installed(listing, "NodeOverlay", api_version::KARPENTER_V1ALPHA1)
    }

    async fn update_overlay_status(
        &self,
        observed: &ObservedOverlay,
        validation: &Condition,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let update = StatusUpdate {
            operation: "tell of a NodeOverlay",
            path: OVERLAYS_PATH,
            name: observed.overlay.name.as_str(),
            uid: &observed.uid,
            generation: observed.generation,
        };
        let patch = |stored: &[u8]| overlay_status_patch(stored, observed, validation, now);
        self.update_status(update, [], patch).await
    }

    async fn update_buffer_status(
        &self,
        observed: &ObservedBuffer,
        status: &BufferStatus,
        now: Timestamp,
    ) -> Result<(), PortError> {
        let namespace = &observed.key.namespace;
        let version = api_version::AUTOSCALING_V1BETA1;
        let path = format!("/apis/{version}/namespaces/{namespace}/capacitybuffers");
        let update = StatusUpdate {
            operation: "tell of a CapacityBuffer",
            path: &path,
            name: observed.key.name.as_str(),
            uid: &observed.uid,
            generation: observed.generation,
        };
        let patch = |stored: &[u8]| buffer_status_patch(stored, observed, status, now);
        self.update_status(update, [], patch).await
    }
}
