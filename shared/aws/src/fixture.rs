//! Values for tests.

use model::{CapacityType, ClaimPhase, NodeClaim, claim::LaunchedInstance};
use testkit::build;

/// An initialized claim.
pub(crate) fn claim(name: &str, version: u64) -> NodeClaim {
    let instance = LaunchedInstance {
        id: build::id("i-0a1b2c3d4e5f60718"),
        instance_type: build::id("m7g.large"),
        zone: build::id("us-west-2a"),
        capacity_type: CapacityType::Spot,
        price: build::price("0.0337"),
        image: Some(build::id("ami-1")),
        launched_at: build::at("2026-11-21T12:00:02Z"),
    };
    NodeClaim {
        version,
        phase: ClaimPhase::Initialized,
        instance: Some(instance),
        ..build::claim(name)
    }
}
