//! What a decision was made on, whole, so that it can be made again.

use std::collections::BTreeSet;

use crate::{
    NodeClaimName, NodePoolName, Plan,
    disruption::Cursor,
    facts::Facts,
    interruption::Interruption,
    ledger::{Digest, Origin},
};

/// What was asked of the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// By `provision`: which nodes static NodePools lack, and if they lack none, which ones pods need.
    Provision,
    /// By `disrupt`: which nodes are disrupted.
    Disrupt {
        /// NodePools that the look before did not reach.
        unseen: BTreeSet<NodePoolName>,
        /// Where the search of the look before stopped.
        from: Option<Cursor>,
    },
    /// By `disrupt`: what becomes of commands whose replacements are there, or will never be.
    CarryOn,
    /// By `interrupt`: what becomes of claims of whose instances EC2 tells this.
    Interrupt(Vec<(NodeClaimName, Vec<Interruption>)>),
}

/// What a plan was made on, and the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFacts {
    /// What was asked.
    pub question: Question,
    /// What was looked at.
    pub facts: Facts,
    /// What was decided.
    pub plan: Plan,
}

impl RecordedFacts {
    /// Under which number they are kept when `origin` is what a decision was made on: another number for other facts,
    /// another question and another delivery.
    pub fn number(question: &Question, origin: &Origin) -> u64 {
        let Origin { facts, delivery, .. } = origin;
        let mut digest = Digest::default();
        digest.add(format_args!("{facts:016x} {delivery}"));
        match question {
            Question::Provision => digest.add("provision"),
            Question::Disrupt { unseen, from } => {
                digest.add("disrupt");
                for pool in unseen {
                    digest.add(pool);
                }
                if let Some(Cursor { stage, next, step, .. }) = from {
                    digest.add(format_args!("{stage} {next} {step}"));
                }
            }
            Question::CarryOn => digest.add("carry on"),
            Question::Interrupt(events) => events.iter().for_each(|(claim, _)| digest.add(claim)),
        }
        digest.0
    }
}
