//! The solution → a plan: claims with names, batches, labels and requirements.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaim.go`, `FinalizeScheduling`, and
//! `nodeclaimtemplate.go`, `ToNodeClaim`.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{
    BatchId, CapacityType, ClaimPhase, HourlyPrice, InstanceType, InstanceTypeName, LabelKey,
    NodeClaim, NodeClaimName, NodePoolName, OfferingKey, Plan, PodKey, Requirement, Requirements,
    Resources, labels,
    ledger::Decision,
    limits,
    node_pool::NodePool,
    plan::{Placement, Promise, Reason, Unplaced},
    requirement::Value,
};

use crate::{
    amounts::{self, Amounts},
    bits::BitSet,
    problem::Problem,
    sets::SetId,
    solver::{Opened, Solution},
    template::Template,
};

/// The plan that carries the solution out.
pub(crate) fn plan(problem: &mut Problem<'_>, solution: Solution) -> Plan {
    let mut plan = Plan { parent: problem.facts.ledger.generation, ..Plan::default() };
    for existing in problem.supply.existing.iter().filter(|existing| !existing.pods.is_empty()) {
        let pods = keys(problem, &existing.pods);
        plan.placements.push(Placement { target: existing.target.clone(), pods });
    }
    let mut unplaced: Vec<(usize, Rc<[Reason]>)> = solution.unplaced;
    let mut drafts = Drafts::default();
    for (index, opened) in solution.opened.into_iter().enumerate() {
        match drafts.promise(problem, &opened, index) {
            Ok(promise) => plan.promises.push(promise),
            Err(reason) => {
                let reasons: Rc<[Reason]> = Rc::new([reason]);
                unplaced.extend(opened.pods.iter().map(|pod| (*pod, Rc::clone(&reasons))));
            }
        }
    }
    drafts.tell_sizes(&mut plan.promises);
    unplaced.sort_by_key(|(pod, _)| *pod);
    let named = |(pod, reasons): (usize, Rc<[Reason]>)| {
        let (pod, _) = problem.demand.pods.get(pod)?;
        Some(Unplaced { pod: pod.key.clone(), reasons: reasons.to_vec() })
    };
    plan.unplaced = unplaced.into_iter().filter_map(named).collect();
    plan.unplaced.extend(problem.demand.left_out.iter().map(|pod| left_out(pod)));
    plan.decisions = decisions(problem, &plan);
    plan
}

fn left_out(pod: &model::Pod) -> Unplaced {
    let text = format!("left for the next plan: one considers {} pods", limits::PODS_PER_PLAN_MAX);
    Unplaced { pod: pod.key.clone(), reasons: vec![Reason { node_pool: None, text }] }
}

fn keys(problem: &Problem<'_>, pods: &[usize]) -> Vec<PodKey> {
    let key = |pod: &usize| problem.demand.pods.get(*pod).map(|(pod, _)| pod.key.clone());
    pods.iter().filter_map(key).collect()
}

/// What claims with the same requirements and types share.
#[derive(Debug)]
struct Shared {
    requirements: Requirements,
    instance_types: Vec<InstanceTypeName>,
    possible: Arc<[InstanceTypeName]>,
    overhead: Amounts,
    capacity: Resources,
    allocatable: Resources,
    cheapest: OfferingKey,
    price: HourlyPrice,
}

/// Template, requirements and types.
type Alike = (usize, SetId, BitSet);

/// The claims so far: what they share, and which of them are launched together.
#[derive(Debug, Default)]
struct Drafts {
    shared: BTreeMap<Alike, Result<Rc<Shared>, &'static str>>,
    /// By what makes claims alike: the batch that is filled now.
    filling: BTreeMap<(Alike, Amounts, BTreeMap<String, String>), usize>,
    sizes: Vec<u32>,
    /// By promise.
    batches: Vec<usize>,
}

impl Drafts {
    /// The claim for what was opened as the `index`th; or why it cannot be promised after all.
    fn promise(
        &mut self,
        problem: &mut Problem<'_>,
        opened: &Opened,
        index: usize,
    ) -> Result<Promise, Reason> {
        let alike: Alike = (opened.template, opened.set, opened.types.clone());
        let shared = self.shared.entry(alike.clone()).or_insert_with(|| share(problem, opened));
        let Some(template) = problem.templates.get(opened.template) else {
            return Err(Reason { node_pool: None, text: "its NodePool is gone".to_owned() });
        };
        let shared = match shared {
            Ok(shared) => Rc::clone(shared),
            Err(text) => {
                let node_pool = Some(template.name().clone());
                return Err(Reason { node_pool, text: (*text).to_owned() });
            }
        };
        let labels = labels_of(problem, template, opened);
        let mut requests = opened.requests.clone();
        amounts::add(&mut requests, &shared.overhead);
        let (batch, batch_index) = self.batch((alike, opened.requests.clone(), labels.clone()));
        let generation = problem.facts.ledger.generation.next();
        let (pool, now) = (template.pool, problem.facts.now);
        let claim = NodeClaim {
            name: NodeClaimName::derived(&pool.name, generation, number(index)),
            version: 1,
            node_pool: pool.name.clone(),
            node_class: pool.template.node_class.clone(),
            batch: BatchId::derived(&problem.facts.cluster, generation, number(batch)),
            batch_index,
            batch_size: 1,
            created_at: now,
            labels,
            annotations: annotations(pool),
            requirements: shared.requirements.clone(),
            instance_types: shared.instance_types.clone(),
            requests: problem.resources.resources(&requests),
            taints: pool.template.taints.clone(),
            startup_taints: pool.template.startup_taints.clone(),
            expire_after: pool.template.expire_after,
            termination_grace_period: pool.template.termination_grace_period,
            phase: ClaimPhase::Promised,
            phase_since: now,
            capacity: shared.capacity.clone(),
            allocatable: shared.allocatable.clone(),
            instance: None,
            node: None,
            empty_since: None,
            conditions: model::claim::ClaimConditions::default(),
            requested_at: None,
            deletion: None,
            message: None,
        };
        let pods = keys(problem, &opened.pods);
        let (possible, cheapest) = (Arc::clone(&shared.possible), shared.cheapest.clone());
        Ok(Promise { claim, pods, possible, cheapest, price: shared.price })
    }

    /// The batch of the next claim that is like `alike`, and its place in it.
    fn batch(&mut self, alike: (Alike, Amounts, BTreeMap<String, String>)) -> (usize, u32) {
        let is_full = |size: &u32| {
            limits::CLAIMS_PER_BATCH_MAX <= usize::try_from(*size).unwrap_or(usize::MAX)
        };
        let filling = self.filling.get(&alike).copied();
        let filling = filling.filter(|batch| !self.sizes.get(*batch).is_some_and(is_full));
        let batch = filling.unwrap_or_else(|| {
            self.sizes.push(0);
            self.filling.insert(alike, self.sizes.len() - 1);
            self.sizes.len() - 1
        });
        self.batches.push(batch);
        let place = self.sizes.get(batch).copied().unwrap_or_default();
        if let Some(size) = self.sizes.get_mut(batch) {
            *size += 1;
        }
        (batch, place)
    }

    /// Every claim knows how many its batch has.
    fn tell_sizes(&self, promises: &mut [Promise]) {
        for (promise, batch) in promises.iter_mut().zip(&self.batches) {
            promise.claim.batch_size = self.sizes.get(*batch).copied().unwrap_or(1);
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Works out what a claim and those alike share; or why none of them can be promised.
fn share(problem: &mut Problem<'_>, opened: &Opened) -> Result<Rc<Shared>, &'static str> {
    let Some(template) = problem.templates.get(opened.template) else {
        return Err("its NodePool is gone");
    };
    let Some(offer) = problem.offers.get_mut(template.offer) else {
        return Err("its EC2NodeClass offers nothing");
    };
    let by_price = offer.by_price(&problem.sets, opened.set);
    let possible = by_price.iter().filter(|(_, index)| opened.types.contains(*index));
    let mut kept: Vec<usize> = possible.map(|(_, index)| *index).collect();
    let names = kept.iter().filter_map(|index| Some(offer.types.get(*index)?.name.clone()));
    let possible = names.collect();
    kept.truncate(limits::INSTANCE_TYPES_PER_CLAIM_MAX);
    let set = problem.sets.get(opened.set);
    let mut bits = BitSet::empty(offer.types.len());
    bits.extend(kept.iter().copied());
    if template.has_minimums() && !template.reaches_minimums(&set, &bits) {
        return Err("its minValues are not reached by the instance types that a claim keeps");
    }
    let first = kept.first().and_then(|index| {
        let offering = offer.cheapest(*index, &set)?;
        Some((offer.types.get(*index)?.key_of(offering), offering.price))
    });
    let Some((cheapest, price)) = first else {
        return Err("no instance type that it allows can be bought now");
    };
    let types: Vec<&InstanceType> =
        kept.iter().filter_map(|index| offer.types.get(*index)).map(|one| &**one).collect();
    let overheads = kept.iter().filter_map(|index| template.overhead.get(*index)).cloned();
    let overhead = overheads.reduce(|mut least, other| {
        amounts::lower(&mut least, &other);
        least
    });
    Ok(Rc::new(Shared {
        requirements: finished(&set, &types, &offer.capacity_types(&set, &bits)),
        instance_types: types.iter().map(|one| one.name.clone()).collect(),
        possible,
        overhead: overhead.unwrap_or_default(),
        capacity: smallest(types.iter().map(|one| one.capacity.clone())),
        allocatable: smallest(types.iter().map(|one| one.allocatable())),
        cheapest,
        price,
    }))
}

/// The smallest amount of each resource; what one of them lacks is zero.
fn smallest(mut all: impl Iterator<Item = Resources>) -> Resources {
    let first = all.next().unwrap_or_default();
    // The smaller of two amounts is the one less what it is above the other.
    let smaller = |a: Resources, b: Resources| a.saturating_sub(&a.saturating_sub(&b));
    let mut least = all.fold(first, smaller);
    least.extended.retain(|_, amount| *amount > 0);
    least
}

/// The requirements with the types and capacity types that are left.
fn finished(
    set: &Requirements,
    types: &[&InstanceType],
    capacity_types: &BTreeSet<CapacityType>,
) -> Requirements {
    let mut all = set.clone();
    let listed = |key: &str, values: BTreeSet<Value>| {
        LabelKey::new(key).ok().map(|key| Requirement::listed(key, values))
    };
    let names = types.iter().map(|one| Value::from(one.name.as_str())).collect();
    if let Some(requirement) = listed(labels::INSTANCE_TYPE, names) {
        let own = set.get(labels::INSTANCE_TYPE).and_then(Requirement::min_values);
        all.replace(requirement.with_min_values(own));
    }
    let names = capacity_types.iter().map(|one| Value::from(one.as_str())).collect();
    if let Some(requirement) = listed(labels::CAPACITY_TYPE, names) {
        all.add(requirement);
    }
    all.remove(labels::HOSTNAME);
    all
}

fn annotations(pool: &NodePool) -> BTreeMap<String, String> {
    let mut all = pool.template.annotations.clone();
    // The policy is Strict: no minValues is ever lowered.
    all.insert(labels::MIN_VALUES_RELAXED.to_owned(), "false".to_owned());
    all
}

/// The labels of the claim's node: the pool's, and one value for each requirement on a label that
/// users invented.
///
/// Where a set leaves any value but some, a number is chosen, as Karpenter does, so that pods which
/// ask that the label is there find it. (Karpenter draws it; here it is the smallest.) A label that
/// only pods mention, and only by what it must not be, is left out.
fn labels_of(
    problem: &Problem<'_>,
    template: &Template<'_>,
    opened: &Opened,
) -> BTreeMap<String, String> {
    let pool = template.pool;
    let mut all = pool.template.labels.clone();
    all.insert(labels::NODE_POOL.to_owned(), pool.name.as_str().to_owned());
    all.insert(labels::NODE_CLASS.to_owned(), pool.template.node_class.as_str().to_owned());
    let own = problem.sets.get(template.set);
    for requirement in problem.sets.get(opened.set).iter() {
        let key = requirement.key().as_str();
        let is_ours = labels::is_well_known(key) || labels::is_restricted(key);
        if is_ours || all.contains_key(key) {
            continue;
        }
        let is_needed = || own.contains(key) || is_asked_for(problem, opened, key);
        if let Some(value) = a_value(requirement).filter(|_| is_needed()) {
            all.insert(key.to_owned(), value);
        }
    }
    all
}

fn is_asked_for(problem: &Problem<'_>, opened: &Opened, key: &str) -> bool {
    let specs = opened.pods.iter().filter_map(|pod| problem.demand.pods.get(*pod));
    let mut asked = specs.flat_map(|(pod, _)| {
        pod.spec.node_selector.iter().chain(pod.spec.required_terms.iter().flatten())
    });
    asked.any(|requirement| requirement.key().as_str() == key && !requirement.allows_absence())
}

/// A value of the set: the first one that is listed, else the smallest number.
fn a_value(requirement: &Requirement) -> Option<String> {
    if !requirement.is_complement() {
        return requirement.values().first().map(ToString::to_string);
    }
    let from = requirement.at_least().unwrap_or_default().max(0);
    // One more than there are exclusions is enough.
    let candidates = (from..=i64::MAX).take(requirement.values().len() + 1);
    candidates.map(|number| number.to_string()).find(|value| requirement.has(value))
}

/// One decision for each pool that launches: how many nodes, for how many pods, at what price.
fn decisions(problem: &Problem<'_>, plan: &Plan) -> Vec<Decision> {
    let mut by_pool: BTreeMap<&NodePoolName, Vec<&Promise>> = BTreeMap::new();
    for promise in &plan.promises {
        by_pool.entry(&promise.claim.node_pool).or_default().push(promise);
    }
    let rejected: BTreeSet<String> = plan
        .unplaced
        .iter()
        .flat_map(|unplaced| &unplaced.reasons)
        .map(ToString::to_string)
        .take(limits::PODS_PER_PLAN_MAX)
        .collect();
    let decision = |(pool, promises): (&NodePoolName, Vec<&Promise>)| {
        let pods: usize = promises.iter().map(|promise| promise.pods.len()).sum();
        let prices = promises.iter().map(|promise| promise.price);
        let price = prices.fold(HourlyPrice::default(), HourlyPrice::saturating_add);
        let (nodes, pods) = (counted(promises.len(), "node"), counted(pods, "pod"));
        Decision {
            at: problem.facts.now,
            function: "provision".to_owned(),
            node_pool: Some(pool.clone()),
            claims: promises.iter().map(|promise| promise.claim.name.clone()).collect(),
            summary: format!("{pool}: {nodes} for {pods}, from ${price} per hour"),
            rejected: rejected.iter().take(REJECTED_MAX).cloned().collect(),
            price_before: None,
            price_after: Some(price),
        }
    };
    by_pool.into_iter().map(decision).collect()
}

/// Reasons that one decision record keeps.
const REJECTED_MAX: usize = 20;

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
