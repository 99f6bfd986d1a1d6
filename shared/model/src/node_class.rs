//! EC2NodeClasses: how nodes are launched in EC2, as written and as resolved.
//!
//! Karpenter: `pkg/apis/v1/ec2nodeclass.go` of the AWS provider.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{
    Bytes, ImageId, InstanceTypeName, NodeClassName, PlacementGroupId, Problem, Requirements,
    ReservationId, SecurityGroupId, SubnetId, Zone, ZoneId, dynamic_resources::GpuSharing,
    rollout::RolloutAnnotations, static_hash::NodeClassHash,
};

mod kubelet;
mod launch_template;
mod readiness;
mod selector;
mod status;

pub use kubelet::{Kubelet, KubeletFault, MaxPods, is_expression};
pub use launch_template::{
    DescribedTemplate, ResolvedTemplate, TemplateProblem, TemplateSetting, TemplateSource,
};
pub use readiness::Obstacle;
pub use selector::{
    ImageTerm, MatchCriteria, PlacementGroupTerm, ReservationTerm, SecurityGroupTerm, SubnetTerm,
};
pub use status::{
    ClassStatus, InstanceProfile, ListedNodeClass, NodeClassStatus, ObservedNodeClass,
    SecurityGroup,
};

/// An EC2NodeClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClass {
    /// Its name.
    pub name: NodeClassName,
    /// Which subnets.
    pub subnet_terms: Vec<SubnetTerm>,
    /// Which security groups.
    pub security_group_terms: Vec<SecurityGroupTerm>,
    /// Which images.
    pub image_terms: Vec<ImageTerm>,
    /// Which capacity reservations; empty is none.
    pub reservation_terms: Vec<ReservationTerm>,
    /// Which placement group, if any.
    pub placement_group: Option<PlacementGroupTerm>,
    /// The family of the images: `amiFamily`, or the alias's.
    pub image_family: ImageFamily,
    /// `userData`.
    pub user_data: Option<String>,
    /// `role` or `instanceProfile`.
    pub identity: NodeIdentity,
    /// `tags` on everything that is launched.
    pub tags: BTreeMap<String, String>,
    /// `blockDeviceMappings`; empty is the family's own.
    pub block_devices: Vec<BlockDevice>,
    /// `instanceStorePolicy: RAID0`.
    pub is_raid0: bool,
    /// `metadataOptions`, with the API's defaults.
    pub metadata_options: MetadataOptions,
    /// `detailedMonitoring`.
    pub detailed_monitoring: Option<bool>,
    /// `associatePublicIPAddress`; `None` leaves it to the subnet.
    pub associate_public_ip_address: Option<bool>,
    /// `ipPrefixCount`.
    pub ip_prefix_count: Option<u32>,
    /// `networkInterfaces`; empty is the one that every instance has.
    pub network_interfaces: Vec<NetworkInterface>,
    /// `connectionTracking`
    pub connection_tracking: Option<ConnectionTracking>,
    /// `cpuOptions.nestedVirtualization`: `None` is not sent.
    pub nested_virtualization: Option<bool>,
    /// `enclaveOptions.enabled`; `None` is as good as false, but another drift hash.
    pub enclaves: Option<bool>,
    /// `context`: a fleet context id.
    pub context: Option<String>,
    /// `kubelet`.
    pub kubelet: Kubelet,
    /// The annotation `karpenter.k8s.aws/nvidia-consumable-capacity`: how the cluster's driver shares GPUs. `None` if
    /// it does not, or if the value is invalid.
    pub gpu_sharing: Option<GpuSharing>,
    /// The annotations of its rollouts; `None` without any: its nodes drift as Karpenter's do.
    pub rollout: Option<RolloutAnnotations>,
    /// What its nodes are launched with, as one number; `None` where its fields are not what their
    /// schema asks for, or if it is not needed.
    pub hash: Option<NodeClassHash>,
    /// The annotation `compatibility.karpenter.k8s.aws/v1alpha1-launch-template`.
    pub launch_template: TemplateSource,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Why it cannot be used, by the object's own rules (validation, not supported yet), if so.
    pub problems: Vec<Problem>,
}

/// What starts a node: how its user data is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImageFamily {
    /// Amazon Linux 2.
    Al2,
    /// Amazon Linux 2023.
    Al2023,
    /// Bottlerocket.
    Bottlerocket,
    /// Windows Server 2019.
    Windows2019,
    /// Windows Server 2022.
    Windows2022,
    /// Windows Server 2025.
    Windows2025,
    /// The user's own.
    Custom,
}

impl ImageFamily {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Al2,
        Self::Al2023,
        Self::Bottlerocket,
        Self::Windows2019,
        Self::Windows2022,
        Self::Windows2025,
        Self::Custom,
    ];

    /// Its name in `amiFamily`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Al2 => "AL2",
            Self::Al2023 => "AL2023",
            Self::Bottlerocket => "Bottlerocket",
            Self::Windows2019 => "Windows2019",
            Self::Windows2022 => "Windows2022",
            Self::Windows2025 => "Windows2025",
            Self::Custom => "Custom",
        }
    }

    /// Whether its nodes run Windows.
    pub const fn is_windows(self) -> bool {
        matches!(self, Self::Windows2019 | Self::Windows2022 | Self::Windows2025)
    }

    /// The family called `text` in `amiFamily`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.as_str() == text)
    }

    /// The family called `text` in an alias: lower case.
    pub fn parse_alias(text: &str) -> Option<Self> {
        let same =
            |family: &Self| *family != Self::Custom && family.as_str().to_ascii_lowercase() == text;
        Self::ALL.into_iter().find(same)
    }
}

/// What a node may do in AWS.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeIdentity {
    /// `role`: an instance profile is made for it.
    Role(String),
    /// `instanceProfile`: the user's own.
    InstanceProfile(String),
}

/// A volume of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDevice {
    /// Such as `/dev/xvda`.
    pub device_name: Option<String>,
    /// Whether it is the one that pods' ephemeral storage is counted from.
    pub is_root: bool,
    /// `volumeSize`, rounded up to whole GiB when sent to EC2.
    pub size: Option<Bytes>,
    /// `volumeType`
    pub volume_type: Option<String>,
    /// `encrypted`
    pub encrypted: Option<bool>,
    /// `deleteOnTermination`
    pub delete_on_termination: Option<bool>,
    /// `iops`
    pub iops: Option<u32>,
    /// `throughput`, MiB/s
    pub throughput: Option<u32>,
    /// `volumeInitializationRate`, MiB/s
    pub initialization_rate: Option<u32>,
    /// `kmsKeyID`
    pub kms_key_id: Option<String>,
    /// `snapshotID`
    pub snapshot_id: Option<String>,
}

/// The instance metadata service of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataOptions {
    /// `httpEndpoint: enabled`
    pub http_endpoint: bool,
    /// `httpProtocolIPv6: enabled`
    pub http_protocol_ipv6: bool,
    /// `httpPutResponseHopLimit`, 1 to 64
    pub http_put_response_hop_limit: u32,
    /// `httpTokens: required`
    pub http_tokens_required: bool,
}

impl Default for MetadataOptions {
    fn default() -> Self {
        Self {
            http_endpoint: true,
            http_protocol_ipv6: false,
            http_put_response_hop_limit: 1,
            http_tokens_required: true,
        }
    }
}

/// A network interface of `networkInterfaces`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkInterface {
    /// `networkCardIndex`
    pub card: u32,
    /// `deviceIndex`
    pub device: u32,
    /// `interfaceType: efa-only`; the other kind is `interface`.
    pub is_efa_only: bool,
}

/// After how many seconds without traffic EC2 forgets connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionTracking {
    /// `tcpEstablishedTimeout`
    pub tcp_established_seconds: Option<u32>,
    /// `udpStreamTimeout`
    pub udp_stream_seconds: Option<u32>,
    /// `udpTimeout`
    pub udp_seconds: Option<u32>,
}

/// A subnet that a class selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Its id.
    pub id: SubnetId,
    /// Its zone.
    pub zone: Zone,
    /// The id of its zone.
    pub zone_id: ZoneId,
    /// Addresses that were free when it was looked at.
    pub available_ip_address_count: u32,
}

/// An image that a class selects, and which instance types it starts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its id.
    pub id: ImageId,
    /// Its name.
    pub name: String,
    /// When it was made; `None` counts as oldest.
    pub created_at: Option<Timestamp>,
    /// From when on EC2 advises against it.
    pub deprecated_at: Option<Timestamp>,
    /// Architecture, and for aliases the accelerators that its variant is for.
    pub requirements: Requirements,
}

/// A capacity reservation that a class selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityReservation {
    /// `cr-…`
    pub id: ReservationId,
    /// What it is for.
    pub instance_type: InstanceTypeName,
    /// Where.
    pub zone: Zone,
    /// The account that it belongs to.
    pub owner: String,
    /// Which instances run in it.
    pub match_criteria: MatchCriteria,
    /// `capacity-block` rather than `default`.
    pub is_capacity_block: bool,
    /// Whether instances in it may be interrupted.
    pub is_interruptible: bool,
    /// Whether it ends too soon to launch into it.
    pub is_expiring: bool,
    /// When it ends, if it does.
    pub ends_at: Option<Timestamp>,
    /// Instances that still fit, as far as is known.
    pub available_count: u32,
}

impl CapacityReservation {
    /// The kind of one that is no capacity block.
    pub const DEFAULT: &'static str = "default";

    /// The value of the label `karpenter.k8s.aws/capacity-reservation-type`.
    pub const fn kind(&self) -> &'static str {
        if self.is_capacity_block { "capacity-block" } else { Self::DEFAULT }
    }
}

/// How a placement group places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacementStrategy {
    /// Close together.
    Cluster,
    /// In partitions `1..=count` that share no hardware.
    Partition {
        /// How many.
        count: u32,
    },
    /// Each on hardware of its own.
    Spread,
}

impl PlacementStrategy {
    /// EC2's name for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Partition { .. } => "partition",
            Self::Spread => "spread",
        }
    }
}

/// A placement group that a class selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementGroup {
    /// `pg-…`
    pub id: PlacementGroupId,
    /// Its name.
    pub name: String,
    /// How it places.
    pub strategy: PlacementStrategy,
}

impl std::fmt::Display for PlacementGroup {
    /// `pg-0a cluster close`, `pg-0b partition/3 apart`: id, strategy, number of partitions, name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { id, name, strategy } = self;
        match strategy {
            PlacementStrategy::Partition { count } => {
                write!(f, "{id} {}/{count} {name}", strategy.as_str())
            }
            PlacementStrategy::Cluster | PlacementStrategy::Spread => {
                write!(f, "{id} {} {name}", strategy.as_str())
            }
        }
    }
}

impl std::str::FromStr for PlacementGroup {
    type Err = String;

    /// Reads what `Display` writes. A name may have spaces in it.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.splitn(3, ' ');
        let (Some(id), Some(strategy), Some(name)) = (words.next(), words.next(), words.next())
        else {
            return Err(format!("`{text}` is not `<id> <strategy> <name>` of a placement group"));
        };
        let strategy = match strategy.split_once('/') {
            None if strategy == PlacementStrategy::Cluster.as_str() => PlacementStrategy::Cluster,
            None if strategy == PlacementStrategy::Spread.as_str() => PlacementStrategy::Spread,
            Some(("partition", count)) => {
                let count = count.parse().map_err(|_| format!("`{count}` partitions"))?;
                PlacementStrategy::Partition { count }
            }
            _ => return Err(format!("`{strategy}` is no strategy of a placement group")),
        };
        let id = PlacementGroupId::new(id).map_err(|error| error.to_string())?;
        Ok(Self { id, name: name.to_owned(), strategy })
    }
}

/// A class with everything that its selectors name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedNodeClass {
    /// As written.
    pub class: NodeClass,
    /// In the order of their ids.
    pub subnets: Vec<Subnet>,
    /// In the order of their ids.
    pub security_groups: Vec<SecurityGroupId>,
    /// Newest first; the first that an instance type starts on is taken.
    pub images: Vec<Image>,
    /// In the order of their ids.
    pub reservations: Vec<CapacityReservation>,
    /// The one that the class selects.
    pub placement_group: Option<PlacementGroup>,
    /// What its nodes are launched from.
    pub launch_template: ResolvedTemplate,
}

/// What nodes are told about their cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Its name.
    pub name: crate::ClusterName,
    /// `https://…` of its API server.
    pub endpoint: String,
    /// Its certificate authority, base64.
    pub ca_bundle: String,
    /// The addresses of its services, IPv4 or IPv6.
    pub service_cidr: Option<String>,
    /// The address of the service `kube-dns`.
    pub dns_ip: Option<String>,
    /// Such as `1.34`.
    pub kubernetes_version: String,
    /// Such as `us-west-2`.
    pub region: String,
}
