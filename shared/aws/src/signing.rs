//! Signed requests to services without their SDKs.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_runtime_api::{box_error::BoxError, client::orchestrator::HttpRequest};

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
    pub(crate) headers: &'a [(&'a str, &'a str)],
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
