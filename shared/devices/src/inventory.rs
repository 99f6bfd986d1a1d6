//! All devices with numbers: published ones by pool, and those of instance types' templates.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use model::{
    NodeName,
    dynamic_resources::{
        AttributeBinding, DeviceId, DeviceTemplates, ResourceSlice, SliceAccess, SliceDevice,
    },
};

use crate::bounds::DeviceBounds;

/// A device that may be allocated.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// Of the device: two entries with one id are one device. Published devices and those of each type's templates
    /// are numbered apart.
    pub(crate) number: usize,
    /// Of this entry, among all of them.
    pub(crate) place: usize,
    pub(crate) id: DeviceId,
    pub(crate) device: &'a SliceDevice,
    pub(crate) is_template: bool,
    /// The number of a published device's pool.
    pub(crate) pool: usize,
    /// Nodes that reach it; `None` is all of those that see it.
    pub(crate) bounds: Option<Rc<DeviceBounds>>,
    /// By number: what it consumes of counters.
    pub(crate) counters: BTreeMap<usize, i128>,
}

/// A slice of a pool.
#[derive(Debug)]
pub(crate) struct Slice<'a> {
    pub(crate) facts: &'a ResourceSlice,
    pub(crate) entries: Vec<Entry<'a>>,
    /// By counter set: its counters by number.
    pub(crate) declares: Vec<(&'a str, BTreeMap<usize, i128>)>,
}

/// Slices of one pool, of every generation, by name.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) driver: &'a Arc<str>,
    pub(crate) name: &'a Arc<str>,
    pub(crate) slices: Vec<Slice<'a>>,
}

/// Published devices.
#[derive(Debug, Default)]
pub(crate) struct Published<'a> {
    /// By driver and name.
    pub(crate) pools: Vec<Pool<'a>>,
    /// By number: the pool of a device.
    pub(crate) pool_of: Vec<usize>,
    pub(crate) numbers: BTreeMap<DeviceId, usize>,
    /// Pools with slices that more nodes than one may reach.
    pub(crate) open: BTreeSet<usize>,
    /// Pools with slices that one node reaches.
    pub(crate) by_node: BTreeMap<&'a NodeName, BTreeSet<usize>>,
    /// Pools with slices that belong to a node.
    pub(crate) by_owner: BTreeMap<&'a NodeName, BTreeSet<usize>>,
}

/// The devices that an instance of one type would have.
#[derive(Debug, Default)]
pub(crate) struct Outfit<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
    /// By number: what there is of counters.
    pub(crate) budget: BTreeMap<usize, i128>,
    /// By attribute: the group of a device whose members have one value in common.
    groups: BTreeMap<&'a str, BTreeMap<&'a DeviceId, usize>>,
}

/// Hands out numbers for names.
#[derive(Debug)]
struct Numbers<K>(BTreeMap<K, usize>);

impl<K: Ord> Numbers<K> {
    fn of(&mut self, key: K) -> usize {
        let next = self.0.len();
        *self.0.entry(key).or_insert(next)
    }
}

impl<'a> Published<'a> {
    /// `places` counts entries.
    pub(crate) fn new(slices: impl Iterator<Item = &'a ResourceSlice>, places: &mut usize) -> Self {
        let mut by_pool: BTreeMap<_, BTreeMap<&str, &'a ResourceSlice>> = BTreeMap::new();
        for slice in slices {
            let pool = by_pool.entry((&slice.driver, &slice.pool.name)).or_default();
            pool.insert(&slice.name, slice);
        }
        let mut published = Self::default();
        let mut counters = Numbers(BTreeMap::new());
        for (pool, ((driver, name), slices)) in by_pool.into_iter().enumerate() {
            let slices = slices.into_values().map(|facts| {
                published.register(pool, facts);
                published.slice(pool, facts, &mut counters, places)
            });
            let slices = slices.collect();
            published.pools.push(Pool { driver, name, slices });
        }
        published
    }

    fn register(&mut self, pool: usize, facts: &'a ResourceSlice) {
        if let Some(owner) = &facts.owner {
            self.by_owner.entry(owner).or_default().insert(pool);
        }
        match &facts.access {
            SliceAccess::Node(node) => {
                self.by_node.entry(node).or_default().insert(pool);
            }
            SliceAccess::AllNodes | SliceAccess::Selector(_) => {
                self.open.insert(pool);
            }
            SliceAccess::Unsupported => {}
        }
    }

    fn slice(
        &mut self,
        pool: usize,
        facts: &'a ResourceSlice,
        counters: &mut Numbers<(usize, &'a str, &'a str)>,
        places: &mut usize,
    ) -> Slice<'a> {
        let bounds = match &facts.access {
            SliceAccess::Selector(selector) => Some(Rc::new(DeviceBounds::of_selector(selector))),
            SliceAccess::Node(node) => Some(Rc::new(DeviceBounds::of_node(node))),
            SliceAccess::AllNodes | SliceAccess::Unsupported => None,
        };
        let mut entries = Vec::with_capacity(facts.devices.len());
        for device in &facts.devices {
            let id = id(&facts.driver, &facts.pool.name, device);
            let next = self.pool_of.len();
            let number = *self.numbers.entry(id.clone()).or_insert(next);
            if number == next {
                self.pool_of.push(pool);
            }
            let consumed = consumed(device, |set, counter| counters.of((pool, set, counter)));
            let place = next_place(places);
            let (is_template, bounds) = (false, bounds.clone());
            let (id, counters) = (id, consumed);
            entries.push(Entry { number, place, id, device, is_template, pool, bounds, counters });
        }
        let declared = facts.shared_counters.iter().map(|set| {
            let amounts = set.counters.iter().map(|(counter, amount)| {
                (counters.of((pool, set.name.as_str(), counter.as_str())), amount.nanos())
            });
            (set.name.as_str(), amounts.collect())
        });
        Slice { facts, entries, declares: declared.collect() }
    }
}

impl<'a> Outfit<'a> {
    pub(crate) fn new(templates: &'a DeviceTemplates, places: &mut usize) -> Self {
        let (mut devices, mut counters) = (Numbers(BTreeMap::new()), Numbers(BTreeMap::new()));
        let mut outfit = Self::default();
        for slice in &templates.slices {
            let key = |set: &'a str, counter: &'a str| (&slice.driver, &slice.pool, set, counter);
            for device in &slice.devices {
                let id = id(&slice.driver, &slice.pool, device);
                let number = devices.of(id.clone());
                let consumed = consumed(device, |set, counter| counters.of(key(set, counter)));
                let place = next_place(places);
                outfit.entries.push(Entry {
                    number,
                    place,
                    id,
                    device,
                    is_template: true,
                    pool: 0,
                    bounds: None,
                    counters: consumed,
                });
            }
            for set in &slice.shared_counters {
                for (counter, amount) in &set.counters {
                    outfit.budget.insert(counters.of(key(&set.name, counter)), amount.nanos());
                }
            }
        }
        for (group, binding) in templates.bindings.iter().enumerate() {
            outfit.bind(group, binding);
        }
        outfit
    }

    /// Joins what shares a device; a single device is bound to nothing.
    fn bind(&mut self, group: usize, binding: &'a AttributeBinding) {
        if binding.devices.len() < 2 {
            return;
        }
        let groups = self.groups.entry(&binding.attribute).or_default();
        let joined: BTreeSet<usize> =
            binding.devices.iter().filter_map(|device| groups.get(device).copied()).collect();
        for other in groups.values_mut().filter(|other| joined.contains(other)) {
            *other = group;
        }
        groups.extend(binding.devices.iter().map(|device| (device, group)));
    }

    /// The devices that have a value of `attribute` in common with `device`, as a number.
    pub(crate) fn group(&self, attribute: &str, device: &DeviceId) -> Option<usize> {
        self.groups.get(attribute)?.get(device).copied()
    }
}

fn id(driver: &Arc<str>, pool: &Arc<str>, device: &SliceDevice) -> DeviceId {
    DeviceId {
        driver: Arc::clone(driver),
        pool: Arc::clone(pool),
        device: Arc::clone(&device.name),
    }
}

fn next_place(places: &mut usize) -> usize {
    *places += 1;
    *places
}

fn consumed<'a>(
    device: &'a SliceDevice,
    mut number: impl FnMut(&'a str, &'a str) -> usize,
) -> BTreeMap<usize, i128> {
    let sets = device.consumes_counters.iter();
    sets.flat_map(|(set, counters)| counters.iter().map(move |counter| (set, counter)))
        .map(|(set, (counter, amount))| (number(set, counter), amount.nanos()))
        .collect()
}
