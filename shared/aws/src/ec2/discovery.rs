//! What the selectors of EC2NodeClasses name.

use std::collections::{BTreeMap, BTreeSet};

use aws_config::SdkConfig;
use aws_sdk_ec2::{
    Client,
    types::{self, Filter},
};
use jiff::Timestamp;
use model::{
    ClusterName, ImageId, LaunchTemplateName, SecurityGroupId, SubnetId, Zone, ZoneId,
    image_alias::{self, Parameter},
    limits,
    limits::requests,
    node_class::{
        CapacityReservation, ClusterSettings, DescribedTemplate, Image, ImageFamily, ImageTerm,
        PlacementGroup, PlacementGroupTerm, ReservationTerm, SecurityGroup, SecurityGroupTerm,
        Subnet, SubnetTerm,
    },
    zonal_shift::ZonalShift,
};
use ports::{Discovery, PortError};

use super::{
    filter,
    image::{Query, from_image, newest_first},
    reservation, tag_filters, template_version,
};
use crate::{
    EksClusters,
    fault::{BadAnswer, BadRequest, port_error},
    kept::Kept,
    ssm::Parameters,
    zonal_shift::ZonalShifts,
};

const SUBNETS: &str = "DescribeSubnets";
const GROUPS: &str = "DescribeSecurityGroups";
const IMAGES: &str = "DescribeImages";

/// [`Discovery`] over EC2, SSM and EKS.
#[derive(Clone, Debug)]
pub struct Ec2Discovery {
    client: Client,
    parameters: Parameters,
    clusters: EksClusters,
    shifts: ZonalShifts,
    subnets: Kept<Vec<SubnetTerm>, Vec<Subnet>>,
    groups: Kept<Vec<SecurityGroupTerm>, Vec<SecurityGroup>>,
    /// By the query in words.
    images: Kept<String, Vec<Image>>,
}

impl Ec2Discovery {
    pub(crate) fn new(
        config: &SdkConfig,
        parameters: Parameters,
        clusters: EksClusters,
        shifts: ZonalShifts,
    ) -> Self {
        Self {
            client: Client::new(config),
            parameters,
            clusters,
            shifts,
            subnets: Kept::new(config, requests::SUBNETS_KEPT_FOR),
            groups: Kept::new(config, requests::SELECTED_KEPT_FOR),
            images: Kept::new(config, requests::SELECTED_KEPT_FOR),
        }
    }

    async fn subnets_of(&self, terms: &[SubnetTerm]) -> Result<Vec<Subnet>, PortError> {
        let mut subnets: BTreeMap<SubnetId, Subnet> = BTreeMap::new();
        for filters in subnet_queries(terms) {
            let mut token = None;
            for page in 0.. {
                bounded(SUBNETS, page)?;
                let request = self
                    .client
                    .describe_subnets()
                    .max_results(requests::NETWORKS_PER_PAGE.into())
                    .set_filters(Some(filters.clone()))
                    .set_next_token(token);
                let answer = request.send().await.map_err(|error| port_error(SUBNETS, error))?;
                for described in answer.subnets() {
                    let subnet = from_subnet(described).map_err(|p| BadAnswer::of(SUBNETS, p))?;
                    subnets.insert(subnet.id.clone(), subnet);
                }
                token = answer.next_token.filter(|token| !token.is_empty());
                if token.is_none() {
                    break;
                }
            }
        }
        Ok(subnets.into_values().collect())
    }

    async fn groups_of(
        &self,
        terms: &[SecurityGroupTerm],
    ) -> Result<Vec<SecurityGroup>, PortError> {
        let mut groups = BTreeMap::new();
        for filters in security_group_queries(terms) {
            let mut token = None;
            for page in 0.. {
                bounded(GROUPS, page)?;
                let request = self
                    .client
                    .describe_security_groups()
                    .max_results(requests::NETWORKS_PER_PAGE.into())
                    .set_filters(Some(filters.clone()))
                    .set_next_token(token);
                let answer = request.send().await.map_err(|error| port_error(GROUPS, error))?;
                for security_group in answer.security_groups() {
                    let id = SecurityGroupId::new(security_group.group_id().unwrap_or_default())
                        .map_err(|error| BadAnswer::of(GROUPS, error.to_string()))?;
                    let name = security_group.group_name().unwrap_or_default().to_owned();
                    groups.insert(id.clone(), SecurityGroup { id, name });
                }
                token = answer.next_token.filter(|token| !token.is_empty());
                if token.is_none() {
                    break;
                }
            }
        }
        Ok(groups.into_values().collect())
    }

    /// The images that `query` finds.
    async fn images_of(&self, query: &Query) -> Result<Vec<Image>, PortError> {
        let key = format!("{query:?}");
        self.images.or_ask(&key, |images| !images.is_empty(), self.found_by(query)).await
    }

    async fn found_by(&self, query: &Query) -> Result<Vec<Image>, PortError> {
        let mut images = Vec::new();
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self
                .client
                .describe_images()
                .include_deprecated(true)
                .set_filters(Some(query.filters.clone()))
                .set_owners((!query.owners.is_empty()).then(|| query.owners.clone()))
                .max_results(requests::ENTRIES_PER_PAGE.into())
                .set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(IMAGES, error))?;
            for described in answer.images() {
                let image = from_image(described);
                images.extend(image.map_err(|problem| BadAnswer::of(IMAGES, problem))?);
            }
            token = answer.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(images);
            }
        }
        Err(BadAnswer::of(IMAGES, "too many pages"))
    }

    /// The images of an alias, each once for every variant that it is for.
    async fn images_of_alias(
        &self,
        family: ImageFamily,
        version: &str,
        kubernetes_version: &str,
    ) -> Result<Vec<Image>, PortError> {
        let parameters = image_alias::parameters(family, version, kubernetes_version)
            .map_err(|problem| BadRequest::of(IMAGES, problem))?;
        let mut wanted: BTreeMap<ImageId, Vec<Parameter>> = BTreeMap::new();
        for parameter in parameters {
            // Not every family has every build in every region.
            let value = self.parameters.published(&parameter.name).await?;
            if let Some(id) = image_id(&parameter.name, value) {
                wanted.entry(id).or_default().push(parameter);
            }
        }
        let mut images = Vec::new();
        let now = Timestamp::try_from(self.images.now()).unwrap_or(Timestamp::MAX);
        for query in Query::by_id(&wanted.keys().cloned().collect()) {
            for image in self.images_of(&query).await? {
                let is_deprecated = image.deprecated_at.is_some_and(|since| since <= now);
                for parameter in wanted.get(&image.id).into_iter().flatten() {
                    if is_deprecated {
                        self.parameters.is_deprecated(&parameter.name);
                    }
                    for variant in &parameter.variants {
                        let mut image = image.clone();
                        image.requirements.add_all(&variant.requirements());
                        images.push(image);
                    }
                }
            }
        }
        Ok(images)
    }
}

impl Discovery for Ec2Discovery {
    async fn subnets(&self, terms: &[SubnetTerm]) -> Result<Vec<Subnet>, PortError> {
        // An empty answer is not kept: a user is about to create one.
        let is_kept = |subnets: &Vec<Subnet>| !subnets.is_empty();
        self.subnets.or_ask(&terms.to_vec(), is_kept, self.subnets_of(terms)).await
    }

    async fn free_addresses(
        &self,
        subnets: &BTreeSet<SubnetId>,
    ) -> Result<BTreeMap<SubnetId, u32>, PortError> {
        let terms: Vec<SubnetTerm> = subnets.iter().cloned().map(SubnetTerm::Id).collect();
        let subnets = self.subnets_of(&terms).await?.into_iter();
        Ok(subnets.map(|subnet| (subnet.id, subnet.available_ip_address_count)).collect())
    }

    async fn security_groups(
        &self,
        terms: &[SecurityGroupTerm],
    ) -> Result<Vec<SecurityGroup>, PortError> {
        // An empty answer is not kept: a user is about to create one.
        let is_kept = |groups: &Vec<SecurityGroup>| !groups.is_empty();
        self.groups.or_ask(&terms.to_vec(), is_kept, self.groups_of(terms)).await
    }

    async fn reservations(
        &self,
        terms: &[ReservationTerm],
    ) -> Result<Vec<CapacityReservation>, PortError> {
        reservation::reservations(&self.client, terms).await
    }

    async fn placement_group(
        &self,
        term: &PlacementGroupTerm,
    ) -> Result<Option<PlacementGroup>, PortError> {
        reservation::placement_group(&self.client, term).await
    }

    async fn images(
        &self,
        terms: &[ImageTerm],
        kubernetes_version: &str,
    ) -> Result<Vec<Image>, PortError> {
        let mut images = Vec::new();
        let mut ids = BTreeSet::new();
        let mut queries = Vec::new();
        for term in terms {
            match term {
                ImageTerm::Alias { family, version } => {
                    let of_alias = self.images_of_alias(*family, version, kubernetes_version);
                    images.extend(of_alias.await?);
                }
                ImageTerm::Id(id) => {
                    ids.insert(id.clone());
                }
                ImageTerm::SsmParameter(name) => {
                    ids.extend(image_id(name, self.parameters.get(name).await?));
                }
                ImageTerm::Search { name, owner, tags } => {
                    queries.push(Query::search(name.as_deref(), owner.as_deref(), tags));
                }
            }
        }
        queries.extend(Query::by_id(&ids));
        for query in queries {
            images.extend(self.images_of(&query).await?);
        }
        newest_first(&mut images);
        Ok(images)
    }

    async fn launch_template(
        &self,
        name: &LaunchTemplateName,
    ) -> Result<Option<DescribedTemplate>, PortError> {
        template_version::newest(&self.client, name).await
    }

    async fn zonal_shifts(&self, cluster: &ClusterName) -> Result<Vec<ZonalShift>, PortError> {
        self.shifts.of(&self.clusters.arn(cluster).await?).await
    }

    async fn cluster_settings(&self, cluster: &ClusterName) -> Result<ClusterSettings, PortError> {
        self.clusters.settings(cluster).await
    }
}

/// The image id that is the `value` of the SSM parameter `name`; one of another kind is left out.
fn image_id(name: &str, value: Option<String>) -> Option<ImageId> {
    let value = value?;
    let id = ImageId::new(&value);
    if id.is_err() {
        tracing::warn!(parameter = name, value, "SSM parameter holds no image id");
    }
    id.ok()
}

fn bounded(operation: &'static str, page: usize) -> Result<(), PortError> {
    let is_within = page < limits::PAGES_PER_LISTING_MAX;
    is_within.then_some(()).ok_or_else(|| BadAnswer::of(operation, "too many pages"))
}

/// All ids in one query, each set of tags in one of its own.
fn subnet_queries(terms: &[SubnetTerm]) -> Vec<Vec<Filter>> {
    let mut ids = BTreeSet::new();
    let mut queries = Vec::new();
    for term in terms {
        match term {
            SubnetTerm::Id(id) => {
                ids.insert(id.as_str());
            }
            SubnetTerm::Tags(tags) => queries.push(tag_filters(tags)),
        }
    }
    queries.extend(by_values("subnet-id", &ids));
    queries
}

fn security_group_queries(terms: &[SecurityGroupTerm]) -> Vec<Vec<Filter>> {
    let mut ids = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut queries = Vec::new();
    for term in terms {
        match term {
            SecurityGroupTerm::Id(id) => {
                ids.insert(id.as_str());
            }
            SecurityGroupTerm::Name(name) => {
                names.insert(name.as_str());
            }
            SecurityGroupTerm::Tags(tags) => queries.push(tag_filters(tags)),
        }
    }
    queries.extend(by_values("group-id", &ids));
    queries.extend(by_values("group-name", &names));
    queries
}

fn by_values(name: &str, values: &BTreeSet<&str>) -> Vec<Vec<Filter>> {
    let values: Vec<&str> = values.iter().copied().collect();
    values
        .chunks(requests::FILTER_VALUES_MAX.into())
        .map(|values| vec![filter(name, values)])
        .collect()
}

fn from_subnet(subnet: &types::Subnet) -> Result<Subnet, String> {
    let id = SubnetId::new(subnet.subnet_id().unwrap_or_default()).map_err(|e| e.to_string())?;
    let zone = Zone::new(subnet.availability_zone().unwrap_or_default());
    let zone_id = ZoneId::new(subnet.availability_zone_id().unwrap_or_default());
    let free = subnet.available_ip_address_count().and_then(|count| u32::try_from(count).ok());
    Ok(Subnet {
        zone: zone.map_err(|error| format!("subnet `{id}`: {error}"))?,
        zone_id: zone_id.map_err(|error| format!("subnet `{id}`: {error}"))?,
        available_ip_address_count: free.unwrap_or(0),
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ec2::text_of;

    #[track_caller]
    fn check(queries: &[Vec<Filter>], expected: &[&str]) {
        let text = |query: &Vec<Filter>| query.iter().map(text_of).collect::<Vec<_>>().join(" ");
        assert_eq!(queries.iter().map(text).collect::<Vec<_>>(), expected);
    }

    fn tags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn ids_share_a_query_and_tags_have_one_each() {
        let id = |id: &str| SubnetTerm::Id(SubnetId::new(id).unwrap());
        check(
            &subnet_queries(&[
                id("subnet-2"),
                SubnetTerm::Tags(tags(&[("karpenter.sh/discovery", "demo"), ("tier", "*")])),
                id("subnet-1"),
                SubnetTerm::Tags(tags(&[("Name", "private-*")])),
            ]),
            &[
                "tag:karpenter.sh/discovery=demo tag-key=tier",
                "tag:Name=private-*",
                "subnet-id=subnet-1,subnet-2",
            ],
        );
    }

    #[test]
    fn names_of_security_groups_share_a_query_too() {
        check(
            &security_group_queries(&[
                SecurityGroupTerm::Name("nodes".to_owned()),
                SecurityGroupTerm::Id(SecurityGroupId::new("sg-1").unwrap()),
                SecurityGroupTerm::Name("more".to_owned()),
            ]),
            &["group-id=sg-1", "group-name=more,nodes"],
        );
    }

    #[test]
    fn nothing_selected_asks_nothing() {
        assert!(subnet_queries(&[]).is_empty());
        assert!(Query::by_id(&BTreeSet::new()).is_empty());
    }

    #[test]
    fn a_subnet_says_where_it_is() {
        let subnet_builder = types::Subnet::builder()
            .subnet_id("subnet-1")
            .availability_zone("us-west-2a")
            .availability_zone_id("usw2-az1")
            .available_ip_address_count(250);
        let expected = Subnet {
            id: SubnetId::new("subnet-1").unwrap(),
            zone: Zone::new("us-west-2a").unwrap(),
            zone_id: ZoneId::new("usw2-az1").unwrap(),
            available_ip_address_count: 250,
        };
        assert_eq!(from_subnet(&subnet_builder.clone().build()), Ok(expected));
        assert!(from_subnet(&subnet_builder.set_availability_zone(None).build()).is_err());
    }
}
