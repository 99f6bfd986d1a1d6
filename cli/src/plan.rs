//! `journeyman plan`: what objects and pending pods would lead to. Nothing is created.

pub mod args;
mod bound;
mod cluster;
mod compare;
mod devices;
mod disruption;
mod expand;
mod facts;
pub(crate) mod html;
mod included;
mod input;
mod json;
mod live;
mod offers;
mod outranked;
mod owners;
mod rounds;
mod scratch;
mod table;
mod zones;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, Write},
};

use dispatch::Settings;
use jiff::Timestamp;
use model::{
    HourlyPrice, NodeClaim, ObjectName, Plan, RegionCatalog,
    facts::{Facts, Surroundings},
    labels,
    node_pool::{self, NodePool},
    plan::{Placement, Target},
};
use planner::{Fleets, KnownTypes, Launches, Rejection, foreseen};
use report::{
    command::RunCommand,
    contents::Notes,
    error::{BadInput, CommandError},
    format::Format,
    page,
    progress::{self, ProgressLine},
    screen::Screen,
};
use serde::Serialize;

pub use self::args::PlanArgs;
use self::{args::View, cluster::Cluster, facts::Gathered, rounds::Round};
use crate::{
    authority,
    gates::{self, Gates},
    records::Records,
};

/// What a plan says about the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanExit {
    /// Pods without a place.
    pub unplaced: usize,
    /// What is wrong with objects.
    pub problems: usize,
    /// Objects from files that an API server would refuse.
    pub mistakes: usize,
}

impl PlanExit {
    /// Whether the plan is good enough: every object from a file could be read; if it is meant
    /// `strictly`, nothing is wrong with any object and every pod found a place.
    pub fn is_good(self, strictly: bool) -> bool {
        self.mistakes == 0 && (!strictly || self.unplaced == 0 && self.problems == 0)
    }
}

/// What was planned on what.
struct Planned {
    plan: Plan,
    /// A NodeClaim has no instance yet: Karpenter plans nothing for pods until it has.
    is_waiting: bool,
    /// What static pools launch, whether pods wait or not.
    fixed: Launches,
    /// The pods that kube-scheduler binds to nodes that are there.
    bound: Vec<Placement>,
    /// What would be planned once that is launched.
    later: Vec<Round>,
    /// What other plans for the same pods cost; `None` where nothing is bought, or where that takes long.
    prices: Option<Prices>,
    /// What these prices are of.
    included: String,
    /// What people should know about the answer.
    remarks: Remarks,
    /// The cluster as it is; `None` where it has no nodes.
    cluster: Option<Cluster>,
}

/// What the plan costs for one hour beside others for the same pods.
#[derive(Clone, Copy, Debug)]
struct Prices {
    plan: HourlyPrice,
    karpenter: HourlyPrice,
    cheapest: HourlyPrice,
    bound: HourlyPrice,
}

/// Maximum number of pods for which other plans are calculated without an option.
const COMPARED_PODS_MAX: usize = 10_000;

impl Prices {
    /// Those of `plan` and of what `fixed` launches, which every other plan launches as well.
    fn of(facts: &Facts, plan: &Plan, fixed: &Launches) -> Option<Self> {
        if plan.new_claims.is_empty() || COMPARED_PODS_MAX < facts.pods.len() {
            return None;
        }
        let Fleets { karpenter, cheapest, bound } = planner::fleets(facts, true);
        let of_fixed = Plan { new_claims: fixed.new_claims.clone(), ..Plan::default() };
        let of_fixed = planner::fleet_price(facts, &of_fixed);
        let price = |plan: &Plan| planner::fleet_price(facts, plan).saturating_add(of_fixed);
        let (karpenter, cheapest) = (price(&karpenter), price(&cheapest));
        let bound = bound.saturating_add(of_fixed);
        Some(Self { plan: price(plan), karpenter, cheapest, bound })
    }
}

/// What an answer rests on, and what it leaves out.
#[derive(Clone, Debug, Default)]
struct Remarks {
    /// What was taken for granted, because no object says it.
    assumptions: Vec<String>,
    /// What is left out, and why.
    left_out: Vec<String>,
    /// Whether AWS said what it offers: what is missing is then offered no more.
    is_catalog_whole: bool,
    /// The context of the kubeconfig whose cluster the input seems not to be of.
    foreign_context: Option<String>,
}

impl Remarks {
    /// For a page.
    fn notes(&self) -> impl Iterator<Item = Notes> {
        let notes = [("Left out", &self.left_out), ("Assumed", &self.assumptions)];
        notes.into_iter().filter_map(|(title, lines)| Notes::some(title, lines))
    }

    /// With more that is left out, and more that is assumed.
    fn with(&self, left_out: Option<String>, assumption: Option<String>) -> Self {
        let mut remarks = self.clone();
        remarks.left_out.extend(left_out);
        remarks.assumptions.extend(assumption);
        remarks
    }
}

/// Plans and prints: the plan to `out`, what is wrong with the input to `complaints`.
pub fn run(
    args: &PlanArgs,
    screen: Screen,
    out: &mut impl Write,
    complaints: (Screen, &mut impl Write),
) -> Result<PlanExit, CommandError> {
    if args.context.is_some() && !args.live {
        let rule = "--context: names the cluster that --live reads: give --live as well";
        return Err(BadInput::one(rule).into());
    }
    let now = now(args)?;
    let settings = args.settings()?;
    let progress = ProgressLine::new("reading");
    let loaded = input::load(args, &progress)?;
    progress.says("planning");
    let mut problems = loaded.foreign.iter().chain(&loaded.problems);
    let (window, complaints) = complaints;
    progress::hidden(|| {
        if let Some(server) = &loaded.server {
            let said = format!("Read from the cluster at {server}; nothing was changed there.");
            window.lines(&said, complaints)?;
        }
        problems.try_for_each(|problem| window.lines(&problem.to_string(), complaints))
    })?;
    let refused = loaded.refused();
    let exit =
        PlanExit { unplaced: 0, problems: loaded.problems.len(), mistakes: loaded.mistakes() };
    let Looked { facts, remarks, catalog } = looked_at(args, loaded, &settings, now)?;
    let machines = cluster::machines(&facts, &catalog);
    drop(catalog);
    let cluster = Cluster::of(&facts, &machines);
    let is_shown = !args.output.is_document() && args.explain.is_none();
    let mut page = Vec::new();
    if let Some(cluster) = cluster.as_ref().filter(|_| is_shown) {
        cluster.show(screen, &mut page)?;
    }
    let title = cluster.as_ref().map(Cluster::title);
    let (scheduled, bound) = bound::after_kube_scheduler(&facts);
    let scheduled = &*scheduled;
    if args.disruption {
        let remarks = remarks.with(None, bound::in_words(scheduled, &bound));
        let asked = (scheduled, &remarks);
        let answer = disruption::run(args, screen, asked, cluster.as_ref(), &mut page)?;
        drop(progress);
        return Ok(end(title.as_ref(), &answer, (screen, &page), out).map(|()| exit)?);
    }
    if args.compare {
        let nodes = (cluster.as_ref(), machines.as_slice());
        let answer = compare::run(args, screen, (scheduled, &remarks), nodes, &mut page)?;
        drop(progress);
        return Ok(end(title.as_ref(), &answer, (screen, &page), out).map(|()| exit)?);
    }
    let emptied = args.from_scratch.then(|| scratch::emptied(scheduled, &machines));
    let remarks =
        if args.from_scratch { remarks.with(scratch::notes(&machines), None) } else { remarks };
    let facts = emptied.as_ref().unwrap_or(scheduled);
    let mut planned = plan(args, facts, remarks, disruption::view_of(facts));
    planned.cluster = cluster;
    planned.bound = bound::placements(facts, &bound);
    for plan in planned.plans() {
        plan.unplaced.iter_mut().for_each(|unplaced| refused.correct(&mut unplaced.reasons));
    }
    let remedies =
        planner::remedies(facts, &planned.plan, &KnownTypes::default(), planner::STEPS_MAX);
    planner::name_remedies(&mut planned.plan.unplaced, &remedies.of_pods);
    outranked::note(facts, &mut planned.plan);
    planned.remarks.left_out.extend(unsought(remedies.unsought));
    drop(progress);
    if let Some(path) = &args.html {
        page::write(&html::report(&planned, facts), path)?;
    }
    if args.output.is_document() {
        let document = &json::document(&planned);
        print_document(args.output, (planned.cluster.as_ref(), document), out)?;
    } else {
        table::show(&planned, facts, screen, &mut page)?;
        end(title.as_ref(), &table::answer(&planned, facts), (screen, &page), out)?;
    }
    let unplaced = if planned.is_waiting { table::waiting(facts).0 } else { planned.unplaced() };
    Ok(PlanExit { unplaced, ..exit })
}

/// Writes `page`, and its `answer` in short where a window cannot show all of it.
fn end(
    title: Option<&String>,
    answer: &[String],
    (screen, page): (Screen, &[u8]),
    out: &mut impl Write,
) -> io::Result<()> {
    let mut lines = Vec::new();
    if !answer.is_empty() {
        title.into_iter().chain(answer).try_for_each(|line| screen.text(2, line, &mut lines))?;
    }
    screen.with_answer_last(page, &lines, out)
}

impl RunCommand for PlanArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        let complaints = (Screen::of_stderr(), &mut io::stderr());
        let exit =
            run(self, Screen::of_stdout(self.color).with_short_nodes(), &mut { out }, complaints)?;
        Ok(exit.is_good(self.strict))
    }
}

/// All that `plan` decides on with `args`, for programs that ask what would be if some of it were otherwise.
pub fn read_facts(args: &PlanArgs) -> Result<Facts, CommandError> {
    let now = now(args)?;
    let settings = args.settings()?;
    let loaded = input::load(args, &ProgressLine::new("reading"))?;
    let looked = looked_at(args, loaded, &settings, now)?;
    Ok(bound::after_kube_scheduler(&looked.facts).0.into_owned())
}

/// What a plan is made of.
struct Looked {
    facts: Facts,
    remarks: Remarks,
    catalog: RegionCatalog,
}

/// What is planned on, and what people should know about that.
fn looked_at(
    args: &PlanArgs,
    loaded: input::Loaded,
    settings: &Settings,
    now: Timestamp,
) -> Result<Looked, CommandError> {
    let (offers, catalog) = offers::load(args, &loaded, &settings.policies)?;
    let (mut assumptions, mut left_out) = (offers.assumptions.clone(), offers.notes.clone());
    let is_catalog_whole = offers.is_whole;
    let authority = args.certificate_authority()?;
    let records = args.records()?;
    left_out.extend(records.as_ref().and_then(Records::unreadable_in_words));
    let outside = facts::Outside { authority, records };
    let Gathered { mut facts, notes, hashes } = facts::of(loaded, offers, settings, outside, now)?;
    if let Some(text) = &args.max_node_share {
        share_nodes(&mut facts.node_pools, text)?;
    }
    left_out.extend(notes);
    let rejected = planner::overlays(&facts).rejected;
    left_out.extend(without_effect(&facts, &rejected));
    let overlays = facts.surroundings.node_overlays.iter();
    let applied = overlays.filter(|overlay| !rejected.contains_key(&overlay.name));
    assumptions.extend(gates::priced(applied, &facts.policies));
    assumptions.extend(zones::in_words(&facts.node_pools));
    if args.disruption {
        left_out.extend(disruption::ineffective_annotations(&facts));
    }
    assumptions.extend(hashes.of_store().filter(|_| args.disruption));
    assumptions.extend(
        hashes.context.filter(|_| args.disruption).map(|context| authority::of_context(&context)),
    );
    let remarks =
        Remarks { assumptions, left_out, is_catalog_whole, foreign_context: hashes.foreign };
    Ok(Looked { facts, remarks, catalog })
}

/// The NodePools that launch nothing whatever pods wait, and the NodeOverlays, some of which are `rejected`, and
/// CapacityBuffers that have no effect, with why.
fn without_effect(facts: &Facts, rejected: &BTreeMap<ObjectName, Rejection>) -> Vec<String> {
    let pools = planner::pools_without_types(facts, &KnownTypes::default()).into_iter();
    let mut texts: Vec<String> =
        pools.map(|(name, why)| format!("NodePool {name} launches nothing: {why}")).collect();
    texts.extend(rejected.iter().map(|(name, why)| gates::rejected(name, why)));
    let Surroundings { node_overlays, capacity_buffers, .. } = &facts.surroundings;
    let gates = Gates::OfOption(&facts.policies);
    texts.extend(gates::without_effect(node_overlays, capacity_buffers, gates));
    texts
}

/// What `plan` prints in the format that `args` ask for, of `facts` instead of what they read. `is_catalog_whole`: all that
/// EC2 offers is among them.
pub fn show(
    args: &PlanArgs,
    (facts, is_catalog_whole): (&Facts, bool),
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let remarks = Remarks { is_catalog_whole, ..Remarks::default() };
    let screen = Screen::default();
    if args.disruption {
        return disruption::run(args, screen, (facts, &remarks), None, out).map(drop);
    }
    let planned = plan(args, facts, remarks, args.view.unwrap_or(View::Journeyman));
    if args.output.is_document() {
        print_document(args.output, (None, &json::document(&planned)), out)?;
    } else {
        table::show(&planned, facts, screen, out)?;
    }
    Ok(())
}

/// A document for machines, after the cluster as it is.
#[derive(Serialize)]
struct Framed<'a, T> {
    /// Missing where the cluster has no nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a Cluster>,
    #[serde(flatten)]
    document: &'a T,
}

/// Prints `document` for machines.
fn print_document(
    format: Format,
    (cluster, document): (Option<&Cluster>, &impl Serialize),
    out: &mut impl Write,
) -> io::Result<()> {
    report::json::write(&Framed { cluster, document }, format, out)
}

impl Planned {
    /// The plans of every round.
    fn plans(&mut self) -> impl Iterator<Item = &mut Plan> {
        let later = self.later.iter_mut().map(|round| &mut round.plan);
        std::iter::once(&mut self.plan).chain(later)
    }

    /// What goes onto what is there.
    fn on_existing(&self) -> impl Iterator<Item = &Placement> {
        self.bound.iter().chain(&self.plan.placements)
    }

    /// Pods that find no place in any round that was asked for.
    fn unplaced(&self) -> usize {
        let last = self.later.iter().rfind(|round| round.is_wanted);
        last.map_or(self.plan.unplaced.len(), |round| round.plan.unplaced.len())
    }
}

/// Has each of `pools` that does not say it itself say how much of it one node may hold.
fn share_nodes(pools: &mut [NodePool], text: &str) -> Result<(), BadInput> {
    if node_pool::parse_share(text).is_none() {
        let rule = "must be a whole number of per cent from 1% to 100%";
        return Err(BadInput::one(format!("--max-node-share: `{text}` {rule}")));
    }
    for pool in pools {
        pool.annotations
            .entry(labels::MAX_NODE_SHARE.to_owned())
            .or_insert_with(|| text.to_owned());
    }
    Ok(())
}

/// One pass of provisioning, and those that would follow. While a NodeClaim of Karpenter has no instance, Karpenter
/// creates none, because it does not know what will join; the function `provision` counts on what it created.
fn plan(args: &PlanArgs, facts: &Facts, mut remarks: Remarks, view: View) -> Planned {
    let has_waiting = facts.ledger.claims.values().any(|claim| claim.instance.is_none());
    let is_waiting = has_waiting && view == View::Karpenter;
    let types = KnownTypes::default();
    let mut fixed = planner::launches(facts, &types);
    let on_their_way = (view == View::Journeyman).then(|| on_their_way(facts)).flatten();
    let (facts, plan) = if is_waiting {
        (Cow::Borrowed(facts), Plan::default())
    } else {
        let (facts, answer) = foreseen::next_claims(facts, &types);
        (facts, answer.plan)
    };
    let facts = &*facts;
    let (plan, refused) = judged(facts, plan);
    remarks.left_out.extend(refused);
    let later = if is_waiting { Vec::new() } else { rounds::after(facts, &plan, args.rounds) };
    remarks.left_out.extend(on_their_way);
    remarks.left_out.extend(planner::above_share(facts, &plan).iter().map(ToString::to_string));
    Planned {
        prices: Prices::of(facts, &plan, &fixed),
        included: included::of_new_claims(facts, plan.new_claims.iter().chain(&fixed.new_claims)),
        plan: onto_replicas(plan, &mut fixed),
        is_waiting,
        fixed,
        bound: Vec::new(),
        later,
        remarks,
        cluster: None,
    }
}

/// `plan` without the pods that it places onto what `fixed` launches: that has them then.
fn onto_replicas(mut plan: Plan, fixed: &mut Launches) -> Plan {
    plan.placements.retain_mut(|placement| {
        let Target::Claim(name) = &placement.target else { return true };
        let Some(launched) = fixed.new_claims.iter_mut().find(|it| it.claim.name == *name) else {
            return true;
        };
        launched.claim.pods.append(&mut placement.pods);
        false
    });
    plan
}

/// What of `plan` the check before a commit lets through, as for a function, and what it refuses.
fn judged(facts: &Facts, plan: Plan) -> (Plan, Option<String>) {
    let Err(invalid) = plan_check::ensure_valid(facts, &plan) else { return (plan, None) };
    let refused = format!("what the check before a commit refuses, which is a bug: {invalid}");
    (plan_check::sound(facts, plan, invalid).unwrap_or_default(), Some(refused))
}

/// That the search for what would help pods ended before all were searched.
fn unsought(kinds: usize) -> Option<String> {
    let (sought, steps) = (counted(kinds, "kind"), counted(planner::STEPS_MAX, "step"));
    let text =
        format!("what would let {sought} of pods be scheduled: the search ended after {steps}");
    (kinds > 0).then_some(text)
}

/// NodeClaims that wait for their nodes: for which pods they were created, no object says. Those of static NodePools are
/// for no pods.
fn on_their_way(facts: &Facts) -> Option<String> {
    let statics: Vec<_> = facts.node_pools.iter().filter(|pool| pool.replicas.is_some()).collect();
    let is_static = |claim: &NodeClaim| statics.iter().any(|pool| pool.name == claim.node_pool);
    let claims = facts.ledger.claims.values().filter(|claim| !is_static(claim));
    let waits =
        |claim: &&NodeClaim| claim.node.is_none() && !claim.is_deleting() && claim.pods.is_empty();
    let number = claims.filter(waits).count();
    let claims = counted(number, "NodeClaim");
    (number > 0).then(|| {
        format!(
            "for which pods {claims} without a node {} created: pods may be planned onto other nodes; --ledger or --table \
             reads it",
            if number == 1 { "was" } else { "were" }
        )
    })
}

/// `1 pod`, `2 pods`.
fn pods(number: usize) -> String {
    counted(number, "pod")
}

/// `1 node`, `2 nodes`.
fn counted(number: usize, noun: &str) -> String {
    report::output::count(u64::try_from(number).unwrap_or(u64::MAX), noun)
}

#[expect(clippy::disallowed_methods, reason = "the command is where the clock is read")]
fn now(args: &PlanArgs) -> Result<Timestamp, BadInput> {
    let Some(text) = &args.now else { return Ok(Timestamp::now()) };
    text.parse().map_err(|_| {
        BadInput::one(format!("--now: `{text}` is not a time such as `2026-08-01T12:00:00Z`"))
    })
}

#[cfg(test)]
mod tests;
