//! The function `wake` of a cluster on this machine: its API server calls it by TLS on loopback.
//!
//! The certificate is made at the start, signs itself and is known to the API server only by the `caBundle` of the
//! webhooks. What a call asks for is read as the deployed function reads it (`wire::admission`). Calls are answered on a
//! thread of their own: an API server waits for a second, and a decision may take longer.

use std::{
    io,
    net::{SocketAddr, TcpListener as Listener},
    path::Path,
    rc::Rc,
    sync::Arc,
    thread,
};

use aws_server::{Reply, Request, converse};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use cluster::ConnectError;
use dispatch::{WakeMemory, wake};
use model::{
    ClusterName, Function,
    duration::later,
    wake::{AdmissionRequest, TIMEOUT, WakeKey},
};
use ports::Invocation;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use simulator::Sim;
use tokio::{
    net::TcpListener,
    runtime,
    sync::mpsc::{self, Receiver, Sender},
    task::{LocalSet, spawn_local},
};
use tokio_rustls::TlsAcceptor;
use tracing::Instrument as _;
use wire::admission::{UrlCall, url_answer, url_call};

use crate::{functions::Live, lines};

/// Requests that wait until functions are woken. Those above it are dropped: their functions are about to make a pass.
const WAITING_MAX: usize = 1_000;

/// Where the API server calls.
pub(crate) struct WakeServer {
    listener: Listener,
    acceptor: TlsAcceptor,
    url: String,
    ca_bundle: String,
}

impl WakeServer {
    /// On a free port of loopback.
    pub(crate) fn listen() -> io::Result<Self> {
        let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([address.ip().to_string()]).map_err(io::Error::other)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let ca_bundle = STANDARD.encode(pem(cert.der()));
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .map_err(io::Error::other)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self { listener, acceptor, url: format!("https://{address}"), ca_bundle })
    }

    /// Its URL without the secret path.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The certificate that an API server has to trust, as a webhook's `caBundle` has it.
    pub(crate) fn ca_bundle(&self) -> &str {
        &self.ca_bundle
    }

    /// Answers every connection, on a thread of its own, until the receiver of the requests is dropped. `key` makes the
    /// paths of `cluster`.
    pub(crate) fn serve(
        self,
        cluster: &ClusterName,
        key: WakeKey,
    ) -> io::Result<Receiver<AdmissionRequest>> {
        let (requests, received) = mpsc::channel(WAITING_MAX);
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let reviewer = Reviewer { cluster: cluster.clone(), key, requests };
        let answering = move || LocalSet::new().block_on(&runtime, self.answer(reviewer));
        thread::Builder::new().name(Function::Wake.to_string()).spawn(answering)?;
        Ok(received)
    }

    async fn answer(self, reviewer: Reviewer) {
        let Ok(listener) = TcpListener::from_std(self.listener) else { return };
        let reviewer = Rc::new(reviewer);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = reviewer.requests.closed() => return,
            };
            let Ok((stream, _)) = accepted else { continue };
            let (acceptor, reviewer) = (self.acceptor.clone(), Rc::clone(&reviewer));
            spawn_local(async move {
                // Who speaks no TLS, or does not trust the certificate, has gone.
                let Ok(stream) = acceptor.accept(stream).await else { return };
                converse(stream, async |request| reviewer.answer(&request)).await;
            });
        }
    }
}

/// A key that is in no file and no log.
pub(crate) fn new_key() -> io::Result<WakeKey> {
    let mut bytes = [0; 32];
    let random = aws_lc_rs::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| io::Error::other("there are no random numbers"))?;
    WakeKey::new(&STANDARD.encode(bytes)).map_err(io::Error::other)
}

/// A certificate as text.
fn pem(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der))
}

/// What answers the API server. Whether functions are woken does not change an answer.
struct Reviewer {
    cluster: ClusterName,
    key: WakeKey,
    requests: Sender<AdmissionRequest>,
}

impl Reviewer {
    fn answer(&self, request: &Request) -> Reply {
        let paths = self.key.paths(&self.cluster, lines::present());
        let call = url_call(&url_event(request), &paths);
        let answer = reply(&url_answer(&call));
        if let UrlCall::Review(request) = call {
            // A request that finds no room is one of a thousand.
            drop(self.requests.try_send(request));
        }
        answer
    }
}

/// The function.
pub(crate) struct Waking {
    world: Live,
    cluster: ClusterName,
    memory: WakeMemory,
}

impl Waking {
    /// In `account`, with the rights of its group on the API server of `kubeconfig`: none.
    pub(crate) async fn of(
        account: &Sim,
        cluster: &ClusterName,
        kubeconfig: &Path,
    ) -> Result<Self, ConnectError> {
        let world = Live::of(account, Function::Wake, kubeconfig).await?;
        Ok(Self { world, cluster: cluster.clone(), memory: WakeMemory::default() })
    }

    /// Wakes functions for every one of `requests`, for ever.
    pub(crate) async fn wake(self, mut requests: Receiver<AdmissionRequest>) {
        while let Some(request) = requests.recv().await {
            let now = lines::present();
            let at = Invocation {
                id: request.uid.clone(),
                cluster: self.cluster.clone(),
                now,
                deadline: later(now, TIMEOUT),
            };
            let span = tracing::info_span!("call", who = Function::Wake.as_str());
            let work = async {
                if let Err(error) = wake(&self.world, &self.memory, &request, &at).await {
                    tracing::warn!("{} wakes nothing: {error}", request.kind);
                }
            };
            work.instrument(span).await;
        }
    }
}

/// The event that a function URL makes of a request, as far as it is read.
fn url_event(request: &Request) -> String {
    let http = json!({ "method": request.method, "path": request.path });
    json!({
        "version": "2.0",
        "rawPath": request.path,
        "rawQueryString": request.query,
        "requestContext": { "http": http },
        "body": String::from_utf8_lossy(&request.body),
        "isBase64Encoded": false,
    })
    .to_string()
}

/// What a function URL makes of an answer of its function.
fn reply(answer: &str) -> Reply {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let status = answer.get("statusCode").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok()).unwrap_or(502);
    let body = answer.get("body").and_then(Value::as_str).unwrap_or_default().to_owned();
    Reply::Answer { status, content_type: "application/json", body }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, path: &str, body: &str) -> UrlCall {
        let request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            body: body.as_bytes().to_vec(),
            ..Request::default()
        };
        url_call(&url_event(&request), &["secret"])
    }

    fn status(call: &UrlCall) -> u16 {
        match reply(&url_answer(call)) {
            Reply::Answer { status, .. } => status,
            Reply::HangUp => 0,
        }
    }

    #[test]
    fn requests_are_read_and_answered_as_at_a_function_url() {
        let kind = json!({ "group": "karpenter.sh", "kind": "NodePool" });
        let request = json!({ "uid": "1", "kind": kind, "operation": "UPDATE" });
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
        });
        let review = review.to_string();
        let call = asked("POST", "/secret", &review);
        assert!(matches!(&call, UrlCall::Review(asked) if asked.rule().is_some()), "{call:?}");
        assert_eq!(status(&call), 200);
        for (method, path) in [("GET", "/secret"), ("POST", "/other"), ("POST", "/")] {
            assert_eq!(status(&asked(method, path, &review)), 404, "{method} {path}");
        }
        assert_eq!(status(&asked("POST", "/secret", "{")), 400);
    }

    #[test]
    fn keys_differ() {
        assert_ne!(new_key().unwrap(), new_key().unwrap());
    }
}
