//! Another cluster, whose ledger is in the same table: what happens to either is nothing to the other.

use std::fmt::Debug;

use jiff::Timestamp;
use model::{
    ClaimPhase, ClusterName, NodeClaim,
    duration::later,
    ledger::{Guard, Shortage, Snapshot},
    limits::UNAVAILABLE_FOR,
};
use ports::Ledger as _;
use simulator::Sim;
use testkit::build;

/// Names of its NodeClaims begin so, as those of the first batch of a simulated cluster do.
pub(crate) const BATCH: &str = "general-sim1-1";

/// What another cluster has in the table.
pub(crate) struct Neighbour {
    cluster: ClusterName,
    /// As it left its ledger.
    ledger: Snapshot,
}

impl Neighbour {
    /// Opens its ledger, before any call is refused. Karpenter is in charge there, and its class cannot have what
    /// that of the simulated cluster has.
    pub(crate) fn beside(sim: &Sim) -> Self {
        let cluster: ClusterName = build::id("neighbour");
        let now = sim.now();
        let head = done(sim.block_on(sim.open(&cluster, None)));
        let created = build::batch(BATCH, 3);
        let commit = build::commit("neighbour", &head, created.clone());
        done(sim.block_on(sim.commit(&cluster, &commit)));
        let joined: Vec<NodeClaim> = created.iter().map(|claim| joined(claim, now)).collect();
        done(sim.block_on(sim.write_claims(&cluster, &joined)));
        let guard = Guard::Held { by: "karpenter".to_owned(), checked_at: now };
        let ledger = head.ledger.expect("it was opened");
        done(sim.block_on(sim.put_guard(&cluster, &ledger, &guard)));
        let offering = build::launched_instance("i-0feed").offering();
        let short = Shortage::Unsupported { class: build::id("default"), offering };
        let until = later(now, UNAVAILABLE_FOR);
        done(sim.block_on(sim.mark_unavailable(&cluster, &[], &[(short, until)])));
        let ledger = done(sim.block_on(sim.snapshot(&cluster)));
        assert_eq!(ledger.claims.len(), joined.len());
        Self { cluster, ledger }
    }

    /// What is not as it left it, if the table was not lost.
    pub(crate) fn problems(&self, sim: &Sim) -> Option<String> {
        let ledger = done(sim.block_on(sim.snapshot(&self.cluster)));
        let Snapshot { head, claims, refusals, commands, .. } = &self.ledger;
        let is_same = (head, claims, refusals, commands)
            == (&ledger.head, &ledger.claims, &ledger.refusals, &ledger.commands);
        let is_lost = ledger.head.ledger.is_none();
        (!is_same && !is_lost).then(|| format!("{:?} became {ledger:?}", self.ledger))
    }
}

/// `claim` with a node that works, on an instance of its own.
fn joined(claim: &NodeClaim, now: Timestamp) -> NodeClaim {
    let instance = build::launched_instance(&format!("i-0feed{}", claim.batch_index));
    NodeClaim { instance: Some(instance), ..claim.moved_to(ClaimPhase::Initialized, now) }
}

#[track_caller]
fn done<T, E: Debug>(answer: Option<Result<T, E>>) -> T {
    answer.expect("it ends").expect("nothing is refused")
}
