//! What nodes cost, by NodePool, namespace and workload.

use std::collections::BTreeMap;

use model::Resources;
use serde_json::{Value, json};

use crate::{
    contents::{CostBar, CostGroup, CostView},
    json::Dollars,
    output::{HOURS_PER_MONTH, dollars, many},
};

/// How the cost of a node is shared, for people. [`shares`] does it.
pub const RULE: &str = "The pods on a node share its cost: half of it by the CPU and half by the memory that each pod \
    requests, of what the node has for pods. The rest is not requested.";

/// What stands for the NodePool of nodes that have none.
pub const NO_POOL: &str = "(no NodePool)";

/// The cost of a whole node, in the parts that [`shares`] counts in.
const WHOLE: u128 = 1_000_000_000;

/// Rows of a table of costs, beside the one for what is left.
const ROWS_MAX: usize = 40;

/// CPU and memory: of a node what it has for pods, of a pod what it requests.
pub type Amounts = [u64; 2];

/// What of `resources` costs are shared by.
pub const fn amounts(resources: &Resources) -> Amounts {
    [resources.cpu.0, resources.memory.0]
}

/// The share of a node's cost that the pods of each workload bear, in billionths.
///
/// Together they are at most one billion. If pods request more CPU or memory than the node has, each of them bears
/// proportionally less.
pub fn shares<W: AsRef<str>>(
    has: Amounts,
    pods: impl IntoIterator<Item = (W, Amounts)>,
) -> BTreeMap<String, u128> {
    let pods: Vec<(W, Amounts)> = pods.into_iter().collect();
    let mut shares: BTreeMap<String, u128> = BTreeMap::new();
    for (place, has) in has.into_iter().enumerate() {
        let amount = |amounts: Amounts| u128::from(amounts.get(place).copied().unwrap_or_default());
        let requested: u128 = pods.iter().map(|(_, requests)| amount(*requests)).sum();
        let base = requested.max(has.into());
        for (workload, requests) in &pods {
            let half = (amount(*requests) * WHOLE / 2).checked_div(base).unwrap_or_default();
            match shares.get_mut(workload.as_ref()) {
                Some(share) => *share += half,
                None => drop(shares.insert(workload.as_ref().to_owned(), half)),
            }
        }
    }
    shares
}

/// Costs in nano-dollars, by who bears them. No part is lost: the sum is what was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// By NodePool and workload (`namespace/name`); `None` is what no pod requested.
    parts: BTreeMap<(String, Option<String>), u128>,
}

/// What costs are summed up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The NodePools of the nodes.
    NodePool,
    /// The namespaces of the pods.
    Namespace,
    /// The workloads of the pods.
    Workload,
}

impl By {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::NodePool, Self::Namespace, Self::Workload];

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodePool => "NodePool",
            Self::Namespace => "Namespace",
            Self::Workload => "Workload",
        }
    }

    /// What a group of JSON is called.
    const fn key(self) -> &'static str {
        match self {
            Self::NodePool => "byNodePool",
            Self::Namespace => "byNamespace",
            Self::Workload => "byWorkload",
        }
    }
}

/// A row of costs, in nano-dollars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostRow {
    /// A NodePool, a namespace or a workload; `None` is what no pod requested.
    pub name: Option<String>,
    /// All of it.
    pub cost: u128,
    /// What of it pods requested.
    pub requested: u128,
}

impl Costs {
    /// Adds a node of `node_pool` that cost `nanos`, which [`shares`] shares.
    pub fn add(&mut self, node_pool: &str, nanos: u128, shares: &BTreeMap<String, u128>) {
        let mut rest = nanos;
        for (workload, share) in shares {
            let part = (nanos * share / WHOLE).min(rest);
            rest -= part;
            self.put(node_pool, Some(workload), part);
        }
        self.put(node_pool, None, rest);
    }

    fn put(&mut self, node_pool: &str, workload: Option<&String>, nanos: u128) {
        *self.parts.entry((node_pool.to_owned(), workload.cloned())).or_default() += nanos;
    }

    /// The sum of all.
    pub fn total(&self) -> u128 {
        self.parts.values().sum()
    }

    /// What of it pods requested.
    pub fn requested(&self) -> u128 {
        self.parts.iter().filter(|((_, workload), _)| workload.is_some()).map(|(_, n)| n).sum()
    }

    /// The rows, what costs most first and what no pod requested last. Their sum is [`Costs::total`].
    pub fn rows(&self, by: By) -> Vec<CostRow> {
        let mut sums: BTreeMap<Option<&str>, [u128; 2]> = BTreeMap::new();
        for ((pool, workload), nanos) in &self.parts {
            let workload = workload.as_deref();
            let name = match by {
                By::NodePool => Some(pool.as_str()),
                By::Namespace => workload.map(namespace_of),
                By::Workload => workload,
            };
            let [cost, requested] = sums.entry(name).or_default();
            *cost += nanos;
            *requested += if workload.is_some() { *nanos } else { 0 };
        }
        let row = |(name, [cost, requested]): (Option<&str>, [u128; 2])| CostRow {
            name: name.map(ToOwned::to_owned),
            cost,
            requested,
        };
        let mut rows: Vec<CostRow> = sums.into_iter().map(row).filter(|row| 0 < row.cost).collect();
        rows.sort_by(|a, b| {
            let last = a.name.is_none().cmp(&b.name.is_none());
            last.then_with(|| b.cost.cmp(&a.cost)).then_with(|| a.name.cmp(&b.name))
        });
        rows
    }

    /// For machines.
    pub fn json(&self, over: Over) -> Value {
        let row = |row: &CostRow| {
            json!({
                "name": row.name,
                "cost": Dollars::of(row.cost),
                "costPerMonth": Dollars::of(over.month(row.cost)),
                "requested": Dollars::of(row.requested),
            })
        };
        let mut document = json!({"rule": RULE, "total": Dollars::of(self.total())});
        for by in By::ALL {
            let rows: Vec<Value> = self.rows(by).iter().map(row).collect();
            if let Some(groups) = document.as_object_mut() {
                groups.insert(by.key().to_owned(), rows.into());
            }
        }
        document
    }

    /// For a page; `None` where nothing costs anything.
    pub fn view(&self, over: Over) -> Option<CostView> {
        if self.total() == 0 {
            return None;
        }
        let group = |by: By| CostGroup { name: by.as_str(), rows: self.bars(by, over, ROWS_MAX) };
        Some(CostView {
            about: format!("{RULE} {}", over.about()),
            heads: ["Cost", "A month", "Share of cost", "Share of requests"]
                .map(|head| if head == "Cost" { over.head() } else { head })
                .to_vec(),
            groups: By::ALL.map(group).into(),
        })
    }

    /// At most `most` rows, then the sum of the others, then what no pod requested.
    pub fn bars(&self, by: By, over: Over, most: usize) -> Vec<CostBar> {
        let (total, requested) = (self.total(), self.requested());
        let mut rows = self.rows(by);
        let rest = rows.iter().rposition(|row| row.name.is_none()).map(|last| rows.remove(last));
        if most + 1 < rows.len() {
            let others = rows.split_off(most);
            let noun = match by {
                By::NodePool => "NodePools",
                By::Namespace => "namespaces",
                By::Workload => "workloads",
            };
            rows.push(CostRow {
                name: Some(format!("{} other {noun}", many(others.len()))),
                cost: others.iter().map(|row| row.cost).sum(),
                requested: others.iter().map(|row| row.requested).sum(),
            });
        }
        rows.extend(rest);
        let bar = |row: CostRow| {
            let of_requests = match &row.name {
                Some(_) => percent(row.requested, requested),
                None => "–".to_owned(),
            };
            CostBar {
                name: row.name.unwrap_or_else(|| "Not requested".to_owned()),
                share: tenths(row.cost, total),
                requested: tenths(row.requested, total),
                cells: vec![
                    dollars(row.cost),
                    dollars(over.month(row.cost)),
                    percent(row.cost, total),
                    of_requests,
                ],
            }
        };
        rows.into_iter().map(bar).collect()
    }
}

/// What time costs are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// This number of seconds, which have passed.
    Seconds(u64),
    /// One hour, as things are.
    Hour,
}

impl Over {
    /// What costs `nanos` in this time, in a month.
    fn month(self, nanos: u128) -> u128 {
        match self {
            Self::Hour => nanos * HOURS_PER_MONTH,
            Self::Seconds(seconds) => {
                (nanos * HOURS_PER_MONTH * 3_600).checked_div(seconds.into()).unwrap_or_default()
            }
        }
    }

    /// The head of the column of costs.
    pub const fn head(self) -> &'static str {
        match self {
            Self::Seconds(_) => "Spent",
            Self::Hour => "An hour",
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Self::Seconds(_) => "A month: if the whole month cost as much as this time.",
            Self::Hour => "As the nodes are now.",
        }
    }
}

fn namespace_of(workload: &str) -> &str {
    workload.split_once('/').map_or(workload, |(namespace, _)| namespace)
}

/// In tenths of a per cent, rounded to the nearest.
fn tenths(part: u128, whole: u128) -> u64 {
    let tenths = (part * 1_000 + whole / 2).checked_div(whole).unwrap_or_default();
    u64::try_from(tenths).unwrap_or(1_000)
}

/// `12.3 %`
fn percent(part: u128, whole: u128) -> String {
    let tenths = tenths(part, whole);
    format!("{}.{} %", tenths / 10, tenths % 10)
}
