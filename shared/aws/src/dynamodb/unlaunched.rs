//! Reading new claims that are kept together, and taking them out.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    BatchId, ClusterName, NodeClaim, NodeClaimName, ledger::CREATED_VERSION, limits::requests,
};
use ports::{Fault, PortError};

use super::{
    DynamoLedger, TRANSACTION,
    batch::{self, Batch, Leaving},
    unreadable,
};

/// How often it is begun anew after another writer took a claim out of the same batch.
const TRIES: usize = 5;

impl DynamoLedger {
    /// The items of new claims whose sort keys start with `prefix`.
    async fn unlaunched(
        &self,
        cluster: &ClusterName,
        prefix: &str,
    ) -> Result<Vec<Batch>, PortError> {
        let items = self.items(cluster.as_str(), prefix).await?;
        items.iter().map(|item| Batch::of(item).map_err(unreadable)).collect()
    }

    /// Takes those of `claims` out of their batch that are still kept there, in the version before or,
    /// to remove them, in their own. Says which.
    pub(super) async fn take_out(
        &self,
        cluster: &ClusterName,
        claims: &[NodeClaim],
        leaving: Leaving,
    ) -> Result<BTreeSet<NodeClaimName>, PortError> {
        let version = match leaving {
            Leaving::ToOwnItems => CREATED_VERSION + 1,
            Leaving::ForGood => CREATED_VERSION,
        };
        let wanted = claims.iter().filter(|claim| claim.version == version);
        let wanted: BTreeMap<&NodeClaimName, &NodeClaim> =
            wanted.map(|claim| (&claim.name, claim)).collect();
        let batches: BTreeSet<&BatchId> = wanted.values().map(|claim| &claim.batch).collect();
        let mut taken = BTreeSet::new();
        for id in batches {
            let mut tries = 0;
            while !self.take_out_of(cluster, id, &wanted, leaving, &mut taken).await? {
                tries += 1;
                if tries == TRIES {
                    let problem = "another writer takes claims out of the batch again and again";
                    let problem = ports::BoxError::from(problem);
                    return Err(PortError::because(TRANSACTION, Fault::Transient, problem));
                }
            }
        }
        Ok(taken)
    }

    /// Does it for the claims of one batch; `false` if another writer was faster.
    async fn take_out_of(
        &self,
        cluster: &ClusterName,
        id: &BatchId,
        wanted: &BTreeMap<&NodeClaimName, &NodeClaim>,
        leaving: Leaving,
        taken: &mut BTreeSet<NodeClaimName>,
    ) -> Result<bool, PortError> {
        for mut batch in self.unlaunched(cluster, &batch::prefix(id)).await? {
            loop {
                let some = batch.claims.iter().filter_map(|claim| wanted.get(&claim.name));
                let some: Vec<NodeClaim> = some
                    .take(requests::CLAIMS_LEAVING_MAX.into())
                    .map(|claim| (*claim).clone())
                    .collect();
                if some.is_empty() {
                    break;
                }
                let (writes, left) = batch.without(self.partition(cluster), &some, leaving)?;
                if !self.transact(writes, None).await? {
                    return Ok(false);
                }
                taken.extend(some.into_iter().map(|claim| claim.name));
                batch = left;
            }
        }
        Ok(true)
    }
}
