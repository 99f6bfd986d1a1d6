//! An independent judge of plans.
