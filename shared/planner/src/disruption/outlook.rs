//! Everything that can be said about giving nodes up at one moment: what each method would do, and
//! why every other node stays.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    CommandId, NodeName, NodePoolName,
    disruption::{DisruptionReason, Method},
    facts::Facts,
};

use super::{
    Objection, Options, Proposal, budgets::Remaining, conditions, decide::PreparedCluster,
    finding::Finding, nodes::StateNode, validation::Voided,
};

/// What would be given up, and why everything else stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// What each method finds on the same facts, independently of the others.
    pub answers: BTreeMap<Method, Finding>,
    /// Nodes, or claims without a node, that no method can look at, and why.
    pub ineligible: BTreeMap<String, Objection>,
    /// The nodes that have drifted, and why, whether a method may give them up now or not.
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
}

/// What every method would do.
#[must_use]
pub fn outlook(facts: &Facts, options: &Options) -> Outlook {
    let mut prepared_cluster = PreparedCluster::of(facts, options);
    if !options.is_watched {
        prepared_cluster.spare_for_pending();
    }
    let repairs = facts.policies.repairs_nodes();
    let methods = Method::ALL.into_iter().filter(|method| *method != Method::Repair || repairs);
    let mut answers: BTreeMap<Method, Finding> =
        methods.map(|method| (method, prepared_cluster.decide(method))).collect();
    if !options.is_watched {
        for finding in answers.values_mut() {
            prepared_cluster.drop_what_cannot_begin(finding);
        }
    }
    Outlook { answers, ..prepared_cluster.about_nodes() }
}

impl PreparedCluster<'_> {
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
