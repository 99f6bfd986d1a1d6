//! Unknown users and users without rights get the API server's own error.

use std::path::Path;

use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use cluster::KubeCluster;
use kube::config::{AuthInfo, Kubeconfig};
use model::ClusterName;
use ports::{Cluster as _, Fault, Nodes as _, PortError};

use super::world::kubeconfig;

/// The control plane as another user sees it.
async fn cluster_as(name: &str, path: &Path, change: impl Fn(&mut AuthInfo)) -> KubeCluster {
    let mut kubeconfig = Kubeconfig::read_from(path).unwrap();
    change(kubeconfig.auth_infos[0].auth_info.as_mut().unwrap());
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::write(&path, serde_json::to_string(&kubeconfig).unwrap()).unwrap();
    let cluster = KubeCluster::from_kubeconfig(&path).await.unwrap();
    std::fs::remove_file(path).unwrap();
    cluster
}

#[track_caller]
fn check(error: PortError, operation: &str, words: &[&str]) {
    assert_eq!((error.operation, error.fault), (operation, Fault::Permanent));
    let source = error.source.unwrap().to_string();
    assert!(words.iter().all(|word| source.contains(word)), "{source}");
}

#[tokio::test]
async fn an_unknown_user_is_refused() {
    let Some(path) = kubeconfig() else { return };
    let unknown = |user: &mut AuthInfo| user.token = Some("nonsense".to_owned().into());
    let cluster = cluster_as("unknown", &path, unknown).await;
    check(cluster.nodes().await.unwrap_err(), "list nodes", &["401", "Unauthorized"]);
}

#[tokio::test]
async fn a_user_without_rights_gets_the_missing_ones() {
    let Some(path) = kubeconfig() else { return };
    let powerless = |user: &mut AuthInfo| user.impersonate = Some("powerless".to_owned());
    let cluster = cluster_as("powerless", &path, powerless).await;
    let refused = |what| format!("\"powerless\" cannot list resource \"{what}\"");
    let nodes = cluster.nodes().await.unwrap_err();
    check(nodes, "list nodes", &["403", &refused("nodes")]);
    // Only an API server without such an API has no devices.
    let slices = cluster.resource_slices().await.unwrap_err();
    check(slices, "list ResourceSlices", &["403", &refused("resourceslices")]);
    assert_eq!(cluster.devices().await.unwrap_err().fault, Fault::Permanent);
}

/// The API server here knows nothing of AWS: it refuses the token, and what gets that far has trusted
/// the certificate authority that the settings carry.
#[tokio::test]
async fn the_settings_of_an_eks_cluster_lead_to_its_api_server() {
    let Some(path) = kubeconfig() else { return };
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
    let name: ClusterName = "one".parse().unwrap();
    let server = cluster.server.as_deref().unwrap();
    let authority = cluster.certificate_authority_data.as_deref().unwrap();
    let keys = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let credentials = SharedCredentialsProvider::new(keys);
    let connect = |authority: &str| {
        KubeCluster::for_eks(&name, server, authority, credentials.clone(), "us-west-2").unwrap()
    };
    let cluster = connect(authority);
    check(cluster.nodes().await.unwrap_err(), "list nodes", &["401", "Unauthorized"]);

    // Another authority is not trusted, and nothing is sent.
    let error = connect("").nodes().await.unwrap_err();
    assert_eq!(error.fault, Fault::Transient, "{error:?}");
}
