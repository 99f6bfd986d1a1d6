//! The ledger as a process read it, for as long as its counters say that it stands.

use std::{cell::RefCell, rc::Rc};

use jiff::Timestamp;
use model::ledger::{Head, Snapshot};
use ports::{Invocation, Ledger, PortError};

/// The ledger as it was read last, if it was at rest then. It stands in for another read by functions that do not decide
/// on the cluster's capacity: the larger the cluster, the more a read costs.
#[derive(Debug, Default)]
pub(crate) struct KeptLedger(RefCell<Option<KeptSnapshot>>);

#[derive(Debug)]
struct KeptSnapshot {
    snapshot: Rc<Snapshot>,
    /// When the latest pass that it served began.
    served: Timestamp,
    /// How many more passes it serves.
    passes_left: u32,
}

impl KeptLedger {
    /// The ledger of `at.cluster` under `head`, which the caller has read: whatever was listed before the head was
    /// read has its claim here if it has one. What a ledger at rest may change ([`Snapshot::is_at_rest`]) is as old as
    /// the pass that read it: one read serves `passes` passes.
    pub(crate) async fn under(
        &self,
        (head, passes): (&Head, u32),
        ledger: &impl Ledger,
        at: &Invocation,
    ) -> Result<Rc<Snapshot>, PortError> {
        if let Some(snapshot) = self.standing(head, at.now) {
            return Ok(snapshot);
        }
        let snapshot = Rc::new(ledger.snapshot(&at.cluster).await?);
        let read = KeptSnapshot {
            snapshot: Rc::clone(&snapshot),
            served: at.now,
            passes_left: passes.saturating_sub(1),
        };
        self.0.replace(Some(read).filter(|_| snapshot.is_at_rest()));
        Ok(snapshot)
    }

    /// Reads the ledger the next time. For who writes to a claim that may have been written to since it was read.
    pub(crate) fn forget(&self) {
        self.0.replace(None);
    }

    /// What is kept, with `head` as its own, if that has the same counters and it may serve the pass that began `now`.
    fn standing(&self, head: &Head, now: Timestamp) -> Option<Rc<Snapshot>> {
        let mut last_read = self.0.borrow_mut();
        let KeptSnapshot { snapshot, served, passes_left } = last_read.as_mut()?;
        let is_same =
            (&snapshot.head.ledger, snapshot.head.counters) == (&head.ledger, head.counters);
        if !is_same {
            return None;
        }
        if *served != now {
            *passes_left = passes_left.checked_sub(1)?;
            *served = now;
        }
        if snapshot.head != *head {
            Rc::make_mut(snapshot).head.clone_from(head);
        }
        Some(Rc::clone(snapshot))
    }
}
