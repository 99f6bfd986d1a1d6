//! ResourceClaims of pods: that they are there, that the devices that they have are in reach, and that claims without
//! devices can have some, all of them at once, on every type that a node may become.
//!
//! Which devices those are a plan does not say, and it is kube-scheduler's choice: judged is that there is one, by a
//! search that shares no code with the planner's, but what evaluates selectors.

mod search;
mod seats;
mod stock;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InstanceTypeName, NodePoolName, Plan, Pod, PodUid, Requirements,
    dynamic_resources::{ClaimConsumer, ResourceClaim, ResourceClaimKey, SliceAccess},
    facts::Facts,
};

use self::{
    search::{Answer, User, are_too_few, solve},
    seats::{Seat, seats},
    stock::{Item, Stock},
    tasks::{Supply, Tasks, TooManyWays},
};
use crate::{Violation, world::World};

/// The search for the devices of a place ends after this many steps, and that for places that share devices.
const STEPS_MAX: usize = 20_000;
/// Places that share devices are judged together if they have so few tasks.
const TASKS_MAX: usize = 2_048;

/// Claims by name.
#[derive(Default)]
pub(crate) struct DeviceClaims<'a> {
    by_key: BTreeMap<&'a ResourceClaimKey, &'a ResourceClaim>,
    pods: BTreeMap<&'a PodUid, &'a Pod>,
}

impl<'a> DeviceClaims<'a> {
    pub(crate) fn of(facts: &'a Facts) -> Self {
        let Some(devices) = &facts.devices else { return Self::default() };
        Self {
            by_key: devices.claims.iter().map(|claim| (&claim.key, claim)).collect(),
            pods: facts.pods.iter().map(|pod| (&pod.uid, pod)).collect(),
        }
    }
}

pub(crate) fn check(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    let created = plan.new_claims.iter().flat_map(|new| &new.claim.pods);
    let placed = plan.placements.iter().flat_map(|placement| &placement.pods);
    for pod in created.chain(placed).filter_map(|key| world.pods.get(key)) {
        if let Some(why) = unusable(world, pod) {
            violations.push(Violation::DevicesUnusable { pod: pod.key.clone(), why });
        }
    }
    violations.extend(judged(world, plan).violations);
}

/// The names of the pod's claims, without those for which no claim was made.
fn names(pod: &Pod) -> BTreeSet<ResourceClaimKey> {
    let made = |name: &String| pod.made_claims.get(name).cloned().flatten();
    let references = pod.spec.claims.references.iter();
    let names = references.filter_map(|(name, own)| own.clone().or_else(|| made(name)));
    let key = |name| ResourceClaimKey { namespace: pod.key.namespace.clone(), name };
    names.map(key).collect()
}

fn unusable(world: &World<'_>, pod: &Pod) -> Option<String> {
    if pod.spec.claims.is_empty() {
        return None;
    }
    if world.facts.devices.is_none() {
        return Some("ResourceClaims are ignored".to_owned());
    }
    let missing = names(pod).into_iter().find(|key| !world.device_claims.by_key.contains_key(key));
    missing.map(|key| format!("ResourceClaim {key} does not exist"))
}

/// What the devices ask of a node that claims of the pod have, and keep.
pub(crate) fn reach(world: &World<'_>, pod: &Pod) -> Requirements {
    let mut requirements = Requirements::new();
    for key in names(pod) {
        let claim = world.device_claims.by_key.get(&key).filter(|claim| is_kept(world, claim));
        let allocation = claim.and_then(|claim| claim.allocation.as_ref());
        let selector = allocation.and_then(|allocation| allocation.selector.as_ref());
        for term in selector.iter().flat_map(|selector| &selector.terms) {
            requirements.add_all(&term.requirements);
        }
    }
    requirements
}

/// Whether a pod that stays where it is has reserved the claim, or another object has, or none.
fn is_kept(world: &World<'_>, claim: &ResourceClaim) -> bool {
    let stays = |consumer: &ClaimConsumer| match consumer {
        ClaimConsumer::Other => true,
        ClaimConsumer::Pod(uid) => world
            .device_claims
            .pods
            .get(uid)
            .is_none_or(|pod| !pod.is_reschedulable() || !is_on_ending_node(world, pod)),
    };
    claim.reserved_for.is_empty() || claim.reserved_for.iter().any(stays)
}

fn is_on_ending_node(world: &World<'_>, pod: &Pod) -> bool {
    let node = pod.node.as_ref().filter(|node| world.facts.nodes.contains_key(*node));
    node.is_some_and(|node| world.is_node_ending(node))
}

/// What became of looking for devices.
#[derive(Default)]
pub(crate) struct Judged {
    violations: Vec<Violation>,
    /// Searches that ended before they found devices, or that there are none.
    pub(crate) undecided: usize,
}

/// Looks for devices for all claims of the plan's pods that have none.
pub(crate) fn judged(world: &World<'_>, plan: &Plan) -> Judged {
    let mut judged = Judged::default();
    let Some(devices) = &world.facts.devices else { return judged };
    let seats = seats(world, plan);
    if seats.is_empty() {
        return judged;
    }
    let held = devices.claims.iter().filter(|claim| is_kept(world, claim));
    let stock = Stock::new(devices, |node| world.is_node_ending(node), held);
    let judge = Judge::new(&stock, &seats);
    judge.of_other_nodes(&mut judged);
    judge.each_alone(&mut judged);
    if judged.violations.is_empty() {
        judge.together(&mut judged);
    }
    judged
}

struct Judge<'j, 'a> {
    stock: &'j Stock<'a>,
    seats: &'j [Seat<'a>],
    /// By seat: published devices in reach.
    reached: Vec<Vec<Item<'a>>>,
    /// Claims of pods on several seats, with these.
    spread: BTreeMap<&'a ResourceClaimKey, Vec<usize>>,
}

/// What decides about the devices of a node that has only those of its type.
type Alike<'s> = (Option<&'s NodePoolName>, Option<&'s InstanceTypeName>, Vec<usize>);

impl<'j, 'a> Judge<'j, 'a> {
    fn new(stock: &'j Stock<'a>, seats: &'j [Seat<'a>]) -> Self {
        let published = |seat: &Seat<'a>| stock.published(seat.node, |access| seat.reaches(access));
        let mut spread: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (place, seat) in seats.iter().enumerate() {
            for key in seat.claims.keys() {
                spread.entry(*key).or_default().push(place);
            }
        }
        spread.retain(|_, places| 1 < places.len());
        Self { stock, seats, reached: seats.iter().map(published).collect(), spread }
    }

    /// Looks at the claims that have devices.
    fn of_other_nodes(&self, judged: &mut Judged) {
        for seat in self.seats {
            let far = seat.allocated.iter().filter(|claim| {
                let selector = claim.allocation.as_ref().and_then(|has| has.selector.as_ref());
                selector.is_some_and(|selector| !seat.is_among(selector))
            });
            for claim in far {
                let why = format!("{} has devices of other nodes", claim.key);
                judged.violations.push(seat.violation(&seat.text, why));
            }
        }
    }

    /// Looks at each seat as if no other were there.
    fn each_alone(&self, judged: &mut Judged) {
        let mut answers: BTreeMap<Alike<'_>, Answer> = BTreeMap::new();
        let mut kinds = Vec::new();
        for (place, seat) in self.seats.iter().enumerate() {
            let has_spread = seat.claims.keys().any(|key| self.spread.contains_key(key));
            let is_plain = self.reached.get(place).is_some_and(Vec::is_empty) && !has_spread;
            let mut alike: Vec<usize> =
                seat.claims.values().map(|claim| kind_of(&mut kinds, claim)).collect();
            alike.sort_unstable();
            for (number, name) in seat.types.iter().enumerate() {
                let key = (seat.node_pool.as_ref(), name.as_ref(), alike.clone());
                let before = answers.get(&key).filter(|_| is_plain).copied();
                let answer = before.unwrap_or_else(|| self.answer(&[(place, number)]));
                if is_plain {
                    answers.insert(key, answer);
                }
                match answer {
                    Answer::Possible => {}
                    Answer::Undecided => judged.undecided += 1,
                    Answer::Impossible => {
                        judged.violations.push(self.violation(seat, name.as_ref()));
                        // One type is enough to name.
                        break;
                    }
                }
            }
        }
    }

    /// Looks at seats that share devices as one: each device is for one of them.
    fn together(&self, judged: &mut Judged) {
        let sharing: Vec<usize> =
            (0..self.seats.len()).filter(|place| self.may_share(*place)).collect();
        let users = |places: &[usize]| -> Vec<User> {
            let users = places.iter().filter_map(|place| Some((*place, self.seats.get(*place)?)));
            users.flat_map(|(place, seat)| (0..seat.types.len()).map(move |n| (place, n))).collect()
        };
        if sharing.len() < 2 {
            return;
        }
        match self.answer(&users(&sharing)) {
            Answer::Possible => {}
            Answer::Undecided => judged.undecided += 1,
            Answer::Impossible => {
                let is_wrong = |count: &usize| {
                    let first = sharing.get(..*count).unwrap_or_default();
                    self.answer(&users(first)) == Answer::Impossible
                };
                let count = (2..sharing.len()).find(is_wrong).unwrap_or(sharing.len());
                let seat = sharing.get(count - 1).and_then(|place| self.seats.get(*place));
                judged.violations.extend(seat.map(|seat| self.violation(seat, None)));
            }
        }
    }

    /// Whether a claim of the seat may get a device that other seats reach, or is one of another seat, too.
    fn may_share(&self, place: usize) -> bool {
        let Some((seat, items)) = self.seats.get(place).zip(self.reached.get(place)) else {
            return false;
        };
        let is_open = |item: &&Item<'_>| !matches!(item.access, Some(SliceAccess::Node(_)));
        let open: Vec<&Item<'a>> = items.iter().filter(is_open).collect();
        let is_selected = |ask| open.iter().any(|item| self.stock.selects(ask, item) == Ok(true));
        let mut claims = seat.claims.iter();
        claims.any(|(key, claim)| self.spread.contains_key(key) || claim.asks().any(is_selected))
    }

    /// Whether all claims of these seats can have devices as what they become.
    fn answer(&self, users: &[User]) -> Answer {
        let mut tasks = Tasks::new(self.stock);
        for user in users {
            if self.add(*user, &mut tasks).is_err() || TASKS_MAX < tasks.all.len() {
                return Answer::Undecided;
            }
        }
        if are_too_few(&tasks.all, &tasks.limits) {
            return Answer::Impossible;
        }
        solve(&tasks.all, &tasks.limits, STEPS_MAX)
    }

    /// Adds the tasks of one seat. A claim of several seats is a task of the first one, with devices that all of them
    /// reach.
    fn add(&self, user: User, tasks: &mut Tasks<'_, 'a>) -> Result<(), TooManyWays> {
        let (place, number) = user;
        let seat = self.seats.get(place).zip(self.reached.get(place));
        let Some((seat, reached)) = seat else { return Ok(()) };
        let templates = seat.templates(self.stock, number);
        let to_come = templates.filter(|_| seat.has_templates).map(stock::of_templates);
        let to_come = to_come.into_iter().flatten();
        let there: Vec<Item<'a>> = to_come.chain(reached.iter().copied()).collect();
        for (key, claim) in &seat.claims {
            let places = self.spread.get(key).map(Vec::as_slice).unwrap_or_default();
            if places.first().is_some_and(|first| *first != place) {
                continue;
            }
            let is_in_reach = |item: &Item<'_>| {
                let mut seats = places.iter().filter_map(|place| self.seats.get(*place));
                seats.all(|seat| item.access.is_some_and(|access| seat.reaches(access)))
            };
            let shared: Vec<Item<'a>>;
            let items = if places.is_empty() {
                &there
            } else {
                shared = there.iter().copied().filter(is_in_reach).collect();
                &shared
            };
            tasks.add(&Supply { user, items, templates }, claim)?;
        }
        Ok(())
    }

    fn violation(&self, seat: &Seat<'a>, name: Option<&InstanceTypeName>) -> Violation {
        let place = match name.filter(|_| seat.is_open) {
            Some(name) => format!("{} as {name}", seat.text),
            None => seat.text.clone(),
        };
        let faults = seat.claims.values().filter_map(|claim| {
            let fault = claim.asks().find_map(|ask| self.stock.fault(ask))?;
            Some(format!(" ({}: {fault})", claim.key))
        });
        let claims: Vec<String> = seat.claims.keys().map(ToString::to_string).collect();
        let why = format!("{}{}", claims.join(", "), faults.collect::<String>());
        seat.violation(&place, why)
    }
}

/// The number of the first claim that asks for the same.
fn kind_of<'a>(kinds: &mut Vec<&'a ResourceClaim>, claim: &'a ResourceClaim) -> usize {
    let is_alike = |other: &&ResourceClaim| {
        other.requests == claim.requests && other.constraints == claim.constraints
    };
    kinds.iter().position(is_alike).unwrap_or_else(|| {
        kinds.push(claim);
        kinds.len() - 1
    })
}
