//! Rollouts: how nodes that have drifted are moved to what their NodePool and EC2NodeClass say now. Annotations of the
//! EC2NodeClass ask for it; without them all nodes drift as Karpenter's do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    CronSchedule, ImageId, NodeClassName, NodePoolName, duration,
    labels::{ROLLOUT_BAKE_TIME, ROLLOUT_CANARY, ROLLOUT_FREEZE, ROLLOUT_PREFIX},
    ledger::Digest,
    node_pool::{BudgetNodes, parse_share},
};

/// How long canaries run before other nodes follow, unless an annotation says otherwise.
const BAKE_TIME: SignedDuration = SignedDuration::from_mins(15);

/// What the annotations of an EC2NodeClass that begin with [`ROLLOUT_PREFIX`] say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutAnnotations {
    /// By name.
    pub texts: BTreeMap<String, String>,
}

impl RolloutAnnotations {
    /// Those among `annotations`; `None` if there are none.
    pub fn among(annotations: &BTreeMap<String, String>) -> Option<Self> {
        let entries = annotations.iter().filter(|(key, _)| key.starts_with(ROLLOUT_PREFIX));
        let texts: BTreeMap<String, String> =
            entries.map(|(key, value)| (key.clone(), value.clone())).collect();
        (!texts.is_empty()).then_some(Self { texts })
    }

    /// A number of these annotations: a halt is about the settings that it was found under.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for (key, value) in &self.texts {
            digest.add(format_args!("{key} {value}"));
        }
        digest.0
    }

    /// What they mean, or what is wrong with the first of them, in words.
    pub fn read(&self) -> Result<Rollout, String> {
        let mut rollout = Rollout { canary: None, bake_time: BAKE_TIME, freezes: Vec::new() };
        for (key, text) in &self.texts {
            let read = match key.as_str() {
                ROLLOUT_CANARY => canary(text).map(|canary| rollout.canary = Some(canary)),
                ROLLOUT_BAKE_TIME => bake_time(text).map(|time| rollout.bake_time = time),
                ROLLOUT_FREEZE => freezes(text).map(|freezes| rollout.freezes = freezes),
                _ => Err("there is no such setting".to_owned()),
            };
            read.map_err(|why| format!("annotation {key}: {why}"))?;
        }
        if rollout.canary.is_none() && self.texts.contains_key(ROLLOUT_BAKE_TIME) {
            return Err(format!("annotation {ROLLOUT_BAKE_TIME}: it needs {ROLLOUT_CANARY}"));
        }
        Ok(rollout)
    }
}

/// How the nodes of an EC2NodeClass are moved to what is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The nodes of each NodePool that are moved first; `None` is all, within the disruption budgets.
    pub canary: Option<BudgetNodes>,
    /// How long these run, initialized and healthy, before other nodes follow.
    pub bake_time: SignedDuration,
    /// When no node is moved.
    pub freezes: Vec<Freeze>,
}

impl Rollout {
    /// How many of the `total` nodes of a NodePool are moved first: a share is rounded down, and one node is the least.
    /// `None` is all.
    pub fn canaries(&self, total: usize) -> Option<usize> {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let canaries = match self.canary? {
            BudgetNodes::Count(count) => number(count),
            BudgetNodes::Percent(percent) => total.saturating_mul(number(percent)) / 100,
        };
        Some(canaries.max(1))
    }

    /// The freeze that is in force at `now`, if one is.
    pub fn frozen_by(&self, now: Timestamp) -> Option<&Freeze> {
        self.freezes.iter().find(|freeze| freeze.schedule.is_active(freeze.duration, now))
    }
}

/// A time in which no drifted node is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// When it begins.
    pub schedule: CronSchedule,
    /// For how long.
    pub duration: SignedDuration,
    /// Both as written.
    pub text: String,
}

impl Freeze {
    /// When it ends, if it is in force at `now`; `None` if it begins again and again before it ends.
    pub fn ends(&self, now: Timestamp) -> Option<Timestamp> {
        let mut firing = self.schedule.next_after(now.checked_sub(self.duration).ok()?)?;
        for _ in 0..FIRINGS_MAX {
            let end = firing.checked_add(self.duration).ok()?;
            match self.schedule.next_after(firing) {
                Some(next) if next <= end => firing = next,
                _ => return Some(end),
            }
        }
        None
    }
}

/// Firings that one freeze is followed through.
const FIRINGS_MAX: usize = 50;

/// `3` or `5%`.
fn canary(text: &str) -> Result<BudgetNodes, String> {
    let count = || text.parse().ok().filter(|count: &u32| 0 < *count).map(BudgetNodes::Count);
    let nodes = parse_share(text).map(BudgetNodes::Percent).or_else(count);
    nodes.ok_or_else(|| {
        format!("`{text}` is not a number of nodes from 1, or a share from 1% to 100%")
    })
}

fn bake_time(text: &str) -> Result<SignedDuration, String> {
    let time = duration::parse_go(text).map_err(|error| error.to_string())?;
    let is_negative = || format!("`{text}` is below zero");
    (!time.is_negative()).then_some(time).ok_or_else(is_negative)
}

/// Freezes with `;` between them: each a schedule, and how long it lasts.
fn freezes(text: &str) -> Result<Vec<Freeze>, String> {
    let freeze = |text: &str| {
        let whole =
            || format!("`{text}` is not a schedule and a duration, such as `0 18 * * 5 62h`");
        let (schedule, duration) = text.rsplit_once(char::is_whitespace).ok_or_else(whole)?;
        let duration = duration::parse_go(duration).ok().filter(SignedDuration::is_positive);
        let duration = duration.ok_or_else(whole)?;
        let schedule = CronSchedule::parse(schedule.trim()).map_err(|error| error.to_string())?;
        Ok(Freeze { schedule, duration, text: text.to_owned() })
    };
    text.split(';').map(|part| freeze(part.trim())).collect()
}

/// What nodes of one NodePool are moved to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RolloutTarget {
    /// The EC2NodeClass of the NodePool.
    pub node_class: NodeClassName,
    /// The NodePool.
    pub node_pool: NodePoolName,
    /// The static hash of the NodePool; `None` if it is not known.
    pub pool_hash: Option<String>,
    /// The static hash of the EC2NodeClass; `None` if it is not known.
    pub class_hash: Option<String>,
    /// The image; `None` if it is not known.
    pub image: Option<ImageId>,
}

impl fmt::Display for RolloutTarget {
    /// `NodePool general, EC2NodeClass default, image ami-2`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodePool {}, EC2NodeClass {}", self.node_pool, self.node_class)?;
        self.image.iter().try_for_each(|image| write!(f, ", image {image}"))
    }
}

/// Images on which canaries passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedImages {
    /// Of this EC2NodeClass.
    pub node_class: NodeClassName,
    /// Those that nodes of its instance types start from.
    pub images: BTreeSet<ImageId>,
}

/// That canaries were not healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// What they were moved to.
    pub target: RolloutTarget,
    /// [`RolloutAnnotations::digest`] at that time: another one ends the halt.
    pub settings: u64,
    /// What was wrong with them, in words.
    pub why: String,
}
