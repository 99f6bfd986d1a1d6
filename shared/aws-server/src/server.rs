//! HTTP/1.1 on loopback: a request in, a reply out, or a connection that ends.
//!
//! Just what AWS's clients send: a head, a content whose length is said, and connections that stay
//! open. It is written on `httparse` and not on hyper's server, because turning that feature on
//! would compile every SDK once more: they stand on the same hyper.

use std::{convert::Infallible, net::SocketAddr, rc::Rc};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{AwsServer, Reply, Request};

/// Bytes of a request, which no caller reaches: CreateFleet with 600 overrides has 150,000.
const REQUEST_MAX: usize = 4 << 20;
const HEADERS_MAX: usize = 64;

/// Answers every connection of `listener`, for ever. To be run on a `LocalSet`: the account is of
/// one thread.
pub async fn serve(server: Rc<AwsServer>, listener: TcpListener) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let server = Rc::clone(&server);
        tokio::task::spawn_local(async move {
            converse(stream, async |request| server.answer(&request).await).await;
        });
    }
}

/// A listener on `port` of loopback, where 0 is a free one, and its URL.
pub async fn listen(port: u16) -> std::io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}

/// Answers one request of `stream` after the other, until either side ends the connection.
pub async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: impl AsyncFn(Request) -> Reply,
) {
    let mut received = Vec::new();
    loop {
        let (request, length) = match read(&received) {
            Ok(Some(entry)) => entry,
            Ok(None) => match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) if received.len() > REQUEST_MAX => return,
                Ok(_) => continue,
            },
            Err(problem) => {
                let body = format!("{{\"message\":\"{problem}\"}}");
                let reply = Reply::Answer { status: 400, content_type: "application/json", body };
                if let Some(bytes) = written(&reply) {
                    // It is the last thing that is said: whether it arrives makes no difference.
                    drop(sent(&mut stream, &bytes).await);
                }
                return;
            }
        };
        received.drain(..length);
        let Some(bytes) = written(&answer(request).await) else { return };
        if sent(&mut stream, &bytes).await.is_err() {
            return;
        }
    }
}

/// Writes all of `bytes`, also what a stream with TLS holds back until it is flushed.
async fn sent(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// The first request in `received` and its length; `None` when it is not all there yet.
fn read(received: &[u8]) -> Result<Option<(Request, usize)>, &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let head_length = match head.parse(received) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err("this is no HTTP/1.1"),
    };
    let value = |name: &str| {
        let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        header.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    if value("transfer-encoding").is_some() {
        return Err("not supported yet: a content without a length");
    }
    let content_length = match value("content-length") {
        None => 0,
        Some(length) => length.trim().parse().map_err(|_| "the content's length is no number")?,
    };
    let length = head_length.saturating_add(content_length);
    let Some(body) = received.get(head_length..length) else { return Ok(None) };
    let target = head.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        target: value("x-amz-target").map(str::to_owned),
        body: body.to_vec(),
    };
    Ok(Some((request, length)))
}

/// What goes over the wire; `None` when nothing is to.
fn written(reply: &Reply) -> Option<Vec<u8>> {
    let Reply::Answer { status, content_type, body } = reply else { return None };
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
        if *status < 400 { "OK" } else { "Refused" },
        body.len()
    );
    Some([head.as_bytes(), body.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "POST /?a=b HTTP/1.1\r\nX-Amz-Target: S.Get\r\nContent-Length: 3\r\n\r\nx=1\
                       GET /clusters/demo HTTP/1.1\r\nhost: a\r\n\r\n";

    #[test]
    fn requests_on_one_connection_are_told_apart() {
        let (first, length) = read(TWO.as_bytes()).unwrap().unwrap();
        let expected = Request {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            query: "a=b".to_owned(),
            target: Some("S.Get".to_owned()),
            body: b"x=1".to_vec(),
        };
        assert_eq!(first, expected);
        let (second, _) = read(&TWO.as_bytes()[length..]).unwrap().unwrap();
        assert_eq!((second.method.as_str(), second.path.as_str()), ("GET", "/clusters/demo"));
    }

    #[test]
    fn a_request_is_waited_for_until_it_is_all_there() {
        let (_, length) = read(TWO.as_bytes()).unwrap().unwrap();
        for end in 0..length {
            assert_eq!(read(&TWO.as_bytes()[..end]), Ok(None), "{end}");
        }
        assert!(read(b"\x16\x03\x01 this is TLS").is_err());
        assert!(read(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
    }

    #[test]
    fn no_reply_is_nothing_at_all() {
        assert_eq!(written(&Reply::HangUp), None);
        let answer = Reply::Answer { status: 200, content_type: "text/xml", body: "<a/>".into() };
        let text = String::from_utf8(written(&answer).unwrap()).unwrap();
        let expected = "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: 4\r\n\r\n<a/>";
        assert_eq!(text, expected);
    }
}
