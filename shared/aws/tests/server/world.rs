//! A simulated account and cluster, the AWS server of the account, and the real adapters in front of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    rc::Rc,
    sync::{Arc, OnceLock},
};

use aws::{
    Account, AwsForensics, Connection, Ec2Discovery, Ec2Fleet, Ec2Market, Ec2Templates, IamProfiles,
};
use aws_server::{AwsServer, listen, serve};
use handlers::{
    DryRunTrigger, DryRuns, LaunchPorts, Metrics, ProcessMemory, ProvisionPorts, Recorder,
    ResolvePorts, Settings,
};
use jiff::{SignedDuration, Timestamp};
use model::{
    ClusterName, Function, InstanceId, LaunchTemplateName, Millicores, PodSpec, RegionCatalog,
    Resources,
    launch::LaunchTemplate,
    ledger::{Counters, Guard, WriteOutcome},
    message::Message,
    pulse::Signal,
    validation::{DryRunAnswer, Validation},
};
use ports::{Adapters, Invocation, Ledger as _, PortError, Templates};
use simulator::{
    ClusterObject, DeliveryOutcome, FunctionCall, Payload, Sim, StoryWorkload, WorldSettings,
};
use testkit::build;

/// Ends in between two calls what the second one needs.
pub(super) type Mischief = Box<dyn Fn(&Sim, &LaunchTemplate)>;

/// What a handler does, as a function drives it.
type Handled<'a> = Pin<Box<dyn Future<Output = Result<handlers::Report, handlers::Error>> + 'a>>;

/// The world, and the adapters.
pub(super) struct World {
    pub(super) sim: Sim,
    pub(super) server: Rc<AwsServer>,
    pub(super) fleet: Ec2Fleet,
    pub(super) forensics: AwsForensics,
    pub(super) templates: Ec2Templates,
    pub(super) profiles: IamProfiles,
    pub(super) discovery: Ec2Discovery,
    pub(super) market: Ec2Market,
    /// What happens after a launch template was made and before it is used.
    pub(super) mischief: Option<Mischief>,
    memory: ProcessMemory,
    settings: Settings,
}

/// A few small types of the built-in catalog, none with more than four processors.
fn catalog() -> Arc<RegionCatalog> {
    static CATALOG: OnceLock<Arc<RegionCatalog>> = OnceLock::new();
    let catalog = CATALOG.get_or_init(|| {
        let mut catalog = instance_catalog::builtin().unwrap();
        let kept = ["c7i.large", "m7g.large", "m7i.large", "m7i-flex.large"];
        catalog.instance_types.retain(|known| kept.contains(&known.name.as_str()));
        Arc::new(catalog)
    });
    Arc::clone(catalog)
}

impl World {
    /// To be called on a `LocalSet`. Pages are small, so that every listing has several.
    pub(super) async fn open(settings: WorldSettings, page_max: usize) -> Self {
        Self::open_with(settings, page_max, catalog()).await
    }

    /// The same, with everything that is sold in a region.
    pub(super) async fn open_region(settings: WorldSettings, page_max: usize) -> Self {
        let catalog = instance_catalog::builtin().unwrap();
        Self::open_with(settings, page_max, Arc::new(catalog)).await
    }

    async fn open_with(
        settings: WorldSettings,
        page_max: usize,
        catalog: Arc<RegionCatalog>,
    ) -> Self {
        // Its clock stands still, and nothing flows back into a bucket.
        let settings = WorldSettings { has_schedules: false, ..settings.without_limits() };
        let sim = Sim::new(settings, catalog);
        let server = Rc::new(AwsServer::new(&sim).with_page_max(page_max));
        let (listener, url) = listen(0).await.unwrap();
        let serving = Rc::clone(&server);
        tokio::task::spawn_local(async move { serve(serving, listener).await });
        let account = Account::emulated(&url, "us-west-2").unwrap();
        let clusters = account.clusters(Connection::default());
        Self {
            sim,
            server,
            fleet: account.fleet(),
            forensics: account.forensics(),
            templates: account.templates(),
            profiles: account.profiles(),
            market: account.market(),
            discovery: account.discovery(clusters),
            mischief: None,
            memory: ProcessMemory::default(),
            settings: Settings::default(),
        }
    }

    /// A pool, its class, and `pods` pods of which no node can take two.
    pub(super) fn deploy(&self, pods: u32) {
        self.deploy_with(pods, build::node_class("default"));
    }

    pub(super) fn deploy_with(&self, pods: u32, class: model::node_class::NodeClass) {
        let mut pool = build::node_pool("general");
        pool.template.requirements = build::requirements("arch=amd64 paid=on-demand");
        let requests = Resources { cpu: Millicores(1_500), pods: 1, ..Resources::default() };
        let spec = Arc::new(PodSpec { requests, ..PodSpec::default() });
        let workload = StoryWorkload::deployment(build::pod_key("web"), pods, spec);
        self.sim.add(vec![
            ClusterObject::NodePool(pool),
            ClusterObject::NodeClass(class),
            ClusterObject::Workload(workload),
        ]);
        self.pass(3);
    }

    /// Lets virtual time go on.
    pub(super) fn pass(&self, seconds: i64) {
        let later = self.sim.now().checked_add(SignedDuration::from_secs(seconds));
        self.sim.pass_until(later.unwrap());
    }

    /// Finds over the wire what classes select and writes it into their status. Nothing is checked by a dry run:
    /// that is for [`World::validation`].
    pub(super) async fn resolve(&self) {
        self.resolve_with(DryRuns::Disabled).await;
    }

    /// The same with dry runs, if they are enabled.
    pub(super) async fn resolve_with(&self, dry_runs: DryRuns) {
        let at = invocation("resolve", self.sim.now());
        self.set_free(&at).await;
        let Self { sim, discovery, profiles, .. } = self;
        let ports = ResolvePorts::<Self> {
            node_classes: sim,
            node_pools: sim,
            statuses: sim,
            catalog: sim,
            discovery,
            profiles,
            ledger: sim,
            mailbox: sim,
            settings: &Settings { dry_runs, ..Settings::default() },
            metrics: &Metrics::default(),
            memory: &ProcessMemory::default(),
        };
        Box::pin(handlers::resolve(&ports, &at)).await.unwrap();
    }

    /// No other program provisions the cluster: what `sweep` would see each minute.
    async fn set_free(&self, at: &Invocation) {
        let head = self.sim.open(&at.cluster, None).await.unwrap();
        let (ledger, guard) = (head.ledger.unwrap(), Guard::Free { checked_at: at.now });
        let written = self.sim.put_guard(&at.cluster, &ledger, &guard).await.unwrap();
        assert_eq!(written, WriteOutcome::Written);
    }

    /// Looks for pods once, as if a message had asked for it, after the selectors of classes were resolved.
    pub(super) async fn look(&self) {
        self.resolve().await;
        let at = invocation("look", self.sim.now());
        let everything = Counters { arrivals: u64::MAX, departures: u64::MAX };
        self.provision(Signal::Wake(everything), &at).await.unwrap();
    }

    /// Delivers what is due, second by second: `provision` and `launch` do their work, the launches
    /// over the wire, and twice a minute it is found what classes select; what other functions would do
    /// is left out.
    pub(super) async fn play(&self, seconds: u32) {
        for second in 1..=seconds {
            if second % 30 == 0 {
                self.resolve().await;
            }
            while let Some(delivery) = self.sim.next_delivery() {
                let outcome = match self.call(&delivery).await {
                    Ok(()) => DeliveryOutcome::Done,
                    Err(error) => DeliveryOutcome::Failed(error.to_string()),
                };
                self.sim.finish(&delivery, &outcome);
            }
            self.pass(1);
        }
    }

    async fn call(&self, delivery: &FunctionCall) -> Result<(), handlers::Error> {
        let at = &delivery.invocation;
        let signal = match &delivery.payload {
            Payload::Message(Message::Pulse { signal, .. }) => *signal,
            _ => return Ok(()),
        };
        match delivery.function {
            Function::Provision => self.provision(signal, at).await,
            Function::Launch => {
                let ports = self.launch_ports();
                // Behind a pointer: the compiler does not see through all of it at once.
                let launched: Handled<'_> = Box::pin(handlers::launch(&ports, signal, at));
                launched.await.map(drop)
            }
            _ => Ok(()),
        }
    }

    async fn provision(&self, signal: Signal, at: &Invocation) -> Result<(), handlers::Error> {
        let (Self { sim, discovery, .. }, memory) = (self, &ProcessMemory::default());
        let ports = ProvisionPorts::<Self> {
            cluster: sim,
            node_pools: sim,
            statuses: sim,
            catalog: sim,
            discovery,
            ledger: sim,
            mailbox: sim,
            clock: sim,
            memory,
            recorder: Recorder { events: sim, memory },
            settings: &Settings::default(),
        };
        let looked: Handled<'_> = Box::pin(handlers::provision(&ports, signal, at));
        looked.await.map(drop)
    }

    fn launch_ports(&self) -> LaunchPorts<'_, Self> {
        let Self { sim, discovery, fleet, memory, settings, .. } = self;
        LaunchPorts {
            ledger: sim,
            cluster: sim,
            catalog: sim,
            discovery,
            templates: self,
            fleet,
            mailbox: sim,
            clock: sim,
            memory,
            settings,
            recorder: Recorder { events: sim, memory },
        }
    }

    /// Has a class checked by a dry run, over the wire, and reads what is kept of it.
    pub(super) async fn validation(&self, class: &str) -> Option<Validation> {
        self.resolve().await;
        let now = self.sim.now();
        let (class, key) = (build::id(class), "1f".to_owned());
        let trigger = DryRunTrigger { class, key, asked_at: now };
        let at = invocation("try out", now);
        Box::pin(handlers::dry_run(&self.launch_ports(), &trigger, &at)).await.unwrap();
        self.sim.validation(&at.cluster, &trigger.class).await.unwrap()
    }

    /// What is pending or running.
    pub(super) async fn living(&self) -> BTreeSet<InstanceId> {
        self.pass(5);
        let known = self.sim.describe_instances().await.unwrap();
        known.into_iter().map(|known| known.instance.id).collect()
    }

    /// Every pod's claim has an instance of its own, nothing else was ever launched, and the
    /// checkers have nothing to say.
    pub(super) async fn check_launched_once(&self, wanted: usize) {
        let claims = self.sim.claims();
        let told: Vec<String> =
            claims.iter().map(|c| format!("{} {} {:?}", c.name, c.phase, c.message)).collect();
        let trace = self.sim.trace();
        let trace = trace.get(trace.len().saturating_sub(40)..).unwrap_or_default().join("\n");
        let instance_ids: BTreeSet<InstanceId> =
            claims.iter().filter_map(|claim| Some(claim.instance.as_ref()?.id.clone())).collect();
        assert_eq!((claims.len(), instance_ids.len()), (wanted, wanted), "{told:?}\n{trace}");
        assert_eq!(self.living().await, instance_ids, "{trace}");
        let launched: u32 = self.sim.summary().launched.values().sum();
        assert_eq!(usize::try_from(launched).unwrap(), wanted, "{trace}");
        assert_eq!(self.sim.check_safety(), Vec::<String>::new());
    }

    /// How often an operation was asked for.
    pub(super) fn requests(&self, operation: &str) -> u64 {
        self.server.requests().get(operation).copied().unwrap_or_default()
    }

    /// How many of them were EC2's.
    pub(super) fn ec2_requests(&self) -> BTreeMap<String, u64> {
        let mut requests = self.server.requests();
        for other in ["DescribeCluster", "GetParameter", "GetInstanceProfile"] {
            requests.remove(other);
        }
        requests.retain(|name, _| !name.contains("InstanceProfile"));
        requests
    }
}

/// A call at `now`.
pub(super) fn invocation(id: &str, now: Timestamp) -> Invocation {
    let deadline = now.checked_add(SignedDuration::from_secs(60)).unwrap();
    Invocation { id: id.to_owned(), cluster: WorldSettings::default().cluster, now, deadline }
}

/// The handlers here launch over the wire; what else they touch is the simulated world itself.
impl Adapters for World {
    type Catalog = Sim;
    type Clock = Sim;
    type Cluster = Sim;
    type Discovery = Ec2Discovery;
    type Events = Sim;
    type Fleet = Ec2Fleet;
    type Forensics = AwsForensics;
    type Leases = Sim;
    type Ledger = Sim;
    type Mailbox = Sim;
    type Market = Ec2Market;
    type NodeClaims = Sim;
    type NodeClasses = Sim;
    type NodePools = Sim;
    type AlphaStatuses = Sim;
    type Nodes = Sim;
    type Profiles = IamProfiles;
    type CatalogStore = Sim;
    type Templates = Self;
}

impl Templates for World {
    async fn ensure(&self, template: &LaunchTemplate) -> Result<(), PortError> {
        self.templates.ensure(template).await?;
        if let Some(mischief) = &self.mischief {
            mischief(&self.sim, template);
        }
        Ok(())
    }

    async fn dry_run(&self, template: &LaunchTemplate) -> Result<DryRunAnswer, PortError> {
        self.templates.dry_run(template).await
    }

    async fn list(
        &self,
        cluster: &ClusterName,
    ) -> Result<BTreeMap<LaunchTemplateName, Timestamp>, PortError> {
        self.templates.list(cluster).await
    }

    async fn remove(&self, name: &LaunchTemplateName) -> Result<(), PortError> {
        self.templates.remove(name).await
    }
}
