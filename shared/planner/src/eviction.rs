//! What pods say about being moved: protection, PodDisruptionBudgets and what moving them costs.
//!
//! Karpenter: `pkg/utils/pod/scheduling.go`, `pkg/utils/pdb/pdb.go`, `pkg/utils/disruption/disruption.go`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    Namespace, Pod, PodKey, Taint, TaintEffect,
    eviction::{CountOrPercent, PodDisruptionBudget},
    facts::Facts,
    labels,
    policies::Policies,
    taint,
};

/// What moving a pod costs when nothing speaks for or against it. All costs are counted in
/// 134,217,728ths of it, in which every part of Karpenter's sum is whole.
pub const COST_UNIT: i64 = 1 << 27;
const COST_MAX: i64 = 10 * COST_UNIT;

/// What moving `pod` costs: 1, more or less by what its annotations say and by its priority, between
/// −10 and 10. An annotation that is no 32-bit integer says nothing, and hides the other one all the
/// same. Where Karpenter writes deletion costs itself, only the annotation of its own counts.
pub fn eviction_cost(pod: &Pod, policies: &Policies) -> i64 {
    let annotations = &pod.spec.annotations;
    let annotation = annotations.get(labels::DISRUPTION_COST).or_else(|| {
        let is_ours = policies.pod_deletion_cost_management;
        annotations.get(labels::POD_DELETION_COST).filter(|_| !is_ours)
    });
    let deletion_cost = annotation.and_then(|text| text.parse::<i32>().ok()).map_or(0, i64::from);
    let priority = i64::from(pod.spec.priority);
    (COST_UNIT + deletion_cost + 4 * priority).clamp(-COST_MAX, COST_MAX)
}

/// What moving the pods of a node costs: 1 for the node, and what each pod that would need another
/// node costs, if that is above 0.
pub fn reschedule_cost<'a>(pods: impl IntoIterator<Item = &'a Pod>, policies: &Policies) -> u64 {
    let of_pods = pods.into_iter().map(|pod| eviction_cost(pod, policies).max(0));
    let total = of_pods.fold(COST_UNIT, i64::saturating_add);
    u64::try_from(total).unwrap_or_default()
}

pub(crate) fn is_active(pod: &Pod) -> bool {
    !pod.is_terminal() && !pod.is_terminating()
}

/// The taint that keeps new pods away from a node that is disrupted.
pub fn disrupted_taint() -> Taint {
    Taint {
        key: labels::DISRUPTED_TAINT.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    }
}

/// The taint of a node that is rebooted.
///
/// Karpenter 1.15: `pkg/apis/v1/taints.go`.
pub fn rebooting_taint() -> Taint {
    Taint { key: labels::REBOOTING_TAINT.to_owned(), ..disrupted_taint() }
}

/// Whether a pod stays on such a node as long as it likes.
pub fn tolerates_disruption(pod: &Pod) -> bool {
    !pod.spec.tolerations.is_empty()
        && taint::untolerated([&disrupted_taint()], &pod.spec.tolerations).is_empty()
}

/// From when on a pod is made to leave, whatever protects it, to be gone by `deadline`.
pub fn forced_at(pod: &Pod, deadline: Timestamp) -> Timestamp {
    let grace = SignedDuration::from_secs(i64::from(pod.spec.termination_grace_seconds));
    deadline.checked_sub(grace).unwrap_or(Timestamp::MIN)
}

/// Why a pod may not be moved now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Immovable {
    /// It has the annotation `karpenter.sh/do-not-disrupt`.
    #[error(
        "blocked by the annotation {key} of pod {pod}{}",
        .until.map(|until| format!(" until {until}")).unwrap_or_default(),
        key = labels::DO_NOT_DISRUPT
    )]
    Protected {
        /// The pod.
        pod: PodKey,
        /// When the annotation stops to protect it, where it says so and the pod has started.
        until: Option<Timestamp>,
    },
    /// Two PodDisruptionBudgets select it, and the eviction API refuses to choose.
    #[error("pod {pod} has two PodDisruptionBudgets, {first} and {second}: it cannot be evicted")]
    TwoBudgets {
        /// The pod.
        pod: PodKey,
        /// The first PodDisruptionBudget, by namespace and name.
        first: PodKey,
        /// The second one.
        second: PodKey,
    },
    /// A PodDisruptionBudget allows no disruption.
    #[error("PodDisruptionBudget {budget} allows no disruption of pod {pod}")]
    Budget {
        /// The pod.
        pod: PodKey,
        /// The PodDisruptionBudget, by namespace and name.
        budget: PodKey,
    },
}

impl Immovable {
    /// Why `pod` may not be moved now because of its annotation, if so.
    pub fn protection(pod: &Pod, now: Timestamp) -> Option<Self> {
        let until = pod.protected_until();
        pod.is_protected(now).then(|| Self::Protected { pod: pod.key.clone(), until })
    }
}

/// Whether the eviction API would be asked to move it.
fn is_evictable(pod: &Pod, now: Timestamp) -> bool {
    is_active(pod) && !pod.is_mirror() && !pod.is_protected(now) && !tolerates_disruption(pod)
}

/// PodDisruptionBudgets by namespace.
#[derive(Debug, Default)]
pub struct DisruptionBudgets<'a> {
    by_namespace: BTreeMap<&'a Namespace, Vec<&'a PodDisruptionBudget>>,
}

impl<'a> DisruptionBudgets<'a> {
    /// Indexes the PodDisruptionBudgets of `facts` by namespace.
    pub fn of(facts: &'a Facts) -> Self {
        let mut by_namespace: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for budget in &facts.surroundings.disruption_budgets {
            by_namespace.entry(&budget.key.namespace).or_default().push(budget);
        }
        Self { by_namespace }
    }

    /// Why `pod` may not be evicted now, if a budget forbids it.
    pub fn objection(&self, pod: &Pod, now: Timestamp) -> Option<Immovable> {
        self.blocking(pod, now, |budget| budget.disruptions_allowed == 0)
    }

    /// Whether a budget forbids for good to evict `pod`: it is not known when it will leave.
    pub fn blocks_for_good(&self, pod: &Pod, now: Timestamp) -> bool {
        self.blocking(pod, now, allows_nothing_ever).is_some()
    }

    fn blocking(
        &self,
        pod: &Pod,
        now: Timestamp,
        is_closed: impl Fn(&PodDisruptionBudget) -> bool,
    ) -> Option<Immovable> {
        let candidates = self.by_namespace.get(&pod.key.namespace)?;
        if !is_evictable(pod, now) {
            return None;
        }
        let selects = |budget: &&&PodDisruptionBudget| {
            budget.selector.as_ref().is_some_and(|selector| selector.selects(&pod.spec.labels))
        };
        let mut filter = candidates.iter().filter(selects);
        let first = filter.next()?;
        if let Some(second) = filter.next() {
            let (pod, first, second) = (pod.key.clone(), first.key.clone(), second.key.clone());
            return Some(Immovable::TwoBudgets { pod, first, second });
        }
        let may_go = first.always_allows_unhealthy && !pod.is_ready;
        (!may_go && is_closed(first))
            .then(|| Immovable::Budget { pod: pod.key.clone(), budget: first.key.clone() })
    }

    /// Whether a new place is looked for when the node of `pod` goes away.
    pub fn may_move(&self, pod: &Pod, now: Timestamp) -> bool {
        pod.is_reschedulable() && !pod.is_protected(now) && !self.blocks_for_good(pod, now)
    }
}

fn allows_nothing_ever(budget: &PodDisruptionBudget) -> bool {
    let none = [CountOrPercent::Count(0), CountOrPercent::Percent(0)];
    budget.max_unavailable.is_some_and(|most| none.contains(&most))
        || budget.min_available == Some(CountOrPercent::Percent(100))
}
