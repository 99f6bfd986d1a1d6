//! That no more is asked of AWS than Karpenter asks of it.

use std::collections::BTreeSet;

use handlers::Settings;
use jiff::SignedDuration;
use model::{BatchId, ClaimPhase, Function};
use simulator::{
    Action, ApiAction, ApiService, Chance, Happening, SpotTarget, TimelineEvent, WorldSettings,
};

use super::fleet::{fleet, fleet_with, has_initialized};
use crate::settings::settings;

/// What Karpenter sends in an idle hour of one EC2NodeClass and few nodes, by the periods and caches of its AWS
/// provider: `pkg/controllers/nodeclass`, `pkg/controllers/nodeclaim/garbagecollection`, `pkg/cache/cache.go`.
const KARPENTER_IN_AN_HOUR: [(&str, u64); 13] = [
    ("ec2:CreateFleet", 2),
    ("ec2:CreateLaunchTemplate", 2),
    ("ec2:DescribeImages", 12),
    ("ec2:DescribeInstanceStatus", 180),
    ("ec2:DescribeInstances", 30),
    ("ec2:DescribeLaunchTemplates", 2),
    ("ec2:DescribeSecurityGroups", 12),
    ("ec2:DescribeSubnets", 60),
    ("ec2:RunInstances", 2),
    ("eks:DescribeCluster", 12),
    ("iam:GetInstanceProfile", 4),
    ("iam:ListInstanceProfiles", 2),
    ("ssm:GetParameter", 1),
];

#[test]
fn an_idle_hour_asks_no_more_than_karpenter_does() {
    check_idle_hour(Settings::default(), &[]);
}

/// Karpenter asks each 30 seconds: `pkg/controllers/zonalshift`.
#[test]
fn an_idle_hour_asks_for_zonal_shifts_no_more_often_than_karpenter_does() {
    let asked = ("arc-zonal-shift:GetManagedResource", 120);
    check_idle_hour(settings(&[("EnableZonalShift", "true")]), &[asked]);
}

/// Asks no more of AWS than Karpenter does, which asks for what is `besides`, too.
#[track_caller]
fn check_idle_hour(settings: Settings, besides: &[(&str, u64)]) {
    let mut fleet = fleet_with(settings, 1);
    fleet.grow(3, 3);
    // What is kept for fifteen minutes was asked for when the nodes came.
    fleet.pass(3_600);
    let before = fleet.sim.meter();
    fleet.pass(3_600);
    let used = fleet.used_since(&before);
    for (action, count) in used.requests() {
        if matches!(action.service, ApiService::DynamoDb | ApiService::Kubernetes | ApiService::Sqs)
        {
            continue;
        }
        let name = action.to_string();
        let theirs = KARPENTER_IN_AN_HOUR
            .iter()
            .chain(besides)
            .find(|(known, _)| *known == name)
            .map_or(0, |(_, count)| *count);
        assert!(count.answered <= theirs, "{name}: {}, Karpenter {theirs}", count.answered);
    }
    for (name, _) in besides {
        let mut names = used.requests().into_keys().map(|action| action.to_string());
        assert!(names.any(|asked| asked == *name), "{name} is not asked");
    }
}

#[test]
fn ec2_is_asked_once_to_terminate_an_instance() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(2, 2);
    let before = fleet.sim.meter();
    let claim = fleet.sim.claims().into_iter().next().expect("a claim");
    fleet.sim.act(Action::DeleteNodeClaim(claim.name.clone()));
    let taken = fleet.until(600, |sim| sim.claims().iter().all(|other| other.name != claim.name));
    assert!(taken < 600, "the claim is still there");
    let used = fleet.used_since(&before);
    assert_eq!(used.answered(ApiAction::ec2("TerminateInstances")), 1);
}

/// Karpenter closes a batch each second: 4 launches and 10 terminations. A launch of ours is for 100 instances at most,
/// which can make one more of them. Which pods are seen in one look is chance: it holds for what stories take together,
/// and none takes much more.
#[test]
fn a_mass_interruption_shares_requests() {
    let (mut all_launches, mut all_terminations) = (0, 0);
    for seed in 1..=5 {
        let mut fleet = fleet(WorldSettings { seed, ..WorldSettings::default() }, 1);
        fleet.grow(400, 400);
        let before = fleet.sim.meter();
        fleet.interrupt(200, 10_000);
        fleet.pass(110);
        let used = fleet.used_since(&before);
        let asked = |name| used.answered(ApiAction::ec2(name));
        let (launches, terminations) = (asked("CreateFleet"), asked("TerminateInstances"));
        let story = format!("seed {seed}: {launches} launches, {terminations} terminations");
        assert!((2..=7).contains(&launches) && (1..=7).contains(&terminations), "{story}");
        all_launches += launches;
        all_terminations += terminations;
    }
    let story = format!("{all_launches} launches, {all_terminations} terminations in 5 stories");
    assert!(all_launches <= 5 * 5 && all_terminations <= 6 * 5, "{story}");
}

#[test]
fn a_few_nodes_of_many_are_drained_without_a_list_of_everything() {
    let lists = |deleted: usize| {
        let mut fleet = fleet(WorldSettings::default(), 1);
        fleet.grow(600, 600);
        let before = fleet.sim.meter();
        fleet.interrupt(deleted, 1_000);
        fleet.pass(60);
        let asked = fleet.used_since(&before).requests_of(Function::Drain);
        asked.get(&ApiAction::kubernetes("list nodes")).map_or(0, |count| count.answered)
    };
    assert_eq!(lists(55), 0);
    assert!(0 < lists(120));
}

#[test]
fn a_claim_whose_instance_is_ending_says_so() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.grow(2, 2);
    let claim = fleet.sim.claims().into_iter().next().expect("a claim");
    fleet.sim.act(Action::DeleteNodeClaim(claim.name));
    let taken = fleet.until(600, |sim| {
        let claims = sim.claims();
        let deleting = claims.iter().find(|claim| claim.phase == ClaimPhase::Deleting);
        let conditions = deleting.map(|claim| &claim.conditions);
        conditions.is_some_and(|conditions| {
            conditions.drained_since.is_some() && conditions.instance_terminating_since.is_some()
        })
    });
    assert!(taken < 600, "nothing says so");
}

#[test]
fn launches_of_a_minute_ask_once_where_addresses_are_free() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    let before = fleet.sim.meter();
    fleet.scale(1);
    fleet.pass(15);
    fleet.scale(2);
    fleet.until(600, has_initialized(2));
    let used = fleet.used_since(&before);
    let asked = used.requests_of(Function::Launch);
    let count = |name| asked.get(&ApiAction::ec2(name)).map_or(0, |count| count.answered);
    assert_eq!((count("CreateFleet"), count("DescribeSubnets")), (2, 1));
}

#[test]
fn passes_side_by_side_ask_for_a_batch_once() {
    let mut fleet = fleet(WorldSettings::default(), 1);
    fleet.pass(90);
    fleet.scale(1_000);
    fleet.until(600, has_initialized(1_000));
    fleet.pass(600);
    let (before, began) = (fleet.sim.meter(), fleet.sim.now());
    let mut chance = Chance::new(7);
    for claim in fleet.sim.claims().into_iter().take(500) {
        let instance = claim.instance.expect("an instance").id;
        let millis = i64::try_from(chance.below(10_000)).expect("a number");
        let at = began.checked_add(SignedDuration::from_millis(millis)).expect("a time");
        fleet.sim.at(at, Action::InterruptSpot(SpotTarget::Instance(instance)));
    }
    fleet.pass(15);
    fleet.until(600, has_initialized(1_000));
    let is_new = |claim: &model::NodeClaim| began <= claim.created_at;
    let claims = fleet.sim.claims().into_iter().filter(is_new);
    let batches: BTreeSet<BatchId> = claims.map(|claim| claim.batch).collect();
    let used = fleet.used_since(&before);
    let asked = used.answered(ApiAction::ec2("CreateFleet"));
    assert_eq!(usize::try_from(asked).ok(), Some(batches.len()));
}

/// `JOURNEYMAN_SEEDS` worlds, and one without it.
#[test]
fn a_thousand_notices_in_a_second_are_answered_within_fifteen() {
    for seed in 1..=tests::variable("JOURNEYMAN_SEEDS").unwrap_or(1) {
        let times = answered_after(seed, 1_000);
        assert_eq!(times.len(), 1_000, "seed {seed}");
        let last = times.last();
        assert!(last.is_some_and(|last| *last <= 15_000), "seed {seed}: {last:?} ms");
    }
}

/// Milliseconds until each of `count` notices that come within a second is answered by a commit, in order.
fn answered_after(seed: u64, count: usize) -> Vec<i128> {
    let mut fleet = fleet(WorldSettings { seed, ..WorldSettings::default() }, 1);
    fleet.grow(1_000, 1_000);
    let from = fleet.sim.timeline(0).len();
    let began = fleet.sim.now();
    fleet.interrupt(count, 1_000);
    fleet.pass(60);
    let deleted = |event: TimelineEvent| match event.happening {
        Happening::ClaimDeleted { .. } => Some(event.at.duration_since(began).as_millis()),
        _ => None,
    };
    let mut times: Vec<i128> = fleet.sim.timeline(from).into_iter().filter_map(deleted).collect();
    times.sort_unstable();
    times
}
