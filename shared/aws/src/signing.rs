//! Signed requests to services without their SDKs.

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

/// Sends signed requests in one region. None is repeated.
#[derive(Clone, Debug)]
pub(crate) struct SigningClient {
    /// `None` without a TLS stack, which this workspace always has.
    connector: Option<SharedHttpConnector>,
    config: SdkConfig,
    pub(crate) region: String,
    credentials: SharedCredentialsProvider,
}

impl SigningClient {
    /// Waits `connect_timeout` for a connection, and `read_timeout` for an answer.
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
        [connect_timeout, read_timeout]: [Duration; 2],
    ) -> Self {
        let connector = connector(config, connect_timeout, read_timeout);
        Self { connector, config: config.clone(), region: region.to_owned(), credentials }
    }

    /// The same at the other end of `connector`.
    #[cfg(test)]
    pub(crate) fn over(self, connector: SharedHttpConnector) -> Self {
        Self { connector: Some(connector), ..self }
    }

    /// Status and content of the answer to `request`, which is signed for `service` and called `operation` in errors.
    pub(crate) async fn send(
        &self,
        operation: &'static str,
        (service, settings): (&str, SigningSettings),
        request: Signable<'_>,
    ) -> Result<(u16, Vec<u8>), PortError> {
        let before = |error: BoxError| PortError::because(operation, Fault::Permanent, error);
        let after = |error: BoxError| PortError::because(operation, Fault::Unknown, error);
        let credentials =
            self.credentials.provide_credentials().await.map_err(|error| before(error.into()))?;
        let now = self.config.time_source().map_or(SystemTime::UNIX_EPOCH, |time| time.now());
        let signer = Signer { service, region: &self.region, settings, credentials, now };
        let request = signer.signed(request).map_err(before)?;
        let connector = self.connector.as_ref().ok_or_else(|| before("no TLS stack".into()))?;
        let answer = connector.call(request).await.map_err(|error| after(error.into()))?;
        let status = answer.status().as_u16();
        let content = ByteStream::new(answer.into_body()).collect().await;
        Ok((status, content.map_err(|error| after(error.into()))?.to_vec()))
    }
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

/// Who signs, for what, and when.
#[derive(Debug)]
pub(crate) struct Signer<'a> {
    /// What requests are signed for, such as `ssm`.
    pub(crate) service: &'a str,
    pub(crate) region: &'a str,
    pub(crate) settings: SigningSettings,
    pub(crate) credentials: Credentials,
    pub(crate) now: SystemTime,
}

/// A request before it is signed.
#[derive(Debug)]
pub(crate) struct Signable<'a> {
    pub(crate) method: &'a str,
    /// Encoded as it goes over the wire.
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) content: Vec<u8>,
}

impl Signer<'_> {
    /// `request` with its signature.
    pub(crate) fn signed(self, request: Signable<'_>) -> Result<HttpRequest, BoxError> {
        let Signable { method, url, headers, content } = request;
        let identity = self.credentials.into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(self.now)
            .settings(self.settings)
            .build()?
            .into();
        let signable = SignableBody::Bytes(&content);
        let signable = SignableRequest::new(method, &url, headers.iter().copied(), signable)?;
        let (instructions, _) = sign(signable, &parameters)?.into_parts();
        let mut signed = HttpRequest::new(content.into());
        signed.set_method(method)?;
        signed.set_uri(url)?;
        for (name, value) in headers.iter().copied().chain(instructions.headers()) {
            signed.headers_mut().insert(name.to_owned(), value.to_owned());
        }
        Ok(signed)
    }
}
