//! Launch templates that exist.

use std::{cell::RefCell, collections::BTreeSet};

use model::LaunchTemplateName;

/// Names that are remembered at most: more than the clusters of a region have at a time.
const COUNT_MAX: usize = 1_000;

/// Launch templates that this process found or created. They are not ensured again until EC2 misses one of them.
///
/// Karpenter: `pkg/providers/launchtemplate/launchtemplate.go`, which has a cache of them, too.
#[derive(Debug, Default)]
pub(crate) struct EnsuredTemplates(RefCell<BTreeSet<LaunchTemplateName>>);

impl EnsuredTemplates {
    pub(crate) fn has(&self, name: &LaunchTemplateName) -> bool {
        self.0.borrow().contains(name)
    }

    pub(crate) fn add(&self, name: &LaunchTemplateName) {
        let mut names = self.0.borrow_mut();
        if COUNT_MAX <= names.len() {
            names.clear();
        }
        names.insert(name.clone());
    }

    pub(crate) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}
