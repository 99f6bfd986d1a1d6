//! A plan for people: what would be launched for which pods at what price, what goes onto what is
//! there, and what finds no place and why.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use model::{
    InstanceTypeName, Pod, PodKey,
    facts::Facts,
    plan::{Promise, Reason, Target},
};

use super::Planned;
use crate::output::{count, dollars};

/// Hours of a month, as AWS reckons.
const HOURS_PER_MONTH: u64 = 730;
/// Workloads that a line names.
const GROUPS_SHOWN: usize = 6;

/// Words with colours, where they are wanted.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn bold(self, text: &str) -> String {
        if self.0 { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn red(self, text: &str) -> String {
        if self.0 { format!("\u{1b}[31m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Prints `planned`, which was planned on `facts`.
pub(super) fn show(
    planned: &Planned,
    facts: &Facts,
    is_coloured: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let paint = Paint(is_coloured);
    let plan = &planned.plan;
    let owners = Owners::of(&facts.pods);
    let promises = [planned.fixed.promises.as_slice(), &plan.promises].concat();
    show_launches(&promises, &owners, paint, out)?;
    if !planned.fixed.notes.is_empty() {
        writeln!(out, "{}", paint.bold("NodePools with replicas"))?;
        planned.fixed.notes.iter().try_for_each(|note| writeln!(out, "  {note}"))?;
    }
    if planned.is_waiting {
        let waiting = facts.ledger.claims.values().find(|claim| claim.instance.is_none());
        let name = waiting.map_or_else(String::new, |claim| format!(" {}", claim.name));
        writeln!(out, "Nothing is planned for pods: the NodeClaim{name} has no instance yet.")?;
        return Ok(());
    }
    if !plan.placements.is_empty() {
        writeln!(out, "\n{}", paint.bold("Onto what is there"))?;
        let rows = plan.placements.iter().map(|placement| {
            let name = match &placement.target {
                Target::Node(node) => node.as_str(),
                Target::Claim(claim) => claim.as_str(),
            };
            vec![name.to_owned(), owners.in_words(&placement.pods)]
        });
        columns(&["NODE", "PODS"], &rows.collect::<Vec<_>>(), paint, out)?;
    }
    if !plan.unplaced.is_empty() {
        let title = format!("No place for {}", pods(plan.unplaced.len()));
        writeln!(out, "\n{}", paint.red(&title))?;
        let mut by_reasons: BTreeMap<&[Reason], Vec<PodKey>> = BTreeMap::new();
        for unplaced in &plan.unplaced {
            by_reasons.entry(&unplaced.reasons).or_default().push(unplaced.pod.clone());
        }
        for (reasons, pods) in by_reasons {
            writeln!(out, "  {}", owners.in_words(&pods))?;
            reasons.iter().try_for_each(|reason| writeln!(out, "    {reason}"))?;
        }
    }
    if plan.promises.is_empty() && plan.placements.is_empty() && plan.unplaced.is_empty() {
        writeln!(out, "No pod needs a place.")?;
    }
    let unseen = facts.pods.iter().filter(|pod| {
        let waits = pod.node.is_none() && !pod.is_terminal() && !pod.is_terminating();
        waits && pod.unschedulable_at.is_none() && !pod.is_owned_by_daemon_set()
    });
    match unseen.count() {
        0 => Ok(()),
        unseen => {
            writeln!(out, "\nLeft out: {} that kube-scheduler has not given up.", pods(unseen))
        }
    }
}

fn pods(number: usize) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX), "pod")
}

/// What makes claims one row: pool, types, the cheapest offering, its price and the pods' workloads.
type Alike<'a> = (&'a str, &'a [InstanceTypeName], String, u64, String);

fn show_launches(
    promises: &[Promise],
    owners: &Owners<'_>,
    paint: Paint,
    out: &mut impl Write,
) -> io::Result<()> {
    if promises.is_empty() {
        return Ok(());
    }
    let total: u128 = promises.iter().map(|promise| u128::from(promise.price.0)).sum();
    let nodes = count(u64::try_from(promises.len()).unwrap_or(u64::MAX), "node");
    let title = format!(
        "{nodes} would be launched, from {} an hour ({} a month)",
        dollars(total),
        dollars(total * u128::from(HOURS_PER_MONTH))
    );
    writeln!(out, "{}", paint.bold(&title))?;
    // In the order in which the first of each kind is planned.
    let mut order: Vec<Alike<'_>> = Vec::new();
    let mut alike: BTreeMap<Alike<'_>, u64> = BTreeMap::new();
    for promise in promises {
        let key: Alike<'_> = (
            promise.claim.node_pool.as_str(),
            &promise.possible,
            promise.cheapest.to_string(),
            promise.price.0,
            match promise.claim.pods.as_slice() {
                [] => "(a replica of the pool)".to_owned(),
                pods => owners.in_words(pods),
            },
        );
        let number = alike.entry(key.clone()).or_default();
        if *number == 0 {
            order.push(key);
        }
        *number += 1;
    }
    let rows = order.iter().map(|key| {
        let (pool, types, cheapest, price, pods) = key;
        let price = u128::from(*price);
        vec![
            alike.get(key).copied().unwrap_or_default().to_string(),
            (*pool).to_owned(),
            cheapest.clone(),
            dollars(price),
            dollars(price * u128::from(HOURS_PER_MONTH)),
            types.len().to_string(),
            pods.clone(),
        ]
    });
    let heads = ["NODES", "NODEPOOL", "CHEAPEST", "PER HOUR", "PER MONTH", "TYPES", "PODS EACH"];
    columns(&heads, &rows.collect::<Vec<_>>(), paint, out)
}

/// A table, each column as wide as its widest cell.
fn columns(
    heads: &[&str],
    rows: &[Vec<String>],
    paint: Paint,
    out: &mut impl Write,
) -> io::Result<()> {
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(head.len())
        })
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    writeln!(out, "  {}", paint.bold(&line(&mut heads.iter().copied())))?;
    for row in rows {
        writeln!(out, "  {}", line(&mut row.iter().map(String::as_str)))?;
    }
    Ok(())
}

/// Which workload a pod belongs to.
struct Owners<'a>(BTreeMap<&'a PodKey, String>);

impl<'a> Owners<'a> {
    fn of(pods: &'a [Pod]) -> Self {
        Self(pods.iter().map(|pod| (&pod.key, owner(pod))).collect())
    }

    /// `default/web ×12, default/db-0`.
    fn in_words(&self, pods: &[PodKey]) -> String {
        let mut groups: BTreeMap<String, u64> = BTreeMap::new();
        for pod in pods {
            let group = self.0.get(pod).cloned().unwrap_or_else(|| pod.to_string());
            *groups.entry(group).or_default() += 1;
        }
        let more = groups.len().saturating_sub(GROUPS_SHOWN);
        let shown = groups.into_iter().take(GROUPS_SHOWN).map(|(name, number)| match number {
            1 => name,
            number => format!("{name} ×{number}"),
        });
        let mut shown: Vec<String> = shown.collect();
        if more > 0 {
            shown.push(format!("{more} more workloads"));
        }
        shown.join(", ")
    }
}

/// The workload of a pod: of a ReplicaSet its Deployment's name, as far as it can be told.
fn owner(pod: &Pod) -> String {
    let namespace = &pod.key.namespace;
    match &pod.owner {
        Some(owner) if owner.kind == "ReplicaSet" => {
            let is_hash = |text: &str| {
                (8..=10).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric())
            };
            let name = match owner.name.rsplit_once('-') {
                Some((name, hash)) if is_hash(hash) => name,
                _ => &owner.name,
            };
            format!("{namespace}/{name}")
        }
        Some(owner) => format!("{namespace}/{}", owner.name),
        None => pod.key.to_string(),
    }
}
