//! The way of bytes to one API server: HTTP over TLS, with the time that each part may take.
//!
//! kube can make this too, but its way starts at a kubeconfig and carries along everything that one
//! can say. Who is asking is not known here: requests come with their authorization.

use std::{
    io::Read as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use flate2::read::GzDecoder;
use http::{
    HeaderValue, Request, Response, Uri,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH},
    uri::PathAndQuery,
};
use http_body_util::BodyExt as _;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::client::Body;
use rustls::{ClientConfig, RootCertStore, crypto::aws_lc_rs, pki_types::CertificateDer};
use tower::{BoxError, Service};

use crate::ca_bundle::{self, CaBundleError};

/// An API server that is there answers at once. Handlers have no time to wait for one that is not.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A page of 500 pods takes a busy API server seconds.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

const GZIP: &str = "gzip";

type HttpClient = Client<TimeoutConnector<HttpsConnector<HttpConnector>>, Body>;

/// Why an API server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The URL has no scheme or no host.
    #[error("`{0}` names no server")]
    NoServer(Uri),
    /// The certificate authority is not readable.
    #[error("its certificate authority cannot be used")]
    CaBundle(#[from] CaBundleError),
    /// The certificate authority is none, or TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Sends requests, which name a path only, to one server.
#[derive(Clone)]
pub(crate) struct Transport {
    client: HttpClient,
    url: Uri,
}

impl Transport {
    /// To the server at `url`.
    pub(crate) fn to(url: Uri, ca_bundle: &str) -> Result<Self, TransportError> {
        if url.scheme().is_none() || url.authority().is_none() {
            return Err(TransportError::NoServer(url));
        }
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls(ca_bundle)?)
            .https_or_http()
            .enable_http1()
            .build();
        let mut connector = TimeoutConnector::new(https);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_read_timeout(Some(READ_TIMEOUT));
        connector.set_write_timeout(Some(WRITE_TIMEOUT));
        // The time that a connection idled (a frozen environment for an hour, say) is not the
        // answer's.
        connector.set_reset_reader_on_write(true);
        Ok(Self { client: Client::builder(TokioExecutor::new()).build(connector), url })
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.client.poll_ready(context).map_err(Into::into)
    }

    /// The answer, unpacked: API servers pack what is larger than 128 KB, to some tenth for lists.
    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        *request.uri_mut() = at(&self.url, request.uri());
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static(GZIP));
        let answer = self.client.call(request);
        Box::pin(async move {
            let (mut parts, body) = answer.await?.into_parts();
            let mut body = Vec::from(body.collect().await?.to_bytes());
            if parts.headers.remove(CONTENT_ENCODING).is_some_and(|encoding| encoding == GZIP) {
                parts.headers.remove(CONTENT_LENGTH);
                let packed = std::mem::take(&mut body);
                GzDecoder::new(packed.as_slice()).read_to_end(&mut body)?;
            }
            Ok(Response::from_parts(parts, body.into()))
        })
    }
}

/// `asked`, which is a path, on the server at `url`.
fn at(url: &Uri, asked: &Uri) -> Uri {
    let prefix = url.path().trim_end_matches('/');
    let path = asked.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut parts = url.clone().into_parts();
    parts.path_and_query = format!("{prefix}{path}").parse().ok();
    // Scheme and host are there, and so is a path: it was one of a request before.
    Uri::from_parts(parts).unwrap_or_else(|_| asked.clone())
}

/// TLS that trusts only the certificates of `ca_bundle`.
fn tls(ca_bundle: &str) -> Result<ClientConfig, TransportError> {
    let mut roots = RootCertStore::empty();
    if !ca_bundle.is_empty() {
        for certificate in ca_bundle::certificates(ca_bundle)? {
            roots.add(CertificateDer::from(certificate))?;
        }
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, asked: &str, expected: &str) {
        assert_eq!(at(&url.parse().unwrap(), &asked.parse().unwrap()).to_string(), expected);
    }

    #[test]
    fn requests_go_to_the_server_below_its_path() {
        let nodes = "/api/v1/nodes?limit=500";
        check("https://one.example", nodes, "https://one.example/api/v1/nodes?limit=500");
        check(
            "https://one.example:6443/",
            nodes,
            "https://one.example:6443/api/v1/nodes?limit=500",
        );
        check("http://one.example/k8s/", nodes, "http://one.example/k8s/api/v1/nodes?limit=500");
    }

    #[test]
    fn a_certificate_authority_that_is_none_is_refused() {
        // base64 of a PEM whose body is `one`.
        let bundle =
            "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmIyNWwKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
        let error = tls(bundle).unwrap_err();
        assert!(matches!(error, TransportError::Tls(_)), "{error:?}");
    }
}
