//! What is asked of the command: `hash`, `catalog`, help, and where manifests are.

use std::fs;

use crate::{CLASS, POOL, answer, command, deployment, folder, run, run_with};

#[test]
fn d16_hashes_say_whose_they_are() {
    let folder = folder("d16", &[("class.yaml", CLASS), ("pool.yaml", POOL)]);
    let hashed = run(&folder, "hash .");
    hashed.says(&[
        "NodePool/general      v3  ",
        "EC2NodeClass/default  v6  unknown\n",
        "--ca-bundle",
    ]);
    let kubeconfig = "current-context: mine\ncontexts:\n- {name: mine, context: {cluster: one, user: me}}\n\
                      clusters:\n- {name: one, cluster: {server: 'https://1', certificate-authority-data: Z29sZGVu}}\n";
    fs::write(folder.join("config"), kubeconfig).unwrap();
    let mut command = command(&folder, "hash class.yaml");
    command.env("KUBECONFIG", "config");
    let of_context = answer(command);
    of_context.says(&["context mine"]);
    let claim = "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata:\n  name: a\n  annotations:\n    \
                 karpenter.k8s.aws/ec2nodeclass-hash: '1'\n    karpenter.k8s.aws/ec2nodeclass-hash-version: v6\n\
                 spec:\n  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n  requirements: []\n";
    fs::write(folder.join("claim"), claim).unwrap();
    let unknown = run(&folder, "hash class.yaml --against claim --strict");
    unknown.says(&["a may drift", "its hash is unknown", "--ca-bundle"]);
    assert_eq!(unknown.code, Some(1));
    let stored = CLASS.replacen(
        "{name: default}",
        "{name: default, annotations: {karpenter.k8s.aws/ec2nodeclass-hash: '2', \
         karpenter.k8s.aws/ec2nodeclass-hash-version: v6}}",
        1,
    );
    fs::write(folder.join("stored"), stored).unwrap();
    run(&folder, "hash stored --against claim").says(&["a drifts", "1 of 1 node would drift"]);
    let given = run(&folder, "hash class.yaml --ca-bundle Z29sZGVu -o json").json();
    let class = given["EC2NodeClass/default"].as_str().expect("a hash").to_owned();
    of_context.says(&[&*class]);
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

pub(crate) const FACTS: &str = r#"{"name": "golden", "endpoint": "https://golden.example",
  "serviceCIDR": "10.100.0.0/16", "kubernetesVersion": "1.34", "region": "us-west-2"}"#;

#[test]
fn w6_render_is_asked_about_one_pool_and_one_type_and_assumes_what_no_status_says() {
    let other = POOL.replace("name: general", "name: other");
    let files = [("class.yaml", CLASS), ("a.yaml", POOL), ("b.yaml", &other), ("facts", FACTS)];
    let folder = folder("w6", &files);
    let render = |more: &str| run(&folder, &format!("render . --cluster-facts facts{more}"));
    let refused = render("");
    assert_eq!(refused.code, Some(2));
    refused.complains(&["more than one NodePool", "--nodepool"]);
    render(" --nodepool none").complains(&["there is no NodePool `none`; there is general, other"]);
    let rendered = render(" --nodepool other --type m7i.large");
    rendered.says(&[
        "assumed: EC2NodeClass default: a subnet in every zone of us-west-2",
        "assumed: EC2NodeClass default: an image for amd64 and arm64",
        "assumed: EC2NodeClass default: one security group",
        "assumed: EC2NodeClass default: the instance profile golden_",
        "for m7i.large\n",
        "karpenter.sh/nodepool=other",
    ]);
    rendered.is_silent_about(&["m7i.xlarge"]);
    let document = render(" --nodepool other --type m7i.large -o json").json();
    assert_eq!(document["assumed"].as_array().map(Vec::len), Some(4));
    let unknown = render(" --nodepool other --type m99.large");
    unknown.complains(&["--type: there is no instance type `m99.large`"]);
}

#[test]
fn w6_the_facts_that_render_wants_can_be_filled_in() {
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL)];
    let folder = folder("w6-facts", &files);
    run(&folder, "render --help").says(&["--cluster-facts-template"]);
    let template = run(&folder, "render --cluster-facts-template");
    assert_eq!(template.json()["_endpoint"], "cluster.endpoint");
    fs::write(folder.join("facts"), &template.out).expect("facts of the test");
    run(&folder, "render class.yaml pool.yaml --cluster-facts facts --type m7i.large")
        .says(&["my-cluster"]);
}

#[test]
fn w7_the_catalog_has_columns_for_gpus_networks_and_disks_and_both_prices() {
    let folder = folder("w7", &[]);
    let answer = run(&folder, "catalog --where gpu-count=1 --where instance-family=g6 --sort name");
    let mut lines = answer.out.lines();
    let heads = lines.next().unwrap_or_default();
    for head in ["MEMORY", "GPU", "NETWORK", "NVME", "ON-DEMAND", "SPOT"] {
        assert!(heads.contains(head), "{heads}");
    }
    let row = lines.find(|line| line.trim_start().starts_with("g6.xlarge "));
    let row: Vec<&str> =
        row.unwrap_or_default().split("  ").filter(|cell| !cell.is_empty()).collect();
    for cell in ["1 l4", "250 GB", "14.7Gi"] {
        assert!(row.iter().any(|shown| shown.trim() == cell), "no {cell} in {row:?}");
    }
    assert_eq!(row.iter().filter(|cell| cell.trim().starts_with('$')).count(), 3, "{row:?}");
    answer.is_silent_about(&["0 more"]);
}

#[test]
fn w8_help_says_what_the_program_is_and_directories_are_read_with_all_in_them() {
    let folder = folder(
        "w8-all",
        &[("in/class.yaml", CLASS), ("in/deeper/pool.yaml", POOL), ("in/deeper/w.yaml", "a: b")],
    );
    run(&folder, "-h").says(&["Karpenter without the controller\n", "simulate", "validate"]);
    run(&folder, "--help").says(&[
        "Karpenter without the controller.",
        "nodes of an Amazon EKS cluster",
        "Only `deploy`, `upgrade`, `rollback`, `install`, `uninstall`,\n`adopt` and `release` change a cluster or an AWS account",
    ]);
    for words in
        ["plan -R in", "hash -R in", "validate -R in", "simulate -R --manifests in --duration 1m"]
    {
        let answer = run(&folder, words);
        assert_eq!(answer.code, Some(0), "{words}: {}", answer.complaints);
    }
    run(&folder, "hash -R in").says(&["NodePool/general", "EC2NodeClass/default"]);
}

#[test]
fn manifests_are_named_as_for_kubectl() {
    let files = [("in/class.yaml", CLASS), ("in/deeper/pool.yaml", POOL)];
    let folder = folder("filename", &files);
    let facts = run(&folder, "render --cluster-facts-template").out;
    fs::write(folder.join("facts.json"), facts).expect("a file of the test");
    let both = "-f in/class.yaml --filename in/deeper/pool.yaml";
    for (words, code) in [
        (format!("plan {both}"), 0),
        ("plan -f in/class.yaml,in/deeper/pool.yaml".to_owned(), 0),
        ("plan in/class.yaml -f in/deeper".to_owned(), 0),
        ("plan -R -f in".to_owned(), 0),
        (format!("validate {both}"), 0),
        (format!("hash {both}"), 0),
        (format!("convert {both}"), 0),
        (format!("simulate {both} --duration 1m"), 0),
        (format!("plan --live {both}"), 2),
        ("plan".to_owned(), 2),
        ("validate".to_owned(), 2),
    ] {
        let answer = run(&folder, &words);
        assert_eq!(answer.code, Some(code), "{words}: {}", answer.complaints);
        if code == 0 && words.starts_with("plan") {
            answer.says(&["EC2NodeClass default: a subnet in every zone"]);
        }
    }
    let rendered = run(&folder, &format!("render {both} --cluster-facts facts.json"));
    rendered.is_silent_about(&["unexpected argument", "there is no NodePool"]);
    run(&folder, "plan -f https://example.com/pool.yaml").complains(&[
        "https://example.com/pool.yaml: is not fetched",
        "`curl -sL https://example.com/pool.yaml | journeyman … -f -`",
    ]);
    let piped = run_with(
        &folder,
        "plan -f - -f in/class.yaml",
        &format!("{POOL}---\n{}", deployment("web", 2)),
    );
    assert_eq!(piped.code, Some(0), "{}", piped.complaints);
    piped.says(&["default/web"]);
}

#[test]
fn standard_input_is_read_as_a_file_is() {
    let pod = |index: u32, cpu: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "p{index}", "uid": "{index}",
            "annotations": {{"a": "{}"}}}}, "spec": {{"containers": [{{"name": "m", "resources":
            {{"requests": {{"cpu": "{cpu}"}}}}}}]}}}}"#,
            "x".repeat(100_000)
        )
    };
    let list = |pods: &[String], end: &str| {
        format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}]{end}"#, pods.join(",\n"))
    };
    let pods: Vec<String> = (0..100).map(|index| pod(index, "1")).collect();
    let wrong: Vec<String> = pods.iter().cloned().chain([pod(100, "1O")]).collect();
    // More than is kept in memory; the second is found out to be no list at its very end.
    for (text, shown) in [
        (list(&pods, "}"), "100 pods cannot be scheduled"),
        (list(&pods, ""), "not valid YAML: unclosed bracket"),
        (list(&wrong, "}"), "Pod p100: spec.containers[0].resources.requests.cpu"),
        (format!("# YAML\n{}", list(&pods, "}")), "100 pods cannot be scheduled"),
    ] {
        let folder = folder("stdin", &[("in.json", &text)]);
        let (file, piped) = (run(&folder, "plan in.json"), run_with(&folder, "plan -f -", &text));
        assert!(
            (format!("{}{}", file.out, file.complaints)).contains(shown),
            "{shown}: {}\n{}",
            file.out,
            file.complaints
        );
        assert_eq!((&piped.out, piped.code), (&file.out, file.code));
        assert_eq!(piped.complaints.replace("-:", "in.json:"), file.complaints);
    }
}

#[test]
fn w8_shells_can_complete_the_command() {
    let folder = folder("w8", &[]);
    for (shell, text) in [
        ("bash", "complete -F _journeyman"),
        ("zsh", "#compdef journeyman"),
        ("fish", "complete -c journeyman"),
    ] {
        let script = run(&folder, &format!("completions {shell}"));
        assert_eq!(script.code, Some(0));
        script.says(&[text, "simulate", "cluster-facts"]);
    }
}

/// Numbers of four digits and more that stand by themselves.
fn unparted(text: &str) -> Vec<&str> {
    let is_mark = |letter: char| !letter.is_alphanumeric() && letter != ',' && letter != '.';
    let words = text.split_whitespace().map(|word| word.trim_matches(is_mark));
    let is_number = |word: &&str| word.bytes().all(|letter| letter.is_ascii_digit());
    words.filter(is_number).filter(|word| word.len() > 3).collect()
}

#[test]
fn w1_numbers_of_thousands_are_parted_for_people_and_as_they_are_in_json() {
    let one_type = "- {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]}";
    let pool = format!("{POOL}      {one_type}\n");
    let web = deployment("web", 2_400);
    let huge = deployment("huge", 1_100).replace("800m", "90");
    let manifests = [CLASS, &pool, &web, &huge].join("---\n");
    let folder = folder("w1-thousands", &[("all.yaml", &manifests)]);
    let calls = [
        ("plan all.yaml", &["  1,200  general", "default/huge ×1,100"][..]),
        (
            "simulate all.yaml --duration 30s",
            &["1,200 nodes for 2,400 pods", "pods unplaced    3,500", "default/huge ×1,100"],
        ),
        ("catalog --sort name", &["of 1,3", "1,420.7Gi", "GB"]),
        ("validate all.yaml", &["nothing is wrong"]),
    ];
    for (words, said) in calls {
        let answer = run(&folder, words);
        answer.says(said);
        assert_eq!(unparted(&answer.out), Vec::<&str>::new(), "{words}");
    }
    let json = run(&folder, "plan all.yaml -o json").json();
    assert_eq!(json["totals"]["nodes"], 1_200);
}

#[test]
fn what_a_ledger_has_is_listed_for_people_and_for_programs() {
    let folder = folder("get", &[]);
    run(&folder, "simulate --duration 10m --ledger ledger");
    let get = |words: &str| run(&folder, &format!("get {words} --ledger ledger"));
    let claims = get("nodeclaims -o json").json();
    let claims = claims["items"].as_array().expect("claims");
    let names: Vec<&str> = claims.iter().filter_map(|claim| claim["name"].as_str()).collect();
    assert!(!names.is_empty());
    for form in ["table", "wide", "yaml"] {
        get(&format!("nodeclaims -o {form}")).says(&names);
    }
    let costs = get("costs -o json").json();
    let costs = costs["items"].as_array().expect("sums");
    let nodes = |is_total: bool| -> u64 {
        let rows = costs.iter().filter(|row| row["nodePool"].is_null() == is_total);
        rows.filter_map(|row| row["nodes"].as_u64()).sum()
    };
    assert_eq!((nodes(false), nodes(true)), (names.len() as u64, names.len() as u64));
    get("costs").says(&["general", "total"]);
    let decisions = get("decisions -o json").json();
    let first = decisions["items"][0]["id"].as_str().expect("an id");
    get("decisions -o wide").says(&[first]);
    get("commands -o yaml").says(&["items: []"]);
}

#[test]
fn what_is_explained_may_be_named_as_kubectl_users_name_it() {
    let folder = folder("asking-names", &[]);
    let played = run(&folder, "simulate --ledger ledger.jsonl");
    let placed = played.out.split("pods placed").nth(1).expect("a summary");
    let placed: u32 = placed.split_whitespace().next().and_then(|n| n.parse().ok()).expect("pods");
    let pods = run(&folder, "explain pod web --ledger ledger.jsonl --limit 2");
    let (all, hidden) = (format!("{placed} pods match"), format!("and {} more", placed - 2));
    pods.says(&[&all, "default/web-", &hidden]);
    let node = run(&folder, "explain node ip-10-0-0-17 --ledger ledger.jsonl");
    node.says(&["node ip-10-0-0-17.us-west-2.compute.internal", "Interruption"]);
    // `ip-10-0-0-1` is no whole word of `ip-10-0-0-17`.
    let none = run(&folder, "explain node ip-10-0-0-1 --ledger ledger.jsonl");
    assert_eq!(none.code, Some(1), "{}", none.out);
    let list = run(&folder, "explain nodeclaim general -o json --ledger ledger.jsonl");
    let list: serde_json::Value = serde_json::from_str(&list.out).expect("JSON");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(18), "{list}");
}

#[test]
fn the_ledger_says_for_which_pods_node_claims_without_nodes_are() {
    let folder = folder("plan-ledger", &[]);
    run(&folder, "simulate --duration 20s --ledger ledger --dumps dumps --every 10s");
    let dumps = fs::read_dir(folder.join("dumps")).unwrap();
    let newest = dumps.map(|dump| dump.unwrap().path()).max().expect("a dump");
    let now = newest.file_stem().unwrap().to_str().unwrap();
    let (day, time) = now.split_once('T').unwrap();
    let plan = format!("plan {} --now {day}T{}", newest.display(), time.replace('-', ":"));
    let unknown = "for which pods 15 NodeClaims without a node were created";
    run(&folder, &plan).says(&[unknown, "--ledger"]);
    let whole = run(&folder, &format!("{plan} --ledger ledger"));
    whole.is_silent_about(&[unknown]);
    let whole = run(&folder, &format!("{plan} --ledger ledger -o json")).json();
    assert_eq!(whole["newNodeClaims"], serde_json::json!([]));
    run(&folder, &format!("{plan} --ledger nowhere")).complains(&["nowhere: No such file"]);
}

#[test]
fn a_pod_that_cannot_be_scheduled_is_explained_with_the_rule_that_keeps_it_out() {
    let web = deployment("web", 1)
        .replace("spec: {containers", "spec: {nodeSelector: {team: a}, containers");
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web)];
    let folder = folder("asking-remedy", &files);
    let words = "simulate --manifests . --duration 2m --ledger ledger.jsonl --record facts";
    run(&folder, words).says(&["Cannot be scheduled"]);
    run(&folder, "explain pod web --ledger ledger.jsonl")
        .says(&["it could be scheduled without its node selector team In [a]"]);
}
