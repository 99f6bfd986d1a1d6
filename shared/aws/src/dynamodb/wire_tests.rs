//! What real answers of DynamoDB mean for a commit.

use model::{
    CommitId,
    ledger::{Basis, Counters},
    limits::requests::table_pauses,
};

use super::{table::CONTENDED_PAUSES, *};
use crate::{fixture::claim, wire::Wire};

const CANCELED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "Message":"Transaction cancelled",
    "CancellationReasons":[{"Code":"ConditionalCheckFailed","Message":"no"},{"Code":"None"}]}"#;

async fn committed(answers: &[Option<(u16, &str)>]) -> (Result<CommitOutcome, Fault>, Vec<String>) {
    committed_on(Basis::Both, answers).await
}

async fn committed_on(
    basis: Basis,
    answers: &[Option<(u16, &str)>],
) -> (Result<CommitOutcome, Fault>, Vec<String>) {
    let wire = Wire::answering(answers);
    let ledger = DynamoLedger::new(Client::new(&wire.config()), "ledger", "us-west-2");
    let at = "2026-11-21T12:00:00Z".parse().unwrap();
    let deleted = claim("default-1-0", 5).deleted(model::DeletionReason::InstanceEnded, at);
    let commit = Commit {
        id: CommitId::new("message-1").unwrap(),
        ledger: Some(LedgerId::new("abc12").unwrap()),
        parent: counters(3, 2),
        basis,
        created: vec![claim("default-4-0", 1)],
        adopted: Vec::new(),
        changed: vec![deleted],
        unavailable_offerings: [].into(),
        started: [].into(),
        ended: [].into(),
        decisions: Vec::new(),
    };
    let outcome = ledger.commit(&ClusterName::new("demo").unwrap(), &commit).await;
    (outcome.map_err(|error| error.fault), wire.sent())
}

fn counters(arrivals: u64, departures: u64) -> Counters {
    Counters { arrivals, departures }
}

fn head(arrivals: u64, departures: u64, commit: &str) -> String {
    format!(
        r#"{{"Item":{{"ledger_id":{{"S":"abc12"}},"generation":{{"N":"{arrivals}"}},
        "departures":{{"N":"{departures}"}},"commit_id":{{"S":"{commit}"}}}}}}"#
    )
}

#[tokio::test]
async fn a_commit_on_both_counters_is_one_call() {
    let (outcome, sent) = committed(&[Some((200, "{}"))]).await;
    assert_eq!(outcome, Ok(CommitOutcome::Committed(counters(4, 3))));
    assert!(sent[0].contains("\"ClientRequestToken\""), "{}", sent[0]);
}

#[tokio::test]
async fn counters_that_a_commit_was_not_based_on_are_read_afterwards() {
    let now = head(9, 8, "message-2");
    for (basis, expected) in [(Basis::Arrivals, counters(4, 8)), (Basis::Claims, counters(9, 8))] {
        let answers = [Some((200, "{}")), Some((200, now.as_str()))];
        let (outcome, sent) = committed_on(basis, &answers).await;
        assert_eq!(outcome, Ok(CommitOutcome::Committed(expected)));
        assert!(sent[1].contains("\"ConsistentRead\":true"), "{}", sent[1]);
    }
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_recognized_by_the_head() {
    let ours = head(4, 3, "message-1");
    let (outcome, sent) = committed(&[Some((400, CANCELED)), Some((200, &ours))]).await;
    assert_eq!(outcome, Ok(CommitOutcome::Committed(counters(4, 3))));
    assert!(sent[1].contains("\"ConsistentRead\":true"), "{}", sent[1]);
}

#[tokio::test]
async fn a_head_of_another_writer_is_a_conflict() {
    for other in [head(4, 2, "message-2"), head(3, 2, "message-0")] {
        let (outcome, _) = committed(&[Some((400, CANCELED)), Some((200, &other))]).await;
        assert_eq!(outcome, Ok(CommitOutcome::Conflict), "{other}");
    }
}

#[tokio::test]
async fn two_writers_at_the_same_item_try_again_and_then_conflict() {
    let contended = CANCELED.replace("ConditionalCheckFailed", "TransactionConflict");
    let contended = Some((400, contended.as_str()));
    let answers = [contended, contended, Some((200, "{}"))];
    let (outcome, sent) = committed(&answers).await;
    assert_eq!(outcome, Ok(CommitOutcome::Committed(counters(4, 3))));
    assert_eq!(sent[0], sent[2]);
    let other = head(4, 2, "message-2");
    let mut answers = vec![contended; CONTENDED_PAUSES.len() + 1];
    answers.push(Some((200, &other)));
    let (outcome, _) = committed(&answers).await;
    assert_eq!(outcome, Ok(CommitOutcome::Conflict));
}

#[tokio::test]
async fn a_throttled_transaction_is_sent_again_and_then_may_work_later() {
    let throttled = CANCELED.replace("ConditionalCheckFailed", "ThrottlingError");
    let throttled = Some((400, throttled.as_str()));
    let (outcome, sent) = committed(&[throttled, throttled, Some((200, "{}"))]).await;
    assert_eq!(outcome, Ok(CommitOutcome::Committed(counters(4, 3))));
    assert_eq!(sent[0], sent[2]);
    let answers = vec![throttled; table_pauses().count() + 1];
    let (outcome, sent) = committed(&answers).await;
    assert_eq!((outcome, sent.len()), (Err(Fault::Transient), answers.len()));
}

#[tokio::test]
async fn what_is_not_a_conflict_says_what_may_have_happened() {
    let invalid = CANCELED.replace("ConditionalCheckFailed", "ValidationError");
    let exception = |name: &str| format!(r#"{{"__type":"com.amazonaws.dynamodb#{name}"}}"#);
    for (answer, fault) in [
        (Some((400, exception("ThrottlingException"))), Fault::Transient),
        (Some((400, invalid)), Fault::Permanent),
        (Some((400, exception("ValidationException"))), Fault::Permanent),
        (Some((400, exception("TransactionInProgressException"))), Fault::Unknown),
        (Some((500, exception("InternalServerError"))), Fault::Unknown),
        (None, Fault::Unknown),
    ] {
        let text = answer.as_ref().map(|(code, body)| (*code, body.as_str()));
        let (outcome, _) = committed(&[text]).await;
        assert_eq!(outcome, Err(fault), "{answer:?}");
    }
}

fn ledger(answers: &[&str]) -> (DynamoLedger, Wire) {
    let answers: Vec<_> = answers.iter().map(|answer| Some((200, *answer))).collect();
    let wire = Wire::answering(&answers);
    (DynamoLedger::new(Client::new(&wire.config()), "ledger", "us-west-2"), wire)
}

#[tokio::test]
async fn an_item_that_cannot_be_read_stops_nothing_but_itself() {
    let good = r#"{"item":{"S":"measured#m7g.large#ami-0a"},"memory":{"N":"17"}}"#;
    let bad = r#"{"item":{"S":"measured#m7g.large"},"memory":{"N":"17"}}"#;
    let measured = format!(r#"{{"Items":[{bad},{good}]}}"#);
    let sound = claim("default-1-0", 6);
    let record = serde_json::Value::from(wire::record::encode_claim(&sound));
    let sound = format!(
        r#"{{"item":{{"S":"claim#default-1-0"}},"phase":{{"S":"initialized"}},"version":{{"N":"6"}},"record":{{"S":{record}}}}}"#
    );
    let odd = r#"{"item":{"S":"claim#default-1-1"},"instance_id":{"S":"i-0b"},"phase":{"S":"asleep"},"version":{"N":"6"},"record":{"S":"{\"v\":2}"}}"#;
    let claims = format!(r#"{{"Items":[{odd},{sound}]}}"#);
    let items = |item: &str| format!(r#"{{"Items":[{{"item":{{"S":"{item}"}}}}]}}"#);
    let (batches, cooling) = (items("batch#b#0"), items("cooling#x"));
    let (commands, refusals) = (items("command#c"), items("refusals#p"));
    let head = head(4, 1, "message-1");
    let (ledger, wire) =
        ledger(&[&head, &batches, &claims, &cooling, &measured, &commands, &refusals]);
    let snapshot = ledger.snapshot(&ClusterName::new("demo").unwrap()).await.unwrap();
    assert_eq!(wire.sent().len(), 7);
    assert_eq!(snapshot.head.counters, counters(4, 1));
    assert_eq!(
        snapshot.claims.keys().map(model::NodeClaimName::as_str).collect::<Vec<_>>(),
        ["default-1-0"]
    );
    let kept: Vec<_> = snapshot.measured.into_iter().collect();
    let [(key, Bytes(17))] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(key.instance_type.as_str(), "m7g.large");
    let unreadable: Vec<_> = snapshot
        .unreadable
        .iter()
        .map(|item| (item.item.as_str(), item.instance.as_ref().map(InstanceId::as_str)))
        .collect();
    assert_eq!(
        unreadable,
        [
            ("batch#b#0", None),
            ("claim#default-1-1", Some("i-0b")),
            ("cooling#x", None),
            ("measured#m7g.large", None),
            ("command#c", None),
            ("refusals#p", None),
        ]
    );
    assert_eq!(
        snapshot.unreadable[1].claim.as_ref().map(model::NodeClaimName::as_str),
        Some("default-1-1")
    );
    assert_eq!(
        snapshot.unreadable[1].problem,
        "`record`: claim record: version 2 is not supported, only 1 is"
    );
}

/// A page of a query that goes on after `last`.
fn page(items: &[String], last: Option<&str>) -> String {
    let key = |last: &str| format!(r#","LastEvaluatedKey":{{"item":{{"S":"{last}"}}}}"#);
    format!(r#"{{"Items":[{}]{}}}"#, items.join(","), last.map(key).unwrap_or_default())
}

#[tokio::test]
async fn every_page_of_a_partition_is_read() {
    let item = |name: &str| format!(r#"{{"item":{{"S":"claim#{name}"}}}}"#);
    let pages = [
        page(&[item("default-1-0"), item("default-1-1")], Some("claim#default-1-1")),
        // An empty page may have others behind it.
        page(&[], Some("claim#default-1-2")),
        page(&[item("default-1-3")], None),
    ];
    let (ledger, wire) = ledger(&pages.each_ref().map(String::as_str));
    let items = ledger.items("demo", CLAIM_PREFIX).await.unwrap();
    let names: Vec<_> = items.iter().map(|item| item["item"].as_s().unwrap().as_str()).collect();
    assert_eq!(names, ["claim#default-1-0", "claim#default-1-1", "claim#default-1-3"]);
    let sent = wire.sent();
    assert!(!sent[0].contains("ExclusiveStartKey"), "{}", sent[0]);
    for (body, last) in sent[1..].iter().zip(["claim#default-1-1", "claim#default-1-2"]) {
        let start = format!(r#""ExclusiveStartKey":{{"item":{{"S":"{last}"}}}}"#);
        assert!(body.contains(&start), "{body}");
    }
    assert!(sent.iter().all(|body| body.contains("\"ConsistentRead\":true")));
}

#[tokio::test]
async fn instances_without_claims_cost_one_read_of_the_index() {
    let (ledger, wire) = ledger(&[r#"{"Items":[]}"#; 2]);
    let ids = ["i-0a", "i-0b", "i-0a"].map(|id| InstanceId::new(id).unwrap());
    assert_eq!(ledger.claims_of_instances(&testkit::build::id("demo"), &ids).await.unwrap(), []);
    assert!(wire.sent().iter().all(|body| body.contains("\"IndexName\"")));
}

#[tokio::test]
async fn claims_of_instances_are_read_together_and_what_is_left_out_is_asked_for_again() {
    let stored = claim("default-1-0", 6);
    let record = serde_json::Value::from(wire::record::encode_claim(&stored));
    let key = |name: &str| format!(r#""cluster":{{"S":"demo"}},"item":{{"S":"claim#{name}"}}"#);
    let item = format!(
        r#"{{{},"phase":{{"S":"initialized"}},"version":{{"N":"6"}},"record":{{"S":{record}}}}}"#,
        key("default-1-0")
    );
    let odd = format!(r#"{{{},"record":{{"S":"{{}}"}}}}"#, key("default-1-1"));
    let index = format!(r#"{{"Items":[{{{},"instance_id":{{"S":"i-0a"}}}}]}}"#, key("default-1-0"));
    let later = format!(r#"{{"Items":[{{{}}}]}}"#, key("default-1-1"));
    let first = format!(
        r#"{{"Responses":{{"ledger":[{odd}]}},"UnprocessedKeys":{{"ledger":{{"Keys":[{{{}}}]}}}}}}"#,
        key("default-1-0")
    );
    let second = format!(r#"{{"Responses":{{"ledger":[{item}]}}}}"#);
    let (ledger, wire) = ledger(&[&index, &later, &first, &second]);
    let ids = [stored.instance.as_ref().unwrap().id.clone(), InstanceId::new("i-0b").unwrap()];
    let claims = ledger.claims_of_instances(&testkit::build::id("demo"), &ids).await.unwrap();
    assert_eq!(claims, [stored]);
    let sent = wire.sent();
    assert!(sent[2].contains("\"ConsistentRead\":true"), "{}", sent[2]);
    assert!(!sent[3].contains("default-1-1"), "{}", sent[3]);
}
