//! What takes its time is waited for, each state is printed once, and nothing is waited for in vain.

use std::cell::Cell;

use installer::{
    installation::{Look, waited},
    uninstall::carry_out::{look_of, outcome},
};

/// How often it was paused, what was states, and what was found last. The last of `looks` is found again and again.
fn played(minutes: u32, looks: &[Look<()>]) -> (u32, Vec<String>, Look<()>) {
    let (pauses, mut states) = (Cell::new(0_u32), Vec::new());
    let mut rest = looks.iter();
    let mut last = Look::Done(());
    let look = || {
        last = rest.next().unwrap_or(&last).clone();
        last.clone()
    };
    let tell = |state: &str| {
        states.push(state.to_owned());
        Ok(())
    };
    let latest = waited(look, minutes, |_| pauses.set(pauses.get() + 1), tell).unwrap();
    (pauses.get(), states, latest)
}

#[test]
fn what_takes_its_time_is_waited_for_and_each_state_told_once() {
    let waits = |text: &str| Look::Waits(text.to_owned());
    let (pauses, states, latest) =
        played(30, &[waits("2 left."), waits("2 left."), waits("1 left."), Look::Done(())]);
    assert_eq!((pauses, latest), (3, Look::Done(())));
    assert_eq!(states, ["2 left.", "1 left."]);
    let (pauses, states, latest) = played(1, &[waits("1 left.")]);
    assert_eq!((pauses, states.len(), latest), (12, 1, waits("1 left.")));
    let (pauses, _, latest) = played(0, &[waits("1 left.")]);
    assert_eq!((pauses, latest), (0, waits("1 left.")));
}

#[test]
fn what_will_never_be_so_is_not_waited_for() {
    let failed = Look::Failed("DELETE_FAILED".to_owned());
    assert_eq!(played(30, std::slice::from_ref(&failed)), (0, Vec::new(), failed));
}

#[test]
fn what_was_waited_for_in_vain_says_how_to_wait_longer() {
    let why = outcome(Look::Waits("1 left.".to_owned()), 1).unwrap_err();
    assert!(why.starts_with("1 left. Not finished after 1 minutes"), "{why}");
    assert_eq!(outcome(Look::Done(()), 1), Ok(()));
    let failed = Look::Failed("DELETE_FAILED".to_owned());
    assert_eq!(outcome(failed, 30), Err("DELETE_FAILED".to_owned()));
    let unseen = look_of(Err("Forbidden".to_owned()));
    assert_eq!(unseen, Look::Failed("Forbidden".to_owned()));
    assert_eq!(outcome(unseen, 30), Err("Forbidden".to_owned()));
}
