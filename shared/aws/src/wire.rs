//! Replayed answers below the SDKs: what is really sent, and what real answers mean. No socket is
//! opened.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_smithy_async::time::TimeSource;
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
    /// Of each request the header `X-Amz-Target`, or the path where there is none.
    targets: Vec<String>,
    headers: Vec<BTreeMap<String, String>>,
}

/// A clock that shows what it is set to.
#[derive(Clone, Debug)]
pub(crate) struct Shown(pub(crate) Arc<Mutex<SystemTime>>);

impl Shown {
    /// One that shows the beginning of time.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(SystemTime::UNIX_EPOCH)))
    }

    /// Lets `duration` pass.
    pub(crate) fn pass(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }
}

impl TimeSource for Shown {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

impl Wire {
    /// Will answer with these.
    pub(crate) fn answering(answers: &[Option<(u16, &str)>]) -> Self {
        let answer = |answer: &Option<(u16, &str)>| answer.map(|(code, body)| (code, body.into()));
        let answers = answers.iter().rev().map(answer).collect();
        Self(Arc::new(Mutex::new(Tape { answers, ..Tape::default() })))
    }

    /// The bodies that were sent. All answers must have been asked for.
    pub(crate) fn sent(&self) -> Vec<String> {
        let tape = self.0.lock().unwrap();
        assert_eq!(tape.answers, [], "not asked for");
        tape.sent.clone()
    }

    /// What was asked for, as the actions of IAM that it needs. All answers must have been asked for.
    pub(crate) fn actions(&self) -> BTreeSet<String> {
        let bodies = self.sent();
        let targets = self.0.lock().unwrap().targets.clone();
        targets.iter().zip(&bodies).flat_map(|(target, body)| actions(target, body)).collect()
    }

    /// The targets or paths that were asked.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.0.lock().unwrap().targets.clone()
    }

    /// The header `name` of what was sent.
    pub(crate) fn header(&self, name: &str) -> Vec<String> {
        let tape = self.0.lock().unwrap();
        tape.headers.iter().filter_map(|headers| headers.get(name).cloned()).collect()
    }

    /// A connection to this wire.
    pub(crate) fn connector(&self) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
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
        let connector = self.connector();
        http_client_fn(move |_, _| connector.clone())
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut tape = self.0.lock().unwrap();
        let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
        tape.sent.push(body.into_owned());
        let headers = request.headers().iter();
        tape.headers
            .push(headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        let target = request.headers().get("x-amz-target").map(str::to_owned);
        let path = || request.uri().split("amazonaws.com").last().unwrap_or_default().to_owned();
        tape.targets.push(target.unwrap_or_else(path));
        HttpConnectorFuture::ready(match tape.answers.pop() {
            Some(Some((status, body))) => {
                Ok(HttpResponse::new(status.try_into().unwrap(), body.into()))
            }
            Some(None) => Err(ConnectorError::io("connection reset".into())),
            None => panic!("one call too many: {:?}", tape.sent.last()),
        })
    }
}

/// The actions that a request needs: that of its name, and what it does besides.
fn actions(target: &str, body: &str) -> Vec<String> {
    if target.starts_with("/managedresources/") {
        return vec!["arc-zonal-shift:GetManagedResource".to_owned()];
    }
    if target.starts_with("/2015-03-31/functions/") {
        return vec!["lambda:InvokeFunction".to_owned()];
    }
    if target.contains("/access-entries/") {
        return vec!["eks:DescribeAccessEntry".to_owned()];
    }
    if target.starts_with("/clusters/") {
        return vec!["eks:DescribeCluster".to_owned()];
    }
    if let Some((service, operation)) = target.rsplit_once('.') {
        return match (service, operation) {
            ("DynamoDB_20120810", "TransactWriteItems") => writes(body),
            ("DynamoDB_20120810", "Query") if body.contains("\"IndexName\":") => {
                vec![ports::rights::iam::QUERY_INDEX.to_owned()]
            }
            ("DynamoDB_20120810", operation) => vec![format!("dynamodb:{operation}")],
            ("AmazonSQS", "SendMessageBatch") => vec!["sqs:SendMessage".to_owned()],
            ("AmazonSSM", operation) => vec![format!("ssm:{operation}")],
            ("AWSPriceListService", operation) => vec![format!("pricing:{operation}")],
            (service, operation) => panic!("{service}.{operation}: which action is that?"),
        };
    }
    let form = |name: &str| {
        let mut fields = body.split('&').filter_map(|field| field.split_once('='));
        fields.find_map(|(key, value)| (key == name).then_some(value)).unwrap_or_default()
    };
    let service = match form("Version") {
        "2016-11-15" => "ec2",
        "2010-05-08" => "iam",
        version => panic!("version {version}: which service is that?"),
    };
    let mut actions = vec![format!("{service}:{}", form("Action"))];
    let has_tags = body.contains("TagSpecification");
    match form("Action") {
        // An instance profile in a launch template is passed on with each launch.
        "CreateFleet" => actions.extend(["ec2:RunInstances", "iam:PassRole"].map(str::to_owned)),
        "RunInstances" | "AddRoleToInstanceProfile" => actions.push("iam:PassRole".to_owned()),
        "CreateInstanceProfile" if body.contains("Tags.member") => {
            actions.push("iam:TagInstanceProfile".to_owned());
        }
        _ => {}
    }
    actions.extend(has_tags.then(|| "ec2:CreateTags".to_owned()));
    actions
}

/// A transaction needs the right to each of the writes in it.
fn writes(body: &str) -> Vec<String> {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let items = body["TransactItems"].as_array().unwrap();
    let kinds = items.iter().flat_map(|item| item.as_object().unwrap().keys());
    let action = |kind: &String| match kind.as_str() {
        "ConditionCheck" => "dynamodb:ConditionCheckItem".to_owned(),
        kind => format!("dynamodb:{kind}Item"),
    };
    kinds.map(action).collect()
}
