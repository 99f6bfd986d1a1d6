//! Resources as arrays: every resource that some pod requests has a place, the same everywhere.

use std::collections::BTreeSet;

use model::{Bytes, Millicores, ResourceName, Resources};

use crate::{
    index::{
        id::{TypeId, kind},
        table::Table,
    },
    scheduling::launchable::offer::Types,
};

/// Amounts by place. Negative is what an overcommitted node has left.
pub(crate) type Amounts = Box<[i64]>;

/// The resources that matter, each with its place.
#[derive(Debug, Default)]
pub struct ResourceIndex {
    names: Vec<ResourceName>,
}

impl ResourceIndex {
    /// One place for each resource that any of `requests` names.
    pub fn of<'a>(requests: impl IntoIterator<Item = &'a Resources>) -> Self {
        let mut names: BTreeSet<&str> = ["cpu", "memory", "ephemeral-storage", "pods"].into();
        for resources in requests {
            let requested = resources.extended.iter().filter(|(_, amount)| 0 < **amount);
            names.extend(requested.map(|(name, _)| name.as_str()));
        }
        Self { names: names.into_iter().filter_map(|name| ResourceName::new(name).ok()).collect() }
    }

    /// `resources` by place. What has no place is left out: no pod requests it.
    pub fn amounts(&self, resources: &Resources) -> Amounts {
        let amount =
            |name: &ResourceName| i64::try_from(resources.get(name.as_str())).unwrap_or(i64::MAX);
        self.names.iter().map(amount).collect()
    }

    /// The reverse; negative amounts count as zero.
    pub fn resources(&self, amounts: &[i64]) -> Resources {
        let mut resources = Resources::default();
        for (name, amount) in self.names.iter().zip(amounts).filter(|(_, amount)| **amount > 0) {
            resources.set(name, u64::try_from(*amount).unwrap_or_default());
        }
        resources
    }

    /// The name of each place.
    pub(crate) fn names(&self) -> &[ResourceName] {
        &self.names
    }

    /// How many places there are.
    #[expect(clippy::len_without_is_empty, reason = "cpu, memory and pods are always there")]
    pub fn len(&self) -> usize {
        self.names.len()
    }
}

/// Instance types by how much they have of a resource, the least first.
pub(crate) type ByAmount = Vec<(u64, TypeId)>;

/// What instance types have of every resource that any of them has.
#[derive(Debug, Default)]
pub struct Whole {
    /// CPU, memory, disk, pods.
    common: [ByAmount; 4],
    extended: Vec<(ResourceName, ByAmount)>,
}

impl<'r> FromIterator<&'r Resources> for Whole {
    fn from_iter<I: IntoIterator<Item = &'r Resources>>(item: I) -> Self {
        let resources: Table<kind::Type, &Resources> = item.into_iter().collect();
        let order = resources.ids().collect();
        Self::of(&resources, order)
    }
}

impl Whole {
    /// What types have of `resources`, quickly where those that are first in `order` have little.
    pub(crate) fn of(resources: &Table<kind::Type, &Resources>, mut order: Vec<TypeId>) -> Self {
        let names: BTreeSet<&ResourceName> =
            resources.iter().flat_map(|amounts| amounts.extended.keys()).collect();
        let mut by_amount = |amount: &dyn Fn(&Resources) -> u64| -> ByAmount {
            let mut sorted: ByAmount =
                order.iter().map(|id| (amount(resources[*id]), *id)).collect();
            sorted.sort_by_key(|(amount, _)| *amount);
            // Who has more of one resource mostly has more of the next: that is nearly sorted then.
            order.clear();
            order.extend(sorted.iter().map(|(_, id)| *id));
            sorted
        };
        Self {
            common: [
                by_amount(&|resources| resources.cpu.0),
                by_amount(&|resources| resources.memory.0),
                by_amount(&|resources| resources.ephemeral_storage.0),
                by_amount(&|resources| resources.pods),
            ],
            extended: names
                .into_iter()
                .map(|name| (name.clone(), by_amount(&|resources| resources.get(name.as_str()))))
                .collect(),
        }
    }

    /// All types by how much they have of the resource `name`; `None` if none of them has any.
    pub(crate) fn by_amount(&self, name: &str) -> Option<&ByAmount> {
        let [cpu, memory, ephemeral_storage, pods] = &self.common;
        match name {
            "cpu" => Some(cpu),
            "memory" => Some(memory),
            "ephemeral-storage" => Some(ephemeral_storage),
            "pods" => Some(pods),
            name => {
                let mut extended = self.extended.iter();
                extended.find(|(known, _)| known.as_str() == name).map(|(_, sorted)| sorted)
            }
        }
    }

    /// The types that have less CPU first.
    pub(crate) fn by_cpu(&self) -> impl Iterator<Item = TypeId> {
        let [cpu, ..] = &self.common;
        cpu.iter().map(|(_, id)| *id)
    }

    /// The smallest amount of each resource that any of `chosen` has; what one of them lacks is
    /// zero.
    pub fn smallest(&self, chosen: &Types) -> Resources {
        let least = |sorted: &ByAmount| {
            let first = sorted.iter().find(|(_, id)| chosen.contains(*id));
            first.map_or(0, |(amount, _)| *amount)
        };
        let extended = self.extended.iter().map(|(name, sorted)| (name.clone(), least(sorted)));
        let [cpu, memory, ephemeral_storage, pods] = self.common.each_ref().map(least);
        Resources {
            cpu: Millicores(cpu),
            memory: Bytes(memory),
            ephemeral_storage: Bytes(ephemeral_storage),
            pods,
            extended: extended.filter(|(_, least)| 0 < *least).collect(),
        }
    }
}

/// Adds `more`, place by place.
pub(crate) fn add(amounts: &mut [i64], more: &[i64]) {
    for (amount, more) in amounts.iter_mut().zip(more) {
        *amount = amount.saturating_add(*more);
    }
}

/// Takes `less` away, place by place; what runs short becomes negative.
pub(crate) fn subtract(amounts: &mut [i64], less: &[i64]) {
    for (amount, less) in amounts.iter_mut().zip(less) {
        *amount = amount.saturating_sub(*less);
    }
}

/// Keeps the smaller amount of each place.
pub(crate) fn lower(amounts: &mut [i64], other: &[i64]) {
    for (amount, other) in amounts.iter_mut().zip(other) {
        *amount = (*amount).min(*other);
    }
}

/// Whether `need` is there. Nothing fits where any amount is negative, requested or not.
///
/// Karpenter: `pkg/utils/resources/resources.go`, `Fits`.
pub fn fits(need: &[i64], room: &[i64]) -> bool {
    need.iter().zip(room).all(|(need, room)| 0 <= *room && need <= room)
}
