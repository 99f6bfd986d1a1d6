//! The cheapest of Karpenter's plan and of plans by advised nodes; and a price below which there is none.

use std::collections::BTreeMap;

use model::{HourlyPrice, taint};

use super::cheapest::Outcome;
use crate::{
    index::id::{ClassId, PodId, SetId},
    scheduling::{
        launchable::template,
        numbers::amounts::{self, Amounts},
        output,
        packing::{
            columns::{Effort, Program},
            cuts,
            dive::{self, Node},
            greedy,
            knapsack::Scaled,
            market::{self, Pico},
            prove::{self, Proofs},
            relax::{self, Relaxation},
            settle,
        },
        problem::Problem,
        solver::{self, Options, Solution, guided::Guide},
        state::State,
    },
};

/// How much a bound may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Care {
    /// In steps of some nanoseconds.
    work: u64,
    proofs: Proofs,
}

/// For a line without an option.
pub(super) const QUICK: Care =
    Care { work: 50_000_000, proofs: Proofs { count: 4, looks: 20_000 } };
/// As near as it gets.
pub(super) const FULL: Care =
    Care { work: 1_800_000_000, proofs: Proofs { count: 40, looks: 800_000 } };

/// What the search for a plan may do, in steps of some nanoseconds.
const WORK: u64 = 230_000_000;
/// What it may do to have nodes go that need not be, in such steps.
const WORK_OF_SETTLING: u64 = 20_000_000;
/// What finding out what pods are worth may do, in such steps.
const WORK_OF_VALUES: u64 = 60_000_000;
/// How often fillings of nodes are divided for nodes that a plan had better know.
const DIVISIONS: u64 = 300;
/// How often values are set right by what a proof finds.
const PROOFS: usize = 2;

/// How well the program is solved for a plan.
const EFFORT: Effort = Effort { rounds: 40, ratio: 1.001 };

/// Whether any pool is packed so that it costs least.
pub(super) fn is_wanted(problem: &Problem<'_>) -> bool {
    problem.templates.ids().any(|template| problem.is_packed(template))
}

/// The better of `first` and of what advice brings, which leaves no more pods of any class pending, both from the same
/// `start`; and how many steps of some nanoseconds were taken for the advice.
pub(crate) fn of(
    problem: &mut Problem<'_>,
    first: Solution,
    (start, pods): (State, &[PodId]),
    options: Options,
) -> (Solution, u64) {
    let mut classes = BTreeMap::new();
    count_bought(problem, &first, &mut classes);
    let relaxation = relax::wished(problem, &start, &classes);
    if relaxation.market.items.is_empty() {
        return (first, 0);
    }
    let (nodes, steps) = advised(&relaxation);
    let guide = guide(problem, &relaxation, &nodes);
    let other = solver::guided(problem, start, pods, options, Some(guide));
    let is_better = charged(problem, &other).outdoes(&charged(problem, &first));
    (if is_better { other } else { first }, steps)
}

/// What a pod of each of `classes` is worth, in pico-dollars for one hour: the dual prices of the program that has to
/// give all of them new nodes. So nodes that cost no more than their pods are worth are not to be improved upon. How
/// many steps it took stands beside it.
pub(crate) fn values(
    problem: &mut Problem<'_>,
    start: &State,
    classes: &BTreeMap<ClassId, u32>,
) -> (BTreeMap<ClassId, Pico>, u64) {
    let relaxation = relax::wished(problem, start, classes);
    let market = &relaxation.market;
    let demand: Vec<u32> = market.items.iter().map(|item| item.count).collect();
    let mut program = Program::new(market, WORK_OF_VALUES);
    greedy::begin(&mut program, &demand);
    let values = Scaled::whole_values(&program.solve(&demand, EFFORT).values);
    // Of a class in several domains the least counts: it is the most careful.
    let mut least = BTreeMap::new();
    for (of, value) in relaxation.classes.iter().zip(values) {
        for (class, _) in of {
            let known = least.entry(*class).or_insert(value);
            *known = value.min(*known);
        }
    }
    (least, WORK_OF_VALUES - program.work)
}

/// How many pods of each class are on nodes that `solution` buys: those of claims that can be created. Pods that claim
/// devices are left out, for devices are not among the resources that are weighed.
fn count_bought(
    problem: &mut Problem<'_>,
    solution: &Solution,
    classes: &mut BTreeMap<ClassId, u32>,
) {
    for claim in &solution.in_flight {
        if output::draft(problem, claim).is_err() {
            continue;
        }
        for pod in &claim.pods {
            let class = problem.demand.pods[*pod].class;
            if problem.classes[class].claims.is_empty() {
                *classes.entry(class).or_default() += 1;
            }
        }
    }
}

/// The cheapest nodes that were found for all pods of the market, and how many steps that took.
fn advised(relaxation: &Relaxation) -> (Vec<Node>, u64) {
    let market = &relaxation.market;
    let demand: Vec<u32> = market.items.iter().map(|item| item.count).collect();
    let mut program = Program::new(market, WORK);
    let price = |nodes: &[Node]| dive::price(market, nodes);
    let begun = greedy::begin(&mut program, &demand);
    let mut best = (price(&begun), begun);
    // Something is left for rounding.
    let kept = program.work.min(WORK / 4);
    program.work -= kept;
    let mut first = program.solve(&demand, EFFORT);
    program.work += kept;
    let nothing = vec![0; relaxation.resources()];
    for _ in 0..PROOFS {
        if program.work < WORK / 3 {
            break;
        }
        let proof = prove::prove(&program, &first.values, &nothing, DIVISIONS);
        if proof.bargains.is_empty() {
            break;
        }
        proof.bargains.into_iter().for_each(|(offer, counts)| program.know(offer, counts));
        first = program.solve(&demand, EFFORT);
    }
    let rounded = dive::round(&mut program, &demand, &first);
    if price(&rounded) < best.0 {
        best = (price(&rounded), rounded);
    }
    for way in dive::WAYS {
        if program.work < WORK / 6 {
            break;
        }
        let nodes = dive::dive(&mut program, &demand, &first, way);
        let price = price(&nodes);
        if price < best.0 {
            best = (price, nodes);
        }
    }
    let (nodes, settling) = settle::settle(market, &best.1, WORK_OF_SETTLING);
    (nodes, WORK - program.work + settling)
}

/// The advice to make `nodes`.
fn guide(problem: &Problem<'_>, relaxation: &Relaxation, nodes: &[Node]) -> Guide {
    let mut guide = Guide::default();
    let mut left = relaxation.classes.clone();
    let items = &relaxation.market.items;
    for node in nodes {
        let Some(offer) = relaxation.market.offers.get(node.offer) else { continue };
        let mut classes = Vec::new();
        let mut pin: Option<SetId> = None;
        let mut need: Amounts = vec![0; relaxation.market.resources].into();
        for (at, count) in &node.counts {
            let Some(item) = items.get(*at) else { continue };
            for (sum, one) in need.iter_mut().zip(&item.need) {
                *sum = sum.saturating_add(one.saturating_mul(i64::from(*count)));
            }
            let mut count = *count;
            for (class, left) in left.get_mut(*at).into_iter().flatten() {
                let taken = count.min(*left);
                if 0 < taken {
                    classes.push((*class, taken));
                    (*left, count) = (*left - taken, count - taken);
                }
            }
            pin = pin.or_else(|| relaxation.pins.get(*at).copied().flatten());
        }
        let price = market::price(i128::from(offer.price).saturating_add(1))
            .saturating_sub(problem.charge(offer.template));
        guide.add((offer.template, offer.instance_type), price, (pin, need), &classes);
    }
    guide
}

/// What comes of it, with what nodes cost beside their instances.
fn charged(problem: &mut Problem<'_>, solution: &Solution) -> Outcome {
    let mut outcome = Outcome::of(problem, solution);
    let charges = solution.in_flight.iter().map(|claim| problem.charge(claim.template));
    outcome.price = charges.fold(outcome.price, HourlyPrice::saturating_add);
    outcome
}

/// A price below which no plan can be that places the pods that `solution` places. Room that is there and
/// capacity that is reserved count as free, and all of it as one node.
pub(super) fn bound(problem: &mut Problem<'_>, solution: &Solution, care: Care) -> HourlyPrice {
    let mut classes = BTreeMap::new();
    count_bought(problem, solution, &mut classes);
    for pod in solution.placed.values().flatten() {
        *classes.entry(problem.demand.pods[*pod].class).or_default() += 1;
    }
    let relaxation = relax::loosest(problem, &classes);
    bound_of(problem, (&relaxation, &classes), care)
}

/// The same of the pods of `classes`, of which [`relax::loosest`] made `relaxation`.
pub(super) fn bound_of(
    problem: &mut Problem<'_>,
    (relaxation, classes): (&Relaxation, &BTreeMap<ClassId, u32>),
    care: Care,
) -> HourlyPrice {
    let market = &relaxation.market;
    if market.items.is_empty() {
        return HourlyPrice::default();
    }
    let free = free_room(problem, classes);
    let demand: Vec<u32> = market.items.iter().map(|item| item.count).collect();
    let mut program = Program::new(market, care.work);
    // What shares of resources prove needs no search; where many pods share a node, it is nearly as good.
    let priced = cuts::priced(market, &free);
    greedy::begin(&mut program, &demand);
    market::price(prove::improve(&mut program, (&demand, &free), priced, care.proofs))
}

/// The room that pods of `classes` may find without paying: on what is there, and in reservations.
fn free_room(problem: &Problem<'_>, classes: &BTreeMap<ClassId, u32>) -> Amounts {
    let mut sum: Amounts = vec![0; problem.resources.len()].into();
    let takes = |kind: &crate::scheduling::supply::Kind, class: ClassId| {
        let spec = &problem.classes[class].spec;
        let mut tolerations = spec.tolerations.clone();
        tolerations.push(template::soft_toleration());
        taint::untolerated(kind.taints(), &tolerations).is_empty()
            && (0..spec.required_terms.len().max(1))
                .any(|term| kind.accepts(&spec.requirements(term)))
    };
    let open = problem.supply.kinds.map(|kind| classes.keys().any(|class| takes(kind, *class)));
    for (place, existing) in problem.supply.existing.entries() {
        if problem.start.active.contains(place) && open[existing.kind] {
            let room: Vec<i64> =
                problem.start.room(place).iter().map(|amount| (*amount).max(0)).collect();
            amounts::add(&mut sum, &room);
        }
    }
    for template in &problem.templates {
        let offer = &problem.offers[template.offer];
        for (left, types) in offer.reserved_types(&problem.reservations.left) {
            for (at, sum) in sum.iter_mut().enumerate() {
                let rooms = types.iter().filter_map(|id| template.rooms.left(id, at));
                let most = rooms.max().unwrap_or_default().max(0);
                *sum = sum.saturating_add(most.saturating_mul(i64::from(left)));
            }
        }
    }
    sum
}
