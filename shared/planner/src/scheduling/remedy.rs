//! What would have to change for pods that cannot be scheduled: each of their rules, and each rule of the NodePools and
//! of the EC2NodeClasses, is dropped in turn. If no single change helps, the smallest set that is found is named.
//!
//! For people alone: no decision depends on it. One preparation of the facts tries every single rule of all pods; each
//! rule of a NodePool or an EC2NodeClass is a preparation of its own, which also tries it together with each rule of the
//! pods. How many nodes and pods all preparations together go through is bounded.

mod batch;
mod class;
pub(crate) mod known;
mod pod;
mod pool;
mod search;
mod sets;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    NodeClassName, NodePoolName, Plan, Pod, PodKey,
    facts::Facts,
    ledger::RejectionReason,
    plan::{Reason, Unplaced},
};

use batch::Beside;
use search::Search;
use words::{Words, all_of, any_of};

use super::launchable::known::KnownTypes;

/// Nodes and pods that all preparations together go through, for a command that is asked once: about a second. Of a
/// cluster with more of them nothing is said.
pub const STEPS_MAX: usize = 50_000;

/// What would let pods be scheduled.
#[derive(Clone, Debug, Default)]
pub struct Remedies {
    /// In words, by the pod.
    pub of_pods: BTreeMap<PodKey, String>,
    /// Kinds of equal pods for which nothing was found before the search had to end.
    pub unsought: usize,
}

/// What would let pods be scheduled that `plan` has no place for. There is none for pods that no rule keeps out, such as
/// those that are too large. All preparations together go through `steps_max` nodes and pods at most ([`STEPS_MAX`]).
#[must_use]
pub fn remedies(facts: &Facts, plan: &Plan, known: &KnownTypes, steps_max: usize) -> Remedies {
    let (groups, _) = searched(facts, (&plan.unplaced, &plan.unplaced), known, steps_max);
    let texts = groups.iter().filter_map(|group| Some((group.text()?, &group.keys)));
    let of_pods =
        texts.flat_map(|(text, keys)| keys.iter().map(move |key| (key.clone(), text.clone())));
    Remedies {
        of_pods: of_pods.collect(),
        unsought: groups.iter().filter(|group| !group.is_whole).count(),
    }
}

/// Adds what would help pods to why they have no place, after the reasons of the NodePools.
pub fn name_remedies(unplaced: &mut [Unplaced], remedies: &BTreeMap<PodKey, String>) {
    for unplaced in unplaced {
        let text = remedies.get(&unplaced.pod).cloned();
        let reason = RejectionReason::NothingTogether;
        unplaced.reasons.extend(text.map(|text| Reason { node_pool: None, reason, text }));
    }
}

/// Groups of the pods that are `sought`, of all that are unplaced, with what helps them, and how many of `steps_max` are
/// left.
fn searched<'f>(
    facts: &'f Facts,
    (sought, unplaced): (&[Unplaced], &[Unplaced]),
    known: &KnownTypes,
    steps_max: usize,
) -> (Vec<Group<'f>>, usize) {
    let mut groups = groups(facts, sought);
    if groups.is_empty() {
        return (groups, steps_max);
    }
    let unplaced: BTreeSet<&PodKey> = unplaced.iter().map(|unplaced| &unplaced.pod).collect();
    let mut search = Search::new(facts, &unplaced, known, steps_max);
    search.of_pods(&mut groups);
    search.of_workloads(&mut groups, Beside::Nothing);
    search.of_batch(&mut groups);
    search.of_pairs(&mut groups);
    search.of_pools(&mut groups);
    search.of_classes(&mut groups);
    search.of_sets(&mut groups);
    for group in &mut groups {
        let is_open = !group.is_explained && group.text().is_none();
        group.is_whole = !is_open || !search.is_over;
    }
    (groups, search.steps)
}

/// What keeps pods from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// They were not tried.
    Unknown,
    /// They cannot be scheduled even if no other pods wait.
    KeptOut,
    /// They can be scheduled if no other pods wait.
    Waits,
    /// They can, but not after the pods that the plan schedules.
    CrowdedOut,
}

/// Equal pods without a place.
#[expect(clippy::struct_excessive_bools, reason = "each is found by a search of its own")]
struct Group<'f> {
    keys: Vec<PodKey>,
    pod: &'f Pod,
    rules: Vec<pod::Rule>,
    /// Its requests, each of which may be too large.
    sizes: Vec<pod::Rule>,
    standing: Standing,
    /// Whether everything was tried, or something was found.
    is_whole: bool,
    /// Whether dropping all of its rules helps.
    is_its_own_fault: bool,
    /// Whether all that helps is to do without a volume, which most pods cannot.
    is_of_volumes: bool,
    /// Whether the reasons of the NodePools say it all: it is too large, or waits for the next plan.
    is_explained: bool,
    /// Single changes that let it be scheduled.
    helping: Vec<Words>,
    /// Changes that let it be scheduled together.
    together: Option<Vec<Words>>,
}

impl Group<'_> {
    fn text(&self) -> Option<String> {
        if self.helping.is_empty() {
            self.together.as_deref().map(all_of)
        } else {
            Some(any_of(&self.helping))
        }
    }

    /// Whether rules of NodePools and EC2NodeClasses may keep it out.
    fn is_kept_out(&self) -> bool {
        self.standing == Standing::KeptOut
    }

    fn is_crowded_out(&self) -> bool {
        self.standing == Standing::CrowdedOut
    }

    /// Whether changes are sought that help it together.
    fn needs_sets(&self) -> bool {
        self.is_kept_out()
            && !self.is_explained
            && self.helping.is_empty()
            && self.together.is_none()
    }

    /// Its rules and its sizes.
    fn all_rules(&self) -> impl Iterator<Item = &pod::Rule> {
        self.rules.iter().chain(&self.sizes)
    }
}

fn groups<'f>(facts: &'f Facts, unplaced: &[Unplaced]) -> Vec<Group<'f>> {
    let by_key: BTreeMap<&PodKey, &Pod> = facts.pods.iter().map(|pod| (&pod.key, pod)).collect();
    let mut groups: Vec<Group<'f>> = Vec::new();
    for unplaced in unplaced {
        let Some(pod) = by_key.get(&unplaced.pod).copied() else { continue };
        if let Some(group) = groups.iter_mut().find(|group| are_equal(group.pod, pod)) {
            group.keys.push(pod.key.clone());
        } else if pod.spec.problems.is_empty()
            && (pod.spec.claims.is_empty() || facts.devices.is_some())
        {
            let waits = |reason: &Reason| reason.reason == RejectionReason::LeftForNextPlan;
            groups.push(Group {
                keys: vec![pod.key.clone()],
                pod,
                rules: pod::Rule::of(pod),
                sizes: pod::Rule::sizes(pod),
                standing: Standing::Unknown,
                is_whole: true,
                is_its_own_fault: false,
                is_of_volumes: false,
                is_explained: unplaced.reasons.iter().any(waits),
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
        && one.spec.claims.references.is_empty()
        && (Arc::ptr_eq(&one.spec, &other.spec) || one.spec == other.spec)
}

/// A change of a NodePool, of an EC2NodeClass or of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// A rule that all pods of its workload share.
    Workload(Box<Pod>, pod::Rule),
    Pool(NodePoolName, pool::Rule),
    Class(NodeClassName, class::Rule),
}

impl Change {
    /// `the taint team=a:NoSchedule of NodePool general`
    fn in_words(&self) -> Words {
        match self {
            Self::Workload(pod, rule) => rule.in_words(pod),
            Self::Pool(name, rule) => rule.in_words(name.as_str()),
            Self::Class(name, rule) => rule.in_words(name.as_str()),
        }
    }
}
