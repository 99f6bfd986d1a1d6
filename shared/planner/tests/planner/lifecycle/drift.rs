//! Instances against what their class selects.

use std::collections::BTreeMap;

use model::{
    CapacityType, ClaimPhase, NodeClaim, Problem, SecurityGroupId, labels,
    launch::{Instance, InstanceState},
    node_class::{
        ClassStatus, ListedNodeClass, PlacementGroup, PlacementStrategy, Subnet, TemplateSource,
    },
    problem::{Rule, Weight},
};
use planner::lifecycle::drift::*;

use crate::planner::support::*;

fn instance(claim: &NodeClaim) -> Instance {
    let launched = claim.instance.as_ref().unwrap();
    Instance {
        id: launched.id.clone(),
        state: InstanceState::Running,
        instance_type: launched.instance_type.clone(),
        zone: launched.zone.clone(),
        capacity_type: CapacityType::Spot,
        image: "ami-1".parse().unwrap(),
        subnet: Some("subnet-1".parse().unwrap()),
        security_groups: groups(&["sg-1", "sg-2"]).collect(),
        launched_at: ago(3_600),
        reservation: None,
        state_reason: None,
        is_named: false,
        node_pool: None,
        node_class: None,
        ledger: None,
        node_claim: None,
        batch: None,
    }
}

fn groups(ids: &[&str]) -> impl Iterator<Item = SecurityGroupId> {
    ids.iter().map(|id| id.parse().unwrap())
}

/// A class that selects what [`instance`] has.
fn class() -> ListedNodeClass {
    let subnet = Subnet {
        id: "subnet-1".parse().unwrap(),
        zone: "us-west-2a".parse().unwrap(),
        zone_id: "usw2-az1".parse().unwrap(),
        available_ip_address_count: 0,
    };
    let status = ClassStatus {
        subnets: vec![subnet],
        security_groups: groups(&["sg-2", "sg-1"]).collect(),
        ..ClassStatus::default()
    };
    let class = testkit::build::node_class("default");
    ListedNodeClass { class, not_ready: None, status: Some(status) }
}

fn placement_group() -> PlacementGroup {
    PlacementGroup {
        id: "pg-1".parse().unwrap(),
        name: "close".to_owned(),
        strategy: PlacementStrategy::Cluster,
    }
}

/// What a claim says after a look, where it said `known` before and `change` happened to its instance and
/// its class; nothing where nothing is written.
#[track_caller]
fn check(
    known: Option<&str>,
    change: impl FnOnce(&mut NodeClaim, &mut Instance, &mut ListedNodeClass),
    expected: &[Option<&str>],
) {
    let mut facts = facts(Vec::new());
    let mut claim = add_managed(&mut facts, "node-1");
    claim.conditions.drifted = known.map(str::to_owned);
    let (mut instance, mut class) = (instance(&claim), class());
    class.class.name = claim.node_class.clone();
    change(&mut claim, &mut instance, &mut class);
    facts.ledger.claims = BTreeMap::from([(claim.name.clone(), claim.clone())]);
    let written = drifted_in_account(&facts.ledger, &[instance], &[class], now());
    let told: Vec<Option<&str>> =
        written.iter().map(|next| next.conditions.drifted.as_deref()).collect();
    assert_eq!(told, expected);
    for next in &written {
        assert_eq!(next.version, claim.version + 1);
        assert_eq!(next.conditions.drifted_since, next.conditions.drifted.as_ref().map(|_| now()));
    }
}

fn status(class: &mut ListedNodeClass) -> &mut ClassStatus {
    class.status.as_mut().unwrap()
}

#[test]
fn an_instance_that_is_what_its_class_selects_has_not_drifted() {
    check(None, |_, _, _| {}, &[]);
    check(Some(SUBNET), |_, _, _| {}, &[None]);
    // What others found is not for EC2 to say.
    check(Some("NodePoolDrifted"), |_, _, _| {}, &[]);
}

#[test]
fn more_and_fewer_security_groups_are_drift() {
    for ids in [&["sg-1"][..], &["sg-1", "sg-2", "sg-3"], &["sg-1", "sg-3"]] {
        let other = |_: &mut NodeClaim, instance: &mut Instance, _: &mut ListedNodeClass| {
            instance.security_groups = groups(ids).collect();
        };
        check(None, other, &[Some(SECURITY_GROUPS)]);
        check(Some(SECURITY_GROUPS), other, &[]);
    }
}

#[test]
fn of_several_differences_the_first_is_reported() {
    let network = |_: &mut NodeClaim, instance: &mut Instance, class: &mut ListedNodeClass| {
        instance.subnet = Some("subnet-2".parse().unwrap());
        status(class).placement_group = Some(placement_group());
    };
    check(None, network, &[Some(SUBNET)]);
    check(
        None,
        |claim, instance, class| {
            network(claim, instance, class);
            instance.security_groups.clear();
        },
        &[Some(SECURITY_GROUPS)],
    );
}

#[test]
fn by_a_class_with_a_wrong_term_no_instance_has_drifted() {
    let wrong = |_: &mut NodeClaim, instance: &mut Instance, class: &mut ListedNodeClass| {
        instance.security_groups = groups(&["sg-1"]).collect();
        class.class.problems.push(Problem {
            field: "spec.securityGroupSelectorTerms[1].id".to_owned(),
            rule: Rule::Words("must be a security group".to_owned()),
            weight: Weight::Unusable,
        });
    };
    check(None, wrong, &[]);
    check(Some(SECURITY_GROUPS), wrong, &[]);
}

#[test]
fn a_subnet_that_is_not_selected_is_drift() {
    check(
        None,
        |_, instance, _| instance.subnet = Some("subnet-2".parse().unwrap()),
        &[Some(SUBNET)],
    );
}

#[test]
fn a_reservation_that_is_not_selected_is_drift() {
    let reserved = |_: &mut NodeClaim, instance: &mut Instance, _: &mut ListedNodeClass| {
        instance.reservation = Some("cr-1".parse().unwrap());
    };
    check(None, reserved, &[Some(RESERVATION)]);
    // A claim that was launched as reserved, and whose instance is on-demand now.
    let label = (labels::CAPACITY_TYPE.to_owned(), "reserved".to_owned());
    check(None, |claim, _, _| claim.labels.extend([label]), &[]);
    check(
        None,
        |claim, instance, class| {
            reserved(claim, instance, class);
            let criteria = model::node_class::MatchCriteria::Targeted;
            status(class).reservations = vec![testkit::build::reservation("cr-1", criteria)];
        },
        &[],
    );
}

#[test]
fn another_placement_group_is_drift() {
    let label = |claim: &mut NodeClaim| {
        claim.labels.insert(labels::PLACEMENT_GROUP_ID.to_owned(), "pg-1".to_owned());
    };
    check(
        None,
        |_, _, class| status(class).placement_group = Some(placement_group()),
        &[Some(PLACEMENT_GROUP)],
    );
    check(None, |claim, _, _| label(claim), &[Some(PLACEMENT_GROUP)]);
    check(
        None,
        |claim, _, class| {
            label(claim);
            status(class).placement_group = Some(placement_group());
        },
        &[],
    );
}

#[test]
fn what_is_not_known_says_nothing() {
    for known in [None, Some(SECURITY_GROUPS)] {
        check(known, |_, _, class| class.status = None, &[]);
        check(known, |_, _, class| status(class).security_groups.clear(), &[]);
        check(known, |_, _, class| status(class).subnets.clear(), &[]);
        check(known, |_, _, class| class.class.name = "other".parse().unwrap(), &[]);
        check(known, |_, instance, _| instance.subnet = None, &[]);
        check(known, |_, instance, _| instance.state = InstanceState::ShuttingDown, &[]);
        check(known, |_, instance, _| instance.id = "i-other".parse().unwrap(), &[]);
        check(known, |claim, _, _| claim.phase = ClaimPhase::Deleting, &[]);
    }
}

#[test]
fn a_launch_template_of_the_users_own_has_its_own_security_groups() {
    let named = TemplateSource::Named("own".parse().unwrap());
    check(
        None,
        |_, instance, class| {
            class.class.launch_template = named;
            instance.security_groups.clear();
        },
        &[],
    );
}
