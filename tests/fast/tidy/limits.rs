//! The limits of the simulated account are those of the template, and every call has its price.

use jiff::SignedDuration;
use model::Function;
use simulator::{FunctionTable, RecursiveLoop};

use crate::functions::{capitalized, read, resource};

/// The number behind `key` in `text`, or behind the default of the parameter that it names.
fn number(template: &str, text: &str, key: &str) -> Option<u64> {
    let value = text.split_once(&format!("{key}: "))?.1.lines().next()?.trim();
    if let Some(parameter) = value.strip_prefix("!Ref ") {
        let parameter = resource(template, parameter)?;
        return number(template, &parameter, "Default");
    }
    value.parse().ok()
}

fn seconds(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_secs()).expect("no limit is negative")
}

#[test]
fn functions_and_queues_are_limited_as_the_template_says() {
    let template = read("template.yaml");
    let table = FunctionTable::deployed();
    for function in Function::ALL {
        let name = capitalized(function.as_str());
        let text = resource(&template, &format!("{name}Function")).expect("a function");
        let limits = table.of(function);
        let says = |key| number(&template, &text, key);
        assert_eq!(says("Timeout"), Some(seconds(limits.timeout)), "{name}: Timeout");
        assert_eq!(says("MemorySize"), Some(limits.memory_mib.into()), "{name}: MemorySize");
        let reserved = limits.reserved_concurrency.map(|count| count.try_into().expect("a count"));
        assert_eq!(says("ReservedConcurrentExecutions"), reserved, "{name}: concurrency");
        let may_loop = limits.recursive_loop == RecursiveLoop::Allow;
        assert_eq!(text.contains("RecursiveLoop: Allow"), may_loop, "{name}: RecursiveLoop");
        let source = text.split_once("Queue: !GetAtt ").map(|(_, source)| source);
        assert_eq!(source.is_some(), limits.queue.is_some(), "{name}: a queue");
        let (Some(source), Some(queue)) = (source, limits.queue) else { continue };
        let batch = u64::try_from(queue.batch_max).expect("a batch");
        assert_eq!(number(&template, source, "BatchSize"), Some(batch), "{name}: BatchSize");
        let queue_name = source.split_once(".Arn").expect("the queue is named").0;
        let text = resource(&template, queue_name).expect("a queue");
        let visible = number(&template, &text, "VisibilityTimeout");
        assert_eq!(visible, Some(seconds(queue.visibility_timeout)), "{queue_name}");
        // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
        assert!(seconds(limits.timeout) * 6 <= visible.unwrap_or_default(), "{queue_name}");
    }
}

#[test]
fn the_bill_counts_the_templates_alarms() {
    let alarms = read("template.yaml").matches("Type: AWS::CloudWatch::Alarm").count();
    assert_eq!(u32::try_from(alarms), Ok(simulator::ALARMS));
}

#[test]
fn every_call_of_a_function_has_a_price() {
    for function in Function::ALL {
        for call in handlers::calls(function) {
            let actions = simulator::actions_of(call);
            assert!(!actions.is_empty(), "{call} of {function} is not in the table of costs");
        }
    }
}
