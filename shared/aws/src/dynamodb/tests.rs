//! Items and transactions, without a client.

use aws_sdk_dynamodb::types::TransactWriteItem;
use model::{
    CapacityType, CommandId, CommitId, InstanceTypeName, NodeClaimName, NodePoolName, Zone,
    claim::Retry,
    disruption::{Command, Method, Progress},
    ledger::{Basis, Counters},
    node_pool::RegistrationOutcome,
};

use super::{
    batch::Batch,
    commit::ItemUpdate,
    head::{HEAD, HeadUpdate, StoredHead},
    item::{claim_item, number},
    *,
};
use crate::fixture::claim;

const REGION: &str = "region#us-west-2";

fn cluster() -> ClusterName {
    ClusterName::new("demo").unwrap()
}

fn to(cluster: &ClusterName) -> Partition<'_> {
    Partition { table: "ledger", cluster, form: RecordForm::Packed }
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
    let decision = testkit::build::decision("one node", time("2026-11-21T12:00:00Z"));
    Commit {
        id: CommitId::derived("message-1", 0),
        ledger: Some(LedgerId::new("abc12").unwrap()),
        parent: Counters { arrivals: 3, departures: 2 },
        basis: Basis::Both,
        created: vec![claim("default-4-0", 1)],
        adopted: vec![claim("default-2-0", 2)],
        changed: vec![claim("default-1-0", 6)],
        unavailable_offerings: [(offering(), time("2026-11-21T12:03:00.5Z"))].into(),
        started: [(command_id("emptiness-2"), waiting())].into(),
        ended: [command_id("emptiness-1")].into(),
        decisions: vec![decision],
    }
}

fn command_id(text: &str) -> CommandId {
    CommandId::new(text).unwrap()
}

fn waiting() -> Command {
    let found_at = time("2026-11-21T12:00:00Z");
    let candidates = vec![NodeClaimName::new("default-1-0").unwrap()];
    let (method, replacements, progress) = (Method::Emptiness, Vec::new(), Progress::Found);
    Command { method, found_at, candidates, replacements, drain: None, progress }
}

/// `item guard` of each write of `commit`.
fn written(commit: &Commit) -> Vec<String> {
    lines(&to_transaction(to(&cluster()), REGION, commit).unwrap().writes)
}

fn lines(writes: &[TransactWriteItem]) -> Vec<String> {
    let text = |value: &aws_sdk_dynamodb::types::AttributeValue| {
        value.as_s().or_else(|_| value.as_n()).map_or_else(|_| "packed".to_owned(), String::clone)
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
        let mut shown = condition.to_owned();
        for (name, attribute) in names.into_iter().flatten() {
            shown = shown.replace(name, attribute);
        }
        for (name, value) in values.into_iter().flatten() {
            shown = shown.replace(name, &text(value));
        }
        format!("{item} if {shown}")
    };
    writes.iter().map(line).collect()
}

#[test]
fn a_commit_is_one_transaction_and_every_write_has_its_condition() {
    assert_eq!(
        written(&commit()),
        [
            "head if ledger_id = abc12 AND (generation = 3) AND (departures = 2)",
            "claim#default-1-0 if version = 5",
            "batch#batch-of-default-4-0#0 if attribute_not_exists(claims)",
            "claim#default-2-0 if attribute_not_exists(version)",
            "cooling#on-demand#m7g.large#us-west-2a if attribute_not_exists(expires_at) OR \
             expires_at <= 1795262581",
            "command#emptiness-2",
            // Its time, and a digest of what it says: the same key whenever it is written.
            "decision#2026-11-21T12:00:00.000000000Z#d8105430cbfe7d75",
            "delete command#emptiness-1",
        ]
    );
}

#[test]
fn claims_leave_their_batch_as_they_get_items_of_their_own() {
    let claims: Vec<NodeClaim> = testkit::build::batch("demo-4-0", 3);
    let together = batch::created(to(&cluster()), &claims.iter().collect::<Vec<_>>()).unwrap();
    let created = Batch::of(&together).unwrap();
    assert_eq!(created.claims, claims);
    let asked = |index: usize| NodeClaim { version: 2, ..claims[index].clone() };
    let (writes, left) = created.without(to(&cluster()), &[asked(1)], Leaving::ToOwnItems).unwrap();
    assert_eq!(
        lines(&writes),
        ["batch#demo-4-0#0 if claims = 3", "claim#demo-4-0-1 if attribute_not_exists(version)"]
    );
    let put = writes[0].put().unwrap().item().clone().into_iter().collect();
    assert_eq!(Batch::of(&put).unwrap(), left);
    let (writes, left) =
        left.without(to(&cluster()), &[asked(0), asked(2)], Leaving::ToOwnItems).unwrap();
    assert_eq!(lines(&writes)[0], "delete batch#demo-4-0#0 if claims = 2");
    assert!(left.claims.is_empty());
    let (writes, left) = created.without(to(&cluster()), &claims[..2], Leaving::ForGood).unwrap();
    assert_eq!(lines(&writes), ["batch#demo-4-0#0 if claims = 3"]);
    assert_eq!(left.claims, claims[2..]);
}

#[test]
fn a_commit_is_conditioned_by_what_it_must_not_have_missed() {
    let head = |commit: Commit| written(&commit).swap_remove(0);
    let of_arrivals = Commit { basis: Basis::Arrivals, ..commit() };
    assert_eq!(head(of_arrivals), "head if ledger_id = abc12 AND (generation = 3)");
    let of_claims = Commit { basis: Basis::Claims, ..commit() };
    assert_eq!(head(of_claims), "head if ledger_id = abc12");
    let first = Commit { parent: Counters::default(), ledger: None, ..commit() };
    assert_eq!(
        head(first),
        "head if attribute_not_exists(ledger_id) AND (attribute_not_exists(generation) OR \
         generation = 0) AND (attribute_not_exists(departures) OR departures = 0)"
    );
}

#[test]
fn a_commit_counts_what_it_does() {
    let counted = |commit: Commit| {
        let writes = to_transaction(to(&cluster()), REGION, &commit).unwrap().writes;
        let values = writes[0].update().unwrap().expression_attribute_values().unwrap().clone();
        [":arrived", ":departed"].map(|name| values[name].as_n().unwrap().clone())
    };
    assert_eq!(counted(commit()), ["1", "0"]);
    let commit = || Commit { adopted: Vec::new(), ..commit() };
    assert_eq!(counted(commit()), ["1", "0"]);
    let deleted = claim("default-1-0", 5)
        .deleted(model::DeletionReason::Expired, time("2026-11-21T12:00:00Z"));
    let deletes = Commit { changed: vec![deleted], ..commit() };
    assert_eq!(counted(deletes.clone()), ["1", "1"]);
    assert_eq!(counted(Commit { created: Vec::new(), ..deletes }), ["0", "1"]);
    assert_eq!(counted(Commit { created: Vec::new(), ..commit() }), ["0", "0"]);
}

#[test]
fn a_claim_is_rewritten_attribute_by_attribute() {
    let update = |claim: &NodeClaim| {
        let update = ItemUpdate::of_claim(&claim_item(to(&cluster()), claim), item::follows(claim));
        assert_eq!(update.key.keys().collect::<Vec<_>>(), ["cluster", "item"]);
        update.expression
    };
    let without = NodeClaim { instance: None, ..claim("default-1-0", 6) };
    assert_eq!(
        update(&without),
        "SET #phase = :phase, #record = :record, #version = :version REMOVE #instance_id, #retry"
    );
    let retry = Some(Retry { failures: 2, not_before: time("2026-11-21T12:00:04Z") });
    assert_eq!(
        update(&NodeClaim { retry, ..claim("default-1-0", 6) }),
        "SET #instance_id = :instance_id, #phase = :phase, #record = :record, #retry = :retry, \
         #version = :version"
    );
}

#[test]
fn the_token_is_the_same_only_for_the_same_content() {
    let token = |commit: &Commit| to_transaction(to(&cluster()), REGION, commit).unwrap().token;
    let commit = commit();
    assert_eq!(token(&commit), token(&commit.clone()));
    assert!(token(&commit).len() <= 36);
    for other in [
        Commit { id: CommitId::derived("message-2", 0), ..commit.clone() },
        Commit { parent: Counters { arrivals: 4, departures: 2 }, ..commit.clone() },
        Commit { basis: Basis::Claims, ..commit.clone() },
        Commit { created: Vec::new(), ..commit.clone() },
        Commit { adopted: Vec::new(), ..commit.clone() },
        Commit { changed: Vec::new(), ..commit.clone() },
        Commit { started: [].into(), ..commit.clone() },
        Commit { ended: [].into(), ..commit.clone() },
        Commit { unavailable_offerings: [].into(), ..commit.clone() },
    ] {
        assert_ne!(token(&commit), token(&other));
    }
}

#[test]
fn a_claim_comes_back_as_it_was_stored() {
    let claim = claim("default-1-0", 6);
    let item = claim_item(to(&cluster()), &claim);
    assert_eq!(claim_from_item(&item).unwrap(), claim);
    assert_eq!(item["phase"].as_s().unwrap(), "initialized");
    assert_eq!(item["version"].as_n().unwrap(), "6");
    assert_eq!(item["instance_id"].as_s().unwrap(), "i-0a1b2c3d4e5f60718");
    assert!(!item.contains_key("retry"));
}

#[test]
fn functions_of_405e221_read_what_is_written_for_them() {
    let cluster = cluster();
    let for_them = Partition { form: RecordForm::Text, ..to(&cluster) };
    let claims = [claim("default-1-0", 6)];
    let claim_alone = claim_item(for_them, &claims[0]);
    assert_eq!(claim_alone["record"].as_s().unwrap(), &wire::record::encode_claim(&claims[0]));
    assert_eq!(claim_from_item(&claim_alone).unwrap(), claims[0]);
    let together = batch::created(for_them, &claims.each_ref()).unwrap();
    assert_eq!(
        together["record"].as_s().unwrap(),
        &wire::record::encode_claims(&claims.each_ref())
    );
    let (writes, _) =
        Batch::of(&together).unwrap().without(for_them, &claims, Leaving::ToOwnItems).unwrap();
    assert!(writes[1].put().unwrap().item()["record"].is_s());
}

#[test]
fn failures_of_a_claim_stand_beside_its_record_and_come_back() {
    let retry = Some(Retry { failures: 2, not_before: time("2026-11-21T12:00:04Z") });
    let claim = NodeClaim { retry, ..claim("default-1-0", 6) };
    let mut item = claim_item(to(&cluster()), &claim);
    // Functions of the release of commit 405e221 refuse a record with a member that is new to them.
    assert!(!item::record_of(&item).unwrap().contains("failures"));
    assert_eq!(claim_from_item(&item).unwrap(), claim);
    item.insert("retry".to_owned(), item::text("soon"));
    assert_eq!(claim_from_item(&item).unwrap(), NodeClaim { retry: None, ..claim });
}

#[test]
fn a_claim_without_an_instance_is_not_in_the_index() {
    let claim = NodeClaim { instance: None, ..claim("default-1-0", 1) };
    assert!(!claim_item(to(&cluster()), &claim).contains_key("instance_id"));
}

#[test]
fn a_record_that_disagrees_with_its_attributes_is_reported() {
    let mut item = claim_item(to(&cluster()), &claim("default-1-0", 6));
    item.insert("version".to_owned(), number(7));
    assert_eq!(
        claim_from_item(&item).unwrap_err().to_string(),
        "item `claim#default-1-0` of cluster `demo`: `record` disagrees with `version` or `phase` \
         beside it"
    );
}

#[test]
fn what_is_unavailable_is_in_the_partition_of_the_region() {
    let writes = to_transaction(to(&cluster()), REGION, &commit()).unwrap().writes;
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
    let item =
        unavailable_item(REGION, &unavailable_key(&offering()), time("2026-11-21T12:03:00.5Z"));
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
fn a_pulse_comes_back_as_it_was_stored() {
    let due_at = Some(time("2026-11-21T12:03:00.123456789Z"));
    let pulse = Pulse { sequence: 7, due_at, ..Pulse::default() };
    let mut item = pulse_item(&cluster(), Function::Provision, &pulse);
    assert_eq!(item["item"].as_s().unwrap(), "pulse#provision");
    assert_eq!(item["sequence"].as_n().unwrap(), "7");
    assert_eq!(pulse_from_item(&item).unwrap(), pulse);
    item.insert("sequence".to_owned(), number(8));
    assert!(pulse_from_item(&item).unwrap_err().to_string().contains("disagrees with `sequence`"));
}

#[test]
fn commands_and_refusals_come_back_as_they_were_stored() {
    let item = item::command_item(&cluster(), &command_id("drift-1"), &waiting());
    assert_eq!(item["item"].as_s().unwrap(), "command#drift-1");
    assert_eq!(command_from_item(&item).unwrap(), (command_id("drift-1"), waiting()));
    let pool = NodePoolName::new("general").unwrap();
    let until = time("2026-11-21T12:00:00Z");
    let refusals = LaunchRefusals { reason: "quota".to_owned(), count: 2, until, ended: 0 };
    let item = refusals_item(&cluster(), &pool, &refusals);
    assert_eq!(item["item"].as_s().unwrap(), "refusals#general");
    // The next refusal is counted on top of these for a day.
    let a_day_later = time("2026-11-22T12:00:00Z").as_second().to_string();
    assert_eq!(item["expires_at"].as_n().unwrap(), &a_day_later);
    assert_eq!(refusals_from_item(&item).unwrap(), (pool, refusals));
}

#[test]
fn how_launches_of_a_pool_ended_comes_back_as_it_was_stored_and_is_kept_for_two_months() {
    let (pool, at) = (NodePoolName::new("general").unwrap(), time("2026-11-21T12:00:00Z"));
    let none = Registrations { version: 1, ..Registrations::default() };
    let claim = "general-1-0".parse().unwrap();
    let ended = none.after(&[RegistrationOutcome { claim, at, failure: None }]).unwrap();
    let two_months_later = time("2027-01-20T12:00:00Z").as_second().to_string();
    for (registrations, expires_at) in [(none, None), (ended, Some(&two_months_later))] {
        let item = registrations_item(&cluster(), &pool, &registrations);
        assert_eq!(item["item"].as_s().unwrap(), "registrations#general");
        assert_eq!(item.get("expires_at").map(|value| value.as_n().unwrap()), expires_at);
        assert_eq!(registrations_from_item(&item).unwrap(), (pool.clone(), registrations));
    }
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
fn what_is_of_another_kind_in_the_head_is_named() {
    for (name, value, expected) in [
        ("generation", item::text("3"), "`generation` must be a whole number"),
        ("departures", number(-1), "`departures` must be a whole number"),
        ("commit_id", number(3), "`commit_id` must be a text"),
        (
            "ledger_id",
            item::text("A"),
            "`ledger_id`: `A` is not a valid ledger id: it must be 1 to 8 lower-case letters or digits",
        ),
        ("guard", number(1), "`guard` must be a text"),
        ("checked_at", item::text("noon"), "`checked_at`: "),
    ] {
        let mut item = key(&cluster(), HEAD);
        item.insert("generation".to_owned(), number(3));
        item.insert("guard".to_owned(), item::text("free"));
        item.insert("checked_at".to_owned(), item::text("2026-11-21T12:00:00Z"));
        let counters = Counters { arrivals: 3, departures: 0 };
        let guard = LedgerGuard::Free { checked_at: time("2026-11-21T12:00:00Z") };
        let head = Head { counters, guard, ..Head::default() };
        assert_eq!(StoredHead::of(&item).unwrap(), StoredHead { head, commit: None });
        item.insert(name.to_owned(), value);
        let error = StoredHead::of(&item).unwrap_err().to_string();
        let expected = format!("item `head` of cluster `demo`: {expected}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn a_guard_of_another_release_lets_no_function_act() {
    let mut item = key(&cluster(), HEAD);
    assert_eq!(StoredHead::of(&item).unwrap().head.guard, LedgerGuard::Unchecked);
    item.insert("guard".to_owned(), item::text("shared"));
    assert_eq!(StoredHead::of(&item).unwrap().head.guard, LedgerGuard::Unchecked);
}

#[test]
fn zones_that_are_left_are_read_as_they_were_written() {
    let mut item = key(&cluster(), HEAD);
    let zones = "us-west-2a=2026-11-21T12:00:00Z,us-west-2b=2026-11-21T13:00:00Z,?,us-west-2c=noon";
    item.insert("shifted_zones".to_owned(), item::text(zones));
    let shifted = StoredHead::of(&item).unwrap().head.shifted_zones;
    let shown: Vec<String> =
        shifted.iter().map(|(zone, until)| format!("{zone} {until}")).collect();
    assert_eq!(shown, ["us-west-2a 2026-11-21T12:00:00Z", "us-west-2b 2026-11-21T13:00:00Z"]);
    let update = HeadUpdate::shifted_zones(&LedgerId::new("abc12").unwrap(), &shifted);
    let written = update.values.iter().find(|(name, _)| name == ":shifted_zones").unwrap();
    let expected = "us-west-2a=2026-11-21T12:00:00Z,us-west-2b=2026-11-21T13:00:00Z";
    assert_eq!(written.1, item::text(expected));
}

#[test]
fn every_ledger_draws_an_id_of_its_own() {
    let drawn: std::collections::BTreeSet<LedgerId> =
        (0..200).map(|_| head::drawn().unwrap()).collect();
    assert!(drawn.iter().all(|id| id.as_str().len() == 5));
    assert!(198 < drawn.len(), "{drawn:?}");
}

#[test]
fn an_item_that_dynamodb_would_refuse_is_not_sent() {
    let cluster = cluster();
    let as_text = Partition { form: RecordForm::Text, ..to(&cluster) };
    let small = claim("default-1-0", 6);
    assert!(item::check_size(&claim_item(as_text, &small)).is_ok());
    let long = "x".repeat(limits::ITEM_BYTES_MAX);
    let large = NodeClaim { message: Some(long.as_str().into()), ..small };
    let error = item::check_size(&claim_item(as_text, &large)).unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    let source = error.source.unwrap().to_string();
    assert!(source.starts_with("item `claim#default-1-0` has 4"), "{source}");
}
