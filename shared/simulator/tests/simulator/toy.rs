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
    NodeClaim, NodeClaimName, NodeClassName, NodePoolName, OfferingKey, Pod, PodKey, RegionCatalog,
    Taint, TaintEffect, Zone,
    claim::LaunchedInstance,
    labels,
    launch::{FleetOverride, FleetRequest, InstanceState, LaunchTemplate},
    ledger::{Commit, CommitOutcome, Head},
    message::{Delivery as Letter, Message},
    node::{EvictionRequest, Node, NodePatch},
    node_class::SubnetTerm,
    pulse::Signal,
};
use ports::{
    Cluster, Discovery as _, Fleet as _, Invocation, Ledger as _, Nodes as _, PodSelection,
    PortError, Templates as _,
};
use simulator::{ClusterObject, FunctionCall, Payload, Sim, StoryWorkload, Work, WorldSettings};
use testkit::build;

pub(crate) fn catalog() -> Arc<RegionCatalog> {
    let zones = [("us-west-2a", "usw2-az1"), ("us-west-2b", "usw2-az2")];
    let instance_type = |name: &str, spot: &str, on_demand: &str| {
        let sold =
            zones.map(|(zone, _)| format!("spot:{zone}={spot} on-demand:{zone}={on_demand}"));
        build::instance_type(&format!("{name} overhead:cpu=100m {}", sold.join(" ")))
    };
    let instance_types = vec![
        instance_type("m5.large cpu=2 memory=8Gi pods=30", "0.03", "0.09"),
        instance_type("m5.xlarge cpu=4 memory=16Gi pods=30", "0.06", "0.18"),
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
    let spec = build::spec("cpu=1 memory=1Gi");
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
    NodeClaim::created(name, node_pool, node_class, BatchId::new(batch).unwrap(), at)
}

pub(crate) fn commit(id: &str, head: &Head, created: Vec<NodeClaim>) -> Commit {
    build::commit(id, head, created)
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
    if let Payload::Interruptions(events) = &delivery.payload {
        for event in events {
            interrupt(sim, &event.instance, at).await?;
        }
        return Ok(());
    }
    let function = delivery.function;
    if delivery.payload == Payload::Schedule && function == Function::Provision {
        // Looks that overlap.
        send(sim, at, Function::Provision, 0).await?;
        send(sim, at, Function::Provision, 1).await?;
    }
    let phase = match function {
        Function::Provision => return provision(sim, at).await,
        Function::Launch => ClaimPhase::Created,
        Function::Settle => ClaimPhase::Launched,
        Function::Drain => ClaimPhase::Deleting,
        _ => return Ok(()),
    };
    let claims = sim.snapshot(&at.cluster).await?.claims;
    let mut is_done = true;
    for claim in claims.values().filter(|claim| claim.phase == phase) {
        is_done &= match function {
            Function::Launch => launch(sim, claim, at).await.map(|()| true),
            Function::Settle => settle(sim, claim, at).await,
            _ => drain(sim, claim, at).await,
        }?;
    }
    if is_done { Ok(()) } else { send(sim, at, function, 5).await }
}

/// One claim for each waiting pod that no claim without a ready node answers.
async fn provision(sim: &Sim, at: &Invocation) -> Result<(), PortError> {
    let snapshot = sim.snapshot(&at.cluster).await?;
    let waiting = Cluster::pods(sim, &PodSelection::Waiting)
        .await?
        .items
        .iter()
        .filter(|pod| Pod::is_provisionable(pod))
        .count();
    let is_coming = |claim: &&NodeClaim| claim.phase <= ClaimPhase::Launched;
    let coming = snapshot.claims.values().filter(is_coming).count();
    let head = &snapshot.head;
    let pool = NodePoolName::new("pool").unwrap();
    let created: Vec<NodeClaim> = (coming..waiting)
        .zip(0_u32..)
        .map(|(_, index)| {
            let name = NodeClaimName::derived(&pool, head, index);
            let batch = BatchId::derived(&at.cluster, head, index);
            claim(name.as_str(), batch.as_str(), at.now)
        })
        .collect();
    if created.is_empty() {
        return Ok(());
    }
    let commit = commit(CommitId::derived(&at.id, 0).as_str(), head, created);
    let outcome = sim.commit(&at.cluster, &commit).await?;
    assert!(!matches!(outcome, CommitOutcome::TooLarge { .. }));
    send(sim, at, Function::Launch, 0).await
}

async fn launch(sim: &Sim, claim: &NodeClaim, at: &Invocation) -> Result<(), PortError> {
    let terms = [SubnetTerm::Tags(BTreeMap::from([("team".to_owned(), "a".to_owned())]))];
    let subnets = sim.subnets(&terms).await?;
    sim.ensure(&template()).await?;
    let request = request_in(claim.batch.as_str(), 1, CapacityType::Spot, &subnets);
    let answer = ports::Fleet::launch(sim, &request).await?;
    let Some(instance) = answer.instances.first() else {
        sim.withdraw_claims(&at.cluster, std::slice::from_ref(claim)).await?;
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
    send(sim, at, Function::Settle, 0).await
}

/// The node of the claim's instance, if it joined.
async fn node_of(sim: &Sim, claim: &NodeClaim) -> Result<Option<Node>, PortError> {
    let instance = claim.instance.as_ref().unwrap();
    let nodes = Cluster::nodes(sim).await?.items;
    let is_its = |node: &Node| {
        node.provider_id.as_ref().and_then(model::ProviderId::instance).as_ref()
            == Some(&instance.id)
    };
    Ok(nodes.into_iter().find(is_its))
}

/// Whether it is done.
async fn settle(sim: &Sim, claim: &NodeClaim, at: &Invocation) -> Result<bool, PortError> {
    let Some(node) = node_of(sim, claim).await? else { return Ok(false) };
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
    Ok(true)
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
    let deleted = claim.deleted(DeletionReason::SpotInterrupted, at.now);
    sim.write_claim(&at.cluster, &deleted).await?;
    send(sim, at, Function::Drain, 0).await
}

/// Whether it is done.
async fn drain(sim: &Sim, claim: &NodeClaim, at: &Invocation) -> Result<bool, PortError> {
    let instance = claim.instance.as_ref().unwrap();
    if let Some(node) = node_of(sim, claim).await? {
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
            return Ok(false);
        }
    }
    sim.terminate(std::slice::from_ref(&instance.id)).await?;
    if let Some(node) = node_of(sim, claim).await? {
        let remove_finalizers = BTreeSet::from([labels::TERMINATION_FINALIZER.to_owned()]);
        sim.patch(&node.name, &NodePatch { remove_finalizers, ..NodePatch::default() }).await?;
        ports::Nodes::delete(sim, &node).await?;
    }
    sim.remove_claim(&at.cluster, claim).await?;
    Ok(true)
}

async fn send(
    sim: &Sim,
    at: &Invocation,
    function: Function,
    delay_seconds: u32,
) -> Result<(), PortError> {
    let message = Message::Pulse { function, signal: Signal::Beat(0) };
    ports::Mailbox::send(sim, &[Letter { cluster: at.cluster.clone(), message, delay_seconds }])
        .await
}

/// A node of an on-demand instance that is ready and registered.
pub(crate) fn node(sim: &Sim, token: &str) -> model::NodeName {
    ensure_template(sim);
    let request = request(sim, token, 1, CapacityType::OnDemand);
    let answer = sim.block_on(ports::Fleet::launch(sim, &request)).unwrap().unwrap();
    pass(sim, 90);
    let claim = NodeClaim {
        instance: Some(build::launched_instance(answer.instances[0].id.as_str())),
        ..claim("of-node", "of-node", sim.now())
    };
    let node = sim.block_on(node_of(sim, &claim)).unwrap().unwrap().unwrap();
    assert!(node.is_ready);
    let remove_taints = node.taints.clone();
    let patch = NodePatch { remove_taints, ..NodePatch::default() };
    sim.block_on(sim.patch(&node.name, &patch)).unwrap().unwrap();
    node.name
}
