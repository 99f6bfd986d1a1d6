//! Subnets, security groups and images. The account owns whatever is selected by tags, by id or by
//! name; what else EC2 can filter by is refused.

use std::collections::BTreeMap;

use model::{
    ImageId, Requirements, labels,
    node_class::{
        Image, ImageTerm, PlacementGroupTerm, PlacementStrategy, SecurityGroupTerm, SubnetTerm,
    },
};
use simulator::{AwsError, CLUSTER_GROUP, ROUTE_TABLE, VPC};

use super::{Answer, Call, refused};
use crate::{
    filter::{Filter, selected_tags},
    page::Page,
    parameters::{Parameters, invalid, refusal},
    xml::{Element, list, node, tags, text},
};

const ACCOUNT: &str = "123456789012";

pub(super) async fn subnets(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 5..=1_000, call.page_max).map_err(refused)?;
    let (terms, selected) = subnet_terms(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeSubnets", is_dry).await?;
    let (subnets, next) = page.of(call.sim.describe_subnets(&terms).await?);
    let items = subnets.iter().map(|subnet| {
        vec![
            text("subnetId", &subnet.id),
            text("state", "available"),
            text("vpcId", VPC),
            text("availabilityZone", &subnet.zone),
            text("availabilityZoneId", &subnet.zone_id),
            text("availableIpAddressCount", subnet.available_ip_address_count),
            tags("tagSet", &selected),
        ]
    });
    let mut children = vec![list("subnetSet", items)];
    children.extend(next);
    Ok(children)
}

fn subnet_terms(
    parameters: &mut Parameters,
) -> Result<(Vec<SubnetTerm>, BTreeMap<String, String>), AwsError> {
    let mut ids = parameters.texts("SubnetId");
    let (tags, others) = selected_tags(Filter::take(parameters)?)?;
    for filter in others {
        match filter.name.as_str() {
            "subnet-id" => ids.extend(filter.values),
            _ => return Err(filter.unknown()),
        }
    }
    let mut terms = ids
        .iter()
        .map(|id| id.parse().map(SubnetTerm::Id).map_err(|_| invalid("subnetId", id)))
        .collect::<Result<Vec<_>, _>>()?;
    one_way(!tags.is_empty(), !terms.is_empty())?;
    if !tags.is_empty() {
        terms.push(SubnetTerm::Tags(tags.clone()));
    }
    Ok((terms, shown(tags)))
}

pub(super) async fn security_groups(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 5..=1_000, call.page_max).map_err(refused)?;
    let (terms, selected) = security_group_terms(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeSecurityGroups", is_dry).await?;
    let security_groups = call.sim.describe_security_groups(&terms).await?;
    let (lets_out, lets_in) = call.sim.security_group_rules();
    let (found, next) = page.of(security_groups);
    let items = found.iter().map(|group| {
        let is_of_cluster = group.id.as_str() == CLUSTER_GROUP;
        vec![
            text("ownerId", ACCOUNT),
            text("groupId", &group.id),
            text("groupName", &group.name),
            text("vpcId", VPC),
            list("ipPermissionsEgress", rules(lets_out || is_of_cluster)),
            list("ipPermissions", rules(lets_in && is_of_cluster)),
            tags("tagSet", &selected),
        ]
    });
    let mut children = vec![list("securityGroupInfo", items)];
    children.extend(next);
    Ok(children)
}

/// Everything is let through, or nothing.
fn rules(lets: bool) -> Option<Vec<Element>> {
    let everybody = list("ipRanges", [vec![text("cidrIp", "0.0.0.0/0")]]);
    lets.then(|| vec![text("ipProtocol", "-1"), everybody])
}

/// The one table, which is the main one of the VPC.
pub(super) async fn route_tables(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    for filter in Filter::take(&mut call.parameters).map_err(refused)? {
        if filter.name != "vpc-id" {
            return Err(refused(filter.unknown()));
        }
    }
    call.tried("DescribeRouteTables", is_dry).await?;
    let ways = call.sim.describe_route_tables().await?;
    let local = vec![
        text("destinationCidrBlock", "10.0.0.0/16"),
        text("gatewayId", "local"),
        text("state", "active"),
    ];
    let ways = ways.iter().map(|way| {
        let kind = if way.target.starts_with("igw-") { "gatewayId" } else { "natGatewayId" };
        vec![
            text("destinationCidrBlock", "0.0.0.0/0"),
            text(kind, &way.target),
            text("state", if way.is_black_hole { "blackhole" } else { "active" }),
        ]
    });
    let item = vec![
        text("routeTableId", ROUTE_TABLE),
        text("vpcId", VPC),
        list("routeSet", [local].into_iter().chain(ways)),
        list("associationSet", [vec![text("main", true)]]),
    ];
    Ok(vec![list("routeTableSet", [item])])
}

fn security_group_terms(
    parameters: &mut Parameters,
) -> Result<(Vec<SecurityGroupTerm>, BTreeMap<String, String>), AwsError> {
    let mut terms = Vec::new();
    let (tags, others) = selected_tags(Filter::take(parameters)?)?;
    for filter in others {
        for value in &filter.values {
            terms.push(match filter.name.as_str() {
                "group-id" => {
                    SecurityGroupTerm::Id(value.parse().map_err(|_| invalid("groupId", value))?)
                }
                "group-name" => SecurityGroupTerm::Name(value.clone()),
                _ => return Err(filter.unknown()),
            });
        }
    }
    one_way(!tags.is_empty(), !terms.is_empty())?;
    if !tags.is_empty() {
        terms.push(SecurityGroupTerm::Tags(tags.clone()));
    }
    Ok((terms, shown(tags)))
}

pub(super) async fn placement_groups(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let ids =
        call.parameters.all("GroupId").map_err(refused)?.into_iter().map(PlacementGroupTerm::Id);
    let names = call.parameters.texts("GroupName").into_iter().map(PlacementGroupTerm::Name);
    let terms: Vec<PlacementGroupTerm> = ids.chain(names).collect();
    for filter in Filter::take(&mut call.parameters).map_err(refused)? {
        if filter.name != "state" || !filter.has("available") {
            return Err(refused(filter.unknown()));
        }
    }
    one_way(false, !terms.is_empty()).map_err(refused)?;
    call.tried("DescribePlacementGroups", is_dry).await?;
    let mut items = Vec::new();
    for term in &terms {
        let group = call.sim.describe_placement_group(term).await?;
        let mut item = vec![
            text("groupId", &group.id),
            text("groupName", &group.name),
            text("state", "available"),
            text("strategy", group.strategy.as_str()),
        ];
        if let PlacementStrategy::Partition { count } = group.strategy {
            item.push(text("partitionCount", count));
        }
        items.push(item);
    }
    Ok(vec![list("placementGroupSet", items)])
}

pub(super) async fn images(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 1..=1_000, call.page_max).map_err(refused)?;
    let _is_deprecated_wanted = call.parameters.flag("IncludeDeprecated").map_err(refused)?;
    let query = image_query(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeImages", is_dry).await?;
    let images = match query {
        ImageQuery::Ids { ids, is_filter } => {
            let images = call.sim.describe_images(&ids).await?;
            // A filter finds what there is; a parameter names what has to be there.
            let gone = ids.iter().find(|id| images.iter().all(|image| image.id != **id));
            if let Some(gone) = gone.filter(|_| !is_filter) {
                let message = format!("The image id '[{gone}]' does not exist");
                return Err(refused(refusal("InvalidAMIID.NotFound", message)));
            }
            images
        }
        ImageQuery::Term(term) => call.sim.search_images(term).await?,
    };
    let (found, next) = page.of(images);
    let mut children = vec![list("imagesSet", found.iter().map(described))];
    children.extend(next);
    Ok(children)
}

enum ImageQuery {
    Ids { ids: Vec<ImageId>, is_filter: bool },
    Term(ImageTerm),
}

fn image_query(parameters: &mut Parameters) -> Result<ImageQuery, AwsError> {
    let owners = parameters.texts("Owner");
    let (tags, others) = selected_tags(Filter::take(parameters)?)?;
    let mut ids = image_ids(&parameters.texts("ImageId"))?;
    let is_filter = ids.is_empty();
    let mut name = None;
    for filter in others {
        match (filter.name.as_str(), filter.values.as_slice()) {
            ("image-id", values) if is_filter => ids.extend(image_ids(values)?),
            // Those that were taken away are not there at all.
            ("state", [state]) if state == "available" => {}
            ("name", [text]) => name = Some(text.clone()),
            _ => return Err(filter.unknown()),
        }
    }
    one_way(!tags.is_empty() || name.is_some(), !ids.is_empty())?;
    if !ids.is_empty() {
        return Ok(ImageQuery::Ids { ids, is_filter });
    }
    let owner = owners.into_iter().next();
    Ok(ImageQuery::Term(ImageTerm::Search { name, owner, tags }))
}

fn image_ids(values: &[String]) -> Result<Vec<ImageId>, AwsError> {
    values.iter().map(|id| id.parse().map_err(|_| invalid("imageId", id))).collect()
}

fn described(image: &Image) -> Vec<Element> {
    let mut item = vec![
        text("imageId", &image.id),
        text("imageState", "available"),
        text("imageOwnerId", "602401143452"),
        text("isPublic", true),
        text("architecture", architecture(&image.requirements)),
        text("imageType", "machine"),
        text("name", &image.name),
    ];
    item.extend(image.created_at.map(|at| text("creationDate", at)));
    item.extend(image.deprecated_at.map(|at| text("deprecationTime", at)));
    item.push(node("tagSet", []));
    item
}

fn architecture(requirements: &Requirements) -> &'static str {
    let is_arm = requirements.get(labels::ARCH).is_some_and(|arch| arch.has("arm64"));
    if is_arm { "arm64" } else { "x86_64" }
}

/// The account makes up what is asked for, so it cannot tell what two ways of asking share.
fn one_way(one: bool, other: bool) -> Result<(), AwsError> {
    match (one, other) {
        (true, true) => Err(refusal(
            "UnsupportedOperation",
            "not supported yet: filters by tag or name together with others",
        )),
        (false, false) => Err(refusal(
            "UnsupportedOperation",
            "not supported yet: listing everything that the account owns",
        )),
        _ => Ok(()),
    }
}

/// Tags as a description shows them: where only the key was asked for, some value.
fn shown(tags: BTreeMap<String, String>) -> BTreeMap<String, String> {
    tags.into_iter()
        .map(|(key, value)| (key, if value == "*" { "any".to_owned() } else { value }))
        .collect()
}
