//! The table of rights, compared with the requests that the adapters send.
//!
//! Each call of a port is made until it has sent everything that it may send. An adapter that sends
//! something else fails here: by its call's own row, or, where no call here comes so far, because its
//! source names an operation that no row has.

mod ledger;

use std::collections::{BTreeMap, BTreeSet};

use aws_credential_types::provider::SharedCredentialsProvider;
use model::{
    BatchId, ClusterName, Function,
    labels::CLUSTER_NAME_TAG,
    launch::{
        FleetOverride, FleetRequest, FleetTemplate, ReservationMarket, RunRequest, TemplateVersion,
    },
    message::{Delivery, Message},
    node_class::{ImageTerm, PlacementGroupTerm, ReservationTerm, SecurityGroupTerm, SubnetTerm},
    words::capitalized,
};
use ports::{
    Discovery, Fleet, Forensics, Mailbox, Market, Profiles, Templates, rights::iam::ACTIONS,
};
use testkit::build;

use crate::{
    AwsForensics, Connection, DynamoLedger, Ec2Discovery, Ec2Fleet, Ec2Market, Ec2Templates,
    EksClusters, FunctionNames, IamProfiles, QueueUrls, SqsMailbox, lambda::LambdaFunctions,
    pricing::Prices, ssm::Parameters, wire::Wire, zonal_shift::ZonalShifts,
};

const REGION: &str = "us-west-2";

/// What was sent so far, by call.
#[derive(Default)]
struct Sent(BTreeMap<&'static str, BTreeSet<String>>);

impl Sent {
    /// Notes what `call` sent over a wire that gave `answers`.
    async fn note<F: Future>(
        &mut self,
        call: &'static str,
        answers: &[(u16, &str)],
        made: impl FnOnce(Wire) -> F,
    ) {
        let answers: Vec<_> = answers.iter().map(|answer| Some(*answer)).collect();
        let wire = Wire::answering(&answers);
        // Whether it worked makes no difference: it was sent.
        drop(Box::pin(made(wire.clone())).await);
        self.0.entry(call).or_default().extend(wire.actions());
    }
}

fn cluster() -> ClusterName {
    build::id("demo")
}

fn ledger(wire: &Wire) -> DynamoLedger {
    DynamoLedger::new(aws_sdk_dynamodb::Client::new(&wire.config()), "ledger", REGION)
}

fn ec2(wire: &Wire) -> aws_sdk_ec2::Client {
    aws_sdk_ec2::Client::new(&wire.config())
}

fn credentials(wire: &Wire) -> SharedCredentialsProvider {
    wire.config().credentials_provider().unwrap()
}

fn discovery(wire: &Wire) -> Ec2Discovery {
    let config = wire.config();
    let parameters = Parameters::new(&config, REGION, credentials(wire)).over(wire.connector());
    let clusters = EksClusters::new(&config, REGION, Connection::default());
    let shifts = ZonalShifts::new(&config, REGION, credentials(wire)).over(wire.connector());
    Ec2Discovery::new(&config, parameters, clusters, shifts)
}

fn market(wire: &Wire) -> Ec2Market {
    let prices = Prices::new(&wire.config(), REGION, credentials(wire)).over(wire.connector());
    Ec2Market::new(ec2(wire), prices)
}

fn mailbox(wire: &Wire, urls: QueueUrls) -> SqsMailbox {
    let names = FunctionNames { resolve: "resolve".to_owned(), ..FunctionNames::default() };
    let functions = LambdaFunctions::new(&wire.config(), REGION, credentials(wire), names);
    let functions = functions.over(wire.connector());
    SqsMailbox::new(aws_sdk_sqs::Client::new(&wire.config()), urls, functions)
}

/// An answer of EC2 to `operation`.
fn answer(operation: &str, content: &str) -> String {
    let space = "http://ec2.amazonaws.com/doc/2016-11-15/";
    format!("<{operation}Response xmlns=\"{space}\">{content}</{operation}Response>")
}

/// A refusal of EC2.
fn refusal(code: &str) -> String {
    format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>")
}

async fn note_discovery(sent: &mut Sent) {
    let texts: BTreeMap<String, String> = [("team".to_owned(), "a".to_owned())].into();
    let empty = answer("DescribeSubnets", "");
    let terms = &[SubnetTerm::Id(build::id("subnet-1")), SubnetTerm::Tags(texts.clone())];
    let twice = [(200, empty.as_str()), (200, empty.as_str())];
    sent.note("Discovery.subnets", &twice, async |w| discovery(&w).subnets(terms).await).await;
    let subnets = &[build::id("subnet-1")].into();
    sent.note("Discovery.free_addresses", &[(200, &empty)], async |wire| {
        discovery(&wire).free_addresses(subnets).await
    })
    .await;
    let empty = answer("DescribeSecurityGroups", "");
    let terms = &[SecurityGroupTerm::Name("nodes".to_owned())];
    sent.note("Discovery.security_groups", &[(200, &empty)], async |wire| {
        discovery(&wire).security_groups(terms).await
    })
    .await;
    let empty = answer("DescribeCapacityReservations", "");
    let terms = &[ReservationTerm::Id("cr-1".parse().unwrap())];
    sent.note("Discovery.reservations", &[(200, &empty)], async |wire| {
        discovery(&wire).reservations(terms).await
    })
    .await;
    let empty = answer("DescribePlacementGroups", "");
    let term = &PlacementGroupTerm::Name("close".to_owned());
    sent.note("Discovery.placement_group", &[(200, &empty)], async |wire| {
        discovery(&wire).placement_group(term).await
    })
    .await;
    let value = r#"{"Parameter":{"Value":"ami-1"}}"#;
    let empty = answer("DescribeImages", "");
    let term = &[ImageTerm::SsmParameter("/golden/ami".to_owned())];
    sent.note("Discovery.images", &[(200, value), (200, &empty)], async |wire| {
        discovery(&wire).images(term, "1.34").await
    })
    .await;
    let empty = answer("DescribeLaunchTemplateVersions", "");
    let name = &build::id("MyLaunchTemplate");
    sent.note("Discovery.launch_template", &[(200, &empty)], async |wire| {
        discovery(&wire).launch_template(name).await
    })
    .await;
    let eks = r#"{"cluster":{"version":"1.34","endpoint":"https://eks.test","arn":"arn:aws:eks:a",
        "certificateAuthority":{"data":"Q0E="}}}"#;
    sent.note("Discovery.zonal_shifts", &[(200, eks), (200, "{}")], async |wire| {
        discovery(&wire).zonal_shifts(&cluster()).await
    })
    .await;
    sent.note("Discovery.cluster_settings", &[(200, "{}")], async |wire| {
        discovery(&wire).cluster_settings(&cluster()).await
    })
    .await;
}

fn fleet_request() -> FleetRequest {
    let choice = FleetOverride {
        instance_type: build::id("m7g.large"),
        zone: build::id("us-west-2a"),
        subnet: build::id("subnet-1"),
        image: build::id("ami-1"),
        price: build::price("0.04"),
    };
    FleetRequest {
        token: build::id("batch"),
        count: 1,
        capacity_type: model::CapacityType::OnDemand,
        market: ReservationMarket::OnDemand,
        is_prioritized: false,
        context: None,
        templates: vec![FleetTemplate {
            template: build::id("karpenter.k8s.aws/1"),
            version: TemplateVersion::Latest,
            overrides: vec![choice],
        }],
        tags: [(CLUSTER_NAME_TAG.to_owned(), "demo".to_owned())].into(),
    }
}

async fn note_fleet(sent: &mut Sent) {
    let fleet = |wire: &Wire| Ec2Fleet::new(ec2(wire));
    let request = &fleet_request();
    // An instance of which it says nothing but the id.
    let created = answer(
        "CreateFleet",
        "<fleetInstanceSet><item><instanceIds><item>i-1</item></instanceIds></item>\
         </fleetInstanceSet>",
    );
    let none = answer("DescribeInstances", "<reservationSet/>");
    let launched = [(200, created.as_str()), (200, none.as_str())];
    sent.note("Fleet.launch", &launched, async |wire| fleet(&wire).launch(request).await).await;
    let dry = refusal("DryRunOperation");
    let dry = [(412, dry.as_str())];
    sent.note("Fleet.dry_run", &dry, async |wire| fleet(&wire).dry_run(request).await).await;
    let run = &RunRequest {
        template: build::id("karpenter.k8s.aws/1"),
        version: TemplateVersion::Latest,
        instance_type: build::id("m7g.large"),
        subnet: build::id("subnet-1"),
        security_groups: vec![build::id("sg-1")],
        tags: request.tags.clone(),
    };
    sent.note("Fleet.dry_run_instance", &dry, async |wire| {
        fleet(&wire).dry_run_instance(run).await
    })
    .await;
    let (none, id) = ([(200, none.as_str())], [build::id("i-1")]);
    sent.note("Fleet.describe", &none, async |wire| fleet(&wire).describe(&id).await).await;
    sent.note("Fleet.list", &none, async |wire| fleet(&wire).list(&cluster()).await).await;
    let well = answer("DescribeInstanceStatus", "<instanceStatusSet/>");
    let well = [(200, well.as_str()); 3];
    sent.note("Fleet.impaired", &well, async |wire| fleet(&wire).impaired().await).await;
    let batch: &BatchId = &build::id("batch");
    sent.note("Fleet.of_batch", &none, async |wire| fleet(&wire).of_batch(&cluster(), batch).await)
        .await;
    let done = answer("CreateTags", "<return>true</return>");
    sent.note("Fleet.tag", &[(200, &done)], async |wire| {
        fleet(&wire).tag(&id[0], &request.tags).await
    })
    .await;
    let done = answer("RebootInstances", "<return>true</return>");
    sent.note("Fleet.reboot", &[(200, &done)], async |wire| fleet(&wire).reboot(&id[0]).await)
        .await;
    let (gone, done) = (refusal("InvalidInstanceID.NotFound"), answer("TerminateInstances", ""));
    let ended = [(400, gone.as_str()), (200, done.as_str())];
    sent.note("Fleet.terminate", &ended, async |wire| fleet(&wire).terminate(&id).await).await;
}

async fn note_forensics(sent: &mut Sent) {
    let forensics = |wire: &Wire| {
        let config = wire.config();
        AwsForensics::new(&config, &config, &config)
    };
    let id = &build::id("i-1");
    let (refused, told) = (refusal("UnsupportedOperation"), answer("GetConsoleOutput", ""));
    let twice = [(400, refused.as_str()), (200, told.as_str())];
    sent.note("Forensics.console", &twice, async |wire| forensics(&wire).console(id).await).await;
    let well = answer("DescribeInstanceStatus", "<instanceStatusSet/>");
    sent.note("Forensics.checks", &[(200, &well)], async |w| forensics(&w).checks(id).await).await;
    let instance = answer(
        "DescribeInstances",
        "<reservationSet><item><instancesSet><item><iamInstanceProfile>\
         <arn>arn:aws:iam::1:instance-profile/p</arn></iamInstanceProfile></item></instancesSet>\
         </item></reservationSet>",
    );
    let time = "<CreateDate>2026-01-01T00:00:00Z</CreateDate>";
    let role = format!(
        "<Roles><member><Path>/</Path><RoleName>n</RoleName><RoleId>A</RoleId><Arn>a</Arn>{time}\
         </member></Roles>"
    );
    let profile = format!(
        "<GetInstanceProfileResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
         <GetInstanceProfileResult><InstanceProfile><Path>/</Path><InstanceProfileName>p\
         </InstanceProfileName><InstanceProfileId>A</InstanceProfileId><Arn>a</Arn>{time}{role}\
         </InstanceProfile></GetInstanceProfileResult></GetInstanceProfileResponse>"
    );
    sent.note("Forensics.instance", &[(200, &instance)], async |w| {
        forensics(&w).instance(id).await
    })
    .await;
    let of_instance = &model::join::JoiningInstance {
        profile: Some("p".to_owned()),
        image: None,
        vpc: Some("vpc-1".to_owned()),
        subnet: None,
        security_groups: vec![build::id("sg-1")],
        has_public_address: false,
    };
    let described = r#"{"cluster":{"accessConfig":{"authenticationMode":"API"}}}"#;
    let answers = [(200, profile.as_str()), (200, described), (200, r#"{"accessEntry":{}}"#)];
    sent.note("Forensics.access", &answers, async |wire| {
        forensics(&wire).access(&cluster(), of_instance).await
    })
    .await;
    let (tables, groups) = (
        answer("DescribeRouteTables", "<routeTableSet/>"),
        answer("DescribeSecurityGroups", "<securityGroupInfo/>"),
    );
    let answers = [(200, described), (200, tables.as_str()), (200, groups.as_str())];
    sent.note("Forensics.network", &answers, async |wire| {
        forensics(&wire).network(&cluster(), of_instance).await
    })
    .await;
    let images = answer("DescribeImages", "<imagesSet/>");
    sent.note("Forensics.image", &[(200, &images)], async |wire| {
        forensics(&wire).image(&build::id("ami-1")).await
    })
    .await;
}

async fn note_templates(sent: &mut Sent) {
    let templates = |wire: &Wire| Ec2Templates::new(ec2(wire));
    let template = &model::launch::LaunchTemplate {
        tags: [(CLUSTER_NAME_TAG.to_owned(), "demo".to_owned())].into(),
        ..build::template("karpenter.k8s.aws/1")
    };
    let (none, made) = (
        refusal("InvalidLaunchTemplateName.NotFoundException"),
        answer("CreateLaunchTemplate", ""),
    );
    let ensured = [(400, none.as_str()), (200, made.as_str())];
    sent.note("Templates.ensure", &ensured, async |w| templates(&w).ensure(template).await).await;
    let dry = refusal("DryRunOperation");
    sent.note("Templates.dry_run", &[(412, &dry)], async |wire| {
        templates(&wire).dry_run(template).await
    })
    .await;
    let empty = answer("DescribeLaunchTemplates", "");
    sent.note("Templates.list", &[(200, &empty)], async |w| templates(&w).list(&cluster()).await)
        .await;
    let done = answer("DeleteLaunchTemplate", "");
    sent.note("Templates.remove", &[(200, &done)], async |wire| {
        templates(&wire).remove(&template.name).await
    })
    .await;
}

async fn note_profiles(sent: &mut Sent) {
    let profiles = |wire: &Wire| IamProfiles::new(&wire.config());
    let space = "https://iam.amazonaws.com/doc/2010-05-08/";
    let refusal = |code: &str| {
        format!(
            "<ErrorResponse xmlns=\"{space}\"><Error><Code>{code}</Code></Error></ErrorResponse>"
        )
    };
    let answer = |operation: &str, content: &str| {
        format!(
            "<{operation}Response xmlns=\"{space}\"><{operation}Result>{content}\
             </{operation}Result></{operation}Response>"
        )
    };
    let date = "<CreateDate>2026-01-01T00:00:00Z</CreateDate>";
    let profile = format!(
        "<InstanceProfile><Path>/</Path><InstanceProfileName>p</InstanceProfileName>\
         <InstanceProfileId>A</InstanceProfileId><Arn>a</Arn>{date}<Roles><member><Path>/</Path>\
         <RoleName>r</RoleName><RoleId>A</RoleId><Arn>a</Arn>{date}</member></Roles>\
         </InstanceProfile>"
    );
    let (none, text) = (refusal("NoSuchEntity"), answer("GetInstanceProfile", &profile));
    let made = answer("CreateInstanceProfile", &profile);
    let taken = refusal("LimitExceeded");
    let ensured = [(404, none.as_str()), (200, &made), (409, &taken), (200, &text)];
    let tags = &[(CLUSTER_NAME_TAG.to_owned(), "demo".to_owned())].into();
    sent.note("Profiles.ensure", &ensured, async |wire| {
        profiles(&wire).ensure("/journeyman/", "p", "r", tags).await
    })
    .await;
    let empty =
        answer("ListInstanceProfiles", "<IsTruncated>false</IsTruncated><InstanceProfiles/>");
    sent.note("Profiles.list", &[(200, &empty)], async |w| profiles(&w).list("/journeyman/").await)
        .await;
    let parted = answer("RemoveRoleFromInstanceProfile", "");
    let gone = answer("DeleteInstanceProfile", "");
    let removed = [(200, text.as_str()), (200, &parted), (200, &gone)];
    sent.note("Profiles.remove", &removed, async |wire| profiles(&wire).remove("p").await).await;
}

async fn note_market(sent: &mut Sent) {
    let empty = answer("DescribeInstanceTypes", "");
    sent.note("Market.instance_types", &[(200, &empty)], async |wire| {
        market(&wire).instance_types().await
    })
    .await;
    let empty = answer("DescribeAvailabilityZones", "");
    sent.note("Market.zones", &[(200, &empty)], async |wire| market(&wire).zones().await).await;
    let empty = answer("DescribeInstanceTypeOfferings", "");
    sent.note("Market.offered", &[(200, &empty)], async |w| market(&w).offered().await).await;
    sent.note("Market.on_demand", &[(200, "{}")], async |w| market(&w).on_demand().await).await;
    let empty = answer("DescribeSpotPriceHistory", "");
    let now = build::at("2026-11-21T12:00:00Z");
    sent.note("Market.spot", &[(200, &empty)], async |wire| market(&wire).spot(now).await).await;
}

async fn note_mailbox(sent: &mut Sent) {
    let (function, signal) = (model::Function::Settle, model::pulse::Signal::Beat(7));
    let message = Message::Pulse { function, signal };
    let delivery = Delivery { cluster: cluster(), message, delay_seconds: 0 };
    let urls = QueueUrls { settle: "https://sqs.test/settle".to_owned(), ..QueueUrls::default() };
    let done = r#"{"Successful":[{"Id":"0","MessageId":"1","MD5OfMessageBody":"0"}]}"#;
    sent.note("Mailbox.send", &[(200, done)], async |wire| {
        mailbox(&wire, urls).send(&[delivery]).await
    })
    .await;
    sent.note("Mailbox.call", &[(202, "")], async |wire| {
        mailbox(&wire, QueueUrls::default()).call(&cluster(), Function::Resolve).await
    })
    .await;
}

#[tokio::test]
async fn every_call_sends_what_its_row_says_and_nothing_else() {
    let mut sent = Sent::default();
    ledger::note_ledger(&mut sent).await;
    ledger::note_batches(&mut sent).await;
    ledger::note_catalog_store(&mut sent).await;
    note_discovery(&mut sent).await;
    note_fleet(&mut sent).await;
    note_forensics(&mut sent).await;
    note_templates(&mut sent).await;
    note_profiles(&mut sent).await;
    note_market(&mut sent).await;
    note_mailbox(&mut sent).await;
    // The ports of the cluster are over Kubernetes.
    let of_kubernetes = [
        "AlphaStatuses",
        "Cluster",
        "Events",
        "Leases",
        "NodeClaims",
        "NodeClasses",
        "NodePools",
        "Nodes",
    ];
    for (call, actions) in ACTIONS {
        let (port, _) = call.split_once('.').unwrap();
        if of_kubernetes.contains(&port) {
            assert_eq!(*actions, ["eks:DescribeCluster"], "{call}");
            continue;
        }
        let texts = sent.0.remove(call).unwrap_or_else(|| panic!("{call} is not tried here"));
        assert_eq!(texts.iter().map(String::as_str).collect::<Vec<_>>(), *actions, "{call}");
    }
    assert_eq!(sent.0, BTreeMap::new());
}

/// The operations that a source file asks a client of an SDK for.
fn operations(source: &str) -> BTreeSet<String> {
    let flat: String = source.chars().filter(|c| !c.is_whitespace()).collect();
    let asked = ["client.", "once."].into_iter().flat_map(|client| {
        let rest = flat.split(client).skip(1).map(str::to_owned).collect::<Vec<_>>();
        rest.into_iter().filter_map(|rest| {
            let (name, _) = rest.split_once("()")?;
            let is_name = name.chars().all(|c| c == '_' || c.is_ascii_lowercase());
            is_name.then(|| name.split('_').map(capitalized).collect())
        })
    });
    let built = flat.split("Input::builder()").map(|before| {
        let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        name.unwrap_or_default().to_owned()
    });
    let named = built.collect::<Vec<String>>();
    // What follows the last one is not before any.
    let named = named.split_last().map_or(&[] as &[String], |(_, named)| named);
    asked.chain(named.iter().cloned()).collect()
}

#[test]
fn no_source_asks_for_what_no_row_says() {
    let mut known: BTreeSet<&str> = ACTIONS
        .iter()
        .flat_map(|(_, actions)| *actions)
        .filter_map(|action| action.split([':', ' ']).nth(1))
        .collect();
    // Batches of single actions, and transactions, whose writes are actions of their own.
    known.extend(["SendMessageBatch", "TransactWriteItems"]);
    // A client's own settings.
    known.insert("Config");
    let mut texts = BTreeSet::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("rights_tests.rs") {
                texts.extend(operations(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(texts.contains("DescribeSubnets") && texts.contains("CreateFleet"), "{texts:?}");
    let unknown: Vec<_> = texts.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} is in no row of ports::rights::iam");
}
