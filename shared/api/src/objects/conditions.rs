//! `status.conditions`: what controllers say about an object.
//!
//! <https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties>

use jiff::Timestamp;
use model::{
    Condition, ConditionKind, ConditionReason,
    condition::{NotReady, Untrue},
    node::{IllCondition, IllStatus},
    repair,
    wake::WakeHealth,
};

use crate::document::tree::{Tree, TreeValue};

/// Conditions in their order. What is malformed in one is as good as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conditions(Vec<ReadCondition>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ReadCondition {
    /// Its type, which need not be one that Karpenter has.
    kind: String,
    status: Option<bool>,
    reason: String,
    message: String,
    /// `observedGeneration`; 0 when absent, as in Go.
    generation: i64,
    since: Option<Timestamp>,
}

impl Conditions {
    /// Reads `status.conditions` of `object`; an absent list is empty.
    pub(crate) fn of(object: &Tree) -> Self {
        let list = object.get("status").and_then(|status| status.get("conditions"));
        let Some(TreeValue::List(items)) = list.map(|list| &list.value) else {
            return Self::default();
        };
        let text = |item: &Tree, key: &str| {
            item.get(key).and_then(Tree::as_text).unwrap_or_default().to_owned()
        };
        let condition = |item: &Tree| ReadCondition {
            kind: text(item, "type"),
            status: match text(item, "status").as_str() {
                "True" => Some(true),
                "False" => Some(false),
                _ => None,
            },
            reason: text(item, "reason"),
            message: text(item, "message"),
            generation: whole_number(item, "observedGeneration").unwrap_or_default(),
            since: text(item, "lastTransitionTime").parse().ok(),
        };
        Self(items.iter().map(condition).collect())
    }

    /// Those that a repair policy is about, in a status that says that a node is ill.
    pub(crate) fn of_ill_node(&self) -> Vec<IllCondition> {
        let ill = self.0.iter().filter_map(|condition| {
            let status = match condition.status {
                Some(true) => return None,
                Some(false) => IllStatus::False,
                None => IllStatus::Unknown,
            };
            repair::is_about(&condition.kind, status).then(|| IllCondition {
                kind: condition.kind.clone(),
                status,
                reason: condition.reason.clone(),
                since: condition.since,
            })
        });
        ill.collect()
    }

    fn get(&self, kind: ConditionKind) -> Option<&ReadCondition> {
        self.0.iter().find(|condition| condition.is(kind))
    }

    /// Those of Karpenter's types, with the text of each reason.
    pub(crate) fn known(&self) -> Vec<Condition> {
        let conditions = self.0.iter().filter_map(|condition| {
            let ReadCondition { kind, status, reason, message, .. } = condition.clone();
            let (kind, reason) = (ConditionKind::parse(&kind)?, ConditionReason::Other(reason));
            Some(Condition { kind, status, reason, message })
        });
        conditions.collect()
    }

    /// The oldest generation that one of them is about; `None` if there is no condition.
    pub(crate) fn oldest_generation(&self) -> Option<i64> {
        self.0.iter().map(|condition| condition.generation).min()
    }

    /// Whether there is none at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_true(&self, kind: ConditionKind) -> bool {
        self.get(kind).is_some_and(|condition| condition.status == Some(true))
    }

    /// When the condition last changed, if it is true.
    pub(crate) fn since(&self, kind: ConditionKind) -> Option<Timestamp> {
        self.get(kind).filter(|condition| condition.status == Some(true))?.since
    }

    /// When a pod was last found to fit nowhere, if it waits for that: known, or not.
    #[expect(clippy::option_option, reason = "a condition may not say since when it is")]
    pub(crate) fn unschedulable_since(&self) -> Option<Option<Timestamp>> {
        let scheduled = self.get(ConditionKind::PodScheduled)?;
        let is_unschedulable = scheduled.reason == ConditionReason::Unschedulable.as_str();
        is_unschedulable.then_some(scheduled.since)
    }

    /// The condition `WakeHealthy` of a NodePool.
    pub(crate) fn wake(&self) -> Option<WakeHealth> {
        let condition = self.get(ConditionKind::WakeHealthy)?;
        Some(WakeHealth::of(condition.status, &condition.reason, condition.since?))
    }

    /// The reason of a condition that is true.
    pub(crate) fn reason_if_true(&self, kind: ConditionKind) -> Option<String> {
        let condition = self.get(kind).filter(|condition| condition.status == Some(true));
        condition.map(|condition| condition.reason.clone())
    }

    /// Whether `Ready` is about this `generation`, where a server counts generations.
    pub(crate) fn is_about(&self, generation: Option<i64>) -> bool {
        let ready = self.get(ConditionKind::Ready);
        ready.is_some_and(|ready| generation.is_none_or(|present| ready.generation == present))
    }

    /// Why the object is not ready. `None` when it is, or when it was not checked yet. A `generation` is the
    /// one that `Ready` must be about.
    pub(crate) fn not_ready(&self, generation: Option<i64>) -> Option<NotReady> {
        if self.is_empty() {
            return None;
        }
        let ready = self.get(ConditionKind::Ready);
        match ready {
            Some(ready) if ready.status == Some(true) => {
                let is_stale = generation.is_some_and(|present| ready.generation != present);
                return is_stale.then_some(NotReady::Stale);
            }
            Some(_) | None => {}
        }
        let others = self.0.iter().filter(|condition| !condition.is(ConditionKind::Ready));
        let untrue = others.filter(|condition| condition.status != Some(true));
        Some(NotReady::Conditions {
            ready: ready.map(ReadCondition::untrue),
            others: untrue.map(ReadCondition::untrue).collect(),
        })
    }
}

/// `metadata.generation`: which spec the object has, where a server counted it.
pub(crate) fn generation(object: &Tree) -> Option<i64> {
    whole_number(object.get("metadata")?, "generation")
}

pub(crate) fn whole_number(of: &Tree, key: &str) -> Option<i64> {
    match &of.get(key)?.value {
        TreeValue::Number(text) => text.parse().ok(),
        _ => None,
    }
}

impl ReadCondition {
    fn is(&self, kind: ConditionKind) -> bool {
        self.kind == kind.as_str()
    }

    fn untrue(&self) -> Untrue {
        Untrue {
            kind: self.kind.clone(),
            is_false: self.status == Some(false),
            reason: self.reason.clone(),
            message: self.message.clone(),
        }
    }
}
