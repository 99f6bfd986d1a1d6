//! Decisions in the table: an item each, whose key sorts by time.

use jiff::SignedDuration;
use model::{
    ClusterName,
    duration::later,
    ledger::{Decision, DecisionPage, DecisionQuery},
    recorded::RecordedFacts,
};
use ports::{Decisions, PortError};

use super::{
    DynamoLedger,
    item::{self, EXPIRES_AT, Item, Partition, RECORD, Unreadable, number, record_of, unreadable},
};
use crate::fault::port_error;

/// Sort keys of decisions start with it.
const PREFIX: &str = "decision#";
/// What sorts behind every key that starts with the prefix.
const BEHIND: &str = "decision$";
/// How long decisions are kept.
pub(super) const KEPT: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Items that one question asks for at most: DynamoDB brings a megabyte, and records have some hundred bytes.
const PAGE_MAX: usize = 1_000;

/// The item of `decision`, which is the same whenever it is written.
pub(super) fn decision_item(to: Partition<'_>, decision: &Decision) -> Item {
    let expires_at = later(decision.last_at, KEPT);
    let mut whole = item::key(to.cluster, &format!("{PREFIX}{}", decision.id()));
    let record = to.form.of(&wire::record::encode_decision(decision));
    whole.insert(RECORD.to_owned(), record);
    whole.insert(EXPIRES_AT.to_owned(), number(item::seconds_rounded_up(expires_at)));
    whole
}

fn decision_from_item(item: &Item) -> Result<Decision, Unreadable> {
    let decision = wire::record::decode_decision(&record_of(item)?);
    decision.map_err(|error| unreadable(item, format!("`{RECORD}`: {error}")))
}

impl Decisions for DynamoLedger {
    async fn decisions(
        &self,
        cluster: &ClusterName,
        query: &DecisionQuery,
    ) -> Result<DecisionPage, PortError> {
        let first =
            query.since.map_or_else(|| PREFIX.to_owned(), |since| format!("{PREFIX}{since:.9}"));
        let mut before = match &query.before {
            Some(id) => format!("{PREFIX}{id}"),
            None => BEHIND.to_owned(),
        };
        let mut page = DecisionPage::default();
        let mut left = query.limit;
        while left > 0 {
            let (items, is_last) = self.decisions_before(cluster, &first, &before, left).await?;
            left = left.saturating_sub(items.len());
            for item in &items {
                match decision_from_item(item) {
                    Ok(decision) => page.decisions.push(decision),
                    Err(problem) => page.unreadable.push(problem.of_snapshot(item)),
                }
                if let Some(key) = item.get(item::ITEM).and_then(|key| key.as_s().ok()) {
                    before.clone_from(key);
                }
            }
            if is_last {
                return Ok(page);
            }
        }
        page.next = before.strip_prefix(PREFIX).map(str::to_owned);
        Ok(page)
    }

    async fn facts(
        &self,
        cluster: &ClusterName,
        number: u64,
    ) -> Result<Option<RecordedFacts>, PortError> {
        self.stored_facts(cluster, number).await
    }
}

impl DynamoLedger {
    /// Decisions with keys from `first` to the last before `before`, the newest first; and whether there are
    /// no others.
    async fn decisions_before(
        &self,
        cluster: &ClusterName,
        first: &str,
        before: &str,
        limit: usize,
    ) -> Result<(Vec<Item>, bool), PortError> {
        // `BETWEEN` takes its end in: what is asked for is one more, and the end is left out. Where nothing has the
        // end's key, the one more is.
        let wanted = limit.min(PAGE_MAX);
        let limit = i32::try_from(wanted + 1).unwrap_or(i32::MAX);
        let request = self
            .client
            .query()
            .table_name(&self.table)
            .scan_index_forward(false)
            .key_condition_expression("#cluster = :cluster AND #item BETWEEN :first AND :before")
            .expression_attribute_names("#cluster", item::CLUSTER)
            .expression_attribute_names("#item", item::ITEM)
            .expression_attribute_values(":cluster", item::text(cluster.as_str()))
            .expression_attribute_values(":first", item::text(first))
            .expression_attribute_values(":before", item::text(before))
            .limit(limit);
        let answer = request.send().await.map_err(|error| port_error("Query", error))?;
        let is_last = answer.last_evaluated_key.is_none_or(|key| key.is_empty());
        let items = answer.items.into_iter().flatten().map(|item| item.into_iter().collect());
        let is_end =
            |item: &Item| item.get(item::ITEM).is_some_and(|key| *key == item::text(before));
        let mut items: Vec<Item> = items.filter(|item| !is_end(item)).collect();
        let is_last = is_last && items.len() <= wanted;
        items.truncate(wanted);
        Ok((items, is_last))
    }
}
