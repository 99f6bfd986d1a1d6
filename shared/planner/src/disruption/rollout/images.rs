//! Which images an EC2NodeClass launches from: accepted ones, until canaries have passed on others.

use std::collections::BTreeSet;

use model::{
    CommandId, ImageId, Plan,
    disruption::{Command, Method, Progress},
    facts::{ClassOffer, Facts},
    ledger::Snapshot,
    node_class::{ClassStatus, Image, NodeClass, ObservedNodeClass, TemplateSource},
    rollout::AcceptedImages,
    static_hash::NODE_CLASS,
};

use super::Rollouts;
use crate::disruption::nodes::State;

/// The images of the status of `observed` as it is to be, and those of them that only canaries start from: `selected` is
/// what its terms select now, `hash` its static hash. `available` are the images of the status before that EC2 still
/// has.
#[must_use]
pub fn images_of_rollout(
    observed: &ObservedNodeClass,
    (hash, selected): (Option<u64>, Vec<Image>),
    available: &BTreeSet<ImageId>,
    ledger: &Snapshot,
) -> (Vec<Image>, BTreeSet<ImageId>) {
    let Some(before) = accepted_before(observed, hash) else { return (selected, BTreeSet::new()) };
    let is_accepted =
        |image: &&Image| !before.candidates.contains(&image.id) && available.contains(&image.id);
    let accepted: Vec<Image> = before.images.iter().filter(is_accepted).cloned().collect();
    let is_new = |image: &&Image| accepted.iter().all(|known| known.id != image.id);
    let candidates: Vec<Image> = selected.iter().filter(is_new).cloned().collect();
    let ids: BTreeSet<ImageId> = candidates.iter().map(|image| image.id.clone()).collect();
    let has_passed = ledger.accepted().any(|accepted| {
        accepted.node_class == observed.class.name && !accepted.images.is_disjoint(&ids)
    });
    if ids.is_empty() || accepted.is_empty() || has_passed {
        return (selected, BTreeSet::new());
    }
    (accepted.into_iter().chain(candidates).collect(), ids)
}

/// What the status of `observed` said before, if other images than its accepted ones have to pass on canaries first. A
/// class whose spec is another one launches from the images of that spec: user data and image belong together.
pub fn accepted_before(observed: &ObservedNodeClass, hash: Option<u64>) -> Option<&ClassStatus> {
    let NodeClass { rollout, launch_template, .. } = &observed.class;
    // Annotations that cannot be read let no node drift, and so no other image in.
    let has_canaries = rollout.as_ref()?.read().map_or(true, |rollout| rollout.canary.is_some());
    let hash = hash?.to_string();
    let is_same = NODE_CLASS
        .of(&observed.annotations)
        .is_some_and(|stored| stored.version == NODE_CLASS.version && stored.hash == hash);
    let holds = has_canaries && is_same && *launch_template == TemplateSource::Made;
    observed.status.as_ref().filter(|status| holds && !status.images.is_empty())
}

impl<'a> Rollouts<'a> {
    /// Puts into `plan` that canaries passed on the candidate images of an EC2NodeClass, or that no node is left to be
    /// moved to them.
    pub(super) fn accept(&self, state: &State<'a>, plan: &mut Plan) {
        let facts = state.facts;
        for (class, of_types) in &facts.class_candidates {
            let images: BTreeSet<ImageId> = of_types.values().cloned().collect();
            let is_open = |image: &ImageId| {
                let mut groups = self.pools.values().flat_map(|pool| &pool.groups);
                groups.any(|(target, group)| {
                    target.node_class == *class
                        && target.image.as_ref() == Some(image)
                        && !group.old.is_empty()
                        && (!group.has_passed || group.halt.is_some())
                })
            };
            let mut recorded = facts.ledger.accepted();
            let is_recorded =
                recorded.any(|other| other.node_class == *class && other.images == images);
            let may_pass =
                self.settings.get(class).is_some_and(Result::is_ok) && state.is_complete();
            let is_halted = images.iter().any(|image| facts.is_halted(class, image));
            if images.is_empty()
                || is_recorded
                || is_halted
                || !may_pass
                || images.iter().any(is_open)
            {
                continue;
            }
            let command = Command {
                method: Method::Drift,
                found_at: state.now,
                candidates: Vec::new(),
                replacements: Vec::new(),
                drain: None,
                progress: Progress::Accepted(AcceptedImages { node_class: class.clone(), images }),
            };
            plan.started.insert(CommandId::accepting(class, state.now), command);
        }
    }
}

/// Whether the status of the EC2NodeClass has no candidates any more that `accepted` is about. Of a class that is not
/// ready that is not known.
pub(super) fn is_written(facts: &Facts, accepted: &AcceptedImages) -> bool {
    let class = &accepted.node_class;
    let offers = facts.classes.as_ref();
    if !offers.is_some_and(|offers| matches!(offers.get(class), Some(ClassOffer::Ready(_)))) {
        return false;
    }
    let candidates = facts.class_candidates.get(class);
    !candidates.is_some_and(|images| images.values().any(|image| accepted.images.contains(image)))
}
