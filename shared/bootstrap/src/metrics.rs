//! One line of metrics for each call, in CloudWatch's embedded metric format.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::io::Write as _;

use jiff::Timestamp;
use model::ClusterName;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "Journeyman";

/// What one call did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Messages, records and events that came.
    pub(crate) deliveries: u64,
    /// Of them, those that nothing is done about.
    pub(crate) ignored: u64,
    /// Of them, those that will be delivered again.
    pub(crate) failed: u64,
    /// Of the failed, those that cannot be read.
    pub(crate) malformed: u64,
}

/// The line about one call of `function`.
pub(crate) fn line(
    function: &str,
    cluster: &ClusterName,
    counts: Counts,
    began_at: Timestamp,
    ended_at: Timestamp,
) -> String {
    let duration = ended_at.duration_since(began_at).as_millis();
    let figures = [
        ("Deliveries", json!(counts.deliveries), "Count"),
        ("IgnoredDeliveries", json!(counts.ignored), "Count"),
        ("FailedDeliveries", json!(counts.failed), "Count"),
        ("MalformedDeliveries", json!(counts.malformed), "Count"),
        (
            "DurationMilliseconds",
            json!(i64::try_from(duration).unwrap_or_default()),
            "Milliseconds",
        ),
    ];
    let metrics: Vec<Value> =
        figures.iter().map(|(name, _, unit)| json!({"Name": name, "Unit": unit})).collect();
    let mut line = Map::new();
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": ended_at.as_millisecond(),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE,
                "Dimensions": [["cluster", "function"]],
                "Metrics": metrics,
            }],
        }),
    );
    line.insert("cluster".to_owned(), json!(cluster.as_str()));
    line.insert("function".to_owned(), json!(function));
    line.extend(figures.map(|(name, value, _)| (name.to_owned(), value)));
    Value::Object(line).to_string()
}

/// Writes `line` to standard output, where CloudWatch finds it. Metrics that cannot be written are
/// no reason to fail.
pub(crate) fn write(line: &str) {
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_declares_every_figure_that_it_has() {
        let began_at: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let ended_at: Timestamp = "2026-11-21T12:00:00.250Z".parse().unwrap();
        let counts = Counts { deliveries: 10, ignored: 1, failed: 2, malformed: 1 };
        let cluster = ClusterName::new("demo").unwrap();
        let text = line("settle", &cluster, counts, began_at, ended_at);
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["Deliveries"], 10);
        assert_eq!(line["DurationMilliseconds"], 250);
        assert_eq!(line["_aws"]["Timestamp"], 1_795_262_400_250_i64);
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Dimensions"], json!([["cluster", "function"]]));
        for metric in directive["Metrics"].as_array().unwrap() {
            let name = metric["Name"].as_str().unwrap();
            assert!(line[name].is_u64(), "{name}: {text}");
        }
        for dimension in ["cluster", "function"] {
            assert!(line[dimension].is_string(), "{dimension}");
        }
        assert!(!text.contains('\n'));
    }
}
