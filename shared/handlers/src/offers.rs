//! What earlier calls in a process worked out about what can be bought.

use std::{cell::RefCell, collections::BTreeSet, ops::Deref};

use launch_template::NodeSettings;
use model::NodePoolName;
use planner::{KnownTypes, disruption::Cursor};

use crate::live::KnownAddresses;

/// What is kept from one call to the next, for as long as a process lives: what each EC2NodeClass
/// offers, what plans worked out about those instance types, where addresses are free, and which
/// NodePools a look did not reach, and where a thorough one stopped. Without it work is done again; what is right to do stays the same.
#[derive(Debug, Default)]
pub struct KnownOffers {
    of_classes: launch_template::Offers,
    pub(crate) addresses: KnownAddresses,
    pub(crate) types: KnownTypes,
    /// Karpenter: `singlenodeconsolidation.go`, `PreviouslyUnseenNodePools`.
    pub(crate) unseen: RefCell<BTreeSet<NodePoolName>>,
    pub(crate) searched: RefCell<Option<Cursor>>,
}

impl KnownOffers {
    /// Nothing yet; nodes have `settings`.
    #[must_use]
    pub fn with(settings: NodeSettings) -> Self {
        let of_classes = launch_template::Offers::with(settings);
        Self { of_classes, ..Self::default() }
    }
}

impl Deref for KnownOffers {
    type Target = launch_template::Offers;

    fn deref(&self) -> &launch_template::Offers {
        &self.of_classes
    }
}
