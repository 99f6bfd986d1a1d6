//! Which routes and rules count, by what EC2 answers.

use testkit::build;

use super::*;
use crate::wire::Wire;

const PRIVATE: &str = r#"{"cluster":{"resourcesVpcConfig":{"vpcId":"vpc-1","endpointPrivateAccess":true,
    "endpointPublicAccess":true,"clusterSecurityGroupId":"sg-9","securityGroupIds":["sg-8"]}}}"#;
const PUBLIC: &str = r#"{"cluster":{"resourcesVpcConfig":{"vpcId":"vpc-1","endpointPublicAccess":true,
    "clusterSecurityGroupId":"sg-9"}}}"#;
const OPEN: &str =
    "<ipPermissionsEgress><item><ipProtocol>-1</ipProtocol></item></ipPermissionsEgress>";

fn ec2(operation: &str, content: &str) -> String {
    let space = "http://ec2.amazonaws.com/doc/2016-11-15/";
    format!("<{operation}Response xmlns=\"{space}\">{content}</{operation}Response>")
}

/// A table of `subnet`, or the main one.
fn table(name: &str, subnet: Option<&str>, routes: &str) -> String {
    let of = match subnet {
        Some(subnet) => format!("<subnetId>{subnet}</subnetId>"),
        None => "<main>true</main>".to_owned(),
    };
    format!(
        "<item><routeTableId>{name}</routeTableId><routeSet>{routes}</routeSet>\
         <associationSet><item>{of}</item></associationSet></item>"
    )
}

fn route(to: &str, target: &str, state: &str) -> String {
    format!("<item>{to}{target}<state>{state}</state></item>")
}

fn group(id: &str, rules: &str) -> String {
    format!("<item><groupId>{id}</groupId>{rules}</item>")
}

async fn seen(cluster: &str, tables: &str, groups: &str) -> (JoinNetwork, Vec<String>) {
    let tables = ec2(TABLES, &format!("<routeTableSet>{tables}</routeTableSet>"));
    let groups = ec2(GROUPS, &format!("<securityGroupInfo>{groups}</securityGroupInfo>"));
    let wire = Wire::answering(&[
        Some((200, cluster)),
        Some((200, tables.as_str())),
        Some((200, groups.as_str())),
    ]);
    let config = wire.config();
    let eks = aws_sdk_eks::Client::new(&config);
    let described = eks.describe_cluster().name("demo").send().await.unwrap().cluster.unwrap();
    let instance = JoiningInstance {
        profile: None,
        image: None,
        vpc: Some("vpc-1".to_owned()),
        subnet: Some(build::id("subnet-1")),
        security_groups: vec![build::id("sg-1")],
        has_public_address: false,
    };
    let network = look(&aws_sdk_ec2::Client::new(&config), &described, &instance).await.unwrap();
    (network, wire.sent())
}

#[tokio::test]
async fn the_routes_of_the_subnet_that_lead_to_the_internet_are_ways_out() {
    let to = |range: &str| format!("<destinationCidrBlock>{range}</destinationCidrBlock>");
    let gateway = |id: &str| format!("<gatewayId>{id}</gatewayId>");
    let nat = "<natGatewayId>nat-1</natGatewayId>";
    let list = "<destinationPrefixListId>pl-1</destinationPrefixListId>";
    let routes = [
        route(&to("10.0.0.0/16"), &gateway("local"), "active"),
        route(
            &to("10.9.0.0/16"),
            "<vpcPeeringConnectionId>pcx-1</vpcPeeringConnectionId>",
            "active",
        ),
        route(list, &gateway("vpce-1"), "active"),
        route(&to("0.0.0.0/0"), nat, "blackhole"),
        route(
            "<destinationIpv6CidrBlock>::/0</destinationIpv6CidrBlock>",
            &gateway("igw-1"),
            "active",
        ),
    ];
    let main = table("rtb-main", None, &route(&to("0.0.0.0/0"), &gateway("igw-2"), "active"));
    let its = table("rtb-1", Some("subnet-1"), &routes.concat());
    let (network, _) = seen(PUBLIC, &format!("{main}{its}"), &group("sg-1", OPEN)).await;
    let way = |target: &str, is_black_hole| WayOut { target: target.to_owned(), is_black_hole };
    let expected = JoinNetwork {
        is_private: false,
        route_table: Some("rtb-1".to_owned()),
        ways_out: vec![way("nat-1", true), way("igw-1", false)],
        lets_out: true,
        lets_in: None,
    };
    assert_eq!(network, expected);
    // A subnet without a table of its own has the main one.
    let (network, _) = seen(PUBLIC, &main, &group("sg-1", OPEN)).await;
    assert_eq!(network.route_table.as_deref(), Some("rtb-main"));
    assert_eq!(network.ways_out, [way("igw-2", false)]);
}

#[tokio::test]
async fn rules_count_that_are_about_the_port_and_about_the_instance() {
    let rule = |set: &str, protocol: &str, ports: (i32, i32), whom: &str| {
        let (from, to) = ports;
        format!(
            "<{set}><item><ipProtocol>{protocol}</ipProtocol><fromPort>{from}</fromPort>\
             <toPort>{to}</toPort>{whom}</item></{set}>"
        )
    };
    let out = |protocol: &str, ports| rule("ipPermissionsEgress", protocol, ports, "");
    let pair = |id: &str| format!("<groups><item><groupId>{id}</groupId></item></groups>");
    let addresses = "<ipRanges><item><cidrIp>10.0.0.0/8</cidrIp></item></ipRanges>";
    let into = |whom: &str| rule("ipPermissions", "tcp", (443, 443), whom);
    for (ours, theirs, lets_out, lets_in) in [
        (OPEN.to_owned(), into(&pair("sg-1")), true, true),
        (out("tcp", (443, 443)), into(addresses), true, true),
        (out("tcp", (80, 80)), into(&pair("sg-2")), false, false),
        (out("udp", (0, 65_535)), String::new(), false, false),
        (String::new(), rule("ipPermissions", "tcp", (80, 80), addresses), false, false),
    ] {
        let groups = format!("{}{}", group("sg-1", &ours), group("sg-9", &theirs));
        let (network, sent) = seen(PRIVATE, "", &groups).await;
        assert_eq!((network.lets_out, network.lets_in), (lets_out, Some(lets_in)), "{groups}");
        assert!(network.is_private && network.ways_out.is_empty());
        let asked = sent.last().expect("a request");
        for id in ["sg-1", "sg-8", "sg-9"] {
            assert!(asked.contains(id), "{asked}");
        }
    }
}
