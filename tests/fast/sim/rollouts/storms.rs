//! Rollouts of an image in storms, by seeds: good or bad, with a freeze or without, of one NodePool or two.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use journeyman::manifests::{self, InputFile};
use model::{
    ClaimPhase, ImageId, NodeClaim, NodeClaimName, NodePoolName,
    disruption::{Command, DisruptionReason, Progress},
    labels::{ROLLOUT_BAKE_TIME, ROLLOUT_CANARY, ROLLOUT_FREEZE},
    node_class::Image,
};
use simulator::{Action, Chance, ClusterObject, Dispatch, Sim, SpotTarget, Storm};

use super::{annotations, edit, renew_image};
use crate::{
    commands::images,
    lifecycle::{self, Play},
    storm::{self, any_of, play_seeds},
    world::{self, MANIFESTS, minute},
};

/// When another image is there, and the storm begins.
const CHANGED: i64 = 12;
/// When the storm is over.
const CALM: i64 = 24;
/// Whatever is rolled out or back is that by then.
const DONE_BY: i64 = 240;
/// How long a world is watched after that.
const WATCHED: i64 = 8;
/// A bad image is halted within these minutes after its first node took pods, if no fault is in the way.
const HALTED_WITHIN: i64 = 10;

/// What a seed plays.
struct Course {
    canary: &'static str,
    bake_time: &'static str,
    is_bad: bool,
    is_frozen: bool,
    budget: &'static str,
    /// CPUs of the first NodePool at most; what is more goes to a second one.
    cpus: Option<u32>,
}

impl Course {
    fn of(chance: &mut Chance) -> Self {
        let is_bad = chance.below(2) == 0;
        // A shorter time than ten minutes may miss that an image is bad.
        let bake_times = if is_bad { ["10m", "12m", "15m"] } else { ["0s", "5m", "12m"] };
        Self {
            canary: any_of(&["5%", "30%", "1", "2"], chance),
            bake_time: any_of(&bake_times, chance),
            is_bad,
            is_frozen: chance.below(3) == 0,
            budget: any_of(&["10%", "100%", "2"], chance),
            cpus: any_of(&[None, Some(16), Some(20)], chance),
        }
    }

    /// Nodes are full: about seven of four pods each, or of two.
    fn objects(&self) -> Vec<ClusterObject> {
        let changes = [
            ("budgets: [{nodes: \"50%\"}]", format!("budgets: [{{nodes: {:?}}}]", self.budget)),
            ("consolidateAfter: 30s", "consolidateAfter: Never".to_owned()),
            ("[amd64, arm64]", "[arm64]".to_owned()),
            ("replicas: 12", "replicas: 26".to_owned()),
            ("replicas: 3\n  serviceName", "replicas: 0\n  serviceName".to_owned()),
            ("cpu: \"40\"", format!("cpu: \"{}\"", self.cpus.unwrap_or(40))),
        ];
        let mut text = MANIFESTS.to_owned();
        for (usual, here) in changes {
            assert!(text.contains(usual), "{usual}");
            text = text.replace(usual, &here);
        }
        if self.cpus.is_some() {
            let (pool, _) = text.split_once("---\n").expect("a NodePool");
            text = format!("{text}---\n{}", pool.replace("name: general", "name: other"));
        }
        let texts = [InputFile::named("rollouts.yaml", &text)];
        manifests::parse(&texts).expect("the manifests are sound").objects
    }

    fn bake_time(&self) -> SignedDuration {
        let (number, unit) = self.bake_time.split_at(self.bake_time.len() - 1);
        let number = number.parse().expect("a number");
        if unit == "m" {
            SignedDuration::from_mins(number)
        } else {
            SignedDuration::from_secs(number)
        }
    }

    /// The freeze, from minute 20 on.
    fn frozen(&self) -> std::ops::Range<Timestamp> {
        minute(20)..minute(if self.is_frozen { 40 } else { 20 })
    }

    fn begin(&self, seed: u64, chance: &mut Chance) -> Play<impl Dispatch + use<>> {
        let mut texts = vec![(ROLLOUT_CANARY, self.canary), (ROLLOUT_BAKE_TIME, self.bake_time)];
        texts.extend(self.is_frozen.then_some((ROLLOUT_FREEZE, "20 8 * * 1 20m")));
        let sim = world::empty(storm::settings(seed));
        sim.add(self.objects());
        edit(&sim, |class| class.rollout = annotations(&texts));
        let mut at =
            || minute(CHANGED) + SignedDuration::from_secs(chance.below(720).cast_signed());
        sim.at(at(), Action::InterruptSpot(SpotTarget::Any));
        sim.at(at(), Action::InterruptSpot(SpotTarget::Oldest));
        lifecycle::begin(sim)
    }
}

/// The most nodes that may have another image before it is accepted, of `total`.
fn canaries(text: &str, total: usize) -> usize {
    let share = text.strip_suffix('%').map(|share| share.parse::<usize>().expect("a share"));
    let count = share.map_or_else(|| text.parse().expect("a number"), |share| total * share / 100);
    count.max(1)
}

/// The images of the status of the class.
fn images_of_status(sim: &Sim) -> Vec<Image> {
    let name = "default".parse().expect("a name");
    sim.class_status(&name).map(|status| status.images).unwrap_or_default()
}

/// An old node that was replaced.
struct Touched {
    pool: NodePoolName,
    /// What came in its place: some nodes have two.
    new: Vec<NodeClaimName>,
}

/// What was seen of a rollout from minute to minute.
struct Seen {
    /// Images from before.
    before: BTreeSet<ImageId>,
    has_spread: bool,
    is_halted: bool,
    /// Old nodes that were replaced because they drifted.
    touched: BTreeMap<NodeClaimName, Touched>,
    /// NodePools whose canaries passed. A halt in another one does not undo what followed.
    passed: BTreeSet<NodePoolName>,
    /// The most nodes that each NodePool had. What ends later makes no canary one too many.
    totals: BTreeMap<NodePoolName, usize>,
    /// Since which minute a bad image is there whose pods crash.
    broken_since: Option<i64>,
}

impl Seen {
    fn of(sim: &Sim) -> Self {
        Self {
            before: images(sim),
            has_spread: false,
            is_halted: false,
            touched: BTreeMap::new(),
            passed: BTreeSet::new(),
            totals: BTreeMap::new(),
            broken_since: None,
        }
    }

    /// Whether `claim` is of another image than those from before.
    fn is_moved(&self, claim: &NodeClaim) -> bool {
        claim.image().is_some_and(|image| !self.before.contains(image))
    }

    /// Whether `claim` is of another image, and in the place of a node of `pool`.
    fn is_moved_from(&self, claim: &NodeClaim, pool: &NodePoolName) -> bool {
        let from = claim.moved_from().map_or(claim.node_pool.as_str(), |(from, _)| from);
        self.is_moved(claim) && !claim.is_deleting() && pool.as_str() == from
    }

    /// Notes which old nodes the drift `commands` replace, and by what.
    fn touch(&mut self, claims: &[NodeClaim], commands: &[Command]) {
        for command in commands {
            let Progress::Launching { claims: new, .. } = &command.progress else { continue };
            let is_replaced = |claim: &&NodeClaim| command.candidates.contains(&claim.name);
            let replaced: Vec<&NodeClaim> = claims.iter().filter(is_replaced).collect();
            for claim in replaced {
                let touched = Touched { pool: claim.node_pool.clone(), new: new.clone() };
                if !self.is_moved(claim) {
                    self.touched.insert(claim.name.clone(), touched);
                }
            }
        }
        // One that ends makes room for another one.
        let is_there = |name: &NodeClaimName| {
            claims.iter().any(|claim| claim.name == *name && !claim.is_deleting())
        };
        self.touched.retain(|_, touched| touched.new.iter().any(is_there));
    }

    /// Whether as many nodes as there may be canaries have been there for the bake time, in the place of nodes of `pool`.
    fn has_passed(
        &self,
        claims: &[NodeClaim],
        course: &Course,
        pool: &NodePoolName,
        minutes: i64,
    ) -> bool {
        let baked_since = minute(minutes) - course.bake_time() + SignedDuration::from_mins(1);
        let is_baked = |claim: &&NodeClaim| {
            claim.phase == ClaimPhase::Initialized && claim.phase_since <= baked_since
        };
        let moved = claims.iter().filter(|claim| self.is_moved_from(claim, pool));
        let baked = moved.filter(is_baked).count();
        self.totals.get(pool).is_some_and(|total| canaries(course.canary, *total) <= baked)
    }

    /// What is wrong after another minute, if anything.
    fn look(&mut self, sim: &Sim, course: &Course, minutes: i64) -> Result<(), String> {
        let (claims, commands) = (sim.claims(), sim.commands());
        // The record is ended when the status says so.
        let images = images_of_status(sim);
        let is_old = |image: &Image| self.before.contains(&image.id);
        self.has_spread |= commands.iter().any(|command| command.progress.accepted().is_some())
            || (!images.is_empty() && !images.iter().any(is_old));
        self.is_halted |= commands.iter().any(|command| command.progress.halt().is_some());
        if course.is_bad && self.has_spread {
            return Err(format!("a bad image is accepted in minute {minutes}"));
        }
        let is_drift = |command: &Command| {
            command.is_under_way() && command.method.reason() == DisruptionReason::Drifted
        };
        let drifts: Vec<Command> = commands.into_iter().filter(is_drift).collect();
        self.touch(&claims, &drifts);
        let mut totals: BTreeMap<&NodePoolName, usize> = BTreeMap::new();
        for claim in claims.iter().filter(|claim| !claim.is_deleting()) {
            *totals.entry(&claim.node_pool).or_default() += 1;
        }
        for (pool, total) in totals {
            let most = self.totals.entry(pool.clone()).or_default();
            *most = total.max(*most);
        }
        for (pool, total) in &self.totals {
            let touched = self.touched.values().filter(|touched| touched.pool == *pool).count();
            if self.has_passed(&claims, course, pool, minutes) {
                self.passed.insert(pool.clone());
            }
            let may_follow = !course.is_bad && (self.has_spread || self.passed.contains(pool));
            if canaries(course.canary, *total) < touched && !may_follow {
                return Err(format!(
                    "{touched} of {total} nodes of {pool} are replaced in minute {minutes}, and {} may be",
                    course.canary
                ));
            }
        }
        let begun = |command: &Command| match command.progress {
            Progress::Launching { since, .. } => course.frozen().contains(&since),
            _ => false,
        };
        if drifts.iter().any(begun) {
            return Err(format!("a node drifts in a freeze, in minute {minutes}"));
        }
        self.is_late(sim, course, minutes)
    }

    /// Whether a bad image has pods for long enough, and the rollout is not halted.
    fn is_late(&mut self, sim: &Sim, course: &Course, minutes: i64) -> Result<(), String> {
        let pods = sim.pods();
        let nodes = sim.claims().into_iter().filter_map(|claim| {
            let is_new = !self.before.contains(claim.instance?.image.as_ref()?);
            claim.node.filter(|_| is_new && claim.deletion.is_none())
        });
        let nodes: BTreeSet<_> = nodes.collect();
        let crashes = |pod: &model::Pod| pod.node.as_ref().is_some_and(|node| nodes.contains(node));
        if !course.is_bad || self.is_halted || !pods.iter().any(crashes) {
            self.broken_since = None;
            return Ok(());
        }
        let since = (*self.broken_since.get_or_insert(minutes)).max(CALM);
        if since + HALTED_WITHIN < minutes {
            return Err(format!(
                "a bad image is not halted in minute {minutes}, and is there since {since}"
            ));
        }
        Ok(())
    }

    /// Whether all is rolled out, or back.
    fn is_over(&self, sim: &Sim, course: &Course) -> bool {
        // What never joins goes after a quarter of an hour.
        if sim.claims().iter().any(|claim| claim.phase != ClaimPhase::Initialized) {
            return false;
        }
        if self.is_halted {
            // From an accepted image there is no way back.
            self.has_spread || images(sim).is_subset(&self.before)
        } else {
            !course.is_bad && images(sim).is_disjoint(&self.before)
        }
    }
}

fn rollout(seed: u64) -> Result<(), String> {
    let mut chance = Chance::new(seed).child("rollout");
    let course = Course::of(&mut chance);
    let mut play = course.begin(seed, &mut chance);
    play.until(minute(CHANGED))?;
    let mut seen = Seen::of(&play.sim);
    renew_image(&play.sim);
    play.sim.add_rule(Storm::MODERATE.rule());
    let mut over = None;
    for minutes in CHANGED..DONE_BY {
        if minutes == CALM {
            play.sim.stop_faults();
        }
        // The status names a bad image some seconds before a node starts from it.
        for seconds in (5..=60).step_by(5).filter(|seconds| course.is_bad || *seconds == 60) {
            play.until(minute(minutes) + SignedDuration::from_secs(seconds))?;
            let selected = images_of_status(&play.sim).into_iter().map(|image| image.id);
            for image in selected.filter(|image| course.is_bad && !seen.before.contains(image)) {
                play.sim.act(Action::BreakImage(image));
            }
        }
        seen.look(&play.sim, &course, minutes + 1)?;
        if CALM < minutes && seen.is_over(&play.sim, &course) {
            if over.get_or_insert(minutes).saturating_add(WATCHED) <= minutes {
                return play.outcome();
            }
        } else {
            over = None;
        }
    }
    let moved = play.sim.claims().iter().filter(|claim| seen.is_moved(claim)).count();
    Err(format!("it is not over: halted: {}, {moved} nodes are moved", seen.is_halted))
}

#[test]
fn rollouts_in_storms_keep_to_their_canaries_and_freezes_and_lose_nothing() {
    play_seeds(6, rollout);
}
