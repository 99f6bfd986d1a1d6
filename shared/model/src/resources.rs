//! Bundles of resources: what containers request, what nodes have.

use std::{collections::BTreeMap, fmt};

use crate::{Bytes, Millicores, Quantity, ResourceName, quantity::InvalidQuantity};

/// The resource of which EKS adds one to each Windows pod: an address of its node.
///
/// <https://github.com/aws/amazon-vpc-resource-controller-k8s>
pub const PRIVATE_IPV4_ADDRESS: &str = "vpc.amazonaws.com/PrivateIPv4Address";

/// Amounts by resource. What is not named is zero.
///
/// There is no subtraction operator: running short is a value, see [`Resources::checked_sub`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources {
    /// `cpu`.
    pub cpu: Millicores,
    /// `memory`.
    pub memory: Bytes,
    /// `ephemeral-storage`.
    pub ephemeral_storage: Bytes,
    /// `pods`: requests count one for each pod.
    pub pods: u64,
    /// Everything else, in whole units. A zero may stand here: [`Resources::named_by`] alone tells it from absence.
    pub extended: BTreeMap<ResourceName, u64>,
}

impl Resources {
    /// The amount of the resource called `name`: millicores for `cpu`, bytes for `memory` and
    /// `ephemeral-storage`, whole units for everything else.
    pub fn get(&self, name: &str) -> u64 {
        match name {
            "cpu" => self.cpu.0,
            "memory" => self.memory.0,
            "ephemeral-storage" => self.ephemeral_storage.0,
            "pods" => self.pods,
            other => self.extended.get(other).copied().unwrap_or_default(),
        }
    }

    /// Sets an amount in the unit of [`Resources::get`].
    pub fn set(&mut self, name: &ResourceName, amount: u64) {
        match name.as_str() {
            "cpu" => self.cpu = Millicores(amount),
            "memory" => self.memory = Bytes(amount),
            "ephemeral-storage" => self.ephemeral_storage = Bytes(amount),
            "pods" => self.pods = amount,
            _ => {
                self.extended.insert(name.clone(), amount);
            }
        }
    }

    /// Reads `text` as an amount of `name`, rounding up, and sets it.
    pub fn set_quantity(&mut self, name: &ResourceName, text: &str) -> Result<(), InvalidQuantity> {
        let amount = base_units(name.as_str(), Quantity::parse_unsigned(text)?);
        self.set(name, amount);
        Ok(())
    }

    /// Every amount that is not zero, `cpu`, `memory`, `ephemeral-storage`, `pods` first.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        [
            ("cpu", self.cpu.0),
            ("memory", self.memory.0),
            ("ephemeral-storage", self.ephemeral_storage.0),
            ("pods", self.pods),
        ]
        .into_iter()
        .chain(self.extended.iter().map(|(name, amount)| (name.as_str(), *amount)))
        .filter(|(_, amount)| *amount > 0)
    }

    /// The sum; an amount that does not fit stays at the largest one.
    #[must_use]
    pub fn saturating_add(&self, other: &Self) -> Self {
        self.merged(other, u64::saturating_add)
    }

    /// The larger amount of each resource.
    #[must_use]
    pub fn larger(&self, other: &Self) -> Self {
        self.merged(other, u64::max)
    }

    /// What is left after `used`, each amount at least zero.
    #[must_use]
    pub fn saturating_sub(&self, used: &Self) -> Self {
        self.merged(used, u64::saturating_sub)
    }

    /// What is left after `used`, or `None` when any amount runs short.
    pub fn checked_sub(&self, used: &Self) -> Option<Self> {
        used.fits_in(self).then(|| self.saturating_sub(used))
    }

    /// Whether `available` has at least every amount of this.
    pub fn fits_in(&self, available: &Self) -> bool {
        self.iter().all(|(name, amount)| amount <= available.get(name))
    }

    /// The part of this whose resources `other` names, be it with zero. `cpu`, `memory`, `ephemeral-storage` and
    /// `pods` are always named.
    #[must_use]
    pub fn named_by(&self, other: &Self) -> Self {
        let mut named = self.clone();
        named.extended.retain(|name, _| other.extended.contains_key(name));
        named
    }

    /// Whether every amount is zero.
    pub fn is_zero(&self) -> bool {
        self.iter().next().is_none()
    }

    fn merged(&self, other: &Self, merge: fn(u64, u64) -> u64) -> Self {
        let mut extended = self.extended.clone();
        for (name, amount) in &other.extended {
            let mine = extended.entry(name.clone()).or_default();
            *mine = merge(*mine, *amount);
        }
        // Resources that only `self` names meet a zero.
        for (name, amount) in &mut extended {
            if !other.extended.contains_key(name) {
                *amount = merge(*amount, 0);
            }
        }
        Self {
            cpu: Millicores(merge(self.cpu.0, other.cpu.0)),
            memory: Bytes(merge(self.memory.0, other.memory.0)),
            ephemeral_storage: Bytes(merge(self.ephemeral_storage.0, other.ephemeral_storage.0)),
            pods: merge(self.pods, other.pods),
            extended,
        }
    }
}

/// `quantity` in the unit that [`Resources::get`] has for `name`, rounded up.
pub fn base_units(name: &str, quantity: Quantity) -> u64 {
    if name == "cpu" { quantity.to_millis() } else { quantity.to_units() }
}

/// `amount` of `name` as Kubernetes shows it: `1900m`, `3Gi`, `7`.
pub fn format_amount(name: &str, amount: u64) -> String {
    match name {
        "cpu" => Millicores(amount).to_string(),
        "memory" | "ephemeral-storage" => Bytes(amount).to_string(),
        name if name.starts_with("hugepages-") => Bytes(amount).to_string(),
        _ => amount.to_string(),
    }
}

impl fmt::Display for Resources {
    /// `cpu 1900m, memory 3Gi, pods 7`; `nothing` when empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, amount) in self.iter() {
            write!(f, "{separator}{name} {}", format_amount(name, amount))?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("nothing") } else { Ok(()) }
    }
}
