//! Values for tests.

use model::{CapacityType, ClaimPhase, NodeClaim, claim::LaunchedInstance};
use testkit::build;

/// An initialized claim.
pub(crate) fn claim(name: &str, version: u64) -> NodeClaim {
    let instance = LaunchedInstance {
        capacity_type: CapacityType::Spot,
        price: build::price("0.0337"),
        launched_at: build::at("2026-11-21T12:00:02Z"),
        ..build::launched_instance("i-0a1b2c3d4e5f60718")
    };
    NodeClaim {
        version,
        phase: ClaimPhase::Initialized,
        instance: Some(instance),
        ..build::claim(name)
    }
}
