//! Function ↔ folder ↔ events ↔ handler, and what `template.yaml` says about all of them.

use std::{collections::BTreeSet, fs};

use handlers::receivers;
use model::Function;
use serde_json::{Value, json};
use tests::{
    files, repository,
    stack::{capitalized, template},
};

use crate::rights::{actions, statements};

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

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_function_has_a_folder_a_handler_and_samples() {
    let samples = files(&repository().join("events"), &[".json"]);
    let names = functions();
    let known: BTreeSet<&str> = Function::ALL.iter().map(|function| function.as_str()).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
    for name in &names {
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

/// Lambda ends a chain of messages after some 16 hops unless the function says that it means it, which those with a
/// pulse do. <https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html>
#[test]
fn functions_that_wake_themselves_by_messages_may_go_on() {
    for function in Function::ALL {
        let (mut open, mut reached) = (receivers(function).to_vec(), BTreeSet::new());
        while let Some(other) = open.pop() {
            if reached.insert(other) {
                open.extend(receivers(other));
            }
        }
        assert_eq!(reached.contains(&function), Function::WITH_PULSE.contains(&function));
    }
}

#[test]
fn what_waits_ends_one_by_one_and_every_pulse_is_mended_within_a_minute() {
    let template = template();
    for function in Function::ALL {
        let name = capitalized(function.as_str());
        let events = &template["Resources"][format!("{name}Function")]["Properties"]["Events"];
        if let Some(message) = events.get("Message") {
            let source = &message["Properties"];
            assert_eq!(source["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]));
            let queue = source["Queue"]["Fn::GetAtt"].as_str().expect("a queue");
            let queue = &template["Resources"][queue.trim_end_matches(".Arn")]["Properties"];
            assert!(queue["RedrivePolicy"]["maxReceiveCount"].is_object(), "{name}");
        }
        if Function::WITH_PULSE.contains(&function) {
            assert_eq!(
                events["Message"]["Properties"]["Queue"]["Fn::GetAtt"],
                format!("{name}Queue.Arn")
            );
            let schedule = &events["EveryMinute"]["Properties"];
            assert_eq!(schedule["Schedule"], "rate(1 minute)", "{name}");
            // It says nothing: what is to be done stands in the ledger.
            assert!(schedule.get("Input").is_none(), "{name}");
        }
    }
}

/// AWS advises two readers of a stream at most; what is to be done stands in the ledger.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html>
#[test]
fn m6_nothing_reads_a_stream_of_the_table() {
    let template = read("template.yaml");
    for word in ["StreamArn", "StreamSpecification", "Type: DynamoDB"] {
        assert!(!template.contains(word), "the template says {word}");
    }
}

#[test]
fn m5_the_index_by_instance_holds_keys_only() {
    let template = template();
    let indexes = &template["Resources"]["Table"]["Properties"]["GlobalSecondaryIndexes"];
    assert_eq!(indexes[0]["IndexName"], "claims_of_instances");
    assert_eq!(indexes[0]["Projection"]["ProjectionType"], "KEYS_ONLY");
}

#[test]
fn m9_waiting_failing_throttled_and_silent_functions_raise_alarms() {
    let template = template();
    let alarm = |name: &str, metric: &str| {
        let alarm = &template["Resources"][name];
        assert_eq!(alarm["Type"], "AWS::CloudWatch::Alarm", "{name}");
        let alarm = &alarm["Properties"];
        let named = alarm["Metrics"].as_array().into_iter().flatten();
        let mut named = named.filter_map(|line| line.pointer("/MetricStat/Metric/MetricName"));
        let is_counted = alarm["MetricName"] == metric || named.any(|name| name == metric);
        assert!(is_counted, "{name} counts no {metric}");
        assert_eq!(alarm["AlarmActions"], json!([{"Ref": "AlarmTopicArn"}]), "{name}");
        alarm
    };
    for (name, metric) in [
        ("ErrorsAlarm", "Errors"),
        ("ThrottlesAlarm", "Throttles"),
        ("RecursionAlarm", "RecursiveInvocationsDropped"),
        ("PulseAgeAlarm", "ApproximateAgeOfOldestMessage"),
        ("InterruptionAgeAlarm", "ApproximateAgeOfOldestMessage"),
        ("InterruptionDeadLetterAlarm", "ApproximateNumberOfMessagesVisible"),
        ("EventDeadLetterAlarm", "ApproximateNumberOfMessagesVisible"),
        ("FailedDeliveriesAlarm", "FailedDeliveries"),
        ("OverdueClaimsAlarm", "OverdueClaimMinutes"),
    ] {
        alarm(name, metric);
    }
    for function in Function::WITH_PULSE {
        let name = capitalized(function.as_str());
        alarm(&format!("{name}DeadLetterAlarm"), "ApproximateNumberOfMessagesVisible");
    }
    let filter = &template["Resources"]["OverdueClaimsFilter"]["Properties"]["FilterPattern"];
    let (_, line) =
        filter.as_str().and_then(|f| f.split_once("$.message = \"")).expect("a pattern");
    let (line, _) = line.split_once('"').expect("its end");
    let sweep = read("shared/handlers/src/sweep/claims.rs");
    assert!(sweep.contains("minutes = age.as_mins(),"), "the line has no minutes");
    assert!(sweep.contains(&format!(", \"{line}\");")), "`sweep` does not say {line}");
    // No sign of life is no good sign.
    assert_eq!(alarm("HeartbeatAlarm", "Beats")["TreatMissingData"], "breaching");
}

/// The bytes between functions and API server have tokens in them.
#[test]
fn the_api_server_is_reached_by_https_only() {
    let pattern = &template()["Parameters"]["ClusterEndpoint"]["AllowedPattern"];
    assert_eq!(pattern, "^(https://[!-~]+)?$");
}

#[test]
fn only_launch_creates_and_only_drain_and_sweep_terminate() {
    let template = template();
    for function in Function::ALL {
        let statements = statements(&template, function);
        let granted: BTreeSet<&str> =
            statements.iter().flat_map(|statement| actions(statement)).collect();
        let creates = granted.contains("ec2:CreateFleet") || granted.contains("ec2:RunInstances");
        assert_eq!(creates, function == Function::Launch, "{function}");
        let may_terminate = matches!(function, Function::Drain | Function::Sweep);
        assert_eq!(granted.contains("ec2:TerminateInstances"), may_terminate, "{function}");
        // What has no claim may be another's, whatever Karpenter's tags say.
        let is_ours = |statement: &&Value| {
            let tags = &statement["Condition"]["StringLike"];
            tags.get("aws:ResourceTag/journeyman/ledger").is_some()
        };
        assert_eq!(statements.iter().any(is_ours), function == Function::Sweep, "{function}");
        let writes = |action: &&str| action.starts_with("ec2:") && !action.contains(":Describe");
        assert!(function != Function::Interrupt || !granted.iter().any(writes));
    }
}
