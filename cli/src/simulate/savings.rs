//! What disruption saved in a simulation.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    DeletionReason, HourlyPrice, NodeClaimName,
    ledger::{Decision, DecisionKind},
};
use report::{
    contents::Figure,
    output::{count, dollars},
};
use simulator::{Happening, TimelineEvent};

/// What was decided about nodes to save money or to replace them, and what was done of it.
#[derive(Debug, Default)]
pub(super) struct Savings {
    commands: Vec<Command>,
    /// The latest command that disrupts each NodeClaim, by its place.
    by_claim: BTreeMap<NodeClaimName, usize>,
}

#[derive(Debug)]
struct Command {
    before: HourlyPrice,
    after: HourlyPrice,
    /// When the first of its nodes was disrupted; `None` if none was.
    at: Option<Timestamp>,
}

impl Savings {
    /// Takes down what a decision disrupts, and for what price.
    pub(super) fn decided(&mut self, decision: &Decision) {
        let (DecisionKind::Disruption, Some(before)) = (decision.kind, decision.price_before)
        else {
            return;
        };
        let place = decision.claims().find_map(|claim| self.by_claim.get(claim));
        let before_it = place.and_then(|place| self.commands.get(*place));
        // Once replacements are ready a decision says only what goes.
        let replaces = |command: &Command| command.after != HourlyPrice::default();
        if decision.price_after.is_none() && before_it.is_some_and(replaces) {
            return;
        }
        let place = self.commands.len();
        let after = decision.price_after.unwrap_or_default();
        self.commands.push(Command { before, after, at: None });
        self.by_claim.extend(decision.claims().map(|claim| (claim.clone(), place)));
    }

    /// Takes down what was disrupted.
    pub(super) fn happened(&mut self, event: &TimelineEvent) {
        let Happening::ClaimDeleted { claim, reason: DeletionReason::Disrupted(_) } =
            &event.happening
        else {
            return;
        };
        let command = self.by_claim.get(claim).and_then(|place| self.commands.get_mut(*place));
        if let Some(command) = command {
            command.at.get_or_insert(event.at);
        }
    }

    /// What a page says of it at the `end`; `None` where nothing was disrupted.
    pub(super) fn figure(&self, end: Timestamp) -> Option<Figure> {
        let done = || self.commands.iter().filter_map(|command| Some((command, command.at?)));
        let number = u64::try_from(done().count()).unwrap_or(u64::MAX);
        let sum = |price: fn(&Command) -> HourlyPrice| {
            let parts = done().map(|(command, at)| {
                let seconds = end.duration_since(at).as_secs();
                u128::from(price(command).nanos()) * u128::try_from(seconds).unwrap_or_default()
            });
            parts.sum::<u128>() / 3_600
        };
        let (before, after) = (sum(|command| command.before), sum(|command| command.after));
        let saved = dollars(before.abs_diff(after));
        let sign = if before < after { "−" } else { "" };
        let more = format!(
            "by {}: without them their nodes would have run until the end",
            count(number, "command")
        );
        (0 < number).then(|| Figure::new("Saved by disruption", format!("{sign}{saved}"), more))
    }
}
