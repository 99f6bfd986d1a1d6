//! What `--help` shows besides options: the commands in groups, and examples of each.

use clap::{Command, CommandFactory as _};

use crate::args::Args;

/// The commands of the first screen, by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Try it on this machine", &["simulate", "local"]),
    ("See what would happen", &["plan", "shadow", "render", "catalog", "validate"]),
    ("See what happened", &["explain", "get", "replay"]),
    (
        "Install and operate",
        &[
            "deploy",
            "upgrade",
            "rollback",
            "install",
            "doctor",
            "uninstall",
            "crds",
            "rbac",
            "template",
        ],
    ),
    ("Move to Journeyman, and back", &["convert", "hash", "adopt", "release"]),
    ("Other", &["completions", "man", "version"]),
];

/// Examples by command: what a line does, and the line.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "simulate",
        &[
            (
                "Run the built-in story: 100 pods, a spot interruption, a scale-down",
                "journeyman simulate",
            ),
            (
                "Run your manifests for a day, and write a report for the browser",
                "journeyman simulate manifests/ --duration 24h --html report.html",
            ),
            (
                "Run your manifests with another setting",
                "journeyman simulate manifests/ --set Packing=cheapest",
            ),
            (
                "Write the ledger, for `explain`, `get` and `replay`",
                "journeyman simulate --ledger ledger.jsonl --record facts",
            ),
        ],
    ),
    (
        "local",
        &[
            (
                "Start a cluster; use kubectl in another terminal, and Ctrl-C to stop",
                "journeyman local",
            ),
            ("Interrupt the spot instance of a node", "journeyman local reclaim NODE"),
        ],
    ),
    (
        "plan",
        &[
            ("Plan for the cluster of the current kubeconfig context", "journeyman plan --live"),
            (
                "Show which of its nodes would be disrupted, and why others are not",
                "journeyman plan --live --disruption",
            ),
            ("Plan for manifests before you apply them", "journeyman plan manifests/"),
            (
                "Compare today's nodes with cheaper nodes for the same pods",
                "journeyman plan --live --compare",
            ),
        ],
    ),
    (
        "shadow",
        &[
            (
                "Write a dump every minute for an hour, then compare",
                "journeyman shadow --live --every 1m dumps/",
            ),
            (
                "Compare the same dumps again, with a report for the browser",
                "journeyman shadow dumps/ --html report.html",
            ),
        ],
    ),
    (
        "render",
        &[
            (
                "Print a template of cluster facts, and fill it in",
                "journeyman render --cluster-facts-template > facts.json",
            ),
            (
                "Show the launch templates and the fleet request",
                "journeyman render manifests/ --cluster-facts facts.json",
            ),
            (
                "Show what a change of the manifests would change",
                "journeyman render --cluster-facts facts.json --diff old.yaml new.yaml",
            ),
        ],
    ),
    (
        "catalog",
        &[
            ("List the cheapest types first", "journeyman catalog --sort price"),
            (
                "Calculate for your EC2NodeClass",
                "journeyman catalog --node-class nodeclass.yaml -o json",
            ),
        ],
    ),
    (
        "validate",
        &[
            ("Check a directory and its subdirectories", "journeyman validate -R manifests/"),
            ("Check the output of a Helm chart", "helm template chart/ | journeyman validate -"),
        ],
    ),
    (
        "explain",
        &[
            (
                "Explain why a pod runs on its node, or has none",
                "journeyman explain pod web-7d4b9c-x2x4z -n shop --ledger ledger.jsonl",
            ),
            (
                "Explain why a node was launched, and why it was disrupted or not",
                "journeyman explain node ip-10-0-0-17.ec2.internal --ledger ledger.jsonl",
            ),
            ("Explain a reason, and what to do", "journeyman explain reason SpotToSpot"),
            ("List all reasons and alarms", "journeyman explain reason"),
        ],
    ),
    (
        "get",
        &[
            ("List NodeClaims", "journeyman get nodeclaims --ledger ledger.jsonl"),
            ("List prices of nodes by NodePool", "journeyman get costs --ledger ledger.jsonl"),
            (
                "List pods with their newest decision",
                "journeyman get pods -o wide --ledger ledger.jsonl",
            ),
        ],
    ),
    (
        "replay",
        &[(
            "Check whether this release decides the same",
            "journeyman replay 4f1c2a9be0d35c77 --ledger ledger.jsonl",
        )],
    ),
    (
        "deploy",
        &[
            (
                "Deploy the files of a release",
                "journeyman deploy demo --release journeyman-0.1.0-stack",
            ),
            (
                "Change a parameter of the stack",
                "journeyman deploy demo --release journeyman-0.1.0-stack -p Packing=cheapest",
            ),
        ],
    ),
    (
        "upgrade",
        &[
            (
                "Show what an upgrade would change",
                "journeyman upgrade demo --release journeyman-0.2.0-stack --diff",
            ),
            (
                "Check the ledger, show the changes, ask, and upgrade",
                "journeyman upgrade demo --release journeyman-0.2.0-stack",
            ),
        ],
    ),
    ("rollback", &[("Go back to the release before the last upgrade", "journeyman rollback demo")]),
    ("install", &[("Show the changes, ask, and apply them", "journeyman install demo")]),
    ("doctor", &[("Check the installation of a cluster", "journeyman doctor demo")]),
    (
        "uninstall",
        &[
            ("Drain and terminate the nodes, then remove everything", "journeyman uninstall demo"),
            (
                "Remove everything but the nodes and their pods",
                "journeyman uninstall demo --keep-nodes",
            ),
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
            "Convert a Provisioner to a NodePool and an EC2NodeClass",
            "journeyman convert provisioner.yaml > nodepool.yaml",
        )],
    ),
    (
        "hash",
        &[
            ("Print the hashes of NodePools and EC2NodeClasses", "journeyman hash manifests/"),
            ("List nodes that would drift", "journeyman hash manifests/ --against cluster.json"),
        ],
    ),
    ("adopt", &[("Show the steps, ask, and carry them out", "journeyman adopt demo")]),
    ("release", &[("Show the steps, ask, and carry them out", "journeyman release demo")]),
    ("completions", &[("Load completions in this bash", "source <(journeyman completions bash)")]),
    (
        "man",
        &[(
            "Write the pages; `man pages/journeyman-plan.1` then shows one",
            "journeyman man pages",
        )],
    ),
    (
        "version",
        &[(
            "Print the version of this command, and of the stack of a cluster",
            "journeyman version demo",
        )],
    ),
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
