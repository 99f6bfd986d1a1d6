//! Claims whose capacity reservation is over while their instances go on: on demand from now on.

use model::{
    CapacityType, ClaimPhase, labels,
    launch::{Instance, InstanceState},
};
use planner::lifecycle::reservation::*;

use crate::planner::support::{add_managed, facts};

#[track_caller]
fn check(phase: ClaimPhase, seen: (CapacityType, InstanceState), is_demoted: bool) {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    claim.phase = phase;
    let instance = claim.instance.as_mut().unwrap();
    instance.capacity_type = CapacityType::Reserved;
    let described = Instance {
        id: instance.id.clone(),
        state: seen.1,
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type: seen.0,
        image: model::ImageId::new("ami-1").unwrap(),
        subnet: None,
        security_groups: std::collections::BTreeSet::new(),
        launched_at: instance.launched_at,
        reservation: None,
        state_reason: None,
        is_named: false,
        node_pool: None,
        node_class: None,
        ledger: None,
        node_claim: None,
        batch: None,
    };
    let entries = [
        (labels::CAPACITY_TYPE, "reserved"),
        (labels::RESERVATION_ID, "cr-1"),
        (labels::RESERVATION_TYPE, "default"),
        (labels::RESERVATION_INTERRUPTIBLE, "false"),
        ("team", "a"),
    ];
    claim.labels = entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    facts.ledger.claims.insert(claim.name.clone(), claim.clone());
    let demoted = demoted(&facts.ledger, &[described]);
    assert_eq!(demoted.len(), usize::from(is_demoted), "{phase} {seen:?}");
    for next in demoted {
        let left = [(labels::CAPACITY_TYPE, "on-demand"), ("team", "a")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(next.labels, left.into());
        let paid = next.instance.as_ref().unwrap().capacity_type;
        assert_eq!((next.version, paid), (claim.version + 1, CapacityType::OnDemand));
    }
}

#[test]
fn what_ec2_describes_as_on_demand_is_reserved_no_longer() {
    use InstanceState::{Pending, Running, ShuttingDown};
    let on_demand = CapacityType::OnDemand;
    for phase in [ClaimPhase::Launched, ClaimPhase::Registered, ClaimPhase::Initialized] {
        check(phase, (on_demand, Pending), true);
        check(phase, (on_demand, Running), true);
        check(phase, (CapacityType::Reserved, Running), false);
        // It ends, and nothing about it matters any more.
        check(phase, (on_demand, ShuttingDown), false);
    }
    check(ClaimPhase::Deleting, (on_demand, Running), false);
}
