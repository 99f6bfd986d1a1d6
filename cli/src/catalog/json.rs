//! Instance types as JSON, in the shape that `instance_catalog::read` reads.

use std::{collections::BTreeMap, io, io::Write};

use launch_template::OfferedType;
use model::{Offering, RegionCatalog, Requirement, Resources, resources::format_amount};
use report::format::Format;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    region: &'a str,
    zones: BTreeMap<&'a str, &'a str>,
    instance_types: Vec<Type<'a>>,
}

#[derive(Serialize)]
struct Type<'a> {
    name: &'a str,
    requirements: Vec<Label<'a>>,
    capacity: BTreeMap<&'a str, String>,
    overhead: Overhead<'a>,
    offerings: Vec<Offer<'a>>,
}

#[derive(Serialize)]
struct Label<'a> {
    key: &'a str,
    operator: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Overhead<'a> {
    kube_reserved: BTreeMap<&'a str, String>,
    system_reserved: BTreeMap<&'a str, String>,
    eviction_threshold: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Offer<'a> {
    zone: &'a str,
    capacity_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interruptible: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    price_per_hour: String,
    available: bool,
}

/// Writes `types` of `catalog`.
pub(super) fn write(
    catalog: &RegionCatalog,
    types: &[OfferedType],
    format: Format,
    out: &mut impl Write,
) -> io::Result<()> {
    let zones = catalog.zones.iter().map(|(zone, id)| (zone.as_str(), id.as_str()));
    let document = Document {
        region: &catalog.region,
        zones: zones.collect(),
        instance_types: types.iter().map(one).collect(),
    };
    report::json::print(&document, format, out)
}

fn one(offered: &OfferedType) -> Type<'_> {
    let OfferedType { instance_type, overhead } = offered;
    let offerings = instance_type.offerings.iter().map(offer);
    Type {
        name: instance_type.name.as_str(),
        requirements: instance_type.requirements.iter().map(label).collect(),
        capacity: amounts(&instance_type.capacity),
        overhead: Overhead {
            kube_reserved: amounts(&overhead.kube_reserved),
            system_reserved: amounts(&overhead.system_reserved),
            eviction_threshold: amounts(&overhead.eviction_threshold),
        },
        offerings: offerings.collect(),
    }
}

fn label(requirement: &Requirement) -> Label<'_> {
    Label {
        key: requirement.key().as_str(),
        operator: requirement.operator().as_str(),
        values: requirement.values().iter().map(|value| &**value).collect(),
    }
}

fn amounts(resources: &Resources) -> BTreeMap<&str, String> {
    resources.iter().map(|(name, amount)| (name, format_amount(name, amount))).collect()
}

fn offer(offering: &Offering) -> Offer<'_> {
    let reservation = offering.reservation.as_ref();
    Offer {
        zone: offering.zone.as_str(),
        capacity_type: offering.capacity_type.as_str(),
        reservation: reservation.map(|reservation| reservation.id.as_str()),
        reservation_type: reservation.map(|reservation| reservation.kind.as_str()),
        interruptible: reservation.map(|reservation| reservation.interruptible),
        count: reservation.map(|reservation| reservation.count),
        price_per_hour: offering.price.to_string(),
        available: offering.is_available,
    }
}
