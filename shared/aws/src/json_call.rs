//! Calls of services that speak JSON and of which one operation is needed, without their SDKs.
//!
//! A signed JSON POST, to a path too, or a GET of a path. It is not repeated when it fails: the caller comes back.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sigv4::http_request::SigningSettings;
use ports::PortError;
use serde_json::Value;

use crate::{
    fault::refused,
    signing::{Signable, SigningClient},
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
    client: SigningClient,
    endpoint: String,
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
        let timeouts = [CONNECT_TIMEOUT, READ_TIMEOUT];
        Self { client: SigningClient::new(config, region, credentials, timeouts), endpoint }
    }

    /// The same service at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(
        self,
        connector: aws_smithy_runtime_api::client::http::SharedHttpConnector,
    ) -> Self {
        Self { client: self.client.over(connector), ..self }
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
        let signed_for = (operation.service, SigningSettings::default());
        let request = signable(&self.endpoint, question);
        let (status, content) = self.client.send(operation.name, signed_for, request).await?;
        from_answer(operation, status, &content)
    }
}

/// Where the service with this name in its host is in `region`.
///
/// <https://docs.aws.amazon.com/general/latest/gr/rande.html>
pub(crate) fn endpoint(service: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{service}.{region}.{domain}")
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
    credentials: aws_credential_types::Credentials,
    now: std::time::SystemTime,
) -> Result<
    aws_smithy_runtime_api::client::orchestrator::HttpRequest,
    aws_smithy_runtime_api::box_error::BoxError,
> {
    let headers = &[("x-amz-target", operation.target)];
    let question = Question { path: "/", headers, body: Some(body.to_string()) };
    let (service, settings) = (operation.service, SigningSettings::default());
    let signer = crate::signing::Signer { service, region, settings, credentials, now };
    signer.signed(signable(endpoint, &question))
}

/// The request for `question` to the service at `endpoint`.
fn signable<'a>(
    endpoint: &str,
    Question { path, headers, body }: &'a Question<'_>,
) -> Signable<'a> {
    let of_body = body.is_some().then_some(("content-type", CONTENT_TYPE));
    Signable {
        method: if body.is_some() { "POST" } else { "GET" },
        url: format!("{}{path}", endpoint.trim_end_matches('/')),
        headers: of_body.into_iter().chain(headers.iter().copied()).collect(),
        content: body.as_deref().unwrap_or_default().as_bytes().to_vec(),
    }
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
