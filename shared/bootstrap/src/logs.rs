//! Logs: JSON lines on standard output, and what deciders did.

use handlers::Report;
use tracing::level_filters::LevelFilter;

/// Sends what is at least as important as `level` to standard output.
pub(crate) fn install(level: LevelFilter) -> Result<(), tracing_subscriber::util::TryInitError> {
    use tracing_subscriber::util::SubscriberInitExt as _;
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_max_level(level)
        .finish()
        .try_init()
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
            claims = ?decision.claims,
            summary = decision.summary,
            "decision committed"
        );
    }
    for unplaced in &plan.unplaced {
        let reasons: Vec<String> = unplaced.reasons.iter().map(ToString::to_string).collect();
        tracing::info!(pod = %unplaced.pod, reasons = reasons.join("; "), "pod not placed");
    }
}
