//! `hash` and `catalog`.

use crate::{CLASS, POOL, folder, run};

#[test]
fn d16_hashes_say_whose_they_are() {
    let folder = folder("d16", &[("class.yaml", CLASS), ("pool.yaml", POOL)]);
    let hashed = run(&folder, "hash .");
    hashed.says(&["NodePool/general      v3  ", "EC2NodeClass/default  v6  "]);
    run(&folder, "hash --help").says(&["Karpenter 1.15", "v6"]);
}

#[test]
fn d25_windows_has_no_types_of_arm64() {
    let class = CLASS.replace("al2023@latest", "windows2022@latest");
    let folder = folder("d25", &[("class.yaml", &class)]);
    let listed = run(&folder, "catalog --node-class class.yaml");
    listed.says(&["amd64"]);
    listed.is_silent_about(&["arm64"]);
    // The JSON is Karpenter's list: such a type has no operating system.
    let asked = "catalog --node-class class.yaml --where arch=arm64 --limit 1 -o json";
    let types = run(&folder, asked).json();
    let labels = types["instanceTypes"][0]["requirements"].as_array().expect("labels").clone();
    let system = labels.into_iter().find(|label| label["key"] == "kubernetes.io/os");
    assert_eq!(system.expect("the operating system")["operator"], "DoesNotExist");
}

#[test]
fn d27_json_of_the_catalog_is_filtered_and_limited_as_the_table_is() {
    let folder = folder("d27", &[]);
    let answer =
        run(&folder, "catalog -o json --where arch=arm64 --where cpu=4 --limit 3 --sort name");
    let types = answer.json();
    let types = types["instanceTypes"].as_array().expect("types");
    assert_eq!(types.len(), 3);
    for listed in types {
        assert!(listed.to_string().contains(r#""values":["arm64"]"#), "{listed}");
    }
    assert!(answer.out.lines().count() > 30, "one line is not for people");
}
