//! What API servers refuse, and what they admit pods by: `validate`, `plan` and `simulate` say so.

use crate::{CLASS, POOL, deployment, folder, run};

const QUOTA: &str =
    "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: '1'}}\n";

/// A webhook that is asked about new objects of this kind.
fn webhook(kind: &str, resource: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\nmetadata: {{name: hook}}\nwebhooks:\n- name: a.b.c\n  \
         rules:\n  - {{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [{resource}]}}\n"
    )
}

#[test]
fn what_pods_are_admitted_by_and_is_not_applied_is_named() {
    let of_pods = "the API server may refuse pods that count as created here";
    let namespace = |standard: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata: {{name: default, labels: \
             {{pod-security.kubernetes.io/enforce: {standard}}}}}\n"
        )
    };
    let elsewhere = QUOTA.replace("name: q", "name: q, namespace: other");
    let changes = "MutatingWebhookConfiguration hook is not applied: the API server may change or refuse pods";
    for (object, said) in [
        (QUOTA.to_owned(), Some(format!("ResourceQuota default/q is not applied: {of_pods}"))),
        (
            format!("{QUOTA}---\n{}", QUOTA.replace("name: q", "name: r")),
            Some("ResourceQuota default/q, default/r are not applied: the API server".to_owned()),
        ),
        (elsewhere, None),
        (webhook("MutatingWebhookConfiguration", "pods"), Some(changes.to_owned())),
        (webhook("ValidatingWebhookConfiguration", "ingresses"), None),
        (
            namespace("restricted"),
            Some(format!(
                "the Pod Security Standard of Namespace default is not applied: {of_pods}"
            )),
        ),
        (namespace("privileged"), None),
    ] {
        let web = deployment("web", 3);
        let files = [
            ("class.yaml", CLASS),
            ("pool.yaml", POOL),
            ("web.yaml", &*web),
            ("object.yaml", &object),
        ];
        let folder = folder("admitters", &files);
        for command in ["plan .", "simulate . --duration 1m"] {
            let answer = run(&folder, command);
            match &said {
                Some(said) => answer.says(&[said]),
                None => answer.is_silent_about(&["not applied"]),
            }
        }
    }
}

#[test]
fn without_pods_that_are_to_come_nothing_is_said_of_quotas() {
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("quota.yaml", QUOTA)];
    run(&folder("quota-alone", &files), "plan .").is_silent_about(&["not applied"]);
}

#[test]
fn pods_that_an_api_server_refuses_are_not_planned() {
    let web = deployment("web", 1)
        .replace("requests: {cpu: 800m}", "requests: {cpu: 800m, nvidia.com/gpu: 1}");
    let db = deployment("db", 1).replace("matchLabels: {app: db}", "matchLabels: {app: other}");
    let said = [
        "Deployment web: spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: needs a limit of the \
         same amount; add the limit `nvidia.com/gpu: 1`",
        "Deployment db: spec.selector: does not select the pods of the template",
    ];
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web), ("db.yaml", &*db)];
    let folder = folder("refused", &files);
    let validated = run(&folder, "validate .");
    validated.says(&said);
    let planned = run(&folder, "plan .");
    planned.complains(&said);
    planned.says(&["No pod needs a node."]);
    let simulated = run(&folder, "simulate . --duration 1m");
    simulated.complains(&said);
    assert_eq!([validated.code, planned.code, simulated.code], [Some(1), Some(1), Some(2)]);
}

#[test]
fn a_node_claim_without_a_node_pool_is_checked_and_not_passed_over_in_silence() {
    let claim = "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {name: hand}\nspec:\n  nodeClassRef: {group: \
                 karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n  requirements:\n  - {key: \
                 kubernetes.io/arch, operator: In, values: [amd64]}\n";
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("claim.yaml", claim)];
    let folder = folder("hand", &files);
    run(&folder, "validate .").says(&["NodeClaim     1", "3 files: nothing is wrong"]);
    run(&folder, "plan .").says(&["NodeClaim hand belongs to no NodePool: the function `sweep`"]);
    run(&folder, "simulate . --duration 1m").says(&["NodeClaim hand: it belongs to no NodePool"]);
    let wrong = claim
        .replace("group: karpenter.k8s.aws, ", "")
        .replace("kubernetes.io/arch", "kubernetes.io/hostname");
    let wrong = wrong.replace("requirements:\n", "requirements:\n  - {key: a, operator: In}\n");
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("claim.yaml", &*wrong)];
    let refused = run(&self::folder("hand-refused", &files), "validate .");
    refused.says(&[
        "NodeClaim hand: spec.nodeClassRef.group: is required",
        "label `kubernetes.io/hostname` is restricted",
    ]);
    assert_eq!(refused.code, Some(1));
}
