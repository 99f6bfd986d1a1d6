//! The images of an EC2NodeClass with rollouts: the accepted ones first, then those that canaries start from.

use std::collections::BTreeSet;

use model::{
    ImageId,
    ledger::Snapshot,
    node_class::{ClusterSettings, Image, ImageTerm, ObservedNodeClass},
};
use planner::disruption::{accepted_before, images_of_rollout};
use ports::{Discovery, PortError};

/// The images of the status of `observed`, whose terms select `selected`, and those of them that only canaries start
/// from. Asks EC2 whether it still has accepted images that the terms do not select any more.
pub(super) async fn images(
    discovery: &impl Discovery,
    settings: &ClusterSettings,
    observed: &ObservedNodeClass,
    (hash, selected): (Option<u64>, Vec<Image>),
    ledger: &Snapshot,
) -> Result<(Vec<Image>, BTreeSet<ImageId>), PortError> {
    let Some(before) = accepted_before(observed, hash) else {
        return Ok((selected, BTreeSet::new()));
    };
    let mut available: BTreeSet<ImageId> = selected.iter().map(|image| image.id.clone()).collect();
    let accepted = before.images.iter().filter(|image| !before.candidates.contains(&image.id));
    let former = accepted.filter(|image| !available.contains(&image.id));
    let terms: Vec<ImageTerm> = former.map(|image| ImageTerm::Id(image.id.clone())).collect();
    if !terms.is_empty() {
        let images = discovery.images(&terms, &settings.kubernetes_version).await?;
        available.extend(images.into_iter().map(|image| image.id));
    }
    Ok(images_of_rollout(observed, (hash, selected), &available, ledger))
}
