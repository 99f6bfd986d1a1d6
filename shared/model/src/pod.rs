//! Pods: only what decisions read.

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use crate::{
    Namespace, NodeName, ObjectName, PodUid, Problem, Requirement, Requirements, Resources,
    Toleration,
    dynamic_resources::PodClaims,
    problem::Rule,
    storage::PodVolume,
    topology::{PodAffinity, SpreadConstraint, Weighted},
};

/// What names a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: ObjectName,
}

impl fmt::Display for PodKey {
    /// `namespace/name`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodPhase {
    /// Waits for a node, or for its containers to start.
    #[default]
    Pending,
    /// At least one container runs.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
}

/// What controls a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// Such as `apps/v1`.
    pub api_version: String,
    /// Such as `ReplicaSet`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What the annotation [`POD_DELETION_COST`](crate::labels::POD_DELETION_COST) of a pod is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionCost {
    /// The pod.
    pub pod: PodKey,
    /// The lower it is, the sooner its ReplicaSet deletes the pod; `None` takes the annotation away.
    pub cost: Option<i32>,
}

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Namespace and name.
    pub key: PodKey,
    /// `metadata.uid`.
    pub uid: PodUid,
    /// `metadata.creationTimestamp`.
    pub created_at: Timestamp,
    /// `metadata.deletionTimestamp`: being deleted, with its grace period counted in.
    pub deleted_at: Option<Timestamp>,
    /// Where it is in its life.
    pub phase: PodPhase,
    /// `status.startTime`.
    pub started_at: Option<Timestamp>,
    /// When kube-scheduler said `Unschedulable`: the last transition of that condition.
    pub unschedulable_at: Option<Timestamp>,
    /// `spec.nodeName`.
    pub node: Option<NodeName>,
    /// `status.nominatedNodeName`: it waits for a victim of preemption.
    pub nominated_node: Option<NodeName>,
    /// The controller, of its owners.
    pub owner: Option<Arc<Owner>>,
    /// Whether its condition `Ready` is true.
    pub is_ready: bool,
    /// Volumes that are PersistentVolumeClaims. Not part of `spec`: the pods of a StatefulSet have
    /// claims of their own.
    pub volumes: Vec<PodVolume>,
    /// `status.resourceClaimStatuses`: by a name of the spec's `claims`, the ResourceClaim that was made for it; `None` if
    /// none is needed.
    pub made_claims: BTreeMap<String, Option<ObjectName>>,
    /// What pods of one workload share.
    pub spec: Arc<PodSpec>,
}

/// The part of a pod that the pods of one workload share. Pods with equal specs schedule alike, unless
/// claims are made for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodSpec {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations of Karpenter's own domain and the pod's deletion cost; others decide nothing.
    pub annotations: BTreeMap<String, String>,
    /// Effective requests by Kubernetes' rules, with `pods: 1`.
    pub requests: Resources,
    /// `spec.nodeSelector` as requirements.
    pub node_selector: Requirements,
    /// Required node affinity: alternatives, the first of which holds until it is relaxed.
    pub required_terms: Vec<Vec<Requirement>>,
    /// Preferred node affinity.
    pub preferred_terms: Vec<Weighted<Vec<Requirement>>>,
    /// `matchFields` of required node affinity: Karpenter rejects a pod that has any.
    pub has_match_fields: bool,
    /// What each of `required_terms` asks of the name of the node in its `matchFields`; empty where none asks. Pods of a
    /// DaemonSet, whose node is the only difference between them, and stored pods are read without it.
    pub match_fields: Vec<Vec<Requirement>>,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Topology spread constraints.
    pub spread: Vec<SpreadConstraint>,
    /// Pod affinity.
    pub pod_affinity: PodAffinity,
    /// Pod anti-affinity.
    pub pod_anti_affinity: PodAffinity,
    /// Ports of the node that its containers take.
    pub host_ports: Vec<HostPort>,
    /// The ResourceClaims that it names.
    pub claims: PodClaims,
    /// `spec.priority`.
    pub priority: i32,
    /// `spec.priorityClassName`; empty when there is none.
    pub priority_class: String,
    /// `spec.terminationGracePeriodSeconds`.
    pub termination_grace_seconds: u32,
    /// What it asks for that the scheduler does not honor yet; fields are those within the pod's own
    /// `spec`. Such a pod is reported and never placed.
    pub problems: Vec<Problem>,
}

/// A port of the node, by Kubernetes' rules of what is in the way of what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// `hostIP`; `0.0.0.0` when absent.
    pub ip: std::net::IpAddr,
    /// `hostPort`.
    pub port: u16,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
}

impl HostPort {
    /// Whether both cannot be taken on one node: the same port and protocol, and the same address
    /// or an unspecified one.
    ///
    /// Karpenter: `pkg/scheduling/hostportusage.go`.
    pub fn conflicts(&self, other: &Self) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip == other.ip || self.ip.is_unspecified() || other.ip.is_unspecified())
    }
}

impl Pod {
    /// A pod without owner and volumes that was made at `at`, and for which kube-scheduler found no room then.
    pub const fn waiting(key: PodKey, uid: PodUid, spec: Arc<PodSpec>, at: Timestamp) -> Self {
        Self {
            key,
            uid,
            created_at: at,
            deleted_at: None,
            phase: PodPhase::Pending,
            started_at: None,
            unschedulable_at: Some(at),
            node: None,
            nominated_node: None,
            owner: None,
            is_ready: false,
            volumes: Vec::new(),
            made_claims: BTreeMap::new(),
            spec,
        }
    }

    /// A digest of namespace and owner: the same for all pods that are made again by the same controller.
    /// `None` for a pod without a controller.
    pub fn workload(&self) -> Option<u64> {
        let owner = self.owner.as_ref()?;
        let text = format!("{}/{}/{}", self.key.namespace, owner.kind, owner.name);
        Some(crate::ledger::digest(text.as_bytes()))
    }

    /// Whether a node must be found for it: kube-scheduler marked it unschedulable, nothing is nominated, and it
    /// is not one that a DaemonSet or a kubelet puts onto its own node.
    ///
    /// Karpenter: `pkg/utils/pod/scheduling.go`, `IsProvisionable`.
    pub fn is_provisionable(&self) -> bool {
        self.unschedulable_at.is_some()
            && self.node.is_none()
            && self.nominated_node.is_none()
            && !self.is_owned_by_daemon_set()
            && !self.is_mirror()
    }

    /// Whether the API server's object cannot be read, and this is what could be read of it: its name, its
    /// node, and little else. It is never taken for absent.
    pub fn is_unreadable(&self) -> bool {
        self.spec.problems.iter().any(|problem| matches!(problem.rule, Rule::Unreadable(_)))
    }

    /// Whether it ended.
    pub fn is_terminal(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether it is being deleted.
    pub fn is_terminating(&self) -> bool {
        self.deleted_at.is_some()
    }

    /// Whether a DaemonSet controls it.
    pub fn is_owned_by_daemon_set(&self) -> bool {
        self.is_owned_by_app("DaemonSet")
    }

    /// Whether a StatefulSet controls it.
    fn is_owned_by_stateful_set(&self) -> bool {
        self.is_owned_by_app("StatefulSet")
    }

    /// Whether a ReplicaSet controls it, which makes another as soon as this one is being deleted.
    ///
    /// Kubernetes: `pkg/controller/replicaset/replica_set.go`, `FilterActivePods`.
    pub fn is_owned_by_replica_set(&self) -> bool {
        self.is_owned_by_app("ReplicaSet")
    }

    fn is_owned_by_app(&self, kind: &str) -> bool {
        self.owner.as_ref().is_some_and(|o| o.api_version == "apps/v1" && o.kind == kind)
    }

    /// When it was asked to end, if it was: with less than its own grace period, earlier than it was.
    pub fn asked_at(&self) -> Option<Timestamp> {
        let grace = SignedDuration::from_secs(i64::from(self.spec.termination_grace_seconds));
        Some(self.deleted_at?.checked_sub(grace).unwrap_or(Timestamp::MIN))
    }

    /// Whether it mirrors a static pod of its node.
    pub fn is_mirror(&self) -> bool {
        self.owner.as_ref().is_some_and(|o| o.api_version == "v1" && o.kind == "Node")
    }

    /// Whether it would need another node if its own went away: active, or terminating and of a
    /// StatefulSet, and not of a DaemonSet or a mirror.
    ///
    /// Karpenter: `pkg/utils/pod/scheduling.go`, `IsReschedulable`.
    pub fn is_reschedulable(&self) -> bool {
        let active = !self.is_terminal() && !self.is_terminating();
        (active || !self.is_terminal() && self.is_owned_by_stateful_set())
            && !self.is_owned_by_daemon_set()
            && !self.is_mirror()
    }

    /// Whether its annotation keeps it from voluntary disruption at `now`: `true`, or a positive
    /// duration that has not passed since its start. A bad duration protects nothing.
    ///
    /// Karpenter: `pkg/utils/pod/scheduling.go`, `HasDoNotDisrupt`.
    pub fn is_protected(&self, now: Timestamp) -> bool {
        if self.is_terminal() || self.is_terminating() {
            return false;
        }
        match self.do_not_disrupt() {
            Some(DoNotDisrupt::Always) => true,
            Some(DoNotDisrupt::For(duration)) => self.started_at.is_none_or(|started_at| {
                started_at.checked_add(duration).is_ok_and(|ends_at| now < ends_at)
            }),
            None => false,
        }
    }

    /// When the annotation that protects it stops to; `None` where it does not, or where that is not known because the
    /// pod has not started.
    pub fn protected_until(&self) -> Option<Timestamp> {
        match self.do_not_disrupt()? {
            DoNotDisrupt::Always => None,
            DoNotDisrupt::For(duration) => self.started_at?.checked_add(duration).ok(),
        }
    }

    fn do_not_disrupt(&self) -> Option<DoNotDisrupt> {
        DoNotDisrupt::parse(self.spec.annotations.get(crate::labels::DO_NOT_DISRUPT)?)
    }
}

/// For how long the annotation `karpenter.sh/do-not-disrupt` keeps a pod from voluntary disruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoNotDisrupt {
    /// `true`.
    Always,
    /// So long from the pod's start.
    For(SignedDuration),
}

impl DoNotDisrupt {
    /// Reads the value of the annotation: `true`, or a duration above zero such as `30m`. `None` of any other,
    /// which protects nothing.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "true" {
            return Some(Self::Always);
        }
        let duration = crate::duration::parse_go(text).ok()?;
        duration.is_positive().then_some(Self::For(duration))
    }
}

impl PodSpec {
    /// That its annotation `karpenter.sh/do-not-disrupt` protects nothing though its writer meant it to, with the cure;
    /// `None` if it protects, is missing or is `false`.
    pub fn ineffective_do_not_disrupt(&self) -> Option<String> {
        let key = crate::labels::DO_NOT_DISRUPT;
        let text = self.annotations.get(key).filter(|text| *text != "false")?;
        let why = "which protects nothing: write `true`, or a duration such as `30m`";
        DoNotDisrupt::parse(text).is_none().then(|| format!("annotation {key} is `{text}`, {why}"))
    }

    /// What it asks of a node's labels: its node selector and the `term`th of its required affinity
    /// terms, if it has any.
    pub fn requirements(&self, term: usize) -> Requirements {
        let mut requirements = self.node_selector.clone();
        for requirement in self.required_terms.get(term).into_iter().flatten() {
            requirements.add(requirement.clone());
        }
        requirements
    }
}

/// Requests of one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerRequests {
    /// What it requests; limits stand in for what it does not name.
    pub requests: Resources,
    /// An init container with `restartPolicy: Always`: it keeps running beside the others.
    pub is_sidecar: bool,
}

/// What a pod takes of a node: the larger of what its containers with all sidecars need together
/// and what any init step needs with the sidecars started before it; pod-level resources in place
/// of the sum where they are set; overhead on top; one of `pods`.
///
/// <https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers>
pub fn effective_requests(
    init_containers: &[ContainerRequests],
    containers: &[ContainerRequests],
    pod_level: Option<&Resources>,
    overhead: &Resources,
) -> Resources {
    let mut sidecars = Resources::default();
    let mut largest_step = Resources::default();
    for container in init_containers {
        let step = sidecars.saturating_add(&container.requests);
        if container.is_sidecar {
            sidecars = step.clone();
        }
        largest_step = largest_step.larger(&step);
    }
    let running = containers.iter().fold(sidecars, |sum, c| sum.saturating_add(&c.requests));
    let mut resources = running.larger(&largest_step);
    if let Some(pod_level) = pod_level {
        for (name, amount) in pod_level_amounts(pod_level) {
            resources.set(&name, amount);
        }
    }
    let mut total = resources.saturating_add(overhead);
    total.pods = 1;
    total
}

fn pod_level_amounts(pod_level: &Resources) -> Vec<(crate::ResourceName, u64)> {
    let named = pod_level
        .iter()
        .filter_map(|(name, amount)| Some((crate::ResourceName::new(name).ok()?, amount)));
    named.collect()
}

/// Gives each of `pods` the spec that `change` makes of its own; `None` leaves it. Pods that share a spec and have one
/// `alike` share the new one as well, and `change` is asked once for them.
pub(crate) fn change_specs<'p, K: Ord>(
    pods: impl IntoIterator<Item = &'p mut Pod>,
    alike: impl Fn(&Pod) -> K,
    change: impl Fn(&Pod) -> Option<Arc<PodSpec>>,
) {
    // The old spec is kept with the new one, so that no other spec takes its address.
    let mut made: BTreeMap<_, (Arc<PodSpec>, Option<Arc<PodSpec>>)> = BTreeMap::new();
    for pod in pods {
        let key = (Arc::as_ptr(&pod.spec), alike(pod));
        let (_, changed) = made.entry(key).or_insert_with(|| (Arc::clone(&pod.spec), change(pod)));
        if let Some(changed) = changed {
            pod.spec = Arc::clone(changed);
        }
    }
}
