//! The definitions of Karpenter's kinds, and what a NodePool shows.

use api::karpenter::{crd, node_class::Ec2NodeClassSpec, node_pool::resources_of};
use model::Resources;

#[test]
fn the_tags_that_a_launch_sets_are_refused_by_the_schema() {
    let rules = crd::definition::<Ec2NodeClassSpec>().to_string();
    for tag in model::labels::LAUNCH_TAGS {
        assert!(
            rules.contains(&format!("!='{tag}'")) || rules.contains(&format!("!= '{tag}'")),
            "{tag}"
        );
    }
    let prefix = model::labels::CLUSTER_TAG_PREFIX;
    assert!(rules.contains(&format!("!k.startsWith('{prefix}')")), "{prefix}");
}
#[test]
fn a_pool_without_nodes_shows_zeros() {
    let quantities = resources_of(&Resources::default(), 0);
    let names: Vec<_> = quantities.keys().map(String::as_str).collect();
    assert_eq!(names, ["cpu", "ephemeral-storage", "memory", "nodes", "pods"]);
    assert!(quantities.values().all(|quantity| quantity.0 == "0"), "{quantities:?}");
}

#[test]
fn the_definitions_are_those_that_are_shipped() {
    for (name, definition) in crd::all() {
        let text = format!("---\n{}", api::document::yaml::to_text(&definition));
        let written =
            std::fs::read_to_string(format!("{}/../../crds/{name}", env!("CARGO_MANIFEST_DIR")))
                .unwrap();
        let differs = written.lines().zip(text.lines()).find(|(a, b)| a != b);
        assert!(written == text, "{name}: {differs:?}");
    }
}
