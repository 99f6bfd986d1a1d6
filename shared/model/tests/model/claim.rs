//! What the table says of claims is the same in every release.

use model::{ClaimPhase, claim::VolumeState};

#[test]
fn codes_of_the_table_never_change() {
    let codes = ["promised", "launched", "registered", "initialized", "deleting"];
    assert_eq!(ClaimPhase::ALL.map(ClaimPhase::code), codes);
    assert_eq!(codes.map(ClaimPhase::of_code), ClaimPhase::ALL.map(Some));
    assert_eq!(ClaimPhase::of_code("created"), None);
    let states = ["awaited", "detached", "given-up"];
    assert_eq!(VolumeState::ALL.map(VolumeState::as_str), states);
    assert_eq!(states.map(VolumeState::parse), VolumeState::ALL.map(Some));
}

#[test]
fn a_phase_is_shown_by_the_word_of_its_condition() {
    let shown = ClaimPhase::ALL.map(|phase| phase.to_string());
    assert_eq!(shown, ["created", "launched", "registered", "initialized", "deleting"]);
}
