//! Every option of every command in windows of 80 and 200 columns, by clap's own definition: one that is
//! new cannot be forgotten here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use clap::{CommandFactory as _, parser::ValueSource};
use journeyman::args::Args;

use super::{CLUSTER, Call, Terminal, answers, complains, folder, journeyman, window};

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 120
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, resources: {requests: {cpu: 800m}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a-workload-that-asks-for-very-much-and-has-a-long-name-too}
spec:
  replicas: 3
  selector: {matchLabels: {app: much}}
  template:
    metadata: {labels: {app: much}}
    spec: {containers: [{name: web, resources: {requests: {cpu: 9000}}}]}
";

const NODE: &str = "\
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: general-1
  uid: c1
  creationTimestamp: 2026-08-01T08:00:00Z
  labels: {karpenter.sh/nodepool: general, karpenter.sh/capacity-type: on-demand,
    node.kubernetes.io/instance-type: m7i.large, topology.kubernetes.io/zone: us-west-2a}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
status:
  nodeName: ip-1
  providerID: aws:///us-west-2a/i-0123456789abcdef0
  capacity: {cpu: '2', memory: 8Gi, pods: '29'}
  allocatable: {cpu: 1930m, memory: 6Gi, pods: '29'}
  conditions:
  - {type: Launched, status: \"True\", reason: Launched, lastTransitionTime: 2026-08-01T08:00:00Z}
  - {type: Registered, status: \"True\", reason: Registered, lastTransitionTime: 2026-08-01T08:00:00Z}
  - {type: Initialized, status: \"True\", reason: Initialized, lastTransitionTime: 2026-08-01T08:00:00Z}
---
apiVersion: v1
kind: Node
metadata:
  name: ip-1
  uid: n1
  creationTimestamp: 2026-08-01T08:00:00Z
  labels: {karpenter.sh/nodepool: general, karpenter.sh/capacity-type: on-demand,
    karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true', kubernetes.io/hostname: ip-1,
    node.kubernetes.io/instance-type: m7i.large, topology.kubernetes.io/zone: us-west-2a}
spec: {providerID: aws:///us-west-2a/i-0123456789abcdef0}
status:
  capacity: {cpu: '2', memory: 8Gi, pods: '29'}
  allocatable: {cpu: 1930m, memory: 6Gi, pods: '29'}
  conditions: [{type: Ready, status: \"True\"}]
";

const SCENARIO: &str = "events: [{at: 1m, scale: {workload: web, replicas: 30}}]\n";
const RESERVATIONS: &str = r#"{"CapacityReservations": []}"#;

/// Each option of each command is in at least one of these or of those of [`super::CALLS`].
const CALLS: &[Call] = &[
    complains(
        "simulate web.yaml --manifests cluster.yaml --scenario story --seed 7 --duration 4m --strict \
         --verbose",
        1,
        "",
    ),
    answers("simulate -f cluster.yaml,web.yaml -R --duration 2m", "pods unplaced"),
    answers("simulate -f cluster.yaml,web.yaml --wake --duration 2m", "pods unplaced"),
    answers("simulate --filename cluster.yaml --duration 1m -o json", "podsPlaced"),
    complains("simulate cluster.yaml --scenario nowhere", 2, "nowhere"),
    answers(
        "simulate cluster.yaml --feature-gates NodeOverlay=true --aws-feature-gates NodeClassCEL=true --reserved-enis 1 --vm-memory-overhead-percent 0.08 \
         --packing cheapest --node-charge 0.01 --ledger ledger.json --record facts --duration 1m \
         --set Consolidation=thorough",
        "pods unplaced",
    ),
    complains(
        "explain pod web --namespace web --limit 3 --output json --table none --cluster-name demo \
         --region eu-west-1 --records 10 --context east --kubeconfig ./nowhere --html pod.html",
        2,
        "not in this build",
    ),
    complains(
        "get decisions --nodepool general --limit 3 --output json --watch --table none --cluster-name demo \
         --region eu-west-1 --records 10 --context east --kubeconfig ./nowhere",
        2,
        "not in this build",
    ),
    complains(
        "replay 0f3a --output json --table none --cluster-name demo --region eu-west-1 --records 10 \
         --with cluster.yaml --context east --kubeconfig ./nowhere --html replay.html",
        2,
        "not in this build",
    ),
    complains("get decisions", 2, "without --ledger FILE: not in this build"),
    complains("explain pod --ledger ./nowhere", 2, ""),
    complains("simulate cluster.yaml --dumps facts.json --every 1m", 2, "--dumps facts.json: "),
    complains(
        "shadow facts.json --live --every 1m --duration 0s --context east --kubeconfig ./nowhere",
        2,
        "journeyman shadow --live: not in this build",
    ),
    complains(
        "shadow . -f cluster.yaml --seed 2 --html shadow.html --output json --region eu-west-1",
        2,
        "journeyman shadow --region: not in this build",
    ),
    complains("simulate cluster.yaml --duration soon", 2, "--duration"),
    complains(
        "plan web.yaml -f cluster.yaml -R --now 2026-08-01T12:00:00Z --preference-policy Ignore \
         --min-values-policy BestEffort --feature-gates NodeOverlay=true --aws-feature-gates NodeClassCEL=true --reserved-enis 1 --vm-memory-overhead-percent 0.1 --rounds 2 \
         --legacy-node-repair --strict --color always",
        1,
        "",
    ),
    answers("plan cluster.yaml web.yaml --capacity-reservations reservations", "m7i.large"),
    answers("plan cluster.yaml web.yaml --output yaml", "m7i.large"),
    answers(
        "plan cluster.yaml web.yaml --packing cheapest --compare --html plans.html",
        "at least",
    ),
    answers("plan cluster.yaml node.yaml --from-scratch", "1 node, "),
    answers(
        "plan cluster.yaml web.yaml --node-charge 0.01 --max-node-share 20%",
        "instances, their volumes and $0.0100 for each node",
    ),
    complains("plan cluster.yaml --node-charge much", 2, "--node-charge"),
    answers("plan cluster.yaml web.yaml --set Packing=cheapest --compare", "at least"),
    complains("plan cluster.yaml --set Packing=tight", 2, "--set Packing: `tight` is not"),
    complains(
        "plan cluster.yaml --set Patience=low",
        2,
        "`Patience` is no setting: there are FeatureGates",
    ),
    complains("plan cluster.yaml --set Packing", 2, "must be NAME=VALUE"),
    complains("plan cluster.yaml --max-node-share 0.2", 2, "--max-node-share"),
    answers("plan cluster.yaml web.yaml --max-dollars-per-hour 0.01", "$0.0100 of $0.0100 an hour"),
    complains("plan cluster.yaml --max-dollars-per-hour much", 2, "--max-dollars-per-hour"),
    complains("plan cluster.yaml --instance-types facts.json", 2, "facts.json"),
    complains(
        "plan --live --context east --kubeconfig ./nowhere",
        2,
        "plan --live: not in this build",
    ),
    complains("plan cluster.yaml --region eu-west-1", 2, "plan --region: not in this build"),
    complains("plan cluster.yaml --now today", 2, "--now"),
    answers("plan cluster.yaml node.yaml web.yaml --disruption --html nodes.html", "ip-1"),
    answers(
        "plan cluster.yaml node.yaml --disruption --explain ip-1 --consolidation thorough \
         --consolidation-work 1000",
        "ip-1",
    ),
    answers(
        "plan cluster.yaml node.yaml --disruption --view journeyman --ca-bundle Z29sZGVu",
        "As the function `disrupt` decides",
    ),
    answers("plan cluster.yaml node.yaml --disruption --cluster-facts facts.json", "ip-1"),
    answers("plan cluster.yaml node.yaml --disruption --ledger ledger.json", "ip-1"),
    complains(
        "plan cluster.yaml --table journeyman --cluster-name demo",
        2,
        "journeyman with --table: not in this build",
    ),
    answers("hash cluster.yaml --cluster-facts facts.json", "EC2NodeClass/default"),
    answers(
        "hash cluster.yaml -f older.yaml -R --ca-bundle Z29sZGVu --against node.yaml",
        "0 of 1 node would drift",
    ),
    answers("hash cluster.yaml -o json", "NodePool/general"),
    complains("hash cluster.yaml --against node.yaml --strict --ca-bundle *", 2, "--ca-bundle"),
    answers("convert older.yaml -f cluster.yaml -R --role nodes", "karpenter.sh/v1"),
    complains("convert pods.yaml", 2, "Pod misspelled"),
    complains("validate cluster.yaml -f pods.yaml,web.yaml -R", 1, "Pod misspelled"),
    answers("validate cluster.yaml --output yaml", "problems: []"),
    complains("validate nowhere", 2, "nowhere"),
    answers(
        "validate cluster.yaml --feature-gates NodeOverlay=true --aws-feature-gates NodeClassCEL=true --reserved-enis 1 \
         --vm-memory-overhead-percent 0.1 --set Packing=cheapest",
        "nothing is wrong",
    ),
    answers("crds --directory definitions", ""),
    complains("crds --directory facts.json", 2, "facts.json"),
    answers(
        "render -f cluster.yaml -R --cluster-facts facts.json --nodepool general --type m7i.large \
         --now 2026-08-01T12:00:00Z --min-values-policy Strict --preference-policy Respect \
         --feature-gates ReservedCapacity=false --aws-feature-gates NodeClassCEL=true --reserved-enis 1 \
         --vm-memory-overhead-percent 0.1 --set MinValuesPolicy=BestEffort",
        "ami-0a",
    ),
    answers("render cluster.yaml --cluster-facts facts.json", "ami-0a"),
    answers("render cluster.yaml --cluster-facts facts.json -o json", "ami-0a"),
    answers("render --cluster-facts facts.json --diff cluster.yaml other.yaml", "m7i.large"),
    answers("render --cluster-facts-template", "caBundle"),
    complains("render cluster.yaml --cluster-facts facts.json --from .", 2, ""),
    complains("render cluster.yaml --cluster-facts facts.json --type m99.large", 2, "m99.large"),
    answers(
        "catalog --where arch=arm64 --capacity-type spot --sort name --limit 3 --feature-gates \
         ReservedCapacity=false --aws-feature-gates NodeClassCEL=true --reserved-enis 1 --vm-memory-overhead-percent 0.1 \
         --set ReservedEnis=2",
        "3 of ",
    ),
    answers("catalog --node-class class.yaml --capacity-reservations reservations", "m7i.large"),
    answers("catalog --limit 2 --output json", "instanceTypes"),
    complains("catalog --from definitions", 2, ""),
    complains("catalog --live --region eu-west-1", 2, "catalog --live: not in this build"),
    complains(
        "local --data cluster.yaml --kubeconfig ./nowhere --cluster-name demo --boot 15s \
         --schedule 10s --port 0 --no-wake",
        2,
        "",
    ),
    complains(
        "local --data definitions --control-plane ./nowhere --cache . --set Packing=cheapest --feature-gates NodeRepair=true \
         --aws-feature-gates NodeClassCEL=true --reserved-enis 1 --vm-memory-overhead-percent 0.08",
        2,
        "",
    ),
    complains("local --data definitions reclaim i-0123456789abcdef0", 2, ""),
    complains("local --data definitions outage us-west-2a --end", 2, ""),
    complains(
        "doctor demo --region eu-west-1 --context east --kubeconfig ./nowhere --output text",
        2,
        "journeyman doctor: not in this build",
    ),
    complains(
        "doctor demo -o json --expect-server https://127.0.0.1",
        2,
        "journeyman doctor: not in this build",
    ),
    complains(
        "install demo --diff --pod-deletion-costs --wake https://abc.on.aws/ --wake-except a,b --context east --kubeconfig ./nowhere --region eu-west-1 --expect-server https://127.0.0.1",
        2,
        "journeyman install: not in this build",
    ),
    complains(
        "uninstall demo --keep-nodes --definitions --wait 1 --yes --region eu-west-1 --context east --kubeconfig \
         ./nowhere --expect-server https://127.0.0.1",
        2,
        "journeyman uninstall: not in this build",
    ),
    complains(
        "deploy demo --release pages --bucket releases --prefix a/ --stack-name s -p Packing=cheapest --diff \
         --stack-only --wait 1 --pod-deletion-costs --region eu-west-1 --context east --kubeconfig ./nowhere \
         --expect-server https://127.0.0.1",
        2,
        "journeyman deploy: not in this build",
    ),
    complains(
        "deploy demo --bucket releases --yes --wake https://abc.on.aws/ --wake-except a,b",
        2,
        "journeyman deploy: not in this build",
    ),
    complains(
        "upgrade demo --release pages --bucket releases --prefix a/ --stack-name s -p Packing=cheapest --diff --force \
         --stack-only --wait 1 --pod-deletion-costs --region eu-west-1 --context east --kubeconfig ./nowhere \
         --expect-server https://127.0.0.1",
        2,
        "journeyman upgrade: not in this build",
    ),
    complains(
        "upgrade demo --bucket releases --yes --wake https://abc.on.aws/ --wake-except a,b",
        2,
        "journeyman upgrade: not in this build",
    ),
    complains(
        "rollback demo --bucket releases --prefix a/ --stack-name s --diff --force --stack-only --wait 1 --region \
         eu-west-1 --context east --kubeconfig ./nowhere --expect-server https://127.0.0.1",
        2,
        "journeyman rollback: not in this build",
    ),
    complains("rollback demo --yes", 2, "journeyman rollback: not in this build"),
    answers(
        "version demo --region eu-west-1 --context east --kubeconfig ./nowhere --expect-server https://127.0.0.1",
        "journeyman ",
    ),
    complains("install demo --yes", 2, "journeyman install: not in this build"),
    complains(
        "install demo --wake http://abc.on.aws/x",
        2,
        "--wake: the URL does not begin with https://",
    ),
    complains(
        "adopt demo --karpenter kube-system/karpenter --wait 1 --yes --region eu-west-1 --context east --kubeconfig \
         ./nowhere --expect-server https://127.0.0.1",
        2,
        "journeyman adopt: not in this build",
    ),
    complains(
        "release demo --karpenter kube-system/karpenter --wait 1 --yes --region eu-west-1 --context east --kubeconfig \
         ./nowhere --expect-server https://127.0.0.1",
        2,
        "journeyman release: not in this build",
    ),
    answers("completions zsh", "#compdef journeyman"),
];

fn prepared(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let class = CLUSTER.split_once("---\n").expect("a pool and a class").1;
    let other = CLUSTER.replace("role: nodes", "role: nodes\n  detailedMonitoring: true");
    let files = [
        ("web.yaml", WEB),
        ("node.yaml", NODE),
        ("story", SCENARIO),
        ("reservations", RESERVATIONS),
        ("class.yaml", class),
        ("other.yaml", &other),
    ];
    for (file, text) in files {
        fs::write(folder.join(file), text).expect("a file of the test");
    }
    fs::create_dir_all(folder.join("definitions")).expect("a folder of the test");
    folder
}

/// What `arguments` name, by clap: the command, and its options and operands.
fn named(arguments: &str) -> (String, BTreeSet<String>) {
    let words = ["journeyman"].into_iter().chain(arguments.split(' '));
    let matches = Args::command().try_get_matches_from(words).expect("arguments that it takes");
    let (command, matches) = matches.subcommand().expect("a command");
    let is_given = |id: &&clap::Id| {
        matches.try_contains_id(id.as_str()).is_ok()
            && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    };
    let given = matches.ids().filter(is_given).map(ToString::to_string);
    (command.to_owned(), given.collect())
}

#[test]
fn every_option_of_every_command_is_called() {
    let mut called: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in CALLS.iter().chain(super::CALLS) {
        let (command, options) = named(call.arguments);
        called.entry(command).or_default().extend(options);
    }
    for command in Args::command().get_subcommands() {
        let options = command.get_arguments().map(|argument| argument.get_id().to_string());
        let missing: Vec<String> =
            options.filter(|option| !called[command.get_name()].contains(option)).collect();
        assert_eq!(missing, Vec::<String>::new(), "options of {}", command.get_name());
    }
}

/// The exit codes that the help of `command` names.
fn documented(command: &str) -> BTreeSet<i32> {
    let definition = Args::command();
    let command = definition.find_subcommand(command).expect("a command");
    let help = command.get_long_about().or_else(|| command.get_about()).expect("help").to_string();
    let (_, codes) = help.split_once("Exit codes:").unwrap_or_else(|| panic!("no codes: {help}"));
    let code = |part: &str| part.split_whitespace().next()?.parse().ok();
    codes.split(';').filter_map(code).collect()
}

#[test]
fn every_exit_code_is_a_documented_one() {
    for command in Args::command().get_subcommands() {
        let name = command.get_name();
        let of_command = |call: &&Call| call.arguments.split(' ').next() == Some(name);
        let calls = CALLS.iter().chain(super::CALLS).filter(of_command);
        let seen: BTreeSet<i32> = calls.map(|call| call.exit_code).collect();
        let documented = documented(name);
        assert!(seen.is_subset(&documented), "{name}: {seen:?}, and its help says {documented:?}");
    }
}

/// Texts that others made, or that others read: they are as long as they are.
fn is_data(arguments: &str) -> bool {
    let (command, options) = named(arguments);
    matches!(command.as_str(), "convert" | "completions" | "rbac" | "template")
        || command == "crds" && options.is_empty()
        || options.contains("output")
        || options.contains("cluster_facts_template")
}

/// What `text` looks like: what only moves and paints is gone, and what is drawn over stands alone.
fn lines(text: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // <https://man7.org/linux/man-pages/man4/console_codes.4.html>: up to the letter that says what.
            while letters.next().is_some_and(|part| !part.is_ascii_alphabetic()) {}
        } else {
            plain.push(letter);
        }
    }
    plain.split(['\n', '\r']).map(|line| line.trim_end().to_owned()).collect()
}

/// Calls `call` in a window that is `columns` wide and looks at everything that stands there.
#[track_caller]
fn look(call: &Call, folder: &Path, columns: u16) {
    let terminal = Terminal::of(window(columns));
    let mut command = journeyman(call, folder);
    command.env_remove("NO_COLOR");
    command.stdin(terminal.line()).stdout(terminal.line()).stderr(terminal.line());
    let (screen, code) = terminal.run(&mut command);
    let Call { arguments, exit_code, complaint, answer } = call;
    assert_eq!(code, Some(*exit_code), "{arguments}\n{screen}");
    assert!(!screen.contains("panicked"), "{arguments}\n{screen}");
    let lines = lines(&screen);
    let text = lines.join(" ");
    for said in [answer, complaint] {
        assert!(text.contains(said), "{arguments}: no `{said}` in\n{screen}");
    }
    let is_help = ["--help", "-h", "--version"].iter().any(|option| arguments.ends_with(option));
    if *exit_code != 2 && !is_help && is_data(arguments) {
        return;
    }
    let width = usize::from(columns);
    let is_too_long = |line: &&String| {
        // A word that has no room anywhere stays whole in data: a path, a key, a line of user data.
        let has_long_word = line.split(' ').any(|word| word.chars().count() > width);
        line.chars().count() > width && !has_long_word
    };
    let long: Vec<&String> = lines.iter().filter(is_too_long).collect();
    assert!(long.is_empty(), "{arguments} in {columns} columns: {long:#?}\n{screen}");
}

#[test]
fn every_option_of_every_command_fits_every_window() {
    let folder = prepared("terminal-options");
    for call in CALLS {
        for columns in [80, 200] {
            look(call, &folder, columns);
        }
    }
}

#[test]
fn the_help_of_every_command_fits_every_window() {
    let folder = prepared("terminal-help");
    let command = Args::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    for words in std::iter::once(String::new()).chain(names.map(|name| format!("{name} "))) {
        for (option, said) in [("--help", "Usage:"), ("-h", "Usage:")] {
            let arguments: &'static str = format!("{words}{option}").leak();
            for columns in [80, 200] {
                look(&answers(arguments, said), &folder, columns);
            }
        }
    }
    look(&answers("--version", "journeyman"), &folder, 80);
}
