//! Workloads that grow and shrink for days: no rule is broken, and nodes do not come and go for nothing.
//!
//! Budgets of NodePools, PodDisruptionBudgets, `do-not-disrupt` and limits are judged by the simulator and,
//! before each commit, by `plan-check`.

#[path = "churn/packing.rs"]
mod packing;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write as _},
    sync::{Arc, OnceLock},
};

use dispatch::{Reports, Settings};
use jiff::{SignedDuration, Timestamp};
use journeyman::manifests;
use model::{
    Function, HourlyPrice, NodeClaimName, OfferingKey, RegionCatalog,
    disruption::{Command, DisruptionReason, Method, Progress},
    node_class::{ImageFamily, ImageTerm},
    policies::Calm,
};
use simulator::{
    Action, Chance, ClusterObject, Dispatch, Happening, Runner, Sim, SpotTarget, Stopped, Trace,
    WorldSettings,
};

use crate::{
    settings::settings,
    storm::{self, play_seeds},
    world::{node_class, runner_with, workload},
};

/// Until the cluster is as large as it is to be.
const GROWN_AFTER: SignedDuration = SignedDuration::from_mins(30);
/// Between two changes of workloads.
const CHANGE: SignedDuration = SignedDuration::from_mins(10);

/// How large the story of a seed is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    nodes: u32,
    hours: i64,
    /// What the NodePool may have for each of the nodes, in CPUs.
    limit: u32,
}

/// A day of a small cluster in a few hours, or, if the environment asks for it, more hours or two days of 500
/// nodes.
fn size() -> Size {
    if storm::is_large() {
        return Size { nodes: 500, hours: 48, limit: 4 };
    }
    let hours = tests::variable("JOURNEYMAN_HOURS").map(|hours| i64::try_from(hours).unwrap());
    Size { nodes: 12, hours: hours.unwrap_or(4), limit: 4 }
}

/// Eight types, none of which has more than four CPUs: nodes come and go.
fn catalog() -> Arc<RegionCatalog> {
    static CATALOG: OnceLock<Arc<RegionCatalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| {
        let kept = kept(&["m7g", "c7g", "r7g", "m7i"], &["large", "xlarge"]);
        assert_eq!(kept.instance_types.len(), 8);
        Arc::new(kept)
    });
    Arc::clone(catalog)
}

fn kept(families: &[&str], sizes: &[&str]) -> RegionCatalog {
    let mut catalog = instance_catalog::builtin().expect("the built-in catalog is sound");
    let is_kept = |name: &str| {
        let (family, size) = name.split_once('.').unwrap_or_default();
        families.contains(&family) && sizes.contains(&size)
    };
    catalog.instance_types.retain(|sold| is_kept(sold.name.as_str()));
    catalog
}

/// What each kind of pod asks for, and how many thousandths of a CPU that is.
const SHAPES: [(&str, u32); 5] = [
    ("{cpu: 250m, memory: 512Mi}", 250),
    ("{cpu: 500m, memory: 1Gi}", 500),
    ("{cpu: 900m, memory: 1Gi}", 900),
    ("{cpu: 1400m, memory: 3Gi}", 1_400),
    ("{cpu: 600m, memory: 4Gi}", 600),
];

/// A Deployment, and how many pods it has at noon.
struct Service {
    name: String,
    replicas: u32,
}

/// NodePool, EC2NodeClass and Deployments of a cluster of about this number of nodes.
fn manifests(nodes: u32, limit: u32) -> (String, Vec<Service>) {
    // A node has 1.9 to 3.9 CPUs for pods.
    let millis = nodes * 2_900;
    let services = (nodes / 8).max(6);
    let mut text = format!(
        r"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: general}}
spec:
  limits: {{cpu: {}}}
  disruption: {{consolidateAfter: 2m, budgets: [{{nodes: 10%}}, {{nodes: '3', reasons: [Drifted]}}]}}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}}
---
{class}",
        nodes * limit,
        class = node_class(),
    );
    let services = (0..services)
        .map(|number| {
            let (service, manifest) = service(number, millis / services);
            text.push_str(&manifest);
            service
        })
        .collect();
    (text, services)
}

/// The Deployment of this number, which requests a number of thousandths of a CPU, and its manifests: some go to
/// spot instances, some have a PodDisruptionBudget, some must not be disrupted.
fn service(number: u32, millis: u32) -> (Service, String) {
    let mut shapes = SHAPES.iter().cycle().skip(usize::try_from(number).unwrap());
    let (requests, each) = shapes.next().unwrap();
    let name = format!("service-{number}");
    let replicas = (millis / each).max(2);
    let capacity = if number.is_multiple_of(2) { "on-demand" } else { "spot" };
    let protected = if number % 11 == 5 { "karpenter.sh/do-not-disrupt: \"true\"" } else { "" };
    let mut text = format!(
        r"---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{annotations: {{{protected}}}, labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 10
      nodeSelector: {{karpenter.sh/capacity-type: {capacity}}}
      containers: [{{name: c, image: i, resources: {{requests: {requests}}}}}]
"
    );
    if number % 4 == 1 {
        let most = if number % 8 == 1 { "1" } else { "20%" };
        write!(
            text,
            r"---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: {name}}}
spec: {{maxUnavailable: {most}, selector: {{matchLabels: {{app: {name}}}}}}}
"
        )
        .expect("a text takes a text");
    }
    (Service { name, replicas }, text)
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) evictions: u64,
    pub(crate) node_hours: u64,
    pub(crate) spent_nanos: u128,
    /// What half of all pods waited at most, and what 99 of a hundred did, in seconds.
    pub(crate) waited: [i64; 2],
    /// Nodes that consolidation disrupted, alone or together, and how many of them had a new node in their place.
    pub(crate) consolidated: usize,
    pub(crate) replaced: usize,
    /// Nodes that were disrupted to save, and of which one of the same offering was launched within ten minutes.
    pub(crate) again: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.evictions * 2_400 / self.node_hours.max(1);
        let cents = self.spent_nanos / 10_000_000;
        let Self { evictions, node_hours, consolidated, replaced, again, .. } = self;
        let [half, most] = self.waited;
        write!(
            f,
            "{evictions} evictions in {node_hours} node-hours, {}.{:02} per node-day; {consolidated} \
             nodes consolidated, {replaced} by new ones, {again} launched again; ${}.{:02}; pods waited {half} s \
             and {most} s at most",
            hundredths / 100,
            hundredths % 100,
            cents / 100,
            cents % 100,
        )
    }
}

/// What an instance is, for comparing.
type Kept = BTreeMap<NodeClaimName, (OfferingKey, HourlyPrice)>;

/// A story under way.
struct Churn<D: Dispatch> {
    sim: Sim,
    runner: Runner<D>,
    reports: Reports,
    /// The instances of claims, also of those that are gone.
    kept: Kept,
    commands: Vec<Command>,
    claim_minutes: u64,
    calm: Calm,
    problems: Vec<String>,
}

impl<D: Dispatch> Churn<D> {
    fn until(&mut self, time: Timestamp) -> Result<(), String> {
        while self.sim.now() < time {
            let next =
                self.sim.now().checked_add(SignedDuration::from_mins(1)).unwrap_or(time).min(time);
            self.runner.run_until(next).map_err(|stopped: Stopped| stopped.to_string())?;
            let claims = self.sim.claims();
            self.claim_minutes += u64::try_from(claims.len()).unwrap_or(u64::MAX);
            for claim in claims {
                let Some(instance) = claim.instance else { continue };
                let (offering, price) = (instance.offering(), instance.price);
                self.kept.entry(claim.name).or_insert((offering, price));
            }
            let decided = self.reports.take().into_iter();
            let decided = decided.filter(|decided| decided.function == Function::Disrupt);
            let plans = decided.filter_map(|decided| decided.report.plan);
            let started = plans.flat_map(|plan| plan.started.into_values());
            self.commands.extend(started.filter(Command::is_under_way));
            self.judge_calm();
        }
        Ok(())
    }

    /// What the ledger remembers keeps to the settings: few pods within an hour, and workloads rest.
    fn judge_calm(&mut self) {
        let commands = self.sim.commands();
        let mut moved: Vec<(&Command, u64, &BTreeSet<u64>)> = Vec::new();
        for command in &commands {
            if let Progress::Moved { pods, workloads, .. } = &command.progress {
                moved.push((command, *pods, workloads));
            }
        }
        moved.sort_by_key(|(command, ..)| command.found_at);
        for (place, (command, pods, workloads)) in moved.iter().enumerate() {
            let before: u64 = moved
                .iter()
                .take(place)
                .filter(|(earlier, ..)| {
                    command.found_at.duration_since(earlier.found_at) < Calm::HOUR
                })
                .map(|(_, pods, _)| pods)
                .sum();
            let is_free = matches!(command.method, Method::Repair | Method::Emptiness);
            if self.calm.moves_per_hour_max.is_some_and(|most| most < before + pods)
                && 0 < before
                && !is_free
            {
                self.problems.push(format!("{pods} pods moved after {before} within an hour"));
            }
            let saves = matches!(command.method, Method::MultiNode | Method::SingleNode);
            let is_resting = |(earlier, _, others): &(&Command, u64, &BTreeSet<u64>)| {
                command.found_at.duration_since(earlier.found_at) < self.calm.workload_rest
                    && !workloads.is_disjoint(others)
            };
            if saves && moved.iter().take(place).any(is_resting) {
                self.problems.push(format!("{:?} moved what rests", command.candidates));
            }
        }
    }

    /// Commands that put a node's like in its place, or a dearer one.
    fn oscillations(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for command in &self.commands {
            let Progress::Launching { claims, .. } = &command.progress else { continue };
            if command.method.reason() != DisruptionReason::Underutilized {
                continue;
            }
            let of = |names: &[NodeClaimName]| -> Vec<(OfferingKey, HourlyPrice)> {
                names.iter().filter_map(|name| self.kept.get(name).cloned()).collect()
            };
            let (before, after) = (of(&command.candidates), of(claims));
            let sum = |offers: &[(OfferingKey, HourlyPrice)]| {
                offers.iter().map(|(_, price)| price.parts()).sum::<u128>()
            };
            let is_like = |new: &OfferingKey| {
                before.iter().any(|(old, _)| {
                    old.instance_type == new.instance_type && old.capacity_type == new.capacity_type
                })
            };
            let is_dearer = !after.is_empty() && sum(&before) <= sum(&after);
            if is_dearer || before.len() == 1 && after.iter().any(|(new, _)| is_like(new)) {
                problems.push(format!("{before:?} was replaced by {after:?}"));
            }
        }
        problems
    }

    fn figures(&self) -> Figures {
        let summary = self.sim.summary();
        let mut figures = Figures {
            evictions: summary.evictions,
            node_hours: self.claim_minutes / 60,
            spent_nanos: summary.spent_nanos,
            waited: [50, 99].map(|percent| {
                summary.pending_percentile(percent).map_or(0, |waited| waited.as_secs())
            }),
            ..Figures::default()
        };
        let mut gone: BTreeMap<&OfferingKey, Vec<Timestamp>> = BTreeMap::new();
        let underutilized = model::DeletionReason::Disrupted(DisruptionReason::Underutilized);
        let timeline = self.sim.timeline(0);
        for event in &timeline {
            match &event.happening {
                Happening::ClaimDeleted { claim, reason } if *reason == underutilized => {
                    figures.consolidated += 1;
                    if let Some((offering, _)) = self.kept.get(claim) {
                        gone.entry(offering).or_default().push(event.at);
                    }
                }
                Happening::InstanceLaunched { offering, .. } => {
                    let times = gone.entry(offering).or_default();
                    times.retain(|at| event.at.duration_since(*at) < SignedDuration::from_mins(10));
                    figures.again += usize::from(times.pop().is_some());
                }
                _ => {}
            }
        }
        let saves = |command: &&Command| command.method.reason() == DisruptionReason::Underutilized;
        let replaced = self.commands.iter().filter(saves);
        figures.replaced = replaced.map(|command| command.candidates.len()).sum();
        figures
    }
}

/// Plans what happens in `hours` from `start` on: workloads follow the day, each a little by itself; spot
/// instances are taken back; half-way, there is a new image.
fn plan(sim: &Sim, start: Timestamp, size: Size, services: &[Service], chance: &mut Chance) {
    let mut at = start;
    for step in 0..size.hours * 6 {
        let hour = u32::try_from((step / 6) % 24).unwrap();
        // From 60 to 108 per cent and back.
        let share = 60 + 4 * hour.min(24 - hour);
        for service in services {
            if chance.below(8) != 0 {
                continue;
            }
            let noise = u32::try_from(85 + chance.below(31)).unwrap();
            let replicas = (service.replicas * share * noise).div_ceil(10_000);
            let action = Action::Scale { workload: workload(&service.name), replicas };
            let within = i64::try_from(chance.below(600)).unwrap();
            sim.at(at + SignedDuration::from_secs(within), action);
        }
        if chance.below(600) < u64::from(size.nodes) {
            sim.at(at, Action::InterruptSpot(SpotTarget::Any));
        }
        at += CHANGE;
    }
}

fn objects(text: &str) -> Vec<ClusterObject> {
    let texts = [manifests::InputFile::named("churn.yaml", text)];
    manifests::parse(&texts).expect("the manifests are sound").objects
}

/// Plays the story of `seed` with functions of these settings.
pub(crate) fn churn(seed: u64, size: Size, functions: Settings) -> Result<Figures, String> {
    churn_among(catalog(), seed, size, functions)
}

/// The same with other instance types.
fn churn_among(
    catalog: Arc<RegionCatalog>,
    seed: u64,
    size: Size,
    functions: Settings,
) -> Result<Figures, String> {
    let defaults = WorldSettings { never_joins_per_mille: 2, ..storm::settings(seed) };
    let world = WorldSettings { trace: Trace::Dropped, ..defaults };
    let sim = Sim::new(world, catalog);
    let (text, services) = manifests(size.nodes, size.limit);
    let objects = objects(&text);
    sim.add(objects.clone());
    let start = sim.now() + GROWN_AFTER;
    plan(&sim, start, size, &services, &mut Chance::new(seed).child("churn"));
    let renewed = objects.into_iter().filter_map(|object| match object {
        ClusterObject::NodeClass(mut class) => {
            let version = "v20260101".to_owned();
            class.image_terms = vec![ImageTerm::Alias { family: ImageFamily::Al2023, version }];
            Some(ClusterObject::NodeClass(class))
        }
        _ => None,
    });
    let half = SignedDuration::from_hours(size.hours / 2);
    sim.at(start + half, Action::Add(renewed.collect()));
    let calm = functions.policies.calm;
    let (runner, reports) = runner_with(&sim, functions);
    let (kept, commands, problems) = (Kept::new(), Vec::new(), Vec::new());
    let mut churn =
        Churn { sim, runner, reports, kept, commands, claim_minutes: 0, calm, problems };
    churn.until(start + SignedDuration::from_hours(size.hours))?;
    churn.sim.stop_faults();
    churn.until(churn.sim.now() + SignedDuration::from_mins(30))?;
    let mut problems = churn.sim.check_liveness();
    problems.extend(churn.sim.check_node_claims());
    problems.extend(churn.oscillations());
    problems.append(&mut churn.problems);
    let failures = churn.runner.failures().iter();
    let broken = failures.filter(|(_, error)| error.contains("breaks its own rules"));
    problems.extend(broken.map(|(function, error)| format!("{function}: {error}")));
    problems.dedup();
    if problems.is_empty() { Ok(churn.figures()) } else { Err(problems.join("; ")) }
}

#[test]
fn two_days_of_churn_break_no_rule_and_bring_no_node_in_place_of_its_like() {
    play_seeds(1, |seed| {
        let figures = churn(seed, size(), Settings::default())?;
        println!("seed {seed}: {figures}");
        Ok(())
    });
}

/// In this world a pool is at its limit when a spot instance is taken back: its successor comes while it is drained.
#[test]
fn nodes_that_are_deleted_do_not_count_against_limits() {
    let figures = churn(72, Size { nodes: 12, hours: 6, limit: 4 }, Settings::default());
    assert!(figures.is_ok(), "{figures:?}");
}

#[test]
fn calm_settings_keep_their_bounds_and_move_fewer_pods() {
    let calm = [("WorkloadRest", "30m"), ("ReplacementSaving", "0.1"), ("MovesPerHour", "12")];
    let evictions = std::sync::Mutex::new(Vec::new());
    play_seeds(1, |seed| {
        let usual = churn(seed, size(), Settings::default())?;
        let calmer = churn(seed, size(), settings(&calm))?;
        println!("seed {seed}: usual {usual}");
        println!("seed {seed}: calmer {calmer}");
        // Each world goes its own way by chance: what holds is about all of them.
        evictions.lock().expect("no thread panics").push((usual.evictions, calmer.evictions));
        Ok(())
    });
    let evictions = evictions.into_inner().expect("no thread panics");
    let (usual, calmer): (Vec<_>, Vec<_>) = evictions.into_iter().unzip();
    assert!(
        calmer.iter().sum::<u64>() < usual.iter().sum::<u64>(),
        "{calmer:?}, usually {usual:?}"
    );
}

#[test]
fn thorough_consolidation_breaks_no_rule_and_costs_no_more() {
    play_seeds(1, |seed| {
        let usual = churn(seed, size(), Settings::default())?;
        let thorough = churn(seed, size(), settings(&[("Consolidation", "thorough")]))?;
        println!("seed {seed}: usual {usual}");
        println!("seed {seed}: thorough {thorough}");
        // Both worlds go their own ways by chance, the more so the smaller they are.
        let percent = if size().nodes < 100 { 110 } else { 102 };
        if usual.spent_nanos * percent < thorough.spent_nanos * 100 {
            return Err(format!("{usual}, and thorough {thorough}"));
        }
        Ok(())
    });
}
