//! Reading promised claims that are kept together, and moving them to items of their own.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::TransactWriteItem;
use model::{BatchId, ClusterName, NodeClaim, NodeClaimName};
use ports::{Fault, PortError};

use super::{
    DynamoLedger,
    batch::{self, Batch, MOVED_MAX},
    overtaken, unreadable,
};

/// The version of a claim that nobody wrote to since it was promised.
const PROMISED: u64 = 1;
/// How often a move is begun anew after somebody else moved something of the same batch.
const TRIES: usize = 5;

impl DynamoLedger {
    /// The items of promised claims whose sort keys start with `prefix`.
    pub(super) async fn promised(
        &self,
        cluster: &ClusterName,
        prefix: &str,
    ) -> Result<Vec<Batch>, PortError> {
        let items = self.items(cluster.as_str(), prefix).await?;
        items.iter().map(|item| Batch::of(item).map_err(unreadable)).collect()
    }

    /// Gives those of `claims` that are still kept together items of their own, as they are given.
    /// Says which.
    pub(super) async fn move_out(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
    ) -> Result<BTreeSet<NodeClaimName>, PortError> {
        let next = claims.iter().filter(|claim| claim.version == PROMISED + 1);
        let next: BTreeMap<&NodeClaimName, &NodeClaim> =
            next.map(|claim| (&claim.name, claim)).collect();
        let batches: BTreeSet<&BatchId> = next.values().map(|claim| &claim.batch).collect();
        let mut moved = BTreeSet::new();
        for id in batches {
            let mut tries = 0;
            while !self.move_out_of(cluster, id, &next, &mut moved).await? {
                tries += 1;
                if tries == TRIES {
                    return Err(contended());
                }
            }
        }
        Ok(moved)
    }

    /// The same for the claims of one batch; `false` when somebody else was faster.
    async fn move_out_of(
        &self,
        cluster: &ClusterName,
        id: &BatchId,
        next: &BTreeMap<&NodeClaimName, &NodeClaim>,
        moved: &mut BTreeSet<NodeClaimName>,
    ) -> Result<bool, PortError> {
        for mut batch in self.promised(cluster, &batch::prefix(id)).await? {
            loop {
                let some = batch.claims.iter().filter_map(|claim| next.get(&claim.name));
                let some: Vec<NodeClaim> = some.take(MOVED_MAX).map(|one| (*one).clone()).collect();
                if some.is_empty() {
                    break;
                }
                let (writes, left) = batch.without(&self.table, cluster, &some)?;
                if !self.transact(writes).await? {
                    return Ok(false);
                }
                moved.extend(some.into_iter().map(|claim| claim.name));
                batch = left;
            }
        }
        Ok(true)
    }

    /// Removes `claim` if it is still kept with others and is as it was promised. Says whether it was.
    pub(super) async fn remove_promised(
        &self,
        cluster: &ClusterName,
        claim: &NodeClaim,
    ) -> Result<bool, PortError> {
        if claim.version != PROMISED {
            return Ok(false);
        }
        for _ in 0..TRIES {
            let batches = self.promised(cluster, &batch::prefix(&claim.batch)).await?;
            let its = |batch: &&Batch| batch.claims.iter().any(|one| one.name == claim.name);
            let Some(batch) = batches.iter().find(its) else { return Ok(false) };
            let (write, _) = batch.shrunk(&self.table, cluster, std::slice::from_ref(claim))?;
            if self.transact(vec![write]).await? {
                return Ok(true);
            }
        }
        Err(contended())
    }

    /// Carries `writes` out, all or none. `false` when somebody else was faster.
    async fn transact(&self, writes: Vec<TransactWriteItem>) -> Result<bool, PortError> {
        let request = self.client.transact_write_items().set_transact_items(Some(writes));
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => overtaken(error).map(|()| false),
        }
    }
}

fn contended() -> PortError {
    let problem = "somebody else moves claims of the batch again and again";
    PortError::because("TransactWriteItems", Fault::Transient, ports::BoxError::from(problem))
}
