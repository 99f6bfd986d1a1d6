//! Whether this release can read everything that the table has of a cluster: what an upgrade looks at first.

use model::{
    ClusterName,
    ledger::{DecisionQuery, UnreadableItem},
};
use ports::{Decisions as _, PortError};

use super::{
    BATCH_PREFIX, Batch, COMMAND_PREFIX, DynamoLedger, MEASURED_PREFIX, REFUSALS_PREFIX,
    REGISTRATIONS_PREFIX, UNAVAILABLE_PREFIX, claim_from_item, command_from_item,
    facts::{facts_of, facts_prefix},
    head::{HEAD, StoredHead},
    is_shortage,
    item::{CLAIM_PREFIX, Item, PULSE_PREFIX, Unreadable, VALIDATION_PREFIX},
    measured_from_item, pulse_from_item, refusals_from_item, registrations_from_item,
    shortage_from_item, unavailable_from_item, validation_from_item,
};

/// Decisions of one question.
const DECISIONS_AT_ONCE: usize = 1_000;
/// Records of facts that are read, of the newest decisions: each may have megabytes, and only `replay` reads them.
const FACTS_MAX: usize = 5;

/// What was read of a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExaminedLedger {
    /// Number of items, and of records of facts.
    pub items: usize,
    /// Those that this release cannot read.
    pub unreadable: Vec<UnreadableItem>,
}

impl ExaminedLedger {
    fn take(&mut self, item: &Item, read: Result<(), Unreadable>) {
        self.items += 1;
        self.unreadable.extend(read.err().map(|problem| problem.of_snapshot(item)));
    }
}

/// Reads `item`, whose sort key begins with `prefix`.
fn read(cluster: &ClusterName, prefix: &str, item: &Item) -> Result<(), Unreadable> {
    match prefix {
        HEAD => StoredHead::of(item).map(drop),
        BATCH_PREFIX => Batch::of(item).map(drop),
        CLAIM_PREFIX => claim_from_item(item).map(drop),
        UNAVAILABLE_PREFIX if is_shortage(item) => shortage_from_item(cluster, item).map(drop),
        UNAVAILABLE_PREFIX => unavailable_from_item(item).map(drop),
        MEASURED_PREFIX => measured_from_item(item).map(drop),
        COMMAND_PREFIX => command_from_item(item).map(drop),
        REFUSALS_PREFIX => refusals_from_item(item).map(drop),
        REGISTRATIONS_PREFIX => registrations_from_item(item).map(drop),
        PULSE_PREFIX => pulse_from_item(item).map(drop),
        _ => validation_from_item(item).map(drop),
    }
}

impl DynamoLedger {
    /// Reads every item of `cluster` and of the region, and the facts of the newest decisions. Items of kinds that this
    /// release does not know are passed over, as functions do; so is the catalog, which they write anew.
    ///
    /// # Errors
    ///
    /// If the table cannot be read.
    pub async fn examine(&self, cluster: &ClusterName) -> Result<ExaminedLedger, PortError> {
        let mut examined = ExaminedLedger::default();
        for prefix in [
            HEAD,
            BATCH_PREFIX,
            CLAIM_PREFIX,
            UNAVAILABLE_PREFIX,
            MEASURED_PREFIX,
            COMMAND_PREFIX,
            REFUSALS_PREFIX,
            REGISTRATIONS_PREFIX,
            PULSE_PREFIX,
            VALIDATION_PREFIX,
        ] {
            let is_shared = prefix == UNAVAILABLE_PREFIX;
            let partition = if is_shared { self.region.as_str() } else { cluster.as_str() };
            for item in self.items(partition, prefix).await? {
                examined.take(&item, read(cluster, prefix, &item));
            }
        }
        self.examine_decisions(cluster, &mut examined).await?;
        Ok(examined)
    }

    async fn examine_decisions(
        &self,
        cluster: &ClusterName,
        examined: &mut ExaminedLedger,
    ) -> Result<(), PortError> {
        let mut numbers = Vec::new();
        let mut query = DecisionQuery { since: None, before: None, limit: DECISIONS_AT_ONCE };
        loop {
            let page = self.decisions(cluster, &query).await?;
            examined.items += page.decisions.len() + page.unreadable.len();
            examined.unreadable.extend(page.unreadable);
            let origins = page.decisions.iter().filter_map(|decision| decision.origin.as_ref());
            let recorded = origins.filter_map(|origin| origin.recorded);
            numbers.extend(recorded.take(FACTS_MAX.saturating_sub(numbers.len())));
            query.before = page.next;
            if query.before.is_none() {
                break;
            }
        }
        for number in numbers {
            let packed = self.packed_facts(cluster, number).await?;
            examined.items += usize::from(!packed.is_empty());
            if let Err(error) = facts_of(&packed) {
                examined.unreadable.push(UnreadableItem {
                    item: facts_prefix(number),
                    claim: None,
                    instance: None,
                    problem: error.to_string(),
                });
            }
        }
        Ok(())
    }
}
