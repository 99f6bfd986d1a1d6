//! The calls of the ledger and of the catalog store.

use model::{
    NodeClaim, OfferingKey,
    instance_type_info::StoredRegionCatalog,
    ledger::{Commit, Counters, DecisionQuery, Guard, Head, LaunchRefusals, MeasuredKey},
    pulse::Pulse,
    validation::Validation,
};
use ports::{CatalogStore as _, Decisions as _, Ledger as _};
use serde_json::{Value, json};
use testkit::build;

use super::{Sent, cluster, ledger};
use crate::{DynamoCatalogStore, fixture, wire::Wire};

/// A new claim, in a batch with another one.
fn created(index: usize) -> NodeClaim {
    build::batch("batch", 2).swap_remove(index)
}

fn asked_for(index: usize) -> NodeClaim {
    NodeClaim { version: 2, ..created(index) }
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

pub(super) async fn note_batches(sent: &mut Sent) {
    let cluster_name = &cluster();
    let (ok, none) = ((200, "{}"), (200, r#"{"Items":[]}"#));
    // One of two leaves their batch, both do, and one left it before.
    let both = listed(&json!({
        "item": {"S": "batch#batch#0"},
        "record": {"S": ::wire::record::encode_claims(&[&created(0), &created(1)])},
    }));
    let both = (200, both.as_str());
    for (answers, claims) in [
        (vec![both, ok], vec![asked_for(0)]),
        (vec![both, ok], vec![asked_for(0), asked_for(1)]),
        (vec![none, ok], vec![asked_for(0)]),
    ] {
        sent.note("Ledger.write_claims", &answers, async |wire| {
            ledger(&wire).write_claims(cluster_name, &claims).await
        })
        .await;
    }
    for (answers, claims) in [
        (vec![both, ok, ok], vec![created(0)]),
        (vec![both, ok, ok], vec![created(0), created(1)]),
        (vec![ok, ok], vec![asked_for(0)]),
    ] {
        sent.note("Ledger.withdraw_claims", &answers, async |wire| {
            ledger(&wire).withdraw_claims(cluster_name, &claims).await
        })
        .await;
    }
}

pub(super) async fn note_ledger(sent: &mut Sent) {
    let (ok, none) = ((200, "{}"), (200, r#"{"Items":[]}"#));
    let cancelled = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons":[{"Code":"ConditionalCheckFailed"}]}"#;
    let now = build::at("2026-11-21T12:00:00Z");
    let cluster_name = &cluster();
    let snapshot = [ok, none, none, none, none, none, none];
    sent.note("Ledger.snapshot", &snapshot, async |wire| {
        ledger(&wire).snapshot(cluster_name).await
    })
    .await;
    let counters = Counters { arrivals: 3, departures: 3 };
    let head = Head { ledger: Some(build::id("abc12")), counters, ..Head::default() };
    let commit = Commit {
        changed: vec![fixture::claim("changed", 3)],
        unavailable_offerings: [(offering(), now)].into(),
        ended: [build::id("emptiness-1")].into(),
        ..build::commit("commit", &head, vec![created(0)])
    };
    let overtaken = [none, (400, cancelled), ok];
    sent.note("Ledger.commit", &overtaken, async |wire| {
        ledger(&wire).commit(cluster_name, &commit).await
    })
    .await;
    sent.note("Ledger.head", &[ok], async |wire| ledger(&wire).head(cluster_name).await).await;
    let refused =
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}"#;
    sent.note("Ledger.open", &[(400, refused), ok], async |wire| {
        ledger(&wire).open(cluster_name, None).await
    })
    .await;
    let (id, guard) = (&build::id("abc12"), Guard::Free { checked_at: now });
    sent.note("Ledger.put_guard", &[ok], async |wire| {
        ledger(&wire).put_guard(cluster_name, id, &guard).await
    })
    .await;
    let zones = &[(build::id("us-west-2a"), now)].into();
    sent.note("Ledger.put_shifted_zones", &[ok], async |wire| {
        ledger(&wire).put_shifted_zones(cluster_name, id, zones).await
    })
    .await;
    let claim = &fixture::claim("claim", 3);
    let indexed = listed(&json!({ "item": {"S": format!("claim#{}", claim.name)} }));
    let id = &claim.instance.as_ref().unwrap().id;
    let entries = [(200, indexed.as_str()), ok];
    sent.note("Ledger.claims_of_instances", &entries, async |wire| {
        ledger(&wire).claims_of_instances(cluster_name, std::slice::from_ref(id)).await
    })
    .await;
    sent.note("Ledger.write_claim", &[ok], async |w| {
        ledger(&w).write_claim(cluster_name, claim).await
    })
    .await;
    sent.note("Ledger.remove_claim", &[ok], async |w| {
        ledger(&w).remove_claim(cluster_name, claim).await
    })
    .await;
    let unavailable_offerings = &[(offering(), now)];
    sent.note("Ledger.mark_unavailable", &[ok], async |w| {
        ledger(&w).mark_unavailable(&cluster(), unavailable_offerings, &[]).await
    })
    .await;
    note_small_items(sent).await;
}

/// What has an item of its own beside the claims.
async fn note_small_items(sent: &mut Sent) {
    let (ok, now) = ((200, "{}"), build::at("2026-11-21T12:00:00Z"));
    let cluster_name = &cluster();
    let key = &MeasuredKey { instance_type: build::id("m7g.large"), image: build::id("ami-1") };
    sent.note("Ledger.measure", &[ok], async |wire| {
        ledger(&wire).measure(cluster_name, key, model::Bytes(1), now).await
    })
    .await;
    let pool = &build::id("general");
    let refusals = &LaunchRefusals { reason: "quota".to_owned(), count: 1, until: now, ended: 0 };
    for refusals in [Some(refusals), None] {
        sent.note("Ledger.put_refusals", &[ok], async |wire| {
            ledger(&wire).put_refusals(cluster_name, pool, refusals).await
        })
        .await;
    }
    sent.note("Ledger.registrations", &[ok], async |wire| {
        ledger(&wire).registrations(cluster_name).await
    })
    .await;
    let registrations = &model::node_pool::Registrations { version: 1, ..Default::default() };
    sent.note("Ledger.put_registrations", &[ok], async |wire| {
        ledger(&wire).put_registrations(cluster_name, pool, registrations).await
    })
    .await;
    let function = model::Function::Settle;
    sent.note("Ledger.write_pulse", &[ok], async |wire| {
        ledger(&wire).write_pulse(cluster_name, function, 0, &Pulse::default()).await
    })
    .await;
    sent.note("Ledger.pulse", &[ok], async |wire| {
        ledger(&wire).pulse(cluster_name, function).await
    })
    .await;
    let class = &build::id("default");
    sent.note("Ledger.validation", &[ok], async |wire| {
        ledger(&wire).validation(cluster_name, class).await
    })
    .await;
    let validation = &Validation::found("1f", None, now);
    sent.note("Ledger.put_validation", &[ok], async |wire| {
        ledger(&wire).put_validation(cluster_name, class, validation).await
    })
    .await;
    let query = &DecisionQuery { before: None, since: None, limit: 1 };
    sent.note("Decisions.decisions", &[ok], async |wire| {
        ledger(&wire).decisions(cluster_name, query).await
    })
    .await;
    let decisions = &[build::decision("demo", now)];
    sent.note("Ledger.put_decisions", &[ok], async |wire| {
        ledger(&wire).put_decisions(cluster_name, decisions).await
    })
    .await;
    let recorded = build::recorded_facts("demo", now);
    let (question, facts, plan) = (&recorded.question, &recorded.facts, &recorded.plan);
    sent.note("Ledger.put_facts", &[ok], async |wire| {
        ledger(&wire).put_facts(cluster_name, 7, question, facts, plan).await
    })
    .await;
    sent.note("Decisions.facts", &[ok], async |wire| ledger(&wire).facts(cluster_name, 7).await)
        .await;
}

pub(super) async fn note_catalog_store(sent: &mut Sent) {
    let (ok, now) = ((200, "{}"), build::at("2026-11-21T12:00:00Z"));
    let catalog_store = |wire: &Wire| DynamoCatalogStore::new(ledger(wire), cluster());
    for call in ["CatalogStore.stored", "Catalog.catalog"] {
        sent.note(call, &[ok], async |wire| catalog_store(&wire).stored().await).await;
    }
    let catalog = instance_catalog::builtin().unwrap();
    let stored = &StoredRegionCatalog { catalog, found_at: now };
    sent.note("CatalogStore.put", &[ok], async |wire| catalog_store(&wire).put(stored).await).await;
}
