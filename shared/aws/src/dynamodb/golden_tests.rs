//! Items that the release of commit 405e221 stored, as DynamoDB answers them, are still read:
//! `tests/golden/405e221`.

use std::{fs, path::Path};

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, Resources, Taint, TaintEffect,
    claim::{ClaimConditions, LaunchedInstance},
    ledger::{Counters, UnreadableItem},
    validation::FailedCheck,
};
use ports::CatalogStore as _;
use testkit::build;

use super::*;
use crate::wire::Wire;

/// The items whose names start with `prefix`, in order.
fn stored(prefix: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/405e221/items");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
    paths.sort();
    assert!(!paths.is_empty(), "{prefix}");
    paths.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn listed(prefix: &str) -> String {
    format!(r#"{{"Items":[{}]}}"#, stored(prefix).join(","))
}

fn got(name: &str) -> String {
    let items = stored(name);
    assert_eq!(items.len(), 1, "{name}");
    format!(r#"{{"Item":{}}}"#, items[0])
}

/// A ledger whose table gives `answers`, in this order.
fn ledger(answers: &[String]) -> DynamoLedger {
    let answers: Vec<_> = answers.iter().map(|answer| Some((200, answer.as_str()))).collect();
    DynamoLedger::new(Client::new(&Wire::answering(&answers).config()), "ledger", "us-west-2")
}

fn cluster() -> ClusterName {
    build::id("demo")
}

/// The claim of `items/claim-initialized.json`, field by field.
fn initialized() -> NodeClaim {
    let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
    let taint = |key: &str, value: &str, effect| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    };
    NodeClaim {
        version: 6,
        batch: build::id("demo-4-0"),
        batch_index: 2,
        batch_size: 3,
        labels: [("karpenter.sh/nodepool", "default"), ("team", "red")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
        annotations: [("karpenter.sh/nodepool-hash".to_owned(), "123".to_owned())].into(),
        requirements: build::requirements(
            "paid=spot,on-demand zone!=us-west-2d karpenter.k8s.aws/instance-cpu>3@2 !example.com/gpu \
             example.com/rack",
        ),
        instance_types: [build::id("m7g.large"), build::id("m7g.xlarge")].into(),
        requests: Resources {
            pods: 4,
            ..build::resources("cpu=1500m memory=3Gi nvidia.com/gpu=1")
        },
        pods: vec![build::pod_key("web-0")],
        taints: vec![taint("dedicated", "red", TaintEffect::NoSchedule)],
        startup_taints: vec![taint("node.cilium.io/agent-not-ready", "", TaintEffect::NoExecute)],
        expire_after: Some(SignedDuration::from_hours(720)),
        termination_grace_period: Some(SignedDuration::from_mins(30)),
        phase: ClaimPhase::Initialized,
        requested_at: at("2026-11-21T12:00:01Z"),
        instance: Some(LaunchedInstance {
            id: build::id("i-0a1b2c3d4e5f60718"),
            instance_type: build::id("m7g.large"),
            zone: build::id("us-west-2a"),
            capacity_type: CapacityType::Spot,
            price: build::price("0.0337"),
            image: Some(build::id("ami-1")),
            launched_at: build::at("2026-11-21T12:00:02Z"),
        }),
        node: Some(build::id("ip-10-0-1-17.us-west-2.compute.internal")),
        empty_since: at("2026-11-21T12:05:00Z"),
        conditions: ClaimConditions {
            last_pod_event_at: at("2026-11-21T12:04:00Z"),
            initialized_at: at("2026-11-21T12:01:00Z"),
            is_consolidatable: Some(true),
            drifted: Some("NodePoolDrifted".to_owned()),
            drifted_since: at("2026-11-21T12:06:00Z"),
            instance_terminating_since: at("2026-08-01T12:00:00Z"),
            ..ClaimConditions::default()
        },
        message: Some("it says \"why\" in words".into()),
        ..build::claim("default-4-initialized")
    }
}

#[tokio::test]
async fn a_table_of_405e221_is_a_snapshot() {
    let none = || r#"{"Items":[]}"#.to_owned();
    let answers = [
        got("head"),
        listed("batch"),
        listed("claim-"),
        listed("cooling-"),
        listed("measured"),
        none(),
        none(),
    ];
    let snapshot = ledger(&answers).snapshot(&cluster()).await.unwrap();
    // Its one counter moved with every commit of claims, and it had no id.
    let counters = Counters { arrivals: 4, departures: 0 };
    assert_eq!(snapshot.head, Head { counters, ..Head::default() });
    assert_eq!(snapshot.unreadable, []);
    let claims = &snapshot.claims;
    assert_eq!(claims.len(), 3 + stored("claim-").len());
    assert_eq!(claims["default-4-initialized"], initialized());
    let created = |claim: &&NodeClaim| claim.phase == ClaimPhase::Created;
    let created: Vec<_> =
        claims.values().filter(created).map(|claim| claim.name.as_str()).collect();
    assert_eq!(created, ["default-4-promised", "demo-9-0-0", "demo-9-0-1", "demo-9-0-2"]);
    let until = |capacity_type| {
        let key = OfferingKey {
            capacity_type,
            instance_type: build::id("m7g.large"),
            zone: build::id("us-west-2a"),
        };
        snapshot.unavailable_offerings[&key].to_string()
    };
    assert_eq!(CapacityType::ALL.map(until), ["2026-11-21T12:03:01Z"; 3]);
    let measured: Vec<_> = snapshot
        .measured
        .iter()
        .map(|(key, memory)| format!("{} {} {}", key.instance_type, key.image, memory.0))
        .collect();
    assert_eq!(measured, ["m7g.large ami-0a 7944011776"]);
}

#[tokio::test]
async fn verdicts_and_the_catalog_of_405e221_are_read() {
    let class = build::id("default");
    // What that release could say.
    let checks =
        FailedCheck::ALL.into_iter().filter(|check| *check != FailedCheck::InstanceProfile);
    let failures =
        checks.map(|check| (check.as_str(), Some((check, "no policy allows it".to_owned()))));
    for (name, failure) in [("passed", None)].into_iter().chain(failures) {
        let ledger = ledger(&[got(&format!("validation-{name}"))]);
        let expected = Validation::found("1f", failure, build::at("2026-11-21T12:00:00Z"));
        assert_eq!(ledger.validation(&cluster(), &class).await.unwrap(), Some(expected));
    }

    let catalog_store = DynamoCatalogStore::new(ledger(&[got("catalog")]), cluster());
    let stored = catalog_store.stored().await.unwrap().unwrap();
    assert_eq!(stored.found_at, build::at("2026-08-01T12:00:00Z"));
    let mut builtin = instance_catalog::builtin().unwrap();
    let names = ["g5.xlarge", "m7g.large"];
    builtin.instance_types.retain(|known| names.contains(&known.name.as_str()));
    builtin.descriptions.retain(|name, _| names.contains(&name.as_str()));
    // It did not ask about them, so types have none until the catalog is read anew.
    for known in builtin.descriptions.values_mut() {
        std::sync::Arc::make_mut(known).processor.has_enclaves = false;
    }
    assert!(stored.catalog == builtin, "it says {:?}", stored.catalog.instance_types);
}

/// What an upgrade reads first.
#[tokio::test]
async fn an_item_that_cannot_be_read_is_named_among_all_of_the_table() {
    let none = || r#"{"Items":[]}"#.to_owned();
    let initialized = stored("claim-initialized").remove(0);
    let later = initialized.replace(r#"{\"v\":1"#, r#"{\"v\":9"#);
    assert_ne!(later, initialized);
    let with =
        |listed: String, item: &str| format!("{},{item}]}}", listed.strip_suffix("]}").unwrap());
    let claims = with(listed("claim-"), &later);
    // A record with facts, which another release recorded.
    let records = include_str!("../../../../tests/golden/ledger-1/records.tsv");
    let decision = records.lines().find_map(|line| line.strip_prefix("decision\t")).unwrap();
    let decision = serde_json::json!({
        "cluster": {"S": "demo"}, "item": {"S": "decision#2026"}, "record": {"S": decision},
    });
    let answers = [
        listed("head"),
        listed("batch"),
        claims,
        listed("cooling-"),
        listed("measured"),
        none(),
        none(),
        none(),
        none(),
        listed("validation-"),
        with(listed("decision-"), &decision.to_string()),
        r#"{"Items":[{"part":{"B":"CQ=="}}]}"#.to_owned(),
    ];
    let examined = ledger(&answers).examine(&cluster()).await.unwrap();
    let kept = ["head", "batch", "claim-", "cooling-", "measured", "validation-", "decision-"];
    let kept: usize = kept.iter().map(|prefix| stored(prefix).len()).sum();
    assert_eq!(examined.items, kept + 3);
    let unreadable: Vec<String> = examined
        .unreadable
        .iter()
        .map(|UnreadableItem { item, problem, .. }| format!("{item} {problem}"))
        .collect();
    assert_eq!(unreadable.len(), 2, "{unreadable:?}");
    assert!(unreadable[0].starts_with("claim#default-4-initialized "), "{unreadable:?}");
    assert!(unreadable[0].contains("version 9 is not supported"), "{unreadable:?}");
    assert!(unreadable[1].starts_with("facts#000000000000fee1# they were recorded by another"));
}
