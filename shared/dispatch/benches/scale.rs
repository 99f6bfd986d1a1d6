//! Stories at scale, under the limits of a real account: `cargo bench -p dispatch --bench scale`.
//!
//! Each is played in virtual time on the functions' own handlers, and printed with what it took: time,
//! requests by action and by node, capacity of the table, messages, function-seconds, dollars. Beside
//! the requests stands what Karpenter sends for the same story, by its own periods and batches.
//!
//! `cargo bench -p dispatch --bench scale -- burst 200` plays one story with so many nodes. The names
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

/// A story, and how many nodes it has unless another number is asked for.
type Story = (&'static str, u32, fn(u32));

const STORIES: [Story; 7] = [
    ("burst", 1_000, stories::burst),
    ("spot", 1_000, stories::spot),
    ("outage", 1_000, stories::outage),
    ("webhook", 1_000, stories::webhook),
    ("idle", 1_000, stories::idle),
    ("latency", 100, stories::latency),
    ("day", 5_000, stories::day),
];

fn main() {
    // Cargo adds `--bench`.
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let nodes = words.iter().find_map(|word| word.parse::<u32>().ok());
    let names: Vec<&String> = words.iter().filter(|word| word.parse::<u32>().is_err()).collect();
    for (name, usual, play) in STORIES {
        if names.is_empty() || names.iter().any(|wanted| *wanted == name) {
            play(nodes.unwrap_or(usual));
        }
    }
}
