//! The functions, each with the rights of its own in the cluster, all in one simulated account.

use std::{cell::RefCell, collections::BTreeSet, future::poll_fn, path::Path, pin::pin, rc::Rc};

use cluster::{ConnectError, KubeCluster};
use dispatch::{Reports, Settings, World, dispatch_with};
use jiff::SignedDuration;
use model::{ClusterName, Function};
use simulator::{DeliveryOutcome, Dispatch, FunctionCall, Payload, SCHEDULED, Sim};
use tracing::Instrument as _;

use crate::happenings::Happenings;

/// What a schedule gives a function. Nothing is cut off after it: whatever takes longer is only late.
const TIME: SignedDuration = SignedDuration::from_secs(30);

/// The simulated account, and the API server as one function sees it.
#[derive(Clone)]
pub(crate) struct Live {
    account: Sim,
    cluster: Rc<KubeCluster>,
}

impl Live {
    /// As `function` sees them: it comes to the API server of `kubeconfig` from the group that EKS puts its role into.
    pub(crate) async fn of(
        account: &Sim,
        function: Function,
        kubeconfig: &Path,
    ) -> Result<Self, ConnectError> {
        let group = function.group();
        let cluster = KubeCluster::from_kubeconfig_as(kubeconfig, &group, &[&group]).await?;
        Ok(Self { account: account.clone(), cluster: Rc::new(cluster) })
    }
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

/// Every function, as it is deployed. It has to be used on a `LocalSet`.
pub struct LocalFunctions {
    account: Sim,
    cluster: ClusterName,
    handlers: Vec<(Function, Box<dyn Dispatch>, Reports)>,
    scheduled: u64,
    happenings: Rc<Happenings>,
    /// Those that were through at least once.
    succeeded: Rc<RefCell<BTreeSet<Function>>>,
    rounds: Rounds,
}

/// The functions that their schedules called and that are not through yet.
#[derive(Clone, Debug, Default)]
struct Rounds(Rc<RefCell<BTreeSet<Function>>>);

/// A round of one function, until it is dropped.
#[derive(Debug)]
struct Round {
    rounds: Rounds,
    function: Function,
}

impl Rounds {
    /// A round of `function`; `None` while its last one goes on.
    fn begin(&self, function: Function) -> Option<Round> {
        let begins = self.0.borrow_mut().insert(function);
        begins.then(|| Round { rounds: self.clone(), function })
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        self.rounds.0.borrow_mut().remove(&self.function);
    }
}

impl std::fmt::Debug for LocalFunctions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalFunctions").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl LocalFunctions {
    /// The functions of the EKS cluster called `cluster`, with `settings`, in `account` and on the API server of
    /// `kubeconfig`, whose user has to be one that may act as everybody.
    pub async fn of(
        account: &Sim,
        cluster: &ClusterName,
        kubeconfig: &Path,
        settings: &Settings,
    ) -> Result<Self, ConnectError> {
        let mut handlers: Vec<(Function, Box<dyn Dispatch>, Reports)> = Vec::new();
        for function in Function::ALL {
            let world = Live::of(account, function, kubeconfig).await?;
            let reports = Reports::default();
            let handler = dispatch_with(&world, &reports, settings.clone());
            handlers.push((function, Box::new(handler), reports));
        }
        Ok(Self {
            account: account.clone(),
            cluster: cluster.clone(),
            handlers,
            scheduled: 0,
            happenings: Rc::new(Happenings::of(account)),
            succeeded: Rc::default(),
            rounds: Rounds::default(),
        })
    }

    /// What happened in the account meanwhile is printed.
    pub(crate) fn tell(&self) {
        self.happenings.tell();
    }

    /// Whether `function` was through at least once without failing.
    pub(crate) fn has_succeeded(&self, function: Function) -> bool {
        self.succeeded.borrow().contains(&function)
    }

    /// Whether all that have a schedule were.
    pub(crate) fn have_succeeded(&self) -> bool {
        SCHEDULED.into_iter().all(|function| self.has_succeeded(function))
    }

    /// Calls functions with what lies in their queues.
    pub(crate) fn deliver(&mut self) {
        while let Some(call) = self.account.next_delivery() {
            self.call(call, None);
        }
    }

    /// The schedules of `functions` come round: one that takes longer than a round is not called again before it is
    /// through.
    pub(crate) fn schedule(&mut self, functions: &[Function]) {
        for function in functions {
            let Some(round) = self.rounds.begin(*function) else { continue };
            self.scheduled += 1;
            let now = self.account.now();
            let invocation = ports::Invocation {
                id: format!("schedule-{}", self.scheduled),
                cluster: self.cluster.clone(),
                now,
                deadline: now.checked_add(TIME).unwrap_or(now),
            };
            // Deliveries of the account count from below.
            let id = u64::MAX - self.scheduled;
            let payload = Payload::Schedule;
            self.call(FunctionCall { id, function: *function, payload, invocation }, Some(round));
        }
    }

    fn call(&mut self, call: FunctionCall, round: Option<Round>) {
        let (id, function) = (call.id, call.function);
        let known = self.handlers.iter_mut().find(|(known, _, _)| *known == function);
        let Some((_, handler, reports)) = known else { return };
        let (work, reports) = (handler(call.clone()), reports.clone());
        let account = self.account.clone();
        let (happenings, succeeded) = (Rc::clone(&self.happenings), Rc::clone(&self.succeeded));
        let span = tracing::info_span!("call", who = function.as_str());
        let passes = async move {
            let delivery = account.as_delivery((id, function), work);
            let outcome = match and_after_each_poll(delivery, || happenings.tell()).await {
                Ok(()) => {
                    succeeded.borrow_mut().insert(function);
                    DeliveryOutcome::Done
                }
                Err(story) => {
                    tracing::error!(story, "call failed");
                    DeliveryOutcome::Failed(story)
                }
            };
            account.finish(&call, &outcome);
            happenings.tell_of(function, &reports);
            drop(round);
        };
        drop(tokio::task::spawn_local(passes.instrument(span)));
    }
}

/// `work`, where `look` looks each time that it got a little further.
async fn and_after_each_poll<T>(work: impl Future<Output = T>, look: impl Fn()) -> T {
    let mut work = pin!(work);
    poll_fn(|context| {
        let poll = work.as_mut().poll(context);
        look();
        poll
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_not_called_again_before_its_round_is_over() {
        let rounds = Rounds::default();
        let sweep = rounds.begin(Function::Sweep);
        assert!(sweep.is_some() && rounds.begin(Function::Sweep).is_none());
        assert!(rounds.begin(Function::Disrupt).is_some(), "others have rounds of their own");
        drop(sweep);
        assert!(rounds.begin(Function::Sweep).is_some());
    }
}
