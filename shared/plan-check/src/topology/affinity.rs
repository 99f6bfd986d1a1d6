//! Required affinity: a matching pod is there, or the pod may be the first.

use std::collections::{BTreeMap, BTreeSet};

use model::{Namespace, topology::PodAffinityTerm};

use super::{allows, includes};
use crate::{
    Violation,
    crowd::{Crowd, Domains, Member},
    world::World,
};

type Term<'a> = (&'a Namespace, &'a PodAffinityTerm);

pub(super) fn check(world: &World<'_>, crowd: &Crowd<'_>, violations: &mut Vec<Violation>) {
    let mut owners: BTreeMap<Term<'_>, Vec<&Member<'_>>> = BTreeMap::new();
    for member in crowd.members().filter(|member| member.is_new) {
        for term in &member.pod.spec.pod_affinity.required {
            owners.entry((&member.pod.key.namespace, term)).or_default().push(member);
        }
    }
    for ((namespace, term), owners) in owners {
        Company::of(world, crowd, (namespace, term)).check(&owners, violations);
    }
}

/// The pods that a term is about, by the domain in which they certainly are.
struct Company<'w, 'c, 'a> {
    world: &'w World<'a>,
    crowd: &'c Crowd<'a>,
    term: Term<'c>,
    certain: BTreeMap<String, Vec<&'c Member<'a>>>,
}

impl<'w, 'c, 'a> Company<'w, 'c, 'a> {
    fn of(world: &'w World<'a>, crowd: &'c Crowd<'a>, term: Term<'c>) -> Self {
        let is_about = |other: &Namespace| includes(world, term.0, term.1, other);
        let mut known: BTreeMap<usize, Domains> = BTreeMap::new();
        let mut certain: BTreeMap<String, Vec<&Member<'a>>> = BTreeMap::new();
        for member in crowd.selected(is_about, term.1.selector.as_ref()) {
            let domains = known
                .entry(member.spot)
                .or_insert_with(|| crowd.domains(world, member.spot, term.1.topology_key.as_str()));
            if let Some(value) = domains.decided() {
                certain.entry(value.clone()).or_default().push(member);
            }
        }
        Self { world, crowd, term, certain }
    }

    fn check(&self, owners: &[&Member<'a>], violations: &mut Vec<Violation>) {
        let key = self.term.1.topology_key.as_str();
        let mut refuse = |member: &Member<'_>, why: String| {
            violations.push(Violation::Affinity { pod: member.pod.key.clone(), why });
        };
        let mut known: BTreeMap<usize, Domains> = BTreeMap::new();
        for member in owners {
            let domains = known
                .entry(member.spot)
                .or_insert_with(|| self.crowd.domains(self.world, member.spot, key));
            if domains.values.is_empty() || domains.may_be_absent {
                refuse(member, format!("its place has no certain {key}"));
            } else if let Some(value) = domains.values.iter().find(|text| !self.has(text, member)) {
                if !self.selects(member) {
                    refuse(member, format!("no pod that it requires is in {key}={value}"));
                } else if let Some(other) = self.reachable_before(member) {
                    refuse(member, format!("it is the first in {key}={value}, others in {other}"));
                }
            }
        }
        let ours: BTreeSet<_> = owners.iter().map(|member| &member.pod.key).collect();
        let first = |members: &&Vec<&Member<'_>>| {
            members.iter().all(|member| member.is_new && ours.contains(&member.pod.key))
        };
        let begun: Vec<(&String, &Vec<&Member<'_>>)> =
            self.certain.iter().filter(|(_, members)| first(members)).collect();
        for (index, (domain, members)) in begun.iter().enumerate() {
            let apart = begun.iter().skip(index + 1).find(|(other, others)| {
                let may = |members: &[&Member<'_>], value: &str| {
                    members.iter().all(|member| allows(member.pod, key, value))
                };
                may(members, other) && may(others, domain)
            });
            if let (Some((other, _)), Some(member)) = (apart, members.first()) {
                refuse(member, format!("two groups begin, in {key}={domain} and in {other}"));
            }
        }
    }

    /// Whether another matching pod than `member` is certainly in the domain.
    fn has(&self, domain: &str, member: &Member<'_>) -> bool {
        let there = self.certain.get(domain).into_iter().flatten();
        there.into_iter().any(|other| other.pod.key != member.pod.key)
    }

    fn selects(&self, member: &Member<'_>) -> bool {
        let (namespace, term) = self.term;
        includes(self.world, namespace, term, &member.pod.key.namespace)
            && term
                .selector
                .as_ref()
                .is_some_and(|label_selector| label_selector.selects(&member.pod.spec.labels))
    }

    /// A domain that the pod may be in and that had a matching pod before the plan: there is no first.
    fn reachable_before(&self, member: &Member<'_>) -> Option<&String> {
        let key = self.term.1.topology_key.as_str();
        let mut certain = self.certain.iter();
        let entry = certain.find(|(domain, members)| {
            members.iter().any(|neighbor| !neighbor.is_new) && allows(member.pod, key, domain)
        });
        entry.map(|(domain, _)| domain)
    }
}
