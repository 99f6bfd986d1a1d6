//! The devices that there are, and what is left of them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use devices::{CelSelectors, SelectableDevice, Selects as _};
use model::{
    NodeName, Quantity,
    dynamic_resources::{
        DeviceAsk, DeviceCapacity, DeviceClass, DeviceFacts, DeviceSelector, DeviceTemplates,
        ResourceSlice, SliceAccess, SliceDevice, ValidAmounts,
    },
};

use super::search::User;

/// Driver, pool and device; or driver, pool and counter set.
pub(super) type Name<'a> = (&'a str, &'a str, &'a str);

/// A device that there is, or that there will be.
#[derive(Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) name: Name<'a>,
    pub(super) device: &'a SliceDevice,
    /// Of a template: that of an instance to come.
    pub(super) template: Option<&'a DeviceTemplates>,
    /// Of a slice: which nodes reach it.
    pub(super) access: Option<&'a SliceAccess>,
}

/// What devices are taken from. Those of templates are each place's and type's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Budget<'a> {
    pub(super) of: Option<User>,
    pub(super) name: Name<'a>,
    pub(super) part: Part<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part<'a> {
    /// The device as a whole.
    Whole,
    /// A capacity of a shared device.
    Share(&'a str),
    /// A counter of a set.
    Counter(&'a str),
}

/// What a class and a request select by, the driver, and which device.
type Question<'a> = (&'a str, &'a [DeviceSelector], &'a str, *const SliceDevice);

/// Everything that is known of devices while nodes and pods go as a plan says.
pub(super) struct Stock<'a> {
    pub(super) facts: &'a DeviceFacts,
    classes: BTreeMap<&'a str, &'a DeviceClass>,
    selectors: CelSelectors,
    answers: RefCell<BTreeMap<Question<'a>, Result<bool, String>>>,
    /// Slices with devices, of pools that are whole: those of one node each by node, and those of more nodes.
    of_node: BTreeMap<&'a NodeName, Vec<&'a ResourceSlice>>,
    open: Vec<&'a ResourceSlice>,
    /// By device that a claim has: shares of its capacities.
    taken: BTreeMap<Name<'a>, BTreeMap<&'a str, i128>>,
    /// What taken devices leave of counters, by set.
    counters: BTreeMap<Name<'a>, BTreeMap<&'a str, i128>>,
}

impl<'a> Stock<'a> {
    /// Nodes that go take their slices with them; claims that are not `held` are free.
    pub(super) fn new(
        facts: &'a DeviceFacts,
        goes: impl Fn(&NodeName) -> bool,
        held: impl Iterator<Item = &'a model::dynamic_resources::ResourceClaim>,
    ) -> Self {
        let mut taken: BTreeMap<Name<'a>, BTreeMap<&str, i128>> = BTreeMap::new();
        for (id, shares) in
            held.filter_map(|claim| claim.allocation.as_ref()).flat_map(|a| &a.devices)
        {
            let sums = taken.entry((&*id.driver, &*id.pool, &*id.device)).or_default();
            for (name, share) in shares.iter().flatten() {
                let sum = sums.entry(name.as_str()).or_default();
                *sum = sum.saturating_add(share.nanos());
            }
        }
        let counts = |slice: &&ResourceSlice| {
            slice.owner.as_ref().is_none_or(|node| facts.initialized.contains(node) && !goes(node))
        };
        let mut pools: BTreeMap<(&str, &str), BTreeMap<&str, &ResourceSlice>> = BTreeMap::new();
        for slice in facts.slices.iter().filter(counts) {
            let pool = pools.entry((&*slice.driver, &*slice.pool.name)).or_default();
            pool.insert(slice.name.as_str(), slice);
        }
        let mut stock = Self {
            facts,
            classes: facts.classes.iter().map(|class| (class.name.as_str(), class)).collect(),
            selectors: CelSelectors::default(),
            answers: RefCell::default(),
            of_node: BTreeMap::new(),
            open: Vec::new(),
            taken,
            counters: BTreeMap::new(),
        };
        for slices in pools.into_values() {
            stock.add_pool(slices.into_values().collect());
        }
        stock
    }

    /// Slices of the newest generation count, if all of them are there and declare what their devices consume.
    fn add_pool(&mut self, mut slices: Vec<&'a ResourceSlice>) {
        let newest = slices.iter().map(|slice| slice.pool.generation).max();
        slices.retain(|slice| Some(slice.pool.generation) == newest);
        let expected = slices.first().map(|slice| slice.pool.slice_count);
        let is_complete = i64::try_from(slices.len()).ok() == expected;
        let mut left: BTreeMap<Name<'a>, BTreeMap<&str, i128>> = BTreeMap::new();
        let mut is_sound = true;
        for slice in &slices {
            for set in &slice.shared_counters {
                let counters = set.counters.iter().map(|(name, n)| (name.as_str(), n.nanos()));
                let before = left.insert(named(slice, &set.name), counters.collect());
                is_sound &= before.is_none();
            }
        }
        slices.retain(|slice| slice.shared_counters.is_empty());
        let mut counted = BTreeSet::new();
        for (slice, device) in slices.iter().flat_map(|s| s.devices.iter().map(move |d| (s, d))) {
            let name = named(slice, &device.name);
            let is_taken = self.taken.contains_key(&name) && counted.insert(name);
            for (set, counter, amount) in consumed(device) {
                let counters = left.get_mut(&named(slice, set));
                match counters.and_then(|counters| counters.get_mut(counter)) {
                    Some(left) if is_taken => *left = left.saturating_sub(amount),
                    Some(_) => {}
                    None => is_sound = false,
                }
            }
        }
        if is_complete && is_sound {
            self.counters.extend(left);
            for slice in slices {
                match &slice.access {
                    SliceAccess::Node(node) => self.of_node.entry(node).or_default().push(slice),
                    _ => self.open.push(slice),
                }
            }
        }
    }

    /// The devices of slices of `node` and of those that `reaches` allows. A pool of which a device is in reach twice
    /// has none.
    pub(super) fn published(
        &self,
        node: Option<&NodeName>,
        reaches: impl Fn(&SliceAccess) -> bool,
    ) -> Vec<Item<'a>> {
        let mut by_pool: BTreeMap<(&str, &str), BTreeMap<Name<'a>, Item<'a>>> = BTreeMap::new();
        let mut twice = BTreeSet::new();
        let of_node = node.and_then(|node| self.of_node.get(node)).into_iter().flatten();
        for slice in of_node.chain(self.open.iter().filter(|slice| reaches(&slice.access))) {
            for device in &slice.devices {
                let (name, access) = (named(slice, &device.name), Some(&slice.access));
                let item = Item { name, device, template: None, access };
                let pool = by_pool.entry((name.0, name.1)).or_default();
                if pool.insert(name, item).is_some() {
                    twice.insert((name.0, name.1));
                }
            }
        }
        by_pool.retain(|pool, _| !twice.contains(pool));
        by_pool.into_values().flat_map(BTreeMap::into_values).collect()
    }

    /// What there is of a budget of `item`.
    pub(super) fn limit(&self, item: &Item<'a>, budget: &Budget<'a>) -> i128 {
        let taken = self.taken.get(&item.name).filter(|_| item.template.is_none());
        match (budget.part, item.template) {
            (Part::Whole, _) => i128::from(taken.is_none()),
            (Part::Share(capacity), _) => {
                let whole =
                    item.device.capacity.get(capacity).map_or(0, |capacity| capacity.value.nanos());
                let share = taken.and_then(|shares| shares.get(capacity)).copied().unwrap_or(0);
                whole.saturating_sub(share)
            }
            (Part::Counter(counter), None) => {
                let counters = self.counters.get(&budget.name);
                counters.and_then(|counters| counters.get(counter)).copied().unwrap_or(-1)
            }
            (Part::Counter(counter), Some(template)) => {
                let (driver, pool, set) = budget.name;
                let slices = template.slices.iter();
                let slices = slices.filter(|s| *s.driver == *driver && *s.pool == *pool);
                let mut sets = slices.flat_map(|slice| &slice.shared_counters);
                let set = sets.rfind(|declared| declared.name == set);
                let amount = set.and_then(|set| set.counters.get(counter));
                amount.map_or(-1, |amount| amount.nanos())
            }
        }
    }

    /// Whether the class and the request select the device; the error says what cannot be evaluated.
    pub(super) fn selects(&self, ask: &'a DeviceAsk, item: &Item<'a>) -> Result<bool, String> {
        let device = std::ptr::from_ref(item.device);
        let question = (ask.class.as_str(), ask.selectors.as_slice(), item.name.0, device);
        if let Some(answer) = self.answers.borrow().get(&question) {
            return answer.clone();
        }
        let class = self.classes.get(ask.class.as_str());
        let selectors = class.iter().flat_map(|class| &class.selectors).chain(&ask.selectors);
        let device = SelectableDevice { driver: item.name.0, device: item.device };
        let mut answer = Ok(class.is_some());
        for selector in selectors {
            answer = match selector {
                _ if answer != Ok(true) => break,
                DeviceSelector::Cel(expression) => self.selectors.selects(expression, device),
                DeviceSelector::Unsupported => Ok(false),
            };
        }
        self.answers.borrow_mut().insert(question, answer.clone());
        answer
    }

    /// Why no device can be had for `ask`, whatever there is.
    pub(super) fn fault(&self, ask: &'a DeviceAsk) -> Option<String> {
        let Some(class) = self.classes.get(ask.class.as_str()) else {
            return Some(format!("DeviceClass {} does not exist", ask.class));
        };
        class.selectors.iter().chain(&ask.selectors).find_map(|selector| match selector {
            DeviceSelector::Cel(expression) => {
                let why = self.selectors.compile(expression).err()?;
                Some(format!("selector `{expression}`: {why}"))
            }
            DeviceSelector::Unsupported => Some("a selector is not of CEL".to_owned()),
        })
    }
}

/// What `item` takes of which budgets for `ask`; `None` if the request cannot have it.
pub(super) fn uses<'a>(
    item: &Item<'a>,
    ask: &DeviceAsk,
    user: User,
) -> Option<Vec<(Budget<'a>, i128)>> {
    let of = item.template.map(|_| user);
    let Item { name, device, .. } = *item;
    let mut uses = Vec::new();
    if device.allows_multiple_allocations {
        if ask.capacity.keys().any(|name| !device.capacity.contains_key(name)) {
            return None;
        }
        for (capacity, whole) in &device.capacity {
            let share = share(whole, ask.capacity.get(capacity).copied())?;
            uses.push((Budget { of, name, part: Part::Share(capacity) }, share.nanos()));
        }
    } else {
        uses.push((Budget { of, name, part: Part::Whole }, 1));
    }
    for (set, counter, amount) in consumed(device) {
        let name = (name.0, name.1, set);
        uses.push((Budget { of, name, part: Part::Counter(counter) }, amount));
    }
    Some(uses)
}

/// The devices of an instance to come.
pub(super) fn of_templates(templates: &DeviceTemplates) -> impl Iterator<Item = Item<'_>> {
    templates.slices.iter().flat_map(move |slice| {
        slice.devices.iter().map(move |device| Item {
            name: (&slice.driver, &slice.pool, &device.name),
            device,
            template: Some(templates),
            access: None,
        })
    })
}

/// What has `name` in the pool of a slice.
fn named<'a>(slice: &'a ResourceSlice, name: &'a str) -> Name<'a> {
    (&slice.driver, &slice.pool.name, name)
}

/// Set, counter and amount of all that the allocation of a device takes.
fn consumed(device: &SliceDevice) -> impl Iterator<Item = (&str, &str, i128)> {
    device.consumes_counters.iter().flat_map(|(set, counters)| {
        counters.iter().map(|(name, amount)| (set.as_str(), name.as_str(), amount.nanos()))
    })
}

/// The least share of a capacity that is allowed and not less than what is asked for.
fn share(capacity: &DeviceCapacity, asked: Option<Quantity>) -> Option<Quantity> {
    let Some(policy) = &capacity.policy else { return Some(asked.unwrap_or(capacity.value)) };
    let share = match (asked, &policy.valid) {
        (None, _) => policy.default.unwrap_or(capacity.value),
        (Some(asked), None) => asked,
        (Some(asked), Some(ValidAmounts::Values(values))) => {
            let enough = values.iter().copied().filter(|value| asked <= *value);
            enough.min().unwrap_or(asked)
        }
        (Some(asked), Some(ValidAmounts::Range { min, step, .. })) => {
            if asked <= *min {
                *min
            } else {
                rounded(asked, *min, *step)?
            }
        }
    };
    let is_allowed = match &policy.valid {
        None => true,
        Some(ValidAmounts::Values(values)) => values.contains(&share),
        Some(ValidAmounts::Range { min, max, step }) => {
            max.is_none_or(|max| share <= max) && rounded(share, *min, *step) == Some(share)
        }
    };
    (is_allowed || policy.default == Some(share)).then_some(share)
}

/// `min` and as many steps as reach `asked`, in whole units as in Kubernetes.
fn rounded(asked: Quantity, min: Quantity, step: Option<Quantity>) -> Option<Quantity> {
    let Some(step) = step.map(Quantity::to_units) else { return Some(asked) };
    let above = asked.to_units().saturating_sub(min.to_units());
    let steps = above.checked_add(step)?.checked_sub(1)?.checked_div(step)?;
    Some(Quantity::from_units(min.to_units().checked_add(steps.checked_mul(step)?)?))
}
