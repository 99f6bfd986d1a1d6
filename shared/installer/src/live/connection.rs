//! The way to an API server that a kubeconfig describes: contexts, certificates, credential plug-ins, proxies.

use std::time::Duration;

use http::{Request, Uri, header::CONTENT_TYPE};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tokio::runtime::{Builder, Runtime};

use super::{ApiCall, ApiCallError, LiveAnswer, failure::chain};
use crate::{installation::ClusterArgs, named::ContextEntry};

/// An API server that is there answers at once; one behind a proxy or a tunnel takes a little longer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A page of 500 pods takes a busy API server seconds.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Before each of the further tries of a call that the server had no time for.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// A connection to one API server.
pub struct ApiConnection {
    runtime: Runtime,
    client: Client,
    server: String,
    context: Option<String>,
}

impl std::fmt::Debug for ApiConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiConnection").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What everything that is asked here runs on.
pub(super) fn runtime() -> LiveAnswer<Runtime> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("no runtime: {error}"))
}

impl ApiConnection {
    /// To the cluster of the kubeconfig that kubectl would take, or of the one that is named; in a pod that has none,
    /// to the pod's own cluster. Nothing is sent yet.
    pub fn open(place: &ClusterArgs) -> LiveAnswer<Self> {
        let runtime = runtime()?;
        let (config, context) = runtime.block_on(config(place)).map_err(|error| {
            let file = place.kubeconfig.as_ref().map(|path| format!("{}: ", path.display()));
            format!("the kubeconfig cannot be used: {}{}", file.unwrap_or_default(), chain(&error))
        })?;
        let server = config.cluster_url.to_string();
        let made = runtime.block_on(async { Client::try_from(config) });
        let client = made.map_err(|error| format!("{server}: {}", chain(&error)))?;
        Ok(Self { runtime, client, server, context })
    }

    /// What the kubeconfig says about its current context, or about the one that is named. Nothing is sent.
    pub(crate) fn entry(place: &ClusterArgs) -> LiveAnswer<ContextEntry> {
        let kubeconfig = match &place.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let kubeconfig = kubeconfig
            .map_err(|error| format!("the kubeconfig cannot be used: {}", chain(&error)))?;
        entry(&kubeconfig, place.context.as_deref())
    }

    /// The URL of the API server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The kubeconfig's context; `None` in a pod without a kubeconfig.
    pub(crate) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// What the server answers. A call that it has no time for (429, 503, 504) is repeated a few times: each call
    /// here may be made twice.
    pub(crate) fn call(&self, call: &ApiCall) -> Result<String, ApiCallError> {
        let mut pauses = PAUSES.iter();
        loop {
            let answer = self.runtime.block_on(self.call_once(call));
            match (&answer, pauses.next()) {
                (Err(ApiCallError::Refused { code: 429 | 503 | 504, .. }), Some(pause)) => {
                    self.runtime.block_on(wait(*pause));
                }
                _ => return answer,
            }
        }
    }

    async fn call_once(&self, call: &ApiCall) -> Result<String, ApiCallError> {
        let mut request = Request::builder().method(call.method).uri(&call.path);
        if let Some((content_type, _)) = call.content {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let content = call.content.as_ref().map(|(_, content)| content.clone().into_bytes());
        let request = request
            .body(content.unwrap_or_default())
            .map_err(|error| ApiCallError::Failed(error.to_string()))?;
        self.client.request_text(request).await.map_err(|error| match error {
            kube::Error::Api(status) => ApiCallError::Refused {
                code: status.code,
                reason: status.reason,
                message: status.message,
            },
            error => ApiCallError::Failed(format!("{}: {}", self.server, chain(&error))),
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "a command that waits for a server")]
async fn wait(pause: Duration) {
    tokio::time::sleep(pause).await;
}

/// What the kubeconfig says, and the context that it says that of.
async fn config(place: &ClusterArgs) -> Result<(Config, Option<String>), KubeconfigError> {
    let options =
        KubeConfigOptions { context: place.context.clone(), ..KubeConfigOptions::default() };
    let kubeconfig = match &place.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let (mut config, context) = match kubeconfig {
        Ok(kubeconfig) => {
            let context = place.context.clone().or_else(|| kubeconfig.current_context.clone());
            (of_kubeconfig(kubeconfig, &options).await?, context)
        }
        // Where there is no kubeconfig at all a pod has its service account.
        Err(error) if place.kubeconfig.is_none() && place.context.is_none() && is_none(&error) => {
            (Config::incluster().map_err(|_| error)?, None)
        }
        Err(error) => return Err(error),
    };
    // kube's own would repeat a call for minutes, and in silence.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.write_timeout = Some(WRITE_TIMEOUT);
    config.reset_reader_on_write = true;
    Ok((config, context))
}

/// What `kubeconfig` says about `context`, or about its current context.
fn entry(kubeconfig: &Kubeconfig, context: Option<&str>) -> LiveAnswer<ContextEntry> {
    let name = context
        .or(kubeconfig.current_context.as_deref())
        .ok_or_else(|| "the kubeconfig has no current context".to_owned())?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == name);
    let context = context
        .and_then(|context| context.context.as_ref())
        .ok_or_else(|| format!("the kubeconfig has no context {name}"))?;
    let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster);
    let server = cluster.and_then(|cluster| cluster.cluster.as_ref()?.server.clone());
    let user = kubeconfig.auth_infos.iter().find(|user| Some(&user.name) == context.user.as_ref());
    let program = user.and_then(|user| user.auth_info.as_ref()?.exec.as_ref());
    Ok(ContextEntry {
        name: name.to_owned(),
        cluster: context.cluster.clone(),
        server: server.unwrap_or_default(),
        arguments: program.and_then(|program| program.args.clone()).unwrap_or_default(),
    })
}

async fn of_kubeconfig(
    kubeconfig: Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Config, KubeconfigError> {
    let of_file: Vec<String> = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref()?.proxy_url.clone())
        .collect();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, options).await?;
    // kube takes NO_PROXY for a list of proxies. It is one of servers that are reached without the proxy of the
    // environment; a proxy of the kubeconfig itself is always taken.
    let is_of_file =
        |proxy: &Uri| of_file.iter().any(|url| url.parse().ok().as_ref() == Some(proxy));
    let is_of_environment = config.proxy_url.as_ref().is_some_and(|proxy| !is_of_file(proxy));
    if is_of_environment && is_direct(&config.cluster_url, &no_proxy()) {
        config.proxy_url = None;
    }
    Ok(config)
}

#[expect(clippy::disallowed_methods, reason = "a command is where its environment is read")]
fn no_proxy() -> String {
    let named = ["NO_PROXY", "no_proxy"].map(|name| std::env::var(name).unwrap_or_default());
    named.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
}

/// Whether the server at `url` is reached without the proxy of the environment: it is this machine, or one of
/// `no_proxy`, which lists names, domains with all below them, addresses, or `*`.
fn is_direct(url: &Uri, no_proxy: &str) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost"
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    is_here
        || no_proxy.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
            let domain = entry.trim_start_matches("*.").trim_start_matches('.');
            entry == "*"
                || host == domain
                || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
        })
}

/// Whether there is no kubeconfig at all, rather than one that cannot be used.
fn is_none(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath | KubeconfigError::CurrentContextNotSet => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_of_the_environment_is_not_for_every_server() {
        let is_direct = |url: &str, no_proxy: &str| is_direct(&url.parse().unwrap(), no_proxy);
        assert!(is_direct("https://127.0.0.1:6443", ""));
        assert!(is_direct("https://[::1]:6443", ""));
        assert!(is_direct("https://localhost", ""));
        let eks = "https://A1.gr7.us-west-2.eks.amazonaws.com";
        assert!(!is_direct(eks, ""));
        assert!(!is_direct(eks, "example.com, other.eks.amazonaws.com"));
        for entry in ["*", ".eks.amazonaws.com", "amazonaws.com", "a, *.amazonaws.com"] {
            assert!(is_direct(eks, entry), "{entry}");
        }
        assert!(!is_direct("https://notamazonaws.com", "amazonaws.com"));
    }
}
