//! What each finding makes of the conditions.

use expect_test::{Expect, expect};
use model::{
    node_class::PlacementGroupTerm,
    problem::{Rule, Weight},
};

use super::*;
use crate::testing::class;

fn good() -> Findings {
    Findings {
        launch_template: Ok(()),
        images: Ok(2),
        subnets: 3,
        security_groups: 1,
        placement_group: Ok(false),
    }
}

fn passed() -> Checks {
    Checks {
        has_instance_profile: true,
        has_service_cidr: true,
        expressions: ExpressionCheck::Passed,
        dry_run: DryRun::Passed,
        reserved_capacity: true,
    }
}

fn conditions(class: &NodeClass, findings: &Findings, checks: &Checks) -> Vec<Condition> {
    readiness(class, findings, Some(checks)).into_conditions()
}

/// What is not true of `class` with `found`.
#[track_caller]
fn check(class: &NodeClass, findings: &Findings, expected: &Expect) {
    check_with(class, findings, &passed(), expected);
}

#[track_caller]
fn check_with(class: &NodeClass, findings: &Findings, checks: &Checks, expected: &Expect) {
    let set = conditions(class, findings, checks);
    let shown = set.iter().filter(|condition| condition.status != Some(true)).map(|condition| {
        let status = if condition.status.is_none() { "?" } else { "no" };
        format!("{} {status} {}: {}", condition.kind, condition.reason, condition.message)
    });
    expected.assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}

fn al2023() -> NodeClass {
    class(ImageFamily::Al2023).class
}

#[test]
fn a_class_with_everything_is_ready() {
    check(&al2023(), &good(), &expect![[r""]]);
    let set = conditions(&al2023(), &good(), &passed());
    let kinds: Vec<&str> = set.iter().map(|condition| condition.kind.as_str()).collect();
    expect!["AMIsReady SubnetsReady SecurityGroupsReady InstanceProfileReady CapacityReservationsReady PlacementGroupReady ValidationSucceeded Ready"].assert_eq(&kinds.join(" "));
    let without = conditions(&al2023(), &good(), &Checks { reserved_capacity: false, ..passed() });
    let kind = ConditionKind::CapacityReservationsReady;
    assert!(without.iter().all(|condition| condition.kind != kind));
}

#[test]
fn what_is_wrong_with_kubelet_is_said_before_what_is_missing() {
    let nothing = Findings { subnets: 0, ..good() };
    let with = |fault: KubeletFault| {
        let mut class = al2023();
        class.kubelet.fault = Some(fault);
        let rule = match fault {
            KubeletFault::ExpressionsDisabled => Rule::ExpressionsDisabled,
            _ => "words".into(),
        };
        let (field, weight) = ("spec.kubelet".to_owned(), Weight::Unusable);
        class.problems = vec![Problem { weight, field, rule }];
        let set = conditions(&class, &nothing, &passed());
        let is_validation =
            |condition: &Condition| condition.kind == ConditionKind::ValidationSucceeded;
        let validation = set.into_iter().find(is_validation).unwrap();
        format!("{:?} {}: {}", validation.status, validation.reason, validation.message)
    };
    let invalid = with(KubeletFault::Invalid);
    assert_eq!(invalid, "Some(false) InvalidKubeletConfiguration: spec.kubelet: words");
    let disabled = with(KubeletFault::ExpressionsDisabled);
    let expected = "Some(false) KubeletExpressionsDisabled: spec.kubelet: an expression needs the feature gate \
                    NodeClassCEL, which is off (FeatureGates=NodeClassCEL=true)";
    assert_eq!(disabled, expected);
    let expression = with(KubeletFault::InvalidExpression);
    assert_eq!(expression, "Some(false) KubeletExpressionInvalid: spec.kubelet: words");
    let family = with(KubeletFault::UnsupportedByFamily);
    assert_eq!(family, "Some(false) UnsupportedKubeletConfiguration: spec.kubelet: words");
}

#[test]
fn what_is_wrong_with_sharing_gpus_is_said_before_what_is_missing() {
    let nothing = Findings { subnets: 0, ..good() };
    let with = |rule: Rule| {
        let problem = Problem { weight: Weight::Unusable, field: String::new(), rule };
        let class = NodeClass { problems: vec![problem], ..al2023() };
        let set = conditions(&class, &nothing, &passed());
        let validation = set
            .into_iter()
            .find(|condition| condition.kind == ConditionKind::ValidationSucceeded)
            .unwrap();
        format!("{:?} {}: {}", validation.status, validation.reason, validation.message)
    };
    let closed = "Some(false) DRADisabled: sharing GPUs needs the feature gate DRANVIDIAGPU, which is off \
                  (FeatureGates=DRANVIDIAGPU=true)";
    assert_eq!(with(Rule::GpuSharingDisabled), closed);
    let invalid = with(Rule::GpuSharingInvalid("0".to_owned()));
    let expected = "Some(false) NVIDIAConsumableCapacityInvalid: \"0\" is not one of ";
    assert!(invalid.starts_with(expected), "{invalid}");
}

#[test]
fn what_expressions_come_to_is_said_after_what_is_missing() {
    let problem = Problem::unusable("spec.kubelet.maxPods", "for m5.large: division by zero");
    let failed = Checks { expressions: ExpressionCheck::Failed(Box::new(problem)), ..passed() };
    let nothing = Findings { subnets: 0, ..good() };
    check_with(
        &al2023(),
        &nothing,
        &failed,
        &expect![[r"
        SubnetsReady no SubnetsNotFound: SubnetSelector did not match any Subnets
        ValidationSucceeded no DependenciesNotReady: SubnetsReady
        Ready no UnhealthyDependents: SubnetsReady=False, ValidationSucceeded=False"]],
    );
    let mut class = al2023();
    class.tags = [("karpenter.sh/nodepool".to_owned(), String::new())].into();
    check_with(
        &class,
        &good(),
        &failed,
        &expect![[r"
        ValidationSucceeded no KubeletExpressionEvaluationFailed: spec.kubelet.maxPods: for m5.large: division by zero
        Ready no UnhealthyDependents: ValidationSucceeded=False"]],
    );
    check_with(
        &al2023(),
        &good(),
        &Checks { expressions: ExpressionCheck::Pending, ..passed() },
        &expect![[r"
        ValidationSucceeded ? AwaitingReconciliation: the instance types for the expressions of spec.kubelet are not known yet
        Ready ? ReconcilingDependents: ValidationSucceeded=Unknown"]],
    );
}

#[test]
fn everything_that_is_wrong_with_a_class_is_said_at_once() {
    let mut class = al2023();
    class.kubelet.fault = Some(KubeletFault::Invalid);
    class.problems = vec![
        Problem::unusable("spec.tags", "too many"),
        Problem::unusable("spec.kubelet.maxpods", "unknown field"),
        Problem::unsupported("spec.amiSelectorTerms", "with ssmParameter"),
        // Its words are also a part of another one's, which must not hide it.
        Problem::unusable("spec.kubelet", "no"),
        Problem::unusable("spec.kubelet.syncFrequency", "no time"),
    ];
    check(
        &class,
        &good(),
        &expect![[r"
        ValidationSucceeded no InvalidKubeletConfiguration: spec.kubelet.maxpods: unknown field; spec.kubelet: no; spec.kubelet.syncFrequency: no time; spec.tags: too many; not supported yet: spec.amiSelectorTerms with ssmParameter
        Ready no UnhealthyDependents: ValidationSucceeded=False"]],
    );
}

#[test]
fn what_selects_nothing_is_not_ready() {
    let nothing = Findings { images: Ok(0), subnets: 0, security_groups: 0, ..good() };
    check(
        &al2023(),
        &nothing,
        &expect![[r"
        AMIsReady no AMINotFound: AMISelector did not match any AMIs
        SubnetsReady no SubnetsNotFound: SubnetSelector did not match any Subnets
        SecurityGroupsReady no SecurityGroupsNotFound: SecurityGroupSelector did not match any SecurityGroups
        ValidationSucceeded no DependenciesNotReady: AMIsReady, SubnetsReady, SecurityGroupsReady
        Ready no UnhealthyDependents: AMIsReady=False, SubnetsReady=False, SecurityGroupsReady=False, ValidationSucceeded=False"]],
    );
    let why = Err("`al2@latest` is not built for Kubernetes 1.34".to_owned());
    check(
        &al2023(),
        &Findings { images: why, ..good() },
        &expect![[r"
        AMIsReady no UnsupportedAlias: `al2@latest` is not built for Kubernetes 1.34
        ValidationSucceeded no DependenciesNotReady: AMIsReady
        Ready no UnhealthyDependents: AMIsReady=False, ValidationSucceeded=False"]],
    );
}

#[test]
fn an_unknown_profile_leaves_the_class_open() {
    check_with(
        &al2023(),
        &good(),
        &Checks { has_instance_profile: false, ..passed() },
        &expect![[r"
        InstanceProfileReady ? AwaitingReconciliation: the instance profile is not known yet
        ValidationSucceeded ? DependenciesNotReady: InstanceProfileReady
        Ready ? ReconcilingDependents: InstanceProfileReady=Unknown, ValidationSucceeded=Unknown"]],
    );
}

#[test]
fn only_al2023_needs_the_addresses_of_services() {
    let unknown = Checks { has_service_cidr: false, ..passed() };
    check_with(
        &al2023(),
        &good(),
        &unknown,
        &expect![[r"
        ValidationSucceeded no ClusterCIDRResolutionFailed: the CIDR of the cluster's services is not known
        Ready no UnhealthyDependents: ValidationSucceeded=False"]],
    );
    check_with(&class(ImageFamily::Bottlerocket).class, &good(), &unknown, &expect![[r""]]);
}

#[test]
fn a_placement_group_must_be_there_if_one_is_selected() {
    let mut class = al2023();
    class.placement_group = Some(PlacementGroupTerm::Name("together".to_owned()));
    check(
        &class,
        &good(),
        &expect![[r"
        PlacementGroupReady no PlacementGroupNotFound: PlacementGroupSelector did not match any placement group
        Ready no UnhealthyDependents: PlacementGroupReady=False"]],
    );
    let failed = Err("UnauthorizedOperation".to_owned());
    check(
        &class,
        &Findings { placement_group: failed, ..good() },
        &expect![[r"
        PlacementGroupReady no PlacementGroupResolutionFailed: UnauthorizedOperation
        Ready no UnhealthyDependents: PlacementGroupReady=False"]],
    );
    check(&class, &Findings { placement_group: Ok(true), ..good() }, &expect![[r""]]);
}

#[test]
fn each_failed_check_has_its_reason() {
    for (check, reason) in [
        (FailedCheck::CreateLaunchTemplate, "CreateLaunchTemplateAuthCheckFailed"),
        (FailedCheck::CreateFleet, "CreateFleetAuthCheckFailed"),
        (FailedCheck::RunInstances, "RunInstancesAuthCheckFailed"),
        (FailedCheck::UserDataSize, "UserDataSizeLimitExceeded"),
        (FailedCheck::InstanceProfile, "InstanceProfileNotFound"),
    ] {
        let dry_run = DryRun::Failed(check, "explicit deny".to_owned());
        let set = conditions(&al2023(), &good(), &Checks { dry_run, ..passed() });
        assert!(set.iter().any(|condition| {
            condition.reason.as_str() == reason && condition.message == "explicit deny"
        }));
        assert_eq!(set.last().map(|ready| ready.status), Some(Some(false)));
    }
    let checks = Checks { dry_run: DryRun::Disabled, ..passed() };
    let disabled = conditions(&al2023(), &good(), &checks);
    assert!(disabled.iter().any(|condition| condition.reason == ConditionReason::DryRunDisabled));
    assert_eq!(disabled.last().map(|ready| ready.status), Some(Some(true)));
}

#[test]
fn tags_that_a_launch_sets_itself_are_refused() {
    let mut class = al2023();
    class.tags.insert("kubernetes.io/cluster/other".to_owned(), "owned".to_owned());
    check(
        &class,
        &good(),
        &expect![[r"
        ValidationSucceeded no TagValidationFailed: tag `kubernetes.io/cluster/other` is taken
        Ready no UnhealthyDependents: ValidationSucceeded=False"]],
    );
    class.tags = [("Name".to_owned(), "mine".to_owned())].into();
    check(&class, &good(), &expect![[r""]]);
}

/// What a launch from `class` is refused for, one a line.
#[track_caller]
fn refused(class: &NodeClass, findings: &Findings, expected: &Expect) {
    let ready = readiness(class, findings, None);
    let words: Vec<String> = ready.obstacles().iter().map(ToString::to_string).collect();
    expected.assert_eq(&words.join("\n"));
    // What the status stands for besides is no matter of a single launch.
    let checks = Checks { has_instance_profile: false, dry_run: DryRun::Pending, ..passed() };
    assert_eq!(readiness(class, findings, Some(&checks)).obstacles(), ready.obstacles());
}

#[test]
fn a_launch_is_refused_for_all_that_is_missing() {
    refused(&al2023(), &good(), &expect![[""]]);
    let mut class = al2023();
    class.placement_group = Some(PlacementGroupTerm::Name("together".to_owned()));
    let nothing = Findings { images: Ok(0), subnets: 0, security_groups: 0, ..good() };
    refused(
        &class,
        &nothing,
        &expect![[r"
            SubnetsNotFound: spec.subnetSelectorTerms select no subnet
            SecurityGroupsNotFound: spec.securityGroupSelectorTerms select no security group
            AMINotFound: spec.amiSelectorTerms select no image
            PlacementGroupNotFound: spec.placementGroupSelector selects no placement group"]],
    );
    class.problems = vec![Problem::unusable("spec.tags", "too many")];
    class.is_deleting = true;
    refused(
        &class,
        &Findings { placement_group: Ok(true), ..good() },
        &expect![[r"
            spec.tags: too many
            EC2NodeClass is being deleted"]],
    );
}

#[test]
fn a_launch_template_of_ones_own_stands_for_all_that_is_in_it() {
    let mut class = al2023();
    let name: LaunchTemplateName = "mine".parse().unwrap();
    class.launch_template = TemplateSource::Named(name.clone());
    let without_groups = Findings { security_groups: 0, ..good() };
    refused(&class, &without_groups, &expect![[""]]);
    let gone = Err(TemplateProblem::NotFound(name));
    refused(
        &class,
        &Findings { launch_template: gone, images: Ok(0), ..without_groups.clone() },
        &expect!["LaunchTemplateNotFound: launch template `mine` is not there"],
    );
    let no_image = Findings { images: Ok(0), ..without_groups };
    refused(
        &class,
        &no_image,
        &expect!["AMINotFound: the image of launch template `mine` is not there"],
    );
    check(
        &class,
        &no_image,
        &expect![[r"
            AMIsReady no AMINotFound: the image of launch template `mine` is not there
            ValidationSucceeded no DependenciesNotReady: AMIsReady
            Ready no UnhealthyDependents: AMIsReady=False, ValidationSucceeded=False"]],
    );
}

#[test]
fn only_a_class_that_lacks_nothing_but_the_dry_run_awaits_it() {
    let pending = Checks { dry_run: DryRun::Pending, ..passed() };
    let awaits = |findings: &Findings, checks: Option<&Checks>| {
        readiness(&al2023(), findings, checks).awaits_dry_run()
    };
    assert!(awaits(&good(), Some(&pending)));
    assert!(!awaits(&good(), Some(&passed())));
    assert!(!awaits(&good(), None));
    assert!(!awaits(&Findings { subnets: 0, ..good() }, Some(&pending)));
    let without_profile = Checks { has_instance_profile: false, ..pending.clone() };
    assert!(!awaits(&good(), Some(&without_profile)));
}
