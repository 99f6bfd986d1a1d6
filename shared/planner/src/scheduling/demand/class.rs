//! Pods that are alike: whatever takes one of them has an answer for the others.

use std::{rc::Rc, sync::Arc};

use model::{PodSpec, Requirements, dynamic_resources::ResourceClaimKey};

use crate::index::id::{ProfileId, RequestsId};

/// Pods that are alike.
#[derive(Debug)]
pub struct Class {
    pub(crate) spec: Arc<PodSpec>,
    /// What they ask for beside resources and volumes.
    pub(crate) profile: ProfileId,
    /// What its volumes ask of a node: one of these, in this order.
    pub(crate) alternatives: Rc<[Requirements]>,
    /// Its claims to devices; then it is of one pod.
    pub(crate) claims: Vec<ResourceClaimKey>,
    /// Why its pods are not looked at further, if so.
    pub(crate) refused: Option<String>,
    /// Its requests.
    pub(crate) requests: RequestsId,
}
