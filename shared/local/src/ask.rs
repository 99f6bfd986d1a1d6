//! What another process asks of a running cluster: the AWS server passes it to the account.

use std::{
    fs,
    io::{self, Write as _},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{LocalError, place};

const PATIENCE: Duration = Duration::from_secs(10);

/// Has EC2 take back the spot instance of `node`, by its name or its instance's id, in two minutes.
pub fn reclaim(directory: &Path, node: &str) -> Result<(), LocalError> {
    let instance = node.split('.').next().unwrap_or_default();
    if !instance.starts_with("i-") {
        let rule = "machines here are called by their instance: i-….REGION.compute.internal";
        return Err(LocalError::Refused(format!("node {node}: {rule}")));
    }
    ask(directory, "interrupt", &json!({ "instance": instance }))
}

/// Has `zone` be away, or come back: what EC2 can launch there, and the hosts of what runs there.
pub fn set_outage(directory: &Path, zone: &str, is_away: bool) -> Result<(), LocalError> {
    let action = if is_away { "outage" } else { "end-outage" };
    ask(directory, action, &json!({ "zone": zone }))
}

fn ask(directory: &Path, action: &str, body: &Value) -> Result<(), LocalError> {
    let not_running = |_| LocalError::NotRunning(directory.to_owned());
    let endpoint = fs::read_to_string(place::endpoint_file(directory)).map_err(not_running)?;
    let address = endpoint.trim().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).map_err(not_running)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = body.to_string();
    write!(
        stream,
        "POST /_control/{action} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let (status, answer) = answer(&mut stream)?;
    if status == 200 {
        return Ok(());
    }
    let said: Value = serde_json::from_str(&answer).unwrap_or_default();
    let said = said.get("message").and_then(Value::as_str).unwrap_or(&answer);
    Err(LocalError::Refused(said.to_owned()))
}

/// Status and content of the one answer that comes.
fn answer(stream: &mut impl io::Read) -> io::Result<(u16, String)> {
    let broken = || io::Error::other("the account answers something that is no HTTP");
    let mut received = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&received);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .and_then(|l| l.parse().ok())
                .ok_or_else(broken)?;
            if length <= body.len() {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return Ok((status.ok_or_else(broken)?, body.to_owned()));
            }
        }
        let mut more = [0; 4096];
        let count = stream.read(&mut more)?;
        let Some(more) = more.get(..count).filter(|more| !more.is_empty()) else {
            return Err(broken());
        };
        received.extend_from_slice(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_waited_for_until_it_is_whole() {
        let text = "HTTP/1.1 400 Refused\r\ncontent-type: a\r\ncontent-length: 2\r\n\r\n{}";
        let (status, body) = answer(&mut text.as_bytes()).unwrap();
        assert_eq!((status, body.as_str()), (400, "{}"));
        assert!(answer(&mut &text.as_bytes()[..text.len() - 1]).is_err());
    }

    #[test]
    fn nothing_is_asked_where_nothing_runs() {
        let error = reclaim(Path::new("/nowhere"), "i-1.us-west-2.compute.internal").unwrap_err();
        assert!(error.to_string().starts_with("/nowhere: no cluster runs here"), "{error}");
        let error = reclaim(Path::new("/nowhere"), "ip-10-0-0-1").unwrap_err();
        assert!(error.to_string().starts_with("node ip-10-0-0-1: "), "{error}");
    }
}
