//! Who stands where once the plan is carried out: pods that run, and pods that it places.
//!
//! Pods that the plan is about stand only where it puts them. Pods that ended or are ending stand
//! nowhere.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Namespace, NodeClaim, Plan, Pod, PodKey, Requirements, labels, selector::LabelSelector,
};

use crate::{
    candidates::usable,
    room::{
        outcome_label,
        place::{self, Labels, Place, Seat},
    },
    world::{World, labels_of},
};

/// A pod and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) pod: &'a Pod,
    /// Place in `Crowd::spots`.
    pub(crate) spot: usize,
    /// The plan put it there.
    pub(crate) is_new: bool,
}

/// A node, or what will be one.
pub(crate) struct Spot<'a> {
    pub(crate) shown: String,
    /// What the node is called, or a name of its own.
    host: String,
    labels: Labels<'a>,
    pub(crate) taints: Vec<model::Taint>,
}

/// Pods with one namespace and the same labels.
type Group<'a> = ((&'a Namespace, &'a BTreeMap<String, String>), Vec<Member<'a>>);

/// Everybody.
pub(crate) struct Crowd<'a> {
    pub(crate) spots: Vec<Spot<'a>>,
    groups: Vec<Group<'a>>,
}

/// The values that a label of a node may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Domains {
    pub(crate) values: BTreeSet<String>,
    /// Or it has none of them.
    pub(crate) may_be_absent: bool,
}

impl Domains {
    fn one(value: &str) -> Self {
        Self { values: BTreeSet::from([value.to_owned()]), may_be_absent: false }
    }

    /// The value, if it is certain.
    pub(crate) fn decided(&self) -> Option<&String> {
        let mut values = self.values.iter();
        match (self.may_be_absent, values.next(), values.next()) {
            (false, Some(value), None) => Some(value),
            _ => None,
        }
    }
}

impl<'a> Crowd<'a> {
    pub(crate) fn of(world: &World<'a>, plan: &'a Plan) -> Self {
        let mut mentioned: BTreeSet<&PodKey> =
            plan.unplaced.iter().map(|unplaced| &unplaced.pod).collect();
        mentioned.extend(plan.new_claims.iter().flat_map(|new| &new.claim.pods));
        mentioned.extend(plan.placements.iter().flat_map(|placement| &placement.pods));
        let mut gathering = Gathering::default();
        for placement in &plan.placements {
            let Ok(place) = place::place(world, &placement.target) else { continue };
            let spot = gathering.spot(world, place);
            gathering.add(spot, pods(world, &placement.pods), true);
        }
        for (node, pods) in &world.pods_on {
            let Some(place) = place::place_of_node(world, node) else { continue };
            let still = |pod: &&&Pod| {
                !pod.is_terminal() && !pod.is_terminating() && !mentioned.contains(&pod.key)
            };
            let pods: Vec<&Pod> = pods.iter().filter(still).copied().collect();
            if !pods.is_empty() {
                let spot = gathering.spot(world, place);
                gathering.add(spot, pods, false);
            }
        }
        for new in &plan.new_claims {
            let spot = gathering.created(&new.claim);
            gathering.add(Some(spot), pods(world, &new.claim.pods), true);
        }
        Self { spots: gathering.spots, groups: gathering.groups.into_iter().collect() }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member<'a>> {
        self.groups.iter().flat_map(|(_, members)| members)
    }

    /// The pods of namespaces that `includes` and that `selector` selects.
    pub(crate) fn selected(
        &self,
        includes: impl Fn(&Namespace) -> bool,
        selector: Option<&LabelSelector>,
    ) -> impl Iterator<Item = &Member<'a>> {
        let groups = self.groups.iter().filter(move |((namespace, labels), _)| {
            includes(namespace) && selector.is_some_and(|selector| selector.selects(labels))
        });
        groups.flat_map(|(_, members)| members)
    }

    /// What the label `key` of a spot may be.
    pub(crate) fn domains(&self, world: &World<'a>, spot: usize, key: &str) -> Domains {
        let Some(spot) = self.spots.get(spot) else { return Domains::default() };
        if key == labels::HOSTNAME {
            return Domains::one(&spot.host);
        }
        match &spot.labels {
            Labels::Known(requirements) => {
                match requirements.get(key).and_then(|requirement| requirement.single_value()) {
                    Some(value) => Domains::one(value),
                    None => Domains { may_be_absent: true, ..Domains::default() },
                }
            }
            Labels::Open(claim) => of_claim(world, claim, key),
        }
    }

    /// The labels of a spot, where they are known.
    pub(crate) fn known_labels(&self, spot: usize) -> Option<&Requirements> {
        match &self.spots.get(spot)?.labels {
            Labels::Known(requirements) => Some(requirements),
            Labels::Open(_) => None,
        }
    }
}

fn pods<'a>(world: &World<'a>, keys: &[PodKey]) -> Vec<&'a Pod> {
    keys.iter().filter_map(|key| world.pods.get(key).copied()).collect()
}

fn of_claim<'a>(world: &World<'a>, claim: &'a NodeClaim, key: &str) -> Domains {
    let requirements = labels_of(claim);
    if let Some(value) = requirements.get(key).and_then(|requirement| requirement.single_value()) {
        return Domains::one(value);
    }
    let mut domains = Domains::default();
    for instance_type in world.types_of(claim) {
        for offering in usable(instance_type, &requirements) {
            let label = outcome_label(&requirements, instance_type, offering, key);
            match label.filter(|label| !label.is_complement() && !label.values().is_empty()) {
                Some(label) => {
                    domains.values.extend(label.values().iter().map(ToString::to_string));
                }
                None => domains.may_be_absent = true,
            }
        }
    }
    domains.may_be_absent |= domains.values.is_empty();
    domains
}

/// A crowd under construction.
#[derive(Default)]
struct Gathering<'a> {
    spots: Vec<Spot<'a>>,
    by_place: BTreeMap<Place<'a>, usize>,
    groups: BTreeMap<(&'a Namespace, &'a BTreeMap<String, String>), Vec<Member<'a>>>,
}

impl<'a> Gathering<'a> {
    fn spot(&mut self, world: &World<'a>, place: Place<'a>) -> Option<usize> {
        if let Some(spot) = self.by_place.get(&place) {
            return Some(*spot);
        }
        let Seat { shown, labels, taints, node, .. } = place::seat(world, place)?;
        let named = node.map(|node| match node.labels.get(labels::HOSTNAME) {
            Some(name) => name.clone(),
            None => node.name.to_string(),
        });
        let host = named.unwrap_or_else(|| shown.clone());
        self.by_place.insert(place, self.spots.len());
        Some(self.push(Spot { shown, host, labels, taints }))
    }

    fn created(&mut self, claim: &'a NodeClaim) -> usize {
        let shown = format!("claim {}", claim.name);
        let (host, taints) = (shown.clone(), claim.taints.clone());
        self.push(Spot { shown, host, labels: Labels::Open(claim), taints })
    }

    fn push(&mut self, spot: Spot<'a>) -> usize {
        self.spots.push(spot);
        self.spots.len() - 1
    }

    fn add(&mut self, spot: Option<usize>, pods: Vec<&'a Pod>, is_new: bool) {
        let Some(spot) = spot else { return };
        for pod in pods {
            let group = (&pod.key.namespace, &pod.spec.labels);
            self.groups.entry(group).or_default().push(Member { pod, spot, is_new });
        }
    }
}
