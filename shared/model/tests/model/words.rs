//! Numbers in sentences and tables for people. What machines read has them as they are.

use model::words::*;

#[test]
fn thousands_are_parted() {
    assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    let pods = [0, 1, 2, 1_200].map(|number| counted(number, "pod"));
    assert_eq!(pods, ["0 pods", "1 pod", "2 pods", "1,200 pods"]);
}
