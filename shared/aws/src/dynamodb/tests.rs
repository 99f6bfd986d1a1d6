//! Items and transactions, without a client.

use aws_sdk_dynamodb::types::TransactWriteItem;
use model::{
    CapacityType, CommitId, InstanceTypeName, NodePoolName, Zone,
    ledger::{Decision, Generation},
};

use super::{batch::Batch, *};
use crate::fixture::claim;

const REGION: &str = "region#us-west-2";

fn cluster() -> ClusterName {
    ClusterName::new("demo").unwrap()
}

fn offering() -> OfferingKey {
    OfferingKey {
        capacity_type: CapacityType::OnDemand,
        instance_type: InstanceTypeName::new("m7g.large").unwrap(),
        zone: Zone::new("us-west-2a").unwrap(),
    }
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn commit() -> Commit {
    let decision = Decision {
        at: time("2026-11-21T12:00:00Z"),
        function: model::Function::Provision,
        node_pool: Some(NodePoolName::new("default").unwrap()),
        claims: vec![claim("default-1-0", 1).name],
        summary: "one node".to_owned(),
        rejected: Vec::new(),
        price_before: None,
        price_after: None,
    };
    Commit {
        id: CommitId::derived("message-1", 0),
        parent: Generation(3),
        promised: vec![claim("default-4-0", 1)],
        changed: vec![claim("default-1-0", 6)],
        unavailable_offerings: [(offering(), time("2026-11-21T12:03:00.5Z"))].into(),
        decisions: vec![decision],
    }
}

/// `item guard` of each write of `commit`.
fn written(commit: &Commit) -> Vec<String> {
    lines(&to_transaction("ledger", &cluster(), REGION, commit).unwrap().writes)
}

fn lines(writes: &[TransactWriteItem]) -> Vec<String> {
    let text = |value: &aws_sdk_dynamodb::types::AttributeValue| {
        value.as_s().or_else(|_| value.as_n()).unwrap().clone()
    };
    let line = |write: &TransactWriteItem| {
        let (item, condition, names, values) = match (write.put(), write.update(), write.delete()) {
            (Some(put), None, None) => (
                text(&put.item()["item"]),
                put.condition_expression(),
                put.expression_attribute_names(),
                put.expression_attribute_values(),
            ),
            (None, Some(update), None) => (
                text(&update.key()["item"]),
                update.condition_expression(),
                update.expression_attribute_names(),
                update.expression_attribute_values(),
            ),
            (None, None, Some(delete)) => (
                format!("delete {}", text(&delete.key()["item"])),
                delete.condition_expression(),
                delete.expression_attribute_names(),
                delete.expression_attribute_values(),
            ),
            _ => panic!("neither put nor update nor delete: {write:?}"),
        };
        let Some(condition) = condition else { return item };
        let guarded = condition.replace("#guarded", &names.unwrap()["#guarded"]);
        let guard = values.and_then(|values| values.get(":guard")).map(text).unwrap_or_default();
        format!("{item} if {}", guarded.replace(":guard", &guard))
    };
    writes.iter().map(line).collect()
}

#[test]
fn a_commit_is_one_transaction_and_every_write_has_its_condition() {
    assert_eq!(
        written(&commit()),
        [
            "head if generation = 3",
            "batch#batch-of-default-4-0#0 if attribute_not_exists(claims)",
            "claim#default-1-0 if version = 5",
            "cooling#on-demand#m7g.large#us-west-2a if attribute_not_exists(expires_at) OR \
             expires_at <= 1795262581",
            "decision#2026-11-21T12:00:00.000000000Z#message-1/0#0",
        ]
    );
}

#[test]
fn claims_leave_their_batch_as_they_get_items_of_their_own() {
    let claims: Vec<NodeClaim> = testkit::build::batch("demo-4-0", 3);
    let together = batch::promised(&cluster(), &claims.iter().collect::<Vec<_>>()).unwrap();
    let promised = Batch::of(&together).unwrap();
    assert_eq!(promised.claims, claims);
    let asked = |index: usize| NodeClaim { version: 2, ..claims[index].clone() };
    let (writes, left) =
        promised.without("ledger", &cluster(), &[asked(1)], Leaving::ToOwnItems).unwrap();
    assert_eq!(
        lines(&writes),
        ["batch#demo-4-0#0 if claims = 3", "claim#demo-4-0-1 if attribute_not_exists(version)"]
    );
    let put = writes[0].put().unwrap().item().clone().into_iter().collect();
    assert_eq!(Batch::of(&put).unwrap(), left);
    let (writes, left) =
        left.without("ledger", &cluster(), &[asked(0), asked(2)], Leaving::ToOwnItems).unwrap();
    assert_eq!(lines(&writes)[0], "delete batch#demo-4-0#0 if claims = 2");
    assert!(left.claims.is_empty());
    let (writes, left) =
        promised.without("ledger", &cluster(), &claims[..2], Leaving::ForGood).unwrap();
    assert_eq!(lines(&writes), ["batch#demo-4-0#0 if claims = 3"]);
    assert_eq!(left.claims, claims[2..]);
}

#[test]
fn the_first_commit_finds_no_head() {
    let first = Commit { parent: Generation(0), ..commit() };
    assert_eq!(written(&first)[0], "head if attribute_not_exists(generation)");
}

#[test]
fn the_token_is_the_same_only_for_the_same_content() {
    let token =
        |commit: &Commit| to_transaction("ledger", &cluster(), REGION, commit).unwrap().token;
    let commit = commit();
    assert_eq!(token(&commit), token(&commit.clone()));
    assert!(token(&commit).len() <= 36);
    for other in [
        Commit { id: CommitId::derived("message-2", 0), ..commit.clone() },
        Commit { parent: Generation(4), ..commit.clone() },
        Commit { promised: Vec::new(), ..commit.clone() },
        Commit { unavailable_offerings: [].into(), ..commit.clone() },
    ] {
        assert_ne!(token(&commit), token(&other));
    }
}

#[test]
fn a_claim_comes_back_as_it_was_stored() {
    let claim = claim("default-1-0", 6);
    let item = claim_item(&cluster(), &claim);
    assert_eq!(claim_from_item(&item).unwrap(), claim);
    assert_eq!(item["phase"].as_s().unwrap(), "initialized");
    assert_eq!(item["version"].as_n().unwrap(), "6");
    assert_eq!(item["instance_id"].as_s().unwrap(), "i-0a1b2c3d4e5f60718");
}

#[test]
fn a_claim_without_an_instance_is_not_in_the_index() {
    let claim = NodeClaim { instance: None, ..claim("default-1-0", 1) };
    assert!(!claim_item(&cluster(), &claim).contains_key("instance_id"));
}

#[test]
fn a_record_that_disagrees_with_its_attributes_is_reported() {
    let mut item = claim_item(&cluster(), &claim("default-1-0", 6));
    item.insert("version".to_owned(), number(7));
    assert_eq!(
        claim_from_item(&item).unwrap_err().to_string(),
        "item `claim#default-1-0` of cluster `demo`: `record` disagrees with `version` or `phase` \
         beside it"
    );
}

#[test]
fn what_is_unavailable_is_in_the_partition_of_the_region() {
    let writes = to_transaction("ledger", &cluster(), REGION, &commit()).unwrap().writes;
    let partitions = writes.iter().filter_map(|write| {
        let item = write.put()?.item();
        Some((item["item"].as_s().ok()?.starts_with("cooling#"), item["cluster"].as_s().ok()?))
    });
    for (is_unavailable, partition) in partitions {
        assert_eq!(partition == REGION, is_unavailable, "{partition}");
    }
}

#[test]
fn a_time_of_unavailability_is_rounded_up_to_seconds() {
    let item = unavailable_item(REGION, &offering(), time("2026-11-21T12:03:00.5Z"));
    let expected = (offering(), time("2026-11-21T12:03:01Z"));
    assert_eq!(unavailable_from_item(&item).unwrap(), expected);
}

#[test]
fn measured_memory_comes_back_and_only_less_takes_its_place() {
    let key = MeasuredKey {
        instance_type: InstanceTypeName::new("m7g.large").unwrap(),
        image: model::ImageId::new("ami-0a").unwrap(),
    };
    let until = time("2026-11-21T12:03:00.5Z");
    let item = measured_item(&cluster(), &key, Bytes(7_944_011_776), until);
    assert_eq!(item["item"].as_s().unwrap(), "measured#m7g.large#ami-0a");
    assert_eq!(item["expires_at"].as_n().unwrap(), "1795262581");
    assert_eq!(measured_from_item(&item).unwrap(), (key, Bytes(7_944_011_776)));
    let guard = item::is_least(Bytes(5));
    assert_eq!(
        (guard.attribute(), guard.expression()),
        ("memory", "attribute_not_exists(#guarded) OR #guarded >= :guard")
    );
}

#[test]
fn a_tick_comes_back_as_it_was_stored() {
    let at = time("2026-11-21T12:03:00.123456789Z");
    let item = tick_item(&cluster(), "provision", 7, at);
    assert_eq!(item["item"].as_s().unwrap(), "tick#provision");
    assert_eq!(tick_from_item(&item).unwrap(), (7, at));
}

#[test]
fn a_validation_comes_back_as_it_was_stored_and_goes_an_hour_after_it_was_found() {
    use model::validation::FailedCheck;
    let failure = Some((FailedCheck::CreateFleet, "no policy allows it".to_owned()));
    let validation = Validation::found("1f", failure, time("2026-11-21T12:00:00Z"));
    let class = NodeClassName::new("default").unwrap();
    let item = validation_item(&cluster(), &class, &validation);
    assert_eq!(item["item"].as_s().unwrap(), "validation#default");
    let an_hour_later = time("2026-11-21T13:00:00Z").as_second().to_string();
    assert_eq!(item["expires_at"].as_n().unwrap(), &an_hour_later);
    assert_eq!(validation_from_item(&item).unwrap(), validation);
}

#[test]
fn what_is_missing_or_of_another_kind_is_named() {
    for (name, value, expected) in [
        (item::GENERATION, item::text("3"), "`generation` must be a whole number"),
        (item::GENERATION, number(-1), "`generation` must be a whole number"),
        (item::COMMIT_ID, number(3), "`commit_id` must be a text"),
    ] {
        let mut item = key(&cluster(), item::HEAD);
        item.insert(item::GENERATION.to_owned(), number(3));
        item.insert(item::COMMIT_ID.to_owned(), item::text("x"));
        assert_eq!(head_from_item(&item).unwrap().generation, Generation(3));
        item.insert(name.to_owned(), value);
        let error = head_from_item(&item).unwrap_err().to_string();
        assert_eq!(error, format!("item `head` of cluster `demo`: {expected}"));
    }
}

#[test]
fn an_item_that_dynamodb_would_refuse_is_not_sent() {
    let small = claim("default-1-0", 6);
    assert!(item::check_size(&claim_item(&cluster(), &small)).is_ok());
    let long = "x".repeat(limits::ITEM_BYTES_MAX);
    let large = NodeClaim { message: Some(long.as_str().into()), ..small };
    let error = item::check_size(&claim_item(&cluster(), &large)).unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    let source = error.source.unwrap().to_string();
    assert!(source.starts_with("item `claim#default-1-0` has 4"), "{source}");
}
