//! A command of disruption as it is stored until it is done.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{
    ImageId, NodeClaimName, NodeClassName, NodePoolName,
    disruption::{Command, Method, Progress},
    rollout::{AcceptedImages, Halt, RolloutTarget},
};
use serde::{Deserialize, Serialize};

use super::{VERSION, parts, replacement::ReplacementV1};

/// The version of a command that is being carried out. Functions that know none of these would take it
/// for one that waits.
pub(super) const CARRIED_OUT: u32 = 2;

/// A stored command: version 1 while it waits, 2 from then on.
#[derive(Serialize, Deserialize)]
pub(super) struct CommandRecord {
    v: u32,
    method: String,
    found_at: Timestamp,
    candidates: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replacements: Vec<ReplacementV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    drain_seconds: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launching: Option<LaunchingV2>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rolled_back: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved: Option<MovedV2>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rebooting: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    halted: Option<HaltedV2>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<AcceptedV2>,
}

/// That images passed. Functions that do not know this take the command for one that they cannot read.
#[derive(Serialize, Deserialize)]
struct AcceptedV2 {
    node_class: String,
    images: Vec<String>,
}

/// That a rollout is halted. Functions that do not know this take the command for one that they cannot read.
#[derive(Serialize, Deserialize)]
struct HaltedV2 {
    node_class: String,
    node_pool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pool_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    settings: String,
    why: String,
}

impl HaltedV2 {
    fn of(halt: &Halt) -> Self {
        let Halt { target, settings, why } = halt;
        Self {
            node_class: target.node_class.to_string(),
            node_pool: target.node_pool.to_string(),
            pool_hash: target.pool_hash.clone(),
            class_hash: target.class_hash.clone(),
            image: target.image.as_ref().map(ToString::to_string),
            settings: format!("{settings:016x}"),
            why: why.clone(),
        }
    }

    fn into_progress(self) -> Result<Progress, String> {
        let settings = u64::from_str_radix(&self.settings, 16)
            .map_err(|_| format!("settings `{}` are no digest", self.settings))?;
        let target = RolloutTarget {
            node_class: parts::id(&self.node_class, NodeClassName::new)?,
            node_pool: parts::id(&self.node_pool, NodePoolName::new)?,
            pool_hash: self.pool_hash,
            class_hash: self.class_hash,
            image: self.image.map(|image| parts::id(&image, ImageId::new)).transpose()?,
        };
        Ok(Progress::Halted(Halt { target, settings, why: self.why }))
    }
}

/// That its replacements were created.
#[derive(Serialize, Deserialize)]
struct LaunchingV2 {
    since: Timestamp,
    claims: Vec<String>,
}

/// What it moved. Functions that do not know this take the command for one that they cannot read.
#[derive(Serialize, Deserialize)]
struct MovedV2 {
    until: Timestamp,
    pods: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    workloads: Vec<String>,
}

impl MovedV2 {
    fn of(until: Timestamp, pods: u64, workloads: &BTreeSet<u64>) -> Self {
        let workloads = workloads.iter().map(|digest| format!("{digest:016x}")).collect();
        Self { until, pods, workloads }
    }

    fn into_progress(self) -> Result<Progress, String> {
        let digest = |text: &String| {
            u64::from_str_radix(text, 16).map_err(|_| format!("workload `{text}` is no digest"))
        };
        let workloads = self.workloads.iter().map(digest).collect::<Result<_, _>>()?;
        Ok(Progress::Moved { until: self.until, pods: self.pods, workloads })
    }
}

impl CommandRecord {
    pub(super) fn of(command: &Command) -> Self {
        let Command { method, found_at, candidates, replacements, drain, progress } = command;
        let rebooting = match progress {
            Progress::Rebooting { since } => Some(*since),
            _ => None,
        };
        let halted = match progress {
            Progress::Halted(halt) => Some(HaltedV2::of(halt)),
            _ => None,
        };
        let accepted = match progress {
            Progress::Accepted(AcceptedImages { node_class, images }) => Some(AcceptedV2 {
                node_class: node_class.to_string(),
                images: images.iter().map(ToString::to_string).collect(),
            }),
            _ => None,
        };
        let (launching, rolled_back, moved) = match progress {
            Progress::Found
            | Progress::Rebooting { .. }
            | Progress::Halted(_)
            | Progress::Accepted(_) => (None, None, None),
            Progress::Launching { since, claims } => {
                (Some(LaunchingV2 { since: *since, claims: parts::texts(claims) }), None, None)
            }
            Progress::RolledBack { why } => (None, Some(why.clone()), None),
            Progress::Moved { until, pods, workloads } => {
                (None, None, Some(MovedV2::of(*until, *pods, workloads)))
            }
        };
        Self {
            v: if *progress == Progress::Found { VERSION } else { CARRIED_OUT },
            method: method.as_str().to_owned(),
            found_at: *found_at,
            candidates: parts::texts(candidates),
            replacements: replacements.iter().map(ReplacementV1::of).collect(),
            drain_seconds: drain.map(|drain| drain.as_secs()),
            launching,
            rolled_back,
            moved,
            rebooting,
            halted,
            accepted,
        }
    }

    pub(super) fn into_command(self) -> Result<Command, String> {
        let replacements = self.replacements.into_iter().map(ReplacementV1::into_replacement);
        let progress = match (self.launching, self.rolled_back, self.moved) {
            (_, Some(why), _) => Progress::RolledBack { why },
            (Some(LaunchingV2 { since, claims }), None, _) => {
                Progress::Launching { since, claims: parts::ids(&claims, NodeClaimName::new)? }
            }
            (None, None, Some(moved)) => moved.into_progress()?,
            (None, None, None) if self.v == VERSION => Progress::Found,
            (None, None, None) => match (self.rebooting, self.halted, self.accepted) {
                (Some(since), ..) => Progress::Rebooting { since },
                (None, Some(halted), _) => halted.into_progress()?,
                (None, None, Some(accepted)) => Progress::Accepted(AcceptedImages {
                    node_class: parts::id(&accepted.node_class, NodeClassName::new)?,
                    images: parts::ids(&accepted.images, ImageId::new)?.into_iter().collect(),
                }),
                (None, None, None) => return Err("it does not say how far it is".to_owned()),
            },
        };
        Ok(Command {
            method: parts::known(&self.method, "method", Method::parse)?,
            found_at: self.found_at,
            candidates: parts::ids(&self.candidates, NodeClaimName::new)?,
            replacements: replacements.collect::<Result<_, _>>()?,
            drain: self.drain_seconds.map(SignedDuration::from_secs),
            progress,
        })
    }
}
