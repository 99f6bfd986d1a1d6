//! Commands of disruption, carried out: the replacement first, then the node that it replaces; and back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use journeyman::manifests;
use model::{
    CapacityType, DeletionReason, ImageId, NodeClaimName,
    disruption::DisruptionReason,
    labels,
    node_class::{ImageFamily, ImageTerm, NodeClass, SecurityGroupTerm, SubnetTerm},
};
use simulator::{Action, Happening, Sim, Span, WorldSettings};

use crate::world::{MANIFESTS, catalog, minute, renew_pools, runner, scale};

/// What the usual world is changed to: on-demand nodes of one architecture for one Deployment, which something
/// else makes ready, and which go one by one.
const CHANGES: [(&str, &str); 5] = [
    ("[spot, on-demand]", "[on-demand]"),
    (
        "consolidateAfter: 30s, budgets: [{nodes: \"50%\"}]",
        "consolidateAfter: 0s, budgets: [{nodes: \"1\"}]",
    ),
    ("replicas: 12", "replicas: 3"),
    ("replicas: 3\n  serviceName", "replicas: 0\n  serviceName"),
    (
        "expireAfter: Never",
        "expireAfter: Never\n      startupTaints: [{key: example.com/starting, effect: NoSchedule}]",
    ),
];

/// The manifests of the world of commands, whose nodes are of `architecture`.
fn text(architecture: &str) -> String {
    let mut text = MANIFESTS.replace("[amd64, arm64]", &format!("[{architecture}]"));
    for (usual, here) in CHANGES {
        assert!(text.contains(usual), "{usual}");
        text = text.replace(usual, here);
    }
    text
}

fn parsed(text: &str) -> Vec<simulator::ClusterObject> {
    let texts = [manifests::InputFile::named("commands.yaml", text)];
    manifests::parse(&texts).expect("the manifests are sound").objects
}

pub(crate) fn objects(architecture: &str) -> Vec<simulator::ClusterObject> {
    parsed(&text(architecture))
}

/// The world of commands: nodes that are ready once something else says so, and go one by one.
pub(crate) fn world(settings: WorldSettings) -> Sim {
    let sim = Sim::new(settings, catalog());
    sim.add(objects("arm64"));
    sim
}

/// The NodePool wants another architecture, from `minutes` on: every node drifts.
fn drift(sim: &Sim, minutes: i64) {
    renew_pools(sim, minute(minutes), objects("amd64"));
}

/// Plays to `minutes`: nothing unsafe happens, and nothing is left undone.
fn play(sim: &Sim, minutes: i64) {
    let (mut runner, _reports) = runner(sim);
    runner.run_until(minute(minutes)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert_eq!(sim.dead_letters(), Vec::new());
}

/// The EC2NodeClass is what `change` makes of it, from `minutes` on.
pub(crate) fn change_class(sim: &Sim, minutes: i64, change: fn(&mut NodeClass)) {
    let of_class = |object| match object {
        simulator::ClusterObject::NodeClass(class) => Some(class),
        _ => None,
    };
    let mut class = objects("arm64").into_iter().find_map(of_class).expect("a class");
    change(&mut class);
    sim.at(minute(minutes), Action::Add(vec![simulator::ClusterObject::NodeClass(class)]));
}

/// The images that nodes were launched from.
pub(crate) fn images(sim: &Sim) -> BTreeSet<ImageId> {
    let claims = sim.claims();
    claims.iter().filter_map(|claim| claim.image().cloned()).collect()
}

fn deleted(sim: &Sim) -> Vec<(Timestamp, NodeClaimName, DeletionReason)> {
    let deleted = sim.timeline(0).into_iter().filter_map(|event| match event.happening {
        Happening::ClaimDeleted { claim, reason } => Some((event.at, claim, reason)),
        _ => None,
    });
    deleted.collect()
}

/// When nodes became ready.
fn ready(sim: &Sim) -> Vec<Timestamp> {
    let timeline = sim.timeline(0).into_iter();
    let ready = timeline.filter(|event| matches!(event.happening, Happening::NodeReady { .. }));
    ready.map(|event| event.at).collect()
}

fn is_tainted(sim: &Sim) -> bool {
    let nodes = sim.nodes();
    let mut taints = nodes.iter().flat_map(|node| &node.taints);
    taints.any(|taint| taint.key == labels::DISRUPTED_TAINT)
}

/// Whether all nodes are what the NodePool wants.
fn is_renewed(sim: &Sim) -> bool {
    let nodes = sim.nodes();
    let mut architectures = nodes.iter().map(|node| node.labels.get("kubernetes.io/arch"));
    architectures.all(|label| label.is_some_and(|label| label == "amd64"))
}

/// When pods were evicted.
fn evicted(sim: &Sim) -> Vec<Timestamp> {
    let timeline = sim.timeline(0).into_iter();
    let evicted = timeline.filter(|event| matches!(event.happening, Happening::PodEvicted { .. }));
    evicted.map(|event| event.at).collect()
}

#[test]
fn a_cheaper_node_is_there_before_the_dearer_one_goes() {
    let sim = world(WorldSettings::default());
    sim.at(minute(6), scale("web", 1));
    play(&sim, 20);
    let deleted = deleted(&sim);
    let [(at, _, reason)] = deleted.as_slice() else { panic!("{deleted:?}") };
    assert_eq!(*reason, DeletionReason::Disrupted(DisruptionReason::Underutilized));
    let ready = ready(&sim);
    assert_eq!(ready.len(), 2);
    assert!(ready[1] < *at, "deleted at {at}, and its replacement was ready at {}", ready[1]);
    let claims = sim.claims();
    let types: Vec<&str> =
        claims.iter().filter_map(|c| Some(c.instance.as_ref()?.instance_type.as_str())).collect();
    assert_eq!(types, ["m7g.large"]);
    // Its pod moved once, straight onto the replacement.
    assert_eq!(evicted(&sim).len(), 1);
    let launched: u32 = sim.summary().launched.values().sum();
    assert_eq!(launched, 2);
}

#[test]
fn nodes_of_a_former_image_are_replaced() {
    let sim = world(WorldSettings::default());
    sim.at(minute(0), scale("web", 12));
    play(&sim, 8);
    let (before, nodes) = (images(&sim), sim.nodes().len());
    assert!(before.len() == 1 && nodes > 1 && deleted(&sim).is_empty());
    change_class(&sim, 8, |class| {
        let version = "v20260101".to_owned();
        class.image_terms = vec![ImageTerm::Alias { family: ImageFamily::Al2023, version }];
    });
    play(&sim, 60);
    let after = images(&sim);
    assert!(after.len() == 1 && after.is_disjoint(&before), "{before:?} {after:?}");
    let drifted = DeletionReason::Disrupted(DisruptionReason::Drifted);
    let deleted = deleted(&sim);
    assert!(deleted.len() >= nodes && deleted.iter().all(|(_, _, why)| *why == drifted));
}

#[test]
fn nodes_of_a_former_template_or_class_are_replaced() {
    let changes = [
        ("  template:\n", "  template:\n    metadata: {labels: {team: b}}\n"),
        ("  template:\n", "  template:\n    metadata: {annotations: {example.com/team: b}}\n"),
        (
            "expireAfter: Never",
            "expireAfter: Never\n      taints: [{key: a, effect: PreferNoSchedule}]",
        ),
        ("expireAfter: Never", "expireAfter: 720h"),
        ("expireAfter: Never", "expireAfter: Never\n      terminationGracePeriod: 1h"),
        ("  role: ", "  tags: {team: b}\n  role: "),
        ("  role: ", "  detailedMonitoring: true\n  role: "),
    ];
    for (usual, changed) in changes {
        let before = text("arm64");
        let after = before.replacen(usual, changed, 1);
        assert_ne!(before, after, "{usual}");
        let sim = world(WorldSettings::default());
        play(&sim, 8);
        let nodes = sim.nodes().len();
        assert!(0 < nodes && deleted(&sim).is_empty(), "{changed}: {:?}", deleted(&sim));
        sim.at(minute(8), Action::Add(parsed(&after)));
        play(&sim, 40);
        let deleted = deleted(&sim);
        let drifted = DeletionReason::Disrupted(DisruptionReason::Drifted);
        let is_each_drifted = deleted.iter().all(|(_, _, reason)| *reason == drifted);
        assert!(nodes <= deleted.len() && is_each_drifted, "{changed}: {deleted:?}");
    }
}

/// The tags of another network.
fn other_network() -> BTreeMap<String, String> {
    BTreeMap::from([("karpenter.sh/discovery".to_owned(), "other".to_owned())])
}

#[test]
fn nodes_in_a_former_network_are_replaced() {
    let subnets: fn(&mut NodeClass) =
        |class| class.subnet_terms = vec![SubnetTerm::Tags(other_network())];
    let groups: fn(&mut NodeClass) =
        |class| class.security_group_terms = vec![SecurityGroupTerm::Tags(other_network())];
    for change in [subnets, groups] {
        let sim = world(WorldSettings::default());
        sim.at(minute(0), scale("web", 12));
        play(&sim, 8);
        let before: BTreeSet<NodeClaimName> =
            sim.claims().into_iter().map(|claim| claim.name).collect();
        assert!(!before.is_empty() && deleted(&sim).is_empty());
        change_class(&sim, 8, change);
        play(&sim, 60);
        let claims = sim.claims();
        assert!(claims.iter().all(|claim| !before.contains(&claim.name)), "{before:?}");
        assert!(claims.iter().all(|claim| claim.conditions.drifted.is_none()));
        let drifted = DeletionReason::Disrupted(DisruptionReason::Drifted);
        assert!(deleted(&sim).iter().all(|(_, _, why)| *why == drifted));
    }
}

#[test]
fn drifted_nodes_are_replaced_one_after_the_other_within_their_budget() {
    let sim = world(WorldSettings::default());
    sim.at(minute(0), scale("web", 12));
    drift(&sim, 8);
    play(&sim, 40);
    assert!(is_renewed(&sim));
    assert!(!is_tainted(&sim));
    let deleted = deleted(&sim);
    let drifted = DeletionReason::Disrupted(DisruptionReason::Drifted);
    assert!(deleted.len() >= 3 && deleted.iter().all(|(_, _, reason)| *reason == drifted));
    // Each goes when its replacement is there, and the next one only then.
    let gone: Vec<Timestamp> = sim
        .timeline(0)
        .into_iter()
        .filter(|event| matches!(event.happening, Happening::NodeRemoved { .. }))
        .map(|event| event.at)
        .collect();
    for (place, (at, _, _)) in deleted.iter().enumerate() {
        let before = ready(&sim).iter().filter(|ready| **ready < *at).count();
        assert!(deleted.len() + place < before, "{place}: {before} nodes were ready");
        let next = deleted.get(place + 1);
        assert!(next.is_none_or(|(next, _, _)| gone[place] <= *next), "two at once");
    }
}

#[test]
fn a_replacement_that_does_not_start_in_time_is_waited_for_no_longer_and_its_node_serves_again() {
    let settings = WorldSettings {
        startup_taints_gone_after: Span::from_secs(11 * 60, 11 * 60),
        ..WorldSettings::default()
    };
    let sim = world(settings);
    drift(&sim, 20);
    let (mut runner, reports) = runner(&sim);
    let rolled_back = |reports: &dispatch::Reports| {
        let plans = reports.take().into_iter().filter_map(|decided| decided.report.plan);
        let decisions = plans.flat_map(|plan| plan.decisions);
        let told = decisions.filter(|decision| decision.summary.ends_with("rolled back"));
        told.flat_map(|decision| decision.rejected).map(|why| why.to_string()).collect::<Vec<_>>()
    };
    // The replacement is on its way, and no new pod goes onto the node.
    runner.run_until(minute(25)).expect("nothing unsafe happens");
    assert!(is_tainted(&sim));
    assert_eq!(rolled_back(&reports), Vec::<String>::new());
    // Eleven minutes are too long.
    let end = minute(31).checked_add(SignedDuration::from_secs(30)).expect("a time");
    runner.run_until(end).expect("nothing unsafe happens");
    assert!(!is_tainted(&sim));
    assert_eq!(deleted(&sim), Vec::new());
    assert_eq!(evicted(&sim), Vec::new());
    let running = sim.claims().iter().filter(|claim| claim.instance.is_some()).count();
    assert_eq!(running, 2);
    // Once it has started after all, it is a node like any other, and no pod is on it.
    runner.run_until(minute(34)).expect("nothing unsafe happens");
    let reasons: Vec<DeletionReason> = deleted(&sim).iter().map(|(_, _, reason)| *reason).collect();
    assert_eq!(reasons, [DeletionReason::Disrupted(DisruptionReason::Empty)]);
    assert_eq!(evicted(&sim), Vec::new());
    let late = rolled_back(&reports);
    let [why] = late.as_slice() else { panic!("{late:?}") };
    assert!(why.ends_with("was not ready within 10 minutes"), "{why}");
}

#[test]
fn without_capacity_a_drifted_node_stays() {
    let sim = world(WorldSettings::default());
    for sold in &catalog().instance_types {
        for offering in sold.offerings.iter().filter(|o| o.capacity_type == CapacityType::OnDemand)
        {
            let offering = sold.key_of(offering);
            sim.at(
                minute(7),
                Action::SetCapacity { offering: offering.clone(), instances: Some(0) },
            );
            sim.at(minute(30), Action::SetCapacity { offering, instances: None });
        }
    }
    drift(&sim, 8);
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(30)).expect("nothing unsafe happens");
    assert_eq!(deleted(&sim), Vec::new());
    assert_eq!(evicted(&sim), Vec::new());
    runner.run_until(minute(45)).expect("nothing unsafe happens");
    assert!(is_renewed(&sim));
    assert!(!is_tainted(&sim));
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
}

#[test]
fn a_rolling_replacement_of_many_nodes_keeps_to_its_budget_and_ends() {
    let sim = world(WorldSettings::default());
    let ten_percent = |mut pool: model::node_pool::NodePool| {
        let nodes = model::node_pool::BudgetNodes::Percent(10);
        pool.disruption.budgets.iter_mut().for_each(|budget| budget.nodes = nodes);
        pool.limits = model::node_pool::Limits::default();
        pool
    };
    for (architecture, minutes) in [("arm64", 0), ("amd64", 20)] {
        let pools = objects(architecture).into_iter().filter_map(|object| match object {
            simulator::ClusterObject::NodePool(pool) => {
                Some(simulator::ClusterObject::NodePool(ten_percent(pool)))
            }
            _ => None,
        });
        sim.at(minute(minutes), Action::Add(pools.collect()));
    }
    sim.at(minute(1), scale("web", 240));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(20)).expect("nothing unsafe happens");
    let (claims, pods) = (sim.claims().len(), sim.summary().pods_placed);
    assert!((60..=80).contains(&claims), "{claims} nodes for {pods} pods");
    let (mut minutes, mut most) = (20, 0);
    while !is_renewed(&sim) && minutes < 80 {
        minutes += 1;
        runner.run_until(minute(minutes)).expect("nothing unsafe happens");
        let claims = sim.claims();
        let going = claims.iter().filter(|claim| claim.is_deleting()).count();
        most = most.max(going);
        assert!(going <= claims.len().div_ceil(10) + 1, "{going} of {} go", claims.len());
    }
    // All that the budget allows begin at once.
    let timeline = sim.timeline(0).into_iter().filter(|event| minute(20) <= event.at);
    let mut created = timeline
        .filter(|event| matches!(event.happening, Happening::ClaimCreated { .. }))
        .map(|event| event.at);
    let first = created.next().expect("a replacement is created");
    let together = created.filter(|at| at.duration_since(first) < SignedDuration::from_secs(5));
    assert!(together.count() >= 4, "one after the other");
    println!("{claims} nodes renewed within {} minutes, {most} drained at once", minutes - 20);
    assert!(is_renewed(&sim), "{claims} nodes are not renewed within an hour");
    assert!(minutes <= 20 + 40, "{claims} nodes took {} minutes", minutes - 20);
    runner.run_until(minute(minutes + 10)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    assert!(!is_tainted(&sim));
    // Each pod moved once or twice: never for a replacement that was not there.
    let lost = sim
        .timeline(0)
        .into_iter()
        .filter(|event| matches!(event.happening, Happening::PodLost { .. }));
    assert_eq!(lost.count(), 0);
}
