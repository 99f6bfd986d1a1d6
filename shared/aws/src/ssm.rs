//! SSM's one call that is needed, GetParameter, without the 348,000 lines of its SDK.
//!
//! A signed JSON POST. It is not repeated when it fails: whoever asks comes back with its message.
//! <https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html>

use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_credential_types::{
    Credentials,
    provider::{ProvideCredentials as _, SharedCredentialsProvider},
};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
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

use crate::fault::{BadAnswer, refused};

const OPERATION: &str = "GetParameter";
const TARGET: &str = "AmazonSSM.GetParameter";
const CONTENT_TYPE: &str = "application/x-amz-json-1.1";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// SSM parameters of one region.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    /// `None` without a TLS stack, which this workspace always has.
    connector: Option<SharedHttpConnector>,
    config: SdkConfig,
    endpoint: String,
    region: String,
    credentials: SharedCredentialsProvider,
}

impl Parameters {
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
    ) -> Self {
        let endpoint = config.endpoint_url().map_or_else(|| endpoint(region), str::to_owned);
        let settings = HttpConnectorSettings::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build();
        let connector = aws_smithy_http_client::default_connector(&settings, config.sleep_impl());
        Self { connector, config: config.clone(), endpoint, region: region.to_owned(), credentials }
    }

    /// The value of the parameter called `name`, if there is one.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<String>, PortError> {
        let before = |error: BoxError| PortError::because(OPERATION, Fault::Permanent, error);
        let after = |error: BoxError| PortError::because(OPERATION, Fault::Unknown, error);
        let credentials = self.credentials.provide_credentials().await;
        let credentials = credentials.map_err(|error| before(error.into()))?;
        let now = self.config.time_source().map_or(SystemTime::UNIX_EPOCH, |time| time.now());
        let request = to_request(&self.endpoint, &self.region, name, credentials, now);
        let request = request.map_err(before)?;
        let connector = self.connector.as_ref().ok_or_else(|| before("no TLS stack".into()))?;
        let answer = connector.call(request).await.map_err(|error| after(error.into()))?;
        let status = answer.status().as_u16();
        let body = ByteStream::new(answer.into_body()).collect().await;
        from_answer(status, &body.map_err(|error| after(error.into()))?.into_bytes())
    }
}

/// <https://docs.aws.amazon.com/general/latest/gr/ssm.html>
fn endpoint(region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://ssm.{region}.{domain}")
}

/// The signed request for the parameter called `name`.
fn to_request(
    endpoint: &str,
    region: &str,
    name: &str,
    credentials: Credentials,
    now: SystemTime,
) -> Result<HttpRequest, BoxError> {
    let url = format!("{}/", endpoint.trim_end_matches('/'));
    let body = serde_json::json!({ "Name": name }).to_string();
    let headers = [("content-type", CONTENT_TYPE), ("x-amz-target", TARGET)];
    let identity = credentials.into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("ssm")
        .time(now)
        .settings(SigningSettings::default())
        .build()?
        .into();
    let signable = SignableBody::Bytes(body.as_bytes());
    let signable = SignableRequest::new("POST", &url, headers.into_iter(), signable)?;
    let (instructions, _) = sign(signable, &parameters)?.into_parts();
    let mut request = HttpRequest::new(body.clone().into());
    request.set_method("POST")?;
    request.set_uri(url)?;
    for (name, value) in headers.into_iter().chain(instructions.headers()) {
        request.headers_mut().insert(name.to_owned(), value.to_owned());
    }
    Ok(request)
}

fn from_answer(status: u16, body: &[u8]) -> Result<Option<String>, PortError> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
    if status == 200 {
        let value = text("/Parameter/Value").map(str::to_owned);
        return value.map(Some).ok_or_else(|| BadAnswer::of(OPERATION, "no `Parameter.Value`"));
    }
    // Such as `com.amazonaws.ssm#ParameterNotFound`.
    let code = text("/__type").unwrap_or_default();
    let code = code.rsplit('#').next().unwrap_or(code);
    let message = text("/message").or_else(|| text("/Message")).unwrap_or_default();
    match refused(OPERATION, code, status, message) {
        PortError { fault: Fault::NotFound, .. } => Ok(None),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_names_the_parameter_and_is_signed_for_ssm() {
        let credentials =
            Credentials::new("AKIDEXAMPLE", "secret", Some("token".to_owned()), None, "test");
        let request = to_request(
            "https://ssm.us-west-2.amazonaws.com",
            "us-west-2",
            "/aws/service/x",
            credentials,
            SystemTime::UNIX_EPOCH,
        )
        .unwrap();
        assert_eq!(request.uri(), "https://ssm.us-west-2.amazonaws.com/");
        assert_eq!(request.method(), "POST");
        assert_eq!(request.body().bytes(), Some(br#"{"Name":"/aws/service/x"}"#.as_slice()));
        let header = |name: &str| request.headers().get(name).unwrap_or_default().to_owned();
        assert_eq!(header("x-amz-target"), TARGET);
        assert_eq!(header("x-amz-security-token"), "token");
        let authorization = header("authorization");
        assert!(
            authorization
                .starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/19700101/us-west-2/ssm/"),
            "{authorization}"
        );
        assert!(authorization.contains("x-amz-target"), "{authorization}");
    }

    #[track_caller]
    fn check(status: u16, body: &str, expected: Result<Option<&str>, Fault>) {
        let found = from_answer(status, body.as_bytes()).map_err(|error| error.fault);
        assert_eq!(found.as_ref().map(Option::as_deref), expected.as_ref().copied(), "{body}");
    }

    #[test]
    fn a_parameter_that_is_not_there_is_no_error() {
        check(200, r#"{"Parameter":{"Value":"ami-1"}}"#, Ok(Some("ami-1")));
        check(400, r#"{"__type":"ParameterNotFound"}"#, Ok(None));
        check(400, r#"{"__type":"com.amazonaws.ssm#ParameterNotFound"}"#, Ok(None));
    }

    #[test]
    fn other_answers_say_what_they_are() {
        check(400, r#"{"__type":"ThrottlingException","message":"slow"}"#, Err(Fault::Transient));
        check(400, r#"{"__type":"AccessDeniedException"}"#, Err(Fault::Permanent));
        check(500, "<html>", Err(Fault::Unknown));
        check(200, "{}", Err(Fault::Permanent));
    }
}
