//! What a collector gets, over the wire.
//!
//! When `JOURNEYMAN_LIVE_OTLP_URL` names one, it gets some calls and every metric. What it made of them
//! `tests/live/telemetry` looks at, which knows these calls by heart.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

use aws::Account;
use handlers::{METRICS, Metric, MetricKind, Metrics, Micros};
use jiff::{SignedDuration, Timestamp};
use model::ClusterName;

use super::*;
use crate::clock;

const COLLECTOR: &str = "JOURNEYMAN_LIVE_OTLP_URL";
const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

/// A call, by the seconds of its beginning and its end.
struct Told {
    function: &'static str,
    times: (i64, i64),
    /// Whether it took place elsewhere: beside the others of its function, and with a teller of its own.
    is_elsewhere: bool,
    has_failed: bool,
}

/// In the order in which they end. The second began before the first did, and the third overlaps the last.
static CALLS: [Told; 5] = [
    Told { function: "settle", times: (2, 5), is_elsewhere: true, has_failed: false },
    Told { function: "settle", times: (0, 10), is_elsewhere: false, has_failed: false },
    Told { function: "settle", times: (11, 13), is_elsewhere: false, has_failed: true },
    Told { function: "settle", times: (6, 14), is_elsewhere: true, has_failed: false },
    Told { function: "drain", times: (1, 15), is_elsewhere: false, has_failed: false },
];

fn teller(url: &str) -> (Teller, OtlpCollector) {
    let collector = Account::emulated(url, "us-west-2").unwrap().collector(url);
    (Teller::new(MetricDimensions::None, Some(collector.clone())), collector)
}

fn labels(metric: &Metric) -> Vec<&'static str> {
    let value = |label: &&'static str| match *label {
        "nodepool" => "general",
        "resource_type" => "cpu",
        "zone" => "us-west-2a",
        "arch" => "arm64",
        "capacity_type" => "spot",
        other => other,
    };
    metric.labels.iter().map(value).collect()
}

/// Every metric: two more of what is counted, a second, a quarter of an hour and five weeks, and what is `present`.
fn samples(present: u64) -> Vec<Sample> {
    let gathered = Metrics::default();
    for metric in METRICS {
        let labels = labels(metric);
        match metric.kind {
            MetricKind::Counter => (0..2).for_each(|_| gathered.count(metric, &labels)),
            MetricKind::Gauge => gathered.set(metric, &labels, Micros::whole(present)),
            MetricKind::Histogram(_) => {
                for seconds in [1, 1_000, 3_024_000] {
                    gathered.observe(metric, &labels, SignedDuration::from_secs(seconds));
                }
            }
        }
    }
    // A second NodePool and a second resource, in the same requests.
    let drained = METRICS.iter().find(|metric| metric.name == "karpenter_nodes_drained_total");
    gathered.count(drained.unwrap(), &["other"]);
    for metric in METRICS.iter().filter(|metric| metric.labels.contains(&"resource_type")) {
        let of_memory =
            labels(metric).into_iter().map(|text| if text == "cpu" { "memory" } else { text });
        gathered.set(metric, &of_memory.collect::<Vec<&str>>(), Micros::whole(present));
    }
    gathered.take()
}

fn span<'a>(cluster: &'a ClusterName, call: &'a Told, start: Timestamp) -> Span<'a> {
    let at = |seconds| start.checked_add(SignedDuration::from_secs(seconds)).unwrap();
    Span {
        cluster,
        function: call.function,
        request_id: "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
        trace: Some(TRACE),
        began_at: at(call.times.0),
        ended_at: at(call.times.1),
        has_failed: call.has_failed,
    }
}

#[expect(clippy::disallowed_methods, reason = "a live test is started by an environment variable")]
#[expect(clippy::print_stderr, reason = "a live test says when it was skipped")]
fn named_collector() -> Option<String> {
    let url = std::env::var(COLLECTOR).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        eprintln!("skipped: {COLLECTOR} names nothing");
    }
    url
}

#[tokio::test]
async fn a_collector_takes_everything_that_functions_tell() {
    let Some(url) = named_collector() else { return };
    let cluster: ClusterName = "demo".parse().unwrap();
    let start = clock::now().checked_sub(SignedDuration::from_secs(20)).unwrap();
    let ((here, collector), (elsewhere, _)) = (teller(&url), teller(&url));
    // A refused export is no failure, so the test first checks that the collector takes anything.
    let first = span(&cluster, &CALLS[0], start);
    collector.post(otlp::METRICS_PATH, &otlp::metrics(&[], &first)).await.unwrap();
    collector.post(otlp::TRACES_PATH, &otlp::traces(&first)).await.unwrap();
    for (call, present) in CALLS.iter().zip(1..) {
        let teller = if call.is_elsewhere { &elsewhere } else { &here };
        teller.tell(&samples(present), &span(&cluster, call, start)).await;
    }
}

/// The path and the body of what comes through `connection`, which is answered.
fn request(connection: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(connection);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_lowercase()
    };
    let path = line().split(' ').nth(1).unwrap().to_owned();
    let head: Vec<String> =
        std::iter::repeat_with(&mut line).take_while(|line| !line.is_empty()).collect();
    assert!(head.contains(&"content-type: application/json".to_owned()), "{head:?}");
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let mut connection = connection;
    connection
        .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
        .unwrap();
    (path, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_collector_gets_metrics_and_of_the_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = thread::spawn(move || [(), ()].map(|()| request(&listener.accept().unwrap().0)));
    let cluster: ClusterName = "demo".parse().unwrap();
    let (teller, _) = teller(&url);
    let span = span(&cluster, &CALLS[0], Timestamp::UNIX_EPOCH);
    teller.tell(&samples(1), &span).await;
    let mut told = server.join().unwrap();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    let [(metrics_path, metrics), (traces_path, traces)] = told;
    assert_eq!([metrics_path.as_str(), traces_path.as_str()], ["/v1/metrics", "/v1/traces"]);
    assert_eq!(metrics, otlp::metrics(&samples(1), &span));
    assert_eq!(traces, otlp::traces(&span));
}

#[tokio::test]
async fn a_collector_that_takes_nothing_stops_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let cluster: ClusterName = "demo".parse().unwrap();
    let (teller, collector) = teller(&url);
    let span = span(&cluster, &CALLS[0], Timestamp::UNIX_EPOCH);
    assert!(collector.post(otlp::TRACES_PATH, &otlp::traces(&span)).await.is_err());
    teller.tell(&samples(1), &span).await;
}
