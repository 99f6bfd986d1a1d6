//! What could be bought: instance types and their offerings.
//!
//! Karpenter: `pkg/cloudprovider/types.go`.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    HourlyPrice, InstanceTypeInfo, InstanceTypeName, Requirement, Requirements, ReservationId,
    Resources, Zone, ZoneId, labels, requirement::Value,
};

/// How capacity is paid for. The order is the one in which it is preferred at launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapacityType {
    /// A capacity reservation that is paid for anyway.
    Reserved,
    /// Spare capacity, reclaimed at two minutes' notice.
    Spot,
    /// At list price, until it is terminated.
    OnDemand,
}

impl CapacityType {
    /// All of them, in the order of preference.
    pub const ALL: [Self; 3] = [Self::Reserved, Self::Spot, Self::OnDemand];

    /// The value of the label `karpenter.sh/capacity-type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Spot => "spot",
            Self::OnDemand => "on-demand",
        }
    }

    /// The capacity type called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capacity_type| capacity_type.as_str() == text)
    }
}

impl fmt::Display for CapacityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What names an offering: capacity type, instance type and zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferingKey {
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// The instance type.
    pub instance_type: InstanceTypeName,
    /// The zone.
    pub zone: Zone,
}

impl fmt::Display for OfferingKey {
    /// `spot m7g.large us-west-2a`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.capacity_type, self.instance_type, self.zone)
    }
}

/// The capacity reservation behind a reserved offering.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reservation {
    /// `cr-…`.
    pub id: ReservationId,
    /// `default` or `capacity-block`.
    pub kind: String,
    /// Whether it may be interrupted.
    pub interruptible: bool,
    /// Instances that are left.
    pub count: u32,
}

/// One way to buy an instance type: where, how it is paid for, at what price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offering {
    /// The zone.
    pub zone: Zone,
    /// The zone's id, where it is known.
    pub zone_id: Option<ZoneId>,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// For one hour.
    pub price: HourlyPrice,
    /// Whether nothing is wrong with it: offered in the zone, a subnet there, no failure of late. A
    /// reservation of which nothing is left is available all the same.
    pub is_available: bool,
    /// Of a reserved offering.
    pub reservation: Option<Reservation>,
}

/// An instance type as a node of one NodeClass would have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceType {
    /// Its name.
    pub name: InstanceTypeName,
    /// Every well-known label; `DoesNotExist` where one does not apply.
    pub requirements: Requirements,
    /// What the node reports as capacity.
    pub capacity: Resources,
    /// What kubelet, system and eviction threshold take from it, in sum.
    pub overhead: Resources,
    /// Where and how it can be bought.
    pub offerings: Vec<Offering>,
}

/// Everything that could be bought in a region, before any NodeClass narrows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionCatalog {
    /// Such as `us-west-2`.
    pub region: String,
    /// The ids of the zones.
    pub zones: BTreeMap<Zone, ZoneId>,
    /// Sorted by name.
    pub instance_types: Vec<Arc<InstanceType>>,
    /// What EC2 says about those types; not known for catalogs that were read as they are printed.
    pub descriptions: BTreeMap<InstanceTypeName, Arc<InstanceTypeInfo>>,
}

impl Offering {
    /// The labels that [`Self::is_compatible`] looks at.
    pub const LABELS: [&'static str; 6] = [
        labels::ZONE,
        labels::CAPACITY_TYPE,
        labels::ZONE_ID,
        labels::RESERVATION_ID,
        labels::RESERVATION_TYPE,
        labels::RESERVATION_INTERRUPTIBLE,
    ];

    /// Whether an instance can be launched as this offering now: it is available and, if it is a
    /// reservation, not full.
    ///
    /// Karpenter: `pkg/cloudprovider/types.go`, `Offerings.Launchable`.
    pub fn is_launchable(&self) -> bool {
        self.is_available && self.reservation.as_ref().is_none_or(|held| 0 < held.count)
    }

    /// Whether a claim with `requirements` may be launched as this offering. Labels that only the
    /// offering defines are looked at; undefined well-known ones pass.
    ///
    /// Karpenter: `Offerings.Compatible`.
    pub fn is_compatible(&self, requirements: &Requirements) -> bool {
        let allows = |key: &str, value: &str| requirements.get(key).is_none_or(|r| r.has(value));
        let zone_id = self.zone_id.as_ref();
        let reservation = self.reservation.as_ref();
        allows(labels::ZONE, self.zone.as_str())
            && allows(labels::CAPACITY_TYPE, self.capacity_type.as_str())
            && zone_id.is_none_or(|id| allows(labels::ZONE_ID, id.as_str()))
            && match reservation {
                Some(reservation) => {
                    let interruptible = if reservation.interruptible { "true" } else { "false" };
                    allows(labels::RESERVATION_ID, reservation.id.as_str())
                        && allows(labels::RESERVATION_TYPE, &reservation.kind)
                        && allows(labels::RESERVATION_INTERRUPTIBLE, interruptible)
                }
                None => labels::OF_RESERVATIONS
                    .iter()
                    .all(|key| requirements.get(key).is_none_or(Requirement::allows_absence)),
            }
    }
}

impl InstanceType {
    /// The type where nothing reserved is bought: without such offerings, and without what their labels would say.
    #[must_use]
    pub fn without_reservations(&self) -> Self {
        let mut bought = self.clone();
        bought.offerings.retain(|offering| offering.capacity_type != CapacityType::Reserved);
        for requirement in self.requirements.iter() {
            let key = requirement.key().as_str();
            if labels::OF_RESERVATIONS.contains(&key) {
                let none = Requirement::listed(requirement.key().clone(), crate::Values::default());
                bought.requirements.replace(none);
            } else if key == labels::CAPACITY_TYPE {
                let is_bought = |value: &&Value| &***value != CapacityType::Reserved.as_str();
                let values = requirement.values().iter().filter(is_bought).cloned().collect();
                let capacity_types = Requirement::listed(requirement.key().clone(), values);
                bought.requirements.replace(capacity_types);
            }
        }
        bought
    }

    /// What is left for pods: capacity without overhead, and memory without huge pages.
    pub fn allocatable(&self) -> Resources {
        let mut left = self.capacity.saturating_sub(&self.overhead);
        let huge_pages =
            self.capacity.extended.iter().filter(|(n, _)| n.as_str().starts_with("hugepages-"));
        let huge_pages = huge_pages.map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
        left.memory.0 = left.memory.0.saturating_sub(huge_pages);
        left
    }

    /// The offering called `key`, if this type has it.
    pub fn offering(&self, key: &OfferingKey) -> Option<&Offering> {
        let matches = |offering: &&Offering| {
            offering.capacity_type == key.capacity_type && offering.zone == key.zone
        };
        (self.name == key.instance_type).then(|| self.offerings.iter().find(matches)).flatten()
    }

    /// The name of `offering` as one of this type's.
    pub fn key_of(&self, offering: &Offering) -> OfferingKey {
        OfferingKey {
            capacity_type: offering.capacity_type,
            instance_type: self.name.clone(),
            zone: offering.zone.clone(),
        }
    }

    /// The cheapest offering that can be launched now and that `requirements` allow. Ties go to the zone, then to the
    /// capacity type, that sorts first.
    pub fn cheapest(&self, requirements: &Requirements) -> Option<&Offering> {
        self.offerings
            .iter()
            .filter(|offering| offering.is_launchable() && offering.is_compatible(requirements))
            .min_by_key(|offering| (offering.price, &offering.zone, offering.capacity_type))
    }

    /// The only value that the type has for the label `key`.
    pub fn label(&self, key: &str) -> Option<&Value> {
        self.requirements.get(key).and_then(Requirement::single_value)
    }
}

impl RegionCatalog {
    /// The type called `name`.
    pub fn instance_type(&self, name: &InstanceTypeName) -> Option<&Arc<InstanceType>> {
        let index = self.instance_types.binary_search_by(|t| t.name.cmp(name)).ok()?;
        self.instance_types.get(index)
    }
}
