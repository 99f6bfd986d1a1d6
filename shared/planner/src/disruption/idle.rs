//! Empty nodes, for a function that looks now and again later: what may go, and why the rest stays.
//!
//! Beside what [`super::answer`] looks at, nodes that pending pods fit onto are spared, since when
//! nodes are empty is noted, and promised claims hold nothing up: they count as capacity.

use std::collections::{BTreeMap, BTreeSet};

use model::{NodeClaimName, facts::Facts};

use super::{
    Method, Options,
    nodes::State,
    search::{self, Field},
};

/// What may go, dearest for what it disturbs first, and why the other claims asked for may not.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    pub(crate) chosen: Vec<NodeClaimName>,
    pub(crate) rejected: BTreeMap<NodeClaimName, String>,
}

/// Which claims of `among`, or of all, may be given up as empty within budgets.
pub(crate) fn idle(facts: &Facts, among: Option<&BTreeSet<&NodeClaimName>>) -> Idle {
    let options = Options { notes_emptiness: true, works_out_drift: true, ..Options::default() };
    let mut state = State::of(facts, facts.now, &options);
    state.spare_for_pending();
    let field = Field::of(&state);
    let is_asked = |name: &NodeClaimName| among.is_none_or(|among| among.contains(name));
    let (mut eligible, mut notes) = field.eligible(&state, Method::Emptiness);
    eligible.retain(|at| field.candidates.get(*at).is_some_and(|one| is_asked(&one.claim.name)));
    // Pods that cost nothing to move would still have to be moved, which nobody does here.
    let (eligible, used): (Vec<usize>, Vec<usize>) = eligible
        .into_iter()
        .partition(|at| field.candidates.get(*at).is_some_and(|one| one.pods.is_empty()));
    notes.extend(used.iter().map(|at| (*at, "pods run on it, if cheap to move".to_owned())));
    let draft = search::emptiness(&state, &field, &eligible, &mut notes);
    let chosen = draft.map(|draft| draft.nodes).unwrap_or_default();
    let mut rejected = BTreeMap::new();
    for (at, reason) in notes {
        if let Some(one) = field.candidates.get(at) {
            rejected.insert(one.claim.name.clone(), reason);
        }
    }
    for (place, reason) in &field.others {
        if let Some(claim) = state.nodes.get(*place).and_then(|entry| entry.claim) {
            rejected.insert(claim.name.clone(), reason.clone());
        }
    }
    rejected.retain(|name, _| is_asked(name));
    let chosen = field.get(&chosen).into_iter().map(|one| one.claim.name.clone()).collect();
    Idle { chosen, rejected }
}
