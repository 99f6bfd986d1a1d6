//! A connection to one cluster's API server: how it is made, and the one way that requests go out.

use std::{fmt, path::Path, time::Duration};

use aws_credential_types::provider::SharedCredentialsProvider;
use http::{Request, Uri, header::AUTHORIZATION};
use jiff::Timestamp;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use model::node_class::ClusterSettings;

use crate::{
    ca_bundle::{self, CaBundleError},
    call::CallError,
    token::TokenSource,
};

/// An API server that is there answers at once. Handlers have no time to wait for one that is not.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A page of 500 pods takes a busy API server seconds.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// The cluster's certificate authority cannot be used.
    #[error("cluster {cluster}: its certificate authority cannot be used")]
    CaBundle {
        /// The cluster.
        cluster: String,
        /// Why.
        #[source]
        source: CaBundleError,
    },
    /// The client cannot be built.
    #[error("cannot build the client of the Kubernetes API")]
    Client(#[source] kube::Error),
}

impl KubeCluster {
    /// The cluster of the current context of the kubeconfig at `path`.
    pub async fn from_kubeconfig(path: impl AsRef<Path>) -> Result<Self, ConnectError> {
        let kubeconfig = Kubeconfig::read_from(path).map_err(ConnectError::Kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(ConnectError::Kubeconfig)?;
        Ok(Self { client: client(config)?, tokens: None })
    }

    /// The EKS cluster that `settings` describe, in `region`, as the owner of `credentials`.
    ///
    /// Nothing is sent yet. A cluster without a certificate authority of its own is checked against
    /// the system's roots.
    pub fn for_eks(
        settings: &ClusterSettings,
        credentials: SharedCredentialsProvider,
        region: &str,
    ) -> Result<Self, ConnectError> {
        let cluster = settings.name.to_string();
        let endpoint = &settings.endpoint;
        let url: Uri = endpoint.parse().map_err(|source| ConnectError::Endpoint {
            cluster: cluster.clone(),
            endpoint: endpoint.clone(),
            source,
        })?;
        let mut config = Config::new(url);
        if !settings.ca_bundle.is_empty() {
            let certificates = ca_bundle::certificates(&settings.ca_bundle)
                .map_err(|source| ConnectError::CaBundle { cluster, source })?;
            config.root_cert = Some(certificates);
        }
        let tokens =
            TokenSource::new(settings.name.clone(), region, credentials, Box::new(system_time));
        Ok(Self { client: client(config)?, tokens: Some(tokens) })
    }

    /// A cluster behind any service, with the clock that its tokens go by.
    #[cfg(test)]
    pub(crate) fn over(
        client: Client,
        tokens: Option<(ClusterSettings, SharedCredentialsProvider, crate::token::Clock)>,
    ) -> Self {
        let tokens = tokens.map(|(settings, credentials, clock)| {
            TokenSource::new(settings.name, &settings.region, credentials, clock)
        });
        Self { client, tokens }
    }

    /// Sends `request` and brings the body of the answer.
    pub(crate) async fn call(&self, mut request: Request<Vec<u8>>) -> Result<String, CallError> {
        let Some(tokens) = &self.tokens else {
            return Ok(self.client.request_text(request).await?);
        };
        let authorization = tokens.authorization().await.map_err(CallError::Token)?;
        request.headers_mut().insert(AUTHORIZATION, authorization);
        let answer = self.client.request_text(request).await.map_err(CallError::from);
        if answer.as_ref().is_err_and(|error| error.code() == Some(401)) {
            // It may have been signed with credentials that were withdrawn: the next delivery
            // comes with a new one.
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
    use super::*;

    fn settings(endpoint: &str, ca_bundle: &str) -> ClusterSettings {
        ClusterSettings {
            name: "one".parse().unwrap(),
            endpoint: endpoint.to_owned(),
            ca_bundle: ca_bundle.to_owned(),
            service_cidr: None,
            dns_ip: None,
            kubernetes_version: "1.34".to_owned(),
            region: "us-west-2".to_owned(),
        }
    }

    fn credentials() -> SharedCredentialsProvider {
        let credentials = aws_credential_types::Credentials::new("AKID", "secret", None, None, "t");
        SharedCredentialsProvider::new(credentials)
    }

    #[track_caller]
    fn check(endpoint: &str, ca_bundle: &str, expected: &str) {
        let error =
            KubeCluster::for_eks(&settings(endpoint, ca_bundle), credentials(), "us-west-2")
                .unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[tokio::test]
    async fn bad_settings_are_named() {
        check("not a url", "", "cluster one: its endpoint `not a url` is not a URL");
        check("https://one.example", "%", "cluster one: its certificate authority cannot be used");
    }

    #[tokio::test]
    async fn a_secret_is_never_printed() {
        let cluster =
            KubeCluster::for_eks(&settings("http://one.example", ""), credentials(), "us-west-2")
                .unwrap();
        let printed = format!("{cluster:?}");
        assert!(printed.contains("us-west-2") && !printed.contains("secret"), "{printed}");
    }
}
