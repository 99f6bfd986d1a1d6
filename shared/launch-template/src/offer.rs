//! Instance types as the nodes of one EC2NodeClass would have them.
//!
//! It narrows and resizes what the catalog has; where the catalog comes from is not known here.
//!
//! Karpenter: `pkg/providers/instancetype/instancetype.go` and `pkg/providers/instancetype/offering`
//! of the AWS provider.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use model::{
    CapacityType, HourlyPrice, InstanceType, InstanceTypeInfo, LabelKey, Offering, OfferingKey,
    Problem, RegionCatalog, Requirement, Requirements, Reservation, Values, Zone, ZoneId, labels,
    ledger::Head,
    node_class::{CapacityReservation, PlacementStrategy, ResolvedNodeClass, TemplateSource},
    requirement::Value,
};

use crate::{
    capacity::{Overhead, Sizing, resize},
    family,
    image::image_for,
    node_settings::NodeSettings,
};

mod kept;
mod short;

pub use kept::Offers;
pub use short::choose_last;

/// How many times cheaper than on-demand a reserved offering counts: it is paid for anyway, and the
/// cheaper type still comes first.
pub(crate) const RESERVED_DISCOUNT: u64 = 10_000_000;

/// An instance type, and what its overhead consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedType {
    /// The type; its overhead is the sum.
    pub instance_type: InstanceType,
    /// The parts.
    pub overhead: Overhead,
}

/// The instance types of `catalog` as nodes of `class` would have them, sorted by name, with
/// Karpenter's default settings.
///
/// A type that no image of the class starts on is left out. An offering is available where the
/// class has a subnet, when it does not are unavailable (`unavailable_offerings` says until when each one does), and
/// when the class asks for nothing that the type cannot do.
pub fn offer(
    catalog: &RegionCatalog,
    class: &ResolvedNodeClass,
    unavailable_offerings: &BTreeMap<OfferingKey, Timestamp>,
    now: Timestamp,
) -> Vec<Arc<InstanceType>> {
    let mut types = types_of(catalog, class, &NodeSettings::default());
    mark_unavailable(&mut types, unavailable_offerings, now);
    types
}

/// The instance types of `catalog` as nodes of `class` with `settings` would have them, sorted by name, as if nothing
/// became unavailable. It is long work for a whole region. None if [`all_types`] fails: such
/// classes do not become ready.
pub fn types_of(
    catalog: &RegionCatalog,
    class: &ResolvedNodeClass,
    settings: &NodeSettings,
) -> Vec<Arc<InstanceType>> {
    let types = all_types(catalog, class, settings).unwrap_or_default().into_iter();
    types
        .map(|offered| offered.instance_type)
        .filter(|instance_type| image_for(instance_type, &class.images).is_some())
        .map(Arc::new)
        .collect()
}

/// Makes those offerings of `types`, which are sorted by name, unavailable that still are unavailable.
/// What is reserved does as well, by type and zone: EC2 may say for a while that a reservation has
/// room which it does not give. Types without such an offering stay the very same.
fn mark_unavailable(
    types: &mut [Arc<InstanceType>],
    unavailable_offerings: &BTreeMap<OfferingKey, Timestamp>,
    now: Timestamp,
) {
    for (key, _) in unavailable_offerings.iter().filter(|(_, until)| **until > now) {
        end_offering(types, key);
    }
}

/// Makes an offering of `types`, which are sorted by name, unavailable.
fn end_offering(types: &mut [Arc<InstanceType>], key: &OfferingKey) {
    let index = types.binary_search_by(|t| t.name.cmp(&key.instance_type));
    if let Some(instance_type) = index.ok().and_then(|index| types.get_mut(index)) {
        end(instance_type, |o| {
            o.is_available && o.capacity_type == key.capacity_type && o.zone == key.zone
        });
    }
}

/// Makes all offerings of `types` unavailable in zones that traffic is still shifted away from, as `head` says.
///
/// Karpenter: `pkg/providers/instancetype/offering/provider.go` of the AWS provider.
fn leave_zones(types: &mut [Arc<InstanceType>], head: &Head, now: Timestamp) {
    if head.shifted_zones.is_empty() {
        return;
    }
    for instance_type in types {
        end(instance_type, |offering| offering.is_available && head.is_left(&offering.zone, now));
    }
}

/// Makes those offerings unavailable that end. A type without one stays the very same.
fn end(instance_type: &mut Arc<InstanceType>, ends: impl Fn(&Offering) -> bool) {
    if instance_type.offerings.iter().any(&ends) {
        let ended = Arc::make_mut(instance_type).offerings.iter_mut().filter(|o| ends(o));
        ended.for_each(|offering| offering.is_available = false);
    }
}

/// Every instance type of `catalog` as nodes of `class` would have it, sorted by name: also those
/// that no image starts on, and those of which nothing is available.
///
/// # Errors
///
/// The expression `maxPods` of the class has no number for one of them.
pub fn all_types(
    catalog: &RegionCatalog,
    class: &ResolvedNodeClass,
    settings: &NodeSettings,
) -> Result<Vec<OfferedType>, Box<Problem>> {
    let zones: BTreeMap<&Zone, &ZoneId> =
        class.subnets.iter().map(|subnet| (&subnet.zone, &subnet.zone_id)).collect();
    let view = View { class, sizing: Sizing::of(&class.class), settings, zones };
    let of_class = |base: &Arc<InstanceType>| {
        let info = catalog.descriptions.get(&base.name).map(|info| &**info);
        view.offered(base, info)
    };
    let mut types: Vec<_> =
        catalog.instance_types.iter().map(of_class).collect::<Result<_, _>>()?;
    types.sort_by(|a, b| a.instance_type.name.cmp(&b.instance_type.name));
    Ok(types)
}

/// A class and the zones in which it has subnets.
struct View<'a> {
    class: &'a ResolvedNodeClass,
    sizing: Sizing<'a>,
    settings: &'a NodeSettings,
    zones: BTreeMap<&'a Zone, &'a ZoneId>,
}

impl View<'_> {
    fn offered(
        &self,
        base: &InstanceType,
        info: Option<&InstanceTypeInfo>,
    ) -> Result<OfferedType, Box<Problem>> {
        let (capacity, overhead) = resize(base, info, &self.sizing, self.settings)?;
        let can_be_launched = self.is_compatible(base, info);
        let reservations: Vec<&CapacityReservation> = if self.settings.reserved_capacity {
            let capacity_reservations = self.class.reservations.iter();
            capacity_reservations
                .filter(|reservation| reservation.instance_type == base.name)
                .collect()
        } else {
            Vec::new()
        };
        let of_node = |offering: &Offering| Offering {
            zone_id: self.zones.get(&offering.zone).copied().cloned(),
            is_available: can_be_launched
                && is_available(base, offering)
                && self.zones.contains_key(&offering.zone),
            ..offering.clone()
        };
        let bought = base.offerings.iter().filter(|o| o.capacity_type != CapacityType::Reserved);
        let reserved = reservations.iter().map(|r| self.reserved(base, r, can_be_launched));
        Ok(OfferedType {
            instance_type: InstanceType {
                name: base.name.clone(),
                requirements: self.narrowed(&base.requirements, &reservations),
                capacity,
                overhead: overhead.sum(),
                offerings: bought.map(of_node).chain(reserved).collect(),
            },
            overhead,
        })
    }

    /// Whether `base` can do what the class asks for.
    fn is_compatible(&self, base: &InstanceType, info: Option<&InstanceTypeInfo>) -> bool {
        let class = &self.class.class;
        let instance_family = base.label(labels::INSTANCE_FAMILY).map_or("", |value| &**value);
        let hypervisor = base.label(labels::INSTANCE_HYPERVISOR).map_or("", |value| &**value);
        let strategy = self.class.placement_group.as_ref().map(|group| group.strategy.as_str());
        family::starts_on(class.image_family, instance_family)
            && (class.connection_tracking.is_none() || hypervisor == "nitro")
            && (class.network_interfaces.is_empty() || info.is_some_and(|s| self.has_cards(s)))
            && (class.nested_virtualization != Some(true)
                || info.is_some_and(|info| info.processor.has_nested_virtualization))
            && (class.enclaves != Some(true)
                || info.is_some_and(|info| info.processor.has_enclaves))
            && strategy.is_none_or(|strategy| {
                info.is_some_and(|s| s.placement_strategies.iter().any(|text| text == strategy))
            })
    }

    /// Whether the class's network interfaces fit on the cards of `info`.
    fn has_cards(&self, info: &InstanceTypeInfo) -> bool {
        let interfaces = &self.class.class.network_interfaces;
        let network = &info.network;
        let fits = |card: u32, device: u32| {
            let entry = network.cards.iter().find(|(index, _)| *index == card);
            entry.is_some_and(|(_, most)| device < *most)
        };
        let adapters = interfaces.iter().filter(|interface| interface.is_efa_only).count();
        network.has_ena
            && interfaces.iter().all(|interface| fits(interface.card, interface.device))
            && u32::try_from(adapters).is_ok_and(|count| count <= network.efa_interfaces)
    }

    fn reserved(
        &self,
        base: &InstanceType,
        reservation: &CapacityReservation,
        can_be_launched: bool,
    ) -> Offering {
        let zone = &reservation.zone;
        Offering {
            zone: zone.clone(),
            zone_id: self.zones.get(zone).copied().cloned(),
            capacity_type: CapacityType::Reserved,
            price: on_demand_price(base, zone).divided_by(RESERVED_DISCOUNT),
            // Also when nothing is left of it: that is no failure, and its type stays in lists.
            is_available: can_be_launched
                && !reservation.is_expiring
                && is_sold(base, zone)
                && self.zones.contains_key(zone),
            reservation: Some(Reservation {
                id: reservation.id.clone(),
                kind: reservation.kind().to_owned(),
                interruptible: reservation.is_interruptible,
                count: reservation.available_count,
            }),
        }
    }

    /// `requirements` with the zones, system, reservations and placement group of the class.
    fn narrowed(
        &self,
        requirements: &Requirements,
        reservations: &[&CapacityReservation],
    ) -> Requirements {
        let mut narrowed = requirements.clone();
        let keep = |key: &str, keeps: &dyn Fn(&str) -> bool| {
            let requirement = requirements.get(key)?;
            let values = requirement.values().iter().filter(|value| keeps(value));
            let key = requirement.key().clone();
            Some(Requirement::listed(key, values.map(Arc::clone).collect()))
        };
        let has_zone = |name: &str| self.zones.keys().any(|zone| zone.as_str() == name);
        if let Some(zones) = keep(labels::ZONE, &has_zone) {
            narrowed.replace(zones);
        }
        self.set_zone_ids(&mut narrowed);
        let is_bought = |name: &str| name != CapacityType::Reserved.as_str();
        let capacity_types = keep(labels::CAPACITY_TYPE, &is_bought);
        let bought = capacity_types.iter().flat_map(Requirement::values).map(Arc::clone);
        let reserved =
            (!reservations.is_empty()).then(|| Value::from(CapacityType::Reserved.as_str()));
        put(&mut narrowed, labels::CAPACITY_TYPE, bought.chain(reserved).collect());
        let of = |text: fn(&CapacityReservation) -> &str| {
            reservations.iter().map(|reservation| Value::from(text(reservation))).collect()
        };
        put(&mut narrowed, labels::RESERVATION_ID, of(|reservation| reservation.id.as_str()));
        put(&mut narrowed, labels::RESERVATION_TYPE, of(CapacityReservation::kind));
        let interruptible =
            of(|reservation| if reservation.is_interruptible { "true" } else { "false" });
        put(&mut narrowed, labels::RESERVATION_INTERRUPTIBLE, interruptible);
        self.set_system(&mut narrowed);
        self.set_tenancy(&mut narrowed);
        self.set_placement_group(&mut narrowed);
        narrowed
    }

    /// The ids of the zones that are left. A type without any zone has no zone ids either:
    /// unknown, not forbidden.
    fn set_zone_ids(&self, narrowed: &mut Requirements) {
        let zones = narrowed.get(labels::ZONE).map(Requirement::values);
        let left = |zone: &Zone| zones.is_some_and(|zones| zones.contains(zone.as_str()));
        let ids: Values = self
            .zones
            .iter()
            .filter(|(zone, _)| left(zone))
            .map(|(_, id)| Value::from(id.as_str()))
            .collect();
        if ids.is_empty() {
            narrowed.remove(labels::ZONE_ID);
        } else {
            put(narrowed, labels::ZONE_ID, ids);
        }
    }

    fn set_system(&self, narrowed: &mut Requirements) {
        let image_family = self.class.class.image_family;
        let Some(build) = family::windows_build(image_family) else { return };
        let is_amd64 = narrowed.get(labels::ARCH).is_some_and(|arch| arch.has("amd64"));
        let systems =
            if is_amd64 { Values::from([Value::from("windows")]) } else { Values::default() };
        put(narrowed, labels::OS, systems);
        put(narrowed, labels::WINDOWS_BUILD, Values::from([Value::from(build)]));
    }

    /// A launch template of the user's own is taken with the default tenancy only.
    fn set_tenancy(&self, narrowed: &mut Requirements) {
        if self.class.class.launch_template != TemplateSource::Made {
            put(narrowed, labels::INSTANCE_TENANCY, Values::from([Value::from("default")]));
        }
    }

    fn set_placement_group(&self, narrowed: &mut Requirements) {
        let Some(group) = &self.class.placement_group else { return };
        put(narrowed, labels::PLACEMENT_GROUP_ID, Values::from([Value::from(group.id.as_str())]));
        if let PlacementStrategy::Partition { count } = group.strategy {
            let numbers = (1..=count).map(|number| Value::from(number.to_string())).collect();
            put(narrowed, labels::PLACEMENT_GROUP_PARTITION, numbers);
        }
    }
}

/// What `base` costs on demand in `zone`, or anywhere when it is not sold there.
pub(crate) fn on_demand_price(base: &InstanceType, zone: &Zone) -> HourlyPrice {
    let on_demand = base.offerings.iter().filter(|o| o.capacity_type == CapacityType::OnDemand);
    let mut known = on_demand.filter(|offering| offering.price.nanos() > 0).peekable();
    let first = known.peek().map(|offering| offering.price);
    let there = known.find(|offering| offering.zone == *zone).map(|offering| offering.price);
    there.or(first).unwrap_or_default()
}

/// Whether `offering` can be bought at all. A catalog's answer is AL2023's, which has every type
/// unavailable that it does not start on: for other families such a type is available where it is
/// sold and has a price.
fn is_available(base: &InstanceType, offering: &Offering) -> bool {
    let instance_family = base.label(labels::INSTANCE_FAMILY).map_or("", |value| &**value);
    if family::starts_on(model::node_class::ImageFamily::Al2023, instance_family) {
        return offering.is_available;
    }
    is_sold(base, &offering.zone) && offering.price.nanos() > 0
}

fn is_sold(base: &InstanceType, zone: &Zone) -> bool {
    base.requirements.get(labels::ZONE).is_some_and(|zones| zones.has(zone.as_str()))
}

fn put(requirements: &mut Requirements, key: &str, values: Values) {
    if let Ok(key) = LabelKey::new(key) {
        requirements.replace(Requirement::listed(key, values));
    }
}

#[cfg(test)]
mod tests;
