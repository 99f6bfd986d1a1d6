//! What a NodePool can launch: its types with the room that daemons leave, within its limits.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go`, and for the daemons
//! `scheduler.go`, `getDaemonOverhead`.

use std::collections::BTreeMap;

use model::{
    NodePoolName, Requirement, Requirements, ResourceName, Taint, TaintEffect, Toleration,
    facts::DaemonSet, labels, node_pool::NodePool, requirements::Undefined, taint,
    taint::TolerationOperator,
};

use crate::{
    amounts::{self, Amounts, ResourceIndex},
    bits::BitSet,
    offer::Offer,
    sets::{SetId, Sets},
};

/// A NodePool that may launch, with the types that it may launch.
#[derive(Debug)]
pub(crate) struct Template<'a> {
    pub(crate) pool: &'a NodePool,
    /// Place of its NodeClass's offer.
    pub(crate) offer: usize,
    /// Requirements and labels of the pool.
    pub(crate) set: SetId,
    /// Types that the pool alone allows.
    pub(crate) types: BitSet,
    /// By type: what its daemons take.
    pub(crate) overhead: Vec<Amounts>,
    /// By type: what is left for pods. Negative where the daemons do not fit.
    pub(crate) room: Vec<Amounts>,
    steps: Vec<Steps>,
    minimums: Vec<Minimum>,
    pub(crate) limits: Vec<Limit>,
}

/// For one resource, the types that have at least so much room: one set for each amount that occurs.
#[derive(Debug, Default)]
struct Steps {
    rooms: Vec<i64>,
    types: Vec<BitSet>,
}

/// The values that types have for a label on which a `minValues` may stand.
#[derive(Debug)]
struct Minimum {
    key: model::LabelKey,
    /// By type: the numbers of its values.
    values: Vec<Vec<usize>>,
}

/// What a pool may still get of a resource.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) name: ResourceName,
    pub(crate) most: u64,
    pub(crate) left: i64,
    /// By type.
    capacity: Vec<i64>,
}

/// The order in which pools are tried: more weight first, ties by name descending.
///
/// Karpenter: `pkg/utils/nodepool/nodepool.go`, `OrderByWeight`.
pub(crate) fn in_order(pools: &[NodePool]) -> Vec<&NodePool> {
    let mut all: Vec<&NodePool> = pools.iter().collect();
    all.sort_by(|a, b| (b.weight, &b.name).cmp(&(a.weight, &a.name)));
    all
}

/// The requirements of a pool, its labels and its own names among them.
pub(crate) fn requirements(pool: &NodePool) -> Requirements {
    let mut all = pool.template.requirements.clone();
    let template = &pool.template;
    let labels = template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let own = [
        (labels::NODE_POOL, pool.name.as_str()),
        (labels::NODE_CLASS, template.node_class.as_str()),
    ];
    all.add_all(&Requirements::of_labels(labels.chain(own)));
    all
}

/// The toleration of every soft taint.
pub(crate) fn soft_toleration() -> Toleration {
    Toleration {
        operator: TolerationOperator::Exists,
        effect: Some(TaintEffect::PreferNoSchedule),
        ..Toleration::default()
    }
}

impl<'a> Template<'a> {
    pub(crate) fn new(
        pool: &'a NodePool,
        (place, offer): (usize, &mut Offer),
        daemons: &[DaemonSet],
        resources: &ResourceIndex,
        sets: &mut Sets,
    ) -> Self {
        let requirements = requirements(pool);
        let overhead = overhead(pool, &requirements, daemons, offer, resources);
        let rooms = offer.allocatable.iter().zip(&overhead).map(|(allocatable, overhead)| {
            let mut room = allocatable.clone();
            amounts::subtract(&mut room, overhead);
            room
        });
        let room: Vec<Amounts> = rooms.collect();
        let set = sets.id(&requirements);
        let mut template = Self {
            pool,
            offer: place,
            set,
            types: BitSet::clone(&offer.allowed(sets, set)),
            steps: steps(&room, resources.len()),
            overhead,
            room,
            minimums: Vec::new(),
            limits: limits(pool, offer),
        };
        template.know_minimums(sets, offer);
        template
    }

    fn know_minimums(&mut self, sets: &Sets, offer: &Offer) {
        let set = sets.get(self.set);
        let keys = set.iter().filter(|r| r.min_values().is_some()).map(Requirement::key);
        self.minimums = keys.map(|key| minimum(key, offer)).collect();
        let reached = self.reaches_minimums(&set, &self.types);
        if !reached {
            self.types.clear();
        }
    }

    /// Takes the types out of `types` that have no room for `need`.
    pub(crate) fn keep_roomy(&self, types: &mut BitSet, need: &[i64]) {
        for (steps, need) in self.steps.iter().zip(need) {
            let step = steps.rooms.partition_point(|room| room < need);
            match steps.types.get(step) {
                // Every type has that much.
                Some(_) if step == 0 => {}
                Some(roomy) => types.keep(roomy),
                None => return types.clear(),
            }
        }
    }

    /// Whether `types` have as many different values as each `minValues` of `set` asks for.
    ///
    /// `minValues` stands on pools only, so that the pool's labels are all there are.
    pub(crate) fn reaches_minimums(&self, set: &Requirements, types: &BitSet) -> bool {
        self.minimums.iter().all(|minimum| {
            let wanted = set.get(minimum.key.as_str()).and_then(Requirement::min_values);
            let wanted = usize::try_from(wanted.unwrap_or_default()).unwrap_or(usize::MAX);
            let mut seen = BitSet::default();
            for values in types.iter().filter_map(|index| minimum.values.get(index)) {
                seen.extend(values.iter().copied());
            }
            wanted <= seen.iter().count()
        })
    }

    pub(crate) fn has_minimums(&self) -> bool {
        !self.minimums.is_empty()
    }

    /// Takes the types out of `types` that are more than what the limits leave.
    pub(crate) fn keep_within_limits(&self, types: &mut BitSet) {
        for limit in &self.limits {
            let within = |index: usize| limit.capacity.get(index).is_some_and(|c| *c <= limit.left);
            let within =
                BitSet::of(self.room.len(), |index| types.contains(index) && within(index));
            types.keep(&within);
        }
    }

    /// Counts a new claim against the limits: as the largest of the types that it may become.
    pub(crate) fn count(&mut self, types: &BitSet) {
        for limit in &mut self.limits {
            let largest = types.iter().filter_map(|index| limit.capacity.get(index)).max();
            limit.left = limit.left.saturating_sub(largest.copied().unwrap_or_default());
        }
    }

    /// Counts capacity that is there or promised against the limits.
    pub(crate) fn count_used(&mut self, used: &model::Resources) {
        for limit in &mut self.limits {
            let used = if is_nodes(&limit.name) { 1 } else { used.get(limit.name.as_str()) };
            limit.left = limit.left.saturating_sub(i64::try_from(used).unwrap_or(i64::MAX));
        }
    }

    /// The name of its pool.
    pub(crate) fn name(&self) -> &NodePoolName {
        &self.pool.name
    }
}

fn is_nodes(name: &ResourceName) -> bool {
    name.as_str() == "nodes"
}

/// Every type counts as one node, so that `nodes` is a limit like the others. (Karpenter does not
/// count the nodes of one pass, and may overrun the limit by a batch.)
fn limits(pool: &NodePool, offer: &Offer) -> Vec<Limit> {
    let signed = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    let of_type = |name: &ResourceName, t: &model::InstanceType| {
        if is_nodes(name) { 1 } else { signed(t.capacity.get(name.as_str())) }
    };
    let limit = |(name, most): (&ResourceName, &u64)| Limit {
        name: name.clone(),
        most: *most,
        left: signed(*most),
        capacity: offer.types.iter().map(|t| of_type(name, t)).collect(),
    };
    pool.limits.0.iter().map(limit).collect()
}

fn steps(room: &[Amounts], resources: usize) -> Vec<Steps> {
    let step = |resource: usize| {
        let amount = |types: &Amounts| types.get(resource).copied().unwrap_or_default();
        let mut by_room: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (index, amounts) in room.iter().enumerate() {
            by_room.entry(amount(amounts)).or_default().push(index);
        }
        // From the largest room down, each set holds the one before.
        let mut roomy = BitSet::empty(room.len());
        let mut steps = Steps::default();
        for (amount, types) in by_room.into_iter().rev() {
            roomy.extend(types);
            steps.rooms.push(amount);
            steps.types.push(roomy.clone());
        }
        steps.rooms.reverse();
        steps.types.reverse();
        steps
    };
    (0..resources).map(step).collect()
}

fn minimum(key: &model::LabelKey, offer: &Offer) -> Minimum {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut values = Vec::with_capacity(offer.types.len());
    for instance_type in &offer.types {
        let own = instance_type.requirements.get(key.as_str());
        let own = own.into_iter().flat_map(Requirement::values);
        let number = |value| {
            let next = numbers.len();
            *numbers.entry(value).or_insert(next)
        };
        values.push(own.map(|value| &**value).map(number).collect());
    }
    Minimum { key: key.clone(), values }
}

/// What the daemons that would land on each type request together.
fn overhead(
    pool: &NodePool,
    requirements: &Requirements,
    daemons: &[DaemonSet],
    offer: &Offer,
    resources: &ResourceIndex,
) -> Vec<Amounts> {
    let mut simulated = requirements.clone();
    let started = [(labels::REGISTERED, "true"), (labels::INITIALIZED, "true")];
    simulated.add_all(&Requirements::of_labels(started));
    let nothing: Amounts = vec![0; resources.len()].into();
    let mut all = vec![nothing; offer.types.len()];
    for daemon in daemons {
        let requests = resources.amounts(&daemon.spec.requests);
        for index in landing(daemon, &pool.template.taints, &simulated, offer).iter() {
            if let Some(sum) = all.get_mut(index) {
                amounts::add(sum, &requests);
            }
        }
    }
    all
}

/// The types on which a daemon would land: any of its required terms is enough.
fn landing(
    daemon: &DaemonSet,
    taints: &[Taint],
    requirements: &Requirements,
    offer: &Offer,
) -> BitSet {
    let mut types = BitSet::empty(offer.types.len());
    if !tolerates_firmly(daemon, taints) {
        return types;
    }
    for term in 0..daemon.spec.required_terms.len().max(1) {
        let wanted = daemon.spec.requirements(term);
        if requirements.compatible(&wanted, Undefined::WellKnown).is_ok() {
            types.add(&offer.matching(&wanted));
        }
    }
    types
}

/// Whether a daemon tolerates `taints`. Soft ones never keep a daemon away.
pub(crate) fn tolerates_firmly(daemon: &DaemonSet, taints: &[Taint]) -> bool {
    let firm = taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
    taint::untolerated(firm, &daemon.spec.tolerations).is_empty()
}
