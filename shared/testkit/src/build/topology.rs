//! What pods ask about the places of other pods, and what they attach.

use std::collections::BTreeMap;

use model::{
    ObjectName,
    storage::{Storage, StorageClass, Volume, VolumeClaim, VolumeClaimKey},
    topology::PodAffinityTerm,
};

use super::{
    pod::read_term,
    text::{id, requirements, valid},
};

/// A term by a label of nodes, of the pods of the same namespace with a label, such as `host:app=web`.
///
/// # Panics
///
/// When a text is wrong.
#[must_use]
#[track_caller]
pub fn term(text: &str) -> PodAffinityTerm {
    valid(read_term(text))
}

/// Volumes of the namespace `default`: the class `ebs`, and for each `(name, terms)` a claim that is
/// bound to a volume of its own name there. With `None` it waits for its first consumer. `terms` are
/// alternatives separated by `|`, each of requirements.
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
        let parts = |term: &str| requirements(term).iter().cloned().collect();
        let terms = terms.split('|').map(parts).collect();
        let driver = Some("ebs.csi.aws.com".to_owned());
        storage.volumes.insert((*name).to_owned(), Volume { terms, driver, ..Volume::default() });
    }
    storage
}
