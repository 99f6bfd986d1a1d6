//! The status conditions of an EC2NodeClass: what was found, as Karpenter's types and reasons.
//!
//! Karpenter: `pkg/controllers/nodeclass` of the AWS provider; the root condition is that of
//! `github.com/awslabs/operatorpkg/status`.

use model::{
    LaunchTemplateName, labels,
    node_class::{ClassCondition, ImageFamily, KubeletFault, NodeClass, TemplateSource},
    validation::FailedCheck,
};

use crate::TemplateProblem;

/// What the resolution of a class came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Of a class whose launch template is the user's own: why it cannot be used, if so.
    pub launch_template: Result<(), TemplateProblem>,
    /// How many images; the error is an alias that cannot be for this version of Kubernetes.
    pub images: Result<usize, String>,
    /// How many subnets.
    pub subnets: usize,
    /// How many security groups.
    pub security_groups: usize,
    /// Whether the instance profile is known; an error of IAM leaves it open.
    pub has_instance_profile: bool,
    /// Whether the placement group was found; the error is EC2's.
    pub placement_group: Result<bool, String>,
    /// Whether the addresses of the cluster's services are known.
    pub has_service_cidr: bool,
    /// What trying without doing came to.
    pub dry_run: DryRun,
}

/// What EC2 said to requests that were only to be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// All of them would have worked.
    Passed,
    /// Checks are turned off.
    Disabled,
    /// Not checked yet, or not answered; it is tried again.
    Pending,
    /// One is not allowed, or cannot work.
    Failed(FailedCheck, String),
}

/// The conditions of `class`, `Ready` last. `CapacityReservationsReady` is among them with the gate
/// `ReservedCapacity`; no reservation is as good as some.
pub fn conditions(
    class: &NodeClass,
    found: &Findings,
    reserved_capacity: bool,
) -> Vec<ClassCondition> {
    let mut all = match &class.launch_template {
        TemplateSource::Made => {
            vec![images(found), subnets(found), security_groups(found), profile(found)]
        }
        TemplateSource::Named(name) => vec![
            in_template("AMIsReady", name, found, &images(found)),
            subnets(found),
            in_template("SecurityGroupsReady", name, found, &ClassCondition::yes("")),
            in_template("InstanceProfileReady", name, found, &ClassCondition::yes("")),
        ],
    };
    let validation = validation(class, found, &all);
    if reserved_capacity {
        all.push(ClassCondition::yes("CapacityReservationsReady"));
    }
    all.push(placement_group(class, found));
    all.push(validation);
    let ready = root(&all);
    all.push(ready);
    all
}

/// What stands in the launch template `name` and is as good as that is, but for what was `seen` of it.
fn in_template(
    kind: &'static str,
    name: &LaunchTemplateName,
    found: &Findings,
    seen: &ClassCondition,
) -> ClassCondition {
    match &found.launch_template {
        Err(problem) => ClassCondition::no(kind, problem.reason(), problem.to_string()),
        Ok(()) if seen.status == Some(true) => ClassCondition {
            reason: "InLaunchTemplate",
            message: format!("as in launch template `{name}`"),
            ..ClassCondition::yes(kind)
        },
        Ok(()) => ClassCondition {
            message: format!("the image of launch template `{name}` is not there"),
            ..seen.clone()
        },
    }
}

fn images(found: &Findings) -> ClassCondition {
    const KIND: &str = "AMIsReady";
    match &found.images {
        Err(why) => ClassCondition::no(KIND, "UnsupportedAlias", why),
        Ok(0) => {
            let message = "AMISelector did not match any AMIs";
            ClassCondition::no(KIND, "AMINotFound", message)
        }
        Ok(_) => ClassCondition::yes(KIND),
    }
}

fn subnets(found: &Findings) -> ClassCondition {
    const KIND: &str = "SubnetsReady";
    if found.subnets == 0 {
        let message = "SubnetSelector did not match any Subnets";
        return ClassCondition::no(KIND, "SubnetsNotFound", message);
    }
    ClassCondition::yes(KIND)
}

fn security_groups(found: &Findings) -> ClassCondition {
    const KIND: &str = "SecurityGroupsReady";
    if found.security_groups == 0 {
        let message = "SecurityGroupSelector did not match any SecurityGroups";
        return ClassCondition::no(KIND, "SecurityGroupsNotFound", message);
    }
    ClassCondition::yes(KIND)
}

fn profile(found: &Findings) -> ClassCondition {
    const KIND: &str = "InstanceProfileReady";
    if found.has_instance_profile {
        return ClassCondition::yes(KIND);
    }
    ClassCondition::open(KIND, "AwaitingReconciliation", "the instance profile is not known yet")
}

fn placement_group(class: &NodeClass, found: &Findings) -> ClassCondition {
    const KIND: &str = "PlacementGroupReady";
    match &found.placement_group {
        _ if class.placement_group.is_none() => ClassCondition::yes(KIND),
        Ok(true) => ClassCondition::yes(KIND),
        Ok(false) => {
            let message = "PlacementGroupSelector did not match any placement group";
            ClassCondition::no(KIND, "PlacementGroupNotFound", message)
        }
        Err(why) => ClassCondition::no(KIND, "PlacementGroupResolutionFailed", why),
    }
}

/// What else stands against launches: in Karpenter's order, the first that does.
fn validation(class: &NodeClass, found: &Findings, before: &[ClassCondition]) -> ClassCondition {
    const KIND: &str = "ValidationSucceeded";
    if class.image_family == ImageFamily::Al2023 && !found.has_service_cidr {
        let message = "the CIDR of the cluster's services is not known";
        return ClassCondition::no(KIND, "ClusterCIDRResolutionFailed", message);
    }
    if let Some(fault) = &class.kubelet.fault {
        let (reason, why) = match fault {
            KubeletFault::Invalid(why) => ("InvalidKubeletConfiguration", why),
            KubeletFault::HasExpressions(why) => ("KubeletExpressionsDisabled", why),
            KubeletFault::UnsupportedByFamily(why) => ("UnsupportedKubeletConfiguration", why),
        };
        // Whoever mends it wants to know everything at once. What is about kubelet is among both.
        let others = class.problems.iter().filter(|problem| !why.contains(problem.as_str()));
        let all: Vec<&str> = std::iter::once(why).chain(others).map(String::as_str).collect();
        return ClassCondition::no(KIND, reason, all.join("; "));
    }
    let names = |status: Option<bool>| {
        let with = before.iter().filter(|condition| condition.status == status);
        with.map(|condition| condition.kind).collect::<Vec<_>>().join(", ")
    };
    let (refused, open) = (names(Some(false)), names(None));
    if !refused.is_empty() {
        return ClassCondition::no(KIND, "DependenciesNotReady", refused);
    }
    if !open.is_empty() {
        return ClassCondition::open(KIND, "DependenciesNotReady", open);
    }
    if let Some(key) = class.tags.keys().find(|key| labels::is_launch_tag(key)) {
        return ClassCondition::no(KIND, "TagValidationFailed", format!("tag `{key}` is taken"));
    }
    if !class.problems.is_empty() {
        return ClassCondition::no(KIND, "ValidationFailed", class.problems.join("; "));
    }
    match &found.dry_run {
        DryRun::Passed => ClassCondition::yes(KIND),
        DryRun::Disabled => {
            ClassCondition { reason: "DryRunDisabled", ..ClassCondition::yes(KIND) }
        }
        DryRun::Pending => ClassCondition::open(KIND, "AwaitingReconciliation", ""),
        DryRun::Failed(check, why) => ClassCondition::no(KIND, check.reason(), why),
    }
}

/// All of them together.
fn root(all: &[ClassCondition]) -> ClassCondition {
    const KIND: &str = "Ready";
    let shown = |status: Option<bool>, word: &str| {
        let with = all.iter().filter(|condition| condition.status == status);
        with.map(|condition| format!("{}={word}", condition.kind)).collect::<Vec<_>>().join(", ")
    };
    let (refused, open) = (shown(Some(false), "False"), shown(None, "Unknown"));
    match (refused.as_str(), open.as_str()) {
        ("", "") => ClassCondition::yes(KIND),
        ("", open) => ClassCondition::open(KIND, "ReconcilingDependents", open),
        (refused, _) => ClassCondition::no(KIND, "UnhealthyDependents", refused),
    }
}

#[cfg(test)]
mod tests;
