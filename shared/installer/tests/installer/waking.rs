//! `doctor` says why no call of the API server reaches `wake`, each cause with its own cure.

use installer::{
    doctor::{
        judged,
        observed::{Observed, Waking},
        steps::{StepFinding, StepVerdict},
    },
    live::UrlAnswer,
};
use serde_json::json;

use crate::installation::whole;

fn verdict(seen: &Observed) -> StepVerdict {
    let (_, verdict) = judged(seen).into_iter().find(|(step, _)| step.id == "wake").unwrap();
    verdict
}

/// What the step finds after `change`, and the cure.
fn wrong(change: impl FnOnce(&mut Observed)) -> (String, String) {
    let mut seen = whole();
    change(&mut seen);
    match verdict(&seen) {
        StepVerdict::Wrong(StepFinding { found, cure }) => (found.join(" "), cure),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut Observed), says: &str, helps: &str) {
    let (found, cure) = wrong(change);
    assert!(found.contains(says), "{found}");
    assert!(cure.contains(helps), "{cure}");
    assert!(!format!("{found}{cure}").contains("aaaa"), "the secret path: {found} {cure}");
}

fn waking(seen: &mut Observed) -> &mut Waking {
    seen.waking.as_mut().unwrap()
}

/// No probe came back, and the URL answers so from here.
fn called(answer: UrlAnswer) -> impl FnOnce(&mut Observed) {
    move |seen| {
        let waking = waking(seen);
        (waking.probed, waking.called) = (None, Some(answer));
    }
}

fn failed(why: &str) -> impl FnOnce(&mut Observed) {
    called(UrlAnswer::Failed(why.to_owned()))
}

#[test]
fn a_probe_that_comes_back_is_timed() {
    assert_eq!(verdict(&whole()), StepVerdict::Done("a probe came back after 23 ms".to_owned()));
}

#[test]
fn a_stack_without_wake_and_a_cluster_without_its_webhooks_belong_together() {
    let without_function = |seen: &mut Observed| {
        seen.functions
            .as_mut()
            .unwrap()
            .retain(|function| !function["FunctionName"].as_str().unwrap().contains("Wake"));
    };
    let without_webhooks = |seen: &mut Observed| {
        seen.waking = Ok(Waking::default());
    };
    check(without_webhooks, "The cluster has no webhooks", "journeyman install demo --wake URL");
    check(
        without_function,
        "The API server calls abc.lambda-url.us-west-2.on.aws, and the stack has no function `wake`",
        "kubectl delete validatingwebhookconfigurations.admissionregistration.k8s.io/journeyman flowschemas",
    );
    let mut neither = whole();
    without_function(&mut neither);
    without_webhooks(&mut neither);
    assert!(matches!(verdict(&neither), StepVerdict::NotNeeded(_)));
}

#[test]
fn events_that_take_the_seats_of_bindings_are_found() {
    check(
        |seen| waking(seen).has_priority = false,
        "kube-scheduler's events have no priority level of their own",
        "journeyman install demo --wake URL",
    );
}

#[test]
fn webhooks_of_another_stack_are_told_by_their_host() {
    check(
        |seen| {
            waking(seen).function_url = Some("https://def.lambda-url.us-west-2.on.aws/".to_owned());
        },
        "The API server calls abc.lambda-url.us-west-2.on.aws, and the stack's `wake` is at def.",
        "journeyman install demo --wake URL",
    );
    // Behind a private API the function has no URL of its own.
    let mut seen = whole();
    waking(&mut seen).function_url = None;
    assert!(matches!(verdict(&seen), StepVerdict::Done(_)));
}

#[test]
fn what_the_url_answers_here_tells_why_it_answers_no_api_server() {
    for (status, says, helps) in [
        (403, "refuses every call (403)", "lambda:InvokeFunctionUrl"),
        (404, "does not take the secret path", "`sweep` renews the path"),
        (429, "has too many calls (429)", "metrics of `wake`"),
        (502, "answers with the HTTP status 502", "the log of `wake`"),
        (
            200,
            "answers here, and not the API server: its calls take longer than a second",
            "--diff",
        ),
    ] {
        check(called(UrlAnswer::Status(status)), says, helps);
    }
    for (why, helps) in [
        ("dns error: failed to lookup address information", "No name server knows the host"),
        ("invalid peer certificate: UnknownIssuer", "The certificate is not that of the host"),
        ("no answer within 10 s", "run this command in the cluster's VPC"),
        (
            "tcp connect error: Connection refused (os error 111)",
            "See whether the stack is deployed",
        ),
    ] {
        check(failed(why), &format!("cannot be called: {why}"), helps);
    }
}

#[test]
fn the_routes_of_the_control_plane_are_looked_at() {
    for mode in ["CUSTOMER_ROUTED", "CUSTOMER_ISOLATED"] {
        let change = |seen: &mut Observed| {
            called(UrlAnswer::Status(200))(seen);
            seen.eks.as_mut().unwrap().as_mut().unwrap()["resourcesVpcConfig"]["controlPlaneEgressMode"] =
                json!(mode);
        };
        check(change, &format!("controlPlaneEgressMode is {mode}"), "WakeEndpoint=private");
    }
}

#[test]
fn what_cannot_be_seen_is_not_judged() {
    let mut seen = whole();
    seen.waking = Err("create events: Forbidden".to_owned());
    assert!(matches!(verdict(&seen), StepVerdict::Unknown(_)));
}
