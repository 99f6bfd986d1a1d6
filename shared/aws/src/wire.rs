//! Replayed answers below the SDKs: what is really sent, and what real answers mean. No socket is
//! opened.

use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_smithy_runtime_api::client::{
    http::{
        HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
    },
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};

/// Answers in the order in which they are asked for, and everything that was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire(Arc<Mutex<Tape>>);

#[derive(Debug, Default)]
struct Tape {
    /// Status and body; `None` is a connection that breaks before the answer. The last goes first.
    answers: Vec<Option<(u16, String)>>,
    sent: Vec<String>,
}

impl Wire {
    /// Will answer with these.
    pub(crate) fn answering(answers: &[Option<(u16, &str)>]) -> Self {
        let answer = |answer: &Option<(u16, &str)>| answer.map(|(code, body)| (code, body.into()));
        let answers = answers.iter().rev().map(answer).collect();
        Self(Arc::new(Mutex::new(Tape { answers, sent: Vec::new() })))
    }

    /// The bodies that were sent. All answers must have been asked for.
    pub(crate) fn sent(&self) -> Vec<String> {
        let tape = self.0.lock().unwrap();
        assert_eq!(tape.answers, [], "not asked for");
        tape.sent.clone()
    }

    /// An account behind this wire, without retries.
    pub(crate) fn config(&self) -> SdkConfig {
        let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "wire");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-west-2"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .retry_config(RetryConfig::disabled())
            .http_client(self.client())
            .build()
    }

    fn client(&self) -> SharedHttpClient {
        let connector = SharedHttpConnector::new(self.clone());
        http_client_fn(move |_, _| connector.clone())
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut tape = self.0.lock().unwrap();
        let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
        tape.sent.push(body.into_owned());
        HttpConnectorFuture::ready(match tape.answers.pop() {
            Some(Some((status, body))) => {
                Ok(HttpResponse::new(status.try_into().unwrap(), body.into()))
            }
            Some(None) => Err(ConnectorError::io("connection reset".into())),
            None => panic!("one call too many: {:?}", tape.sent.last()),
        })
    }
}
