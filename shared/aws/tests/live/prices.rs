//! The price list of the ledger, measured: the adapter sends to an engine as many requests as the simulated account
//! counts for the same calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use aws::DynamoLedger;
use aws_config::SdkConfig;
use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        interceptors::{Intercept, context::BeforeTransmitInterceptorContextRef},
        orchestrator::Metadata,
        runtime_components::RuntimeComponents,
    },
};
use aws_smithy_types::config_bag::ConfigBag;
use jiff::Timestamp;
use model::{
    Bytes, CapacityType, Function, InstanceId, NodeClaim, OfferingKey, RegionCatalog,
    ledger::{Commit, Guard, LaunchRefusals, MeasuredKey},
    node_pool::Registrations,
    pulse::Pulse,
    validation::Validation,
};
use ports::Ledger;
use simulator::{Sim, WorldSettings};
use testkit::build;

/// Requests by operation.
type Counts = BTreeMap<String, u64>;

/// Counts what an SDK's client sends, each try of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(Arc<Mutex<Counts>>);

impl Requests {
    fn so_far(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Intercept for Requests {
    fn name(&self) -> &'static str {
        "Requests"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let operation = config.load::<Metadata>().map_or("unknown", Metadata::name).to_owned();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(operation).or_default() += 1;
        Ok(())
    }
}

/// What each call came to, in order.
struct Calls<'a> {
    so_far: &'a dyn Fn() -> Counts,
    made: Vec<(&'static str, Counts)>,
}

impl Calls<'_> {
    /// Awaits a call and notes what it came to.
    async fn note<T>(
        &mut self,
        call: &'static str,
        made: impl Future<Output = Result<T, ports::PortError>>,
    ) -> T {
        let before = (self.so_far)();
        let answer = made.await.unwrap_or_else(|error| panic!("{call}: {error:?}"));
        let more = |(operation, count): (String, u64)| {
            let count = count - before.get(&operation).copied().unwrap_or_default();
            (count > 0).then_some((operation, count))
        };
        self.made.push((call, (self.so_far)().into_iter().filter_map(more).collect()));
        answer
    }
}

/// `claim` as it is written when something becomes of it.
fn changed(claim: &NodeClaim) -> NodeClaim {
    NodeClaim { version: claim.version + 1, ..claim.clone() }
}

/// A claim of its own, with the instance `i-<number>`.
fn launched(claim: &NodeClaim, number: usize) -> NodeClaim {
    NodeClaim {
        instance: Some(build::launched_instance(&format!("i-0a1d{number}"))),
        ..changed(claim)
    }
}

/// Makes every call of the ledger, with full batches.
async fn calls_of_claims<L: Ledger>(ledger: &L, calls: &mut Calls<'_>, now: Timestamp) {
    let cluster = &build::id("prices");
    calls.note("Ledger.open", ledger.open(cluster, None)).await;
    let head = calls.note("Ledger.head", ledger.head(cluster)).await;
    let id = head.ledger.clone().expect("an open ledger has an identity");
    let guard = Guard::Free { checked_at: now };
    calls.note("Ledger.put_guard", ledger.put_guard(cluster, &id, &guard)).await;
    let zones = &[(build::id("us-west-2a"), now)].into();
    calls.note("Ledger.put_shifted_zones", ledger.put_shifted_zones(cluster, &id, zones)).await;
    let batch = build::batch("batch", 200);
    let commit = build::commit("commit", &ledger.head(cluster).await.unwrap(), batch.clone());
    calls.note("Ledger.commit", ledger.commit(cluster, &commit)).await;
    let head = ledger.head(cluster).await.unwrap();
    let offering = OfferingKey {
        capacity_type: CapacityType::Spot,
        instance_type: build::id("m7g.large"),
        zone: build::id("us-west-2a"),
    };
    let commit = Commit {
        unavailable_offerings: [(offering.clone(), now)].into(),
        ..build::commit("second", &head, Vec::new())
    };
    calls.note("Ledger.commit", ledger.commit(cluster, &commit)).await;
    let offerings = [(offering, now)];
    let marked = ledger.mark_unavailable(cluster, &offerings, &[]);
    calls.note("Ledger.mark_unavailable", marked).await;
    // Some hundred claims leave their batch, and then are written again in items of their own.
    let leaving: Vec<NodeClaim> = batch.iter().take(100).map(changed).collect();
    calls.note("Ledger.write_claims", ledger.write_claims(cluster, &leaving)).await;
    let moved: Vec<NodeClaim> =
        leaving.iter().enumerate().map(|(number, claim)| launched(claim, number)).collect();
    calls.note("Ledger.write_claims", ledger.write_claims(cluster, &moved)).await;
    calls.note("Ledger.write_claim", ledger.write_claim(cluster, &changed(&moved[0]))).await;
    calls.note("Ledger.snapshot", ledger.snapshot(cluster)).await;
    let instances: Vec<InstanceId> =
        moved.iter().filter_map(|claim| Some(claim.instance.as_ref()?.id.clone())).collect();
    super::a_moment().await;
    calls.note("Ledger.claims_of_instances", ledger.claims_of_instances(cluster, &instances)).await;
    let unknown = [build::id("i-0a1e")];
    calls.note("Ledger.claims_of_instances", ledger.claims_of_instances(cluster, &unknown)).await;
    calls.note("Ledger.remove_claim", ledger.remove_claim(cluster, &changed(&moved[0]))).await;
    calls.note("Ledger.withdraw_claims", ledger.withdraw_claims(cluster, &batch[100..])).await;
    calls.note("Ledger.withdraw_claims", ledger.withdraw_claims(cluster, &moved[1..])).await;
}

/// Makes every call of the ledger about what has an item of its own beside the claims.
async fn calls_of_small_items<L: Ledger>(ledger: &L, calls: &mut Calls<'_>, now: Timestamp) {
    let cluster = &build::id("prices");
    let key = &MeasuredKey { instance_type: build::id("m7g.large"), image: build::id("ami-1") };
    calls.note("Ledger.measure", ledger.measure(cluster, key, Bytes(1), now)).await;
    let pool = &build::id("general");
    let refusals = LaunchRefusals { reason: "quota".to_owned(), count: 1, until: now, ended: 0 };
    calls.note("Ledger.put_refusals", ledger.put_refusals(cluster, pool, Some(&refusals))).await;
    calls.note("Ledger.registrations", ledger.registrations(cluster)).await;
    let registrations = Registrations { version: 1, ..Registrations::default() };
    calls
        .note("Ledger.put_registrations", ledger.put_registrations(cluster, pool, &registrations))
        .await;
    let pulse = calls.note("Ledger.pulse", ledger.pulse(cluster, Function::Settle)).await;
    let next = Pulse { sequence: pulse.sequence + 1, ..pulse };
    calls
        .note(
            "Ledger.write_pulse",
            ledger.write_pulse(cluster, Function::Settle, pulse.sequence, &next),
        )
        .await;
    let class = &build::id("default");
    calls.note("Ledger.validation", ledger.validation(cluster, class)).await;
    let validation = Validation::found("1f", None, now);
    calls.note("Ledger.put_validation", ledger.put_validation(cluster, class, &validation)).await;
    let decisions: Vec<_> =
        ["one", "two"].iter().map(|summary| build::decision(summary, now)).collect();
    calls.note("Ledger.put_decisions", ledger.put_decisions(cluster, &decisions)).await;
    let recorded = build::recorded_facts("demo", now);
    let (question, facts, plan) = (&recorded.question, &recorded.facts, &recorded.plan);
    calls.note("Ledger.put_facts", ledger.put_facts(cluster, 7, question, facts, plan)).await;
}

/// Compares what the calls come to by the adapter, whose clients have `config`, with the price list.
pub(super) async fn the_ledger_sends_what_the_price_list_says(config: &SdkConfig, table: &str) {
    let catalog: Arc<RegionCatalog> = Arc::new(instance_catalog::builtin().unwrap());
    let settings = WorldSettings { has_schedules: false, ..WorldSettings::default() };
    let sim = Sim::new(settings.without_limits(), catalog);
    let now = sim.now();
    let listed = || {
        let counts = sim.calls_by_action().into_iter();
        counts.map(|(action, count)| (action.name.to_owned(), count.answered)).collect()
    };
    let mut by_list = Calls { so_far: &listed, made: Vec::new() };
    calls_of_claims(&sim, &mut by_list, now).await;
    calls_of_small_items(&sim, &mut by_list, now).await;

    let requests = Requests::default();
    let config = aws_sdk_dynamodb::config::Builder::from(config).interceptor(requests.clone());
    let ledger = DynamoLedger::new(
        aws_sdk_dynamodb::Client::from_conf(config.build()),
        table,
        super::REGION,
    );
    let sent = || requests.so_far();
    let mut by_adapter = Calls { so_far: &sent, made: Vec::new() };
    calls_of_claims(&ledger, &mut by_adapter, now).await;
    calls_of_small_items(&ledger, &mut by_adapter, now).await;

    assert_eq!(by_adapter.made.len(), by_list.made.len());
    let differences: Vec<String> = std::iter::zip(&by_list.made, &by_adapter.made)
        .filter(|((_, listed), (_, sent))| listed != sent)
        .map(|((call, listed), (_, sent))| {
            format!("{call}: the list says {listed:?}, sent {sent:?}")
        })
        .collect();
    assert_eq!(differences, Vec::<String>::new());
    let made: BTreeSet<&str> = by_list.made.iter().map(|(call, _)| *call).collect();
    let priced: BTreeSet<&str> = simulator::limits::costs::COSTS
        .iter()
        .map(|cost| cost.operation)
        .filter(|call| call.starts_with("Ledger."))
        .collect();
    assert_eq!(made, priced, "each call of the ledger is compared");
    super::report(&format!("ok   {} calls send what the price list says", made.len()));
}
