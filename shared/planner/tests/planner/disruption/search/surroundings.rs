//! What else of a cluster keeps nodes or lets them go: buffers, `minValues`, reservations, preferences.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    CapacityType, HourlyPrice, LabelKey, Offering, PodKey, Reservation,
    buffer::{BufferTarget, CapacityBuffer},
    policies::PreferencePolicy,
    selector::LabelSelector,
    storage::{PodVolume, Volume, VolumeClaim, VolumeClaimKey},
    topology::{NodeInclusionPolicy, SpreadConstraint, WhenUnsatisfiable},
};

use super::*;

/// An idle large node with room kept for a number of pods of a CPU.
fn buffered(replicas: u32) -> Facts {
    let mut facts = cluster(&[("a", "t.large"), ("b", "t.small")]);
    facts.policies.capacity_buffer = true;
    facts.surroundings.capacity_buffers = vec![CapacityBuffer {
        namespace: "default".parse().unwrap(),
        name: "spare".parse().unwrap(),
        uid: "uid-spare".parse().unwrap(),
        replicas: Some(replicas),
        percentage: None,
        limits: BTreeMap::new(),
        target: BufferTarget::Template(Arc::new(spec("cpu=3"))),
    }];
    facts
}

#[test]
fn room_that_is_kept_for_a_buffer_keeps_its_node() {
    check(&buffered(1), Emptiness, "b");
    assert_eq!(why(&buffered(1), Emptiness, "a"), "reserved for a CapacityBuffer");
    check(&buffered(0), Emptiness, "a b");
    let mut gone = buffered(1);
    gone.surroundings.capacity_buffers.clear();
    check(&gone, Emptiness, "a b");
    let mut both = buffered(1);
    both.pods = vec![app("web", "a", "cpu=1")];
    assert_eq!(why(&both, Emptiness, "a"), "reserved for a CapacityBuffer");
    // A cheaper node that fits the pod and the buffer takes the place of both.
    both.nodes.remove(&NodeName::new("b").unwrap());
    both.ledger.claims.retain(|name, _| name.as_str() == "claim-a");
    check(&both, SingleNode, "nothing");
    both.surroundings.capacity_buffers[0].target = BufferTarget::Template(Arc::new(spec("cpu=1")));
    check(&both, SingleNode, "a → t.gpu|t.medium");
}

#[test]
fn a_node_with_room_for_a_buffer_drifts_like_others() {
    let mut facts = buffered(1);
    let hashes = |hash: &str| {
        let keys = ["karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version"];
        keys.into_iter().map(str::to_owned).zip([hash.to_owned(), "v3".to_owned()])
    };
    facts.node_pools[0].annotations.extend(hashes("2"));
    let name = "claim-a".parse().unwrap();
    facts.ledger.claims.get_mut(&name).unwrap().annotations.extend(hashes("1"));
    let disrupt = model::recorded::Question::Disrupt {
        unseen: std::collections::BTreeSet::new(),
        from: None,
    };
    facts.nodes.remove(&NodeName::new("b").unwrap());
    facts.ledger.claims.retain(|claim, _| *claim == name);
    let answer = planner::answer(&facts, &disrupt, &planner::Memory::default());
    let proposal = answer.proposal.expect("the node drifted");
    assert_eq!(proposal.command.candidates, [name]);
}

#[test]
fn a_pool_that_cannot_launch_hinders_no_other() {
    let mut facts = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    for (name, class) in [("no-class", "missing"), ("no-types", "default"), ("invalid", "default")]
    {
        let mut other = facts.node_pools[0].clone();
        other.name = name.parse().unwrap();
        other.template.node_class = class.parse().unwrap();
        match name {
            "no-types" => other.template.requirements.add(requirement("arch=s390x")),
            "invalid" => other.problems.push(model::Problem::unusable("", "it breaks a rule")),
            _ => {}
        }
        facts.node_pools.push(other);
    }
    facts.node_pools.sort_by(|a, b| a.name.cmp(&b.name));
    check(&facts, SingleNode, "a → t.small|t.gpu|t.medium");
}

#[test]
fn pods_without_an_owner_are_moved_like_others() {
    let mut facts = used(
        &[("a", "t.medium"), ("b", "t.medium")],
        vec![app("web", "a", "cpu=1"), app("db", "b", "cpu=1")],
    );
    facts.pods[0].owner = None;
    check(&facts, SingleNode, "a");
}

#[test]
fn a_pod_with_a_local_volume_does_not_keep_its_node() {
    let mut facts = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    facts.pods[0].volumes = vec![PodVolume::Claim("disk".parse().unwrap())];
    let PodKey { namespace, name: _ } = facts.pods[0].key.clone();
    let claim = VolumeClaim {
        volume: Some("disk".to_owned()),
        is_bind_completed: true,
        ..VolumeClaim::default()
    };
    let volume =
        Volume { terms: vec![vec![requirement("host=a")]], is_local: true, ..Volume::default() };
    let storage = &mut facts.surroundings.storage;
    storage.claims.insert(VolumeClaimKey { namespace, name: "disk".parse().unwrap() }, claim);
    storage.volumes.insert("disk".to_owned(), volume.clone());
    check(&facts, SingleNode, "a → t.small|t.gpu|t.medium");
    // One that is not local is on no other node.
    let bound = Volume { is_local: false, ..volume };
    facts.surroundings.storage.volumes.insert("disk".to_owned(), bound);
    check(&facts, SingleNode, "nothing");
}

#[test]
fn pods_of_a_node_that_goes_anyway_may_wait_for_one_that_starts() {
    let nodes = [("a", "t.medium"), ("b", "t.medium"), ("c", "t.large"), ("d", "t.small")];
    let pods =
        vec![app("web", "a", "cpu=1"), app("db", "b", "cpu=1"), app("cache", "d", "cpu=1500m")];
    let mut facts = used(&nodes, pods);
    node(&mut facts, "c").labels.remove(labels::INITIALIZED);
    facts.pods.push(app("big", "d", "cpu=14"));
    let goes = claim(&mut facts, "d");
    *goes = goes.deleted(model::DeletionReason::Expired, ago(10));
    let proposal = ask(&facts, SingleNode).proposal.unwrap();
    assert_eq!(proposal.nodes().map(NodeName::as_str).collect::<Vec<_>>(), ["a"]);
    // What is moved for the sake of saving may not.
    facts.pods[0] = app("web", "a", "cpu=3500m");
    facts.pods[1] = app("db", "b", "cpu=3500m");
    facts.pods.truncate(3);
    check(&facts, SingleNode, "nothing");
    assert!(why(&facts, SingleNode, "a").contains("wait for a node to start"));
}

#[test]
fn a_drifted_node_whose_pods_fit_elsewhere_goes_without_replacement() {
    let mut facts = used(
        &[("a", "t.medium"), ("b", "t.medium")],
        vec![app("web", "a", "cpu=1"), app("db", "b", "cpu=1")],
    );
    drifted(&mut facts, "a", 10);
    check(&facts, Drift, "a");
}

#[test]
fn a_new_node_needs_no_settling() {
    let mut facts = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    facts.node_pools[0].disruption.consolidate_after = Some(SignedDuration::from_hours(1));
    claim(&mut facts, "a").conditions.last_pod_event_at = Some(ago(10));
    check(&facts, SingleNode, "a → t.small|t.gpu|t.medium");
}

fn min_types(mut facts: Facts, least: u32) -> Facts {
    let key = labels::INSTANCE_TYPE;
    let types = requirement(key).with_min_values(Some(least));
    facts.node_pools[0].template.requirements.add(types);
    facts
}

#[test]
fn what_min_values_ask_for_is_kept_or_nothing_is_done() {
    let facts = used(&[("a", "t.large")], vec![app("web", "a", "cpu=1")]);
    check(&min_types(facts.clone(), 3), SingleNode, "a → t.small|t.gpu|t.medium");
    check(&min_types(facts.clone(), 4), SingleNode, "nothing");
    let note = why(&min_types(facts, 4), SingleNode, "a");
    assert_eq!(note, "too few cheaper instance types for minValues of its NodePool");
}

/// A spot node, and 30 cheaper types.
fn spot_with_many_types() -> Facts {
    let mut facts = facts(vec![app("web", "a", "cpu=1")]);
    facts.node_pools[0].disruption.budgets.clear();
    facts.policies.spot_to_spot_consolidation = true;
    let mut many = default_types();
    many.extend((0..30).map(|index| {
        let capacity = format!("cpu={} memory=8Gi pods=9", 2 + index % 8);
        instance_type(&format!("s{index:02}.small"), &capacity, &[])
    }));
    many.sort_by(|a, b| a.name.cmp(&b.name));
    offer(&mut facts, many);
    add(&mut facts, "a", "t.large", CapacityType::Spot);
    facts
}

#[test]
fn spot_for_spot_keeps_the_cheapest_fifteen_or_as_many_as_min_values_ask() {
    let kept = |facts: &Facts| {
        let proposal = ask(facts, SingleNode).proposal.unwrap();
        let new = &proposal.command.replacements[0];
        (new.instance_types.len(), proposal.price_after.nanos(), new.requirements.clone())
    };
    let (count, price, requirements) = kept(&spot_with_many_types());
    assert_eq!((count, price), (15, 60_000_000));
    let paid = requirements.get(labels::CAPACITY_TYPE).and_then(|r| r.single_value().cloned());
    assert_eq!(paid.as_deref(), Some("spot"));
    assert_eq!(kept(&min_types(spot_with_many_types(), 5)).0, 15);
    assert_eq!(kept(&min_types(spot_with_many_types(), 20)).0, 20);
    // What costs no more than the cheapest fifteen is not improved upon.
    let mut cheap = spot_with_many_types();
    let instance = claim(&mut cheap, "a").instance.as_mut().unwrap();
    instance.instance_type = "s00.small".parse().unwrap();
    let texts = &mut node(&mut cheap, "a").labels;
    texts.insert(labels::INSTANCE_TYPE.to_owned(), "s00.small".to_owned());
    check(&cheap, SingleNode, "nothing");
}

/// The default types, `t.small` to be had as reserved capacity too, of which this number of instances is left.
pub(super) fn reserve(facts: &mut Facts, count: u32) {
    let mut types = default_types();
    let small =
        types.iter_mut().find(|instance_type| instance_type.name.as_str() == "t.small").unwrap();
    let reservation = Reservation {
        id: "cr-1".parse().unwrap(),
        kind: "default".to_owned(),
        interruptible: false,
        count,
    };
    small.offerings.push(Offering {
        capacity_type: CapacityType::Reserved,
        price: HourlyPrice::from_nanos(20),
        reservation: Some(reservation),
        ..small.offerings[0].clone()
    });
    let texts = ["reserved", "spot", "on-demand"];
    let key = labels::CAPACITY_TYPE;
    small.requirements.replace(model::Requirement::new(key, model::Operator::In, texts).unwrap());
    offer(facts, types);
}

#[test]
fn reserved_capacity_takes_the_place_of_what_is_paid_for_by_the_hour() {
    for paid in [CapacityType::OnDemand, CapacityType::Spot] {
        let mut facts = facts(vec![app("web", "a", "cpu=1")]);
        facts.node_pools[0].disruption.budgets.clear();
        let kinds = requirement(&format!("{}=reserved,{paid}", labels::CAPACITY_TYPE));
        facts.node_pools[0].template.requirements.add(kinds);
        // A full reservation is never cheap.
        reserve(&mut facts, 0);
        add(&mut facts, "a", "t.small", paid);
        check(&facts, SingleNode, "nothing");
        reserve(&mut facts, 1);
        let command = ask(&facts, SingleNode).proposal.unwrap().command;
        let (key, price) = command.replacements[0].cheapest.clone().unwrap();
        assert_eq!((key.capacity_type, price.nanos()), (CapacityType::Reserved, 20));
    }
}

#[test]
fn what_pods_ask_about_each_other_holds_and_what_they_prefer_if_it_is_respected() {
    let nodes = [("a", "t.medium"), ("b", "t.medium")];
    let apart = |required: bool| {
        let pods = ["a", "b"].map(|on| {
            let weight = if required { "" } else { ":weight=1" };
            pod(&format!("p-{on} on:{on} ready cpu=1 app=web away:host:app=web{weight}"))
        });
        used(&nodes, pods.to_vec())
    };
    let goes = |facts: &Facts| decided(facts, SingleNode) == "a";
    assert!(!goes(&apart(true)) && !goes(&apart(false)));
    let mut ignored = apart(false);
    ignored.policies.preferences = PreferencePolicy::Ignore;
    assert!(goes(&ignored));
    let mut hard = apart(true);
    hard.policies.preferences = PreferencePolicy::Ignore;
    assert!(!goes(&hard));
}

#[test]
fn pods_that_spread_over_zones_stay_spread() {
    let nodes = [("a", "t.large"), ("b", "t.large"), ("c", "t.large")];
    let pods = ["a", "b", "c"].map(|on| {
        with(app(&format!("p-{on}"), on, "cpu=1"), |spec| {
            spec.labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
            spec.spread = vec![SpreadConstraint {
                topology_key: LabelKey::new(labels::ZONE).unwrap(),
                max_skew: 1,
                min_domains: None,
                when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
                selector: Some(LabelSelector::of_labels([("app", "web")])),
                node_affinity_policy: NodeInclusionPolicy::Honor,
                node_taints_policy: NodeInclusionPolicy::Ignore,
            }];
        })
    });
    let mut facts = used(&nodes, pods.to_vec());
    for (name, zone) in nodes.iter().map(|(name, _)| name).zip(ZONES) {
        node(&mut facts, name).labels.insert(labels::ZONE.to_owned(), zone.to_owned());
        let instance = claim(&mut facts, name).instance.as_mut().unwrap();
        instance.zone = model::Zone::new(zone).unwrap();
    }
    let command = ask(&facts, SingleNode).proposal.unwrap().command;
    let new = &command.replacements[0];
    let zone = new.requirements.get(labels::ZONE).and_then(|zone| zone.single_value().cloned());
    assert_eq!(zone.as_deref(), Some("zone-1"), "the zone of the node that goes");
}

/// Of the pods of a node that goes, those in their place are not listed yet.
#[test]
fn pods_that_are_about_to_return_take_their_room() {
    let nodes = [("a", "t.small"), ("b", "t.small"), ("c", "t.small")];
    let pods = vec![app("web", "a", "cpu=1"), app("db", "b", "cpu=1")];
    let mut facts = used(&nodes, pods);
    drifted(&mut facts, "a", 60);
    let goes = claim(&mut facts, "b");
    *goes = goes.deleted(model::DeletionReason::Expired, ago(10));
    // There is room for a second one on the third node, and not for a third.
    facts.pods.push(app("cache", "c", "cpu=500m"));
    let asked = |facts: &Facts, seconds_ago: i64, kind: &str| {
        let mut facts = facts.clone();
        let mut pod = owned(facts.pods.remove(1), "apps/v1", kind);
        pod.deleted_at = Some(ago(seconds_ago - i64::from(pod.spec.termination_grace_seconds)));
        facts.pods.push(pod);
        decided(&facts, Drift)
    };
    let alone = asked(&facts, 60, "ReplicaSet");
    assert_eq!(alone, "a");
    assert_ne!(asked(&facts, 1, "ReplicaSet"), alone);
    assert_eq!(asked(&facts, 1, "Job"), alone);
}
