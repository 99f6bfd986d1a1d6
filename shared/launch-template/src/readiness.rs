//! Whether nodes can be launched from an EC2NodeClass.
//!
//! It is decided here and nowhere else. The conditions of the class, what a launch or a plan is
//! refused for, and whether the NodePools of the class are closed are projections of it.
//!
//! Karpenter: `pkg/controllers/nodeclass` of the AWS provider, which gives types, reasons and messages;
//! the root condition is that of `github.com/awslabs/operatorpkg/status`.

use model::{
    Condition, ConditionKind, ConditionReason, LaunchTemplateName, Problem, labels,
    node_class::{
        CapacityReservation, Image, ImageFamily, KubeletFault, NodeClass, Obstacle, PlacementGroup,
        ResolvedNodeClass, ResolvedTemplate, SecurityGroup, Subnet, TemplateProblem,
        TemplateSource,
    },
    problem::Rule,
    validation::FailedCheck,
};

/// What the selectors of a class name in the account. Empty is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// In the order of their ids.
    pub subnets: Vec<Subnet>,
    /// In the order of their ids; empty where they are in a launch template of the user's own.
    pub security_groups: Vec<SecurityGroup>,
    /// The newest first; the error is why an alias cannot be for the cluster's version.
    pub images: Result<Vec<Image>, String>,
    /// In the order of their ids.
    pub reservations: Vec<CapacityReservation>,
    /// The error is EC2's: everything else can be told all the same.
    pub placement_group: Result<Option<PlacementGroup>, String>,
    /// What nodes are launched from; the error is one of the user's own that cannot be used.
    pub launch_template: Result<ResolvedTemplate, TemplateProblem>,
}

/// What is known of what a class selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// Of a class whose launch template is the user's own: why it cannot be used, if so.
    pub launch_template: Result<(), TemplateProblem>,
    /// How many images; the error is why an alias cannot be for this version of Kubernetes.
    pub images: Result<usize, String>,
    /// How many subnets.
    pub subnets: usize,
    /// How many security groups.
    pub security_groups: usize,
    /// Whether the placement group was found; the error is EC2's.
    pub placement_group: Result<bool, String>,
}

/// What the status of a class stands for besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Whether the instance profile is known; an error of IAM leaves it open.
    pub has_instance_profile: bool,
    /// Whether the addresses of the cluster's services are known.
    pub has_service_cidr: bool,
    /// What the expressions of its kubelet come to on all instance types.
    pub expressions: ExpressionCheck,
    /// What the dry run came to.
    pub dry_run: DryRun,
    /// The gate `ReservedCapacity`: whether `CapacityReservationsReady` is a condition. No reservation
    /// is as good as some.
    pub reserved_capacity: bool,
}

/// What the expressions of a class come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionCheck {
    /// Amounts on all instance types; or there are none.
    Passed,
    /// It is not known which instance types there are.
    Pending,
    /// The first that fails or is negative.
    Failed(Box<Problem>),
}

/// What EC2 said to requests that were only to be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// All of them would have worked.
    Passed,
    /// Checks are turned off.
    Disabled,
    /// Not checked yet, or not answered; it is asked again.
    Pending,
    /// One is not allowed, or cannot work, for this reason.
    Failed(FailedCheck, String),
}

/// Whether nodes can be launched from a class, and what stands against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    obstacles: Vec<Obstacle>,
    conditions: Vec<Condition>,
    awaits_dry_run: bool,
}

impl Readiness {
    /// What a launch from the class is refused for; empty if it is not.
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.obstacles
    }

    /// The conditions of the class, `Ready` last.
    pub fn into_conditions(self) -> Vec<Condition> {
        self.conditions
    }

    /// Whether a dry run is all that is missing.
    pub fn awaits_dry_run(&self) -> bool {
        self.awaits_dry_run
    }
}

impl Findings {
    /// What was `selected`.
    pub fn of(selected: &Selected) -> Self {
        Self {
            launch_template: selected.launch_template.as_ref().map(|_| ()).map_err(Clone::clone),
            images: selected.images.as_ref().map(Vec::len).map_err(Clone::clone),
            subnets: selected.subnets.len(),
            security_groups: selected.security_groups.len(),
            placement_group: selected
                .placement_group
                .as_ref()
                .map(Option::is_some)
                .map_err(Clone::clone),
        }
    }

    /// The same of a class that is resolved.
    pub(crate) fn of_resolved(class: &ResolvedNodeClass) -> Self {
        Self {
            launch_template: Ok(()),
            images: Ok(class.images.len()),
            subnets: class.subnets.len(),
            security_groups: class.security_groups.len(),
            placement_group: Ok(class.placement_group.is_some()),
        }
    }
}

/// What stands against launches by what `class` says itself.
pub fn own_obstacles(class: &NodeClass) -> Vec<Obstacle> {
    let problems = class.problems.iter().cloned().map(Obstacle::Problem);
    problems.chain(class.is_deleting.then_some(Obstacle::Terminating)).collect()
}

/// `class` with what it `selected`, or what stands against launching from it.
pub fn resolved(
    class: &NodeClass,
    selected: Selected,
) -> Result<Box<ResolvedNodeClass>, Vec<Obstacle>> {
    let obstacles = readiness(class, &Findings::of(&selected), None).obstacles;
    match (selected.launch_template, selected.images, selected.placement_group) {
        (Ok(launch_template), Ok(images), Ok(placement_group)) if obstacles.is_empty() => {
            let groups = selected.security_groups.into_iter();
            Ok(Box::new(ResolvedNodeClass {
                class: class.clone(),
                subnets: selected.subnets,
                security_groups: groups.map(|group| group.id).collect(),
                images,
                reservations: selected.reservations,
                placement_group,
                launch_template,
            }))
        }
        _ => Err(obstacles),
    }
}

/// Whether nodes can be launched from `class`. Without `checks` only a launch is decided: they were
/// made when the status was written that says so.
pub fn readiness(class: &NodeClass, findings: &Findings, checks: Option<&Checks>) -> Readiness {
    let (images, subnets) = (images(class, findings), subnets(findings));
    let (groups, placement) = (security_groups(class, findings), placement_group(class, findings));
    let mut obstacles = own_obstacles(class);
    // What has to be mended first is said first.
    for obstacle in
        [&subnets, &groups, &images, &placement].iter().filter_map(|it| it.obstacle.as_ref())
    {
        if !obstacles.contains(obstacle) {
            obstacles.push(obstacle.clone());
        }
    }
    let mut aspects = vec![images, subnets, groups];
    aspects.extend(checks.map(|checks| profile(class, findings, checks)));
    let validation = checks.map(|checks| validation(class, &aspects, checks));
    let awaits_dry_run = validation.as_ref().is_some_and(|condition| {
        condition.status.is_none() && condition.reason == ConditionReason::AwaitingReconciliation
    });
    let mut conditions: Vec<Condition> =
        aspects.into_iter().map(|aspect| aspect.condition).collect();
    if checks.is_some_and(|checks| checks.reserved_capacity) {
        conditions.push(Condition::holds(ConditionKind::CapacityReservationsReady));
    }
    conditions.push(placement.condition);
    conditions.extend(validation);
    conditions.push(root(&conditions));
    Readiness { obstacles, conditions, awaits_dry_run }
}

/// A condition, and what makes it false if that stands against launches.
struct Aspect {
    condition: Condition,
    obstacle: Option<Obstacle>,
}

impl Aspect {
    fn holds(kind: ConditionKind) -> Self {
        Self { condition: Condition::holds(kind), obstacle: None }
    }

    /// Because of `obstacle` the condition does not hold, in Karpenter's words where it has some.
    fn fails(kind: ConditionKind, obstacle: Obstacle) -> Self {
        use ConditionReason as Reason;
        let (reason, message) = match &obstacle {
            Obstacle::AmiNotFound => {
                (Reason::AmiNotFound, "AMISelector did not match any AMIs".to_owned())
            }
            Obstacle::ImageOfTemplateNotFound(name) => {
                let message = format!("the image of launch template `{name}` is not there");
                (Reason::AmiNotFound, message)
            }
            Obstacle::LaunchTemplate(problem) => (problem.reason(), problem.to_string()),
            Obstacle::PlacementGroupNotFound => {
                let message = "PlacementGroupSelector did not match any placement group";
                (Reason::PlacementGroupNotFound, message.to_owned())
            }
            Obstacle::PlacementGroupResolutionFailed(why) => {
                (Reason::PlacementGroupResolutionFailed, why.clone())
            }
            Obstacle::SecurityGroupsNotFound => {
                let message = "SecurityGroupSelector did not match any SecurityGroups";
                (Reason::SecurityGroupsNotFound, message.to_owned())
            }
            Obstacle::SubnetsNotFound => {
                (Reason::SubnetsNotFound, "SubnetSelector did not match any Subnets".to_owned())
            }
            Obstacle::UnsupportedAlias(why) => (Reason::UnsupportedAlias, why.clone()),
            Obstacle::NoInstanceType
            | Obstacle::NotReady(_)
            | Obstacle::Problem(_)
            | Obstacle::ServiceCidrUnknown(_)
            | Obstacle::Terminating => (Reason::ValidationFailed, obstacle.to_string()),
        };
        let condition = Condition::fails(kind, reason, message);
        Self { condition, obstacle: Some(obstacle) }
    }

    /// What stands in the launch template `name` holds.
    fn in_template(kind: ConditionKind, name: &LaunchTemplateName) -> Self {
        let condition = Condition {
            reason: ConditionReason::InLaunchTemplate,
            message: format!("as in launch template `{name}`"),
            ..Condition::holds(kind)
        };
        Self { condition, obstacle: None }
    }
}

/// What a launch template of the user's own makes of a condition that is about a part of it; `None`
/// where launch templates are made.
fn of_template(class: &NodeClass, findings: &Findings, kind: ConditionKind) -> Option<Aspect> {
    let TemplateSource::Named(name) = &class.launch_template else { return None };
    Some(match &findings.launch_template {
        Err(problem) => Aspect::fails(kind, Obstacle::LaunchTemplate(problem.clone())),
        Ok(()) => Aspect::in_template(kind, name),
    })
}

fn images(class: &NodeClass, findings: &Findings) -> Aspect {
    let kind = ConditionKind::AmisReady;
    match (&class.launch_template, &findings.launch_template, &findings.images) {
        (TemplateSource::Named(_), Err(problem), _) => {
            Aspect::fails(kind, Obstacle::LaunchTemplate(problem.clone()))
        }
        (_, _, Err(why)) => Aspect::fails(kind, Obstacle::UnsupportedAlias(why.clone())),
        (TemplateSource::Named(name), Ok(()), Ok(0)) => {
            Aspect::fails(kind, Obstacle::ImageOfTemplateNotFound(name.clone()))
        }
        (TemplateSource::Named(name), Ok(()), Ok(_)) => Aspect::in_template(kind, name),
        (TemplateSource::Made, _, Ok(0)) => Aspect::fails(kind, Obstacle::AmiNotFound),
        (TemplateSource::Made, _, Ok(_)) => Aspect::holds(kind),
    }
}

fn subnets(findings: &Findings) -> Aspect {
    let kind = ConditionKind::SubnetsReady;
    if findings.subnets == 0 {
        return Aspect::fails(kind, Obstacle::SubnetsNotFound);
    }
    Aspect::holds(kind)
}

fn security_groups(class: &NodeClass, findings: &Findings) -> Aspect {
    let kind = ConditionKind::SecurityGroupsReady;
    of_template(class, findings, kind).unwrap_or_else(|| {
        if findings.security_groups == 0 {
            return Aspect::fails(kind, Obstacle::SecurityGroupsNotFound);
        }
        Aspect::holds(kind)
    })
}

fn profile(class: &NodeClass, findings: &Findings, checks: &Checks) -> Aspect {
    let kind = ConditionKind::InstanceProfileReady;
    of_template(class, findings, kind).unwrap_or_else(|| {
        if checks.has_instance_profile {
            return Aspect::holds(kind);
        }
        let message = "the instance profile is not known yet";
        let reason = ConditionReason::AwaitingReconciliation;
        Aspect { condition: Condition::unknown(kind, reason, message), obstacle: None }
    })
}

fn placement_group(class: &NodeClass, findings: &Findings) -> Aspect {
    let kind = ConditionKind::PlacementGroupReady;
    match &findings.placement_group {
        _ if class.placement_group.is_none() => Aspect::holds(kind),
        Ok(true) => Aspect::holds(kind),
        Ok(false) => Aspect::fails(kind, Obstacle::PlacementGroupNotFound),
        Err(why) => Aspect::fails(kind, Obstacle::PlacementGroupResolutionFailed(why.clone())),
    }
}

/// What is wrong with how GPUs are shared.
fn gpu_sharing_fault(class: &NodeClass) -> Option<(ConditionReason, &Problem)> {
    let reason = |problem: &Problem| match problem.rule {
        Rule::GpuSharingInvalid(_) => Some(ConditionReason::NvidiaConsumableCapacityInvalid),
        Rule::GpuSharingDisabled => Some(ConditionReason::DraDisabled),
        _ => None,
    };
    class.problems.iter().find_map(|problem| Some((reason(problem)?, problem)))
}

/// What else stands against launches: in Karpenter's order, the first that does.
fn validation(class: &NodeClass, before: &[Aspect], checks: &Checks) -> Condition {
    use ConditionReason as Reason;
    let kind = ConditionKind::ValidationSucceeded;
    if class.image_family == ImageFamily::Al2023 && !checks.has_service_cidr {
        let message = "the CIDR of the cluster's services is not known";
        return Condition::fails(kind, Reason::ClusterCidrResolutionFailed, message);
    }
    if let Some(fault) = class.kubelet_fault() {
        let reason = match fault {
            KubeletFault::Invalid => Reason::InvalidKubeletConfiguration,
            KubeletFault::ExpressionsDisabled => Reason::KubeletExpressionsDisabled,
            KubeletFault::InvalidExpression => Reason::KubeletExpressionInvalid,
            KubeletFault::UnsupportedByFamily => Reason::UnsupportedKubeletConfiguration,
        };
        // The user wants to know everything at once, the fault first.
        let (of_kubelet, others): (Vec<&Problem>, Vec<&Problem>) =
            class.problems.iter().partition(|problem| fault.explains(problem));
        return Condition::fails(kind, reason, Problem::in_words([of_kubelet, others].concat()));
    }
    if let Some((reason, problem)) = gpu_sharing_fault(class) {
        let others = class.problems.iter().filter(|other| *other != problem);
        return Condition::fails(
            kind,
            reason,
            Problem::in_words([problem].into_iter().chain(others)),
        );
    }
    let names = |status: Option<bool>| {
        let conditions = before.iter().map(|aspect| &aspect.condition);
        let with = conditions.filter(|condition| condition.status == status);
        with.map(|condition| condition.kind.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (refused, open) = (names(Some(false)), names(None));
    if !refused.is_empty() {
        return Condition::fails(kind, Reason::DependenciesNotReady, refused);
    }
    if !open.is_empty() {
        return Condition::unknown(kind, Reason::DependenciesNotReady, open);
    }
    match &checks.expressions {
        ExpressionCheck::Passed => {}
        ExpressionCheck::Pending => {
            let message =
                "the instance types for the expressions of spec.kubelet are not known yet";
            return Condition::unknown(kind, Reason::AwaitingReconciliation, message);
        }
        ExpressionCheck::Failed(problem) => {
            let reason = Reason::KubeletExpressionEvaluationFailed;
            return Condition::fails(kind, reason, problem.to_string());
        }
    }
    if let Some(key) = class.tags.keys().find(|key| labels::is_launch_tag(key)) {
        let message = format!("tag `{key}` is taken");
        return Condition::fails(kind, Reason::TagValidationFailed, message);
    }
    if !class.problems.is_empty() {
        let message = Problem::in_words(&class.problems);
        return Condition::fails(kind, Reason::ValidationFailed, message);
    }
    match &checks.dry_run {
        DryRun::Passed => Condition::holds(kind),
        DryRun::Disabled => Condition { reason: Reason::DryRunDisabled, ..Condition::holds(kind) },
        DryRun::Pending => Condition::unknown(kind, Reason::AwaitingReconciliation, ""),
        DryRun::Failed(check, why) => Condition::fails(kind, Reason::DryRun(*check), why),
    }
}

/// All of them together.
fn root(conditions: &[Condition]) -> Condition {
    let kind = ConditionKind::Ready;
    let shown = |status: Option<bool>, word: &str| {
        let with = conditions.iter().filter(|condition| condition.status == status);
        with.map(|condition| format!("{}={word}", condition.kind)).collect::<Vec<_>>().join(", ")
    };
    let (refused, open) = (shown(Some(false), "False"), shown(None, "Unknown"));
    match (refused.as_str(), open.as_str()) {
        ("", "") => Condition::holds(kind),
        ("", open) => Condition::unknown(kind, ConditionReason::ReconcilingDependents, open),
        (refused, _) => Condition::fails(kind, ConditionReason::UnhealthyDependents, refused),
    }
}

#[cfg(test)]
mod tests;
