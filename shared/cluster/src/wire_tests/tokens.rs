//! The token that goes with each request, under a clock that the test sets.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use aws_credential_types::{
    Credentials,
    provider::{self, ProvideCredentials, SharedCredentialsProvider, future},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ports::{Cluster as _, Fault, PodSelection};
use serde_json::{Value, json};

use super::{Server, refused};
use crate::KubeCluster;

/// Starts on a whole hour.
const START: i64 = 1_795_262_400;

#[derive(Debug)]
struct Broken;

impl ProvideCredentials for Broken {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let error = provider::error::CredentialsError::not_loaded("none here");
        future::ProvideCredentials::ready(Err(error))
    }
}

fn cluster(
    server: &Server,
    credentials: impl ProvideCredentials + 'static,
) -> (KubeCluster, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(START));
    let shown = Arc::clone(&now);
    let clock = Box::new(move || Timestamp::from_second(shown.load(Ordering::Relaxed)).unwrap());
    let credentials = SharedCredentialsProvider::new(credentials);
    let name = "one".parse().unwrap();
    (KubeCluster::over(server.client(), Some((name, credentials, clock))), now)
}

fn keys() -> Credentials {
    Credentials::new("AKIDEXAMPLE", "secret", None, None, "test")
}

fn empty() -> (u16, Value) {
    (200, json!({ "kind": "PodList", "metadata": { "resourceVersion": "7" }, "items": [] }))
}

/// When the tokens that were sent were signed, in minutes after the start.
fn signed_at(server: &Server) -> Vec<i64> {
    let minute = |authorization: String| {
        let token = authorization.strip_prefix("Bearer k8s-aws-v1.").unwrap();
        let url = String::from_utf8(URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
        let (_, date) = url.split_once("X-Amz-Date=").unwrap();
        let date = date.split('&').next().unwrap();
        let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", date)
            .unwrap()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .unwrap()
            .timestamp();
        (time.as_second() - START) / 60
    };
    server.sent().into_iter().map(|sent| minute(sent.authorization.unwrap())).collect()
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let server = Server::new([empty(), empty(), empty(), empty()]);
    let (cluster, now) = cluster(&server, keys());
    // The last one comes after the environment was frozen for hours.
    for minute in [0, 11, 12, 500] {
        now.store(START + 60 * minute, Ordering::Relaxed);
        cluster.pods(&PodSelection::Waiting).await.unwrap();
    }
    assert_eq!(signed_at(&server), [0, 0, 12, 500]);
}

#[tokio::test]
async fn a_token_is_renewed_before_its_credentials_end() {
    let server = Server::new([empty(), empty(), empty()]);
    let end = Timestamp::from_second(START + 5 * 60).unwrap();
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, Some(end.into()), "test");
    let (cluster, now) = cluster(&server, credentials);
    for minute in [0, 3, 4] {
        now.store(START + 60 * minute, Ordering::Relaxed);
        cluster.pods(&PodSelection::Waiting).await.unwrap();
    }
    assert_eq!(signed_at(&server), [0, 0, 4]);
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_not_sent_again() {
    let server = Server::new([refused(401, "Unauthorized", "Unauthorized"), empty()]);
    let (cluster, now) = cluster(&server, keys());
    let error = cluster.pods(&PodSelection::Waiting).await.unwrap_err();
    assert_eq!(error.fault, Fault::Permanent);
    now.store(START + 60, Ordering::Relaxed);
    cluster.pods(&PodSelection::Waiting).await.unwrap();
    assert_eq!(signed_at(&server), [0, 1]);
}

#[tokio::test]
async fn nothing_is_sent_without_credentials() {
    let server = Server::new([]);
    let (cluster, _) = cluster(&server, Broken);
    let error = cluster.pods(&PodSelection::Waiting).await.unwrap_err();
    assert_eq!((error.operation, error.fault), ("list pods", Fault::Transient));
    server.check_sent(&[]);
}
