//! How long a decision about disruption takes: `cargo bench -p planner --bench consolidation`.
//!
//! The clusters are those on which Karpenter was measured (`support/cluster.rs`). Measured is the
//! decision of one method by itself, from the candidates to the validated command, without the wait
//! of 15 seconds, each time on facts that were just made ready: nothing is known from the time before.
//! What making them ready takes, which Karpenter does as the cluster changes, is printed beside it.
//! Numbers after `--` choose sizes; `thorough` adds the wider search on roomy clusters;
//! `large` adds 5,000 nodes with 100,000 pods.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "support/build.rs"]
mod build;
#[path = "support/cluster.rs"]
mod cluster;

use std::time::{Duration, Instant};

use cluster::{Kind, cluster};
use model::{HourlyPrice, disruption::Method, facts::Facts};
use peak_alloc::PeakAlloc;
use planner::disruption::{Options, PreparedCluster, Proposal};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const SIZES: [usize; 3] = [100, 300, 1_000];
const LARGE: usize = 5_000;
/// What a thorough search may simulate in one run, in pods.
const WORK: u64 = 5_000_000;
/// What one run may simulate on the largest cluster, in pods.
const LARGE_WORK: u64 = 100_000_000;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let has = |word: &str| words.iter().any(|text| text == word);
    let mut sizes: Vec<usize> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = SIZES.to_vec();
    }
    let catalog = instance_catalog::builtin().unwrap();
    for kind in [Kind::Roomy, Kind::Packed] {
        for size in &sizes {
            let facts = cluster(*size, kind, &catalog.instance_types);
            for method in [Method::MultiNode, Method::SingleNode] {
                one(&facts, *size, kind, method, &Options::default());
            }
            if kind == Kind::Roomy && has("thorough") {
                wider(&facts, *size);
            }
        }
        if has("large") {
            let facts = cluster(LARGE, kind, &catalog.instance_types);
            for method in [Method::MultiNode, Method::SingleNode] {
                let options = Options { work: LARGE_WORK, ..Options::default() };
                one(&facts, LARGE, kind, method, &options);
            }
        }
    }
}

/// What was decided, and what that took.
struct Measured<T> {
    result: T,
    preparing: Duration,
    deciding: Duration,
    memory: usize,
}

/// Time and memory of making `facts` ready and of `decide`: the best of five runs, or one if that is
/// slow.
fn measured<T>(
    facts: &Facts,
    options: &Options,
    decide: impl Fn(&mut PreparedCluster<'_>) -> T,
) -> Measured<T> {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let run = || {
        let started = now();
        let mut prepared = PreparedCluster::of(facts, options);
        prepared.make_what_ifs_ready();
        let preparing = started.elapsed();
        let started = now();
        let result = decide(&mut prepared);
        Measured { result, preparing, deciding: started.elapsed(), memory: 0 }
    };
    let mut best = run();
    best.memory = ALLOCATED.peak_usage().saturating_sub(before);
    for _ in 0..4 {
        if Duration::from_secs(2) < best.preparing + best.deciding {
            break;
        }
        let again = run();
        best.preparing = best.preparing.min(again.preparing);
        best.deciding = best.deciding.min(again.deciding);
    }
    best
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
fn now() -> Instant {
    Instant::now()
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}

fn in_words(proposal: Option<&Proposal>) -> String {
    let Some(Proposal { command, .. }) = proposal else { return "none".to_owned() };
    let types =
        command.replacements.first().map_or(0, |replacement| replacement.instance_types.len());
    match command.replacements.len() {
        0 => format!("delete-{}", command.candidates.len()),
        _ => format!("replace-{}-by-one-of-{types}-types", command.candidates.len()),
    }
}

fn one(facts: &Facts, size: usize, kind: Kind, method: Method, options: &Options) {
    let Measured { result: answer, preparing, deciding, memory } =
        measured(facts, options, |prepared| prepared.decide(method));
    let saving = answer.proposal.as_ref().map_or_else(HourlyPrice::default, Proposal::saving);
    println!(
        "n={size} kind={} method={method} seconds={} candidates_examined={} saving={saving} \
         peak_memory_bytes={memory} preparation_seconds={} whatifs={} decision={} is_complete={}",
        kind.as_str(),
        seconds(deciding),
        answer.examined_nodes,
        seconds(preparing),
        answer.examined,
        in_words(answer.proposal.as_ref()),
        answer.unseen.is_empty() && !answer.is_cut_short,
    );
}

fn wider(facts: &Facts, size: usize) {
    let options = Options::default();
    let Measured { result: found, preparing, deciding, memory } =
        measured(facts, &options, |prepared| prepared.thorough(WORK, None));
    let saving = found.proposal.as_ref().map_or_else(HourlyPrice::default, Proposal::saving);
    println!(
        "n={size} kind=roomy method=thorough seconds={} candidates_examined={} saving={saving} \
         peak_memory_bytes={memory} preparation_seconds={} compatible_saving={} decision={} \
         is_complete={}",
        seconds(deciding),
        found.examined,
        seconds(preparing),
        found.compatible_saving,
        in_words(found.proposal.as_ref()),
        found.left.is_none(),
    );
}
