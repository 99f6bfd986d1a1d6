//! Which requests of a cluster's API server wake functions: the one statement of it. The webhooks, what `wake` does
//! with a call, and the table in the docs are made from [`WAKE_RULES`].
//!
//! A call carries no work, as no message does: it only says that the functions should look. So a call that is lost
//! costs the wait for the next beat or schedule, and one that is forged or repeated costs a pass.

mod health;
mod key;
mod webhooks;

use jiff::SignedDuration;

use crate::{Function, api_version};

pub use health::{
    HealthChange, PODS_NOT_PUSHED_FOR, PROBE_REPORTER, PROBE_WARNING, ProbeAnswer, WakeFinding,
    WakeHealth,
};
pub use key::{InvalidWakeKey, WAKE_KEY_VARIABLE, WakeKey};
pub use webhooks::{WakeWebhooks, with_path};

/// The ValidatingWebhookConfiguration, and the end of the names of its webhooks.
pub const WEBHOOKS: &str = "journeyman";
/// The FlowSchema and the PriorityLevelConfiguration of kube-scheduler's events.
pub const EVENTS_PRIORITY: &str = "journeyman-scheduler-events";

/// Between two passes of a function that one process of `wake` asks for: requests within this time share a pass.
pub const CALLS_APART: SignedDuration = SignedDuration::from_secs(1);
/// How long a pass of a function without a pulse waits that is called. The last request that shares the pass is
/// [`CALLS_APART`] after the first, and an API server stores an object after `wake` has admitted it.
pub const CALLED_WAIT: SignedDuration = SignedDuration::from_millis(1_500);
/// `timeoutSeconds` of the webhooks: after this time the API server goes on without an answer.
pub const TIMEOUT: SignedDuration = SignedDuration::from_secs(1);

/// What a request does with its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdmissionOperation {
    /// `CREATE`
    Create,
    /// `UPDATE`, by a patch too.
    Update,
    /// `DELETE`: the first request, while finalizers still hold the object.
    Delete,
}

impl AdmissionOperation {
    /// As an AdmissionReview names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The operation called `text`; `None` for `CONNECT` and unknown ones.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete]
            .into_iter()
            .find(|operation| operation.as_str() == text)
    }
}

/// What must hold of the object before the API server calls `wake`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WakeCondition {
    /// Nothing more.
    Always,
    /// A scheduler found no node for a pod. Karpenter's events with the same reason, which Journeyman publishes too,
    /// are none of a scheduler.
    UnschedulablePod {
        /// The field of the event that names the pod.
        about: &'static str,
        /// The fields down to the component that reports it. kube-scheduler reports under the `schedulerName` of the
        /// profile, `default-scheduler` by default, so any name but Karpenter's may be a scheduler's.
        ///
        /// Kubernetes: `pkg/scheduler/profile/profile.go`, `NewRecorderFactory`.
        component: &'static [&'static str],
    },
    /// The object is new, or its `spec` changes.
    SpecChanged,
    /// The node has the label of a NodePool or of an EC2NodeClass.
    NodeOfKarpenter,
}

/// Requests for one kind that wake functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeRule {
    /// Lower-case words with hyphens; unique.
    pub name: &'static str,
    /// API group of the kind; empty for the core group.
    pub group: &'static str,
    /// Such as `NodePool`.
    pub kind: &'static str,
    /// Plural of the kind in URLs.
    pub resource: &'static str,
    /// Whether objects of the kind are in namespaces.
    pub is_namespaced: bool,
    /// Which requests.
    pub operations: &'static [AdmissionOperation],
    /// What the API server looks at before it calls.
    pub condition: WakeCondition,
    /// The functions that look then, in the order in which they are woken.
    pub functions: &'static [Function],
    /// Whether the functions look at the whole cluster, whatever they saw last. Otherwise `provision` does so only for
    /// other pods than last time: a pod that stays pending has more than one event.
    pub looks_anew: bool,
}

use AdmissionOperation::{Create, Delete, Update};

/// A change of `spec` of a kind that decisions depend on.
const fn of_spec(
    name: &'static str,
    group: &'static str,
    (kind, resource): (&'static str, &'static str),
    functions: &'static [Function],
) -> WakeRule {
    WakeRule {
        name,
        group,
        kind,
        resource,
        is_namespaced: false,
        operations: &[Create, Update],
        condition: WakeCondition::SpecChanged,
        functions,
        looks_anew: true,
    }
}

/// FailedScheduling of one of the two APIs of events. Events of a series after the second change the first.
const fn of_events(
    name: &'static str,
    group: &'static str,
    about: &'static str,
    component: &'static [&'static str],
) -> WakeRule {
    WakeRule {
        name,
        group,
        kind: "Event",
        resource: "events",
        is_namespaced: true,
        operations: &[Create, Update],
        condition: WakeCondition::UnschedulablePod { about, component },
        functions: &[Function::Provision],
        looks_anew: false,
    }
}

/// Deletions that `disrupt` commits.
const fn of_deletions(
    name: &'static str,
    group: &'static str,
    names: (&'static str, &'static str),
    condition: WakeCondition,
) -> WakeRule {
    let rule = of_spec(name, group, names, &[Function::Disrupt]);
    WakeRule { operations: &[Delete], condition, ..rule }
}

/// Every rule. No two are about one operation on one kind.
pub const WAKE_RULES: [WakeRule; 9] = [
    of_events("unschedulable-pods", "events.k8s.io", "regarding", &["reportingController"]),
    of_events("unschedulable-pods-core", "", "involvedObject", &["source", "component"]),
    of_spec(
        "node-pools",
        api_version::KARPENTER_GROUP,
        ("NodePool", "nodepools"),
        &[Function::Provision, Function::Disrupt, Function::Resolve],
    ),
    of_spec(
        "node-classes",
        api_version::AWS_GROUP,
        ("EC2NodeClass", "ec2nodeclasses"),
        &[Function::Resolve],
    ),
    of_spec(
        "node-overlays",
        api_version::KARPENTER_GROUP,
        ("NodeOverlay", "nodeoverlays"),
        &[Function::Provision, Function::Disrupt],
    ),
    WakeRule {
        is_namespaced: true,
        ..of_spec(
            "capacity-buffers",
            api_version::AUTOSCALING_GROUP,
            ("CapacityBuffer", "capacitybuffers"),
            &[Function::Provision],
        )
    },
    // `sweep` makes claims of them. Those that functions make call nothing.
    WakeRule {
        operations: &[Create],
        condition: WakeCondition::Always,
        ..of_spec(
            "node-claims-created",
            api_version::KARPENTER_GROUP,
            ("NodeClaim", "nodeclaims"),
            &[Function::Sweep],
        )
    },
    of_deletions(
        "node-claims-deleted",
        api_version::KARPENTER_GROUP,
        ("NodeClaim", "nodeclaims"),
        WakeCondition::Always,
    ),
    of_deletions("nodes-deleted", "", ("Node", "nodes"), WakeCondition::NodeOfKarpenter),
];

/// What an AdmissionReview asks, without its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionRequest {
    /// Repeated in the answer.
    pub uid: String,
    /// API group of the kind; empty for the core group.
    pub group: String,
    /// Such as `Event`.
    pub kind: String,
    /// `None`: one that no rule is about.
    pub operation: Option<AdmissionOperation>,
    /// Nothing is stored.
    pub is_dry_run: bool,
}

impl AdmissionRequest {
    /// The rule that the request falls under. `None`: the request wakes no function, as a dry run does not.
    pub fn rule(&self) -> Option<&'static WakeRule> {
        let operation = self.operation.filter(|_| !self.is_dry_run)?;
        WAKE_RULES.iter().find(|rule| {
            rule.group == self.group
                && rule.kind == self.kind
                && rule.operations.contains(&operation)
        })
    }
}
