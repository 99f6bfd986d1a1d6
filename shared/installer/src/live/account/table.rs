//! Items of a ledger's table.

use aws_sdk_dynamodb::types::AttributeValue;
use model::{ClusterName, ledger::UnreadableItem};

use super::{AccountClient, present};
use crate::live::{ItemAttribute, ItemQuery, LiveAnswer, TableItem, failure::of_port};

impl AccountClient {
    /// Number of items that the ledger of `cluster` in `table` has, and those that this command cannot read.
    pub(crate) fn examined(
        &self,
        table: &str,
        cluster: &ClusterName,
    ) -> LiveAnswer<(usize, Vec<UnreadableItem>)> {
        let ledger = self.adapters()?.ledger(table);
        let examined = self.runtime.block_on(ledger.examine(cluster));
        let examined =
            examined.map_err(|error| format!("table {table}: {}", of_port("dynamodb", &error)))?;
        Ok((examined.items, examined.unreadable))
    }

    /// The items that are asked for, and whether there are others.
    pub fn items(&self, asked: ItemQuery<'_>) -> LiveAnswer<(Vec<TableItem>, bool)> {
        let ItemQuery { table, cluster, prefix, attribute, newest } = asked;
        let client = aws_sdk_dynamodb::Client::new(&self.config);
        let mut items = Vec::new();
        let mut next = None;
        loop {
            let left = newest.map(|most| most.saturating_sub(items.len()));
            let request = client
                .query()
                .table_name(table)
                .key_condition_expression("#cluster = :cluster AND begins_with(#item, :prefix)")
                .projection_expression("#item, #attribute")
                .expression_attribute_names("#cluster", "cluster")
                .expression_attribute_names("#item", "item")
                .expression_attribute_names("#attribute", attribute)
                .expression_attribute_values(":cluster", AttributeValue::S(cluster.to_owned()))
                .expression_attribute_values(":prefix", AttributeValue::S(prefix.to_owned()))
                .scan_index_forward(newest.is_none())
                .consistent_read(newest.is_none())
                .set_limit(left.map(|left| i32::try_from(left.max(1)).unwrap_or(i32::MAX)))
                .set_exclusive_start_key(next);
            let what = format!("{table} {prefix}");
            let answer = present("dynamodb:Query", &what, self.runtime.block_on(request.send()))?
                .ok_or_else(|| format!("there is no table {table}"))?;
            items.extend(answer.items.into_iter().flatten().map(|item| {
                item.into_iter()
                    .filter_map(|(name, value)| Some((name, of_value(value)?)))
                    .collect()
            }));
            next = answer.last_evaluated_key.filter(|key| !key.is_empty());
            let is_enough = newest.is_some_and(|most| items.len() >= most);
            if next.is_none() || is_enough {
                let is_cut = next.is_some() || newest.is_some_and(|most| most < items.len());
                items.truncate(newest.unwrap_or(usize::MAX));
                return Ok((items, is_cut));
            }
        }
    }
}

fn of_value(value: AttributeValue) -> Option<ItemAttribute> {
    match value {
        AttributeValue::S(text) => Some(ItemAttribute::Text(text)),
        AttributeValue::B(bytes) => Some(ItemAttribute::Bytes(bytes.into_inner())),
        _ => None,
    }
}
