//! `journeyman catalog`: instance types as nodes of an EC2NodeClass would have them.

pub mod args;
mod class;
mod json;
mod live;
pub(crate) mod source;
mod table;

use std::io::Write;

pub use self::args::CatalogArgs;

use launch_template::OfferedType;
use model::{CapacityType, labels};
use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    format::Format,
    screen::{Color, Screen},
};

/// Lists and prints.
pub fn run(args: &CatalogArgs, out: &mut impl Write) -> Result<(), CommandError> {
    let all_settings = args.settings.read(&[])?;
    let source = if args.live {
        source::live("catalog --live", args.region.as_deref())?
    } else {
        source::load(args.from.as_deref())?
    };
    let class = class::load(args, &source, &all_settings)?;
    let settings = all_settings.nodes;
    let catalog = source.catalog(&class.subnets, &settings);
    let types = launch_template::all_types(&catalog, &class, &settings);
    let mut types = types.map_err(|problem| {
        BadInput::one(format!("EC2NodeClass {}: {problem}", class.class.name))
    })?;
    let filter = table::Filter::parse(&args.filters)?;
    filter.ensure_known(&types)?;
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
        Format::Json | Format::Yaml => {
            json::write(&catalog, &table::listed(types, args), args.output, out)?;
        }
        Format::Name => {
            for offered in table::listed(types, args) {
                writeln!(out, "{}", offered.instance_type.name)?;
            }
        }
        Format::Table | Format::Wide => {
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

impl RunCommand for CatalogArgs {
    fn run(&self, _: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, &mut { out })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
