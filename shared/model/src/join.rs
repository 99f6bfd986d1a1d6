//! Why a node does not join its cluster: what can be asked of its instance, and what that comes to.

use std::fmt;

use crate::interruption::StatusProblem;

/// Why the instance of a claim does not join, as far as that can be seen from outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JoinReason {
    /// Its kubelet gets no answer from the API server: no route, a security group, a private endpoint.
    ApiServerUnreachable,
    /// A program on it is made for another architecture than its processor's.
    ArchitectureMismatch,
    /// `nodeadm` or the bootstrap script gave up, and says why in the message.
    BootstrapFailed,
    /// It does not trust the certificate of the API server: its user data has another cluster's.
    CertificateRejected,
    /// EKS knows no cluster by the name that its user data says.
    ClusterNotFound,
    /// The CNI may not give it addresses: the role lacks a permission.
    CniPermissionMissing,
    /// containerd does not run on it.
    ContainerRuntimeFailed,
    /// Its disk is full.
    DiskFull,
    /// It cannot resolve the name of the API server.
    DnsFailed,
    /// It may not pull an image that it needs: the role lacks a permission of ECR.
    ImagePullDenied,
    /// Its metadata service does not answer.
    InstanceMetadataUnreachable,
    /// EC2's checks of the instance or of its host fail.
    InstanceStatusFailed,
    /// Its kernel panicked.
    KernelPanic,
    /// Its kubelet does not take its configuration.
    KubeletConfigInvalid,
    /// Its role has no access entry in the cluster.
    NoAccessEntry,
    /// It has no instance profile, or that has no role.
    NoNodeRole,
    /// The role lacks a permission that a node needs before it joins, such as `ec2:DescribeInstances`.
    NodeRolePermissionMissing,
    /// The API server refuses its role, which has an access entry: that is of another type, or of another role.
    NodeRoleRefused,
    /// Nothing that was looked at could be read; the message says why.
    NotLookedInto,
    /// A program that it needs was ended for want of memory.
    OutOfMemory,
    /// Nothing known is wrong with it: the message has the last lines of its console.
    UnknownJoinFailure,
    /// Its user data has an error of syntax, or a script in it failed.
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

/// How the role of an instance stands to the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAccess {
    /// The instance has no instance profile, or that has no role.
    NoRole,
    /// The cluster has no access entry for this role.
    NoEntry(String),
    /// The cluster has an access entry for this role.
    Entry(String),
}

/// What was seen of an instance whose node does not join. What could not be looked at is why, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinEvidence {
    /// What its console says, as EC2 has it; it may be empty, or minutes old.
    pub console: Result<String, String>,
    /// Which of EC2's checks of it fail.
    pub checks: Result<Vec<StatusProblem>, String>,
    /// Whether the cluster knows its role.
    pub access: Result<NodeAccess, String>,
}

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinFinding {
    /// Why the node does not join.
    pub reason: JoinReason,
    /// In words, without secrets.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_name_of_its_own_by_which_it_is_read() {
        for reason in JoinReason::ALL {
            assert_eq!(JoinReason::parse(reason.as_str()), Some(reason));
            assert_eq!(format!("{reason:?}"), reason.as_str());
        }
        assert!(JoinReason::ALL.is_sorted());
    }
}
