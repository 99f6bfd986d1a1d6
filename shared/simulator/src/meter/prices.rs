//! What AWS charges, in nano-dollars: us-east-1, list prices of 2026, no free tier.

use model::HOURS_PER_MONTH;

/// One invocation of a Lambda function: $0.20 a million.
/// <https://aws.amazon.com/lambda/pricing/>
pub const LAMBDA_REQUEST: u128 = 200;
/// One GB-second of Lambda on x86_64: $0.0000166667. arm64 costs four fifths of it.
/// <https://aws.amazon.com/lambda/pricing/>
pub const LAMBDA_GB_SECOND: u128 = 16_667;
/// One read request unit of a table on demand: $0.125 a million.
/// <https://aws.amazon.com/dynamodb/pricing/on-demand/>
pub const TABLE_READ_UNIT: u128 = 125;
/// One write request unit of a table on demand: $0.625 a million.
/// <https://aws.amazon.com/dynamodb/pricing/on-demand/>
pub const TABLE_WRITE_UNIT: u128 = 625;
/// One GB-month of a table with point-in-time recovery: $0.25 and $0.20.
/// <https://aws.amazon.com/dynamodb/pricing/on-demand/>
pub const TABLE_GB_MONTH: u128 = 450_000_000;
/// One request to a standard queue, for each 64 KB that is begun: $0.40 a million.
/// <https://aws.amazon.com/sqs/pricing/>
pub const QUEUE_REQUEST: u128 = 400;
/// One GB of logs, taken in ($0.50) and kept for a month ($0.03).
/// <https://aws.amazon.com/cloudwatch/pricing/>
pub const LOG_GB: u128 = 530_000_000;
/// One metric of one's own for a month: $0.30.
/// <https://aws.amazon.com/cloudwatch/pricing/>
pub const METRIC_MONTH: u128 = 300_000_000;
/// One alarm on one metric for a month: $0.10.
/// <https://aws.amazon.com/cloudwatch/pricing/>
pub const ALARM_MONTH: u128 = 100_000_000;

/// Milliseconds of a month of 730 hours, which is what AWS calculates with.
pub const MONTH_MILLIS: u128 = HOURS_PER_MONTH * 3_600_000;
