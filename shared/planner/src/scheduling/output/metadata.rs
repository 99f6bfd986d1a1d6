//! Labels and annotations of claims, which become those of their nodes.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go`, `ToNodeClaim`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InstanceTypeName, Requirements,
    facts::Facts,
    labels,
    static_hash::{NODE_CLASS, NODE_POOL},
};

use super::Shared;
use crate::scheduling::{
    launchable::{
        offer::{Offer, Types},
        template::Template,
    },
    numbers::sets::Sets,
    problem::Problem,
    solver::InFlightClaim,
};

/// Keys with their values.
pub(super) type Labels = Vec<(String, String)>;

/// The annotations of a claim: its pool's, which specs it is of, and what was changed for it.
pub(super) fn annotations(
    facts: &Facts,
    template: &Template<'_>,
    in_flight: &InFlightClaim,
    overlaid: &[&str],
) -> BTreeMap<String, String> {
    let mut annotations = template.pool.template.annotations.clone();
    // Which specs the claim is of: it drifts when the pool's or the class's becomes another.
    let hashes = template.pool.annotations.iter();
    let keys = [NODE_POOL.key, NODE_POOL.version_key];
    let hashes = hashes.filter(|(key, _)| keys.contains(&key.as_str()));
    annotations.extend(hashes.map(|(key, value)| (key.clone(), value.clone())));
    let class = facts
        .class_hashes
        .as_ref()
        .and_then(|hashes_of_classes| hashes_of_classes.get(&template.pool.template.node_class));
    annotations.extend(class.into_iter().flat_map(|hash| NODE_CLASS.annotations(hash)));
    let is_relaxed = if in_flight.is_relaxed { "true" } else { "false" };
    annotations.insert(labels::MIN_VALUES_RELAXED.to_owned(), is_relaxed.to_owned());
    if !in_flight.device_drivers.is_empty() {
        let drivers: Vec<&str> = in_flight.device_drivers.iter().map(String::as_str).collect();
        annotations.insert(labels::REQUESTED_DRA_DRIVERS.to_owned(), drivers.join(","));
    }
    annotations.extend(overlaid.iter().map(|name| ((*name).to_owned(), "true".to_owned())));
    annotations
}

/// The annotations that say of what an overlay changed prices or capacity: of some of `types`.
pub(super) fn overlaid(template: &Template<'_>, offer: &Offer, types: &Types) -> Vec<&'static str> {
    let names = [labels::PRICE_OVERLAY_APPLIED, labels::CAPACITY_OVERLAY_APPLIED];
    let applies = |overlaid: &BTreeSet<InstanceTypeName>| {
        !overlaid.is_empty() && types.iter().any(|id| overlaid.contains(&offer.index.names[id].1))
    };
    let entries = names.into_iter().zip(&template.overlaid);
    entries.filter(|(_, overlaid)| applies(overlaid)).map(|(name, _)| name).collect()
}

/// The labels of a claim's node: the pool's, and those of `shared`, of which some are `asked` for.
pub(super) fn labels(
    template: &Template<'_>,
    shared: &Shared,
    asked: &[usize],
) -> BTreeMap<String, String> {
    let pool = template.pool;
    let mut labels = pool.template.labels.clone();
    labels.insert(labels::NODE_POOL.to_owned(), pool.name.as_str().to_owned());
    labels.insert(labels::NODE_CLASS.to_owned(), pool.template.node_class.as_str().to_owned());
    labels.extend(shared.labels.iter().cloned());
    let asked = asked.iter().filter_map(|place| shared.labels_if_asked.get(*place));
    labels.extend(asked.cloned());
    labels
}

/// The labels that a claim's requirements add to its pool's: one value for each requirement on a label
/// that users invented. First those that its node has anyway, then those that it has if asked for.
///
/// Where a set leaves any value but some, a number is chosen, as Karpenter does, so that pods which
/// ask that the label is there find it. (Karpenter draws it; here it is the smallest.) A label that
/// only pods mention, and only by what it must not be, is left out.
pub(super) fn labels_of(
    sets: &Sets,
    template: &Template<'_>,
    set: &Requirements,
) -> (Labels, Labels) {
    let pool = template.pool;
    let (mut node_labels, mut if_asked) = (Vec::new(), Vec::new());
    let requirements = sets.get(template.set);
    for requirement in set.iter() {
        let key = requirement.key().as_str();
        let is_ours = labels::is_well_known(key) || labels::is_restricted(key);
        let is_own = [labels::NODE_POOL, labels::NODE_CLASS].contains(&key);
        if is_ours || is_own || pool.template.labels.contains_key(key) {
            continue;
        }
        let Some(value) = requirement.any_value() else { continue };
        let entry = (key.to_owned(), value.to_string());
        if requirements.contains(key) {
            node_labels.push(entry);
        } else {
            if_asked.push(entry);
        }
    }
    (node_labels, if_asked)
}

/// The places among `labels` of those that some pod of the claim asks for.
pub(super) fn asked_for(
    problem: &Problem<'_>,
    in_flight: &InFlightClaim,
    labels: &[(String, String)],
) -> Vec<usize> {
    let places = labels.iter().enumerate();
    let asked = places.filter(|(_, (key, _))| is_asked_for(problem, in_flight, key));
    asked.map(|(place, _)| place).collect()
}

fn is_asked_for(problem: &Problem<'_>, in_flight: &InFlightClaim, key: &str) -> bool {
    in_flight.pods.iter().any(|pod| {
        let spec = &problem.classes[problem.demand.pods[*pod].class].spec;
        let chain = spec.node_selector.iter().chain(spec.required_terms.iter().flatten());
        let mut sources =
            chain.chain(spec.preferred_terms.iter().flat_map(|preference| &preference.term));
        sources
            .any(|requirement| requirement.key().as_str() == key && !requirement.allows_absence())
    })
}
