//! The cluster as it is: its nodes, what they cost, and the least that their pods could cost.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use model::{
    CapacityType, HourlyPrice, InstanceId, InstanceType, NodeClaim, NodeClassName, NodeName, Pod,
    ProviderId, RegionCatalog, Resources, facts::Facts, labels, node::Node,
};
use planner::{LowerBound, overlays};
use report::{
    contents::{CostView, Figure},
    cost::{Costs, NO_POOL, Over, amounts, shares},
    json::Dollars,
    output::{HOURS_PER_MONTH, count, dollars, dollars_down, in_order, many},
    screen::Screen,
};
use serde::Serialize;

use super::{counted, included};
use crate::{
    cards::Cards,
    least,
    list_price::{offering, sold},
    workloads::owner,
};

/// Nodes that a line names.
const NODES_SHOWN: usize = 3;

/// What a node costs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Paid {
    /// Its instance, for one hour.
    Hourly(HourlyPrice),
    /// It runs on a capacity reservation, which is paid for with or without it.
    Reserved,
    /// No price is known, and why.
    Unknown(String),
}

/// A machine of the cluster: a node, or an instance that has no node yet.
pub(super) struct Machine<'f> {
    pub(super) node: Option<&'f Node>,
    pub(super) claim: Option<&'f NodeClaim>,
    paid: Paid,
    /// Its NodePool has `replicas`: no pods decide about it.
    is_static: bool,
}

impl<'f> Machine<'f> {
    fn name(&self) -> &'f str {
        let claim = || self.claim.map(|claim| claim.name.as_str()).unwrap_or_default();
        self.node.map_or_else(claim, |node| node.name.as_str())
    }

    fn class(&self) -> Option<NodeClassName> {
        let by_label = || NodeClassName::new(self.node?.labels.get(labels::NODE_CLASS)?).ok();
        self.claim.map(|claim| claim.node_class.clone()).or_else(by_label)
    }

    fn node_pool(&self) -> Option<&'f str> {
        let by_label = || Some(self.node?.labels.get(labels::NODE_POOL)?.as_str());
        self.claim.map(|claim| claim.node_pool.as_str()).or_else(by_label)
    }

    /// With its volumes, for one hour; `None` where it has no price that counts.
    pub(super) fn price(&self, facts: &Facts) -> Option<HourlyPrice> {
        let Paid::Hourly(price) = self.paid else { return None };
        let charge =
            self.class().map_or(facts.policies.node_charge, |class| facts.node_charge(&class));
        Some(price.saturating_add(charge))
    }

    /// Whether other nodes could be bought for its pods: what it costs is known, and pods decide about it.
    pub(super) fn is_replaceable(&self) -> bool {
        matches!(self.paid, Paid::Hourly(_)) && !self.is_static
    }

    /// In thousandths of a CPU.
    pub(super) fn cpu(&self) -> u64 {
        let claim = || self.claim.map_or(0, |claim| claim.capacity.cpu.0);
        self.node.map_or_else(claim, |node| node.capacity.cpu.0)
    }

    /// What it has for pods.
    pub(super) fn allocatable(&self) -> Option<&'f Resources> {
        let claim = || self.claim.map(|claim| &claim.allocatable);
        self.node.map(|node| &node.allocatable).or_else(claim)
    }

    pub(super) fn instance_type(&self) -> Option<&'f str> {
        let by_label = || Some(self.node?.labels.get(labels::INSTANCE_TYPE)?.as_str());
        let instance = self.claim.and_then(|claim| claim.instance.as_ref());
        instance.map(|instance| instance.instance_type.as_str()).or_else(by_label)
    }
}

/// The machines of `facts`, nodes by name before instances without a node.
pub(super) fn machines<'f>(facts: &'f Facts, catalog: &RegionCatalog) -> Vec<Machine<'f>> {
    let overlays = overlays(facts);
    let mut claims: BTreeMap<InstanceId, &NodeClaim> = BTreeMap::new();
    for claim in facts.ledger.claims.values() {
        claims.extend(claim.instance.as_ref().map(|instance| (instance.id.clone(), claim)));
    }
    let machine = |node: Option<&'f Node>, claim: Option<&'f NodeClaim>| {
        let pool = claim.map(|claim| &claim.node_pool);
        let pool = pool.and_then(|name| facts.node_pools.iter().find(|pool| pool.name == *name));
        let overlaid = pool.and_then(|pool| overlays.pools.get(&pool.name));
        let types = overlaid.map(|overlaid| overlaid.types.as_slice()).unwrap_or_default();
        let is_static = pool.is_some_and(|pool| pool.replicas.is_some());
        Machine { node, claim, paid: paid(node, claim, (types, catalog)), is_static }
    };
    let mut machines = Vec::new();
    for node in facts.nodes.values() {
        let instance = node.provider_id.as_ref().and_then(ProviderId::instance);
        machines.push(machine(Some(node), instance.and_then(|id| claims.remove(&id))));
    }
    machines.extend(claims.into_values().map(|claim| machine(None, Some(claim))));
    machines
}

/// What a machine costs: by the overlays of its NodePool, else by the catalog.
fn paid(
    node: Option<&Node>,
    claim: Option<&NodeClaim>,
    (overlaid, catalog): (&[std::sync::Arc<InstanceType>], &RegionCatalog),
) -> Paid {
    let by_claim = || Some(claim?.instance.as_ref()?.offering());
    let Some(key) = node.and_then(|node| offering(&node.labels)).or_else(by_claim) else {
        return Paid::Unknown("the labels lack instance type or zone".to_owned());
    };
    if key.capacity_type == CapacityType::Reserved {
        return Paid::Reserved;
    }
    let overlaid = overlaid.iter().find_map(|sold| Some(sold.offering(&key)?.price));
    match overlaid.or_else(|| sold(catalog, &key)) {
        Some(price) => Paid::Hourly(price),
        None => Paid::Unknown(format!("no price is known of {key}")),
    }
}

/// What is said of the cluster before anything is planned.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cluster {
    /// Instances that have no node yet among them.
    nodes: usize,
    #[serde(skip_serializing_if = "is_zero")]
    instances_without_node: usize,
    /// Pods that have a node and have not ended.
    pods: usize,
    /// Of what nodes have for pods, in per cent.
    cpu_requested_percent: u64,
    memory_requested_percent: u64,
    /// Dollars. Nodes that are not counted are not in it.
    price_per_hour: Dollars,
    price_per_month: Dollars,
    #[serde(skip)]
    price: HourlyPrice,
    /// What the prices are of.
    included: String,
    /// No nodes that the NodePools allow can hold the pods of the nodes that are counted for less. Missing if there are
    /// such pods and the NodePools have no node for any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_bound_per_hour: Option<Dollars>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_bound_per_month: Option<Dollars>,
    #[serde(skip)]
    bound: Option<HourlyPrice>,
    /// Pods that the NodePools have no node for: they are not in the bound.
    #[serde(skip_serializing_if = "is_zero")]
    pods_outside_bound: u32,
    /// Pods that the bound is for.
    #[serde(skip)]
    pods_in_bound: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_counted: Vec<NotCounted>,
    /// Who bears the price of an hour.
    #[serde(skip)]
    costs: Costs,
}

/// A node that is in no price, with its pods.
#[derive(Clone, Debug, Serialize)]
struct NotCounted {
    node: String,
    reason: String,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl Cluster {
    /// The cluster of `facts`; `None` where it has no nodes.
    pub(super) fn of(facts: &Facts, machines: &[Machine<'_>]) -> Option<Self> {
        if machines.is_empty() {
            return None;
        }
        let here = |pod: &&Pod| {
            !pod.is_terminal()
                && pod.node.as_ref().is_some_and(|node| facts.nodes.contains_key(node))
        };
        let (mut pods, mut asked) = (0, [0, 0]);
        for pod in facts.pods.iter().filter(here) {
            pods += 1;
            asked = sum(asked, &pod.spec.requests);
        }
        let has = facts.nodes.values().fold([0, 0], |has, node| sum(has, &node.allocatable));
        let [cpu, memory] = [0, 1].map(|at: usize| percent(asked.get(at), has.get(at)));
        let prices = machines.iter().filter_map(|machine| machine.price(facts));
        let price = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
        let (pods_to_place, LowerBound { price: bound, unsold }) = lower_bound(facts, machines);
        let pods_in_bound = pods_to_place.saturating_sub(unsold);
        let counted = machines.iter().filter(|machine| matches!(machine.paid, Paid::Hourly(_)));
        let classes: Vec<Option<NodeClassName>> = counted.map(Machine::class).collect();
        let bound = (pods_to_place == 0 || 0 < pods_in_bound).then_some(bound);
        let month = |price: HourlyPrice| {
            Dollars::from(HourlyPrice::from_parts(price.parts().saturating_mul(HOURS_PER_MONTH)))
        };
        Some(Self {
            nodes: machines.len(),
            instances_without_node: machines
                .iter()
                .filter(|machine| machine.node.is_none())
                .count(),
            pods,
            cpu_requested_percent: cpu,
            memory_requested_percent: memory,
            price_per_hour: price.into(),
            price_per_month: month(price),
            price,
            included: included::in_words(facts, classes.iter().map(Option::as_ref)),
            lower_bound_per_hour: bound.map(Dollars::from),
            lower_bound_per_month: bound.map(month),
            bound,
            pods_outside_bound: unsold,
            pods_in_bound,
            not_counted: machines.iter().filter_map(not_counted).collect(),
            costs: costs(facts, machines),
        })
    }

    /// Prints it for people, and an empty line after it.
    pub(super) fn show(&self, screen: Screen, out: &mut impl Write) -> io::Result<()> {
        screen.title(&self.title(), out)?;
        for line in self.lines() {
            screen.text(2, &line, out)?;
        }
        writeln!(out)
    }

    /// `11 nodes, 197 pods: $2.15 an hour ($1,569 a month)`
    pub(super) fn title(&self) -> String {
        let (nodes, pods) = (counted(self.nodes, "node"), counted(self.pods, "pod"));
        format!("{nodes}, {pods}: {}", self.price_in_words())
    }

    /// `$2.15 an hour ($1,569 a month)`
    fn price_in_words(&self) -> String {
        if !self.is_priced() {
            return "no price is known".to_owned();
        }
        let nanos = u128::from(self.price.nanos());
        let month = dollars(nanos * HOURS_PER_MONTH);
        format!("{} an hour ({month} a month)", dollars(nanos))
    }

    /// Whether any node counts.
    fn is_priced(&self) -> bool {
        self.not_counted.len() < self.nodes
    }

    /// What pages show of it: nodes, price and bound, each with what belongs to it.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let mut lines = self.lines();
        let more = if self.is_priced() { lines.split_off(lines.len().min(1)) } else { Vec::new() };
        let pods = counted(self.pods, "pod");
        let lines = format!("{pods}. {}", lines.join(" "));
        vec![
            Figure::new("Nodes now", many(self.nodes), lines),
            Figure::new("Cost now", self.price_in_words(), more.join(" ")),
        ]
    }

    /// Who bears the price of an hour; `None` where no price is known.
    pub(super) fn costs(&self) -> Option<CostView> {
        self.costs.view(Over::Hour)
    }

    /// What belongs to the title.
    fn lines(&self) -> Vec<String> {
        let (cpu, memory) = (self.cpu_requested_percent, self.memory_requested_percent);
        let mut lines = vec![format!("Pods request {cpu}% of CPU and {memory}% of memory.")];
        if 0 < self.instances_without_node {
            let number = self.instances_without_node;
            let instances = counted(number, "instance");
            lines.push(match number {
                1 => format!("{instances} without a node yet is among the nodes."),
                _ => format!("{instances} without a node yet are among the nodes."),
            });
        }
        if self.is_priced() {
            lines.push(format!("The price is for {}.", self.included));
            lines.push(self.bound_in_words());
        }
        let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for NotCounted { node, reason } in &self.not_counted {
            by_reason.entry(reason).or_default().push(node);
        }
        for (reason, nodes) in by_reason {
            let more = nodes.len().saturating_sub(NODES_SHOWN);
            let nodes = in_order(nodes);
            let mut names: Vec<String> =
                nodes.iter().take(NODES_SHOWN).map(|name| (*name).to_owned()).collect();
            names.extend((0 < more).then(|| format!("{more} more")));
            let number = counted(nodes.len(), "node");
            let its = if nodes.len() == 1 { "its" } else { "their" };
            let names = names.join(", ");
            lines.push(format!("{number} not counted, with {its} pods: {reason} ({names})."));
        }
        lines
    }

    fn bound_in_words(&self) -> String {
        let Some(bound) = self.bound else {
            return "No lower bound: the NodePools have no node for any of these pods.".to_owned();
        };
        let outside = match self.pods_outside_bound {
            0 => String::new(),
            pods => format!(
                " {} not in this bound: no NodePool has a node for them.",
                count(pods.into(), "pod")
            ),
        };
        if bound == HourlyPrice::default() {
            let cause = match self.pods_in_bound {
                0 => "no pods run on these nodes, except those that every new node brings",
                _ => "reserved capacity, which is paid for anyway, can hold these pods",
            };
            return format!("Lower bound: $0 an hour: {cause}.{outside}");
        }
        let nanos = u128::from(bound.nanos());
        let month = dollars_down(nanos * HOURS_PER_MONTH);
        let hour = dollars_down(nanos);
        let price = u128::from(self.price.nanos());
        let saved = price.saturating_sub(nanos) * 100 / price.max(1);
        let saved = match saved {
            0 => String::new(),
            saved => format!(", {saved}% less"),
        };
        format!(
            "Proved: on new nodes of the NodePools these pods cost at least {hour} an hour ({month} a \
             month){saved}.{outside}"
        )
    }
}

/// The names of the nodes of `machines`.
pub(super) fn nodes<'m, 'f: 'm>(
    machines: impl IntoIterator<Item = &'m Machine<'f>>,
) -> BTreeSet<&'f NodeName> {
    machines.into_iter().filter_map(|machine| Some(&machine.node?.name)).collect()
}

/// The number of pods on machines that are counted, without those of DaemonSets, and the least that they could cost.
fn lower_bound(facts: &Facts, machines: &[Machine<'_>]) -> (u32, LowerBound) {
    let counted = machines.iter().filter(|machine| matches!(machine.paid, Paid::Hourly(_)));
    let nodes = nodes(counted);
    let pods = facts.pods.iter().filter(|pod| !pod.is_terminal());
    let pods = pods.filter(|pod| pod.node.as_ref().is_some_and(|node| nodes.contains(node)));
    let counts = least::counted(pods);
    (counts.values().sum(), planner::lower_bound(facts, &counts, true))
}

/// Who bears the price of the machines that are counted.
fn costs(facts: &Facts, machines: &[Machine<'_>]) -> Costs {
    let cards = Cards::of(facts);
    let mut costs = Costs::default();
    for machine in machines {
        let Some(price) = machine.price(facts) else { continue };
        let pods = machine.node.into_iter().flat_map(|node| cards.on(&node.name));
        let pods = pods.map(|pod| (owner(pod), amounts(&pod.spec.requests)));
        let has = machine.allocatable().map(amounts).unwrap_or_default();
        let pool = machine.node_pool().unwrap_or(NO_POOL);
        costs.add(pool, price.nanos().into(), &shares(has, pods));
    }
    costs
}

fn not_counted(machine: &Machine<'_>) -> Option<NotCounted> {
    let reason = match &machine.paid {
        Paid::Hourly(_) => return None,
        Paid::Reserved => "on a capacity reservation, which is paid for anyway",
        Paid::Unknown(why) => why,
    };
    Some(NotCounted { node: machine.name().to_owned(), reason: reason.to_owned() })
}

fn sum([cpu, memory]: [u64; 2], more: &Resources) -> [u64; 2] {
    [cpu.saturating_add(more.cpu.0), memory.saturating_add(more.memory.0)]
}

/// How much `asked` is of `has`, rounded to the nearest whole per cent.
fn percent(asked: Option<&u64>, has: Option<&u64>) -> u64 {
    let [asked, has] = [asked, has].map(|amount| u128::from(amount.copied().unwrap_or_default()));
    let rounded = (asked * 100 + has / 2).checked_div(has).unwrap_or_default();
    u64::try_from(rounded).unwrap_or(u64::MAX)
}
