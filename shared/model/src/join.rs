//! Why a node does not join its cluster: what can be asked of its instance, and what that comes to.

use std::fmt;

use crate::{ImageId, SecurityGroupId, SubnetId, interruption::StatusProblem};

/// Why the instance of a claim does not join, as far as that can be seen from outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JoinReason {
    /// The kubelet cannot reach the API server: route, security group or private endpoint.
    ApiServerUnreachable,
    /// A program was built for another processor architecture.
    ArchitectureMismatch,
    /// `nodeadm` or the bootstrap script failed; the message says why.
    BootstrapFailed,
    /// The user data has another cluster's certificate authority.
    CertificateRejected,
    /// EKS has no cluster of the name in the user data.
    ClusterNotFound,
    /// The CNI cannot assign addresses: its role lacks a permission.
    CniPermissionMissing,
    /// containerd does not run.
    ContainerRuntimeFailed,
    /// The disk is full.
    DiskFull,
    /// The API server's name does not resolve.
    DnsFailed,
    /// The role lacks a permission to pull an image from ECR.
    ImagePullDenied,
    /// The instance metadata service does not answer.
    InstanceMetadataUnreachable,
    /// EC2's status checks fail.
    InstanceStatusFailed,
    /// The kernel panicked.
    KernelPanic,
    /// The kubelet rejects its configuration.
    KubeletConfigInvalid,
    /// The node role has no EKS access entry.
    NoAccessEntry,
    /// The instance has no profile, or the profile has no role.
    NoNodeRole,
    /// The role lacks a permission for joining, such as `ec2:DescribeInstances`.
    NodeRolePermissionMissing,
    /// The API server refuses the role: its access entry has another type or role.
    NodeRoleRefused,
    /// No source could be read; the message says why.
    NotLookedInto,
    /// A required program was killed for lack of memory.
    OutOfMemory,
    /// No known cause; the message has the last console lines.
    UnknownJoinFailure,
    /// The user data has a syntax error, or its script failed.
    UserDataFailed,
}

impl JoinReason {
    /// Every one of them.
    pub const ALL: [Self; 22] = [
        Self::ApiServerUnreachable,
        Self::ArchitectureMismatch,
        Self::BootstrapFailed,
        Self::CertificateRejected,
        Self::ClusterNotFound,
        Self::CniPermissionMissing,
        Self::ContainerRuntimeFailed,
        Self::DiskFull,
        Self::DnsFailed,
        Self::ImagePullDenied,
        Self::InstanceMetadataUnreachable,
        Self::InstanceStatusFailed,
        Self::KernelPanic,
        Self::KubeletConfigInvalid,
        Self::NoAccessEntry,
        Self::NoNodeRole,
        Self::NodeRolePermissionMissing,
        Self::NodeRoleRefused,
        Self::NotLookedInto,
        Self::OutOfMemory,
        Self::UnknownJoinFailure,
        Self::UserDataFailed,
    ];

    /// The text in `reason`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiServerUnreachable => "ApiServerUnreachable",
            Self::ArchitectureMismatch => "ArchitectureMismatch",
            Self::BootstrapFailed => "BootstrapFailed",
            Self::CertificateRejected => "CertificateRejected",
            Self::ClusterNotFound => "ClusterNotFound",
            Self::CniPermissionMissing => "CniPermissionMissing",
            Self::ContainerRuntimeFailed => "ContainerRuntimeFailed",
            Self::DiskFull => "DiskFull",
            Self::DnsFailed => "DnsFailed",
            Self::ImagePullDenied => "ImagePullDenied",
            Self::InstanceMetadataUnreachable => "InstanceMetadataUnreachable",
            Self::InstanceStatusFailed => "InstanceStatusFailed",
            Self::KernelPanic => "KernelPanic",
            Self::KubeletConfigInvalid => "KubeletConfigInvalid",
            Self::NoAccessEntry => "NoAccessEntry",
            Self::NoNodeRole => "NoNodeRole",
            Self::NodeRolePermissionMissing => "NodeRolePermissionMissing",
            Self::NodeRoleRefused => "NodeRoleRefused",
            Self::NotLookedInto => "NotLookedInto",
            Self::OutOfMemory => "OutOfMemory",
            Self::UnknownJoinFailure => "UnknownJoinFailure",
            Self::UserDataFailed => "UserDataFailed",
        }
    }

    /// The reason called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

impl fmt::Display for JoinReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a cluster identifies a principal.
///
/// <https://docs.aws.amazon.com/eks/latest/userguide/grant-k8s-access.html#set-cam>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationMode {
    /// `API`: by access entries.
    AccessEntries,
    /// `API_AND_CONFIG_MAP`: by access entries, and by the ConfigMap `aws-auth`, which AWS does not know.
    Both,
    /// `CONFIG_MAP`: by `aws-auth` alone.
    ConfigMap,
}

/// How the role of an instance stands to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAccess {
    /// The instance has no instance profile, or that has no role.
    NoRole,
    /// The cluster has no access entry for this role.
    NoEntry {
        /// Its name.
        role: String,
        /// How else it may be known.
        mode: AuthenticationMode,
    },
    /// The cluster has an access entry for this role.
    Entry {
        /// Its name.
        role: String,
        /// Of which type: `EC2_LINUX` and `EC2_WINDOWS` are for nodes of EC2, `STANDARD` is for people.
        kind: String,
    },
}

/// What EC2 says of an instance, as far as the rest of a look needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoiningInstance {
    /// The name of its instance profile.
    pub profile: Option<String>,
    /// Its image.
    pub image: Option<ImageId>,
    /// Its VPC.
    pub vpc: Option<String>,
    /// Its subnet.
    pub subnet: Option<SubnetId>,
    /// Its security groups.
    pub security_groups: Vec<SecurityGroupId>,
    /// Whether it has an address of the Internet: a public one, or one of IPv6.
    pub has_public_address: bool,
}

/// A way out of a VPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayOut {
    /// Such as `igw-1` or `nat-1`.
    pub target: String,
    /// Whether what it leads to is gone.
    pub is_black_hole: bool,
}

/// What lies between an instance and the API server of its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinNetwork {
    /// Whether the API server has an address in the VPC of the instance: then no route is needed.
    pub is_private: bool,
    /// The route table of its subnet, where there is one.
    pub route_table: Option<String>,
    /// The routes of that table that leave the VPC.
    pub ways_out: Vec<WayOut>,
    /// Whether a security group of the instance lets it speak to port 443 of anybody.
    pub lets_out: bool,
    /// Whether a security group of the API server lets one of those of the instance, or some addresses, speak to
    /// port 443; `None` where the API server has no address in the VPC.
    pub lets_in: Option<bool>,
}

/// An image, as far as EC2 knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinImage {
    /// Its name.
    pub name: String,
    /// For which processors it is, as Kubernetes calls them: `amd64`, `arm64`.
    pub architecture: String,
}

/// What was seen of an instance whose node does not join. What could not be looked at is why, in words; what was not
/// asked for, because its console tells enough, is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinEvidence {
    /// What its console says, as EC2 has it; it may be empty, or minutes old.
    pub console: Result<String, String>,
    /// Which of EC2's checks of it fail.
    pub checks: Result<Vec<StatusProblem>, String>,
    /// What it was launched with.
    pub instance: Option<Result<JoiningInstance, String>>,
    /// Whether the cluster knows its role.
    pub access: Option<Result<NodeAccess, String>>,
    /// Whether it reaches the API server.
    pub network: Option<Result<JoinNetwork, String>>,
    /// Its image; within, `None` is that EC2 knows it no longer.
    pub image: Option<Result<Option<JoinImage>, String>>,
    /// The architecture of its processors, as Kubernetes calls it, where the claim says it.
    pub architecture: Option<String>,
}

/// What a look asks for beside the console and EC2's checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinQuestions {
    /// How its role stands to the cluster.
    pub access: bool,
    /// What lies between it and the API server.
    pub network: bool,
    /// What its image is for.
    pub image: bool,
}

impl JoinQuestions {
    /// Whether anything of this is asked for.
    pub const fn is_any(self) -> bool {
        self.access || self.network || self.image
    }
}

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinFinding {
    /// Why the node does not join.
    pub reason: JoinReason,
    /// In words, without secrets.
    pub message: String,
}
