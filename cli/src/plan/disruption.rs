//! `plan --disruption`: what would be given up, what would come in its place, and why every other
//! node stays.
//!
//! The decisions are the planner's; here they are only shown (`html`, `json`, `table`).

mod html;
mod json;
mod table;
mod unknown;

use std::{borrow::Cow, io::Write};

use model::{NodeClaim, facts::Facts, ledger::Decision, policies::ConsolidationSearch};
use planner::{
    disruption::{self, Finding, Options, Outlook, Proposal},
    foreseen::{self, DisruptionStep},
};
use report::{error::BadInput, output::count, page, screen::Screen};

use super::{CommandError, Remarks, cluster::Cluster, print_document};
use crate::plan::args::{PlanArgs, View};

/// How much a thorough search may simulate, in pods, unless it is said.
const WORK: u64 = 20_000_000;

/// What was found.
struct Found<'a> {
    facts: &'a Facts,
    view: View,
    /// What goes before a method is asked, whatever runs on it: expired nodes, deleted ones, surplus replicas.
    ahead: &'a [Decision],
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
}

/// Decides on the facts and prints.
pub(super) fn run(
    args: &PlanArgs,
    screen: Screen,
    (facts, remarks): (&Facts, &Remarks),
    cluster: Option<&Cluster>,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    if let Some(node) = &args.explain
        && !facts.nodes.keys().any(|name| name.as_str() == node)
    {
        let rule = format!("--explain: there is no node `{node}` among {}", nodes(facts));
        return Err(BadInput::one(rule).into());
    }
    let view = args.view.unwrap_or_else(|| view_of(facts));
    let options = options(view, remarks);
    let is_thorough = facts.policies.consolidation == ConsolidationSearch::Thorough;
    let next = match view {
        View::Journeyman => foreseen::next_steps(facts, &options),
        View::Karpenter => Vec::new(),
    };
    let work = args.consolidation_work.unwrap_or(WORK);
    let (without, ahead) = &without_forced(facts);
    // Karpenter's methods still look at what its other controllers are about to delete.
    let facts = if view == View::Journeyman { &**without } else { facts };
    let outlook = disruption::outlook(facts, &options);
    let preview = Found {
        facts,
        view,
        ahead,
        unknown: unknown::of(facts, view, &outlook.not_listed),
        outlook,
        next,
        thorough: is_thorough.then(|| disruption::thorough(facts, &options, work, None)),
    };
    if let Some(node) = &args.explain {
        return Ok(table::explain(&preview, node, screen, out)?);
    }
    if let Some(path) = &args.html {
        page::write(&html::report(&preview, remarks, cluster), path)?;
    }
    if let Some(format) = args.output {
        print_document(format, (cluster, &json::document(&preview, remarks)), out)?;
    } else {
        table::show(&preview, screen, out)?;
        super::table::remarks(remarks, screen, out)?;
    }
    Ok(())
}

/// `facts` without what goes before a method is asked, and the decisions about that.
fn without_forced(facts: &Facts) -> (Cow<'_, Facts>, Vec<Decision>) {
    let (mut facts, mut ahead) = (Cow::Borrowed(facts), Vec::new());
    for step in [planner::forced, planner::scaled_down] {
        let plan = step(&facts);
        if !plan.changes.is_empty() {
            let going = plan.changes.into_iter().map(|claim| (claim.name.clone(), claim));
            facts.to_mut().ledger.claims.extend(going);
        }
        ahead.extend(plan.decisions);
    }
    (facts, ahead)
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
fn nodes(facts: &Facts) -> String {
    count(u64::try_from(facts.nodes.len()).unwrap_or(u64::MAX), "node")
}
