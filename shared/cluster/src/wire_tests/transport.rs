//! What becomes of a request whose connection fails: the only tests here with a socket, on loopback.

use std::{
    io::Read as _,
    net::{SocketAddr, TcpListener},
    thread,
};

use model::node_class::ClusterSettings;
use ports::{Cluster as _, Fault, Nodes as _, PodSelection};

use crate::KubeCluster;

fn cluster(address: SocketAddr) -> KubeCluster {
    let settings = ClusterSettings {
        name: "one".parse().unwrap(),
        endpoint: format!("http://{address}"),
        ca_bundle: String::new(),
        service_cidr: None,
        dns_ip: None,
        kubernetes_version: "1.34".to_owned(),
        region: "us-west-2".to_owned(),
    };
    let keys = aws_credential_types::Credentials::new("AKID", "secret", None, None, "test");
    let credentials = aws_credential_types::provider::SharedCredentialsProvider::new(keys);
    KubeCluster::for_eks(&settings, credentials, "us-west-2").unwrap()
}

#[tokio::test]
async fn a_request_that_never_left_may_be_repeated() {
    // Bound and let go: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cluster = cluster(address);
    let error = cluster.pods(&PodSelection::Waiting).await.unwrap_err();
    assert_eq!(error.fault, Fault::Transient);
    let error = cluster.delete(&"one".parse().unwrap()).await.unwrap_err();
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
    let error = cluster.delete(&"one".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Unknown);
    server.join().unwrap();
}
