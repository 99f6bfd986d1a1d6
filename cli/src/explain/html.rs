//! What is explained, as a page.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    NodeClaim, NodeClaimName,
    ledger::{Decision, Subject},
    words,
};
use report::{
    contents::{
        Interned, LANES_MAX, Lane, Lanes, Notes, PageData, PageTable, PageTimeline, micros,
    },
    output::{dollars, elapsed},
};

use super::{Explained, ExplainedKind, found::ends};
use crate::records::Records;

/// The page's content about `name`. At most `limit` decisions are in its table.
pub(super) fn report(
    records: &Records,
    (kind, name): (ExplainedKind, &str),
    explained: &Explained<'_>,
    limit: usize,
) -> PageData {
    let mut oldest_first = explained.decisions.clone();
    oldest_first.reverse();
    let state = explained.state.iter().map(|line| vec![line.clone()]).collect();
    let number = words::counted(explained.decisions.len(), "decision");
    PageData {
        title: format!("journeyman explain {} {name}", kind.noun().to_lowercase()),
        about: format!("What {number} say of {} {name}, as of {:.0}.", kind.noun(), records.at),
        lanes: lanes(records, kind, explained, &oldest_first),
        tables: vec![
            PageTable { title: "How it is".to_owned(), heads: vec!["State"], rows: state },
            decisions(explained, limit),
        ],
        timeline: timeline(&oldest_first),
        notes: Notes::some("Left out", &super::left_out(records, explained, limit))
            .into_iter()
            .collect(),
        ..PageData::default()
    }
}

fn decisions(explained: &Explained<'_>, limit: usize) -> PageTable {
    let row = |decision: &&Decision| {
        let price = match (decision.price_before, decision.price_after) {
            (Some(before), Some(after)) => {
                let [before, after] = [before, after].map(|price| dollars(price.nanos().into()));
                format!("{before} to {after} an hour")
            }
            _ => String::new(),
        };
        vec![
            format!("{:.0}", decision.at),
            decision.kind.as_str().to_owned(),
            decision.summary.clone(),
            super::not_chosen(decision, explained, true).join("; "),
            price,
            decision.short_id(),
        ]
    };
    let rows = explained.decisions.iter().take(limit).map(row).collect();
    let heads = vec!["When", "Kind", "Decision", "Not chosen, and why", "Price", "Id"];
    PageTable { title: "Decisions, the newest first".to_owned(), heads, rows }
}

fn timeline(oldest_first: &[&Decision]) -> Option<PageTimeline> {
    let start = oldest_first.first()?.at;
    let mut kinds: Interned<&'static str> = Interned::default();
    let lines = oldest_first
        .iter()
        .map(|decision| {
            let names: Vec<String> =
                decision.subjects.iter().filter_map(name_of).take(NAMES_SHOWN).collect();
            let names =
                if names.is_empty() { names } else { vec![format!(" ({})", names.join(", "))] };
            let text = format!("{}: {}{}", decision.function, decision.summary, names.concat());
            (elapsed(start, decision.at), kinds.place(decision.kind.as_str()), text)
        })
        .collect();
    let about = "Decisions, the oldest first; times are since the first of them.".to_owned();
    let start = start.as_second();
    Some(PageTimeline { about, start, kinds: kinds.into_values(), lines })
}

/// Nodes that a line names.
const NAMES_SHOWN: usize = 5;

/// A subject by its claim, or by its node where it has none.
fn name_of(subject: &Subject) -> Option<String> {
    let claim = subject.claim.as_ref().map(ToString::to_string);
    claim.or_else(|| subject.node.as_ref().map(ToString::to_string))
}

/// The lives of the claims, from the first decision about each to the last one if it is gone; `None` of a pod.
fn lanes(
    records: &Records,
    kind: ExplainedKind,
    explained: &Explained<'_>,
    oldest_first: &[&Decision],
) -> Option<Lanes> {
    let mut rows: BTreeMap<&NodeClaimName, Lane> = BTreeMap::new();
    for decision in oldest_first.iter().filter(|_| kind != ExplainedKind::Pod) {
        let subjects = decision.subjects.iter().filter(|subject| explained.is_about(subject));
        for subject in subjects {
            let Some(claim) = &subject.claim else { continue };
            let lane = rows.entry(claim).or_insert_with(|| born(claim, decision));
            described(lane, subject);
            let alive = records.claims.get(claim);
            // What was to be disrupted and was not after all stays.
            let is_going = alive.is_none_or(NodeClaim::is_deleting);
            if is_going && ends(decision.kind) {
                lane.going.get_or_insert(decision.at.as_second());
                lane.went = vec![decision.kind.as_str().to_owned(), decision.summary.clone()];
                lane.to = alive.is_none().then_some(decision.at.as_second());
            }
        }
    }
    let mut rows: Vec<Lane> = rows.into_values().collect();
    rows.sort_by(|a, b| a.from.cmp(&b.from).then_with(|| a.name.cmp(&b.name)));
    let left_out = rows.len().saturating_sub(LANES_MAX);
    rows.drain(..left_out);
    let from = rows.first()?.from;
    let last = oldest_first.last().map_or(Timestamp::UNIX_EPOCH, |decision| decision.at);
    let to = records.at.max(last).as_second();
    let about = "NodeClaims from the first decision about each to the last. Select a bar for why the node came and why it went.";
    Some(Lanes { about: about.to_owned(), from, to, rows, left_out })
}

fn born(claim: &NodeClaimName, decision: &Decision) -> Lane {
    Lane {
        name: claim.to_string(),
        names: vec![claim.to_string()],
        pool: decision.node_pool.as_ref().map(ToString::to_string).unwrap_or_default(),
        kind: String::new(),
        price: None,
        from: decision.at.as_second(),
        going: None,
        to: None,
        came: format!("{}: {}", decision.function, decision.summary),
        went: Vec::new(),
        moments: Vec::new(),
    }
}

/// Adds what `subject` says of the node of `lane`.
fn described(lane: &mut Lane, subject: &Subject) {
    let node = subject.node.as_ref().map(ToString::to_string);
    let instance = subject.instance.as_ref().map(ToString::to_string);
    for name in node.iter().chain(&instance) {
        if !lane.names.contains(name) {
            lane.names.push(name.clone());
        }
    }
    lane.name = node.unwrap_or_else(|| std::mem::take(&mut lane.name));
    if let Some(offering) = &subject.offering {
        lane.kind = offering.to_string();
    }
    lane.price = subject.price.map(|price| micros(price.nanos().into())).or(lane.price);
}
