//! Outside text that `api`, `wire` and `instance-catalog` read.
//!
//! The texts come from the examples, the validation tables and the sample events.

use std::{fs, hint::black_box};

use api::{
    convert,
    files::stored,
    lists::{self, PodReader},
};
use model::{HourlyPrice, duration, quantity::Quantity};
use tests::{files, repository};
use wire::{admission, event, message, record};

use super::harness::{Target, owned};

/// Every file below `folder` that ends so.
fn texts(folder: &str, end: &str) -> Vec<String> {
    let paths = files(&repository().join(folder), &[end]);
    assert!(!paths.is_empty(), "{folder} has nothing that ends with {end}");
    paths.into_iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
}

fn many_fields(count: usize) -> String {
    let fields: String =
        (0..count).fold(String::new(), |text, number| text + &format!("  field{number}: 5\n"));
    format!("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: a}}\nspec:\n{fields}")
}

fn pod_list(count: usize) -> String {
    let pod = r#"{"metadata":{"name":"a","namespace":"b"},"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}],"nodeSelector":{"a":5}}}"#;
    let pods = vec![pod; count].join(",");
    format!(r#"{{"items":[{pods}]}}"#)
}

const POOL: &str = r#"{"items":[{"metadata":{"name":"a"},"spec":{"template":{"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[{"key":"a","operator":"In","values":["b"]}],"expireAfter":"720h"}},"disruption":{"budgets":[{"nodes":"10%","schedule":"0 9 * * mon-fri","duration":"8h"}]}}}]}"#;
const POD: &str = r#"{"items":[{"metadata":{"name":"a","namespace":"b","labels":{"c":"d"}},"spec":{"containers":[{"name":"x","resources":{"requests":{"cpu":"500m","memory":"1Gi"}}}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Gt","values":["5"]}]}]}}},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"c":"d"}}}],"tolerations":[{"operator":"Exists"}]},"status":{"phase":"Pending"}}]}"#;

const SECRET: &str = "Zk3vQ9sLr0a-TtYw71bN_xUe5mGh2DcJ";
const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"group":"","version":"v1","kind":"Event"},"operation":"CREATE","object":null}}"#;

/// The event of a call that brings `review`.
fn admission_call(review: &str) -> String {
    let http = r#""requestContext":{"http":{"method":"POST"}}"#;
    let body = serde_json::Value::from(review);
    format!(r#"{{"rawPath":"/{SECRET}",{http},"isBase64Encoded":false,"body":{body}}}"#)
}

#[expect(clippy::too_many_lines, reason = "a table of parsers")]
pub(crate) fn targets() -> Vec<Target> {
    let manifests: Vec<_> =
        [texts("examples", ".yaml"), texts("shared/api/tests/convert", ".yaml")].concat();
    let tables = texts("tests/validation", ".json");
    let events = texts("events", ".json");
    vec![
        Target {
            name: "quantities",
            parse: |text| {
                let _quantity = black_box(Quantity::parse(text));
            },
            corpus: owned(&[
                "500m",
                "1.5Gi",
                "2e3",
                "-1",
                "+0.1n",
                "12345678901234567890Ei",
                "1E400",
            ]),
            long: Some(|count| "9".repeat(count * 16)),
        },
        Target {
            name: "durations",
            parse: |text| {
                let _go = black_box(duration::parse_go(text));
                let _nillable = black_box(duration::parse_nillable(text));
            },
            corpus: owned(&[
                "1h30m",
                "720h",
                "Never",
                "1.5s",
                "-2ms",
                "100us",
                "9223372036854775807ns",
            ]),
            long: Some(|count| "1h".repeat(count * 8)),
        },
        Target {
            name: "prices",
            parse: |text| {
                let _price = black_box(HourlyPrice::parse_dollars(text));
            },
            corpus: owned(&["0.0337", "12", "0.00000000816", "18446744073.709551615"]),
            long: Some(|count| format!("0.{}", "1".repeat(count * 16))),
        },
        Target {
            name: "manifests",
            parse: |text| {
                let _manifest = black_box(api::files::read(text, "x"));
            },
            corpus: [manifests.clone(), tables, owned(&[POD])].concat(),
            long: Some(many_fields),
        },
        Target {
            name: "older versions",
            parse: |text| {
                let _text = black_box(api::files::older::to_v1(
                    &[("x", text)],
                    &convert::ConversionSettings::default(),
                ));
            },
            corpus: manifests.clone(),
            long: Some(|count| many_fields(count).replace("sh/v1", "sh/v1beta1")),
        },
        Target {
            name: "stored objects",
            parse: |text| {
                let _hashes = black_box(stored::read(text, "x"));
            },
            corpus: manifests,
            long: Some(many_fields),
        },
        Target {
            name: "lists of pods and nodes",
            parse: |text| {
                let _pods = black_box(PodReader::default().page(text.as_bytes()));
                let _nodes = black_box(lists::node_list(text.as_bytes()));
                let _sets = black_box(lists::daemon_set_list(text.as_bytes()));
            },
            corpus: owned(&[POD]),
            long: Some(pod_list),
        },
        Target {
            name: "lists of pools and classes",
            parse: |text| {
                let _pools = black_box(lists::node_pool_list(text.as_bytes()));
                let _classes = black_box(lists::node_class_list(text.as_bytes()));
            },
            corpus: owned(&[POOL]),
            long: Some(pod_list),
        },
        Target {
            name: "events, messages, records",
            parse: |text| {
                let _event = black_box(event::interruption(text));
                let _schedule = black_box(event::schedule(text));
                let _message = black_box(message::decode(text));
                let _claim = black_box(record::decode_claim(text));
                let _claims = black_box(record::decode_claims(text));
                let _pulse = black_box(record::decode_pulse(text));
                let _command = black_box(record::decode_command(text));
                let _refusals = black_box(record::decode_refusals(text));
                let _registrations = black_box(record::decode_registrations(text));
                let _retry = black_box(record::decode_retry(text));
                let _decision = black_box(record::decode_decision(text));
                let _verdict = black_box(record::decode_validation(text));
            },
            corpus: events,
            long: Some(pod_list),
        },
        Target {
            name: "calls of the URL of wake",
            parse: |text| {
                let call = black_box(admission::url_call(text, &[SECRET]));
                let _answer = black_box(admission::url_answer(&call));
            },
            corpus: vec![admission_call("{}"), admission_call(REVIEW)],
            long: Some(|count| admission_call(&REVIEW.replace("null", &"[".repeat(count)))),
        },
        Target {
            name: "catalogs",
            parse: |text| {
                let _catalog = black_box(instance_catalog::read(text));
            },
            corpus: owned(&[
                r#"{"region":"us-west-2","zones":{"us-west-2a":"usw2-az1"},"instanceTypes":[]}"#,
            ]),
            long: None,
        },
    ]
}
