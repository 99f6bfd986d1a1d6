//! Spread that must hold: no domain is ahead of the least one by more than `maxSkew`.
//!
//! Judged are pods that share a constraint and what decides which nodes count for it. When the last
//! of them came to a domain, all others were there already, and the least domain had at most what
//! it has in the end.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Namespace, Pod, Requirement, Requirements, Toleration, labels,
    requirements::Undefined,
    topology::{NodeInclusionPolicy, SpreadConstraint, WhenUnsatisfiable},
};

use super::allows;
use crate::{
    Violation,
    candidates::usable,
    crowd::{Crowd, Domains, Member},
    daemons::{template_labels, terms},
    world::World,
};

/// What makes pods count alike.
type Kind<'a> = (
    &'a Namespace,
    &'a SpreadConstraint,
    (&'a Requirements, &'a Vec<Vec<Requirement>>, &'a Vec<Toleration>),
);

pub(super) fn check(world: &World<'_>, crowd: &Crowd<'_>, violations: &mut Vec<Violation>) {
    let mut kinds: BTreeMap<Kind<'_>, Vec<&Member<'_>>> = BTreeMap::new();
    for member in crowd.members().filter(|member| member.is_new) {
        let spec = &member.pod.spec;
        let hard = |spread_constraint: &&SpreadConstraint| {
            spread_constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
        };
        for constraint in spec.spread.iter().filter(hard) {
            let filter = (&spec.node_selector, &spec.required_terms, &spec.tolerations);
            kinds.entry((&member.pod.key.namespace, constraint, filter)).or_default().push(member);
        }
    }
    let mut universes = Universes::default();
    for ((_, constraint, _), owners) in kinds {
        check_kind(world, crowd, constraint, &owners, &mut universes, violations);
    }
}

fn check_kind<'a>(
    world: &World<'a>,
    crowd: &Crowd<'a>,
    constraint: &SpreadConstraint,
    owners: &[&Member<'a>],
    universes: &mut Universes,
    violations: &mut Vec<Violation>,
) {
    let Some(first) = owners.first() else { return };
    let key = constraint.topology_key.as_str();
    let mut known: BTreeMap<usize, Domains> = BTreeMap::new();
    let mut domains =
        |spot| known.entry(spot).or_insert_with(|| crowd.domains(world, spot, key)).clone();
    let is_same_namespace = |other: &Namespace| *other == first.pod.key.namespace;
    // Before the plan, by domain: what counts for certain. In the end: what may be there.
    let mut before: BTreeMap<String, u64> = BTreeMap::new();
    let mut after: BTreeMap<String, u64> = BTreeMap::new();
    for member in crowd.selected(is_same_namespace, constraint.selector.as_ref()) {
        let there = domains(member.spot);
        for value in &there.values {
            *after.entry(value.clone()).or_default() += 1;
        }
        if let Some(value) = there.decided()
            && !member.is_new
            && counts(crowd, constraint, first.pod, member.spot)
        {
            *before.entry(value.clone()).or_default() += 1;
        }
    }
    let mut placed: BTreeMap<String, (u64, &Member<'a>)> = BTreeMap::new();
    for member in owners {
        let there = domains(member.spot);
        let Some(value) = there.decided() else {
            let why = format!("its place has no certain {key}");
            violations.push(Violation::Spread { pod: member.pod.key.clone(), why });
            continue;
        };
        let selects = constraint.selector.as_ref();
        let is_counted =
            selects.is_some_and(|label_selector| label_selector.selects(&member.pod.spec.labels));
        placed.entry(value.clone()).or_insert((0, member)).0 += u64::from(is_counted);
    }
    let least = if key == labels::HOSTNAME {
        0
    } else {
        least(world, constraint, first.pod, &after, universes)
    };
    for (domain, (new, member)) in placed {
        let count = before.get(&domain).copied().unwrap_or_default() + new;
        if u64::from(constraint.max_skew) < count.saturating_sub(least) {
            let why = format!(
                "{key}={domain} has {count}, the least {least}, maxSkew is {}",
                constraint.max_skew
            );
            violations.push(Violation::Spread { pod: member.pod.key.clone(), why });
        }
    }
}

/// Whether pods on a node are counted, whichever of its alternatives the pod is down to.
fn counts(crowd: &Crowd<'_>, constraint: &SpreadConstraint, pod: &Pod, spot: usize) -> bool {
    if constraint.node_taints_policy == NodeInclusionPolicy::Honor {
        let Some(spot) = crowd.spots.get(spot) else { return false };
        let tolerated =
            |taint| pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(taint));
        if !spot.taints.iter().all(tolerated) {
            return false;
        }
    }
    let Some(requirements) = crowd.known_labels(spot) else { return false };
    constraint.node_affinity_policy == NodeInclusionPolicy::Ignore
        || terms(&pod.spec)
            .all(|wanted| requirements.compatible(&wanted, Undefined::Refused).is_ok())
}

/// The most that the least domain can have had.
fn least(
    world: &World<'_>,
    constraint: &SpreadConstraint,
    pod: &Pod,
    after: &BTreeMap<String, u64>,
    universes: &mut Universes,
) -> u64 {
    let key = constraint.topology_key.as_str();
    let honors = constraint.node_taints_policy == NodeInclusionPolicy::Honor;
    let tolerations = honors.then_some(pod.spec.tolerations.as_slice());
    let is_filtered = constraint.node_affinity_policy == NodeInclusionPolicy::Honor;
    let wanted = terms(&pod.spec).filter(|_| is_filtered).collect();
    let (sure, possible) = universes.of(world, key, (tolerations, wanted));
    let of = |domain: &String| after.get(domain).copied().unwrap_or_default();
    let mine = |domain: &&String| allows(pod, key, domain);
    let everywhere: BTreeSet<&String> =
        possible.iter().chain(sure).chain(after.keys()).filter(mine).collect();
    let is_short = |wanted: u32| usize::try_from(wanted).is_ok_and(|n| everywhere.len() < n);
    if constraint.min_domains.is_some_and(is_short) {
        return 0;
    }
    // A domain in which pods are may be one that does not count for it.
    sure.iter().filter(mine).map(of).min().unwrap_or(u64::MAX)
}

/// The domains of a label: those that are certainly known, and those that may be.
type Universe = (BTreeSet<String>, BTreeSet<String>);

/// The label, the tolerations of pods to which taints matter, and what nodes must have to count.
type Place = (String, Option<Vec<Toleration>>, Vec<Requirements>);

/// By what they are looked up for.
#[derive(Default)]
struct Universes(BTreeMap<Place, Universe>);

impl Universes {
    fn of(
        &mut self,
        world: &World<'_>,
        key: &str,
        (tolerations, wanted): (Option<&[Toleration]>, Vec<Requirements>),
    ) -> &Universe {
        let sure = || sure(world, key, tolerations, &wanted);
        let place = (key.to_owned(), tolerations.map(<[Toleration]>::to_vec), wanted.clone());
        self.0.entry(place).or_insert_with(|| (sure(), possible(world, key)))
    }
}

/// The domains in which something can be launched now that meets everything that is `wanted`, by pools whose taints do
/// not matter.
fn sure(
    world: &World<'_>,
    key: &str,
    tolerations: Option<&[Toleration]>,
    wanted: &[Requirements],
) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let pools = world.facts.node_pools.iter().filter(|pool| pool.is_usable());
    for pool in pools {
        let is_tolerated = |taint: &model::Taint| {
            tolerations.is_none_or(|tolerated| {
                tolerated.iter().any(|toleration| toleration.tolerates(taint))
            })
        };
        if !pool.template.taints.iter().all(is_tolerated) {
            continue;
        }
        let mut requirements = template_labels(pool);
        if wanted
            .iter()
            .any(|wanted| requirements.compatible(wanted, Undefined::WellKnown).is_err())
        {
            continue;
        }
        for wanted in wanted {
            requirements.add_all(wanted);
        }
        for instance_type in world.types_of_pool(pool) {
            if requirements.intersects(&instance_type.requirements).is_err() {
                continue;
            }
            for offering in usable(instance_type, &requirements) {
                let label = crate::room::outcome_label(&requirements, instance_type, offering, key);
                let value = label.as_ref().and_then(|label| label.single_value());
                texts.extend(value.map(ToString::to_string));
            }
        }
    }
    texts
}

/// Every value that anything has for the label.
fn possible(world: &World<'_>, key: &str) -> BTreeSet<String> {
    let mut texts: BTreeSet<String> =
        world.facts.nodes.values().filter_map(|node| node.labels.get(key).cloned()).collect();
    for pool in &world.facts.node_pools {
        let template = template_labels(pool);
        let flat_map = template.get(key).into_iter().flat_map(Requirement::values);
        texts.extend(flat_map.map(ToString::to_string));
    }
    for (_, types) in world.facts.ready_classes() {
        let filter_map =
            types.iter().filter_map(|instance_type| instance_type.requirements.get(key));
        texts.extend(filter_map.flat_map(Requirement::values).map(ToString::to_string));
    }
    texts
}
