//! Instance types as a table for people.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use launch_template::OfferedType;
use model::{
    CapacityType, HourlyPrice, InstanceType, Requirements, labels,
    requirement::{Operator, Requirement},
    requirements::Undefined,
    resources::format_amount,
};
use report::{
    error::BadInput,
    output::{dollars, many, thousands},
    screen::Screen,
};

use crate::catalog::args::{CatalogArgs, CatalogOrder};
use crate::near;

/// Labels that have short names of their own; others are `karpenter.k8s.aws/instance-NAME`, of which
/// `instance-NAME` may be written, too.
const SHORT: [(&str, &str); 7] = [
    ("arch", labels::ARCH),
    ("os", labels::OS),
    ("type", labels::INSTANCE_TYPE),
    ("instance-type", labels::INSTANCE_TYPE),
    ("zone", labels::ZONE),
    ("zone-id", labels::ZONE_ID),
    ("capacity-type", labels::CAPACITY_TYPE),
];

/// Which types are wanted.
pub(super) struct Filter(Requirements);

impl Filter {
    /// Reads `LABEL=VALUE,…`, each.
    pub(super) fn parse(texts: &[String]) -> Result<Self, BadInput> {
        let mut wanted = Requirements::new();
        for text in texts {
            let bad = |rule: &str| BadInput::one(format!("--where: `{text}`: {rule}"));
            let (key, values) = text.split_once('=').ok_or_else(|| bad("must be LABEL=VALUE"))?;
            let short = SHORT.iter().find(|(short, _)| *short == key).map(|(_, label)| *label);
            let name = key.strip_prefix("instance-").unwrap_or(key);
            let text = format!("karpenter.k8s.aws/instance-{name}");
            let key = short.unwrap_or_else(|| if key.contains('/') { key } else { &text });
            if !labels::is_well_known(key) {
                let near = near::did_you_mean(name, SHORT.iter().map(|(short, _)| *short));
                return Err(bad(&format!("no instance type has this label{near}")));
            }
            if values.contains('=') {
                return Err(bad("each label takes a --where of its own"));
            }
            let requirement = Requirement::new(key, Operator::In, values.split(','));
            wanted.add(requirement.map_err(|error| bad(&error.to_string()))?);
        }
        Ok(Self(wanted))
    }

    /// Refuses a value that none of `types` has.
    pub(super) fn ensure_known(&self, types: &[OfferedType]) -> Result<(), BadInput> {
        for wanted in self.0.iter() {
            let key = wanted.key().as_str();
            let has =
                types.iter().filter_map(|offered| offered.instance_type.requirements.get(key));
            let known: BTreeSet<&str> =
                has.flat_map(Requirement::values).map(|value| &**value).collect();
            for value in wanted.values() {
                if !known.contains(&**value) {
                    let near = nearest(value, &known);
                    let rule = format!("no instance type has {key} `{value}`{near}");
                    return Err(BadInput::one(format!("--where: {rule}")));
                }
            }
        }
        Ok(())
    }

    pub(super) fn takes(&self, instance_type: &InstanceType) -> bool {
        let requirements = &instance_type.requirements;
        let has_all = self.0.iter().all(|wanted| requirements.contains(wanted.key().as_str()));
        has_all && requirements.compatible(&self.0, Undefined::WellKnown).is_ok()
    }
}

/// Which of `known` are next to `value`: the numbers below and above a number, words that are like a word.
fn nearest(value: &str, known: &BTreeSet<&str>) -> String {
    let Ok(number) = value.parse::<u64>() else {
        return near::did_you_mean(value, known.iter().copied());
    };
    let numbers: BTreeSet<u64> = known.iter().filter_map(|known| known.parse().ok()).collect();
    let below = numbers.range(..number).next_back();
    let near: Vec<String> =
        below.into_iter().chain(numbers.range(number..).next()).map(ToString::to_string).collect();
    if near.is_empty() { String::new() } else { format!(": nearest are {}", near.join(" and ")) }
}

const HEAD: [&str; 12] = [
    "TYPE",
    "ARCH",
    "CPU",
    "MEMORY",
    "PODS",
    "FOR PODS",
    "GPU",
    "NETWORK",
    "NVME",
    "ON-DEMAND",
    "SPOT",
    "PER VCPU",
];
/// What a narrow window goes without, the first first.
const SPARED: [&str; 6] = ["FOR PODS", "PER VCPU", "PODS", "NVME", "NETWORK", "GPU"];

/// The types that something can be bought of, in the order and the number that are asked for.
pub(super) fn listed(mut types: Vec<OfferedType>, args: &CatalogArgs) -> Vec<OfferedType> {
    let key = |offered: &OfferedType| {
        let key = sort_key(&offered.instance_type, args.sort);
        key.map(|key| (key, offered.instance_type.name.clone()))
    };
    // What cannot be bought comes last, as it came.
    types.sort_by_cached_key(|offered| (key(offered).is_none(), key(offered)));
    types.truncate(args.limit.unwrap_or(usize::MAX));
    types
}

/// Writes the table: each type at its cheapest available offerings.
pub(super) fn write(
    types: Vec<OfferedType>,
    args: &CatalogArgs,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let offered = types.len();
    let sold = types.iter().filter(|offered| cheapest(&offered.instance_type, None).is_some());
    let number = sold.count();
    let types = listed(types, args);
    let rows: Vec<Vec<String>> =
        types.iter().filter_map(|offered| row(&offered.instance_type)).collect();
    let shown = many(rows.len());
    screen.sparing_table(&HEAD, rows, (&SPARED, "-o json"), out)?;
    let others = match offered - number {
        0 => String::new(),
        1 => "; 1 more has no available offering".to_owned(),
        nothing => format!("; {} more have no available offering", many(nothing)),
    };
    screen.text(0, &format!("{shown} of {} types{others}", many(number)), out)
}

/// The price of the cheapest offering that is available, of any capacity type or of one.
fn cheapest(instance_type: &InstanceType, kind: Option<CapacityType>) -> Option<HourlyPrice> {
    let offerings = instance_type.offerings.iter().filter(|offering| offering.is_available);
    let wanted =
        offerings.filter(|offering| kind.is_none_or(|kind| offering.capacity_type == kind));
    wanted.map(|offering| offering.price).min()
}

fn sort_key(instance_type: &InstanceType, order: CatalogOrder) -> Option<u128> {
    let nanos = cheapest(instance_type, None)?.parts();
    let capacity = &instance_type.capacity;
    Some(match order {
        CatalogOrder::PricePerVcpu => nanos * 1_000_000 / u128::from(vcpus(instance_type)),
        CatalogOrder::PricePerGib => nanos * (1 << 50) / u128::from(capacity.memory.0.max(1)),
        CatalogOrder::Price => nanos,
        CatalogOrder::Name => 0,
    })
}

fn vcpus(instance_type: &InstanceType) -> u64 {
    (instance_type.capacity.cpu.0 / 1_000).max(1)
}

fn row(instance_type: &InstanceType) -> Option<Vec<String>> {
    let price = cheapest(instance_type, None)?;
    let (capacity, allocatable) = (&instance_type.capacity, instance_type.allocatable());
    let label = |key: &str| instance_type.label(key).map(ToString::to_string);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let of = |kind| {
        or_dash(cheapest(instance_type, Some(kind)).map(|price| dollars(price.nanos().into())))
    };
    let gpu = label(labels::INSTANCE_GPU_COUNT).map(|number| {
        let name = label(INSTANCE_GPU_NAME).unwrap_or_default();
        format!("{number} {name}").trim_end().to_owned()
    });
    Some(vec![
        instance_type.name.to_string(),
        or_dash(label(labels::ARCH)),
        format_amount("cpu", capacity.cpu.0),
        gibibytes(capacity.memory.0),
        parted(&capacity.pods.to_string()),
        format!("{} {}", allocatable.cpu, gibibytes(allocatable.memory.0)),
        or_dash(gpu),
        or_dash(label(INSTANCE_NETWORK_BANDWIDTH).map(|megabits| gigabits(&megabits))),
        or_dash(label(labels::INSTANCE_LOCAL_NVME).map(|size| format!("{} GB", parted(&size)))),
        of(CapacityType::OnDemand),
        of(CapacityType::Spot),
        dollars(u128::from(price.nanos() / vcpus(instance_type))),
    ])
}

const INSTANCE_GPU_NAME: &str = "karpenter.k8s.aws/instance-gpu-name";
const INSTANCE_NETWORK_BANDWIDTH: &str = "karpenter.k8s.aws/instance-network-bandwidth";

/// A whole number as people read it: `1920` as `1,920`.
fn parted(amount: &str) -> String {
    amount.parse().map_or_else(|_| amount.to_owned(), thousands)
}

/// Bytes as GiB with at most one digit after the point, rounded down.
fn gibibytes(bytes: u64) -> String {
    let tenths = u128::from(bytes) * 10 / (1 << 30);
    match tenths % 10 {
        0 => format!("{}Gi", thousands(tenths / 10)),
        tenth => format!("{}.{tenth}Gi", thousands(tenths / 10)),
    }
}

/// Megabits per second as `12.5 Gbit` or `64 Mbit`.
fn gigabits(megabits: &str) -> String {
    let Ok(number) = megabits.parse::<u64>() else { return megabits.to_owned() };
    match number % 1_000 / 100 {
        _ if number < 1_000 => format!("{number} Mbit"),
        0 => format!("{} Gbit", thousands((number / 1_000).into())),
        tenth => format!("{}.{tenth} Gbit", thousands((number / 1_000).into())),
    }
}
