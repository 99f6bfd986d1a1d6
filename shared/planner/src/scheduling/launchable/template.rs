//! What a NodePool can launch: its types with the room that daemons leave, within its limits.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go`, and for the daemons
//! `scheduler.go`, `getDaemonOverhead`.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{
    InstanceTypeName, LabelKey, NodePoolName, Requirement, Requirements, ResourceName, Taint,
    TaintEffect, Toleration, facts::Daemon, labels, node_pool::NodePool, pod::HostPort,
    requirement::Value, requirements::Undefined, taint, taint::TolerationOperator,
};

use super::rooms::{Rooms, Steps};
use crate::{
    index::{
        bits::BitSet,
        id::{LabelId, OfferId, SetId, ValueId, kind},
        table::Table,
    },
    scheduling::{
        launchable::offer::{Offer, Types},
        numbers::{
            amounts::{Amounts, ResourceIndex},
            sets::Sets,
        },
    },
};

/// A NodePool that may launch, with the types that it may launch.
#[derive(Debug)]
pub struct Template<'a> {
    pub(crate) pool: &'a NodePool,
    /// The offer of its NodeClass, or its own where overlays change that.
    pub(crate) offer: OfferId,
    /// Requirements and labels of the pool.
    pub(crate) set: SetId,
    /// Types that the pool alone allows.
    pub(crate) types: Types,
    /// What daemons take of each type, and what they leave.
    pub(crate) rooms: Rc<Rooms>,
    minimums: Vec<Minimum>,
    pub(crate) limits: Vec<Limit>,
    /// Its types by the most that they may cost, in nano-dollars for one hour, where there is a cap.
    pub(crate) prices: Option<Rc<Steps>>,
    /// Daemons that take ports of their nodes: those, and the types on which they land.
    daemon_ports: Vec<(Vec<HostPort>, Types)>,
    /// Types whose price, and types whose capacity, an overlay changes.
    pub(crate) overlaid: [BTreeSet<InstanceTypeName>; 2],
}

/// The values that types have for a label on which a `minValues` stands.
#[derive(Debug)]
struct Minimum {
    key: LabelKey,
    label: LabelId,
    names: Table<kind::Value, Value>,
    /// The values of each type.
    values: Table<kind::Type, Vec<ValueId>>,
}

/// A `minValues` that some types do not reach.
#[derive(Debug)]
pub(crate) struct Unmet<'a> {
    pub(crate) key: &'a LabelKey,
    wanted: u32,
    /// How many different values there are.
    pub(crate) there: u32,
}

/// In words what [`Template::unmet`] found: `too few instance types are left for its minValues:
/// karpenter.k8s.aws/instance-family has 2 of 3 values`.
pub(crate) fn too_few(unmet: &[Unmet<'_>]) -> String {
    let missing: Vec<String> = unmet
        .iter()
        .map(|Unmet { key, wanted, there }| {
            format!("{} has {there} of {wanted} values", key.as_str())
        })
        .collect();
    format!("too few instance types are left for its minValues: {}", missing.join(", "))
}

/// What a pool may still get of a resource.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) name: ResourceName,
    pub(crate) most: u64,
    /// The types whose capacity is at most so much.
    within: Rc<Steps>,
}

/// The order in which pools are tried: more weight first, ties by name descending.
///
/// Karpenter: `pkg/utils/nodepool/nodepool.go`, `OrderByWeight`.
pub(crate) fn in_order(pools: &[NodePool]) -> Vec<&NodePool> {
    let mut sorted: Vec<&NodePool> = pools.iter().collect();
    sorted.sort_by(|a, b| (b.weight, &b.name).cmp(&(a.weight, &a.name)));
    sorted
}

/// The requirements of a pool, its labels and its own names among them.
pub(crate) fn requirements(pool: &NodePool) -> Requirements {
    let mut requirements = pool.template.requirements.clone();
    let template = &pool.template;
    let labels = template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let entries = [
        (labels::NODE_POOL, pool.name.as_str()),
        (labels::NODE_CLASS, template.node_class.as_str()),
    ];
    requirements.add_all(&Requirements::of_labels(labels.chain(entries)));
    requirements
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
        (number, offer): (OfferId, &mut Offer),
        daemons: &[Daemon],
        resources: &ResourceIndex,
        sets: &mut Sets,
    ) -> Self {
        let requirements = requirements(pool);
        let mut landings = Vec::new();
        let mut daemon_ports = Vec::new();
        let mut simulated = requirements.clone();
        let started = [(labels::REGISTERED, "true"), (labels::INITIALIZED, "true")];
        simulated.add_all(&Requirements::of_labels(started));
        for daemon in daemons {
            let types = landing(daemon, &pool.template.taints, &simulated, offer);
            let requests = resources.amounts(&daemon.spec.requests);
            if !daemon.spec.host_ports.is_empty() {
                daemon_ports.push((daemon.spec.host_ports.clone(), types.clone()));
            }
            landings.push((requests, types));
        }
        let set = sets.id(&requirements);
        let with_minimum = requirements.iter().filter(|asked| asked.min_values().is_some());
        let minimums = with_minimum.map(|asked| minimum(asked.key(), offer, sets)).collect();
        Self {
            pool,
            offer: number,
            set,
            types: Types::clone(&offer.allowed(sets, set)),
            rooms: offer.index.rooms(resources, landings),
            minimums,
            limits: limits(pool, offer),
            prices: None,
            daemon_ports,
            overlaid: Default::default(),
        }
    }

    /// Takes the types out of `types` on which a daemon takes one of `ports`.
    pub(crate) fn keep_ports(&self, types: &mut Types, ports: &[HostPort]) {
        for (taken, landing) in &self.daemon_ports {
            if ports.iter().any(|port| taken.iter().any(|other| other.conflicts(port))) {
                types.subtract(landing);
            }
        }
    }

    /// The labels on which `set` has a `minValues` that `types` do not reach, and how many different
    /// values they have. A value counts if `set` still allows it.
    ///
    /// Karpenter: `pkg/cloudprovider/types.go`, `SatisfiesMinValues`.
    pub(crate) fn unmet(&self, types: &Types, set: SetId, sets: &Sets) -> Vec<Unmet<'_>> {
        self.unmet_of(types, |minimum| {
            sets.on(set, minimum.label).map(|asked| &**sets.requirement(asked))
        })
    }

    /// The same for a set without a number.
    pub(crate) fn unmet_in(&self, types: &Types, set: &Requirements) -> Vec<Unmet<'_>> {
        self.unmet_of(types, |minimum| set.get(minimum.key.as_str()))
    }

    fn unmet_of<'r>(
        &self,
        types: &Types,
        asked: impl Fn(&Minimum) -> Option<&'r Requirement>,
    ) -> Vec<Unmet<'_>> {
        let unmet = self.minimums.iter().filter_map(|minimum| {
            let asked = asked(minimum)?;
            let wanted = asked.min_values()?;
            let there = minimum.count(types, asked, wanted);
            (there < wanted).then_some(Unmet { key: &minimum.key, wanted, there })
        });
        unmet.collect()
    }

    /// Takes the types out of `types` that have no room for `need`.
    pub(crate) fn keep_roomy(&self, types: &mut Types, need: &[i64]) {
        self.rooms.keep_roomy(types, need);
    }

    /// Takes the types out of `types` that are more than what is `left` of the limits.
    pub(crate) fn keep_within_limits(&self, types: &mut Types, left: &[i64]) {
        for (limit, left) in self.limits.iter().zip(left) {
            limit.within.keep_at_most(types, *left);
        }
    }

    /// Counts a new claim against the limits: as the largest of the types that it may become.
    pub(crate) fn count(&self, types: &Types, left: &mut [i64]) {
        for (limit, left) in self.limits.iter().zip(left) {
            *left = left.saturating_sub(limit.within.largest(types));
        }
    }

    /// The least that the daemons of any of `types` request.
    pub(crate) fn least_overhead(&self, types: &Types) -> Amounts {
        self.rooms.least_overhead(types)
    }

    /// What is left of the limits without any node.
    pub(crate) fn limits_left(&self) -> Vec<i64> {
        self.limits.iter().map(|limit| signed(limit.most)).collect()
    }

    /// What capacity that is there or coming takes of each limit.
    pub(crate) fn taken(&self, used: &model::Resources) -> Vec<i64> {
        let taken = |limit: &Limit| {
            signed(if is_nodes(&limit.name) { 1 } else { used.get(limit.name.as_str()) })
        };
        self.limits.iter().map(taken).collect()
    }

    /// The name of its pool.
    pub(crate) fn name(&self) -> &NodePoolName {
        &self.pool.name
    }
}

fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

fn is_nodes(name: &ResourceName) -> bool {
    name.as_str() == "nodes"
}

/// Every type counts as one node, so that `nodes` is a limit like the others. (Karpenter does not
/// count the nodes of one pass, and may overrun the limit by a batch.)
fn limits(pool: &NodePool, offer: &Offer) -> Vec<Limit> {
    let limit = |(name, most): (&ResourceName, &u64)| Limit {
        name: name.clone(),
        most: *most,
        within: offer.index.capacities(name),
    };
    pool.limits.0.iter().map(limit).collect()
}

impl Minimum {
    /// How many different values `types` have that `asked` allows, or `enough`, whichever is less.
    fn count(&self, types: &Types, asked: &Requirement, enough: u32) -> u32 {
        let mut seen: BitSet<kind::Value> = BitSet::default();
        let mut there = 0;
        for id in types.iter() {
            for value in self.values[id].iter().filter(|value| !asked_before(&mut seen, **value)) {
                there += u32::from(asked.has(&self.names[*value]));
            }
            if enough <= there {
                return enough;
            }
        }
        there
    }
}

/// Whether `value` is one of `seen`, to which it is added.
fn asked_before(seen: &mut BitSet<kind::Value>, value: ValueId) -> bool {
    let is_known = seen.contains(value);
    seen.insert(value);
    is_known
}

fn minimum(key: &LabelKey, offer: &Offer, sets: &mut Sets) -> Minimum {
    let mut numbers: BTreeMap<&Value, ValueId> = BTreeMap::new();
    let (mut names, mut values) = (Table::default(), Table::default());
    for instance_type in &offer.index.types {
        let requirement = instance_type.requirements.get(key.as_str());
        let numbered = requirement
            .into_iter()
            .flat_map(Requirement::values)
            .map(|value| *numbers.entry(value).or_insert_with(|| names.push(Value::clone(value))));
        values.push(numbered.collect());
    }
    Minimum { key: key.clone(), label: sets.label(key), names, values }
}

/// The types on which a daemon would land: any of its required terms is enough.
fn landing(daemon: &Daemon, taints: &[Taint], requirements: &Requirements, offer: &Offer) -> Types {
    let mut types = Types::empty(offer.index.types.len());
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
pub(crate) fn tolerates_firmly(daemon: &Daemon, taints: &[Taint]) -> bool {
    let firm = taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
    taint::untolerated(firm, &daemon.spec.tolerations).is_empty()
}
