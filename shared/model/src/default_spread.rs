//! Spread constraints for pods that have none of their own, as a profile of kube-scheduler defines them.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/defaultconstraints.go`.
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#cluster-level-default-constraints>

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Namespace, Pod, PodSpec,
    buffer::{BufferTarget, CapacityBuffer},
    pod::{self, Owner},
    selector::LabelSelector,
    topology::SpreadConstraint,
};

/// `podTopologySpread.defaultConstraints` of a scheduler's configuration. Which pods a constraint counts is deduced for
/// each pod from the Services and the controller that select it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultSpread {
    /// Without selectors.
    pub constraints: Vec<SpreadConstraint>,
}

/// Which pods the Services and controllers of a cluster select.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSelectors {
    /// `spec.selector` of Services, by namespace. If several select a pod and differ in a key, the last one wins.
    pub services: BTreeMap<Namespace, Vec<BTreeMap<String, String>>>,
    /// `spec.selector` of controllers, by namespace.
    pub controllers: BTreeMap<Namespace, BTreeMap<Owner, ControllerSelector>>,
}

/// `spec.selector` of a controller of pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerSelector {
    /// Of a ReplicationController: its labels replace those of Services.
    Labels(BTreeMap<String, String>),
    /// Of a ReplicaSet or StatefulSet: it holds beside the labels of Services.
    Selector(LabelSelector),
}

impl PodSelectors {
    /// Adds a Service; one without labels selects nothing.
    pub fn add_service(&mut self, namespace: Namespace, selector: BTreeMap<String, String>) {
        if !selector.is_empty() {
            self.services.entry(namespace).or_default().push(selector);
        }
    }

    /// Adds a ReplicationController.
    pub fn add_replication_controller(
        &mut self,
        namespace: Namespace,
        name: &str,
        selector: BTreeMap<String, String>,
    ) {
        let (api_version, kind) = ("v1".to_owned(), "ReplicationController".to_owned());
        let owner = Owner { api_version, kind, name: name.to_owned() };
        let of_namespace = self.controllers.entry(namespace).or_default();
        of_namespace.insert(owner, ControllerSelector::Labels(selector));
    }

    /// Adds a ReplicaSet or a StatefulSet.
    pub fn add_controller(&mut self, namespace: Namespace, owner: Owner, selector: LabelSelector) {
        let of_namespace = self.controllers.entry(namespace).or_default();
        of_namespace.insert(owner, ControllerSelector::Selector(selector));
    }

    /// The pods that belong together with one in `namespace` with `labels` that `owner` controls; `None` if nothing
    /// says so.
    fn deduce(
        &self,
        namespace: &Namespace,
        owner: Option<&Owner>,
        labels: &BTreeMap<String, String>,
    ) -> Option<LabelSelector> {
        let selects = |selector: &&BTreeMap<String, String>| {
            selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        };
        let services = self.services.get(namespace).into_iter().flatten().filter(selects);
        let mut merged: BTreeMap<&str, &str> = services.flat_map(texts).collect();
        let controller = owner.and_then(|owner| self.controllers.get(namespace)?.get(owner));
        if let Some(ControllerSelector::Labels(labels)) = controller {
            merged.extend(texts(labels));
        }
        let mut selector = LabelSelector::of_labels(merged);
        if let Some(ControllerSelector::Selector(of_controller)) = controller
            && !of_controller.is_invalid
        {
            selector.expressions.extend(of_controller.expressions.iter().cloned());
        }
        (!selector.expressions.is_empty()).then_some(selector)
    }
}

fn texts(labels: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    labels.iter().map(|(key, value)| (key.as_str(), value.as_str()))
}

impl DefaultSpread {
    /// Gives the constraints to each of `pods` without constraints of its own. Pods that shared a spec and a controller
    /// share the new spec.
    pub fn apply(&self, pods: &mut [Pod], selectors: &PodSelectors) {
        if self.constraints.is_empty() {
            return;
        }
        pod::change_specs(
            pods,
            |pod| (pod.key.namespace.clone(), pod.owner.clone()),
            |pod| self.spread(&pod.spec, &pod.key.namespace, pod.owner.as_deref(), selectors),
        );
    }

    /// The same for the pods that `buffers` stand for, which no controller has.
    pub fn apply_to_buffers(&self, buffers: &mut [CapacityBuffer], selectors: &PodSelectors) {
        for buffer in buffers {
            let (BufferTarget::Template(spec) | BufferTarget::Workload(spec, _)) =
                &mut buffer.target
            else {
                continue;
            };
            if let Some(spread) = self.spread(spec, &buffer.namespace, None, selectors) {
                *spec = spread;
            }
        }
    }

    /// `spec` with the constraints; `None` if it has its own, or nothing says which pods belong together.
    pub fn spread(
        &self,
        spec: &PodSpec,
        namespace: &Namespace,
        owner: Option<&Owner>,
        selectors: &PodSelectors,
    ) -> Option<Arc<PodSpec>> {
        if self.constraints.is_empty() || !spec.spread.is_empty() {
            return None;
        }
        let selector = selectors.deduce(namespace, owner, &spec.labels)?;
        let with_selector = |constraint: &SpreadConstraint| SpreadConstraint {
            selector: Some(selector.clone()),
            ..constraint.clone()
        };
        let spread = self.constraints.iter().map(with_selector).collect();
        Some(Arc::new(PodSpec { spread, ..spec.clone() }))
    }
}
