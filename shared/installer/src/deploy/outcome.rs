//! What the state of a stack means for a deployment, and what a failed one failed for.

use crate::{
    installation::Look,
    live::{ChangeSetState, DeployedStack, Deployment, StackEvent, StackState},
};

/// The type of a stack among the resources of its events.
const STACK: &str = "AWS::CloudFormation::Stack";

/// What a change set can do to the stack called `name`.
///
/// # Errors
///
/// Why no change set can be made for it, and the cure.
pub fn deployment(name: &str, stack: Option<&DeployedStack>) -> Result<Deployment, String> {
    let Some(stack) = stack else { return Ok(Deployment::Create) };
    let status = stack.state.status.as_str();
    match status {
        // A change set that was made and never executed.
        "REVIEW_IN_PROGRESS" => Ok(Deployment::Create),
        "ROLLBACK_COMPLETE" | "ROLLBACK_FAILED" | "CREATE_FAILED" | "DELETE_FAILED" => {
            Err(format!(
                "The stack {name} is {status} and cannot be updated. Delete it, then deploy again: aws cloudformation \
                 delete-stack --stack-name {name}"
            ))
        }
        "UPDATE_ROLLBACK_FAILED" => Err(format!(
            "The stack {name} is {status}. Repair it, then deploy again: aws cloudformation \
                 continue-update-rollback --stack-name {name}"
        )),
        status if status.ends_with("_IN_PROGRESS") => {
            Err(format!("The stack {name} is {status}. Wait, then deploy again."))
        }
        _ => Ok(Deployment::Update),
    }
}

/// How far the making of a change set is. Done: whether it changes something.
pub fn of_change_set(state: &ChangeSetState) -> Look<bool> {
    let ChangeSetState { status, reason, .. } = state;
    // CloudFormation says so in two ways, and has no code for it.
    let is_empty = ["didn't contain changes", "No updates are to be performed"]
        .iter()
        .any(|text| reason.contains(text));
    match status.as_str() {
        "CREATE_COMPLETE" => Look::Done(true),
        "FAILED" if is_empty => Look::Done(false),
        "CREATE_PENDING" | "CREATE_IN_PROGRESS" => Look::Waits("Comparing the stack.".to_owned()),
        status => Look::Failed(format!("The change set is {status}: {reason}")),
    }
}

/// How far the deployment of the stack called `name` is. `events`: those since it was ordered, the newest first.
pub fn of_stack(name: &str, state: Option<&StackState>, events: &[StackEvent]) -> Look<()> {
    let Some(StackState { status, reason }) = state else {
        return Look::Failed(format!("The stack {name} is gone."));
    };
    if events.is_empty() {
        return Look::Waits(format!("The deployment of the stack {name} begins."));
    }
    let is_backward = status.contains("ROLLBACK");
    match status.as_str() {
        "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS" => {
            Look::Done(())
        }
        // What follows is the way back, and the first failure is there already.
        status if status.ends_with("_IN_PROGRESS") && !is_backward => {
            Look::Waits(format!("The stack {name} is {status}."))
        }
        status if status.ends_with("_IN_PROGRESS") => {
            Look::Waits(format!("The stack {name} is {status}.{}", because(events)))
        }
        status => {
            let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
            Look::Failed(format!("The stack {name} is {status}.{reason}{}", because(events)))
        }
    }
}

/// A sentence about the first failure, behind a space; nothing if there is none.
fn because(events: &[StackEvent]) -> String {
    let sentence = |event: &StackEvent| {
        let StackEvent { name, kind, status, reason } = event;
        format!(" First failure: {name} ({kind}): {status}: {reason}")
    };
    first_failure(events).map(sentence).unwrap_or_default()
}

/// The event that failed first; `events` begin with the newest. What CloudFormation cancelled
/// because of another failure is not a failure of its own.
pub fn first_failure(events: &[StackEvent]) -> Option<&StackEvent> {
    let is_failure = |event: &&StackEvent| {
        event.status.ends_with("_FAILED")
            && !["cancelled", "canceled"].iter().any(|word| event.reason.contains(word))
    };
    events.iter().rev().find(is_failure)
}

/// Number of resources that are finished, by the `events` of a deployment.
pub fn finished(events: &[StackEvent]) -> usize {
    let is_finished =
        |event: &&StackEvent| event.kind != STACK && event.status.ends_with("_COMPLETE");
    events.iter().filter(is_finished).count()
}
