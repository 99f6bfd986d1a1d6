//! A connection to one cluster's API server: how it is made, and the one way that requests go out.

use std::{fmt, path::Path};

use aws_credential_types::provider::SharedCredentialsProvider;
use http::{HeaderMap, Request, header::AUTHORIZATION};
use jiff::Timestamp;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
    core::Status,
};
use model::ClusterName;

use crate::{
    call::CallError,
    token::TokenSource,
    transport::{CONNECT_TIMEOUT, READ_TIMEOUT, Transport, TransportError, WRITE_TIMEOUT},
};

/// Every request here names its own.
const NAMESPACE: &str = "default";

/// The ports `Cluster` and `Nodes` over one cluster's API server.
///
/// It has to be made and used inside a tokio runtime: connections are driven by its tasks.
pub struct KubeCluster {
    client: Client,
    /// For EKS. With a kubeconfig the client knows by itself how to say who it is.
    tokens: Option<TokenSource>,
}

impl fmt::Debug for KubeCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeCluster").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[source] KubeconfigError),
    /// The cluster's endpoint is not a URL.
    #[error("cluster {cluster}: its endpoint `{endpoint}` is not a URL")]
    Endpoint {
        /// The cluster.
        cluster: String,
        /// What should be a URL.
        endpoint: String,
        /// Why it is none.
        #[source]
        source: http::uri::InvalidUri,
    },
    /// There is no way to its API server.
    #[error("cluster {cluster}: no way to its API server")]
    Transport {
        /// The cluster.
        cluster: String,
        /// Why.
        #[source]
        source: TransportError,
    },
    /// The client cannot be built.
    #[error("cannot build the client of the Kubernetes API")]
    Client(#[source] kube::Error),
}

impl KubeCluster {
    /// The cluster of the current context of the kubeconfig at `path`, as kube reaches it. Not for
    /// functions: all that a kubeconfig can say (credential plug-ins, JSON paths, YAML) would weigh
    /// more than a megabyte in each of them.
    pub async fn from_kubeconfig(path: impl AsRef<Path>) -> Result<Self, ConnectError> {
        let kubeconfig = Kubeconfig::read_from(path).map_err(ConnectError::Kubeconfig)?;
        Self::of_kubeconfig(kubeconfig).await
    }

    /// The same as `user` of `groups`, whom the kubeconfig's own user has to be allowed to impersonate: an
    /// administrator sees the cluster like a user with fewer rights.
    pub async fn from_kubeconfig_as(
        path: impl AsRef<Path>,
        user: &str,
        groups: &[&str],
    ) -> Result<Self, ConnectError> {
        let mut kubeconfig = Kubeconfig::read_from(path).map_err(ConnectError::Kubeconfig)?;
        let users = kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut());
        for info in users {
            info.impersonate = Some(user.to_owned());
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            info.impersonate_groups = Some(groups);
        }
        Self::of_kubeconfig(kubeconfig).await
    }

    async fn of_kubeconfig(kubeconfig: Kubeconfig) -> Result<Self, ConnectError> {
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(ConnectError::Kubeconfig)?;
        Ok(Self { client: client(config)?, tokens: None })
    }

    /// The EKS cluster called `cluster`, whose API server is at `endpoint`, in `region`, as the owner
    /// of `credentials`.
    ///
    /// Only servers with a certificate of `ca_bundle` (base64 of PEM) are trusted; without any, no server is,
    /// and the endpoint has to be a plain one. Nothing is sent yet.
    pub fn for_eks(
        cluster: &ClusterName,
        endpoint: &str,
        ca_bundle: &str,
        credentials: SharedCredentialsProvider,
        region: &str,
    ) -> Result<Self, ConnectError> {
        let url = endpoint.parse().map_err(|source| ConnectError::Endpoint {
            cluster: cluster.to_string(),
            endpoint: endpoint.to_owned(),
            source,
        })?;
        let transport = Transport::to(url, ca_bundle)
            .map_err(|source| ConnectError::Transport { cluster: cluster.to_string(), source })?;
        let client = Client::new(transport, NAMESPACE);
        let tokens = TokenSource::new(cluster.clone(), region, credentials, Box::new(system_time));
        Ok(Self { client, tokens: Some(tokens) })
    }

    /// A cluster behind any service, with the clock that its tokens go by.
    #[cfg(test)]
    pub(crate) fn over(
        client: Client,
        tokens: Option<(ClusterName, SharedCredentialsProvider, crate::token::Clock)>,
    ) -> Self {
        let tokens = tokens.map(|(cluster, credentials, clock)| {
            TokenSource::new(cluster, "us-west-2", credentials, clock)
        });
        Self { client, tokens }
    }

    /// Sends `request`, as kube could build it or not, and brings the body of the answer.
    pub(crate) async fn call(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<String, CallError> {
        let request = self.authorized(request).await?;
        self.checked(self.client.request_text(request).await.map_err(CallError::from))
    }

    /// Sends `request`, as kube could build it or not, and brings the headers of an answer that is no refusal.
    pub(crate) async fn headers(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<HeaderMap, CallError> {
        let request = self.authorized(request).await?;
        self.checked(self.headers_of(request).await)
    }

    async fn headers_of(&self, request: Request<Vec<u8>>) -> Result<HeaderMap, CallError> {
        let (parts, body) = self.client.send(request.map(Body::from)).await?.into_parts();
        if parts.status.is_success() {
            return Ok(parts.headers);
        }
        let body = body.collect_bytes().await?;
        // A proxy's refusal is no status of Kubernetes.
        let status = serde_json::from_slice(&body).unwrap_or_else(|_| {
            let reason = parts.status.canonical_reason().unwrap_or_default();
            Status::failure("", reason).with_code(parts.status.as_u16())
        });
        Err(CallError::Refused(Box::new(status)))
    }

    async fn authorized(
        &self,
        request: Result<Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Request<Vec<u8>>, CallError> {
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        if let Some(tokens) = &self.tokens {
            let authorization = tokens.authorization().await.map_err(CallError::Token)?;
            request.headers_mut().insert(AUTHORIZATION, authorization);
        }
        Ok(request)
    }

    /// What was answered. If the token was refused, it may have been signed with credentials that were withdrawn: the
    /// next delivery comes with a new one.
    fn checked<T>(&self, answer: Result<T, CallError>) -> Result<T, CallError> {
        if let Some(tokens) = &self.tokens
            && answer.as_ref().is_err_and(|error| error.code() == Some(401))
        {
            tokens.forget();
        }
        answer
    }
}

fn client(mut config: Config) -> Result<Client, ConnectError> {
    // Otherwise kube repeats 429 up to 15 times with doubling delays, and 429 is how an eviction is
    // refused: the function would hang for minutes. The queue is the backoff.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.write_timeout = Some(WRITE_TIMEOUT);
    // The time that a connection idled (a frozen environment for an hour, say) is not the answer's.
    config.reset_reader_on_write = true;
    Client::try_from(config).map_err(ConnectError::Client)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how old a token is has nothing to do with an invocation's present: an environment \
              outlives invocations, and STS compares with the real time"
)]
fn system_time() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn name() -> ClusterName {
        "one".parse().unwrap()
    }

    fn connect(endpoint: &str, ca_bundle: &str) -> Result<KubeCluster, ConnectError> {
        KubeCluster::for_eks(&name(), endpoint, ca_bundle, credentials(), "us-west-2")
    }

    fn credentials() -> SharedCredentialsProvider {
        let credentials = aws_credential_types::Credentials::new("AKID", "secret", None, None, "t");
        SharedCredentialsProvider::new(credentials)
    }

    #[track_caller]
    fn check(endpoint: &str, ca_bundle: &str, expected: &str) {
        let error = connect(endpoint, ca_bundle).unwrap_err();
        let source = error.source().unwrap();
        assert_eq!(format!("{error}: {source}"), expected);
    }

    #[tokio::test]
    async fn bad_settings_are_named() {
        check(
            "not a url",
            "",
            "cluster one: its endpoint `not a url` is not a URL: invalid uri character",
        );
        check(
            "/only/a/path",
            "",
            "cluster one: no way to its API server: `/only/a/path` names no server",
        );
        check(
            "https://one.example",
            "%",
            "cluster one: no way to its API server: its certificate authority cannot be used",
        );
    }

    #[tokio::test]
    async fn a_secret_is_never_printed() {
        let cluster = connect("http://one.example", "").unwrap();
        let printed = format!("{cluster:?}");
        assert!(printed.contains("us-west-2") && !printed.contains("secret"), "{printed}");
    }
}
