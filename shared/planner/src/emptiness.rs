//! Nodes that no pod needs.

use jiff::Timestamp;
use model::{NodeClaimName, Plan, facts::Facts, message::DisruptionMethod};

/// What was seen about empty nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emptiness {
    /// Changes only since when claims are empty.
    pub observed: Plan,
    /// Claims that may be given up if nothing changes meanwhile.
    pub candidates: Vec<NodeClaimName>,
}

/// Which nodes have been empty for long enough, within their pool's budgets.
#[must_use]
pub fn emptiness(facts: &Facts) -> Emptiness {
    let observed = Plan { parent: facts.ledger.generation, ..Plan::default() };
    Emptiness { observed, candidates: Vec::new() }
}

/// Gives up those of `claims`, found by `method` at `found_at`, for which the reason still holds.
#[must_use]
pub fn validated(
    facts: &Facts,
    _method: DisruptionMethod,
    _claims: &[NodeClaimName],
    _found_at: Timestamp,
) -> Plan {
    Plan { parent: facts.ledger.generation, ..Plan::default() }
}
