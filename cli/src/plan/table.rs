//! A plan for people: what would be launched for which pods at what price, what goes onto what is
//! there, and what finds no place and why.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use model::{
    HourlyPrice, Plan, PodKey,
    facts::Facts,
    labels,
    limits::INSTANCE_TYPES_PER_CLAIM_MAX,
    plan::{NewClaim, Placement, Reason, Target},
};
use report::{
    output::{HOURS_PER_MONTH, count, dollars, dollars_down, many, natural, thousands},
    screen::Screen,
};

use super::{Planned, Prices, Remarks, owners::Owners, pods, rounds::Round};

/// What people ask first: what is created at what price, and for how many pods there is no node.
pub(super) fn answer(planned: &Planned, facts: &Facts) -> Vec<String> {
    let plan = &planned.plan;
    let new_claims = [planned.fixed.new_claims.as_slice(), &plan.new_claims].concat();
    let mut lines: Vec<String> = headline("would be launched", &new_claims).into_iter().collect();
    lines.extend(planned.prices.as_ref().map(|prices| in_words(prices, &planned.included)));
    let placed = |verb: &str, placements: &[Placement]| {
        let placed: usize = placements.iter().map(|placement| placement.pods.len()).sum();
        let nodes = u64::try_from(placements.len()).unwrap_or(u64::MAX);
        (0 < placed)
            .then(|| format!("{} {verb} to {}", pods(placed), count(nodes, "existing node")))
    };
    lines.extend(placed("bound", &planned.bound));
    lines.extend(placed("nominated", &plan.placements));
    if planned.is_waiting {
        lines.push(waiting(facts).1);
    } else if !plan.unplaced.is_empty() {
        lines.push(format!("{} cannot be scheduled", pods(plan.unplaced.len())));
    } else if lines.is_empty() {
        lines.push(NOTHING.to_owned());
    }
    lines
}

/// What is said where nothing is planned.
const NOTHING: &str = "No pod needs a node.";

/// `4 nodes would be launched, instances from $0.1214 an hour ($88.62 a month)`; `None` of none.
fn headline(what: &str, new_claims: &[NewClaim]) -> Option<String> {
    if new_claims.is_empty() {
        return None;
    }
    let total: u128 = new_claims.iter().map(|new| u128::from(new.price.nanos())).sum();
    let nodes = count(u64::try_from(new_claims.len()).unwrap_or(u64::MAX), "node");
    let (hour, month) = (dollars(total), dollars(total * HOURS_PER_MONTH));
    Some(format!("{nodes} {what}, instances from {hour} an hour ({month} a month)"))
}

/// Prints `planned`, which was planned on `facts`.
pub(super) fn show(
    planned: &Planned,
    facts: &Facts,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut page = Vec::new();
    write(planned, facts, screen, &mut page)?;
    // What comes first has nothing to be parted from.
    out.write_all(page.strip_prefix(b"\n").unwrap_or(&page))
}

fn write(planned: &Planned, facts: &Facts, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let owners = Owners::of(&facts.pods);
    let page = Page { facts, owners: &owners, screen };
    let plan = &planned.plan;
    let new_claims = [planned.fixed.new_claims.as_slice(), &plan.new_claims].concat();
    page.launches("would be launched", &new_claims, out)?;
    if let Some(prices) = &planned.prices {
        screen.text(2, &in_words(prices, &planned.included), out)?;
    }
    if !planned.fixed.notes.is_empty() {
        screen.title("NodePools with replicas", out)?;
        for note in &planned.fixed.notes {
            screen.text(2, &note.to_string(), out)?;
        }
    }
    page.placements("Bound by kube-scheduler", &planned.bound, None, out)?;
    if planned.is_waiting {
        screen.text(0, &waiting(facts).1, out)?;
        return remarks(&planned.remarks, screen, out);
    }
    page.placements("On existing nodes", &plan.placements, None, out)?;
    page.unplaced(plan, planned.later.first(), out)?;
    let mut waited = &plan.unplaced;
    for (number, round) in planned.later.iter().filter(|round| round.is_wanted).enumerate() {
        let before: BTreeSet<&PodKey> = waited.iter().map(|unplaced| &unplaced.pod).collect();
        writeln!(out)?;
        screen.title(&format!("Round {}", number + 2), out)?;
        page.launches("would be launched then", &round.plan.new_claims, out)?;
        page.placements("On existing nodes", &round.plan.placements, Some(&before), out)?;
        page.unplaced(&round.plan, None, out)?;
        waited = &round.plan.unplaced;
    }
    let is_any_placed = !plan.placements.is_empty() || !planned.bound.is_empty();
    if plan.new_claims.is_empty() && !is_any_placed && plan.unplaced.is_empty() {
        screen.text(0, NOTHING, out)?;
    }
    remarks(&planned.remarks, screen, out)
}

/// For how many pods nothing is planned while Karpenter waits for an instance, and that in words.
pub(super) fn waiting(facts: &Facts) -> (usize, String) {
    let claim = facts.ledger.claims.values().find(|claim| claim.instance.is_none());
    let name = claim.map_or_else(String::new, |claim| format!(" {}", claim.name));
    let number = facts.pods.iter().filter(|pod| pod.is_provisionable()).count();
    let whom = if number == 0 { "pods".to_owned() } else { pods(number) };
    (number, format!("Nothing is planned for {whom}: the NodeClaim{name} has no instance yet."))
}

/// `$37.26 an hour for instances and their volumes; no plan can cost less than $35.90; Karpenter's would cost
/// $53.35.`
fn in_words(prices: &Prices, included: &str) -> String {
    let in_dollars = |price: HourlyPrice| dollars(price.nanos().into());
    let price = in_dollars(prices.plan);
    // The pods of new nodes may have a place on nodes that are there, by rules that no bound looks at.
    let least = match prices.bound.nanos() {
        0 => String::new(),
        least => format!(" no plan can cost less than {};", dollars_down(least.into())),
    };
    let other = if prices.plan == prices.karpenter && prices.cheapest == prices.plan {
        "nothing cheaper was found".to_owned()
    } else if prices.plan == prices.karpenter {
        format!("with --packing cheapest it would cost {}", in_dollars(prices.cheapest))
    } else {
        format!("Karpenter's would cost {}", in_dollars(prices.karpenter))
    };
    format!("{price} an hour for {included};{least} {other}.")
}

/// What an answer rests on, and what it leaves out.
pub(super) fn remarks(remarks: &Remarks, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    for (title, lines) in [("Left out", &remarks.left_out), ("Assumed", &remarks.assumptions)] {
        if lines.is_empty() {
            continue;
        }
        writeln!(out)?;
        screen.title(title, out)?;
        lines.iter().try_for_each(|line| screen.text(2, line, out))?;
    }
    Ok(())
}

/// What makes claims one row: pool, the cheapest offering, its price, how many types and the pods'
/// workloads.
type Alike = (String, String, u64, usize, String);

/// What is printed, and on what.
struct Page<'a> {
    facts: &'a Facts,
    owners: &'a Owners<'a>,
    screen: Screen,
}

impl Page<'_> {
    fn launches(
        &self,
        what: &str,
        new_claims: &[NewClaim],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Some(title) = headline(what, new_claims) else { return Ok(()) };
        self.screen.title(&title, out)?;
        // In the order in which the first of each kind is planned.
        let mut order: Vec<Alike> = Vec::new();
        let mut alike: BTreeMap<Alike, u64> = BTreeMap::new();
        for new in new_claims {
            let key = self.alike(new);
            let number = alike.entry(key.clone()).or_default();
            if *number == 0 {
                order.push(key);
            }
            *number += 1;
        }
        let rows: Vec<_> = order
            .iter()
            .map(|key| {
                let (pool, cheapest, price, types, pods) = key;
                let price = u128::from(*price);
                vec![
                    thousands(alike.get(key).copied().unwrap_or_default().into()),
                    pool.clone(),
                    cheapest.clone(),
                    dollars(price),
                    dollars(price * HOURS_PER_MONTH),
                    many(*types),
                    pods.clone(),
                ]
            })
            .collect();
        let heads = ["NODES", "NODEPOOL", "CHEAPEST", "HOURLY", "MONTHLY", "TYPES", "PODS EACH"];
        self.screen.table(&heads, &rows, out)?;
        let lowered: BTreeSet<String> =
            new_claims.iter().flat_map(|new| self.lowered(new)).collect();
        lowered.iter().try_for_each(|line| self.screen.text(2, line, out))
    }

    fn alike(&self, new: &NewClaim) -> Alike {
        let claim = &new.claim;
        let mut pools = self.facts.node_pools.iter();
        let pool = pools.find(|pool| pool.name == claim.node_pool);
        let is_replica = pool.is_some_and(|pool| pool.replicas.is_some());
        let pods = self.owners.in_words(&claim.pods);
        let pods = match claim.pods.as_slice() {
            [] => "(a replica of the pool)".to_owned(),
            _ if is_replica => format!("{pods} (a replica of the pool)"),
            _ => pods,
        };
        (
            new.claim.node_pool.to_string(),
            new.cheapest.to_string(),
            new.price.nanos(),
            new.possible.len().min(INSTANCE_TYPES_PER_CLAIM_MAX),
            pods,
        )
    }

    /// The `minValues` that were lowered for a claim.
    fn lowered(&self, new: &NewClaim) -> Vec<String> {
        let claim = &new.claim;
        if !claim.is_marked(labels::MIN_VALUES_RELAXED) {
            return Vec::new();
        }
        let pool = self.facts.node_pools.iter().find(|pool| pool.name == claim.node_pool);
        let wanted = pool.into_iter().flat_map(|pool| pool.template.requirements.iter());
        let lowered = wanted.filter_map(|wanted| {
            let key = wanted.key().as_str();
            let now = claim.requirements.get(key)?.min_values()?;
            let wanted = wanted.min_values().filter(|wanted| now < *wanted)?;
            let pool = &claim.node_pool;
            Some(format!("{pool}: minValues of {key} lowered from {wanted} to {now}"))
        });
        lowered.collect()
    }

    /// What goes onto what is there; of pods, if they are given, only those.
    fn placements(
        &self,
        title: &str,
        placements: &[Placement],
        pods: Option<&BTreeSet<&PodKey>>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut rows: Vec<_> = placements
            .iter()
            .filter_map(|placement| {
                let name = match &placement.target {
                    Target::Node(node) => node.as_str(),
                    Target::Claim(claim) => claim.as_str(),
                };
                let is_meant = |pod: &&PodKey| pods.is_none_or(|pods| pods.contains(*pod));
                let placed: Vec<&PodKey> = placement.pods.iter().filter(is_meant).collect();
                (!placed.is_empty()).then(|| vec![name.to_owned(), self.owners.in_words(placed)])
            })
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by(|a: &Vec<String>, b| match (a.first(), b.first()) {
            (Some(a), Some(b)) => natural(a, b),
            _ => std::cmp::Ordering::Equal,
        });
        writeln!(out)?;
        self.screen.title(title, out)?;
        self.screen.table(&["NODE", "PODS"], &rows, out)
    }

    fn unplaced(&self, plan: &Plan, later: Option<&Round>, out: &mut impl Write) -> io::Result<()> {
        if plan.unplaced.is_empty() {
            return Ok(());
        }
        let title = format!("{} cannot be scheduled", pods(plan.unplaced.len()));
        writeln!(out)?;
        writeln!(out, "{}", self.screen.red(&title))?;
        let mut by_reasons: BTreeMap<&[Reason], Vec<&PodKey>> = BTreeMap::new();
        for unplaced in &plan.unplaced {
            by_reasons.entry(&unplaced.reasons).or_default().push(&unplaced.pod);
        }
        for (reasons, pods) in by_reasons {
            self.screen.text(2, &self.owners.in_words(pods.iter().copied()), out)?;
            if let Some(text) = later.and_then(|round| round.would_place(&pods)) {
                self.screen.text(4, &text, out)?;
            }
            for reason in reasons {
                self.screen.text(4, &reason.to_string(), out)?;
            }
        }
        Ok(())
    }
}
