//! Function ↔ template ↔ events ↔ handler.

use std::{collections::BTreeSet, fs};

use model::Function;

use tests::{files, repository};

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

pub(crate) fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The text of one resource of the template.
pub(crate) fn resource(template: &str, name: &str) -> Option<String> {
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

/// The resources whose ARNs stand in `text`.
pub(crate) fn arns(text: &str) -> BTreeSet<&str> {
    text.split("!GetAtt ").skip(1).filter_map(|rest| Some(rest.split_once(".Arn")?.0)).collect()
}

#[test]
fn every_function_has_a_resource_a_role_a_handler_and_samples() {
    let template = read("template.yaml");
    let samples = files(&repository().join("events"), &[".json"]);
    let names = functions();
    let known: BTreeSet<&str> = Function::ALL.iter().map(|function| function.as_str()).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
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
    // Whose work goes on sends itself the next beat.
    let pulses = Function::WITH_PULSE.iter().map(|function| function.as_str());
    assert_eq!(loops, pulses.collect());
}

/// A number in `text`, or the default of the parameter that stands there.
fn number(template: &str, text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(&format!("\n      {key}: "))?;
    let value = rest.lines().next()?.trim();
    let Some(parameter) = value.strip_prefix("!Ref ") else { return value.parse().ok() };
    let parameter = resource(template, parameter)?;
    let (_, default) = parameter.split_once("Default: ")?;
    default.lines().next()?.trim().parse().ok()
}

/// Lambda asks for six times the function's time limit, so that a batch which it could not hand over at once
/// does not come back meanwhile.
///
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
#[test]
fn a_queue_hides_messages_for_six_times_what_its_function_may_take() {
    let template = read("template.yaml");
    let mut queues = BTreeSet::new();
    for name in functions() {
        let Some(queue) = woken_by(&template, &name) else { continue };
        let function = resource(&template, &format!("{}Function", capitalized(&name)));
        let function = function.expect("a function");
        let limit = number(&template, &function, "Timeout").expect("a time limit");
        let text = resource(&template, &queue).expect("a queue");
        let hidden = number(&template, &text, "VisibilityTimeout").expect("a visibility time-out");
        assert!(limit * 6 <= hidden, "{queue}: {hidden} s, and {name} may take {limit} s");
        assert!(text.contains("        maxReceiveCount: "), "{queue} never gives a message up");
        let response = "FunctionResponseTypes: [ReportBatchItemFailures]";
        assert!(function.contains(response), "{name} cannot say which message failed");
        queues.insert(queue);
    }
    assert_eq!(queues.len(), Function::WITH_PULSE.len() + 1, "{queues:?}");
}

#[test]
fn every_pulse_has_a_queue_and_a_schedule_that_mends_it_within_a_minute() {
    let template = read("template.yaml");
    for function in Function::WITH_PULSE {
        let name = capitalized(function.as_str());
        assert_eq!(woken_by(&template, function.as_str()), Some(format!("{name}Queue")));
        let text = resource(&template, &format!("{name}Function")).expect("a function");
        let schedules = text.matches("Type: Schedule").count();
        assert_eq!(schedules, 1, "schedules of {name}");
        assert!(text.contains("Schedule: rate(1 minute)"), "{name}");
        // It says nothing: what is to be done stands in the ledger.
        assert!(!text.contains("Input:"), "{name}");
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
    let table = resource(&read("template.yaml"), "Table").expect("a table");
    let (_, index) = table.split_once("- IndexName: claims_of_instances").expect("an index");
    let (index, _) = index.split_once("- !If").unwrap_or((index, ""));
    assert!(index.contains("ProjectionType: KEYS_ONLY"), "{index}");
}

#[test]
fn m9_waiting_failing_throttled_and_silent_functions_raise_alarms() {
    let template = read("template.yaml");
    let alarm = |name: &str, metric: &str| {
        let text = resource(&template, name).unwrap_or_else(|| panic!("there is no {name}"));
        assert!(text.contains("Type: AWS::CloudWatch::Alarm"), "{name}");
        assert!(text.contains(&format!("MetricName: {metric}\n")), "{name} counts no {metric}");
        assert!(text.contains("AlarmActions: [!Ref AlarmTopicArn]"), "{name} tells nobody");
        text
    };
    for (name, metric) in [("ErrorsAlarm", "Errors"), ("ThrottlesAlarm", "Throttles")] {
        let text = alarm(name, metric);
        for function in functions() {
            let function = format!("!Ref {}Function\n", capitalized(&function));
            assert!(text.contains(&function), "{name} leaves {function} out");
        }
    }
    let (ages, dropped) = (
        alarm("PulseAgeAlarm", "ApproximateAgeOfOldestMessage"),
        alarm("RecursionAlarm", "RecursiveInvocationsDropped"),
    );
    for function in Function::WITH_PULSE {
        let name = capitalized(function.as_str());
        assert!(ages.contains(&format!("!GetAtt {name}Queue.QueueName")), "{name}");
        assert!(dropped.contains(&format!("!Ref {name}Function")), "{name}");
        alarm(&format!("{name}DeadLetterAlarm"), "ApproximateNumberOfMessagesVisible");
    }
    alarm("InterruptionAgeAlarm", "ApproximateAgeOfOldestMessage");
    alarm("InterruptionDeadLetterAlarm", "ApproximateNumberOfMessagesVisible");
    alarm("EventDeadLetterAlarm", "ApproximateNumberOfMessagesVisible");
    alarm("FailedDeliveriesAlarm", "FailedDeliveries");
    alarm("OverdueClaimsAlarm", "OverdueClaimMinutes");
    let filter = resource(&template, "OverdueClaimsFilter").expect("a filter");
    let (_, line) = filter.split_once("$.message = \"").expect("a pattern");
    let (line, _) = line.split_once('"').expect("its end");
    let sweep = read("shared/handlers/src/sweep/claims.rs");
    assert!(sweep.contains("minutes = age.as_mins(),"), "the line has no minutes");
    assert!(sweep.contains(&format!(", \"{line}\");")), "`sweep` does not say {line}");
    // No sign of life is no good sign.
    let heartbeat = alarm("HeartbeatAlarm", "Beats");
    assert!(heartbeat.contains("TreatMissingData: breaching"), "{heartbeat}");
}

/// The bytes between functions and API server have tokens in them.
#[test]
fn the_api_server_is_reached_by_https_only() {
    let endpoint = resource(&read("template.yaml"), "ClusterEndpoint").expect("a parameter");
    assert!(endpoint.contains("AllowedPattern: \"^(https://[!-~]+)?$\""), "{endpoint}");
}

#[test]
fn only_launch_creates_and_only_drain_and_sweep_terminate() {
    let template = read("template.yaml");
    for name in functions() {
        let role = resource(&template, &format!("{}Role", capitalized(&name))).expect("a role");
        // What its code may do.
        let (_, role) = role.split_once("PolicyName: ports\n").expect("a policy called ports");
        let grants = |action: &str| role.contains(action);
        assert_eq!(
            grants("ec2:CreateFleet") || grants("ec2:RunInstances"),
            name == "launch",
            "{name}"
        );
        let may_terminate = ["drain", "sweep"].contains(&name.as_str());
        assert_eq!(grants("ec2:TerminateInstances"), may_terminate, "{name}");
        // What has no claim may be somebody else's, whatever Karpenter's tags say.
        assert_eq!(grants("aws:ResourceTag/journeyman/ledger"), name == "sweep", "{name}");
        let writes_ec2 = role.lines().any(|line| {
            line.contains("ec2:") && line.contains("- ec2:") && !line.contains("ec2:Describe")
        });
        assert!(name != "interrupt" || !writes_ec2, "interrupt writes to EC2");
    }
}
