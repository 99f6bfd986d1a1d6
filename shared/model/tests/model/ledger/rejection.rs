//! Why something was not chosen, as a word that machines compare.

use model::ledger::rejection::*;

#[test]
fn every_reason_is_read_as_it_is_written() {
    for reason in RejectionReason::ALL {
        assert_eq!(RejectionReason::parse(reason.as_str()), *reason);
    }
    // As an earlier release wrote it.
    assert_eq!(RejectionReason::parse("NotPromised"), RejectionReason::NotCreated);
    assert_eq!(RejectionReason::parse("OfAnotherRelease"), RejectionReason::Other);
}
