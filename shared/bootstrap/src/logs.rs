//! Logs: JSON lines on standard output, and what deciders did.

use handlers::Report;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    layer::SubscriberExt as _,
    util::{SubscriberInitExt as _, TryInitError},
};

/// Sends what is at least as important as `level` to standard output.
pub(crate) fn install(level: LevelFilter) -> Result<(), TryInitError> {
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false);
    tracing_subscriber::registry().with(lines).with(at_most_info(level)).try_init()
}

/// The level of what is written. Below `info` are only lines of the SDKs and of what they use, which have the tokens of
/// sessions in them. A release has none of them: Cargo.toml leaves them out.
fn at_most_info(level: LevelFilter) -> LevelFilter {
    level.min(LevelFilter::INFO)
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
    use super::*;

    #[test]
    fn nothing_below_info_is_written_whatever_is_wanted() {
        for level in [LevelFilter::TRACE, LevelFilter::DEBUG, LevelFilter::INFO] {
            assert_eq!(at_most_info(level), LevelFilter::INFO);
        }
        assert_eq!(at_most_info(LevelFilter::WARN), LevelFilter::WARN);
    }
}
