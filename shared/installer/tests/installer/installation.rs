//! An installation with nothing wrong.

use std::time::Duration;

use api::karpenter::crd;
use handlers::SETTINGS;
use installer::{
    doctor::{
        identity::Identity,
        observed::{ClassSelection, Observed, SPOT_ROLE, Waking},
        steps::granted,
    },
    live::{RoleArgs, kubernetes::Protected},
    wake,
};
use model::{
    Function,
    join::{JoinNetwork, WayOut},
};
use serde_json::{Value, json};

const ENDPOINT: &str = "https://AAAA.gr7.us-west-2.eks.amazonaws.com";
const WAKE_URL: &str = "https://abc.lambda-url.us-west-2.on.aws/";
const ROLE: &str = "arn:aws:iam::123456789012:role";

fn function(kind: Function) -> Value {
    let settings =
        SETTINGS.iter().map(|setting| (setting.variable.to_owned(), json!(setting.default)));
    let mut variables: serde_json::Map<String, Value> = settings.collect();
    variables.insert("JOURNEYMAN_CLUSTER_NAME".to_owned(), json!("demo"));
    variables.insert("JOURNEYMAN_FORMER_RECORDS".to_owned(), json!("false"));
    let name = kind.as_str();
    let (first, rest) = name.split_at(1);
    let name = first.to_uppercase() + rest;
    json!({
        "FunctionName": format!("journeyman-{name}Function-A1"),
        "Role": format!("{ROLE}/journeyman-{name}Role-B2"),
        "Environment": {"Variables": variables},
    })
}

/// Kubeconfig, EKS and a stack of one cluster.
fn identity() -> Identity {
    Identity {
        cluster: "demo".to_owned(),
        context: Some("work".to_owned()),
        server: ENDPOINT.to_owned(),
        expected: None,
        account: Some("123456789012".to_owned()),
        region: "us-west-2".to_owned(),
        endpoint: Some(ENDPOINT.to_owned()),
        deployed: [].into(),
    }
}

/// Webhooks that call `wake`.
fn called() -> Waking {
    Waking {
        webhooks: wake::objects(&format!("{WAKE_URL}{}", "a".repeat(64)), &[]).pop(),
        has_priority: true,
        function_url: Some(WAKE_URL.to_owned()),
        probed: Some(Duration::from_millis(23)),
        called: None,
    }
}

/// An installation with nothing wrong.
pub(crate) fn whole() -> Observed {
    let entry = |role: String, groups: Vec<String>, kind: &str| json!({ "principalArn": role, "kubernetesGroups": groups, "type": kind });
    let functions: Vec<Value> = Function::ALL.map(function).into();
    let mut entries: Vec<Value> = Function::ALL
        .iter()
        .zip(&functions)
        .map(|(kind, function)| {
            let role = function["Role"].as_str().unwrap().to_owned();
            entry(role, vec![format!("journeyman:{kind}")], "STANDARD")
        })
        .collect();
    entries.push(entry(format!("{ROLE}/nodes"), vec!["system:nodes".to_owned()], "EC2_LINUX"));
    let trust = json!({"Statement": [{"Principal": {"Service": "ec2.amazonaws.com"}}]});
    let node_role = json!({
        "Role": {"Arn": format!("{ROLE}/nodes"), "AssumeRolePolicyDocument": trust},
        "AttachedPolicies": [
            {"PolicyName": "AmazonEKSWorkerNodePolicy"},
            {"PolicyName": "AmazonEC2ContainerRegistryPullOnly"},
        ],
    });
    let lease = |name: &str, namespace: &str, renewed: &str| {
        json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": renewed},
        })
    };
    let conditions = json!([{"type": "Ready", "status": "True"}]);
    Observed {
        now: "2026-08-01T12:00:00Z".parse().unwrap(),
        cluster: "demo".to_owned(),
        rollback: None,
        version: Ok(json!({"gitVersion": "v1.34.1-eks"})),
        eks: Ok(Some(json!({
            "status": "ACTIVE", "version": "1.34", "accessConfig": {"authenticationMode": "API"},
            "resourcesVpcConfig": {"endpointPublicAccess": true},
        }))),
        identity: Ok(identity()),
        functions: Ok(functions),
        concurrency: Ok(json!({
            "ConcurrentExecutions": 1_000, "UnreservedConcurrentExecutions": 900, "Reserved": 0,
        })),
        entries: Ok(entries),
        aws_auth: Ok(None),
        iam_roles: Ok(vec![
            ("nodes".to_owned(), Some(node_role)),
            (SPOT_ROLE.to_owned(), Some(json!({"Role": {}}))),
        ]),
        definitions: Ok(crd::all().into_iter().map(|(_, definition)| definition).collect()),
        rbac: Ok(granted(RoleArgs::default()).into_values().collect()),
        leases: Ok(vec![
            lease("journeyman", "kube-system", "2026-08-01T11:59:30.000000Z"),
            lease("karpenter-leader-election", "karpenter", "2026-08-01T11:00:00.000000Z"),
        ]),
        karpenter_pods: Ok(Vec::new()),
        pools: Ok(vec![json!({
            "metadata": {"name": "general"},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"name": "default"},
                "requirements": [
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                ],
            }}},
        })]),
        classes: Ok(vec![json!({
            "metadata": {"name": "default"}, "spec": {"role": "nodes"},
            "status": {"conditions": conditions},
        })]),
        claims: Ok(Vec::new()),
        pods: Ok(Protected::default()),
        nodes: Ok(Protected { count: 3, ..Protected::default() }),
        selected: Ok(vec![ClassSelection {
            class: "default".to_owned(),
            subnets: 3,
            security_groups: 1,
        }]),
        waking: Ok(called()),
        networks: Ok(vec![("subnet-1".to_owned(), network(true, &[]))]),
    }
}

/// What lies between the API server and functions, to which nothing is closed.
pub(crate) fn network(is_private: bool, ways: &[(&str, bool)]) -> JoinNetwork {
    let way = |(target, is_black_hole): &(&str, bool)| WayOut {
        target: (*target).to_owned(),
        is_black_hole: *is_black_hole,
    };
    JoinNetwork {
        is_private,
        route_table: Some("rtb-1".to_owned()),
        ways_out: ways.iter().map(way).collect(),
        lets_out: true,
        lets_in: is_private.then_some(true),
    }
}
