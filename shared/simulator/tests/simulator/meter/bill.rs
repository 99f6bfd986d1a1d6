//! What a run costs: lines of a bill, each a quantity and its price.

use jiff::SignedDuration;
use model::Function;
use simulator::{
    limits::FunctionTable,
    meter::{Meter, bill::*},
};

#[test]
fn dollars_are_rounded_up_to_cents() {
    assert_eq!(dollars(0), "$0.00");
    assert_eq!(dollars(1), "$0.01");
    assert_eq!(dollars(12_340_000_000), "$12.34");
}

#[test]
fn a_month_is_paid_as_the_run_went() {
    let mut meter = Meter::default();
    let began = jiff::Timestamp::UNIX_EPOCH;
    for delivery in 0..60 {
        meter.began(delivery, Function::Provision, began);
        let ended = began.checked_add(SignedDuration::from_secs(2)).unwrap();
        meter.ended(delivery, ended, false);
    }
    meter.units(None, 1_000, 10);
    let fixed = FixedCosts { alarms: 10, table_bytes: 1 << 30 };
    let elapsed = SignedDuration::from_hours(1);
    let bill = Bill::of(&meter, &FunctionTable::deployed(), fixed, elapsed);
    let nanos = |name: &str| bill.lines.iter().find(|line| line.name == name).unwrap().nanos;
    // Sixty invocations of two seconds at half a GB in an hour.
    assert_eq!(nanos("Lambda invocations"), 43_800 * 200);
    assert_eq!(nanos("Lambda GB-seconds"), 43_800 * 16_667);
    assert_eq!(nanos("DynamoDB read units"), 730_000 * 125);
    assert_eq!(nanos("DynamoDB bytes stored"), 450_000_000);
    assert_eq!(nanos("CloudWatch alarms"), 1_000_000_000);
}
