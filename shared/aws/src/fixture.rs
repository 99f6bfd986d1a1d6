//! Values for tests.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{
    BatchId, CapacityType, ClaimPhase, HourlyPrice, ImageId, InstanceId, InstanceTypeName,
    NodeClaim, NodeClaimName, NodeClassName, NodePoolName, Requirements, Resources, Zone,
    claim::LaunchedInstance,
};

/// An initialized claim.
pub(crate) fn claim(name: &str, version: u64) -> NodeClaim {
    let at: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    let instance_type = InstanceTypeName::new("m7g.large").unwrap();
    NodeClaim {
        name: NodeClaimName::new(name).unwrap(),
        version,
        node_pool: NodePoolName::new("default").unwrap(),
        node_class: NodeClassName::new("default").unwrap(),
        batch: BatchId::new("demo-1-0").unwrap(),
        batch_index: 0,
        batch_size: 1,
        created_at: at,
        labels: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
        annotations: BTreeMap::new(),
        requirements: Requirements::of_labels([("kubernetes.io/arch", "arm64")]),
        instance_types: vec![instance_type.clone()],
        requests: Resources::default(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        expire_after: None,
        termination_grace_period: None,
        phase: ClaimPhase::Initialized,
        phase_since: at,
        capacity: Resources::default(),
        allocatable: Resources::default(),
        requested_at: None,
        instance: Some(LaunchedInstance {
            id: InstanceId::new("i-0a1b2c3d4e5f60718").unwrap(),
            instance_type,
            zone: Zone::new("us-west-2a").unwrap(),
            capacity_type: CapacityType::Spot,
            price: HourlyPrice(81_600_000),
            image: Some(ImageId::new("ami-1").unwrap()),
            launched_at: at,
        }),
        node: None,
        empty_since: None,
        requested_at: None,
        deletion: None,
        message: None,
    }
}
