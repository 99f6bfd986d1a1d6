//! AWS as far as the commands ask it: operations of several protocols at one endpoint.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::server::{Reply, Request, pairs, serve};

/// The server, from its own side.
#[derive(Clone)]
pub(crate) struct Aws {
    log: Arc<Mutex<Vec<String>>>,
    pub(crate) url: String,
}

/// A call: its operation, and what it asks.
pub(crate) struct Call<'a> {
    /// Such as `DescribeCluster`.
    pub(crate) operation: &'a str,
    pub(crate) request: &'a Request,
    /// Of the query protocols.
    form: Vec<(String, String)>,
}

impl Call<'_> {
    /// A parameter of a form.
    pub(crate) fn field(&self, name: &str) -> &str {
        let field = self.form.iter().find(|(key, _)| key == name);
        field.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// An answer with `content` in the form of services that are asked by forms.
    pub(crate) fn result(&self, content: &str) -> Reply {
        let operation = self.operation;
        let result = format!("<{operation}Result>{content}</{operation}Result>");
        Reply::ok(format!("<{operation}Response>{result}</{operation}Response>"))
    }

    /// What EKS says of the cluster `demo`, whose API server is at `server`; it has no other.
    pub(crate) fn of_cluster(&self, server: &str) -> Option<Reply> {
        if self.operation != "DescribeCluster" {
            return None;
        }
        if !self.request.path.ends_with("/demo") {
            return Some(self.refused("ResourceNotFoundException", "no such cluster"));
        }
        Some(Reply::ok(json!({"cluster": {
            "name": "demo", "status": "ACTIVE", "version": "1.34", "endpoint": server,
            "arn": "arn:aws:eks:us-west-2:123456789012:cluster/demo",
            "resourcesVpcConfig": {"endpointPublicAccess": true},
            "accessConfig": {"authenticationMode": "API"},
        }})))
    }

    /// The refusal of this call in the protocol of its service.
    pub(crate) fn refused(&self, code: &str, message: &str) -> Reply {
        let status = if code.starts_with("Throttl") { 429 } else { 400 };
        if self.form.is_empty() {
            let body = json!({"__type": code, "message": message});
            let headers = vec![("x-amzn-errortype", code.to_owned())];
            return Reply { status, headers, ..Reply::ok(body) };
        }
        let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        Reply {
            status,
            ..Reply::ok(match self.field("Version") {
                "2016-11-15" => format!("<Response><Errors>{error}</Errors></Response>"),
                _ => format!("<ErrorResponse>{error}</ErrorResponse>"),
            })
        }
    }
}

impl Aws {
    /// Answers as `answer` says; what that does not know is denied.
    pub(crate) fn start(
        answer: impl Fn(&Call<'_>) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&log);
        let url = serve(move |request| {
            let form = if request.header("content-type").contains("form") {
                pairs(&request.body)
            } else {
                Vec::new()
            };
            let operation = operation(request, &form);
            let call = Call { operation: &operation, request, form };
            let reply = answer(&call);
            let region = request.header("authorization").split('/').nth(2).unwrap_or_default();
            shared.lock().expect("no thread panics").push(format!("{region} {operation}"));
            let action = format!("not authorized to perform {operation}");
            reply.unwrap_or_else(|| call.refused("AccessDenied", &action))
        });
        Self { log, url }
    }

    /// The account of `demo`, whose API server is at `server`, without any function; what else is asked is denied.
    pub(crate) fn of_cluster(server: &str) -> Self {
        let server = server.to_owned();
        Self::start(move |call| match call.operation {
            "ListFunctions" => Some(Reply::ok(json!({"Functions": []}))),
            _ => call.of_cluster(&server),
        })
    }

    /// `REGION OPERATION` of what was asked for since the last time.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().expect("no thread panics"))
    }
}

fn operation(request: &Request, form: &[(String, String)]) -> String {
    if let Some((_, operation)) = request.header("x-amz-target").split_once('.') {
        return operation.to_owned();
    }
    if let Some((_, operation)) = form.iter().find(|(name, _)| name == "Action") {
        return operation.clone();
    }
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["releases", ..] => "S3",
        ["clusters", _] => "DescribeCluster",
        ["clusters", _, "access-entries"] => "ListAccessEntries",
        ["clusters", _, "access-entries", ..] => "DescribeAccessEntry",
        [_, "functions"] => "ListFunctions",
        [_, "functions", _, "concurrency"] => "GetFunctionConcurrency",
        [_, "account-settings"] => "GetAccountSettings",
        _ => panic!("{}: what is that?", request.path),
    }
    .to_owned()
}
