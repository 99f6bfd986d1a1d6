//! What EC2 and IAM do to a launch: each time the right claims are launched once, offerings cool
//! down, and nothing is leaked. The same faults over the wire: `shared/aws/tests/server.rs`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    CapacityType, ClusterName, ImageId, InstanceId, OfferingKey, labels,
    ledger::{Basis, Commit, CommitOutcome, Shortage, Snapshot},
};
use ports::{Discovery as _, Fault, Ledger as _};
use simulator::{Action, FaultRule, Happening, Injection, Sim, WorldSettings, first_calls};

use crate::world::{MANIFESTS, catalog, minute, node_class, runner, scale, sim, sim_of};

/// Plays the usual world under `rules`, with `actions` at their seconds.
fn play(settings: WorldSettings, rules: Vec<FaultRule>, actions: Vec<(i64, Action)>) -> Sim {
    let sim = sim(settings);
    for rule in rules {
        sim.add_rule(rule);
    }
    for (seconds, action) in actions {
        sim.at(sim.now().checked_add(SignedDuration::from_secs(seconds)).expect("a time"), action);
    }
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    check(&sim);
    sim
}

/// Every pod runs, no two claims have the same instance, and every instance has a claim.
#[track_caller]
fn check(sim: &Sim) {
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    let summary = sim.summary();
    // What was launched where others would not be may be replaced by what is cheaper since.
    let (mut moved, mut ended) = (0, BTreeSet::new());
    for event in sim.timeline(0) {
        match event.happening {
            Happening::PodEvicted { .. } => moved += 1,
            Happening::InstanceTerminated { instance, .. } => {
                ended.insert(instance);
            }
            _ => {}
        }
    }
    assert_eq!((summary.pods_placed, summary.pods_waiting), (15 + moved, 0));
    let instance_ids: Vec<InstanceId> =
        sim.claims().into_iter().filter_map(|claim| Some(claim.instance?.id)).collect();
    // A claim that replaces a node may still wait for its own.
    assert_eq!(instance_ids.iter().collect::<BTreeSet<_>>().len(), instance_ids.len());
    let launched: u32 = summary.launched.values().sum();
    ended.extend(instance_ids);
    assert_eq!(
        usize::try_from(launched).expect("a few"),
        ended.len(),
        "nothing was launched twice"
    );
}

#[test]
fn a_throttled_launch_is_repeated() {
    let throttled = Injection::FailBefore(Fault::Transient);
    play(WorldSettings::default(), vec![first_calls("Fleet.launch", 5, throttled)], Vec::new());
}

#[test]
fn a_launch_whose_answer_is_lost_is_not_launched_again() {
    let lost = Injection::FailAfter(Fault::Unknown);
    play(WorldSettings::default(), vec![first_calls("Fleet.launch", 2, lost)], Vec::new());
}

#[test]
fn launch_templates_that_vanish_are_made_again() {
    // Again and again while the first nodes are launched: between two calls, too.
    let vanish = (0..200).map(|tick| (tick / 10, Action::DeleteLaunchTemplates)).collect();
    play(WorldSettings::default(), Vec::new(), vanish);
}

#[test]
fn a_profile_that_ec2_does_not_see_yet_is_waited_for() {
    let profile_visible_after = SignedDuration::from_secs(20);
    let sim = play(
        WorldSettings { profile_visible_after, ..WorldSettings::default() },
        Vec::new(),
        Vec::new(),
    );
    assert!(sim.trace().iter().any(|line| line.contains("Profiles.ensure")));
}

#[test]
fn images_that_disappear_before_a_launch_are_not_launched_from() {
    // Both standard images of the alias go; a new build stands for them half a minute later.
    let settings = WorldSettings::default();
    let images = sim(settings.clone());
    let family = model::node_class::ImageFamily::Al2023;
    let term = model::node_class::ImageTerm::Alias { family, version: "latest".to_owned() };
    let version = settings.kubernetes_version.clone();
    let known = images.block_on(images.images(&[term], &version)).expect("an answer");
    let gone: Vec<ImageId> = known
        .expect("images")
        .into_iter()
        .filter(|image| image.requirements.get(labels::ARCH).is_some_and(|arch| arch.has("arm64")))
        .map(|image| image.id)
        .collect();
    assert!(!gone.is_empty());
    let actions = gone.iter().map(|image| (1, Action::DeregisterImage(image.clone()))).collect();
    let sim = play(settings, Vec::new(), actions);
    for claim in sim.claims() {
        let image = claim.instance.and_then(|instance| instance.image).expect("an image");
        assert!(!gone.contains(&image), "{image} is not there");
    }
}

/// What the pods of the usual world are launched as first, in every zone.
fn cheapest() -> BTreeSet<OfferingKey> {
    let offering = |zone: &model::Zone| OfferingKey {
        capacity_type: CapacityType::Spot,
        instance_type: "c7g.xlarge".parse().expect("a type"),
        zone: zone.clone(),
    };
    catalog().zones.keys().map(offering).collect()
}

/// The usual world, in which the cheapest offerings have no capacity.
fn without_the_cheapest() -> Sim {
    let sim = sim(WorldSettings::default());
    for offering in cheapest() {
        sim.act(Action::SetCapacity { offering, instances: Some(0) });
    }
    sim
}

fn snapshot(sim: &Sim, cluster: &ClusterName) -> Snapshot {
    sim.block_on(sim.snapshot(cluster)).expect("an answer").expect("a snapshot")
}

#[test]
fn offerings_without_capacity_are_unavailable() {
    let sim = without_the_cheapest();
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(2)).expect("nothing unsafe happens");
    let unavailable_offerings =
        snapshot(&sim, &WorldSettings::default().cluster).unavailable_offerings;
    let unavailable_offerings: BTreeSet<OfferingKey> = unavailable_offerings.into_keys().collect();
    assert!(!unavailable_offerings.is_empty(), "they were asked for");
    assert!(unavailable_offerings.is_subset(&cheapest()), "{unavailable_offerings:?}");
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn what_one_cluster_found_without_capacity_another_does_not_try() {
    let sim = without_the_cheapest();
    let other: ClusterName = "other".parse().expect("a name");
    let until = launch_template::unavailable_until(sim.now());
    let head = snapshot(&sim, &other).head;
    let commit = Commit {
        id: "interrupted".parse().expect("an id"),
        ledger: head.ledger,
        parent: head.counters,
        basis: Basis::Arrivals,
        started: BTreeMap::new(),
        ended: BTreeSet::new(),
        created: Vec::new(),
        adopted: Vec::new(),
        changed: Vec::new(),
        unavailable_offerings: cheapest().into_iter().map(|offering| (offering, until)).collect(),
        decisions: Vec::new(),
    };
    let committed = sim.block_on(sim.commit(&other, &commit)).expect("an answer");
    assert!(matches!(committed, Ok(CommitOutcome::Committed(_))), "{committed:?}");
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(2)).expect("nothing unsafe happens");
    assert!(sim.claims().iter().any(|claim| claim.instance.is_some()), "nodes were launched");
    // Had anybody asked for one, it would are unavailable for longer.
    assert_eq!(
        snapshot(&sim, &WorldSettings::default().cluster).unavailable_offerings,
        commit.unavailable_offerings
    );
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    check(&sim);
}

#[test]
fn a_fleet_that_brings_some_is_completed_when_capacity_comes_back() {
    let sim = sim(WorldSettings::default());
    let catalog = catalog();
    let offerings: Vec<OfferingKey> = catalog
        .instance_types
        .iter()
        .flat_map(|sold| sold.offerings.iter().map(move |offering| sold.key_of(offering)))
        .collect();
    let limit = |instances| {
        for offering in &offerings {
            sim.act(Action::SetCapacity { offering: offering.clone(), instances });
        }
    };
    limit(Some(0));
    let only = offerings
        .iter()
        .find(|offering| {
            offering.capacity_type == CapacityType::Spot
                && offering.instance_type.as_str() == "c7g.xlarge"
        })
        .expect("it is sold")
        .clone();
    sim.act(Action::SetCapacity { offering: only.clone(), instances: Some(1) });
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(4)).expect("nothing unsafe happens");
    let there: Vec<OfferingKey> =
        sim.claims().into_iter().filter_map(|claim| Some(claim.instance?.offering())).collect();
    assert_eq!(there, [only], "there was one");
    let summary = sim.summary();
    assert!(summary.pods_placed > 0 && summary.pods_waiting > 0, "{summary:?}");
    limit(None);
    // Cooling ends after three minutes.
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    assert_eq!(sim.check_liveness(), Vec::<String>::new());
    let summary = sim.summary();
    assert_eq!((summary.pods_placed, summary.pods_waiting), (15, 0));
}

/// A rule that lets EC2 refuse with `code` whatever is asked for under the first token that it sees.
fn first_batch_refused(code: &'static str) -> FaultRule {
    let mut first = None;
    Box::new(move |call, _| {
        if call.operation != "Fleet.launch" {
            return Injection::Pass;
        }
        let first = first.get_or_insert_with(|| call.subject.to_owned());
        if first == call.subject { Injection::Refuse(code) } else { Injection::Pass }
    })
}

#[test]
fn a_quota_that_a_whole_request_meets_sends_its_pods_elsewhere() {
    for code in [
        "VcpuLimitExceeded",
        "MaxSpotInstanceCountExceeded",
        "InsufficientFreeAddressesInSubnet",
        "UnfulfillableCapacity",
        "MaxFleetCountExceeded",
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
    ] {
        let sim = sim(WorldSettings::default());
        sim.add_rule(first_batch_refused(code));
        let (mut runner, _reports) = runner(&sim);
        runner.run_until(minute(1)).expect("nothing unsafe happens");
        let cluster = WorldSettings::default().cluster;
        let Snapshot { unavailable_offerings, shortages, .. } = snapshot(&sim, &cluster);
        assert!(!unavailable_offerings.is_empty() || !shortages.is_empty(), "{code}");
        // The table has an item for each mark: one for spot as a whole, and not one for each type in each zone.
        if code == "AuthFailure.ServiceLinkedRoleCreationNotPermitted" {
            assert_eq!(shortages.keys().collect::<Vec<_>>(), [&Shortage::Spot]);
            assert!(unavailable_offerings.is_empty(), "{}", unavailable_offerings.len());
        }
        let launched: u32 = sim.summary().launched.values().sum();
        assert!(launched > 0, "{code}: within a minute others are asked");
        runner.run_until(minute(15)).expect("nothing unsafe happens");
        check(&sim);
    }
}

#[test]
fn a_quota_that_every_spot_offering_meets_leaves_on_demand() {
    let mut settings = WorldSettings::default();
    settings.limits.quotas.spot_vcpus = Some(0);
    let sim = play(settings, Vec::new(), Vec::new());
    assert_eq!(crate::world::running(&sim, CapacityType::Spot), 0);
    let asked = sim.calls_by_action()[&simulator::ApiAction::ec2("CreateFleet")].answered;
    assert!(asked <= 40, "{asked} requests");
}

#[test]
fn a_request_without_rights_is_reported_and_made_again() {
    let until = minute(3);
    let refused: FaultRule = Box::new(move |call, _| {
        let is_asked = call.operation == "Fleet.launch" && call.now < until;
        if is_asked { Injection::Refuse("UnauthorizedOperation") } else { Injection::Pass }
    });
    let sim = sim(WorldSettings::default());
    sim.add_rule(refused);
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let claims = sim.claims();
    assert!(!claims.is_empty());
    for claim in claims {
        let told = claim.message.expect("a reason").to_string();
        assert!(told.starts_with("Unauthorized: UnauthorizedOperation: "), "{told}");
    }
    let asked = sim.trace().iter().filter(|line| line.contains(" Fleet.launch ")).count();
    let batches: BTreeSet<_> = sim.claims().into_iter().map(|claim| claim.batch).collect();
    assert!(asked <= 8 * batches.len(), "{asked} requests for {} batches", batches.len());
    runner.run_until(minute(15)).expect("nothing unsafe happens");
    check(&sim);
}

/// A second pool beside that of the usual world, with a class of its own, for a workload of its own.
const SECOND: &str = "
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: batch}
spec:
  replicas: 0
  selector: {matchLabels: {app: batch}}
  template:
    metadata: {labels: {app: batch}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: second}
      tolerations: [{key: second, operator: Exists}]
      containers:
        - {name: batch, image: batch, resources: {requests: {cpu: 900m, memory: 1Gi}}}
";

/// For two minutes EC2 supports nothing of what launches from a class ask for: how many nodes a second NodePool, with a
/// class of its own, has a minute after its pods came.
pub(crate) fn launched_beside_an_unsupported_class(settings: WorldSettings) -> usize {
    let pool = MANIFESTS.split("---\n").next().expect("the NodePool");
    let objects = pool.replace("name: general", "name: second") + "---\n" + node_class();
    let objects = objects.replace("name: default", "name: second").replace(
        "      requirements:",
        "      taints: [{key: second, effect: NoSchedule}]\n      requirements:",
    );
    let sim = sim_of(settings, &format!("{MANIFESTS}---\n{objects}{SECOND}"));
    sim.add_rule(Box::new(|call, _| {
        let is_first = call.operation == "Fleet.launch" && call.now < minute(2);
        if is_first { Injection::Refuse("Unsupported") } else { Injection::Pass }
    }));
    let (mut runner, _reports) = runner(&sim);
    runner.run_until(minute(2)).expect("nothing unsafe happens");
    assert!(sim.claims().iter().all(|claim| claim.instance.is_none()));
    sim.act(scale("batch", 6));
    runner.run_until(minute(3)).expect("nothing unsafe happens");
    let claims = sim.claims().into_iter().filter(|claim| claim.node_pool.as_str() == "second");
    claims.filter(|claim| claim.instance.is_some()).count()
}

#[test]
fn what_one_class_asks_for_in_vain_others_get() {
    assert_ne!(launched_beside_an_unsupported_class(WorldSettings::default()), 0);
}
