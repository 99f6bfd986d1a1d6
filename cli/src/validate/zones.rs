//! Regions and zones that requirements name: which of them cannot be, and which cannot be looked at here.

use std::collections::BTreeSet;

use model::{RegionCatalog, Requirement, Zone, labels, node_pool::NodePool, requirement::Value};

use super::warnings::{Spot, Warning, warning};

/// What is said of the regions and zones that requirements name.
#[derive(Debug, Default)]
pub(super) struct Zones {
    /// What no node can have.
    pub(super) impossible: Vec<Warning>,
    /// Values of regions that the catalog is not of, in the order of their names.
    pub(super) elsewhere: BTreeSet<String>,
}

impl Zones {
    /// Of `requirements`, which all must hold; `catalog` has the zones of its region.
    pub(super) fn of<'r>(
        requirements: impl Iterator<Item = &'r Requirement>,
        catalog: &RegionCatalog,
    ) -> Self {
        let mut zones = Self::default();
        let (mut regions, mut of_zones) = (BTreeSet::new(), BTreeSet::new());
        for requirement in requirements.filter(|requirement| !requirement.is_complement()) {
            let key = requirement.key().as_str();
            let (names, found) = match key {
                labels::REGION => (&mut regions, region as fn(&str) -> Option<&str>),
                labels::ZONE => (&mut of_zones, region_of as fn(&str) -> Option<&str>),
                _ => continue,
            };
            for value in requirement.values() {
                let Some(region) = found(value) else {
                    zones.add_impossible(key, value, "AWS has none of this name");
                    continue;
                };
                names.insert(region.to_owned());
                if region != catalog.region {
                    zones.elsewhere.insert(value.to_string());
                } else if key == labels::ZONE && !is_there(value, catalog) {
                    let there: Vec<&str> = catalog.zones.keys().map(Zone::as_str).collect();
                    let why = format!("{region} has {}", there.join(", "));
                    zones.add_impossible(key, value, &why);
                }
            }
        }
        if !regions.is_empty() && !of_zones.is_empty() && regions.is_disjoint(&of_zones) {
            let [regions, of_zones] = [regions, of_zones]
                .map(|names| names.iter().map(String::as_str).collect::<Vec<_>>().join(" or "));
            let text = format!("no node in a zone of {of_zones} has {} {regions}", labels::REGION);
            zones.impossible.push(warning(Spot::Value(labels::ZONE.to_owned(), None), text));
        }
        zones
    }

    fn add_impossible(&mut self, key: &str, value: &str, why: &str) {
        let text = format!("no node has {key} `{value}`: {why}");
        let spot = Spot::Value(key.to_owned(), Some(value.to_owned()));
        self.impossible.push(warning(spot, text));
    }
}

/// The NodePools that ask for other regions than the catalog's alone, a line for each.
pub(crate) fn elsewhere(pools: &[NodePool], catalog: &RegionCatalog) -> Vec<String> {
    let line = |pool: &NodePool| {
        let requirements = &pool.template.requirements;
        let is_here = |value: &Value| region_of(value) == Some(catalog.region.as_str());
        let is_elsewhere = |requirement: &Requirement| {
            [labels::REGION, labels::ZONE].contains(&requirement.key().as_str())
                && !requirement.is_complement()
                && !requirement.values().is_empty()
                && !requirement.values().iter().any(is_here)
        };
        requirements.iter().any(is_elsewhere).then(|| {
            let values = Zones::of(requirements.iter(), catalog).elsewhere;
            let (name, here) = (&pool.name, &catalog.region);
            format!(
                "NodePool {name}: {}: instance types, zones and prices here are those of {here}; for another region use \
                 --region or --instance-types",
                values.into_iter().collect::<Vec<_>>().join(", ")
            )
        })
    };
    pools.iter().filter_map(line).collect()
}

/// Whether a zone of the region of `catalog` may be there: one of its zones, or a local zone, which is not listed.
fn is_there(zone: &str, catalog: &RegionCatalog) -> bool {
    let is_local = zone.len() > catalog.region.len() + 1;
    is_local || catalog.zones.keys().any(|known| known.as_str() == zone)
}

/// `name`, if it is that of a region: `us-gov-west-1`.
fn region(name: &str) -> Option<&str> {
    region_of(name).filter(|region| *region == name)
}

/// The region that the name of a zone begins with: `eu-west-1` of `eu-west-1a`, `us-west-2` of `us-west-2-lax-1a`.
fn region_of(zone: &str) -> Option<&str> {
    let (words, numbered) = zone.split_at(zone.find(|c: char| c.is_ascii_digit())?);
    let digits = numbered.find(|c: char| !c.is_ascii_digit()).unwrap_or(numbered.len());
    let (region, rest) = zone.split_at(words.len() + digits);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let words: Vec<&str> = words.strip_suffix('-')?.split('-').collect();
    let is_local = |rest: &str| rest.starts_with('-') && rest.trim_matches('-').contains('-');
    let is_rest = rest.is_empty() || rest.len() == 1 && is_word(rest) || is_local(rest);
    (is_rest && words.len() > 1 && words.iter().all(|word| is_word(word))).then_some(region)
}
