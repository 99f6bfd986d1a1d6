//! `shadow`.

use std::{fs, path::Path};

use crate::{CLASS, POOL, deployment, folder, run, run_with};

/// Nano-dollars of exact dollars.
fn nanos(dollars: &serde_json::Value) -> i128 {
    assert!(dollars.is_number(), "no price: {dollars}");
    let dollars = dollars.to_string();
    let (sign, dollars) = dollars.strip_prefix('-').map_or((1, &*dollars), |rest| (-1, rest));
    let (whole, rest) = dollars.split_once('.').unwrap_or((dollars, ""));
    let digits = format!("{whole}{rest:0<9}");
    sign * digits.get(..whole.len() + 9).expect("nine digits").parse::<i128>().expect("a number")
}

#[test]
fn dumps_of_a_simulated_fleet_cost_what_the_fleet_costs() {
    let web = deployment("web", 30);
    let scenario = "\
events:
- {at: 12m, scale: {workload: web, replicas: 6}}
- {at: 21m, scale: {workload: web, replicas: 18}}
";
    let files =
        [("class.yaml", CLASS), ("pool.yaml", POOL), ("web.yaml", &*web), ("scenario", scenario)];
    let folder = folder("shadow-fleet", &files);
    let words = "simulate class.yaml pool.yaml web.yaml --scenario scenario --duration 40m -o json";
    let played = run(&folder, &format!("{words} --dumps dumps --every 5m")).json();
    assert_eq!(run(&folder, words).json(), played, "dumps change nothing");
    let compared = run(&folder, "shadow dumps -o json");
    assert_eq!(compared.code, Some(0), "{}", compared.complaints);
    let compared = compared.json();
    assert_eq!(compared["dumps"].as_array().map(Vec::len), Some(9), "from the start to the end");
    let prices = |side: &str| -> Vec<i128> {
        let prices = compared[side]["pricePerHour"].as_array().expect("prices").iter();
        prices.map(nanos).collect()
    };
    let (they, we) = (prices("current"), prices("journeyman"));
    // The dump of the end has every instance that runs then, at its price.
    let price = nanos(&played["summary"]["pricePerHour"]);
    assert_eq!(they.last(), Some(&price));
    assert!(they.iter().max() > they.last(), "the fleet shrank: {they:?}");
    // Each dump holds for five minutes, the last one for none.
    let cost = |prices: &[i128]| prices[..8].iter().map(|price| price * 300).sum::<i128>() / 3_600;
    assert_eq!(nanos(&compared["current"]["cost"]), cost(&they));
    assert_eq!(nanos(&compared["journeyman"]["cost"]), cost(&we));
    let difference = nanos(&compared["costDifference"]);
    assert_eq!(difference, cost(&we) - cost(&they));
    // Of the pods that went with the large node 24 were not wanted any more.
    assert_eq!(compared["current"]["evictions"], 6);
    // The demand is the same on both sides.
    assert_eq!(compared["journeyman"]["podsWaiting"][8], 0);
    assert_eq!(compared["notes"], serde_json::json!([]));
}

/// Two nodes, each with a pod that needs half of one, for an hour: none is removed.
fn idle(folder: &Path) {
    let node = |number: u32| {
        let labels = "karpenter.sh/nodepool: general, karpenter.sh/registered: \"true\", \
                      karpenter.sh/initialized: \"true\", node.kubernetes.io/instance-type: m7i.large, \
                      karpenter.sh/capacity-type: on-demand, topology.kubernetes.io/zone: us-west-2a, \
                      kubernetes.io/arch: amd64, kubernetes.io/os: linux";
        let (at, id) = ("2026-09-01T08:00:00Z", format!("aws:///us-west-2a/i-{number:017}"));
        let amounts = "{cpu: \"2\", memory: 8Gi, pods: \"29\"}";
        let allocatable = "{cpu: 1930m, memory: 6Gi, pods: \"29\"}";
        let conditions = ["Launched", "Registered", "Initialized"].map(|kind| {
            format!("{{type: {kind}, status: \"True\", reason: R, lastTransitionTime: {at}}}")
        });
        let (conditions, hostname) =
            (conditions.join(", "), format!("kubernetes.io/hostname: ip-{number}"));
        format!(
            "apiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: general-{number}, \
             creationTimestamp: {at}, labels: {{{labels}}}}}\nspec: {{nodeClassRef: {{group: \
             karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, requirements: []}}\nstatus: \
             {{nodeName: ip-{number}, providerID: \"{id}\", capacity: {amounts}, allocatable: \
             {allocatable}, conditions: [{conditions}]}}\n---\napiVersion: v1\nkind: Node\nmetadata: \
             {{name: ip-{number}, creationTimestamp: {at}, labels: {{{labels}, {hostname}}}}}\nspec: \
             {{providerID: \"{id}\"}}\nstatus: {{capacity: {amounts}, allocatable: {allocatable}, \
             conditions: [{{type: Ready, status: \"True\"}}]}}\n---\napiVersion: v1\nkind: Pod\nmetadata: \
             {{name: web-7d9c8b6f5-x{number}, uid: web-{number}, creationTimestamp: {at}, \
             ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9c8b6f5, controller: \
             true}}]}}\nspec: {{nodeName: ip-{number}, containers: [{{name: m, resources: {{requests: \
             {{cpu: 800m}}}}}}]}}\nstatus: {{phase: Running}}\n"
        )
    };
    let large = "- {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]}\n";
    let dump =
        [CLASS, POOL, "      ", large, "---\n", &node(1), "---\n", &node(2)].concat().replacen(
            "apiVersion: karpenter.sh/v1\nkind: NodePool",
            "---\napiVersion: karpenter.sh/v1\nkind: NodePool",
            1,
        );
    fs::create_dir_all(folder.join("dumps")).expect("a folder");
    for time in ["08-30-00", "09-00-00", "09-30-00"] {
        fs::write(folder.join(format!("dumps/2026-09-01T{time}Z.yaml")), &dump).expect("a dump");
    }
}

#[test]
fn a_node_without_need_is_the_difference_to_the_cent() {
    let folder = folder("shadow-idle", &[]);
    idle(&folder);
    let compared = run(&folder, "shadow dumps -o json --html shadow.html").json();
    // m7i.large is $0.1008 an hour. The cluster pays for two in both half hours, Journeyman for one in the second.
    assert_eq!(compared["current"]["cost"], 0.2016);
    assert_eq!(compared["journeyman"]["cost"], 0.1512);
    assert_eq!(compared["costDifference"], -0.0504);
    assert_eq!(compared["current"]["evictions"], 0);
    assert_eq!(compared["journeyman"]["evictions"], 1);
    assert_eq!(compared["journeyman"]["nodes"], serde_json::json!([2, 1, 1]));
    let page = fs::read_to_string(folder.join("shadow.html")).expect("a report");
    assert!(page.contains("-$0.0504"));
    // What both are measured against: no more than the one node that is needed.
    let (_, least) = page.split_once("\"name\":\"lower bound\",\"values\":[").expect("a bound");
    let least: Vec<u64> = least
        .split(']')
        .next()
        .expect("its values")
        .split(',')
        .filter_map(|value| value.parse().ok())
        .collect();
    assert!(
        !least.is_empty() && least.iter().all(|micros| (1..=100_800).contains(micros)),
        "{least:?}"
    );
    let shown = run(&folder, "shadow dumps");
    shown.says(&[
        "cost                       $0.2016  $0.1512     -$0.0504 (-25.0%)",
        "cost per month             $147     $110        -$36.79",
        "Proved: on any nodes of the NodePools the pods of the dumps cost at least $0.",
        "Journeyman: NodeClaim",
        "deleted: Underutilized",
    ]);
    assert_eq!(compared["costDifferencePercent"], -25.0);
    let [least, ours] = [&compared["lowerBound"], &compared["journeyman"]["cost"]].map(nanos);
    assert!(0 < least && least <= ours, "{compared}");
}

/// Journeyman beside its own dumps, with what EC2 took back. It ends before nodes expire: where two do within a second,
/// chance decides whether their pods are planned together.
#[test]
fn journeyman_differs_from_itself_by_nothing() {
    let folder = folder("shadow-self", &[]);
    run(&folder, "simulate --duration 110m --dumps dumps --every 1m");
    let compared = run(&folder, "shadow dumps -o json").json();
    let (they, we) = (&compared["current"], &compared["journeyman"]);
    for number in ["launched", "removed", "evictions"] {
        assert_eq!(they[number], we[number], "{number}");
        assert_ne!(they[number], 0, "{number}");
    }
    let cost = nanos(&they["cost"]);
    let difference = nanos(&compared["costDifference"]);
    assert!(difference.abs() * 100 <= cost, "{difference} of {cost}");
    let interruptions = serde_json::json!(
        {"known": true, "current": 1, "played": 1, "evictionsLeftOut": 0}
    );
    assert_eq!(compared["interruptions"], interruptions);
    run(&folder, "shadow dumps").says(&[
        "AWS took away 1 instance of the cluster; the same happened to 1 of Journeyman's.",
    ]);
}

/// An instance is terminated. When EC2, the cloud controller and the garbage collector notice is chance, and the
/// instance costs nothing until then.
#[test]
fn journeyman_differs_from_itself_by_nothing_where_an_instance_ends() {
    for (seed, at) in [(1, "10m20s"), (2, "12m35s")] {
        let scenario = format!("events:\n- {{at: {at}, terminateInstance: any}}\n");
        let folder = folder(&format!("shadow-ended-{at}"), &[("scenario", &*scenario)]);
        let words = format!("simulate --scenario scenario --seed {seed} --duration 18m");
        run(&folder, &format!("{words} --dumps dumps --every 1m"));
        let compared = run(&folder, "shadow dumps -o json").json();
        let (they, we) = (&compared["current"], &compared["journeyman"]);
        for number in ["launched", "removed", "evictions", "nodes", "pricePerHour", "cost"] {
            assert_eq!(they[number], we[number], "{at}: {number}: {compared}");
        }
        assert_ne!(they["evictions"], 0, "{at}: {compared}");
    }
}

/// A spot instance of the cluster comes and goes that Journeyman would never buy.
#[test]
fn an_incident_without_an_instance_alike_on_our_side_counts_on_neither() {
    let folder = folder("shadow-alone", &[]);
    idle(&folder);
    let path = |time: &str| folder.join(format!("dumps/2026-09-01T{time}Z.yaml"));
    let dump = fs::read_to_string(path("08-30-00")).expect("a dump");
    let spot = dump.split("---\n").skip(2).filter(|part| part.contains("i-00000000000000002"));
    let spot: Vec<String> = spot
        .map(|part| {
            part.replace("m7i.large", "c6a.large")
                .replace("on-demand", "spot")
                .replace("general-2", "general-3")
                .replace("ip-2", "ip-3")
                .replace("i-00000000000000002", "i-00000000000000003")
        })
        .collect();
    let pod = |number: u32, node: u32| {
        let part = dump.split("---\n").find(|part| part.contains("web-7d9c8b6f5-x2"));
        let part = part.expect("a pod").replace("ip-2", &format!("ip-{node}"));
        part.replace("x2", &format!("x{number}")).replace("web-2", &format!("web-{number}"))
    };
    let event = "apiVersion: v1\nkind: Event\nmetadata: {name: e1, namespace: default}\ninvolvedObject: \
                 {kind: Node, name: ip-3}\nreason: TerminatingOnInterruption\nmessage: m\n\
                 firstTimestamp: 2026-09-01T09:10:00Z\n";
    let during = [&*dump, "---\n", &spot.join("---\n"), "---\n", &pod(3, 3)].concat();
    let after = |event: &str| [&*dump, "---\n", &pod(4, 1), event].concat();
    fs::write(path("09-00-00"), during).expect("a dump");
    fs::write(path("09-30-00"), after(&format!("---\n{event}"))).expect("a dump");
    let compared = run(&folder, "shadow dumps -o json").json();
    let interruptions = serde_json::json!(
        {"known": true, "current": 1, "played": 0, "evictionsLeftOut": 1}
    );
    assert_eq!(compared["interruptions"], interruptions, "{compared}");
    assert_eq!(compared["current"]["evictions"], 0);
    run(&folder, "shadow dumps").says(&[
        "AWS took away 1 instance of the cluster; the same happened to 0 of Journeyman's.",
        "For 1 of them, Journeyman had no other instance of the same offering: 1 eviction from their nodes",
    ]);

    // Without events nothing is known of it, and so it is said.
    fs::write(path("09-30-00"), after("")).expect("a dump");
    let compared = run(&folder, "shadow dumps -o json").json();
    assert_eq!(compared["interruptions"]["known"], false);
    assert_eq!(compared["current"]["evictions"], 1);
    run(&folder, "shadow dumps")
        .says(&["The dumps have no events", "Dump events as well; --live needs the right"]);
}

#[test]
fn dumps_of_nodes_on_their_way_out_are_read() {
    let folder = folder("shadow-story", &[]);
    run(&folder, "simulate --duration 7m --dumps dumps --every 10s");
    let dumps = fs::read_dir(folder.join("dumps"))
        .expect("dumps")
        .map(|entry| fs::read_to_string(entry.expect("a dump").path()).expect("a dump"));
    assert!(dumps.filter(|dump| dump.contains("karpenter.sh/disrupted")).count() > 0);
    let compared = run(&folder, "shadow dumps -o json");
    assert_eq!(compared.code, Some(0), "{}", compared.complaints);
}

#[test]
fn dumps_that_do_not_say_their_time_are_refused() {
    let folder = folder("shadow-names", &[("dumps/noon.yaml", CLASS)]);
    run(&folder, "shadow dumps").complains(&["dumps: `noon.yaml` does not say its time"]);
    fs::rename(folder.join("dumps/noon.yaml"), folder.join("dumps/2026-09-01T08-00-00Z.yaml"))
        .expect("a dump");
    run(&folder, "shadow dumps").complains(&["holds fewer than two dumps"]);
}

/// A scenario applies another NodePool, a Deployment and a changed class, and deletes things again.
const CHANGING: &str = "\
events:
- {at: 10m, apply: changed.yaml}
- {at: 20m, apply: second.yaml}
- {at: 30m, delete: {kind: Deployment, name: second}}
- {at: 31m, delete: {kind: PodDisruptionBudget, name: web}}
- {at: 40m, delete: {kind: NodePool, name: general}}
";

const BUDGET: &str = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n\
                      spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n";

/// A folder with a cluster to which [`CHANGING`] was played, with a dump each ten seconds.
fn changing(name: &str) -> std::path::PathBuf {
    let (web, second) = (deployment("web", 3), deployment("second", 2));
    let changed =
        POOL.replace("  template:\n", "  template:\n    metadata: {labels: {team: blue}}\n");
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", POOL),
        ("web.yaml", &*web),
        ("budget.yaml", BUDGET),
        ("changed.yaml", &*changed),
        ("second.yaml", &*second),
        ("scenario", CHANGING),
    ];
    let folder = folder(name, &files);
    let words = "class.yaml pool.yaml web.yaml budget.yaml --scenario scenario --duration 42m";
    let played = run(&folder, &format!("simulate {words} --dumps dumps --every 10s"));
    assert_eq!(played.code, Some(0), "{}", played.complaints);
    folder
}

/// What a dump of `folder` has of `kind`, by name.
fn dumped(
    folder: &Path,
    time: &str,
    kind: &str,
) -> std::collections::BTreeMap<String, serde_json::Value> {
    let path = folder.join(format!("dumps/2026-01-05T{time}Z.json"));
    let dump = fs::read_to_string(path).expect("a dump");
    let dump: serde_json::Value = serde_json::from_str(&dump).expect("JSON");
    let items = dump.pointer("/items").and_then(serde_json::Value::as_array).expect("items").iter();
    let name = |item: &serde_json::Value| {
        let name = item.pointer("/metadata/name").and_then(serde_json::Value::as_str);
        name.expect("a name").to_owned()
    };
    let of_kind = items.filter(|item| item.pointer("/kind").is_some_and(|value| value == kind));
    of_kind.map(|item| (name(item), item.clone())).collect()
}

#[test]
fn dumps_hold_the_objects_as_the_cluster_has_them_then() {
    let folder = changing("dumps-changing");
    let pool = |time: &str| dumped(&folder, time, "NodePool").remove("general");
    assert_eq!(pool("08-09-00").expect("a pool")["spec"]["template"].get("metadata"), None);
    let changed = pool("08-25-00").expect("a pool");
    assert_eq!(changed["spec"]["template"]["metadata"]["labels"]["team"], "blue");
    assert_eq!(changed["metadata"]["generation"], 2);
    assert_eq!(pool("08-41-00"), None);
    // What the functions write on them, and the API server.
    let class = dumped(&folder, "08-25-00", "EC2NodeClass").remove("default").expect("a class");
    let claims = dumped(&folder, "08-25-00", "NodeClaim");
    let claim = claims.values().next().expect("a claim");
    for (object, prefix) in
        [(&class, "karpenter.k8s.aws/ec2nodeclass"), (&changed, "karpenter.sh/nodepool")]
    {
        let key = format!("{prefix}-hash");
        let (own, of_claim) =
            (&object["metadata"]["annotations"][&key], &claim["metadata"]["annotations"][&key]);
        assert!(own.is_string(), "{object}");
        assert_eq!(own, of_claim, "{key}");
        let conditions = object["status"]["conditions"].as_array().expect("conditions").iter();
        let ready = conditions.clone().find(|condition| condition["type"] == "Ready");
        assert_eq!(ready.expect("Ready")["status"], "True", "{object}");
        for member in ["uid", "creationTimestamp", "resourceVersion"] {
            assert!(object["metadata"][member].is_string(), "{member}: {object}");
        }
    }
    assert!(class["status"]["amis"].is_array() && class["status"]["subnets"].is_array());
    assert_eq!(changed["status"]["nodes"], claims.len());
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], changed["metadata"]["uid"]);
    // Workloads that come later come with their pods' own specs, and go.
    let second = |time: &str| dumped(&folder, time, "Deployment").contains_key("second");
    assert_eq!(["08-19-00", "08-21-00", "08-31-00"].map(second), [false, true, false]);
    let pods = dumped(&folder, "08-25-00", "Pod");
    let specs: Vec<_> = pods.iter().filter(|(name, _)| name.starts_with("second-")).collect();
    assert_eq!(specs.len(), 2);
    assert!(specs.iter().all(|(_, pod)| pod["spec"]["containers"][0]["name"] == "m"), "{specs:?}");
    // A budget called as a Deployment is one of its own.
    let budget =
        dumped(&folder, "08-25-00", "PodDisruptionBudget").remove("web").expect("a budget");
    assert_eq!(budget["spec"].get("replicas"), None);
    assert_eq!(budget["status"]["disruptionsAllowed"], 1);
    assert!(dumped(&folder, "08-32-00", "PodDisruptionBudget").is_empty());
    assert_eq!(dumped(&folder, "08-25-00", "Deployment")["web"]["spec"]["replicas"], 3);
}

/// What a scenario applies can come from where it is read once, and only a Deployment's controller says how many
/// pods it wants.
#[test]
fn dumps_have_what_a_scenario_applies_and_events_of_replicas_of_deployments_alone() {
    let db = deployment("db", 2).replace("kind: Deployment", "kind: StatefulSet");
    let batch = deployment("batch", 2)
        .replace("apps/v1", "batch/v1")
        .replace("kind: Deployment", "kind: Job")
        .replace("replicas: 2", "completions: 2\n  parallelism: 2")
        .replace("  selector: {matchLabels: {app: batch}}\n", "")
        .replace("spec: {containers", "spec: {restartPolicy: Never, containers");
    let scenario =
        "events:\n- {at: 1m, apply: /dev/stdin}\n- {at: 2m, scale: {workload: db, replicas: 3}}\n";
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", POOL),
        ("db.yaml", &*db),
        ("batch.yaml", &*batch),
        ("scenario", scenario),
    ];
    let folder = folder("dumps-kinds", &files);
    let words = "simulate class.yaml pool.yaml db.yaml batch.yaml --scenario scenario --duration 4m --dumps dumps --every 1m";
    let played = run_with(&folder, words, &deployment("web", 2));
    assert_eq!(played.code, Some(0), "{}", played.complaints);
    let pods = dumped(&folder, "08-04-00", "Pod");
    let names: Vec<&str> = pods.keys().filter_map(|name| name.split('-').next()).collect();
    assert_eq!(names, ["batch", "batch", "db", "db", "db", "web", "web"]);
    assert!(dumped(&folder, "08-04-00", "Deployment").contains_key("web"));
    let events = dumped(&folder, "08-04-00", "Event");
    let scaled = events.values().filter(|event| event["reason"] == "ScalingReplicaSet");
    let about: Vec<&serde_json::Value> =
        scaled.map(|event| &event["involvedObject"]["name"]).collect();
    assert_eq!(about, ["web"]);
}

#[test]
fn dumps_have_what_standard_input_has() {
    let folder = folder("dumps-stdin", &[]);
    let objects = [CLASS, POOL, &deployment("web", 2)].join("---\n");
    run_with(&folder, "simulate - --duration 1m --dumps dumps --every 1m", &objects);
    assert!(dumped(&folder, "08-01-00", "Deployment").contains_key("web"));
}

#[test]
fn dumps_of_a_changing_cluster_are_planned_and_shadowed_as_it_was_played() {
    let folder = changing("dumps-planned");
    let plan = |time: &str| {
        let now = time.replace('-', ":");
        let words = "--disruption --now 2026-01-05T";
        run(&folder, &format!("plan dumps/2026-01-05T{time}Z.json {words}{now}Z"))
    };
    plan("08-10-00").says(&["NodePoolDrifted"]);
    plan("08-19-00").is_silent_about(&["NodePoolDrifted", "unknown field"]);
    run(&folder, "hash dumps/2026-01-05T08-19-00Z.json").is_silent_about(&["would drift"]);
    let compared = run(&folder, "shadow dumps -o json");
    assert_eq!(compared.code, Some(0), "{}", compared.complaints);
    let compared = compared.json();
    let (they, we) = (&compared["current"], &compared["journeyman"]);
    for number in ["launched", "removed", "evictions"] {
        assert_eq!(they[number], we[number], "{number}: {compared}");
        assert_ne!(they[number], 0, "{number}");
    }
    let (cost, difference) = (nanos(&they["cost"]), nanos(&compared["costDifference"]));
    assert!(difference.abs() * 100 <= cost, "{difference} of {cost}");
    assert!(nanos(&compared["lowerBound"]) <= cost.min(cost + difference), "{compared}");
}

#[test]
fn a_note_on_a_feature_gate_names_no_option_that_shadow_does_not_have() {
    let overlay = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: c}\nspec: {requirements: \
                   [{key: karpenter.k8s.aws/instance-category, operator: In, values: [c]}], price: '1'}\n";
    let folder = folder("shadow-gate", &[("overlay.yaml", overlay)]);
    idle(&folder);
    let compared = run(&folder, "shadow dumps -f overlay.yaml -o json").json();
    let notes = compared["notes"].to_string();
    assert!(notes.contains("NodeOverlay c has no effect: the feature gate NodeOverlay is off"));
    let help = run(&folder, "shadow --help").out;
    for option in notes.split_whitespace().filter_map(|word| word.split("--").nth(1)) {
        assert!(help.contains(&format!("--{option}")), "--{option} in {notes}");
    }
}
