//! A plan that creates nothing for its pending pods is given again as long as nothing that it was made of changed.
//!
//! It decides nothing: where time alone can change the plan, the plan is made again.

use std::{cell::RefCell, rc::Rc};

use model::{NodeClaim, facts::Facts};

use crate::{answer::Answer, pace::waits_for_class, world::World};

/// The last answer that left pods pending, and the facts that it was made of. Copies share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unchanged(Rc<RefCell<Option<(Facts, Answer)>>>);

impl Unchanged {
    /// The last answer if `facts` are those of then but for the time, and otherwise what `plan` says.
    pub(crate) fn or_plan(&self, facts: &Facts, plan: impl FnOnce() -> Answer) -> Answer {
        if let Some((_, last)) =
            self.0.borrow().as_ref().filter(|(then, _)| facts.differ_in_time_alone(then))
        {
            let mut answer = last.clone();
            for decision in &mut answer.plan.decisions {
                (decision.at, decision.last_at) = (facts.now, facts.now);
            }
            return answer;
        }
        let answer = plan();
        let keeps = leaves_all(&answer) && is_timeless(facts);
        self.0.replace(keeps.then(|| (facts.clone(), answer.clone())));
        answer
    }
}

/// Whether the answer creates and places nothing, and pods wait for something else than the status of an EC2NodeClass.
fn leaves_all(answer: &Answer) -> bool {
    answer.plan.is_empty()
        && answer.plan.placements.is_empty()
        && !answer.plan.unplaced.is_empty()
        && !answer.asks_again
        && !waits_for_class(&answer.plan)
}

/// Whether time alone changes nothing: no pod leaves its node, and no reservation was used a moment ago.
fn is_timeless(facts: &Facts) -> bool {
    World::of(facts).leaving(facts).is_empty()
        && !facts.ledger.claims.values().any(NodeClaim::is_reserved)
        && !facts.policies.capacity_buffer
}
