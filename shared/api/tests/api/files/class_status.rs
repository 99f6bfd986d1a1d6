//! What the status of a class is read as, and whether the class is ready by it.

use model::{
    condition::NotReady,
    node_class::{ClassStatus, ListedNodeClass, MatchCriteria},
};

use super::*;
use api::{
    convert::ConversionSettings, files::older::to_v1, lists::node_class_list,
    objects::NodeClassManifest,
};

const STATUS: &str = "\
status:
  subnets:
  - {id: subnet-b, zone: us-west-2b, zoneID: usw2-az2}
  - {id: subnet-a, zone: us-west-2a}
  securityGroups: [{id: sg-1, name: nodes}]
  amis:
  - {id: ami-1, name: one, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
  instanceProfile: golden_1
  capacityReservations:
  - {id: cr-1, instanceType: p5.48xlarge, availabilityZone: us-west-2a, reservationType: capacity-block,
     interruptible: false, state: expiring, instanceMatchCriteria: targeted, ownerID: \"111122223333\",
     endTime: \"2026-09-01T00:00:00Z\"}
  conditions: [{type: Ready, status: \"True\", observedGeneration: 3}]
";
const TEMPLATE: &str = "\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec: {instanceProfile: golden, subnetSelector: {a: b}, securityGroupSelector: {a: b}}
status:
  subnets: [{id: subnet-a, zone: us-west-2a}]
  securityGroups: [{id: sg-1}]
  amis: [{id: ami-1, requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]
";

/// The third generation of a class with a status.
fn class() -> String {
    format!("{CLASS}{STATUS}").replace("{name: default}", "{name: default, generation: 3}")
}

fn read_class(text: &str) -> NodeClassManifest {
    let mut manifest = read(text, "x.yaml");
    assert_eq!(manifest.problems, []);
    match manifest.objects.remove(0) {
        Object::NodeClass(class) => *class,
        other => panic!("{other:?}"),
    }
}

fn status(text: &str) -> ClassStatus {
    read_class(text).status.unwrap()
}

#[test]
fn a_status_is_kept_in_its_order() {
    let status = status(&class());
    let subnets: Vec<String> =
        status.subnets.iter().map(|subnet| format!("{} {}", subnet.id, subnet.zone_id)).collect();
    assert_eq!(subnets, ["subnet-b usw2-az2", "subnet-a us-west-2a"]);
    assert_eq!(status.images[0].requirements.to_string(), "kubernetes.io/arch In [amd64]");
    assert_eq!(status.instance_profile.as_deref(), Some("golden_1"));
    let reservation = &status.reservations[0];
    assert!(reservation.is_capacity_block && reservation.is_expiring);
    assert_eq!(reservation.match_criteria, MatchCriteria::Targeted);
    assert!(reservation.ends_at.is_some());
}

#[test]
fn an_aws_node_template_has_a_status_too_and_names_its_profile_itself() {
    let class_status = status(TEMPLATE);
    assert_eq!(
        (class_status.subnets[0].id.as_str(), class_status.security_groups[0].as_str()),
        ("subnet-a", "sg-1")
    );
    assert_eq!(class_status.images[0].requirements.to_string(), "kubernetes.io/arch In [arm64]");
    assert_eq!(class_status.instance_profile.as_deref(), Some("golden"));
    assert_eq!(read(TEMPLATE, "x.yaml").places[0].not_ready, None);
    let written = to_v1(&[("x.yaml", TEMPLATE)], &ConversionSettings::default()).text;
    assert!(!written.contains("status"), "{written}");
}

#[test]
fn what_is_malformed_in_a_status_is_named_and_no_fault_of_the_class() {
    for (from, to, field) in [
        ("id: sg-1, name: nodes", "id: []", "status.securityGroups[0].id"),
        ("zone: us-west-2b, ", "", "status.subnets[0].zone"),
        ("state: expiring", "state: gone", "status.capacityReservations[0].state"),
    ] {
        let read = read_class(&class().replace(from, to));
        assert_eq!(read.class.problems, []);
        assert_eq!(read.status.unwrap_err().field, field);
    }
}

/// The class as a server lists it.
fn listed(text: &str) -> ListedNodeClass {
    let tree = api::document::tree::parse_yaml(text).unwrap().remove(0).to_json();
    let list = serde_json::json!({ "items": [tree] }).to_string();
    let mut page = node_class_list(list.as_bytes()).unwrap();
    assert_eq!(page.malformed, []);
    page.items.remove(0)
}

/// A class of the third generation with these conditions: as a file, and as a server lists it.
fn not_ready(conditions: &str) -> (Option<NotReady>, Option<NotReady>) {
    let text = class().replace(
        "[{type: Ready, status: \"True\", observedGeneration: 3}]",
        &format!("[{conditions}]"),
    );
    let of_file = read(&text, "x.yaml").places.remove(0).not_ready;
    (of_file, listed(&text).not_ready)
}

#[test]
fn what_a_class_selects_is_taken_from_a_status_about_its_present_generation_only() {
    let text = class();
    assert_eq!(listed(&text).status, Some(status(&text)));
    let stale = text.replace("observedGeneration: 3", "observedGeneration: 2");
    let listed_node_class = listed(&stale);
    assert_eq!(
        (listed_node_class.status, listed_node_class.not_ready),
        (None, Some(NotReady::Stale))
    );
    // Not ready, but looked at: a dry run takes what was found.
    let open = text.replace("status: \"True\"", "status: Unknown");
    assert_eq!(listed(&open).status, Some(status(&text)));
    assert!(listed(&open).not_ready.is_some());
    let none = text.replace("conditions: [{type: Ready", "others: [{type: Ready");
    let listed_node_class = listed(&none);
    assert_eq!(
        (listed_node_class.status, listed_node_class.not_ready),
        (None, Some(NotReady::Unseen))
    );
    // What cannot be read is not taken for nothing.
    let listed_node_class = listed(&text.replace("id: sg-1, name: nodes", "id: []"));
    let why = listed_node_class.not_ready.unwrap().to_string();
    assert!(why.starts_with("its status cannot be read: status.securityGroups[0].id"), "{why}");
    assert_eq!(listed_node_class.status, None);
}

#[test]
fn what_has_no_field_in_the_status_is_read_from_annotations() {
    let annotated = |annotations: &str| {
        class()
            .replace("generation: 3}", &format!("generation: 3, annotations: {{{annotations}}}}}"))
    };
    let text = annotated(
        "journeyman/placement-group: pg-1 partition/3 far apart, \
         journeyman/launch-template-version: \"7\"",
    );
    let class_status = listed(&text).status.unwrap();
    let group = class_status.placement_group.unwrap();
    assert_eq!((group.id.as_str(), group.name.as_str()), ("pg-1", "far apart"));
    assert_eq!(group.strategy, model::node_class::PlacementStrategy::Partition { count: 3 });
    assert_eq!(
        (group.to_string().parse(), class_status.launch_template_version),
        (Ok(group), Some(7))
    );
    for (wrong, field) in [
        ("journeyman/placement-group: pg-1 dense close", "placement-group"),
        ("journeyman/placement-group: pg-1", "placement-group"),
        ("journeyman/placement-group: pg-1 partition/many apart", "placement-group"),
        ("journeyman/launch-template-version: newest", "launch-template-version"),
    ] {
        let why = listed(&annotated(wrong)).not_ready.unwrap().to_string();
        assert!(why.contains(field), "{why}");
    }
}

#[test]
fn a_class_is_as_ready_in_a_file_as_in_a_cluster() {
    for (conditions, expected) in [
        ("{type: Ready, status: \"True\", observedGeneration: 3}", None),
        // About a previous generation of the class, or about an unknown one.
        ("{type: Ready, status: \"True\", observedGeneration: 2}", Some("newest generation")),
        ("{type: Ready, status: \"True\"}", Some("newest generation")),
        ("{type: Ready, status: Unknown, message: open}", Some("Ready is Unknown: open")),
        ("{type: Ready, status: \"False\", message: why}", Some("Ready is False: why")),
        ("{type: SubnetsReady, status: \"True\"}", Some("no condition Ready")),
    ] {
        let (of_file, of_list) = not_ready(conditions);
        assert_eq!(of_file, of_list, "{conditions}");
        let words = of_file.map(|why| why.to_string());
        let is_expected = match (&words, expected) {
            (Some(words), Some(expected)) => words.contains(expected),
            (words, expected) => words.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{conditions}: {words:?}");
    }
}

#[test]
fn a_class_without_status_is_unseen_in_a_file_and_unresolved_in_a_cluster() {
    assert_eq!(not_ready(""), (None, Some(NotReady::Unseen)));
}

#[test]
fn a_class_without_a_generation_was_not_counted() {
    let text = class().replace(", generation: 3", "");
    assert_eq!(read(&text, "x.yaml").places[0].not_ready, None);
}

#[test]
fn an_older_class_keeps_what_its_status_says() {
    let old = class().replace("k8s.aws/v1", "k8s.aws/v1beta1");
    assert_eq!(read(&old, "x.yaml").places[0].not_ready, None);
    let stale = old.replace("observedGeneration: 3", "observedGeneration: 2");
    assert_eq!(read(&stale, "x.yaml").places[0].not_ready, Some(NotReady::Stale));
    assert_eq!(status(&old), status(&class()));
    let written = to_v1(&[("x.yaml", &old)], &ConversionSettings::default()).text;
    assert!(!written.contains("status") && !written.contains("generation"), "{written}");
}
