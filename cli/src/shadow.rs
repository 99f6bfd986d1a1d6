//! `journeyman shadow`: beside whatever runs a cluster, what Journeyman would have done. Nothing is changed.
//!
//! Dumps of the cluster in time order say what its pods asked for and which nodes it had. The same demand is
//! played to the functions' own handlers on a simulated account, from the same nodes, and both are compared
//! by the same measure at the same times.

mod demand;
mod dumps;
mod folder;
mod html;
mod incidents;
mod live;
mod ours;
mod side;
mod table;

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use installer::installation::ClusterArgs;
use jiff::{SignedDuration, Timestamp};
use launch_template::NodeSettings;
use model::{HourlyPrice, RegionCatalog};
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    format::Format,
    output::HOURS_PER_MONTH,
    page,
    progress::ProgressLine,
    screen::Screen,
};

use self::{dumps::Dump, incidents::Incidents};
use crate::{catalog::source, options};

/// Options of `shadow`.
#[derive(Clone, Debug, clap::Args)]
pub struct ShadowArgs {
    /// Directory of dumps. Each dump is a file or directory named by its time, such as
    /// `2026-08-01T12-00-00Z.json`, with what `kubectl get KINDS -A -o json` prints for nodepools,
    /// ec2nodeclasses, nodeclaims, nodes, pods, deployments, daemonsets and events. Default: the
    /// directory where --live writes dumps of the cluster of the kubeconfig context.
    #[arg(value_name = "DIR")]
    pub dumps: Option<PathBuf>,
    /// Use these objects instead of those of the dumps, such as NodePools for a cluster that has
    /// none.
    #[arg(short = 'f', long = "filename", value_name = "DIR|FILE", value_delimiter = ',')]
    pub filenames: Vec<PathBuf>,
    /// First write dumps of the cluster of the current kubeconfig context to DIR. Changes nothing
    /// in the cluster.
    #[arg(long)]
    pub live: bool,
    /// With --live: time between two dumps.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "live")]
    pub every: String,
    /// With --live: how long to write dumps.
    #[arg(long, value_name = "DURATION", default_value = "1h", requires = "live")]
    pub duration: String,
    /// With --live: kubeconfig context to use instead of the current one.
    #[arg(long, value_name = "NAME", requires = "live")]
    pub context: Option<String>,
    /// With --live: kubeconfig file. Default: KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE", requires = "live")]
    pub kubeconfig: Option<PathBuf>,
    /// Region of the cluster. For regions other than us-west-2, types and prices are read from AWS.
    #[arg(long, value_name = "REGION")]
    pub region: Option<String>,
    /// Seed of random numbers. The same seed gives the same output.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a report for the browser. One file, no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = Format::one_of(Format::DOCUMENT), default_value_t)]
    pub output: Format,
}

impl ShadowArgs {
    /// The cluster that --live reads.
    fn place(&self) -> ClusterArgs {
        ClusterArgs { context: self.context.clone(), kubeconfig: self.kubeconfig.clone() }
    }
}

/// One of both sides: what runs the cluster, or Journeyman. Lists have an entry for each dump.
#[derive(Clone, Debug, Default)]
struct Side {
    price: Vec<HourlyPrice>,
    nodes: Vec<u64>,
    waiting: Vec<u64>,
    /// Since the dump before.
    evictions: Vec<u64>,
    launched: u64,
    removed: u64,
    /// Of each launch and each removal the square of what its instance costs from one dump to the next, in nano-dollars:
    /// when it was in between is unknown.
    blurred: u128,
    /// From a pod's creation to its start, shortest first, of those that started in between.
    pending: Vec<SignedDuration>,
    /// What happened, in lines.
    lines: Vec<(Timestamp, &'static str, String)>,
}

impl Side {
    /// What it cost from the first dump to the last, in nano-dollars, rounded down.
    fn cost(&self, dumps: &[Dump]) -> u128 {
        cost(dumps, &self.price)
    }

    /// The waiting time that `percent` of a hundred pods did not exceed, by nearest rank.
    fn pending(&self, percent: usize) -> Option<SignedDuration> {
        let rank = (self.pending.len() * percent).div_ceil(100).max(1);
        self.pending.get(rank - 1).copied()
    }

    fn evicted(&self) -> u64 {
        self.evictions.iter().sum()
    }
}

/// Both sides.
struct Compared {
    dumps: Vec<Dump>,
    theirs: Side,
    ours: Side,
    ends: html::Ends,
    /// What the pods that have a node in each dump cost at the least.
    least: Vec<Option<HourlyPrice>>,
    /// What happened to their nodes.
    incidents: Incidents,
    /// What people should know about the answer.
    notes: Vec<String>,
}

impl Compared {
    /// What the pods of the dumps cost from the first dump to the last at the least, in nano-dollars; `None` where no
    /// bound is known. Where it is not known of some dumps, nothing counts from there to the next.
    fn least_cost(&self) -> Option<u128> {
        let is_known = self.least.iter().any(Option::is_some);
        let prices: Vec<HourlyPrice> =
            self.least.iter().map(|price| price.unwrap_or_default()).collect();
        is_known.then(|| cost(&self.dumps, &prices))
    }

    /// How far apart in nano-dollars the costs of both sides may be if they do the same at other moments between the same
    /// dumps: two standard deviations, each launch and removal being anywhere between its dumps.
    fn blur(&self) -> u128 {
        // The variance of what is anywhere within a length is a twelfth of the length's square.
        (self.theirs.blurred.saturating_add(self.ours.blurred) / 3).isqrt()
    }

    /// What costs so much from the first dump to the last costs in a month.
    fn month(&self, nanos: u128) -> u128 {
        let times = self.dumps.first().zip(self.dumps.last());
        let seconds = times.map_or(0, |(first, last)| last.at.duration_since(first.at).as_secs());
        let seconds = u128::try_from(seconds).unwrap_or_default().max(1);
        nanos * HOURS_PER_MONTH * 3_600 / seconds
    }
}

/// What `prices` come to from the first dump to the last, in nano-dollars, rounded down: each holds from a dump to the
/// next.
fn cost(dumps: &[Dump], prices: &[HourlyPrice]) -> u128 {
    let intervals = dumps.windows(2).zip(prices);
    let nanos = intervals.map(|(pair, price)| {
        let [from, to] = pair else { return 0 };
        let seconds = to.at.duration_since(from.at).as_secs();
        u128::from(price.nanos()) * u128::try_from(seconds).unwrap_or_default()
    });
    nanos.sum::<u128>() / 3_600
}

/// Compares and prints.
pub fn run(args: &ShadowArgs, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
    let folder = folder::of(args)?;
    if args.live {
        let every = options::duration("--every", &args.every)?;
        let length = options::duration("--duration", &args.duration)?;
        live::record(args, &folder, (every, length))?;
    }
    let compared = compare(args, &folder)?;
    if let Some(path) = &args.html {
        page::write(&html::report(&compared), path)?;
    }
    if args.output.is_document() {
        report::json::write(&table::json(&compared), args.output, out)?;
    } else {
        table::show(&compared, screen, out)?;
    }
    Ok(())
}

impl RunCommand for ShadowArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen.with_short_nodes(), &mut { out })?;
        Ok(true)
    }
}

fn compare(args: &ShadowArgs, folder: &Path) -> Result<Compared, CommandError> {
    let catalog = Arc::new(catalog(args)?);
    let progress = ProgressLine::new("reading dumps");
    let mut dumps = dumps::read(folder, &args.filenames)?;
    progress.says("playing");
    let mut notes: Vec<String> = dumps.iter().flat_map(|dump| dump.notes.clone()).collect();
    let mut incidents = Incidents::of(&dumps);
    for dump in &mut dumps {
        dump.ended.extend(incidents.ended(dump.at).cloned());
    }
    let (ours, ends, least) =
        ours::play(&dumps, args.seed, &catalog, (&mut incidents, &mut notes), &progress)?;
    drop(progress);
    let theirs = side::of((&dumps, &catalog), &mut incidents, &mut notes);
    notes.sort();
    notes.dedup();
    Ok(Compared { dumps, theirs, ours, ends, least, incidents, notes })
}

/// What is sold in the region of the cluster.
fn catalog(args: &ShadowArgs) -> Result<RegionCatalog, BadInput> {
    match args.region.as_deref() {
        None | Some("us-west-2") => {
            instance_catalog::builtin().map_err(|error| BadInput::one(error.to_string()))
        }
        Some(region) => {
            let source = source::live("shadow --region", Some(region))?;
            Ok(source.catalog(&[], &NodeSettings::default()))
        }
    }
}
