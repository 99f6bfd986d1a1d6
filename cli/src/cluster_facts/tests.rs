//! What facts are read as.

use super::*;

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
