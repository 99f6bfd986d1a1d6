//! `plan --disruption`: which nodes would be disrupted, what would be launched in their place, and why every other
//! node is not disrupted.
//!
//! The decisions are the planner's; here they are only shown (`html`, `json`, `table`).

mod html;
mod json;
mod moves;
mod staying;
mod table;
mod unknown;

use std::{borrow::Cow, collections::BTreeMap, io::Write};

use jiff::SignedDuration;
use model::{
    NodeClaim, NodeClaimName, NodeName, Pod, facts::Facts, ledger::Decision,
    policies::ConsolidationSearch, protection,
};
use planner::{
    disruption::{self, Finding, Options, Outlook, Proposal},
    eviction::{DisruptionBudgets, Immovable},
    foreseen::{self, DisruptionStep, NextDisruption},
};
use report::{
    error::BadInput,
    output::{self, count},
    page,
    screen::Screen,
};

use super::{CommandError, Remarks, cluster::Cluster, print_document, zones};
use crate::plan::args::{PlanArgs, View};

/// How much a thorough search may simulate, in pods, unless it is said.
const WORK: u64 = 20_000_000;

/// How many pods or nodes a line names.
const NAMED: usize = 3;

/// What was found.
struct Found<'a> {
    facts: &'a Facts,
    view: View,
    /// What is disrupted before a method is asked, whatever runs on it: expired nodes, deleted ones, surplus replicas.
    ahead: Vec<Decision>,
    outlook: Outlook,
    /// What the function `disrupt` would commit next, in order; empty in Karpenter's view.
    next: Vec<DisruptionStep>,
    /// What the facts do not say, and what would.
    unknown: Vec<String>,
    /// What the wider search found, if it was asked for.
    thorough: Option<Finding>,
}

impl Found<'_> {
    /// What is carried out: what the function `disrupt` finds, or in Karpenter's view what its first method finds.
    fn proposal(&self) -> Option<&Proposal> {
        match self.view {
            View::Journeyman => self.next.iter().find_map(|step| step.proposal.as_ref()),
            View::Karpenter => self.outlook.proposal(),
        }
    }

    /// A line for each NodeClaim that is deleted before a method is asked, with what its drain will wait for.
    fn ahead_lines(&self) -> Vec<String> {
        let line = |decision: &Decision| {
            let waits = decision.claims().find_map(|claim| self.drain_waits_for(claim));
            let waits = waits.map(|waits| format!("; its drain will wait{}", waits.in_words()));
            format!("{}{}", decision.summary, waits.unwrap_or_default())
        };
        self.ahead.iter().map(line).collect()
    }

    /// What the drain of the node of `claim` waits for, if it does not end by itself, as far as its pods say it now.
    fn drain_waits_for(&self, claim: &NodeClaimName) -> Option<Waits> {
        let claim = self.facts.ledger.claims.get(claim)?;
        let node = claim.node.as_ref()?;
        let (now, budgets) = (self.facts.now, DisruptionBudgets::of(self.facts));
        let blocked =
            |pod: &Pod| Immovable::protection(pod, now).or_else(|| budgets.objection(pod, now));
        let mut pods = self.facts.pods.iter().filter(|pod| pod.node.as_ref() == Some(node));
        let why = pods.find_map(blocked)?;
        Some(Waits { why, at_most: claim.termination_grace_period })
    }

    /// The nodes that `proposal` disrupts and whose drains do not end by themselves, with what each waits for.
    fn waits_of<'p>(&self, proposal: &'p Proposal) -> Vec<(&'p NodeName, Waits)> {
        let claims = self.facts.ledger.claims.values();
        let by_node: BTreeMap<&NodeName, &NodeClaimName> =
            claims.filter_map(|claim| Some((claim.node.as_ref()?, &claim.name))).collect();
        let waits = |node: &'p NodeName| Some((node, self.drain_waits_for(by_node.get(node)?)?));
        proposal.nodes().filter_map(waits).collect()
    }
}

/// What a drain waits for.
struct Waits {
    /// The first pod that does not leave, and why.
    why: Immovable,
    /// `terminationGracePeriod` of the NodeClaim: after that the instance ends all the same.
    at_most: Option<SignedDuration>,
}

impl Waits {
    /// To go on after "wait": ` up to 1h0m0s (terminationGracePeriod): …`.
    fn in_words(&self) -> String {
        let why = &self.why;
        match self.at_most {
            Some(at_most) => {
                let at_most = model::duration::format_go(at_most);
                format!(" up to {at_most} (terminationGracePeriod): {why}")
            }
            None => format!(": {why}, and the NodeClaim has no terminationGracePeriod"),
        }
    }
}

/// Decides on the facts and prints. Returns the answer in short, for people.
pub(super) fn run(
    args: &PlanArgs,
    screen: Screen,
    (facts, remarks): (&Facts, &Remarks),
    cluster: Option<&Cluster>,
    out: &mut impl Write,
) -> Result<Vec<String>, CommandError> {
    let explained = args.explain.as_ref().map(|node| named(facts, node)).transpose()?;
    let view = args.view.unwrap_or_else(|| view_of(facts));
    let options = options(view, remarks);
    let is_thorough = facts.policies.consolidation == ConsolidationSearch::Thorough;
    let work = args.consolidation_work.unwrap_or(WORK);
    let facts = &*match view {
        View::Journeyman => Cow::Borrowed(facts),
        View::Karpenter => zones::as_karpenter_reads(facts),
    };
    let NextDisruption { ahead, facts, outlook, steps } = match view {
        View::Journeyman => foreseen::next_disruption(facts, &options),
        // Karpenter's methods still look at what its other controllers are about to delete.
        View::Karpenter => NextDisruption {
            ahead: forced(facts),
            facts: Cow::Borrowed(facts),
            outlook: disruption::outlook(facts, &options),
            steps: Vec::new(),
        },
    };
    let facts = &*facts;
    let preview = Found {
        facts,
        view,
        ahead,
        unknown: unknown::of(facts, view, &outlook, remarks.foreign_context.as_deref()),
        outlook,
        next: steps,
        thorough: is_thorough.then(|| disruption::thorough(facts, &options, work, None)),
    };
    if let Some(node) = explained {
        table::explain(&preview, &node, screen, out)?;
        return Ok(Vec::new());
    }
    if let Some(path) = &args.html {
        page::write(&html::report(&preview, remarks, cluster), path)?;
    }
    if args.output.is_document() {
        print_document(args.output, (cluster, &json::document(&preview, remarks)), out)?;
        return Ok(Vec::new());
    }
    table::show(&preview, screen, out)?;
    super::table::remarks(remarks, screen, out)?;
    Ok(table::answer(&preview))
}

/// The node that is called `name`, with or without its domain.
fn named(facts: &Facts, name: &str) -> Result<String, BadInput> {
    let is_short = |node: &&NodeName| {
        node.as_str().strip_prefix(name).is_some_and(|domain| domain.starts_with('.'))
    };
    let mut short = facts.nodes.keys().filter(is_short);
    let only = short.next().filter(|_| short.next().is_none());
    let whole = facts.nodes.keys().find(|node| node.as_str() == name);
    let node = whole.or(only).map(ToString::to_string);
    node.ok_or_else(|| {
        let rule = format!("--explain: there is no node `{name}` among {}", count_of(facts));
        BadInput::one(rule)
    })
}

/// The annotations of pods and nodes that protect nothing although they are meant to, a line for each value.
pub(super) fn ineffective_annotations(facts: &Facts) -> Vec<String> {
    let of_pods = facts.pods.iter().filter_map(|pod| {
        let annotation = protection::ineffective_of_pod(&pod.spec)?;
        Some(("Pod", annotation.text, pod.key.to_string()))
    });
    let of_nodes = facts.nodes.values().filter_map(|node| {
        let annotation = protection::ineffective_of_node(&node.annotations)?;
        Some(("Node", annotation.text, node.name.to_string()))
    });
    output::alike(of_pods.chain(of_nodes), NAMED)
}

/// The decisions about what is disrupted without a method.
fn forced(facts: &Facts) -> Vec<Decision> {
    [planner::forced, planner::scaled_down]
        .into_iter()
        .flat_map(|step| step(facts).decisions)
        .collect()
}

/// Whose decisions are shown of a cluster with these claims: Karpenter's where it manages all of them.
pub(super) fn view_of(facts: &Facts) -> View {
    let mut claims = facts.ledger.claims.values();
    let is_karpenters = !facts.ledger.claims.is_empty() && !claims.any(NodeClaim::is_managed_here);
    if is_karpenters { View::Karpenter } else { View::Journeyman }
}

fn options(view: View, remarks: &Remarks) -> Options {
    let options = match view {
        View::Karpenter => Options::default(),
        View::Journeyman => Options::deployed(),
    };
    Options { is_catalog_whole: remarks.is_catalog_whole, ..options }
}

/// `12 nodes`
fn count_of(facts: &Facts) -> String {
    count(u64::try_from(facts.nodes.len()).unwrap_or(u64::MAX), "node")
}
