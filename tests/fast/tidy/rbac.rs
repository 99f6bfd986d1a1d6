//! What a function calls ↔ what it may do in the cluster: `deploy/rbac.yaml` is made of both tables.
//!
//! `handlers::calls` says what a function calls; `ports::rights::rbac` says what a call needs, which a test holds
//! to a real API server.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect_file;
use handlers::calls;
use model::{Function, wake::WEBHOOKS};
use ports::{
    PORTS, Side,
    rights::rbac::{OF_DELETION_COSTS, RIGHTS, Right},
};

const HEADER: &str = "\
# What each function may do in the cluster, and nothing else: roles for the groups that EKS access
# entries put the functions' roles into; the priority of what they ask; and a policy that limits one of these rights. Made of
# `handlers::calls` and `ports::rights::rbac` by
# UPDATE_EXPECT=1 cargo test --package tests --test tidy the_roles
";

const HEADER_OF_DELETION_COSTS: &str = "\
# What the gate PodDeletionCostManagement needs beside rbac.yaml: the right to patch pods, and so to give them
# another image. Made of `handlers::calls` and `ports::rights::rbac` by
# UPDATE_EXPECT=1 cargo test --package tests --test tidy the_roles
";

/// What a function needs of the API server without gates that have a role of their own.
fn rights(function: Function) -> BTreeSet<Right> {
    rights_of(function, |call| !OF_DELETION_COSTS.contains(&call))
}

/// What a function needs of the API server for those of its calls that are `meant`.
fn rights_of(function: Function, meant: impl Fn(&str) -> bool) -> BTreeSet<Right> {
    let rows = calls(function).iter().filter(|call| meant(call)).filter_map(|call| {
        RIGHTS.iter().find(|(known, _)| known == call).map(|(_, rights)| rights.iter().copied())
    });
    rows.flatten().collect()
}

fn list(texts: &BTreeSet<&str>) -> String {
    let texts: Vec<String> = texts
        .iter()
        .map(|text| if text.is_empty() { "\"\"".to_owned() } else { (*text).to_owned() })
        .collect();
    format!("[{}]", texts.join(", "))
}

/// What resources with the same verbs have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule<'a> {
    group: &'a str,
    name: Option<&'a str>,
    verbs: BTreeSet<&'a str>,
}

/// The rules for `rights`: resources with the same verbs stand together.
fn rules(rights: &[Right]) -> String {
    let mut verbs: BTreeMap<(&str, Option<&str>, &str), BTreeSet<&str>> = BTreeMap::new();
    for Right { group, resource, name, verb, .. } in rights {
        verbs.entry((group, *name, resource)).or_default().insert(verb);
    }
    let mut rules: BTreeMap<Rule<'_>, BTreeSet<&str>> = BTreeMap::new();
    for ((group, name, resource), verbs) in verbs {
        rules.entry(Rule { group, name, verbs }).or_default().insert(resource);
    }
    let text = |(Rule { group, name, verbs }, resources): (Rule<'_>, BTreeSet<&str>)| {
        let (groups, resources) = (list(&BTreeSet::from([group])), list(&resources));
        let names = name.map(|name| format!("  resourceNames: [{name}]\n")).unwrap_or_default();
        let verbs = list(&verbs);
        format!("- apiGroups: {groups}\n  resources: {resources}\n{names}  verbs: {verbs}\n")
    };
    rules.into_iter().map(text).collect()
}

/// The role called `name` of `function` in one namespace, or in all of the cluster, and who has it.
fn role((function, name): (Function, &str), namespace: Option<&str>, rights: &[Right]) -> String {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let namespace = namespace.map(|name| format!("\n  namespace: {name}")).unwrap_or_default();
    let metadata = format!(
        "metadata:\n  name: {name}{namespace}\n  labels:\n    app.kubernetes.io/name: journeyman"
    );
    let api = "apiVersion: rbac.authorization.k8s.io/v1";
    format!(
        "---\n{api}\nkind: {kind}\n{metadata}\nrules:\n{}---\n{api}\nkind: {kind}Binding\n{metadata}\n\
         roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {name}\n\
         subjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: Group\n  name: journeyman:{function}\n",
        rules(rights)
    )
}

fn roles() -> String {
    let mut text = HEADER.to_owned();
    for function in Function::ALL {
        let mut by_namespace: BTreeMap<Option<&str>, Vec<Right>> = BTreeMap::new();
        for right in rights(function) {
            by_namespace.entry(right.namespace).or_default().push(right);
        }
        for (namespace, rights) in by_namespace {
            let name = format!("journeyman-{function}");
            text.push_str(&role((function, &name), namespace, &rights));
        }
    }
    text + &priority() + &limit_of_sweep()
}

fn roles_of_deletion_costs() -> String {
    let mut text = HEADER_OF_DELETION_COSTS.to_owned();
    for function in Function::ALL {
        let rights = rights_of(function, |call| OF_DELETION_COSTS.contains(&call));
        if !rights.is_empty() {
            let rights: Vec<Right> = rights.into_iter().collect();
            text.push_str(&role((function, "journeyman-pod-deletion-costs"), None, &rights));
        }
    }
    text
}

/// What the functions ask has the priority that controllers in `kube-system` have: without it, an API server that is
/// overloaded serves them last.
///
/// <https://kubernetes.io/docs/concepts/cluster-administration/flow-control/>
fn priority() -> String {
    let is_admitted = |function: &Function| !rights(*function).is_empty();
    let groups = Function::ALL.into_iter().filter(is_admitted).map(|function| {
        format!("    - kind: Group\n      group:\n        name: journeyman:{function}\n")
    });
    let groups: String = groups.collect();
    format!(
        "---\napiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\nmetadata:\n  name: journeyman\n  \
         labels:\n    app.kubernetes.io/name: journeyman\nspec:\n  distinguisherMethod:\n    type: ByUser\n  \
         matchingPrecedence: 1000\n  priorityLevelConfiguration:\n    name: workload-high\n  rules:\n  - \
         resourceRules:\n    - apiGroups: [\"*\"]\n      clusterScope: true\n      namespaces: [\"*\"]\n      \
         resources: [\"*\"]\n      verbs: [\"*\"]\n    subjects:\n{groups}"
    )
}

/// `sweep` renews the path in the URLs of the webhooks of `wake`. A right knows no fields, and webhooks that could be
/// changed at will hold up or read every request of the cluster: a policy leaves `sweep` nothing but the path.
///
/// <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/>
fn limit_of_sweep() -> String {
    let group = Function::Sweep.group();
    // All that is not in the list is of no account: labels, or fields that the server sets.
    let same = [
        "rules",
        "matchPolicy",
        "matchConditions",
        "namespaceSelector",
        "objectSelector",
        "failurePolicy",
        "sideEffects",
        "timeoutSeconds",
        "admissionReviewVersions",
        "clientConfig.?caBundle",
        "clientConfig.?service",
    ];
    let same = same.map(|field| format!("after.?{field} == before.?{field}")).join(" &&\n        ");
    format!(
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata:\n  name: \
         {WEBHOOKS}\n  labels:\n    app.kubernetes.io/name: journeyman\nspec:\n  failurePolicy: Fail\n  \
         matchConstraints:\n    resourceRules:\n    - apiGroups: [admissionregistration.k8s.io]\n      \
         apiVersions: [\"*\"]\n      operations: [UPDATE]\n      resources: [validatingwebhookconfigurations]\n  \
         matchConditions:\n  - name: by-sweep\n    expression: \"'{group}' in request.userInfo.groups\"\n  \
         validations:\n  - message: sweep may change the path of the URLs only\n    expression: >-\n      \
         object.webhooks.size() == oldObject.webhooks.size() &&\n      object.webhooks.all(after, \
         oldObject.webhooks.exists(before, after.name == before.name &&\n        \
         url(after.clientConfig.url).getHost() == url(before.clientConfig.url).getHost() &&\n        {same}))\n\
         ---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata:\n  \
         name: {WEBHOOKS}\n  labels:\n    app.kubernetes.io/name: journeyman\nspec:\n  policyName: {WEBHOOKS}\n  \
         validationActions: [Deny]\n"
    )
}

#[test]
fn the_roles_are_what_the_functions_call() {
    expect_file!["../../../deploy/rbac.yaml"].assert_eq(&roles());
    expect_file!["../../../deploy/pod-deletion-costs.yaml"].assert_eq(&roles_of_deletion_costs());
}

/// Cluster and its like are all that the API server is asked for; the adapters over AWS have their own table.
#[test]
fn every_call_of_the_cluster_says_what_it_needs() {
    let cluster = PORTS.concat().into_iter().filter(|port| port.side == Side::Cluster);
    let wanted: BTreeSet<&str> = cluster.flat_map(|port| port.calls).copied().collect();
    let rows: Vec<&str> = RIGHTS.iter().map(|(call, _)| *call).collect();
    assert!(rows.is_sorted(), "{rows:?}");
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), wanted);
    assert!(RIGHTS.iter().all(|(_, rights)| !rights.is_empty()));
}
