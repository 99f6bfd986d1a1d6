//! A whole installation passes every step; each step fails for its own reason, and for nothing else.

use std::collections::BTreeSet;

use installer::{
    doctor::{
        concurrency, judged,
        observed::Observed,
        print,
        steps::{StepFinding, StepVerdict},
    },
    live::{LiveAnswer, kubernetes},
};
use model::{join::JoinNetwork, limits::ANNOTATED_OBJECTS_READ_MAX};
use report::screen::Screen;
use serde_json::{Value, json};

use crate::installation::{network, whole};

/// The steps that something is wrong with, and what was found.
fn wrong(seen: &Observed) -> Vec<(&'static str, String)> {
    let findings = judged(seen).into_iter().filter_map(|(step, verdict)| match verdict {
        StepVerdict::Wrong(StepFinding { found, cure }) => {
            assert!(!cure.is_empty(), "{} has no cure", step.id);
            Some((step.id, found.join(" ")))
        }
        StepVerdict::Unknown(StepFinding { found, .. }) => {
            Some((step.id, format!("?? {}", found.join(" "))))
        }
        StepVerdict::Done(_) | StepVerdict::NotNeeded(_) => None,
    });
    findings.collect()
}

#[track_caller]
fn check(expected: &str, says: &str, change: impl FnOnce(&mut Observed)) {
    let mut seen = whole();
    change(&mut seen);
    let wrong = wrong(&seen);
    let [(step, found)] = wrong.as_slice() else { panic!("{wrong:#?}") };
    assert_eq!(*step, expected, "{found}");
    assert!(found.contains(says), "{found}");
}

fn list(answer: &mut LiveAnswer<Vec<Value>>) -> &mut Vec<Value> {
    answer.as_mut().unwrap()
}

#[test]
fn nothing_is_wrong_with_a_whole_installation() {
    assert_eq!(wrong(&whole()), []);
}

#[test]
fn each_step_fails_for_its_own_reason() {
    check("api-server", "connection refused", |seen| {
        seen.version = Err("kubectl: connection refused".to_owned());
    });
    check("eks", "The cluster is UPDATING", |seen| {
        seen.eks.as_mut().unwrap().as_mut().unwrap()["status"] = json!("UPDATING");
    });
    check("identity", "The kubeconfig is of another cluster than demo", |seen| {
        seen.identity.as_mut().unwrap().server = "https://127.0.0.1:6443".to_owned();
    });
    let mut seen = whole();
    seen.eks = Ok(None);
    let wrong = wrong(&seen);
    assert!(wrong[0].1.contains("EKS has no cluster demo"), "{wrong:#?}");
    assert!(
        wrong[1..].iter().all(|(_, found)| found == "?? the cluster is not known"),
        "{wrong:#?}"
    );
}

#[test]
fn a_node_pool_that_cannot_launch_is_reported() {
    for kind in ["ValidationSucceeded", "NodeClassReady"] {
        let says = format!("NodePool general: {kind} is False: Wrong: it is wrong");
        check("pools", &says, |seen| {
            let failed = json!({"type": kind, "status": "False", "reason": "Wrong", "message": "it is wrong"});
            list(&mut seen.pools)[0]["status"] = json!({"conditions": [failed]});
        });
    }
}

#[test]
fn what_the_cluster_lacks_is_reported() {
    check("definitions", "CustomResourceDefinition nodepools.karpenter.sh is missing", |seen| {
        list(&mut seen.definitions)
            .retain(|object| object["metadata"]["name"] != "nodepools.karpenter.sh");
    });
    check("definitions", "nodeclaims.karpenter.sh is not that of this release", |seen| {
        for object in list(&mut seen.definitions) {
            if object["metadata"]["name"] == "nodeclaims.karpenter.sh" {
                object["spec"]["versions"][0]["name"] = json!("v1beta1");
            }
        }
    });
    check("rbac", "ClusterRole journeyman-launch is missing", |seen| {
        list(&mut seen.rbac).retain(|object| {
            object["metadata"]["name"] != "journeyman-launch" || object["kind"] != "ClusterRole"
        });
    });
    check("rbac", "ClusterRole journeyman-resolve is not that of this release", |seen| {
        for object in list(&mut seen.rbac) {
            if object["metadata"]["name"] == "journeyman-resolve" && object["kind"] == "ClusterRole"
            {
                object["rules"].as_array_mut().unwrap().pop();
            }
        }
    });
    check("karpenter", "A Karpenter runs in the namespace karpenter", |seen| {
        list(&mut seen.leases)[1]["spec"]["renewTime"] = json!("2026-08-01T11:59:00Z");
    });
    check("karpenter", "the functions act beside it", |seen| {
        list(&mut seen.leases)[1]["spec"]["renewTime"] = json!("2026-08-01T11:59:00Z");
        list(&mut seen.leases)[1]["metadata"]["namespace"] = json!("platform");
    });
    check("karpenter", "A Karpenter runs in the namespace kube-system", |seen| {
        let mut pod = json!({
            "metadata": {"name": "karpenter-6d9", "namespace": "kube-system"},
            "spec": {"containers": [{"env": [{"name": "DISABLE_LEADER_ELECTION", "value": "true"}]}]},
        });
        pod["status"]["phase"] = json!("Running");
        list(&mut seen.karpenter_pods).push(pod);
    });
    check("heartbeat", "No function was at work since 2026-08-01T11:50:00Z", |seen| {
        list(&mut seen.leases)[0]["spec"]["renewTime"] = json!("2026-08-01T11:50:00Z");
    });
    // Karpenter ran before the functions were deployed: they have waited since then.
    check("karpenter", "as long as it does, the functions do nothing", |seen| {
        let leases = list(&mut seen.leases);
        leases[1]["spec"]["renewTime"] = json!("2026-08-01T11:59:59Z");
        drop(leases.remove(0));
    });
    check("nodes", "The cluster has 9,000 nodes. Above 10,000 nodes,", |seen| {
        seen.nodes.as_mut().unwrap().count = 9_000;
    });
    check("heartbeat", "No function was ever at work", |seen| {
        drop(list(&mut seen.leases).remove(0));
    });
    check(
        "classes",
        "EC2NodeClass default: SubnetsReady is False: SubnetsNotFound: none",
        |seen| {
            let conditions = json!([
                {"type": "Ready", "status": "False"},
                {"type": "SubnetsReady", "status": "False", "reason": "SubnetsNotFound", "message": "none"},
            ]);
            list(&mut seen.classes)[0]["status"]["conditions"] = conditions;
        },
    );
    check("classes", "not checked yet", |seen| {
        list(&mut seen.classes)[0]["status"] = json!({});
    });
    check("discovery", "EC2NodeClass default: subnetSelectorTerms selects no subnet.", |seen| {
        seen.selected.as_mut().unwrap()[0].subnets = 0;
    });
    check(
        "discovery",
        "EC2NodeClass default: securityGroupSelectorTerms selects no security group.",
        |seen| {
            seen.selected.as_mut().unwrap()[0].security_groups = 0;
        },
    );
}

#[test]
fn node_pools_that_launch_nothing_are_named() {
    check("pools", "There is no NodePool", |seen| seen.pools = Ok(Vec::new()));
    check("pools", "NodePool general: NoCompatibleInstanceTypes is True: NoComp", |seen| {
        let kind = "NoCompatibleInstanceTypes";
        let without_types =
            json!({ "type": kind, "status": "True", "reason": kind, "message": "why" });
        list(&mut seen.pools)[0]["status"] = json!({ "conditions": [without_types] });
    });
    check("pools", "NodePool general: there is no EC2NodeClass other", |seen| {
        list(&mut seen.pools)[0]["spec"]["template"]["spec"]["nodeClassRef"]["name"] =
            json!("other");
    });
}

#[test]
fn what_the_account_lacks_is_reported() {
    check("functions", "The function drain is not deployed", |seen| {
        list(&mut seen.functions)
            .retain(|function| !function["FunctionName"].as_str().unwrap().contains("Drain"));
    });
    check("functions", "two stacks serve it", |seen| {
        let again = list(&mut seen.functions)[0].clone();
        list(&mut seen.functions).push(again);
    });
    check("release", "is older than this command: it has no JOURNEYMAN_MOVES_PER_HOUR", |seen| {
        for function in list(&mut seen.functions) {
            let variables = function["Environment"]["Variables"].as_object_mut().unwrap();
            variables.remove("JOURNEYMAN_MOVES_PER_HOUR");
        }
    });
    check("release", "is newer than this command, which does not know JOURNEYMAN_NEW", |seen| {
        list(&mut seen.functions)[0]["Environment"]["Variables"]["JOURNEYMAN_NEW"] = json!("1");
    });
    check("settings", "The functions do not agree about PollIntervalSeconds", |seen| {
        let variables = &mut list(&mut seen.functions)[3]["Environment"]["Variables"];
        variables["JOURNEYMAN_POLL_INTERVAL_SECONDS"] = json!("7");
    });
    check("concurrency", "10 executions of Lambda at a time, 4 of them unreserved", |seen| {
        seen.concurrency = Ok(json!({
            "ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 4, "Reserved": 6,
        }));
    });
    check("quotas", "NodePool general: EC2 refuses launches", |seen| {
        let quota = json!({ "type": "QuotaExceeded", "status": "True",
            "reason": "VCPULimitExceeded", "message": "EC2 refuses launches" });
        list(&mut seen.pools)[0]["status"] = json!({ "conditions": [quota] });
    });
    check("access", "The role of provision", |seen| drop(list(&mut seen.entries).remove(0)));
    check("access", "is not in the group journeyman:launch", |seen| {
        for entry in list(&mut seen.entries) {
            if entry["kubernetesGroups"] == json!(["journeyman:launch"]) {
                entry["kubernetesGroups"] = json!(["journeyman:drain"]);
            }
        }
    });
    check("node-role", "does not trust ec2.amazonaws.com", |seen| {
        let role = &mut seen.iam_roles.as_mut().unwrap()[0].1.as_mut().unwrap()["Role"];
        role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["Service"] =
            json!("lambda.amazonaws.com");
    });
    check("node-role", "There is no role nodes in IAM", |seen| {
        seen.iam_roles.as_mut().unwrap()[0].1 = None;
    });
    check("node-access", "Nodes of the role nodes are not admitted", |seen| {
        list(&mut seen.entries).pop();
    });
    check("spot", "The account has no role AWSServiceRoleForEC2Spot", |seen| {
        seen.iam_roles.as_mut().unwrap()[1].1 = None;
    });
    check("records", "write claims as a former release", |seen| {
        for function in list(&mut seen.functions) {
            function["Environment"]["Variables"]["JOURNEYMAN_FORMER_RECORDS"] = json!("true");
        }
    });
}

/// What the step `annotations` says of pods whose annotations are `of_pods`.
fn annotations(of_pods: &[Value], next: &str, setting: &str) -> String {
    let pods = of_pods.iter().enumerate().map(|(number, annotations)| {
        json!({"metadata": {"namespace": "web", "name": format!("p{number}"), "annotations": annotations}})
    });
    let page = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"continue": next},
        "items": pods.collect::<Vec<_>>()});
    let mut seen = whole();
    let pods = seen.pods.as_mut().unwrap();
    let further = kubernetes::add_protected_pods(pods, &page.to_string()).unwrap();
    assert_eq!(further.is_some(), !next.is_empty() && !pods.is_cut);
    for function in list(&mut seen.functions) {
        let variable = "/Environment/Variables/JOURNEYMAN_AUTOSCALER_ANNOTATIONS";
        *function.pointer_mut(variable).unwrap() = json!(setting);
    }
    let mut verdicts = judged(&seen).into_iter();
    match verdicts.find(|(step, _)| step.id == "annotations") {
        Some((_, StepVerdict::Done(found))) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn annotations_that_protect_nothing_are_a_hint() {
    let autoscaler = json!({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"});
    let right = json!({"karpenter.sh/do-not-disrupt": "true"});
    let pods = [autoscaler.clone(), right.clone(), Value::Null, autoscaler];
    assert_eq!(
        annotations(&pods, "", "ignore"),
        "a hint: Pod web/p0, web/p3: annotation \
         cluster-autoscaler.kubernetes.io/safe-to-evict is of Cluster Autoscaler, and protects nothing here: write \
         `karpenter.sh/do-not-disrupt: \"true\"`, or set AutoscalerAnnotations=honor; 4 pods \
         and 0 nodes were read"
    );
    let nothing = "4 pods and 0 nodes were read";
    assert_eq!(annotations(&pods, "", "honor"), nothing);
    let wrong = json!({"karpenter.sh/do-not-disrupt": "yes"});
    assert!(
        annotations(&[wrong], "", "honor")
            .contains("Pod web/p0: annotation karpenter.sh/do-not-disrupt is `yes`")
    );
    let many = vec![right; ANNOTATED_OBJECTS_READ_MAX];
    assert!(annotations(&many, "more", "ignore").starts_with("the first 5,000 pods and "));
}

#[test]
fn a_private_endpoint_is_distinguished_from_a_cluster_that_does_not_answer() {
    let mut seen = whole();
    seen.eks.as_mut().unwrap().as_mut().unwrap()["resourcesVpcConfig"]["endpointPublicAccess"] =
        json!(false);
    let steps: BTreeSet<&str> = wrong(&seen).into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, ["eks"].into());
    seen.version = Err("no route to host".to_owned());
    let wrong = wrong(&seen);
    assert!(
        wrong
            .iter()
            .any(|(step, found)| *step == "api-server" && found.contains("endpoint is private"))
    );
}

#[test]
fn functions_in_a_vpc_need_a_way_to_the_api_server() {
    let seen = |network: JoinNetwork| Observed {
        networks: Ok(vec![("subnet-1".to_owned(), network)]),
        ..whole()
    };
    let last = |network| wrong(&seen(network)).pop();
    let open = network(true, &[]);
    for (network, says) in [
        (JoinNetwork { lets_out: false, ..open.clone() }, "lets them speak to port 443"),
        (JoinNetwork { lets_in: Some(false), ..open }, "lets those of the functions in"),
        (network(false, &[]), "subnet subnet-1 (route table rtb-1) has no way out"),
        (network(false, &[("igw-1", false)]), "has no way out for what has no public address"),
        (network(false, &[("nat-1", true)]), "has no way out"),
    ] {
        let (step, found) = last(network).unwrap();
        assert_eq!(step, "network");
        assert!(found.contains(says), "{found}");
    }
    assert_eq!(last(network(false, &[("nat-1", true), ("tgw-1", false)])), None);
    let outside = Observed { networks: Ok(Vec::new()), ..whole() };
    assert_eq!(wrong(&outside), []);
}

#[test]
fn an_older_cluster_admits_by_its_config_map() {
    let mut seen = whole();
    seen.eks.as_mut().unwrap().as_mut().unwrap()["accessConfig"]["authenticationMode"] =
        json!("CONFIG_MAP");
    let steps: BTreeSet<&str> = wrong(&seen).into_iter().map(|(step, _)| step).collect();
    assert_eq!(steps, ["access", "node-access"].into());
    let entries = seen.entries.clone().unwrap();
    let lines = entries.iter().map(|entry| {
        format!("- rolearn: {}\n  groups: {}\n", entry["principalArn"], entry["kubernetesGroups"])
    });
    let map: String = lines.collect();
    seen.aws_auth = Ok(Some(json!({"data": {"mapRoles": map}})));
    assert!(wrong(&seen).is_empty());
}

#[test]
fn a_condition_that_waits_for_another_one_is_not_reported() {
    let mut seen = whole();
    let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "False", "reason": reason, "message": "m"});
    list(&mut seen.classes)[0]["status"]["conditions"] = json!([
        condition("AMIsReady", "UnsupportedAlias"),
        condition("ValidationSucceeded", "DependenciesNotReady"),
    ]);
    let told = "EC2NodeClass default: AMIsReady is False: UnsupportedAlias: m";
    assert_eq!(wrong(&seen), [("classes", told.to_owned())]);
}

#[test]
fn what_a_former_installation_left_is_reported() {
    let claim = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "journeyman"}}});
    let mut seen = whole();
    seen.claims = Ok(vec![claim]);
    assert!(wrong(&seen).is_empty());
    seen.functions = Ok(Vec::new());
    let records = |seen: &Observed| {
        let verdict = wrong(seen).into_iter().find(|(step, _)| *step == "records");
        verdict.map(|(_, words)| words)
    };
    assert_eq!(records(&seen), None, "a controller is at work, wherever it runs");
    let gone = Observed { leases: Ok(Vec::new()), ..seen.clone() };
    let eks = json!({"status": "ACTIVE", "endpoint": "https://127.0.0.1:6443"});
    let local = Observed { eks: Ok(Some(eks)), ..gone.clone() };
    assert_eq!(records(&local), None, "the functions of `journeyman local` wait for Karpenter");
    let words = records(&gone).unwrap_or_default();
    assert!(words.contains("is gone"), "{words}");
    let unseen = Observed { leases: Err("forbidden".to_owned()), ..seen };
    assert_eq!(records(&unseen).as_deref(), Some("?? forbidden"));
}

#[test]
fn what_cannot_be_seen_is_not_taken_for_absent() {
    let denied = || "aws: AccessDenied".to_owned();
    let mut seen = whole();
    seen.functions = Err(denied());
    seen.iam_roles = Err(denied());
    seen.leases = Err(denied());
    seen.rbac = Err(denied());
    let wrong = wrong(&seen);
    assert!(wrong.iter().all(|(_, found)| found == "?? aws: AccessDenied"), "{wrong:#?}");
    assert_eq!(wrong.len(), 12, "{wrong:#?}");
}

#[test]
fn a_stack_without_wake_lacks_no_function() {
    let mut seen = whole();
    let functions = seen.functions.as_mut().unwrap();
    let is_wake = |function: &Value| {
        function["FunctionName"].as_str().unwrap().to_ascii_lowercase().contains("-wakefunction")
    };
    assert_eq!(functions.iter().filter(|function| is_wake(function)).count(), 1);
    functions.retain(|function| !is_wake(function));
    seen.waking.as_mut().unwrap().webhooks = None;
    assert!(wrong(&seen).is_empty());
}

#[test]
fn what_the_functions_reserve_is_enough_whatever_else_the_account_runs() {
    let mut seen = whole();
    let limit = |reserved: u64| json!({"ConcurrentExecutions": 124, "UnreservedConcurrentExecutions": 0, "Reserved": reserved});
    seen.concurrency = Ok(limit(concurrency::needed()));
    assert!(wrong(&seen).is_empty());
    seen.concurrency = Ok(limit(concurrency::needed() - 1));
    assert_eq!(wrong(&seen).len(), 1);
}

#[test]
fn people_read_what_is_wrong_and_what_helps_within_80_columns() {
    let mut seen = whole();
    seen.iam_roles.as_mut().unwrap()[1].1 = None;
    seen.leases = Err("kubectl: forbidden".to_owned());
    let mut out = Vec::new();
    let screen = Screen { columns: Some(80), ..Screen::default() };
    print(&judged(&seen), screen, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    expect_test::expect![[r"
        ok  The API server of the cluster answers. (Kubernetes v1.34.1-eks)
        ok  EKS knows the cluster, and the functions can reach it. (Kubernetes 1.34,
            API)
        ok  The kubeconfig, EKS and the stack are about one cluster.
            (https://AAAA.gr7.us-west-2.eks.amazonaws.com)
        ok  The kinds of Karpenter's API are defined, as this release has them. (5
            kinds)
        ok  The functions' rights in the cluster are granted, as this release needs
            them. (21 roles, bindings and flow schemas)
        ok  All functions are deployed. (10 functions)
        ok  The functions are of this release. (all of this release)
        ok  The functions' settings can be read. (all as by default)
        ok  Lambda has enough concurrent executions for the functions. (900 executions,
            shared with the account's other functions)
        ok  The functions reach the API server. (from 1 subnet)
        ok  The functions' roles are admitted to the cluster. (each role in its group)
        ok  The roles of nodes exist, and EC2 may assume them. (nodes)
        ok  Nodes with these roles may join the cluster. (each role admitted)
        !!  The account may launch spot instances.
            The account has no role AWSServiceRoleForEC2Spot: EC2 refuses its first spot
              instance.
            → aws iam create-service-linked-role --aws-service-name spot.amazonaws.com
        ??  No Karpenter provisions the cluster.
            kubectl: forbidden
            → Use a kubeconfig whose user may read all objects of the cluster
              (--kubeconfig, --context).
        ??  The functions are at work.
            kubectl: forbidden
            → Use a kubeconfig whose user may read all objects of the cluster
              (--kubeconfig, --context).
        ok  The API server calls the function wake. (a probe came back after 23 ms)
        ok  The cluster has no more nodes than the functions can read. (3 nodes)
        ok  There are subnets and security groups as EC2NodeClasses select them.
            (default: 3 subnets, 1 security group)
        ok  Every EC2NodeClass is ready: subnets, security groups and images are found.
            (1 ready)
        ok  There is a NodePool, and each can launch. (1 whose class is ready)
        ok  No quota of the account keeps EC2 from launching for a NodePool. (1 asked)
        ok  Annotations protect pods and nodes as they are meant to. (0 pods and 0 nodes
            were read)
        ok  Nothing is left of a former installation or release. (0 NodeClaims of ours)

        24 steps: 1 not in order, 2 could not be seen
    "]]
    .assert_eq(&text);
}
