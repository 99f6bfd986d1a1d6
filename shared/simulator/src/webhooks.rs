//! The webhooks that call `wake`: which requests the API server calls it for, how a call gets there, and how long the
//! request is held up.
//!
//! The API server stores what a request changes after `wake` answered, or after a second. Requests of the functions
//! themselves call nothing.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, PodKey, api_version, labels,
    node::Node,
    wake::{AdmissionOperation, AdmissionRequest, ProbeAnswer, TIMEOUT, WAKE_RULES},
};

use crate::{
    chance::Span,
    cluster::spec_of,
    limits::TokenBucket,
    settings::WakeFaults,
    story::{Action, ClusterObject},
    world::{Event, World},
};

/// For how long a process of a function waits for its next call. Lambda publishes no time; people see 5 to 15 minutes.
const KEPT_WARM: SignedDuration = SignedDuration::from_mins(5);
/// Requests that a function URL lets through each second for each reserved execution.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html>
const REQUESTS_PER_EXECUTION: u32 = 10;
/// What `wake` needs to find that a path is not the secret one, or to answer a dry run.
const REFUSED_AFTER: SignedDuration = SignedDuration::from_millis(2);

/// A call of `wake` under way.
#[derive(Clone, Debug)]
pub(crate) struct WakeCall {
    request: AdmissionRequest,
    /// The request of which the API server waits for an answer.
    held: Option<u64>,
    /// From the API server to the function URL.
    way: SignedDuration,
}

/// Calls of `wake`, and the requests that wait for their answers.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    numbers: u64,
    /// Requests that are not stored yet.
    held: BTreeMap<u64, Action>,
    /// What waits for each call that runs, and the way back.
    running: BTreeMap<String, (Option<u64>, SignedDuration)>,
    /// Since when each process of `wake` that runs nothing has run nothing.
    idle: Vec<Timestamp>,
    /// How many calls reached the URL, were let through, and were throttled.
    counts: WakeCounts,
}

/// Calls of `wake` so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeCounts {
    /// Those that reached the function URL.
    pub arrived: u64,
    /// Of these, those that Lambda refused because too many came.
    pub throttled: u64,
}

impl Webhooks {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

impl crate::Sim {
    /// Calls of `wake` so far.
    pub fn wake_counts(&self) -> WakeCounts {
        self.with(|world| world.webhooks.counts)
    }
}

impl World {
    /// A user does something now: what it changes is stored already.
    pub(crate) fn act_by_user(&mut self, action: Action) {
        for request in self.requests_of(&action) {
            self.call_wake(&request, None);
        }
        self.act(action);
    }

    /// A story has something happen: what it changes is stored after `wake` answered.
    pub(crate) fn ask(&mut self, action: Action) {
        let requests = self.requests_of(&action);
        if requests.is_empty() {
            return self.act_as_planned(action);
        }
        let number = self.webhooks.number();
        self.webhooks.held.insert(number, action);
        self.after(TIMEOUT, Event::Admitted(number));
        for request in requests {
            self.call_wake(&request, Some(number));
        }
    }

    /// The API server goes on with a request, unless it has done so already.
    pub(crate) fn admitted(&mut self, number: u64) {
        if let Some(action) = self.webhooks.held.remove(&number) {
            self.act_as_planned(action);
        }
    }

    /// kube-scheduler sends an event about a pod that it has no node for.
    pub(crate) fn send_event(&mut self, operation: AdmissionOperation) {
        let latency = self.settings.limits.latencies.event;
        let delay = self.chances.wake.within(latency);
        self.call_wake_in(delay, &request("events.k8s.io", "Event", operation), None);
    }

    /// Someone but the functions deletes a node.
    pub(crate) fn node_deleted_by_others(&mut self, node: &Node) {
        if is_of_karpenter(node) {
            self.call_wake(&request("", "Node", AdmissionOperation::Delete), None);
        }
    }

    fn call_wake(&mut self, request: &AdmissionRequest, held: Option<u64>) {
        self.call_wake_in(SignedDuration::ZERO, request, held);
    }

    fn call_wake_in(
        &mut self,
        delay: SignedDuration,
        request: &AdmissionRequest,
        held: Option<u64>,
    ) {
        let Some(faults) = self.settings.wake.filter(|_| request.rule().is_some()) else { return };
        let is_over = |from: Option<Timestamp>| from.is_some_and(|from| from <= self.now);
        let is_missed = request.kind == "Event" && is_over(faults.no_pods_from);
        let chance = &mut self.chances.wake;
        let (is_lost, is_doubled) =
            (chance.per_mille(faults.lost_per_mille), chance.per_mille(faults.doubled_per_mille));
        let copies = if is_doubled { 2 } else { usize::from(!is_lost) };
        for _ in 0..copies {
            let chance = &mut self.chances.wake;
            let way = half(chance.within(self.settings.limits.latencies.function_url));
            let late = if chance.per_mille(faults.late_per_mille) {
                chance.within(Span { min: SignedDuration::ZERO, max: faults.late_max })
            } else {
                SignedDuration::ZERO
            };
            if !is_missed {
                let after = delay.saturating_add(way).saturating_add(late);
                self.after(
                    after,
                    Event::WakeCalled(WakeCall { request: request.clone(), held, way }),
                );
            }
        }
    }

    /// A call reaches the function URL.
    pub(crate) fn wake_called(&mut self, call: WakeCall) {
        let Some(faults) = self.settings.wake else { return };
        if faults.dead_from.is_some_and(|from| from <= self.now) {
            return;
        }
        let WakeCall { request, held, way } = call;
        self.webhooks.counts.arrived += 1;
        if !self.takes_call() {
            self.webhooks.counts.throttled += 1;
            return self.answer_in(way, held);
        }
        if faults.wrong_secret_from.is_some_and(|from| from <= self.now) {
            let after = self.run_briefly().saturating_add(way);
            return self.answer_in(after, held);
        }
        let identity = format!("request-{}", self.webhooks.number());
        let delay = self.process_starts_in();
        self.webhooks.running.insert(identity.clone(), (held, way));
        self.invoke_wake(request, (identity, delay));
    }

    /// `wake` answered, or was ended.
    pub(crate) fn wake_ended(&mut self, identity: &str) {
        self.webhooks.idle.push(self.now);
        if let Some((held, way)) = self.webhooks.running.remove(identity) {
            self.answer_in(way, held);
        }
    }

    fn answer_in(&mut self, way: SignedDuration, held: Option<u64>) {
        if let Some(number) = held {
            self.after(way, Event::Admitted(number));
        }
    }

    /// Whether Lambda lets one more call through.
    fn takes_call(&mut self) -> bool {
        let limits = self.settings.limits.functions.of(Function::Wake);
        let Some(reserved) = limits.reserved_concurrency else { return true };
        let executions = u32::try_from(reserved).unwrap_or(u32::MAX);
        let rate = executions.saturating_mul(REQUESTS_PER_EXECUTION);
        self.webhooks.running.len() < reserved
            && self.usage.takes_url_request(TokenBucket::new(rate, rate), self.now)
    }

    /// How long the next call waits for a process of `wake`.
    fn process_starts_in(&mut self) -> SignedDuration {
        let now = self.now;
        self.webhooks.idle.retain(|since| now.duration_since(*since) < KEPT_WARM);
        match self.webhooks.idle.pop() {
            Some(_) => SignedDuration::ZERO,
            None => self.chances.wake.within(self.settings.limits.latencies.cold_start),
        }
    }

    /// A function probes `wake` by a dry run, which wakes nothing.
    pub(crate) fn probe_answer(&mut self) -> ProbeAnswer {
        let now = self.now;
        let is_over = |from: Option<Timestamp>| from.is_some_and(|from| from <= now);
        let is_answered = self.settings.wake.map_or(self.settings.wake_answers, |faults| {
            let is_lost = self.chances.wake.per_mille(faults.lost_per_mille);
            !is_lost && !is_over(faults.dead_from) && self.takes_call() && {
                self.run_briefly();
                !is_over(faults.wrong_secret_from)
            }
        });
        if is_answered { ProbeAnswer::Answered } else { ProbeAnswer::Silent }
    }

    /// `wake` answers without waking anything.
    fn run_briefly(&mut self) -> SignedDuration {
        let delay = self.process_starts_in();
        self.webhooks.idle.push(self.now);
        self.usage.meter.invoked(Function::Wake, REFUSED_AFTER);
        delay.saturating_add(REFUSED_AFTER)
    }

    /// Plans the next call of a stranger, if there is one.
    pub(crate) fn plan_forgery(&mut self) {
        let each = self.settings.wake.and_then(|faults: WakeFaults| faults.forged_each);
        if let Some(each) = each {
            let apart = Span { min: SignedDuration::ZERO, max: each.saturating_mul(2) };
            let after = self.chances.wake.within(apart);
            self.after(after, Event::WakeForged);
        }
    }

    /// A stranger calls `wake` with a request under any rule, and will again.
    pub(crate) fn forge(&mut self) {
        let rule = WAKE_RULES.get(self.chances.wake.index(WAKE_RULES.len()));
        if let Some(rule) = rule
            && let Some(operation) = rule.operations.first()
        {
            let way = half(self.chances.wake.within(self.settings.limits.latencies.function_url));
            let request = request(rule.group, rule.kind, *operation);
            self.wake_called(WakeCall { request, held: None, way });
        }
        self.plan_forgery();
    }

    /// The requests of users, controllers and other autoscalers by which `action` happens, if the API server calls
    /// `wake` for them.
    fn requests_of(&self, action: &Action) -> Vec<AdmissionRequest> {
        if self.settings.wake.is_none() {
            return Vec::new();
        }
        let deletion = |group, kind| request(group, kind, AdmissionOperation::Delete);
        let karpenter = api_version::KARPENTER_GROUP;
        let claims = &self.cluster.node_claims;
        let requests = match action {
            Action::Add(objects) => {
                objects.iter().filter_map(|object| self.spec_request(object)).collect()
            }
            Action::DeleteNodeClaim(name) if claims.contains_key(name) => {
                vec![deletion(karpenter, "NodeClaim")]
            }
            Action::DeleteNodePool(pool) => {
                let is_owned = |claim: &model::NodeClaim| claim.node_pool == *pool;
                let owned = claims.values().filter_map(|object| object.claim.as_ref());
                owned
                    .filter(|claim| is_owned(claim))
                    .map(|_| deletion(karpenter, "NodeClaim"))
                    .collect()
            }
            Action::DeleteNode(name) => {
                let entry = self.cluster.nodes.get(name);
                let entry = entry.filter(|entry| is_of_karpenter(&entry.node));
                entry.map(|_| deletion("", "Node")).into_iter().collect()
            }
            Action::AddForeignNodeClaim(_) => {
                vec![request(karpenter, "NodeClaim", AdmissionOperation::Create)]
            }
            _ => Vec::new(),
        };
        requests.into_iter().filter(|request| request.rule().is_some()).collect()
    }

    /// The request that creates `object`, or changes its spec.
    fn spec_request(&self, object: &ClusterObject) -> Option<AdmissionRequest> {
        let (group, kind, is_new, is_same) = match object {
            ClusterObject::NodePool(pool) => {
                let stored = self.cluster.node_pools.get(&pool.name);
                let is_same = stored.is_some_and(|stored| spec_of(stored) == spec_of(pool));
                (api_version::KARPENTER_GROUP, "NodePool", stored.is_none(), is_same)
            }
            ClusterObject::NodeClass(class) => {
                let stored = self.cluster.node_classes.get(&class.name);
                let is_same = stored == Some(class);
                (api_version::AWS_GROUP, "EC2NodeClass", stored.is_none(), is_same)
            }
            ClusterObject::NodeOverlay(overlay) => {
                let stored = self.cluster.node_overlays.get(&overlay.name);
                let is_same = stored == Some(overlay);
                (api_version::KARPENTER_GROUP, "NodeOverlay", stored.is_none(), is_same)
            }
            ClusterObject::CapacityBuffer { buffer, refers_to } => {
                let key = PodKey { namespace: buffer.namespace.clone(), name: buffer.name.clone() };
                let stored = self.cluster.capacity_buffers.get(&key);
                let is_same =
                    stored.is_some_and(|stored| stored.0 == *buffer && stored.1 == *refers_to);
                (api_version::AUTOSCALING_GROUP, "CapacityBuffer", stored.is_none(), is_same)
            }
            _ => return None,
        };
        let operation =
            if is_new { AdmissionOperation::Create } else { AdmissionOperation::Update };
        (!is_same).then(|| request(group, kind, operation))
    }
}

fn request(group: &str, kind: &str, operation: AdmissionOperation) -> AdmissionRequest {
    AdmissionRequest {
        uid: "simulated".to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        operation: Some(operation),
        is_dry_run: false,
    }
}

fn is_of_karpenter(node: &Node) -> bool {
    [labels::NODE_POOL, labels::NODE_CLASS].iter().any(|label| node.labels.contains_key(*label))
}

fn half(duration: SignedDuration) -> SignedDuration {
    duration.checked_div(2).unwrap_or_default()
}
