//! `journeyman get`: NodeClaims, nodes, pods, decisions, commands, rollouts and costs, as the ledger has them.

mod rollouts;
mod things;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    thread,
    time::Duration,
};

use clap::ValueEnum;
use jiff::Timestamp;
use model::{CapacityType, ClaimPhase, NodeClaim, NodeClaimName, NodePoolName, words};
use report::{
    command::RunCommand,
    error::BadInput,
    error::CommandError,
    format::Format,
    json::{self, Dollars},
    output::{HOURS_PER_MONTH, dollars, natural},
    screen::Screen,
};
use serde_json::{Value, json};

use crate::records::{self, Records, RecordsArgs};

/// Options of `get`.
#[derive(Clone, Debug, clap::Args)]
pub struct GetArgs {
    /// What to list.
    #[arg(value_enum)]
    pub what: RecordsKind,
    /// List only what belongs to this NodePool.
    #[arg(long = "nodepool", value_name = "NAME")]
    pub node_pool: Option<NodePoolName>,
    /// Where it is read from.
    #[command(flatten)]
    pub records: RecordsArgs,
    /// Maximum number of decisions or pods to list, newest first.
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    pub limit: usize,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::value_variants()), default_value_t)]
    pub output: Format,
    /// Keep running and print what is new or changed every two seconds, until Ctrl-C.
    #[arg(short, long)]
    pub watch: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecordsKind {
    /// NodeClaims that still exist.
    #[value(name = "nodeclaims", alias = "nodeclaim")]
    NodeClaims,
    /// Nodes of these NodeClaims.
    #[value(alias = "node", alias = "no")]
    Nodes,
    /// Pods that decisions name, each with its newest decision.
    #[value(alias = "pod", alias = "po")]
    Pods,
    /// Decisions of the functions, newest first.
    #[value(alias = "decision")]
    Decisions,
    /// Disruption commands in progress.
    #[value(alias = "command")]
    Commands,
    /// Images of nodes by NodePool, and rollouts that wait or are halted.
    #[value(alias = "rollout")]
    Rollouts,
    /// Prices of nodes by NodePool and capacity type; `plan --html` has them by workload.
    #[value(alias = "cost")]
    Costs,
}

/// A list: heads of columns, and what each row shows.
#[derive(Default)]
struct Listed {
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    documents: Vec<Value>,
    /// Each as `KIND/NAME`.
    names: Vec<String>,
    /// The heads of columns that a narrow window goes without, the first first.
    spared: &'static [&'static str],
}

impl Listed {
    /// Adds one thing.
    fn push(&mut self, row: Vec<String>, document: Value, name: String) {
        self.rows.push(row);
        self.documents.push(document);
        self.names.push(name);
    }
}

/// Between two looks of `--watch`.
const WATCHED_EVERY: Duration = Duration::from_secs(2);

/// Reads and prints; with `--watch` until it is interrupted.
pub fn run(args: &GetArgs, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
    if (args.what, args.output) == (RecordsKind::Costs, Format::Name) {
        return Err(BadInput::one("get costs -o name: costs have no names").into());
    }
    let source = args.records.found()?;
    let records = source.read()?;
    let mut watched = Watched::default();
    print(&watched.news(listed(&records, args)), &records, args, (screen, out))?;
    if !args.watch {
        return Ok(());
    }
    loop {
        out.flush()?;
        wait();
        match source.read() {
            Ok(records) => {
                let news = watched.news(listed(&records, args));
                print(&news, &records, args, (screen, out))?;
            }
            // A table that does not answer, or a file that is being written, is looked at once more.
            Err(error) => {
                let text = format!("{error}; looking again");
                Screen::of_stderr().lines(&text, &mut io::stderr())?;
            }
        }
    }
}

impl RunCommand for GetArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen.with_short_nodes(), &mut { out })?;
        Ok(true)
    }
}

#[expect(clippy::disallowed_methods, reason = "only a command waits, until its user ends it")]
fn wait() {
    thread::sleep(WATCHED_EVERY);
}

/// What was printed before.
#[derive(Debug, Default)]
struct Watched(Vec<Value>);

impl Watched {
    /// What of `listed` is new or changed. That something grew older is no change.
    fn news(&mut self, listed: Listed) -> Listed {
        let known = std::mem::replace(&mut self.0, listed.documents.clone());
        let Listed { heads, rows, documents, names, spared } = listed;
        let mut news = Listed { heads, spared, ..Listed::default() };
        for ((row, document), name) in rows.into_iter().zip(documents).zip(names) {
            if !known.contains(&document) {
                news.push(row, document, name);
            }
        }
        news
    }
}

fn print(
    listed: &Listed,
    records: &Records,
    args: &GetArgs,
    (screen, out): (Screen, &mut impl Write),
) -> Result<(), CommandError> {
    match args.output {
        Format::Json | Format::Yaml => {
            if !args.watch || !listed.documents.is_empty() {
                json::write(&json!({ "items": listed.documents }), args.output, out)?;
            }
        }
        Format::Name => listed.names.iter().try_for_each(|name| writeln!(out, "{name}"))?,
        Format::Table | Format::Wide => {
            if !listed.rows.is_empty() {
                let spared = (listed.spared, "-o wide");
                screen.sparing_table(&listed.heads, listed.rows.clone(), spared, out)?;
            } else if !args.watch {
                screen.text(0, "none found", out)?;
            }
            if let Some(line) = records.unreadable_in_words() {
                screen.text(0, &line, out)?;
            }
        }
    }
    Ok(())
}

fn listed(records: &Records, args: &GetArgs) -> Listed {
    let is_wide = args.output == Format::Wide;
    match args.what {
        RecordsKind::NodeClaims => node_claims(records, args, is_wide),
        RecordsKind::Nodes => things::nodes(records, args, is_wide),
        RecordsKind::Pods => things::pods(records, args, is_wide),
        RecordsKind::Decisions => decisions(records, args, is_wide),
        RecordsKind::Commands => commands(records, args, is_wide),
        RecordsKind::Rollouts => rollouts::rollouts(records, args),
        RecordsKind::Costs => costs(records, args),
    }
}

fn claims<'r>(records: &'r Records, args: &'r GetArgs) -> impl Iterator<Item = &'r NodeClaim> {
    let is_asked =
        |claim: &&NodeClaim| args.node_pool.as_ref().is_none_or(|pool| claim.node_pool == *pool);
    records.claims.values().filter(is_asked)
}

/// Which of `spared` a narrow window goes without: none with `-o wide`.
const fn spared(is_wide: bool, spared: &'static [&'static str]) -> &'static [&'static str] {
    if is_wide { &[] } else { spared }
}

/// The status of the condition `Ready` of a NodeClaim, as kubectl shows it; `False` while it is being deleted.
const fn readiness(phase: ClaimPhase) -> &'static str {
    match phase {
        ClaimPhase::Initialized => "True",
        ClaimPhase::Created | ClaimPhase::Launched | ClaimPhase::Registered => "Unknown",
        ClaimPhase::Deleting => "False",
    }
}

/// NodeClaims with the columns of `kubectl get nodeclaims`.
fn node_claims(records: &Records, args: &GetArgs, is_wide: bool) -> Listed {
    const SPARED: &[&str] = &["ZONE", "CAPACITY", "AGE"];
    let mut heads = vec!["NAME", "TYPE", "CAPACITY", "ZONE", "NODE", "READY", "AGE"];
    if is_wide {
        heads.extend(["NODEPOOL", "PHASE", "INSTANCE", "PRICE/H", "MESSAGE"]);
    }
    let row = |claim: &NodeClaim| {
        let instance = claim.instance.as_ref();
        let text = |text: Option<String>| text.unwrap_or_default();
        let mut row = vec![
            claim.name.to_string(),
            text(instance.map(|instance| instance.instance_type.to_string())),
            text(instance.map(|instance| instance.capacity_type.to_string())),
            text(instance.map(|instance| instance.zone.to_string())),
            text(claim.node.as_ref().map(ToString::to_string)),
            readiness(claim.phase).to_owned(),
            age(claim.created_at, records.at),
        ];
        if is_wide {
            row.push(claim.node_pool.to_string());
            row.push(claim.phase.to_string());
            row.push(text(instance.map(|instance| instance.id.to_string())));
            row.push(text(instance.map(|instance| dollars(instance.price.nanos().into()))));
            row.push(text(claim.message.as_ref().map(ToString::to_string)));
        }
        row
    };
    let mut listed = Listed { heads, spared: spared(is_wide, SPARED), ..Listed::default() };
    let mut claims: Vec<&NodeClaim> = claims(records, args).collect();
    claims.sort_by(|a, b| natural(a.name.as_str(), b.name.as_str()));
    for claim in claims {
        listed.push(row(claim), records::claim(claim), format!("nodeclaim/{}", claim.name));
    }
    listed
}

fn decisions(records: &Records, args: &GetArgs, is_wide: bool) -> Listed {
    let is_asked = |decision: &&model::ledger::Decision| {
        args.node_pool.is_none() || decision.node_pool == args.node_pool
    };
    let asked: Vec<_> = records.decisions.iter().filter(is_asked).take(args.limit).collect();
    let mut heads = vec!["TIME", "KIND", "COUNT"];
    if is_wide {
        heads.extend(["FUNCTION", "ID", "FACTS"]);
    }
    heads.push("SUMMARY");
    let row = |decision: &&model::ledger::Decision| {
        let mut row = vec![
            format!("{:.0}", decision.at),
            decision.kind.as_str().to_owned(),
            decision.count.to_string(),
        ];
        if is_wide {
            let facts = decision.origin.as_ref().map(|origin| format!("{:016x}", origin.facts));
            row.push(decision.function.to_string());
            row.push(decision.short_id());
            row.push(facts.unwrap_or_default());
        }
        row.push(decision.summary.clone());
        row
    };
    let rows = asked.iter().map(row).collect();
    let names = asked.iter().map(|decision| format!("decision/{}", decision.short_id())).collect();
    let documents = asked.into_iter().map(records::decision).collect();
    Listed { heads, rows, documents, names, ..Listed::default() }
}

fn commands(records: &Records, args: &GetArgs, is_wide: bool) -> Listed {
    let is_asked = |candidates: &[NodeClaimName]| {
        args.node_pool.is_none()
            || candidates.iter().any(|name| {
                let claim = records.claims.get(name);
                claim.is_some_and(|claim| Some(&claim.node_pool) == args.node_pool.as_ref())
            })
    };
    let asked: Vec<_> =
        records.commands.iter().filter(|(_, command)| is_asked(&command.candidates)).collect();
    let row = |(id, command): &(&model::CommandId, &model::disruption::Command)| {
        let mut candidates: Vec<&str> =
            command.candidates.iter().map(NodeClaimName::as_str).collect();
        candidates.sort_by(|a, b| natural(a, b));
        let mut row = vec![
            id.to_string(),
            command.method.as_str().to_owned(),
            records::progress(command).to_owned(),
            age(command.found_at, records.at),
        ];
        if is_wide {
            row.push(words::many(command.replacements.len()));
        }
        row.push(candidates.join(", "));
        row
    };
    let mut heads = vec!["ID", "METHOD", "PROGRESS", "AGE"];
    if is_wide {
        heads.push("REPLACEMENTS");
    }
    heads.push("NODECLAIMS");
    let rows = asked.iter().map(row).collect();
    let names = asked.iter().map(|(id, _)| format!("command/{id}")).collect();
    let documents = asked.into_iter().map(|(id, command)| records::command(id, command));
    Listed { heads, rows, documents: documents.collect(), names, ..Listed::default() }
}

fn costs(records: &Records, args: &GetArgs) -> Listed {
    let mut sums: BTreeMap<(String, Option<CapacityType>), (usize, u128)> = BTreeMap::new();
    for claim in claims(records, args) {
        let Some(instance) = &claim.instance else { continue };
        for key in
            [(claim.node_pool.to_string(), Some(instance.capacity_type)), (TOTAL.to_owned(), None)]
        {
            let (nodes, price) = sums.entry(key).or_default();
            *nodes += 1;
            *price += u128::from(instance.price.nanos());
        }
    }
    // The total comes last.
    let total = sums.remove(&(TOTAL.to_owned(), None)).unwrap_or_default();
    let sums: Vec<_> = sums.into_iter().chain([((TOTAL.to_owned(), None), total)]).collect();
    let capacity = |kind: &Option<CapacityType>| kind.map_or("", CapacityType::as_str).to_owned();
    let row = |((pool, kind), (nodes, price)): &((String, Option<CapacityType>), (usize, u128))| {
        let month = dollars(*price * HOURS_PER_MONTH);
        vec![pool.clone(), capacity(kind), words::many(*nodes), dollars(*price), month]
    };
    let rows = sums.iter().map(row).collect();
    let documents = sums.iter().map(|((pool, kind), (nodes, price))| {
        json!({
            // Of the sum there is neither: a NodePool may have its name.
            "nodePool": kind.map(|_| pool),
            "capacityType": kind.map(CapacityType::as_str),
            "nodes": nodes,
            "pricePerHour": Dollars::of(*price),
            "pricePerMonth": Dollars::of(*price * HOURS_PER_MONTH),
        })
    });
    let heads = vec!["NODEPOOL", "CAPACITY", "NODES", "PRICE/H", "PRICE/MONTH"];
    let names = vec![String::new(); sums.len()];
    Listed { heads, rows, documents: documents.collect(), names, ..Listed::default() }
}

/// What the sum of all NodePools is called.
const TOTAL: &str = "total";

/// How long ago `since` was, as kubectl says it: `45s`, `12m`, `5h`, `3d`.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_or_changed_is_shown_and_what_grew_older_is_not() {
        let listed = |claims: &[(&str, &str, &str)]| Listed {
            names: claims.iter().map(|(name, ..)| (*name).to_owned()).collect(),
            heads: vec!["NAME", "PHASE", "AGE"],
            rows: claims
                .iter()
                .map(|(name, phase, age)| [name, phase, age].map(|cell| (*cell).to_owned()).into())
                .collect(),
            documents: claims
                .iter()
                .map(|(name, phase, _)| json!({"name": name, "phase": phase}))
                .collect(),
            spared: &[],
        };
        let mut watched = Watched::default();
        let mut names = |claims: &[(&str, &str, &str)]| -> Vec<String> {
            let news = watched.news(listed(claims));
            assert_eq!(news.rows.len(), news.documents.len());
            news.rows.into_iter().filter_map(|row| row.into_iter().next()).collect()
        };
        assert_eq!(names(&[("a", "Launched", "1m"), ("b", "Launched", "1m")]), ["a", "b"]);
        assert!(names(&[("a", "Launched", "2m"), ("b", "Launched", "2m")]).is_empty());
        let changed = [("a", "Registered", "3m"), ("b", "Launched", "3m"), ("c", "Created", "0s")];
        assert_eq!(names(&changed), ["a", "c"]);
    }
}
