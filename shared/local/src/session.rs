//! A cluster on this machine, from its start to its end.

use std::{
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use aws_server::{AwsServer, listen, serve};
use cluster::ConnectError;
use dispatch::Settings;
use jiff::SignedDuration;
use kube::Client;
use model::{
    ClusterName, RegionCatalog,
    wake::{WakeKey, with_path},
};
use serde_json::Value;
use simulator::{DeviceDrivers, Sim, Trace, WorldSettings};
use tokio::{task::LocalSet, time::timeout};

use crate::{
    LocalError, LocalFunctions, LocalWorld, LogLine, Machines,
    control_plane::ControlPlane,
    install::{self, NamedCluster},
    karpenter, lines,
    place::Place,
    wake::{self, WakeServer, Waking},
};

/// How often the ledger is written down, if it changed.
const WRITTEN_EVERY: Duration = Duration::from_secs(2);
/// How often the account moves on.
const TICK: Duration = Duration::from_millis(10);
/// For every function's first pass, which takes a second; in a cluster where another ledger was lost, its lease is
/// respected for three minutes first.
const PATIENCE: Duration = Duration::from_mins(4);

/// Whose API server it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiServer {
    /// The control plane of the repository, by its program.
    Started(PathBuf),
    /// One that runs, with whatever stands in for kubelets, by its administrator's kubeconfig.
    Running(PathBuf),
}

/// What has the API server call `wake` at a URL, whose certificate the given authorities vouch for, in the order in which
/// it is applied.
pub type MakeCalls = fn(url: &str, ca_bundle: &str) -> Vec<Value>;

/// What can be said about a cluster on this machine.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// Where it keeps what others look for: the kubeconfig, the logs.
    pub directory: PathBuf,
    /// Its API server.
    pub api_server: ApiServer,
    /// The name of the EKS cluster that it stands for.
    pub cluster: ClusterName,
    /// What its account sells, and where.
    pub catalog: Arc<RegionCatalog>,
    /// What is installed: definitions, roles, bindings.
    pub objects: Vec<Value>,
    /// What has the API server call `wake`; none: the functions look by themselves only.
    pub calls: Option<MakeCalls>,
    /// The settings of the functions.
    pub settings: Settings,
    /// From a launch to the node of the machine.
    pub boot: SignedDuration,
    /// Between two rounds of the schedules.
    pub schedule: SignedDuration,
    /// The port of the account's AWS server on 127.0.0.1; 0 is a free one.
    pub port: u16,
}

/// A cluster that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalReady {
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// Where EC2, IAM, SSM, Pricing and EKS of the account answer.
    pub aws_endpoint: String,
    /// One file for each function.
    pub logs: PathBuf,
    /// What the ledger holds, as the caller wrote it down.
    pub ledger: PathBuf,
    /// Since the start.
    pub after: SignedDuration,
}

/// Runs a cluster until this process is interrupted or terminated. `tell` hears what its functions say,
/// `ready` when it can be used. `write` writes the ledger of an account to a file, when the ledger changed.
pub fn run(
    options: &LocalOptions,
    tell: impl Fn(&LogLine) + Send + Sync + 'static,
    ready: impl Fn(&LocalReady),
    write: impl Fn(&Sim, &Path) -> Result<(), String>,
) -> Result<(), LocalError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let place = Place::take(&options.directory)?;
    lines::log_to(Some(&place.logs()), tell);
    let outcome = LocalSet::new().block_on(&runtime, async {
        let mut parts = Parts::default();
        let outcome = tokio::select! {
            outcome = parts.live(options, &place, (&ready, &write)) => outcome,
            outcome = asked_to_end() => outcome,
        };
        lines::be_silent();
        parts.stop().await;
        outcome
    });
    place.clear();
    outcome
}

/// Returns when this process is asked to end.
#[cfg(unix)]
async fn asked_to_end() -> Result<(), LocalError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
        _ = hung_up.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn asked_to_end() -> Result<(), LocalError> {
    Ok(tokio::signal::ctrl_c().await?)
}

/// What has to be ended.
#[derive(Default)]
struct Parts {
    control_plane: Option<ControlPlane>,
    /// In another cluster than its own.
    machines: Option<Machines>,
    /// Once the functions may act there.
    client: Option<Client>,
    /// The API server that has objects which make it call `wake`, and these.
    called_by: Option<(Client, Vec<Value>)>,
    is_ours: bool,
}

impl Parts {
    async fn live(
        &mut self,
        options: &LocalOptions,
        place: &Place,
        (ready, write): (impl Fn(&LocalReady), impl Fn(&Sim, &Path) -> Result<(), String>),
    ) -> Result<(), LocalError> {
        let started_at = lines::present();
        let port = options.port;
        let taken = |source| LocalError::Port { port, source };
        let (listener, aws_endpoint) = listen(port).await.map_err(taken)?;
        let kubeconfig = self.api_server(&options.api_server, place).await?;
        let NamedCluster { client, url, ca_bundle } = install::connect(&kubeconfig).await?;
        if !self.is_ours {
            install::refuse_real(&kubeconfig, &client, &url).await?;
        }
        install::apply(&client, &options.objects).await?;
        let (functions, wake) = self.called(options, &client).await?;

        let made_up = WorldSettings::default();
        let settings = LocalWorld::of_real_cluster(WorldSettings {
            cluster: options.cluster.clone(),
            start: started_at,
            trace: Trace::Dropped,
            ca_bundle: ca_bundle.unwrap_or(made_up.ca_bundle),
            ..made_up
        });
        let account = Sim::new(settings, Arc::clone(&options.catalog));
        let server = AwsServer::new(&account).with_clock(lines::present).with_endpoint(&url);
        drop(tokio::task::spawn_local(serve(Rc::new(server), listener)));
        place.publish(&aws_endpoint)?;

        let functions = LocalFunctions::of(&account, &options.cluster, &kubeconfig, &functions);
        let refused = |error: ConnectError| LocalError::Connection {
            kubeconfig: kubeconfig.clone(),
            source: error.into(),
        };
        let functions = functions.await.map_err(refused)?;
        if let Some((server, key)) = wake {
            let waking = Waking::of(&account, &options.cluster, &kubeconfig);
            let waking = waking.await.map_err(refused)?;
            drop(tokio::task::spawn_local(waking.wake(server.serve(&options.cluster, key)?)));
        }
        let mut world = LocalWorld::new(&account, functions, options.schedule);
        let awake = play_until(&mut world, LocalWorld::is_awake);
        if timeout(PATIENCE, awake).await.is_err() {
            return Err(LocalError::NeverReady(place.logs()));
        }
        let after = lines::present().duration_since(started_at);
        // From now on the lease of the cluster is ours, and so is what it guards.
        self.client = Some(client.clone());
        let (logs, ledger) = (place.logs(), place.ledger());
        ready(&LocalReady { kubeconfig, aws_endpoint, logs, ledger: ledger.clone(), after });

        // Another cluster may have a real Karpenter.
        let is_ours = self.is_ours;
        let karpenters = client.clone();
        let machines = Machines::of(&account, client, &options.catalog.region, options.boot);
        let drivers = DeviceDrivers::of(&options.settings.policies);
        let machines = self.machines.insert(machines.with_drivers(drivers));
        let failure = async {
            match &mut self.control_plane {
                Some(control_plane) => control_plane.fails().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = play_until(&mut world, |_| false) => Ok(()),
            () = machines.play(|_| true) => Ok(()),
            () = karpenter::play(&karpenters), if is_ours => Ok(()),
            () = write_down(&account, &ledger, write) => Ok(()),
            failure = failure => Err(failure),
        }
    }

    /// Has the API server of `client` call a new `wake`, unless `options` have none: the settings of functions beside it,
    /// its server, and its key.
    async fn called(
        &mut self,
        options: &LocalOptions,
        client: &Client,
    ) -> Result<(Settings, Option<(WakeServer, WakeKey)>), LocalError> {
        let mut settings = options.settings.clone();
        let Some(calls) = options.calls else { return Ok((settings, None)) };
        let (server, key) = (WakeServer::listen()?, wake::new_key()?);
        let url = with_path(server.url(), &key.path(&options.cluster, lines::present()));
        let calls = calls(&url, server.ca_bundle());
        let (_, applied) = self.called_by.insert((client.clone(), calls));
        install::apply(client, applied).await?;
        settings.has_wake = true;
        settings.wake_key = Some(key.clone());
        Ok((settings, Some((server, key))))
    }

    /// The administrator's kubeconfig of an API server that answers.
    async fn api_server(
        &mut self,
        api_server: &ApiServer,
        place: &Place,
    ) -> Result<PathBuf, LocalError> {
        match api_server {
            ApiServer::Running(kubeconfig) => Ok(kubeconfig.clone()),
            ApiServer::Started(program) => {
                self.is_ours = true;
                let control_plane = ControlPlane::start(program, place)?;
                self.control_plane.insert(control_plane).is_ready().await?;
                Ok(place.kubeconfig())
            }
        }
    }

    async fn stop(self) {
        if !self.is_ours {
            if let Some((client, applied)) = &self.called_by {
                install::remove(client, applied).await;
            }
            if let Some(machines) = &self.machines {
                machines.leave().await;
            }
            if let Some(client) = &self.client {
                install::withdraw(client).await;
            }
        }
        if let Some(control_plane) = self.control_plane {
            control_plane.stop().await;
        }
    }
}

/// Writes what the ledger of `account` holds whenever it changed, for ever.
async fn write_down(account: &Sim, path: &Path, write: impl Fn(&Sim, &Path) -> Result<(), String>) {
    let mut ticks = tokio::time::interval(WRITTEN_EVERY);
    let mut written = None;
    loop {
        ticks.tick().await;
        let now = Some((account.ledger(), account.decisions()));
        if now != written {
            if let Err(problem) = write(account, path) {
                tracing::warn!("{}: {problem}", path.display());
            }
            written = now;
        }
    }
}

/// Lets `world` go on until `is_over` says so.
async fn play_until(world: &mut LocalWorld, is_over: impl Fn(&LocalWorld) -> bool) {
    let mut ticks = tokio::time::interval(TICK);
    while !is_over(world) {
        ticks.tick().await;
        world.pass_until(lines::present());
    }
}
