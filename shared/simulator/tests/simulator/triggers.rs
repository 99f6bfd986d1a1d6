//! Queues and schedules.

use model::{
    Function,
    interruption::InterruptionKind,
    message::{Delivery as Letter, Message},
    pulse::Signal,
};
use ports::Mailbox as _;
use simulator::{DeliveryOutcome, Disorder, FunctionCall, Payload, SCHEDULED, Sim, WorldSettings};
use testkit::build;

use crate::simulator::toy;

fn quiet(disorder: Disorder) -> Sim {
    toy::sim(WorldSettings { has_schedules: false, disorder, ..WorldSettings::default() })
}

fn send(sim: &Sim, delays: &[u32]) {
    let cluster = WorldSettings::default().cluster;
    let letters: Vec<Letter> = delays
        .iter()
        .map(|delay| Letter {
            cluster: cluster.clone(),
            message: Message::Pulse {
                function: Function::Provision,
                signal: Signal::Beat(u64::from(*delay)),
            },
            delay_seconds: *delay,
        })
        .collect();
    sim.block_on(sim.send(&letters)).unwrap().unwrap();
}

/// What is delivered within this number of seconds, each ended by `outcome`.
fn drain(sim: &Sim, seconds: i64, outcome: &DeliveryOutcome) -> Vec<FunctionCall> {
    let mut function_calls = Vec::new();
    for _ in 0..seconds {
        toy::pass(sim, 1);
        while let Some(delivery) = sim.next_delivery() {
            sim.finish(&delivery, outcome);
            function_calls.push(delivery);
        }
    }
    function_calls
}

fn names(delivery: &FunctionCall) -> String {
    delivery.payload.to_string()
}

#[test]
fn a_message_waits_for_its_delay() {
    let sim = quiet(Disorder::default());
    send(&sim, &[30, 0]);
    assert_eq!(drain(&sim, 29, &DeliveryOutcome::Done).len(), 1);
    let second = drain(&sim, 3, &DeliveryOutcome::Done);
    assert_eq!(second.iter().map(names).collect::<Vec<_>>(), ["beat 30"]);
}

#[test]
fn what_fails_comes_again_under_its_identity_until_it_is_a_dead_letter() {
    let sim = quiet(Disorder::default());
    send(&sim, &[0]);
    let tries = drain(&sim, 1_000, &DeliveryOutcome::Failed("no".to_owned()));
    assert_eq!(tries.len(), 5);
    assert!(tries.windows(2).all(|pair| pair[0].invocation.id == pair[1].invocation.id));
    assert!(tries.windows(2).all(|pair| pair[0].id != pair[1].id));
    let dead = sim.dead_letters();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].function, Function::Provision);
}

#[test]
fn disorder_duplicates_and_reorders() {
    let disorder = Disorder {
        duplicated_per_mille: 1_000,
        held_back_per_mille: 500,
        held_back_max: jiff::SignedDuration::from_secs(60),
    };
    let sim = quiet(disorder);
    let delays: Vec<u32> = (0..20).collect();
    send(&sim, &delays);
    let delivered: Vec<String> =
        drain(&sim, 120, &DeliveryOutcome::Done).iter().map(names).collect();
    assert_eq!(delivered.len(), 40);
    let in_order: Vec<String> = delays.iter().map(|delay| format!("beat {delay}")).collect();
    let mut once = delivered.clone();
    once.dedup();
    assert_ne!(once, in_order);
}

#[test]
fn interruptions_come_together() {
    let sim = quiet(Disorder::default());
    for number in 0..3 {
        let instance = build::id(&format!("i-{number}"));
        let kind = InterruptionKind::InstanceEnding;
        sim.announce(kind, instance);
    }
    let calls = drain(&sim, 5, &DeliveryOutcome::Done);
    let count = |call: &FunctionCall| match &call.payload {
        Payload::Interruptions(events) => events.len(),
        _ => 0,
    };
    assert_eq!(calls.iter().map(count).sum::<usize>(), 3);
    assert!(calls.len() < 3, "{} calls", calls.len());
}

#[test]
fn schedules_come_round_each_minute() {
    let sim = toy::sim(WorldSettings::default());
    let delivered = drain(&sim, 120, &DeliveryOutcome::Done);
    let is_schedule = |delivery: &&FunctionCall| delivery.payload == Payload::Schedule;
    assert_eq!(delivered.iter().filter(is_schedule).count(), 2 * SCHEDULED.len());
    assert_eq!(delivered.iter().filter(|d| d.function == Function::Disrupt).count(), 2);
}
