//! Logs: JSON lines on standard output, and what deciders did.

use handlers::Report;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets,
    layer::SubscriberExt as _,
    util::{SubscriberInitExt as _, TryInitError},
};

/// Our crates that write lines. `aws::` is ours, and begins no name of an SDK's crate.
const OURS: [&str; 7] =
    ["aws::", "bootstrap", "cluster::", "handlers", "launch_template", "planner", "wire"];

/// Sends what is at least as important as `level` to standard output.
pub(crate) fn install(level: LevelFilter) -> Result<(), TryInitError> {
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false);
    tracing_subscriber::registry().with(lines).with(targets(level)).try_init()
}

/// What is written at `level`. Others than we, SDKs among them, write nothing below `info` whatever is
/// wanted: they put requests into their lines, with the tokens of sessions.
fn targets(level: LevelFilter) -> Targets {
    let of_others = level.min(LevelFilter::INFO);
    Targets::new().with_default(of_others).with_targets(OURS.map(|name| (name, level)))
}

/// Tells what a decider decided, and what it could not read.
pub fn log_report(report: &Report) {
    for malformed in &report.malformed {
        tracing::warn!(object = malformed.object, problem = malformed.problem, "object skipped");
    }
    let Some(plan) = &report.plan else { return };
    for decision in &plan.decisions {
        tracing::info!(
            node_pool = decision.node_pool.as_ref().map(ToString::to_string),
            claims = ?decision.claims().collect::<Vec<_>>(),
            summary = decision.summary,
            "decision committed"
        );
    }
    for unplaced in &plan.unplaced {
        let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
        tracing::info!(pod = %unplaced.pod, reasons = reasons.join("; "), "pod not placed");
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn no_sdk_says_more_than_info_whatever_is_wanted() {
        let of_others = [
            "aws_smithy_runtime::client::orchestrator",
            "aws_sigv4::http_request::sign",
            "aws_sdk_ec2::config",
            "aws_config",
            "aws_runtime",
            "hyper_util::client",
            "kube_client::client",
            "rustls::client",
            "lambda_runtime::layers",
        ];
        for level in [LevelFilter::TRACE, LevelFilter::DEBUG] {
            for name in of_others {
                assert!(targets(level).would_enable(name, &Level::INFO), "{name}");
                assert!(!targets(level).would_enable(name, &Level::DEBUG), "{name}");
                assert!(!targets(LevelFilter::WARN).would_enable(name, &Level::INFO), "{name}");
            }
        }
        for name in ["aws::dynamodb", "bootstrap::serve", "cluster::list", "handlers::drain"] {
            assert!(targets(LevelFilter::TRACE).would_enable(name, &Level::TRACE), "{name}");
            assert!(!targets(LevelFilter::WARN).would_enable(name, &Level::INFO), "{name}");
        }
    }
}
