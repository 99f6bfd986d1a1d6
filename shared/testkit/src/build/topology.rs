//! What pods ask about the places of other pods, and what they attach.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Namespace, ObjectName,
    selector::LabelSelector,
    storage::{Storage, StorageClass, Volume, VolumeClaim, VolumeClaimKey},
    topology::{NodeInclusionPolicy, PodAffinityTerm, SpreadConstraint, WhenUnsatisfiable},
};

use super::text::{id, requirement, valid};

/// The pods with a label such as `app=web`; none of them when `text` is empty.
fn selector(text: &str) -> Option<LabelSelector> {
    (!text.is_empty()).then(|| LabelSelector::of_labels([pair(text)]))
}

/// The parts of `key=value`.
#[track_caller]
pub(crate) fn pair(text: &str) -> (&str, &str) {
    valid(text.split_once('=').ok_or("a label is `key=value`"))
}

/// A spread over the values of the label `key` that must hold, by `max_skew`, of the pods with a
/// label such as `app=web`. Nodes that the pod's affinity forbids do not count, tainted ones do.
///
/// # Panics
///
/// When a text is wrong.
#[must_use]
#[track_caller]
pub fn spread(key: &str, max_skew: u32, pods: &str) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: id(key),
        max_skew,
        min_domains: None,
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: selector(pods),
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

/// The pods of the same namespace with a label such as `app=web`, where the label `key` is the
/// same.
///
/// # Panics
///
/// When a text is wrong.
#[must_use]
#[track_caller]
pub fn term(key: &str, pods: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: id(key),
        selector: selector(pods),
        namespaces: BTreeSet::<Namespace>::new(),
        namespace_selector: None,
    }
}

/// Volumes of the namespace `default`: the class `ebs`, and for each `(name, terms)` a claim that is
/// bound to a volume of its own name there. With `None` it waits for its first consumer. `terms` are
/// alternatives separated by `|`, each of requirements separated by `;`.
///
/// # Panics
///
/// When a text is wrong.
#[must_use]
#[track_caller]
pub fn storage(claims: &[(&str, Option<&str>)]) -> Storage {
    let class = StorageClass {
        provisioner: "ebs.csi.aws.com".to_owned(),
        waits_for_first_consumer: true,
        allowed_topologies: Vec::new(),
    };
    let classes = BTreeMap::from([("ebs".to_owned(), class)]);
    let mut storage = Storage { classes, ..Storage::default() };
    for (name, terms) in claims {
        let key = VolumeClaimKey { namespace: id("default"), name: id::<ObjectName>(name) };
        let claim = VolumeClaim {
            volume: terms.is_some().then(|| (*name).to_owned()),
            storage_class: Some("ebs".to_owned()),
            is_bind_completed: terms.is_some(),
            ..VolumeClaim::default()
        };
        storage.claims.insert(key, claim);
        let Some(terms) = terms else { continue };
        let parts = |term: &str| {
            term.split(';').filter(|part| !part.trim().is_empty()).map(requirement).collect()
        };
        let terms = terms.split('|').map(parts).collect();
        let driver = Some("ebs.csi.aws.com".to_owned());
        storage.volumes.insert((*name).to_owned(), Volume { terms, driver, ..Volume::default() });
    }
    storage
}
