//! What would be planned once that which is planned now is launched: some pods wait for others.

use std::sync::Arc;

use model::{
    ClaimPhase, InstanceId, NodeClaim, Plan, PodKey,
    catalog::Reservation,
    claim::LaunchedInstance,
    facts::{ClassOffer, Facts},
    plan::{NewClaim, Target},
};
use report::output::many;

/// Maximum number of pods for which a further round is planned without an option, only to say what it would
/// do for those without a place.
const UNASKED_PODS_MAX: usize = 5_000;

/// A further round.
pub(super) struct Round {
    pub(super) plan: Plan,
    /// Whether it was asked for.
    pub(super) is_wanted: bool,
}

impl Round {
    /// Whether `pod` has a place after it.
    pub(super) fn places(&self, pod: &PodKey) -> bool {
        !self.plan.unplaced.iter().any(|unplaced| unplaced.pod == *pod)
    }

    /// That `pods`, or some of them, have a place after it.
    pub(super) fn would_place(&self, pods: &[&PodKey]) -> Option<String> {
        let placed = pods.iter().filter(|pod| self.places(pod)).count();
        let tried = "would be tried again after these launch, and find a place";
        match placed {
            0 => None,
            placed if placed == pods.len() => Some(tried.to_owned()),
            placed => Some(format!("{} of them {tried}", many(placed))),
        }
    }
}

/// The rounds after the first, which came to `plan`: as many as are wanted, or one to look at. None
/// follows that would change nothing.
pub(super) fn after(facts: &Facts, plan: &Plan, wanted: u32) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut facts = facts.clone();
    let mut latest = plan.clone();
    let further = wanted.saturating_sub(1);
    let is_small = facts.pods.len() <= UNASKED_PODS_MAX;
    for number in 0..further.max(u32::from(is_small)) {
        let changes = !latest.new_claims.is_empty() || !latest.placements.is_empty();
        if latest.unplaced.is_empty() || !changes {
            break;
        }
        carry_out(&mut facts, &latest, number);
        latest = planner::provision(&facts);
        rounds.push(Round { plan: latest.clone(), is_wanted: number < further });
    }
    rounds
}

/// As if `plan` had been launched, each claim as its cheapest offering, and its pods had been bound.
fn carry_out(facts: &mut Facts, plan: &Plan, round: u32) {
    // Claims are called after the commit that creates them.
    facts.ledger.head.counters.arrivals += 1;
    for (place, new) in plan.new_claims.iter().enumerate() {
        take_reserved(facts, new);
        if let Some(claim) = launched(facts, new, round, place) {
            facts.ledger.claims.insert(claim.name.clone(), claim);
        }
    }
    for placement in &plan.placements {
        let Target::Node(node) = &placement.target else { continue };
        for pod in facts.pods.iter_mut().filter(|pod| placement.pods.contains(&pod.key)) {
            pod.node = Some(node.clone());
            pod.unschedulable_at = None;
        }
    }
}

/// Takes the instance of `new` from its capacity reservation, if its cheapest offering is one.
fn take_reserved(facts: &mut Facts, new: &NewClaim) {
    let NewClaim { claim, cheapest, .. } = new;
    let Some(classes) = &mut facts.classes else { return };
    let Some(ClassOffer::Ready(types)) = classes.get(&claim.node_class) else { return };
    let offerings = types.iter().filter(|sold| sold.name == cheapest.instance_type);
    let id = offerings.flat_map(|sold| &sold.offerings).find_map(|offering| {
        let is_taken = offering.zone == cheapest.zone
            && offering.capacity_type == cheapest.capacity_type
            && offering.is_launchable()
            && offering.is_compatible(&claim.requirements);
        Some(offering.reservation.as_ref().filter(|_| is_taken)?.id.clone())
    });
    let Some(id) = id else { return };
    let types = classes.values_mut().filter_map(|offer| match offer {
        ClassOffer::Ready(types) => Some(types),
        ClassOffer::NotReady(_) => None,
    });
    let is_of = |held: &Reservation| held.id == id;
    for sold in types.flatten() {
        if sold.offerings.iter().any(|offering| offering.reservation.as_ref().is_some_and(is_of)) {
            let offerings = &mut Arc::make_mut(sold).offerings;
            let reservations = offerings.iter_mut().filter_map(|o| o.reservation.as_mut());
            for held in reservations.filter(|held| is_of(held)) {
                held.count = held.count.saturating_sub(1);
            }
        }
    }
}

/// The claim of `new` once it is launched as its cheapest offering.
pub(super) fn launched(
    facts: &Facts,
    new: &NewClaim,
    round: u32,
    place: usize,
) -> Option<NodeClaim> {
    let classes = facts.classes.as_ref()?;
    let Some(ClassOffer::Ready(types)) = classes.get(&new.claim.node_class) else {
        return None;
    };
    let instance_type = types.iter().find(|sold| sold.name == new.cheapest.instance_type)?;
    let offering = instance_type.offering(&new.cheapest);
    let zone_id = offering.and_then(|offering| offering.zone_id.as_ref());
    let mut claim = new.claim.moved_to(ClaimPhase::Launched, facts.now);
    claim.labels.extend(launch_template::node_labels(
        &new.claim,
        instance_type,
        &new.cheapest.zone,
        zone_id,
        new.cheapest.capacity_type,
    ));
    claim.capacity = instance_type.capacity.clone();
    claim.allocatable = instance_type.allocatable();
    claim.instance = Some(LaunchedInstance {
        id: InstanceId::new(&format!("i-{round:08x}{place:09x}")).ok()?,
        instance_type: new.cheapest.instance_type.clone(),
        zone: new.cheapest.zone.clone(),
        capacity_type: new.cheapest.capacity_type,
        price: new.price,
        image: None,
        launched_at: facts.now,
    });
    Some(claim)
}
