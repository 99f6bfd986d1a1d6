//! A wider search than Karpenter's: every single node, and many sets of nodes.
//!
//! Karpenter asks which prefix of its candidates can go, and takes the first single node that can.
//! Here every node is asked, and sets are grown: as many of the next candidates at once as go,
//! half as many when they do not, each one that goes for no gain left out. What Karpenter would
//! choose is among what is compared, so the answer never saves less.
//!
//! Last, it is asked what packing the pods anew would save (`packed`): of the nodes that cost more than their pods
//! are worth, each alone, and sets of them, while the whole fleet costs more than the cheapest one that is found
//! for its pods. Several nodes may come in the place of others then.
//!
//! The search does a bounded amount of work and says where to go on ([`Cursor`]); going on gives the
//! same answer as not having stopped. A function that looks each minute goes on where it stopped, whatever
//! happened meanwhile: names that are gone are passed over, and what Karpenter would choose is asked anew in
//! each look, so that no look saves less.

mod packed;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    HourlyPrice, NodeName,
    disruption::{Cursor, Method},
    facts::Facts,
};

use super::{
    Objection, Options,
    budgets::Remaining,
    consolidation,
    decide::PreparedCluster,
    finding::Finding,
    multi::{multi_node, together, together_packed},
    price::{self, Exact},
    proposal::Proposal,
    search::{CommandDraft, Notes},
    single::single_node,
};
use crate::index::id::CandidateId;

/// How many candidates a growing set takes at once at first.
const STEP: usize = 8;
/// Orders in which sets are grown: best savings first, fewest pods to move first, and both again
/// from what Karpenter chose.
const ORDERS: usize = 4;
/// The stages in which pods are packed anew: nodes alone, sets of them, neighbours, and the end.
const PACKED: usize = 2 + ORDERS;
const PACKED_SETS: usize = PACKED + 1;
const PACKED_NEIGHBOURS: usize = PACKED_SETS + 1;
const END: usize = PACKED_NEIGHBOURS + 1;

/// Searches with at most about `work` pods simulated, from where an earlier search stopped.
#[must_use]
pub fn thorough(facts: &Facts, options: &Options, work: u64, from: Option<&Cursor>) -> Finding {
    PreparedCluster::of(facts, options).thorough(work, from)
}

impl PreparedCluster<'_> {
    /// What [`thorough`] says.
    #[must_use]
    pub fn thorough(&mut self, work: u64, from: Option<&Cursor>) -> Finding {
        if !self.state.is_complete() {
            return Finding::default();
        }
        let (eligible, _) = self.field.eligible(&self.state, Method::MultiNode);
        Search::of(self, eligible).run(work, from)
    }

    /// What one look finds that continues where the look before stopped: as [`Self::decide`] says it, with where
    /// the next look continues.
    pub(super) fn look_thoroughly(&mut self) -> Finding {
        let from = self.options.from.clone();
        if !self.state.is_complete() {
            let error = Some(Objection::Incomplete);
            return Finding { error, left: from, ..Finding::default() };
        }
        if !self.options.is_watched
            && !self.field.eligible(&self.state, Method::MultiNode).0.is_empty()
        {
            self.spare_for_pending();
        }
        let (eligible, mut notes) = self.field.eligible(&self.state, Method::MultiNode);
        let names = self.names(&eligible);
        // Karpenter's choice takes half of the work at most, so that every look gets on.
        let work = self.options.work;
        let until = self.simulator.work.saturating_add(work);
        let mut search = Search::of(self, eligible);
        let compatible = search.compatible(Some(work / 4));
        let compatible = search.look.names(&compatible);
        let from = from.unwrap_or_default();
        let cursor = Cursor { compatible, stage: from.stage.max(1), best: Vec::new(), ..from };
        let done = search.look.simulator.work;
        let searched = search.run(until.saturating_sub(done), Some(&cursor));
        notes.append(&mut search.notes);
        if searched.voided.is_some() {
            // What is best will not hold; Karpenter's own choice may.
            let usual = self.first(&[Method::MultiNode, Method::SingleNode]);
            if usual.proposal.is_some() {
                return Finding { left: searched.left, ..usual };
            }
        }
        let mut notes = self.by_name(notes);
        for name in searched.proposal.iter().flat_map(Proposal::nodes) {
            notes.remove(name);
        }
        Finding {
            eligible: names,
            notes,
            is_cut_short: searched.left.is_some(),
            examined_nodes: std::mem::take(&mut self.simulator.seen).len(),
            ..searched
        }
    }

    fn names(&self, ids: &[CandidateId]) -> Vec<NodeName> {
        self.field.get(ids).iter().map(|candidate| candidate.node.name.clone()).collect()
    }
}

struct Search<'l, 'a> {
    look: &'l mut PreparedCluster<'a>,
    eligible: Vec<CandidateId>,
    best: Vec<CandidateId>,
    saving: Exact,
    /// Whether the best saves that much only if new nodes are packed so that they cost least.
    is_packed: bool,
    /// Nodes that cost more than their pods are worth, worst first; from the first use on.
    dear: Option<Vec<CandidateId>>,
    /// Why single nodes stay, as far as they were asked.
    notes: Notes,
}

impl<'l, 'a> Search<'l, 'a> {
    fn of(look: &'l mut PreparedCluster<'a>, eligible: Vec<CandidateId>) -> Self {
        let (best, saving, notes) = (Vec::new(), Exact::default(), Notes::new());
        Self { look, eligible, best, saving, is_packed: false, dear: None, notes }
    }

    fn run(&mut self, work: u64, from: Option<&Cursor>) -> Finding {
        let mut cursor = from.cloned().unwrap_or_default();
        self.remember(&cursor.best.clone(), cursor.stage);
        // Taking up the best again is not counted, so that every run gets on.
        let until = self.look.simulator.work.saturating_add(work);
        while cursor.stage < END {
            self.step(&mut cursor);
            cursor.best = self.look.names(&self.best);
            if until <= self.look.simulator.work && cursor.stage < END {
                return self.answer(&cursor, false);
            }
        }
        self.answer(&cursor, true)
    }

    fn step(&mut self, cursor: &mut Cursor) {
        match cursor.stage {
            0 => {
                let compatible = self.compatible(None);
                cursor.compatible = self.look.names(&compatible);
                *cursor = Cursor { stage: 1, ..cursor.clone() };
            }
            1 => {
                let order = self.look.field.by_savings(&self.eligible);
                match order.get(cursor.next) {
                    Some(at) => {
                        self.consider(&[*at]);
                        cursor.next += 1;
                    }
                    None => begin(cursor, 2),
                }
            }
            PACKED => self.pack_one(cursor),
            PACKED_NEIGHBOURS => self.pack_neighbours(cursor),
            _ => self.grow(cursor),
        }
    }

    /// What Karpenter would choose, multi-node before single-node, each within so much work.
    fn compatible(&mut self, work: Option<u64>) -> Vec<CandidateId> {
        let PreparedCluster { state, field, simulator, options, .. } = &mut *self.look;
        let mut notes = Notes::new();
        simulator.allow(work.unwrap_or(u64::MAX));
        let multi = multi_node(state, simulator, field, &self.eligible, &mut notes);
        simulator.allow(work.unwrap_or(u64::MAX));
        let single =
            single_node(state, simulator, field, (&self.eligible, &options.unseen), &mut notes);
        simulator.allow(u64::MAX);
        let drafts = [multi.ok().flatten(), single.draft];
        let sets: Vec<Vec<CandidateId>> =
            drafts.into_iter().flatten().map(|draft| draft.nodes).collect();
        for set in &sets {
            self.consider(set);
        }
        sets.into_iter().next().unwrap_or_default()
    }

    /// Whether the candidates at `nodes` can go together, and what that saves. The best is kept.
    fn consider(&mut self, nodes: &[CandidateId]) -> Option<Exact> {
        if let Some(objection) = self.above_budgets(nodes) {
            self.note(nodes, objection);
            return None;
        }
        let PreparedCluster { state, field, simulator, .. } = &mut *self.look;
        let outcome = match together(state, simulator, field, nodes) {
            Ok(outcome) => outcome,
            Err(objection) => {
                self.note(nodes, objection);
                return None;
            }
        };
        let after = consolidation::price_after(&outcome);
        let before = price::of_all(&field.get(nodes));
        let saving = before.minus(after);
        if self.saving < saving {
            self.saving = saving;
            self.best = nodes.to_vec();
            self.is_packed = false;
        }
        Some(saving)
    }

    /// The same at a `stage`: in the last ones also with new nodes that are packed so that they cost least.
    fn consider_at(&mut self, stage: usize, nodes: &[CandidateId]) -> Option<Exact> {
        let usual = self.consider(nodes);
        if stage < PACKED { usual } else { usual.max(self.consider_packed(nodes)) }
    }

    fn note(&mut self, nodes: &[CandidateId], why: Objection) {
        if let [at] = nodes {
            self.notes.insert(*at, why);
        }
    }

    /// Why budgets do not let all of `nodes` go, if so.
    fn above_budgets(&self, nodes: &[CandidateId]) -> Option<Objection> {
        let mut remaining = Remaining::of(&self.look.state, Method::MultiNode.reason());
        let pools = self.look.field.get(nodes).into_iter().map(|candidate| &candidate.pool.name);
        let above = pools.into_iter().find(|pool| !remaining.take(pool))?;
        Some(remaining.objection(above))
    }

    /// One step of growing a set.
    fn grow(&mut self, cursor: &mut Cursor) {
        let order = self.order(cursor.stage);
        let mut set = self.named(&cursor.set);
        let members: BTreeSet<CandidateId> = set.iter().copied().collect();
        let next: Vec<CandidateId> = order.iter().copied().skip(cursor.next).collect();
        if next.is_empty() {
            let stage = cursor.stage + 1;
            begin(cursor, stage);
            return;
        }
        let more: Vec<CandidateId> = next.iter().copied().take(cursor.step).collect();
        let is_begun = !set.is_empty();
        let before = if is_begun { self.worth(cursor.stage, &set) } else { Exact::default() };
        set.extend(more.iter().filter(|at| !members.contains(at)));
        let gains =
            set.len() > members.len() && self.consider_at(cursor.stage, &set) > Some(before);
        if gains {
            cursor.set = self.look.names(&set);
            cursor.next += more.len();
            cursor.step = cursor.step.saturating_mul(2);
        } else if more.len() <= 1 {
            cursor.next += 1;
            cursor.step = 1;
        } else {
            cursor.step = more.len() / 2;
        }
    }

    /// What the set saves, without asking again when it is the best.
    fn worth(&mut self, stage: usize, set: &[CandidateId]) -> Exact {
        if set == self.best {
            return self.saving;
        }
        self.consider_at(stage, set).unwrap_or_default()
    }

    fn order(&mut self, stage: usize) -> Vec<CandidateId> {
        if PACKED <= stage {
            return self.dear();
        }
        let mut sorted = self.look.field.by_savings(&self.eligible);
        if stage % 2 == 1 {
            let cost = |at: &CandidateId| self.look.field.candidates[*at].cost;
            sorted.sort_by_key(cost);
        }
        sorted
    }

    /// The candidates called so that still are eligible.
    fn named(&self, names: &[NodeName]) -> Vec<CandidateId> {
        let candidates = &self.look.field.candidates;
        let named = self.eligible.iter().map(|at| (&candidates[*at].node.name, *at));
        let by_name: BTreeMap<&NodeName, CandidateId> = named.collect();
        names.iter().filter_map(|name| by_name.get(name).copied()).collect()
    }

    /// Takes up the best of an earlier search, if it still holds.
    fn remember(&mut self, names: &[NodeName], stage: usize) {
        let ids = self.named(names);
        if !names.is_empty() && ids.len() == names.len() {
            self.consider_at(stage, &ids);
        }
    }

    fn saving_of(&mut self, names: &[NodeName]) -> HourlyPrice {
        let ids = self.named(names);
        if ids.is_empty() { HourlyPrice::default() } else { self.worth(0, &ids).rounded() }
    }

    fn answer(&mut self, cursor: &Cursor, is_complete: bool) -> Finding {
        let mut finding = Finding {
            compatible_saving: self.saving_of(&cursor.compatible),
            left: (!is_complete).then(|| cursor.clone()),
            examined: self.look.simulator.examined,
            ..Finding::default()
        };
        if self.best.is_empty() {
            return finding;
        }
        let nodes = self.best.clone();
        let method = if nodes.len() > 1 { Method::MultiNode } else { Method::SingleNode };
        let PreparedCluster { state, field, simulator, .. } = &mut *self.look;
        let outcome = if self.is_packed {
            together_packed(state, simulator, field, &nodes).map(|(outcome, _)| outcome)
        } else {
            together(state, simulator, field, &nodes)
        };
        let Ok(outcome) = outcome else { return finding };
        let proposal = self.look.proposal(
            method,
            CommandDraft { outcome, ..CommandDraft::of(nodes) },
            &Notes::new(),
        );
        match self.look.later(&proposal) {
            Ok(proposal) => finding.proposal = Some(proposal),
            Err(voided) => finding.voided = Some((proposal, voided)),
        }
        finding
    }
}

fn begin(cursor: &mut Cursor, stage: usize) {
    let is_seeded = (2 + ORDERS / 2..PACKED).contains(&stage);
    let seed = if is_seeded { cursor.compatible.clone() } else { Vec::new() };
    *cursor = Cursor { stage, next: 0, step: STEP, set: seed, ..cursor.clone() };
}
