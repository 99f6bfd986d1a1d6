//! What the account's limits do to calls, messages and functions.

mod bucket;
mod costs;

use jiff::SignedDuration;
use model::{
    CapacityType, Function,
    message::{Delivery as Letter, Message},
    pulse::Signal,
};
use ports::{Cluster, Fault, Fleet, Ledger as _, Mailbox as _, Templates};
use simulator::{
    AccountLimits, ApiAction, DeliveryOutcome, FunctionCall, RecursiveLoop, Sim, TableLimits,
    TokenBucket, WorldSettings,
};

use crate::simulator::toy;

const DESCRIBE: ApiAction = ApiAction::ec2("DescribeInstances");

fn with(change: impl FnOnce(&mut AccountLimits)) -> Sim {
    let mut settings = WorldSettings { has_schedules: false, ..WorldSettings::default() };
    change(&mut settings.limits);
    toy::limited(settings)
}

fn look(sim: &Sim) {
    let message = Message::Pulse { function: Function::Provision, signal: Signal::Beat(0) };
    let cluster = WorldSettings::default().cluster;
    sim.block_on(sim.send(&[Letter { cluster, message, delay_seconds: 0 }])).unwrap().unwrap();
}

/// Lets `provision` answer each of its messages with another one, for this number of seconds.
fn answer_each(sim: &Sim, seconds: i64) -> u32 {
    let mut invocations = 0;
    look(sim);
    for _ in 0..seconds {
        toy::pass(sim, 1);
        while let Some(call) = sim.next_delivery() {
            invocations += 1;
            sim.acting_as((call.id, call.function), || look(sim));
            sim.finish(&call, &DeliveryOutcome::Done);
        }
    }
    invocations
}

#[test]
fn a_throttled_request_is_sent_three_times_and_fails_without_effect() {
    let sim = with(|limits| {
        limits.requests.requests.insert(DESCRIBE, TokenBucket::new(2, 0));
    });
    let cluster = WorldSettings::default().cluster;
    for _ in 0..2 {
        sim.block_on(Fleet::list(&sim, &cluster)).unwrap().unwrap();
    }
    let refused = sim.block_on(Fleet::list(&sim, &cluster)).unwrap().unwrap_err();
    assert_eq!(refused.fault, Fault::Transient);
    let why = refused.source.unwrap().to_string();
    assert_eq!(why, "RequestLimitExceeded: ec2:DescribeInstances");
    let count = sim.meter().requests()[&DESCRIBE];
    assert_eq!((count.answered, count.throttled), (2, 3));
}

#[test]
fn a_bucket_that_refills_only_delays() {
    let sim = with(|limits| {
        limits.requests.requests.insert(DESCRIBE, TokenBucket::new(1, 5));
    });
    let cluster = WorldSettings::default().cluster;
    for _ in 0..5 {
        sim.block_on(Fleet::list(&sim, &cluster)).unwrap().unwrap();
    }
    assert!(sim.now().duration_since(WorldSettings::default().start).as_millis() >= 800);
}

#[test]
fn one_describe_names_two_hundred_instances() {
    let sim = with(|_| {});
    let ids: Vec<_> = (0..401).map(|i| testkit::build::id(&format!("i-{i:017x}"))).collect();
    sim.block_on(sim.describe(&ids)).unwrap().unwrap();
    assert_eq!(sim.meter().answered(DESCRIBE), 3);
}

#[test]
fn a_large_list_takes_longer_than_a_small_one() {
    let taken = |pods: u32| {
        let sim = with(|_| {});
        toy::add(&sim, toy::workload("web", pods));
        toy::pass(&sim, 5);
        let before = sim.now();
        sim.block_on(Cluster::pods(&sim, &ports::PodSelection::All)).unwrap().unwrap();
        sim.now().duration_since(before)
    };
    let (small, large) = (taken(1), taken(5_000));
    assert!(small < SignedDuration::from_millis(150), "{small}");
    assert!(SignedDuration::from_millis(600) <= large, "{large}");
}

#[test]
fn a_partition_gives_no_more_than_its_units() {
    let sim = with(|limits| {
        limits.table = Some(TableLimits { read_units_per_second: 1, ..TableLimits::default() });
        limits.requests.attempts_max = 1;
    });
    let cluster = WorldSettings::default().cluster;
    sim.block_on(sim.snapshot(&cluster)).unwrap().unwrap();
    let refused = sim.block_on(sim.snapshot(&cluster)).unwrap().unwrap_err();
    assert_eq!(refused.fault, Fault::Transient);
    assert!(sim.meter().table_units().read >= 1);
}

#[test]
fn lambda_ends_a_chain_that_comes_back_to_a_function_unless_it_may() {
    let looping = |what| {
        with(|limits| {
            limits.functions = limits
                .functions
                .clone()
                .with(Function::Provision, |function| function.recursive_loop = what);
        })
    };
    let sim = looping(RecursiveLoop::Terminate);
    assert_eq!(answer_each(&sim, 60), 16);
    assert_eq!(sim.dead_letters().len(), 1);
    assert_eq!(sim.meter().invocations()[&Function::Provision].recursive_dropped, 1);
    let sim = looping(RecursiveLoop::Allow);
    assert!(answer_each(&sim, 60) >= 50);
    assert_eq!(sim.dead_letters(), []);
}

#[test]
fn what_fails_is_invisible_for_the_queues_time_from_when_it_was_taken() {
    let sim = with(|_| {});
    look(&sim);
    toy::pass(&sim, 1);
    let call = sim.next_delivery().unwrap();
    toy::pass(&sim, 59);
    sim.finish(&call, &DeliveryOutcome::Failed("no".to_owned()));
    toy::pass(&sim, 300);
    assert_eq!(sim.next_delivery(), None);
    toy::pass(&sim, 1);
    assert_eq!(sim.next_delivery().unwrap().invocation.id, call.invocation.id);
}

#[test]
fn a_function_ends_at_its_own_time_limit() {
    let sim = with(|limits| {
        limits.functions = limits.functions.clone().with(Function::Provision, |function| {
            function.timeout = SignedDuration::from_secs(3);
        });
    });
    look(&sim);
    let until = sim.now().checked_add(SignedDuration::from_secs(20)).unwrap();
    let never = |_: FunctionCall| -> simulator::Work { Box::pin(std::future::pending()) };
    sim.run_until(until, never).unwrap();
    let count = sim.meter().invocations()[&Function::Provision];
    assert_eq!((count.invocations, count.cut_off, count.millis), (1, 1, 3_000));
}

#[test]
fn no_more_than_the_reserved_invocations_run_at_once() {
    let sim = with(|limits| {
        limits.functions = limits.functions.clone().with(Function::Provision, |function| {
            function.reserved_concurrency = Some(1);
        });
    });
    look(&sim);
    look(&sim);
    toy::pass(&sim, 2);
    let first = sim.next_delivery().unwrap();
    assert_eq!(sim.next_delivery(), None);
    sim.finish(&first, &DeliveryOutcome::Done);
    assert!(sim.next_delivery().is_some());
}

#[test]
fn no_more_runs_and_no_more_is_made_than_the_quotas_say() {
    let sim = with(|limits| {
        limits.quotas.spot_vcpus = Some(4);
        limits.quotas.launch_templates = Some(1);
    });
    let template = |name: &str| testkit::build::template(name);
    let ensure = |name: &str| {
        let template = template(name);
        sim.block_on(Templates::ensure(&sim, &template)).unwrap()
    };
    toy::ensure_template(&sim);
    let refused = ensure("karpenter.k8s.aws/18").unwrap_err();
    assert_eq!(refused.fault, Fault::Permanent);
    assert!(refused.source.unwrap().to_string().starts_with("MaxTemplateLimitExceeded"));
    let request = toy::request(&sim, "many", 3, CapacityType::Spot);
    let answer = sim.block_on(sim.launch(&request)).unwrap().unwrap();
    assert_eq!(answer.instances.len(), 2, "two of two CPUs each");
    assert!(answer.errors.iter().all(|error| error.code == "MaxSpotInstanceCountExceeded"));
}
