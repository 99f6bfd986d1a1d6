//! What statuses and facts are read as.

use super::*;

const CLASS: &str = "\
kind: NodePool
metadata: {name: general}
---
kind: EC2NodeClass
metadata: {name: default, generation: 3}
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

fn status(text: &str) -> ClassStatus {
    class_statuses(text).unwrap().remove("default").unwrap()
}

#[test]
fn a_status_is_kept_in_its_order() {
    let status = status(CLASS);
    let subnets: Vec<String> =
        status.subnets.iter().map(|subnet| format!("{} {}", subnet.id, subnet.zone_id)).collect();
    assert_eq!(subnets, ["subnet-b usw2-az2", "subnet-a us-west-2a"]);
    assert_eq!(status.images[0].requirements.to_string(), "kubernetes.io/arch In [amd64]");
    assert_eq!(status.instance_profile.as_deref(), Some("golden_1"));
    let reservation = &status.reservations[0];
    assert!(reservation.is_capacity_block && reservation.is_expiring);
    assert_eq!(reservation.match_criteria, MatchCriteria::Targeted);
    assert!(reservation.ends_at.is_some());
    assert_eq!(status.not_ready, None);
}

#[test]
fn an_aws_node_template_has_a_status_too_and_names_its_profile_itself() {
    let template = "\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec: {instanceProfile: golden}
status:
  subnets: [{id: subnet-a, zone: us-west-2a}]
  securityGroups: [{id: sg-1}]
  amis: [{id: ami-1, requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]
";
    let found = status(template);
    assert_eq!(
        (found.subnets[0].id.as_str(), found.security_groups[0].as_str()),
        ("subnet-a", "sg-1")
    );
    assert_eq!(found.images[0].requirements.to_string(), "kubernetes.io/arch In [arm64]");
    assert_eq!((found.instance_profile.as_deref(), found.not_ready), (Some("golden"), None));
    let error = class_statuses(&template.replace("id: sg-1", "id: []")).unwrap_err().to_string();
    assert!(error.starts_with("AWSNodeTemplate default: status.securityGroups[0].id"), "{error}");
}

#[test]
fn a_class_without_conditions_is_ready_and_one_that_is_stale_is_not() {
    let without = CLASS.replace("  conditions: [", "  other: [");
    assert_eq!(status(&without).not_ready, None);
    let stale = CLASS.replace("observedGeneration: 3", "observedGeneration: 2");
    assert!(status(&stale).not_ready.is_some());
    let unknown = CLASS.replace("status: \"True\"", "status: \"Unknown\"");
    assert!(status(&unknown).not_ready.unwrap().contains("Unknown"));
}

#[test]
fn what_is_malformed_is_named() {
    for (from, to, rule) in [
        ("id: sg-1", "id: []", "status.securityGroups[0].id"),
        ("zone: us-west-2b, ", "", "status.subnets[0].zone"),
        ("state: expiring", "state: gone", "status.capacityReservations[0].state"),
    ] {
        let error = class_statuses(&CLASS.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(rule), "{error}");
    }
}

#[test]
fn facts_of_a_cluster_are_read_and_empty_texts_are_absent() {
    let facts = cluster_facts(
        r#"{"name": "golden", "endpoint": "https://x", "caBundle": "Yg==", "serviceCIDR": null,
            "dnsIP": "", "kubernetesVersion": "1.34", "region": "us-west-2",
            "subnets": [{"id": "subnet-a", "availableIpAddressCount": 7}],
            "placementGroups": [{"id": "pg-1", "name": "n", "strategy": "partition", "partitionCount": 5}],
            "capacityReservations": [{"id": "cr-1", "availableInstanceCount": 3}]}"#,
    )
    .unwrap();
    assert_eq!((facts.settings.service_cidr, facts.settings.dns_ip), (None, None));
    assert_eq!(facts.free_addresses.values().copied().collect::<Vec<_>>(), [7]);
    assert_eq!(facts.placement_groups[0].strategy, PlacementStrategy::Partition { count: 5 });
    assert_eq!(facts.reservations_left.get("cr-1"), Some(&3));
}

#[test]
fn a_group_with_partitions_must_say_how_many() {
    let group = |rest: &str| {
        let text = format!(
            r#"{{"name": "golden", "endpoint": "https://x", "kubernetesVersion": "1.34",
                "region": "us-west-2", "placementGroups": [{{"id": "pg-1", {rest}}}]}}"#
        );
        cluster_facts(&text).map(|_| ()).unwrap_err().to_string()
    };
    assert!(group(r#""strategy": "partition""#).contains("partitionCount is required"));
    assert!(group(r#""strategy": "near""#).contains("must be cluster, partition or spread"));
}

#[test]
fn instances_left_come_from_ec2s_answer() {
    let text = r#"{"CapacityReservations": [
        {"CapacityReservationId": "cr-1", "AvailableInstanceCount": 2, "State": "active"}]}"#;
    assert_eq!(reservations_left(text).unwrap().get("cr-1"), Some(&2));
    assert!(reservations_left("[]").is_err());
}
