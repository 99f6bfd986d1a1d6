//! Decisions without effect: pods that get no node, nodes that stay.
//!
//! Every look makes such a decision again; it is one record with a count. A process counts in its own records, and
//! readers add up the records of several processes.

use std::{cell::RefCell, collections::BTreeMap};

use jiff::{SignedDuration, Timestamp};
use model::{ledger::Decision, limits};

/// By how much the count of a stored record may be behind.
const WRITTEN_EVERY: SignedDuration = SignedDuration::from_mins(10);
/// A decision that was not made for this time is a new one when it is made again.
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// Records that are remembered at most.
const REMEMBERED_MAX: usize = 1_000;

/// The records that this process writes, by the content of their decisions.
#[derive(Debug, Default)]
pub(crate) struct StandingDecisions(RefCell<BTreeMap<u64, CountedDecision>>);

#[derive(Debug)]
struct CountedDecision {
    decision: Decision,
    /// Whether the stored record lacks more than the count.
    is_news: bool,
    written_at: Option<Timestamp>,
}

impl StandingDecisions {
    /// Counts `decision` as made once more. Returns its record if that is to be written; `None` if the stored
    /// record will do.
    pub(crate) fn counted(&self, decision: Decision, now: Timestamp) -> Option<Decision> {
        let mut records = self.0.borrow_mut();
        records.retain(|_, record| now.duration_since(record.decision.last_at) < FORGOTTEN_AFTER);
        if REMEMBERED_MAX <= records.len() {
            records.clear();
        }
        let record = records
            .entry(decision.content())
            .and_modify(|record| record.count(&decision, now))
            .or_insert_with(|| CountedDecision { decision, is_news: true, written_at: None });
        let is_old = |written_at| WRITTEN_EVERY <= now.duration_since(written_at);
        let is_due = record.is_news || record.written_at.is_none_or(is_old);
        is_due.then(|| record.decision.clone())
    }

    /// Notes that `decisions` are stored.
    pub(crate) fn written(&self, decisions: &[Decision], now: Timestamp) {
        let mut records = self.0.borrow_mut();
        for decision in decisions {
            if let Some(record) = records.get_mut(&decision.content()) {
                record.is_news = false;
                record.written_at = Some(now);
                // The facts of the first time.
                record.decision.origin.clone_from(&decision.origin);
            }
        }
    }
}

impl CountedDecision {
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
        let standing = StandingDecisions::default();
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
        // Another pod for the same reasons is reported at once.
        assert_eq!(decide("b", 11), Some((5, 2, at(0), id)));
        assert_eq!(decide("b", 12), None);
        // After a long time it is another decision.
        assert_eq!(decide("b", 80).map(|(count, pods, ..)| (count, pods)), Some((1, 1)));
    }

    #[test]
    fn what_could_not_be_written_is_due_again() {
        let standing = StandingDecisions::default();
        assert_eq!(standing.counted(refused("a", 0), at(0)).unwrap().count, 1);
        assert_eq!(standing.counted(refused("a", 1), at(1)).unwrap().count, 2);
    }
}
