//! Where all stories are played: one account, one cluster, one clock.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dispatch::Settings;
use jiff::{SignedDuration, Timestamp};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use local::{LocalFunctions, LocalWorld, Machines};
use model::{ClusterName, RegionCatalog, launch::Instance};
use simulator::{Sim, Span, WorldSettings};
use tokio::{
    sync::{mpsc, oneshot},
    task::LocalSet,
};

/// How often the world of the account moves on.
const TICK: Duration = Duration::from_millis(5);
/// Schedules come round each five seconds, and not each minute: stories take less time so, and no function relies
/// on when its schedule comes.
const SCHEDULE: SignedDuration = SignedDuration::from_secs(5);
/// From a launch to the node of the instance.
const BOOT: SignedDuration = SignedDuration::from_secs(3);
/// Beyond half an hour for a node that is ill, and a quarter of one for a node that does not join.
const LEAP: SignedDuration = SignedDuration::from_mins(31);

type Look = Box<dyn FnOnce(&Sim) + Send>;

/// The account, to look at and to change, and the one clock of all stories.
pub(crate) struct Stage {
    looks: mpsc::UnboundedSender<Look>,
    shared: Shared,
    playing: AtomicUsize,
    patient: AtomicUsize,
}

/// What the world's thread and the stories share.
#[derive(Clone, Default)]
struct Shared {
    leaped_seconds: Arc<AtomicI64>,
    /// NodePools whose machines never join.
    absent: Arc<Mutex<BTreeSet<String>>>,
}

impl Shared {
    fn may_join(&self, instance: &Instance) -> bool {
        let absent = self.absent.lock().unwrap();
        let pool = instance.node_pool.as_ref();
        pool.is_none_or(|pool| !absent.contains(pool.as_str()))
    }

    /// The time of the functions: that of the API server, later by as much as stories leaped.
    #[expect(clippy::disallowed_methods, reason = "a real control plane takes real time")]
    fn now(&self) -> Timestamp {
        let leaped = SignedDuration::from_secs(self.leaped_seconds.load(Ordering::Relaxed));
        Timestamp::now() + leaped
    }
}

/// The control plane's kubeconfig, if there is one to play on.
#[expect(clippy::disallowed_methods, reason = "a test that an environment variable starts")]
#[expect(clippy::print_stderr, reason = "what is skipped has to be seen")]
fn kubeconfig() -> Option<PathBuf> {
    let path = std::env::var_os("JOURNEYMAN_KUBECONFIG");
    if path.is_none() {
        eprintln!("skipped: JOURNEYMAN_KUBECONFIG names no kubeconfig");
    }
    path.map(PathBuf::from)
}

pub(crate) fn cluster_name() -> ClusterName {
    ClusterName::new("stories").unwrap()
}

/// Few types, of one architecture: four processors each.
fn catalog() -> Arc<RegionCatalog> {
    let mut catalog = instance_catalog::builtin().unwrap();
    let kept = ["c7i.xlarge", "m7i.xlarge"];
    catalog.instance_types.retain(|known| kept.contains(&known.name.as_str()));
    assert_eq!(catalog.instance_types.len(), kept.len());
    Arc::new(catalog)
}

impl Stage {
    /// The one of this process, and a client of its API server; nothing when there is no control plane.
    pub(crate) async fn open() -> Option<(&'static Self, Client)> {
        static STAGE: OnceLock<Stage> = OnceLock::new();
        let path = kubeconfig()?;
        let client = client(&path).await;
        Some((STAGE.get_or_init(|| Self::start(path)), client))
    }

    fn start(path: PathBuf) -> Self {
        let (looks, asked) = mpsc::unbounded_channel();
        let shared = Shared::default();
        let known = shared.clone();
        drop(std::thread::spawn(move || play(&path, asked, &known)));
        Self { looks, shared, playing: AtomicUsize::new(0), patient: AtomicUsize::new(0) }
    }

    /// What `look` finds in the account, or does to it.
    pub(crate) async fn account<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Sim) -> T + Send + 'static,
    ) -> T {
        let (answer, found) = oneshot::channel();
        let look = move |sim: &Sim| assert!(answer.send(look(sim)).is_ok(), "the receiver waits");
        assert!(self.looks.send(Box::new(look)).is_ok(), "the world ended");
        found.await.unwrap()
    }

    /// Machines of the NodePool called `pool` do not join from now on.
    pub(crate) fn let_none_join(&self, pool: &str) {
        self.shared.absent.lock().unwrap().insert(pool.to_owned());
    }

    /// Machines of the NodePool called `pool` that are launched from now on join again.
    pub(crate) fn let_all_join(&self, pool: &str) {
        self.shared.absent.lock().unwrap().remove(pool);
    }

    pub(crate) fn begin_story(&self) {
        assert!(!self.has_leaped(), "there are fewer threads than stories");
        self.playing.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_story(&self) {
        self.playing.fetch_sub(1, Ordering::Relaxed);
    }

    fn has_leaped(&self) -> bool {
        self.shared.leaped_seconds.load(Ordering::Relaxed) != 0
    }

    /// Half an hour passes for the functions, when all stories that are still played wait for it: the clock of
    /// the API server does not leap, so that ages of its objects are wrong from then on.
    pub(crate) async fn half_an_hour(&self) {
        self.patient.fetch_add(1, Ordering::Relaxed);
        while !self.has_leaped() {
            if self.patient.load(Ordering::Relaxed) == self.playing.load(Ordering::Relaxed) {
                self.shared.leaped_seconds.store(LEAP.as_secs(), Ordering::Relaxed);
            }
            a_moment().await;
        }
    }
}

/// A client of the control plane that may do everything.
pub(crate) async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    Client::try_from(config).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a real control plane takes real time")]
pub(crate) async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// The world's thread: it ends with the process.
#[expect(clippy::print_stderr, reason = "what failed is repeated, and explains what comes late")]
fn play(kubeconfig: &Path, mut asked: mpsc::UnboundedReceiver<Look>, shared: &Shared) {
    local::log_to(None, |line| {
        if line.is_bad {
            eprintln!("{}: {}", line.who, line.text);
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = LocalWorld::of_real_cluster(WorldSettings {
        cluster: cluster_name(),
        start: shared.now(),
        instance_runs_after: Span::from_secs(1, 2),
        instance_ends_after: Span::from_secs(2, 4),
        ..WorldSettings::default()
    });
    let mut policies = Settings::default();
    policies.policies.node_repair = true;
    policies.policies.reboot_for_repair = true;
    LocalSet::new().block_on(&runtime, async {
        let catalog = catalog();
        let sim = Sim::new(settings, Arc::clone(&catalog));
        let cluster = cluster_name();
        let functions = LocalFunctions::of(&sim, &cluster, kubeconfig, &policies);
        let mut world = LocalWorld::new(&sim, functions.await.unwrap(), SCHEDULE);
        let mut machines = Machines::of(&sim, client(kubeconfig).await, &catalog.region, BOOT);
        let known = shared.clone();
        drop(tokio::task::spawn_local(async move {
            machines.play(|instance| known.may_join(instance)).await;
        }));
        let mut ticks = tokio::time::interval(TICK);
        loop {
            ticks.tick().await;
            while let Ok(look) = asked.try_recv() {
                look(&sim);
            }
            world.pass_until(shared.now());
        }
    });
}
