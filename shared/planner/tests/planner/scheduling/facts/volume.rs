//! Rows VO of the specification, as far as they are about one pod.

use std::collections::BTreeMap;

use model::{
    ObjectName, Pod, Requirement, Requirements,
    storage::{PodVolume, Storage, StorageClass, Volume, VolumeClaim, VolumeClaimKey},
};
use planner::scheduling::facts::volume::*;

use crate::planner::support::{pending, pod_key, requirement, spec};

/// `team/a` are requirements separated by spaces.
fn term(text: &str) -> Vec<Requirement> {
    text.split_whitespace().map(requirement).collect()
}

/// Classes `anywhere`, `zonal` (zone-1 or zone-2), `old` (an in-tree name) and `immediate`; a claim
/// `unbound` of the class `anywhere`.
fn storage() -> Storage {
    let class = |provisioner: &str| StorageClass {
        provisioner: provisioner.to_owned(),
        waits_for_first_consumer: true,
        allowed_topologies: Vec::new(),
    };
    let zones = ["topology.kubernetes.io/zone=zone-1", "topology.kubernetes.io/zone=zone-2"];
    let mut zonal = class("ebs.csi.aws.com");
    zonal.allowed_topologies = zones.map(term).to_vec();
    let mut immediate = class("ebs.csi.aws.com");
    immediate.waits_for_first_consumer = false;
    let mut storage = Storage::default();
    let classes = [
        ("anywhere", class("ebs.csi.aws.com")),
        ("zonal", zonal),
        ("old", class("kubernetes.io/aws-ebs")),
        ("immediate", immediate),
    ];
    storage.classes = classes.map(|(name, class)| (name.to_owned(), class)).into();
    add(&mut storage, "unbound", of_class("anywhere"));
    storage
}

fn key(name: &str) -> VolumeClaimKey {
    let key = pod_key(name);
    VolumeClaimKey { namespace: key.namespace, name: key.name }
}

fn add(storage: &mut Storage, name: &str, claim: VolumeClaim) {
    storage.claims.insert(key(name), claim);
}

fn of_class(class: &str) -> VolumeClaim {
    VolumeClaim { storage_class: Some(class.to_owned()), ..VolumeClaim::default() }
}

/// Adds a claim bound to a volume of its own name with these terms.
fn add_bound(storage: &mut Storage, name: &str, terms: &[&str]) {
    let terms = terms.iter().map(|text| term(text)).collect();
    let driver = Some("ebs.csi.aws.com".to_owned());
    storage.volumes.insert(name.to_owned(), Volume { terms, driver, ..Volume::default() });
    let volume = Some(name.to_owned());
    add(storage, name, VolumeClaim { volume, is_bind_completed: true, ..VolumeClaim::default() });
}

fn pod(claims: &[&str]) -> Pod {
    let volume = |name: &&str| PodVolume::Claim(ObjectName::new(name).unwrap());
    let volumes = claims.iter().map(volume).collect();
    Pod { volumes, ..pending("db", spec("cpu=1")) }
}

#[track_caller]
fn check(storage: &Storage, pod: &Pod, expected: &[&str]) {
    let expected: Vec<Requirements> =
        expected.iter().map(|text| term(text).into_iter().collect()).collect();
    assert_eq!(alternatives(pod, storage), expected);
}

#[track_caller]
fn check_problem(change: impl FnOnce(&mut Storage), claim: &str, expected: &str) {
    let mut storage = storage();
    change(&mut storage);
    let expected: &[String] =
        if expected.is_empty() { &[] } else { &[format!("PersistentVolumeClaim {expected}")] };
    assert_eq!(problems(&pod(&[claim]), &storage, &[]), expected);
}

#[test]
fn a_pod_without_claims_may_go_anywhere() {
    check(&storage(), &pod(&[]), &[""]);
    check(&storage(), &pod(&["unbound"]), &[""]);
    assert_eq!(problems(&pod(&["unbound"]), &storage(), &[]), Vec::<String>::new());
}

#[test]
fn terms_of_a_volume_and_topologies_of_a_class_are_alternatives_in_their_order() {
    let mut storage = storage();
    add(&mut storage, "data", of_class("zonal"));
    let zones = ["topology.kubernetes.io/zone=zone-1", "topology.kubernetes.io/zone=zone-2"];
    check(&storage, &pod(&["data"]), &zones);
    add_bound(&mut storage, "bound", &["team=b", "team=a rack=1"]);
    check(&storage, &pod(&["bound"]), &["team=b", "team=a rack=1"]);
    // Bound: where it is counts, not where its class would have put it.
    add_bound(&mut storage, "zonal", &["topology.kubernetes.io/zone=zone-3"]);
    let claim = storage.claims.get_mut(&key("zonal")).unwrap();
    claim.storage_class = Some("zonal".to_owned());
    check(&storage, &pod(&["zonal"]), &["topology.kubernetes.io/zone=zone-3"]);
}

#[test]
fn zones_that_the_driver_names_are_zones() {
    let mut storage = storage();
    add_bound(&mut storage, "bound", &["topology.ebs.csi.aws.com/zone=zone-1"]);
    check(&storage, &pod(&["bound"]), &["topology.kubernetes.io/zone=zone-1"]);
}

#[test]
fn volumes_combine_and_contradictions_are_left_out_unless_nothing_is_left() {
    let mut storage = storage();
    add_bound(&mut storage, "ab", &["team=a", "team=b"]);
    add_bound(&mut storage, "bc", &["team=b", "team=c"]);
    add_bound(&mut storage, "racks", &["rack=1", "rack=2"]);
    check(&storage, &pod(&["ab", "bc"]), &["team=b"]);
    let texts = ["team=a rack=1", "team=a rack=2", "team=b rack=1", "team=b rack=2"];
    check(&storage, &pod(&["ab", "racks"]), &texts);
    add_bound(&mut storage, "d", &["team=d"]);
    check(&storage, &pod(&["ab", "d"]), &["!team", "!team"]);
}

#[test]
fn the_node_of_a_local_volume_is_any_node() {
    let mut storage = storage();
    let terms = [
        "kubernetes.io/hostname=old",
        "kubernetes.io/hostname=old topology.kubernetes.io/zone=zone-1",
    ];
    add_bound(&mut storage, "disk", &terms);
    check(&storage, &pod(&["disk"]), &terms);
    storage.volumes.get_mut("disk").unwrap().is_local = true;
    check(&storage, &pod(&["disk"]), &["", "topology.kubernetes.io/zone=zone-1"]);
}

#[test]
fn an_ephemeral_volume_is_the_claim_named_after_pod_and_volume() {
    let mut storage = storage();
    let storage_class = Some("zonal".to_owned());
    let volume = PodVolume::Ephemeral { volume: "scratch".to_owned(), storage_class };
    let pod = Pod { volumes: vec![volume], ..pending("db", spec("cpu=1")) };
    let missing = "PersistentVolumeClaim db-scratch: it does not exist";
    assert_eq!(problems(&pod, &storage, &[]), [missing]);
    check(&storage, &pod, &[""]);
    add(&mut storage, "db-scratch", of_class("zonal"));
    assert_eq!(problems(&pod, &storage, &[]), Vec::<String>::new());
    let zones = ["topology.kubernetes.io/zone=zone-1", "topology.kubernetes.io/zone=zone-2"];
    check(&storage, &pod, &zones);
    check_attached(&storage, &pod, &[("ebs.csi.aws.com", &["db-scratch"])]);
}

#[test]
fn a_claim_that_kube_scheduler_would_not_use_keeps_its_pod_waiting() {
    let bound = |change: fn(&mut VolumeClaim, &mut Volume)| {
        move |storage: &mut Storage| {
            add_bound(storage, "data", &["team=a"]);
            let claim = storage.claims.get_mut(&key("data")).unwrap();
            change(claim, storage.volumes.get_mut("data").unwrap());
        }
    };
    check_problem(|_| (), "none", "none: it does not exist");
    check_problem(bound(|_, _| ()), "data", "");
    check_problem(bound(|c, _| c.is_deleting = true), "data", "data: it is being deleted");
    check_problem(bound(|c, _| c.is_lost = true), "data", "data: its PersistentVolume is lost");
    let deleting = "data: its PersistentVolume data is being deleted";
    check_problem(bound(|_, v| v.is_deleting = true), "data", deleting);
    let missing = "data: its PersistentVolume other does not exist";
    check_problem(bound(|c, _| c.volume = Some("other".to_owned())), "data", missing);
    let incomplete = "data: its binding to PersistentVolume data is not complete: it has no \
                      annotation pv.kubernetes.io/bind-completed";
    check_problem(bound(|c, _| c.is_bind_completed = false), "data", incomplete);
}

#[test]
fn a_bound_claim_needs_no_class_and_an_unbound_one_does() {
    for class in [None, Some(String::new()), Some("none".to_owned())] {
        let add_both = |storage: &mut Storage| {
            add_bound(storage, "bound", &[]);
            storage.claims.get_mut(&key("bound")).unwrap().storage_class.clone_from(&class);
            add(storage, "new", VolumeClaim { storage_class: class.clone(), ..of_class("") });
        };
        check_problem(add_both, "bound", "");
        let expected = match class.as_deref() {
            Some("none") => "new: its StorageClass none does not exist",
            _ => "new: it is not bound and has no StorageClass",
        };
        check_problem(add_both, "new", expected);
    }
    let add_immediate = |storage: &mut Storage| add(storage, "now", of_class("immediate"));
    let expected = "now: it is not bound, and its StorageClass immediate with volumeBindingMode \
                    Immediate does not wait for its pod";
    check_problem(add_immediate, "now", expected);
}

#[track_caller]
fn check_attached(storage: &Storage, pod: &Pod, expected: &[(&str, &[&str])]) {
    let keys = |names: &[&str]| names.iter().map(|name| key(name)).collect();
    let expected = expected.iter().map(|(driver, names)| ((*driver).to_owned(), keys(names)));
    assert_eq!(attachments(pod, storage), Ok(expected.collect()));
}

#[test]
fn claims_count_for_the_driver_that_attaches_them() {
    let mut storage = storage();
    add_bound(&mut storage, "bound", &[]);
    add_bound(&mut storage, "nfs", &[]);
    storage.volumes.get_mut("nfs").unwrap().driver = None;
    add(&mut storage, "old", of_class("old"));
    add(&mut storage, "none", of_class("none"));
    let pod = pod(&["unbound", "bound", "nfs", "old", "none", "missing", "bound"]);
    check_attached(&storage, &pod, &[("ebs.csi.aws.com", &["bound", "old", "unbound"])]);
    storage.volumes.remove("bound");
    let missing = Err("PersistentVolume bound does not exist".to_owned());
    assert_eq!(attachments(&pod, &storage), missing);
}

#[test]
fn a_shared_claim_is_attached_once() {
    let attached = |names: &[&str]| -> Attachments {
        [("driver".to_owned(), names.iter().map(|name| key(name)).collect())].into()
    };
    let limits = BTreeMap::from([("driver".to_owned(), 2)]);
    let used = attached(&["a"]);
    for (more, fits) in [
        (&["a"][..], true),
        (&["b"], true),
        (&["a", "b"], true),
        (&["b", "c"], false),
        (&["a", "b", "c"], false),
    ] {
        assert_eq!(can_attach(&limits, &used, &attached(more)), fits, "{more:?}");
    }
    let many = attached(&["a", "b", "c", "d"]);
    assert!(can_attach(&BTreeMap::new(), &used, &many), "a driver without a limit");
}
