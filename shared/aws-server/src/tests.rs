//! The protocol, below HTTP: requests as AWS's own clients write them, answers as AWS's reference
//! shows them.
//!
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html> and its neighbours.

mod market;
mod reservation;
mod roles;

use std::sync::{Arc, OnceLock};

use jiff::SignedDuration;
use ports::Fault;
use simulator::{Action, ApiAction, Injection, Sim, TokenBucket, WorldSettings, first_calls};

use crate::{AwsServer, Reply, Request};

fn open() -> (Sim, AwsServer) {
    open_with(WorldSettings::default())
}

/// Its clock stands still, and nothing flows back into a bucket: so there are no limits.
fn open_with(settings: WorldSettings) -> (Sim, AwsServer) {
    open_limited(settings.without_limits())
}

fn open_limited(settings: WorldSettings) -> (Sim, AwsServer) {
    static CATALOG: OnceLock<Arc<model::RegionCatalog>> = OnceLock::new();
    let settings = WorldSettings { listing_lag: SignedDuration::ZERO, ..settings };
    let catalog = CATALOG.get_or_init(|| {
        let mut catalog = instance_catalog::builtin().unwrap();
        let kept = ["c7g.xlarge", "m7g.large", "m7i.large"];
        catalog.instance_types.retain(|known| kept.contains(&known.name.as_str()));
        Arc::new(catalog)
    });
    let sim = Sim::new(settings, Arc::clone(catalog));
    let server = AwsServer::new(&sim);
    (sim, server)
}

fn send(sim: &Sim, server: &AwsServer, request: &Request) -> (u16, String) {
    match sim.block_on(server.answer(request)).unwrap() {
        Reply::HangUp => (0, String::new()),
        Reply::Answer { status, body, .. } => (status, body),
    }
}

/// A query request, one parameter on a line.
fn query(sim: &Sim, server: &AwsServer, version: &str, lines: &str) -> (u16, String) {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let body = format!("{}&Version={version}", lines.collect::<Vec<_>>().join("&"));
    let request = Request {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        body: body.into(),
        ..Request::default()
    };
    send(sim, server, &request)
}

fn ec2(sim: &Sim, server: &AwsServer, lines: &str) -> (u16, String) {
    query(sim, server, "2016-11-15", lines)
}

#[track_caller]
fn contains(answer: &(u16, String), status: u16, parts: &[&str]) {
    assert_eq!(answer.0, status, "{}", answer.1);
    for part in parts {
        assert!(answer.1.contains(part), "no `{part}` in {}", answer.1);
    }
}

/// The texts of all elements `name`.
fn texts(answer: &(u16, String), name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = answer.1.split(open.as_str()).skip(1);
    parts.map(|part| part.split(close.as_str()).next().unwrap().to_owned()).collect()
}

const TEMPLATE: &str = "
    Action=CreateLaunchTemplate
    LaunchTemplateName=karpenter.k8s.aws%2F17
    LaunchTemplateData.ImageId=ami-0a1b
    LaunchTemplateData.IamInstanceProfile.Name=nodes
    LaunchTemplateData.UserData=I2Nsb3VkLWNvbmZpZw%3D%3D
    LaunchTemplateData.MetadataOptions.HttpTokens=required
    LaunchTemplateData.NetworkInterface.1.DeviceIndex=0
    LaunchTemplateData.NetworkInterface.1.SecurityGroupId.1=sg-1
    LaunchTemplateData.TagSpecification.1.ResourceType=network-interface
    TagSpecification.1.ResourceType=launch-template
    TagSpecification.1.Tag.1.Key=eks%3Aeks-cluster-name
    TagSpecification.1.Tag.1.Value=demo";

fn fleet(token: &str, count: u32) -> String {
    let choice = |number: u32, name: &str| {
        let prefix = format!("LaunchTemplateConfigs.1.Overrides.{number}");
        format!(
            "{prefix}.InstanceType={name}
             {prefix}.AvailabilityZone=us-west-2a
             {prefix}.SubnetId=subnet-0a
             {prefix}.ImageId=ami-0a1b
             {prefix}.Priority=0.0816"
        )
    };
    format!(
        "Action=CreateFleet
         ClientToken={token}
         Type=instant
         TargetCapacitySpecification.TotalTargetCapacity={count}
         TargetCapacitySpecification.DefaultTargetCapacityType=on-demand
         OnDemandOptions.AllocationStrategy=lowest-price
         LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName=karpenter.k8s.aws%2F17
         LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version=%24Latest
         {}
         {}
         TagSpecification.1.ResourceType=instance
         TagSpecification.1.Tag.1.Key=team
         TagSpecification.1.Tag.1.Value=a
         TagSpecification.2.ResourceType=volume",
        choice(1, "m7i.large"),
        choice(2, "m7g.large"),
    )
}

#[test]
fn more_requests_than_the_account_allows_are_throttled() {
    let mut settings = WorldSettings::default();
    let describe = ApiAction::ec2("DescribeInstances");
    settings.limits.requests.requests.insert(describe, TokenBucket::new(2, 0));
    let (sim, server) = open_limited(settings);
    for _ in 0..2 {
        assert_eq!(ec2(&sim, &server, "Action=DescribeInstances").0, 200);
    }
    let refused = ec2(&sim, &server, "Action=DescribeInstances");
    contains(&refused, 503, &["RequestLimitExceeded"]);
    assert_ne!(ec2(&sim, &server, "Action=DescribeSubnets").0, 503);
}

#[test]
fn a_fleet_says_what_it_brought_from_which_override() {
    let (sim, server) = open();
    contains(
        &ec2(&sim, &server, TEMPLATE),
        200,
        &["<launchTemplateId>lt-0", "karpenter.k8s.aws/17"],
    );
    let answer = ec2(&sim, &server, &fleet("a-1", 2));
    contains(
        &answer,
        200,
        &[
            "<CreateFleetResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">",
            "<fleetId>fleet-0",
            "<errorSet></errorSet>",
            "<instanceType>m7g.large</instanceType>",
            "<availabilityZone>us-west-2a</availabilityZone>",
            "<imageId>ami-0a1b</imageId>",
            "<lifecycle>on-demand</lifecycle>",
        ],
    );
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 2);
    // The same request has the same answer, and nothing else happens.
    assert_eq!(ec2(&sim, &server, &fleet("a-1", 2)), answer);
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 2);
}

#[test]
fn a_token_with_another_content_is_a_mismatch() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    ec2(&sim, &server, &fleet("a-1", 1));
    let answer = ec2(&sim, &server, &fleet("a-1", 2));
    contains(&answer, 400, &["<Response><Errors><Error><Code>IdempotentParameterMismatch</Code>"]);
}

#[test]
fn capacity_that_is_missing_is_an_error_of_its_override() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    let offering = model::OfferingKey {
        capacity_type: model::CapacityType::OnDemand,
        instance_type: "m7g.large".parse().unwrap(),
        zone: "us-west-2a".parse().unwrap(),
    };
    sim.act(Action::SetCapacity { offering, instances: Some(1) });
    let answer = ec2(&sim, &server, &fleet("a-1", 2));
    contains(&answer, 200, &["<errorCode>InsufficientInstanceCapacity</errorCode>"]);
    assert_eq!(texts(&answer, "instanceIds").len(), 2, "one of each type: {}", answer.1);
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    let answer = ec2(&sim, &server, &format!("{}\nDryRun=true", fleet("a-1", 2)));
    contains(&answer, 412, &["DryRunOperation", "Request would have succeeded"]);
    assert!(sim.summary().launched.is_empty());
    sim.add_rule(first_calls("RunInstances", 1, Injection::FailBefore(Fault::Permanent)));
    let run = "Action=RunInstances\nDryRun=true\nMinCount=1\nMaxCount=1\nInstanceType=m7g.large\n\
               LaunchTemplate.LaunchTemplateName=karpenter.k8s.aws/17";
    contains(&ec2(&sim, &server, run), 403, &["UnauthorizedOperation"]);
    contains(&ec2(&sim, &server, run), 412, &["DryRunOperation"]);
    let other = run.replace("aws/17", "aws/18");
    contains(&ec2(&sim, &server, &other), 400, &["InvalidLaunchTemplateName.NotFoundException"]);
    contains(&ec2(&sim, &server, &run.replace("DryRun=true", "")), 400, &["without DryRun"]);
    assert!(sim.summary().launched.is_empty());
}

#[test]
fn what_is_not_known_is_refused_by_its_name() {
    let (sim, server) = open();
    let answer = ec2(&sim, &server, "Action=DescribeVolumes");
    contains(&answer, 400, &["InvalidAction", "DescribeVolumes"]);
    let answer = ec2(&sim, &server, "Action=DescribeInstances\nShape=round");
    contains(&answer, 400, &["UnknownParameter", "Shape"]);
    let filter = "Action=DescribeInstances\nFilter.1.Name=colour\nFilter.1.Value.1=red";
    contains(&ec2(&sim, &server, filter), 400, &["The filter 'colour' is invalid"]);
    let answer = ec2(&sim, &server, &fleet("a-1", 1).replace("Type=instant", "Type=maintain"));
    contains(&answer, 400, &["not supported yet: Type maintain"]);
}

#[test]
fn instances_are_found_by_what_they_are_and_by_their_tags() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    let launched = texts(&ec2(&sim, &server, &fleet("a-1", 3)), "instanceIds");
    let first = launched[0].split("</item>").next().unwrap().trim_start_matches("<item>");
    let tagged =
        format!("Action=CreateTags\nResourceId.1={first}\nTag.1.Key=Name\nTag.1.Value=one");
    contains(&ec2(&sim, &server, &tagged), 200, &["<return>true</return>"]);
    for (name, value, expected) in [
        ("tag:team", "a", 3),
        ("tag:team", "b", 0),
        ("tag-key", "Name", 1),
        ("tag:Name", "o*", 1),
        ("instance-state-name", "pending", 3),
        ("instance-lifecycle", "spot", 0),
        ("client-token", "a-1", 3),
        ("availability-zone", "us-west-2b", 0),
        ("instance-id", first, 1),
    ] {
        let request =
            format!("Action=DescribeInstances\nFilter.1.Name={name}\nFilter.1.Value.1={value}");
        let ids = texts(&ec2(&sim, &server, &request), "instanceId");
        assert_eq!(ids.len(), expected, "{name}={value}");
    }
    let text = format!("Action=DescribeInstances\nInstanceId.1={first}");
    contains(
        &ec2(&sim, &server, &text),
        200,
        &["<name>pending</name>", "<clientToken>a-1</clientToken>"],
    );
    let unknown = "Action=DescribeInstances\nInstanceId.1=i-0123456789abcdef0";
    contains(&ec2(&sim, &server, unknown), 400, &["InvalidInstanceID.NotFound"]);
}

#[test]
fn one_unknown_instance_keeps_all_from_being_terminated() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    let launched = texts(&ec2(&sim, &server, &fleet("a-1", 1)), "instanceIds").pop().unwrap();
    let id = launched.trim_start_matches("<item>").trim_end_matches("</item>");
    let both =
        format!("Action=TerminateInstances\nInstanceId.1={id}\nInstanceId.2=i-0123456789abcdef0");
    contains(&ec2(&sim, &server, &both), 400, &["InvalidInstanceID.NotFound"]);
    let text = format!("Action=TerminateInstances\nInstanceId.1={id}");
    let answer = ec2(&sim, &server, &text);
    contains(&answer, 200, &["<code>32</code><name>shutting-down</name>", "<name>pending</name>"]);
}

#[test]
fn listings_come_in_pages() {
    let (sim, server) = open();
    let server = server.with_page_max(2);
    ec2(&sim, &server, TEMPLATE);
    ec2(&sim, &server, &fleet("a-1", 5));
    let mut sizes = Vec::new();
    let mut request = "Action=DescribeInstances\nMaxResults=1000".to_owned();
    loop {
        let answer = ec2(&sim, &server, &request);
        sizes.push(texts(&answer, "instanceId").len());
        let Some(token) = texts(&answer, "nextToken").pop() else { break };
        request = format!("Action=DescribeInstances\nMaxResults=1000\nNextToken={token}");
    }
    assert_eq!(sizes, [2, 2, 1]);
}

#[test]
fn a_rule_throttles_forbids_and_swallows_answers() {
    let (sim, server) = open();
    ec2(&sim, &server, TEMPLATE);
    let rule = |injection| sim.add_rule(first_calls("CreateFleet", 1, injection));
    rule(Injection::FailBefore(Fault::Transient));
    contains(&ec2(&sim, &server, &fleet("a-1", 1)), 503, &["RequestLimitExceeded"]);
    assert!(sim.summary().launched.is_empty());
    rule(Injection::FailAfter(Fault::Unknown));
    assert_eq!(ec2(&sim, &server, &fleet("a-1", 1)).0, 0, "no answer");
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 1, "and yet it was done");
    contains(&ec2(&sim, &server, &fleet("a-1", 1)), 200, &["<fleetInstanceSet><item>"]);
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 1);
}

#[test]
fn a_launch_template_is_made_once_found_and_deleted() {
    let (sim, server) = open();
    let find = "Action=DescribeLaunchTemplates\nLaunchTemplateName.1=karpenter.k8s.aws%2F17";
    let code = "InvalidLaunchTemplateName.NotFoundException";
    contains(&ec2(&sim, &server, find), 400, &[code, "karpenter.k8s.aws/17"]);
    let made = ec2(&sim, &server, TEMPLATE);
    // The same request, sent again after its answer was lost, is no second one.
    let other = TEMPLATE.replace("2F17", "2F18") + "\nClientToken=c-1";
    let first = ec2(&sim, &server, &other);
    assert_eq!(ec2(&sim, &server, &other), first);
    let again = ec2(&sim, &server, TEMPLATE);
    contains(&again, 400, &["InvalidLaunchTemplateName.AlreadyExistsException"]);
    let tagged = "Action=DescribeLaunchTemplates
        Filter.1.Name=tag%3Aeks%3Aeks-cluster-name
        Filter.1.Value.1=demo
        MaxResults=200";
    contains(&ec2(&sim, &server, tagged), 200, &["karpenter.k8s.aws/17"]);
    let id = texts(&made, "launchTemplateId").pop().unwrap();
    let delete = format!("Action=DeleteLaunchTemplate\nLaunchTemplateId={id}");
    contains(&ec2(&sim, &server, &delete), 200, &[id.as_str()]);
    contains(&ec2(&sim, &server, &delete), 400, &["InvalidLaunchTemplateId.NotFound"]);
    contains(&ec2(&sim, &server, &fleet("a-1", 1)), 400, &[code]);
}

#[test]
fn an_image_that_was_taken_away_and_a_profile_that_is_not_there_yet_are_errors_of_the_fleet() {
    let delay = SignedDuration::from_secs(10);
    let (sim, server) =
        open_with(WorldSettings { profile_visible_after: delay, ..WorldSettings::default() });
    ec2(&sim, &server, TEMPLATE);
    let iam = |lines: &str| query(&sim, &server, "2010-05-08", lines);
    contains(&iam("Action=GetInstanceProfile\nInstanceProfileName=nodes"), 404, &["NoSuchEntity"]);
    let create = "Action=CreateInstanceProfile
        InstanceProfileName=nodes
        Tags.member.1.Key=team
        Tags.member.1.Value=a";
    contains(&iam(create), 200, &["<CreateInstanceProfileResult><InstanceProfile>"]);
    let add = "Action=AddRoleToInstanceProfile\nInstanceProfileName=nodes\nRoleName=Node";
    contains(&iam(add), 200, &["<AddRoleToInstanceProfileResponse"]);
    contains(&iam(add), 409, &["LimitExceeded"]);
    let get = "Action=GetInstanceProfile\nInstanceProfileName=nodes";
    contains(&iam(get), 200, &["<RoleName>Node</RoleName>", "<Key>team</Key><Value>a</Value>"]);
    let early = ec2(&sim, &server, &fleet("a-1", 1));
    contains(&early, 200, &["InvalidParameterValue", "Invalid IAM Instance Profile name"]);
    sim.pass_until(sim.now().checked_add(delay).unwrap());
    contains(&ec2(&sim, &server, &fleet("a-2", 1)), 200, &["<errorSet></errorSet>"]);
    sim.act(Action::DeregisterImage("ami-0a1b".parse().unwrap()));
    contains(&ec2(&sim, &server, &fleet("a-3", 1)), 200, &["InvalidAMIID.NotFound"]);
    // Who names an image is refused, who looks for one finds nothing.
    let named = ec2(&sim, &server, "Action=DescribeImages\nImageId.1=ami-0a1b");
    contains(&named, 400, &["InvalidAMIID.NotFound"]);
    let filter = "Action=DescribeImages\nFilter.1.Name=image-id\nFilter.1.Value.1=ami-0a1b";
    contains(&ec2(&sim, &server, filter), 200, &["<imagesSet></imagesSet>"]);
    let other = ec2(&sim, &server, "Action=DescribeImages\nImageId.1=ami-0a1c");
    contains(&other, 200, &["<imageId>ami-0a1c</imageId>"]);
    assert_eq!(sim.summary().launched.values().sum::<u32>(), 1);
}

#[test]
fn ids_and_tags_select_the_same_things_as_in_the_ports() {
    use model::node_class::SubnetTerm;
    use ports::Discovery as _;
    let (sim, server) = open();
    let tags = [("karpenter.sh/discovery".to_owned(), "demo".to_owned())];
    let terms = [SubnetTerm::Tags(tags.into())];
    let known = sim.block_on(sim.subnets(&terms)).unwrap().unwrap();
    let request = "Action=DescribeSubnets
        Filter.1.Name=tag%3Akarpenter.sh%2Fdiscovery
        Filter.1.Value.1=demo";
    let ids = texts(&ec2(&sim, &server, request), "subnetId");
    let known: Vec<String> = known.iter().map(|subnet| subnet.id.to_string()).collect();
    assert_eq!(ids, known);
    contains(&ec2(&sim, &server, "Action=DescribeSubnets"), 400, &["not supported yet"]);
    let groups = "Action=DescribeSecurityGroups
        Filter.1.Name=group-name
        Filter.1.Value.1=nodes
        Filter.1.Value.2=more";
    assert_eq!(texts(&ec2(&sim, &server, groups), "groupId").len(), 2);
}
