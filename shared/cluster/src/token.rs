//! The token that a client of EKS sends, renewed before it ends.
//!
//! A Lambda environment lives for hours and is frozen in between: no timer renews the token. Each
//! request asks, and the clock decides.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use aws_credential_types::provider::{
    ProvideCredentials as _, SharedCredentialsProvider, error::CredentialsError,
};
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use model::{ClusterName, duration::later};
use ports::Fault;

use crate::presign::{self, PresignError};

/// EKS takes a token for 15 minutes after it was signed.
/// <https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html>
const ACCEPTED_FOR: SignedDuration = SignedDuration::from_mins(15);
/// Leaves time for a request, and for clocks that differ.
const RENEWED_AFTER: SignedDuration = SignedDuration::from_mins(12);
/// A token ends with the credentials that it was signed with.
const BEFORE_CREDENTIALS_END: SignedDuration = SignedDuration::from_mins(1);

const _: () = assert!(RENEWED_AFTER.as_secs() < ACCEPTED_FOR.as_secs());

/// Where the time comes from.
pub(crate) type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// The credentials could not be had.
    #[error("no AWS credentials")]
    Credentials(#[source] CredentialsError),
    /// They cannot be used.
    #[error(transparent)]
    Presign(#[from] PresignError),
}

impl TokenError {
    /// What it means: nothing was sent.
    pub(crate) fn fault(&self) -> Fault {
        match self {
            Self::Credentials(_) => Fault::Transient,
            Self::Presign(_) => Fault::Permanent,
        }
    }
}

struct Token {
    header: HeaderValue,
    renew_at: Timestamp,
}

/// Tokens for one cluster.
pub(crate) struct TokenSource {
    cluster: ClusterName,
    region: String,
    credentials: SharedCredentialsProvider,
    clock: Clock,
    current: Mutex<Option<Token>>,
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource")
            .field("cluster", &self.cluster)
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

impl TokenSource {
    /// Tokens for `cluster` in `region`, signed with `credentials` by the time of `clock`.
    pub(crate) fn new(
        cluster: ClusterName,
        region: &str,
        credentials: SharedCredentialsProvider,
        clock: Clock,
    ) -> Self {
        Self { cluster, region: region.to_owned(), credentials, clock, current: Mutex::new(None) }
    }

    /// The value of the header `Authorization` of a request that is sent now.
    pub(crate) async fn authorization(&self) -> Result<HeaderValue, TokenError> {
        let now = (self.clock)();
        if let Some(header) = self.usable(now) {
            return Ok(header);
        }
        let credentials =
            self.credentials.provide_credentials().await.map_err(TokenError::Credentials)?;
        let text = presign::token(self.cluster.as_str(), &self.region, &credentials, now.into())?;
        let mut header = HeaderValue::from_str(&format!("Bearer {text}"))
            .map_err(|error| PresignError(error.to_string()))?;
        header.set_sensitive(true);
        let credentials_end =
            credentials.expiry().and_then(|expiry| Timestamp::try_from(expiry).ok());
        let token = Token { header: header.clone(), renew_at: renew_at(now, credentials_end) };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        Ok(header)
    }

    /// Forgets the token: the API server did not take it.
    pub(crate) fn forget(&self) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn usable(&self, now: Timestamp) -> Option<HeaderValue> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|token| now < token.renew_at).map(|token| token.header.clone())
    }
}

/// When a token that is signed at `now` has to be replaced.
fn renew_at(now: Timestamp, credentials_end: Option<Timestamp>) -> Timestamp {
    let by_age = later(now, RENEWED_AFTER);
    let by_credentials = credentials_end
        .map(|end| end.checked_sub(BEFORE_CREDENTIALS_END).unwrap_or(Timestamp::MIN));
    by_credentials.map_or(by_age, |end| end.min(by_age))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(credentials_end: Option<&str>, expected: &str) {
        let now = "2026-11-21T12:00:00Z".parse().unwrap();
        let end = credentials_end.map(|text| text.parse().unwrap());
        assert_eq!(renew_at(now, end), expected.parse().unwrap());
    }

    #[test]
    fn a_token_is_renewed_before_it_ends_and_before_its_credentials_end() {
        check(None, "2026-11-21T12:12:00Z");
        check(Some("2026-11-21T18:00:00Z"), "2026-11-21T12:12:00Z");
        check(Some("2026-11-21T12:08:00Z"), "2026-11-21T12:07:00Z");
        // Too late for both: the next request asks again.
        check(Some("2026-11-21T12:00:30Z"), "2026-11-21T11:59:30Z");
    }
}
