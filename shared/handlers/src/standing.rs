//! Decisions that nothing follows from: pods that get no node, nodes that stay.
//!
//! The same is decided at every look, and is one record with a count. A process remembers which records are
//! its own; another process begins others, which whoever reads them adds up.

use std::{cell::RefCell, collections::BTreeMap};

use jiff::{SignedDuration, Timestamp};
use model::{ledger::Decision, limits};

/// How long the count of a record may be behind.
const WRITTEN_EVERY: SignedDuration = SignedDuration::from_mins(10);
/// What was not decided for so long is a new decision when it is decided again.
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// Records that a process remembers at most.
const REMEMBERED_MAX: usize = 1_000;

/// Which records of decisions that stand this process writes.
#[derive(Debug, Default)]
pub(crate) struct Standing(RefCell<BTreeMap<u64, Kept>>);

#[derive(Debug)]
struct Kept {
    decision: Decision,
    /// Whether the stored record lacks more than the count.
    is_news: bool,
    written_at: Option<Timestamp>,
}

impl Standing {
    /// The record of `decision`, which counts as decided once more; `None` where what is stored will do.
    pub(crate) fn counted(&self, decision: Decision, now: Timestamp) -> Option<Decision> {
        let mut known = self.0.borrow_mut();
        known.retain(|_, kept| now.duration_since(kept.decision.last_at) < FORGOTTEN_AFTER);
        if REMEMBERED_MAX <= known.len() {
            known.clear();
        }
        let kept = known
            .entry(decision.content())
            .and_modify(|kept| kept.count(&decision, now))
            .or_insert_with(|| Kept { decision, is_news: true, written_at: None });
        let is_old = |written_at| WRITTEN_EVERY <= now.duration_since(written_at);
        let is_due = kept.is_news || kept.written_at.is_none_or(is_old);
        is_due.then(|| kept.decision.clone())
    }

    /// Notes that `decisions` are stored.
    pub(crate) fn written(&self, decisions: &[Decision], now: Timestamp) {
        let mut known = self.0.borrow_mut();
        for decision in decisions {
            if let Some(kept) = known.get_mut(&decision.content()) {
                kept.is_news = false;
                kept.written_at = Some(now);
                // What it was made on when it was decided for the first time.
                kept.decision.origin.clone_from(&decision.origin);
            }
        }
    }
}

impl Kept {
    fn count(&mut self, again: &Decision, now: Timestamp) {
        self.decision.count = self.decision.count.saturating_add(1);
        self.decision.last_at = now;
        self.decision.bounds.clone_from(&again.bounds);
        let pods = &mut self.decision.pods;
        for pod in &again.pods {
            if pods.len() < limits::PODS_PER_DECISION_MAX && !pods.contains(pod) {
                pods.push(pod.clone());
                self.is_news = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Function, PodKey, ledger::DecisionKind};

    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(minutes * 60).unwrap()
    }

    fn refused(pod: &str, minutes: i64) -> Decision {
        let who = (Function::Provision, at(minutes));
        let decision = Decision::about(DecisionKind::Refusal, [], who, "no node".to_owned());
        let name = format!("default/{pod}");
        let (namespace, name) = name.split_once('/').unwrap();
        let pod = PodKey { namespace: namespace.parse().unwrap(), name: name.parse().unwrap() };
        Decision { pods: vec![pod], ..decision }
    }

    #[test]
    fn what_is_decided_again_is_one_record_with_a_count() {
        let standing = Standing::default();
        let decide = |pod: &str, minutes| {
            let due = standing.counted(refused(pod, minutes), at(minutes));
            standing.written(due.as_slice(), at(minutes));
            due.map(|due| (due.count, due.pods.len(), due.at, due.id()))
        };
        let (count, pods, first, id) = decide("a", 0).unwrap();
        assert_eq!((count, pods, first), (1, 1, at(0)));
        assert_eq!(decide("a", 1), None);
        assert_eq!(decide("a", 9), None);
        assert_eq!(decide("a", 10), Some((4, 1, at(0), id.clone())));
        // Another pod for the same reasons is told at once.
        assert_eq!(decide("b", 11), Some((5, 2, at(0), id)));
        assert_eq!(decide("b", 12), None);
        // After a long time it is another decision.
        assert_eq!(decide("b", 80).map(|(count, pods, ..)| (count, pods)), Some((1, 1)));
    }

    #[test]
    fn what_could_not_be_written_is_due_again() {
        let standing = Standing::default();
        assert_eq!(standing.counted(refused("a", 0), at(0)).unwrap().count, 1);
        assert_eq!(standing.counted(refused("a", 1), at(1)).unwrap().count, 2);
    }
}
