//! Pods that are scheduled by the same plan, and are in the way of others.

use std::collections::{BTreeMap, BTreeSet};

use model::{Pod, PodKey, facts::Facts, node_pool::NodePool, words::counted};

use super::{
    Change, Group, Standing, pod, pool,
    search::{Search, Try, has_place, key, tried},
    words::{NAMED_MAX, Words},
};

/// Workloads of which one is left out in turn.
const WORKLOADS_MAX: usize = 6;

/// The pods of a plan that a pod is scheduled after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Nothing,
    All,
    /// All but those of the workload with this number.
    AllBut(usize),
}

/// The pods that wait and that the plan has a place for.
pub(super) struct Batch {
    pub(super) pods: Vec<Pod>,
    /// Pods with the same controller.
    workloads: Vec<BTreeSet<PodKey>>,
}

impl Batch {
    pub(super) fn of(facts: &Facts, unplaced: &BTreeSet<&PodKey>) -> Self {
        let is_placed = |pod: &&Pod| pod.is_provisionable() && !unplaced.contains(&pod.key);
        let pods: Vec<Pod> = facts.pods.iter().filter(is_placed).cloned().collect();
        let mut workloads: BTreeMap<_, BTreeSet<PodKey>> = BTreeMap::new();
        for pod in &pods {
            workloads.entry(controller(pod)).or_default().insert(pod.key.clone());
        }
        let workloads = workloads.into_values().collect();
        Self { pods, workloads }
    }

    /// Whether the pod called `key` is among those.
    pub(super) fn is_beside(&self, key: &PodKey, beside: Beside) -> bool {
        match beside {
            Beside::Nothing => false,
            Beside::All => true,
            Beside::AllBut(number) => {
                !self.workloads.get(number).is_some_and(|keys| keys.contains(key))
            }
        }
    }

    /// The numbers of the workloads that may be in the way of `pod`: its own, and then the largest.
    fn suspects(&self, pod: &Pod) -> Vec<usize> {
        let sibling = self.pods.iter().find(|other| controller(other) == controller(pod));
        let its = sibling
            .and_then(|sibling| self.workloads.iter().position(|keys| keys.contains(&sibling.key)));
        let mut numbers: Vec<usize> = (0..self.workloads.len()).collect();
        numbers.sort_by_key(|number| {
            let size = self.workloads.get(*number).map_or(0, BTreeSet::len);
            (its != Some(*number), std::cmp::Reverse(size))
        });
        numbers.truncate(WORKLOADS_MAX);
        numbers
    }

    /// `the pod default/db that this plan schedules first`
    fn in_words(&self, number: usize) -> Option<Words> {
        let keys = self.workloads.get(number)?;
        let first = keys.first()?;
        Some(Words::Without(match keys.len() {
            1 => format!("the pod {first} that this plan schedules first"),
            number => {
                let pods = counted(number, "pod");
                format!("the {pods} such as {first} that this plan schedules first")
            }
        }))
    }
}

/// What pods of one workload share.
fn controller(pod: &Pod) -> (&str, &str, &str) {
    let namespace = pod.key.namespace.as_str();
    match &pod.owner {
        Some(owner) => (namespace, owner.kind.as_str(), owner.name.as_str()),
        None => (namespace, "", pod.key.name.as_str()),
    }
}

impl Search {
    /// Pods that could be scheduled if no others waited: drops their rules, the limits of NodePools, and each of the
    /// workloads that the plan schedules.
    pub(super) fn of_batch(&mut self, groups: &mut [Group<'_>]) {
        let may_be = |group: &Group<'_>| group.standing == Standing::Waits && !group.is_explained;
        if !groups.iter().any(may_be) || self.batch.pods.is_empty() {
            return;
        }
        let mut tries = Vec::new();
        for (number, group) in groups.iter().enumerate().filter(|(_, group)| may_be(group)) {
            tries.push(tried(group, Beside::All, &[number], &[]));
            for (place, rule) in group.rules.iter().enumerate() {
                tries.push(tried(group, Beside::All, &[number, 0, place], &[rule]));
            }
            for workload in self.batch.suspects(group.pod) {
                tries.push(tried(group, Beside::AllBut(workload), &[number, 1, workload], &[]));
            }
        }
        let Some(places) = self.places(&[], tries) else { return };
        for (number, group) in groups.iter_mut().enumerate() {
            let place = places.get(&key(group.pod, &[number]));
            if place == Some(&false) {
                group.standing = Standing::CrowdedOut;
                let rules = group.rules.iter().enumerate();
                let helping =
                    rules.filter(|(place, _)| has_place(&places, group, &[number, 0, *place]));
                group.helping = helping.map(|(_, rule)| rule.in_words(group.pod)).collect();
            }
        }
        self.of_workloads(groups, Beside::All);
        self.of_limits(groups);
        let others = counted(self.batch.pods.len(), "other pod");
        let crowded = groups.iter_mut().enumerate().filter(|(_, group)| group.is_crowded_out());
        for (number, group) in crowded {
            let suspects = self.batch.suspects(group.pod).into_iter();
            let culprits = suspects.filter(|place| has_place(&places, group, &[number, 1, *place]));
            let culprits: Vec<Words> =
                culprits.filter_map(|place| self.batch.in_words(place)).collect();
            group.helping.extend(culprits);
            if group.helping.is_empty() {
                let pods = format!("the {others} that this plan schedules first");
                group.helping.push(Words::Without(pods));
            }
        }
    }

    /// Drops limits of NodePools.
    fn of_limits(&mut self, groups: &mut [Group<'_>]) {
        let limits: Vec<Change> = self.usable_pools().flat_map(limits_of).collect();
        for limit in limits {
            let open = groups
                .iter()
                .enumerate()
                .filter(|(_, group)| group.is_crowded_out() && group.helping.len() < NAMED_MAX);
            let tries: Vec<Try> =
                open.map(|(number, group)| tried(group, Beside::All, &[number], &[])).collect();
            if tries.is_empty() {
                return;
            }
            let Some(places) = self.places(std::slice::from_ref(&limit), tries) else { return };
            for (number, group) in groups.iter_mut().enumerate() {
                if has_place(&places, group, &[number]) {
                    group.helping.push(limit.in_words());
                }
            }
        }
    }

    /// Drops rules about pods to keep away from, of all pods of a workload: those that are there keep others away by the
    /// same rule.
    pub(super) fn of_workloads(&mut self, groups: &mut [Group<'_>], beside: Beside) {
        for (number, group) in groups.iter_mut().enumerate() {
            let is_open = match beside {
                Beside::Nothing => group.needs_sets(),
                Beside::All | Beside::AllBut(_) => group.is_crowded_out(),
            };
            if !is_open {
                continue;
            }
            for rule in group.rules.clone() {
                let words = rule.in_words(group.pod);
                let is_shared = matches!(rule, pod::Rule::PodAntiAffinity(_));
                if !is_shared || group.helping.contains(&words) {
                    continue;
                }
                let change = Change::Workload(Box::new(group.pod.clone()), rule);
                let tries = vec![tried(group, beside, &[number], &[])];
                let Some(places) = self.places(&[change], tries) else { return };
                if has_place(&places, group, &[number]) {
                    group.helping.push(words);
                }
            }
        }
    }
}

/// Drops `rule` of `pod` from all pods of its workload.
pub(super) fn drop_of_workload(facts: &mut Facts, pod: &Pod, rule: &pod::Rule) {
    let has_rule =
        |other: &Pod| other.spec.pod_anti_affinity.required == pod.spec.pod_anti_affinity.required;
    for other in &mut facts.pods {
        let is_alike = controller(other) == controller(pod)
            || other.key.namespace == pod.key.namespace && other.spec == pod.spec;
        if is_alike && has_rule(other) {
            other.spec = pod::Rule::without(other, other.key.clone(), &[rule]).spec;
        }
    }
}

fn limits_of(pool: &NodePool) -> Vec<Change> {
    let limits = pool::Rule::limits(pool).into_iter();
    limits.map(|limit| Change::Pool(pool.name.clone(), limit)).collect()
}
