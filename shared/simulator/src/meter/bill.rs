//! What a run costs: lines of a bill, each a quantity and its price.

use std::fmt;

use jiff::SignedDuration;
use model::Function;

use super::{
    Meter,
    prices::{
        ALARM_MONTH, LAMBDA_GB_SECOND, LAMBDA_REQUEST, LOG_GB, METRIC_MONTH, MONTH_MILLIS,
        QUEUE_REQUEST, TABLE_GB_MONTH, TABLE_READ_UNIT, TABLE_WRITE_UNIT,
    },
};
use crate::limits::{ApiService, FunctionTable};

/// Lambda asks each queue that wakes a function with five long polls of up to 20 seconds at once, also
/// while nothing comes.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>
const POLLS_PER_QUEUE_AND_MINUTE: u128 = 15;
/// What a function that is called writes into its log each minute: its line of metrics. Lambda's own lines
/// are written where something fails.
const LOG_BYTES_PER_MINUTE: u128 = 400;
/// Metrics of a stack in which nothing fails: `shared/bootstrap/src/metrics.rs`.
const METRICS: u128 = 1;

/// Alarms of `template.yaml`, of a stack that is given a topic for them; a test holds the template to it.
pub const ALARMS: u32 = 15;

/// What is there however much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedCosts {
    /// Alarms: none unless the stack is given a topic for them.
    pub alarms: u32,
    /// Bytes that the table holds.
    pub table_bytes: u64,
}

/// One line of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BillLine {
    /// What is paid for.
    pub name: &'static str,
    /// How much of it, in a month.
    pub quantity: u128,
    /// What it costs in a month, in nano-dollars.
    pub nanos: u128,
}

/// What a month costs in which everything goes on as it did in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bill {
    /// The lines, in a fixed order.
    pub lines: Vec<BillLine>,
}

impl Bill {
    /// What a month costs, in nano-dollars.
    pub fn nanos(&self) -> u128 {
        self.lines.iter().map(|line| line.nanos).sum()
    }

    /// The bill for a month of what `meter` counted in `elapsed`.
    pub fn of(
        meter: &Meter,
        functions: &FunctionTable,
        fixed: FixedCosts,
        elapsed: SignedDuration,
    ) -> Self {
        let millis = u128::try_from(elapsed.as_millis()).unwrap_or_default().max(1);
        let in_a_month = |quantity: u128| quantity * MONTH_MILLIS / millis;
        let (invocations, gigabyte_millis) = lambda(meter, functions);
        let units = meter.table_units();
        let polled =
            Function::ALL.iter().filter(|function| functions.of(**function).queue.is_some());
        let polls = number(polled.count()) * POLLS_PER_QUEUE_AND_MINUTE * (MONTH_MILLIS / 60_000);
        let line = |name, quantity: u128, nanos| BillLine { name, quantity, nanos };
        let by_unit = |name, quantity: u128, price| line(name, quantity, quantity * price);
        let gigabyte_seconds = in_a_month(gigabyte_millis) / 1_000;
        let active = meter.invocations().values().filter(|count| count.invocations > 0);
        let log_bytes = number(active.count()) * LOG_BYTES_PER_MINUTE * (MONTH_MILLIS / 60_000);
        let lines = vec![
            by_unit("Lambda invocations", in_a_month(invocations), LAMBDA_REQUEST),
            by_unit("Lambda GB-seconds", gigabyte_seconds, LAMBDA_GB_SECOND),
            by_unit("DynamoDB read units", in_a_month(units.read.into()), TABLE_READ_UNIT),
            by_unit("DynamoDB write units", in_a_month(units.write.into()), TABLE_WRITE_UNIT),
            line(
                "DynamoDB bytes stored",
                fixed.table_bytes.into(),
                (u128::from(fixed.table_bytes) * TABLE_GB_MONTH) >> 30,
            ),
            by_unit("SQS requests", in_a_month(queue_requests(meter)), QUEUE_REQUEST),
            by_unit("SQS polls while idle", polls, QUEUE_REQUEST),
            line("CloudWatch log bytes", log_bytes, (log_bytes * LOG_GB) >> 30),
            by_unit("CloudWatch metrics", METRICS, METRIC_MONTH),
            by_unit("CloudWatch alarms", fixed.alarms.into(), ALARM_MONTH),
        ];
        Self { lines }
    }
}

/// Invocations, and GB-milliseconds by each function's memory.
fn lambda(meter: &Meter, functions: &FunctionTable) -> (u128, u128) {
    meter.invocations().iter().fold((0, 0), |(invocations, spent), (function, count)| {
        let memory = u128::from(functions.of(*function).memory_mib);
        (
            invocations + u128::from(count.invocations),
            spent + u128::from(count.millis) * memory / 1_024,
        )
    })
}

/// Sends, events that EventBridge sends, and what takes and deletes each message.
fn queue_requests(meter: &Meter) -> u128 {
    let sent: u64 = meter
        .requests()
        .iter()
        .filter(|(action, _)| action.service == ApiService::Sqs)
        .map(|(_, count)| count.answered)
        .sum();
    let events = meter.messages().get(&Function::Interrupt).copied().unwrap_or_default();
    let messages: u64 = meter.messages().values().sum();
    u128::from(sent + events) + u128::from(messages) * 2
}

fn number(count: usize) -> u128 {
    u128::try_from(count).unwrap_or(u128::MAX)
}

/// Dollars and cents, rounded to the next cent.
pub fn dollars(nanos: u128) -> String {
    let cents = nanos.div_ceil(10_000_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for BillLine { name, quantity, nanos } in &self.lines {
            writeln!(f, "{name:<24} {quantity:>16} {:>10}", dollars(*nanos))?;
        }
        write!(f, "{:<24} {:>16} {:>10}", "a month", "", dollars(self.nanos()))
    }
}
