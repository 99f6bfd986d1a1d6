//! Trying EC2NodeClasses out, on the wire: EC2 checks, and nothing is launched.

use handlers::DryRuns;
use jiff::SignedDuration;
use model::{
    ConditionKind, ConditionReason,
    node_class::{NodeClass, NodeIdentity},
    validation::FailedCheck,
};
use ports::Fault;
use simulator::{FaultRule, Injection, WorldSettings, first_calls};
use testkit::build;
use tokio::task::LocalSet;

use super::world::World;

/// What becomes of trying the usual class out under `rules`: the failed check, `passed` or `open`.
async fn tried(
    settings: WorldSettings,
    class: NodeClass,
    rules: Vec<FaultRule>,
) -> (World, String) {
    let world = World::open(settings, 1_000).await;
    world.deploy_with(0, class);
    for rule in rules {
        world.sim.add_rule(rule);
    }
    let validation = world.validation("default").await;
    let word = match validation.map(|validation| validation.failure) {
        None => "open".to_owned(),
        Some(None) => "passed".to_owned(),
        Some(Some((check, why))) => format!("{check}: {why}"),
    };
    assert!(world.living().await.is_empty(), "nothing was launched");
    assert!(world.sim.summary().launched.is_empty(), "and nothing ever was");
    (world, word)
}

fn first(operation: &'static str, times: u32, fault: Fault) -> Vec<FaultRule> {
    vec![first_calls(operation, times, Injection::FailBefore(fault))]
}

#[tokio::test]
async fn a_good_class_passes_and_nothing_is_tried_twice() {
    let play = async {
        let class = build::node_class("default");
        let (world, word) = tried(WorldSettings::default(), class.clone(), Vec::new()).await;
        assert_eq!(word, "passed");
        let (fleets, runs) = (world.requests("CreateFleet"), world.requests("RunInstances"));
        // The launch template is tried, and then it is made.
        assert_eq!((world.requests("CreateLaunchTemplate"), fleets, runs), (2, 1, 1));
        let throttled = first("CreateFleet", 1, Fault::Transient);
        let (world, word) = tried(WorldSettings::default(), class, throttled).await;
        assert_eq!((word.as_str(), world.requests("CreateFleet")), ("open", 1));
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn what_is_forbidden_is_kept_with_its_check() {
    let play = async {
        for (operation, times, check) in [
            ("CreateLaunchTemplate", 1, FailedCheck::CreateLaunchTemplate),
            ("CreateFleet", 1, FailedCheck::CreateFleet),
            ("RunInstances", 4, FailedCheck::RunInstances),
        ] {
            let class = build::node_class("default");
            let rules = first(operation, times, Fault::Permanent);
            let (_, word) = tried(WorldSettings::default(), class, rules).await;
            assert!(word.starts_with(&check.to_string()), "{operation}: {word}");
            assert!(word.contains(&format!("ec2:{operation}")), "{word}");
        }
        let rules = first("RunInstances", 3, Fault::Permanent);
        let class = build::node_class("default");
        assert_eq!(
            tried(WorldSettings::default(), class, rules).await.1,
            "passed",
            "one is enough"
        );
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn a_profile_that_ec2_does_not_see_is_waited_for() {
    let play = async {
        let profile_visible_after = SignedDuration::from_mins(3);
        let settings = WorldSettings { profile_visible_after, ..WorldSettings::default() };
        let class = build::node_class("default");
        let (world, word) = tried(settings, class, Vec::new()).await;
        assert_eq!(word, "open");
        world.pass(200);
        assert_eq!(world.validation("default").await.unwrap().failure, None);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn no_dry_run_is_made_where_that_is_disabled() {
    let play = async {
        let mut class = build::node_class("default");
        class.identity = NodeIdentity::InstanceProfile("nodes".to_owned());
        let world = World::open(WorldSettings::default(), 1_000).await;
        world.deploy_with(0, class);
        for (dry_runs, expected) in [
            (DryRuns::Disabled, (Some(true), ConditionReason::DryRunDisabled)),
            (DryRuns::Enabled, (None, ConditionReason::AwaitingReconciliation)),
        ] {
            world.resolve_with(dry_runs).await;
            let status = world.sim.class_status(&build::id("default")).unwrap();
            let kind = ConditionKind::ValidationSucceeded;
            let mut conditions = status.conditions.into_iter();
            let condition = conditions.find(|condition| condition.kind == kind).unwrap();
            assert_eq!((condition.status, condition.reason), expected);
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}
