//! What becomes of a request whose connection fails: the only tests here with a socket, on loopback.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    thread,
};

use flate2::{Compression, write::GzEncoder};
use model::{
    PodKey,
    node::{Eviction, EvictionRequest},
};
use ports::{Cluster as _, Fault, Nodes as _, PodSelection};

use super::status;
use crate::KubeCluster;

fn eviction() -> EvictionRequest {
    let pod = PodKey { namespace: "shop".parse().unwrap(), name: "web-0".parse().unwrap() };
    EvictionRequest { pod, uid: "u1".parse().unwrap(), grace_seconds: None }
}

fn cluster(address: SocketAddr) -> KubeCluster {
    let endpoint = format!("http://{address}");
    let keys = aws_credential_types::Credentials::new("AKID", "secret", None, None, "test");
    let credentials = aws_credential_types::provider::SharedCredentialsProvider::new(keys);
    let cluster = "one".parse().unwrap();
    KubeCluster::for_eks(&cluster, &endpoint, "", credentials, "us-west-2").unwrap()
}

#[tokio::test]
async fn a_request_that_never_left_may_be_repeated() {
    // Bound and closed: no server listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cluster = cluster(address);
    let error = cluster.pods(&PodSelection::Waiting).await.unwrap_err();
    assert_eq!(error.fault, Fault::Transient);
    let error = cluster.evict(&eviction()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Transient);
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_may_have_happened() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Reads each request and hangs up.
    let server = thread::spawn(move || {
        for _ in 0..2 {
            let (mut connection, _) = listener.accept().unwrap();
            assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
        }
    });
    let cluster = cluster(address);
    let error = cluster.pods(&PodSelection::Waiting).await.unwrap_err();
    assert_eq!(error.fault, Fault::Transient);
    let error = cluster.evict(&eviction()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Unknown);
    server.join().unwrap();
}

/// With kube's own settings this would take minutes: it repeats 429 up to 15 times.
#[tokio::test]
async fn a_blocked_eviction_is_one_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut body = status(429, "TooManyRequests", "Cannot evict pod");
    body["details"]["causes"] = serde_json::json!([{ "reason": "DisruptionBudget" }]);
    let body = body.to_string();
    // Answers once and is gone: a second request finds no server.
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        drop(listener);
        assert!(connection.read(&mut [0; 4096]).unwrap() > 0);
        write!(
            connection,
            "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 10\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
    });
    assert_eq!(cluster(address).evict(&eviction()).await.unwrap(), Eviction::Blocked);
    server.join().unwrap();
}

#[tokio::test]
async fn a_list_comes_packed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(br#"{"metadata": {"resourceVersion": "7"}, "items": []}"#).unwrap();
    let body = packer.finish().unwrap();
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let length = connection.read(&mut request).unwrap();
        let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
        assert!(request.contains("\r\naccept-encoding: gzip\r\n"), "{request}");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip";
        write!(connection, "{head}\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        connection.write_all(&body).unwrap();
    });
    let listing = cluster(address).pods(&PodSelection::All).await.unwrap();
    assert!(listing.items.is_empty() && listing.malformed.is_empty());
    server.join().unwrap();
}
