//! Karpenter's `SCHEDULER_CONFIG`: what of a configuration of kube-scheduler it looks at.
//!
//! Karpenter: `pkg/operator/options/options.go`.

use std::collections::{BTreeMap, BTreeSet};

use model::{default_spread::DefaultSpread, id, topology::SpreadConstraint};

use super::topology;
use crate::document::{
    field::{Complaints, Field, Unknown},
    tree,
};

/// Reads a text in YAML or JSON such as
/// `{"podTopologySpread": {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
/// "whenUnsatisfiable": "ScheduleAnyway"}]}}`. An empty text has no constraints.
///
/// # Errors
///
/// Everything that is wrong, each with its field, on one line.
pub fn read(text: &str) -> Result<DefaultSpread, String> {
    let documents = tree::parse_yaml(text).map_err(|error| error.rule)?;
    let complaints = Complaints::new(Unknown::Refused);
    let constraints = match documents.as_slice() {
        [] => Vec::new(),
        [document] => constraints(&Field::root(document, &complaints)),
        _ => return Err("must be one document".to_owned()),
    };
    let wrong = complaints.into_list().into_iter().map(|complaint| {
        let cure = complaint.cure.map(|cure| format!("; {cure}")).unwrap_or_default();
        format!("{}{cure}", complaint.problem)
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(DefaultSpread { constraints }) } else { Err(wrong.join("; ")) }
}

fn constraints(root: &Field<'_>) -> Vec<SpreadConstraint> {
    let Some(mut fields) = root.fields() else { return Vec::new() };
    let spread = fields.get("podTopologySpread").and_then(|field| field.fields());
    fields.done();
    let Some(mut spread) = spread else { return Vec::new() };
    let items = spread.get("defaultConstraints").and_then(|field| field.list()).unwrap_or_default();
    spread.done();
    let mut seen = BTreeSet::new();
    let constraint = |item: &Field<'_>| {
        for deduced in ["labelSelector", "matchLabelKeys"] {
            if item.has(deduced) {
                item.at(deduced).complain("must not be there: it is deduced for each pod");
            }
        }
        let constraint = topology::constraint(item, &BTreeMap::new())?;
        let key = constraint.topology_key.as_str();
        if !id::is_qualified_name(key) {
            item.at("topologyKey").complain(format!("`{key}` is not a label key"));
        }
        if !seen.insert((constraint.topology_key.clone(), constraint.when_unsatisfiable)) {
            item.complain("an earlier constraint has the same topologyKey and whenUnsatisfiable");
        }
        Some(constraint)
    };
    items.iter().filter_map(constraint).collect()
}
