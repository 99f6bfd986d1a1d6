//! What an API server refuses in the lists of a ResourceClaim. Objects of a cluster have passed it.
//!
//! Kubernetes: `pkg/apis/resource/validation/validation.go`.

use std::collections::BTreeSet;

use crate::document::field::Field;

/// Of requests, and of constraints; Kubernetes: `DeviceRequestsMaxSize`, `DeviceConstraintsMaxSize`.
const ENTRIES_MAX: usize = 32;
/// Kubernetes: `FirstAvailableDeviceRequestMaxSize`.
const ALTERNATIVES_MAX: usize = 8;

/// Checks the lengths and names of the list `requests`. Returns what constraints may name: requests, and alternatives as
/// `request/alternative`.
pub(crate) fn requests(requests: &Field<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let items = at_most(requests, ENTRIES_MAX);
    for (item, name) in unique(&items) {
        let alternatives = at_most(&item.at("firstAvailable"), ALTERNATIVES_MAX);
        let of_request = unique(&alternatives).into_iter();
        names.extend(of_request.map(|(_, alternative)| format!("{name}/{alternative}")));
        names.insert(name.to_owned());
    }
    names
}

/// Checks the list `constraints` of a claim whose requests have `names`.
pub(crate) fn constraints(constraints: &Field<'_>, names: &BTreeSet<String>) {
    for constraint in at_most(constraints, ENTRIES_MAX) {
        for request in constraint.at("requests").list_if_any().unwrap_or_default() {
            if let Some(name) = request.text().filter(|name| !names.contains(*name)) {
                request.complain_if_written(format!("no request of the claim is called `{name}`"));
            }
        }
        let attribute = constraint.text_at("matchAttribute");
        if let Some(name) = attribute.filter(|name| !is_qualified(name)) {
            constraint.at("matchAttribute").complain_if_written_with(
                format!("`{name}` names no driver"),
                format!("write DOMAIN/{name}, such as gpu.nvidia.com/{name}"),
            );
        }
    }
}

/// The items of a list, which should have no more than `most`.
fn at_most<'a>(list: &Field<'a>, most: usize) -> Vec<Field<'a>> {
    let items = list.list_if_any().unwrap_or_default();
    if most < items.len() {
        list.complain_if_written(format!("has {} entries: {most} are allowed", items.len()));
    }
    items
}

/// The items that have a name, which should be names of DNS that no item before them has.
fn unique<'f, 'a>(items: &'f [Field<'a>]) -> Vec<(&'f Field<'a>, &'a str)> {
    let mut seen = BTreeSet::new();
    let mut named = Vec::new();
    for item in items {
        let Some(name) = item.text_at("name") else { continue };
        let field = item.at("name");
        if !is_label(name) {
            field.complain_if_written(
                "must be 1 to 63 lower-case letters, digits and hyphens, without a hyphen at either end",
            );
        }
        if !seen.insert(name) {
            field.complain_if_written(format!("`{name}` is the name of an entry before it"));
        }
        named.push((item, name));
    }
    named
}

fn is_label(name: &str) -> bool {
    let is_safe = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    (1..=63).contains(&name.len())
        && name.as_bytes().iter().all(is_safe)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn is_qualified(name: &str) -> bool {
    name.split_once('/').is_some_and(|(domain, id)| !domain.is_empty() && !id.is_empty())
}
