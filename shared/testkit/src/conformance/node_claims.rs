//! The contract of `NodeClaims`.

use std::collections::BTreeMap;

use model::{
    ClaimPhase, DeletionReason, NodeClaim, NodeClaimName,
    claim::{LaunchedInstance, SyncedNodeClaim},
    disruption::DisruptionReason,
};
use ports::{Fault, NodeClaims};

use super::{Case, Failure, ensure, same};
use crate::build;

/// An object as another client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedNodeClaim {
    /// Another one after each write that changed something.
    pub revision: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whether it is being deleted.
    pub is_deleting: bool,
}

/// What others do to NodeClaims.
pub trait NodeClaimWorld {
    /// The object, if it is there.
    async fn seen(&self, name: &NodeClaimName) -> Option<ObservedNodeClaim>;
    /// Another writer makes an own object.
    async fn make(&self, name: &NodeClaimName);
    /// A user makes an object without a NodePool.
    async fn make_standalone(&self, name: &NodeClaimName);
    /// A user puts a label on an object.
    async fn label(&self, name: &NodeClaimName, key: &str, value: &str);
    /// A user deletes an object, and does not wait until it is gone.
    async fn delete(&self, name: &NodeClaimName);
}

struct Subject<'a, P, W> {
    port: &'a P,
    world: &'a W,
    prefix: &'a str,
}

/// Runs every case, with objects whose names start with `prefix`.
pub async fn node_claims<P: NodeClaims, W: NodeClaimWorld>(
    port: &P,
    world: &W,
    prefix: &str,
) -> Vec<Case> {
    let subject = &Subject { port, world, prefix };
    vec![
        Case::of("a claim is shown, and shown again nothing changes", subject.twice().await),
        Case::of("a claim is shown through its life", subject.life().await),
        Case::of("what others wrote stays", subject.foreign_label().await),
        Case::of("an older version takes nothing back", subject.older().await),
        Case::of("an object that a user deletes says so and stays", subject.deleted().await),
        Case::of("the object of a deleted claim is being deleted", subject.disrupted().await),
        Case::of("no object is made for a deleted claim", subject.not_made().await),
        Case::of("what is removed is gone, however often", subject.removed().await),
        Case::of("an object of another writer is left alone", subject.foreign().await),
        Case::of("a user's own object shows its claim", subject.standalone().await),
        Case::of("a user's own object is the user's to make", subject.user_made().await),
    ]
}

fn launched(claim: &NodeClaim) -> NodeClaim {
    let instance = LaunchedInstance {
        launched_at: claim.created_at,
        ..build::launched_instance("i-0123456789abcdef0")
    };
    NodeClaim { instance: Some(instance), ..claim.moved_to(ClaimPhase::Launched, claim.created_at) }
}

impl<P: NodeClaims, W: NodeClaimWorld> Subject<'_, P, W> {
    fn claim(&self, name: &str) -> NodeClaim {
        build::claim(&format!("{}-{name}", self.prefix))
    }

    async fn shown(&self, claim: &NodeClaim) -> Result<Option<SyncedNodeClaim>, Failure> {
        let listing = self.port.synced().await?;
        same("what cannot be read", &listing.malformed, &Vec::new())?;
        Ok(listing.items.into_iter().find(|shown| shown.name == claim.name))
    }

    async fn check_shown(&self, claim: &NodeClaim, is_deleting: bool) -> Result<(), Failure> {
        let (name, version) = (claim.name.clone(), claim.version);
        let wanted = Some(SyncedNodeClaim { name, version, is_deleting });
        same("what is shown", &self.shown(claim).await?, &wanted)
    }

    async fn seen(&self, claim: &NodeClaim) -> Result<ObservedNodeClaim, Failure> {
        let seen = self.world.seen(&claim.name).await;
        seen.ok_or_else(|| Failure(format!("there is no {}", claim.name)))
    }

    async fn twice(&self) -> Result<(), Failure> {
        let claim = launched(&self.claim("twice"));
        self.port.sync(&claim).await?;
        self.check_shown(&claim, false).await?;
        let first = self.seen(&claim).await?;
        self.port.sync(&claim).await?;
        same("the object", &self.seen(&claim).await?, &first)?;
        Ok(self.port.remove(&claim.name).await?)
    }

    async fn life(&self) -> Result<(), Failure> {
        let created = self.claim("life");
        let launched = launched(&created);
        let mut registered = launched.moved_to(ClaimPhase::Registered, launched.phase_since);
        registered.node = Some(build::id("life"));
        let initialized = registered.moved_to(ClaimPhase::Initialized, launched.phase_since);
        for claim in [&created, &launched, &registered, &initialized] {
            self.port.sync(claim).await?;
            self.check_shown(claim, false).await?;
        }
        Ok(self.port.remove(&created.name).await?)
    }

    /// A claim without a NodePool.
    fn own_claim(&self, name: &str) -> NodeClaim {
        let mut claim = NodeClaim { node_pool: model::NodePoolName::none(), ..self.claim(name) };
        claim.labels.remove(model::labels::NODE_POOL);
        claim
    }

    async fn standalone(&self) -> Result<(), Failure> {
        let claim = self.own_claim("standalone");
        self.world.make_standalone(&claim.name).await;
        let objects = self.port.objects().await?.items;
        let read = objects
            .into_iter()
            .find(|object| object.name == claim.name)
            .ok_or_else(|| Failure("it is not listed".to_owned()))?;
        ensure(read.is_standalone() && !read.is_managed_here(), || "it is the user's".to_owned())?;
        for claim in [&claim, &launched(&claim)] {
            self.port.sync(claim).await?;
            self.check_shown(claim, false).await?;
        }
        let listing = self.port.objects().await?;
        let read = listing.items.iter().find(|object| object.name == claim.name);
        let is_ours = read.is_some_and(|read| read.is_standalone() && read.is_managed_here());
        ensure(is_ours, || {
            let malformed = &listing.malformed;
            format!("it is ours now, and of no pool, not {read:?}; not read are {malformed:?}")
        })?;
        self.world.delete(&claim.name).await;
        self.check_shown(&launched(&claim), true).await?;
        Ok(self.port.remove(&claim.name).await?)
    }

    async fn user_made(&self) -> Result<(), Failure> {
        let claim = self.own_claim("user-made");
        let fault = self.port.sync(&claim).await.err().map(|error| error.fault);
        same("what is not there", &fault, &Some(Fault::NotFound))?;
        self.world.make(&claim.name).await;
        let fault = self.port.sync(&claim).await.err().map(|error| error.fault);
        same("one of a NodePool", &fault, &Some(Fault::Conflict))?;
        self.world.delete(&claim.name).await;
        Ok(())
    }

    async fn foreign_label(&self) -> Result<(), Failure> {
        let claim = self.claim("foreign-label");
        self.port.sync(&claim).await?;
        self.world.label(&claim.name, "theirs", "kept").await;
        let labelled = self.seen(&claim).await?;
        self.port.sync(&claim).await?;
        same("the object", &self.seen(&claim).await?, &labelled)?;
        self.port.sync(&launched(&claim)).await?;
        let label = self.seen(&claim).await?.labels.get("theirs").cloned();
        same("their label", &label.as_deref(), &Some("kept"))?;
        Ok(self.port.remove(&claim.name).await?)
    }

    async fn older(&self) -> Result<(), Failure> {
        let older = self.claim("older");
        let newer = launched(&older);
        self.port.sync(&newer).await?;
        let seen = self.seen(&newer).await?;
        self.port.sync(&older).await?;
        same("the object", &self.seen(&newer).await?, &seen)?;
        self.check_shown(&newer, false).await?;
        Ok(self.port.remove(&newer.name).await?)
    }

    async fn deleted(&self) -> Result<(), Failure> {
        let claim = launched(&self.claim("deleted"));
        self.port.sync(&claim).await?;
        self.world.delete(&claim.name).await;
        self.check_shown(&claim, true).await?;
        // It is shown all the same until it is deleted.
        let registered = claim.moved_to(ClaimPhase::Registered, claim.phase_since);
        self.port.sync(&registered).await?;
        self.check_shown(&registered, true).await?;
        self.port.remove(&claim.name).await?;
        same("the object", &self.world.seen(&claim.name).await, &None)
    }

    async fn disrupted(&self) -> Result<(), Failure> {
        let claim = launched(&self.claim("deleted"));
        self.port.sync(&claim).await?;
        let deleted =
            claim.deleted(DeletionReason::Disrupted(DisruptionReason::Drifted), claim.phase_since);
        self.port.sync(&deleted).await?;
        self.check_shown(&deleted, true).await?;
        let seen = self.seen(&claim).await?;
        self.port.sync(&deleted).await?;
        same("the object", &self.seen(&claim).await?, &seen)?;
        Ok(self.port.remove(&claim.name).await?)
    }

    async fn not_made(&self) -> Result<(), Failure> {
        let claim = launched(&self.claim("not-made"));
        self.port
            .sync(
                &claim.deleted(
                    DeletionReason::Disrupted(DisruptionReason::Drifted),
                    claim.phase_since,
                ),
            )
            .await?;
        same("the object", &self.world.seen(&claim.name).await, &None)
    }

    async fn removed(&self) -> Result<(), Failure> {
        let claim = self.claim("removed");
        self.port.sync(&claim).await?;
        for _ in 0..2 {
            self.port.remove(&claim.name).await?;
            same("the object", &self.world.seen(&claim.name).await, &None)?;
            same("what is shown", &self.shown(&claim).await?, &None)?;
        }
        Ok(())
    }

    async fn foreign(&self) -> Result<(), Failure> {
        let claim = launched(&self.claim("foreign"));
        self.world.make(&claim.name).await;
        let seen = self.seen(&claim).await?;
        same("what is shown", &self.shown(&claim).await?, &None)?;
        let refused = self.port.sync(&claim).await;
        let fault = refused.err().map(|error| error.fault);
        ensure(fault == Some(Fault::Conflict), || format!("it is shown there: {fault:?}"))?;
        self.port.remove(&claim.name).await?;
        same("the object", &self.seen(&claim).await?, &seen)?;
        self.world.delete(&claim.name).await;
        Ok(())
    }
}
