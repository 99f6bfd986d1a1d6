//! Why a node does not join its cluster: what can be asked of its instance, and what that comes to.

use model::join::*;

#[test]
fn every_reason_has_a_name_of_its_own_by_which_it_is_read() {
    for reason in JoinReason::ALL {
        assert_eq!(JoinReason::parse(reason.as_str()), Some(reason));
        assert_eq!(format!("{reason:?}"), reason.as_str());
    }
    assert!(JoinReason::ALL.is_sorted());
}
