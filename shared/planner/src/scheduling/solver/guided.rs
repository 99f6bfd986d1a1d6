//! Onto the nodes that were advised (`packing`), by the same rules as everywhere: what does not go is
//! placed where it costs least.
//!
//! A pod goes onto what is there first, as always. Then it goes onto the advised nodes that have a place
//! for its kind; then onto the claim of this plan, or the new one, that makes the plan dearer by least. A
//! claim never becomes so large that too few types are left for it, where there are enough.

use std::collections::{BTreeMap, VecDeque};

use model::{CapacityType, HourlyPrice};

use super::{
    InFlightClaim, Pod, Run, Try,
    devices::Planned,
    fresh::Opening,
    in_flight::{Answer, Joined, tolerated},
};
use crate::{
    index::id::{ClaimId, ClassId, SetId, TemplateId, TypeId},
    scheduling::{launchable::offer::Types, numbers::amounts::Amounts, packing::relax::FLEXIBLE},
};

/// The nodes that are advised, and what became of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guide {
    nodes: Vec<Advised>,
    /// Places that are left for pods of a class: nodes with how many.
    places: BTreeMap<ClassId, VecDeque<(usize, u32)>>,
}

/// A node that is advised.
#[derive(Clone, Debug)]
pub(crate) struct Advised {
    pub(crate) template: TemplateId,
    pub(crate) instance_type: TypeId,
    pub(crate) price: HourlyPrice,
    /// What keeps it to one domain.
    pub(crate) pin: Option<SetId>,
    /// What its pods request.
    pub(crate) need: Amounts,
    claim: Option<ClaimId>,
}

impl Guide {
    /// Adds a node with places for these numbers of pods of each class.
    pub(crate) fn add(
        &mut self,
        (template, instance_type): (TemplateId, TypeId),
        price: HourlyPrice,
        (pin, need): (Option<SetId>, Amounts),
        classes: &[(ClassId, u32)],
    ) {
        let node = self.nodes.len();
        self.nodes.push(Advised { template, instance_type, price, pin, need, claim: None });
        for (class, count) in classes {
            self.places.entry(*class).or_default().push_back((node, *count));
        }
    }

    fn is_about(&self, class: ClassId) -> bool {
        self.places.contains_key(&class)
    }
}

/// Types that an advised node may become at most.
const TYPES_MAX: usize = 100;
/// Claims that are looked at for one pod without an advised place.
const LOOKS_MAX: usize = 48;

impl Run<'_, '_> {
    /// Puts the pod onto an advised node, or where it costs least; `None` if it is not to be guided.
    pub(super) fn guided(&mut self, pod: &Pod) -> Option<Try> {
        let mut guide = self.guide.take()?;
        let answer = guide.is_about(pod.class).then(|| {
            if self.onto_advised(pod, &mut guide) { Try::Placed } else { self.where_cheapest(pod) }
        });
        self.guide = Some(guide);
        answer
    }

    /// Puts the pod onto the first advised node that has a place for it and takes it.
    fn onto_advised(&mut self, pod: &Pod, guide: &mut Guide) -> bool {
        let Some(places) = guide.places.get_mut(&pod.class) else { return false };
        let mut candidates = std::mem::take(&mut self.claims);
        self.in_flight_candidates(pod, &mut candidates);
        let mut cheapest = None;
        for (at, (node, _)) in places.iter().enumerate() {
            let Some(advised) = guide.nodes.get_mut(*node) else { continue };
            let is_placed = if let Some(claim) = advised.claim {
                candidates.contains(claim)
                    && self.joins_within(pod, claim, Some(advised.price)).is_some()
            } else {
                advised.claim = self.opens_advised(pod, advised);
                advised.claim.is_some()
            };
            if is_placed {
                cheapest = Some(at);
                break;
            }
        }
        self.claims = candidates;
        let Some(at) = cheapest else { return false };
        if let Some((node, count)) = places.remove(at) {
            // Who comes next is most often to be spread, and goes to the next node first.
            if 1 < count {
                places.push_back((node, count - 1));
            }
        }
        true
    }

    /// Opens the claim of an advised node with the pod.
    fn opens_advised(&mut self, pod: &Pod, advised: &Advised) -> Option<ClaimId> {
        if !self.allows_new_host(pod)
            || !tolerated(self.problem, pod.constraints).contains(advised.template)
        {
            return None;
        }
        let set = self.problem.templates[advised.template].set;
        let set = match advised.pin {
            Some(pin) => self.problem.sets.join(set, pin)?,
            None => set,
        };
        let targets = self.targets(pod, set, Planned::New(advised.template));
        for target in &targets {
            let Some(mut opening) = self.opening(pod, advised.template, target) else {
                continue;
            };
            self.keep_likely(advised, &mut opening);
            let is_meant = opening.types.contains(advised.instance_type)
                && self
                    .cheapest(advised.template, opening.set, &opening.types)
                    .is_some_and(|price| price <= advised.price);
            let claim = self.in_flight.next_id();
            if is_meant && matches!(self.open(pod, advised.template, opening), Try::Placed) {
                return Some(claim);
            }
        }
        None
    }

    /// Of the types that a claim may become only those are kept that have room for all that is advised, and of
    /// these the cheapest, as long as every `minValues` is met: the others would count against limits.
    fn keep_likely(&mut self, advised: &Advised, opening: &mut Opening) {
        let problem = &mut *self.problem;
        let template = &problem.templates[advised.template];
        let mut roomy = opening.types.clone();
        template.keep_roomy(&mut roomy, &advised.need);
        let by_price = problem.offers[template.offer].by_price(&problem.sets, opening.set);
        let mut likely = Types::default();
        let cheapest = by_price.iter().map(|(_, id)| *id).filter(|id| roomy.contains(*id));
        likely.extend(cheapest.take(TYPES_MAX));
        let is_enough = template.unmet(&likely, opening.set, &problem.sets).is_empty();
        if is_enough && !likely.is_empty() {
            opening.types = likely;
        }
    }

    /// Puts the pod onto the claim if that costs at most `most` then; by how much it became dearer.
    fn joins_within(
        &mut self,
        pod: &Pod,
        claim: ClaimId,
        most: Option<HourlyPrice>,
    ) -> Option<HourlyPrice> {
        let joined = self.may_join(pod, claim)?;
        let price = self.price_of(claim, joined.set)?;
        let is_dear = most.is_some_and(|most| most < price);
        if is_dear || !self.stays_flexible(claim, joined.set) {
            return None;
        }
        self.join(pod, claim, joined);
        Some(price)
    }

    /// The claim with the pod, if its rules and the claim's types allow that.
    fn may_join(&mut self, pod: &Pod, claim: ClaimId) -> Option<Joined> {
        let targets = self.targets(pod, self.in_flight[claim].set, Planned::Opened(claim));
        if targets.is_empty() {
            return None;
        }
        match self.joins(pod, claim, &targets) {
            Answer::Yes(joined) => Some(joined),
            Answer::Full => {
                self.full[pod.requests_id].insert(claim);
                None
            }
            Answer::NotNow | Answer::Never => None,
        }
    }

    /// What the claim costs with `set` and the types that are left.
    fn price_of(&mut self, claim: ClaimId, set: SetId) -> Option<HourlyPrice> {
        let types = std::mem::take(&mut self.roomy);
        let template = self.in_flight[claim].template;
        let price = self.cheapest(template, set, &types);
        self.roomy = types;
        price
    }

    /// Whether the types that are left for a claim are enough, as many as there were to begin with at least.
    fn stays_flexible(&mut self, claim: ClaimId, set: SetId) -> bool {
        let before = self.in_flight[claim].types.count().min(FLEXIBLE);
        before <= self.roomy.count() || !self.may_be_spot(claim, set)
    }

    fn may_be_spot(&self, claim: ClaimId, set: SetId) -> bool {
        let problem = &*self.problem;
        let offer = &problem.offers[problem.templates[self.in_flight[claim].template].offer];
        let kinds = offer.capacity_types(&problem.sets.get(set), &self.roomy);
        kinds.contains(&CapacityType::Spot)
    }

    /// Puts the pod onto the claim that becomes dearer by least, or onto a new one.
    fn where_cheapest(&mut self, pod: &Pod) -> Try {
        let mut candidates = std::mem::take(&mut self.claims);
        self.in_flight_candidates(pod, &mut candidates);
        let mut best: Option<(HourlyPrice, ClaimId)> = None;
        let mut looks = 0;
        for claim in candidates.iter() {
            let Some(more) = self.dearer_by(pod, claim) else { continue };
            if best.is_none_or(|(least, _)| more < least) {
                best = Some((more, claim));
            }
            looks += 1;
            if more == HourlyPrice::default() || looks == LOOKS_MAX {
                break;
            }
        }
        self.claims = candidates;
        let alone = self.price_alone(pod);
        if let Some((more, claim)) = best
            && alone.is_none_or(|alone| more <= alone)
            && self.joins_within(pod, claim, None).is_some()
        {
            return Try::Placed;
        }
        let answer = self.onto_new(pod);
        if matches!(answer, Try::Failed) && self.onto_in_flight(pod) { Try::Placed } else { answer }
    }

    /// By how much the claim becomes dearer with the pod; `None` where that does not go.
    fn dearer_by(&mut self, pod: &Pod, claim: ClaimId) -> Option<HourlyPrice> {
        let joined = self.may_join(pod, claim)?;
        let after = self.price_of(claim, joined.set)?;
        let InFlightClaim { template, set, types, .. } = &self.in_flight[claim];
        let (template, set, types) = (*template, *set, types.clone());
        let before = self.cheapest(template, set, &types)?;
        self.stays_flexible(claim, joined.set).then(|| after.saturating_sub(before))
    }

    /// What a node for the pod alone costs in the first pool that has one.
    fn price_alone(&mut self, pod: &Pod) -> Option<HourlyPrice> {
        let tolerated = tolerated(self.problem, pod.constraints);
        let mut alone = None;
        for template in tolerated.iter() {
            let set = self.problem.templates[template].set;
            for target in &self.targets(pod, set, Planned::New(template)) {
                let Some(opening) = self.opening(pod, template, target) else { continue };
                let price = self.cheapest(template, opening.set, &opening.types);
                alone = alone.into_iter().chain(price).min();
            }
            if alone.is_some() {
                break;
            }
        }
        alone
    }
}
