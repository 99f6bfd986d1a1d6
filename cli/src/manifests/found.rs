//! What the stored status of an EC2NodeClass tells of the account.

use api::objects::NodeClassManifest;
use model::{ConditionKind, condition::NotReady};
use simulator::ClassFindings;

/// What the selectors of `read` are known to find, by its status and by why it is `not_ready`; `None` where nothing is.
pub(super) fn by_status(
    read: &NodeClassManifest,
    not_ready: Option<&NotReady>,
) -> Option<ClassFindings> {
    let untrue = match not_ready {
        None => &[][..],
        Some(NotReady::Conditions { others, .. }) => others,
        Some(NotReady::Unseen | NotReady::Stale | NotReady::Unreadable(_)) => return None,
    };
    let finds_none = |kind: ConditionKind| {
        untrue.iter().any(|other| other.is_false && other.kind == kind.as_str())
    };
    let status = read.status.as_ref().ok()?;
    let findings = ClassFindings {
        class: read.class.clone(),
        subnets: found(&status.subnets, finds_none(ConditionKind::SubnetsReady)),
        security_groups: found(
            &status.security_groups,
            finds_none(ConditionKind::SecurityGroupsReady),
        ),
        images: found(&status.images, finds_none(ConditionKind::AmisReady)),
    };
    let ClassFindings { subnets, security_groups, images, .. } = &findings;
    let is_known = subnets.is_some() || security_groups.is_some() || images.is_some();
    is_known.then_some(findings)
}

/// A list of the status, which says nothing while it is empty and no condition does.
fn found<T: Clone>(items: &[T], finds_none: bool) -> Option<Vec<T>> {
    (finds_none || !items.is_empty()).then(|| items.to_vec())
}
