//! Names, tags and labels.

use expect_test::expect;
use model::{
    Operator, Requirement,
    node_class::{ImageFamily, PlacementGroup, PlacementStrategy},
};

use super::*;
use crate::testing::{claim, class, instance_type, settings};

fn lines(map: &BTreeMap<String, String>) -> String {
    let lines = map.iter().map(|(key, value)| format!("{key}={value}\n"));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn a_profile_is_named_after_cluster_region_class_and_role() {
    let name = |role: &str, class: &str| {
        instance_profile_name(&settings(), role, &NodeClassName::new(class).unwrap())
    };
    let other_region = ClusterSettings { region: "eu-west-1".to_owned(), ..settings() };
    let default = NodeClassName::new("default").unwrap();
    let names = [
        name("node", "default"),
        name("other", "default"),
        name("node", "other"),
        instance_profile_name(&other_region, "node", &default),
    ];
    assert!(names.iter().all(|name| name.starts_with("golden_")));
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    assert_eq!(name("some/path/node", "default"), name("node", "default"));
    expect!["golden_443144159192383421"].assert_eq(&name("node", "default"));
}

#[test]
fn the_longest_cluster_name_gives_a_name_that_iam_takes() {
    let settings =
        ClusterSettings { name: ClusterName::new(&"c".repeat(100)).unwrap(), ..settings() };
    let class = NodeClassName::new(&"d".repeat(253)).unwrap();
    assert!(instance_profile_name(&settings, "node", &class).len() <= 128);
}

#[test]
fn a_class_cannot_tag_its_nodes_as_anothers() {
    let mut class = class(ImageFamily::Al2023).class;
    class.tags = [("Name", "mine"), ("eks:eks-cluster-name", "other")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let pool = NodePoolName::new("general").unwrap();
    expect![[r"
        Name=mine
        eks:eks-cluster-name=golden
        karpenter.k8s.aws/ec2nodeclass=default
        karpenter.sh/nodepool=general
        kubernetes.io/cluster/golden=owned
    "]]
    .assert_eq(&lines(&resource_tags(&class, &settings().name, &pool)));
    expect![[r"
        Name=mine
        eks:eks-cluster-name=golden
        karpenter.k8s.aws/ec2nodeclass=default
        kubernetes.io/cluster/golden=owned
        topology.kubernetes.io/region=us-west-2
    "]]
    .assert_eq(&lines(&instance_profile_tags(&settings(), &class)));
}

#[test]
fn a_launched_claim_has_every_label_with_a_single_value() {
    let large = "m7i.large amd64 2 8Gi 29 0.10 0.04";
    let mut claim = claim(&["example.com/tier=gold,silver"], &[large]);
    claim.labels.insert("team".to_owned(), "payments".to_owned());
    let zone = Zone::new("us-west-2b").unwrap();
    let id = ZoneId::new("usw2-az2").unwrap();
    let instance_type = instance_type(large);
    let launched = node_labels(&claim, &instance_type, &zone, Some(&id), CapacityType::Spot);
    expect![[r"
        example.com/tier=gold
        karpenter.k8s.aws/ec2nodeclass=default
        karpenter.k8s.aws/instance-family=m7i
        karpenter.k8s.aws/instance-size=large
        karpenter.k8s.aws/instance-tenancy=default
        karpenter.sh/capacity-type=spot
        karpenter.sh/nodepool=general
        kubernetes.io/arch=amd64
        node.kubernetes.io/instance-type=m7i.large
        team=payments
        topology.k8s.aws/zone-id=usw2-az2
        topology.kubernetes.io/region=us-west-2
        topology.kubernetes.io/zone=us-west-2b
    "]]
    .assert_eq(&lines(&launched));
    let unknown = node_labels(&claim, &instance_type, &zone, None, CapacityType::Spot);
    assert!(!unknown.contains_key(labels::ZONE_ID));
}

#[test]
fn a_launched_claim_says_in_which_partition_it_is() {
    let large = "m7i.large amd64 2 8Gi 29 0.10 0.04";
    let mut class = class(ImageFamily::Al2023);
    let strategy = PlacementStrategy::Partition { count: 12 };
    class.placement_group =
        Some(PlacementGroup { id: "pg-1".parse().unwrap(), name: "group".to_owned(), strategy });
    let mut instance_type = InstanceType::clone(&instance_type(large));
    let numbers: Vec<String> = (1..=12).map(|number| number.to_string()).collect();
    let key = labels::PLACEMENT_GROUP_PARTITION;
    let there = Requirement::new(key, Operator::In, numbers.iter().map(String::as_str)).unwrap();
    instance_type.requirements.replace(there);
    let zone = Zone::new("us-west-2b").unwrap();
    for (wanted, expected) in [(&[][..], 1), (&["2", "10"], 10), (&["2"], 2)] {
        let mut claim = claim(&[], &[large]);
        if !wanted.is_empty() {
            let wanted = Requirement::new(key, Operator::In, wanted.iter().copied()).unwrap();
            claim.requirements.replace(wanted);
        }
        let placement = template::placement(&class, &claim).unwrap();
        assert_eq!(placement.partition, Some(expected), "EC2 gets it");
        let said = node_labels(&claim, &instance_type, &zone, None, CapacityType::Spot);
        assert_eq!(said.get(key), Some(&expected.to_string()));
    }
}

#[test]
fn tenancy_is_dedicated_only_when_default_is_not_allowed() {
    let large = "m7i.large amd64 2 8Gi 29 0.10 0.04";
    let tenancy = |requirements: &[&str]| template::tenancy(&claim(requirements, &[large]));
    assert_eq!(tenancy(&[]), "default");
    assert_eq!(tenancy(&["karpenter.k8s.aws/instance-tenancy=dedicated,default"]), "default");
    assert_eq!(tenancy(&["karpenter.k8s.aws/instance-tenancy=dedicated"]), "dedicated");
}
