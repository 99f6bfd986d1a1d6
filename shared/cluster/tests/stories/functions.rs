//! The functions, each with the rights of its own in the cluster, all in one simulated account.

use std::{path::Path, rc::Rc};

use cluster::KubeCluster;
use dispatch::{Reports, Settings, World, dispatch_with};
use kube::config::Kubeconfig;
use model::Function;
use simulator::{DeliveryOutcome, Dispatch, FunctionCall, Payload, SCHEDULED, Sim};

/// The simulated account, and the API server as one function sees it.
#[derive(Clone)]
struct Live {
    account: Sim,
    cluster: Rc<KubeCluster>,
}

impl World for Live {
    type Account = Sim;
    type Cluster = KubeCluster;

    fn account(&self) -> &Sim {
        &self.account
    }

    fn cluster(&self) -> &KubeCluster {
        &self.cluster
    }
}

/// Every function, as it is deployed.
pub(crate) struct Functions {
    account: Sim,
    handlers: Vec<(Function, Box<dyn Dispatch>)>,
    scheduled: u64,
}

impl Functions {
    pub(crate) async fn of(account: &Sim, kubeconfig: &Path) -> Self {
        let mut handlers: Vec<(Function, Box<dyn Dispatch>)> = Vec::new();
        for function in Function::ALL {
            let cluster = Rc::new(cluster_as(kubeconfig, function).await);
            let world = Live { account: account.clone(), cluster };
            let mut settings = Settings::default();
            settings.policies.node_repair = true;
            handlers
                .push((function, Box::new(dispatch_with(&world, &Reports::default(), settings))));
        }
        Self { account: account.clone(), handlers, scheduled: 0 }
    }

    /// Calls functions with what lies in their queues.
    pub(crate) fn deliver(&mut self) {
        while let Some(call) = self.account.next_delivery() {
            self.call(call);
        }
    }

    /// All schedules come round.
    pub(crate) fn schedule(&mut self) {
        for function in SCHEDULED {
            self.scheduled += 1;
            let now = self.account.now();
            let invocation = ports::Invocation {
                id: format!("schedule-{}", self.scheduled),
                cluster: super::stage::cluster_name(),
                now,
                deadline: now + jiff::SignedDuration::from_secs(30),
            };
            let id = u64::MAX - self.scheduled;
            self.call(FunctionCall { id, function, payload: Payload::Schedule, invocation });
        }
    }

    #[expect(
        clippy::print_stderr,
        reason = "what failed is repeated, and explains what comes late"
    )]
    fn call(&mut self, call: FunctionCall) {
        let (id, function) = (call.id, call.function);
        let handler = self.handlers.iter_mut().find(|(known, _)| *known == function);
        let work = handler.unwrap().1(call.clone());
        let account = self.account.clone();
        drop(tokio::task::spawn_local(async move {
            let outcome = match account.as_delivery((id, function), work).await {
                Ok(()) => DeliveryOutcome::Done,
                Err(error) => {
                    eprintln!("{function}: {error}");
                    DeliveryOutcome::Failed(error)
                }
            };
            account.finish(&call, &outcome);
        }));
    }
}

/// The control plane as somebody of the group that EKS puts the role of `function` into.
async fn cluster_as(kubeconfig: &Path, function: Function) -> KubeCluster {
    let mut config = Kubeconfig::read_from(kubeconfig).unwrap();
    let user = config.auth_infos[0].auth_info.as_mut().unwrap();
    let group = format!("journeyman:{function}");
    user.impersonate = Some(group.clone());
    user.impersonate_groups = Some(vec![group]);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("story-{}-{function}", std::process::id()));
    std::fs::write(&path, serde_json::to_string(&config).unwrap()).unwrap();
    let cluster = KubeCluster::from_kubeconfig(&path).await.unwrap();
    std::fs::remove_file(path).unwrap();
    cluster
}
