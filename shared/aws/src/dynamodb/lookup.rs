//! Claims by their instances: the index says where they stand, the table what they say.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::KeysAndAttributes;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use model::{ClusterName, InstanceId, NodeClaim, limits::requests};
use ports::{Fault, PortError};

use super::{
    DynamoLedger,
    item::{self, Item, claim_from_item, text_of},
};
use crate::fault::{BadRequest, port_error};

/// The index of claims by instance. It holds keys only.
const INSTANCE_INDEX: &str = "claims_of_instances";
const BATCH_GET: &str = "BatchGetItem";
/// How often what was left unread for want of throughput is asked for.
const GETS_MAX: usize = 5;

impl DynamoLedger {
    /// The claims of `cluster` whose instances are among `instances`. An instance without a claim costs one read of the index.
    pub(super) async fn look_up(
        &self,
        cluster: &ClusterName,
        instances: &[InstanceId],
    ) -> Result<Vec<NodeClaim>, PortError> {
        let wanted: BTreeSet<&InstanceId> = instances.iter().collect();
        let keys: Vec<Vec<Item>> =
            stream::iter(wanted.iter().map(|instance| self.keys_of(instance)))
                .buffer_unordered(requests::ITEMS_AT_ONCE.into())
                .try_collect()
                .await?;
        // One claim of an instance is listed once. A role may read no partition of another cluster.
        let keys = keys.into_iter().flatten();
        let is_of_cluster =
            |key: &Item| text_of(key, item::CLUSTER).is_ok_and(|name| name == cluster.as_str());
        let keys = keys.filter(is_of_cluster);
        let named = keys.filter_map(|key| Some((text_of(&key, item::ITEM).ok()?.to_owned(), key)));
        let keys: BTreeMap<String, Item> = named.collect();
        let mut claims = Vec::new();
        let keys: Vec<Item> = keys.into_values().collect();
        for keys in keys.chunks(requests::KEYS_PER_GET_MAX.into()) {
            for item in self.get_all(keys).await? {
                let claim = match claim_from_item(&item) {
                    Ok(claim) => claim,
                    // A read of the whole ledger reports it; the other items are not held up.
                    Err(problem) => {
                        tracing::error!(%problem, "the claim of an instance cannot be read");
                        continue;
                    }
                };
                // The index lags: what counts is what the table says.
                let launched = claim.instance.as_ref().map(|instance| &instance.id);
                if launched.is_some_and(|id| wanted.contains(id)) {
                    claims.push(claim);
                }
            }
        }
        claims.sort_by(|claim, other| claim.name.cmp(&other.name));
        Ok(claims)
    }

    /// The keys of the claims that name `instance`, as the index says.
    async fn keys_of(&self, instance: &InstanceId) -> Result<Vec<Item>, PortError> {
        let request = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(INSTANCE_INDEX)
            .key_condition_expression("#instance = :instance")
            .expression_attribute_names("#instance", item::INSTANCE_ID)
            .expression_attribute_values(":instance", item::text(instance.as_str()));
        let answer = request.send().await.map_err(|error| port_error("Query", error))?;
        let is_key = |name: &String| [item::CLUSTER, item::ITEM].contains(&name.as_str());
        let items = answer.items.into_iter().flatten();
        Ok(items.map(|item| item.into_iter().filter(|(name, _)| is_key(name)).collect()).collect())
    }

    /// The items with these keys, consistently read. Those that are gone are left out.
    async fn get_all(&self, keys: &[Item]) -> Result<Vec<Item>, PortError> {
        let mut items: Vec<Item> = Vec::new();
        let mut left: Vec<_> = keys.iter().map(|key| key.clone().into_iter().collect()).collect();
        for _ in 0..GETS_MAX {
            if left.is_empty() {
                return Ok(items);
            }
            let wanted = KeysAndAttributes::builder().consistent_read(true).set_keys(Some(left));
            let wanted =
                wanted.build().map_err(|error| BadRequest::of(BATCH_GET, error.to_string()))?;
            let request = self.client.batch_get_item().request_items(&self.table, wanted);
            let answer = request.send().await.map_err(|error| port_error(BATCH_GET, error))?;
            let responses =
                answer.responses.into_iter().flatten().flat_map(|(_, of_table)| of_table);
            items.extend(responses.map(|item| item.into_iter().collect()));
            let unread =
                answer.unprocessed_keys.into_iter().flatten().map(|(_, of_table)| of_table);
            left = unread.flat_map(|keys| keys.keys).collect();
        }
        if left.is_empty() {
            return Ok(items);
        }
        let problem = format!("{} items were left unread again and again", left.len());
        Err(PortError::because(BATCH_GET, Fault::Transient, ports::BoxError::from(problem)))
    }
}
