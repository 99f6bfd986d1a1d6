//! Which pods need a place, and what they have in common.
//!
//! Karpenter: `pkg/controllers/provisioning/provisioner.go`, `GetPendingPods` and `Validate`;
//! `pkg/utils/disruption` for pods that move; `scheduling/queue.go` for the order.

pub mod class;
pub(crate) mod constraints;
pub mod profile;

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    iter,
    rc::Rc,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    Namespace, NodeName, Operator, Pod, PodKey, PodSpec, PodUid, Requirement, Requirements,
    facts::Facts, labels, ledger::digest, limits, problem::Rule, storage::VolumeClaimKey,
};

use crate::{
    eviction::{DisruptionBudgets, forced_at},
    index::{
        id::{ClassId, PlaceId, PodId, ProfileId, RequestsId, kind},
        table::Table,
    },
    scheduling::{
        demand::{
            class::Class,
            profile::{Footprint, Profile},
        },
        facts::{
            device::{self, KnownDevices},
            volume::{self, Attachments},
        },
        topology::groups::selector_digest,
    },
};

/// A pod that needs a place, or would if its node went away.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) key: Cow<'a, PodKey>,
    pub(crate) class: ClassId,
    /// The volumes that it attaches; `None` if they are not known.
    pub(crate) attachments: Option<Rc<Attachments>>,
    /// The claims of its volumes that one pod at a time may use.
    pub(crate) exclusive: Vec<VolumeClaimKey>,
    pub(crate) why: Why,
    /// The claim that was created for it, if its node did not join yet.
    pub(crate) own_claim: Option<PlaceId>,
    /// Whether it has not started: such pods go onto nodes that settle.
    pub(crate) is_pending: bool,
}

/// Why a pod needs a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has none.
    Pending,
    /// It keeps room for others.
    Virtual,
    /// Its node is being disrupted.
    Leaving,
    /// It left a node that is being disrupted a moment ago: the pod that replaces it is not listed yet.
    Returning,
    /// It would if its node went away.
    Supposed,
    /// It would if its node went away, which it keeps from going.
    Held,
}

/// By CPU, then memory, largest first, then age, then uid.
type Rank<'p> = (Reverse<u64>, Reverse<u64>, Timestamp, &'p PodUid);

/// The pods that need a place.
#[derive(Debug, Default)]
pub(crate) struct Demand<'a> {
    /// Everybody, in the order in which they are placed.
    pub(crate) pods: Table<kind::Pod, Wanted<'a>>,
    /// Those that need a place whatever is tried, in the order in which they are placed.
    pub(crate) now: Vec<PodId>,
    /// Those that would need one if their node went away, by node.
    pub(crate) supposed: BTreeMap<&'a NodeName, Vec<PodId>>,
    /// Those that would as well, but stay as long as their node works: they are protected, or a
    /// PodDisruptionBudget never lets them go. By node, where ill nodes are repaired.
    pub(crate) held: BTreeMap<&'a NodeName, Vec<PodId>>,
    /// Pods beyond the most that one plan considers.
    pub(crate) left_out: Vec<PodKey>,
}

/// Until a new node takes pods, two minutes go by at most.
const NODE_COMES_WITHIN: SignedDuration = SignedDuration::from_mins(2);

/// Whether a pod that may not be moved is made to leave, so that its node is empty by `deadline`, before a node
/// that is bought now takes pods: where a spot instance is taken in two minutes, each of its pods.
fn is_forced_soon(pod: &Pod, deadline: Timestamp, now: Timestamp) -> bool {
    pod.is_reschedulable() && forced_at(pod, deadline).duration_since(now) <= NODE_COMES_WITHIN
}

/// So long after a pod was asked to end, the one in its place may not be listed yet.
const REPLACED_WITHIN: SignedDuration = SignedDuration::from_secs(5);

/// Whether a pod that was asked to end a moment ago may return as one that is not listed yet. For a moment it may
/// be counted twice: what is supposed then is only too careful.
fn may_return(pod: &Pod, now: Timestamp) -> bool {
    let is_new = |asked_at: Timestamp| now.duration_since(asked_at) < REPLACED_WITHIN;
    pod.asked_at().is_some_and(is_new) && !pod.is_terminal() && pod.is_owned_by_replica_set()
}

/// Pending pods, those of `leaving` nodes and `virtual_pods`, and, if `supposes`, all that would
/// need a place if their node went away; their classes; and the profiles of these.
pub(crate) fn demand<'a>(
    facts: &'a Facts,
    (virtual_pods, devices): (&[Pod], Option<&KnownDevices<'_>>),
    leaving: &BTreeMap<&NodeName, Option<Timestamp>>,
    supposes: bool,
) -> (Demand<'a>, Table<kind::Class, Class>, Table<kind::Profile, Profile>) {
    let budgets = DisruptionBudgets::of(facts);
    let holds = facts.policies.repairs_nodes();
    let mut demanded: Vec<(&Pod, Option<&'a Pod>, Why)> = Vec::new();
    for pod in &facts.pods {
        if pod.is_provisionable() {
            demanded.push((pod, Some(pod), Why::Pending));
        } else if let Some(node) = &pod.node {
            let leaves_by = leaving.get(node);
            let is_leaving = leaves_by.is_some();
            let is_forced = |by: &Timestamp| is_forced_soon(pod, *by, facts.now);
            let is_taken = leaves_by.and_then(Option::as_ref).is_some_and(is_forced);
            let returns = supposes && is_leaving && may_return(pod, facts.now);
            let why = if returns {
                Why::Returning
            } else if is_taken || budgets.may_move(pod, facts.now) {
                if is_leaving { Why::Leaving } else { Why::Supposed }
            } else {
                Why::Held
            };
            let is_asked = match why {
                Why::Held => supposes && !is_leaving && holds && pod.is_reschedulable(),
                _ => is_leaving || supposes,
            };
            if is_asked {
                demanded.push((pod, Some(pod), why));
            }
        }
    }
    demanded.extend(virtual_pods.iter().map(|pod| (pod, None, Why::Virtual)));
    demanded.sort_by_cached_key(|(pod, _, _)| rank(pod));
    let mut demand = Demand::default();
    let mut sorting = Sorting {
        devices,
        classes: Table::default(),
        profiles: Table::default(),
        shared: BTreeMap::new(),
        likely: BTreeMap::new(),
        before: Table::default(),
        likely_profiles: BTreeMap::new(),
        no_volumes: Rc::new([Requirements::default()]),
        no_footprint: Rc::default(),
    };
    let nothing: Rc<Attachments> = Rc::default();
    demand.pods.reserve_exact(demanded.len());
    for (pod, own, why) in demanded {
        let is_now = !matches!(why, Why::Supposed | Why::Held);
        if is_now && demand.now.len() >= limits::PODS_PER_PLAN_MAX {
            demand.left_out.push(pod.key.clone());
            continue;
        }
        let attachments = if pod.volumes.is_empty() {
            Some(Rc::clone(&nothing))
        } else {
            volume::attachments(pod, &facts.surroundings.storage).ok().map(Rc::new)
        };
        let number = demand.pods.push(Wanted {
            key: own.map_or_else(|| Cow::Owned(pod.key.clone()), |pod| Cow::Borrowed(&pod.key)),
            class: sorting.class(facts, pod, why),
            attachments,
            exclusive: volume::exclusive(pod, &facts.surroundings.storage),
            why,
            own_claim: None,
            is_pending: why != Why::Virtual && pod.phase == model::pod::PodPhase::Pending,
        });
        match (own.and_then(|pod| pod.node.as_ref()), why) {
            (Some(node), Why::Supposed) => demand.supposed.entry(node).or_default().push(number),
            (Some(node), Why::Held) => demand.held.entry(node).or_default().push(number),
            _ => demand.now.push(number),
        }
    }
    (demand, sorting.classes, sorting.profiles)
}

/// Finds the classes of pods.
#[derive(Debug)]
struct Sorting<'p> {
    devices: Option<&'p KnownDevices<'p>>,
    classes: Table<kind::Class, Class>,
    profiles: Table<kind::Profile, Profile>,
    /// Classes by the spec that pods without volumes share, and by whether they wait: a pod that has the
    /// very same one needs no further look.
    shared: BTreeMap<(*const PodSpec, &'p Namespace, bool), ClassId>,
    /// The last class by profile, CPU and memory: few have them all in common. What they ask is
    /// compared nevertheless.
    likely: BTreeMap<(ProfileId, u64, u64), ClassId>,
    /// The class before each with the same profile, CPU and memory.
    before: Table<kind::Class, Option<ClassId>>,
    /// Profiles by a digest of their labels and of what else most of them differ in.
    likely_profiles: BTreeMap<u64, Vec<ProfileId>>,
    /// What pods without volumes ask for by them: nothing.
    no_volumes: Rc<[Requirements]>,
    /// What pods leave behind as long as no groups are known.
    no_footprint: Rc<Footprint>,
}

impl<'p> Sorting<'p> {
    /// The class of `pod`, which is new if no other pod is like it.
    fn class(&mut self, facts: &Facts, pod: &'p Pod, why: Why) -> ClassId {
        let has_own = !pod.volumes.is_empty() || !pod.spec.claims.is_empty();
        if has_own || Arc::strong_count(&pod.spec) == 1 {
            return self.compared(facts, pod, why);
        }
        let spec = (Arc::as_ptr(&pod.spec), &pod.key.namespace, why == Why::Pending);
        if let Some(class) = self.shared.get(&spec) {
            return *class;
        }
        let class = self.compared(facts, pod, why);
        self.shared.insert(spec, class);
        class
    }

    /// The class of `pod` by what it asks for.
    fn compared(&mut self, facts: &Facts, pod: &Pod, why: Why) -> ClassId {
        let requests = &pod.spec.requests;
        let profile = self.profile(pod);
        let mut refused =
            if why == Why::Pending { refused(facts, pod) } else { unsupported(&pod.spec) };
        let alternatives: Rc<[Requirements]> = if pod.volumes.is_empty() {
            Rc::clone(&self.no_volumes)
        } else {
            volume::alternatives(pod, &facts.surroundings.storage).into()
        };
        if !pod.spec.claims.is_empty() {
            match device::claims(facts, self.devices, pod) {
                Ok(claims) if claims.is_empty() => {}
                Ok(claims) => {
                    // Where one finds devices, another finds none.
                    self.before.push(None);
                    let (spec, requests) = (Arc::clone(&pod.spec), RequestsId::default());
                    let class = Class { spec, profile, alternatives, claims, refused, requests };
                    return self.classes.push(class);
                }
                Err(text) => refused = refused.or(Some(text)),
            }
        }
        let last = self.likely.entry((profile, requests.cpu.0, requests.memory.0));
        let before = match &last {
            Entry::Occupied(last) => Some(*last.get()),
            Entry::Vacant(_) => None,
        };
        let mut likely = iter::successors(before, |class| self.before[*class]);
        let alike = likely.find(|class| {
            let class = &self.classes[*class];
            class.spec.requests == *requests
                && class.claims.is_empty()
                && class.refused == refused
                && class.alternatives == alternatives
        });
        alike.unwrap_or_else(|| {
            self.before.push(before);
            let (spec, requests) = (Arc::clone(&pod.spec), RequestsId::default());
            let claims = Vec::new();
            let class = Class { spec, profile, alternatives, claims, refused, requests };
            *last.insert_entry(self.classes.push(class)).get()
        })
    }

    /// The profile of `pod`, which is new if no pod so far has it.
    fn profile(&mut self, pod: &Pod) -> ProfileId {
        let labels_digest = fingerprint(&pod.spec.labels);
        let print = labels_digest.rotate_left(1) ^ rules_digest(&pod.spec);
        let likely = self.likely_profiles.entry(print).or_default();
        let known = likely.iter().find(|profile| self.profiles[**profile].is_of(pod));
        known.copied().unwrap_or_else(|| {
            let footprint = Rc::clone(&self.no_footprint);
            let new = self.profiles.push(Profile::new(pod, labels_digest, footprint));
            likely.push(new);
            new
        })
    }
}

/// A number that pods with equal labels share, and others hardly ever.
pub(crate) fn fingerprint(labels: &BTreeMap<String, String>) -> u64 {
    labels.iter().fold(0, |sum: u64, (key, value)| {
        sum.rotate_left(5) ^ mixed(key) ^ mixed(value).rotate_left(32)
    })
}

/// A number of a text, eight bytes at a time: every label of every pod has one made, and it stays in this process.
fn mixed(text: &str) -> u64 {
    let mix = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let sum = words.iter().map(|word| u64::from_le_bytes(*word)).fold(0, mix);
    mix(sum, rest.iter().fold(1, |word, byte| word << 8 | u64::from(*byte)))
}

/// A number that pods share who require the same of their node and of other pods, and others hardly
/// ever.
fn rules_digest(spec: &PodSpec) -> u64 {
    let wanted = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
    let values = wanted.flat_map(Requirement::values).map(|value| digest(value.as_bytes()));
    let terms = spec.pod_affinity.required.iter().chain(&spec.pod_anti_affinity.required);
    let spread = spec.spread.iter().map(|constraint| &constraint.selector);
    let selectors = spread.chain(terms.map(|term| &term.selector));
    let digests = values.chain(selectors.map(|selector| selector_digest(selector.as_ref())));
    digests.fold(0, |sum: u64, digest| sum.rotate_left(5) ^ digest)
}

impl Demand<'_> {
    /// The pods of `node` that need a place when it goes away, those that would keep it from that
    /// among them if `goes_anyway`.
    pub(crate) fn moved(&self, node: &NodeName, goes_anyway: bool) -> impl Iterator<Item = PodId> {
        let held = self.held.get(node).filter(|_| goes_anyway);
        self.supposed.get(node).into_iter().chain(held).flatten().copied()
    }

    /// The pods that need a place when `nodes` go away, in the order in which they are placed.
    pub(crate) fn without(&self, nodes: &[&NodeName], go_anyway: bool) -> Vec<PodId> {
        let mut pods = self.now.clone();
        let before = pods.len();
        for node in nodes {
            pods.extend(self.moved(node, go_anyway));
        }
        if before < pods.len() {
            pods.sort_unstable_by_key(|pod| self.turn(*pod));
        }
        pods
    }

    /// When it is its turn: after those for whom a claim was created, by rank.
    fn turn(&self, pod: PodId) -> (bool, PodId) {
        (self.pods[pod].own_claim.is_none(), pod)
    }

    /// Knows the claims that were created for pods that wait or are about to move, by pod.
    pub(crate) fn know_own_claims(&mut self, places: &BTreeMap<&PodKey, PlaceId>) {
        if places.is_empty() {
            return;
        }
        for wanted in &mut self.pods {
            if matches!(wanted.why, Why::Pending | Why::Virtual | Why::Leaving) {
                wanted.own_claim = places.get(wanted.key.as_ref()).copied();
            }
        }
        let mut now = std::mem::take(&mut self.now);
        now.sort_unstable_by_key(|pod| self.turn(*pod));
        self.now = now;
    }
}

fn rank(pod: &Pod) -> Rank<'_> {
    let requests = &pod.spec.requests;
    (Reverse(requests.cpu.0), Reverse(requests.memory.0), pod.created_at, &pod.uid)
}

fn unsupported(spec: &PodSpec) -> Option<String> {
    let is_unreadable = |rule: &Rule| matches!(rule, Rule::Unreadable(_));
    if let Some(problem) = spec.problems.iter().find(|problem| is_unreadable(&problem.rule)) {
        return Some(problem.to_string());
    }
    let what: Vec<String> = spec.problems.iter().map(|problem| problem.rule.to_string()).collect();
    (!what.is_empty()).then(|| format!("not supported yet: {}", what.join(", ")))
}

/// Why no node can be found for the pod, whatever there is.
///
/// Karpenter: `provisioner.go`, `Validate`.
fn refused(facts: &Facts, pod: &Pod) -> Option<String> {
    let spec = &pod.spec;
    if let Some(text) = unsupported(spec) {
        return Some(text);
    }
    let asks_nothing =
        spec.node_selector.is_empty() && spec.required_terms.is_empty() && !spec.has_match_fields;
    if asks_nothing && pod.volumes.is_empty() {
        return None;
    }
    // A preference keeps no pod from its node, unlike in Karpenter: docs/compatibility.md.
    let required = spec.requirements(0);
    let pool = required.get(labels::NODE_POOL);
    if pool.is_some_and(|pool| pool.operator() == Operator::DoesNotExist) {
        return Some(format!("it asks for a node without the label {}", labels::NODE_POOL));
    }
    if spec.has_match_fields {
        return Some("matchFields in its required node affinity are not supported".to_owned());
    }
    let chain = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
    let wrong: BTreeSet<String> = chain.filter_map(wrong).collect();
    let volumes = volume::problems(pod, &facts.surroundings.storage, &facts.pods);
    let problems: Vec<String> = wrong.into_iter().chain(volumes).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// What is wrong with a requirement of a pod.
fn wrong(requirement: &Requirement) -> Option<String> {
    let key = requirement.key().as_str();
    if labels::is_restricted(key) {
        return Some(format!("it may not ask for the label {key}, which is restricted"));
    }
    if !model::id::is_qualified_name(key) {
        return Some(format!("it asks for the label {key}, which is not a valid key"));
    }
    let bad = requirement.values().iter().find(|value| !model::id::is_label_value(value))?;
    Some(format!("it asks for {key} with {bad}, which is not a valid value"))
}
