//! Required anti-affinity, both ways: who repels, and who is repelled.

use std::collections::BTreeMap;

use model::{Namespace, topology::PodAffinityTerm};

use super::includes;
use crate::{
    Violation,
    crowd::{Crowd, Member},
    world::World,
};

type Term<'a> = (&'a Namespace, &'a PodAffinityTerm);

pub(super) fn check(world: &World<'_>, crowd: &Crowd<'_>, violations: &mut Vec<Violation>) {
    let mut owners: BTreeMap<Term<'_>, Vec<&Member<'_>>> = BTreeMap::new();
    for member in crowd.members() {
        for term in &member.pod.spec.pod_anti_affinity.required {
            owners.entry((&member.pod.key.namespace, term)).or_default().push(member);
        }
    }
    for ((namespace, term), owners) in owners {
        check_term(world, crowd, (namespace, term), &owners, violations);
    }
}

fn check_term(
    world: &World<'_>,
    crowd: &Crowd<'_>,
    (namespace, term): Term<'_>,
    owners: &[&Member<'_>],
    violations: &mut Vec<Violation>,
) {
    let key = term.topology_key.as_str();
    let is_about = |other: &Namespace| includes(world, namespace, term, other);
    let selected: Vec<&Member<'_>> = crowd.selected(is_about, term.selector.as_ref()).collect();
    if selected.is_empty() || !owners.iter().chain(&selected).any(|member| member.is_new) {
        return;
    }
    let mut known = BTreeMap::new();
    let mut there: BTreeMap<String, (Vec<&Member<'_>>, Vec<&Member<'_>>)> = BTreeMap::new();
    for (members, repels) in [(owners, true), (selected.as_slice(), false)] {
        for member in members {
            let domains =
                known.entry(member.spot).or_insert_with(|| crowd.domains(world, member.spot, key));
            for value in &domains.values {
                let (owners, selected) = there.entry(value.clone()).or_default();
                if repels { owners.push(member) } else { selected.push(member) }
            }
        }
    }
    for (domain, (owners, selected)) in there {
        if let Some((owner, other)) = together(&owners, &selected) {
            let (pod, other) = (owner.pod.key.clone(), other.pod.key.clone());
            let domain = format!("{key}={domain}");
            violations.push(Violation::AntiAffinity { pod, other, domain });
        }
    }
}

/// One who repels and one who is repelled, who are not the same and of whom the plan put one there.
fn together<'m, 'a>(
    owners: &[&'m Member<'a>],
    selected: &[&'m Member<'a>],
) -> Option<(&'m Member<'a>, &'m Member<'a>)> {
    let any_new = selected.iter().any(|member| member.is_new);
    let relevant = owners.iter().filter(|owner| owner.is_new || any_new);
    relevant.into_iter().find_map(|owner| {
        let other = selected
            .iter()
            .find(|other| (owner.is_new || other.is_new) && owner.pod.key != other.pod.key)?;
        Some((*owner, *other))
    })
}
