//! What a story took, in lines.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use simulator::{Bill, Meter};

/// Requests by action, as Karpenter would send them.
pub(crate) type Requests = BTreeMap<&'static str, u64>;

/// A heading.
pub(crate) fn heading(story: &str) {
    println!("\n## {story}\n");
}

/// A line of its own.
pub(crate) fn line(name: &str, value: impl std::fmt::Display) {
    println!("{name:<44} {value:>14}");
}

/// How long something took, or that it was not over.
pub(crate) fn duration(name: &str, taken: Option<SignedDuration>) {
    let text = taken.map_or_else(
        || "not at all".to_owned(),
        |taken| format!("{}.{} s", taken.as_secs(), taken.as_millis() % 1_000 / 100),
    );
    line(name, text);
}

/// The value that `percent` of a hundred did not exceed, by nearest rank.
pub(crate) fn percentile(sorted: &[SignedDuration], percent: usize) -> Option<SignedDuration> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Everything that was used, with requests beside Karpenter's.
pub(crate) fn usage(meter: &Meter, nodes: u32, karpenter: &Requests) {
    let ours: BTreeMap<String, (u64, u64)> = meter
        .requests()
        .into_iter()
        .map(|(action, count)| (action.to_string(), (count.answered, count.throttled)))
        .collect();
    let names: BTreeSet<&str> =
        ours.keys().map(String::as_str).chain(karpenter.keys().copied()).collect();
    println!(
        "{:<44} {:>9} {:>9} {:>9} {:>9}",
        "request", "count", "throttled", "per node", "Karpenter"
    );
    for name in names {
        let (count, throttled) = ours.get(name).copied().unwrap_or_default();
        let per_node = count * 1_000 / u64::from(nodes.max(1));
        let other = karpenter.get(name).map_or_else(|| "-".to_owned(), u64::to_string);
        println!(
            "{name:<44} {count:>9} {throttled:>9} {:>5}.{:03} {other:>9}",
            per_node / 1_000,
            per_node % 1_000
        );
    }
    let units = meter.table_units();
    line("DynamoDB read units", units.read);
    line("DynamoDB write units", units.write);
    for (function, messages) in meter.messages() {
        line(&format!("messages for {function}"), messages);
    }
    for (function, count) in meter.invocations() {
        let seconds = count.millis / 1_000;
        let longest = count.longest_millis;
        let cut_off = count.cut_off;
        println!(
            "{function:<12} {:>8} invocations {seconds:>8} s, longest {longest:>6} ms, cut off {cut_off}",
            count.invocations
        );
    }
}

/// The bill of a month.
pub(crate) fn bill(bill: &Bill) {
    println!("{bill}");
}
