//! What goes wrong between us and EC2, on the wire: each time the right claims are launched once,
//! and nothing is leaked.

use std::{cell::Cell, collections::BTreeSet};

use jiff::SignedDuration;
use model::{CapacityType, OfferingKey};
use ports::{Fault, Ledger as _};
use simulator::{Action, Injection, WorldSettings, first_calls};
use testkit::build;
use tokio::task::LocalSet;

use super::world::World;

async fn open(settings: WorldSettings) -> World {
    World::open(settings, 1_000).await
}

fn on_demand(instance_type: &str, zone: &str) -> OfferingKey {
    OfferingKey {
        capacity_type: CapacityType::OnDemand,
        instance_type: build::id(instance_type),
        zone: build::id(zone),
    }
}

/// Lets no offering have more than `instances`.
fn limit_everything(world: &World, instances: Option<u32>) {
    for instance_type in ["c7i.large", "m7i.large", "m7i-flex.large"] {
        for zone in ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"] {
            let offering = on_demand(instance_type, zone);
            world.sim.act(Action::SetCapacity { offering, instances });
        }
    }
}

#[tokio::test]
async fn a_throttled_launch_is_repeated_later() {
    let play = async {
        let world = open(WorldSettings::default()).await;
        // The SDK tries three times, and the handler asks its queue for another one.
        let throttled = Injection::FailBefore(Fault::Transient);
        world.sim.add_rule(first_calls("CreateFleet", 7, throttled));
        world.sim.add_rule(first_calls("DescribeLaunchTemplates", 2, throttled));
        world.deploy(3);
        world.look().await;
        world.play(60).await;
        world.check_launched_once(3).await;
        assert_eq!(world.requests("CreateFleet"), 8);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn a_launch_whose_answer_is_lost_is_not_launched_again() {
    let play = async {
        let world = open(WorldSettings::default()).await;
        world.sim.add_rule(first_calls("CreateFleet", 3, Injection::FailAfter(Fault::Unknown)));
        world.deploy(3);
        world.look().await;
        world.play(60).await;
        world.check_launched_once(3).await;
        // What it brought is read back by its tag, before anything is asked for again.
        assert_eq!(world.requests("CreateFleet"), 3);
        assert!(world.requests("DescribeInstances") > 0);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn a_lost_launch_is_read_back_when_the_world_has_changed_since() {
    let play = async {
        let world = open(WorldSettings::default()).await;
        world.sim.add_rule(first_calls("CreateFleet", 3, Injection::FailAfter(Fault::Unknown)));
        world.deploy(2);
        world.look().await;
        // Enough for the first request, not for the next one.
        world.play(2).await;
        assert_eq!(world.requests("CreateFleet"), 3);
        let zones = ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"];
        for zone in zones {
            let offering = on_demand("c7i.large", zone);
            let price = build::price("0.0999");
            world.sim.act(Action::SetPrice { offering, price });
        }
        world.play(180).await;
        world.check_launched_once(2).await;
        let mismatches = world.sim.trace();
        let mismatches =
            mismatches.iter().filter(|line| line.contains("CreateFleet") && line.contains("fails"));
        assert!(mismatches.count() > 0, "the token was refused with the new content");
        assert!(world.requests("DescribeInstances") > 0);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn offerings_without_capacity_are_unavailable_and_others_are_taken() {
    let play = async {
        let world = open(WorldSettings::default()).await;
        let zones = ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"];
        for zone in zones {
            let offering = on_demand("c7i.large", zone);
            world.sim.act(Action::SetCapacity { offering, instances: Some(0) });
        }
        world.deploy(4);
        world.look().await;
        world.play(30).await;
        world.check_launched_once(4).await;
        let cluster = WorldSettings::default().cluster;
        let unavailable_offerings =
            world.sim.snapshot(&cluster).await.unwrap().unavailable_offerings;
        let names: BTreeSet<&str> =
            unavailable_offerings.keys().map(|offering| offering.instance_type.as_str()).collect();
        assert_eq!(names, BTreeSet::from(["c7i.large"]));
        assert!(world.sim.claims().iter().all(|claim| {
            claim.instance.as_ref().is_some_and(|i| i.instance_type.as_str() != "c7i.large")
        }));
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn a_fleet_that_brings_some_is_completed_when_capacity_comes_back() {
    let play = async {
        let world = open(WorldSettings::default()).await;
        limit_everything(&world, Some(0));
        let offering = on_demand("m7i.large", "us-west-2a");
        world.sim.act(Action::SetCapacity { offering, instances: Some(1) });
        world.deploy(3);
        world.look().await;
        world.play(30).await;
        assert_eq!(world.living().await.len(), 1, "there is one");
        limit_everything(&world, None);
        // Cooling ends after three minutes; then the schedule would look again.
        world.play(200).await;
        world.look().await;
        world.play(30).await;
        world.check_launched_once(3).await;
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn a_launch_template_that_vanishes_is_made_again() {
    let play = async {
        let mut world = open(WorldSettings::default()).await;
        let left = Cell::new(2);
        world.mischief = Some(Box::new(move |sim, _| {
            if left.get() > 0 {
                left.set(left.get() - 1);
                sim.act(Action::DeleteLaunchTemplates);
            }
        }));
        world.deploy(3);
        world.look().await;
        world.play(60).await;
        world.check_launched_once(3).await;
        assert!(world.requests("CreateLaunchTemplate") >= 2);
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn an_image_that_disappears_is_replaced_by_the_next_one() {
    let play = async {
        let mut world = open(WorldSettings::default()).await;
        world.mischief = Some(Box::new(|sim, _| {
            sim.act(Action::DeregisterImage(build::id("ami-0000000000000001")));
        }));
        let mut class = build::node_class("default");
        class.image_terms = ["ami-0000000000000001", "ami-0000000000000002"]
            .map(|id| model::node_class::ImageTerm::Id(build::id(id)))
            .into();
        world.deploy_with(2, class);
        world.look().await;
        world.play(60).await;
        world.check_launched_once(2).await;
        for claim in world.sim.claims() {
            let image = claim.instance.and_then(|instance| instance.image).unwrap();
            assert_eq!(image.as_str(), "ami-0000000000000002");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}

#[tokio::test]
async fn a_profile_that_ec2_does_not_see_yet_is_waited_for() {
    let play = async {
        let profile_visible_after = SignedDuration::from_secs(15);
        let world = open(WorldSettings { profile_visible_after, ..WorldSettings::default() }).await;
        world.deploy(2);
        world.look().await;
        world.play(60).await;
        world.check_launched_once(2).await;
        assert_eq!(world.requests("CreateInstanceProfile"), 1);
        assert!(world.requests("CreateFleet") > 1, "the first one came too early");
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}
