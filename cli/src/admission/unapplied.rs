//! What an API server admits new pods by and nothing here applies.

use std::collections::{BTreeMap, BTreeSet};

use api::{files::Manifest, objects::Object};
use model::labels;
use report::output::named;

/// How many objects of a kind a line names.
const NAMED: usize = 3;

/// A line for each kind of object among `manifests` by which an API server may refuse or change pods of theirs that it has
/// not stored yet.
pub(super) fn lines(manifests: &[Manifest]) -> Vec<String> {
    let Expected { new, of_stored } = Expected::of(manifests);
    let has_some = !new.is_empty() || !of_stored.is_empty();
    let mut names: BTreeMap<(&str, bool), BTreeSet<String>> = BTreeMap::new();
    for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
        match object {
            Object::Admitter(admitter) => {
                let key = (admitter.kind, admitter.changes());
                let namespace = admitter.namespace.as_deref();
                let name = match namespace {
                    Some(namespace) => format!("{namespace}/{}", admitter.name),
                    None => admitter.name.clone(),
                };
                let is_about_them = namespace.map_or(has_some, |namespace| {
                    new.contains(namespace) || of_stored.contains(namespace)
                });
                if is_about_them {
                    names.entry(key).or_default().insert(name);
                }
            }
            Object::Namespace(name, of_namespace) if new.contains(name.as_str()) => {
                let standard = of_namespace.get(labels::POD_SECURITY).map(String::as_str);
                if standard.is_some_and(|standard| standard != "privileged") {
                    let key = ("the Pod Security Standard of Namespace", false);
                    names.entry(key).or_default().insert(name.to_string());
                }
            }
            _ => {}
        }
    }
    names.into_iter().map(|((kind, changes), names)| line(kind, changes, &names)).collect()
}

fn line(kind: &str, changes: bool, names: &BTreeSet<String>) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    let effect = if changes { "change or refuse" } else { "refuse" };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!(
        "{kind} {} {verb} not applied: the API server may {effect} pods that count as created here",
        named(&names, NAMED)
    )
}

/// Namespaces of pods that are still to be created.
#[derive(Default)]
struct Expected<'m> {
    /// The pods are in the manifests, or their workload is new.
    new: BTreeSet<&'m str>,
    /// Their workload is stored.
    of_stored: BTreeSet<&'m str>,
}

impl<'m> Expected<'m> {
    fn of(manifests: &'m [Manifest]) -> Self {
        let mut expected = Self::default();
        let objects = manifests.iter().flat_map(|file| file.objects.iter().zip(&file.places));
        for (object, place) in objects {
            let (key, is_pod) = match object {
                Object::Pod(read) => (&read.pod.key, true),
                Object::Workload(workload) => (&workload.key, false),
                Object::DaemonSet(set, _) => (&set.key, false),
                _ => continue,
            };
            match (place.is_stored, is_pod) {
                (false, _) => expected.new.insert(key.namespace.as_str()),
                (true, false) => expected.of_stored.insert(key.namespace.as_str()),
                (true, true) => false,
            };
        }
        expected
    }
}
