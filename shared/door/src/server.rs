//! HTTP on loopback: a request in, a reply out, or a connection that ends.

use std::{convert::Infallible, fmt, net::SocketAddr, rc::Rc};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::{Door, Reply, Request};

/// A connection that ends without an answer, on purpose.
#[derive(Debug)]
struct HungUp;

impl fmt::Display for HungUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer, on purpose")
    }
}

impl std::error::Error for HungUp {}

/// Answers every connection of `listener`, for ever. To be run on a `LocalSet`: the account is of
/// one thread.
pub async fn serve(door: Rc<Door>, listener: TcpListener) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let door = Rc::clone(&door);
        tokio::task::spawn_local(async move {
            let answer = service_fn(|request| handle(&door, request));
            // A client may go whenever it likes, and so may we: see `HungUp`.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await);
        });
    }
}

/// A listener on a free port of loopback, and its URL.
///
/// # Errors
///
/// When the port is taken.
pub async fn listen(port: u16) -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}

async fn handle(
    door: &Door,
    request: hyper::Request<Incoming>,
) -> Result<Response<Full<Bytes>>, HungUp> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| HungUp)?.to_bytes();
    let target = head.headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    let request = Request {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        target: target.map(str::to_owned),
        body: body.to_vec(),
    };
    match door.answer(&request).await {
        Reply::HangUp => Err(HungUp),
        Reply::Answer { status, content_type, body } => {
            let mut response = Response::new(Full::from(body));
            *response.status_mut() = StatusCode::from_u16(status).map_err(|_| HungUp)?;
            let content_type = HeaderValue::from_static(content_type);
            response.headers_mut().insert(CONTENT_TYPE, content_type);
            Ok(response)
        }
    }
}
