//! The certificate authority of a cluster as EKS gives it: base64 of PEM.
//!
//! It looks for certificates only; whether they are good is for TLS to say.

use base64::{Engine as _, engine::general_purpose::STANDARD};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Why there is no certificate to trust.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaBundleError {
    /// It is not base64.
    #[error("it is not base64")]
    Outer(#[source] base64::DecodeError),
    /// It is not text.
    #[error("it is base64 of something that is not PEM")]
    NotText,
    /// A certificate in it is broken.
    #[error("certificate {0} in it is not base64")]
    Inner(usize, #[source] base64::DecodeError),
    /// A certificate in it does not end.
    #[error("certificate {0} in it has no end")]
    Cut(usize),
    /// There is none in it.
    #[error("there is no certificate in it")]
    Empty,
}

/// The certificates of `bundle` in DER, in order. An error unless there is at least one.
pub(crate) fn certificates(bundle: &str) -> Result<Vec<Vec<u8>>, CaBundleError> {
    let pem = STANDARD.decode(bundle.trim()).map_err(CaBundleError::Outer)?;
    let pem = String::from_utf8(pem).map_err(|_| CaBundleError::NotText)?;
    let mut certificates = Vec::new();
    for (index, rest) in pem.split(BEGIN).skip(1).enumerate() {
        let (body, _) = rest.split_once(END).ok_or(CaBundleError::Cut(index))?;
        let body: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        certificates
            .push(STANDARD.decode(body).map_err(|error| CaBundleError::Inner(index, error))?);
    }
    if certificates.is_empty() { Err(CaBundleError::Empty) } else { Ok(certificates) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pem: &str, expected: Result<&[&[u8]], &str>) {
        let actual = certificates(&STANDARD.encode(pem)).map_err(|error| error.to_string());
        let expected = expected.map(|bytes| bytes.iter().map(|der| der.to_vec()).collect());
        assert_eq!(actual, expected.map_err(str::to_owned));
    }

    #[test]
    fn every_certificate_of_a_bundle_is_found() {
        check(
            "# root\n-----BEGIN CERTIFICATE-----\nb25l\n-----END CERTIFICATE-----\n\
             -----BEGIN CERTIFICATE-----\r\ndH\r\ndv\r\n-----END CERTIFICATE-----",
            Ok(&[b"one", b"two"]),
        );
    }

    #[test]
    fn what_is_wrong_with_a_bundle_is_said() {
        check("", Err("there is no certificate in it"));
        check("-----BEGIN CERTIFICATE-----\nb25l\n", Err("certificate 0 in it has no end"));
        check(
            "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----",
            Err("certificate 0 in it is not base64"),
        );
        assert_eq!(certificates("%").unwrap_err().to_string(), "it is not base64");
    }
}
