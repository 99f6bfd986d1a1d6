//! NodeOverlays: corrections of prices and capacity.
//!
//! Karpenter: `pkg/apis/v1alpha1/nodeoverlay.go`.

use crate::{HourlyPrice, ObjectName, Problem, Requirements, Resources};

/// A NodeOverlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOverlay {
    /// Its name.
    pub name: ObjectName,
    /// `spec.weight`, 0 when absent: heavier ones win.
    pub weight: u32,
    /// Which offerings.
    pub requirements: Requirements,
    /// What becomes of their price.
    pub price: Option<PriceChange>,
    /// Extended resources that their types have as well.
    pub capacity: Option<Resources>,
    /// Why it cannot be used, by the object's own rules.
    pub problems: Vec<Problem>,
}

/// A NodeOverlay as it was listed, so that what is written into its status is about that very spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedOverlay {
    /// What its spec says.
    pub overlay: NodeOverlay,
    /// `metadata.uid`: a namesake that took its place is another one.
    pub uid: String,
    /// `metadata.generation`: which spec was looked at.
    pub generation: i64,
}

/// What becomes of a price. Never below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceChange {
    /// It becomes this.
    Absolute(HourlyPrice),
    /// Nano-dollars per hour to add; negative: to subtract.
    Added(i64),
    /// Billionths of the price to add; negative: to subtract. `+10%` is 100,000,000.
    Scaled(i64),
}
