//! The table of rights, compared with the requests that the adapters send.
//!
//! Each call of a port is made until it has sent everything that it may send. An adapter that sends
//! something else fails here: by its call's own row, or, where no call here comes so far, because its
//! source names an operation that no row has.

use std::collections::{BTreeMap, BTreeSet};

use aws_credential_types::provider::SharedCredentialsProvider;
use model::{
    BatchId, ClusterName, NodeClaim, OfferingKey,
    labels::CLUSTER_NAME_TAG,
    launch::{
        FleetOverride, FleetRequest, FleetTemplate, ReservationMarket, RunRequest, TemplateVersion,
    },
    ledger::{Commit, Generation, MeasuredKey},
    message::{Delivery, Message},
    node_class::{ImageTerm, PlacementGroupTerm, ReservationTerm, SecurityGroupTerm, SubnetTerm},
    shape::Shelved,
    validation::Verdict,
};
use ports::{Discovery, Fleet, Ledger, Mailbox, Market, Profiles, Shelf, Templates};
use serde_json::{Value, json};
use testkit::build;

use crate::{
    Connection, DynamoLedger, DynamoShelf, Ec2Discovery, Ec2Fleet, Ec2Market, Ec2Templates,
    EksClusters, IamProfiles, QueueUrls, SqsMailbox, fixture, pricing::Prices, rights::ACTIONS,
    ssm::Parameters, wire::Wire,
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
    Ec2Discovery::new(ec2(wire), parameters, clusters)
}

fn market(wire: &Wire) -> Ec2Market {
    let prices = Prices::new(&wire.config(), REGION, credentials(wire)).over(wire.connector());
    Ec2Market::new(ec2(wire), prices)
}

/// A claim as it is promised, in a batch with another one.
fn promised(index: usize) -> NodeClaim {
    build::batch("batch", 2).swap_remove(index)
}

fn asked_for(index: usize) -> NodeClaim {
    NodeClaim { version: 2, ..promised(index) }
}

fn offering() -> OfferingKey {
    OfferingKey {
        capacity_type: model::CapacityType::Spot,
        instance_type: build::id("m7g.large"),
        zone: build::id("us-west-2a"),
    }
}

/// An answer to a query: one item of the cluster.
fn listed(item: &Value) -> String {
    let mut item = item.clone();
    item["cluster"] = json!({"S": cluster().as_str()});
    json!({ "Items": [item] }).to_string()
}

async fn note_batches(sent: &mut Sent) {
    let one = &cluster();
    let (ok, none) = ((200, "{}"), (200, r#"{"Items":[]}"#));
    // One of two leaves their batch, both do, and one left it before.
    let both = listed(&json!({
        "item": {"S": "batch#batch#0"},
        "record": {"S": ::wire::record::encode_claims(&[&promised(0), &promised(1)])},
    }));
    let both = (200, both.as_str());
    for (answers, claims) in [
        (vec![both, ok], vec![asked_for(0)]),
        (vec![both, ok], vec![asked_for(0), asked_for(1)]),
        (vec![none, ok], vec![asked_for(0)]),
    ] {
        sent.note("Ledger.write_claims", &answers, async |wire| {
            ledger(&wire).write_claims(one, &claims).await
        })
        .await;
    }
    for (answers, claims) in [
        (vec![both, ok], vec![promised(0)]),
        (vec![both, ok], vec![promised(0), promised(1)]),
        (vec![ok], vec![asked_for(0)]),
    ] {
        sent.note("Ledger.remove_claims", &answers, async |wire| {
            ledger(&wire).remove_claims(one, &claims).await
        })
        .await;
    }
}

async fn note_ledger(sent: &mut Sent) {
    let (ok, none) = ((200, "{}"), (200, r#"{"Items":[]}"#));
    let cancelled = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons":[{"Code":"ConditionalCheckFailed"}]}"#;
    let now = build::at("2026-11-21T12:00:00Z");
    let one = &cluster();
    let snapshot = [ok, none, none, none, none];
    sent.note("Ledger.snapshot", &snapshot, async |wire| ledger(&wire).snapshot(one).await).await;
    let commit = Commit {
        changed: vec![fixture::claim("changed", 3)],
        cooling: [(offering(), now)].into(),
        ..build::commit("commit", Generation(3), vec![promised(0)])
    };
    let overtaken = [none, (400, cancelled), ok];
    sent.note("Ledger.commit", &overtaken, async |wire| ledger(&wire).commit(one, &commit).await)
        .await;
    let name = &promised(0).name;
    sent.note("Ledger.claim", &[ok], async |wire| ledger(&wire).claim(one, name).await).await;
    let claim = &fixture::claim("claim", 3);
    let indexed = listed(&json!({
        "item": {"S": format!("claim#{}", claim.name)},
        "version": {"N": claim.version.to_string()},
        "phase": {"S": claim.phase.as_str()},
        "record": {"S": ::wire::record::encode_claim(claim)},
    }));
    let id = &claim.instance.as_ref().unwrap().id;
    let found = [(200, indexed.as_str()), ok];
    sent.note("Ledger.claim_of_instance", &found, async |wire| {
        ledger(&wire).claim_of_instance(id).await
    })
    .await;
    sent.note("Ledger.write_claim", &[ok], async |w| ledger(&w).write_claim(one, claim).await)
        .await;
    sent.note("Ledger.remove_claim", &[ok], async |w| ledger(&w).remove_claim(one, claim).await)
        .await;
    let cooling = &[(offering(), now)];
    sent.note("Ledger.cool_down", &[ok], async |w| ledger(&w).cool_down(cooling).await).await;
    let key = &MeasuredKey { instance_type: build::id("m7g.large"), image: build::id("ami-1") };
    sent.note("Ledger.measure", &[ok], async |wire| {
        ledger(&wire).measure(one, key, model::Bytes(1), now).await
    })
    .await;
    sent.note("Ledger.advance_tick", &[ok], async |wire| {
        ledger(&wire).advance_tick(one, "provision", Some(1), now).await
    })
    .await;
    sent.note("Ledger.tick", &[ok], async |wire| ledger(&wire).tick(one, "provision").await).await;
    let class = &build::id("default");
    sent.note("Ledger.verdict", &[ok], async |wire| ledger(&wire).verdict(one, class).await).await;
    let verdict = &Verdict::found("1f", None, now);
    sent.note("Ledger.put_verdict", &[ok], async |wire| {
        ledger(&wire).put_verdict(one, class, verdict).await
    })
    .await;
    let shelf = |wire: &Wire| DynamoShelf::new(ledger(wire), cluster());
    for call in ["Shelf.shelved", "Catalog.catalog"] {
        sent.note(call, &[ok], async |wire| shelf(&wire).shelved().await).await;
    }
    let catalog = instance_catalog::builtin().unwrap();
    let shelved = &Shelved { catalog, found_at: now };
    sent.note("Shelf.put", &[ok], async |wire| shelf(&wire).put(shelved).await).await;
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
    let all: BTreeMap<String, String> = [("team".to_owned(), "a".to_owned())].into();
    let empty = answer("DescribeSubnets", "");
    let terms = &[SubnetTerm::Id(build::id("subnet-1")), SubnetTerm::Tags(all.clone())];
    let twice = [(200, empty.as_str()), (200, empty.as_str())];
    sent.note("Discovery.subnets", &twice, async |w| discovery(&w).subnets(terms).await).await;
    let empty = answer("DescribeSecurityGroups", "");
    let terms = &[SecurityGroupTerm::Name("nodes".to_owned())];
    sent.note("Discovery.security_groups", &[(200, &empty)], async |wire| {
        discovery(&wire).security_groups(terms).await
    })
    .await;
    let empty = answer("DescribeCapacityReservations", "");
    let terms = &[ReservationTerm::Id("cr-1".to_owned())];
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
    sent.note("Fleet.try_out", &dry, async |wire| fleet(&wire).try_out(request).await).await;
    let run = &RunRequest {
        template: build::id("karpenter.k8s.aws/1"),
        version: TemplateVersion::Latest,
        instance_type: build::id("m7g.large"),
        subnet: build::id("subnet-1"),
        security_groups: vec![build::id("sg-1")],
        tags: request.tags.clone(),
    };
    sent.note("Fleet.try_out_one", &dry, async |wire| fleet(&wire).try_out_one(run).await).await;
    let (none, id) = ([(200, none.as_str())], [build::id("i-1")]);
    sent.note("Fleet.describe", &none, async |wire| fleet(&wire).describe(&id).await).await;
    sent.note("Fleet.list", &none, async |wire| fleet(&wire).list(&cluster()).await).await;
    let batch: &BatchId = &build::id("batch");
    sent.note("Fleet.of_batch", &none, async |wire| fleet(&wire).of_batch(&cluster(), batch).await)
        .await;
    let done = answer("CreateTags", "<return>true</return>");
    sent.note("Fleet.tag", &[(200, &done)], async |wire| {
        fleet(&wire).tag(&id[0], &request.tags).await
    })
    .await;
    let (gone, done) = (refusal("InvalidInstanceID.NotFound"), answer("TerminateInstances", ""));
    let ended = [(400, gone.as_str()), (200, done.as_str())];
    sent.note("Fleet.terminate", &ended, async |wire| fleet(&wire).terminate(&id).await).await;
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
    sent.note("Templates.try_out", &[(412, &dry)], async |wire| {
        templates(&wire).try_out(template).await
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
    let profiles = |wire: &Wire| IamProfiles::new(aws_sdk_iam::Client::new(&wire.config()));
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
    let (none, found) = (refusal("NoSuchEntity"), answer("GetInstanceProfile", &profile));
    let made = answer("CreateInstanceProfile", &profile);
    let taken = refusal("LimitExceeded");
    let ensured = [(404, none.as_str()), (200, &made), (409, &taken), (200, &found)];
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
    let removed = [(200, found.as_str()), (200, &parted), (200, &gone)];
    sent.note("Profiles.remove", &removed, async |wire| profiles(&wire).remove("p").await).await;
}

async fn note_market(sent: &mut Sent) {
    let empty = answer("DescribeInstanceTypes", "");
    sent.note("Market.shapes", &[(200, &empty)], async |wire| market(&wire).shapes().await).await;
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
    let message = Message::Settle { claim: build::id("general-1-0") };
    let delivery = Delivery { cluster: cluster(), message, delay_seconds: 0 };
    let urls = QueueUrls { settle: "https://sqs.test/settle".to_owned(), ..QueueUrls::default() };
    let done = r#"{"Successful":[{"Id":"0","MessageId":"1","MD5OfMessageBody":"0"}]}"#;
    sent.note("Mailbox.send", &[(200, done)], async |wire| {
        let mailbox = SqsMailbox::new(aws_sdk_sqs::Client::new(&wire.config()), urls);
        mailbox.send(&[delivery]).await
    })
    .await;
}

#[tokio::test]
async fn every_call_sends_what_its_row_says_and_nothing_else() {
    let mut sent = Sent::default();
    note_ledger(&mut sent).await;
    note_batches(&mut sent).await;
    note_discovery(&mut sent).await;
    note_fleet(&mut sent).await;
    note_templates(&mut sent).await;
    note_profiles(&mut sent).await;
    note_market(&mut sent).await;
    note_mailbox(&mut sent).await;
    // The ports of the cluster are over Kubernetes.
    let of_kubernetes = ["Cluster", "NodeClaims", "NodeClasses", "NodePools", "Nodes"];
    for (call, actions) in ACTIONS {
        let (port, _) = call.split_once('.').unwrap();
        if of_kubernetes.contains(&port) {
            assert_eq!(*actions, ["eks:DescribeCluster"], "{call}");
            continue;
        }
        let found = sent.0.remove(call).unwrap_or_else(|| panic!("{call} is not tried here"));
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), *actions, "{call}");
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

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        std::iter::once(first.to_ascii_uppercase()).chain(letters).collect()
    })
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
    let mut found = BTreeSet::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("rights_tests.rs") {
                found.extend(operations(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(found.contains("DescribeSubnets") && found.contains("CreateFleet"), "{found:?}");
    let unknown: Vec<_> = found.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} is in no row of rights.rs");
}
