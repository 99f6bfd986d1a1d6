//! Decisions of `deploy`: files, parameters, the table of changes, and what a stack's states mean.

use std::{collections::BTreeMap, fs, path::PathBuf};

use installer::{
    deploy::{changes, files, outcome, parameters},
    installation::Look,
    live::{
        ChangeSetState, DeployedStack, Deployment, ParameterValue, ResourceChange, StackEvent,
        StackState, TemplateParameter,
    },
};

const CONTENT: &[u8] = b"abc";
const CHECKSUM: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("journeyman-deploy-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (file, content) in files {
        fs::write(folder.join(file), content).unwrap();
    }
    folder
}

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn parameter(name: &str, default: Option<&str>) -> TemplateParameter {
    TemplateParameter {
        name: name.to_owned(),
        default: default.map(str::to_owned),
        description: format!("What {name} is for."),
    }
}

#[test]
fn a_template_names_its_zips() {
    let zip = |name: &str| format!("{name}-{CHECKSUM}.zip");
    let (arm, x86) = (zip("wake-arm64"), zip("wake-x86_64"));
    let template = format!(
        "Key: !If [RunsOnArm, !Sub \"${{ArtifactPrefix}}{arm}\", !Sub \"${{ArtifactPrefix}}{x86}\"]\n# other.zip\n"
    );
    let zips = files::zips(&template);
    assert_eq!(zips.iter().copied().collect::<Vec<_>>(), [arm.as_str(), x86.as_str()]);
    assert_eq!(files::of_architecture(&zips, "arm64"), [arm.as_str()]);
    assert!(files::of_architecture(&zips, "riscv64").is_empty());
    let release =
        folder("zips", &[("template.yaml", template.as_bytes()), (&arm, CONTENT), (&x86, b"x")]);
    assert_eq!(files::template(&release).unwrap(), template);
    assert_eq!(files::zip(&release, &arm).unwrap(), CONTENT);
    let damaged = files::zip(&release, &x86).unwrap_err().to_string();
    assert!(damaged.ends_with("download the release again"), "{damaged}");
    let missing = files::zip(&release, &zip("drain-arm64")).unwrap_err().to_string();
    assert!(missing.contains("drain-arm64"), "{missing}");
    let key = files::template_key("a/", &files::digest("abc"));
    assert_eq!(key, format!("a/template-{CHECKSUM}.yaml"));
}

#[test]
fn the_template_of_a_checkout_is_no_release() {
    let checkout = folder("checkout", &[("template.yaml", b"CodeUri: target/lambda/wake/")]);
    let why = files::template(&checkout).unwrap_err().to_string();
    assert!(why.ends_with("deploy it with sam deploy"), "{why}");
    let none = files::template(&checkout.join("none")).unwrap_err().to_string();
    assert!(none.contains("none/template.yaml: "), "{none}");
}

#[test]
fn prefixes_are_names_with_a_slash_behind_each() {
    for (prefix, is_fine) in [
        ("", true),
        ("journeyman/", true),
        ("a/b-c_d.e/", true),
        ("/", false),
        ("a", false),
        ("a//", false),
        ("a b/", false),
        ("ä/", false),
    ] {
        assert_eq!(files::check_prefix(prefix).is_ok(), is_fine, "{prefix}");
    }
}

#[test]
fn parameters_are_read() {
    let reserved = [("ClusterName", "the argument CLUSTER")];
    let read = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parameters::read(&words, &reserved).map_err(|error| error.to_string())
    };
    assert_eq!(read(&["A=1", "B=x=y"]), Ok(texts(&[("A", "1"), ("B", "x=y")])));
    assert_eq!(read(&["A"]).unwrap_err(), "--parameter A: must be NAME=VALUE");
    assert_eq!(read(&["A=1", "A=2"]).unwrap_err(), "--parameter A: given twice");
    let taken = read(&["ClusterName=demo"]).unwrap_err();
    assert_eq!(taken, "--parameter ClusterName: use the argument CLUSTER");
}

#[test]
fn a_new_value_wins_then_that_of_the_stack_then_the_default() {
    let declared = [
        parameter("New", Some("d")),
        parameter("Former", Some("d")),
        parameter("Default", Some("")),
        parameter("Missing", None),
    ];
    let new = texts(&[("New", "n")]);
    let former = texts(&[("New", "f"), ("Former", "f"), ("Removed", "f")]);
    let (values, missing) = parameters::decided(&declared, &new, &former).unwrap();
    let expected = [
        ("Former".to_owned(), ParameterValue::Former),
        ("New".to_owned(), ParameterValue::New("n".to_owned())),
    ];
    assert_eq!(values, expected.into());
    assert_eq!(missing, [&declared[3]]);
    let value = |name| parameters::value_of(name, &declared, &new, &former);
    assert_eq!(
        ["New", "Former", "Default", "Missing", "Removed"].map(value),
        [Some("n"), Some("f"), Some(""), None, None]
    );
    let unknown = parameters::decided(&declared, &texts(&[("Nev", "")]), &former).unwrap_err();
    let expected = "the template has no parameter Nev: it has Default, Former, Missing, New";
    assert_eq!(unknown.to_string(), expected);
}

#[test]
fn what_is_lost_stands_first_and_new_resources_share_rows() {
    let change = |action: &str, name: &str, kind: &str, replacement: &str| ResourceChange {
        action: action.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
        replacement: replacement.to_owned(),
    };
    let rows = changes::rows(&[
        change("Add", "B", "AWS::SQS::Queue", ""),
        change("Add", "C", "AWS::IAM::Role", ""),
        change("Add", "A", "AWS::SQS::Queue", ""),
        change("Modify", "WakeFunction", "AWS::Lambda::Function", "False"),
        change("Modify", "Rule", "AWS::Events::Rule", "Conditional"),
        change("Modify", "Table", "AWS::DynamoDB::Table", "True"),
        change("Remove", "Alarm", "AWS::CloudWatch::Alarm", ""),
        change("Dynamic", "Other", "AWS::SNS::Topic", ""),
    ]);
    let rows: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
    assert_eq!(
        rows,
        [
            "delete | Alarm | AWS::CloudWatch::Alarm",
            "replace | Table | AWS::DynamoDB::Table",
            "change, may replace | Rule | AWS::Events::Rule",
            "change | WakeFunction | AWS::Lambda::Function",
            "dynamic | Other | AWS::SNS::Topic",
            "create | C | AWS::IAM::Role",
            "create | 2 resources | AWS::SQS::Queue",
        ]
    );
}

fn state(status: &str) -> StackState {
    StackState { status: status.to_owned(), reason: String::new() }
}

#[test]
fn a_stack_is_created_updated_or_in_the_way() {
    let deployment = |status: &str| {
        let stack = DeployedStack {
            state: state(status),
            parameters: BTreeMap::new(),
            outputs: BTreeMap::new(),
        };
        outcome::deployment("journeyman", Some(&stack))
    };
    assert_eq!(outcome::deployment("journeyman", None), Ok(Deployment::Create));
    assert_eq!(deployment("REVIEW_IN_PROGRESS"), Ok(Deployment::Create));
    for status in ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"] {
        assert_eq!(deployment(status), Ok(Deployment::Update), "{status}");
    }
    for (status, cure) in [
        ("ROLLBACK_COMPLETE", "aws cloudformation delete-stack"),
        ("UPDATE_ROLLBACK_FAILED", "aws cloudformation continue-update-rollback"),
        ("UPDATE_IN_PROGRESS", "Wait, then deploy again."),
    ] {
        let why = deployment(status).unwrap_err();
        assert!(why.contains(status) && why.contains(cure), "{why}");
    }
}

#[test]
fn a_change_set_without_changes_is_no_failure() {
    let look = |status: &str, reason: &str| {
        outcome::of_change_set(&ChangeSetState {
            status: status.to_owned(),
            reason: reason.to_owned(),
            changes: Vec::new(),
        })
    };
    assert_eq!(look("CREATE_COMPLETE", ""), Look::Done(true));
    assert_eq!(
        look("FAILED", "The submitted information didn't contain changes."),
        Look::Done(false)
    );
    assert_eq!(look("FAILED", "No updates are to be performed."), Look::Done(false));
    assert!(matches!(look("CREATE_IN_PROGRESS", ""), Look::Waits(_)));
    let failed = Look::Failed("The change set is FAILED: no right".to_owned());
    assert_eq!(look("FAILED", "no right"), failed);
}

fn event(name: &str, kind: &str, status: &str, reason: &str) -> StackEvent {
    StackEvent {
        name: name.to_owned(),
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
    }
}

#[test]
fn a_failed_deployment_names_what_failed_first() {
    const STACK: &str = "AWS::CloudFormation::Stack";
    let events = [
        event("journeyman", STACK, "ROLLBACK_COMPLETE", ""),
        event("Table", "AWS::DynamoDB::Table", "DELETE_FAILED", "later"),
        event("Queue", "AWS::SQS::Queue", "CREATE_FAILED", "Resource creation cancelled"),
        event("WakeRole", "AWS::IAM::Role", "CREATE_FAILED", "not authorized"),
        event("Rule", "AWS::Events::Rule", "CREATE_COMPLETE", ""),
        event("journeyman", STACK, "CREATE_IN_PROGRESS", "User Initiated"),
    ];
    assert_eq!(outcome::first_failure(&events), Some(&events[3]));
    assert_eq!(outcome::finished(&events), 1);
    let first = "First failure: WakeRole (AWS::IAM::Role): CREATE_FAILED: not authorized";
    let look = |status: &str| outcome::of_stack("journeyman", Some(&state(status)), &events);
    let failed = format!("The stack journeyman is ROLLBACK_COMPLETE. {first}");
    assert_eq!(look("ROLLBACK_COMPLETE"), Look::Failed(failed));
    let back = format!("The stack journeyman is ROLLBACK_IN_PROGRESS. {first}");
    assert_eq!(look("ROLLBACK_IN_PROGRESS"), Look::Waits(back));
    for status in ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"] {
        assert_eq!(look(status), Look::Done(()), "{status}");
    }
    assert!(matches!(outcome::of_stack("journeyman", None, &events), Look::Failed(_)));
}

/// Right after the order the stack is still as it was before.
#[test]
fn a_deployment_without_an_event_has_not_begun() {
    let look = outcome::of_stack("journeyman", Some(&state("UPDATE_COMPLETE")), &[]);
    assert_eq!(look, Look::Waits("The deployment of the stack journeyman begins.".to_owned()));
}
