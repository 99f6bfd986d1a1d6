//! Pods and DaemonSets.

use std::{net::Ipv4Addr, sync::Arc};

use jiff::Timestamp;
use model::{
    Pod, PodKey, PodSpec, Resources, Toleration,
    facts::DaemonSet,
    labels,
    pod::{HostPort, Owner, PodPhase},
    storage::PodVolume,
    topology::{PodAffinityTerm, SpreadConstraint},
};

use super::{
    text::{at, id, requirement, requirements, resources},
    topology::pair,
};

/// A pod under construction; see [`pod`].
#[derive(Clone, Debug)]
pub struct PodBuilder {
    pod: Pod,
    spec: PodSpec,
}

/// Namespace `default` and `name`; or `namespace/name`.
///
/// # Panics
///
/// When `name` is none.
#[track_caller]
pub fn pod_key(name: &str) -> PodKey {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    PodKey { namespace: id(namespace), name: id(name) }
}

/// A pod of a ReplicaSet that kube-scheduler could not place a minute ago and that asks for nothing
/// but its place. `name` may be `namespace/name`.
///
/// # Panics
///
/// When `name` is no name.
#[track_caller]
pub fn pod(name: &str) -> PodBuilder {
    let pod = Pod {
        key: pod_key(name),
        uid: id(&format!("uid-{name}")),
        created_at: at("2026-08-01T11:58:00Z"),
        deleted_at: None,
        phase: PodPhase::Pending,
        started_at: None,
        unschedulable_at: Some(at("2026-08-01T11:59:00Z")),
        node: None,
        nominated_node: None,
        is_ready: false,
        volumes: Vec::new(),
        owner: Some(owner("ReplicaSet")),
        spec: Arc::default(),
    };
    let spec = PodSpec {
        requests: resources("pods=1"),
        termination_grace_seconds: 30,
        ..PodSpec::default()
    };
    PodBuilder { pod, spec }
}

/// A DaemonSet in `kube-system` whose pods request `requests` and tolerate every taint. `selector`
/// are requirements separated by `;`.
///
/// # Panics
///
/// When a text is wrong.
#[track_caller]
pub fn daemon_set(name: &str, requests: &str, selector: &str) -> DaemonSet {
    let spec = PodSpec {
        requests: Resources { pods: 1, ..resources(requests) },
        node_selector: requirements(selector),
        tolerations: vec![super::text::tolerates_everything()],
        ..PodSpec::default()
    };
    DaemonSet { key: pod_key(&format!("kube-system/{name}")), spec: Arc::new(spec) }
}

fn owner(kind: &str) -> Arc<Owner> {
    let name = "owner".to_owned();
    Arc::new(Owner { api_version: "apps/v1".to_owned(), kind: kind.to_owned(), name })
}

impl PodBuilder {
    /// Effective requests such as `cpu=500m memory=1Gi`; one of `pods` comes by itself.
    #[must_use]
    #[track_caller]
    pub fn requests(mut self, text: &str) -> Self {
        self.spec.requests = Resources { pods: 1, ..resources(text) };
        self
    }

    /// `spec.nodeSelector` as requirements separated by `;`.
    #[must_use]
    #[track_caller]
    pub fn selects(mut self, text: &str) -> Self {
        self.spec.node_selector = requirements(text);
        self
    }

    /// One more required node-affinity term: requirements separated by `;`.
    #[must_use]
    #[track_caller]
    pub fn or_requires(mut self, text: &str) -> Self {
        self.spec.required_terms.push(text.split(';').map(requirement).collect());
        self
    }

    /// One more label such as `app=web`.
    #[must_use]
    #[track_caller]
    pub fn label(mut self, text: &str) -> Self {
        let (key, value) = pair(text);
        self.spec.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// One more topology spread constraint.
    #[must_use]
    pub fn spreads(mut self, constraint: SpreadConstraint) -> Self {
        self.spec.spread.push(constraint);
        self
    }

    /// Must be near the pods of the term.
    #[must_use]
    pub fn near(mut self, term: PodAffinityTerm) -> Self {
        self.spec.pod_affinity.required.push(term);
        self
    }

    /// Must be away from the pods of the term.
    #[must_use]
    pub fn away_from(mut self, term: PodAffinityTerm) -> Self {
        self.spec.pod_anti_affinity.required.push(term);
        self
    }

    /// Takes a TCP port of its node, of all addresses.
    #[must_use]
    pub fn host_port(mut self, port: u16) -> Self {
        let ip = Ipv4Addr::UNSPECIFIED.into();
        self.spec.host_ports.push(HostPort { ip, port, protocol: "TCP".to_owned() });
        self
    }

    /// Uses a PersistentVolumeClaim of its namespace.
    #[must_use]
    #[track_caller]
    pub fn mounts(mut self, claim: &str) -> Self {
        self.pod.volumes.push(PodVolume::Claim(id(claim)));
        self
    }

    /// One more toleration.
    #[must_use]
    pub fn tolerates(mut self, toleration: Toleration) -> Self {
        self.spec.tolerations.push(toleration);
        self
    }

    /// Asks for something that is not supported yet.
    #[must_use]
    pub fn unsupported(mut self, what: &str) -> Self {
        self.spec.problems.push(model::Problem::unsupported("spec", what));
        self
    }

    /// `karpenter.sh/do-not-disrupt: "true"`.
    #[must_use]
    pub fn do_not_disrupt(mut self) -> Self {
        self.spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
        self
    }

    /// Runs on `node`.
    #[must_use]
    #[track_caller]
    pub fn on(mut self, node: &str) -> Self {
        self.pod.node = Some(id(node));
        self.pod.phase = PodPhase::Running;
        self.pod.started_at = Some(at("2026-08-01T11:59:30Z"));
        self.pod.unschedulable_at = None;
        self
    }

    /// Is in `phase`.
    #[must_use]
    pub fn phase(mut self, phase: PodPhase) -> Self {
        self.pod.phase = phase;
        self
    }

    /// Is being deleted, until `deleted_at`.
    #[must_use]
    pub fn terminating(mut self, deleted_at: Timestamp) -> Self {
        self.pod.deleted_at = Some(deleted_at);
        self
    }

    /// Is controlled by an object of `apps/v1`, such as `DaemonSet`; nobody controls it when empty.
    #[must_use]
    pub fn owned_by(mut self, kind: &str) -> Self {
        self.pod.owner = (!kind.is_empty()).then(|| owner(kind));
        self
    }

    /// The pod.
    #[must_use]
    pub fn build(self) -> Pod {
        Pod { spec: Arc::new(self.spec), ..self.pod }
    }
}
