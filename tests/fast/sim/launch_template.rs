//! Nodes of a class that names a launch template of the user's own.

use model::{
    ConditionKind, ConditionReason, LaunchTemplateName, labels,
    node_class::{NodeClass, TemplateSource},
};
use ports::{NodeClasses as _, Profiles, Templates};
use simulator::{Action, ClusterObject, Sim, WorldSettings};

use crate::world::{minute, runner, scale, sim};

fn name() -> LaunchTemplateName {
    testkit::build::id("MyLaunchTemplate")
}

/// The usual world, with a launch template for its class.
fn with_template() -> Sim {
    let sim = sim(WorldSettings::default());
    let seen = sim.block_on(sim.observed_classes()).expect("an answer").expect("a listing");
    let class = seen.items.into_iter().map(|seen| seen.class).next().expect("a class");
    let class = NodeClass { launch_template: TemplateSource::Named(name()), ..class };
    sim.act(Action::Add(vec![ClusterObject::NodeClass(class)]));
    sim
}

fn reasons(sim: &Sim) -> Vec<(ConditionKind, ConditionReason)> {
    let status = sim.class_status(&testkit::build::id("default")).expect("it was told");
    let conditions = status.conditions.into_iter();
    conditions.map(|condition| (condition.kind, condition.reason)).collect()
}

#[test]
fn nodes_come_from_it_register_and_drain() {
    use ConditionKind::{AmisReady, InstanceProfileReady, Ready, SecurityGroupsReady};
    let sim = with_template();
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!((sim.summary().pods_placed, sim.summary().pods_waiting), (15, 0));
    // Its image is for one architecture, and there is one number of nodes and claims.
    let arch = |node: &model::node::Node| node.labels.get(labels::ARCH).cloned();
    assert!(sim.nodes().iter().all(model::node::Node::is_initialized));
    assert!(sim.nodes().iter().all(|node| arch(node).as_deref() == Some("amd64")));
    assert_eq!(sim.nodes().len(), sim.claims().len());
    // No instance profile was made, and no launch template.
    let cluster = WorldSettings::default().cluster;
    let made = sim.block_on(Templates::list(&sim, &cluster)).expect("an answer");
    assert_eq!(made.expect("a listing").len(), 0);
    let profiles = sim.block_on(Profiles::list(&sim, "/")).expect("an answer");
    assert_eq!(profiles.expect("a listing"), Vec::new());
    for kind in [AmisReady, SecurityGroupsReady, InstanceProfileReady] {
        let reason = (kind, ConditionReason::InLaunchTemplate);
        assert!(reasons(&sim).contains(&reason), "{:?}", reasons(&sim));
    }
    assert!(reasons(&sim).contains(&(Ready, ConditionReason::Holds(Ready))));
    sim.act(scale("web", 0));
    sim.act(scale("store", 0));
    runner.run_until(minute(45)).expect("nothing unsafe happens");
    assert_eq!((sim.claims().len(), sim.nodes().len()), (0, 0));
}

#[test]
fn one_that_is_not_there_launches_nothing_and_is_named() {
    let sim = with_template();
    sim.block_on(Templates::remove(&sim, &name())).expect("an answer").expect("it is gone");
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 0);
    assert!(
        reasons(&sim)
            .contains(&(ConditionKind::AmisReady, ConditionReason::LaunchTemplateNotFound)),
        "{:?}",
        reasons(&sim)
    );
    assert!(reasons(&sim).contains(&(ConditionKind::Ready, ConditionReason::UnhealthyDependents)));
}

#[test]
fn one_that_is_deleted_while_nodes_run_keeps_them_and_launches_no_more() {
    let sim = with_template();
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(10)).expect("nothing unsafe happens");
    let before = sim.summary().launched.values().sum::<u32>();
    assert!(before > 0);
    sim.act(Action::DeleteLaunchTemplates);
    sim.act(scale("web", 24));
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert_eq!(sim.summary().launched.values().sum::<u32>(), before);
    assert!(!sim.nodes().is_empty() && sim.summary().pods_waiting > 0);
}
