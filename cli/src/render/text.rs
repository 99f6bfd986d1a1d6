//! Requests for people.

use std::{collections::BTreeMap, io, io::Write};

use model::{CapacityType, launch::LaunchTemplateData};
use serde_json::Value;

use super::{Rendered, compare::Change, json};

/// Writes the first launch template with its types and user data, of each further one what is other
/// in it, then the fleet request.
pub(super) fn write(rendered: &Rendered, out: &mut impl Write) -> io::Result<()> {
    let request = &rendered.launch.request;
    for assumption in &rendered.assumptions {
        writeln!(out, "assumed: {assumption}")?;
    }
    for setting in &rendered.dropped {
        writeln!(out, "spec.userData: {setting} does not reach nodes")?;
    }
    let mut first: Option<BTreeMap<String, String>> = None;
    for (index, template) in rendered.launch.templates.iter().enumerate() {
        let types = json::types_of(request, template);
        writeln!(out, "launch template {} ({})", index + 1, template.name)?;
        writeln!(out, "  for {}", types.join(", "))?;
        if let Some(first) = &first {
            write_others(first, &lines_of(rendered, &template.data), out)?;
        } else {
            write_whole(rendered, &template.data, out)?;
            first = Some(lines_of(rendered, &template.data));
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

/// Everything in a launch template.
fn write_whole(
    rendered: &Rendered,
    data: &LaunchTemplateData,
    out: &mut impl Write,
) -> io::Result<()> {
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
    Ok(())
}

/// What stands in a launch template, by what it is.
fn lines_of(rendered: &Rendered, data: &LaunchTemplateData) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    let shown = json::launch_template_data(data, rendered.settings.reserved_capacity);
    if let Value::Object(fields) = shown {
        lines.extend(fields.into_iter().map(|(key, value)| (key, value.to_string())));
    }
    lines.extend(data.tags.iter().map(|(key, value)| (format!("tag {key}"), value.clone())));
    let user_data = data.user_data.lines().enumerate();
    lines.extend(
        user_data.map(|(number, line)| (format!("user data line {}", number + 1), line.to_owned())),
    );
    lines
}

/// What is other than in the first launch template.
fn write_others(
    first: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "  as launch template 1, but for")?;
    let changed = other.iter().filter(|(key, value)| first.get(*key) != Some(*value));
    for (key, value) in changed {
        writeln!(out, "  {key}: {value}")?;
    }
    for key in first.keys().filter(|key| !other.contains_key(*key)) {
        writeln!(out, "  without {key}")?;
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

/// Writes what a change changes, before and after: what is the same on several instance types once.
pub(super) fn difference(changes: &[Change], out: &mut impl Write) -> io::Result<()> {
    if changes.is_empty() {
        return writeln!(out, "nothing changes on the nodes");
    }
    for (change, types) in together(changes) {
        let path = match types.as_slice() {
            [] => change.path.clone(),
            [one] => format!("{one}: {}", rest(change)),
            [first, .., last] => {
                format!("{} instance types ({first} … {last}): {}", types.len(), rest(change))
            }
        };
        match (change.old.as_deref(), change.new.as_deref()) {
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

/// A change without the instance type that it is about.
fn rest(change: &Change) -> &str {
    change.path.split_once(": ").map_or(change.path.as_str(), |(_, rest)| rest)
}

/// Changes that are the same but for their instance type, with those types; in the order of the first
/// of each. What is about the fleet has no type.
fn together(changes: &[Change]) -> Vec<(&Change, Vec<&str>)> {
    let mut groups: Vec<(&Change, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<(&str, Option<&str>, Option<&str>), usize> = BTreeMap::new();
    for change in changes {
        let instance_type = change.path.split_once(": ").map(|(name, _)| name);
        let Some(name) = instance_type.filter(|name| *name != "fleet") else {
            groups.push((change, Vec::new()));
            continue;
        };
        let key = (rest(change), change.old.as_deref(), change.new.as_deref());
        let place = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, types)) => types.push(name),
            None => groups.push((change, vec![name])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w6_a_change_is_said_once_for_all_instance_types() {
        let change = |path: &str| Change {
            path: path.to_owned(),
            old: Some("false".to_owned()),
            new: Some("true".to_owned()),
        };
        let changes = [
            change("fleet: context"),
            change("m7i.large: data.Monitoring.Enabled"),
            change("m7i.large: data.UserData"),
            change("m7i.xlarge: data.Monitoring.Enabled"),
        ];
        let mut out = Vec::new();
        difference(&changes, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "~ fleet: context: false → true\n\
             ~ 2 instance types (m7i.large … m7i.xlarge): data.Monitoring.Enabled: false → true\n\
             ~ m7i.large: data.UserData: false → true\n"
        );
    }
}
