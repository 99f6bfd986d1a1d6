//! The ports against an API server that is a list of answers: no socket, no clock.

mod events;
mod leases;
mod lists;
mod node_claims;
mod node_classes;
mod node_pools;
mod nodes;
mod probe;
mod tokens;
mod transport;
mod webhooks;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use http::{Request, Response, header};
use kube::client::{Body, Client};
use serde_json::{Value, json};

use crate::KubeCluster;

/// A request as it went out.
#[derive(Clone, Debug)]
struct Sent {
    method: String,
    path: String,
    /// Decoded and sorted.
    query: Vec<(String, String)>,
    authorization: Option<String>,
    content_type: Option<String>,
    body: Value,
}

/// An answer that is given once.
#[derive(Debug)]
struct Answer {
    /// The only path for which it is given; without it, whatever is asked next.
    path: Option<&'static str>,
    code: u16,
    body: String,
    /// Headers `Warning`.
    warnings: Vec<&'static str>,
}

/// What is answered in turn, and what was asked.
#[derive(Clone, Debug)]
struct Server {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Server {
    fn new(answers: impl IntoIterator<Item = (u16, Value)>) -> Self {
        Self::of(answers.into_iter().map(|answer| (None, answer)))
    }

    /// Answers of requests that are made side by side.
    fn at_paths(answers: impl IntoIterator<Item = (&'static str, (u16, Value))>) -> Self {
        Self::of(answers.into_iter().map(|(path, answer)| (Some(path), answer)))
    }

    fn of(answers: impl Iterator<Item = (Option<&'static str>, (u16, Value))>) -> Self {
        let answers = answers.map(|(path, (code, body))| Answer {
            path,
            code,
            body: body.to_string(),
            warnings: Vec::new(),
        });
        Self { answers: Arc::new(Mutex::new(answers.collect())), sent: Arc::default() }
    }

    /// The same, whose next answer has these headers `Warning`.
    fn warning(self, warnings: &[&'static str]) -> Self {
        if let Some(next) = self.answers.lock().unwrap().front_mut() {
            next.warnings = warnings.to_vec();
        }
        self
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request).await }
        });
        Client::new(service, "default")
    }

    fn cluster(&self) -> KubeCluster {
        KubeCluster::over(self.client(), None)
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, String> {
        let (parts, body) = request.into_parts();
        let header = |name| Some(parts.headers.get(name)?.to_str().unwrap().to_owned());
        let body = body.collect_bytes().await.unwrap();
        let query = parts.uri.query().unwrap_or_default();
        let mut query: Vec<_> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.replace("%2C", ",").replace("%3D", "=")))
            .collect();
        query.sort();
        self.sent.lock().unwrap().push(Sent {
            method: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query,
            authorization: header(header::AUTHORIZATION),
            content_type: header(header::CONTENT_TYPE),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        });
        let mut answers = self.answers.lock().unwrap();
        let is_for = |answer: &Answer| answer.path.is_none_or(|path| path == parts.uri.path());
        let expected = answers.iter().position(is_for).and_then(|index| answers.remove(index));
        let Answer { code, body, warnings, .. } = expected.ok_or("unexpected request")?;
        let answer = Response::builder().status(code);
        let answer =
            warnings.iter().fold(answer, |answer, text| answer.header(header::WARNING, *text));
        Ok(answer.body(Body::from(body.into_bytes())).unwrap())
    }

    fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// `METHOD path`, in order. What was not asked for is left over and fails the test.
    #[track_caller]
    fn check_sent(&self, expected: &[&str]) {
        let sent: Vec<_> =
            self.sent().iter().map(|sent| format!("{} {}", sent.method, sent.path)).collect();
        assert_eq!(sent, expected);
        assert!(self.answers.lock().unwrap().is_empty(), "not everything was asked for");
    }
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "code": code, "reason": reason, "message": message })
}

fn refused(code: u16, reason: &str, message: &str) -> (u16, Value) {
    (code, status(code, reason, message))
}
