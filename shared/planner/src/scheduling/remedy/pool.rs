//! Rules of a NodePool.

use model::{Requirement, Requirements, ResourceName, node_pool::NodePool, taint::Taint};

use super::words::Words;

/// A rule of a NodePool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Taint(Taint),
    Requirement(Requirement),
    Limit(ResourceName),
}

impl Rule {
    pub(super) fn of(pool: &NodePool) -> Vec<Self> {
        let taints = pool.template.taints.iter().cloned().map(Self::Taint);
        let requirements = pool.template.requirements.iter().cloned().map(Self::Requirement);
        taints.chain(requirements).chain(Self::limits(pool)).collect()
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
            Self::Limit(resource) => {
                pool.limits.0.remove(resource);
            }
        }
    }

    /// `the taint team=a:NoSchedule of NodePool general`
    pub(super) fn in_words(&self, pool: &str) -> Words {
        Words::Without(match self {
            Self::Taint(taint) => format!("the taint {taint} of NodePool {pool}"),
            Self::Requirement(requirement) => {
                format!("the requirement {requirement} of NodePool {pool}")
            }
            Self::Limit(resource) => format!("the limit of {resource} of NodePool {pool}"),
        })
    }
}
