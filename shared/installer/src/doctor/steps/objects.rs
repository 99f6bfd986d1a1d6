//! What Karpenter's objects say of themselves, and what is left of former times.

use std::collections::BTreeSet;

use model::{condition::ConditionReason, labels, words::counted};
use report::output;
use serde_json::Value;

use super::{
    super::observed::{Observed, items, name, text},
    Judged, StepVerdict,
    cluster::{are_at_work, deployed_settings},
    told,
};

const READ_CURE: &str = "Define the kinds first; then use a user that may list them.";

/// The condition `kind`: status, reason and message.
fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let conditions = items(object, "/status/conditions");
    let condition = conditions.iter().find(|condition| text(condition, "/type") == kind)?;
    Some((text(condition, "/status"), text(condition, "/reason"), text(condition, "/message")))
}

/// What helps against a condition that is not true.
fn cure(kind: &str) -> &'static str {
    match kind {
        "SubnetsReady" => {
            "Tag the subnets of nodes as subnetSelectorTerms says, such as karpenter.sh/discovery=CLUSTER."
        }
        "SecurityGroupsReady" => {
            "Tag the security group of nodes as securityGroupSelectorTerms says, such as \
             karpenter.sh/discovery=CLUSTER."
        }
        "AMIsReady" => {
            "Name images that are there for the cluster's version, such as al2023@latest."
        }
        "InstanceProfileReady" => {
            "Name a role that is among NodeRoleArns of the stack, by its name in spec.role."
        }
        "ValidationSucceeded" => {
            "EC2 refuses a dry run of a launch: its words say what the role of `launch` or the class lacks."
        }
        _ => "Wait two minutes; then look into the log of `resolve`.",
    }
}

pub(super) fn classes(seen: &Observed) -> Judged {
    let classes = told(&seen.classes, READ_CURE)?;
    if classes.is_empty() {
        let cure =
            "kubectl apply -f examples/walkthrough/default.yaml, with the names of your cluster";
        return Ok(StepVerdict::wrong("There is no EC2NodeClass.", cure));
    }
    let kinds = [
        "SubnetsReady",
        "SecurityGroupsReady",
        "AMIsReady",
        "InstanceProfileReady",
        "ValidationSucceeded",
    ];
    let (mut found, mut cures) = (Vec::new(), BTreeSet::new());
    for class in classes {
        if condition(class, "Ready").is_some_and(|(status, ..)| status == "True") {
            continue;
        }
        let wrong: Vec<_> = kinds
            .into_iter()
            .filter_map(|kind| Some((kind, condition(class, kind)?)))
            // It repeats the conditions that it waits for.
            .filter(|(_, (status, reason, _))| {
                *status != "True" && *reason != ConditionReason::DependenciesNotReady.as_str()
            })
            .collect();
        if wrong.is_empty() {
            found.push(format!("EC2NodeClass {}: not checked yet.", name(class)));
            cures.insert(cure("Ready"));
        }
        for (kind, (status, reason, message)) in wrong {
            found.push(format!(
                "EC2NodeClass {}: {kind} is {status}: {reason}: {message}",
                name(class)
            ));
            cures.insert(cure(kind));
        }
    }
    let cures: Vec<&str> = cures.into_iter().collect();
    Ok(StepVerdict::of(found, format!("{} ready", classes.len()), cures.join(" ")))
}

pub(super) fn pools(seen: &Observed) -> Judged {
    let pools = told(&seen.pools, READ_CURE)?;
    let classes = told(&seen.classes, READ_CURE)?;
    if pools.is_empty() {
        let cure =
            "kubectl apply -f examples/walkthrough/default.yaml, with the names of your cluster";
        return Ok(StepVerdict::wrong("There is no NodePool: nothing is ever launched.", cure));
    }
    let (mut found, mut cures) = (Vec::new(), BTreeSet::new());
    for pool in pools {
        let class = text(pool, "/spec/template/spec/nodeClassRef/name");
        if !classes.iter().any(|known| name(known) == class) {
            found.push(format!("NodePool {}: there is no EC2NodeClass {class}.", name(pool)));
            cures.insert("Write the EC2NodeClass, or name another one in nodeClassRef.");
            continue;
        }
        for (kind, good, cure) in [
            ("ValidationSucceeded", "True", "Correct the NodePool: its message names the field."),
            (
                "NodeClassReady",
                "True",
                "Correct the EC2NodeClass: its conditions say what is missing.",
            ),
            (
                "NoCompatibleInstanceTypes",
                "False",
                "Correct the requirements of the NodePool: the message names those that no instance type \
                 meets.",
            ),
        ] {
            let failed = condition(pool, kind).filter(|(status, ..)| *status != good);
            let Some((status, reason, message)) = failed else { continue };
            found.push(format!("NodePool {}: {kind} is {status}: {reason}: {message}", name(pool)));
            cures.insert(cure);
        }
    }
    let cures: Vec<&str> = cures.into_iter().collect();
    Ok(StepVerdict::of(found, format!("{} whose class is ready", pools.len()), cures.join(" ")))
}

/// Codes of the quotas of standard instance families: <https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html>.
const QUOTA_CURE: &str = "Ask for a larger quota: aws service-quotas request-service-quota-increase --service-code ec2 \
     --desired-value VCPUS --quota-code L-1216C47A (on-demand instances of the families A, C, D, H, I, M, R, T, Z), or \
     L-34B43A08 (spot instances of these).";

pub(super) fn quotas(seen: &Observed) -> Judged {
    let pools = told(&seen.pools, READ_CURE)?;
    let exceeded = pools.iter().filter_map(|pool| {
        let (status, _, message) = condition(pool, "QuotaExceeded")?;
        (status == "True").then(|| format!("NodePool {}: {message}", name(pool)))
    });
    let done = format!("{} asked", pools.len());
    Ok(StepVerdict::of(exceeded.collect(), done, QUOTA_CURE))
}

/// Whether an object is ours by its label.
fn is_ours(object: &Value) -> bool {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let by = labels.and_then(|labels| labels.get(labels::MANAGED_BY)).and_then(Value::as_str);
    by == Some(labels::MANAGER)
}

pub(super) fn records(seen: &Observed) -> Judged {
    let claims = told(&seen.claims, READ_CURE)?;
    let functions = told(&seen.functions, READ_CURE)?;
    let keeps_former = functions.iter().any(|function| {
        text(function, "/Environment/Variables/JOURNEYMAN_FORMER_RECORDS") == "true"
    });
    if keeps_former {
        return Ok(StepVerdict::wrong(
            "The functions still write claims as a former release reads them.",
            "Once no function of that release runs, update the stack with KeepFormerRelease=false.",
        ));
    }
    let ours = claims.iter().filter(|claim| is_ours(claim)).count();
    let is_gone = functions.is_empty() && !seen.is_local();
    if is_gone && ours > 0 && !are_at_work(told(&seen.leases, READ_CURE)?, seen.now) {
        return Ok(StepVerdict::wrong(
            format!(
                "An installation that is gone has left {}, which their finalizers keep.",
                counted(ours, "NodeClaim")
            ),
            "Deploy the functions again, which adopt them, or journeyman uninstall --keep-nodes to leave the \
             nodes as they are.",
        ));
    }
    Ok(StepVerdict::Done(format!("{} of ours", counted(ours, "NodeClaim"))))
}

/// How many objects a line names.
const NAMED: usize = 3;

/// A hint, and no more: another program may heed them.
pub(super) fn annotations(seen: &Observed) -> Judged {
    let cure = "Use a user that may list pods and nodes.";
    let (pods, nodes) = (told(&seen.pods, cure)?, told(&seen.nodes, cure)?);
    let is_honored = deployed_settings(seen).honors_autoscaler;
    let annotated = pods.unprotected.iter().chain(&nodes.unprotected);
    let unheeded =
        annotated.filter(|(_, _, annotation)| !(is_honored && annotation.may_be_honored));
    let lines = output::alike(
        unheeded.map(|(kind, name, annotation)| (*kind, annotation.text.clone(), name.clone())),
        NAMED,
    );
    let first = if pods.is_cut || nodes.is_cut { "the first " } else { "" };
    let objects =
        format!("{first}{} and {}", counted(pods.read, "pod"), counted(nodes.read, "node"));
    Ok(StepVerdict::Done(match lines.as_slice() {
        [] => format!("{objects} were read"),
        lines => format!("a hint: {}; {objects} were read", lines.join("; ")),
    }))
}
