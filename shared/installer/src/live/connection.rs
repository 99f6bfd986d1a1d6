//! The way to an API server that a kubeconfig describes: contexts, certificates, credential plug-ins, proxies.

use std::time::{Duration, Instant};

use http::{
    Request, StatusCode, Uri,
    header::{CONTENT_TYPE, WARNING},
};
use kube::{
    Client, Config,
    client::Body,
    config::{
        AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo,
        NamedCluster, NamedContext,
    },
    core::Status,
};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::{ApiCall, ApiCallError, LiveAnswer, UrlAnswer, failure::chain};
use crate::{installation::ClusterArgs, named::ContextEntry};

/// An API server that is there answers at once; one behind a proxy or a tunnel takes a little longer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A page of 500 pods takes a busy API server seconds.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// For a call of `wake` from here: longer than the API server waits, so that a slow answer differs from none.
const URL_TIMEOUT: Duration = Duration::from_secs(10);
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
        let request = request(call)?;
        self.client.request_text(request).await.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: kube::Error) -> ApiCallError {
        match error {
            kube::Error::Api(status) => ApiCallError::Refused {
                code: status.code,
                reason: status.reason,
                message: status.message,
            },
            error => ApiCallError::Failed(format!("{}: {}", self.server, chain(&error))),
        }
    }

    /// The headers `Warning` of the answer, and how long it took.
    pub(crate) fn warnings(&self, call: &ApiCall) -> Result<(Vec<String>, Duration), ApiCallError> {
        let request = request(call)?.map(Body::from);
        let began = now();
        let answer = self.runtime.block_on(async {
            let answer = self.client.send(request).await.map_err(|error| self.failed(error))?;
            let (parts, body) = answer.into_parts();
            let body = body.collect_bytes().await.map_err(|error| self.failed(error))?;
            if parts.status.is_success() {
                Ok(parts.headers)
            } else {
                Err(refusal(parts.status, &body))
            }
        });
        let texts = answer?
            .get_all(WARNING)
            .iter()
            .filter_map(|text| text.to_str().ok())
            .map(str::to_owned)
            .collect();
        Ok((texts, began.elapsed()))
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a probe takes is printed")]
fn now() -> Instant {
    Instant::now()
}

fn request(call: &ApiCall) -> Result<Request<Vec<u8>>, ApiCallError> {
    let mut request = Request::builder().method(call.method).uri(&call.path);
    if let Some((content_type, _)) = call.content {
        request = request.header(CONTENT_TYPE, content_type);
    }
    let content = call.content.as_ref().map(|(_, content)| content.clone().into_bytes());
    request
        .body(content.unwrap_or_default())
        .map_err(|error| ApiCallError::Failed(error.to_string()))
}

/// What `body` says of a refusal; a proxy's is no status of Kubernetes.
fn refusal(status: StatusCode, body: &[u8]) -> ApiCallError {
    let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or_default());
    match serde_json::from_slice::<Status>(body) {
        Ok(Status { reason, message, .. }) => ApiCallError::Refused { code, reason, message },
        Err(_) => ApiCallError::Refused {
            code,
            reason: reason.to_owned(),
            message: String::from_utf8_lossy(body).into_owned(),
        },
    }
}

/// What the URL of a webhook answers to `body` within [`URL_TIMEOUT`]. `ca_bundle`: in base64, as
/// the webhook has it; without it, the authorities of this machine count.
pub(crate) fn called(url: &str, ca_bundle: &str, body: &Value) -> UrlAnswer {
    let answer = runtime().and_then(|runtime| runtime.block_on(called_once(url, ca_bundle, body)));
    answer.map_or_else(UrlAnswer::Failed, UrlAnswer::Status)
}

async fn called_once(url: &str, ca_bundle: &str, body: &Value) -> Result<u16, String> {
    let (server, path) = url.rsplit_once('/').ok_or("it has no path")?;
    let cluster = Cluster {
        server: Some(server.to_owned()),
        certificate_authority_data: Some(ca_bundle.to_owned()).filter(|data| !data.is_empty()),
        ..Cluster::default()
    };
    let name = "wake".to_owned();
    let context = Context { cluster: name.clone(), user: Some(name.clone()), ..Context::default() };
    let kubeconfig = Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(context),
            ..NamedContext::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.clone(),
            auth_info: Some(AuthInfo::default()),
            ..NamedAuthInfo::default()
        }],
        current_context: Some(name),
        ..Kubeconfig::default()
    };
    let config = of_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| chain(&error))?;
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|error| chain(&error))?;
    let request = Request::builder()
        .method("POST")
        .uri(format!("/{path}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string().into_bytes()))
        .map_err(|error| error.to_string())?;
    match tokio::time::timeout(URL_TIMEOUT, client.send(request)).await {
        Ok(Ok(answer)) => Ok(answer.status().as_u16()),
        Ok(Err(error)) => Err(chain(&error)),
        Err(_) => Err(format!("no answer within {} s", URL_TIMEOUT.as_secs())),
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
