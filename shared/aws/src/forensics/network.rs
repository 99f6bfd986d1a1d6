//! Routes and security groups between an instance and the API server.

use std::net::Ipv4Addr;

use aws_sdk_ec2::types::{
    Filter, IpPermission, Route, RouteState, RouteTable, RouteTableAssociation, SecurityGroup,
    UserIdGroupPair,
};
use aws_sdk_eks::types::Cluster;
use model::{
    SecurityGroupId, SubnetId,
    join::{JoinNetwork, JoiningInstance, WayOut},
    limits,
};
use ports::PortError;

use crate::fault::{BadAnswer, port_error};

const TABLES: &str = "DescribeRouteTables";
const GROUPS: &str = "DescribeSecurityGroups";
/// Where API servers listen.
const PORT: i32 = 443;

/// What lies between `instance` and the API server of `cluster`.
pub(super) async fn look(
    ec2: &aws_sdk_ec2::Client,
    cluster: &Cluster,
    instance: &JoiningInstance,
) -> Result<JoinNetwork, PortError> {
    let vpc = instance
        .vpc
        .as_deref()
        .ok_or_else(|| BadAnswer::of("DescribeInstances", "an instance without a VPC"))?;
    let place = cluster.resources_vpc_config();
    let is_private =
        place.is_some_and(|at| at.endpoint_private_access() && at.vpc_id() == Some(vpc));
    let theirs: Vec<&str> = place
        .filter(|_| is_private)
        .into_iter()
        .flat_map(|at| {
            let more = at.security_group_ids().iter().map(String::as_str);
            at.cluster_security_group_id().into_iter().chain(more)
        })
        .collect();
    let tables = tables(ec2, vpc).await?;
    let table = of_subnet(&tables, instance.subnet.as_ref());
    let ours: Vec<&str> = instance.security_groups.iter().map(SecurityGroupId::as_str).collect();
    let groups = groups(ec2, ours.iter().chain(&theirs).copied()).await?;
    let of = |ids: &[&str]| -> Vec<&SecurityGroup> {
        let is_one = |group: &&SecurityGroup| group.group_id().is_some_and(|id| ids.contains(&id));
        groups.iter().filter(is_one).collect()
    };
    let mut out = of(&ours).into_iter().flat_map(SecurityGroup::ip_permissions_egress);
    let mut into = of(&theirs).into_iter().flat_map(SecurityGroup::ip_permissions);
    Ok(JoinNetwork {
        is_private,
        route_table: table.and_then(RouteTable::route_table_id).map(ToOwned::to_owned),
        ways_out: table
            .map(RouteTable::routes)
            .unwrap_or_default()
            .iter()
            .filter_map(way)
            .collect(),
        lets_out: ours.is_empty() || out.any(is_for_port),
        lets_in: is_private.then(|| into.any(|rule| is_for_port(rule) && lets(rule, &ours))),
    })
}

async fn tables(ec2: &aws_sdk_ec2::Client, vpc: &str) -> Result<Vec<RouteTable>, PortError> {
    let (mut token, mut tables) = (None, Vec::new());
    for _ in 0..limits::PAGES_PER_LISTING_MAX {
        let of_vpc = Filter::builder().name("vpc-id").values(vpc).build();
        let request = ec2.describe_route_tables().filters(of_vpc).set_next_token(token);
        let answer = request.send().await.map_err(|error| port_error(TABLES, error))?;
        tables.extend(answer.route_tables.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(tables);
        }
    }
    Err(BadAnswer::of(TABLES, "too many pages"))
}

/// The table that `subnet` is associated with, else the main one of its VPC.
///
/// <https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html>
fn of_subnet<'t>(tables: &'t [RouteTable], subnet: Option<&SubnetId>) -> Option<&'t RouteTable> {
    let chosen = tables.iter().find(|table| {
        let mut subnets = table.associations().iter().filter_map(RouteTableAssociation::subnet_id);
        subnets.any(|id| subnet.is_some_and(|subnet| subnet.as_str() == id))
    });
    chosen.or_else(|| {
        tables.iter().find(|table| table.associations().iter().any(|its| its.main() == Some(true)))
    })
}

/// What a route leads to, if it leaves the VPC, and not to a private network or to an endpoint of a service.
fn way(route: &Route) -> Option<WayOut> {
    let target = [
        route.nat_gateway_id(),
        route.transit_gateway_id(),
        route.egress_only_internet_gateway_id(),
        route.network_interface_id(),
        route.instance_id(),
        route.vpc_peering_connection_id(),
        route.local_gateway_id(),
        route.carrier_gateway_id(),
        route.core_network_arn(),
        route.gateway_id(),
    ]
    .into_iter()
    .flatten()
    .find(|id| !id.is_empty())?;
    let is_of_service = target.starts_with("vpce-") && route.destination_prefix_list_id().is_some();
    let is_private = route.destination_cidr_block().is_some_and(is_private_network);
    let is_black_hole = route.state() == Some(&RouteState::Blackhole);
    (target != "local" && !is_of_service && !is_private)
        .then(|| WayOut { target: target.to_owned(), is_black_hole })
}

/// Whether no address of the Internet is in `range`, such as `10.0.0.0/8`.
fn is_private_network(range: &str) -> bool {
    let address = range.split('/').next().and_then(|text| text.parse::<Ipv4Addr>().ok());
    // 100.64.0.0/10 is for carriers, and for pods.
    let is_shared = |[first, second, ..]: [u8; 4]| first == 100 && (64..128).contains(&second);
    address.is_some_and(|address| address.is_private() || is_shared(address.octets()))
}

async fn groups<'g>(
    ec2: &aws_sdk_ec2::Client,
    ids: impl Iterator<Item = &'g str>,
) -> Result<Vec<SecurityGroup>, PortError> {
    let by_id =
        Filter::builder().name("group-id").set_values(Some(ids.map(str::to_owned).collect()));
    let request = ec2.describe_security_groups().filters(by_id.build());
    let answer = request.send().await.map_err(|error| port_error(GROUPS, error))?;
    Ok(answer.security_groups.unwrap_or_default())
}

/// Whether a rule is about port 443 of TCP.
fn is_for_port(rule: &IpPermission) -> bool {
    match rule.ip_protocol() {
        Some("-1") => true,
        Some("tcp" | "6") => {
            rule.from_port().is_none_or(|from| from <= PORT)
                && rule.to_port().is_none_or(|to| PORT <= to)
        }
        _ => false,
    }
}

/// Whether a rule is about some addresses, or about one of `groups`.
fn lets(rule: &IpPermission, groups: &[&str]) -> bool {
    let mut pairs = rule.user_id_group_pairs().iter().filter_map(UserIdGroupPair::group_id);
    !rule.ip_ranges().is_empty()
        || !rule.ipv6_ranges().is_empty()
        || !rule.prefix_list_ids().is_empty()
        || pairs.any(|id| groups.contains(&id))
}

#[cfg(test)]
mod tests;
