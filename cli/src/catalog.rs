//! `journeyman catalog`: instance types as nodes of an EC2NodeClass would have them.

mod class;
mod json;
mod live;
pub(crate) mod source;
mod table;

use std::io::Write;

use launch_template::{NodeSettings, OfferedType, Share};
use model::{CapacityType, labels, policies::Policies};
use report::{
    error::{BadInput, CommandError},
    screen::{Color, Format, Screen},
};

use crate::{
    args::{CatalogArgs, NodeSettingsArgs},
    plan::gates,
};

/// Lists and prints.
pub fn run(args: &CatalogArgs, out: &mut impl Write) -> Result<(), CommandError> {
    let settings = node_settings(&args.settings)?;
    let source = if args.live {
        source::live("catalog --live", args.region.as_deref())?
    } else {
        source::load(args.from.as_deref())?
    };
    let class = class::load(args, &source)?;
    let catalog = source.catalog(&class.subnets, &settings);
    let mut types = launch_template::all_types(&catalog, &class, &settings);
    let filter = table::Filter::parse(&args.filters)?;
    types.retain(|offered| filter.takes(&offered.instance_type));
    if let Some(text) = &args.capacity_type {
        let wanted = CapacityType::parse(text).ok_or_else(|| {
            BadInput::one(format!("--capacity-type: `{text}`: must be on-demand, spot or reserved"))
        })?;
        for OfferedType { instance_type, .. } in &mut types {
            instance_type.offerings.retain(|offering| offering.capacity_type == wanted);
        }
        types.retain(|offered| !offered.instance_type.offerings.is_empty());
    }
    match args.output {
        Format::Json => json::write(&catalog, &table::listed(types, args), out)?,
        Format::Text => {
            if class.class.image_family.is_windows() {
                // Windows runs on one architecture. The JSON has all types, as Karpenter lists them: one
                // that Windows cannot run on has no operating system.
                types.retain(|offered| {
                    let architecture = offered.instance_type.label(labels::ARCH);
                    architecture.is_some_and(|value| &**value == "amd64")
                });
            }
            table::write(types, args, Screen::of_stdout(Color::Auto), out)?;
        }
    }
    Ok(())
}

/// Karpenter's settings of these names.
pub(crate) fn node_settings(args: &NodeSettingsArgs) -> Result<NodeSettings, BadInput> {
    let mut policies = Policies::default();
    gates::set(&mut policies, &args.feature_gates)?;
    let text = &args.vm_memory_overhead_percent;
    let memory_overhead = Share::parse(text).ok_or_else(|| {
        let rule = "must be a decimal such as 0.075";
        BadInput::one(format!("--vm-memory-overhead-percent: `{text}`: {rule}"))
    })?;
    Ok(NodeSettings {
        reserved_enis: args.reserved_enis,
        memory_overhead,
        reserved_capacity: policies.reserved_capacity,
    })
}

#[cfg(test)]
mod tests;
