//! Pending pods → placements and new claims.

use model::{Plan, facts::Facts};

/// Where pending pods and those of nodes that are given up go.
#[must_use]
pub fn provision(facts: &Facts) -> Plan {
    Plan { parent: facts.ledger.generation, ..Plan::default() }
}
