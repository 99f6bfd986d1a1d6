//! The market of a problem: what its pods ask for and what its pools sell, as far as one node alone
//! decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{CapacityType, HourlyPrice, Requirements, taint};

use super::{
    market::{DEMANDS_MAX, Demands, Item, Market, Offer, Pico, pico},
    rules,
};
use crate::{
    index::id::{ClassId, DomainId, GroupId, KeyId, PreferencesId, SetId, TemplateId, TypeId},
    scheduling::{
        demand::constraints,
        launchable::{offer::Types, template},
        problem::Problem,
        state::State,
        topology::groups::Purpose,
    },
};

/// Number of types that a spot node keeps if it has them: Karpenter's measure of flexibility.
pub(crate) const FLEXIBLE: usize = 15;

/// The sets of requirements with which nodes of each template would take a pod.
type Sets = Vec<(TemplateId, SetId)>;

/// A market, and whose pods its items are.
#[derive(Debug, Default)]
pub(crate) struct Relaxation {
    pub(crate) market: Market,
    /// By item: classes with how many of their pods.
    pub(crate) classes: Vec<Vec<(ClassId, u32)>>,
    /// By item: what keeps its nodes to one domain.
    pub(crate) pins: Vec<Option<SetId>>,
}

impl Relaxation {
    /// How many resources there are.
    pub(crate) fn resources(&self) -> usize {
        self.market.items.first().map_or(0, |item| item.need.len())
    }
}

/// What makes an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    need: Box<[i64]>,
    most: u32,
    demands: Demands,
    /// Rules about other pods are one class's own.
    own: Option<ClassId>,
    pin: Option<SetId>,
}

/// Pods sorted into items, and their demands.
#[derive(Debug, Default)]
struct Sorted {
    demands: BTreeMap<Sets, Option<u32>>,
    items: BTreeMap<Kind, Vec<(ClassId, u32)>>,
    /// By rule on the hostname: how many of its pods one node may have, and the classes that follow it.
    followed: BTreeMap<GroupId, (u32, BTreeSet<ClassId>)>,
}

impl Sorted {
    /// The bit of pods that go onto nodes with any of `sets`; `None` where there are too many to tell apart.
    fn demand(&mut self, sets: Sets) -> Option<Demands> {
        let next = self.demands.len();
        let bit = self
            .demands
            .entry(sets)
            .or_insert_with(|| u32::try_from(next).ok().filter(|_| next < DEMANDS_MAX));
        bit.map(|bit| 1 << bit)
    }

    fn relaxation(self, problem: &mut Problem<'_>, is_flexible: bool) -> Relaxation {
        let mut offers = offers(problem, &self.demands, is_flexible);
        let mut social: BTreeMap<ClassId, u32> = BTreeMap::new();
        for (class, count) in
            self.items.iter().filter(|(kind, _)| kind.own.is_some()).flat_map(|(_, of)| of)
        {
            *social.entry(*class).or_default() += count;
        }
        let shared = rules::shared(problem, &self.followed, &social);
        for offer in &mut offers {
            offer.room =
                offer.room.iter().copied().chain(shared.iter().map(|rule| rule.room)).collect();
        }
        let (mut items, mut classes, mut pins) = (Vec::new(), Vec::new(), Vec::new());
        for (kind, of) in self.items {
            let count = of.iter().map(|(_, count)| count).sum();
            let Kind { need, most, demands, own, pin } = kind;
            let need =
                need.iter().copied().chain(shared.iter().map(|rule| rule.need(own))).collect();
            let item = Item { need, count, most, demands };
            if offers.iter().any(|offer| offer.takes(&item)) {
                items.push(item);
                classes.push(of);
                pins.push(pin);
            }
        }
        Relaxation { market: Market::of(problem.resources.len(), items, offers), classes, pins }
    }
}

/// The market in which no rule about other pods and no preference counts, so that whatever a plan does can
/// be done in it.
pub(crate) fn loosest(problem: &mut Problem<'_>, classes: &BTreeMap<ClassId, u32>) -> Relaxation {
    let mut relaxed = Sorted::default();
    for (class, count) in classes {
        let sets = loosest_sets(problem, *class);
        let Some(demands) = relaxed.demand(sets) else { continue };
        let need = problem.requests[problem.classes[*class].requests].clone();
        let kind = Kind { need, most: u32::MAX, demands, own: None, pin: None };
        relaxed.items.entry(kind).or_default().push((*class, *count));
    }
    relaxed.relaxation(problem, false)
}

/// The sets that a node may have which takes pods of `class`, by any of its required terms.
fn loosest_sets(problem: &mut Problem<'_>, class: ClassId) -> Sets {
    let spec = Rc::clone(&problem.classes[class].alternatives);
    let pod = Arc::clone(&problem.classes[class].spec);
    let mut tolerations = pod.tolerations.clone();
    tolerations.push(template::soft_toleration());
    let mut sets = Sets::new();
    for term in 0..pod.required_terms.len().max(1) {
        for alternative in spec.iter() {
            let mut wanted = pod.requirements(term);
            wanted.add_all(alternative);
            let asked = constraints::of_new(&wanted, &mut problem.sets);
            for number in problem.templates.ids() {
                let template = &problem.templates[number];
                let taints = &template.pool.template.taints;
                if asked.is_possible && taint::untolerated(taints, &tolerations).is_empty() {
                    let joined = problem.sets.join(template.set, asked.set);
                    sets.extend(joined.map(|set| (number, set)));
                }
            }
        }
    }
    sets.sort_unstable();
    sets.dedup();
    sets
}

/// The market as pods would like it: with the preferences that can be had, in pools of the weight that
/// each would open a node of, spread over domains as their rules ask beside who is there in `start`, on spot with a
/// choice of types. Only pools that are packed so take part.
pub(crate) fn wished(
    problem: &mut Problem<'_>,
    start: &State,
    classes: &BTreeMap<ClassId, u32>,
) -> Relaxation {
    let mut relaxed = Sorted::default();
    let mut spreading = Spreading::default();
    for (class, count) in classes {
        let Some(wish) = wish(problem, *class) else { continue };
        if !wish.sets.iter().all(|(template, _)| problem.is_packed(*template)) {
            continue;
        }
        let need = problem.requests[problem.classes[*class].requests].clone();
        for (group, most) in &wish.on_hosts {
            let (_, classes) = relaxed.followed.entry(*group).or_insert((*most, BTreeSet::new()));
            classes.insert(*class);
        }
        let most = wish.on_hosts.iter().map(|(_, most)| *most).min().unwrap_or(u32::MAX);
        for (pin, count) in spreading.parts((problem, start), &wish, *count) {
            let sets = match pin {
                None => wish.sets.clone(),
                Some(pin) => pinned(problem, &wish.sets, pin),
            };
            let Some(demands) = relaxed.demand(sets) else { continue };
            let social = wish.is_social.then_some(*class);
            let kind = Kind { need: need.clone(), most, demands, own: social, pin };
            relaxed.items.entry(kind).or_default().push((*class, count));
        }
    }
    relaxed.relaxation(problem, true)
}

fn pinned(problem: &mut Problem<'_>, sets: &Sets, pin: SetId) -> Sets {
    let join =
        |(template, set): &(TemplateId, SetId)| Some((*template, problem.sets.join(*set, pin)?));
    sets.iter().filter_map(join).collect()
}

/// What pods of a class ask for with the most preferences that can be had.
struct Wish {
    sets: Sets,
    /// Rules on the hostname, with how many pods of each one node may have.
    on_hosts: Vec<(GroupId, u32)>,
    /// Whether they ask about other pods.
    is_social: bool,
    /// Labels over whose domains they are spread, or in one domain of which they stay.
    domains: Vec<(KeyId, GroupId, bool)>,
}

/// Steps of relaxing preferences that are looked at.
const STEPS_MAX: usize = 16;

fn wish(problem: &mut Problem<'_>, class: ClassId) -> Option<Wish> {
    let profile = problem.classes[class].profile;
    if problem.classes[class].refused.is_some() {
        return None;
    }
    for step in 0..STEPS_MAX {
        let step = PreferencesId::nth(step);
        while problem.profiles[profile].preferences.next_id() <= step {
            let (profiles, mut around, constraints) = problem.split();
            if !profiles[profile].relax(&mut around, constraints) {
                return None;
            }
        }
        let sets = wished_sets(problem, class, step);
        if sets.is_empty() {
            continue;
        }
        let preference = problem.profiles[profile].preferences.known(step)?;
        let on_hosts = preference.on_hosts.iter();
        let on_hosts = on_hosts.filter_map(|rule| Some((rule.group, rules::most(problem, rule)?)));
        let own_rules = preference.on_domains.iter().filter(|(_, rule)| rule.is_own);
        let domains = own_rules.filter_map(|(key, rule)| {
            let is_spread = match problem.groups.all[rule.group].purpose {
                Purpose::Spread { .. } | Purpose::AntiAffinity => true,
                Purpose::Affinity => false,
                Purpose::Inverse => return None,
            };
            Some((*key, rule.group, is_spread))
        });
        let is_social = !preference.on_hosts.is_empty() || !preference.on_domains.is_empty();
        let (on_hosts, domains) = (on_hosts.collect(), domains.collect());
        return Some(Wish { sets, on_hosts, is_social, domains });
    }
    None
}

/// The sets of nodes that a pod of `class` would open with the preferences of `step`: of the first pool that
/// can launch something, and of those with the same weight.
fn wished_sets(problem: &mut Problem<'_>, class: ClassId, step: PreferencesId) -> Sets {
    let Some(preference) = problem.profiles[problem.classes[class].profile].preferences.known(step)
    else {
        return Sets::new();
    };
    let asked = &problem.constraints.all[preference.constraints];
    let (own, tolerations) = (asked.new, asked.tolerations.clone());
    let alternatives = Rc::clone(&problem.classes[class].alternatives);
    let mut sets = Sets::new();
    let mut weight = None;
    for number in problem.templates.ids() {
        let template = &problem.templates[number];
        let pool = template.pool;
        let is_open = taint::untolerated(&pool.template.taints, &tolerations).is_empty();
        if !own.is_possible || !is_open || weight.is_some_and(|weight| weight != pool.weight) {
            continue;
        }
        let Some(joined) = problem.sets.join(template.set, own.set) else { continue };
        for alternative in alternatives.iter() {
            let Some(set) = with(problem, joined, alternative) else { continue };
            if !types(problem, number, set, class).is_empty() {
                weight = Some(pool.weight);
                sets.push((number, set));
            }
        }
    }
    sets
}

fn with(problem: &mut Problem<'_>, set: SetId, more: &Requirements) -> Option<SetId> {
    let asked = constraints::of_new(more, &mut problem.sets);
    problem.sets.join(set, asked.set).filter(|_| asked.is_possible)
}

/// The types with `set` that have room for one pod of `class`.
fn types(problem: &mut Problem<'_>, number: TemplateId, set: SetId, class: ClassId) -> Types {
    let template = &problem.templates[number];
    let mut types = template.types.clone();
    types.keep(&problem.offers[template.offer].allowed(&problem.sets, set));
    template.keep_roomy(&mut types, &problem.requests[problem.classes[class].requests]);
    types
}

/// How pods were spread over the domains of rules so far.
#[derive(Debug, Default)]
struct Spreading(BTreeMap<(GroupId, DomainId), u32>);

impl Spreading {
    /// `count` pods of `wish`, by the domain that they are kept to.
    fn parts(
        &mut self,
        (problem, start): (&mut Problem<'_>, &State),
        wish: &Wish,
        count: u32,
    ) -> Vec<(Option<SetId>, u32)> {
        let Some((key, group, is_spread)) = wish.domains.first().copied() else {
            return vec![(None, count)];
        };
        let tally = &start.tallies[group];
        let there: BTreeMap<DomainId, u32> =
            tally.known.iter().map(|domain| (domain, tally.count(domain))).collect();
        let mut open: Vec<(DomainId, SetId)> = Vec::new();
        for domain in there.keys() {
            let mut single = crate::scheduling::numbers::domains::Domains::default();
            single.insert(*domain);
            let pin = problem.keys.all[key].asking(&single, &mut problem.sets);
            let sets = pinned(problem, &wish.sets, pin);
            let is_sold = sets.iter().any(|(template, set)| {
                let offer = problem.templates[*template].offer;
                !problem.offers[offer].allowed(&problem.sets, *set).is_empty()
            });
            if is_sold {
                open.push((*domain, pin));
            }
        }
        let mut parts: BTreeMap<DomainId, u32> = BTreeMap::new();
        for _ in 0..count {
            let so_far = |domain: &DomainId| {
                let known = there.get(domain).copied().unwrap_or_default();
                known.saturating_add(self.0.get(&(group, *domain)).copied().unwrap_or_default())
            };
            let next = open.iter().map(|(domain, _)| *domain);
            let next = if is_spread {
                next.min_by_key(|domain| (so_far(domain), *domain))
            } else {
                next.max_by_key(|domain| (so_far(domain), std::cmp::Reverse(*domain)))
            };
            let Some(next) = next else { return Vec::new() };
            *self.0.entry((group, next)).or_default() += 1;
            *parts.entry(next).or_default() += 1;
        }
        let pin =
            |domain: DomainId| open.iter().find(|(own, _)| *own == domain).map(|(_, pin)| *pin);
        parts.into_iter().map(|(domain, count)| (pin(domain), count)).collect()
    }
}

/// What is sold to any of `demands`, each distinct offer once.
fn offers(
    problem: &mut Problem<'_>,
    demands: &BTreeMap<Sets, Option<u32>>,
    is_flexible: bool,
) -> Vec<Offer> {
    let mut by_template: BTreeMap<TemplateId, Vec<(Demands, SetId)>> = BTreeMap::new();
    for (sets, bit) in demands {
        for (template, set) in sets {
            if let Some(bit) = bit {
                by_template.entry(*template).or_default().push((1 << bit, *set));
            }
        }
    }
    let mut offers = Vec::new();
    for (number, demands) in by_template {
        offers.extend(offers_of(problem, number, &demands, is_flexible));
    }
    offers
}

fn offers_of(
    problem: &mut Problem<'_>,
    number: TemplateId,
    demands: &[(Demands, SetId)],
    is_flexible: bool,
) -> Vec<Offer> {
    let template = &problem.templates[number];
    let (charge, caps) = (problem.charge(number), &problem.shares);
    let offer = &mut problem.offers[template.offer];
    let mut asked = Vec::new();
    for (bit, set) in demands {
        let mut types = template.types.clone();
        types.keep(&offer.allowed(&problem.sets, *set));
        asked.push((*bit, problem.sets.get(*set), types));
    }
    let mut cheapest: BTreeMap<(TypeId, Demands), (HourlyPrice, usize, bool)> = BTreeMap::new();
    for (place, market) in offer.unreserved() {
        let here: Vec<(Demands, &Types)> = asked
            .iter()
            .filter(|(_, set, _)| market.offering.is_compatible(set))
            .map(|(bit, _, types)| (*bit, types))
            .collect();
        let is_spot = market.offering.capacity_type == CapacityType::Spot;
        for id in market.types.iter() {
            let open = here.iter().filter(|(_, types)| types.contains(id));
            let takes = open.fold(0, |takes, (bit, _)| takes | bit);
            if takes != 0 {
                let new = (market.prices[id], place, is_spot);
                let known = cheapest.entry((id, takes)).or_insert(new);
                *known = (*known).min(new);
            }
        }
    }
    let resources = problem.resources.len();
    let room = |id: TypeId| -> Box<[i64]> {
        let left = (0..resources).map(|at| template.rooms.left(id, at).unwrap_or_default());
        let mut room: Box<[i64]> = left.collect();
        if is_flexible {
            caps.clip(number, &mut room);
        }
        room
    };
    let rooms: BTreeMap<TypeId, Box<[i64]>> =
        cheapest.keys().map(|(id, _)| (*id, room(*id))).collect();
    let wanted = FLEXIBLE.min(rooms.len());
    let has_choice = |id: &TypeId| {
        let Some(own) = rooms.get(id) else { return false };
        let larger = rooms.values().filter(|room| room.iter().zip(own).all(|(a, b)| b <= a));
        wanted <= larger.take(wanted).count()
    };
    let mut offers = Vec::new();
    for ((id, takes), (price, market, is_spot)) in &cheapest {
        if is_flexible && *is_spot && !has_choice(id) {
            continue;
        }
        let Some(room) = rooms.get(id).filter(|room| room.iter().all(|amount| 0 <= *amount)) else {
            continue;
        };
        let price: Pico = pico(price.saturating_add(charge));
        let (room, market) = (room.clone(), *market);
        offers.push(Offer {
            price,
            room,
            takes: *takes,
            template: number,
            instance_type: *id,
            market,
        });
    }
    offers
}
