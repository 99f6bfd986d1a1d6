//! Releases of the command and of a stack.

use std::collections::BTreeSet;

use installer::doctor::{
    judged, release,
    steps::{StepFinding, StepVerdict},
};
use serde_json::{Value, json};

use crate::installation::whole;

const FIRST: &str = "1.0.0 (0123456789ab)";
const SECOND: &str = "1.1.0 (ba9876543210)";

fn function(release: &str) -> Value {
    json!({"Environment": {"Variables": {"JOURNEYMAN_RELEASE": release}}})
}

#[test]
fn a_stack_names_its_release() {
    let checkout = json!({"Environment": {"Variables": {}}});
    let words = |functions: &[Value]| release::in_words(&Ok(functions.to_vec()));
    assert_eq!(words(&[function(FIRST), function(FIRST)]), FIRST);
    assert_eq!(words(&[function(SECOND), function(FIRST)]), format!("{FIRST}, {SECOND}"));
    assert_eq!(words(&[checkout]), "not a release");
    assert_eq!(words(&[]), "there is none in this account and region");
    let unread = release::in_words(&Err("AccessDenied".to_owned()));
    assert_eq!(unread, "cannot be read: AccessDenied");
}

#[test]
fn two_releases_differ_and_a_checkout_differs_from_nothing() {
    let difference = |command, functions: &[&'static str]| {
        release::difference(command, &functions.iter().copied().collect::<BTreeSet<_>>())
    };
    assert_eq!(difference(Some(FIRST), &[FIRST]), None);
    assert_eq!(difference(Some(FIRST), &[""]), None);
    assert_eq!(difference(None, &[FIRST]), None);
    assert_eq!(difference(Some(FIRST), &[]), None);
    let other = difference(Some(FIRST), &[SECOND]).unwrap();
    assert_eq!(
        other,
        format!("The functions are of release {SECOND}, and this command is of {FIRST}.")
    );
    let several = difference(None, &["", SECOND]).unwrap();
    assert_eq!(several, format!("The functions are of several releases: not a release, {SECOND}."));
}

#[test]
fn doctor_sees_functions_of_several_releases() {
    let mut seen = whole();
    seen.functions.as_mut().unwrap()[0]["Environment"]["Variables"]["JOURNEYMAN_RELEASE"] =
        json!(SECOND);
    let verdicts = judged(&seen);
    let (_, verdict) = verdicts.iter().find(|(step, _)| step.id == "release").unwrap();
    let StepVerdict::Wrong(StepFinding { found, .. }) = verdict else { panic!("{verdict:?}") };
    assert_eq!(
        *found,
        [format!("The functions are of several releases: not a release, {SECOND}.")]
    );
}
