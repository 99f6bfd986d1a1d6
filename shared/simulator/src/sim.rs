//! The handle to a simulated world: it is every port, and the driver's way in.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::poll_fn,
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use jiff::{SignedDuration, Timestamp};
use model::{
    Function, NodeClaim, NodeClaimName, NodeClassName, NodePoolName, Pod, RegionCatalog, Zone,
    disruption::Command,
    duration::later,
    launch::Instance,
    ledger::{Decision, DecisionQuery, Snapshot},
    node::Node,
    node_class::NodeClassStatus,
    node_pool::NodePoolStatus,
};
use ports::{Fault, PortError};

use crate::{
    account::AwsError,
    cluster::{NodeClaimObject, ObjectRecord},
    delivery::{DeliveryOutcome, FunctionCall},
    fault::{Access, FaultRule, Injection, RecordRule},
    limits::{ApiAction, Load},
    loads,
    mail::DeadLetter,
    meter::{Bill, Meter, RequestCount},
    runner::{Runner, Stopped, Wakeful, Work},
    settings::WorldSettings,
    story::{Action, ClusterObject},
    timeline::{RunningInstance, Summary, TimelineEvent},
    world::{Event, World},
};

/// A simulated account and cluster. Clones are handles to the same world.
///
/// It implements every port. Each call is one step: it lets others go first, asks the rules, takes
/// effect, and appends a line to the trace.
#[derive(Clone)]
pub struct Sim(Rc<RefCell<World>>);

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sim")
    }
}

impl Sim {
    /// An empty cluster in an account where `catalog` can be bought.
    pub fn new(settings: WorldSettings, catalog: Arc<RegionCatalog>) -> Self {
        Self(Rc::new(RefCell::new(World::new(settings, catalog))))
    }

    /// The present.
    pub fn now(&self) -> Timestamp {
        self.0.borrow().now
    }

    /// Creates or replaces objects now.
    pub fn add(&self, objects: Vec<ClusterObject>) {
        self.act(Action::Add(objects));
    }

    /// Lets something happen now.
    pub fn act(&self, action: Action) {
        self.0.borrow_mut().act_by_user(action);
    }

    /// Lets something happen at `time`, or now when that is over.
    pub fn at(&self, time: Timestamp, action: Action) {
        self.0.borrow_mut().at(time, Event::Act(action));
    }

    /// Adds a rule behind those that are there.
    pub fn add_rule(&self, rule: FaultRule) {
        self.0.borrow_mut().rules.push(rule);
    }

    /// From now on the table keeps what `records` makes of the claims that functions write.
    pub fn set_records(&self, records: RecordRule) {
        self.0.borrow_mut().records = Some(records);
    }

    /// Forgets all rules and makes queues orderly.
    pub fn stop_faults(&self) {
        self.0.borrow_mut().stop_faults();
    }

    /// Drives deliveries and the world until `time`; see [`Runner`].
    pub fn run_until(
        &self,
        time: Timestamp,
        dispatch: impl FnMut(FunctionCall) -> Work,
    ) -> Result<(), Stopped> {
        Runner::new(self, dispatch).run_until(time)
    }

    /// Takes the next delivery that is due at the present, for drivers of their own.
    pub fn next_delivery(&self) -> Option<FunctionCall> {
        self.0.borrow_mut().next_delivery()
    }

    /// Says how a delivery ended.
    pub fn finish(&self, delivery: &FunctionCall, outcome: &DeliveryOutcome) {
        self.0.borrow_mut().finish(delivery.id, outcome);
    }

    /// Has the calls of `work` be those of the delivery `id` of `function`, for drivers of their own.
    pub async fn as_delivery<T>(
        &self,
        (id, function): (u64, Function),
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        poll_fn(|context| self.acting_as((id, function), || work.as_mut().poll(context))).await
    }

    /// Lets the world go on until `time` without delivering anything.
    pub fn pass_until(&self, time: Timestamp) {
        let mut world = self.0.borrow_mut();
        while world.next_event_at().is_some_and(|at| at <= time) {
            world.advance();
        }
        world.pass_until(time);
    }

    /// Runs one future to its end, the world going on only while the future waits. For tests of a
    /// single call. `None` when a injection crashed it, or when it waits for something else.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let flag = Wakeful::awake();
        let waker = Arc::clone(&flag).into();
        loop {
            while flag.take() {
                let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
                if let Poll::Ready(output) = poll {
                    return Some(output);
                }
                if std::mem::take(&mut self.0.borrow_mut().is_crashed) {
                    return None;
                }
            }
            let mut world = self.0.borrow_mut();
            world.next_event_at()?;
            world.advance();
        }
    }

    /// The same as a delivery of `function`, whose calls these are.
    pub fn block_on_as<T>(&self, function: Function, future: impl Future<Output = T>) -> Option<T> {
        self.acting_as((0, function), || self.block_on(future))
    }

    /// One line for each call and each happening so far.
    pub fn trace(&self) -> Vec<String> {
        self.0.borrow().trace.clone()
    }

    /// Calls of ports so far.
    pub fn calls(&self) -> u64 {
        self.0.borrow().calls()
    }

    /// What was used so far: requests, capacity of the table, messages, invocations.
    pub fn meter(&self) -> Meter {
        self.0.borrow().usage.meter.clone()
    }

    /// Requests by API action so far, of all functions.
    pub fn calls_by_action(&self) -> BTreeMap<ApiAction, RequestCount> {
        self.0.borrow().usage.meter.requests()
    }

    /// What a month costs that goes on as `used`, which was counted in `elapsed`.
    pub fn bill(&self, used: &Meter, elapsed: SignedDuration) -> Bill {
        self.0.borrow_mut().bill(used, elapsed)
    }

    /// Which calls of ports each function made so far, as port and method.
    pub fn called(&self) -> BTreeMap<Function, BTreeSet<&'static str>> {
        self.0.borrow().called.clone()
    }

    /// Which functions each function sent messages to so far.
    pub fn sent(&self) -> BTreeMap<Function, BTreeSet<Function>> {
        self.0.borrow().sent.clone()
    }

    /// What happened so far from the `from`th event on, oldest first.
    pub fn timeline(&self, from: usize) -> Vec<TimelineEvent> {
        self.0.borrow().timeline.get(from..).unwrap_or_default().to_vec()
    }

    /// The run in figures.
    pub fn summary(&self) -> Summary {
        self.0.borrow().summary()
    }

    /// Messages and batches that failed too often.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.0.borrow().mail.dead.clone()
    }

    /// The cluster's pods, by namespace and name.
    pub fn pods(&self) -> Vec<Pod> {
        self.0.borrow().cluster.pods.values().map(|entry| entry.pod.clone()).collect()
    }

    /// What the API server keeps of the EC2NodeClass called `name`, if it is there.
    pub fn node_class_record(&self, name: &NodeClassName) -> Option<ObjectRecord> {
        self.with(|world| world.cluster.class_records.get(name).cloned())
    }

    /// What the API server keeps of the NodePool called `name`, if it is there.
    pub fn node_pool_record(&self, name: &NodePoolName) -> Option<ObjectRecord> {
        self.with(|world| world.cluster.pool_records.get(name).cloned())
    }

    /// A user annotates an EC2NodeClass.
    pub fn annotate_node_class(&self, name: &NodeClassName, key: &str, value: &str) {
        self.with(|world| world.cluster.class_records.annotate(name, key, value));
    }

    /// A user annotates a NodePool.
    pub fn annotate_node_pool(&self, name: &NodePoolName, key: &str, value: &str) {
        self.with(|world| world.cluster.pool_records.annotate(name, key, value));
    }

    /// What was told about the EC2NodeClass called `name`, if anything was.
    pub fn class_status(&self, name: &NodeClassName) -> Option<NodeClassStatus> {
        self.with(|world| world.cluster.class_statuses.get(name).map(|told| told.status.clone()))
    }

    /// What was told about the NodePool called `name`, if anything was.
    pub fn pool_status(&self, name: &NodePoolName) -> Option<NodePoolStatus> {
        self.with(|world| world.cluster.pool_statuses.get(name).cloned())
    }

    /// The NodeClaim object called `name`, if it is there.
    pub fn node_claim(&self, name: &NodeClaimName) -> Option<NodeClaimObject> {
        self.with(|world| world.cluster.node_claims.get(name).cloned())
    }

    /// A user or another controller makes a NodeClaim object.
    pub fn make_node_claim(&self, name: &NodeClaimName) {
        let object = NodeClaimObject::default();
        self.with(|world| world.cluster.node_claims.insert(name.clone(), object));
    }

    /// A user puts a label on a NodeClaim object.
    pub fn label_node_claim(&self, name: &NodeClaimName, key: &str, value: &str) {
        self.with(|world| {
            if let Some(object) = world.cluster.node_claims.get_mut(name) {
                object.labels.insert(key.to_owned(), value.to_owned());
            }
        });
    }

    /// Events of the cluster that are there, each with when it was published.
    pub fn told(&self) -> Vec<(Timestamp, model::event::ObjectEvent)> {
        self.0.borrow().cluster.events.listed()
    }

    /// How many events were ever published.
    pub fn events_published(&self) -> u64 {
        self.0.borrow().cluster.events.count()
    }

    /// The cluster's nodes, by name.
    pub fn nodes(&self) -> Vec<Node> {
        self.0.borrow().cluster.nodes.values().map(|entry| entry.node.clone()).collect()
    }

    /// The instances that are pending or running and pass EC2's checks at present, by id. It is no call
    /// of EC2: listings lag behind, and count as calls.
    pub fn working_instances(&self) -> Vec<Instance> {
        self.0.borrow().working()
    }

    /// The instances that are pending or running, by id, with what each costs now.
    pub fn running(&self) -> Vec<RunningInstance> {
        let world = self.0.borrow();
        world.account.running(world.now)
    }

    /// How many pods wait for a node now.
    pub fn pods_waiting(&self) -> u64 {
        self.0.borrow().pods_waiting()
    }

    /// The zones of the region.
    pub fn zones(&self) -> Vec<Zone> {
        self.0.borrow().catalog.zones.keys().cloned().collect()
    }

    /// The claims in the ledger of the simulated cluster, by name.
    pub fn claims(&self) -> Vec<NodeClaim> {
        let mut world = self.0.borrow_mut();
        let cluster = world.settings.cluster.clone();
        let claims = world.ledger.cluster(&cluster).claims.values();
        claims.map(|claim| NodeClaim::clone(claim)).collect()
    }

    /// What the ledger of the simulated cluster holds, as the head, claims and commands go: for tests that look
    /// at the world from outside.
    pub fn ledger(&self) -> Snapshot {
        self.with(|world| {
            let (cluster, now) = (world.settings.cluster.clone(), world.now);
            let head = world.ledger.cluster(&cluster).head.clone();
            world.ledger.snapshot(&cluster, head, now)
        })
    }

    /// The decisions in the ledger of the simulated cluster, the newest first.
    pub fn decisions(&self) -> Vec<Decision> {
        let query = DecisionQuery { before: None, since: None, limit: usize::MAX };
        self.with(|world| {
            let cluster = world.settings.cluster.clone();
            world.ledger.cluster(&cluster).decisions(&query).decisions
        })
    }

    /// The commands of disruption in the ledger of the simulated cluster.
    pub fn commands(&self) -> Vec<Command> {
        self.with(|world| {
            let cluster = world.settings.cluster.clone();
            world.ledger.cluster(&cluster).commands().cloned().collect()
        })
    }

    /// What must never be so, and is. Empty is well.
    ///
    /// At most one instance for each claim of a batch; no instance without a claim beyond a grace
    /// period; no protected pod evicted before its deadline, and none forced past its
    /// PodDisruptionBudget; no pool above its limits, and none with more nodes on their way out than its
    /// budgets allow; no capacity reservation with more instances than it is for.
    pub fn check_safety(&self) -> Vec<String> {
        self.0.borrow_mut().check_safety()
    }

    /// What must not stay so after faults stopped and time passed, and is so. Empty is well.
    ///
    /// Every pod has a node or can have none; no claim is stuck; no instance runs without its
    /// claim; no node is without its instance.
    pub fn check_liveness(&self) -> Vec<String> {
        self.0.borrow().check_liveness()
    }

    /// Where NodeClaim objects do not say what the ledger says, long after it did. Empty is well.
    pub fn check_node_claims(&self) -> Vec<String> {
        self.0.borrow().check_node_claims()
    }

    /// Looks at the world, or changes it. `look` must not call the simulator again.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.0.borrow_mut())
    }

    /// One call of a port, as large as the world says that calls of `operation` are.
    pub(crate) async fn step<T>(
        &self,
        operation: (&'static str, Access),
        subject: impl fmt::Display,
        effect: impl FnOnce(&mut World) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        let load = |world: &mut World| loads::usual(world, operation.0);
        self.step_of(operation, subject, load, effect).await
    }

    /// One call of a port that is as large as `load` says.
    pub(crate) async fn step_of<T>(
        &self,
        (operation, access): (&'static str, Access),
        subject: impl fmt::Display,
        load: impl FnOnce(&mut World) -> Load,
        effect: impl FnOnce(&mut World) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        yield_once().await;
        if self.with(|world| world.is_crashed) {
            // Another call of the same delivery crashed it in this very poll.
            return std::future::pending().await;
        }
        let subject = subject.to_string();
        let injection = self.with(|world| world.judge(operation, access, &subject));
        if let Injection::Delay(duration) = injection {
            self.with(|world| world.note(format_args!("{operation} {subject} {injection}")));
            let until = self.with(|world| later(world.now, duration));
            self.wait_until(until).await;
        }
        if injection == Injection::CrashBefore {
            self.with(|world| world.crash(operation, &subject, injection));
            return std::future::pending().await;
        }
        if let Injection::FailBefore(fault) = injection {
            self.with(|world| world.note(format_args!("{operation} {subject} {injection}")));
            return Err(injected(operation, fault));
        }
        if let Injection::Refuse(code) = injection {
            self.with(|world| world.note(format_args!("{operation} {subject} {injection}")));
            return Err(AwsError::new(code, "a rule says so").of(operation));
        }
        let load = self.with(load);
        let taken = match self.pay(operation, &subject, load).await {
            Ok(taken) => taken,
            Err(error) => {
                self.with(|world| world.note(format_args!("{operation} {subject} is throttled")));
                return Err(error);
            }
        };
        let result = self.with(|world| {
            let result = effect(world);
            match &result {
                Ok(_) => world.note(format_args!("{operation} {subject}")),
                Err(error) => {
                    world.note(format_args!("{operation} {subject} fails: {error}"));
                    world.failed(operation, error.fault);
                }
            }
            result
        });
        match injection {
            Injection::CrashAfter => {
                self.with(|world| world.crash(operation, &subject, injection));
                std::future::pending().await
            }
            Injection::FailAfter(fault) => {
                self.with(|world| world.note(format_args!("{operation} {subject} {injection}")));
                Err(injected(operation, fault))
            }
            Injection::Pass
            | Injection::Delay(_)
            | Injection::FailBefore(_)
            | Injection::Refuse(_)
            | Injection::CrashBefore => {
                // The state is the first page's; the answer takes its time.
                self.wait_for(taken).await;
                result
            }
        }
    }

    pub(crate) async fn wait_until(&self, time: Timestamp) {
        let mut is_planned = false;
        poll_fn(|context| {
            let mut world = self.0.borrow_mut();
            if time <= world.now {
                return Poll::Ready(());
            }
            if !is_planned {
                is_planned = true;
                world.at(time, Event::Wake(context.waker().clone()));
            }
            Poll::Pending
        })
        .await;
    }

    /// What `act` comes to, whose calls are those of the delivery `id` of `function`.
    pub fn acting_as<T>(&self, (id, function): (u64, Function), act: impl FnOnce() -> T) -> T {
        self.with(|world| world.current = Some((id, function)));
        let output = act();
        self.with(|world| world.current = None);
        output
    }
}

impl World {
    fn crash(&mut self, operation: &str, subject: &str, injection: Injection) {
        self.note(format_args!("{operation} {subject} {injection}"));
        self.is_crashed = true;
    }
}

fn injected(operation: &'static str, fault: Fault) -> PortError {
    PortError::because(operation, fault, "injected by a rule")
}

/// Lets others go first, once. It wakes its own waker: combinators such as `buffer_unordered` look
/// only at children that woke them.
pub(crate) async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
