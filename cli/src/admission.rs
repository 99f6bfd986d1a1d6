//! Pods of manifests as an API server stores them: with the priority of their class, and with what RuntimeClasses and
//! LimitRanges add.

use std::{collections::BTreeSet, sync::Arc};

use api::{
    files::Manifest,
    objects::{LimitRange, NewPod, Object, PriorityClass, RuntimeClass},
};
use model::{Namespace, PodSpec};

/// The objects that admission reads.
#[derive(Default)]
struct Admission {
    priorities: Vec<PriorityClass>,
    runtimes: Vec<RuntimeClass>,
    ranges: Vec<LimitRange>,
    /// RuntimeClasses that pods name and that are not there.
    missing: BTreeSet<String>,
}

/// Completes all pods and templates that no API server has stored. Says which RuntimeClasses are not there.
pub(crate) fn admit(manifests: &mut [Manifest]) -> Vec<String> {
    let mut admission = Admission::default();
    for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
        match object {
            Object::PriorityClass(class) => admission.priorities.push(class.clone()),
            Object::RuntimeClass(class) => admission.runtimes.push(class.clone()),
            Object::LimitRange(range) => admission.ranges.push(range.clone()),
            _ => {}
        }
    }
    for manifest in manifests {
        for (object, place) in manifest.objects.iter_mut().zip(&manifest.places) {
            admission.complete(object, place.is_stored);
        }
    }
    let missing = admission.missing.into_iter();
    missing
        .map(|name| {
            format!(
                "RuntimeClass {name} is not in the input: its pods are planned without the \
                 overhead, node selector and tolerations that it may add"
            )
        })
        .collect()
}

impl Admission {
    /// The pods of a workload that is stored are yet to come; those of a DaemonSet are on its nodes.
    fn complete(&mut self, object: &mut Object, is_stored: bool) {
        match object {
            Object::Pod(read) => {
                if let Some(new) = read.new.take() {
                    self.admit(&read.pod.key.namespace, &mut read.pod.spec, &new, is_stored);
                }
            }
            Object::Workload(workload) => {
                let namespace = workload.key.namespace.clone();
                self.admit(&namespace, &mut workload.spec, &workload.new, is_stored);
            }
            Object::DaemonSet(set, _) if is_stored => self.prioritize(&mut set.spec),
            Object::DaemonSet(set, new) => {
                self.admit(&set.key.namespace, &mut set.spec, new, is_stored);
            }
            Object::PodTemplate(_, spec) => self.prioritize(spec),
            _ => {}
        }
    }

    fn admit(
        &mut self,
        namespace: &Namespace,
        spec: &mut Arc<PodSpec>,
        new: &NewPod,
        is_stored: bool,
    ) {
        self.prioritize(spec);
        let ranges = self.ranges.iter().filter(|range| range.namespace == *namespace);
        let ranges: Vec<&LimitRange> = ranges.collect();
        let runtime = new.runtime_class();
        let class = self.runtimes.iter().find(|class| Some(class.name.as_str()) == runtime);
        if class.is_some() || !ranges.is_empty() {
            *spec = Arc::new(new.clone().admitted(spec, &ranges, class));
        }
        if let Some(name) = runtime.filter(|_| class.is_none() && !is_stored) {
            self.missing.insert(name.to_owned());
        }
    }

    fn prioritize(&self, spec: &mut Arc<PodSpec>) {
        let class = self.priorities.iter().find(|class| match spec.priority_class.as_str() {
            "" => class.is_global_default,
            name => class.name == name,
        });
        if let Some(class) =
            class.filter(|class| class.value != spec.priority && spec.priority == 0)
        {
            Arc::make_mut(spec).priority = class.value;
        }
    }
}

#[cfg(test)]
mod tests;
