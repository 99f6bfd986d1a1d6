//! What the releases of the commits 405e221 and c7ddc5b stored and sent is still read, and means what it meant.
//!
//! The README of each folder in `tests/golden` says what is there. The adapter of DynamoDB has its own test over
//! the items of 405e221.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail loudly, and say what they read"
)]

use std::collections::BTreeMap;

use model::{
    ClaimPhase, DeletionReason, Function, NodeClaim, disruption::DisruptionReason,
    interruption::InterruptionKind, message::Message, recorded::RecordedFacts,
    validation::FailedCheck,
};
use serde_json::Value;
use tests::{files, repository};
use wire::event::Event;

const GOLDEN: &str = "tests/golden/405e221";

/// The files of `folder`, by name without ending.
fn read(folder: &str) -> BTreeMap<String, Value> {
    let paths = files(&repository().join(GOLDEN).join(folder), &[".json"]);
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a golden file can be read");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, serde_json::from_str(&text).expect("a golden file is JSON"))
    };
    paths.into_iter().map(read).collect()
}

/// The attribute `record` of an item.
fn record(item: &Value) -> &str {
    item["record"]["S"].as_str().expect("a record")
}

fn claim_of(item: &Value) -> NodeClaim {
    wire::record::decode_claim(record(item)).unwrap_or_else(|error| panic!("{item}: {error}"))
}

#[test]
fn every_claim_that_was_stored_is_what_it_was() {
    let items = read("items");
    for phase in ClaimPhase::ALL {
        let claim = claim_of(&items[&format!("claim-{}", phase.code())]);
        assert_eq!((claim.phase, claim.version), (phase, 6));
        let requirements: Vec<_> = claim.requirements.iter().map(ToString::to_string).collect();
        assert_eq!(
            requirements,
            [
                "example.com/gpu DoesNotExist",
                "example.com/rack Exists",
                "karpenter.k8s.aws/instance-cpu Gt 3 minValues 2",
                "karpenter.sh/capacity-type In [on-demand spot]",
                "topology.kubernetes.io/zone NotIn [us-west-2d]",
            ]
        );
        assert_eq!(claim.expire_after, Some(jiff::SignedDuration::from_hours(720)));
        assert_eq!(claim.conditions.drifted.as_deref(), Some("NodePoolDrifted"));
        // Nothing that was stored is lost when the claim is written again.
        let stored: Value =
            serde_json::from_str(record(&items[&format!("claim-{}", phase.code())]))
                .expect("a record is JSON");
        let again: Value =
            serde_json::from_str(&wire::record::encode_claim(&claim)).expect("a record is JSON");
        assert_eq!(again, stored);
    }
}

#[test]
fn every_reason_that_was_stored_is_one_of_today() {
    use DeletionReason as Is;
    let reasons = [
        ("capacityreservationending", Is::ReservationEnding),
        ("drifted", Is::Disrupted(DisruptionReason::Drifted)),
        ("empty", Is::Disrupted(DisruptionReason::Empty)),
        ("expired", Is::Expired),
        ("instanceended", Is::InstanceEnded),
        // Two that no function gave: a launch that fails is a node that never registers.
        ("insufficientcapacity", Is::NotRegistered),
        ("launchfailed", Is::NotRegistered),
        ("nodeclaimdeleted", Is::NodeClaimDeleted),
        ("nodedeleted", Is::NodeDeleted),
        ("registrationtimeout", Is::NotRegistered),
        ("spotinterrupted", Is::SpotInterrupted),
        ("underutilized", Is::Disrupted(DisruptionReason::Underutilized)),
    ];
    let items = read("items");
    let stored = items.keys().filter_map(|name| name.strip_prefix("claim-deleted-"));
    assert_eq!(stored.collect::<Vec<_>>(), reasons.map(|(name, _)| name));
    for (name, reason) in reasons {
        let deletion = claim_of(&items[&format!("claim-deleted-{name}")]).deletion;
        assert_eq!(deletion.expect("it is being deleted").reason, reason, "{name}");
    }
}

#[test]
fn batches_decisions_and_verdicts_are_read() {
    let items = read("items");
    let claims = wire::record::decode_claims(record(&items["batch"])).expect("a batch");
    let names: Vec<_> = claims.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(names, ["demo-9-0-0", "demo-9-0-1", "demo-9-0-2"]);
    assert!(claims.iter().all(|claim| claim.phase == ClaimPhase::Created));

    for function in [Function::Provision, Function::Disrupt, Function::Interrupt] {
        let item = &items[&format!("decision-{function}")];
        let decision = wire::record::decode_decision(record(item)).expect("a decision");
        assert_eq!(decision.function, function);
        assert_eq!(decision.rejected, [model::ledger::Rejected::from("spot: cooling down")]);
    }

    let validation = |name: &str| {
        let item = &items[&format!("validation-{name}")];
        wire::record::decode_validation(record(item)).expect("a verdict")
    };
    assert_eq!(validation("passed").failure, None);
    // What that release could say.
    let checks = FailedCheck::ALL.into_iter().filter(|it| *it != FailedCheck::InstanceProfile);
    for check in checks {
        let failure = validation(check.as_str()).failure;
        assert_eq!(failure, Some((check, "no policy allows it".to_owned())));
    }
}

/// What a message of today says, in one line.
fn in_short(message: &Message) -> String {
    let what = match message {
        Message::Pulse { signal, .. } => format!("{signal:?}"),
        Message::DryRun { class, key, .. } => format!("{class} by {key}"),
    };
    format!("{}: {what}", message.function())
}

/// What messages carried then is in the ledger: each asks its function to look there.
#[test]
fn every_message_that_was_sent_is_understood() {
    let path = repository().join(GOLDEN).join("messages.jsonl");
    let text = std::fs::read_to_string(path).expect("the messages can be read");
    let read = |body: &str| {
        let (cluster, message) = wire::message::decode(body).expect("a message");
        assert_eq!(cluster.as_str(), "demo");
        in_short(&message)
    };
    assert_eq!(
        text.lines().map(read).collect::<Vec<_>>(),
        [
            "provision: Schedule",
            "provision: Schedule",
            "disrupt: Schedule",
            "disrupt: Schedule",
            "disrupt: Schedule",
            "launch: Schedule",
            "launch: default by 1f",
            "settle: Schedule",
            "drain: Schedule",
        ]
    );
}

/// What the event `name` means today, in one line for each record.
fn meaning(name: &str, event: &Value) -> Vec<String> {
    let bodies = || {
        let records = event["Records"].as_array().expect("records");
        records.iter().map(|record| record["body"].as_str().expect("a body"))
    };
    if name.ends_with("-queue") {
        let message = |body| wire::message::decode(body).expect("a message").1;
        bodies().map(|body| in_short(&message(body))).collect()
    } else if name.starts_with("interrupt-") {
        let kind = |body| match wire::event::interruption(body).expect("an event") {
            Event::Interruptions(several) => several.first().expect("an instance").kind,
            Event::Ignored { what } => panic!("{name}: ignored: {what}"),
        };
        let shown = |kind| match kind {
            InterruptionKind::SpotInterruption => "spot",
            InterruptionKind::InstanceEnding => "ending",
            InterruptionKind::ReservationInterruption => "reservation",
            InterruptionKind::ScheduledChange => "scheduled change",
            InterruptionKind::RebalanceRecommendation => "rebalance",
            InterruptionKind::CheckFailed => panic!("{name}: no event says it"),
        };
        bodies().map(|body| shown(kind(body)).to_owned()).collect()
    } else {
        wire::event::schedule(&event.to_string()).expect("a schedule");
        vec!["a minute is over".to_owned()]
    }
}

#[test]
fn every_event_means_what_it_meant() {
    let events = read("events");
    // Nothing has read the table's stream since.
    let meanings: Vec<String> = events
        .iter()
        .filter(|(name, _)| !name.ends_with("-stream"))
        .map(|(name, event)| format!("{name}: {}", meaning(name, event).join(", ")))
        .collect();
    assert_eq!(
        meanings,
        [
            "catalog-schedule: a minute is over",
            "disrupt-consolidation: a minute is over",
            "disrupt-drift: a minute is over",
            "disrupt-emptiness: a minute is over",
            "disrupt-expiration: a minute is over",
            "disrupt-queue: disrupt: Schedule",
            "drain-queue: drain: Schedule",
            "interrupt-reservation: reservation",
            "interrupt-spot: spot",
            "interrupt-state-change: ending",
            "launch-queue: launch: Schedule",
            "launch-try-out-queue: launch: default by 00c0ffee00c0ffee",
            "provision-queue: provision: Schedule",
            "provision-schedule: a minute is over",
            "resolve-schedule: a minute is over",
            "settle-queue: settle: Schedule",
        ]
    );
}

/// `objects/<name>.json` as the API server lists it.
fn list_of(name: &str) -> Vec<u8> {
    let object = &read("objects")[name];
    format!(r#"{{"kind":"List","metadata":{{}},"items":[{object}]}}"#).into_bytes()
}

#[test]
fn objects_that_were_written_are_ours_and_ready() {
    let page = api::lists::synced_node_claim_list(&list_of("node-claim")).expect("a list");
    assert_eq!(page.malformed, []);
    let [shown] = page.items.as_slice() else { panic!("one NodeClaim: {:?}", page.items) };
    assert_eq!((shown.name.as_str(), shown.version, shown.is_deleting), ("general-7-0", 5, false));

    let page = api::lists::node_class_list(&list_of("ec2-node-class")).expect("a list");
    assert_eq!(page.malformed, []);
    let [listed] = page.items.as_slice() else { panic!("one class: {:?}", page.items) };
    assert_eq!((listed.class.name.as_str(), &listed.not_ready), ("default", &None));
}

/// The facts that were recorded with decisions, by the names of their files.
fn recorded_facts() -> BTreeMap<String, Vec<u8>> {
    let paths = files(&repository().join("tests/golden/c7ddc5b/facts"), &[".bin"]);
    let read = |path: std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("a golden file can be read"))
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn facts_that_were_recorded_lead_to_the_plans_that_were_recorded_with_them() {
    let records = recorded_facts();
    let names: Vec<&str> = records.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["disrupt-disruption", "disrupt-termination", "interrupt-interruption", "provision-launch",]
    );
    for (name, bytes) in &records {
        let recorded = wire::recorded::decode(bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let RecordedFacts { question, facts, plan } = &recorded;
        let mut again = planner::answer(facts, question, &planner::Memory::default()).plan;
        // Summaries are words for people, and each release chooses its own.
        for (again, then) in again.decisions.iter_mut().zip(&plan.decisions) {
            again.summary.clone_from(&then.summary);
        }
        // A look may note more of NodeClaims that stay than the release that recorded it: nothing is decided by that.
        again.changes.retain(|claim| {
            claim.is_deleting() || plan.changes.iter().any(|then| then.name == claim.name)
        });
        assert_eq!(&again, plan, "{name}");
        // They read the same in the form that is written today, which takes about as many bytes.
        let today = wire::recorded::encode(question, facts, plan);
        assert_eq!(wire::recorded::decode(&today).as_ref(), Ok(&recorded), "{name}");
        let (then, now) = (bytes.len(), today.len());
        assert!(now <= then + then / 2, "{name}: {then} bytes became {now}");
    }
}
