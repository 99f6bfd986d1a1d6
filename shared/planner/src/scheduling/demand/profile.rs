//! What pods ask for beside resources, at each step of relaxing what they only prefer.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/preferences.go`.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use model::{
    LabelKey, Namespace, Pod, PodSpec, Toleration, labels,
    policies::PreferencePolicy,
    topology::Weighted,
    topology::{NodeInclusionPolicy, PodAffinityTerm, SpreadConstraint, WhenUnsatisfiable},
};

use crate::{
    index::{
        id::{ConstraintsId, GroupId, KeyId, PortId, kind},
        table::Table,
    },
    scheduling::{
        demand::constraints::ConstraintTable,
        launchable::{offer::Offer, template, universe::Universe},
        numbers::{domains::Keys, sets::Sets},
        topology::{
            groups::{Asked, Filter, Groups, Namespaces, Purpose},
            rules::Rule,
        },
    },
};

/// What pods ask for beside resources and volumes, once for all classes that ask for the same: most
/// often these are the workloads of one namespace with the same labels.
#[derive(Debug)]
pub(crate) struct Profile {
    /// The spec of one of the pods. Others may request something else.
    pub(crate) spec: Arc<PodSpec>,
    namespace: Namespace,
    /// A number that profiles with equal labels share, and others hardly ever.
    labels_digest: u64,
    /// What a pod takes of the ports of its node.
    pub(crate) ports: Vec<PortId>,
    pub(crate) footprint: Rc<Footprint>,
    topology: Topology,
    /// What it asks for at each step, as far as anybody asked.
    pub(crate) preferences: Table<kind::Preferences, Preferences>,
    /// Whether there is no further step.
    is_exhausted: bool,
    step: Step,
}

/// What a pod leaves behind in the counts of a domain.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    /// Groups that count it.
    pub(crate) counted: Vec<GroupId>,
    /// Groups of its own required anti-affinity, which keep others away.
    pub(crate) carried: Vec<GroupId>,
}

/// The groups of everything that it asks about other pods.
#[derive(Debug, Default)]
struct Topology {
    /// By required term, and whether soft taints are tolerated: the groups of spread constraints, in
    /// the order of the constraints.
    spread: Vec<((usize, bool), Vec<GroupId>)>,
    affinity: Vec<GroupId>,
    anti_affinity: Vec<GroupId>,
    /// Groups of its own required anti-affinity, which keep others away.
    carried: Vec<GroupId>,
    /// Heaviest first.
    preferred_affinity: Vec<GroupId>,
    preferred_anti_affinity: Vec<GroupId>,
    /// Groups of others' anti-affinity that mean it.
    repelling: Vec<GroupId>,
}

/// The groups that mean pods of one namespace with the same labels.
#[derive(Debug)]
struct Meant {
    namespace: Namespace,
    /// The spec of one of them, for its labels.
    spec: Arc<PodSpec>,
    /// What remains of those of them that keep no pod away.
    footprint: Rc<Footprint>,
    /// Groups of others' anti-affinity.
    repelling: Vec<GroupId>,
}

/// The groups that mean pods, by a digest of the labels: found once for all profiles that have these.
#[derive(Debug, Default)]
pub(crate) struct MeantTable(BTreeMap<u64, Vec<Meant>>);

impl MeantTable {
    fn of(&mut self, profile: &Profile, groups: &Groups) -> &Meant {
        let (namespace, labels) = (&profile.namespace, &profile.spec.labels);
        let likely = self.0.entry(profile.labels_digest).or_default();
        let is_same = |meant: &Meant| meant.namespace == *namespace && meant.spec.labels == *labels;
        let place = likely.iter().position(is_same).unwrap_or(likely.len());
        if place == likely.len() {
            let mut counted = groups.selecting(namespace, labels);
            let is_inverse = |group: &mut GroupId| groups.all[*group].purpose == Purpose::Inverse;
            let repelling = counted.extract_if(.., is_inverse).collect();
            likely.push(Meant {
                namespace: namespace.clone(),
                spec: Arc::clone(&profile.spec),
                footprint: Rc::new(Footprint { counted, carried: Vec::new() }),
                repelling,
            });
        }
        #[expect(clippy::indexing_slicing, reason = "it is there now")]
        &likely[place]
    }
}

/// How far its preferences are relaxed.
#[derive(Clone, Debug, Default)]
struct Step {
    term: usize,
    affinity: usize,
    anti_affinity: usize,
    node: usize,
    /// Places of the spread constraints that are left, in Karpenter's order.
    spread: Vec<usize>,
    is_soft: bool,
}

/// What a profile asks for at one step.
#[derive(Debug)]
pub struct Preferences {
    /// What it asks of the node alone.
    pub(crate) constraints: ConstraintsId,
    /// Rules on the hostname.
    pub(crate) on_hosts: Vec<Rule>,
    /// Rules on other labels, with the label.
    pub(crate) on_domains: Vec<(KeyId, Rule)>,
}

/// What has to be known to find a profile's groups.
pub(crate) struct Around<'p> {
    pub(crate) keys: &'p mut Keys,
    pub(crate) sets: &'p mut Sets,
    pub(crate) groups: &'p mut Groups,
    pub(crate) universe: &'p mut Universe,
    pub(crate) offers: &'p Table<kind::Offer, Offer>,
    pub(crate) namespaces: &'p BTreeMap<Namespace, BTreeMap<String, String>>,
    pub(crate) preferences: PreferencePolicy,
    pub(crate) has_soft_taints: bool,
}

impl Profile {
    /// The profile of `pod`. Of its labels there is a digest, and no groups are known yet, so that it
    /// leaves the `footprint` of nothing.
    pub(crate) fn new(pod: &Pod, labels_digest: u64, footprint: Rc<Footprint>) -> Self {
        Self {
            spec: Arc::clone(&pod.spec),
            namespace: pod.key.namespace.clone(),
            labels_digest,
            ports: Vec::new(),
            footprint,
            topology: Topology::default(),
            preferences: Table::default(),
            is_exhausted: false,
            step: Step::default(),
        }
    }

    /// Whether `pod` asks for the same.
    pub(crate) fn is_of(&self, pod: &Pod) -> bool {
        self.namespace == pod.key.namespace && are_alike(&self.spec, &pod.spec)
    }

    /// Finds the groups of everything that it asks about other pods, at whichever step.
    pub(crate) fn find_groups(&mut self, around: &mut Around<'_>) {
        let spec = Arc::clone(&self.spec);
        let is_wanted = |constraint: &SpreadConstraint| {
            around.preferences == PreferencePolicy::Respect
                || constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
        };
        let places = spec.spread.iter().enumerate();
        self.step.spread = places
            .filter(|(_, spread_constraint)| is_wanted(spread_constraint))
            .map(|(place, _)| place)
            .collect();
        if !self.step.spread.is_empty() {
            for term in 0..spec.required_terms.len().max(1) {
                let softness = if around.has_soft_taints { &[false, true][..] } else { &[false] };
                for is_soft in softness.iter().copied() {
                    let groups = spec
                        .spread
                        .iter()
                        .map(|spread_constraint| {
                            spread_group(
                                spread_constraint,
                                &self.namespace,
                                &spec,
                                (term, is_soft),
                                around,
                            )
                        })
                        .collect();
                    self.topology.spread.push(((term, is_soft), groups));
                }
            }
        }
        let (near, far) = (&spec.pod_affinity, &spec.pod_anti_affinity);
        let required = |terms: &[PodAffinityTerm], purpose, around: &mut Around<'_>| {
            let group = |term| term_group(term, &self.namespace, &spec, purpose, around);
            terms.iter().map(group).collect()
        };
        self.topology.affinity = required(&near.required, Purpose::Affinity, around);
        self.topology.anti_affinity = required(&far.required, Purpose::AntiAffinity, around);
        // Only what is required keeps others away: a preference is relaxed only for the pod that has it.
        self.topology.carried = required(&far.required, Purpose::Inverse, around);
        if around.preferences == PreferencePolicy::Respect {
            let preferred =
                |terms: &[Weighted<PodAffinityTerm>], purpose, around: &mut Around<'_>| {
                    let group = |term| term_group(term, &self.namespace, &spec, purpose, around);
                    heaviest_first(terms).map(group).collect()
                };
            self.topology.preferred_affinity =
                preferred(&near.preferred, Purpose::Affinity, around);
            self.topology.preferred_anti_affinity =
                preferred(&far.preferred, Purpose::AntiAffinity, around);
        }
    }

    /// Knows the groups that mean it, once all are there.
    pub(crate) fn know_groups(&mut self, groups: &Groups, meant: &mut MeantTable) {
        let meant = meant.of(self, groups);
        self.topology.repelling.clone_from(&meant.repelling);
        let carried = std::mem::take(&mut self.topology.carried);
        self.footprint = if carried.is_empty() {
            Rc::clone(&meant.footprint)
        } else {
            Rc::new(Footprint { counted: meant.footprint.counted.clone(), carried })
        };
    }

    /// Whether the `group` means its pods.
    pub(crate) fn is_meant(&self, group: GroupId) -> bool {
        self.footprint.counted.binary_search(&group).is_ok()
    }

    /// The groups of its required affinity that mean the pod itself.
    pub(crate) fn own_affinity(&self) -> impl Iterator<Item = GroupId> {
        let groups = self.topology.affinity.iter().copied();
        groups.filter(|group| self.is_meant(*group))
    }

    /// Makes the preference of the next step; false when everything that can be relaxed was.
    pub(crate) fn relax(
        &mut self,
        around: &mut Around<'_>,
        constraints: &mut ConstraintTable,
    ) -> bool {
        if self.is_exhausted {
            return false;
        }
        if !self.preferences.is_empty() && !self.next_step(around) {
            self.is_exhausted = true;
            return false;
        }
        let preference = self.preference(around, constraints);
        // Most have nothing to relax.
        self.preferences.reserve_exact(1);
        self.preferences.push(preference);
        true
    }

    /// Karpenter: `preferences.go`, `Relax`.
    fn next_step(&mut self, around: &Around<'_>) -> bool {
        let (spec, step) = (&self.spec, &mut self.step);
        let respects = around.preferences == PreferencePolicy::Respect;
        let is_wish = |place: &usize| {
            let spread_constraint = spec.spread.get(*place);
            spread_constraint.is_some_and(|spread_constraint| {
                spread_constraint.when_unsatisfiable == WhenUnsatisfiable::ScheduleAnyway
            })
        };
        if step.term + 1 < spec.required_terms.len() {
            step.term += 1;
        } else if respects && step.affinity < spec.pod_affinity.preferred.len() {
            step.affinity += 1;
        } else if respects && step.anti_affinity < spec.pod_anti_affinity.preferred.len() {
            step.anti_affinity += 1;
        } else if respects && step.node < spec.preferred_terms.len() {
            step.node += 1;
        } else if let Some(place) = step.spread.iter().position(is_wish) {
            step.spread.swap_remove(place);
        } else if around.has_soft_taints
            && !step.is_soft
            && !spec.tolerations.contains(&template::soft_toleration())
        {
            step.is_soft = true;
        } else {
            return false;
        }
        true
    }

    fn preference(
        &self,
        around: &mut Around<'_>,
        constraints: &mut ConstraintTable,
    ) -> Preferences {
        let (spec, step, topology) = (&self.spec, &self.step, &self.topology);
        let mut wanted = spec.requirements(step.term);
        let strict = around.sets.id(&wanted);
        if around.preferences == PreferencePolicy::Respect {
            let preferred = heaviest_first(&spec.preferred_terms).nth(step.node);
            for requirement in preferred.into_iter().flatten() {
                wanted.add(requirement.clone());
            }
        }
        let mut tolerations = spec.tolerations.clone();
        if step.is_soft {
            tolerations.push(template::soft_toleration());
        }
        let at_step = |(of_step, _): &&_| *of_step == (step.term, step.is_soft);
        let spread = topology.spread.iter().find(at_step).map(|(_, groups)| groups);
        let kept = step.spread.iter().filter_map(|place| spread?.get(*place));
        let mut groups: Vec<GroupId> = kept.copied().collect();
        groups.extend(&topology.affinity);
        groups.extend(&topology.anti_affinity);
        groups.extend(topology.preferred_affinity.iter().skip(step.affinity));
        groups.extend(topology.preferred_anti_affinity.iter().skip(step.anti_affinity));
        groups.extend(&topology.repelling);
        groups.sort_unstable();
        groups.dedup();
        let is_on_hosts = |group: &&GroupId| around.groups.all[**group].key.is_none();
        let hosts = groups.iter().filter(is_on_hosts).count();
        let mut on_hosts = Vec::with_capacity(hosts);
        let mut on_domains = Vec::with_capacity(groups.len() - hosts);
        for group in groups {
            let is_own = self.is_meant(group);
            match around.groups.all[group].key {
                None => on_hosts.push(Rule { group, is_own, asked: None }),
                Some(key) => {
                    let asked = around.keys.asked(key, strict, around.sets);
                    on_domains.push((key, Rule { group, is_own, asked }));
                }
            }
        }
        Preferences {
            constraints: constraints.number(around.sets, wanted, tolerations),
            on_hosts,
            on_domains,
        }
    }
}

/// Whether pods with these specs ask for the same beside resources. What they cost to be moved, how long they take to
/// end and who goes first when a node is full are no concern of where they go.
fn are_alike(pod_spec: &PodSpec, other: &PodSpec) -> bool {
    let PodSpec {
        labels,
        annotations: _,
        requests: _,
        node_selector,
        required_terms,
        preferred_terms,
        has_match_fields,
        match_fields: _,
        tolerations,
        spread,
        pod_affinity,
        pod_anti_affinity,
        host_ports,
        claims: _,
        priority: _,
        priority_class: _,
        termination_grace_seconds: _,
        problems,
    } = pod_spec;
    *node_selector == other.node_selector
        && *required_terms == other.required_terms
        && *preferred_terms == other.preferred_terms
        && *has_match_fields == other.has_match_fields
        && *tolerations == other.tolerations
        && *spread == other.spread
        && *pod_affinity == other.pod_affinity
        && *pod_anti_affinity == other.pod_anti_affinity
        && *host_ports == other.host_ports
        && *problems == other.problems
        && *labels == other.labels
}

fn heaviest_first<T>(weighteds: &[Weighted<T>]) -> impl Iterator<Item = &T> {
    let mut sorted: Vec<&Weighted<T>> = weighteds.iter().collect();
    sorted.sort_by_key(|weighted| std::cmp::Reverse(weighted.weight));
    sorted.into_iter().map(|weighted| &weighted.term)
}

fn key_of(label: &LabelKey, around: &mut Around<'_>) -> Option<KeyId> {
    let canonical = labels::canonical(label.as_str());
    if canonical == labels::HOSTNAME {
        return None;
    }
    let renamed = (canonical != label.as_str()).then(|| LabelKey::new(canonical).ok()).flatten();
    Some(around.keys.key(renamed.as_ref().unwrap_or(label), around.sets))
}

fn spread_group(
    constraint: &SpreadConstraint,
    namespace: &Namespace,
    spec: &PodSpec,
    (term, is_soft): (usize, bool),
    around: &mut Around<'_>,
) -> GroupId {
    let honors_taints = constraint.node_taints_policy == NodeInclusionPolicy::Honor;
    let tolerations = honors_taints.then(|| {
        let soft = is_soft.then(template::soft_toleration);
        spec.tolerations.iter().cloned().chain(soft).collect::<Vec<Toleration>>()
    });
    let terms = if constraint.node_affinity_policy == NodeInclusionPolicy::Ignore {
        Vec::new()
    } else if spec.required_terms.is_empty() {
        Some(spec.node_selector.clone())
            .filter(|requirements| !requirements.is_empty())
            .into_iter()
            .collect()
    } else {
        (term..spec.required_terms.len()).map(|term| spec.requirements(term)).collect()
    };
    let key = key_of(&constraint.topology_key, around);
    let filter = Filter { terms, tolerations };
    let universe = key.map(|key| around.universe.passing(key, &filter, around.keys, around.offers));
    let (max_skew, min_domains) = (constraint.max_skew, constraint.min_domains);
    let asked = Asked {
        key,
        namespaces: Namespaces::One(namespace.clone()),
        selector: constraint.selector.as_ref(),
        filter,
        universe: universe.unwrap_or_default(),
    };
    around.groups.number(Purpose::Spread { max_skew, min_domains }, &asked)
}

/// The group of a term of affinity or anti-affinity.
pub(crate) fn term_group(
    term: &PodAffinityTerm,
    namespace: &Namespace,
    spec: &PodSpec,
    purpose: Purpose,
    around: &mut Around<'_>,
) -> GroupId {
    let key = key_of(&term.topology_key, around);
    let universe = key.map(|key| around.universe.domains(key, Some(&spec.tolerations)));
    let asked = Asked {
        key,
        namespaces: namespaces(term, namespace, around),
        selector: term.selector.as_ref(),
        filter: Filter::default(),
        universe: universe.unwrap_or_default(),
    };
    around.groups.number(purpose, &asked)
}

fn namespaces(term: &PodAffinityTerm, namespace: &Namespace, around: &Around<'_>) -> Namespaces {
    let Some(selector) = &term.namespace_selector else {
        return if term.namespaces.is_empty() {
            Namespaces::One(namespace.clone())
        } else {
            term.namespaces.clone().into()
        };
    };
    if selector.expressions.is_empty() && !selector.is_invalid {
        return Namespaces::All;
    }
    let selected = around.namespaces.iter().filter(|(_, labels)| selector.selects(labels));
    let mut namespaces = term.namespaces.clone();
    namespaces.extend(selected.map(|(name, _)| name.clone()));
    namespaces.into()
}
