//! Calls of services that speak JSON and of which one operation is needed, without their SDKs.
//!
//! A signed JSON POST, to a path too, or a GET of a path. It is not repeated when it fails: the caller comes back.

use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials as _, SharedCredentialsProvider},
};
use aws_sigv4::http_request::SigningSettings;
use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        http::{HttpConnector as _, HttpConnectorSettings, SharedHttpConnector},
        orchestrator::HttpRequest,
    },
};
use aws_smithy_types::byte_stream::ByteStream;
use ports::{Fault, PortError};
use serde_json::Value;

use crate::{
    fault::refused,
    signing::{Signable, Signer},
};

const CONTENT_TYPE: &str = "application/x-amz-json-1.1";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// One operation of a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// Such as `GetParameter`.
    pub(crate) name: &'static str,
    /// Such as `AmazonSSM.GetParameter`; none of a service that is asked by paths.
    pub(crate) target: &'static str,
    /// What requests are signed for, such as `ssm`.
    pub(crate) service: &'static str,
}

/// A service in one region.
#[derive(Clone, Debug)]
pub(crate) struct JsonService {
    /// `None` without a TLS stack, which this workspace always has.
    connector: Option<SharedHttpConnector>,
    config: SdkConfig,
    endpoint: String,
    region: String,
    credentials: SharedCredentialsProvider,
}

impl JsonService {
    /// The service at `endpoint`, unless `config` names another one.
    pub(crate) fn new(
        config: &SdkConfig,
        endpoint: String,
        region: &str,
        credentials: SharedCredentialsProvider,
    ) -> Self {
        let endpoint = config.endpoint_url().map_or(endpoint, str::to_owned);
        let connector = connector(config, CONNECT_TIMEOUT, READ_TIMEOUT);
        Self { connector, config: config.clone(), endpoint, region: region.to_owned(), credentials }
    }

    /// The same service at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(self, connector: SharedHttpConnector) -> Self {
        Self { connector: Some(connector), ..self }
    }

    /// The answer to `body`.
    pub(crate) async fn call(
        &self,
        operation: Operation,
        body: &Value,
    ) -> Result<Value, PortError> {
        let headers = [("x-amz-target", operation.target)];
        self.post(operation, "/", &headers, body.to_string()).await
    }

    /// The answer to `body` at `path`, which is encoded as it goes over the wire.
    pub(crate) async fn post(
        &self,
        operation: Operation,
        path: &str,
        headers: &[(&'static str, &'static str)],
        body: String,
    ) -> Result<Value, PortError> {
        self.ask(operation, &Question { path, headers, body: Some(body) }).await
    }

    /// What is at `path`, which is encoded as it goes over the wire.
    pub(crate) async fn get(&self, operation: Operation, path: &str) -> Result<Value, PortError> {
        self.ask(operation, &Question { path, headers: &[], body: None }).await
    }

    async fn ask(&self, operation: Operation, question: &Question<'_>) -> Result<Value, PortError> {
        let before = |error: BoxError| PortError::because(operation.name, Fault::Permanent, error);
        let after = |error: BoxError| PortError::because(operation.name, Fault::Unknown, error);
        let credentials =
            self.credentials.provide_credentials().await.map_err(|error| before(error.into()))?;
        let now = self.config.time_source().map_or(SystemTime::UNIX_EPOCH, |time| time.now());
        let place = (self.endpoint.as_str(), self.region.as_str());
        let request = signed(operation, place, question, credentials, now).map_err(before)?;
        let connector = self.connector.as_ref().ok_or_else(|| before("no TLS stack".into()))?;
        let answer = connector.call(request).await.map_err(|error| after(error.into()))?;
        let status = answer.status().as_u16();
        let body = ByteStream::new(answer.into_body()).collect().await;
        from_answer(operation, status, &body.map_err(|error| after(error.into()))?.into_bytes())
    }
}

/// Where the service with this name in its host is in `region`.
///
/// <https://docs.aws.amazon.com/general/latest/gr/rande.html>
pub(crate) fn endpoint(service: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{service}.{region}.{domain}")
}

/// What requests go through that are not the SDK's; `None` without a TLS stack, which this workspace always has.
pub(crate) fn connector(
    config: &SdkConfig,
    connect_timeout: Duration,
    read_timeout: Duration,
) -> Option<SharedHttpConnector> {
    let settings = HttpConnectorSettings::builder()
        .connect_timeout(connect_timeout)
        .read_timeout(read_timeout)
        .build();
    aws_smithy_http_client::default_connector(&settings, config.sleep_impl())
}

/// What is asked for.
struct Question<'a> {
    path: &'a str,
    headers: &'a [(&'static str, &'static str)],
    /// Of a POST; without it, it is a GET.
    body: Option<String>,
}

/// The signed request with `body`.
#[cfg(test)]
pub(crate) fn to_request(
    operation: Operation,
    endpoint: &str,
    region: &str,
    body: &Value,
    credentials: Credentials,
    now: SystemTime,
) -> Result<HttpRequest, BoxError> {
    let headers = &[("x-amz-target", operation.target)];
    let question = Question { path: "/", headers, body: Some(body.to_string()) };
    signed(operation, (endpoint, region), &question, credentials, now)
}

/// The signed request to the service at an endpoint of a region.
fn signed(
    operation: Operation,
    (endpoint, region): (&str, &str),
    question: &Question<'_>,
    credentials: Credentials,
    now: SystemTime,
) -> Result<HttpRequest, BoxError> {
    let Question { path, headers, body } = question;
    let url = format!("{}{path}", endpoint.trim_end_matches('/'));
    let method = if body.is_some() { "POST" } else { "GET" };
    let of_body = body.is_some().then_some(("content-type", CONTENT_TYPE));
    let headers: Vec<_> = of_body.into_iter().chain(headers.iter().copied()).collect();
    let content = body.as_deref().unwrap_or_default().as_bytes().to_vec();
    let settings = SigningSettings::default();
    Signer { service: operation.service, region, settings, credentials, now }.signed(Signable {
        method,
        url,
        headers: &headers,
        content,
    })
}

/// What a service answered.
pub(crate) fn from_answer(
    operation: Operation,
    status: u16,
    body: &[u8],
) -> Result<Value, PortError> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    // 202: what was asked for goes on beside the caller.
    if matches!(status, 200 | 202) {
        return Ok(answer);
    }
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    // Such as `com.amazonaws.ssm#ParameterNotFound`.
    let code = text("__type").unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or(code);
    // Services that are asked by paths say it in a header.
    let code = if code.is_empty() && status == 404 { "ResourceNotFoundException" } else { code };
    let message = text("message").or_else(|| text("Message")).unwrap_or_default();
    Err(refused(operation.name, code, status, message))
}
