//! Requests of the API server → passes of functions at once.
//!
//! The API server of a cluster calls the function `wake` at its URL for the requests of [`model::wake::WAKE_RULES`];
//! its webhooks are made from these rules (`installer::wake`).
//!
//! * **In**: an AdmissionReview, of which `wire::admission` reads uid, kind, operation and whether it is a dry run.
//!   Without the secret path the answer is 404, and what is no AdmissionReview is a 400: both wake nothing.
//! * **Out**: always allowed, also when the functions cannot be woken; `bootstrap::serve_url` ends the wait for that.
//! * **Waking** is a message [`Signal::Called`] to the queue of each function with a pulse, and a call of Lambda of each
//!   function without one. Neither carries work or changes the ledger, so `wake` needs the right to send to these queues
//!   and to call these functions, and no other right: a stranger with its URL or its role can only make the functions look
//!   once more.
//! * **Merging**: requests within a second share a pass. Of a function with a pulse, the first one has it at once, and
//!   those after it the one that is due a second later, which looks after each of them has come. A function without a
//!   pulse is called once in a second and waits for [`CALLED_WAIT`]. Processes beside each other merge by themselves.
//! * A call that is lost costs the wait for the next beat or schedule, as without `wake`. One that comes late, twice or
//!   from a stranger costs a pass.

use std::{cell::RefCell, collections::BTreeMap};

use futures_util::future::join;
use jiff::Timestamp;
use model::{
    Function,
    duration::later,
    message::{Delivery, Message},
    pulse::Signal,
    wake::{AdmissionRequest, CALLED_WAIT, CALLS_APART},
};
use planner::pace;
use ports::{Clock, Invocation, Mailbox, PortError};

use crate::{error::Error, pulse::seconds_until};

/// For when a process of `wake` has asked last for a pass of each function, by whether the pass looks anew.
#[derive(Debug, Default)]
pub struct WakeMemory(RefCell<BTreeMap<(Function, bool), Timestamp>>);

impl WakeMemory {
    fn asked_for(&self, function: Function, anew: bool) -> Option<Timestamp> {
        self.0.borrow().get(&(function, anew)).copied()
    }

    fn note(&self, function: Function, anew: bool, due_at: Timestamp) {
        self.0.borrow_mut().insert((function, anew), due_at);
    }
}

/// Wakes the functions that `request` concerns, unless a pass that they are about to make sees it. One that cannot be
/// woken keeps no other from being woken; the first failure is the answer.
pub async fn wake(
    mailbox: &impl Mailbox,
    memory: &WakeMemory,
    request: &AdmissionRequest,
    at: &Invocation,
) -> Result<(), Error> {
    let Some(rule) = request.rule() else { return Ok(()) };
    let has_pulse = |function: &Function| Function::WITH_PULSE.contains(function);
    let (beating, at_once): (Vec<Function>, Vec<Function>) =
        rule.functions.iter().partition(|function| has_pulse(function));
    let (sent, called) = join(
        send(mailbox, memory, (&beating, rule.looks_anew), at),
        call(mailbox, memory, &at_once, at),
    )
    .await;
    Ok(sent.and(called)?)
}

/// Sends the functions with a pulse among `functions` their messages.
async fn send(
    mailbox: &impl Mailbox,
    memory: &WakeMemory,
    (functions, anew): (&[Function], bool),
    at: &Invocation,
) -> Result<(), PortError> {
    let due = |function: Function| {
        Some((function, pace::called(memory.asked_for(function, anew), at.now)?))
    };
    let due: Vec<(Function, Timestamp)> = functions.iter().copied().filter_map(due).collect();
    if due.is_empty() {
        return Ok(());
    }
    let delivery = |(function, due_at): &(Function, Timestamp)| Delivery {
        cluster: at.cluster.clone(),
        message: Message::Pulse { function: *function, signal: Signal::Called { anew } },
        delay_seconds: seconds_until(*due_at, at.now),
    };
    let deliveries: Vec<Delivery> = due.iter().map(delivery).collect();
    mailbox.send(&deliveries).await?;
    for (function, due_at) in due {
        memory.note(function, anew, due_at);
    }
    Ok(())
}

/// Calls those of `functions` that were not called within [`CALLS_APART`].
async fn call(
    mailbox: &impl Mailbox,
    memory: &WakeMemory,
    functions: &[Function],
    at: &Invocation,
) -> Result<(), PortError> {
    let mut outcome = Ok(());
    for function in functions {
        let called_at = memory.asked_for(*function, true);
        if called_at.is_some_and(|called_at| at.now < later(called_at, CALLS_APART)) {
            continue;
        }
        match mailbox.call(&at.cluster, *function).await {
            Ok(()) => memory.note(*function, true, at.now),
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome
}

/// The call `at` of a function without a pulse. If `signal` says that `wake` made it, it begins later: what it is about is
/// stored by then.
pub async fn waited(clock: &impl Clock, signal: Signal, at: &Invocation) -> Invocation {
    let mut at = at.clone();
    if let Signal::Called { .. } = signal {
        at.now = later(at.now, CALLED_WAIT);
        clock.wait_until(at.now).await;
    }
    at
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt as _;
    use jiff::SignedDuration;
    use model::{
        ClusterName,
        wake::{AdmissionOperation, WAKE_RULES},
    };
    use ports::Fault;

    use super::*;

    #[derive(Default)]
    struct Queues {
        sent: RefCell<Vec<Delivery>>,
        called: RefCell<Vec<Function>>,
        is_broken: Cell<bool>,
        cannot_call: Cell<bool>,
    }

    impl Mailbox for Queues {
        async fn send(&self, deliveries: &[Delivery]) -> Result<(), PortError> {
            if self.is_broken.get() {
                return Err(PortError::new("send messages", Fault::Transient));
            }
            self.sent.borrow_mut().extend_from_slice(deliveries);
            Ok(())
        }

        async fn call(&self, cluster: &ClusterName, function: Function) -> Result<(), PortError> {
            assert_eq!(cluster.as_str(), "demo");
            if self.cannot_call.get() {
                return Err(PortError::new("call a function", Fault::Transient));
            }
            self.called.borrow_mut().push(function);
            Ok(())
        }
    }

    #[derive(Default)]
    struct World {
        queues: Queues,
        memory: WakeMemory,
    }

    impl World {
        /// A request at this many milliseconds: what is sent, and whether that works.
        fn asks(&self, request: &AdmissionRequest, millis: i64) -> (Vec<String>, bool) {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis);
            let at = Invocation {
                id: "1".to_owned(),
                cluster: "demo".parse().unwrap(),
                now,
                deadline: now + SignedDuration::from_secs(1),
            };
            let answer = wake(&self.queues, &self.memory, request, &at).now_or_never().unwrap();
            let line = |delivery: &Delivery| {
                assert_eq!(delivery.cluster, at.cluster);
                let Message::Pulse { function, signal: Signal::Called { anew } } = delivery.message
                else {
                    panic!("{delivery:?}");
                };
                let how = if anew { " anew" } else { "" };
                format!("{function}{how} in {} s", delivery.delay_seconds)
            };
            let mut lines: Vec<String> = self.queues.sent.take().iter().map(line).collect();
            lines.extend(
                self.queues.called.take().iter().map(|function| format!("{function} called")),
            );
            (lines, answer.is_ok())
        }

        #[track_caller]
        fn sends(&self, request: &AdmissionRequest, millis: i64, expected: &[&str]) {
            let expected = expected.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(self.asks(request, millis), (expected, true), "at {millis} ms");
        }
    }

    fn request(group: &str, kind: &str, operation: AdmissionOperation) -> AdmissionRequest {
        AdmissionRequest {
            uid: "1".to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            operation: Some(operation),
            is_dry_run: false,
        }
    }

    fn event() -> AdmissionRequest {
        request("events.k8s.io", "Event", AdmissionOperation::Create)
    }

    #[test]
    fn each_rule_sends_to_its_functions() {
        for rule in &WAKE_RULES {
            let request = request(rule.group, rule.kind, rule.operations[0]);
            let how = if rule.looks_anew { " anew" } else { "" };
            let lines = rule.functions.iter().map(|function| {
                let has_pulse = Function::WITH_PULSE.contains(function);
                if has_pulse {
                    format!("{function}{how} in 0 s")
                } else {
                    format!("{function} called")
                }
            });
            assert_eq!(
                World::default().asks(&request, 0),
                (lines.collect(), true),
                "{}",
                rule.name
            );
        }
    }

    #[test]
    fn requests_within_a_second_share_a_pass_that_comes_after_them() {
        let world = World::default();
        world.sends(&event(), 0, &["provision in 0 s"]);
        // A pass that looks now may have looked before the pod of this event came.
        world.sends(&event(), 1, &["provision in 1 s"]);
        for millis in [2, 300, 999] {
            world.sends(&event(), millis, &[]);
        }
        world.sends(&event(), 1_000, &["provision in 1 s"]);
        world.sends(&event(), 1_999, &[]);
        world.sends(&event(), 60_000, &["provision in 0 s"]);
    }

    #[test]
    fn a_storm_costs_two_messages_in_the_first_second_and_one_in_each_after_it() {
        let world = World::default();
        let sent = (0..10_000).map(|number| world.asks(&event(), number / 2).0.len());
        assert_eq!(sent.sum::<usize>(), 6);
    }

    #[test]
    fn a_change_is_not_merged_with_an_event() {
        let world = World::default();
        let change = request("karpenter.sh", "NodeOverlay", AdmissionOperation::Update);
        world.sends(&event(), 0, &["provision in 0 s"]);
        world.sends(&change, 0, &["provision anew in 0 s", "disrupt anew in 0 s"]);
        let deletion = request("karpenter.sh", "NodeClaim", AdmissionOperation::Delete);
        world.sends(&deletion, 10, &["disrupt anew in 1 s"]);
        world.sends(&change, 20, &["provision anew in 1 s"]);
    }

    #[test]
    fn a_function_without_a_pulse_is_called_once_in_a_second() {
        let world = World::default();
        let class = request("karpenter.k8s.aws", "EC2NodeClass", AdmissionOperation::Update);
        let claim = request("karpenter.sh", "NodeClaim", AdmissionOperation::Create);
        world.sends(&class, 0, &["resolve called"]);
        world.sends(&claim, 1, &["sweep called"]);
        for millis in [2, 999] {
            world.sends(&class, millis, &[]);
        }
        world.sends(&claim, 1_000, &[]);
        world.sends(&class, 1_000, &["resolve called"]);
        world.sends(&claim, 1_001, &["sweep called"]);
        // A pass that waits sees the last request that shares it half a second after it came.
        assert!(CALLS_APART < CALLED_WAIT);
    }

    #[test]
    fn a_function_that_cannot_be_woken_keeps_no_other_from_being_woken() {
        let world = World::default();
        let change = request("karpenter.sh", "NodePool", AdmissionOperation::Update);
        world.queues.is_broken.set(true);
        assert_eq!(world.asks(&change, 0), (vec!["resolve called".to_owned()], false));
        world.queues.is_broken.set(false);
        world.queues.cannot_call.set(true);
        let sent = ["provision anew in 0 s", "disrupt anew in 0 s"].map(str::to_owned).to_vec();
        assert_eq!(world.asks(&change, 1_000), (sent, false));
        world.queues.cannot_call.set(false);
        world.sends(
            &change,
            1_000,
            &["provision anew in 1 s", "disrupt anew in 1 s", "resolve called"],
        );
    }

    #[test]
    fn what_concerns_no_function_sends_nothing() {
        let world = World::default();
        world.sends(&request("", "Pod", AdmissionOperation::Create), 0, &[]);
        world.sends(&AdmissionRequest { is_dry_run: true, ..event() }, 0, &[]);
        world.sends(&AdmissionRequest { operation: None, ..event() }, 0, &[]);
    }

    #[test]
    fn after_a_failure_the_next_request_sends() {
        let world = World::default();
        world.queues.is_broken.set(true);
        assert_eq!(world.asks(&event(), 0), (Vec::new(), false));
        world.queues.is_broken.set(false);
        world.sends(&event(), 1, &["provision in 0 s"]);
    }
}
