//! An independent judge of allocations: from the rules alone, one by one and slowly, without a number for a name.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use devices::{
    AllocatedClaim, AllocatedDevice, Allocations, DevicePlaceKey, Leaving, SelectableDevice,
    Selects,
};
use model::{
    InstanceTypeName, Requirements,
    dynamic_resources::{
        ClaimConsumer, DeviceAsk, DeviceConstraint, DeviceCount, DeviceFacts, DeviceId,
        DeviceSelector, DeviceTemplates, RequestKind, ResourceClaim, ResourceClaimKey,
        ResourceSlice, SliceAccess, SliceDevice, ValidAmounts,
    },
    limits::DEVICES_PER_CLAIM_MAX,
    requirements::Undefined,
};

use super::support::{Visit, Words};

/// What a claim got: on which node, and by instance type.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) place: DevicePlaceKey,
    pub(crate) devices: BTreeMap<InstanceTypeName, Vec<AllocatedDevice>>,
}

/// By claim.
pub(crate) type Gotten = BTreeMap<ResourceClaimKey, Got>;

/// What is allocated in a plan so far.
pub(crate) fn gotten(state: &Allocations) -> Gotten {
    let got = |claim: &AllocatedClaim| Got { place: claim.place, devices: claim.devices.clone() };
    state.claims().map(|(key, claim)| (key.clone(), got(claim))).collect()
}

/// Where pods went.
pub(crate) type Visited = BTreeMap<DevicePlaceKey, Visit>;

type Amounts = BTreeMap<String, i128>;

struct Judge<'a> {
    facts: &'a DeviceFacts,
    leaving: &'a Leaving,
    visited: &'a Visited,
    violations: Vec<String>,
    /// Of the cluster: devices that are taken as a whole, and shares.
    taken: BTreeSet<&'a DeviceId>,
    shares: BTreeMap<&'a DeviceId, Amounts>,
}

/// Everything that is wrong with what is allocated so far.
pub(crate) fn violations(
    facts: &DeviceFacts,
    leaving: &Leaving,
    gotten: &Gotten,
    visited: &Visited,
) -> Vec<String> {
    let mut judge = Judge {
        facts,
        leaving,
        visited,
        violations: Vec::new(),
        taken: BTreeSet::new(),
        shares: BTreeMap::new(),
    };
    judge.count_cluster();
    for (key, claim) in gotten {
        let claim_facts = facts.claims.iter().rfind(|claim| claim.key == *key).expect("a claim");
        judge.claim(claim_facts, claim);
    }
    judge.exclusive(gotten);
    judge.shared(gotten);
    judge.violations
}

/// Whether slices of a pool are all there, and consume what they declare once.
fn is_whole(slices: &[&ResourceSlice]) -> bool {
    let sets: Vec<_> = slices.iter().flat_map(|slice| &slice.shared_counters).collect();
    let names: BTreeSet<_> = sets.iter().map(|set| &set.name).collect();
    let is_declared = |set: &str, counter: &String| {
        sets.iter().any(|declared| declared.name == set && declared.counters.contains_key(counter))
    };
    let devices = slices.iter().filter(|s| s.shared_counters.is_empty()).flat_map(|s| &s.devices);
    let mut consumed = devices.flat_map(|device| &device.consumes_counters);
    let declared = slices.first().map(|slice| slice.pool.slice_count);
    i64::try_from(slices.len()).ok() == declared
        && names.len() == sets.len()
        && consumed.all(|(set, counters)| counters.keys().all(|counter| is_declared(set, counter)))
}

impl<'a> Judge<'a> {
    fn says(&mut self, violation: String) {
        self.violations.push(violation);
    }

    fn is_freed(&self, claim: &ResourceClaim) -> bool {
        let leaves = |consumer: &ClaimConsumer| match consumer {
            ClaimConsumer::Pod(uid) => self.leaving.pods.contains(uid),
            ClaimConsumer::Other => false,
        };
        !claim.reserved_for.is_empty() && claim.reserved_for.iter().all(leaves)
    }

    fn count_cluster(&mut self) {
        for claim in &self.facts.claims {
            let Some(allocation) = claim.allocation.as_ref().filter(|_| !self.is_freed(claim))
            else {
                continue;
            };
            for (id, shares) in &allocation.devices {
                self.taken.insert(id);
                let sums = self.shares.entry(id).or_default();
                for (name, share) in shares.iter().flatten() {
                    *sums.entry(name.clone()).or_default() += share.nanos();
                }
            }
        }
    }

    /// The slices of the highest generation of a device's pool.
    fn slices(&self, id: &DeviceId) -> Vec<&'a ResourceSlice> {
        let counts = |slice: &&ResourceSlice| {
            slice.driver == id.driver
                && slice.pool.name == id.pool
                && slice.owner.as_ref().is_none_or(|owner| {
                    self.facts.initialized.contains(owner) && !self.leaving.nodes.contains(owner)
                })
        };
        let slices = self.facts.slices.iter().filter(counts);
        let newest = slices.clone().map(|slice| slice.pool.generation).max();
        slices.filter(|slice| Some(slice.pool.generation) == newest).collect()
    }

    fn templates(
        &self,
        place: DevicePlaceKey,
        name: &InstanceTypeName,
    ) -> Option<&'a DeviceTemplates> {
        let pool = self.visited[&place].place().node_pool;
        self.facts.templates.get(pool)?.get(name).map(|templates| &**templates)
    }

    /// A device that a place reaches, and the slice of a published one.
    fn device(
        &self,
        place: DevicePlaceKey,
        name: &InstanceTypeName,
        device: &AllocatedDevice,
    ) -> Option<(&'a SliceDevice, Option<&'a ResourceSlice>)> {
        let id = &device.id;
        if device.is_template {
            let slices = self.templates(place, name)?.slices.iter();
            let mut matching = slices.filter(|s| s.driver == id.driver && s.pool == id.pool);
            let facts =
                matching.find_map(|s| s.devices.iter().find(|device| device.name == id.device));
            return self.visited[&place].place().has_templates.then_some((facts?, None));
        }
        let visit = self.visited[&place].place();
        let slices = self.slices(id);
        let reached = |slice: &&&ResourceSlice| match &slice.access {
            SliceAccess::AllNodes => true,
            SliceAccess::Node(node) => visit.node == Some(node),
            SliceAccess::Selector(selector) => selector.terms.iter().any(|term| {
                term.nodes
                    .as_ref()
                    .is_none_or(|nodes| visit.node.is_some_and(|n| nodes.contains(n)))
                    && visit
                        .requirements
                        .compatible(&term.requirements, Undefined::WellKnown)
                        .is_ok()
            }),
            SliceAccess::Unsupported => false,
        };
        let has_devices = |slice: &&&ResourceSlice| slice.shared_counters.is_empty();
        let reached = || slices.iter().filter(reached).filter(has_devices);
        let mut names = BTreeSet::new();
        let is_unique =
            reached().flat_map(|slice| &slice.devices).all(|facts| names.insert(&facts.name));
        let reached_device = reached().find_map(|slice| {
            let facts = slice.devices.iter().find(|facts| facts.name == id.device)?;
            Some((facts, Some(*slice)))
        });
        reached_device.filter(|_| is_unique && is_whole(&slices))
    }

    fn claim(&mut self, own: &'a ResourceClaim, got: &Got) {
        let key = &own.key;
        if own.allocation.is_some() && !self.is_freed(own) {
            self.says(format!("{key} was allocated before"));
        }
        for (name, devices) in &got.devices {
            if DEVICES_PER_CLAIM_MAX < devices.len() {
                self.says(format!("{key} on {name} has {} devices", devices.len()));
            }
            let mut bounds: Requirements = self.visited[&got.place].place().requirements.clone();
            for device in devices {
                let Some((facts, slice)) = self.device(got.place, name, device) else {
                    self.says(format!("{key} on {name}: {} is out of reach", device.id));
                    continue;
                };
                if let Some(SliceAccess::Selector(selector)) = slice.map(|slice| &slice.access) {
                    for term in &selector.terms {
                        bounds.add_all(&term.requirements);
                    }
                }
                let expected = facts.allows_multiple_allocations;
                if expected != device.consumed.is_some() {
                    self.says(format!("{key} on {name}: {} is shared or not", device.id));
                }
            }
            if !bounds.iter().all(model::Requirement::can_be_satisfied) {
                self.says(format!("{key} on {name}: no node reaches all of its devices"));
            }
            self.requests(own, got.place, name, devices);
            self.constraints(own, got.place, name, devices);
        }
    }

    fn requests(
        &mut self,
        own: &'a ResourceClaim,
        place: DevicePlaceKey,
        name: &InstanceTypeName,
        devices: &[AllocatedDevice],
    ) {
        let mut left = devices.len();
        for request in &own.requests {
            let asks: Vec<(String, &DeviceAsk)> = match &request.kind {
                RequestKind::Exactly(ask) => vec![(request.name.clone(), ask)],
                RequestKind::FirstAvailable(list) => {
                    list.iter().map(|(sub, ask)| (format!("{}/{sub}", request.name), ask)).collect()
                }
                RequestKind::Unsupported => Vec::new(),
            };
            let of = |name: &str| -> Vec<&AllocatedDevice> {
                devices.iter().filter(|device| device.request == name).collect()
            };
            let used: Vec<_> = asks.iter().filter(|(name, _)| !of(name).is_empty()).collect();
            let [(ask_name, ask)] = used.as_slice() else {
                let (key, request) = (&own.key, &request.name);
                self.says(format!("{key} on {name}: {request} has devices of {} asks", used.len()));
                continue;
            };
            let got = of(ask_name);
            left -= got.len();
            if let DeviceCount::Exact(count) = ask.count
                && count != got.len()
            {
                self.says(format!("{} on {name}: {ask_name} has {} devices", own.key, got.len()));
            }
            for device in got {
                let Some((facts, _)) = self.device(place, name, device) else { continue };
                if !self.selects(ask, &device.id, facts) {
                    self.says(format!("{} on {name}: {} is not selected", own.key, device.id));
                }
                self.share(own, ask, facts, device);
            }
        }
        if left != 0 {
            self.says(format!("{} on {name}: {left} devices are for no request", own.key));
        }
    }

    fn selects(&self, ask: &DeviceAsk, id: &DeviceId, device: &SliceDevice) -> bool {
        let class = self.facts.classes.iter().rfind(|class| class.name == ask.class);
        let Some(class) = class else { return false };
        class.selectors.iter().chain(&ask.selectors).all(|selector| match selector {
            DeviceSelector::Cel(expression) => {
                let device = SelectableDevice { driver: &id.driver, device };
                Words.selects(expression, device) == Ok(true)
            }
            DeviceSelector::Unsupported => false,
        })
    }

    /// A share is at least what is asked for, and one that the policy allows.
    fn share(
        &mut self,
        own: &ResourceClaim,
        ask: &DeviceAsk,
        facts: &SliceDevice,
        device: &AllocatedDevice,
    ) {
        let Some(consumed) = &device.consumed else { return };
        if ask.capacity.keys().any(|name| !consumed.contains_key(name)) {
            self.says(format!("{}: {} lacks a capacity", own.key, device.id));
        }
        for (name, share) in consumed {
            let capacity = &facts.capacity[name];
            let asked = ask.capacity.get(name);
            let policy = capacity.policy.as_ref();
            let is_valid = match policy.and_then(|policy| policy.valid.as_ref()) {
                _ if policy.is_some_and(|policy| policy.default == Some(*share)) => true,
                None => true,
                Some(ValidAmounts::Values(values)) => values.contains(share),
                Some(ValidAmounts::Range { min, max, .. }) => {
                    (asked.is_none() || min <= share) && max.is_none_or(|max| *share <= max)
                }
            };
            if asked.is_some_and(|asked| share < asked) || !is_valid {
                self.says(format!("{}: {share} of {name} of {}", own.key, device.id));
            }
        }
    }

    fn constraints(
        &mut self,
        own: &'a ResourceClaim,
        place: DevicePlaceKey,
        name: &InstanceTypeName,
        devices: &[AllocatedDevice],
    ) {
        for constraint in &own.constraints {
            let DeviceConstraint::MatchAttribute { attribute, requests } = constraint else {
                continue;
            };
            let parent = |request: &str| request.split('/').next().unwrap().to_owned();
            let held: Vec<&AllocatedDevice> = devices
                .iter()
                .filter(|device| {
                    requests.is_empty()
                        || requests.contains(&device.request)
                        || requests.contains(&parent(&device.request))
                })
                .collect();
            let value = |device: &AllocatedDevice| {
                let (facts, _) = self.device(place, name, device)?;
                let short = attribute.strip_prefix(&format!("{}/", device.id.driver));
                let value = facts.attributes.get(attribute);
                value.or_else(|| facts.attributes.get(short?)).cloned()
            };
            let values: BTreeSet<_> = held.iter().map(|device| value(device)).collect();
            let is_one = values.len() <= 1;
            let is_bound = values.iter().all(Option::is_none)
                && self.are_bound(place, name, attribute, held.iter().map(|device| &device.id));
            let is_same = is_one && values.iter().all(Option::is_some) || is_bound;
            if !is_same {
                self.says(format!("{} on {name}: {attribute} differs", own.key));
            }
        }
    }

    /// Whether bindings lead from each device to each other.
    fn are_bound<'d>(
        &self,
        place: DevicePlaceKey,
        name: &InstanceTypeName,
        attribute: &str,
        mut ids: impl Iterator<Item = &'d DeviceId>,
    ) -> bool {
        let Some(templates) = self.templates(place, name) else { return false };
        let bindings = templates.bindings.iter().filter(|binding| binding.attribute == attribute);
        let bindings: Vec<&Vec<DeviceId>> =
            bindings.map(|binding| &binding.devices).filter(|devices| 1 < devices.len()).collect();
        let Some(first) = ids.next() else { return true };
        let mut reached = BTreeSet::from([first]);
        for _ in 0..bindings.len() {
            for devices in &bindings {
                if devices.iter().any(|device| reached.contains(device)) {
                    reached.extend(*devices);
                }
            }
        }
        1 < reached.len() && ids.all(|id| reached.contains(id))
    }

    /// Devices that are taken as a whole are taken once.
    fn exclusive(&mut self, gotten: &Gotten) {
        let mut places: BTreeMap<DeviceId, BTreeSet<DevicePlaceKey>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut wrong = Vec::new();
        for claim in gotten.values() {
            for (name, devices) in &claim.devices {
                for device in devices.iter().filter(|device| device.consumed.is_none()) {
                    let id = &device.id;
                    if !seen.insert((claim.place, name.clone(), device.is_template, id.clone())) {
                        wrong.push(format!("{id} is taken twice on {name}"));
                    }
                    if device.is_template {
                        continue;
                    }
                    if self.taken.contains(id) {
                        wrong.push(format!("{id} was taken before"));
                    }
                    places.entry(id.clone()).or_default().insert(claim.place);
                }
            }
        }
        let several = places.into_iter().filter(|(_, places)| 1 < places.len());
        wrong.extend(several.map(|(id, _)| format!("{id} is taken by several nodes")));
        self.violations.extend(wrong);
    }

    /// Neither shares nor counters exceed what there is, whichever type each node becomes.
    fn shared(&mut self, gotten: &Gotten) {
        // By kind and name: by place: by type.
        let mut sums: BTreeMap<String, BTreeMap<DevicePlaceKey, BTreeMap<InstanceTypeName, i128>>> =
            BTreeMap::new();
        let mut there: BTreeMap<String, i128> = BTreeMap::new();
        for claim in gotten.values() {
            for (name, devices) in &claim.devices {
                for device in devices {
                    let Some((facts, _)) = self.device(claim.place, name, device) else { continue };
                    let id = &device.id;
                    let local = format!("{:?} {name} ", claim.place);
                    let scope = if device.is_template { local.as_str() } else { "" };
                    let mut add = |what: String, amount: i128, whole: i128| {
                        let by_type = sums.entry(what.clone()).or_default().entry(claim.place);
                        *by_type.or_default().entry(name.clone()).or_default() += amount;
                        there.insert(what, whole);
                    };
                    for (capacity, share) in device.consumed.iter().flatten() {
                        let before = self.shares.get(id).and_then(|shares| shares.get(capacity));
                        let before = before.filter(|_| !device.is_template).copied().unwrap_or(0);
                        let whole = facts.capacity[capacity].value.nanos() - before;
                        add(format!("{scope}{id} {capacity}"), share.nanos(), whole);
                    }
                    for (set, counters) in &facts.consumes_counters {
                        for (counter, amount) in counters {
                            let whole = self.counter(claim.place, name, device, (set, counter));
                            let (driver, pool) = (&id.driver, &id.pool);
                            let what = format!("{scope}{driver}/{pool} {set}.{counter}");
                            add(what, amount.nanos(), whole);
                        }
                    }
                }
            }
        }
        for (what, by_place) in sums {
            let most = by_place.values().map(|by_type| by_type.values().max().unwrap());
            let sum: i128 = most.sum();
            if there[&what] < sum {
                self.says(format!("{what}: {sum} of {}", there[&what]));
            }
        }
    }

    /// What the cluster leaves of a counter.
    fn counter(
        &self,
        place: DevicePlaceKey,
        name: &InstanceTypeName,
        device: &AllocatedDevice,
        (set, counter): (&str, &str),
    ) -> i128 {
        let id = &device.id;
        let sets: Vec<_> = if device.is_template {
            let slices = self
                .templates(place, name)
                .map(|templates| &templates.slices)
                .into_iter()
                .flatten();
            let counted = slices.filter(|s| s.driver == id.driver && s.pool == id.pool);
            counted.flat_map(|slice| &slice.shared_counters).collect()
        } else {
            self.slices(id).into_iter().flat_map(|slice| &slice.shared_counters).collect()
        };
        let declared = sets
            .iter()
            .find(|counted| counted.name == set)
            .and_then(|set| set.counters.get(counter));
        let mut left = declared.map_or(-1, |amount| amount.nanos());
        if !device.is_template {
            let slices = self.slices(id);
            let devices = slices.iter().filter(|slice| slice.shared_counters.is_empty());
            for other in devices.flat_map(|slice| &slice.devices) {
                let other_id = DeviceId { device: Arc::clone(&other.name), ..id.clone() };
                let consumed =
                    other.consumes_counters.get(set).and_then(|consumed| consumed.get(counter));
                if let Some(amount) = consumed.filter(|_| self.taken.contains(&other_id)) {
                    left -= amount.nanos();
                }
            }
        }
        left
    }
}
