//! Requests for people.

use std::{collections::BTreeMap, io, io::Write};

use model::{CapacityType, launch::LaunchTemplateData};
use report::{
    output::{count, many},
    screen::Screen,
};
use serde_json::Value;

use super::{
    Rendered,
    compare::{Change, USER_DATA},
    json,
};
use similar::TextDiff;

/// Writes the first launch template with its types and user data, of each further one what is other
/// in it, then the fleet request.
pub(super) fn write(rendered: &Rendered, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let request = &rendered.launch.request;
    for assumption in &rendered.assumptions {
        screen.text(0, &format!("assumed: {assumption}"), out)?;
    }
    for warning in &rendered.warnings {
        screen.text(0, &format!("warning: {warning}"), out)?;
    }
    let mut first: Option<BTreeMap<String, String>> = None;
    for (index, template) in rendered.launch.templates.iter().enumerate() {
        let types = json::types_of(request, template);
        screen.text(0, &format!("launch template {} ({})", index + 1, template.name), out)?;
        screen.text(2, &format!("for {}", types.join(", ")), out)?;
        if let Some(first) = &first {
            write_others(first, &lines_of(rendered, &template.data), screen, out)?;
        } else {
            write_whole(rendered, &template.data, screen, out)?;
            first = Some(lines_of(rendered, &template.data));
        }
        writeln!(out)?;
    }
    let instances = count(request.count.into(), kind(request.capacity_type));
    screen.text(0, &format!("fleet request: {instances}"), out)?;
    if let Some(context) = &request.context {
        screen.text(2, &format!("context {context}"), out)?;
    }
    for config in &request.templates {
        if rendered.launch.templates.iter().all(|made| made.name != config.template) {
            let (name, version) = (&config.template, config.version);
            let text =
                format!("from launch template {name}, version {version}, which is the user's own:");
            screen.text(2, &text, out)?;
            let text = "image, user data, instance profile, security groups and volumes are in it";
            screen.text(2, text, out)?;
        }
        for choice in &config.overrides {
            let allocatable = rendered
                .allocatable(&choice.instance_type)
                .map(|amounts| amounts.to_string())
                .unwrap_or_default();
            let text = format!(
                "{} {} {} {} ${}/h, for pods: {allocatable}",
                choice.instance_type, choice.zone, choice.subnet, choice.image, choice.price
            );
            screen.text(2, &text, out)?;
        }
    }
    Ok(())
}

/// Everything in a launch template.
fn write_whole(
    rendered: &Rendered,
    data: &LaunchTemplateData,
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    let shown = json::launch_template_data(data, rendered.settings.reserved_capacity);
    if let Value::Object(fields) = shown {
        for (key, value) in fields {
            screen.text(2, &format!("{key}: {value}"), out)?;
        }
    }
    for (key, value) in &data.tags {
        screen.text(2, &format!("tag {key}={value}"), out)?;
    }
    screen.text(2, &format!("user data, {} bytes:", many(data.user_data.len())), out)?;
    // As it is: what is folded is another text.
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
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    screen.text(2, "as launch template 1, but for", out)?;
    let changed = other.iter().filter(|(key, value)| first.get(*key) != Some(*value));
    for (key, value) in changed {
        screen.text(2, &format!("{key}: {value}"), out)?;
    }
    for key in first.keys().filter(|key| !other.contains_key(*key)) {
        screen.text(2, &format!("without {key}"), out)?;
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

/// Writes what a change changes, before and after: what is the same on several instance types once. Then why nodes that run
/// would drift.
pub(super) fn difference(
    changes: &[Change],
    drift: &[String],
    screen: Screen,
    out: &mut impl Write,
) -> io::Result<()> {
    if changes.is_empty() {
        screen.text(0, "nothing changes on the nodes", out)?;
    }
    for (change, types) in together(changes) {
        let path = match types.as_slice() {
            [] => change.path.clone(),
            [one] => format!("{one}: {}", rest(change)),
            [first, .., last] => {
                format!("{} instance types ({first} … {last}): {}", many(types.len()), rest(change))
            }
        };
        match (change.old.as_deref(), change.new.as_deref()) {
            (Some(old), Some(new)) if rest(change) == USER_DATA => {
                screen.text(0, &format!("~ {path}:"), out)?;
                unified(old, new, screen, out)?;
            }
            (Some(old), None) => screen.text(0, &screen.red(&format!("- {path}: {old}")), out)?,
            (None, Some(new)) => screen.text(0, &screen.green(&format!("+ {path}: {new}")), out)?,
            (old, new) => {
                let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
                screen.text(0, &format!("~ {path}: {old} → {new}"), out)?;
            }
        }
    }
    let verdict = if drift.is_empty() {
        "By hashes and images, running nodes would not drift.".to_owned()
    } else {
        format!("Running nodes would drift: {}.", drift.join(", "))
    };
    writeln!(out)?;
    screen.text(0, &verdict, out)
}

/// Writes the lines of `old` and `new` as `diff -u` does. They are not folded: what is folded is another text.
fn unified(old: &str, new: &str, screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let difference = TextDiff::from_lines(old, new);
    for line in difference.unified_diff().context_radius(3).to_string().lines() {
        let line = match line.get(..1) {
            Some("-") => screen.red(line),
            Some("+") => screen.green(line),
            _ => line.to_owned(),
        };
        writeln!(out, "  {line}")?;
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
        difference(&changes, &[], Screen::default(), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "~ fleet: context: false → true\n\
             ~ 2 instance types (m7i.large … m7i.xlarge): data.Monitoring.Enabled: false → true\n\
             ~ m7i.large: data.UserData: false → true\n\n\
             By hashes and images, running nodes would not drift.\n"
        );
    }
}
