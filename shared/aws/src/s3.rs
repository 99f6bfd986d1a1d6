//! A bucket of S3 as far as the command deploys from it: whether it is there, and its objects.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html>. Each call names the account that must own the
//! bucket, so that no file goes to a bucket of another account.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SigningSettings, UriPathNormalizationMode,
};
use ports::{Fault, PortError};

use crate::{
    fault::refused,
    json_call::endpoint,
    signing::{Signable, SigningClient},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A zip has five megabytes, and a slow line takes a megabyte in ten seconds.
const READ_TIMEOUT: Duration = Duration::from_mins(5);

/// A bucket in one region.
#[derive(Clone, Debug)]
pub struct S3Bucket {
    client: SigningClient,
    /// Of the bucket, without a slash at the end.
    url: String,
    owner: String,
}

/// A request: its name among the rights of IAM, its method, its content.
struct Ask<'a> {
    operation: &'static str,
    method: &'static str,
    /// Below the bucket; empty for the bucket itself.
    key: &'a str,
    content: Vec<u8>,
}

impl S3Bucket {
    /// The bucket called `name` in `region`, which the account `owner` must own; at the endpoint of `config`, if that has one.
    pub(crate) fn new(
        config: &SdkConfig,
        region: &str,
        credentials: SharedCredentialsProvider,
        (name, owner): (&str, &str),
    ) -> Self {
        let endpoint = config.endpoint_url().map_or_else(|| endpoint("s3", region), str::to_owned);
        let timeouts = [CONNECT_TIMEOUT, READ_TIMEOUT];
        Self {
            client: SigningClient::new(config, region, credentials, timeouts),
            url: format!("{}/{name}", endpoint.trim_end_matches('/')),
            owner: owner.to_owned(),
        }
    }

    /// The same at the other end of `connector`.
    #[cfg(test)]
    fn over(self, connector: aws_smithy_runtime_api::client::http::SharedHttpConnector) -> Self {
        Self { client: self.client.over(connector), ..self }
    }

    /// Where the object `key` is, which needs no encoding.
    pub fn url(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    /// Whether the bucket is there.
    ///
    /// # Errors
    ///
    /// If S3 does not say, or another account owns it.
    pub async fn exists(&self) -> Result<bool, PortError> {
        self.is_there("ListBucket", "").await
    }

    /// Whether the bucket has the object `key`.
    ///
    /// # Errors
    ///
    /// If S3 does not say.
    pub async fn has(&self, key: &str) -> Result<bool, PortError> {
        self.is_there("GetObject", key).await
    }

    /// Creates the bucket: private, and encrypted by S3's own key, as S3 creates them by itself.
    ///
    /// # Errors
    ///
    /// If S3 refuses, or does not answer.
    pub async fn create(&self) -> Result<(), PortError> {
        // S3 accepts no name for its first region.
        let content = match self.client.region.as_str() {
            "us-east-1" => String::new(),
            region => format!(
                "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                 <LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
            ),
        };
        let operation = "CreateBucket";
        let ask = Ask { operation, method: "PUT", key: "", content: content.into_bytes() };
        self.ask(ask).await.map(drop)
    }

    /// Writes the object `key`.
    ///
    /// # Errors
    ///
    /// If S3 refuses, or does not answer.
    pub async fn put(&self, key: &str, content: Vec<u8>) -> Result<(), PortError> {
        self.ask(Ask { operation: "PutObject", method: "PUT", key, content }).await.map(drop)
    }

    /// The content of the object `key`; `None`: there is no such object.
    ///
    /// # Errors
    ///
    /// If S3 refuses, or does not answer.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, PortError> {
        present(self.ask(Ask::reading("GetObject", "GET", key)).await)
    }

    async fn is_there(&self, operation: &'static str, key: &str) -> Result<bool, PortError> {
        let answer = self.ask(Ask::reading(operation, "HEAD", key)).await;
        Ok(present(answer)?.is_some())
    }

    /// The content of the answer.
    async fn ask(&self, ask: Ask<'_>) -> Result<Vec<u8>, PortError> {
        let Ask { operation, method, key, content } = ask;
        let url = if key.is_empty() { self.url.clone() } else { self.url(key) };
        // A bucket that is not there yet has no owner.
        let owner = ("x-amz-expected-bucket-owner", self.owner.as_str());
        let headers = if operation == "CreateBucket" { Vec::new() } else { vec![owner] };
        let request = Signable { method, url, headers, content };
        let (status, body) = self.client.send(operation, ("s3", settings()), request).await?;
        from_answer(operation, status, &String::from_utf8_lossy(&body))?;
        Ok(body)
    }
}

impl<'a> Ask<'a> {
    fn reading(operation: &'static str, method: &'static str, key: &'a str) -> Self {
        Self { operation, method, key, content: Vec::new() }
    }
}

/// What S3 has; `None` if it has no such thing.
fn present<T>(answer: Result<T, PortError>) -> Result<Option<T>, PortError> {
    match answer {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.fault == Fault::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// S3 wants the checksum of the content in a header, and paths as they are.
fn settings() -> SigningSettings {
    let mut settings = SigningSettings::default();
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings
}

/// What S3 answered: an error as XML, or nothing but a status.
fn from_answer(operation: &'static str, status: u16, body: &str) -> Result<(), PortError> {
    if matches!(status, 200..=299) {
        return Ok(());
    }
    let text = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0)
    };
    let code = match (text("Code"), status) {
        (Some(code), _) => code,
        // A HEAD has no body.
        (None, 404) => "ResourceNotFoundException",
        (None, 403) => "AccessDenied",
        (None, _) => "",
    };
    let message = match (text("Message"), status) {
        (Some(message), _) => message,
        (None, 301) => "the bucket is in another region",
        (None, 403) => "no right to it, or another account owns it",
        (None, _) => "",
    };
    Err(refused(operation, code, status, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    fn bucket(wire: &Wire, region: &str) -> S3Bucket {
        let config = wire.config();
        let credentials = config.credentials_provider().unwrap();
        let place = ("releases", "123456789012");
        S3Bucket::new(&config, region, credentials, place).over(wire.connector())
    }

    #[tokio::test]
    async fn objects_are_written_with_their_checksum_for_one_owner() {
        let wire = Wire::answering(&[Some((404, "")), Some((200, "")), Some((200, ""))]);
        let bucket = bucket(&wire, "us-west-2");
        assert!(!bucket.has("journeyman/a.zip").await.unwrap());
        bucket.put("journeyman/a.zip", b"abc".to_vec()).await.unwrap();
        assert!(bucket.has("journeyman/a.zip").await.unwrap());
        assert_eq!(wire.sent(), ["", "abc", ""]);
        assert_eq!(wire.targets(), ["/releases/journeyman/a.zip"; 3]);
        assert_eq!(wire.header("x-amz-expected-bucket-owner"), ["123456789012"; 3]);
        let checksum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(wire.header("x-amz-content-sha256")[1], checksum);
        assert!(wire.header("authorization")[1].contains("/us-west-2/s3/aws4_request"));
    }

    #[tokio::test]
    async fn an_object_is_read_or_absent() {
        let missing = "<Error><Code>NoSuchKey</Code><Message>not there</Message></Error>";
        let wire = Wire::answering(&[Some((200, "abc")), Some((404, missing)), Some((403, ""))]);
        let bucket = bucket(&wire, "us-west-2");
        assert_eq!(bucket.get("a").await.unwrap(), Some(b"abc".to_vec()));
        assert_eq!(bucket.get("a").await.unwrap(), None);
        assert!(bucket.get("a").await.is_err(), "what cannot be read is not absent");
        assert_eq!(wire.header("x-amz-expected-bucket-owner"), ["123456789012"; 3]);
    }

    #[tokio::test]
    async fn a_bucket_is_created_in_its_region() {
        let wire = Wire::answering(&[Some((404, "")), Some((200, "")), Some((200, ""))]);
        assert!(!bucket(&wire, "us-west-2").exists().await.unwrap());
        bucket(&wire, "us-west-2").create().await.unwrap();
        bucket(&wire, "us-east-1").create().await.unwrap();
        let sent = wire.sent();
        assert!(sent[1].contains("<LocationConstraint>us-west-2</LocationConstraint>"), "{sent:?}");
        assert_eq!(sent[2], "");
    }

    #[tokio::test]
    async fn what_s3_refuses_is_an_error_and_not_an_absence() {
        let error = "<Error><Code>NoSuchBucket</Code><Message>not there</Message></Error>";
        let wire = Wire::answering(&[Some((403, "")), Some((301, "")), Some((404, error))]);
        let bucket = bucket(&wire, "us-west-2");
        let words = |error: PortError| {
            let refusal = error.source.as_deref().and_then(|source| source.downcast_ref());
            let ports::Refusal { code, message } = refusal.unwrap();
            format!("{code}: {message}")
        };
        let another = words(bucket.exists().await.unwrap_err());
        assert_eq!(another, "AccessDenied: no right to it, or another account owns it");
        let elsewhere = words(bucket.exists().await.unwrap_err());
        assert_eq!(elsewhere, "HTTP status 301: the bucket is in another region");
        let gone = words(bucket.put("a", Vec::new()).await.unwrap_err());
        assert_eq!(gone, "NoSuchBucket: not there");
    }
}
