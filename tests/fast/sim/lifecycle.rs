//! Drift under real limits, by seeds: a rolling update of images, replacements that never join, no capacity.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, InstanceId, NodeName,
    disruption::Progress,
    labels,
    ledger::Decision,
    node_class::{ImageFamily, ImageTerm},
    node_pool::{BudgetNodes, Limits},
};
use simulator::{
    Action, Chance, ClusterObject, Dispatch, Happening, Injection, Runner, Sim, Stopped, Storm,
    WorldSettings,
};

use crate::{
    commands,
    storm::{self, any_of, play_seeds},
    world::{catalog, minute, runner, scale},
};

/// From a node's being freed to its taint's being gone, and from its taint to the ledger's saying why.
const TAINT_GRACE: SignedDuration = SignedDuration::from_mins(3);
/// Whatever drifted is renewed by then.
const RENEWED_WITHIN: i64 = 12 * 60;

/// A plain `cargo test` is to be quick: as large as it gets only if the environment asks for it.
fn size(small: u32, large: u32) -> u32 {
    if storm::is_large() { large } else { small }
}

fn minutes_below(bound: u32, chance: &mut Chance) -> i64 {
    i64::try_from(chance.below(bound.into())).expect("a few minutes")
}

fn usize_of(count: u32) -> usize {
    usize::try_from(count).expect("a small number")
}

/// A world of on-demand nodes that go as `budget` says, and of a number of pods, four of which fill a node.
pub(crate) fn world(settings: WorldSettings, pods: u32, budget: BudgetNodes) -> Sim {
    let sim = Sim::new(settings, catalog());
    let mut objects = commands::objects("arm64");
    for object in &mut objects {
        if let ClusterObject::NodePool(pool) = object {
            pool.limits = Limits::default();
            pool.disruption.budgets.iter_mut().for_each(|usual| usual.nodes = budget);
            pool.disruption.consolidate_after = None;
        }
    }
    sim.add(objects);
    sim.act(scale("web", pods));
    sim
}

/// The nodes drift, each once, from `at` on.
fn renew_images(sim: &Sim, minutes: i64) {
    commands::change_class(sim, minutes, |class| {
        let version = "v20260101".to_owned();
        class.image_terms = vec![ImageTerm::Alias { family: ImageFamily::Al2023, version }];
    });
}

/// A world in play, and what is wrong about it.
pub(crate) struct Play<D: Dispatch> {
    pub(crate) sim: Sim,
    runner: Runner<D>,
    reports: dispatch::Reports,
    /// Since when nodes bear the taint of disruption though no command disrupts them.
    tainted: BTreeMap<NodeName, Timestamp>,
    decisions: Vec<Decision>,
    problems: Vec<String>,
}

pub(crate) fn begin(sim: Sim) -> Play<impl Dispatch> {
    let (runner, reports) = runner(&sim);
    let (tainted, decisions, problems) = (BTreeMap::new(), Vec::new(), Vec::new());
    Play { sim, runner, reports, tainted, decisions, problems }
}

impl<D: Dispatch> Play<D> {
    pub(crate) fn until(&mut self, time: Timestamp) -> Result<(), String> {
        while self.sim.now() < time {
            let next =
                self.sim.now().checked_add(SignedDuration::from_secs(30)).unwrap_or(time).min(time);
            self.runner.run_until(next).map_err(|stopped: Stopped| stopped.to_string())?;
            self.look();
        }
        Ok(())
    }

    /// Whether nodes are tainted for nothing, and what was told.
    fn look(&mut self) {
        let now = self.sim.now();
        let plans = self.reports.take().into_iter().filter_map(|decided| decided.report.plan);
        self.decisions.extend(plans.flat_map(|plan| plan.decisions));
        let leaving = leaving(&self.sim);
        let bears = |taint: &model::Taint| taint.key == labels::DISRUPTED_TAINT;
        let nodes = self.sim.nodes().into_iter().filter(|node| node.taints.iter().any(bears));
        let idle: BTreeSet<NodeName> =
            nodes.map(|node| node.name).filter(|name| !leaving.contains(name)).collect();
        self.tainted.retain(|name, _| idle.contains(name));
        for name in idle {
            let since = *self.tainted.entry(name.clone()).or_insert(now);
            if TAINT_GRACE < now.duration_since(since) {
                self.problems.push(format!("node {name} is tainted since {since} for nothing"));
            }
        }
    }

    /// Why commands were rolled back. A message that comes twice tells it twice, and commits it once.
    fn rolled_back(&self) -> BTreeSet<String> {
        let told = self.decisions.iter().filter(|told| told.summary.ends_with("rolled back"));
        told.flat_map(|told| &told.rejected).map(ToString::to_string).collect()
    }

    /// What is wrong at the end.
    pub(crate) fn outcome(mut self) -> Result<(), String> {
        self.problems.extend(self.sim.check_liveness());
        self.problems.extend(self.sim.check_node_claims());
        let failures = self.runner.failures().iter();
        let broken = failures.filter(|(_, error)| error.contains("breaks its own rules"));
        self.problems.extend(broken.map(|(function, error)| format!("{function}: {error}")));
        self.problems.dedup();
        let lost = lost(&self.sim);
        if 0 < lost {
            self.problems.push(format!("{lost} pods were lost"));
        }
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems.join("; ")) }
    }
}

/// The number of pods that went down with their node, other than nodes that EC2 took back: with faults in the way, two
/// minutes may not be enough for these.
fn lost(sim: &Sim) -> usize {
    let timeline = sim.timeline(0);
    let noticed: BTreeSet<&InstanceId> = timeline
        .iter()
        .filter_map(|event| match &event.happening {
            Happening::SpotNotice { instance, .. } => Some(instance),
            _ => None,
        })
        .collect();
    let taken = timeline.iter().filter_map(|event| match &event.happening {
        Happening::InstanceTerminated { instance, node } if noticed.contains(instance) => {
            node.as_ref()
        }
        _ => None,
    });
    let taken: BTreeSet<&NodeName> = taken.collect();
    let is_lost = |happening: &Happening| match happening {
        Happening::PodLost { node, .. } => !taken.contains(node),
        _ => false,
    };
    timeline.iter().filter(|event| is_lost(&event.happening)).count()
}

/// The nodes that are being disrupted, as the ledger says.
fn leaving(sim: &Sim) -> BTreeSet<NodeName> {
    let claims = sim.claims();
    let replaced: BTreeSet<_> = sim
        .commands()
        .into_iter()
        .filter(|command| !matches!(command.progress, Progress::Found))
        .flat_map(|command| command.candidates)
        .collect();
    let goes = claims.iter().filter(|claim| claim.is_deleting() || replaced.contains(&claim.name));
    goes.filter_map(|claim| claim.node.clone()).collect()
}

/// Minutes until nothing has the images of `before`.
fn renewed<D: Dispatch>(
    play: &mut Play<D>,
    from: i64,
    is_renewed: impl Fn(&Sim) -> bool,
) -> Result<i64, String> {
    for minutes in from..from + RENEWED_WITHIN {
        play.until(minute(minutes))?;
        if is_renewed(&play.sim) && !play.sim.claims().iter().any(model::NodeClaim::is_deleting) {
            return Ok(minutes);
        }
    }
    Err(format!("nodes are not renewed within {RENEWED_WITHIN} minutes"))
}

/// A rolling update of images, while requests fail now and then, machines crash and messages come twice.
fn rolling_update(seed: u64) -> Result<(), String> {
    let mut chance = Chance::new(seed).child("update");
    let budgets = [
        BudgetNodes::Percent(10),
        BudgetNodes::Percent(5),
        BudgetNodes::Percent(25),
        BudgetNodes::Count(7),
    ];
    let budget = any_of(&budgets, &mut chance);
    let nodes = size(20, 300);
    let settings = WorldSettings { never_joins_per_mille: 10, ..storm::settings(seed) };
    let mut play = begin(world(settings, nodes * 7 / 2, budget));
    play.until(minute(25))?;
    let before = commands::images(&play.sim);
    let claims = play.sim.claims().len();
    if before.len() != 1 || claims * 10 < usize_of(nodes) * 8 {
        return Err(format!("{claims} nodes of {} images", before.len()));
    }
    renew_images(&play.sim, 25);
    play.sim.add_rule(Storm::MODERATE.rule());
    play.until(minute(45))?;
    play.sim.stop_faults();
    let is_renewed = |sim: &Sim| commands::images(sim).is_disjoint(&before);
    let minutes = renewed(&mut play, 45, is_renewed)?;
    play.until(minute(minutes + 10))?;
    let drifted = play.decisions.iter().filter(|told| told.summary.starts_with("drift: "));
    if drifted.count() == 0 {
        play.problems.push("nothing was told".to_owned());
    }
    play.outcome()
}

#[test]
fn a_rolling_update_of_images_keeps_to_its_budgets_and_loses_nothing() {
    play_seeds(3, rolling_update);
}

#[test]
fn a_claim_created_between_the_reading_of_head_and_claims_is_planned_around() {
    let mut play = begin(world(WorldSettings::default(), 24, BudgetNodes::Percent(50)));
    play.until(minute(8)).expect("nothing unsafe happens");
    // From the head to the claims it takes seconds, in which another function creates claims.
    play.sim.add_rule(Box::new(|call, _| match call.operation {
        "Ledger.snapshot" => Injection::Delay(SignedDuration::from_secs(4)),
        _ => Injection::Pass,
    }));
    renew_images(&play.sim, 8);
    for step in 0..30_i32 {
        let pods = if step % 2 == 0 { 48 } else { 24 };
        play.sim.at(minute(8) + SignedDuration::from_secs(20) * step, scale("web", pods));
    }
    play.until(minute(30)).expect("nothing unsafe happens");
    play.sim.stop_faults();
    play.until(minute(60)).expect("nothing unsafe happens");
    assert_eq!(play.outcome(), Ok(()));
}

/// Instances that were launched after `from` and whose nodes never came.
fn never_joined(sim: &Sim, from: Timestamp) -> usize {
    let (mut launched, mut joined) = (BTreeSet::new(), BTreeSet::<InstanceId>::new());
    for event in sim.timeline(0) {
        match event.happening {
            Happening::InstanceLaunched { instance, .. } if from <= event.at => {
                launched.insert(instance);
            }
            Happening::NodeJoined { instance, .. } => drop(joined.insert(instance)),
            _ => {}
        }
    }
    launched.difference(&joined).count()
}

/// A third of the replacements never joins.
fn replacements_that_never_join(seed: u64) -> Result<(), String> {
    let settings = WorldSettings { never_joins_per_mille: 330, ..storm::settings(seed) };
    let budget = BudgetNodes::Percent(40);
    let mut play = begin(world(settings, size(14, 42), budget));
    // Those of the beginning that never join are replaced after a quarter of an hour each.
    play.until(minute(180))?;
    let before = commands::images(&play.sim);
    renew_images(&play.sim, 180);
    let is_renewed = |sim: &Sim| commands::images(sim).is_disjoint(&before);
    let minutes = renewed(&mut play, 180, is_renewed)?;
    play.until(minute(minutes + 30))?;
    let (missing, told) = (never_joined(&play.sim, minute(180)), play.rolled_back());
    if missing != told.len() {
        let problem = format!("{missing} replacements never joined, and it was told: {told:?}");
        play.problems.push(problem);
    }
    // A node goes when its replacement takes pods, and not before.
    let waiting = waiting_max(&play.sim, minute(180));
    if SignedDuration::from_mins(1) < waiting {
        play.problems.push(format!("a pod waited for {waiting:#}"));
    }
    play.outcome()
}

/// The longest that a pod waited for its node from `from` on.
fn waiting_max(sim: &Sim, from: Timestamp) -> SignedDuration {
    let mut since = BTreeMap::new();
    let mut longest = SignedDuration::ZERO;
    for event in sim.timeline(0).into_iter().filter(|event| from <= event.at) {
        match event.happening {
            Happening::PodPending { pod } => drop(since.insert(pod, event.at)),
            Happening::PodBound { pod, .. } => {
                if let Some(since) = since.remove(&pod) {
                    longest = longest.max(event.at.duration_since(since));
                }
            }
            _ => {}
        }
    }
    longest
}

#[test]
fn replacements_that_never_join_are_rolled_back_and_nothing_is_lost() {
    play_seeds(4, replacements_that_never_join);
}

/// On-demand capacity runs out when a part of the nodes is renewed, and comes back.
fn drought(seed: u64) -> Result<(), String> {
    let mut chance = Chance::new(seed).child("drought");
    let budgets = [BudgetNodes::Percent(20), BudgetNodes::Percent(100), BudgetNodes::Count(2)];
    let budget = any_of(&budgets, &mut chance);
    let settings = WorldSettings { never_joins_per_mille: 0, ..storm::settings(seed) };
    let mut play = begin(world(settings, size(32, 160), budget));
    play.until(minute(20))?;
    let before = commands::images(&play.sim);
    renew_images(&play.sim, 20);
    let begins = 20 + minutes_below(6, &mut chance);
    let ends = begins + 30 + minutes_below(60, &mut chance);
    let is_total = chance.below(3) < 2;
    for sold in &catalog().instance_types {
        for offering in sold.offerings.iter().filter(|o| o.capacity_type == CapacityType::OnDemand)
        {
            if !is_total && chance.below(4) == 0 {
                continue;
            }
            let offering = sold.key_of(offering);
            let at = |minutes, instances| {
                let offering = offering.clone();
                play.sim.at(minute(minutes), Action::SetCapacity { offering, instances });
            };
            at(begins, Some(0));
            at(ends, None);
        }
    }
    // Nodes are full: what was launched before is there by then, and from then on nothing may go.
    play.until(minute(begins + 10))?;
    let is_renewed = |sim: &Sim| commands::images(sim).is_disjoint(&before);
    let renewed_early = is_renewed(&play.sim);
    let evictions = play.sim.summary().evictions;
    play.until(minute(ends))?;
    let more = play.sim.summary().evictions - evictions;
    if is_total && !renewed_early && 0 < more {
        play.problems.push(format!("{more} pods had to move while nothing could be launched"));
    }
    let waiting = play.sim.summary().pods_waiting;
    if 0 < waiting {
        play.problems.push(format!("{waiting} pods wait"));
    }
    let minutes = renewed(&mut play, ends, is_renewed)?;
    play.until(minute(minutes + 10))?;
    play.outcome()
}

#[test]
fn without_capacity_drifted_nodes_stay_until_it_comes_back() {
    play_seeds(4, drought);
}
