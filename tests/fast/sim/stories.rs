//! Hand-written stories, one behavior each.

use model::{CapacityType, DeletionReason};
use simulator::{Action, Happening, SpotTarget, WorldSettings};

use crate::world::{MANIFESTS, catalog, minute, runner, running, scale, sim, sim_of};

/// Plays the usual world with `actions`, each at its minute, for a number of minutes.
fn play(settings: WorldSettings, actions: Vec<(i64, Action)>, minutes: i64) -> simulator::Sim {
    let sim = sim(settings);
    for (at, action) in actions {
        sim.at(minute(at), action);
    }
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(minutes)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
    sim
}

#[test]
fn pods_get_nodes() {
    let sim = play(WorldSettings::default(), Vec::new(), 15);
    let summary = sim.summary();
    assert_eq!((summary.pods_placed, summary.pods_waiting), (15, 0));
    // Spot is cheaper than on-demand for all types of the catalog.
    assert_eq!(running(&sim, CapacityType::OnDemand), 0);
}

#[test]
fn a_spot_node_is_replaced_before_its_notice_ends() {
    let interrupt = Action::InterruptSpot(SpotTarget::Oldest);
    let sim = play(WorldSettings::default(), vec![(5, interrupt)], 20);
    let timeline = sim.timeline(0);
    let notice = timeline
        .iter()
        .find_map(|event| match &event.happening {
            Happening::SpotNotice { ends_at, .. } => Some((event.at, *ends_at)),
            _ => None,
        })
        .expect("a notice was given");
    let replaced = timeline
        .iter()
        .find(|event| {
            event.at > notice.0 && matches!(event.happening, Happening::InstanceLaunched { .. })
        })
        .expect("a replacement was launched");
    assert!(replaced.at < notice.1, "replaced at {}, notice ended at {}", replaced.at, notice.1);
    let deleted = timeline.iter().any(|event| {
        matches!(
            event.happening,
            Happening::ClaimDeleted { reason: DeletionReason::SpotInterrupted, .. }
        )
    });
    assert!(deleted);
}

#[test]
fn a_node_whose_instance_aws_will_change_is_replaced_in_order() {
    let change = Action::AnnounceChange(SpotTarget::Oldest);
    let sim = play(WorldSettings::default(), vec![(5, change)], 20);
    let timeline = sim.timeline(0);
    let deleted: Vec<_> = timeline
        .iter()
        .filter_map(|event| match &event.happening {
            Happening::ClaimDeleted { reason: DeletionReason::InstanceUnhealthy, .. } => {
                Some(event.at)
            }
            _ => None,
        })
        .collect();
    assert_eq!(deleted.len(), 1, "once, whatever is announced of a claim that is being deleted");
    let replaced = timeline.iter().any(|event| {
        event.at > deleted[0] && matches!(event.happening, Happening::InstanceLaunched { .. })
    });
    assert!(replaced);
    // Nothing was taken by force: every pod went by an eviction, and runs again.
    let summary = sim.summary();
    assert_eq!((summary.pods_lost, summary.pods_waiting), (0, 0));
    assert!(summary.evictions > 0);
}

#[test]
fn what_must_not_be_disrupted_leaves_a_spot_node_in_order_before_it_is_taken() {
    let protected = MANIFESTS.replace(
        "metadata: {labels: {app: ",
        "metadata: {annotations: {karpenter.sh/do-not-disrupt: \"true\"}, labels: {app: ",
    );
    assert!(protected != MANIFESTS);
    let sim = sim_of(WorldSettings::default(), &protected);
    for seconds in [0, 10, 20] {
        let at = minute(5) + jiff::SignedDuration::from_secs(seconds);
        sim.at(at, Action::InterruptSpot(SpotTarget::Any));
    }
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    let timeline = sim.timeline(0);
    let notices: Vec<_> = timeline
        .iter()
        .filter_map(|event| match &event.happening {
            Happening::SpotNotice { node: Some(node), ends_at, .. } => Some((node, *ends_at)),
            _ => None,
        })
        .collect();
    assert!(!notices.is_empty());
    for (taken, ends_at) in notices {
        let evicted = timeline.iter().filter(
            |event| matches!(&event.happening, Happening::PodEvicted { node, .. } if node == taken),
        );
        let times: Vec<_> = evicted.map(|event| event.at).collect();
        assert!(!times.is_empty(), "no pod was asked to leave {taken}");
        // Five seconds to end, and one visit each two.
        let latest = ends_at - jiff::SignedDuration::from_secs(2);
        assert!(times.iter().all(|at| *at < latest), "{taken}: {times:?}, taken at {ends_at}");
    }
    let lost = timeline.iter().filter(|e| matches!(e.happening, Happening::PodLost { .. }));
    assert_eq!(lost.count(), 0);
}

#[test]
fn empty_nodes_go() {
    let before = play(WorldSettings::default(), Vec::new(), 10).claims().len();
    let after =
        play(WorldSettings::default(), vec![(10, scale("web", 0)), (10, scale("store", 0))], 40);
    assert!(before > 0);
    assert_eq!((after.claims().len(), after.nodes().len()), (0, 0));
    assert_eq!(after.summary().nodes_by_type.len(), 0);
}

#[test]
fn an_offering_without_capacity_is_left_alone_and_another_taken() {
    let spot = catalog();
    let none = spot.instance_types.iter().flat_map(|instance_type| {
        let offerings = instance_type.offerings.iter();
        let spot = offerings.filter(|offering| offering.capacity_type == CapacityType::Spot);
        spot.map(|offering| {
            (
                0,
                Action::SetCapacity {
                    offering: instance_type.key_of(offering),
                    instances: Some(0),
                },
            )
        })
    });
    let sim = play(WorldSettings::default(), none.collect(), 20);
    assert_eq!(sim.summary().pods_waiting, 0);
    assert_eq!(running(&sim, CapacityType::Spot), 0);
    assert!(running(&sim, CapacityType::OnDemand) > 0);
}

#[test]
fn an_instance_that_never_joins_is_terminated_and_replaced() {
    let settings = WorldSettings { never_joins_per_mille: 500, ..WorldSettings::with_seed(3) };
    let sim = play(settings, Vec::new(), 80);
    assert_eq!(sim.summary().pods_waiting, 0);
    let deleted = sim.timeline(0).iter().any(|event| {
        matches!(
            event.happening,
            Happening::ClaimDeleted { reason: DeletionReason::NotRegistered, .. }
        )
    });
    assert!(deleted, "half of the instances never join, and none was deleted");
}

#[test]
fn a_repeated_event_changes_nothing_more() {
    let settings = WorldSettings {
        disorder: simulator::Disorder {
            duplicated_per_mille: 1_000,
            ..simulator::Disorder::default()
        },
        ..WorldSettings::default()
    };
    let once = play(WorldSettings::default(), Vec::new(), 15).summary();
    let twice = play(settings, Vec::new(), 15).summary();
    let count = |summary: &simulator::Summary| summary.launched.values().sum::<u32>();
    assert_eq!(count(&once), count(&twice));
}
