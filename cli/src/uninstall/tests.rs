//! What is done in which order, and that nothing is done on a guess.

use serde_json::json;

use super::*;
use crate::installation::KubectlArgs;

fn function(kind: &str) -> Value {
    json!({
        "FunctionName": format!("jm-{kind}Function-A1"),
        "Environment": {"Variables": {
            "JOURNEYMAN_CLUSTER_NAME": "demo", "JOURNEYMAN_TABLE_NAME": "jm-Table-B2",
        }},
    })
}

fn named(name: &str) -> Vec<Value> {
    vec![json!({"metadata": {"name": name}})]
}

/// An installation with a node.
fn present() -> Present {
    Present {
        functions: vec![function("Provision"), function("Launch")],
        pools: named("general"),
        classes: named("default"),
        claims: named("general-1"),
        nodes: named("ip-1"),
        templates: vec!["lt-1".to_owned()],
        profiles: vec![("demo_1".to_owned(), vec!["nodes".to_owned()])],
    }
}

fn commands(present: &Present, nodes: Nodes, definitions_go: bool) -> Result<Vec<String>, String> {
    Ok(acts::acts(present, nodes, definitions_go)?.iter().map(shown).collect())
}

#[test]
fn nodes_end_before_the_functions_that_drain_them() {
    expect_test::expect![[r"
        kubectl delete nodepools.karpenter.sh --all --wait=false
        kubectl delete nodeclaims.karpenter.sh --all --wait=false
        kubectl wait --for=delete nodeclaims.karpenter.sh --all --timeout=30m
        kubectl delete ec2nodeclasses.karpenter.k8s.aws --all
        aws cloudformation delete-stack --stack-name jm
        aws cloudformation wait stack-delete-complete --stack-name jm
        aws dynamodb update-table --table-name jm-Table-B2 --no-deletion-protection-enabled
        aws dynamodb wait table-exists --table-name jm-Table-B2
        aws dynamodb delete-table --table-name jm-Table-B2
        aws ec2 delete-launch-template --launch-template-id lt-1
        aws iam remove-role-from-instance-profile --instance-profile-name demo_1 --role-name nodes
        aws iam delete-instance-profile --instance-profile-name demo_1
        journeyman rbac | kubectl delete --ignore-not-found --filename -
        kubectl delete lease journeyman --namespace=kube-system --ignore-not-found
        journeyman crds | kubectl delete --ignore-not-found --filename -"]]
    .assert_eq(&commands(&present(), Nodes::End, true).unwrap().join("\n"));
}

#[test]
fn nodes_that_stay_are_let_go_once_the_functions_are_gone() {
    let refused = commands(&present(), Nodes::Stay, false).unwrap_err();
    assert!(refused.contains("delete the stack first"), "{refused}");
    let gone = Present { functions: Vec::new(), ..present() };
    expect_test::expect![[r#"
        kubectl patch nodes ip-1 --type=merge --patch={"metadata":{"finalizers":null}}
        kubectl patch nodeclaims.karpenter.sh general-1 --type=merge --patch={"metadata":{"finalizers":null}}
        kubectl delete nodeclaims.karpenter.sh --all
        journeyman rbac | kubectl delete --ignore-not-found --filename -
        kubectl delete lease journeyman --namespace=kube-system --ignore-not-found"#]].assert_eq(&commands(&gone, Nodes::Stay, false).unwrap().join("\n"));
}

#[test]
fn what_karpenter_has_is_not_touched() {
    let commands_of = |definitions| commands(&present(), Nodes::Karpenters, definitions);
    assert!(commands_of(true).unwrap_err().contains("A Karpenter runs"));
    let words = commands_of(false).unwrap().join("\n");
    for kept in ["nodepools", "nodeclaims", "nodes", "launch-template", "instance-profile", "crds"]
    {
        assert!(!words.contains(kept), "{kept} in\n{words}");
    }
    assert!(words.contains("delete-stack --stack-name jm"), "{words}");
}

#[test]
fn nodes_without_functions_are_not_left_to_hang() {
    let gone = Present { functions: Vec::new(), ..present() };
    let refused = commands(&gone, Nodes::End, false).unwrap_err();
    assert!(refused.contains("no function that could drain them"), "{refused}");
    let empty = Present::default();
    let words = commands(&empty, Nodes::End, false).unwrap();
    assert_eq!(words.len(), 2, "{words:?}");
}

/// Stand-ins for both programs: a cluster with a pool, a table that cannot be deleted, nothing else.
#[cfg(unix)]
const PROGRAMS: &str = r#"#!/bin/sh
case "$*" in
*"get nodepools"*) echo '{"items":[{"metadata":{"name":"general"}}]}' ;;
*"get leases"*) [ -e "$0.blind" ] && { echo 'Error from server (Forbidden)' >&2; exit 1; }; echo '{"items":[]}' ;;
*" get "*|"get "*) echo '{"items":[]}' ;;
*"lambda list-functions"*) echo '{"Functions":[{"FunctionName":"jm-ProvisionFunction-A1",
  "Environment":{"Variables":{"JOURNEYMAN_CLUSTER_NAME":"demo","JOURNEYMAN_TABLE_NAME":"T"}}}]}' ;;
*"describe-launch-templates"*) echo '{"LaunchTemplates":[{"LaunchTemplateId":"lt-1"}]}' ;;
*"list-instance-profiles"*) echo '{"InstanceProfiles":[
  {"InstanceProfileName":"ours","Path":"/journeyman/us-west-2/demo/default/","Roles":[{"RoleName":"nodes"}]},
  {"InstanceProfileName":"theirs","Path":"/journeyman/us-west-2/other/default/","Roles":[]}]}' ;;
*describe*|*list-*|*get-role*) echo '{}' ;;
*delete-launch-template*) echo 'An error occurred (InvalidLaunchTemplateId.NotFound) when calling' >&2; exit 254 ;;
*delete-table*) [ -e "$0.stuck" ] && { echo 'An error occurred (ResourceInUseException)' >&2; exit 254; }
  echo "$*" >>"$0.log" ;;
*"--filename -"*) echo "$* $(grep -c '^kind:')" >>"$0.log" ;;
*) echo "$*" >>"$0.log" ;;
esac
"#;

#[cfg(unix)]
#[test]
fn it_is_shown_asked_for_and_done() {
    use std::{fs, os::unix::fs::PermissionsExt as _};
    let path = std::env::temp_dir().join(format!("uninstall-{}.sh", std::process::id()));
    let beside = |end: &str| std::path::PathBuf::from(format!("{}{end}", path.display()));
    fs::write(&path, PROGRAMS).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let place = InstallationArgs {
        cluster: "demo".to_owned(),
        region: Some("us-west-2".to_owned()),
        kubectl: KubectlArgs { kubectl: Some(path.clone()), ..KubectlArgs::default() },
        aws: Some(path.clone()),
    };
    let args = UninstallArgs { place, keep_nodes: false, definitions: false, yes: false };
    let left = |args: &UninstallArgs, answer: &str| {
        let mut out = Vec::new();
        let outcome = run_with(args, Some(&mut answer.as_bytes()), Screen::default(), &mut out);
        outcome.map(|is_gone| (is_gone, String::from_utf8_lossy(&out).into_owned()))
    };
    fs::write(beside(".blind"), "").unwrap();
    assert!(left(&args, "y\n").unwrap_err().to_string().contains("Forbidden"));
    fs::remove_file(beside(".blind")).unwrap();
    let (is_gone, said) = left(&args, "no\n").unwrap();
    assert!(!is_gone && said.contains("  kubectl delete nodepools.karpenter.sh --all"), "{said}");
    assert!(!beside(".log").exists());
    fs::write(beside(".stuck"), "").unwrap();
    let stuck = left(&args, "y\n").unwrap_err().to_string();
    assert!(stuck.contains("ResourceInUseException"), "{stuck}");
    assert!(
        stuck.contains("This is left to do:\naws dynamodb delete-table --table-name T"),
        "{stuck}"
    );
    fs::remove_file(beside(".stuck")).unwrap();
    fs::remove_file(beside(".log")).unwrap();
    let yes = UninstallArgs { yes: true, ..args };
    let (is_gone, said) = left(&yes, "").unwrap();
    assert!(is_gone && said.contains("Done."), "{said}");
    let log = fs::read_to_string(beside(".log")).unwrap();
    assert!(log.contains("iam delete-instance-profile --instance-profile-name ours"), "{log}");
    assert!(!log.contains("theirs"), "{log}");
    // Roles and bindings of all functions, on standard input.
    assert!(log.contains("delete --ignore-not-found --filename - 1"), "{log}");
    fs::remove_file(beside(".log")).unwrap();
    fs::remove_file(&path).unwrap();
}
