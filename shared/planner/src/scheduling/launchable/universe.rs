//! The domains that NodePools could launch into.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/topology.go`, `buildDomainGroups`. What a pool
//! excludes is a domain as well there, and here: its nodes may have no such label, but a spread
//! waits for it. What a pool names and none of its instance types has is one there only, and so are domains of
//! pools whose nodes the node filter of a spread excludes.

use std::collections::{BTreeMap, BTreeSet};

use model::{Requirements, Taint, Toleration, requirement::Value, requirements::Undefined, taint};

use crate::{
    index::{
        id::{KeyId, OfferId, kind},
        table::Table,
    },
    scheduling::{
        launchable::offer::Offer,
        numbers::domains::{Domains, Keys},
        topology::groups::Filter,
    },
};

/// A pool that may launch, with its own requirements and what it launches.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) requirements: Requirements,
    pub(crate) taints: Vec<Taint>,
    pub(crate) offer: OfferId,
}

/// Domains by label, as far as anybody asked.
#[derive(Debug, Default)]
pub(crate) struct Universe {
    sources: Vec<Source>,
    /// By label, then by source: its values.
    values: BTreeMap<KeyId, Vec<BTreeSet<Value>>>,
    /// The same as numbers.
    domains: BTreeMap<KeyId, Vec<Domains>>,
}

impl Universe {
    pub(crate) fn of(sources: Vec<Source>) -> Self {
        Self { sources, ..Self::default() }
    }

    /// Looks up what the pools have of the label `key`, if that was not done before.
    pub(crate) fn know(&mut self, key: KeyId, keys: &mut Keys, offers: &Table<kind::Offer, Offer>) {
        if self.values.contains_key(&key) {
            return;
        }
        let label = keys.all[key].label.clone();
        let of_source =
            |source: &Source| source.values(label.as_str(), &source.requirements, offers);
        let values: Vec<BTreeSet<Value>> = self.sources.iter().map(of_source).collect();
        keys.know(key, &values.iter().flatten().map(Value::clone).collect());
        let number = |values: &BTreeSet<Value>| {
            let mut ids = Domains::default();
            ids.extend(values.iter().filter_map(|value| keys.all[key].find(value)));
            ids
        };
        self.domains.insert(key, values.iter().map(number).collect());
        self.values.insert(key, values);
    }

    /// The domains of `key` in pools whose taints `tolerations` tolerate; `None` is all pools.
    pub(crate) fn domains(&self, key: KeyId, tolerations: Option<&[Toleration]>) -> Domains {
        let mut ids = Domains::default();
        let by_source = self.domains.get(&key).into_iter().flatten();
        for (source, domains) in self.sources.iter().zip(by_source) {
            if source.is_open(tolerations) {
                ids.add(domains);
            }
        }
        ids
    }

    /// The domains of `key` in which a node can be launched that passes `filter`.
    ///
    /// Kubernetes: `pkg/scheduler/framework/plugins/podtopologyspread` counts only nodes that the pod may use.
    pub(crate) fn passing(
        &self,
        key: KeyId,
        filter: &Filter,
        keys: &Keys,
        offers: &Table<kind::Offer, Offer>,
    ) -> Domains {
        let tolerations = filter.tolerations.as_deref();
        if filter.terms.is_empty() {
            return self.domains(key, tolerations);
        }
        let known = &keys.all[key];
        let mut ids = Domains::default();
        for source in self.sources.iter().filter(|source| source.is_open(tolerations)) {
            for term in &filter.terms {
                if source.requirements.compatible(term, Undefined::WellKnown).is_err() {
                    continue;
                }
                let mut both = source.requirements.clone();
                both.add_all(term);
                let values = source.values(known.label.as_str(), &both, offers);
                ids.extend(values.iter().filter_map(|value| known.find(value)));
            }
        }
        ids
    }
}

impl Source {
    fn is_open(&self, tolerations: Option<&[Toleration]>) -> bool {
        tolerations.is_none_or(|tolerated| taint::untolerated(&self.taints, tolerated).is_empty())
    }

    /// What its nodes have as `label` if they are launched by `requirements`.
    fn values(
        &self,
        label: &str,
        requirements: &Requirements,
        offers: &Table<kind::Offer, Offer>,
    ) -> BTreeSet<Value> {
        let asked = requirements.get(label);
        let mut texts = BTreeSet::new();
        let offer = &offers[self.offer];
        let types = offer.matching(requirements);
        let said = offer.index.said(label);
        for (requirement, _) in said.iter().filter(|(_, said_by)| said_by.meets(&types)) {
            match (asked, requirement) {
                (Some(requirement), Some(one)) => {
                    texts.extend(requirement.intersection(one).values().iter().map(Value::clone));
                }
                (Some(requirement), None) | (None, Some(requirement)) => {
                    texts.extend(requirement.values().iter().map(Value::clone));
                }
                (None, None) => {}
            }
        }
        texts
    }
}
