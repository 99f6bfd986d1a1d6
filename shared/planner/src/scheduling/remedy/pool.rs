//! Rules of a NodePool.

use model::{LabelKey, Requirement, Requirements, ResourceName, node_pool::NodePool, taint::Taint};

use super::words::Words;

/// A rule of a NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Taint(Taint),
    Requirement(Requirement),
    /// How many values of the label its nodes must be able to have.
    MinValues(LabelKey, u32),
    Limit(ResourceName),
}

impl Rule {
    pub(super) fn of(pool: &NodePool) -> Vec<Self> {
        let taints = pool.template.taints.iter().cloned().map(Self::Taint);
        let requirements = pool.template.requirements.iter().cloned().map(Self::Requirement);
        taints.chain(requirements).chain(Self::limits(pool)).collect()
    }

    /// Those that a pod's own rules may contradict, although each of them can be met.
    pub(super) fn min_values(pool: &NodePool) -> Vec<Self> {
        let requirements = pool.template.requirements.iter();
        let counted = requirements
            .filter_map(|requirement| Some((requirement.key().clone(), requirement.min_values()?)));
        counted.map(|(key, min)| Self::MinValues(key, min)).collect()
    }

    pub(super) fn limits(pool: &NodePool) -> Vec<Self> {
        pool.limits.0.keys().cloned().map(Self::Limit).collect()
    }

    /// Drops the rule from `pool`.
    pub(super) fn drop_from(&self, pool: &mut NodePool) {
        match self {
            Self::Taint(taint) => pool.template.taints.retain(|other| other != taint),
            Self::Requirement(requirement) => {
                let others = pool.template.requirements.iter();
                let others = others.filter(|other| *other != requirement);
                pool.template.requirements = others.cloned().collect::<Requirements>();
            }
            Self::MinValues(key, _) => {
                let requirements = pool.template.requirements.iter().cloned();
                let relaxed = requirements.map(|requirement| {
                    if requirement.key() == key {
                        requirement.with_min_values(None)
                    } else {
                        requirement
                    }
                });
                pool.template.requirements = relaxed.collect();
            }
            Self::Limit(resource) => {
                pool.limits.0.remove(resource);
            }
        }
    }

    /// `the taint team=a:NoSchedule of NodePool general`
    pub(super) fn in_words(&self, pool: &str) -> Words {
        Words::Without(match self {
            Self::Taint(taint) => format!("the taint {taint} of NodePool {pool}"),
            // Nothing meets an empty set: it was written so, or as several requirements that exclude each other.
            Self::Requirement(requirement)
                if !requirement.is_complement() && requirement.values().is_empty() =>
            {
                format!("what NodePool {pool} requires of {}", requirement.key())
            }
            Self::Requirement(requirement) => {
                format!("the requirement {requirement} of NodePool {pool}")
            }
            Self::MinValues(key, min) => {
                format!("minValues {min} on {key} of NodePool {pool}")
            }
            Self::Limit(resource) => format!("the limit of {resource} of NodePool {pool}"),
        })
    }
}
