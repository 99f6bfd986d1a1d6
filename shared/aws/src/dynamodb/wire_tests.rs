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
        unavailable_offerings: [].into(),
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

#[tokio::test]
async fn measured_memory_that_cannot_be_read_keeps_nobody_from_the_rest() {
    let good = r#"{"item":{"S":"measured#m7g.large#ami-0a"},"memory":{"N":"17"}}"#;
    let bad = r#"{"item":{"S":"measured#m7g.large"},"memory":{"N":"17"}}"#;
    let worse = r#"{"item":{"S":"measured#m7i.large#ami-0a"},"memory":{"S":"much"}}"#;
    let measured = format!(r#"{{"Items":[{bad},{good},{worse}]}}"#);
    let none = r#"{"Items":[]}"#;
    let head = head(4, "message-1");
    let answers = [head.as_str(), none, none, none, measured.as_str()];
    let wire = Wire::answering(&answers.map(|answer| Some((200, answer))));
    let ledger = DynamoLedger::new(Client::new(&wire.config()), "ledger", "us-west-2");
    let snapshot = ledger.snapshot(&ClusterName::new("demo").unwrap()).await.unwrap();
    assert_eq!(snapshot.generation, Generation(4));
    let kept: Vec<_> = snapshot.measured.into_iter().collect();
    let [(key, Bytes(17))] = kept.as_slice() else { panic!("{kept:?}") };
    assert_eq!(key.instance_type.as_str(), "m7g.large");
}
