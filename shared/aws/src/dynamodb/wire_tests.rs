//! What real answers of DynamoDB mean for a commit.

use model::{CommitId, ledger::Generation};

use super::*;
use crate::{fixture::claim, wire::Wire};

const CANCELED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "Message":"Transaction cancelled",
    "CancellationReasons":[{"Code":"ConditionalCheckFailed","Message":"no"},{"Code":"None"}]}"#;

async fn committed(answers: &[Option<(u16, &str)>]) -> (Result<CommitOutcome, Fault>, Vec<String>) {
    let wire = Wire::answering(answers);
    let ledger = DynamoLedger::new(Client::new(&wire.config()), "ledger", "us-west-2");
    let commit = Commit {
        id: CommitId::new("message-1").unwrap(),
        parent: Generation(3),
        promised: vec![claim("default-4-0", 1)],
        changed: Vec::new(),
        cooling: [].into(),
        decisions: Vec::new(),
    };
    let outcome = ledger.commit(&ClusterName::new("demo").unwrap(), &commit).await;
    (outcome.map_err(|error| error.fault), wire.sent())
}

fn head(generation: u64, commit: &str) -> String {
    format!(r#"{{"Item":{{"generation":{{"N":"{generation}"}},"commit_id":{{"S":"{commit}"}}}}}}"#)
}

#[tokio::test]
async fn a_commit_is_one_call() {
    let (outcome, sent) = committed(&[Some((200, "{}"))]).await;
    assert_eq!(outcome, Ok(CommitOutcome::Committed(Generation(4))));
    assert!(sent[0].contains("\"ClientRequestToken\""), "{}", sent[0]);
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_recognized_by_the_head() {
    let ours = head(4, "message-1");
    let (outcome, sent) = committed(&[Some((400, CANCELED)), Some((200, &ours))]).await;
    assert_eq!(outcome, Ok(CommitOutcome::Committed(Generation(4))));
    assert!(sent[1].contains("\"ConsistentRead\":true"), "{}", sent[1]);
}

#[tokio::test]
async fn a_head_of_somebody_else_is_a_conflict() {
    for other in [head(4, "message-2"), head(5, "message-1"), head(3, "message-0")] {
        let (outcome, _) = committed(&[Some((400, CANCELED)), Some((200, &other))]).await;
        assert_eq!(outcome, Ok(CommitOutcome::Conflict), "{other}");
    }
}

#[tokio::test]
async fn two_writers_at_the_same_item_are_a_conflict_and_not_a_mystery() {
    let conflict = CANCELED.replace("ConditionalCheckFailed", "TransactionConflict");
    let other = head(4, "message-2");
    let (outcome, _) = committed(&[Some((400, &conflict)), Some((200, &other))]).await;
    assert_eq!(outcome, Ok(CommitOutcome::Conflict));
}

#[tokio::test]
async fn what_is_not_a_conflict_says_what_may_have_happened() {
    let throttled = CANCELED.replace("ConditionalCheckFailed", "ThrottlingError");
    let invalid = CANCELED.replace("ConditionalCheckFailed", "ValidationError");
    let exception = |name: &str| format!(r#"{{"__type":"com.amazonaws.dynamodb#{name}"}}"#);
    for (answer, fault) in [
        (Some((400, throttled)), Fault::Transient),
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
