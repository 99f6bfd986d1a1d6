//! What the suites of a cluster's ports need of others: kubelets that register nodes, people who deploy.

use model::{InstanceId, Namespace, NodeName, Pod, eviction::PodDisruptionBudget};
use ports::Nodes;

use super::{ATTEMPTS_MAX, Failure, ensure};

/// How far the pods of a [`Deployed`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodState {
    /// The scheduler found no node for them.
    Unschedulable,
    /// They are bound to their node, and their containers do not run yet.
    Starting,
    /// They run and are ready.
    Running,
    /// Their containers ended well.
    Succeeded,
}

/// Pods of one workload that are alike.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The workload's name, which its pods have as their label `app`.
    pub name: String,
    /// The only node that they may go to, by its label `kubernetes.io/hostname`. `None` with
    /// [`PodState::Unschedulable`].
    pub node: Option<NodeName>,
    /// How many there are.
    pub replicas: u32,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace_seconds: u32,
    /// Whether their containers take seconds to start and long to end, so that a test can look at them
    /// meanwhile.
    pub is_slow: bool,
    /// How far they are.
    pub state: PodState,
}

impl Deployed {
    /// One running pod on `node` that ends at once when it is asked to.
    pub fn running(name: &str, node: &NodeName) -> Self {
        let (name, node, state) = (name.to_owned(), Some(node.clone()), PodState::Running);
        Self { name, node, replicas: 1, grace_seconds: 30, is_slow: false, state }
    }
}

/// What others do to a cluster. Workloads are a Deployment's, or a Job's where
/// they are to succeed: a lost pod is made again.
pub trait ClusterWorld {
    /// The namespace of everything that is made here and has one; no other program uses it.
    fn namespace(&self) -> Namespace;
    /// The kubelet of an instance registers its node, which becomes ready and takes every pod. The name
    /// ends in `suffix`, where the world can choose it.
    async fn join(&self, suffix: &str) -> (NodeName, InstanceId);
    /// Makes a workload, and waits until all of its pods are as far as it says.
    async fn deploy(&self, workload: &Deployed);
    /// Deletes a workload and its pods, and waits for nothing.
    async fn undeploy(&self, name: &str);
    /// Makes a PodDisruptionBudget (`disruptions_allowed` is not written), and waits until
    /// its status counts `healthy` pods.
    async fn add_budget(&self, budget: &PodDisruptionBudget, healthy: u32);
    /// Deletes the PodDisruptionBudget called `name`.
    async fn remove_budget(&self, name: &str);
    /// Lets some time pass, real or virtual: a second or less.
    async fn wait(&self);
}

/// The pods of the world's namespace that `port` lists on `node`, asked until `is_right`; the last answer in any case.
pub(super) async fn pods_on<P: Nodes, W: ClusterWorld>(
    port: &P,
    world: &W,
    node: &NodeName,
    is_right: impl Fn(&[Pod]) -> bool,
) -> Result<Vec<Pod>, Failure> {
    let mut pods = Vec::new();
    for _ in 0..ATTEMPTS_MAX {
        let listing = port.pods_on(node).await?;
        ensure(listing.malformed.is_empty(), || format!("malformed: {:?}", listing.malformed))?;
        pods = listing.items;
        pods.retain(|pod| pod.key.namespace == world.namespace());
        if is_right(&pods) {
            break;
        }
        world.wait().await;
    }
    Ok(pods)
}
