//! Trying changes one by one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    NodeClassName, Pod, PodKey,
    facts::{ClassOffer, Facts},
    limits,
    node_pool::NodePool,
};

use super::{
    Change, Group, Standing,
    batch::{Batch, Beside, drop_of_workload},
    class, pod, pool,
    words::NAMED_MAX,
};
use crate::{
    index::id::PodId,
    scheduling::{
        launchable::known::KnownTypes,
        problem::Problem,
        solver::{self, Options},
    },
};

/// Steps that a preparation takes at least: it reads all instance types, however small the cluster is.
const PREPARATION: usize = 500;
/// Nodes that a try goes through in one step.
const NODES_PER_STEP: usize = 64;
/// Rules of a pod that are tried in pairs.
pub(super) const PAIRED_MAX: usize = 12;

/// A pod that is tried.
pub(super) struct Try {
    pub(super) pod: Pod,
    /// The pods that are scheduled before it.
    pub(super) beside: Beside,
}

/// Which pods have a place, as far as they were tried.
pub(super) type Places = BTreeMap<PodKey, bool>;

pub(super) struct Search {
    /// Without pods that wait.
    facts: Facts,
    pub(super) batch: Batch,
    known: KnownTypes,
    /// That are left.
    pub(super) steps: usize,
    /// Whether they were too few.
    pub(super) is_over: bool,
}

impl Search {
    pub(super) fn new(
        facts: &Facts,
        unplaced: &BTreeSet<&PodKey>,
        known: &KnownTypes,
        steps: usize,
    ) -> Self {
        let is_bound = |pod: &&Pod| !pod.is_provisionable();
        let pods = facts.pods.iter().filter(is_bound).cloned().collect();
        let batch = Batch::of(facts, unplaced);
        let facts = Facts { pods, ..facts.clone() };
        Self { facts, batch, known: known.clone(), steps, is_over: false }
    }

    /// Whether each of `tries` has a place after `changes`, if no pods wait but those beside it.
    pub(super) fn places(&mut self, changes: &[Change], tries: Vec<Try>) -> Option<Places> {
        let of_batch = tries.iter().any(|tried| tried.beside != Beside::Nothing);
        let waiting = if of_batch { self.batch.pods.as_slice() } else { &[] };
        let seen = self.facts.pods.len() + self.facts.nodes.len() + waiting.len();
        let Some(steps) = self.steps.checked_sub(seen.max(PREPARATION)) else {
            self.is_over = true;
            return None;
        };
        self.steps = steps;
        let is_of_pods = changes.iter().any(|change| matches!(change, Change::Workload(..)));
        let pods = is_of_pods.then(|| self.facts.pods.clone());
        let before = (self.facts.node_pools.clone(), self.facts.classes.clone());
        let bound = self.facts.pods.len();
        self.facts.pods.extend_from_slice(waiting);
        let asked: Vec<(PodKey, Beside)> =
            tries.iter().map(|tried| (tried.pod.key.clone(), tried.beside)).collect();
        self.facts.pods.extend(tries.into_iter().map(|tried| tried.pod));
        apply(&mut self.facts, changes);
        // What is worked out about types that are not offered is not worth keeping.
        let is_of_class = changes.iter().any(|change| matches!(change, Change::Class(..)));
        let known = if is_of_class { KnownTypes::default() } else { self.known.clone() };
        let places = self.solved(&known, &asked);
        match pods {
            Some(pods) => self.facts.pods = pods,
            None => self.facts.pods.truncate(bound),
        }
        (self.facts.node_pools, self.facts.classes) = before;
        Some(places)
    }

    /// Which of the pods that are `asked` about have a place, each by itself.
    fn solved(&mut self, known: &KnownTypes, asked: &[(PodKey, Beside)]) -> Places {
        let mut problem = Problem::of(&self.facts, false, known);
        if !problem.has_pools {
            return asked.iter().map(|(key, _)| (key.clone(), false)).collect();
        }
        let is_asked: BTreeSet<&PodKey> = asked.iter().map(|(key, _)| key).collect();
        let (pods, start) = (problem.demand.now.clone(), problem.start.clone());
        let pods: Vec<(PodId, PodKey)> =
            pods.into_iter().map(|pod| (pod, problem.key(pod))).collect();
        let (tried, others): (Vec<_>, Vec<_>) =
            pods.into_iter().partition(|(_, key)| is_asked.contains(key));
        let tried: BTreeMap<PodKey, PodId> =
            tried.into_iter().map(|(pod, key)| (key, pod)).collect();
        let mut places = Places::new();
        for (key, beside) in asked {
            let Some(pod) = tried.get(key).copied() else { continue };
            let beside = others.iter().filter(|(_, key)| self.batch.is_beside(key, *beside));
            let mut order: Vec<PodId> = beside.map(|(pod, _)| *pod).collect();
            order.push(pod);
            let cost = order.len() + self.facts.nodes.len() / NODES_PER_STEP;
            let Some(steps) = self.steps.checked_sub(cost) else {
                self.is_over = true;
                break;
            };
            self.steps = steps;
            let options = Options { tries_max: limits::TRIES_PER_PLAN_MAX, ..Options::default() };
            let solution = solver::solve(&mut problem, start.clone(), &order, options);
            let has_place = !solution.failed.iter().any(|(failed, _)| *failed == pod);
            places.insert(key.clone(), has_place);
        }
        places
    }

    /// Drops single rules of pods, and all of them.
    pub(super) fn of_pods(&mut self, groups: &mut [Group<'_>]) {
        let mut tries = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let rules: Vec<&pod::Rule> = group.rules.iter().collect();
            tries.push(alone(group, &[number], &[]));
            tries.push(alone(group, &[number, 0], &rules));
            for (place, rule) in group.all_rules().enumerate() {
                tries.push(alone(group, &[number, place + 1], &[rule]));
            }
        }
        let Some(places) = self.places(&[], tries) else { return };
        for (number, group) in groups.iter_mut().enumerate() {
            group.standing = match places.get(&key(group.pod, &[number])) {
                None => Standing::Unknown,
                Some(true) => Standing::Waits,
                Some(false) => Standing::KeptOut,
            };
            group.is_its_own_fault = has_place(&places, group, &[number, 0]);
            if !group.is_kept_out() {
                continue;
            }
            let rules = group.rules.iter().enumerate();
            let helping =
                rules.filter(|(place, _)| has_place(&places, group, &[number, place + 1]));
            let helping: Vec<&pod::Rule> = helping.map(|(_, rule)| rule).collect();
            group.is_of_volumes = helping.iter().all(|rule| matches!(rule, pod::Rule::Volume(_)));
            group.helping = helping.into_iter().map(|rule| rule.in_words(group.pod)).collect();
            let mut sizes = group.rules.len()..group.rules.len() + group.sizes.len();
            group.is_explained |=
                sizes.any(|place| has_place(&places, group, &[number, place + 1]));
        }
    }

    /// Drops single rules of NodePools.
    pub(super) fn of_pools(&mut self, groups: &mut [Group<'_>]) {
        let min_values: Vec<Change> = self.usable_pools().flat_map(min_values_of).collect();
        self.of_changes(groups, &min_values, |_| true);
        let changes: Vec<Change> = self.usable_pools().flat_map(of_pool).collect();
        self.of_changes(groups, &changes, |group| group.helping.is_empty() || group.is_of_volumes);
    }

    /// Drops single rules of EC2NodeClasses, as far as the instance types that they offer show them.
    pub(super) fn of_classes(&mut self, groups: &mut [Group<'_>]) {
        let mut classes: Vec<&NodeClassName> =
            self.usable_pools().map(|pool| &pool.template.node_class).collect();
        classes.sort_unstable();
        classes.dedup();
        let changes: Vec<Change> =
            classes.into_iter().flat_map(|class| self.of_class(class)).collect();
        self.of_changes(groups, &changes, |_| true);
    }

    /// The NodePools that may launch something.
    pub(super) fn usable_pools(&self) -> impl Iterator<Item = &NodePool> {
        self.facts.node_pools.iter().filter(|pool| {
            pool.is_usable() && self.facts.ready_types(&pool.template.node_class).is_some()
        })
    }

    pub(super) fn of_class(&self, class: &NodeClassName) -> Vec<Change> {
        let types = self.facts.ready_types(class).unwrap_or_default();
        let rules = class::Rule::of(types).into_iter();
        rules.map(|rule| Change::Class(class.clone(), rule)).collect()
    }

    /// Tries each of `changes` for the groups that are open, and where nothing was found so far also together with each
    /// rule of the pod.
    fn of_changes(
        &mut self,
        groups: &mut [Group<'_>],
        changes: &[Change],
        is_open: impl Fn(&Group<'_>) -> bool,
    ) {
        let open: Vec<bool> =
            groups.iter().map(|group| group.is_kept_out() && is_open(group)).collect();
        for change in changes {
            let mut tries = Vec::new();
            for ((number, group), is_open) in groups.iter().enumerate().zip(&open) {
                if !is_open || group.helping.len() >= NAMED_MAX {
                    continue;
                }
                tries.push(alone(group, &[number], &[]));
                let paired = if group.needs_sets() { PAIRED_MAX } else { 0 };
                for (place, rule) in group.all_rules().enumerate().take(paired) {
                    tries.push(alone(group, &[number, place + 1], &[rule]));
                }
            }
            if tries.is_empty() {
                break;
            }
            let Some(places) = self.places(std::slice::from_ref(change), tries) else { break };
            for (number, group) in groups.iter_mut().enumerate() {
                if has_place(&places, group, &[number]) {
                    group.helping.push(change.in_words());
                } else if group.needs_sets() {
                    let helps = |(place, _): &(usize, &pod::Rule)| {
                        has_place(&places, group, &[number, place + 1])
                    };
                    let rule = group.all_rules().enumerate().find(helps);
                    let rule = rule.map(|(_, rule)| rule.in_words(group.pod));
                    group.together = rule.map(|rule| vec![change.in_words(), rule]);
                }
            }
        }
    }
}

/// The rules of `pool`.
pub(super) fn of_pool(pool: &NodePool) -> Vec<Change> {
    pool::Rule::of(pool).into_iter().map(|rule| Change::Pool(pool.name.clone(), rule)).collect()
}

fn min_values_of(pool: &NodePool) -> Vec<Change> {
    let rules = pool::Rule::min_values(pool).into_iter();
    rules.map(|rule| Change::Pool(pool.name.clone(), rule)).collect()
}

fn apply(facts: &mut Facts, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Workload(pod, rule) => drop_of_workload(facts, pod, rule),
            Change::Pool(name, rule) => {
                let named = facts.node_pools.iter_mut().filter(|pool| pool.name == *name);
                named.for_each(|pool| rule.drop_from(pool));
            }
            Change::Class(name, rule) => {
                let offer = facts.classes.as_mut().and_then(|classes| classes.get_mut(name));
                let Some(ClassOffer::Ready(types)) = offer else { continue };
                for offered in types {
                    rule.apply(Arc::make_mut(offered));
                }
            }
        }
    }
}

/// The pod of `group` without `dropped`, if no others wait, called after `numbers`.
pub(super) fn alone(group: &Group<'_>, numbers: &[usize], dropped: &[&pod::Rule]) -> Try {
    tried(group, Beside::Nothing, numbers, dropped)
}

/// The pod of `group` without `dropped`, after those `beside` it, called after `numbers`.
pub(super) fn tried(
    group: &Group<'_>,
    beside: Beside,
    numbers: &[usize],
    dropped: &[&pod::Rule],
) -> Try {
    Try { pod: pod::Rule::without(group.pod, key(group.pod, numbers), dropped), beside }
}

/// Whether the try of `group` with these `numbers` was made, and found a place.
pub(super) fn has_place(places: &Places, group: &Group<'_>, numbers: &[usize]) -> bool {
    places.get(&key(group.pod, numbers)) == Some(&true)
}

/// A name of its own for the pod of a try.
pub(super) fn key(pod: &Pod, numbers: &[usize]) -> PodKey {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let name = format!("journeyman.remedy.{}", numbers.join("."));
    let name = name.parse().unwrap_or_else(|_| pod.key.name.clone());
    PodKey { namespace: pod.key.namespace.clone(), name }
}
