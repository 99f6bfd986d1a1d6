//! Rows VO of the specification: volumes and where their pods may go.

use std::collections::BTreeMap;

use model::{
    ObjectName, labels,
    storage::{PodVolume, Storage, StorageClass, Volume, VolumeClaim, VolumeClaimKey},
};

use super::*;

fn key(name: &str) -> VolumeClaimKey {
    let key = pod_key(name);
    VolumeClaimKey { namespace: key.namespace, name: key.name }
}

/// A claim bound to a volume of its own name, with these alternatives.
pub(super) fn add_bound(storage: &mut Storage, name: &str, terms: &[&str]) {
    let terms = terms.iter().map(|text| vec![requirement(text)]).collect();
    let driver = Some("ebs.csi.aws.com".to_owned());
    storage.volumes.insert(name.to_owned(), Volume { terms, driver, ..Volume::default() });
    let volume = Some(name.to_owned());
    let claim = VolumeClaim { volume, is_bind_completed: true, ..VolumeClaim::default() };
    storage.claims.insert(key(name), claim);
}

/// A claim that waits for its first consumer, of a class with these alternatives.
fn add_waiting(storage: &mut Storage, name: &str, terms: &[&str]) {
    let class = StorageClass {
        provisioner: "ebs.csi.aws.com".to_owned(),
        waits_for_first_consumer: true,
        allowed_topologies: terms.iter().map(|text| vec![requirement(text)]).collect(),
    };
    storage.classes.insert(name.to_owned(), class);
    let storage_class = Some(name.to_owned());
    storage.claims.insert(key(name), VolumeClaim { storage_class, ..VolumeClaim::default() });
}

pub(super) fn mounted(names: &[&str]) -> Vec<PodVolume> {
    names.iter().map(|name| PodVolume::Claim(ObjectName::new(name).unwrap())).collect()
}

/// One pod with these volumes.
fn world(names: &[&str], spec: PodSpec) -> Facts {
    let mut facts = facts(vec![pending("db", spec)]);
    facts.pods[0].volumes = mounted(names);
    let storage = &mut facts.surroundings.storage;
    let zone = |number: u32| format!("topology.kubernetes.io/zone=zone-{number}");
    add_bound(storage, "one", &[&zone(1)]);
    add_bound(storage, "one-or-two", &[&zone(1), &zone(2)]);
    add_bound(storage, "two-or-three", &[&zone(2), &zone(3)]);
    add_bound(storage, "three", &[&zone(3)]);
    add_waiting(storage, "in-two", &[&zone(2)]);
    add_waiting(storage, "anywhere", &[]);
    facts
}

/// The zones of the claim that the pod gets; empty when it gets none.
#[track_caller]
fn check_zones(facts: &Facts, expected: &str) {
    let plan = provision(facts);
    let zones = plan.new_claims.first().map(|new| {
        let zone = new.claim.requirements.get(labels::ZONE);
        zone.map_or_else(
            || "any".to_owned(),
            |zone| zone.values().iter().cloned().collect::<Vec<_>>().join(" "),
        )
    });
    assert_eq!(zones.unwrap_or_default(), expected);
}

#[test]
fn a_pod_goes_where_its_volume_is() {
    check_zones(&world(&["one"], spec("cpu=1")), "zone-1");
    check_zones(&world(&["in-two"], spec("cpu=1")), "zone-2");
    let three = spec("cpu=1 select:zone=zone-3");
    check_zones(&world(&["one"], three.clone()), "");
    check_zones(&world(&["in-two"], three), "");
}

#[test]
fn the_alternative_that_goes_with_the_pod_is_taken() {
    check_zones(&world(&["one-or-two"], spec("cpu=1")), "zone-1");
    let two = spec("cpu=1 select:zone=zone-2");
    check_zones(&world(&["one-or-two"], two), "zone-2");
    let mut pool = world(&["one-or-two"], spec("cpu=1"));
    let only = requirements("zone=zone-2,zone-3");
    pool.node_pools[0].template.requirements = only;
    check_zones(&pool, "zone-2");
}

#[test]
fn two_volumes_meet_in_one_zone_or_nowhere() {
    check_zones(&world(&["one-or-two", "two-or-three"], spec("cpu=1")), "zone-2");
    check_zones(&world(&["one", "three"], spec("cpu=1")), "");
}

#[test]
fn alternatives_of_the_pod_do_not_loosen_its_volumes() {
    let terms = spec("cpu=1 require:zone=zone-2 require:zone=zone-3");
    check_zones(&world(&["one"], terms.clone()), "");
    check_zones(&world(&["three"], terms), "zone-3");
}

#[test]
fn a_bad_claim_keeps_only_its_own_pod_waiting() {
    let mut facts = world(&["missing"], spec("cpu=1"));
    facts.pods.push(pod("web cpu=1"));
    let plan = provision(&facts);
    let reasons: Vec<String> = plan
        .unplaced
        .iter()
        .map(|unplaced| format!("{}: {}", unplaced.pod, unplaced.reasons[0]))
        .collect();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains("PersistentVolumeClaim missing: it does not exist"), "{reasons:?}");
    assert_eq!(plan.new_claims.len(), 1);
}

/// Why the pod called `name` has no place, without the names of NodePools.
#[track_caller]
fn check_reason(facts: &Facts, name: &str, expected: &str) {
    let plan = provision(facts);
    let unplaced = plan.unplaced.iter().find(|unplaced| unplaced.pod.name.as_str() == name);
    let reasons = &unplaced.expect("it has no place").reasons;
    assert_eq!(reasons[0].text, expected);
}

#[test]
fn a_claim_for_one_pod_is_not_shared() {
    let mut facts = world(&["one"], spec("cpu=1"));
    let claim = facts.surroundings.storage.claims.get_mut(&key("one")).unwrap();
    claim.is_for_one_pod = true;
    check_zones(&facts, "zone-1");
    add_node(&mut facts, node("own cpu=100 memory=100Gi pods=1000 zone=zone-1"));
    let mut holder = pod("holder on:own cpu=1m");
    holder.volumes = mounted(&["one"]);
    facts.pods.push(holder);
    let used = "PersistentVolumeClaim one: its access mode ReadWriteOncePod is for one pod, and pod default/holder uses it";
    check_reason(&facts, "db", used);
    assert_eq!(placed(&facts), 0);
    // One that ends makes way.
    facts.pods[1].deleted_at = Some(facts.now);
    assert_eq!(placed(&facts), 1);
    facts.pods[1].deleted_at = None;
    facts.surroundings.storage.claims.get_mut(&key("one")).unwrap().is_for_one_pod = false;
    assert_eq!(placed(&facts), 1);
}

#[test]
fn a_claim_for_one_pod_is_for_one_pending_pod() {
    let mut facts = world(&["one"], spec("cpu=1"));
    let mut second = pod("second cpu=500m");
    second.volumes = mounted(&["one"]);
    facts.pods.push(second);
    let unplaced = |facts: &Facts| -> Vec<String> {
        let names = provision(facts).unplaced.into_iter();
        names.map(|unplaced| unplaced.pod.name.to_string()).collect()
    };
    // Pods share volumes of other claims.
    assert_eq!(unplaced(&facts), [""; 0]);
    facts.surroundings.storage.claims.get_mut(&key("one")).unwrap().is_for_one_pod = true;
    assert_eq!(unplaced(&facts), ["second"]);
    let first = "PersistentVolumeClaim one: its access mode ReadWriteOncePod is for one pod, and pod default/db, \
                 which this plan schedules first, needs it";
    check_reason(&facts, "second", first);
    // A pod that no node takes keeps none from its claim.
    facts.pods[0].spec = spec("cpu=10000").into();
    assert_eq!(unplaced(&facts), ["db"]);
}

#[test]
fn the_volume_that_keeps_a_pod_away_is_named_with_what_excludes_it() {
    let zone = "topology.kubernetes.io/zone In";
    let mut facts = world(&["anywhere", "three"], spec("cpu=1"));
    facts.node_pools[0].template.requirements = requirements("zone=zone-1,zone-2");
    check_reason(
        &facts,
        "db",
        &format!(
            "its volume three needs a node with {zone} [zone-3], and NodePool general requires {zone} [zone-1 zone-2]"
        ),
    );
    check_reason(
        &world(&["one"], spec("cpu=1 select:zone=zone-2")),
        "db",
        &format!(
            "its volume one needs a node with {zone} [zone-1], and its node selector or affinity asks for {zone} [zone-2]"
        ),
    );
    check_reason(
        &world(&["one", "two-or-three"], spec("cpu=1")),
        "db",
        &format!(
            "no node suits all of its volumes: one needs {zone} [zone-1], two-or-three needs {zone} [zone-2] or {zone} [zone-3]"
        ),
    );
}

#[test]
fn volumes_of_no_kind_that_counts_decide_nothing() {
    let mut facts = world(&["nfs"], spec("cpu=1"));
    add_bound(&mut facts.surroundings.storage, "nfs", &[]);
    facts.surroundings.storage.volumes.get_mut("nfs").unwrap().driver = None;
    check_zones(&facts, "any");
}

/// A node that attaches `limit` volumes and has room for everything, and pods that wait for it.
fn attaching(limit: u32, pods: &[&[&str]]) -> Facts {
    let mut facts = world(&[], spec("cpu=1"));
    facts.pods.clear();
    for (index, volumes) in pods.iter().enumerate() {
        let mut pod = pod(&format!("p{index} cpu=1m"));
        pod.volumes = mounted(volumes);
        facts.pods.push(pod);
    }
    for index in 0..20 {
        add_waiting(&mut facts.surroundings.storage, &format!("v{index}"), &[]);
    }
    add_node(&mut facts, node("own cpu=100 memory=100Gi pods=1000 zone=zone-1"));
    let limits = BTreeMap::from([("ebs.csi.aws.com".to_owned(), limit)]);
    facts.surroundings.storage.attach_limits.insert("own".parse().unwrap(), limits);
    facts
}

fn placed(facts: &Facts) -> usize {
    provision(facts).placements.iter().map(|placement| placement.pods.len()).sum()
}

#[test]
fn a_node_attaches_a_limited_number_of_volumes_and_a_shared_one_once() {
    let pairs: Vec<[String; 2]> =
        (0..6).map(|i| [format!("v{}", 2 * i), format!("v{}", 2 * i + 1)]).collect();
    let pairs: Vec<Vec<&str>> =
        pairs.iter().map(|pair| pair.iter().map(String::as_str).collect()).collect();
    let pairs: Vec<&[&str]> = pairs.iter().map(Vec::as_slice).collect();
    assert_eq!(placed(&attaching(10, &pairs)), 5);
    let shared: Vec<&[&str]> = vec![&["v0"]; 100];
    assert_eq!(placed(&attaching(1, &shared)), 100);
}

#[test]
fn what_runs_has_its_volumes_attached() {
    let mut facts = attaching(1, &[&["v1"], &["v0"]]);
    let mut bound = pod("bound on:own cpu=1m");
    bound.volumes = mounted(&["v0"]);
    facts.pods.push(bound);
    assert_eq!(placed(&facts), 1);
    // In-tree names are the driver's.
    facts.surroundings.storage.classes.get_mut("v1").unwrap().provisioner =
        "kubernetes.io/aws-ebs".to_owned();
    assert_eq!(placed(&facts), 1);
    let other = facts.surroundings.storage.classes.get_mut("v1").unwrap();
    other.provisioner = "efs.csi.aws.com".to_owned();
    assert_eq!(placed(&facts), 2);
}

#[test]
fn the_node_of_a_local_volume_may_be_another_one() {
    let mut facts = world(&["disk"], spec("cpu=1"));
    add_bound(&mut facts.surroundings.storage, "disk", &["kubernetes.io/hostname=gone"]);
    check_zones(&facts, "");
    facts.surroundings.storage.volumes.get_mut("disk").unwrap().is_local = true;
    check_zones(&facts, "any");
}

#[test]
fn who_wants_to_be_together_begins_where_the_volume_of_another_is() {
    let together = "app=a near:zone:app=a";
    let mut facts = world(&["three"], spec(&format!("cpu=1 {together}")));
    // The larger one is looked at first.
    facts.pods.push(pod(&format!("front cpu=3 {together}")));
    let plan = provision(&facts);
    assert!(plan.unplaced.is_empty());
    let zones = plan.new_claims.iter().map(|new| new.cheapest.zone.as_str());
    assert!(zones.into_iter().all(|zone| zone == "zone-3"));
    // Nor does one that can be nowhere.
    facts.pods.push(pod(&format!("lost cpu=4 select:zone=zone-9 {together}")));
    assert_eq!(unplaced(&facts), ["lost"]);
    facts.pods.pop();
    // A zone in which nothing can be launched holds no other back.
    facts.node_pools[0].template.requirements = requirements("zone=zone-1,zone-2");
    assert_eq!(unplaced(&facts), ["db"]);
}

fn unplaced(facts: &Facts) -> Vec<String> {
    provision(facts).unplaced.iter().map(|unplaced| unplaced.pod.name.to_string()).collect()
}
