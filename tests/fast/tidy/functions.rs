//! Function ↔ template ↔ events ↔ handler, and a handler's ports ↔ its role's actions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use tests::{files, repository};

/// What a port's methods need of IAM: port, method (`*` is any of them), actions.
///
/// Kubernetes is reached through EKS access entries; IAM only lets the
/// functions find the API server.
const ACTIONS: &[(&str, &str, &[&str])] = &[
    ("Catalog", "*", &["dynamodb:GetItem"]),
    (
        "Market",
        "*",
        &[
            "ec2:DescribeAvailabilityZones",
            "ec2:DescribeInstanceTypeOfferings",
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeSpotPriceHistory",
            "pricing:GetProducts",
        ],
    ),
    ("Shelf", "*", &["dynamodb:GetItem", "dynamodb:PutItem"]),
    ("Cluster", "*", &["eks:DescribeCluster"]),
    ("Nodes", "*", &["eks:DescribeCluster"]),
    ("NodeClasses", "*", &["eks:DescribeCluster"]),
    ("NodePools", "*", &["eks:DescribeCluster"]),
    ("NodeClaims", "*", &["eks:DescribeCluster"]),
    (
        "Discovery",
        "*",
        &[
            "ec2:DescribeCapacityReservations",
            "ec2:DescribeImages",
            "ec2:DescribeLaunchTemplateVersions",
            "ec2:DescribePlacementGroups",
            "ec2:DescribeSecurityGroups",
            "ec2:DescribeSubnets",
            "eks:DescribeCluster",
            "ssm:GetParameter",
        ],
    ),
    (
        "Ledger",
        "*",
        &[
            "dynamodb:ConditionCheckItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
            "dynamodb:UpdateItem",
        ],
    ),
    ("Mailbox", "*", &["sqs:SendMessage"]),
    (
        "Templates",
        "ensure",
        &["ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DescribeLaunchTemplates"],
    ),
    ("Templates", "try_out", &["ec2:CreateLaunchTemplate", "ec2:CreateTags"]),
    ("Templates", "list", &["ec2:DescribeLaunchTemplates"]),
    ("Templates", "remove", &["ec2:DeleteLaunchTemplate"]),
    (
        "Profiles",
        "*",
        &[
            "iam:AddRoleToInstanceProfile",
            "iam:CreateInstanceProfile",
            "iam:GetInstanceProfile",
            "iam:PassRole",
            "iam:TagInstanceProfile",
        ],
    ),
    ("Profiles", "list", &["iam:ListInstanceProfiles"]),
    (
        "Profiles",
        "remove",
        &[
            "iam:DeleteInstanceProfile",
            "iam:GetInstanceProfile",
            "iam:RemoveRoleFromInstanceProfile",
        ],
    ),
    ("Fleet", "launch", &["ec2:CreateFleet", "ec2:CreateTags", "ec2:RunInstances"]),
    ("Fleet", "try_out", &["ec2:CreateFleet", "ec2:CreateTags", "ec2:RunInstances"]),
    ("Fleet", "try_out_one", &["ec2:CreateTags", "ec2:RunInstances"]),
    ("Fleet", "describe", &["ec2:DescribeInstances"]),
    ("Fleet", "of_batch", &["ec2:DescribeInstances"]),
    ("Fleet", "list", &["ec2:DescribeInstances"]),
    ("Fleet", "tag", &["ec2:CreateTags"]),
    ("Fleet", "terminate", &["ec2:TerminateInstances"]),
];

/// The functions, by their folders.
fn functions() -> Vec<String> {
    let folder = repository().join("functions");
    let entries = folder.read_dir().expect("functions can be listed");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The text of one resource of the template.
fn resource(template: &str, name: &str) -> Option<String> {
    let start = template.find(&format!("\n  {name}:\n"))? + 1;
    let body = &template[start..];
    let is_next = |line: &&str| {
        line.starts_with("  ") && !line.starts_with("   ") && !line.trim_start().starts_with('#')
            || !line.is_empty() && !line.starts_with(' ')
    };
    let lines: Vec<&str> = body.lines().collect();
    let end = lines.iter().skip(1).position(is_next).map_or(lines.len(), |at| at + 1);
    Some(lines[..end].join("\n"))
}

/// The statements of a role's policy `ports`: Sid → actions.
fn statements(role: &str) -> BTreeMap<String, BTreeSet<String>> {
    let (_, ports) = role.split_once("PolicyName: ports").expect("a policy called ports");
    let mut statements: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut sid = String::new();
    for line in ports.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- Sid: ") {
            name.clone_into(&mut sid);
            continue;
        }
        let action = line.strip_prefix("Action: ").or_else(|| line.strip_prefix("- "));
        let is_action = |text: &&str| {
            let service = text.split_once(':').map_or("", |(service, _)| service);
            matches!(
                service,
                "dynamodb" | "ec2" | "eks" | "iam" | "pricing" | "sqs" | "ssm" | "sts"
            )
        };
        if let Some(action) = action.filter(is_action) {
            statements.entry(sid.clone()).or_default().insert(action.to_owned());
        }
    }
    statements
}

/// The ports of a handler: port → the name of its field.
fn ports(handler: &str, name: &str) -> BTreeMap<String, String> {
    let start = format!("pub struct {}Ports<'a, A: Adapters> {{", capitalized(name));
    let (_, fields) = handler.split_once(&start).expect("the handler's ports");
    let (fields, _) = fields.split_once("\n}").expect("the end of the ports");
    let fields = fields.lines().filter_map(|line| line.trim().strip_prefix("pub "));
    fields
        .filter_map(|field| field.split_once(": &'a A::"))
        .map(|(field, port)| (port.trim_end_matches(',').to_owned(), field.to_owned()))
        .collect()
}

/// The actions that a handler needs for a port; of some ports, those of the methods that it calls.
fn needed(handler: &str, port: &str, parameter: &str) -> BTreeSet<String> {
    let rows: Vec<_> = ACTIONS.iter().filter(|(name, _, _)| *name == port).collect();
    assert!(!rows.is_empty(), "the port {port} has no row in ACTIONS");
    let calls = |method: &str| {
        // A call may be broken into lines by the formatter.
        let flat: String = handler.chars().filter(|c| !c.is_whitespace()).collect();
        method == "*" || flat.contains(&format!("{parameter}.{method}("))
    };
    let rows = rows.into_iter().filter(|(_, method, _)| calls(method));
    rows.flat_map(|(_, _, actions)| actions.iter().map(|action| (*action).to_owned())).collect()
}

#[test]
fn every_function_has_a_resource_a_role_a_handler_and_samples() {
    let template = read("template.yaml");
    let samples = files(&repository().join("events"), &[".json"]);
    let names = functions();
    for name in &names {
        let function = resource(&template, &format!("{}Function", capitalized(name)));
        let function = function.unwrap_or_else(|| panic!("template.yaml has no function {name}"));
        assert!(function.contains(&format!("CodeUri: target/lambda/{name}/")), "{name}: CodeUri");
        assert!(function.contains(&format!("Role: !GetAtt {}Role.Arn", capitalized(name))));
        let lib = read("shared/handlers/src/lib.rs");
        assert!(lib.contains(&format!("mod {name};")), "{name} has no handler");
        let main = read(&format!("functions/{name}/src/main.rs"));
        assert!(main.contains(&format!("handlers::{name}(")), "{name} does not call its handler");
        assert!(main.lines().count() <= 40, "functions/{name}/src/main.rs is more than wiring");
        let has_sample = samples.iter().any(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            file.starts_with(&format!("{name}-")) || file == format!("{name}.json")
        });
        assert!(has_sample, "events/ has no sample for {name}");
    }
    let in_template = template.matches("Type: AWS::Serverless::Function").count();
    assert_eq!(in_template, names.len(), "functions in template.yaml");
    for sample in samples {
        let file = sample.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_known = names.iter().any(|name| file.starts_with(name.as_str()));
        assert!(is_known, "events/{file} is for no function");
    }
}

#[test]
fn the_readmes_command_builds_every_function_and_nothing_else() {
    const BUILD: &str = "cargo lambda build ";
    let readme = read("README.md");
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with(BUILD)).collect();
    let packages: Vec<String> = functions().iter().map(|name| format!("-p {name}")).collect();
    assert_eq!(commands, [format!("{BUILD}--release {}", packages.join(" "))]);
    // What is checked is what a person builds.
    let checks = read(".ci/run");
    let reads_it = format!("read -ra build < <(grep '^{BUILD}' README.md)");
    assert!(checks.contains(&reads_it), "the tier `functions` builds something else");
    assert_eq!(checks.matches("cargo lambda").count(), 1, ".ci/run has a build of its own");
}

/// The resources whose ARNs stand in `text`.
fn arns(text: &str) -> BTreeSet<&str> {
    text.split("!GetAtt ").skip(1).filter_map(|rest| Some(rest.split_once(".Arn")?.0)).collect()
}

/// The queues that the function `name` may send to.
fn sends_to(template: &str, name: &str) -> BTreeSet<String> {
    let role = resource(template, &format!("{}Role", capitalized(name))).expect("a role");
    let statements = role.split("- Sid: ").skip(1);
    let sending = statements.filter(|statement| statement.contains("sqs:SendMessage"));
    sending.flat_map(|statement| arns(statement)).map(ToOwned::to_owned).collect()
}

/// The queue that wakes the function `name`.
fn woken_by(template: &str, name: &str) -> Option<String> {
    let function = resource(template, &format!("{}Function", capitalized(name)))?;
    let source = function.lines().find(|line| line.trim().starts_with("Queue: "))?;
    arns(source).first().map(|queue| (*queue).to_owned())
}

/// Lambda ends a chain of messages after some 16 hops unless the function says that it means it.
/// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>
#[test]
fn functions_that_wake_themselves_by_messages_may_go_on() {
    let template = read("template.yaml");
    let names = functions();
    let wakes = |name: &str| -> Vec<&String> {
        let queues = sends_to(&template, name);
        let is_woken = |other: &&String| {
            woken_by(&template, other).is_some_and(|queue| queues.contains(&queue))
        };
        names.iter().filter(is_woken).collect()
    };
    let mut loops = BTreeSet::new();
    for name in &names {
        let (mut open, mut reached) = (wakes(name), BTreeSet::new());
        while let Some(other) = open.pop() {
            if reached.insert(other) {
                open.extend(wakes(other));
            }
        }
        let is_loop = reached.contains(name);
        let function = resource(&template, &format!("{}Function", capitalized(name)));
        let may_go_on = function.expect("a function").contains("\n      RecursiveLoop: Allow\n");
        assert_eq!(may_go_on, is_loop, "RecursiveLoop of {name}");
        if is_loop {
            loops.insert(name.as_str());
        }
    }
    // Provisioning looks again after five seconds, whatever else changes.
    assert!(loops.contains("provision"), "no loop was found: {loops:?}");
}

#[test]
fn a_handlers_ports_and_its_roles_actions_agree() {
    let template = read("template.yaml");
    for name in functions() {
        let role = resource(&template, &format!("{}Role", capitalized(&name))).expect("a role");
        let statements = statements(&role);
        let handler = read(&format!("shared/handlers/src/{name}.rs"));
        let ports = ports(&handler, &name);
        assert!(!ports.is_empty(), "{name} has no ports");
        let mut explained = BTreeSet::new();
        for (port, parameter) in &ports {
            let granted: BTreeSet<String> = statements
                .iter()
                .filter(|(sid, _)| sid.starts_with(port.as_str()))
                .flat_map(|(_, actions)| actions.clone())
                .collect();
            explained
                .extend(statements.keys().filter(|sid| sid.starts_with(port.as_str())).cloned());
            let needed = needed(&handler, port, parameter);
            assert_eq!(granted, needed, "{name}: granted and needed for the port {port}");
        }
        let unexplained: Vec<_> =
            statements.keys().filter(|sid| !explained.contains(*sid)).collect();
        assert!(unexplained.is_empty(), "{name} is granted {unexplained:?} and has no such port");
    }
}

#[test]
fn only_launch_creates_and_only_drain_terminates() {
    let template = read("template.yaml");
    for name in functions() {
        let role = resource(&template, &format!("{}Role", capitalized(&name))).expect("a role");
        let grants = |action: &str| role.contains(action);
        assert_eq!(
            grants("ec2:CreateFleet") || grants("ec2:RunInstances"),
            name == "launch",
            "{name}"
        );
        assert_eq!(grants("ec2:TerminateInstances"), name == "drain", "{name}");
        let writes_ec2 = role.lines().any(|line| {
            line.contains("ec2:") && line.contains("- ec2:") && !line.contains("ec2:Describe")
        });
        assert!(name != "interrupt" || !writes_ec2, "interrupt writes to EC2");
    }
}
