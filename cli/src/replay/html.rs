//! A replayed decision as a page.

use model::{HourlyPrice, Plan, facts::Facts};
use report::{
    contents::{Figure, Notes, PackingView, PageData},
    output::dollars,
    packing::Packer,
};

use super::{Replay, asked, price, told};
use crate::cards::Cards;

/// The page's content, of a decision on `facts`.
pub(super) fn report(replay: &Replay<'_>, facts: &Facts) -> PageData {
    let decision = replay.decision;
    let is_same = replay.difference.is_none();
    let now = if is_same { vec!["the same plan".to_owned()] } else { told::lines(replay.now) };
    PageData {
        title: format!("journeyman replay {}", decision.short_id()),
        about: format!("{:.0} {}: {}", decision.at, decision.kind.as_str(), decision.summary),
        figures: figures(replay),
        packing: packing(replay, facts),
        notes: [
            Notes::some("Difference", &replay.difference.lines()),
            Notes::some("Recorded", &told::lines(replay.then)),
            Notes::some("Repeated", &now),
            Notes::some("About --with", &replay.notes),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..PageData::default()
    }
}

fn figures(replay: &Replay<'_>) -> Vec<Figure> {
    let verdict = if replay.difference.is_none() { "the same plan" } else { "another plan" };
    let this = env!("CARGO_PKG_VERSION");
    let version = replay.decision.origin.as_ref().map(|origin| origin.version.as_str());
    let by = format!(
        "decided by {} {}, repeated by {this}; asked: {}",
        replay.decision.function,
        version.unwrap_or_default(),
        asked(replay.question)
    );
    let mut figures = vec![Figure::new("Decided again", verdict.to_owned(), by)];
    let [then, now] = [replay.then, replay.now].map(price);
    if then != now || then != HourlyPrice::default() {
        let [then, now] = [then, now].map(|price| dollars(price.nanos().into()));
        let more = "an hour, of the nodes that are launched".to_owned();
        figures.push(Figure::new("Launched then", then, more.clone()));
        figures.push(Figure::new("Launched now", now, more));
    }
    figures
}

/// The nodes as the plan of then and the plan of now would have them.
fn packing(replay: &Replay<'_>, facts: &Facts) -> Option<PackingView> {
    let cards = Cards::of(facts);
    let mut packer = Packer::default();
    let mut moment = |name: &str, plan: &Plan| {
        let nodes = cards.planned(plan.new_claims.iter(), plan, &mut packer);
        packer.moment(name.to_owned(), None, nodes);
    };
    moment("as decided then", replay.then);
    if !replay.difference.is_none() {
        moment("as decided now", replay.now);
    }
    packer.finish(
        "The nodes that the decision was about, with what runs there, what would come, and what would be launched or \
         disrupted."
            .to_owned(),
    )
}
