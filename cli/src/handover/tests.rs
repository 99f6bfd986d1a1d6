//! Nothing changes hands that would be lost, and what does is waited for.

use std::{cell::Cell, fs, os::unix::fs::PermissionsExt as _};

use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::{
    doctor::{observed::Observed, tests::whole},
    installation::KubectlArgs,
};

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
fn owned(seen: &Observed) -> Answer<Owned> {
    Owned::of(seen.now, seen.leases.clone(), seen.claims.clone())
}

fn adopted(seen: &Observed) -> Answer<String> {
    judged::adopted(&owned(seen)?)
}

fn handed(seen: &Observed) -> Answer<String> {
    judged::handed(&owned(seen)?, &seen.cluster)
}

#[test]
fn karpenter_is_scaled_down_only_where_the_functions_can_take_over() {
    let seen = with_karpenter();
    let handover = adoption(&seen, &[deployment(2)]).unwrap();
    assert!(handover.what.starts_with("2 NodeClaims change hands"), "{handover:?}");
    let words: Vec<String> = handover.scaled.iter().map(|words| words.join(" ")).collect();
    assert_eq!(words, ["scale deployment karpenter --namespace=karpenter --replicas=0"]);
    assert_eq!(adoption(&seen, &[deployment(0)]).unwrap().scaled, Vec::<Vec<String>>::new());
    let unknown = adoption(&seen, &[]).unwrap_err();
    assert!(unknown.contains("--karpenter NAMESPACE/NAME"), "{unknown}");
    let without = Observed { functions: Ok(Vec::new()), ..with_karpenter() };
    let refused = adoption(&without, &[deployment(2)]).unwrap_err();
    assert!(refused.contains("functions: ") && refused.contains("left as it is"), "{refused}");
    let blind = Observed { rbac: Err("Forbidden".to_owned()), ..with_karpenter() };
    let refused = adoption(&blind, &[deployment(2)]).unwrap_err();
    assert!(refused.contains("rbac: Forbidden"), "{refused}");
}

#[test]
fn adoption_is_over_when_every_node_claim_is_ours() {
    let seen = with_karpenter();
    assert!(adopted(&seen).unwrap_err().contains("has to end"));
    let free = Observed { leases: whole().leases, ..seen };
    assert_eq!(adopted(&free).unwrap_err(), "2 of 2 NodeClaims are left: a, b.");
    // One that Karpenter did not launch yet is nobody's.
    let launching = json!({"metadata": {"name": "c"}, "status": {}});
    let claims = Ok(vec![claim("a", "journeyman"), launching]);
    let most = Observed { claims, ..free };
    assert_eq!(adopted(&most).unwrap(), "Journeyman has all 2 NodeClaims.");
    let silent = Observed { leases: Ok(Vec::new()), ..most };
    assert!(adopted(&silent).unwrap_err().contains("at work"));
    let blind = Observed { claims: Err("Forbidden".to_owned()), leases: whole().leases, ..silent };
    assert!(adopted(&blind).unwrap_err().contains("cannot be read: Forbidden"));
}

#[test]
fn what_karpenter_would_not_know_is_not_given_back() {
    let claims = Ok(vec![claim("a", "journeyman")]);
    let seen = Observed { claims, ..whole() };
    let handover = release(&seen, &[deployment(0)], &[node("a")]).unwrap();
    assert_eq!(
        handover.scaled.concat().join(" "),
        "scale deployment karpenter --namespace=karpenter --replicas=2"
    );
    let unshown = release(&seen, &[deployment(0)], &[node("a"), node("b")]).unwrap_err();
    assert!(unshown.contains("these have none: b."), "{unshown}");
    let nowhere = release(&seen, &[], &[node("a")]).unwrap_err();
    assert!(nowhere.contains("install its chart first"), "{nowhere}");
    let launching = json!({"metadata": {"name": "c"}, "status": {}});
    let under_way = Observed { claims: Ok(vec![launching]), ..whole() };
    let refused = release(&under_way, &[deployment(0)], &[]).unwrap_err();
    assert!(refused.contains("wait for c"), "{refused}");
    assert_eq!(handed(&seen).unwrap_err(), "Karpenter has to take its lease.");
    let held = handed(&with_karpenter()).unwrap();
    assert!(held.contains("has 2 NodeClaims"), "{held}");
    // Karpenter is there already: nothing has to be scaled.
    let again = release(&with_karpenter(), &[deployment(0)], &[node("a")]).unwrap();
    assert_eq!(again.scaled, Vec::<Vec<String>>::new());
}

/// Stand-ins for both programs: Karpenter takes its lease once it is scaled up.
const PROGRAMS: &str = r#"#!/bin/sh
case "$*" in
*"get leases"*) [ -e "$0.scaled" ] && echo '{"items":[LEASE]}' || echo '{"items":[]}' ;;
*"get nodeclaims"*) echo '{"items":[{"metadata":{"name":"a"},"status":{"providerID":"aws:///z/i-a"}}]}' ;;
*"get nodes"*) echo '{"items":[{"metadata":{"name":"a","labels":{"karpenter.sh/nodepool":"p"}},
  "spec":{"providerID":"aws:///z/i-a"}}]}' ;;
*"get deployments.apps"*) echo '{"items":[{"metadata":{"name":"karpenter","namespace":"k"},"spec":{"replicas":0}}]}' ;;
*" get "*|"get "*) echo '{"items":[]}' ;;
*scale*) echo "$*" >>"$0.scaled" ;;
*) echo '{}' ;;
esac
"#;

#[test]
fn it_is_shown_asked_for_done_and_waited_for() {
    let path = std::env::temp_dir().join(format!("handover-{}.sh", std::process::id()));
    let scaled = std::path::PathBuf::from(format!("{}.scaled", path.display()));
    let now = whole().now;
    fs::write(&path, PROGRAMS.replace("LEASE", &lease(now).to_string())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let place = InstallationArgs {
        cluster: "demo".to_owned(),
        region: None,
        kubectl: KubectlArgs { kubectl: Some(path.clone()), ..KubectlArgs::default() },
        aws: Some(path.clone()),
    };
    let args = HandoverArgs { place, karpenter: None, wait: 1, yes: false };
    let pauses = Cell::new(0_u32);
    let played = |direction, answer: Option<&str>, after: SignedDuration| {
        let mut out = Vec::new();
        let mut answer = answer.map(str::as_bytes);
        let pause = || pauses.set(pauses.get() + 1);
        let time = (&mut || now.checked_add(after).unwrap(), &pause as &dyn Fn());
        let time = (time.0 as &mut dyn FnMut() -> Timestamp, time.1);
        let outcome =
            run_with(&args, direction, answer.as_mut(), time, (Screen::default(), &mut out));
        let said = String::from_utf8_lossy(&out).into_owned();
        outcome.map(|is_done| (is_done, said)).map_err(|error| error.to_string())
    };
    let (at_once, later) = (SignedDuration::ZERO, SignedDuration::from_mins(5));
    assert!(played(Direction::Release, None, at_once).unwrap_err().contains("say --yes"));
    let (is_done, said) = played(Direction::Release, Some("n\n"), at_once).unwrap();
    assert!(!is_done && said.contains("Nothing was done."), "{said}");
    assert!(!scaled.exists());
    let (is_done, said) = played(Direction::Release, Some("y\n"), at_once).unwrap();
    assert!(is_done && said.contains("has 1 NodeClaims"), "{said}");
    let words = fs::read_to_string(&scaled).unwrap();
    assert_eq!(words, "scale deployment karpenter --namespace=k --replicas=2\n");
    assert_eq!(pauses.get(), 0);
    // A Karpenter that does not come up: it is waited for a minute, and said once.
    let (is_done, said) = played(Direction::Release, Some("y\n"), later).unwrap();
    assert!(!is_done && said.contains("waited for long enough"), "{said}");
    assert_eq!((pauses.get(), said.matches("has to take its lease").count()), (12, 1), "{said}");
    let refused = played(Direction::Adopt, Some("y\n"), at_once).unwrap_err();
    assert!(refused.contains("could not take over"), "{refused}");
    fs::remove_file(&scaled).unwrap();
    fs::remove_file(&path).unwrap();
}
