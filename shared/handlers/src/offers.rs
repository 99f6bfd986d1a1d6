//! What earlier calls in a process worked out about what can be bought.

use std::ops::Deref;

use launch_template::NodeSettings;
use planner::KnownTypes;

use crate::live::KnownAddresses;

/// What is kept from one call to the next, for as long as a process lives: what each EC2NodeClass
/// offers, what plans worked out about those instance types, and where addresses are free.
/// It decides nothing.
#[derive(Debug, Default)]
pub struct KnownOffers {
    of_classes: launch_template::Offers,
    pub(crate) addresses: KnownAddresses,
    pub(crate) types: KnownTypes,
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
