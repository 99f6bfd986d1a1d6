//! Stories at scale, under the limits of a real account: `cargo bench -p dispatch --bench scale`.
//!
//! Each is played in virtual time on the functions' own handlers, and printed with what it took: time,
//! requests by action and by node, capacity of the table, messages, function-seconds, dollars. Beside
//! the requests stands what Karpenter sends for the same story, by its own periods and batches.
//!
//! `cargo bench -p dispatch --bench scale -- burst 200` plays one story with 200 nodes, and `day 5000 2`
//! two hours of a day. The names
//! are `burst`, `spot`, `outage`, `webhook`, `day`, `idle` and `latency`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for developers: it prints, and ends where something is wrong"
)]

#[path = "scale/karpenter.rs"]
mod karpenter;
#[path = "scale/report.rs"]
mod report;
#[path = "scale/stories.rs"]
mod stories;
#[path = "scale/world.rs"]
mod world;

/// A story, its default number of nodes, the number of nodes of this run, and, if it is long, the hours
/// of this run.
type Story = (&'static str, u32, fn(u32, u32));

const STORIES: [Story; 7] = [
    ("burst", 1_000, |nodes, _| stories::burst(nodes)),
    ("spot", 1_000, |nodes, _| stories::spot(nodes)),
    ("outage", 1_000, |nodes, _| stories::outage(nodes)),
    ("webhook", 1_000, |nodes, _| stories::webhook(nodes)),
    ("idle", 1_000, |nodes, _| stories::idle(nodes)),
    ("latency", 100, |pods, _| stories::latency(pods)),
    ("day", 5_000, stories::day),
];

fn main() {
    // Cargo adds `--bench`.
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let mut numbers = words.iter().filter_map(|word| word.parse::<u32>().ok());
    let (nodes, hours) = (numbers.next(), numbers.next().unwrap_or(24));
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u32>().is_err()).collect();
    for (name, usual, play) in STORIES {
        if names.is_empty() || names.iter().any(|wanted| *wanted == name) {
            play(nodes.unwrap_or(usual), hours);
        }
    }
}
