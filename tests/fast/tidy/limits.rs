//! What the table of limits leaves to `template.yaml`, and that every call has its price.

use model::Function;
use simulator::FunctionTable;
use tests::stack::template;

/// The time limits of queues are made of the table, but for the one that is a parameter.
///
/// Lambda asks for six times the function's time limit, so that a batch which it could not hand over at once does
/// not come back meanwhile: <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>
/// A spot notice has no time for that: `interrupt` has three times.
#[test]
fn a_queue_hides_messages_for_longer_than_its_function_may_take() {
    let template = template();
    for function in Function::ALL {
        let limits = FunctionTable::deployed().of(function);
        let Some(queue) = limits.queue else { continue };
        let times = if function == Function::Interrupt { 3 } else { 6 };
        assert!(limits.timeout * times <= queue.visibility_timeout, "{function}");
        if function == Function::Interrupt {
            let parameter = &template["Parameters"]["InterruptionVisibilitySeconds"];
            assert_eq!(parameter["Default"], queue.visibility_timeout.as_secs());
        }
    }
}

#[test]
fn the_bill_counts_the_templates_alarms() {
    let template = template();
    let resources = template["Resources"].as_object().expect("resources").values();
    let alarms = resources.filter(|resource| resource["Type"] == "AWS::CloudWatch::Alarm").count();
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
