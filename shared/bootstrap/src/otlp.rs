//! Samples and calls as OpenTelemetry takes them: OTLP over HTTP, as JSON.
//!
//! Counters and histograms say what a call added (delta temporality): functions come and go, and none knows a
//! total. Each call is one span.
//!
//! <https://opentelemetry.io/docs/specs/otlp/#otlphttp>,
//! <https://github.com/open-telemetry/opentelemetry-proto> (`metrics/v1`, `trace/v1`)

use handlers::{Metric, MetricKind, Reading, Sample};
use jiff::{SignedDuration, Timestamp};
use model::ClusterName;
use serde_json::{Value, json};

use crate::embedded::number;

/// Where metrics go, after the collector's address.
pub(crate) const METRICS_PATH: &str = "/v1/metrics";
/// Where spans go.
pub(crate) const TRACES_PATH: &str = "/v1/traces";

/// `AGGREGATION_TEMPORALITY_DELTA`
const DELTA: u32 = 1;
/// How long before the end of a call what it counted begins. A collector that adds up differences takes them in the order of
/// their time, and drops one that begins before the first: from its beginning on, a call overlaps those of other
/// processes, and most of what they count together would be lost.
///
/// `processor/deltatocumulativeprocessor/internal/delta` of `opentelemetry-collector-contrib`
const MOMENT: SignedDuration = SignedDuration::from_millis(1);
/// `SPAN_KIND_CONSUMER`
const CONSUMER: u32 = 5;
/// `STATUS_CODE_OK`
const OK: u32 = 1;
/// `STATUS_CODE_ERROR`
const ERROR: u32 = 2;

/// A call of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a> {
    pub(crate) cluster: &'a ClusterName,
    pub(crate) function: &'a str,
    pub(crate) request_id: &'a str,
    /// Lambda's header of X-Ray, where there is one.
    pub(crate) trace: Option<&'a str>,
    pub(crate) began_at: Timestamp,
    pub(crate) ended_at: Timestamp,
    pub(crate) has_failed: bool,
}

/// The request with `samples`, which were taken in the call `span`. Those of one metric stand together, as
/// [`handlers::Metrics::take`] brings them.
pub(crate) fn metrics(samples: &[Sample], span: &Span<'_>) -> Value {
    let metrics = samples.chunk_by(|before, after| before.metric.name == after.metric.name);
    let metrics =
        metrics.filter_map(|samples| Some(metric(samples.first()?.metric, samples, span)));
    json!({"resourceMetrics": [{
        "resource": resource(span),
        "scopeMetrics": [{"scope": scope(), "metrics": metrics.collect::<Vec<Value>>()}],
    }]})
}

/// The request with the call itself.
pub(crate) fn traces(span: &Span<'_>) -> Value {
    let (trace_id, parent) = trace(span);
    let digest = model::ledger::digest(format!("{}/{}", span.request_id, span.began_at).as_bytes());
    let mut told = json!({
        "traceId": trace_id,
        "spanId": format!("{digest:016x}"),
        "name": span.function,
        "kind": CONSUMER,
        "startTimeUnixNano": nanos(span.began_at),
        "endTimeUnixNano": nanos(span.ended_at),
        "attributes": [attribute("faas.invocation_id", span.request_id)],
        "status": {"code": if span.has_failed { ERROR } else { OK }},
    });
    if let (Some(parent), Some(told)) = (parent, told.as_object_mut()) {
        told.insert("parentSpanId".to_owned(), json!(parent));
    }
    json!({"resourceSpans": [{
        "resource": resource(span),
        "scopeSpans": [{"scope": scope(), "spans": [told]}],
    }]})
}

fn metric(metric: &Metric, samples: &[Sample], span: &Span<'_>) -> Value {
    let Metric { name, kind, meaning, .. } = metric;
    let points: Vec<Value> = samples.iter().map(|sample| point(sample, span)).collect();
    let (shape, data) = match kind {
        MetricKind::Counter => (
            "sum",
            json!({"dataPoints": points, "aggregationTemporality": DELTA, "isMonotonic": true}),
        ),
        MetricKind::Gauge => ("gauge", json!({"dataPoints": points})),
        MetricKind::Histogram(_) => {
            ("histogram", json!({"dataPoints": points, "aggregationTemporality": DELTA}))
        }
    };
    json!({"name": name, "description": meaning, shape: data})
}

fn point(sample: &Sample, span: &Span<'_>) -> Value {
    let pairs = sample.metric.labels.iter().zip(&sample.labels);
    let attributes: Vec<Value> = pairs.map(|(label, value)| attribute(label, value)).collect();
    let began_at = span.ended_at.saturating_sub(MOMENT).unwrap_or(span.ended_at);
    let mut point = json!({
        "startTimeUnixNano": nanos(began_at),
        "timeUnixNano": nanos(span.ended_at),
        "attributes": attributes,
    });
    let (of_reading, bounds) = (reading(&sample.reading), bounds(sample.metric.kind));
    if let Some(point) = point.as_object_mut() {
        point.extend(of_reading.into_iter().map(|(field, value)| (field.to_owned(), value)));
        point.extend(bounds.map(|bounds| ("explicitBounds".to_owned(), json!(bounds))));
    }
    point
}

const fn bounds(kind: MetricKind) -> Option<&'static [u64]> {
    match kind {
        MetricKind::Histogram(bounds) => Some(bounds),
        MetricKind::Counter | MetricKind::Gauge => None,
    }
}

/// Whole numbers of 64 bits are texts in JSON.
fn reading(reading: &Reading) -> Vec<(&'static str, Value)> {
    match reading {
        Reading::Added(count) => vec![("asInt", json!(count.to_string()))],
        Reading::Is(micros) => vec![("asDouble", json!(number(*micros)))],
        Reading::Observed { count, sum, buckets } => {
            let buckets: Vec<String> = buckets.iter().map(ToString::to_string).collect();
            vec![
                ("count", json!(count.to_string())),
                ("sum", json!(number(*sum))),
                ("bucketCounts", json!(buckets)),
            ]
        }
    }
}

fn resource(span: &Span<'_>) -> Value {
    json!({"attributes": [
        attribute("service.name", "journeyman"),
        attribute("service.version", env!("CARGO_PKG_VERSION")),
        attribute("faas.name", span.function),
        attribute("k8s.cluster.name", span.cluster.as_str()),
        // What Karpenter's dashboards tell clusters apart by.
        attribute("cluster", span.cluster.as_str()),
    ]})
}

fn scope() -> Value {
    json!({"name": "journeyman", "version": env!("CARGO_PKG_VERSION")})
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn nanos(time: Timestamp) -> String {
    time.as_nanosecond().to_string()
}

/// The id of the trace and of the span above: those of X-Ray where Lambda says them, else one made of the
/// request's id.
///
/// <https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader>
fn trace(span: &Span<'_>) -> (String, Option<String>) {
    let field = |name: &str| {
        let header = span.trace.unwrap_or_default();
        let mut fields = header.split(';').filter_map(|field| field.trim().split_once('='));
        fields.find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let root = field("Root").and_then(|root| root.strip_prefix("1-"));
    let root = root.map(|root| root.replace('-', "")).filter(|root| is_hex(root, 32));
    if let Some(root) = root {
        return (root, field("Parent").filter(|id| is_hex(id, 16)).map(str::to_owned));
    }
    let halves = ["a", "b"]
        .map(|half| model::ledger::digest(format!("{half}/{}", span.request_id).as_bytes()));
    (halves.map(|half| format!("{half:016x}")).concat(), None)
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use handlers::{METRICS, Micros};

    use super::*;

    fn span<'a>(cluster: &'a ClusterName, trace: Option<&'a str>) -> Span<'a> {
        Span {
            cluster,
            function: "drain",
            request_id: "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
            trace,
            began_at: Timestamp::from_second(1_795_262_400).unwrap(),
            ended_at: Timestamp::from_millisecond(1_795_262_400_250).unwrap(),
            has_failed: false,
        }
    }

    fn sample(name: &str, labels: &[&str], reading: Reading) -> Sample {
        let metric = METRICS.iter().copied().find(|metric| metric.name == name).unwrap();
        Sample { metric, labels: labels.iter().map(|label| (*label).to_owned()).collect(), reading }
    }

    #[test]
    fn a_counter_says_what_was_added() {
        let cluster = ClusterName::new("demo").unwrap();
        let samples = [sample("karpenter_nodes_drained_total", &["general"], Reading::Added(2))];
        let request = metrics(&samples, &span(&cluster, None));
        let told = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        assert_eq!(told["name"], "karpenter_nodes_drained_total");
        assert_eq!(told["sum"]["aggregationTemporality"], 1);
        assert_eq!(told["sum"]["isMonotonic"], true);
        assert_eq!(
            told["sum"]["dataPoints"][0],
            json!({
                "startTimeUnixNano": "1795262400249000000", "timeUnixNano": "1795262400250000000",
                "attributes": [{"key": "nodepool", "value": {"stringValue": "general"}}],
                "asInt": "2",
            })
        );
        let attributes = request["resourceMetrics"][0]["resource"]["attributes"].to_string();
        assert!(
            attributes.contains("k8s.cluster.name") && attributes.contains("demo"),
            "{attributes}"
        );
    }

    /// A collector adds up what comes in the order of its time, and drops what begins before the first.
    #[test]
    fn calls_that_overlap_tell_of_times_that_do_not() {
        let cluster = ClusterName::new("demo").unwrap();
        let samples = [sample("karpenter_nodes_drained_total", &["general"], Reading::Added(2))];
        let short = span(&cluster, None);
        let long = Span {
            began_at: Timestamp::from_second(1_795_262_300).unwrap(),
            ended_at: Timestamp::from_second(1_795_262_401).unwrap(),
            ..short
        };
        let times = [short, long].map(|span| {
            let request = metrics(&samples, &span);
            let metric = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
            let point = &metric["sum"]["dataPoints"][0];
            ["startTimeUnixNano", "timeUnixNano"]
                .map(|name| point[name].as_str().unwrap().to_owned())
        });
        assert!(times.concat().is_sorted(), "{times:?}");
        assert!(times.iter().all(|[start, end]| start < end), "{times:?}");
    }

    #[test]
    fn what_is_measured_of_several_stands_in_one_metric() {
        let cluster = ClusterName::new("demo").unwrap();
        let name = "karpenter_nodes_drained_total";
        let pools = ["general", "other"].map(|pool| sample(name, &[pool], Reading::Added(1)));
        let count = sample("karpenter_cluster_state_node_count", &[], Reading::Is(Micros(0)));
        let samples = [&[count][..], &pools].concat();
        let request = metrics(&samples, &span(&cluster, None));
        let told = request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap();
        assert_eq!(told.len(), 2);
        assert_eq!(told[1]["sum"]["dataPoints"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_histogram_has_a_bucket_more_than_bounds() {
        let cluster = ClusterName::new("demo").unwrap();
        let gathered = handlers::Metrics::default();
        let metric = METRICS.iter().copied();
        let metric = metric.filter(|metric| metric.name.ends_with("termination_duration_seconds"));
        for metric in metric {
            for seconds in [1, 3, 5_000] {
                gathered.observe(metric, &["general"], SignedDuration::from_secs(seconds));
            }
        }
        let request = metrics(&gathered.take(), &span(&cluster, None));
        let told = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        let point = &told["histogram"]["dataPoints"][0];
        assert_eq!((&point["count"], &point["sum"]), (&json!("3"), &json!(5_004.0)));
        let counts = point["bucketCounts"].as_array().unwrap();
        assert_eq!(counts.len(), point["explicitBounds"].as_array().unwrap().len() + 1);
        assert_eq!((&counts[0], &counts[2], &counts[12]), (&json!("1"), &json!("1"), &json!("1")));
    }

    #[test]
    fn a_gauge_is_a_number() {
        let cluster = ClusterName::new("demo").unwrap();
        let reading = Reading::Is(Micros(12_340_000));
        let samples = [sample("karpenter_nodepools_cost_total", &["general"], reading)];
        let request = metrics(&samples, &span(&cluster, None));
        let told = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        assert_eq!(told["gauge"]["dataPoints"][0]["asDouble"], 12.34);
    }

    #[test]
    fn a_call_is_a_span_below_what_lambda_says() {
        let cluster = ClusterName::new("demo").unwrap();
        let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        let request = traces(&span(&cluster, Some(header)));
        let told = &request["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(told["traceId"], "5759e988bd862e3fe1be46a994272793");
        assert_eq!(told["parentSpanId"], "53995c3f42cd8ad8");
        assert_eq!((&told["name"], &told["status"]["code"]), (&json!("drain"), &json!(1)));
        for header in [None, Some(""), Some("Root=1-x-y"), Some("nothing")] {
            let failed = Span { has_failed: true, ..span(&cluster, header) };
            let request = traces(&failed);
            let told = &request["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
            assert!(is_hex(told["traceId"].as_str().unwrap(), 32), "{told}");
            assert!(is_hex(told["spanId"].as_str().unwrap(), 16), "{told}");
            assert_eq!(told.get("parentSpanId"), None);
            assert_eq!(told["status"]["code"], 2);
        }
    }
}
