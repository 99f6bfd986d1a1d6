//! `kubelet` of an EC2NodeClass.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::NodeClass;
use crate::{
    Problem, ResourceName,
    problem::{Rule, Weight},
    quantity::Quantity,
};

/// `kubelet`: the settings of the node agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kubelet {
    /// `clusterDNS`
    pub cluster_dns: Vec<String>,
    /// `maxPods`
    pub max_pods: Option<MaxPods>,
    /// `podsPerCore`; 0 is none
    pub pods_per_core: Option<u32>,
    /// `systemReserved`: quantities as written, and expressions
    pub system_reserved: BTreeMap<ResourceName, String>,
    /// `kubeReserved`: quantities as written, and expressions
    pub kube_reserved: BTreeMap<ResourceName, String>,
    /// `evictionHard`: signal → quantity or percentage
    pub eviction_hard: BTreeMap<String, String>,
    /// `evictionSoft`: signal → quantity or percentage
    pub eviction_soft: BTreeMap<String, String>,
    /// `evictionSoftGracePeriod`: signal → time
    pub eviction_soft_grace_period: BTreeMap<String, SignedDuration>,
    /// `evictionMaxPodGracePeriod`, seconds
    pub eviction_max_pod_grace_period: Option<u32>,
    /// `imageGCHighThresholdPercent`
    pub image_gc_high_threshold_percent: Option<u32>,
    /// `imageGCLowThresholdPercent`
    pub image_gc_low_threshold_percent: Option<u32>,
    /// `cpuCFSQuota`
    pub cpu_cfs_quota: Option<bool>,
    /// Every other member, as JSON: nodes of AL2023 get it as it is.
    pub passed_through: BTreeMap<String, String>,
    /// Why it cannot be used, if so. That its expressions are not evaluated is among the problems of the class.
    pub fault: Option<KubeletFault>,
}

/// `maxPods` of `kubelet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MaxPods {
    /// On every instance type.
    Number(u32),
    /// An expression: another number on each instance type.
    Expression(String),
}

impl Kubelet {
    /// The fields that are expressions, and their texts.
    pub fn expressions(&self) -> Vec<(String, &str)> {
        let mut expressions = Vec::new();
        if let Some(MaxPods::Expression(text)) = &self.max_pods {
            expressions.push(("spec.kubelet.maxPods".to_owned(), text.as_str()));
        }
        for (member, amounts) in
            [("kubeReserved", &self.kube_reserved), ("systemReserved", &self.system_reserved)]
        {
            let texts = amounts.iter().filter(|(_, text)| is_expression(text));
            expressions.extend(
                texts.map(|(name, text)| (format!("spec.kubelet.{member}.{name}"), text.as_str())),
            );
        }
        expressions
    }
}

/// Whether an amount of `kubeReserved` or `systemReserved` is an expression: whatever is no quantity.
pub fn is_expression(amount: &str) -> bool {
    Quantity::parse_unsigned(amount).is_err()
}

/// What is wrong with `kubelet`. The problems of the class that are within `spec.kubelet` and have the
/// fault's weight say it field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeletFault {
    /// It is no KubeletConfiguration, or breaks a rule.
    Invalid,
    /// It has expressions, which are not evaluated: the gate `NodeClassCEL` is off.
    ExpressionsDisabled,
    /// An expression is none, names what there is not, or has no number as its result.
    InvalidExpression,
    /// Nodes of the class's image family cannot be told.
    UnsupportedByFamily,
}

impl KubeletFault {
    /// Whether `problem` is one that it stands for.
    pub fn explains(self, problem: &Problem) -> bool {
        let is_gate = problem.rule == Rule::ExpressionsDisabled;
        match self {
            Self::ExpressionsDisabled => is_gate,
            Self::Invalid | Self::InvalidExpression | Self::UnsupportedByFamily => {
                !is_gate && problem.weight == Weight::Unusable && problem.is_within("spec.kubelet")
            }
        }
    }
}

impl NodeClass {
    /// What is wrong with `kubelet`: its structure before its expressions, and these before what the image family
    /// does not support.
    pub fn kubelet_fault(&self) -> Option<KubeletFault> {
        let is_gate = |problem: &Problem| problem.rule == Rule::ExpressionsDisabled;
        match self.kubelet.fault {
            Some(KubeletFault::Invalid) => Some(KubeletFault::Invalid),
            _ if self.problems.iter().any(is_gate) => Some(KubeletFault::ExpressionsDisabled),
            fault => fault,
        }
    }
}
