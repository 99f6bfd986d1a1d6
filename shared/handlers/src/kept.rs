//! The ledger as a process read it, for as long as its counters say that it stands.

use std::{cell::RefCell, rc::Rc};

use jiff::{SignedDuration, Timestamp};
use model::ledger::{Head, Snapshot};
use ports::{Invocation, Ledger, PortError};

/// The ledger as it was read last, if it was at rest then. It stands in for another read by functions that do not decide
/// on the cluster's capacity: the larger the cluster, the more a read costs.
#[derive(Debug, Default)]
pub(crate) struct KeptLedger(RefCell<Option<KeptSnapshot>>);

#[derive(Debug)]
struct KeptSnapshot {
    snapshot: Rc<Snapshot>,
    read_at: Timestamp,
}

impl KeptLedger {
    /// The ledger of `at.cluster` under `head`, which the caller has read: whatever was listed before the head was
    /// read has its claim here if it has one. What a ledger at rest may change ([`Snapshot::is_at_rest`]) was read less
    /// than `kept_for` ago.
    pub(crate) async fn under(
        &self,
        (head, kept_for): (&Head, SignedDuration),
        ledger: &impl Ledger,
        at: &Invocation,
    ) -> Result<Rc<Snapshot>, PortError> {
        if let Some(kept) = self.standing(head, kept_for, at.now) {
            return Ok(kept);
        }
        let snapshot = Rc::new(ledger.snapshot(&at.cluster).await?);
        let kept = KeptSnapshot { snapshot: Rc::clone(&snapshot), read_at: at.now };
        self.0.replace(Some(kept).filter(|_| snapshot.is_at_rest()));
        Ok(snapshot)
    }

    /// Reads the ledger the next time. For who writes to a claim that may have been written to since it was read.
    pub(crate) fn forget(&self) {
        self.0.replace(None);
    }

    /// What is kept, with `head` as its own, if that has the same counters and it was read less than `kept_for` ago.
    fn standing(
        &self,
        head: &Head,
        kept_for: SignedDuration,
        now: Timestamp,
    ) -> Option<Rc<Snapshot>> {
        let mut kept = self.0.borrow_mut();
        let KeptSnapshot { snapshot, read_at } = kept.as_mut()?;
        let is_same =
            (&snapshot.head.ledger, snapshot.head.counters) == (&head.ledger, head.counters);
        if !is_same || kept_for <= now.duration_since(*read_at) {
            return None;
        }
        if snapshot.head != *head {
            Rc::make_mut(snapshot).head.clone_from(head);
        }
        Some(Rc::clone(snapshot))
    }
}
