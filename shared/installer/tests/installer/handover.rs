//! Nothing changes hands that would be lost, and what does is waited for.

use std::cell::Cell;

use installer::{
    doctor::observed::Observed,
    handover::{
        judged::{self, Owned, adoption, release},
        wait,
    },
    live::LiveAnswer,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::installation::whole;

fn deployment(replicas: u32) -> Value {
    json!({"metadata": {"name": "karpenter", "namespace": "karpenter"}, "spec": {"replicas": replicas}})
}

fn claim(name: &str, manager: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": manager}},
        "status": {"providerID": format!("aws:///us-west-2a/i-{name}")},
    })
}

fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "general"}},
        "spec": {"providerID": format!("aws:///us-west-2a/i-{name}")},
    })
}

/// Karpenter's lease, as renewed at `at`.
fn lease(at: Timestamp) -> Value {
    json!({
        "metadata": {"name": "karpenter-leader-election", "namespace": "karpenter"},
        "spec": {"holderIdentity": "karpenter-1", "leaseDurationSeconds": 15, "renewTime": at.to_string()},
    })
}

fn with_karpenter() -> Observed {
    let mut seen = whole();
    let now = seen.now;
    seen.leases = seen.leases.map(|leases| leases.into_iter().chain([lease(now)]).collect());
    seen.claims = Ok(vec![claim("a", "Helm"), claim("b", "Helm")]);
    seen
}

/// What shows of `seen` who has the nodes.
fn owned(seen: &Observed) -> LiveAnswer<Owned> {
    Owned::of(seen.now, seen.leases.clone(), seen.claims.clone())
}

fn adopted(seen: &Observed) -> LiveAnswer<String> {
    judged::adopted(&owned(seen)?)
}

fn handed(seen: &Observed) -> LiveAnswer<String> {
    judged::handed(&owned(seen)?, &seen.cluster)
}

#[test]
fn karpenter_is_scaled_down_only_where_the_functions_can_take_over() {
    let seen = with_karpenter();
    let handover = adoption(&seen, &[deployment(2)]).unwrap();
    assert!(handover.what.starts_with("Journeyman takes over 2 NodeClaims"), "{handover:?}");
    let scaled: Vec<String> = handover.scaled.iter().map(ToString::to_string).collect();
    assert_eq!(scaled, ["kubectl scale deployment karpenter --namespace=karpenter --replicas=0"]);
    assert_eq!(adoption(&seen, &[deployment(0)]).unwrap().scaled, []);
    let unknown = adoption(&seen, &[]).unwrap_err();
    assert!(unknown.contains("--karpenter NAMESPACE/NAME"), "{unknown}");
    let without = Observed { functions: Ok(Vec::new()), ..with_karpenter() };
    let refused = adoption(&without, &[deployment(2)]).unwrap_err();
    assert!(
        refused.contains("functions: ") && refused.contains("Karpenter keeps running"),
        "{refused}"
    );
    let eks = json!({"status": "ACTIVE", "endpoint": "https://127.0.0.1:6443"});
    let local = Observed { eks: Ok(Some(eks)), ..without.clone() };
    assert_eq!(adoption(&local, &[deployment(2)]).unwrap().scaled.len(), 1);
    let blind = Observed { rbac: Err("Forbidden".to_owned()), ..with_karpenter() };
    let refused = adoption(&blind, &[deployment(2)]).unwrap_err();
    assert!(refused.contains("rbac: Forbidden"), "{refused}");
}

#[test]
fn adoption_is_over_when_every_node_claim_is_ours() {
    let seen = with_karpenter();
    assert!(adopted(&seen).unwrap_err().contains("until the lease of Karpenter"));
    let free = Observed { leases: whole().leases, ..seen };
    assert_eq!(adopted(&free).unwrap_err(), "Waiting for 2 of 2 NodeClaims: a, b.");
    // The functions worked before Karpenter did, and have not resumed.
    let paused = whole().leases.map(|mut leases| {
        leases[0]["spec"]["renewTime"] = json!("2026-08-01T11:58:00Z");
        leases[1]["spec"]["renewTime"] = json!("2026-08-01T11:58:30Z");
        leases
    });
    let paused = Observed { leases: paused, ..free.clone() };
    assert!(adopted(&paused).unwrap_err().contains("first run of `sweep`"));
    // One that Karpenter did not launch yet belongs to no controller.
    let launching = json!({"metadata": {"name": "c"}, "status": {}});
    let claims = Ok(vec![claim("a", "journeyman"), launching]);
    let most = Observed { claims, ..free };
    assert_eq!(adopted(&most).unwrap(), "Journeyman manages 2 NodeClaims.");
    let silent = Observed { leases: Ok(Vec::new()), ..most };
    assert!(adopted(&silent).unwrap_err().contains("first run of `sweep`"));
    let blind = Observed { claims: Err("Forbidden".to_owned()), leases: whole().leases, ..silent };
    assert!(adopted(&blind).unwrap_err().contains("cannot be read: Forbidden"));
}

#[test]
fn what_karpenter_would_not_know_is_not_given_back() {
    let claims = Ok(vec![claim("a", "journeyman")]);
    let seen = Observed { claims, ..whole() };
    let handover = release(&seen, &[deployment(0)], &[node("a")]).unwrap();
    assert_eq!(
        handover.scaled[0].to_string(),
        "kubectl scale deployment karpenter --namespace=karpenter --replicas=2"
    );
    let unshown = release(&seen, &[deployment(0)], &[node("a"), node("b")]).unwrap_err();
    assert!(unshown.contains("these have none: b."), "{unshown}");
    let nowhere = release(&seen, &[], &[node("a")]).unwrap_err();
    assert!(nowhere.contains("install its chart first"), "{nowhere}");
    let launching = json!({"metadata": {"name": "c"}, "status": {}});
    let under_way = Observed { claims: Ok(vec![launching]), ..whole() };
    let refused = release(&under_way, &[deployment(0)], &[]).unwrap_err();
    assert!(refused.contains("wait for c"), "{refused}");
    assert_eq!(handed(&seen).unwrap_err(), "Waiting until Karpenter takes its lease.");
    let held = handed(&with_karpenter()).unwrap();
    assert!(held.contains("manages 2 NodeClaims"), "{held}");
    // Karpenter is there already: nothing has to be scaled.
    let again = release(&with_karpenter(), &[deployment(0)], &[node("a")]).unwrap();
    assert_eq!(again.scaled, []);
}

#[test]
fn it_is_waited_for_and_each_state_is_printed_once() {
    let played = |minutes: u32, states: &[Result<&str, &str>]| {
        let (pauses, mut printed) = (Cell::new(0_u32), Vec::new());
        let mut states = states.iter();
        let mut last = Err(String::new());
        let look = || {
            if let Some(state) = states.next() {
                last = state.map(str::to_owned).map_err(str::to_owned);
            }
            last.clone()
        };
        let tell = |_, state: &str| {
            printed.push(state.to_owned());
            Ok(())
        };
        let is_done = wait(look, minutes, |_| pauses.set(pauses.get() + 1), tell).unwrap();
        (is_done, pauses.get(), printed)
    };
    let (is_done, pauses, printed) = played(1, &[Ok("It has 1 NodeClaims.")]);
    assert_eq!((is_done, pauses, printed.len()), (true, 0, 1));
    let (is_done, pauses, printed) = played(1, &[Err("a"), Err("a"), Err("b"), Ok("done")]);
    assert_eq!((is_done, pauses), (true, 3));
    assert_eq!(printed, ["a", "b", "done"]);
    // A Karpenter that does not come up: it is waited a minute for, and said once.
    let (is_done, pauses, printed) = played(1, &[Err("Waiting until Karpenter takes its lease.")]);
    assert_eq!((is_done, pauses, printed.len()), (false, 12, 2));
    assert!(printed[1].contains("Not finished in time"), "{printed:?}");
}
