//! A server on this machine, which gives prepared answers: HTTP as it goes over the wire, for an API server or for
//! AWS. It stands in for a proxy, too: a connection that is asked for goes to itself.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

/// A request, as far as anybody looks at it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query, and decoded.
    pub(crate) path: String,
    /// Decoded, in its order.
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        found(&self.headers, name)
    }

    pub(crate) fn parameter(&self, name: &str) -> &str {
        found(&self.query, name)
    }
}

fn found<'a>(pairs: &'a [(String, String)], name: &str) -> &'a str {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap_or_default()
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Reply {
    #[expect(clippy::needless_pass_by_value, reason = "texts and documents alike")]
    pub(crate) fn ok(body: impl ToString) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.to_string() }
    }
}

/// Answers for as long as the test runs. Where.
pub(crate) fn serve(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
    let address = listener.local_addr().expect("its address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let answer = Arc::clone(&answer);
            // A client that goes away is no failure of the server.
            thread::spawn(move || drop(talk(stream, answer.as_ref())));
        }
    });
    format!("http://{address}")
}

fn talk(stream: TcpStream, answer: &dyn Fn(&Request) -> Reply) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some(request) = read(&mut reader)? {
        if request.method == "CONNECT" {
            drop(answer(&request));
            writer.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            continue;
        }
        let Reply { status, headers, body } = answer(&request);
        let mut head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head = format!("{head}{name}: {value}\r\n");
        }
        writer.write_all(format!("{head}\r\n{body}").as_bytes())?;
    }
    Ok(())
}

fn read(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: decoded(path),
        query: pairs(query),
        ..Request::default()
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = request.header("content-length").parse().unwrap_or_default();
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(request))
}

/// Names and values of a query, or of a form.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(&value.replace('+', " ")))).collect()
}

fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).expect("text")
}
