//! What calls did, in lines of CloudWatch's embedded metric format: at once where something failed, and
//! once a minute otherwise.
//!
//! A figure that is declared as a metric is paid for by the month, and each line by its length: so the
//! metrics are few, they are the cluster's, and the other figures of a line are there to be searched for.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>,
//! <https://aws.amazon.com/cloudwatch/pricing/>

use std::io::Write as _;

use jiff::{SignedDuration, Timestamp};
use model::{ClusterName, Function};
use serde_json::{Map, Value, json};

pub(crate) const NAMESPACE: &str = "Journeyman";

/// How long what went well is counted before it is written.
const WRITTEN_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// What calls did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Messages and events that came.
    pub(crate) deliveries: u64,
    /// Of them, beats of the function's pulse that were handled.
    pub(crate) beats: u64,
    /// Of them, those that nothing is done about.
    pub(crate) ignored: u64,
    /// Of them, those that failed: passes, and what cannot be read.
    pub(crate) failed: u64,
    /// Of the failed, those that cannot be read.
    pub(crate) malformed: u64,
}

impl Counts {
    fn add(&mut self, more: Self) {
        let Self { deliveries, beats, ignored, failed, malformed } = more;
        self.deliveries += deliveries;
        self.beats += beats;
        self.ignored += ignored;
        self.failed += failed;
        self.malformed += malformed;
    }
}

/// Counts what the calls of one process did.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    counts: Counts,
    calls: u64,
    busy: SignedDuration,
    written_at: Option<Timestamp>,
}

impl Meter {
    /// Adds a call. The line to write now, if there is one.
    pub(crate) fn add(
        &mut self,
        function: &str,
        cluster: &ClusterName,
        counts: Counts,
        (began_at, ended_at): (Timestamp, Timestamp),
    ) -> Option<String> {
        self.counts.add(counts);
        self.calls += 1;
        self.busy += ended_at.duration_since(began_at);
        let is_due = self
            .written_at
            .is_none_or(|written_at| WRITTEN_EVERY <= ended_at.duration_since(written_at));
        if self.counts.failed == 0 && !is_due {
            return None;
        }
        let line = self.line(function, cluster, ended_at);
        *self = Self { written_at: Some(ended_at), ..Self::default() };
        Some(line)
    }

    fn line(&self, function: &str, cluster: &ClusterName, ended_at: Timestamp) -> String {
        let Counts { deliveries, beats, ignored, failed, malformed } = self.counts;
        let milliseconds = i64::try_from(self.busy.as_millis()).unwrap_or_default();
        // That provisioning goes on is the sign of life; where nothing failed there is nothing to count.
        let is_heart = function == Function::Provision.as_str();
        let mut metrics = Vec::new();
        metrics.extend(is_heart.then_some("Beats"));
        metrics.extend((failed > 0).then_some("FailedDeliveries"));
        let metrics: Vec<Value> =
            metrics.iter().map(|name| json!({"Name": name, "Unit": "Count"})).collect();
        let mut line = Map::new();
        if !metrics.is_empty() {
            let declared = json!({
                "Timestamp": ended_at.as_millisecond(),
                "CloudWatchMetrics": [{
                    "Namespace": NAMESPACE,
                    "Dimensions": [["cluster"]],
                    "Metrics": metrics,
                }],
            });
            line.insert("_aws".to_owned(), declared);
        }
        line.insert("cluster".to_owned(), json!(cluster.as_str()));
        line.insert("function".to_owned(), json!(function));
        let figures = [
            ("Calls", json!(self.calls)),
            ("Deliveries", json!(deliveries)),
            ("Beats", json!(beats)),
            ("IgnoredDeliveries", json!(ignored)),
            ("FailedDeliveries", json!(failed)),
            ("MalformedDeliveries", json!(malformed)),
            ("DurationMilliseconds", json!(milliseconds)),
        ];
        line.extend(figures.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(line).to_string()
    }
}

/// Writes `line` to standard output, where CloudWatch finds it. Metrics that cannot be written are
/// no reason to fail.
pub(crate) fn write(line: &str) {
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_262_400 + second).unwrap()
    }

    fn add(meter: &mut Meter, function: &str, counts: Counts, second: i64) -> Option<Value> {
        let began_at = at(second).checked_sub(SignedDuration::from_millis(250)).unwrap();
        let cluster = ClusterName::new("demo").unwrap();
        let line = meter.add(function, &cluster, counts, (began_at, at(second)))?;
        assert!(!line.contains('\n'));
        Some(serde_json::from_str(&line).unwrap())
    }

    fn declared(line: &Value) -> Vec<&str> {
        let Some(directive) = line.pointer("/_aws/CloudWatchMetrics/0") else { return Vec::new() };
        assert_eq!(directive["Dimensions"], json!([["cluster"]]));
        assert!(line["cluster"].is_string());
        let metrics = directive["Metrics"].as_array().unwrap();
        metrics.iter().map(|metric| metric["Name"].as_str().unwrap()).collect()
    }

    const BEAT: Counts = Counts { deliveries: 1, beats: 1, ignored: 0, failed: 0, malformed: 0 };

    #[test]
    fn what_went_well_is_written_once_a_minute() {
        let mut meter = Meter::default();
        let first = add(&mut meter, "provision", BEAT, 0).unwrap();
        assert_eq!((&first["Beats"], &first["Calls"]), (&json!(1), &json!(1)));
        for second in [3, 6, 59] {
            assert_eq!(add(&mut meter, "provision", BEAT, second), None);
        }
        let line = add(&mut meter, "provision", BEAT, 60).unwrap();
        assert_eq!((&line["Beats"], &line["Calls"]), (&json!(4), &json!(4)));
        assert_eq!(line["DurationMilliseconds"], 1_000);
        assert_eq!(line["_aws"]["Timestamp"], 1_795_262_460_000_i64);
        assert_eq!(declared(&line), ["Beats"]);
        assert_eq!(add(&mut meter, "provision", BEAT, 61), None);
    }

    #[test]
    fn what_failed_is_written_at_once_and_is_a_metric_only_then() {
        let mut meter = Meter::default();
        assert_eq!(declared(&add(&mut meter, "settle", BEAT, 0).unwrap()), Vec::<&str>::new());
        let failed = Counts { failed: 2, malformed: 1, ..BEAT };
        let line = add(&mut meter, "settle", failed, 1).unwrap();
        assert_eq!(declared(&line), ["FailedDeliveries"]);
        assert_eq!(line["FailedDeliveries"], 2);
        assert_eq!(line["MalformedDeliveries"], 1);
        assert_eq!(line["function"], "settle");
        assert_eq!(add(&mut meter, "settle", BEAT, 2), None);
    }
}
