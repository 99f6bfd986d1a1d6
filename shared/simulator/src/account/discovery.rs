//! What the account owns: what a class was known to select, and capacity reservations. Beside that it owns a matching
//! subnet in each zone, security group and image for whatever is selected, and remembers what was
//! assumed.

use std::collections::BTreeMap;

use model::{
    ClusterName, PlacementGroupId, SecurityGroupId, SubnetId,
    ledger::digest,
    node_class::{
        ClusterSettings, Image, ImageTerm, PlacementGroup, PlacementGroupTerm, PlacementStrategy,
        SecurityGroup, SecurityGroupTerm, Subnet, SubnetTerm,
    },
};

use super::AwsError;
use crate::{made_up, story::ClassFindings, world::World};

/// The name of a security group that is not known by one.
const NODES: &str = "nodes";
/// Addresses of a `/19`, without EC2's own five.
const ADDRESSES: u32 = 8_187;

/// What selectors find, where that was known.
#[derive(Debug, Default)]
pub(super) struct Found {
    subnets: Vec<(Vec<SubnetTerm>, Vec<Subnet>)>,
    security_groups: Vec<(Vec<SecurityGroupTerm>, Vec<SecurityGroupId>)>,
    images: Vec<(Vec<ImageTerm>, Vec<Image>)>,
}

impl Found {
    pub(super) fn images(&self, terms: &[ImageTerm]) -> Option<&Vec<Image>> {
        by(&self.images, terms)
    }
}

/// What `terms` find among `known`; of those that stand there again, the last.
fn by<'k, T: PartialEq, F>(known: &'k [(Vec<T>, F)], terms: &[T]) -> Option<&'k F> {
    known.iter().rev().find(|(of, _)| of == terms).map(|(_, found)| found)
}

impl World {
    /// The account has these. Subnets of another region are no subnets of this one.
    pub(crate) fn find(&mut self, findings: ClassFindings) {
        let ClassFindings { class, subnets, security_groups, images } = findings;
        let selected = &mut self.account.found;
        let is_here = |subnet: &Subnet| self.catalog.zones.contains_key(&subnet.zone);
        if let Some(subnets) = subnets.filter(|subnets| subnets.iter().all(is_here)) {
            let zones = subnets.iter().map(|subnet| (subnet.id.clone(), subnet.zone.clone()));
            self.account.subnets.extend(zones);
            selected.subnets.push((class.subnet_terms, subnets));
        }
        if let Some(groups) = security_groups {
            selected.security_groups.push((class.security_group_terms, groups));
        }
        if let Some(images) = images {
            selected.images.push((class.image_terms, images));
        }
    }

    /// Whether it is known which images `terms` find.
    pub(crate) fn knows_images(&self, terms: &[ImageTerm]) -> bool {
        self.account.found.images(terms).is_some()
    }

    pub(crate) fn subnets(&mut self, terms: &[SubnetTerm]) -> Vec<Subnet> {
        if let Some(known) = by(&self.account.found.subnets, terms) {
            let free = |subnet: &Subnet| Subnet {
                available_ip_address_count: ADDRESSES,
                ..subnet.clone()
            };
            return known.iter().map(free).collect();
        }
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
        if let Some(known) = by(&self.account.found.security_groups, terms) {
            let named =
                |id: &SecurityGroupId| SecurityGroup { id: id.clone(), name: NODES.to_owned() };
            return known.iter().map(named).collect();
        }
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
            let name = name.or(known).unwrap_or_else(|| NODES.to_owned());
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
