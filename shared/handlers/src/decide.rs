//! Question → answer → commit: the way of every decider.

use model::{
    Function, Plan,
    facts::Facts,
    ledger::{Basis, Counters},
    recorded::Question,
};
use planner::Answer;
use ports::{Adapters, Invocation, Ledger as _};

use crate::{
    commit::{Committed, Decided, both, commit, commit_and_record, put_decisions},
    error::Error,
    memory::ProcessMemory,
    pulse::wake,
    settings::Record,
};

/// How often a decider asks again when other functions commit first. The next call decides the rest.
pub(crate) const ATTEMPTS_MAX: u32 = 3;

/// A function that decides.
pub(crate) struct Decider<'a, A: Adapters> {
    pub(crate) ledger: &'a A::Ledger,
    pub(crate) mailbox: &'a A::Mailbox,
    pub(crate) memory: &'a ProcessMemory,
    /// What is stored of its decisions.
    pub(crate) record: Record,
}

/// What a decider came to.
pub(crate) struct Decisions {
    /// All plans that were committed, merged; `None` if there is none.
    pub(crate) plan: Option<Plan>,
    /// The last answer without its plan, and the counters after its commit; `None` if other functions committed first each time.
    pub(crate) last: Option<(Answer, Counters)>,
}

impl<A: Adapters> Decider<'_, A> {
    /// Answers `question` and commits the plan, notes its events and wakes functions. `None` if another function
    /// committed first.
    pub(crate) async fn decide(
        &self,
        facts: &Facts,
        question: &Question,
        at: &Invocation,
    ) -> Result<Option<(Answer, Counters)>, Error> {
        let mut answer = planner::answer(facts, question, &self.memory.planner);
        if let Some(next_search) = &answer.next_search {
            self.memory.next_search.borrow_mut().clone_from(next_search);
        }
        let decided = self.decided(question, &answer);
        let (committed, sound) = commit_and_record(self.ledger, facts, &decided, at).await?;
        let Committed::All(counters) = committed else { return Ok(None) };
        if let Some(sound) = sound {
            planner::events::tell_left_out(&mut answer, &sound, &facts.pods);
            answer.plan = sound;
        }
        if !answer.wakes.is_empty() {
            wake(self.mailbox, &answer.wakes, counters, at).await;
        }
        self.memory.published.note(std::mem::take(&mut answer.events));
        Ok(Some((answer, counters)))
    }

    fn decided<'q>(&'q self, question: &'q Question, answer: &'q Answer) -> Decided<'q> {
        Decided::answering(question, answer, self.record, &self.memory.standing)
    }

    /// Decides as long as the question has another answer at once and `goes_on` says so of the number of answers
    /// so far. Decisions without effect are stored, too. `facts` get the newest ledger.
    pub(crate) async fn decide_all(
        &self,
        facts: &mut Facts,
        question: impl Fn() -> Question,
        goes_on: impl Fn(u32) -> bool,
        at: &Invocation,
    ) -> Result<Decisions, Error> {
        let (mut plan, mut overtaken, mut answers) = (None, 0, 0);
        while overtaken < ATTEMPTS_MAX {
            let question = question();
            if let Some((mut answer, counters)) = self.decide(facts, &question, at).await? {
                answers += 1;
                if answer.plan.is_empty() {
                    let decided = self.decided(&question, &answer);
                    put_decisions(self.ledger, facts, &decided, at).await;
                }
                plan = both(plan, Some(std::mem::take(&mut answer.plan)));
                if !answer.asks_again || !goes_on(answers) {
                    return Ok(Decisions { plan, last: Some((answer, counters)) });
                }
            } else {
                overtaken += 1;
            }
            // The ledger has what other functions did. What they saw of the cluster these facts have, too.
            facts.ledger = self.ledger.snapshot(&at.cluster).await?;
        }
        Ok(Decisions { plan, last: None })
    }
}

/// Commits `plan`, which deletes claims of `facts`, and wakes `drain` and `provision`. Returns whether it did: if another
/// function changed one of the claims first, the next call finds the others again.
pub(crate) async fn delete<A: Adapters>(
    (ledger, mailbox): (&A::Ledger, &A::Mailbox),
    facts: &Facts,
    plan: &Plan,
    at: &Invocation,
) -> Result<bool, Error> {
    match commit(ledger, facts, &Decided::of(plan, Basis::Claims), at).await?.0 {
        Committed::All(counters) => {
            wake(mailbox, &[Function::Drain, Function::Provision], counters, at).await;
            Ok(true)
        }
        Committed::Overtaken => Ok(false),
    }
}
