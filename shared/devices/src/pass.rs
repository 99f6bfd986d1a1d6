//! Everything that is known of devices in one pass.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use model::{
    InstanceTypeName, NodeName, NodePoolName, Pod, PodUid, Requirements,
    dynamic_resources::{DeviceFacts, ResourceClaim, ResourceClaimKey, ResourceSlice},
};

use crate::{
    allocate::DevicePlace,
    allocated::Allocated,
    inventory::{Entry, Outfit, Published},
    pools::{Current, View},
    refusal::{ClaimFault, DeviceRefusal},
    requests::{self, Prepared},
    select::{Selectors, Selects},
    state::Allocations,
};

/// What is supposed to go in a simulation.
#[derive(Clone, Debug, Default)]
pub struct Leaving {
    /// Nodes that take no part.
    pub nodes: BTreeSet<NodeName>,
    /// Pods that are moved or deleted. A claim that only they have reserved is allocated anew.
    pub pods: BTreeSet<PodUid>,
}

/// Which devices the claims of pods get, and where. Answers depend on facts only, not on their order.
#[derive(Debug)]
pub struct Devices<'a> {
    pub(crate) published: Published<'a>,
    pub(crate) allocated: Allocated<'a>,
    pub(crate) selectors: Selectors<'a>,
    /// By key.
    claims: Vec<&'a ResourceClaim>,
    numbers: BTreeMap<&'a ResourceClaimKey, usize>,
    prepared: Vec<Result<Prepared<'a>, ClaimFault>>,
    /// By number of a claim: that of the first one that asks for the same.
    alike: Vec<usize>,
    outfits: BTreeMap<&'a NodePoolName, BTreeMap<&'a InstanceTypeName, Outfit<'a>>>,
    /// By pool, before any pod or node leaves.
    current: Vec<Current>,
    broken: Rc<BTreeSet<usize>>,
}

/// What differs while some nodes and pods leave.
#[derive(Debug, Default)]
pub(crate) struct Start {
    pub(crate) freed: BTreeSet<usize>,
    current: BTreeMap<usize, Current>,
    broken: Rc<BTreeSet<usize>>,
}

impl<'a> Devices<'a> {
    /// Numbers everything, looks DeviceClasses up and compiles selectors. If an object appears twice, the last one
    /// wins.
    pub fn new(facts: &'a DeviceFacts, selects: impl Selects + 'a) -> Self {
        let mut places = 0;
        let is_there = |owner: &NodeName| facts.initialized.contains(owner);
        let slices = facts.slices.iter();
        let counted = slices.filter(|slice| slice.owner.as_ref().is_none_or(is_there));
        let published = Published::new(counted, &mut places);
        let mut outfits: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (pool, types) in &facts.templates {
            let each = types.iter().map(|(name, own)| (name, Outfit::new(own, &mut places)));
            outfits.insert(pool, each.collect());
        }
        let by_name: BTreeMap<&str, _> =
            facts.classes.iter().map(|class| (class.name.as_str(), class)).collect();
        let by_key: BTreeMap<_, _> = facts.claims.iter().map(|claim| (&claim.key, claim)).collect();
        let mut selectors = Selectors::new(selects);
        let mut allocated = Allocated::default();
        let mut prepared = Vec::with_capacity(by_key.len());
        for (number, claim) in by_key.values().copied().enumerate() {
            allocated.add(number, claim, &published.numbers);
            prepared.push(requests::prepare(claim, &by_name, &mut selectors));
        }
        let nothing = BTreeSet::new();
        let is_taken = |device| allocated.is_taken(device, &nothing);
        let pools = published.pools.iter();
        let current: Vec<_> = pools.map(|pool| Current::of(pool, |_| false, is_taken)).collect();
        let numbered = current.iter().enumerate();
        let broken = numbered.filter(|(_, current)| current.is_broken_everywhere());
        let broken = Rc::new(broken.map(|(number, _)| number).collect());
        let claims: Vec<&ResourceClaim> = by_key.values().copied().collect();
        let alike = requests::alike(&claims);
        let numbers = by_key.into_keys().enumerate().map(|(number, key)| (key, number)).collect();
        Self {
            published,
            allocated,
            selectors,
            claims,
            numbers,
            prepared,
            alike,
            outfits,
            current,
            broken,
        }
    }

    /// What is allocated in the cluster alone, while `leaving` leaves.
    pub fn begin(&self, leaving: &Leaving) -> Allocations {
        let freed = self.allocated.freed(&leaving.pods, |number| self.claim(number));
        let devices = freed.iter().flat_map(|claim| self.allocated.devices(*claim));
        let owned = leaving.nodes.iter().filter_map(|node| self.published.by_owner.get(node));
        let mut changed: BTreeSet<usize> = owned.flatten().copied().collect();
        changed.extend(devices.filter_map(|device| self.published.pool_of.get(device).copied()));
        let is_hidden = |slice: &ResourceSlice| {
            slice.owner.as_ref().is_some_and(|owner| leaving.nodes.contains(owner))
        };
        let mut broken = Rc::clone(&self.broken);
        let mut current = BTreeMap::new();
        for number in changed {
            let Some(pool) = self.published.pools.get(number) else { continue };
            let is_taken = |device| self.allocated.is_taken(device, &freed);
            let rebuilt = Current::of(pool, is_hidden, is_taken);
            if rebuilt.is_broken_everywhere() != broken.contains(&number) {
                let broken = Rc::make_mut(&mut broken);
                if !broken.remove(&number) {
                    broken.insert(number);
                }
            }
            current.insert(number, rebuilt);
        }
        Allocations::new(Start { freed, current, broken })
    }

    /// The claims of a pod, each once, in the order in which the pod names them. Names for which no claim was made are
    /// left out.
    ///
    /// Karpenter: `resolvePodClaims` of `pkg/controllers/provisioning/scheduling/dra.go`.
    pub fn claims_of(&self, pod: &Pod) -> Result<Vec<ResourceClaimKey>, DeviceRefusal> {
        let mut keys = Vec::with_capacity(pod.spec.claims.references.len());
        for (name, own) in &pod.spec.claims.references {
            let made = || pod.made_claims.get(name).and_then(Option::as_ref);
            let Some(name) = own.as_ref().or_else(made) else { continue };
            let key = ResourceClaimKey { namespace: pod.key.namespace.clone(), name: name.clone() };
            if !self.numbers.contains_key(&key) {
                return Err(DeviceRefusal::ClaimNotFound(key));
            }
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// The claims that no node satisfies, whatever there is, each with what is wrong with it.
    pub fn faults(&self) -> impl Iterator<Item = (&'a ResourceClaimKey, &ClaimFault)> {
        let claims = self.claims.iter().zip(&self.prepared);
        claims.filter_map(|(claim, prepared)| Some((&claim.key, prepared.as_ref().err()?)))
    }

    /// What claims ask for that have no devices: claims for which it is the same get devices on the same nodes. `None`
    /// if one of them has devices, or is not there.
    pub fn asked(&self, claims: &[ResourceClaimKey]) -> Option<Vec<usize>> {
        let each = claims.iter().map(|key| {
            let number = self.number(key)?;
            let is_open = self.claim(number)?.allocation.is_none();
            self.alike.get(number).copied().filter(|_| is_open)
        });
        let mut asked: Vec<usize> = each.collect::<Option<_>>()?;
        asked.sort_unstable();
        Some(asked)
    }

    /// Whether a node that gets no devices, of which `refusal` says why, will never get them in the plan of `state`:
    /// nothing but the node takes devices that it reaches, so that none of them is given back.
    pub fn is_final(
        &self,
        state: &Allocations,
        place: &DevicePlace<'_>,
        refusal: &DeviceRefusal,
    ) -> bool {
        let is_known = matches!(refusal, DeviceRefusal::Shortage(_) | DeviceRefusal::Claim { .. });
        let view = || self.view(&state.start, (place.requirements, place.node));
        let is_own = |entry: &&Entry<'_>| !self.published.open.contains(&entry.pool);
        is_known && (self.published.open.is_empty() || view().entries.iter().all(is_own))
    }

    pub(crate) fn number(&self, key: &ResourceClaimKey) -> Option<usize> {
        self.numbers.get(key).copied()
    }

    pub(crate) fn claim(&self, number: usize) -> Option<&'a ResourceClaim> {
        self.claims.get(number).copied()
    }

    /// A claim that can be searched for.
    pub(crate) fn prepared(&self, number: usize) -> Option<&Result<Prepared<'a>, ClaimFault>> {
        self.prepared.get(number)
    }

    /// Devices that instances of a type have.
    pub(crate) fn outfit(
        &self,
        pool: &NodePoolName,
        instance_type: &InstanceTypeName,
    ) -> Option<&Outfit<'a>> {
        self.outfits.get(pool)?.get(instance_type)
    }

    /// What counts of a pool.
    pub(crate) fn current<'s>(&'s self, start: &'s Start, pool: usize) -> Option<&'s Current> {
        start.current.get(&pool).or_else(|| self.current.get(pool))
    }

    /// The published devices that a node reaches.
    pub(crate) fn view<'s>(
        &'s self,
        start: &'s Start,
        node: (&Requirements, Option<&NodeName>),
    ) -> View<'s> {
        let current = |pool| self.current(start, pool);
        View::new(&self.published, current, &start.broken, node)
    }
}
