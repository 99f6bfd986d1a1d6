//! Instance types as a table for people.

use std::{io, io::Write};

use launch_template::OfferedType;
use model::{
    HourlyPrice, InstanceType, Requirements, labels,
    requirement::{Operator, Requirement},
    requirements::Undefined,
    resources::format_amount,
};

use crate::{
    args::{CatalogArgs, CatalogOrder},
    manifests::BadInput,
};

/// Labels that have short names of their own; others are `karpenter.k8s.aws/instance-NAME`.
const SHORT: [(&str, &str); 6] = [
    ("arch", labels::ARCH),
    ("os", labels::OS),
    ("type", labels::INSTANCE_TYPE),
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
            let text = format!("karpenter.k8s.aws/instance-{key}");
            let key = short.unwrap_or_else(|| if key.contains('/') { key } else { &text });
            if !labels::is_well_known(key) {
                return Err(bad("no instance type has such a label"));
            }
            if values.contains('=') {
                return Err(bad("each label takes a --where of its own"));
            }
            let requirement = Requirement::new(key, Operator::In, values.split(','));
            wanted.add(requirement.map_err(|error| bad(&error.to_string()))?);
        }
        Ok(Self(wanted))
    }

    pub(super) fn takes(&self, instance_type: &InstanceType) -> bool {
        let requirements = &instance_type.requirements;
        let has_all = self.0.iter().all(|wanted| requirements.contains(wanted.key().as_str()));
        has_all && requirements.compatible(&self.0, Undefined::WellKnown).is_ok()
    }
}

/// One line of the table.
struct Row {
    cells: [String; 8],
    sort: (u128, String),
}

const HEAD: [&str; 8] =
    ["type", "arch", "cpu", "memory", "pods", "allocatable cpu / memory", "$/hour", "$/vCPU-hour"];

/// Writes the table: each type at its cheapest available offering.
pub(super) fn write(
    types: &[OfferedType],
    args: &CatalogArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut rows: Vec<Row> =
        types.iter().filter_map(|offered| row(&offered.instance_type, args.sort)).collect();
    rows.sort_by(|a, b| a.sort.cmp(&b.sort));
    let (number, listed) = (rows.len(), args.limit.unwrap_or(rows.len()).min(rows.len()));
    rows.truncate(listed);
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    line(out, &HEAD.map(ToOwned::to_owned), &widths)?;
    for row in &rows {
        line(out, &row.cells, &widths)?;
    }
    let nothing = types.len() - number;
    writeln!(out, "{listed} of {number} types; {nothing} more have no available offering")
}

fn line(out: &mut impl Write, cells: &[String; 8], widths: &[usize; 8]) -> io::Result<()> {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    writeln!(out, "{}", padded.join("  ").trim_end())
}

fn row(instance_type: &InstanceType, order: CatalogOrder) -> Option<Row> {
    let cheapest = instance_type.cheapest(&Requirements::new())?;
    let capacity = &instance_type.capacity;
    let allocatable = instance_type.allocatable();
    let vcpus = (capacity.cpu.0 / 1_000).max(1);
    let nanos = u128::from(cheapest.price.0);
    let gibibytes = u128::from(capacity.memory.0.max(1));
    let name = instance_type.name.to_string();
    let key = match order {
        CatalogOrder::PricePerVcpu => nanos * 1_000_000 / u128::from(vcpus),
        CatalogOrder::PricePerGib => nanos * (1 << 50) / gibibytes,
        CatalogOrder::Price => nanos,
        CatalogOrder::Name => 0,
    };
    let per_vcpu = HourlyPrice(cheapest.price.0 / vcpus);
    let arch = instance_type.label(labels::ARCH).map_or("-", |value| &**value);
    let where_from = format!("{} ({} {})", cheapest.price, cheapest.capacity_type, cheapest.zone);
    Some(Row {
        cells: [
            name.clone(),
            arch.to_owned(),
            format_amount("cpu", capacity.cpu.0),
            format_amount("memory", capacity.memory.0),
            capacity.pods.to_string(),
            format!("{} / {}", allocatable.cpu, format_amount("memory", allocatable.memory.0)),
            where_from,
            per_vcpu.to_string(),
        ],
        sort: (key, name),
    })
}
