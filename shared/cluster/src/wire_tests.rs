//! The ports against an API server that is a list of answers: no socket, no clock.

mod leases;
mod lists;
mod node_claims;
mod node_classes;
mod node_pools;
mod nodes;
mod tokens;
mod transport;

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

/// What is answered in turn, and what was asked.
#[derive(Clone, Debug)]
struct Server {
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Server {
    fn new(answers: impl IntoIterator<Item = (u16, Value)>) -> Self {
        let answers = answers.into_iter().map(|(code, body)| (code, body.to_string())).collect();
        Self { answers: Arc::new(Mutex::new(answers)), sent: Arc::default() }
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
        let answer = self.answers.lock().unwrap().pop_front();
        let (code, text) = answer.ok_or("nobody expected this request")?;
        Ok(Response::builder().status(code).body(Body::from(text.into_bytes())).unwrap())
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
