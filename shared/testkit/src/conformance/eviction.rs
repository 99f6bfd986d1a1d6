//! The contract of `Nodes`: pods that are evicted, or deleted whatever budgets say.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/>
//! Kubernetes: `pkg/registry/core/pod/storage/eviction.go`,
//! `pkg/controller/disruption/disruption.go`, `BeforeDelete` of
//! `k8s.io/apiserver/pkg/registry/rest/delete.go`.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use model::{
    NodeName, Pod, PodKey,
    eviction::{CountOrPercent, PodDisruptionBudget},
    node::{Eviction, EvictionRequest},
    pod::PodPhase,
    selector::{LabelSelector, SelectorExpression},
};
use ports::Nodes;

use super::{
    ATTEMPTS_MAX, Case, Failure,
    cluster_world::{ClusterWorld, Deployed, PodState, pods_on},
    delete_node, ensure, same,
};
use crate::build;

struct Subject<'a, P, W> {
    port: &'a P,
    world: &'a W,
}

/// Runs every case.
pub(super) async fn evictions<P: Nodes, W: ClusterWorld>(port: &P, world: &W) -> Vec<Case> {
    let subject = &Subject { port, world };
    vec![
        Case::of("an evicted pod ends, however often it is asked", subject.evicted().await),
        Case::of("a namesake of a pod is left alone", subject.namesake().await),
        Case::of("a budget lets one pod go after the other", subject.one_by_one().await),
        Case::of("a budget that allows nothing blocks", subject.blocked().await),
        Case::of("two budgets for one pod block", subject.two_budgets().await),
        Case::of("a budget of shares counts what is wanted", subject.shares().await),
        Case::of("no budget holds a pod that does not run", subject.not_running().await),
        Case::of("a deletion asks no budget and may only shorten", subject.forced().await),
        Case::of("a deletion may be longer than the pod's own", subject.longer().await),
    ]
}

/// The request to evict `pod`, or to delete it.
fn request(pod: &Pod, grace_seconds: Option<u32>) -> EvictionRequest {
    EvictionRequest { pod: pod.key.clone(), uid: pod.uid.clone(), grace_seconds }
}

impl<P: Nodes, W: ClusterWorld> Subject<'_, P, W> {
    /// Makes the workload on a node of its own. The node, and its pods.
    async fn deployed(
        &self,
        name: &str,
        change: impl FnOnce(&mut Deployed),
    ) -> Result<(NodeName, Vec<Pod>), Failure> {
        let (node, _) = self.world.join(name).await;
        let mut workload = Deployed::running(name, &node);
        change(&mut workload);
        self.world.deploy(&workload).await;
        let count = usize::try_from(workload.replicas).unwrap_or_default();
        let pods = pods_on(self.port, self.world, &node, |pods| pods.len() == count).await?;
        same("how many pods there are", &pods.len(), &count)?;
        let phase = match workload.state {
            PodState::Unschedulable | PodState::Starting => PodPhase::Pending,
            PodState::Running => PodPhase::Running,
            PodState::Succeeded => PodPhase::Succeeded,
        };
        for pod in &pods {
            same("a pod's phase", &pod.phase, &phase)?;
            same("whether it is ready", &pod.is_ready, &(phase == PodPhase::Running))?;
        }
        Ok((node, pods))
    }

    async fn ended(&self, name: &str, node: &NodeName) -> Result<(), Failure> {
        self.world.undeploy(name).await;
        delete_node(self.port, node).await
    }

    /// The budget `name` for the pods of `app`.
    fn budget(
        &self,
        name: &str,
        app: &str,
        min_available: Option<CountOrPercent>,
        max_unavailable: Option<CountOrPercent>,
    ) -> PodDisruptionBudget {
        let expressions = BTreeSet::from([SelectorExpression::is("app", app)]);
        PodDisruptionBudget {
            key: PodKey { namespace: self.world.namespace(), name: build::id(name) },
            selector: Some(LabelSelector { expressions, is_invalid: false }),
            min_available,
            max_unavailable,
            always_allows_unhealthy: false,
            disruptions_allowed: 0,
        }
    }

    async fn check(
        &self,
        pod: &Pod,
        grace_seconds: Option<u32>,
        wanted: Eviction,
    ) -> Result<(), Failure> {
        let answer = self.port.evict(&request(pod, grace_seconds)).await?;
        let what = format!("the answer to {} {grace_seconds:?}", pod.key);
        same(&what, &answer, &wanted)
    }

    /// The very pod, if it is still listed.
    async fn seen(&self, node: &NodeName, pod: &Pod) -> Result<Option<Pod>, Failure> {
        let pods = self.port.pods_on(node).await?.items;
        Ok(pods.into_iter().find(|other| other.uid == pod.uid))
    }

    /// When the pod is to be gone.
    async fn deleted_at(&self, node: &NodeName, pod: &Pod) -> Result<Option<Timestamp>, Failure> {
        let seen =
            self.seen(node, pod).await?.ok_or_else(|| Failure(format!("{} is gone", pod.key)))?;
        Ok(seen.deleted_at)
    }

    /// Waits until the pod is gone.
    async fn gone(&self, node: &NodeName, pod: &Pod) -> Result<(), Failure> {
        let is_gone = |pods: &[Pod]| pods.iter().all(|other| other.uid != pod.uid);
        let left = pods_on(self.port, self.world, node, is_gone).await?;
        ensure(is_gone(&left), || format!("{} is never gone", pod.key))
    }

    async fn evicted(&self) -> Result<(), Failure> {
        let change = |workload: &mut Deployed| {
            workload.grace_seconds = 600;
            workload.is_slow = true;
        };
        let (node, pods) = self.deployed("evicted", change).await?;
        let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        same("whether it ends already", &pod.deleted_at, &None)?;
        self.check(pod, None, Eviction::Accepted).await?;
        let first = self.deleted_at(&node, pod).await?;
        ensure(first.is_some(), || "it is not being deleted".to_owned())?;
        self.check(pod, None, Eviction::Accepted).await?;
        same("when it ends", &self.deleted_at(&node, pod).await?, &first)?;
        self.check(pod, Some(1), Eviction::Accepted).await?;
        self.gone(&node, pod).await?;
        self.check(pod, None, Eviction::Gone).await?;
        self.check(pod, Some(1), Eviction::Gone).await?;
        self.ended("evicted", &node).await
    }

    async fn namesake(&self) -> Result<(), Failure> {
        let (node, pods) = self.deployed("namesake", |_| {}).await?;
        let other = build::id("00000000-0000-0000-0000-000000000000");
        let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        let namesake = Pod { uid: other, ..pod.clone() };
        self.check(&namesake, None, Eviction::Gone).await?;
        self.check(&namesake, Some(1), Eviction::Gone).await?;
        same("when it ends", &self.deleted_at(&node, pod).await?, &None)?;
        // The budget of the pod that has the name now is checked before its uid is compared.
        let none = Some(CountOrPercent::Count(0));
        self.world.add_budget(&self.budget("namesake", "namesake", None, none), 1).await;
        self.check(&namesake, None, Eviction::Blocked).await?;
        self.check(&namesake, Some(1), Eviction::Gone).await?;
        same("when it ends", &self.deleted_at(&node, pod).await?, &None)?;
        self.world.remove_budget("namesake").await;
        self.ended("namesake", &node).await
    }

    async fn one_by_one(&self) -> Result<(), Failure> {
        let change = |workload: &mut Deployed| {
            workload.replicas = 2;
            workload.is_slow = true;
        };
        let (node, pods) = self.deployed("one-by-one", change).await?;
        let [first, second] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        let count_or_percent = Some(CountOrPercent::Count(1));
        self.world
            .add_budget(&self.budget("one-by-one", "one-by-one", None, count_or_percent), 2)
            .await;
        self.check(first, None, Eviction::Accepted).await?;
        self.check(second, None, Eviction::Blocked).await?;
        // The one that goes is not held any more.
        self.check(first, None, Eviction::Accepted).await?;
        same("when the second ends", &self.deleted_at(&node, second).await?, &None)?;
        // Once the first one's replacement is ready.
        let mut answer = Eviction::Blocked;
        for _ in 0..ATTEMPTS_MAX {
            answer = self.port.evict(&request(second, None)).await?;
            if answer != Eviction::Blocked {
                break;
            }
            self.world.wait().await;
        }
        same("the answer in the end", &answer, &Eviction::Accepted)?;
        self.world.remove_budget("one-by-one").await;
        self.ended("one-by-one", &node).await
    }

    async fn blocked(&self) -> Result<(), Failure> {
        let (node, pods) = self.deployed("blocked", |_| {}).await?;
        let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        let count_or_percent = Some(CountOrPercent::Count(1));
        self.world.add_budget(&self.budget("blocked", "blocked", count_or_percent, None), 1).await;
        for _ in 0..3 {
            self.check(pod, None, Eviction::Blocked).await?;
        }
        same("when it ends", &self.deleted_at(&node, pod).await?, &None)?;
        self.world.remove_budget("blocked").await;
        self.check(pod, None, Eviction::Accepted).await?;
        self.ended("blocked", &node).await
    }

    async fn two_budgets(&self) -> Result<(), Failure> {
        let (node, pods) = self.deployed("two-budgets", |_| {}).await?;
        let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        let none = Some(CountOrPercent::Count(0));
        for name in ["two-budgets-1", "two-budgets-2"] {
            self.world.add_budget(&self.budget(name, "two-budgets", none, None), 1).await;
        }
        self.check(pod, None, Eviction::Blocked).await?;
        self.world.remove_budget("two-budgets-1").await;
        self.check(pod, None, Eviction::Accepted).await?;
        self.world.remove_budget("two-budgets-2").await;
        self.ended("two-budgets", &node).await
    }

    async fn shares(&self) -> Result<(), Failure> {
        let change = |workload: &mut Deployed| {
            workload.replicas = 3;
            workload.is_slow = true;
        };
        let (node, pods) = self.deployed("shares", change).await?;
        let [first, second, _] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        // 34 % of three pods are two of them: shares are rounded up, also those that must stay.
        let budget = self.budget("shares", "shares", Some(CountOrPercent::Percent(34)), None);
        self.world.add_budget(&budget, 3).await;
        self.check(first, None, Eviction::Accepted).await?;
        self.check(second, None, Eviction::Blocked).await?;
        self.world.remove_budget("shares").await;
        self.ended("shares", &node).await
    }

    async fn not_running(&self) -> Result<(), Failure> {
        let count_or_percent = Some(CountOrPercent::Count(1));
        for (name, state) in [("starting", PodState::Starting), ("succeeded", PodState::Succeeded)]
        {
            let (node, pods) = self.deployed(name, |workload| workload.state = state).await?;
            let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
            self.world.add_budget(&self.budget(name, name, count_or_percent, None), 0).await;
            self.check(pod, None, Eviction::Accepted).await?;
            if state == PodState::Succeeded {
                // Nothing has to end any more.
                same("what is left", &self.seen(&node, pod).await?.map(|pod| pod.key), &None)?;
            }
            self.gone(&node, pod).await?;
            self.world.remove_budget(name).await;
            self.ended(name, &node).await?;
        }
        Ok(())
    }

    async fn forced(&self) -> Result<(), Failure> {
        let change = |workload: &mut Deployed| {
            workload.grace_seconds = 600;
            workload.is_slow = true;
        };
        let (node, pods) = self.deployed("forced", change).await?;
        let [pod] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        let none = Some(CountOrPercent::Count(0));
        self.world.add_budget(&self.budget("forced", "forced", None, none), 1).await;
        self.check(pod, None, Eviction::Blocked).await?;
        self.check(pod, Some(300), Eviction::Accepted).await?;
        let first = self
            .deleted_at(&node, pod)
            .await?
            .ok_or_else(|| Failure("it is not being deleted".to_owned()))?;
        // A longer time changes nothing, and a shorter one counts from the first request on.
        self.check(pod, Some(900), Eviction::Accepted).await?;
        same("when it ends", &self.deleted_at(&node, pod).await?, &Some(first))?;
        self.check(pod, Some(60), Eviction::Accepted).await?;
        let sooner = first.checked_sub(SignedDuration::from_secs(240)).ok();
        same("when it ends", &self.deleted_at(&node, pod).await?, &sooner)?;
        self.check(pod, None, Eviction::Accepted).await?;
        same("when it ends", &self.deleted_at(&node, pod).await?, &sooner)?;
        self.world.remove_budget("forced").await;
        self.ended("forced", &node).await
    }

    async fn longer(&self) -> Result<(), Failure> {
        let change = |workload: &mut Deployed| {
            workload.replicas = 2;
            workload.grace_seconds = 600;
            workload.is_slow = true;
        };
        let (node, pods) = self.deployed("longer", change).await?;
        let [first, second] = pods.as_slice() else { return Err(Failure(format!("{pods:?}"))) };
        self.check(first, None, Eviction::Accepted).await?;
        self.check(second, Some(900), Eviction::Accepted).await?;
        let first = self.deleted_at(&node, first).await?.unwrap_or(Timestamp::MAX);
        let second = self.deleted_at(&node, second).await?.unwrap_or(Timestamp::MIN);
        let seconds = second.duration_since(first).as_secs();
        ensure((299..330).contains(&seconds), || format!("it ends {seconds} s later"))?;
        self.ended("longer", &node).await
    }
}
