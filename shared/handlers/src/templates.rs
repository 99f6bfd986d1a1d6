//! Launch templates that exist.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use futures_util::lock::Mutex;
use model::{LaunchTemplateName, launch::LaunchTemplate};
use ports::{PortError, Templates};

/// Names that are remembered at most: more than the clusters of a region have at a time.
const COUNT_MAX: usize = 1_000;

/// The answer to the request for one template; `None` until it has come.
type Asked = Rc<Mutex<Option<Result<(), PortError>>>>;

/// Launch templates that this process found or created. They are not ensured again until EC2 misses one of them.
///
/// Karpenter: `pkg/providers/launchtemplate/launchtemplate.go`, which has a cache of them, too.
#[derive(Debug, Default)]
pub(crate) struct EnsuredTemplates(RefCell<BTreeMap<LaunchTemplateName, Asked>>);

impl EnsuredTemplates {
    /// Makes sure that `template` exists, unless this process did. Batches side by side that want the same one share
    /// one request, and its failure; the next to come asks again.
    pub(crate) async fn ensure(
        &self,
        templates: &impl Templates,
        template: &LaunchTemplate,
    ) -> Result<(), PortError> {
        let asked = self.of(&template.name);
        let mut answer = asked.lock().await;
        if let Some(answer) = &*answer {
            return answer.clone();
        }
        let ensured = templates.ensure(template).await;
        if ensured.is_err() {
            self.0.borrow_mut().remove(&template.name);
        }
        *answer = Some(ensured.clone());
        ensured
    }

    pub(crate) fn forget(&self) {
        self.0.borrow_mut().clear();
    }

    fn of(&self, name: &LaunchTemplateName) -> Asked {
        let mut names = self.0.borrow_mut();
        if COUNT_MAX <= names.len() && !names.contains_key(name) {
            names.clear();
        }
        Rc::clone(names.entry(name.clone()).or_default())
    }
}
