//! The solution → a plan: claims with names, batches, labels and requirements.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaim.go`, `FinalizeScheduling`, and
//! `nodeclaimtemplate.go`, `ToNodeClaim`.

pub mod explain;
mod metadata;
mod shared_types;
pub mod told;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{
    BatchId, CapacityType, HourlyPrice, LabelKey, NodeClaim, NodeClaimName, OfferingKey, Plan,
    PodKey, Requirement, Requirements, Values, labels,
    ledger::RejectionReason,
    limits,
    plan::{NewClaim, Placement, Reason, Unplaced},
    policies::MinValuesPolicy,
    requirement::Value,
    words,
};

use metadata::Labels;
use shared_types::{SharedTypes, SharedTypesTable};

use crate::{
    index::{
        bits::BitSet,
        id::{BatchNumber, ClaimId, ClassId, PodId, SetId, TemplateId, TypeId, kind},
        table::Table,
    },
    scheduling::{
        launchable::offer::Types,
        numbers::amounts::{self, Amounts},
        problem::Problem,
        solver::{Failure, InFlightClaim, Solution},
    },
};

/// The plan that carries the solution out.
pub(crate) fn plan(problem: &mut Problem<'_>, solution: &Solution) -> Plan {
    let parent = problem.facts.ledger.head.counters;
    let mut plan = Plan { parent, placements: placements(problem, solution), ..Plan::default() };
    let reasons = Reasons::of(problem, solution);
    let mut unplaced: Vec<(PodId, Rc<[Reason]>)> = solution
        .failed
        .iter()
        .map(|(pod, failure)| (*pod, reasons.of_pod(problem, *pod, *failure)))
        .collect();
    let mut drafts = Drafts::default();
    plan.new_claims.reserve_exact(solution.in_flight.len());
    for (claim, in_flight) in solution.in_flight.entries() {
        match drafts.new_claim(problem, in_flight, claim) {
            Ok(new) => plan.new_claims.push(new),
            Err(reason) => {
                let reasons: Rc<[Reason]> = Rc::new([reason]);
                unplaced.extend(in_flight.pods.iter().map(|pod| (*pod, Rc::clone(&reasons))));
            }
        }
    }
    drafts.tell_sizes(&mut plan.new_claims);
    unplaced.sort_by_key(|(pod, _)| *pod);
    let named = |(pod, reasons): (PodId, Rc<[Reason]>)| Unplaced {
        pod: problem.key(pod),
        reasons: reasons.to_vec(),
    };
    plan.unplaced = unplaced.into_iter().map(named).collect();
    plan.unplaced.extend(problem.demand.left_out.iter().map(left_out));
    plan.decisions = told::decisions(problem, &solution.state, &plan);
    plan
}

/// Which pods go onto nodes and claims that are there.
pub(crate) fn placements(problem: &Problem<'_>, solution: &Solution) -> Vec<Placement> {
    let placement = |(place, pods): (&_, &Vec<PodId>)| Placement {
        target: problem.target(*place).clone(),
        pods: keys(problem, pods),
    };
    solution.placed.iter().map(placement).collect()
}

/// Why pods find no place, worked out once for all that are alike.
struct Reasons(BTreeMap<(ClassId, Failure), Rc<[Reason]>>);

impl Reasons {
    fn of(problem: &mut Problem<'_>, solution: &Solution) -> Self {
        let mut reasons = BTreeMap::new();
        for (pod, failure) in &solution.failed {
            let class = problem.demand.pods[*pod].class;
            reasons.entry((class, *failure)).or_insert_with(|| {
                explain::reasons(problem, &solution.state, *pod, *failure).into()
            });
        }
        Self(reasons)
    }

    fn of_pod(&self, problem: &Problem<'_>, pod: PodId, failure: Failure) -> Rc<[Reason]> {
        let class = problem.demand.pods[pod].class;
        self.0.get(&(class, failure)).map_or_else(|| Rc::new([]), Rc::clone)
    }
}

fn left_out(pod: &PodKey) -> Unplaced {
    let most = words::many(limits::PODS_PER_PLAN_MAX);
    let text = format!("left for the next plan: one considers {most} pods");
    let reason = RejectionReason::LeftForNextPlan;
    Unplaced { pod: pod.clone(), reasons: vec![Reason { node_pool: None, reason, text }] }
}

fn keys(problem: &Problem<'_>, pods: &[PodId]) -> Vec<PodKey> {
    pods.iter().map(|pod| problem.key(*pod)).collect()
}

/// What claims with the same requirements and types share.
#[derive(Debug)]
struct Shared {
    /// Labels by its requirements, beside those of its pool.
    labels: Labels,
    /// Labels that are only set where a pod asks that they are there.
    labels_if_asked: Labels,
    /// Names of the annotations that say which overlays changed its types.
    overlaid: Vec<&'static str>,
    requirements: Requirements,
    types: Rc<SharedTypes>,
    overhead: Amounts,
    cheapest: OfferingKey,
    price: HourlyPrice,
}

/// What claims have in common that are made alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alike<'s> {
    template: TemplateId,
    set: SetId,
    types: &'s Types,
    held: &'s BitSet<kind::Reservation>,
}

/// What claims have in common that are launched together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Launched<'s> {
    alike: Alike<'s>,
    /// Places of the labels that its pods ask for among those that are only set then.
    asked: Vec<usize>,
    device_drivers: &'s BTreeSet<String>,
}

/// The claims so far: what they share, and which of them are launched together.
#[derive(Debug, Default)]
struct Drafts<'s> {
    shared: BTreeMap<Alike<'s>, Result<Rc<Shared>, &'static str>>,
    types: SharedTypesTable,
    /// The batch that is filled now.
    filling: BTreeMap<Launched<'s>, BatchNumber>,
    sizes: Table<kind::Batch, Size>,
    /// The batch of each new claim.
    batches: Vec<BatchNumber>,
}

/// How much a batch has.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    claims: u32,
    /// That its claims are for.
    pods: usize,
}

impl Size {
    fn has_room_for(self, pods: usize) -> bool {
        let claims = usize::try_from(self.claims).unwrap_or(usize::MAX);
        claims < limits::CLAIMS_PER_BATCH_MAX && self.pods + pods <= limits::PODS_PER_COMMIT_MAX
    }
}

impl<'s> Drafts<'s> {
    /// The new claim of what was opened as `claim`; or why it cannot be created after all.
    fn new_claim(
        &mut self,
        problem: &mut Problem<'_>,
        in_flight: &'s InFlightClaim,
        claim: ClaimId,
    ) -> Result<NewClaim, Reason> {
        let InFlightClaim { template, set, types, held, .. } = in_flight;
        let alike = Alike { template: *template, set: *set, types, held };
        let types = &mut self.types;
        let shared = self.shared.entry(alike).or_insert_with(|| share(problem, in_flight, types));
        let template = &problem.templates[in_flight.template];
        let shared = match shared {
            Ok(shared) => Rc::clone(shared),
            Err(text) => {
                let node_pool = Some(template.name().clone());
                let reason = RejectionReason::NotCreated;
                return Err(Reason { node_pool, reason, text: (*text).to_owned() });
            }
        };
        let asked = metadata::asked_for(problem, in_flight, &shared.labels_if_asked);
        let labels = metadata::labels(template, &shared, &asked);
        let mut requests = in_flight.requests.clone();
        amounts::add(&mut requests, &shared.overhead);
        let launched = Launched { alike, asked, device_drivers: &in_flight.device_drivers };
        let (batch, batch_index) = self.batch(launched, in_flight.pods.len());
        let head = &problem.facts.ledger.head;
        let (pool, now) = (template.pool, problem.facts.now);
        let name = NodeClaimName::derived(&pool.name, head, claim.number());
        let batch = BatchId::derived(&problem.facts.cluster, head, batch.number());
        let node_class = pool.template.node_class.clone();
        let claim = NodeClaim {
            batch_index,
            labels,
            annotations: metadata::annotations(
                problem.facts,
                template,
                in_flight,
                &shared.overlaid,
            ),
            requirements: shared.requirements.clone(),
            instance_types: Arc::clone(&shared.types.kept),
            requests: problem.resources.resources(&requests),
            pods: keys(problem, &in_flight.pods),
            taints: pool.template.taints.clone(),
            startup_taints: pool.template.startup_taints.clone(),
            expire_after: pool.template.expire_after,
            termination_grace_period: pool.template.termination_grace_period,
            capacity: shared.types.capacity.clone(),
            allocatable: shared.types.allocatable.clone(),
            ..NodeClaim::created(name, pool.name.clone(), node_class, batch, now)
        };
        let (possible, cheapest) = (Arc::clone(&shared.types.possible), shared.cheapest.clone());
        Ok(NewClaim { claim, possible, cheapest, price: shared.price })
    }

    /// The batch of the next claim that is like `launched` and for this number of pods, and its place in it.
    fn batch(&mut self, launched: Launched<'s>, pods: usize) -> (BatchNumber, u32) {
        let has_room = |batch: &BatchNumber| self.sizes[*batch].has_room_for(pods);
        let batch = self.filling.get(&launched).copied().filter(has_room);
        let batch = batch.unwrap_or_else(|| {
            let batch = self.sizes.push(Size::default());
            self.filling.insert(launched, batch);
            batch
        });
        self.batches.push(batch);
        let size = &mut self.sizes[batch];
        let place = size.claims;
        *size = Size { claims: place + 1, pods: size.pods + pods };
        (batch, place)
    }

    /// Every claim knows how many its batch has.
    fn tell_sizes(&self, new_claims: &mut [NewClaim]) {
        for (new, batch) in new_claims.iter_mut().zip(&self.batches) {
            new.claim.batch_size = self.sizes[*batch].claims;
        }
    }
}

/// What is decided about a claim beyond its pods.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Its requirements, without the list of types.
    pub(crate) requirements: Requirements,
    /// The types that are left, cheapest first.
    possible: Vec<TypeId>,
    /// Those of them that it keeps, which are the first.
    kept: Types,
    /// What its daemons request.
    pub(crate) overhead: Amounts,
    pub(crate) cheapest: OfferingKey,
    pub(crate) price: HourlyPrice,
}

impl Draft {
    /// The types that it keeps, cheapest first.
    pub(crate) fn kept(&self) -> &[TypeId] {
        kept(&self.possible)
    }
}

/// As many of `possible` as a claim keeps.
fn kept(possible: &[TypeId]) -> &[TypeId] {
    possible.get(..limits::INSTANCE_TYPES_PER_CLAIM_MAX).unwrap_or(possible)
}

/// Decides it; or says why the claim cannot be after all.
///
/// Karpenter: `provisioner.go`, `Schedule`; `scheduler.go`, `TruncateInstanceTypes`.
pub(crate) fn draft(
    problem: &mut Problem<'_>,
    in_flight: &InFlightClaim,
) -> Result<Draft, &'static str> {
    let mut set = problem.sets.get(in_flight.set);
    let mut number = in_flight.set;
    if !in_flight.held.is_empty() {
        restrict_to_reserved(problem, in_flight, &mut set);
        number = problem.sets.id(&set);
    }
    let template = &problem.templates[in_flight.template];
    let offer = &mut problem.offers[template.offer];
    let by_price = offer.by_price(&problem.sets, number);
    let count = in_flight.types.count();
    let mut possible = Vec::with_capacity(count);
    let launchable = by_price.iter().map(|(_, id)| *id);
    possible.extend(launchable.filter(|id| in_flight.types.contains(*id)));
    if possible.len() < count {
        // What cannot be launched now, for it is not sold from a reservation that is held, comes last:
        // it counts for `minValues`, and is left out by the launch.
        let mut rest = in_flight.types.clone();
        for id in &possible {
            rest.remove(*id);
        }
        possible.extend(rest.iter());
    }
    let first = kept(&possible);
    let mut types = in_flight.types.clone();
    if first.len() < count {
        types.clear();
        types.extend(first.iter().copied());
    }
    let is_strict = problem.facts.policies.min_values == MinValuesPolicy::Strict;
    if is_strict && !template.unmet(&types, number, &problem.sets).is_empty() {
        return Err("its minValues are not reached by the instance types that a claim keeps");
    }
    let Some((cheapest, price)) = first.first().and_then(|id| offer.cheapest(*id, &set)) else {
        return Err("no instance type that it allows can be bought now");
    };
    let overhead = template.least_overhead(&in_flight.types);
    Ok(Draft { requirements: set, possible, kept: types, overhead, cheapest, price })
}

/// Works out what a claim and those alike share; or why none of them can be created.
fn share(
    problem: &mut Problem<'_>,
    in_flight: &InFlightClaim,
    known: &mut SharedTypesTable,
) -> Result<Rc<Shared>, &'static str> {
    let draft = draft(problem, in_flight)?;
    let template = &problem.templates[in_flight.template];
    let offer = &problem.offers[template.offer];
    let set = &draft.requirements;
    let (labels, labels_if_asked) = metadata::labels_of(&problem.sets, template, set);
    let capacity_types = offer.capacity_types(set, &draft.kept);
    let overlaid = metadata::overlaid(template, offer, &draft.kept);
    let types = known.of((template.offer, &offer.index), draft.possible, &draft.kept);
    Ok(Rc::new(Shared {
        labels,
        labels_if_asked,
        overlaid,
        requirements: finished(set, types.values.clone(), &capacity_types),
        types,
        overhead: draft.overhead,
        cheapest: draft.cheapest,
        price: draft.price,
    }))
}

/// A claim that holds reservations is launched from one of them.
///
/// Karpenter: `nodeclaim.go`, `FinalizeScheduling`.
fn restrict_to_reserved(problem: &Problem<'_>, in_flight: &InFlightClaim, set: &mut Requirements) {
    let ids: Values = in_flight
        .held
        .iter()
        .map(|number| &problem.reservations.names[number])
        .map(|id| Value::from(id.as_str()))
        .collect();
    let reserved = Values::from([Value::from(CapacityType::Reserved.as_str())]);
    if let Ok(key) = LabelKey::new(labels::CAPACITY_TYPE) {
        set.replace(Requirement::listed(key, reserved));
    }
    if let Ok(key) = LabelKey::new(labels::RESERVATION_ID) {
        set.add(Requirement::listed(key, ids));
    }
}

/// The requirements with the types and capacity types that are left. Of a user's own label values are
/// left out that no node can have: nodes are labeled after these.
fn finished(
    set: &Requirements,
    names: Values,
    capacity_types: &BTreeSet<CapacityType>,
) -> Requirements {
    let is_own = |requirement: &Requirement| !labels::is_well_known(requirement.key().as_str());
    let narrowed = |requirement: &Requirement| {
        if is_own(requirement) { requirement.with_label_values_only() } else { requirement.clone() }
    };
    let mut requirements: Requirements = set.iter().map(narrowed).collect();
    let listed = |key: &str, values: Values| {
        LabelKey::new(key).ok().map(|key| Requirement::listed(key, values))
    };
    if let Some(requirement) = listed(labels::INSTANCE_TYPE, names) {
        let number = set.get(labels::INSTANCE_TYPE).and_then(Requirement::min_values);
        requirements.replace(requirement.with_min_values(number));
    }
    let names =
        capacity_types.iter().map(|capacity_type| Value::from(capacity_type.as_str())).collect();
    if let Some(requirement) = listed(labels::CAPACITY_TYPE, names) {
        requirements.add(requirement);
    }
    requirements.remove(labels::HOSTNAME);
    requirements
}
