//! NodeClaim objects that show the ledger's claims: server-side apply of the object and of its
//! subresource `status`, and a finalizer that goes when the claim does.

use api::{
    karpenter::node_claim_patch::{Changes, StoredNodeClaim, changes, created, released},
    lists,
};
use kube::{
    api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, Preconditions},
    core::Request,
};
use model::{
    NodeClaim, NodeClaimName, NodePoolName,
    claim::SyncedNodeClaim,
    labels::{MANAGED_BY, MANAGER},
    limits::{NODES_PER_CLUSTER_MAX, PAGES_PER_LISTING_MAX, requests::OBJECTS_PER_PAGE},
};
use ports::{Fault, Listing, NodeClaims, PortError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    KubeCluster,
    call::{CallError, Effect, patch_params},
    list::{AtMost, Kind, NODE_POOLS_PATH, malformed},
};

const NODE_CLAIMS_PATH: &str = "/apis/karpenter.sh/v1/nodeclaims";

const LIST: &str = "list NodeClaims";
const SHOW: &str = "show a NodeClaim";
const REMOVE: &str = "remove a NodeClaim";
const TAKE_OVER: &str = "take a NodeClaim over";

/// Ours and others'.
const OBJECTS: Kind<NodeClaim> = Kind {
    operation: LIST,
    path: NODE_CLAIMS_PATH,
    read: lists::node_claim_list,
    at_most: AtMost::Fail(NODES_PER_CLUSTER_MAX),
};

/// What is looked at of a NodePool that owns a claim.
#[derive(Deserialize)]
struct Owner {
    metadata: OwnerMetadata,
}

#[derive(Deserialize)]
struct OwnerMetadata {
    uid: String,
}

impl NodeClaims for KubeCluster {
    /// Only metadata: what a claim may be launched as can be hundreds of names. Pages may be of
    /// different states, which a sweep or the next look makes good.
    async fn synced(&self) -> Result<Listing<SyncedNodeClaim>, PortError> {
        let mut listing = Listing::default();
        let mut next: Option<String> = None;
        for _ in 0..PAGES_PER_LISTING_MAX {
            let mut params = ListParams::default()
                .limit(OBJECTS_PER_PAGE.into())
                .labels(&format!("{MANAGED_BY}={MANAGER}"));
            params.continue_token = next;
            let request = Request::new(NODE_CLAIMS_PATH).list_metadata(&params);
            let body = self
                .call(request)
                .await
                .map_err(|error| error.into_port_error(LIST, Effect::Reads))?;
            let page = lists::synced_node_claim_list(body.as_bytes())
                .map_err(|error| unreadable(error, LIST))?;
            listing.items.extend(page.items);
            listing.malformed.extend(page.malformed.into_iter().map(malformed));
            next = page.continue_token;
            if next.is_none() {
                return Ok(listing);
            }
        }
        let why = format!("it has more than {PAGES_PER_LISTING_MAX} pages of {OBJECTS_PER_PAGE}");
        Err(PortError::because(LIST, Fault::Permanent, why))
    }

    async fn objects(&self) -> Result<Listing<NodeClaim>, PortError> {
        self.list(&OBJECTS).await
    }

    /// By the label that says whose it is; what the object says is applied afterwards.
    async fn take_over(&self, claim: &NodeClaimName) -> Result<(), PortError> {
        let Some(stored) = self.stored(claim, TAKE_OVER).await? else { return Ok(()) };
        if stored.is_ours() {
            return Ok(());
        }
        let labels = json!({ MANAGED_BY: MANAGER });
        let patch = Patch::Merge(json!({ "metadata": { "uid": stored.uid(), "labels": labels } }));
        let request = Request::new(NODE_CLAIMS_PATH).patch(claim.as_str(), &patch_params(), &patch);
        unless_missing(self.call(request).await)
            .map(drop)
            .map_err(|error| error.into_port_error(TAKE_OVER, Effect::Writes))
    }

    async fn sync(&self, claim: &NodeClaim) -> Result<(), PortError> {
        let stored = match self.stored(&claim.name, SHOW).await? {
            Some(stored) => Some(stored),
            None if claim.is_deleting() => None,
            // It was the user's to make.
            None if claim.is_standalone() => return Err(PortError::new(SHOW, Fault::NotFound)),
            None => {
                let owner = self.uid_of(&claim.node_pool).await?;
                let document = created(claim, owner.as_deref());
                let made = self.apply(claim, None, document).await?;
                Some(StoredNodeClaim::read(made.as_bytes()).map_err(|e| unreadable(e, SHOW))?)
            }
        };
        let Some(mut stored) = stored else { return Ok(()) };
        if !stored.may_show(claim) {
            let why = format!("there is a NodeClaim {} of another writer", claim.name);
            return Err(PortError::because(SHOW, Fault::Conflict, why));
        }
        if claim.is_deleting() && !stored.is_deleting() {
            match self.deleted(&claim.name, &stored, SHOW).await? {
                Some(left) => stored = left,
                None => return Ok(()),
            }
        }
        let Changes { status, object } = changes(&stored, claim);
        if let Some(status) = status {
            self.apply(claim, Some("status"), status).await?;
        }
        if let Some(object) = object {
            self.apply(claim, None, object).await?;
        }
        Ok(())
    }

    async fn remove(&self, claim: &NodeClaimName) -> Result<(), PortError> {
        let Some(mut stored) = self.stored(claim, REMOVE).await? else { return Ok(()) };
        if !stored.is_ours() {
            return Ok(());
        }
        if !stored.is_deleting() {
            match self.deleted(claim, &stored, REMOVE).await? {
                Some(left) => stored = left,
                None => return Ok(()),
            }
        }
        let Some(patch) = released(&stored) else { return Ok(()) };
        let patch = Patch::Merge(patch);
        let request = Request::new(NODE_CLAIMS_PATH).patch(claim.as_str(), &patch_params(), &patch);
        unless_missing(self.call(request).await)
            .map(drop)
            .map_err(|error| error.into_port_error(REMOVE, Effect::Writes))
    }
}

impl KubeCluster {
    /// The object of that name, if there is one.
    async fn stored(
        &self,
        claim: &NodeClaimName,
        operation: &'static str,
    ) -> Result<Option<StoredNodeClaim>, PortError> {
        let request = Request::new(NODE_CLAIMS_PATH).get(claim.as_str(), &GetParams::default());
        let body = unless_missing(self.call(request).await)
            .map_err(|error| error.into_port_error(operation, Effect::Reads))?;
        let read = |body: String| StoredNodeClaim::read(body.as_bytes());
        body.map(read).transpose().map_err(|error| unreadable(error, operation))
    }

    /// The uid of the pool, if it is there: it may be gone while its claims are not.
    async fn uid_of(&self, pool: &NodePoolName) -> Result<Option<String>, PortError> {
        let request =
            Request::new(NODE_POOLS_PATH).get_metadata(pool.as_str(), &GetParams::default());
        let body = unless_missing(self.call(request).await)
            .map_err(|error| error.into_port_error(SHOW, Effect::Reads))?;
        let read = |body: String| serde_json::from_str::<Owner>(&body);
        let owner = body.map(read).transpose().map_err(|error| unreadable(error, SHOW))?;
        Ok(owner.map(|owner| owner.metadata.uid))
    }

    /// Applies `document`, which has all our fields: no other manager keeps a field of ours.
    async fn apply(
        &self,
        claim: &NodeClaim,
        subresource: Option<&str>,
        document: Value,
    ) -> Result<String, PortError> {
        let params = PatchParams::apply(MANAGER).force();
        let (patch, name) = (Patch::Apply(document), claim.name.as_str());
        let objects = Request::new(NODE_CLAIMS_PATH);
        let request = match subresource {
            Some(part) => objects.patch_subresource(part, name, &params, &patch),
            None => objects.patch(name, &params, &patch),
        };
        self.call(request).await.map_err(|error| error.into_port_error(SHOW, Effect::Writes))
    }

    /// The very object `stored` after it was deleted, if something still holds it back.
    async fn deleted(
        &self,
        claim: &NodeClaimName,
        stored: &StoredNodeClaim,
        operation: &'static str,
    ) -> Result<Option<StoredNodeClaim>, PortError> {
        let preconditions =
            Preconditions { uid: stored.uid().map(str::to_owned), ..Preconditions::default() };
        let params =
            DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        let request = Request::new(NODE_CLAIMS_PATH).delete(claim.as_str(), &params);
        unless_missing(self.call(request).await)
            .map_err(|error| error.into_port_error(operation, Effect::Writes))?;
        self.stored(claim, operation).await
    }
}

fn unreadable(
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    operation: &'static str,
) -> PortError {
    CallError::Unreadable(error.into()).into_port_error(operation, Effect::Reads)
}

fn unless_missing(answer: Result<String, CallError>) -> Result<Option<String>, CallError> {
    match answer {
        Ok(body) => Ok(Some(body)),
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}
