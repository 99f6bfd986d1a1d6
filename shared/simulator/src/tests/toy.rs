//! A small account, and small functions that are just good enough to bring a pod onto a node.
//!
//! They are not the project's handlers, which this crate does not know: they give tests deliveries
//! that read, commit and act.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use model::{
    BatchId, CapacityType, ClaimPhase, CommitId, DeletionReason, Function, InstanceTypeName,
    NodeClaim, NodeClaimName, NodeClassName, NodePoolName, OfferingKey, Pod, PodKey, PodSpec,
    RegionCatalog, Taint, TaintEffect, Zone,
    claim::LaunchedInstance,
    labels,
    launch::{FleetOverride, FleetRequest, InstanceState, LaunchTemplate},
    ledger::{Commit, CommitOutcome, Generation},
    message::{Delivery as Letter, Message},
    node::{EvictionRequest, NodePatch},
    node_class::SubnetTerm,
};
use ports::{
    Cluster, Discovery as _, Fleet as _, Invocation, Ledger as _, Nodes as _, PodSelection,
    PortError, Templates as _,
};

use testkit::build;

use crate::{ClusterObject, FunctionCall, Payload, Sim, StoryWorkload, Work, WorldSettings};

pub(crate) fn catalog() -> Arc<RegionCatalog> {
    let zones = [("us-west-2a", "usw2-az1"), ("us-west-2b", "usw2-az2")];
    let instance_type = |name, capacity, spot, on_demand| {
        let built = build::instance_type(name, capacity).overhead("cpu=100m");
        let sold = zones
            .iter()
            .fold(built, |built, (zone, _)| built.spot(zone, spot).on_demand(zone, on_demand));
        sold.build()
    };
    let instance_types = vec![
        instance_type("m5.large", "cpu=2 memory=8Gi pods=30", "0.03", "0.09"),
        instance_type("m5.xlarge", "cpu=4 memory=16Gi pods=30", "0.06", "0.18"),
    ];
    Arc::new(RegionCatalog {
        region: "us-west-2".to_owned(),
        zones: zones.into_iter().map(|(zone, id)| (build::id(zone), build::id(id))).collect(),
        instance_types,
        descriptions: BTreeMap::new(),
    })
}

/// A world without limits: most tests are about something else.
pub(crate) fn sim(settings: WorldSettings) -> Sim {
    limited(settings.without_limits())
}

/// A world with the limits that `settings` say.
pub(crate) fn limited(settings: WorldSettings) -> Sim {
    Sim::new(settings, catalog())
}

pub(crate) fn offering(capacity_type: CapacityType, name: &str, zone: &str) -> OfferingKey {
    let instance_type = InstanceTypeName::new(name).unwrap();
    OfferingKey { capacity_type, instance_type, zone: Zone::new(zone).unwrap() }
}

/// A Deployment whose pods ask for one CPU each.
pub(crate) fn workload(name: &str, replicas: u32) -> StoryWorkload {
    let spec = PodSpec {
        requests: build::resources("cpu=1 memory=1Gi pods=1"),
        termination_grace_seconds: 30,
        ..PodSpec::default()
    };
    StoryWorkload::deployment(pod_key(name), replicas, Arc::new(spec))
}

pub(crate) fn pod_key(name: &str) -> PodKey {
    build::pod_key(name)
}

pub(crate) fn add(sim: &Sim, workload: StoryWorkload) {
    sim.add(vec![ClusterObject::Workload(workload)]);
}

/// Time passes.
pub(crate) fn pass(sim: &Sim, seconds: i64) {
    sim.pass_until(sim.now().checked_add(SignedDuration::from_secs(seconds)).unwrap());
}

/// A request for spot or on-demand instances of any type in any zone.
pub(crate) fn request(sim: &Sim, token: &str, count: u32, capacity: CapacityType) -> FleetRequest {
    let terms = [SubnetTerm::Tags(BTreeMap::from([("team".to_owned(), "a".to_owned())]))];
    let subnets = sim.block_on(sim.subnets(&terms)).unwrap().unwrap();
    request_in(token, count, capacity, &subnets)
}

fn request_in(
    token: &str,
    count: u32,
    capacity_type: CapacityType,
    subnets: &[model::node_class::Subnet],
) -> FleetRequest {
    let request = build::fleet_request(&WorldSettings::default().cluster, token);
    let mut request = FleetRequest { count, capacity_type, ..request };
    let catalog = catalog();
    let overrides = subnets.iter().flat_map(|subnet| {
        catalog.instance_types.iter().map(|instance_type| FleetOverride {
            instance_type: instance_type.name.clone(),
            zone: subnet.zone.clone(),
            subnet: subnet.id.clone(),
            ..build::fleet_override()
        })
    });
    request.templates[0].overrides = overrides.collect();
    request
}

pub(crate) fn template() -> LaunchTemplate {
    build::template(build::TEMPLATE)
}

pub(crate) fn ensure_template(sim: &Sim) {
    sim.block_on(ports::Templates::ensure(sim, &template())).unwrap().unwrap();
}

pub(crate) fn claim(name: &str, batch: &str, at: Timestamp) -> NodeClaim {
    let name = NodeClaimName::new(name).unwrap();
    let node_pool = NodePoolName::new("pool").unwrap();
    let node_class = NodeClassName::new("class").unwrap();
    NodeClaim::promised(name, node_pool, node_class, BatchId::new(batch).unwrap(), at)
}

pub(crate) fn commit(id: &str, parent: u64, promised: Vec<NodeClaim>) -> Commit {
    build::commit(id, Generation(parent), promised)
}

/// Hands deliveries to the toy functions.
pub(crate) fn dispatch(sim: &Sim) -> impl FnMut(FunctionCall) -> Work + use<> {
    let sim = sim.clone();
    move |delivery| {
        let sim = sim.clone();
        Box::pin(async move { call(&sim, delivery).await.map_err(|error| error.to_string()) })
    }
}

async fn call(sim: &Sim, delivery: FunctionCall) -> Result<(), PortError> {
    let at = &delivery.invocation;
    let claims = match delivery.payload {
        Payload::Claims(claims) => claims,
        Payload::Message(
            Message::Launch { claim } | Message::Settle { claim } | Message::Drain { claim },
        ) => vec![claim],
        Payload::Schedule(_) | Payload::Message(_) => Vec::new(),
        Payload::Interruption(event) => return interrupt(sim, &event.instance, at).await,
    };
    match delivery.function {
        Function::Provision => return provision(sim, at).await,
        Function::Disrupt => return Ok(()),
        _ => {}
    }
    for name in claims {
        let claim_of_call = match delivery.function {
            // A claim that is only promised is in snapshots only.
            Function::Launch => sim.snapshot(&at.cluster).await?.claims.remove(&name),
            _ => sim.claim(&at.cluster, &name).await?,
        };
        let Some(claim) = claim_of_call else { continue };
        match (delivery.function, claim.phase) {
            (Function::Launch, ClaimPhase::Promised) => launch(sim, &claim, at).await?,
            (Function::Settle, ClaimPhase::Launched) => settle(sim, &claim, at).await?,
            (Function::Drain, ClaimPhase::Deleting) => drain(sim, &claim, at).await?,
            _ => {}
        }
    }
    Ok(())
}

/// One claim for each waiting pod that no claim without a ready node answers.
async fn provision(sim: &Sim, at: &Invocation) -> Result<(), PortError> {
    let snapshot = sim.snapshot(&at.cluster).await?;
    let waiting = Cluster::pods(sim, &PodSelection::Waiting).await?.items;
    let waiting = waiting.iter().filter(|pod| Pod::is_provisionable(pod)).count();
    let is_coming = |claim: &&NodeClaim| claim.phase <= ClaimPhase::Launched;
    let coming = snapshot.claims.values().filter(is_coming).count();
    let next = snapshot.generation.next();
    let pool = NodePoolName::new("pool").unwrap();
    let promised: Vec<NodeClaim> = (coming..waiting)
        .zip(0_u32..)
        .map(|(_, index)| {
            let name = NodeClaimName::derived(&pool, next, index);
            let batch = BatchId::derived(&at.cluster, next, index);
            claim(name.as_str(), batch.as_str(), at.now)
        })
        .collect();
    if promised.is_empty() {
        return Ok(());
    }
    let commit = commit(CommitId::derived(&at.id, 0).as_str(), snapshot.generation.0, promised);
    let outcome = sim.commit(&at.cluster, &commit).await?;
    assert!(!matches!(outcome, CommitOutcome::TooLarge { .. }));
    Ok(())
}

async fn launch(sim: &Sim, claim: &NodeClaim, at: &Invocation) -> Result<(), PortError> {
    let terms = [SubnetTerm::Tags(BTreeMap::from([("team".to_owned(), "a".to_owned())]))];
    let subnets = sim.subnets(&terms).await?;
    sim.ensure(&template()).await?;
    let request = request_in(claim.batch.as_str(), 1, CapacityType::Spot, &subnets);
    let answer = ports::Fleet::launch(sim, &request).await?;
    let Some(instance) = answer.instances.first() else {
        sim.remove_claims(&at.cluster, std::slice::from_ref(claim)).await?;
        return Ok(());
    };
    let mut launched = claim.moved_to(ClaimPhase::Launched, at.now);
    launched.instance = Some(LaunchedInstance {
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type: request.capacity_type,
        launched_at: at.now,
        ..build::launched_instance(instance.id.as_str())
    });
    sim.write_claims(&at.cluster, std::slice::from_ref(&launched)).await?;
    Ok(())
}

async fn settle(sim: &Sim, claim: &NodeClaim, at: &Invocation) -> Result<(), PortError> {
    let instance = claim.instance.as_ref().unwrap();
    let again = Message::Settle { claim: claim.name.clone() };
    let Some(node) = sim.node_of_instance(&instance.id).await? else {
        return send(sim, at, again, 5).await;
    };
    let unregistered = Taint {
        key: labels::UNREGISTERED_TAINT.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoExecute,
    };
    let patch = NodePatch {
        remove_taints: vec![unregistered],
        add_finalizers: BTreeSet::from([labels::TERMINATION_FINALIZER.to_owned()]),
        ..NodePatch::default()
    };
    sim.patch(&node.name, &patch).await?;
    let mut settled = claim.moved_to(ClaimPhase::Initialized, at.now);
    settled.node = Some(node.name);
    sim.write_claim(&at.cluster, &settled).await?;
    Ok(())
}

async fn interrupt(
    sim: &Sim,
    instance: &model::InstanceId,
    at: &Invocation,
) -> Result<(), PortError> {
    let snapshot = sim.snapshot(&at.cluster).await?;
    let is_meant = |claim: &&NodeClaim| {
        claim.instance.as_ref().is_some_and(|launched_instance| launched_instance.id == *instance)
    };
    let Some(claim) = snapshot.claims.values().find(is_meant) else { return Ok(()) };
    let given_up = claim.given_up(DeletionReason::SpotInterrupted, at.now);
    sim.write_claim(&at.cluster, &given_up).await?;
    Ok(())
}

async fn drain(sim: &Sim, claim: &NodeClaim, at: &Invocation) -> Result<(), PortError> {
    let instance = claim.instance.as_ref().unwrap();
    let again = Message::Drain { claim: claim.name.clone() };
    if let Some(node) = sim.node_of_instance(&instance.id).await? {
        let taint = Taint {
            key: labels::DISRUPTED_TAINT.to_owned(),
            value: String::new(),
            effect: TaintEffect::NoSchedule,
        };
        sim.patch(&node.name, &NodePatch { add_taints: vec![taint], ..NodePatch::default() })
            .await?;
        let pods = sim.pods_on(&node.name).await?.items;
        let described = sim.describe(std::slice::from_ref(&instance.id)).await?;
        let is_there = described.iter().any(|i| i.state < InstanceState::ShuttingDown);
        if is_there && pods.iter().any(Pod::is_reschedulable) {
            for pod in pods.iter().filter(|pod| pod.is_reschedulable()) {
                let request = EvictionRequest {
                    pod: pod.key.clone(),
                    uid: pod.uid.clone(),
                    grace_seconds: None,
                };
                sim.evict(&request).await?;
            }
            return send(sim, at, again, 5).await;
        }
    }
    sim.terminate(std::slice::from_ref(&instance.id)).await?;
    if let Some(node) = sim.node_of_instance(&instance.id).await? {
        let remove_finalizers = BTreeSet::from([labels::TERMINATION_FINALIZER.to_owned()]);
        sim.patch(&node.name, &NodePatch { remove_finalizers, ..NodePatch::default() }).await?;
        ports::Nodes::delete(sim, &node.name).await?;
    }
    sim.remove_claim(&at.cluster, claim).await?;
    Ok(())
}

async fn send(
    sim: &Sim,
    at: &Invocation,
    message: Message,
    delay_seconds: u32,
) -> Result<(), PortError> {
    ports::Mailbox::send(sim, &[Letter { cluster: at.cluster.clone(), message, delay_seconds }])
        .await
}

/// A node of an on-demand instance that is ready and registered.
pub(crate) fn node(sim: &Sim, token: &str) -> model::NodeName {
    ensure_template(sim);
    let request = request(sim, token, 1, CapacityType::OnDemand);
    let answer = sim.block_on(ports::Fleet::launch(sim, &request)).unwrap().unwrap();
    pass(sim, 90);
    let instance = &answer.instances[0].id;
    let node = sim.block_on(sim.node_of_instance(instance)).unwrap().unwrap().unwrap();
    assert!(node.is_ready);
    let remove_taints = node.taints.clone();
    let patch = NodePatch { remove_taints, ..NodePatch::default() };
    sim.block_on(sim.patch(&node.name, &patch)).unwrap().unwrap();
    node.name
}
