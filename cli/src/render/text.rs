//! Requests for people.

use std::{io, io::Write};

use model::CapacityType;
use serde_json::Value;

use super::{Rendered, compare::Change, json};

/// Writes each launch template with its types and user data, then the fleet request.
pub(super) fn write(rendered: &Rendered, out: &mut impl Write) -> io::Result<()> {
    let request = &rendered.launch.request;
    for setting in &rendered.dropped {
        writeln!(out, "spec.userData: {setting} does not reach nodes")?;
    }
    for (index, template) in rendered.launch.templates.iter().enumerate() {
        let types = json::types_of(request, template);
        writeln!(out, "launch template {} ({})", index + 1, template.name)?;
        writeln!(out, "  for {}", types.join(", "))?;
        let data = &template.data;
        let shown = json::launch_template_data(data, rendered.settings.reserved_capacity);
        if let Value::Object(fields) = shown {
            for (key, value) in fields {
                writeln!(out, "  {key}: {value}")?;
            }
        }
        for (key, value) in &data.tags {
            writeln!(out, "  tag {key}={value}")?;
        }
        writeln!(out, "  user data, {} bytes:", data.user_data.len())?;
        for line in data.user_data.lines() {
            let line = format!("    {line}");
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
    }
    writeln!(out, "fleet request: {} {}", request.count, kind(request.capacity_type))?;
    if let Some(context) = &request.context {
        writeln!(out, "  context {context}")?;
    }
    for config in &request.templates {
        if rendered.launch.templates.iter().all(|made| made.name != config.template) {
            let (name, version) = (&config.template, config.version);
            writeln!(
                out,
                "  from launch template {name}, version {version}, which is the user's own:"
            )?;
            writeln!(
                out,
                "  image, user data, instance profile, security groups and volumes are in it"
            )?;
        }
        for choice in &config.overrides {
            let allocatable = rendered.allocatable(&choice.instance_type);
            let allocatable = allocatable.map(|amounts| amounts.to_string()).unwrap_or_default();
            writeln!(
                out,
                "  {} {} {} {} ${}/h, for pods: {allocatable}",
                choice.instance_type, choice.zone, choice.subnet, choice.image, choice.price
            )?;
        }
    }
    Ok(())
}

fn kind(capacity_type: CapacityType) -> &'static str {
    match capacity_type {
        CapacityType::Reserved => "reserved instance",
        CapacityType::Spot => "spot instance",
        CapacityType::OnDemand => "on-demand instance",
    }
}

/// Writes what a change changes, before and after.
pub(super) fn difference(changes: &[Change], out: &mut impl Write) -> io::Result<()> {
    if changes.is_empty() {
        return writeln!(out, "nothing changes on the nodes");
    }
    for Change { path, old, new } in changes {
        match (old.as_deref(), new.as_deref()) {
            (Some(""), None) => writeln!(out, "- {path}")?,
            (None, Some("")) => writeln!(out, "+ {path}")?,
            (Some(old), None) => writeln!(out, "- {path}: {old}")?,
            (None, Some(new)) => writeln!(out, "+ {path}: {new}")?,
            (old, new) => {
                let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                writeln!(out, "~ {path}: {old} → {new}")?;
            }
        }
    }
    Ok(())
}
