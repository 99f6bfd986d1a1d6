//! Rollouts over time, as a report draws them: a lane for each NodePool whose EC2NodeClass limits how drifted nodes are
//! replaced.

use std::collections::{BTreeMap, BTreeSet};

use dispatch::Decided;
use jiff::Timestamp;
use model::{
    Function, ImageId, NodeClaim, NodeClaimName, NodeClassName, NodePoolName,
    disruption::{Command, DisruptionReason, Progress},
    ledger::RejectionReason,
    rollout::{Halt, Rollout},
};
use report::{
    contents::{RolloutLane, RolloutLanes, RolloutSpan},
    output::named,
};
use simulator::Sim;

use crate::records::{is_about_any, is_at, names_of};

/// Nodes that a text names.
const NODES_SHOWN: usize = 3;

/// A part of a rollout, in the order of their colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Canaries are launched.
    Canaries,
    /// They have to stay healthy.
    Baking,
    /// The other nodes are replaced.
    Others,
    /// Canaries were not healthy: no other node is replaced.
    Halted,
    /// Canaries are replaced by nodes as they were before.
    Back,
    /// No node is replaced for a while.
    Frozen,
}

impl Phase {
    const ALL: [Self; 6] =
        [Self::Canaries, Self::Baking, Self::Others, Self::Halted, Self::Back, Self::Frozen];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Canaries => "canaries launched",
            Self::Baking => "bake time",
            Self::Others => "other nodes replaced",
            Self::Halted => "halted",
            Self::Back => "canaries replaced by former nodes",
            Self::Frozen => "frozen",
        }
    }
}

/// How the rollout of one NodePool is at one time.
struct Seen<'s> {
    at: Timestamp,
    rollout: &'s Rollout,
    /// Drifted nodes that nothing is done about yet.
    left: usize,
    /// The claims that replace drifted nodes and are waited for.
    coming: Vec<&'s str>,
    /// What they start from, if one of them was launched.
    image: Option<&'s ImageId>,
    /// Whether these replace canaries of the halted rollout.
    goes_back: bool,
    halt: Option<&'s Halt>,
    /// Why drifted nodes wait, if that was decided since the last look.
    waits: Option<&'s str>,
}

/// What was seen of the rollouts of one NodePool.
#[derive(Default)]
struct Lane {
    class: String,
    /// Without halts and freezes.
    phase: Option<Phase>,
    /// Why drifted nodes wait, as it was decided last.
    waits: String,
    spans: Vec<RolloutSpan>,
    /// Whether the last of them goes on.
    is_open: bool,
}

impl Lane {
    fn look(&mut self, seen: &Seen<'_>) {
        if let Some(why) = seen.waits {
            why.clone_into(&mut self.waits);
        }
        let at = seen.at.as_second();
        let next = self.next(seen);
        self.close(at);
        let Some(phase) = next else {
            self.waits.clear();
            return;
        };
        let (kind, text) = (phase as usize, self.text(phase, seen));
        self.is_open = true;
        match self.spans.last_mut() {
            Some(span) if span.kind == kind && span.to == at => {
                // What was launched is not named any more once it is there.
                if !text.is_empty() {
                    span.text = text;
                }
            }
            _ => self.spans.push(RolloutSpan { kind, from: at, to: at, text }),
        }
    }

    /// Ends the last span at `at`, if it goes on.
    fn close(&mut self, at: i64) {
        let is_open = std::mem::take(&mut self.is_open);
        self.spans.last_mut().filter(|_| is_open).into_iter().for_each(|span| span.to = at);
    }

    /// The phase that `seen` is in; `None` if there is no rollout.
    fn next(&mut self, seen: &Seen<'_>) -> Option<Phase> {
        let is_moving = !seen.coming.is_empty();
        self.phase = match self.phase {
            _ if seen.left == 0 && !is_moving => None,
            phase if seen.rollout.canary.is_none() => {
                (is_moving || phase.is_some()).then_some(Phase::Others)
            }
            None | Some(Phase::Canaries) if is_moving => Some(Phase::Canaries),
            Some(Phase::Canaries) => Some(Phase::Baking),
            // One more canary, while others wait.
            Some(Phase::Baking) if is_moving && seen.waits.is_some() => Some(Phase::Canaries),
            Some(Phase::Baking) if is_moving => Some(Phase::Others),
            phase => phase,
        };
        let is_frozen = || seen.rollout.frozen_by(seen.at).is_some();
        match self.phase {
            _ if seen.halt.is_some() && seen.goes_back => Some(Phase::Back),
            _ if seen.halt.is_some() => Some(Phase::Halted),
            _ if 0 < seen.left && !is_moving && is_frozen() => Some(Phase::Frozen),
            phase => phase,
        }
    }

    /// What is known of `phase`, in words; empty if that is nothing new.
    fn text(&self, phase: Phase, seen: &Seen<'_>) -> String {
        let coming = || {
            let image = seen.image.map(|image| format!(" on image {image}")).unwrap_or_default();
            format!("{}{image}", named(&seen.coming, NODES_SHOWN))
        };
        match phase {
            Phase::Canaries | Phase::Back if seen.coming.is_empty() => String::new(),
            Phase::Canaries | Phase::Back => coming(),
            Phase::Others => "within the disruption budgets".to_owned(),
            Phase::Baking => self.waits.clone(),
            Phase::Halted => {
                seen.halt.map(|halt| format!("{}: {}", halt.target, halt.why)).unwrap_or_default()
            }
            Phase::Frozen => {
                let freeze = seen.rollout.frozen_by(seen.at);
                freeze.map(|freeze| format!("by `{}`", freeze.text)).unwrap_or_default()
            }
        }
    }
}

/// What was seen of all rollouts.
#[derive(Default)]
pub(super) struct Rollouts {
    pools: BTreeMap<NodePoolName, Lane>,
}

/// What there is at one look.
struct Look<'s> {
    at: Timestamp,
    claims: BTreeMap<&'s NodeClaimName, &'s NodeClaim>,
    commands: &'s [Command],
    decided: &'s [Decided],
}

impl Rollouts {
    /// Looks at `sim`, and at what was decided since the last look.
    pub(super) fn look(&mut self, sim: &Sim, decided: &[Decided]) {
        let classes = sim.classes_written().into_iter().map(|written| written.class);
        let rollouts: BTreeMap<NodeClassName, Rollout> =
            classes.filter_map(|class| Some((class.name, class.rollout?.read().ok()?))).collect();
        if rollouts.is_empty() && self.pools.is_empty() {
            return;
        }
        let (claims, commands) = (sim.claims(), sim.commands());
        let look = Look {
            at: sim.now(),
            claims: claims.iter().map(|claim| (&claim.name, claim)).collect(),
            commands: &commands,
            decided,
        };
        let mut seen: BTreeSet<&NodePoolName> = BTreeSet::new();
        for claim in &claims {
            let rollout = rollouts.get(&claim.node_class);
            let Some(rollout) = rollout.filter(|_| seen.insert(&claim.node_pool)) else { continue };
            let lane = self.pools.entry(claim.node_pool.clone()).or_default();
            lane.class = claim.node_class.to_string();
            lane.look(&look.of_pool(&claim.node_pool, rollout));
        }
        for (_, lane) in self.pools.iter_mut().filter(|(pool, _)| !seen.contains(pool)) {
            lane.close(look.at.as_second());
            lane.phase = None;
        }
    }

    /// The lanes of the NodePools that had a rollout, within these times; `None` without any.
    pub(super) fn lanes(&self, (from, to): (Timestamp, Timestamp)) -> Option<RolloutLanes> {
        let lane = |(pool, lane): (&NodePoolName, &Lane)| RolloutLane {
            pool: pool.to_string(),
            class: lane.class.clone(),
            spans: lane.spans.clone(),
        };
        let had = self.pools.iter().filter(|(_, lane)| !lane.spans.is_empty());
        let rows: Vec<RolloutLane> = had.map(lane).collect();
        let about = "How drifted nodes of each NodePool are replaced, if annotations of its EC2NodeClass limit it. Select a \
                     bar for the timeline from there on."
            .to_owned();
        let kinds = Phase::ALL.map(Phase::as_str).to_vec();
        let (from, to) = (from.as_second(), to.as_second());
        (!rows.is_empty()).then_some(RolloutLanes { about, from, to, kinds, rows })
    }
}

impl<'s> Look<'s> {
    /// How the `rollout` of the NodePool `pool` is.
    fn of_pool(&self, pool: &NodePoolName, rollout: &'s Rollout) -> Seen<'s> {
        let of_pool = || self.claims.values().filter(|claim| claim.node_pool == *pool);
        let names: BTreeSet<&str> = of_pool().copied().flat_map(names_of).collect();
        let mut halts = self.commands.iter().filter_map(|command| command.progress.halt());
        let halt = halts.find(|halt| halt.target.node_pool == *pool);
        let moving = self.commands.iter().filter(|command| {
            command.method.reason() == DisruptionReason::Drifted
                && command.candidates.iter().any(|name| names.contains(name.as_str()))
        });
        let (mut coming, mut goes_back): (Vec<&NodeClaim>, bool) = (Vec::new(), false);
        for command in moving {
            let Progress::Launching { claims, .. } = &command.progress else { continue };
            coming.extend(claims.iter().filter_map(|name| self.claims.get(name).copied()));
            let mut replaced = command.candidates.iter().filter_map(|name| self.claims.get(name));
            goes_back |= replaced.any(|claim| halt.is_some_and(|halt| is_at(claim, &halt.target)));
        }
        let looks = self.decided.iter().filter(|decided| decided.function == Function::Disrupt);
        let decisions = looks
            .filter_map(|decided| decided.report.plan.as_ref())
            .flat_map(|plan| &plan.decisions);
        let mut waits = decisions.flat_map(|decision| &decision.rejected).filter(|rejected| {
            rejected.reason == RejectionReason::Rollout && is_about_any(rejected, &names)
        });
        Seen {
            at: self.at,
            rollout,
            left: of_pool()
                .filter(|claim| claim.conditions.drifted.is_some() && !claim.is_deleting())
                .count(),
            image: coming.iter().find_map(|claim| claim.image()),
            coming: coming.iter().map(|claim| claim.name.as_str()).collect(),
            goes_back,
            halt,
            waits: waits.next_back().map(|rejected| rejected.why.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{
        labels,
        rollout::{RolloutAnnotations, RolloutTarget},
    };

    use super::*;

    /// What is seen each ten seconds, in words: `left`, `coming`, `waits`, `halt`, `back`.
    fn spans(canary: &str, freeze: &str, looks: &[&str]) -> Vec<(&'static str, i64, i64, String)> {
        let texts = [(labels::ROLLOUT_CANARY, canary), (labels::ROLLOUT_FREEZE, freeze)];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let texts = texts.map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
        let rollout = RolloutAnnotations::among(&texts).expect("annotations").read().expect("read");
        let target = RolloutTarget {
            node_class: "default".parse().expect("a name"),
            node_pool: "general".parse().expect("a name"),
            pool_hash: None,
            class_hash: None,
            image: Some("ami-2".parse().expect("an image")),
        };
        let halt = Halt { target, settings: 0, why: "new node b is not ready".to_owned() };
        let image = halt.target.image.clone();
        let mut lane = Lane::default();
        for (place, words) in looks.iter().enumerate() {
            let has = |word: &str| words.split(' ').any(|other| other == word);
            lane.look(&Seen {
                at: Timestamp::from_second(i64::try_from(place).expect("few") * 10)
                    .expect("a time"),
                rollout: &rollout,
                left: usize::from(has("left")),
                coming: if has("coming") { vec!["b"] } else { Vec::new() },
                image: image.as_ref().filter(|_| has("coming")),
                goes_back: has("back"),
                halt: Some(&halt).filter(|_| has("halt")),
                waits: has("waits").then_some("it waits"),
            });
        }
        let name =
            |span: RolloutSpan| (Phase::ALL[span.kind].as_str(), span.from, span.to, span.text);
        lane.spans.into_iter().map(name).collect()
    }

    /// Phases with when they begin and end.
    fn phases(canary: &str, freeze: &str, looks: &[&str]) -> String {
        let spans = spans(canary, freeze, looks).into_iter();
        spans
            .map(|(kind, from, to, _)| format!("{from}-{to} {kind}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    #[test]
    fn a_rollout_has_canaries_a_bake_time_and_other_nodes_and_ends_when_none_is_left() {
        let looks = ["", "left coming", "left", "left waits", "left coming", "left", "coming", ""];
        let parts = "10-20 canaries launched, 20-40 bake time, 40-70 other nodes replaced";
        assert_eq!(phases("1", "", &looks), parts);
        let texts: Vec<String> = spans("1", "", &looks).into_iter().map(|span| span.3).collect();
        let canary = "b on image ami-2";
        assert_eq!(texts, [canary, "it waits", "within the disruption budgets"]);
        // Two canaries, one after the other.
        let two = ["left coming", "left waits", "left coming waits", "left", "left coming"];
        let parts = "0-10 canaries launched, 10-20 bake time, 20-30 canaries launched, 30-40 bake time, \
                     40-40 other nodes replaced";
        assert_eq!(phases("2", "", &two), parts);
    }

    #[test]
    fn a_halt_and_the_way_back_are_parts_of_their_own_and_a_new_rollout_begins_with_canaries() {
        let looks = [
            "left coming",
            "left",
            "left halt",
            "left coming back halt",
            "halt",
            "",
            "left coming",
        ];
        let parts = "0-10 canaries launched, 10-20 bake time, 20-30 halted, \
                     30-40 canaries replaced by former nodes, 40-50 halted, 60-60 canaries launched";
        assert_eq!(phases("1", "", &looks), parts);
        let halted = &spans("1", "", &looks)[2];
        let why = "NodePool general, EC2NodeClass default, image ami-2: new node b is not ready";
        assert_eq!(halted.3, why);
    }

    #[test]
    fn a_freeze_is_shown_while_drifted_nodes_wait_for_its_end() {
        // 1970 began with it.
        let freeze = "0 0 1 1 * 30s";
        let looks = ["", "left", "left", "left coming", "", ""];
        assert_eq!(phases("", freeze, &looks), "10-30 frozen, 30-40 other nodes replaced");
        assert_eq!(spans("", freeze, &looks)[0].3, "by `0 0 1 1 * 30s`");
        assert_eq!(phases("1", "@yearly 1h", &["", ""]), "", "nothing has drifted");
    }
}
