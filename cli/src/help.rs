//! What `--help` shows beside options: the commands in groups, and examples of each.

use clap::{Command, CommandFactory as _};

use crate::args::Args;

/// The commands of the first screen, by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Try it on this machine", &["simulate", "local"]),
    ("See what would happen", &["plan", "shadow", "render", "catalog", "validate"]),
    ("See what happened", &["explain", "get", "replay"]),
    ("Install and operate", &["install", "doctor", "uninstall", "crds", "rbac", "template"]),
    ("Move to Journeyman, and back", &["convert", "hash", "adopt", "release"]),
    ("Other", &["completions", "version"]),
];

/// Examples by command: what a line does, and the line.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "simulate",
        &[
            (
                "The built-in story: 100 pods, a spot interruption, a scale-down",
                "journeyman simulate",
            ),
            (
                "Your manifests for a day, with a report for a browser",
                "journeyman simulate manifests/ --duration 24h --html report.html",
            ),
            (
                "The same with other settings",
                "journeyman simulate manifests/ --set Packing=cheapest",
            ),
            (
                "With its records, for `explain`, `get` and `replay`",
                "journeyman simulate --ledger ledger.jsonl --record facts",
            ),
        ],
    ),
    (
        "local",
        &[
            ("A cluster until Ctrl-C, used with kubectl in another terminal", "journeyman local"),
            ("EC2 takes the instance of a node back", "journeyman local reclaim NODE"),
        ],
    ),
    (
        "plan",
        &[
            ("What the cluster of the current kubeconfig would get", "journeyman plan --live"),
            (
                "Which of its nodes would go, and why the others stay",
                "journeyman plan --live --disruption",
            ),
            ("Manifests, before they are applied", "journeyman plan manifests/"),
            ("What today's pods could cost on other nodes", "journeyman plan --live --compare"),
        ],
    ),
    (
        "shadow",
        &[
            (
                "A dump every minute while Karpenter runs the nodes, compared at the end",
                "journeyman shadow --live --every 1m dumps/",
            ),
            ("The same dumps again, as a page", "journeyman shadow dumps/ --html report.html"),
        ],
    ),
    (
        "render",
        &[
            (
                "The cluster's facts, to fill in: endpoint, certificate authority, network",
                "journeyman render --cluster-facts-template > facts.json",
            ),
            (
                "What EC2 would be asked for",
                "journeyman render manifests/ --cluster-facts facts.json",
            ),
            (
                "What a change of the class changes in it",
                "journeyman render --cluster-facts facts.json --diff old.yaml new.yaml",
            ),
        ],
    ),
    (
        "catalog",
        &[
            ("The cheapest types first", "journeyman catalog --sort price"),
            (
                "As nodes of your EC2NodeClass have them",
                "journeyman catalog --node-class nodeclass.yaml -o json",
            ),
        ],
    ),
    (
        "validate",
        &[
            ("A directory with everything below it", "journeyman validate -R manifests/"),
            ("What a chart renders", "helm template chart/ | journeyman validate -"),
        ],
    ),
    (
        "explain",
        &[
            (
                "Why a pod is where it is, or has no node",
                "journeyman explain pod web-7d4b9c-x2x4z -n shop --ledger ledger.jsonl",
            ),
            (
                "Why a node came, and why it went",
                "journeyman explain node ip-10-0-0-17.ec2.internal --ledger ledger.jsonl",
            ),
            ("What a reason means, and what to do", "journeyman explain reason SpotToSpot"),
            ("All reasons and alarms", "journeyman explain reason"),
        ],
    ),
    (
        "get",
        &[
            (
                "NodeClaims, with those that are gone",
                "journeyman get nodeclaims --ledger ledger.jsonl",
            ),
            ("What nodes cost", "journeyman get costs --ledger ledger.jsonl"),
            (
                "Pods that got no node, by their newest decision",
                "journeyman get pods -o wide --ledger ledger.jsonl",
            ),
        ],
    ),
    (
        "replay",
        &[(
            "Would this release decide the same?",
            "journeyman replay 4f1c2a9be0d35c77 --ledger ledger.jsonl",
        )],
    ),
    (
        "install",
        &[(
            "Show what would change in the cluster of the kubeconfig, and ask",
            "journeyman install demo",
        )],
    ),
    ("doctor", &[("Every step of the installation", "journeyman doctor demo")]),
    (
        "uninstall",
        &[
            ("Drain and remove its nodes first", "journeyman uninstall demo"),
            ("Leave the nodes as they are", "journeyman uninstall demo --keep-nodes"),
        ],
    ),
    (
        "crds",
        &[("Apply them without `install`", "journeyman crds | kubectl apply --server-side -f -")],
    ),
    ("rbac", &[("Apply them without `install`", "journeyman rbac | kubectl apply -f -")]),
    (
        "template",
        &[("Write the file that `sam build` reads", "journeyman template > template.yaml")],
    ),
    (
        "convert",
        &[(
            "A Provisioner as NodePool and EC2NodeClass",
            "journeyman convert provisioner.yaml > nodepool.yaml",
        )],
    ),
    (
        "hash",
        &[
            ("The hashes that nodes of these objects get", "journeyman hash manifests/"),
            (
                "Which nodes of a cluster would drift",
                "journeyman hash manifests/ --against cluster.json",
            ),
        ],
    ),
    ("adopt", &[("Show the steps, and ask", "journeyman adopt demo")]),
    ("release", &[("Show the steps, and ask", "journeyman release demo")]),
    ("completions", &[("For this bash", "source <(journeyman completions bash)")]),
    ("version", &[("The version", "journeyman version")]),
];

/// The groups of commands in the order of help: a title, and the names of its commands.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    GROUPS.iter().copied()
}

/// The command as it is parsed and as it documents itself.
pub fn command() -> Command {
    let plain = Args::command();
    let overview = overview(&plain);
    let command = plain.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{overview}Options:\n{{options}}{{after-help}}"
    ));
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        command.mut_subcommand(name, |command| command.after_help(examples_text(examples)))
    })
}

/// The groups, a line for each command.
fn overview(command: &Command) -> String {
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        format!("  {name:<12} {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names.iter().map(line).collect();
        format!("{title}:\n{lines}\n")
    };
    GROUPS.iter().map(group).collect()
}

fn examples_text(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(what, line)| format!("\n  # {what}\n  {line}"));
    format!("Examples:{}", lines.collect::<String>())
}
