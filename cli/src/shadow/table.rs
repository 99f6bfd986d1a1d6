//! Both sides as a table for people, and for machines.

use std::io::{self, Write};

use jiff::SignedDuration;
use report::{
    json::Dollars,
    output::{dollars, dollars_down, elapsed, many, seconds, thousands},
    screen::Screen,
};
use serde_json::{Value, json};

use super::{Compared, Side};

/// Lines of what happened that are shown at most; a report has all.
const LINES_SHOWN: usize = 60;

/// What costs are of.
const INCLUDED: &str =
    "Costs are list prices of instances, without volumes and data transfer; a month has 730 hours.";

/// What one number is called, and what it is on both sides and between them.
pub(super) type Row = [String; 4];

/// Prints it for people.
pub(super) fn show(compared: &Compared, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let (mut page, mut answer) = (Vec::new(), Vec::new());
    show_numbers(compared, screen, &mut answer)?;
    screen.text(0, &about(compared), &mut page)?;
    writeln!(page)?;
    page.extend_from_slice(&answer);
    show_story(compared, screen, &mut page)?;
    screen.with_answer_last(&page, &answer, out)
}

fn show_numbers(compared: &Compared, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows(compared).into_iter().map(Vec::from).collect();
    screen.table(&["", "CURRENT", "JOURNEYMAN", "DIFFERENCE"], &rows, out)?;
    remarks(compared).iter().try_for_each(|line| screen.text(2, line, out))
}

fn show_story(compared: &Compared, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    screen.title("What happened", out)?;
    let lines = lines(compared);
    for (at, text) in lines.iter().take(LINES_SHOWN) {
        screen.text(2, &format!("{at} {text}"), out)?;
    }
    if lines.len() > LINES_SHOWN {
        let more = many(lines.len() - LINES_SHOWN);
        screen.text(2, &format!("{more} more lines: --html FILE has all of them"), out)?;
    }
    if !compared.notes.is_empty() {
        writeln!(out)?;
        screen.title("Left out and assumed", out)?;
        compared.notes.iter().try_for_each(|line| screen.text(2, line, out))?;
    }
    Ok(())
}

/// What was compared, in a sentence.
pub(super) fn about(compared: &Compared) -> String {
    let times = compared.dumps.first().zip(compared.dumps.last());
    let (from, to, length) = times.map_or_else(Default::default, |(first, last)| {
        let length = elapsed(first.at, last.at).trim_start_matches('+').to_owned();
        (first.at.to_string(), last.at.to_string(), length)
    });
    format!(
        "{} dumps of {length}, {from} to {to}: the cluster's current autoscaler and Journeyman, with the same pods.",
        many(compared.dumps.len()),
    )
}

/// What the numbers mean.
pub(super) fn remarks(compared: &Compared) -> Vec<String> {
    let mut remarks = vec![INCLUDED.to_owned()];
    remarks.extend(compared.least_cost().map(|least| {
        let month = dollars_down(compared.month(least));
        let least = dollars_down(least);
        format!(
            "Proved: on any nodes of the NodePools the pods of the dumps cost at least {least} ({month} a month)."
        )
    }));
    remarks.extend(compared.incidents.in_words());
    remarks.extend(within_dumps(compared));
    remarks
}

/// That the difference of both sides may be one of dumps that are far apart.
fn within_dumps(compared: &Compared) -> Option<String> {
    let Compared { dumps, theirs, ours, .. } = compared;
    let (they, we, blur) = (theirs.cost(dumps), ours.cost(dumps), compared.blur());
    let is_alike = theirs.launched == ours.launched && theirs.removed == ours.removed;
    let is_other = they != we || theirs.evicted() != ours.evicted();
    (is_alike && is_other && they.abs_diff(we) <= blur).then(|| {
        format!(
            "A dump does not show when a node or pod appeared or disappeared since the previous dump. This alone can \
             explain differences in cost below {} and differences of single evictions. More frequent dumps are more \
             precise.",
            dollars(blur)
        )
    })
}

/// What happened on both sides, in the order of time.
pub(super) fn lines(compared: &Compared) -> Vec<(String, &str)> {
    let Some(start) = compared.dumps.first().map(|dump| dump.at) else { return Vec::new() };
    let mut lines: Vec<_> = compared.theirs.lines.iter().chain(&compared.ours.lines).collect();
    lines.sort_by_key(|(at, _, _)| *at);
    lines.into_iter().map(|(at, _, text)| (elapsed(start, *at), text.as_str())).collect()
}

/// The numbers.
pub(super) fn rows(compared: &Compared) -> Vec<Row> {
    let Compared { theirs, ours, dumps, .. } = compared;
    let money = |name: &str, they: u128, we: u128| {
        [name.to_owned(), dollars(they), dollars(we), difference(they, we, dollars)]
    };
    let number = |name: &str, they: u64, we: u64| {
        let shown = |number: u128| thousands(number);
        let (they, we) = (u128::from(they), u128::from(we));
        [name.to_owned(), shown(they), shown(we), difference(they, we, shown)]
    };
    let time = |name: &str, percent: usize| {
        let [they, we] = [theirs, ours].map(|side| side.pending(percent));
        let shown = |wait: Option<SignedDuration>| wait.map_or_else(|| "-".to_owned(), seconds);
        let millis = |wait: SignedDuration| u128::try_from(wait.as_millis()).unwrap_or_default();
        let between = they.zip(we).map_or_else(
            || "-".to_owned(),
            |(they, we)| {
                difference(millis(they), millis(we), |millis| {
                    seconds(SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)))
                })
            },
        );
        [name.to_owned(), shown(they), shown(we), between]
    };
    let last = |side: &Side| side.price.last().map_or(0, |price| u128::from(price.nanos()));
    let nodes = |side: &Side| side.nodes.last().copied().unwrap_or_default();
    let waiting = |side: &Side| side.waiting.last().copied().unwrap_or_default();
    let (they, we) = (theirs.cost(dumps), ours.cost(dumps));
    let [name, of_theirs, of_ours, between] = money("cost", they, we);
    let share = percent(they, we).map(|share| format!(" ({share}%)")).unwrap_or_default();
    vec![
        [name, of_theirs, of_ours, format!("{between}{share}")],
        money("cost per month", compared.month(they), compared.month(we)),
        money("price per hour at the end", last(theirs), last(ours)),
        number("nodes at the end", nodes(theirs), nodes(ours)),
        number("launched", theirs.launched, ours.launched),
        number("removed", theirs.removed, ours.removed),
        number("evictions", theirs.evicted(), ours.evicted()),
        time("pending p50", 50),
        time("pending p99", 99),
        number("pods pending at the end", waiting(theirs), waiting(ours)),
    ]
}

/// What Journeyman has more or less, with its sign.
fn difference(they: u128, we: u128, shown: impl Fn(u128) -> String) -> String {
    match they.cmp(&we) {
        std::cmp::Ordering::Equal => "0".to_owned(),
        std::cmp::Ordering::Less => format!("+{}", shown(we - they)),
        std::cmp::Ordering::Greater => format!("-{}", shown(they - we)),
    }
}

/// What Journeyman costs more, or less with a minus, in per cent of the current cost: `-24.9`; `None` if the current cost
/// is zero or both cost as much.
fn percent(they: u128, we: u128) -> Option<String> {
    let tenths = (they.abs_diff(we) * 1_000 + they / 2).checked_div(they)?;
    let sign = if we < they { "-" } else { "+" };
    (they != we).then(|| format!("{sign}{}.{}", tenths / 10, tenths % 10))
}

/// The comparison for programs. Money is dollars.
pub(super) fn json(compared: &Compared) -> Value {
    let Compared { theirs, ours, dumps, notes, .. } = compared;
    let millis =
        |wait: Option<SignedDuration>| wait.and_then(|wait| i64::try_from(wait.as_millis()).ok());
    let side = |side: &Side| {
        json!({
            "cost": Dollars::of(side.cost(dumps)),
            "costPerMonth": Dollars::of(compared.month(side.cost(dumps))),
            "pricePerHour": side.price.iter().map(|price| Dollars::from(*price)).collect::<Vec<_>>(),
            "nodes": side.nodes,
            "podsWaiting": side.waiting,
            "evictions": side.evicted(),
            "launched": side.launched,
            "removed": side.removed,
            "pendingMilliseconds": {"p50": millis(side.pending(50)), "p99": millis(side.pending(99))},
        })
    };
    let (they, we) = (theirs.cost(dumps), ours.cost(dumps));
    let least = compared.least_cost();
    json!({
        "dumps": dumps.iter().map(|dump| dump.at.to_string()).collect::<Vec<_>>(),
        "current": side(theirs),
        "journeyman": side(ours),
        "costDifference": Dollars::difference(we, they),
        "costDifferencePerMonth": Dollars::difference(compared.month(we), compared.month(they)),
        "costDifferencePercent": percent(they, we).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default(),
        "lowerBound": least.map(Dollars::of),
        "lowerBoundPerMonth": least.map(|least| Dollars::of(compared.month(least))),
        "included": INCLUDED,
        "interruptions": compared.incidents.json(),
        "notes": notes,
    })
}
