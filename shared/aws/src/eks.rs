//! EKS: where a cluster's API server is, and what nodes are told about it.

use std::net::{Ipv4Addr, Ipv6Addr};

use aws_config::SdkConfig;
use aws_sdk_eks::{Client, types::Cluster};
use model::{ClusterName, limits::requests, node_class::ClusterSettings};
use ports::PortError;

use crate::{
    fault::{BadAnswer, port_error},
    kept::Kept,
};

const OPERATION: &str = "DescribeCluster";
/// The service `kube-dns` has the tenth address of the services' range.
///
/// <https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html>
const DNS_ADDRESS_INDEX: u8 = 10;
/// Another way to the API server; what is `None` is EKS's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// `https://…`
    pub endpoint: Option<String>,
    /// Base64.
    pub ca_bundle: Option<String>,
}

/// EKS clusters of one region.
#[derive(Clone, Debug)]
pub struct EksClusters {
    client: Client,
    region: String,
    connection: Connection,
    kept: Kept<ClusterName, Described>,
}

/// What EKS says of a cluster.
#[derive(Clone, Debug)]
struct Described {
    settings: ClusterSettings,
    arn: Option<String>,
}

impl EksClusters {
    pub(crate) fn new(config: &SdkConfig, region: &str, connection: Connection) -> Self {
        Self {
            client: Client::new(config),
            region: region.to_owned(),
            connection,
            kept: Kept::new(config, requests::CLUSTER_KEPT_FOR),
        }
    }

    /// What nodes of `cluster` are told about it, and where its API server is. EKS is asked at most
    /// every twenty minutes; a failure is not kept.
    pub async fn settings(&self, cluster: &ClusterName) -> Result<ClusterSettings, PortError> {
        Ok(self.described(cluster).await?.settings)
    }

    /// The Amazon Resource Name of `cluster`, kept in the same way.
    pub(crate) async fn arn(&self, cluster: &ClusterName) -> Result<String, PortError> {
        let arn = self.described(cluster).await?.arn;
        arn.ok_or_else(|| BadAnswer::of(OPERATION, format!("cluster `{cluster}` has no ARN")))
    }

    async fn described(&self, cluster: &ClusterName) -> Result<Described, PortError> {
        self.kept.or_ask(cluster, |_| true, self.ask(cluster)).await
    }

    async fn ask(&self, cluster: &ClusterName) -> Result<Described, PortError> {
        let request = self.client.describe_cluster().name(cluster.as_str());
        let answer = request.send().await.map_err(|error| port_error(OPERATION, error))?;
        let described = answer.cluster.ok_or_else(|| BadAnswer::of(OPERATION, "no cluster"))?;
        let settings = from_cluster(cluster, &self.region, &described, &self.connection)?;
        Ok(Described { settings, arn: described.arn })
    }
}

fn from_cluster(
    name: &ClusterName,
    region: &str,
    cluster: &Cluster,
    connection: &Connection,
) -> Result<ClusterSettings, PortError> {
    // A cluster that is still being created has neither endpoint nor certificate.
    let missing =
        |field: &str| BadAnswer::of(OPERATION, format!("cluster `{name}` has no {field}"));
    let endpoint = connection.endpoint.clone().or_else(|| cluster.endpoint.clone());
    let ca_bundle = connection
        .ca_bundle
        .clone()
        .or_else(|| cluster.certificate_authority.as_ref()?.data.clone());
    let network = cluster.kubernetes_network_config.as_ref();
    let service_cidr = network.and_then(|network| {
        network.service_ipv6_cidr.clone().or_else(|| network.service_ipv4_cidr.clone())
    });
    Ok(ClusterSettings {
        name: name.clone(),
        endpoint: endpoint.ok_or_else(|| missing("endpoint"))?,
        ca_bundle: ca_bundle.ok_or_else(|| missing("certificate authority"))?,
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        kubernetes_version: cluster.version.clone().ok_or_else(|| missing("version"))?,
        region: region.to_owned(),
    })
}

/// The tenth address of `service_cidr`; `None` when it is no range of addresses.
fn dns_ip(service_cidr: &str) -> Option<String> {
    let (network, _) = service_cidr.split_once('/')?;
    let index = u32::from(DNS_ADDRESS_INDEX);
    if let Ok(address) = network.parse::<Ipv4Addr>() {
        return Some(Ipv4Addr::from(u32::from(address).checked_add(index)?).to_string());
    }
    let address = network.parse::<Ipv6Addr>().ok()?;
    Some(Ipv6Addr::from(u128::from(address).checked_add(u128::from(index))?).to_string())
}

#[cfg(test)]
mod tests {
    use aws_sdk_eks::types::{Certificate, KubernetesNetworkConfigResponse};

    use super::*;
    use crate::wire::{Shown, Wire};

    #[test]
    fn dns_has_the_tenth_address_of_the_services() {
        for (cidr, expected) in [
            ("10.100.0.0/16", Some("10.100.0.10")),
            ("172.20.0.0/16", Some("172.20.0.10")),
            ("fd30:1c53:5f8a::/108", Some("fd30:1c53:5f8a::a")),
            ("10.100.0.0", None),
            ("services", None),
        ] {
            assert_eq!(dns_ip(cidr).as_deref(), expected, "{cidr}");
        }
    }

    fn found() -> Cluster {
        Cluster::builder()
            .version("1.34")
            .endpoint("https://eks.test")
            .certificate_authority(Certificate::builder().data("Q0E=").build())
            .kubernetes_network_config(
                KubernetesNetworkConfigResponse::builder()
                    .service_ipv4_cidr("10.100.0.0/16")
                    .build(),
            )
            .build()
    }

    fn settings(cluster: &Cluster, connection: &Connection) -> Result<ClusterSettings, PortError> {
        from_cluster(&testkit::build::id("demo"), "us-west-2", cluster, connection)
    }

    #[test]
    fn nodes_are_told_what_eks_says() {
        let told = settings(&found(), &Connection::default()).unwrap();
        let expected = ClusterSettings {
            name: ClusterName::new("demo").unwrap(),
            endpoint: "https://eks.test".to_owned(),
            ca_bundle: "Q0E=".to_owned(),
            service_cidr: Some("10.100.0.0/16".to_owned()),
            dns_ip: Some("10.100.0.10".to_owned()),
            kubernetes_version: "1.34".to_owned(),
            region: "us-west-2".to_owned(),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn another_way_to_the_api_server_goes_first() {
        let connection = Connection {
            endpoint: Some("https://private.test".to_owned()),
            ca_bundle: Some("UFJJVkFURQ==".to_owned()),
        };
        let told = settings(&found(), &connection).unwrap();
        assert_eq!(told.endpoint, "https://private.test");
        assert_eq!(told.ca_bundle, "UFJJVkFURQ==");
    }

    #[tokio::test]
    async fn eks_is_asked_once_in_twenty_minutes() {
        let answer = |version: &str| {
            format!(
                r#"{{"cluster": {{"version": "{version}", "endpoint": "https://eks.test",
                    "certificateAuthority": {{"data": "Q0E="}}}}}}"#
            )
        };
        let (first, second) = (answer("1.34"), answer("1.35"));
        let wire = Wire::answering(&[
            Some((500, "{}")),
            Some((200, &first)),
            Some((200, &second)),
            Some((200, &first)),
        ]);
        let shown = Shown::new();
        let config = wire.config().into_builder().time_source(shown.clone()).build();
        let clusters = EksClusters::new(&config, "us-west-2", Connection::default());
        let version = async |name: &str| {
            let settings = clusters.settings(&ClusterName::new(name).unwrap()).await;
            settings.ok().map(|settings| settings.kubernetes_version)
        };
        // A failure is not kept; an answer is, for its own cluster, until its time is over.
        assert_eq!(version("one").await, None);
        for _ in 0..3 {
            assert_eq!(version("one").await.as_deref(), Some("1.34"));
        }
        assert_eq!(version("two").await.as_deref(), Some("1.35"));
        shown.pass(requests::CLUSTER_KEPT_FOR.unsigned_abs());
        assert_eq!(version("two").await.as_deref(), Some("1.34"));
        assert_eq!(wire.sent().len(), 4);
    }

    #[test]
    fn a_cluster_that_is_still_being_created_cannot_be_used() {
        let error = settings(&Cluster::builder().version("1.34").build(), &Connection::default());
        let source = error.unwrap_err().source.unwrap().to_string();
        assert_eq!(source, "the answer is not usable: cluster `demo` has no endpoint");
    }
}
