//! Samples as lines of CloudWatch's embedded metric format.
//!
//! CloudWatch is paid for by the metric, and a metric is a name with certain values of its dimensions. So there are
//! as few as the setting `Metrics` says, and the other labels of a line are there to be searched for.
//!
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::collections::BTreeSet;

use handlers::{MetricDimensions, MetricKind, Micros, Reading, Sample};
use jiff::Timestamp;
use model::ClusterName;
use serde_json::{Map, Value, json};

use crate::metrics::NAMESPACE;

/// Labels that are dimensions where a metric is wanted by NodePool. Others have too many values to be paid for.
const OF_NODE_POOLS: [&str; 2] = ["nodepool", "resource_type"];

/// Writes samples of one process.
#[derive(Debug, Default)]
pub(crate) struct Embedder {
    /// Gauges that were not zero when they were written last: only of these, zero is news.
    written: BTreeSet<(&'static str, Vec<String>)>,
}

impl Embedder {
    /// The lines of `samples`, taken by `function` at `taken_at`.
    pub(crate) fn lines(
        &mut self,
        samples: &[Sample],
        dimensions: MetricDimensions,
        (cluster, function): (&ClusterName, &str),
        taken_at: Timestamp,
    ) -> Vec<String> {
        let is_written = |sample: &&Sample| match dimensions {
            MetricDimensions::None => false,
            _ if sample.metric.is_of_nodes() => false,
            // What is there again each minute is read elsewhere.
            MetricDimensions::Cluster => {
                sample.metric.is_declared || sample.metric.kind != MetricKind::Gauge
            }
            MetricDimensions::NodePool => true,
        };
        let written = samples.iter().filter(is_written);
        let news: Vec<&Sample> = written.filter(|sample| self.is_news(sample)).collect();
        let line = |sample: &Sample| line(sample, dimensions, (cluster, function), taken_at);
        news.into_iter().map(line).collect()
    }

    fn is_news(&mut self, sample: &Sample) -> bool {
        let Reading::Is(value) = sample.reading else { return true };
        let key = (sample.metric.name, sample.labels.clone());
        if value == Micros::default() {
            return self.written.remove(&key);
        }
        self.written.insert(key);
        true
    }
}

fn line(
    sample: &Sample,
    dimensions: MetricDimensions,
    (cluster, function): (&ClusterName, &str),
    taken_at: Timestamp,
) -> String {
    let metric = sample.metric;
    let mut line = Map::new();
    if metric.is_declared || dimensions == MetricDimensions::NodePool {
        let labels: Vec<&str> =
            metric.labels.iter().copied().filter(|label| OF_NODE_POOLS.contains(label)).collect();
        let mut sets = vec![vec!["cluster"]];
        if dimensions == MetricDimensions::NodePool && !labels.is_empty() {
            sets.push([vec!["cluster"], labels].concat());
        }
        let unit = match metric.kind {
            MetricKind::Counter => "Count",
            MetricKind::Gauge => "None",
            MetricKind::Histogram(_) => "Seconds",
        };
        let directive = json!({
            "Namespace": NAMESPACE,
            "Dimensions": sets,
            "Metrics": [{"Name": metric.name, "Unit": unit}],
        });
        line.insert(
            "_aws".to_owned(),
            json!({"Timestamp": taken_at.as_millisecond(), "CloudWatchMetrics": [directive]}),
        );
    }
    line.insert("cluster".to_owned(), json!(cluster.as_str()));
    line.insert("function".to_owned(), json!(function));
    for (label, value) in metric.labels.iter().zip(&sample.labels) {
        line.insert((*label).to_owned(), json!(value));
    }
    line.insert(metric.name.to_owned(), value(&sample.reading));
    Value::Object(line).to_string()
}

/// The number that stands for a reading: the mean of observations.
fn value(reading: &Reading) -> Value {
    match reading {
        Reading::Added(count) => json!(count),
        Reading::Is(micros) => json!(number(*micros)),
        Reading::Observed { count, sum, .. } => {
            json!(number(Micros(sum.0 / i128::from((*count).max(1)))))
        }
    }
}

/// As a float: what CloudWatch and OpenTelemetry take.
#[expect(
    clippy::cast_precision_loss,
    clippy::float_arithmetic,
    reason = "for people and charts, not for decisions"
)]
pub(crate) fn number(micros: Micros) -> f64 {
    micros.0 as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use handlers::{METRICS, Metric};

    use super::*;

    fn metric(name: &str) -> &'static Metric {
        METRICS.iter().copied().find(|metric| metric.name == name).unwrap()
    }

    fn sample(name: &str, labels: &[&str], reading: Reading) -> Sample {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Sample { metric: metric(name), labels, reading }
    }

    fn lines(
        embedder: &mut Embedder,
        samples: &[Sample],
        dimensions: MetricDimensions,
    ) -> Vec<Value> {
        let cluster = ClusterName::new("demo").unwrap();
        let taken_at = Timestamp::from_second(1_795_262_400).unwrap();
        let lines = embedder.lines(samples, dimensions, (&cluster, "launch"), taken_at);
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn samples() -> [Sample; 3] {
        [
            sample(
                "karpenter_nodeclaims_created_total",
                &["provisioned", "general", "false"],
                Reading::Added(3),
            ),
            sample("karpenter_nodes_created_total", &["general", "us-west-2a"], Reading::Added(1)),
            sample(
                "karpenter_nodepools_usage",
                &["cpu", "general"],
                Reading::Is(Micros(1_500_000)),
            ),
        ]
    }

    #[test]
    fn few_are_metrics_and_all_can_be_searched_for() {
        let mut embedder = Embedder::default();
        let lines = lines(&mut embedder, &samples(), MetricDimensions::Cluster);
        assert_eq!(lines.len(), 2, "a gauge that is not paid for is not written");
        assert_eq!(
            lines[0],
            json!({
                "_aws": {"Timestamp": 1_795_262_400_000_i64, "CloudWatchMetrics": [{
                    "Namespace": "Journeyman", "Dimensions": [["cluster"]],
                    "Metrics": [{"Name": "karpenter_nodeclaims_created_total", "Unit": "Count"}],
                }]},
                "cluster": "demo", "function": "launch", "reason": "provisioned", "nodepool": "general",
                "min_values_relaxed": "false", "karpenter_nodeclaims_created_total": 3,
            })
        );
        assert_eq!(lines[1].get("_aws"), None);
        assert_eq!(lines[1]["karpenter_nodes_created_total"], 1);
    }

    #[test]
    fn by_node_pool_all_are_metrics() {
        let mut embedder = Embedder::default();
        let lines = lines(&mut embedder, &samples(), MetricDimensions::NodePool);
        let sets = |line: &Value| line["_aws"]["CloudWatchMetrics"][0]["Dimensions"].clone();
        assert_eq!(sets(&lines[0]), json!([["cluster"], ["cluster", "nodepool"]]));
        assert_eq!(sets(&lines[2]), json!([["cluster"], ["cluster", "resource_type", "nodepool"]]));
        assert_eq!(lines[2]["karpenter_nodepools_usage"], 1.5);
        for line in &lines {
            let sets = sets(line);
            let names = sets.as_array().unwrap().iter().flat_map(|set| set.as_array().unwrap());
            for name in names {
                assert!(line[name.as_str().unwrap()].is_string(), "{name} of {line}");
            }
        }
    }

    #[test]
    fn nodes_are_not_paid_for_one_by_one() {
        let labels = ["cpu", "node", "general", "arm64", "spot", "m7g.xlarge", "us-west-2a"];
        let reading = Reading::Is(Micros(3_920_000));
        let samples = [sample("karpenter_nodes_allocatable", &labels, reading)];
        for dimensions in [MetricDimensions::Cluster, MetricDimensions::NodePool] {
            let lines = lines(&mut Embedder::default(), &samples, dimensions);
            assert_eq!(lines, Vec::<Value>::new());
        }
    }

    #[test]
    fn nothing_is_written_where_it_is_not_wanted() {
        assert!(lines(&mut Embedder::default(), &samples(), MetricDimensions::None).is_empty());
    }

    #[test]
    fn zero_is_said_once_after_something_else() {
        let mut embedder = Embedder::default();
        let mut written = |count: u64| {
            let reading = Reading::Is(Micros::whole(count));
            let sample =
                sample("karpenter_scheduler_unschedulable_pods_count", &["provisioner"], reading);
            lines(&mut embedder, &[sample], MetricDimensions::Cluster).len()
        };
        assert_eq!([0, 0, 2, 2, 0, 0].map(&mut written), [0, 0, 1, 1, 1, 0]);
    }
}
