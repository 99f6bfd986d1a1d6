//! What each method would disrupt at one moment, and why every other node is not disrupted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use model::{
    CommandId, NodeName, NodePoolName,
    disruption::{DisruptionReason, Method},
    facts::Facts,
    ledger::RejectionReason,
};

use super::{
    Objection, Options, Proposal, budgets::Remaining, conditions, decide::PreparedCluster,
    finding::Finding, nodes::StateNode, validation::Voided,
};

/// What would be disrupted, and why every other node would not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// What each method finds on the same facts, independently of the others.
    pub answers: BTreeMap<Method, Finding>,
    /// Nodes, or claims without a node, that no method can look at, and why.
    pub ineligible: BTreeMap<String, Objection>,
    /// The nodes that have drifted, and why, whether a method may disrupt them now or not.
    pub drifted: BTreeMap<NodeName, String>,
    /// What claims were launched as and the lists of instance types lack, where a list need not be whole: whether EC2
    /// still offers it cannot be known. Sorted, each once.
    pub not_listed: BTreeSet<String>,
    /// What the budgets leave; `None` is unlimited.
    pub budgets: BTreeMap<NodePoolName, BTreeMap<DisruptionReason, Option<u64>>>,
    /// Why nothing is decided at all, if so.
    pub waiting: Option<Objection>,
}

impl Outlook {
    /// The method that acts: the first in order that found something.
    pub fn first(&self) -> Option<Method> {
        let mut answers = self.answers.iter();
        answers.find_map(|(method, answer)| answer.proposal.is_some().then_some(*method))
    }

    /// What is carried out.
    pub fn proposal(&self) -> Option<&Proposal> {
        self.answers.get(&self.first()?)?.proposal.as_ref()
    }

    /// What `method` says about `node`; `None` if it would disrupt the node, or was not asked.
    pub fn said(&self, method: Method, node: &NodeName) -> Option<Said<'_>> {
        let answer = self.answers.get(&method)?;
        if let Some(objection) = answer.notes.get(node) {
            return Some(Said::Objection(objection));
        }
        if let Some(proposal) = &answer.proposal {
            let is_disrupted = proposal.nodes().any(|name| name == node);
            return proposal.nodes().next().filter(|_| !is_disrupted).map(Said::After);
        }
        let is_its =
            |(proposal, _): &&(Proposal, Voided)| proposal.nodes().any(|name| name == node);
        let voided = answer.voided.as_ref().filter(is_its).map(|(_, voided)| Said::Voided(voided));
        voided.or_else(|| answer.error.as_ref().map(Said::Objection))
    }

    /// Why `node` is not disrupted now, in one reason: what the first method says that is meant for the node, in the
    /// order in which methods are asked. Several nodes at once are passed over: why the node cannot be disrupted alone
    /// says more. If the node has drifted and waits for a rollout, that says more than what other methods wait for.
    /// `acting` is what is disrupted now: if another method would disrupt the node, `acting` comes first.
    /// The method is `None` if the reason is not that of one method. `None` if `acting` names the node, or no method
    /// was asked.
    pub fn decisive<'o>(
        &'o self,
        node: &NodeName,
        acting: Option<&'o Proposal>,
    ) -> Option<(Option<Method>, Said<'o>)> {
        if acting.is_some_and(|acting| acting.nodes().any(|name| name == node)) {
            return None;
        }
        if let Some(objection) = self.ineligible.get(node.as_str()) {
            return Some((None, Said::Objection(objection)));
        }
        let waits = |answer: &Said<'_>| matches!(answer, Said::Objection(why) if why.reason() == RejectionReason::Rollout);
        let waiting = self
            .answers
            .keys()
            .find_map(|method| Some((Some(*method), self.said(*method, node).filter(waits)?)));
        let mut last = None;
        for (method, answer) in
            self.answers.iter().filter(|(method, _)| **method != Method::MultiNode)
        {
            let proposal = answer.proposal.as_ref();
            let is_disrupted = proposal.is_some_and(|p| p.nodes().any(|name| name == node));
            let first = acting.and_then(|acting| acting.nodes().next()).filter(|_| is_disrupted);
            let Some(said) = first.map(Said::After).or_else(|| self.said(*method, node)) else {
                continue;
            };
            let is_meant = !matches!(said, Said::Objection(objection) if objection.is_of_others());
            if matches!(said, Said::Objection(Objection::Immovable(_))) {
                return Some((None, said));
            }
            if is_meant {
                let waiting = waiting.filter(|_| !matches!(said, Said::After(_)));
                return waiting.or(Some((Some(*method), said)));
            }
            last = Some((None, said));
        }
        last
    }
}

/// What a method says about a node that it does not disrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'o> {
    /// What stands against it.
    Objection(&'o Objection),
    /// A command with the node would not hold.
    Voided(&'o Voided),
    /// Others are disrupted, this one first.
    After(&'o NodeName),
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objection(objection) => f.write_str(&objection.in_full()),
            Self::Voided(voided) => voided.fmt(f),
            Self::After(first) => write!(f, "{first} is disrupted first"),
        }
    }
}

/// What every method would do.
#[must_use]
pub fn outlook(facts: &Facts, options: &Options) -> Outlook {
    PreparedCluster::of(facts, options).outlook()
}

impl PreparedCluster<'_> {
    /// What every method would do. A look at the same facts that follows does not search again.
    pub(crate) fn outlook(&mut self) -> Outlook {
        let is_watched = self.options.is_watched;
        if !is_watched {
            self.spare_for_pending();
        }
        let repairs = self.state.facts.policies.repairs_nodes();
        let methods = Method::ALL.into_iter().filter(|method| *method != Method::Repair || repairs);
        let mut answers: BTreeMap<Method, Finding> =
            methods.map(|method| (method, self.decide(method))).collect();
        self.decided.clone_from(&answers);
        if !is_watched {
            for finding in answers.values_mut() {
                self.drop_what_cannot_begin(finding);
            }
        }
        Outlook { answers, ..self.about_nodes() }
    }

    /// Nodes, or claims without a node, that no method can look at, and why.
    pub(crate) fn ineligible(&self) -> BTreeMap<String, Objection> {
        let mut ineligible = BTreeMap::new();
        for (number, reason) in &self.field.others {
            ineligible.insert(self.state.nodes[*number].name().to_owned(), reason.clone());
        }
        for candidate in &self.field.candidates {
            if let Some(reason) = &candidate.refused {
                ineligible.insert(candidate.node.name.to_string(), reason.clone());
            } else if let Some(reason) = candidate.blocked_for(Method::Drift) {
                ineligible.insert(candidate.node.name.to_string(), reason.clone().into());
            }
        }
        ineligible
    }

    /// Takes a command out of `finding` that the function would begin at once, and could not.
    fn drop_what_cannot_begin(&mut self, finding: &mut Finding) {
        let Some(command) = finding.command().filter(|command| command.method.is_eventual()) else {
            return;
        };
        let command = command.clone();
        if let Err(objection) = self.begun((&CommandId::derived(&command), &command)) {
            let proposal = finding.proposal.take();
            finding.voided = proposal.map(|proposal| (proposal, Voided::Scheduling(objection)));
        }
    }

    fn drifted(&self) -> BTreeMap<NodeName, String> {
        let reason = |(_, entry): (_, &StateNode<'_>)| {
            let claim = entry.claim.filter(|claim| !claim.is_deleting())?;
            let pool = self.state.pool(claim.node_pool.as_str())?;
            let (_, reason) = conditions::drift(&self.state, entry, pool)?;
            Some((entry.node?.name.clone(), reason))
        };
        self.state.nodes.entries().filter_map(reason).collect()
    }

    fn about_nodes(&self) -> Outlook {
        let not_listed = conditions::not_listed(&self.state);
        if !self.state.is_complete() {
            let waiting = Some(Objection::Incomplete);
            return Outlook { not_listed, waiting, ..Outlook::default() };
        }
        let ineligible = self.ineligible();
        let mut budgets: BTreeMap<NodePoolName, BTreeMap<DisruptionReason, Option<u64>>> =
            BTreeMap::new();
        let repairs = self.state.facts.policies.repairs_nodes();
        let mut reasons = DisruptionReason::ALL.to_vec();
        reasons.retain(|reason| *reason != DisruptionReason::Unhealthy || repairs);
        for reason in reasons {
            let remaining = Remaining::of(&self.state, reason);
            for pool in &self.state.facts.node_pools {
                let disruption_reasons = budgets.entry(pool.name.clone()).or_default();
                disruption_reasons.insert(reason, remaining.left(&pool.name));
            }
        }
        Outlook { ineligible, drifted: self.drifted(), not_listed, budgets, ..Outlook::default() }
    }
}
