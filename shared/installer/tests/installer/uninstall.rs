//! What is done in which order, and that nothing is done on a guess.

use installer::uninstall::acts::{self, Act, Installed, NodesAfter};
use serde_json::{Value, json};

fn function(kind: &str) -> Value {
    json!({
        "FunctionName": format!("jm-{kind}Function-A1"),
        "Environment": {"Variables": {"JOURNEYMAN_CLUSTER_NAME": "demo"}},
    })
}

fn named(name: &str) -> Vec<Value> {
    vec![json!({"metadata": {"name": name}})]
}

/// An installation with a node.
fn present() -> Installed {
    Installed {
        functions: vec![function("Provision"), function("Launch")],
        tables: vec!["jm-Table-B2".to_owned()],
        pools: named("general"),
        classes: named("default"),
        claims: named("general-1"),
        nodes: named("ip-1"),
        templates: vec!["lt-1".to_owned()],
        profiles: vec![("demo_1".to_owned(), vec!["nodes".to_owned()])],
    }
}

fn commands(
    present: &Installed,
    nodes: NodesAfter,
    definitions_go: bool,
) -> Result<Vec<String>, String> {
    Ok(acts::acts(present, nodes, definitions_go, 30)?.iter().map(Act::to_string).collect())
}

#[test]
fn nodes_end_before_the_functions_that_drain_them() {
    expect_test::expect![[r"
        kubectl delete nodepools.karpenter.sh --all --wait=false
        kubectl delete nodeclaims.karpenter.sh --all --wait=false
        kubectl wait --for=delete nodeclaims.karpenter.sh --all --timeout=30m
        kubectl delete ec2nodeclasses.karpenter.k8s.aws --all --wait=false
        kubectl wait --for=delete ec2nodeclasses.karpenter.k8s.aws --all --timeout=30m
        kubectl delete validatingwebhookconfigurations.admissionregistration.k8s.io/journeyman flowschemas.flowcontrol.apiserver.k8s.io/journeyman-scheduler-events prioritylevelconfigurations.flowcontrol.apiserver.k8s.io/journeyman-scheduler-events --ignore-not-found
        aws cloudformation delete-stack --stack-name jm
        aws cloudformation wait stack-delete-complete --stack-name jm
        aws dynamodb update-table --table-name jm-Table-B2 --no-deletion-protection-enabled
        aws dynamodb delete-table --table-name jm-Table-B2
        aws ec2 delete-launch-template --launch-template-id lt-1
        aws iam remove-role-from-instance-profile --instance-profile-name demo_1 --role-name nodes
        aws iam delete-instance-profile --instance-profile-name demo_1
        journeyman rbac --pod-deletion-costs | kubectl delete --ignore-not-found --filename -
        journeyman rbac | kubectl delete --ignore-not-found --filename -
        kubectl delete lease journeyman --namespace=kube-system --ignore-not-found
        journeyman crds | kubectl delete --ignore-not-found --filename -"]]
    .assert_eq(&commands(&present(), NodesAfter::End, true).unwrap().join("\n"));
}

#[test]
fn nodes_that_stay_are_let_go_once_the_functions_are_gone() {
    let refused = commands(&present(), NodesAfter::Stay, false).unwrap_err();
    assert!(refused.contains("delete the stack first"), "{refused}");
    let gone = Installed { functions: Vec::new(), tables: Vec::new(), ..present() };
    expect_test::expect![[r#"
        kubectl patch nodes ip-1 --type=merge --patch={"metadata":{"finalizers":null}}
        kubectl patch nodeclaims.karpenter.sh general-1 --type=merge --patch={"metadata":{"finalizers":null}}
        kubectl delete nodeclaims.karpenter.sh --all --wait=false
        kubectl delete validatingwebhookconfigurations.admissionregistration.k8s.io/journeyman flowschemas.flowcontrol.apiserver.k8s.io/journeyman-scheduler-events prioritylevelconfigurations.flowcontrol.apiserver.k8s.io/journeyman-scheduler-events --ignore-not-found
        journeyman rbac --pod-deletion-costs | kubectl delete --ignore-not-found --filename -
        journeyman rbac | kubectl delete --ignore-not-found --filename -
        kubectl delete lease journeyman --namespace=kube-system --ignore-not-found"#]].assert_eq(&commands(&gone, NodesAfter::Stay, false).unwrap().join("\n"));
}

#[test]
fn what_karpenter_has_is_not_touched() {
    let commands_of = |definitions| commands(&present(), NodesAfter::Karpenters, definitions);
    assert!(commands_of(true).unwrap_err().contains("A Karpenter runs"));
    let words = commands_of(false).unwrap().join("\n");
    for spared in
        ["nodepools", "nodeclaims", "nodes", "launch-template", "instance-profile", "crds"]
    {
        assert!(!words.contains(spared), "{spared} in\n{words}");
    }
    assert!(words.contains("delete-stack --stack-name jm"), "{words}");
}

#[test]
fn nodes_without_functions_are_not_left_to_hang() {
    let gone = Installed { functions: Vec::new(), tables: Vec::new(), ..present() };
    let refused = commands(&gone, NodesAfter::End, false).unwrap_err();
    assert!(refused.contains("no function that could drain them"), "{refused}");
    let empty = Installed::default();
    let words = commands(&empty, NodesAfter::End, false).unwrap();
    assert_eq!(words.len(), 4, "{words:?}");
}
