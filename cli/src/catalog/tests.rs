//! What the command prints, and that instance types come out of EC2's descriptions as they should.

use std::collections::BTreeMap;

use dispatch::Settings;
use expect_test::{Expect, expect};
use model::{Offering, RegionCatalog};

use super::*;

fn listed(change: impl FnOnce(&mut CatalogArgs)) -> String {
    let mut args = CatalogArgs::default();
    change(&mut args);
    let mut out = Vec::new();
    run(&args, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check(filters: &[&str], change: impl FnOnce(&mut CatalogArgs), expected: &Expect) {
    let text = listed(|args| {
        args.filters = filters.iter().map(|filter| (*filter).to_owned()).collect();
        change(args);
    });
    expected.assert_eq(&text);
}

/// Offerings that can be bought, by zone and capacity type.
fn available(offerings: &[Offering]) -> BTreeMap<(String, &'static str), String> {
    let available = offerings.iter().filter(|offering| offering.is_available);
    let key = |offering: &Offering| (offering.zone.to_string(), offering.capacity_type.as_str());
    available
        .map(|offering| (key(offering), format!("{} {:?}", offering.price, offering.zone_id)))
        .collect()
}

/// What differs between two types, one line each.
fn differences(name: &str, known: &RegionCatalog, catalog: &RegionCatalog) -> Vec<String> {
    let name = name.parse().unwrap();
    let (Some(known), Some(instance_type)) =
        (known.instance_type(&name), catalog.instance_type(&name))
    else {
        return vec![format!("{name}: in only one of them")];
    };
    let mut lines = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    for named in [known, instance_type] {
        keys.extend(named.requirements.iter().map(|requirement| requirement.key().as_str()));
    }
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (a, b) = (known.requirements.get(key), instance_type.requirements.get(key));
        if a != b {
            lines.push(format!("{name}: {key}: {a:?} {b:?}"));
        }
    }
    if known.capacity != instance_type.capacity {
        lines.push(format!("{name}: capacity {} {}", known.capacity, instance_type.capacity));
    }
    if known.overhead != instance_type.overhead {
        lines.push(format!("{name}: overhead {} {}", known.overhead, instance_type.overhead));
    }
    if available(&known.offerings) != available(&instance_type.offerings) {
        lines.push(format!("{name}: offerings"));
    }
    lines
}

#[test]
fn every_type_comes_out_of_its_description_as_karpenter_has_it() {
    // Labels, capacity, overhead and prices of these were computed by Karpenter itself.
    let known = instance_catalog::builtin().unwrap();
    let settings = launch_template::NodeSettings::default();
    let source = source::load(None).unwrap();
    let class = class::load(&CatalogArgs::default(), &source, &Settings::default()).unwrap();
    let catalog = source.catalog(&class.subnets, &settings);
    let types = launch_template::all_types(&catalog, &class, &settings).unwrap();
    let catalog = RegionCatalog {
        instance_types: types
            .into_iter()
            .map(|offered_type| offered_type.instance_type.into())
            .collect(),
        ..catalog
    };
    assert_eq!(catalog.instance_types.len(), 1_309);
    assert_eq!(known.instance_types.len(), 1_309);
    let lines: Vec<String> = known
        .instance_types
        .iter()
        .flat_map(|instance_type| differences(instance_type.name.as_str(), &known, &catalog))
        .collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn the_table_shows_the_cheapest_offering_of_each_type() {
    check(
        &["arch=arm64", "category=m", "cpu=4"],
        |args| args.limit = Some(3),
        &expect![[r"
              TYPE        ARCH   CPU  MEMORY  PODS  FOR PODS      GPU  NETWORK   NVME  ON-DEMAND  SPOT     PER VCPU
              m7g.xlarge  arm64  4    14.7Gi  58    3920m 13.7Gi  -    1.8 Gbit  -     $0.1632    $0.0468  $0.0117
              m8g.xlarge  arm64  4    14.7Gi  58    3920m 13.7Gi  -    1.8 Gbit  -     $0.1795    $0.0558  $0.0139
              m6g.xlarge  arm64  4    14.7Gi  58    3920m 13.7Gi  -    1.2 Gbit  -     $0.1540    $0.0578  $0.0144
            3 of 10 types
        "]],
    );
    check(
        &["type=m7i.large,c7i.large"],
        |args| {
            args.capacity_type = Some("on-demand".to_owned());
            args.sort = args::CatalogOrder::Name;
        },
        &expect![[r"
              TYPE       ARCH   CPU  MEMORY  PODS  FOR PODS     GPU  NETWORK   NVME  ON-DEMAND  SPOT  PER VCPU
              c7i.large  amd64  2    3.6Gi   29    1930m 3Gi    -    781 Mbit  -     $0.0893    -     $0.0446
              m7i.large  amd64  2    7.3Gi   29    1930m 6.7Gi  -    781 Mbit  -     $0.1008    -     $0.0504
            2 of 2 types
        "]],
    );
}

#[test]
fn what_the_command_prints_is_what_plan_reads() {
    let text = listed(|args| {
        args.output = Format::Json;
        args.filters = vec!["family=m7g".to_owned()];
    });
    let read = instance_catalog::read(&text).unwrap();
    let known = instance_catalog::builtin().unwrap();
    assert!(!read.instance_types.is_empty());
    for instance_type in &read.instance_types {
        assert_eq!(differences(instance_type.name.as_str(), &known, &read), [""; 0]);
    }
}

#[test]
fn a_wrong_filter_is_refused_by_name() {
    for (filter, rule) in [
        ("arch", "must be LABEL=VALUE"),
        ("team=a", "no instance type has"),
        ("category=c,m,cpu=4", "each label takes a --where of its own"),
    ] {
        let args = CatalogArgs { filters: vec![filter.to_owned()], ..CatalogArgs::default() };
        let error = table::Filter::parse(&args.filters).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(rule) && error.contains(filter), "{error}");
    }
}

#[test]
fn a_class_that_would_be_listed_wrong_is_refused() {
    let file = std::env::temp_dir().join(format!("catalog-{}.yaml", std::process::id()));
    let text = "\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: none
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  placementGroupSelector: {name: together}
  kubelet: {maxPods: \"vcpus * 10\"}
";
    std::fs::write(&file, text).unwrap();
    let args = CatalogArgs { node_class: Some(file.clone()), ..CatalogArgs::default() };
    let source = source::load(None).unwrap();
    let error =
        class::load(&args, &source, &Settings::default()).map(|_| ()).unwrap_err().to_string();
    std::fs::remove_file(file).unwrap();
    assert!(
        error.contains("spec.kubelet.maxPods: an expression needs the feature gate"),
        "{error}"
    );
    assert!(error.contains("spec.placementGroupSelector"), "{error}");
}
