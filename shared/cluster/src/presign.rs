//! The token that EKS wants: a signed question to STS who the caller is, which EKS asks in the
//! caller's name.
//!
//! Pure: credentials and the present come from outside.
//! <https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster>

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign},
    sign::v4,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The header that binds a token to one cluster.
const CLUSTER_HEADER: &str = "x-k8s-aws-id";
/// What EKS's own clients write. STS takes such a question for 15 minutes whatever this says.
const EXPIRES_IN: Duration = Duration::from_mins(1);
const PREFIX: &str = "k8s-aws-v1.";

/// A failure to sign, with its cause in words: the signer's own error types are not all public.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign the token: {0}")]
pub(crate) struct PresignError(pub(crate) String);

/// The token that shows the owner of `credentials` to `cluster`, signed at `now`.
pub(crate) fn token(
    cluster: &str,
    region: &str,
    credentials: &Credentials,
    now: SystemTime,
) -> Result<String, PresignError> {
    let url = presigned_url(cluster, region, credentials, now)?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(url)))
}

fn presigned_url(
    cluster: &str,
    region: &str,
    credentials: &Credentials,
    now: SystemTime,
) -> Result<String, PresignError> {
    let mut settings = SigningSettings::default();
    settings.signature_location = SignatureLocation::QueryParams;
    settings.expires_in = Some(EXPIRES_IN);
    let identity = credentials.clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name("sts")
        .time(now)
        .settings(settings)
        .build()
        .map_err(|error| PresignError(error.to_string()))?
        .into();

    let url = format!(
        "https://sts.{region}.{}/?Action=GetCallerIdentity&Version=2011-06-15",
        domain(region)?
    );
    let headers = std::iter::once((CLUSTER_HEADER, cluster));
    let request = SignableRequest::new("GET", &url, headers, SignableBody::Bytes(&[]))
        .map_err(|error| PresignError(error.to_string()))?;
    let (instructions, _signature) =
        sign(request, &params).map_err(|error| PresignError(error.to_string()))?.into_parts();

    let mut signed =
        http::Request::get(&url).body(()).map_err(|error| PresignError(error.to_string()))?;
    instructions.apply_to_request_http1x(&mut signed);
    Ok(signed.uri().to_string())
}

/// The domain of the partition that `region` is in.
fn domain(region: &str) -> Result<&'static str, PresignError> {
    let first = region.split('-').next().unwrap_or_default();
    match (first, region.contains("-iso")) {
        ("cn", _) => Ok("amazonaws.com.cn"),
        ("eusc", _) => Ok("amazonaws.eu"),
        (_, true) => Err(PresignError(format!("not supported yet: the isolated region {region}"))),
        (_, false) => Ok("amazonaws.com"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS_KEY: &str = "AKIDEXAMPLE";
    const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    fn sorted(url: &str) -> (String, Vec<String>) {
        let (base, query) = url.split_once('?').unwrap();
        let mut query: Vec<_> = query.split('&').map(str::to_owned).collect();
        query.sort();
        (base.to_owned(), query)
    }

    /// What botocore 1.43, which `aws eks get-token` is made with, signs at 2026-11-21T15:39:02Z for
    /// the cluster `journeyman-test`.
    #[track_caller]
    fn check(region: &str, session_token: Option<&str>, botocore: &str) {
        let credentials = Credentials::new(
            ACCESS_KEY,
            SECRET_KEY,
            session_token.map(str::to_owned),
            None,
            "test",
        );
        let now: jiff::Timestamp = "2026-11-21T15:39:02Z".parse().unwrap();
        let url = presigned_url("journeyman-test", region, &credentials, now.into()).unwrap();
        assert_eq!(sorted(&url), sorted(botocore));
    }

    #[test]
    fn the_request_is_signed_as_botocore_signs_it() {
        check(
            "us-west-2",
            None,
            "https://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15\
             &X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIDEXAMPLE%2F20261121%2Fus-west-2%2Fsts%2Faws4_request\
             &X-Amz-Date=20261121T153902Z&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Expires=60\
             &X-Amz-Signature=c919e687f06e8724000e72cd6c655ca5ac072b3f10395650231aac615f6313c5",
        );
    }

    #[test]
    fn a_session_token_is_signed_with_it() {
        check(
            "us-west-2",
            Some("IQoJb3JpZ2luX2VjEXAMPLE//+a/b=c=="),
            "https://sts.us-west-2.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15\
             &X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIDEXAMPLE%2F20261121%2Fus-west-2%2Fsts%2Faws4_request\
             &X-Amz-Date=20261121T153902Z&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Expires=60\
             &X-Amz-Security-Token=IQoJb3JpZ2luX2VjEXAMPLE%2F%2F%2Ba%2Fb%3Dc%3D%3D\
             &X-Amz-Signature=37ed98feb90f7a85d80d58bf39f5ad6aba6bcb1c1b583d8cf0e33dc19fb73815",
        );
    }

    #[test]
    fn china_has_a_domain_of_its_own() {
        check(
            "cn-north-1",
            None,
            "https://sts.cn-north-1.amazonaws.com.cn/?Action=GetCallerIdentity&Version=2011-06-15\
             &X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIDEXAMPLE%2F20261121%2Fcn-north-1%2Fsts%2Faws4_request\
             &X-Amz-Date=20261121T153902Z&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Expires=60\
             &X-Amz-Signature=6ff0d41298a7ffc4ca42ad96c4af53853c50588e966af0bb93cc1acec84a3274",
        );
    }

    #[test]
    fn a_token_is_the_url_in_base64_without_padding() {
        let credentials = Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "test");
        let now = SystemTime::UNIX_EPOCH;
        let token = token("one", "us-west-2", &credentials, now).unwrap();
        let url = URL_SAFE_NO_PAD.decode(token.strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
        let expected = presigned_url("one", "us-west-2", &credentials, now).unwrap();
        assert_eq!(String::from_utf8(url).unwrap(), expected);
        assert!(!token.contains('='));
    }

    #[test]
    fn a_region_without_a_known_domain_is_refused() {
        let credentials = Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "test");
        let error =
            token("one", "us-iso-east-1", &credentials, SystemTime::UNIX_EPOCH).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot sign the token: not supported yet: the isolated region us-iso-east-1"
        );
    }
}
