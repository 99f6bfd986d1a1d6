//! What DaemonSets take of a node (specification §2.8).

use std::collections::BTreeMap;

use model::{
    InstanceType, InstanceTypeName, NodePoolName, Pod, PodSpec, Requirement, Requirements,
    Resources, Taint, TaintEffect, Toleration, labels, node_pool::NodePool,
    requirements::Undefined,
};

use crate::{devices, volumes, world::World};

/// What the daemons of each pool take of each instance type. Looked at often, worked out once.
#[derive(Default)]
pub(crate) struct Overheads(BTreeMap<(NodePoolName, InstanceTypeName), Resources>);

impl Overheads {
    /// What daemons take of a new node of `pool` that is an `instance_type`.
    pub(crate) fn of(
        &mut self,
        world: &World<'_>,
        pool: &NodePool,
        instance_type: &InstanceType,
    ) -> &Resources {
        let key = (pool.name.clone(), instance_type.name.clone());
        self.0.entry(key).or_insert_with(|| on_new_node(world, pool, instance_type))
    }
}

fn on_new_node(world: &World<'_>, pool: &NodePool, instance_type: &InstanceType) -> Resources {
    let landing = landing(world, pool, instance_type);
    landing.fold(Resources::default(), |sum, spec| sum.saturating_add(&spec.requests))
}

/// The daemons that a new node of `pool` that is an `instance_type` gets.
pub(crate) fn landing<'a>(
    world: &'a World<'_>,
    pool: &NodePool,
    instance_type: &InstanceType,
) -> impl Iterator<Item = &'a PodSpec> {
    let template = template_labels(pool);
    let lands = move |spec: &&PodSpec| {
        is_tolerated(&pool.template.taints, &spec.tolerations)
            && terms(spec).any(|wanted| {
                template.compatible(&wanted, Undefined::WellKnown).is_ok()
                    && instance_type.requirements.intersects(&wanted).is_ok()
            })
    };
    let specs = world.daemons.iter().map(|daemon| &*daemon.spec);
    specs.filter(lands)
}

/// What daemons certainly take of a node with these taints and labels. Only the first required term
/// counts here, and soft taints keep daemons away: both as in the specification, and in the plan's
/// favor.
pub(crate) fn on_node(
    world: &World<'_>,
    taints: &[Taint],
    requirements: &Requirements,
) -> Resources {
    let tolerates = |spec: &PodSpec| {
        taints.iter().all(|taint| spec.tolerations.iter().any(|t| t.tolerates(taint)))
    };
    let lands = |spec: &&PodSpec| {
        let wanted = spec.requirements(0);
        tolerates(spec) && wanted.iter().all(|wanted| is_certain(requirements, wanted))
    };
    let specs = world.daemons.iter().map(|daemon| &*daemon.spec);
    specs.filter(lands).fold(Resources::default(), |sum, spec| sum.saturating_add(&spec.requests))
}

/// Whether a node with the labels `own` has what is wanted, whatever is still open about them.
fn is_certain(requirements: &Requirements, wanted: &Requirement) -> bool {
    let Some(requirement) = requirements.get(wanted.key().as_str()) else {
        return wanted.allows_absence();
    };
    let may_be_absent = requirement.allows_absence();
    let plain = requirement.clone().with_min_values(None);
    let both = plain.intersection(&wanted.clone().with_min_values(None));
    both == plain && (!may_be_absent || wanted.allows_absence())
}

/// What the labels of a pool's nodes are known to be.
pub(crate) fn template_labels(pool: &NodePool) -> Requirements {
    let mut requirements = pool.template.requirements.clone();
    let map = pool.template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    requirements.add_all(&Requirements::of_labels(map));
    requirements.add_all(&Requirements::of_labels([
        (labels::NODE_POOL, pool.name.as_str()),
        (labels::NODE_CLASS, pool.template.node_class.as_str()),
        (labels::REGISTERED, "true"),
        (labels::INITIALIZED, "true"),
    ]));
    requirements
}

/// What a pod asks of labels, in its alternatives, with what its devices ask, and what its volumes ask: one of these holds.
pub(crate) fn wanted(world: &World<'_>, pod: &Pod) -> Vec<Requirements> {
    let of_devices = devices::reach(world, pod);
    let requirements = terms(&pod.spec).map(|mut term| {
        term.add_all(&of_devices);
        term
    });
    if pod.volumes.is_empty() {
        return requirements.collect();
    }
    let places = volumes::alternatives(&world.facts.surroundings.storage, pod);
    let with = |term: Requirements| {
        let both = |place: &Requirements| {
            let mut both = term.clone();
            both.add_all(place);
            both
        };
        places.iter().map(both).collect::<Vec<_>>()
    };
    requirements.flat_map(with).collect()
}

/// What a pod asks of labels, in its alternatives.
pub(crate) fn terms(spec: &PodSpec) -> impl Iterator<Item = Requirements> {
    (0..spec.required_terms.len().max(1)).map(|term| spec.requirements(term))
}

/// The first of `taints` that keeps a pod away. Soft ones do not: a pod may be scheduled there.
pub(crate) fn keeping_away<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
) -> Option<&'a Taint> {
    taints.iter().find(|taint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !tolerations.iter().any(|toleration| toleration.tolerates(taint))
    })
}

fn is_tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    keeping_away(taints, tolerations).is_none()
}
