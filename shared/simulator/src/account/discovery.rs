//! What the account owns. It is not described, capacity reservations aside: it owns a matching
//! subnet in each zone, security group and image for whatever is selected, and remembers what was
//! assumed.
//!
//! Describing another account is not supported yet.

use std::collections::BTreeMap;

use model::{
    ClusterName, PlacementGroupId, SecurityGroupId, SubnetId,
    ledger::digest,
    node_class::{
        ClusterSettings, PlacementGroup, PlacementGroupTerm, PlacementStrategy, SecurityGroup,
        SecurityGroupTerm, Subnet, SubnetTerm,
    },
};

use super::AwsError;
use crate::{made_up, world::World};

/// Addresses of a `/19`, without EC2's own five.
const ADDRESSES: u32 = 8_187;
impl World {
    pub(crate) fn subnets(&mut self, terms: &[SubnetTerm]) -> Vec<Subnet> {
        let mut free = BTreeMap::new();
        let catalog = std::sync::Arc::clone(&self.catalog);
        for (index, term) in terms.iter().enumerate() {
            match term {
                // Ids say nothing about zones: each is assumed to be in the next one.
                SubnetTerm::Id(id) => {
                    let known = self.account.subnets.get(id).cloned();
                    let nth = index.checked_rem(catalog.zones.len()).unwrap_or_default();
                    let Some(zone) = known.or_else(|| catalog.zones.keys().nth(nth).cloned())
                    else {
                        continue;
                    };
                    if !self.account.subnets.contains_key(id) {
                        self.account.assumptions.insert(format!("subnet {id} in {zone}"));
                    }
                    free.insert(id.clone(), zone);
                }
                SubnetTerm::Tags(tags) => {
                    let tags = shown(tags);
                    for zone in catalog.zones.keys() {
                        let number = digest(format!("{zone} {tags}").as_bytes());
                        let id = made_up(SubnetId::new(&format!("subnet-0{number:016x}")));
                        free.insert(id, zone.clone());
                    }
                    let zones: Vec<&str> = catalog.zones.keys().map(model::Zone::as_str).collect();
                    let zones = zones.join(", ");
                    self.account.assumptions.insert(format!("subnets tagged {tags} in {zones}"));
                }
            }
        }
        self.account.subnets.extend(free.clone());
        let subnet = |(id, zone): (SubnetId, model::Zone)| {
            let zone_id = catalog.zones.get(&zone)?.clone();
            Some(Subnet { id, zone, zone_id, available_ip_address_count: ADDRESSES })
        };
        free.into_iter().filter_map(subnet).collect()
    }

    pub(crate) fn security_groups(&mut self, terms: &[SecurityGroupTerm]) -> Vec<SecurityGroup> {
        let mut security_groups = BTreeMap::new();
        for term in terms {
            let (id, name, words) = match term {
                SecurityGroupTerm::Id(id) => (id.clone(), None, id.to_string()),
                SecurityGroupTerm::Name(name) => {
                    (group_id(name), Some(name.clone()), format!("named {name}"))
                }
                SecurityGroupTerm::Tags(tags) => {
                    let tags = shown(tags);
                    (group_id(&tags), None, format!("tagged {tags}"))
                }
            };
            self.account.assumptions.insert(format!("security group {words}"));
            let known = self.account.security_groups.get(&id).cloned();
            let name = name.or(known).unwrap_or_else(|| "nodes".to_owned());
            self.account.security_groups.insert(id.clone(), name.clone());
            security_groups.insert(id.clone(), SecurityGroup { id, name });
        }
        security_groups.into_values().collect()
    }

    /// Whatever group is asked for is there, and keeps its instances close together.
    pub(crate) fn placement_group(&mut self, term: &PlacementGroupTerm) -> PlacementGroup {
        let (id, name) = match term {
            PlacementGroupTerm::Id(id) => (id.clone(), id.to_string()),
            PlacementGroupTerm::Name(name) => {
                let id = format!("pg-0{:016x}", digest(name.as_bytes()));
                (made_up(PlacementGroupId::new(&id)), name.clone())
            }
        };
        self.account.assumptions.insert(format!("placement group {name} of strategy cluster"));
        PlacementGroup { id, name, strategy: PlacementStrategy::Cluster }
    }

    /// The account has the one cluster.
    pub(crate) fn described_cluster(
        &self,
        cluster: &ClusterName,
    ) -> Result<ClusterSettings, AwsError> {
        if self.settings.cluster != *cluster {
            let text = format!("No cluster found for name: {cluster}.");
            return Err(AwsError::new("ResourceNotFoundException", text));
        }
        let region = self.catalog.region.clone();
        Ok(ClusterSettings {
            name: cluster.clone(),
            endpoint: format!("https://0123456789ABCDEF.gr7.{region}.eks.amazonaws.com"),
            ca_bundle: self.settings.ca_bundle.clone(),
            service_cidr: Some("10.100.0.0/16".to_owned()),
            dns_ip: Some("10.100.0.10".to_owned()),
            kubernetes_version: self.settings.kubernetes_version.clone(),
            region,
        })
    }
}

/// `key=value` pairs.
pub(super) fn shown(tags: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

fn group_id(text: &str) -> SecurityGroupId {
    made_up(SecurityGroupId::new(&format!("sg-0{:016x}", digest(text.as_bytes()))))
}
