//! What would have to change for pods that cannot be scheduled: each of their rules, and each rule of the NodePools and
//! of the EC2NodeClasses, is dropped in turn.
//!
//! For people alone: no decision depends on it. One preparation of the facts tries every single rule of a pod, all
//! pairs, and all of them; each rule of a NodePool or an EC2NodeClass is a preparation of its own. The number of
//! preparations is bounded by how many nodes and pods each goes through.

mod class;
pub(crate) mod known;

use std::{collections::BTreeMap, sync::Arc};

use model::{
    InstanceType, NodeClassName, Plan, Pod, PodKey, PodSpec, Requirement, Requirements,
    facts::{ClassOffer, Facts},
    ledger::RejectionReason,
    limits,
    node_pool::NodePool,
    plan::{Reason, Unplaced},
    storage::PodVolume,
    topology::{PodAffinityTerm, WhenUnsatisfiable},
};

use super::{
    launchable::known::KnownTypes,
    problem::Problem,
    solver::{self, Options},
};

/// Groups of equal pods that are looked at.
const GROUPS_MAX: usize = 16;
/// Rules of a pod of which pairs are tried.
const PAIRED_MAX: usize = 12;
/// Rules of which one is named as what helps.
const NAMED_MAX: usize = 3;
/// Nodes and pods that all preparations together go through, for a command that is asked once: about a second. Of a
/// cluster with more of them nothing is said.
pub const STEPS_MAX: usize = 50_000;
/// Preparations, however small the cluster is.
const PREPARATIONS_MAX: usize = 100;

/// What would let pods be scheduled that `plan` has no place for, in words, by the pod. There is none for pods that no
/// rule keeps out, such as those that are too large, and for those that could be scheduled once no others come before
/// them. All preparations together go through `steps_max` nodes and pods at most ([`STEPS_MAX`]).
#[must_use]
pub fn remedies(
    facts: &Facts,
    plan: &Plan,
    known: &KnownTypes,
    steps_max: usize,
) -> BTreeMap<PodKey, String> {
    let (groups, _) = searched(facts, &plan.unplaced, known, steps_max);
    let texts = groups.iter().filter_map(|group| Some((group.text()?, &group.keys)));
    texts.flat_map(|(text, keys)| keys.iter().map(move |key| (key.clone(), text.clone()))).collect()
}

/// Adds what would help pods to why they have no place, after the reasons of the NodePools.
pub fn name_remedies(unplaced: &mut [Unplaced], remedies: &BTreeMap<PodKey, String>) {
    for unplaced in unplaced {
        let text = remedies.get(&unplaced.pod).cloned();
        let reason = RejectionReason::NothingTogether;
        unplaced.reasons.extend(text.map(|text| Reason { node_pool: None, reason, text }));
    }
}

/// Groups of `unplaced` with what helps them, and how many of `steps_max` are left. No groups if not even one
/// preparation can be made.
fn searched<'f>(
    facts: &'f Facts,
    unplaced: &[Unplaced],
    known: &KnownTypes,
    steps_max: usize,
) -> (Vec<Group<'f>>, usize) {
    let is_bound = |pod: &&Pod| !pod.is_provisionable();
    let steps = facts.pods.iter().filter(is_bound).count().saturating_add(facts.nodes.len()).max(1);
    let preparations = (steps_max / steps).min(PREPARATIONS_MAX);
    let mut groups = groups(facts, unplaced);
    if groups.is_empty() || preparations == 0 {
        return (Vec::new(), steps_max);
    }
    let pods = facts.pods.iter().filter(is_bound).cloned().collect();
    let mut search =
        Search { facts: Facts { pods, ..facts.clone() }, known: known.clone(), preparations };
    search.of_pods(&mut groups);
    search.of_pools(&mut groups);
    search.of_classes(&mut groups);
    search.of_sets(&mut groups);
    let made = preparations.saturating_sub(search.preparations);
    (groups, steps_max.saturating_sub(made.saturating_mul(steps)))
}

/// Equal pods without a place.
struct Group<'f> {
    keys: Vec<PodKey>,
    pod: &'f Pod,
    rules: Vec<Rule>,
    /// Whether dropping all of its rules helps.
    is_its_own_fault: bool,
    /// Whether it can be scheduled if no other pods wait: then nothing is looked for.
    has_place: bool,
    /// Single changes that let it be scheduled, in words.
    helping: Vec<String>,
    /// Rules that let it be scheduled if all are dropped, in words.
    together: Option<String>,
}

impl Group<'_> {
    fn text(&self) -> Option<String> {
        if self.helping.is_empty() { self.together.clone() } else { Some(any_of(&self.helping)) }
    }
}

fn groups<'f>(facts: &'f Facts, unplaced: &[Unplaced]) -> Vec<Group<'f>> {
    let by_key: BTreeMap<&PodKey, &Pod> = facts.pods.iter().map(|pod| (&pod.key, pod)).collect();
    let mut groups: Vec<Group<'f>> = Vec::new();
    for unplaced in unplaced {
        let Some(pod) = by_key.get(&unplaced.pod).copied() else { continue };
        if let Some(group) = groups.iter_mut().find(|group| are_equal(group.pod, pod)) {
            group.keys.push(pod.key.clone());
        } else if groups.len() < GROUPS_MAX && pod.spec.problems.is_empty() {
            groups.push(Group {
                keys: vec![pod.key.clone()],
                pod,
                rules: Rule::of(pod),
                is_its_own_fault: false,
                has_place: false,
                helping: Vec::new(),
                together: None,
            });
        }
    }
    groups
}

/// Whether two pods have the same rules.
fn are_equal(one: &Pod, other: &Pod) -> bool {
    one.key.namespace == other.key.namespace
        && one.volumes == other.volumes
        && (Arc::ptr_eq(&one.spec, &other.spec) || one.spec == other.spec)
}

/// A rule of a pod, by its place in the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Selector(Requirement),
    Affinity(usize, Requirement),
    Spread(usize),
    PodAffinity(usize),
    PodAntiAffinity(usize),
    HostPort(usize),
    Volume(usize),
}

impl Rule {
    fn of(pod: &Pod) -> Vec<Self> {
        let spec = &pod.spec;
        let mut rules: Vec<Self> = spec.node_selector.iter().cloned().map(Self::Selector).collect();
        for (term, asked) in spec.required_terms.iter().enumerate() {
            rules.extend(asked.iter().cloned().map(|asked| Self::Affinity(term, asked)));
        }
        let spreads = spec.spread.iter().enumerate();
        let hard =
            spreads.filter(|(_, s)| s.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule);
        rules.extend(hard.map(|(place, _)| Self::Spread(place)));
        rules.extend((0..spec.pod_affinity.required.len()).map(Self::PodAffinity));
        rules.extend((0..spec.pod_anti_affinity.required.len()).map(Self::PodAntiAffinity));
        rules.extend((0..spec.host_ports.len()).map(Self::HostPort));
        rules.extend((0..pod.volumes.len()).map(Self::Volume));
        rules
    }

    /// `pod`, called `key` and pending, without `dropped`.
    fn without(pod: &Pod, key: PodKey, dropped: &[&Self]) -> Pod {
        let stays = |rule: Self| !dropped.contains(&&rule);
        let spec = &pod.spec;
        let node_selector =
            spec.node_selector.iter().filter(|r| stays(Self::Selector((*r).clone())));
        let terms = spec.required_terms.iter().enumerate().map(|(term, asked)| {
            let asked = asked.iter().filter(|r| stays(Self::Affinity(term, (*r).clone())));
            asked.cloned().collect()
        });
        let mut relaxed = PodSpec {
            node_selector: node_selector.cloned().collect(),
            required_terms: terms.collect(),
            spread: kept(&spec.spread, |place| stays(Self::Spread(place))),
            host_ports: kept(&spec.host_ports, |place| stays(Self::HostPort(place))),
            ..PodSpec::clone(spec)
        };
        let (near, far) = (&mut relaxed.pod_affinity, &mut relaxed.pod_anti_affinity);
        near.required = kept(&near.required, |place| stays(Self::PodAffinity(place)));
        far.required = kept(&far.required, |place| stays(Self::PodAntiAffinity(place)));
        let volumes = kept(&pod.volumes, |place| stays(Self::Volume(place))).into_iter();
        Pod {
            volumes: volumes.map(|volume| named(&pod.key, volume)).collect(),
            owner: pod.owner.clone(),
            ..Pod::waiting(key, pod.uid.clone(), Arc::new(relaxed), pod.created_at)
        }
    }

    /// `its node selector kubernetes.io/arch In [arm64]`
    fn in_words(&self, pod: &Pod) -> String {
        let spec = &pod.spec;
        let place = |terms: &[PodAffinityTerm], place: usize| {
            terms.get(place).map(|term| term.topology_key.to_string()).unwrap_or_default()
        };
        match self {
            Self::Selector(asked) => format!("its node selector {asked}"),
            Self::Affinity(_, asked) => format!("its node affinity {asked}"),
            Self::Spread(place) => {
                let key = spec.spread.get(*place).map(|spread| spread.topology_key.to_string());
                format!("its spread over {}", key.unwrap_or_default())
            }
            Self::PodAffinity(at) => {
                format!("its pod affinity over {}", place(&spec.pod_affinity.required, *at))
            }
            Self::PodAntiAffinity(at) => {
                let terms = &spec.pod_anti_affinity.required;
                format!("its pod anti-affinity over {}", place(terms, *at))
            }
            Self::HostPort(place) => {
                let port = spec.host_ports.get(*place).map(|port| port.port.to_string());
                format!("its host port {}", port.unwrap_or_default())
            }
            Self::Volume(place) => {
                let claim = match pod.volumes.get(*place).map(|v| named(&pod.key, v.clone())) {
                    Some(PodVolume::Claim(name)) => name.to_string(),
                    Some(PodVolume::Ephemeral { volume, .. }) => volume,
                    None => String::new(),
                };
                format!("its volume {claim}")
            }
        }
    }
}

/// The claim of an ephemeral volume, which is called after its pod, so that a pod of another name has it.
fn named(pod: &PodKey, volume: PodVolume) -> PodVolume {
    match &volume {
        PodVolume::Ephemeral { volume: name, .. } => {
            format!("{}-{name}", pod.name).parse().map_or(volume, PodVolume::Claim)
        }
        PodVolume::Claim(_) => volume,
    }
}

/// The items whose place `stays`.
fn kept<T: Clone>(items: &[T], stays: impl Fn(usize) -> bool) -> Vec<T> {
    let kept = items.iter().enumerate().filter(|(place, _)| stays(*place));
    kept.map(|(_, item)| item.clone()).collect()
}

/// That any one of `changes`, such as `without the taint …`, would let the pod be scheduled.
fn any_of(changes: &[String]) -> String {
    let named: Vec<&str> = changes.iter().take(NAMED_MAX).map(String::as_str).collect();
    format!("it could be scheduled {}", named.join(", or "))
}

/// One rule of a NodePool or an EC2NodeClass dropped.
enum Relaxed {
    Pool(Box<NodePool>),
    Class(NodeClassName, Vec<Arc<InstanceType>>),
}

struct Search {
    /// Without pods that wait.
    facts: Facts,
    known: KnownTypes,
    /// That may still be made.
    preparations: usize,
}

impl Search {
    /// Whether each of `pods` has a place, if no other waits.
    fn have_places(&mut self, pods: Vec<Pod>) -> Option<BTreeMap<PodKey, bool>> {
        self.preparations = self.preparations.checked_sub(1)?;
        let waiting: Vec<PodKey> = pods.iter().map(|pod| pod.key.clone()).collect();
        let bound = self.facts.pods.len();
        self.facts.pods.extend(pods);
        let places = places(&self.facts, &self.known, &waiting);
        self.facts.pods.truncate(bound);
        Some(places)
    }

    /// Drops single rules of pods, and all of them.
    fn of_pods(&mut self, groups: &mut [Group<'_>]) {
        let mut tries = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let rules: Vec<&Rule> = group.rules.iter().collect();
            tries.push(Rule::without(group.pod, key(group.pod, &[number]), &[]));
            tries.push(Rule::without(group.pod, key(group.pod, &[number, 0]), &rules));
            for (place, rule) in group.rules.iter().enumerate() {
                tries.push(Rule::without(group.pod, key(group.pod, &[number, place + 1]), &[rule]));
            }
        }
        let Some(places) = self.have_places(tries) else { return };
        let has_place = |pod: &Pod, number: &[usize]| {
            places.get(&key(pod, number)).copied().unwrap_or_default()
        };
        for (number, group) in groups.iter_mut().enumerate() {
            // Others come before it.
            group.has_place = has_place(group.pod, &[number]);
            group.is_its_own_fault = has_place(group.pod, &[number, 0]);
            let helping = group.rules.iter().enumerate();
            let helping = helping.filter(|(place, _)| has_place(group.pod, &[number, place + 1]));
            let helping = helping.map(|(_, rule)| format!("without {}", rule.in_words(group.pod)));
            if !group.has_place {
                group.helping = helping.collect();
            }
        }
    }

    /// Drops single rules of NodePools.
    fn of_pools(&mut self, groups: &mut [Group<'_>]) {
        let pools: Vec<NodePool> = self.usable_pools().cloned().collect();
        let relaxed = pools.iter().flat_map(relaxed);
        let relaxed = relaxed
            .map(|(words, pool)| (format!("without {words}"), Relaxed::Pool(Box::new(pool))));
        let is_open = |group: &Group<'_>| group.helping.is_empty();
        self.of_relaxed(groups, relaxed, is_open);
    }

    /// Drops single rules of EC2NodeClasses, as far as the instance types that they offer show them.
    fn of_classes(&mut self, groups: &mut [Group<'_>]) {
        let mut classes: Vec<NodeClassName> =
            self.usable_pools().map(|pool| pool.template.node_class.clone()).collect();
        classes.sort_unstable();
        classes.dedup();
        let offer = |name: NodeClassName| {
            let types = self.facts.ready_types(&name)?.to_vec();
            Some((name, types))
        };
        let offers: Vec<_> = classes.into_iter().filter_map(offer).collect();
        // What is worked out about types that nobody offers is not worth keeping.
        let known = std::mem::take(&mut self.known);
        let relaxed = offers.iter().flat_map(|(name, types)| class::relaxed(name, types));
        let relaxed = relaxed.map(|(words, name, types)| (words, Relaxed::Class(name, types)));
        self.of_relaxed(groups, relaxed, |_| true);
        self.known = known;
    }

    /// The NodePools that may launch something.
    fn usable_pools(&self) -> impl Iterator<Item = &NodePool> {
        self.facts.node_pools.iter().filter(|pool| {
            pool.is_usable() && self.facts.ready_types(&pool.template.node_class).is_some()
        })
    }

    /// Tries each of `changes`, which are in words and as what changes, for the groups that `is_open`.
    fn of_relaxed(
        &mut self,
        groups: &mut [Group<'_>],
        changes: impl Iterator<Item = (String, Relaxed)>,
        is_open: impl Fn(&Group<'_>) -> bool,
    ) {
        let open: Vec<bool> =
            groups.iter().map(|group| !group.has_place && is_open(group)).collect();
        for (words, relaxed) in changes {
            let open = groups.iter().enumerate().zip(&open);
            let open = open.filter(|((_, group), open)| **open && group.helping.len() < NAMED_MAX);
            let pods = open.map(|((number, group), _)| {
                Rule::without(group.pod, key(group.pod, &[number]), &[])
            });
            let pods: Vec<Pod> = pods.collect();
            if pods.is_empty() {
                break;
            }
            let before = self.replaced(relaxed);
            let places = self.have_places(pods);
            if let Some(before) = before {
                self.replaced(before);
            }
            let Some(places) = places else { break };
            for (number, group) in groups.iter_mut().enumerate() {
                if places.get(&key(group.pod, &[number])) == Some(&true) {
                    group.helping.push(words.clone());
                }
            }
        }
    }

    /// Puts `relaxed` in the place of what is called so, and brings that.
    fn replaced(&mut self, relaxed: Relaxed) -> Option<Relaxed> {
        match relaxed {
            Relaxed::Pool(pool) => {
                let mut pools = self.facts.node_pools.iter_mut();
                let there = pools.find(|there| there.name == pool.name)?;
                Some(Relaxed::Pool(Box::new(std::mem::replace(there, *pool))))
            }
            Relaxed::Class(name, types) => {
                let there = self.facts.classes.as_mut()?.get_mut(&name)?;
                match std::mem::replace(there, ClassOffer::Ready(types)) {
                    ClassOffer::Ready(before) => Some(Relaxed::Class(name, before)),
                    ClassOffer::NotReady(_) => None,
                }
            }
        }
    }

    /// Drops pairs of rules of pods, and then all but what is needed.
    fn of_sets(&mut self, groups: &mut [Group<'_>]) {
        for (number, group) in groups.iter_mut().enumerate() {
            if group.has_place || !group.helping.is_empty() || !group.is_its_own_fault {
                continue;
            }
            let Some(needed) = self.smallest(number, group) else { return };
            let words: Vec<String> = needed.iter().map(|rule| rule.in_words(group.pod)).collect();
            group.together =
                Some(format!("it could be scheduled without {} together", words.join(" and ")));
        }
    }

    /// A pair of rules of `group` that helps if both are dropped; or else rules of which each is needed. `None` if that
    /// takes too long.
    fn smallest<'g>(&mut self, number: usize, group: &'g Group<'_>) -> Option<Vec<&'g Rule>> {
        let rules = &group.rules;
        if rules.len() <= PAIRED_MAX {
            let pairs: Vec<(usize, usize)> = (0..rules.len())
                .flat_map(|second| (0..second).map(move |first| (first, second)))
                .collect();
            let pair = |(first, second): &(usize, usize)| {
                let rules: Vec<&Rule> =
                    [first, second].into_iter().filter_map(|n| rules.get(*n)).collect();
                let key = key(group.pod, &[number, *first, *second]);
                (key.clone(), Rule::without(group.pod, key, &rules), rules)
            };
            let tries: Vec<_> = pairs.iter().map(pair).collect();
            let places = self.have_places(tries.iter().map(|(_, pod, _)| pod.clone()).collect())?;
            let mut helping = tries.into_iter().filter(|(key, ..)| places.get(key) == Some(&true));
            if let Some((_, _, pair)) = helping.next() {
                return Some(pair);
            }
        }
        let mut needed: Vec<&Rule> = rules.iter().collect();
        for rule in rules {
            let others: Vec<&Rule> =
                needed.iter().copied().filter(|other| *other != rule).collect();
            let name = key(group.pod, &[number]);
            let places = self.have_places(vec![Rule::without(group.pod, name.clone(), &others)])?;
            if places.get(&name) == Some(&true) {
                needed = others;
            }
        }
        Some(needed)
    }
}

/// A name of its own for the pod of a try.
fn key(pod: &Pod, numbers: &[usize]) -> PodKey {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let name = format!("journeyman.remedy.{}", numbers.join("."));
    let name = name.parse().unwrap_or_else(|_| pod.key.name.clone());
    PodKey { namespace: pod.key.namespace.clone(), name }
}

/// Which of the pods called `waiting` have a place, each by itself.
fn places(facts: &Facts, known: &KnownTypes, waiting: &[PodKey]) -> BTreeMap<PodKey, bool> {
    let mut problem = Problem::of(facts, false, known);
    if !problem.has_pools {
        return BTreeMap::new();
    }
    let (pods, start) = (problem.demand.now.clone(), problem.start.clone());
    let mut places = BTreeMap::new();
    for pod in pods {
        let key = problem.key(pod);
        if waiting.contains(&key) {
            let options = Options { tries_max: limits::TRIES_PER_PLAN_MAX, ..Options::default() };
            let solution = solver::solve(&mut problem, start.clone(), &[pod], options);
            places.insert(key, solution.failed.is_empty());
        }
    }
    places
}

/// `pool` without one of its rules, for each of them, which goes first in words.
fn relaxed(pool: &NodePool) -> Vec<(String, NodePool)> {
    let mut relaxations = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut NodePool)| {
        let mut relaxed = pool.clone();
        change(&mut relaxed);
        relaxations.push((format!("{what} of NodePool {}", pool.name), relaxed));
    };
    for taint in &pool.template.taints {
        add(format!("the taint {taint}"), &|pool| {
            pool.template.taints.retain(|other| other != taint);
        });
    }
    for requirement in pool.template.requirements.iter() {
        add(format!("the requirement {requirement}"), &|pool| {
            let others = pool.template.requirements.iter().filter(|other| *other != requirement);
            pool.template.requirements = others.cloned().collect::<Requirements>();
        });
    }
    for resource in pool.limits.0.keys() {
        add(format!("the limit of {resource}"), &|pool| {
            pool.limits.0.remove(resource);
        });
    }
    relaxations
}
