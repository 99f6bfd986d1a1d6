//! Updating an object of Karpenter's: some annotations, and its subresource `status`.

use api::karpenter::status_patch::{StatusPatch, annotations_patch};
use kube::{
    api::{GetParams, Patch},
    core::Request,
};
use ports::{Fault, PortError};

use crate::{
    KubeCluster,
    call::{CallError, Effect, patch_params},
};

/// Which object, as it was observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusUpdate<'a> {
    pub(crate) operation: &'static str,
    /// Of its collection.
    pub(crate) path: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) generation: i64,
}

impl KubeCluster {
    /// Puts `annotations` on the object, or takes those that are `None` away, then into its status what `status` makes of it as it is
    /// stored. Each only where it says something else.
    pub(crate) async fn update_status(
        &self,
        update: StatusUpdate<'_>,
        annotations: impl IntoIterator<Item = (String, Option<String>)>,
        status: impl FnOnce(&[u8]) -> Result<StatusPatch, serde_json::Error>,
    ) -> Result<(), PortError> {
        let request = Request::new(update.path).get(update.name, &GetParams::default());
        let failed =
            |effect| move |error: CallError| error.into_port_error(update.operation, effect);
        let stored = self.call(request).await.map_err(failed(Effect::Reads))?;
        let patch =
            annotations_patch(stored.as_bytes(), update.uid, update.generation, annotations);
        let stored = match patch.map_err(|error| unreadable(update, error))? {
            StatusPatch::Nothing => stored,
            StatusPatch::Moved => return Err(PortError::new(update.operation, Fault::Conflict)),
            StatusPatch::Merge(body) => {
                let patch = Patch::Merge(body);
                let request = Request::new(update.path).patch(update.name, &patch_params(), &patch);
                self.call(request).await.map_err(failed(Effect::Writes))?
            }
        };
        match status(stored.as_bytes()).map_err(|error| unreadable(update, error))? {
            StatusPatch::Nothing => Ok(()),
            StatusPatch::Moved => Err(PortError::new(update.operation, Fault::Conflict)),
            StatusPatch::Merge(body) => {
                let (patch, params) = (Patch::Merge(body), patch_params());
                let request = Request::new(update.path).patch_subresource(
                    "status",
                    update.name,
                    &params,
                    &patch,
                );
                self.call(request).await.map(drop).map_err(failed(Effect::Writes))
            }
        }
    }
}

fn unreadable(update: StatusUpdate<'_>, error: serde_json::Error) -> PortError {
    CallError::Unreadable(error.into()).into_port_error(update.operation, Effect::Reads)
}
