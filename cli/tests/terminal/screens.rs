//! What a person sees of every command in windows of 80 and 120 columns, as golden files:
//! `UPDATE_EXPECT=1 cargo test -p cli --test terminal screens` writes them again.

use std::{fs, path::Path, process::Stdio};

use clap::CommandFactory as _;
use journeyman::args::Args;
use similar::TextDiff;

use super::{Call, Terminal, folder, journeyman, window};

/// What most windows measure.
const COLUMNS: [u16; 2] = [80, 120];
/// Rows of a window.
const ROWS: usize = 24;

/// A NodePool and workloads that need more nodes than a window has rows, one of which has no node anywhere.
fn many() -> String {
    let workload = |number: u32| {
        let cpu = number * 300;
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: shop-{number}}}\nspec:\n  replicas: 2\n  \
             selector: {{matchLabels: {{app: shop-{number}}}}}\n  template:\n    metadata: {{labels: {{app: \
             shop-{number}}}}}\n    spec:\n      topologySpreadConstraints:\n      - {{maxSkew: 1, topologyKey: \
             kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: \
             shop-{number}}}}}}}\n      containers: [{{name: web, resources: {{requests: {{cpu: {cpu}m, memory: \
             1Ti}}}}}}]\n---\n"
        )
    };
    let fitting = |text: String| text.replace("memory: 1Ti", "memory: 1Gi");
    (1..14)
        .map(|number| if number == 7 { workload(number) } else { fitting(workload(number)) })
        .collect()
}

/// A manifest with several faults.
const BROKEN: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  limts: {cpu: 100}
  weight: 1000
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: Is, values: [amd64]}
      - {key: kubernetes.io/hostname, operator: Exists}
";

/// Ten nodes. After a change, one is replaced first.
const ROLLED_OUT: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  disruption: {consolidateAfter: Never}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m7g.large]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
  annotations: {journeyman/rollout-canary: 10%, journeyman/rollout-bake-time: 10m}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web, resources: {requests: {cpu: 1500m, memory: 1Gi}}}]
";

/// When [`ROLLED_OUT`] is changed.
const SCENARIO: &str = "{end: 17m, events: [{at: 4m, apply: CHANGED.yaml}]}";

/// Calls whose answers are shown, each with its exit code. `{…}` stand for names that a ledger has.
const SHOWN: &[(i32, &str)] = &[
    (0, "simulate --duration 7m --ledger ledger.json --record facts"),
    (0, "simulate story many.yaml --duration 5m"),
    (2, "local reclaim ip-10-0-0-5"),
    (0, "plan story"),
    (0, "plan story many.yaml --now 2026-01-05T08:00:00Z"),
    (0, "plan {dump} many.yaml --now 2026-01-05T08:10:00Z"),
    (0, "plan {dump} --disruption --now 2026-01-05T08:10:00Z"),
    (0, "plan {dump} --disruption --now 2026-01-05T12:10:00Z"),
    (0, "plan {dump} --disruption --now 2026-01-05T08:10:00Z --explain ip-10-0-0-10"),
    (0, "plan {dump} --compare --now 2026-01-05T08:10:00Z"),
    (0, "shadow dumps"),
    (0, "render cluster.yaml --cluster-facts facts.json --type m7i.large"),
    (0, "render --cluster-facts facts.json --diff cluster.yaml other.yaml"),
    (0, "catalog --limit 5"),
    (2, "catalog --where arch=arm"),
    (0, "validate story"),
    (1, "validate broken.yaml"),
    (0, "explain pod web --limit 3 --ledger ledger.json"),
    (0, "explain {pod} --ledger ledger.json"),
    (0, "explain node ip-10-0-0-17 --limit 2 --ledger ledger.json"),
    (0, "explain nodepool general --limit 2 --ledger ledger.json"),
    (1, "explain nodepool genral --ledger ledger.json"),
    (0, "explain reason SpotToSpot"),
    (0, "get nodes --ledger ledger.json"),
    (0, "get nodeclaims --nodepool general --ledger ledger.json"),
    (0, "get pods --limit 5 --ledger ledger.json"),
    (0, "get decisions --limit 5 --ledger ledger.json"),
    (0, "get commands --ledger ledger.json"),
    (0, "get costs --ledger ledger.json"),
    (0, "get rollouts --ledger baking.json"),
    (0, "get rollouts --ledger halted.json"),
    (0, "plan {rollout} --disruption --now 2026-01-05T08:12:00Z"),
    (0, "explain nodepool general --limit 1 --ledger baking.json"),
    (0, "explain nodepool general --limit 1 --ledger halted.json"),
    (0, "replay {launch} --ledger ledger.json"),
    (2, "deploy demo --bucket releases"),
    (2, "upgrade demo --bucket releases"),
    (2, "rollback demo"),
    (2, "install demo"),
    (2, "doctor demo"),
    (2, "uninstall demo"),
    (0, "hash story"),
    (2, "adopt demo"),
    (2, "release demo"),
    (0, "man pages"),
    (0, "version"),
];

/// Commands that print files, which programs read: their lines are as long as they are.
const FILES_PRINTED: [&str; 5] = ["convert", "crds", "rbac", "template", "completions"];

/// A folder with what [`SHOWN`] read, and names of what its ledger and dumps have.
fn prepared(name: &str) -> (std::path::PathBuf, Vec<(&'static str, String)>) {
    let folder = folder(name);
    let story = folder.join("story");
    fs::create_dir_all(&story).expect("a folder of the test");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/story");
    for entry in fs::read_dir(examples).expect("examples") {
        let path = entry.expect("an example").path();
        fs::copy(&path, story.join(path.file_name().expect("a name"))).expect("a file of the test");
    }
    let other = super::CLUSTER.replace("role: nodes", "role: nodes\n  detailedMonitoring: true");
    let mut objects = ROLLED_OUT.split("---\n");
    let (pool, class) = (objects.next().expect("a NodePool"), objects.next().expect("a class"));
    let newer = class.replace("al2023@latest", "al2023@v20260101");
    // No node of this one is initialized: nothing removes its taint.
    let taint =
        "    spec:\n      startupTaints: [{key: karpenter.sh/starting, effect: NoSchedule}]\n";
    let tainted = pool.replace("    spec:\n", taint);
    for (file, text) in [
        ("many.yaml", &*many()),
        ("broken.yaml", BROKEN),
        ("other.yaml", &*other),
        ("rollout.yaml", ROLLED_OUT),
        ("newer.yaml", &*newer),
        ("tainted.yaml", &*tainted),
        ("good.yaml", &*SCENARIO.replace("CHANGED", "newer")),
        ("bad.yaml", &*SCENARIO.replace("CHANGED", "tainted")),
    ] {
        fs::write(folder.join(file), text).expect("a file of the test");
    }
    let plainly = |arguments: &'static str| {
        let call = super::answers(arguments, "");
        let output = journeyman(&call, &folder).output().expect("the command runs");
        assert!(output.status.success(), "{arguments}");
        String::from_utf8(output.stdout).expect("text")
    };
    plainly("simulate story --duration 10m --dumps dumps --every 5m");
    plainly("simulate --duration 7m --ledger ledger.json --record facts");
    plainly(
        "simulate rollout.yaml --scenario good.yaml --duration 12m --ledger baking.json --dumps rollout --every 12m",
    );
    plainly("simulate rollout.yaml --scenario bad.yaml --ledger halted.json");
    let pods = plainly("get pods -o name --ledger ledger.json");
    let decisions = plainly("get decisions -o name --ledger ledger.json");
    let [pod, launch] =
        [pods.lines().next(), decisions.lines().last()].map(|name| name.expect("a name"));
    let launch = launch.trim_start_matches("decision/").to_owned();
    let names = [
        ("{dump}", "dumps/2026-01-05T08-10-00Z.json".to_owned()),
        ("{rollout}", "rollout/2026-01-05T08-12-00Z.json".to_owned()),
        ("{pod}", pod.replacen('/', " ", 1)),
        ("{launch}", launch),
    ];
    (folder, names.into())
}

/// What is seen when `arguments` are called in a window of `columns`, and the exit code.
fn seen(arguments: &str, folder: &Path, columns: u16) -> (String, Option<i32>) {
    let arguments: &'static str = arguments.to_owned().leak();
    let call = Call { arguments, exit_code: 0, complaint: "", answer: "" };
    let terminal = Terminal::of(window(columns));
    let mut command = journeyman(&call, folder);
    // How far it is differs from run to run: a terminal that can only print does not show it.
    command.env("TERM", "dumb").env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(terminal.line()).stderr(terminal.line());
    let (screen, code) = terminal.run(&mut command);
    (screen.replace("\r\n", "\n"), code)
}

/// What is shown of each call: the call, and what is seen.
fn shown(folder: &Path, names: &[(&str, String)], columns: u16) -> Vec<(String, String)> {
    let show = |(exit_code, arguments): &(i32, &str)| {
        let full = names
            .iter()
            .fold((*arguments).to_owned(), |text, (mark, name)| text.replace(mark, name));
        let (screen, code) = seen(&full, folder, columns);
        assert_eq!(code, Some(*exit_code), "{full}\n{screen}");
        (full, screen)
    };
    SHOWN.iter().map(show).collect()
}

#[track_caller]
fn fits(arguments: &str, screen: &str, columns: u16) {
    // User data is shown as EC2 gets it: a line that was folded would be another.
    let is_user_data = |line: &str| arguments.starts_with("render ") && line.starts_with("    ");
    let is_long = |line: &&str| usize::from(columns) < line.chars().count() && !is_user_data(line);
    let long: Vec<&str> = screen.lines().filter(is_long).collect();
    assert!(long.is_empty(), "{arguments} in {columns} columns: {long:#?}");
}

/// `screens` one below the other.
fn pages(screens: &[(String, String)]) -> String {
    let page =
        |(arguments, screen): &(String, String)| format!("$ journeyman {arguments}\n{screen}\n");
    screens.iter().map(page).collect()
}

/// Checks that the golden file of `name` in `columns` holds `pages`, or writes it. What differs is all that is printed: a
/// thousand lines that are alike would hide it.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "as expect-test reads it: a test has no bootstrap")]
fn hold(name: &str, columns: u16, pages: &str) {
    let relative = format!("tests/terminal/screens/{name}-{columns}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&relative);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, pages).expect("the golden file");
        return;
    }
    let golden = fs::read_to_string(path).expect("a golden file");
    let difference = TextDiff::from_lines(&*golden, pages);
    assert!(golden == pages, "{}", difference.unified_diff().header(&relative, "seen"));
}

#[test]
fn screens_of_every_command_are_as_wide_as_the_window() {
    let (folder, names) = prepared("terminal-screens");
    for columns in COLUMNS {
        let screens = shown(&folder, &names, columns);
        for (arguments, screen) in &screens {
            fits(arguments, screen, columns);
            let head = screen.lines().next().unwrap_or_default();
            let is_table = head == head.to_uppercase() || head == "none found";
            assert!(is_table || !arguments.starts_with("get "), "{arguments}: no table:\n{screen}");
        }
        hold("answers", columns, &pages(&screens));
        for (arguments, answers) in [
            (
                "simulate story many.yaml --duration 5m",
                &["pods unplaced    4", "launched in all"][..],
            ),
            (
                "plan story many.yaml",
                &["nodes would be launched", "an hour for", "cannot be scheduled"],
            ),
            (
                "plan dumps/2026-01-05T08-10-00Z.json --disruption --now 2026-01-05T08:10:00Z",
                &["isrupt", "an hour"],
            ),
            (
                "plan dumps/2026-01-05T08-10-00Z.json --disruption --now 2026-01-05T12:10:00Z",
                &["isrupt", "an hour"],
            ),
            (
                "plan dumps/2026-01-05T08-10-00Z.json many.yaml",
                &["would be launched", "cannot be scheduled"],
            ),
            ("shadow dumps", &["cost per month"]),
            ("validate story", &["files: nothing is wrong"]),
            ("validate broken.yaml", &["1 file: 4 problems"]),
        ] {
            let (_, screen) =
                screens.iter().find(|(full, _)| full.starts_with(arguments)).expect("a screen");
            // The prompt of the shell takes one row.
            let rows: Vec<&str> = screen.lines().collect();
            let last = rows[rows.len().saturating_sub(ROWS - 1)..].join("\n");
            for answer in answers {
                assert!(last.contains(answer), "{arguments}: the end lacks `{answer}`:\n{last}");
            }
        }
    }
}

#[test]
fn helps_of_every_command_are_as_wide_as_the_window() {
    let folder = folder("terminal-screens-help");
    for columns in COLUMNS {
        let command = Args::command();
        let names = command.get_subcommands().map(clap::Command::get_name);
        let calls =
            std::iter::once("--help".to_owned()).chain(names.map(|name| format!("{name} --help")));
        let help = |call: String| {
            let (screen, code) = seen(&call, &folder, columns);
            assert_eq!(code, Some(0), "{call}\n{screen}");
            fits(&call, &screen, columns);
            (call, screen)
        };
        let helps: Vec<(String, String)> = calls.map(help).collect();
        hold("help", columns, &pages(&helps));
    }
}

#[test]
fn no_command_lacks_a_screen() {
    for command in Args::command().get_subcommands() {
        let name = command.get_name();
        let is_shown = SHOWN.iter().any(|(_, call)| call.split(' ').next() == Some(name));
        assert!(is_shown != FILES_PRINTED.contains(&name), "{name}");
    }
}
