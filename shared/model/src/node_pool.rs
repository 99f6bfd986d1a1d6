//! NodePools: what may be launched, within which limits, and how nodes are disrupted.
//!
//! Karpenter: `pkg/apis/v1/nodepool.go`.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::{
    Condition, ConditionKind, ConditionReason, CronSchedule, HourlyPrice, InvalidSchedule,
    NodeClassName, NodePoolName, Problem, Requirements, ResourceName, Resources, Taint,
    disruption::DisruptionReason, labels, policies::Packing, problem::Weight, resources, schedule,
};

pub mod registrations;
mod status;

pub use registrations::{LaunchedSpec, RegistrationFailure, RegistrationOutcome, Registrations};
pub use status::{ClassReadiness, NodePoolStatus, ObservedNodePool, TypeMatch};

/// A NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePool {
    /// Its name.
    pub name: NodePoolName,
    /// Annotations of Karpenter's own domain, its drift hash among them.
    pub annotations: BTreeMap<String, String>,
    /// `spec.weight`, 0 when absent: pools with more weight are tried first.
    pub weight: u32,
    /// `spec.replicas`: a static pool. It takes no pending pods.
    pub replicas: Option<u64>,
    /// `spec.limits`.
    pub limits: Limits,
    /// What its claims look like.
    pub template: NodeClaimTemplate,
    /// How its nodes are disrupted.
    pub disruption: Disruption,
    /// Whether it is being deleted: it launches nothing more.
    pub is_deleting: bool,
    /// Why it cannot be used, by the object's own rules (validation, not supported yet), if so.
    pub problems: Vec<Problem>,
}

/// The most that a pool may own, by resource and in the unit of [`Resources::get`]; `nodes` counts
/// nodes. A resource that is not named is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits(pub BTreeMap<ResourceName, u64>);

/// What the claims of a pool look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClaimTemplate {
    /// Labels of the nodes.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the nodes.
    pub annotations: BTreeMap<String, String>,
    /// The EC2NodeClass.
    pub node_class: NodeClassName,
    /// What may be launched, without the labels.
    pub requirements: Requirements,
    /// Taints that stay.
    pub taints: Vec<Taint>,
    /// Taints that something on the node takes away when it is ready.
    pub startup_taints: Vec<Taint>,
    /// The age at which nodes are replaced; `None` is never. 720 hours unless given.
    pub expire_after: Option<SignedDuration>,
    /// How long pods may take to leave; `None` is as long as they want.
    pub termination_grace_period: Option<SignedDuration>,
}

/// When nodes are disrupted for cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsolidationPolicy {
    /// Only nodes without pods of their own.
    WhenEmpty,
    /// Nodes whose pods fit elsewhere for less as well.
    #[default]
    WhenEmptyOrUnderutilized,
    /// The same, weighing savings against disruption.
    Balanced,
}

/// How the nodes of a pool are disrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// How long a node must be without a pod change before it is consolidated; `None` is never.
    pub consolidate_after: Option<SignedDuration>,
    /// Which nodes.
    pub policy: ConsolidationPolicy,
    /// How many at once: the least of the budgets that apply.
    pub budgets: Vec<Budget>,
}

impl Default for Disruption {
    /// What an absent block means: `consolidateAfter: 0s` and one budget of 10 %.
    fn default() -> Self {
        let nodes = BudgetNodes::Percent(10);
        let budget = Budget { nodes, reasons: Vec::new(), window: None };
        Self {
            consolidate_after: Some(SignedDuration::ZERO),
            policy: ConsolidationPolicy::default(),
            budgets: vec![budget],
        }
    }
}

/// How many nodes of a pool may be disrupted at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many.
    pub nodes: BudgetNodes,
    /// For which reasons; empty is for all.
    pub reasons: Vec<DisruptionReason>,
    /// When it applies; `None` is always.
    pub window: Option<BudgetWindow>,
}

/// A count of nodes, or a share of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetNodes {
    /// A number.
    Count(u32),
    /// A share in per cent, rounded up. 0 to 100.
    Percent(u32),
}

/// From each hit of a schedule on, for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetWindow {
    /// Five fields of cron, in UTC or in the time zone before them, or a name such as `@daily`; or a text that cannot be
    /// read.
    pub schedule: String,
    /// For how long.
    pub duration: SignedDuration,
}

impl BudgetWindow {
    /// `schedule`, read.
    pub fn read_schedule(&self) -> Result<CronSchedule, InvalidSchedule> {
        CronSchedule::parse(&self.schedule)
    }

    /// The time zone in whose time `schedule` is; `None` is UTC.
    pub fn zone(&self) -> Option<&str> {
        schedule::zone_of(&self.schedule)
    }
}

impl Limits {
    /// The first resource of which `used` is above the limit, with usage and limit as Kubernetes
    /// shows them. `nodes` is compared with `nodes_used`.
    pub fn exceeded_by(&self, used: &Resources, nodes_used: u64) -> Option<String> {
        let shown = |name: &ResourceName, used: u64, limit: u64| {
            let name = name.as_str();
            let show = |amount| resources::format_amount(name, amount);
            format!("{name} usage of {} exceeds limit of {}", show(used), show(limit))
        };
        self.0.iter().find_map(|(name, limit)| {
            let used = if name.as_str() == "nodes" { nodes_used } else { used.get(name.as_str()) };
            (used > *limit).then(|| shown(name, used, *limit))
        })
    }
}

/// Reads a share of a pool, such as `20%`: a whole number of per cent from 1 to 100.
pub fn parse_share(text: &str) -> Option<u32> {
    let digits = text.strip_suffix('%').filter(|digits| !digits.starts_with('+'))?;
    digits.parse().ok().filter(|share| (1..=100).contains(share))
}

impl NodePool {
    /// How pods are packed onto its nodes, where it says so itself. An unreadable value counts as not set:
    /// the reader of the object reports it.
    pub fn packing(&self) -> Option<Packing> {
        Packing::parse(self.annotations.get(labels::PACKING)?)
    }

    /// How much of what its pods request a new node with several pods may hold, in per cent, where it says so. What
    /// cannot be read counts as not set: the reader of the object reports it.
    pub fn max_node_share(&self) -> Option<u32> {
        parse_share(self.annotations.get(labels::MAX_NODE_SHARE)?)
    }

    /// What its nodes may cost together, where it says so. An unreadable value allows nothing: the reader of
    /// the object reports it.
    pub fn dollars_per_hour_max(&self) -> Option<HourlyPrice> {
        let text = self.annotations.get(labels::MAX_DOLLARS_PER_HOUR)?;
        Some(HourlyPrice::parse_dollars(text).unwrap_or_default())
    }

    /// What is wrong with its budgets: while anything is, they allow no disruption, for any reason.
    pub fn unreadable_budgets(&self) -> impl Iterator<Item = Problem> {
        self.budget_windows().filter_map(|(field, window)| {
            let rule = window.read_schedule().err()?.to_string().into();
            Some(Problem { weight: Weight::ClosesDisruption, field, rule })
        })
    }

    /// The windows of its budgets, each with the field of its schedule.
    pub fn budget_windows(&self) -> impl Iterator<Item = (String, &BudgetWindow)> {
        let windows = self.disruption.budgets.iter().map(|budget| &budget.window).enumerate();
        windows.filter_map(|(index, window)| {
            Some((format!("spec.disruption.budgets[{index}].schedule"), window.as_ref()?))
        })
    }

    /// The condition `ValidationSucceeded`: whether the pool is right by Karpenter's own validation. It holds where
    /// only budgets cannot be read, with that as its message: the pool launches.
    ///
    /// Karpenter: `pkg/controllers/nodepool/validation/controller.go`.
    pub fn validation(&self) -> Condition {
        let kind = ConditionKind::ValidationSucceeded;
        if self.problems.is_empty() {
            let closing: Vec<Problem> = self.unreadable_budgets().collect();
            let message = match closing.as_slice() {
                [] => String::new(),
                closing => format!("its nodes are not disrupted: {}", Problem::in_words(closing)),
            };
            return Condition { message, ..Condition::holds(kind) };
        }
        let reason = ConditionReason::NodePoolValidationFailed;
        Condition::fails(kind, reason, Problem::in_words(&self.problems))
    }

    /// Whether it may launch nodes for pending pods.
    pub fn is_usable(&self) -> bool {
        self.replicas.is_none() && !self.is_deleting && self.problems.is_empty()
    }
}
