//! What each finding makes of the conditions.

use expect_test::{Expect, expect};
use model::node_class::PlacementGroupTerm;

use super::*;
use crate::testing::class;

fn good() -> Findings {
    Findings {
        launch_template: Ok(()),
        images: Ok(2),
        subnets: 3,
        security_groups: 1,
        has_instance_profile: true,
        placement_group: Ok(false),
        has_service_cidr: true,
        dry_run: DryRun::Passed,
    }
}

/// What is not true of `class` with `found`.
#[track_caller]
fn check(class: &NodeClass, found: &Findings, expected: &Expect) {
    let all = conditions(class, found, true);
    let shown = all.iter().filter(|condition| condition.status != Some(true)).map(|condition| {
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
    let all = conditions(&al2023(), &good(), true);
    let kinds: Vec<&str> = all.iter().map(|condition| condition.kind).collect();
    expect!["AMIsReady SubnetsReady SecurityGroupsReady InstanceProfileReady CapacityReservationsReady PlacementGroupReady ValidationSucceeded Ready"].assert_eq(&kinds.join(" "));
    let without = conditions(&al2023(), &good(), false);
    assert!(without.iter().all(|condition| condition.kind != "CapacityReservationsReady"));
}

#[test]
fn what_is_wrong_with_kubelet_is_said_before_what_is_missing() {
    let nothing = Findings { subnets: 0, ..good() };
    let with = |fault: KubeletFault| {
        let mut class = al2023();
        class.kubelet.fault = Some(fault);
        class.problems = vec!["words".to_owned()];
        let all = conditions(&class, &nothing, true);
        let validation = all.into_iter().find(|one| one.kind == "ValidationSucceeded").unwrap();
        format!("{:?} {}: {}", validation.status, validation.reason, validation.message)
    };
    let words = || "words".to_owned();
    let invalid = with(KubeletFault::Invalid(words()));
    assert_eq!(invalid, "Some(false) InvalidKubeletConfiguration: words");
    let expressions = with(KubeletFault::HasExpressions(words()));
    assert_eq!(expressions, "Some(false) KubeletExpressionsDisabled: words");
    let family = with(KubeletFault::UnsupportedByFamily(words()));
    assert_eq!(family, "Some(false) UnsupportedKubeletConfiguration: words");
}

#[test]
fn everything_that_is_wrong_with_a_class_is_said_at_once() {
    let mut class = al2023();
    let wrong = ["spec.kubelet.maxpods: unknown field", "spec.kubelet.syncFrequency: no time"];
    class.kubelet.fault = Some(KubeletFault::Invalid(wrong.join("; ")));
    let others = ["spec.context: not supported yet", "spec.tags: too many"];
    class.problems = wrong.into_iter().chain(others).map(str::to_owned).collect();
    check(
        &class,
        &good(),
        &expect![[r"
        ValidationSucceeded no InvalidKubeletConfiguration: spec.kubelet.maxpods: unknown field; spec.kubelet.syncFrequency: no time; spec.context: not supported yet; spec.tags: too many
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
    check(
        &al2023(),
        &Findings { has_instance_profile: false, ..good() },
        &expect![[r"
        InstanceProfileReady ? AwaitingReconciliation: the instance profile is not known yet
        ValidationSucceeded ? DependenciesNotReady: InstanceProfileReady
        Ready ? ReconcilingDependents: InstanceProfileReady=Unknown, ValidationSucceeded=Unknown"]],
    );
}

#[test]
fn only_al2023_needs_the_addresses_of_services() {
    let unknown = Findings { has_service_cidr: false, ..good() };
    check(
        &al2023(),
        &unknown,
        &expect![[r"
        ValidationSucceeded no ClusterCIDRResolutionFailed: the CIDR of the cluster's services is not known
        Ready no UnhealthyDependents: ValidationSucceeded=False"]],
    );
    check(&class(ImageFamily::Bottlerocket).class, &unknown, &expect![[r""]]);
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
    ] {
        let dry_run = DryRun::Failed(check, "explicit deny".to_owned());
        let all = conditions(&al2023(), &Findings { dry_run, ..good() }, true);
        assert!(all.iter().any(|condition| {
            condition.reason == reason && condition.message == "explicit deny"
        }));
        assert_eq!(all.last().map(|ready| ready.status), Some(Some(false)));
    }
    let disabled = conditions(&al2023(), &Findings { dry_run: DryRun::Disabled, ..good() }, true);
    assert!(disabled.iter().any(|condition| condition.reason == "DryRunDisabled"));
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
