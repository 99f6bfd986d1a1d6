//! What a console says, recognized by what the programs on a node write when they fail.
//!
//! The table is in order: what explains other lines stands before them. A kernel that panicked also loses its
//! network, and an instance without a role is refused.

use model::join::JoinReason::{
    self, ApiServerUnreachable, ArchitectureMismatch, BootstrapFailed, CertificateRejected,
    ClusterNotFound, CniPermissionMissing, ContainerRuntimeFailed, DiskFull, DnsFailed,
    ImagePullDenied, InstanceMetadataUnreachable, KernelPanic, KubeletConfigInvalid, NoNodeRole,
    NodeRolePermissionMissing, NodeRoleRefused, OutOfMemory, UserDataFailed,
};

use super::secrets;

/// Characters of one line that are shown at most.
const LINE_CHARS_MAX: usize = 300;
/// Lines that are shown of a console that tells no cause.
const END_LINES: usize = 5;
/// Characters of these at most: they are kept with the claim.
const END_CHARS_MAX: usize = 600;

/// A cause that the console tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) reason: JoinReason,
    /// The line that says so, without secrets.
    pub(super) line: String,
}

/// What a line of the console says where all of these stand in it, in small letters.
struct Pattern {
    reason: JoinReason,
    parts: &'static [&'static str],
}

const fn says(reason: JoinReason, parts: &'static [&'static str]) -> Pattern {
    Pattern { reason, parts }
}

/// Linux, cloud-init (<https://cloudinit.readthedocs.io>), the EKS images with `nodeadm` or `bootstrap.sh`
/// (<https://github.com/awslabs/amazon-eks-ami>), Bottlerocket (<https://github.com/bottlerocket-os/bottlerocket>),
/// kubelet and containerd, the VPC CNI (<https://github.com/aws/amazon-vpc-cni-k8s>) and the AWS SDK for Go.
const PATTERNS: &[Pattern] = &[
    says(KernelPanic, &["kernel panic - not syncing"]),
    says(DiskFull, &["no space left on device"]),
    says(ArchitectureMismatch, &["exec format error"]),
    says(ArchitectureMismatch, &["cannot execute binary file"]),
    says(UserDataFailed, &["failed to run module scripts-user"]),
    says(UserDataFailed, &["failed to run module scripts_user"]),
    says(UserDataFailed, &["syntax error near unexpected token"]),
    says(UserDataFailed, &["unhandled non-multipart (text/x-not-multipart) userdata"]),
    says(UserDataFailed, &["failed loading yaml blob"]),
    says(UserDataFailed, &["failed at merging in cloud config part"]),
    says(UserDataFailed, &["user data", "parse"]),
    says(UserDataFailed, &["nodeconfig", "unmarshal"]),
    says(UserDataFailed, &["nodeconfig", "validat", "failed"]),
    says(ClusterNotFound, &["no cluster found for name"]),
    says(CniPermissionMissing, &["assignprivateipaddresses", "unauthorizedoperation"]),
    says(CniPermissionMissing, &["assignprivateipaddresses", "not authorized"]),
    says(CniPermissionMissing, &["createnetworkinterface", "unauthorizedoperation"]),
    says(CniPermissionMissing, &["createnetworkinterface", "not authorized"]),
    says(CniPermissionMissing, &["assignipv6addresses", "not authorized"]),
    says(ImagePullDenied, &["ecr", "403 forbidden"]),
    says(ImagePullDenied, &["ecr", "not authorized"]),
    says(ImagePullDenied, &["no basic auth credentials"]),
    says(ImagePullDenied, &["pull access denied"]),
    says(ImagePullDenied, &["failed to pull", "image", "denied"]),
    says(NodeRolePermissionMissing, &["unauthorizedoperation"]),
    says(NodeRolePermissionMissing, &["accessdeniedexception"]),
    says(NodeRolePermissionMissing, &["is not authorized to perform"]),
    says(NoNodeRole, &["no ec2 imds role found"]),
    says(NoNodeRole, &["unable to locate credentials"]),
    says(NoNodeRole, &["nocredentialproviders"]),
    says(InstanceMetadataUnreachable, &["169.254.169.254", "timeout"]),
    says(InstanceMetadataUnreachable, &["169.254.169.254", "timed out"]),
    says(InstanceMetadataUnreachable, &["169.254.169.254", "deadline exceeded"]),
    says(InstanceMetadataUnreachable, &["169.254.169.254", "refused"]),
    says(InstanceMetadataUnreachable, &["imds", "deadline exceeded"]),
    says(DnsFailed, &["no such host"]),
    says(DnsFailed, &["temporary failure in name resolution"]),
    says(DnsFailed, &["could not resolve host"]),
    says(DnsFailed, &["lookup", "server misbehaving"]),
    says(CertificateRejected, &["x509:"]),
    says(KubeletConfigInvalid, &["failed to load kubelet config"]),
    says(KubeletConfigInvalid, &["failed to validate kubelet"]),
    says(KubeletConfigInvalid, &["failed to parse kubelet flag"]),
    says(KubeletConfigInvalid, &["kubelet", "unknown flag"]),
    says(KubeletConfigInvalid, &["kubelet", "invalid configuration"]),
    says(ContainerRuntimeFailed, &["containerd.sock", "no such file"]),
    says(ContainerRuntimeFailed, &["containerd.sock", "refused"]),
    says(ContainerRuntimeFailed, &["failed to start", "containerd"]),
    says(NodeRoleRefused, &["kubelet", "unauthorized"]),
    says(NodeRoleRefused, &["register node", "unauthorized"]),
    says(NodeRoleRefused, &["the server has asked for the client to provide credentials"]),
    says(ApiServerUnreachable, &["dial tcp", ":443", "i/o timeout"]),
    says(ApiServerUnreachable, &["dial tcp", ":443", "refused"]),
    says(ApiServerUnreachable, &["network is unreachable"]),
    says(ApiServerUnreachable, &["no route to host"]),
    says(ApiServerUnreachable, &["eks.amazonaws.com", "timeout"]),
    says(ApiServerUnreachable, &["eks.amazonaws.com", "deadline exceeded"]),
    says(ApiServerUnreachable, &["client.timeout exceeded while awaiting headers"]),
    says(OutOfMemory, &["out of memory: killed process"]),
    says(BootstrapFailed, &["nodeadm", "fatal"]),
    says(BootstrapFailed, &["failed to start", "nodeadm"]),
    says(BootstrapFailed, &["bootstrap.sh", "error"]),
    says(BootstrapFailed, &["exited with error on line"]),
    says(BootstrapFailed, &["failed to start", "kubelet"]),
    says(BootstrapFailed, &["host-containers", "failed"]),
    says(BootstrapFailed, &["cloud-init", "failed to"]),
];

/// The first cause of the table that `console` tells, with the last line that does.
pub(super) fn told(console: &str) -> Option<Told> {
    let lines: Vec<(String, &str)> =
        console.lines().map(|line| (line.to_ascii_lowercase(), line)).collect();
    PATTERNS.iter().find_map(|pattern| {
        let is_said = |line: &&(String, &str)| pattern.parts.iter().all(|p| line.0.contains(p));
        let (_, line) = lines.iter().rev().find(is_said)?;
        Some(Told { reason: pattern.reason, line: shown(line, LINE_CHARS_MAX) })
    })
}

/// The last lines of a console that tells no cause.
pub(super) fn end(console: &str) -> String {
    // A key may go over lines: it is cut out first.
    let safe = secrets::cut(console);
    let lines: Vec<&str> = safe.lines().filter(|line| !line.trim().is_empty()).collect();
    let Some(from) = lines.len().checked_sub(1).map(|last| last.saturating_sub(END_LINES - 1))
    else {
        return "nothing known is wrong with it, and its console is empty".to_owned();
    };
    let last: Vec<String> =
        lines.iter().skip(from).map(|line| shown(line, END_CHARS_MAX / END_LINES)).collect();
    format!("nothing known is wrong with it; the end of its console: {}", last.join(" | "))
}

/// A line without secrets and without what moves a cursor, as long as it may be.
fn shown(line: &str, chars_max: usize) -> String {
    let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    secrets::cut(plain.trim()).chars().take(chars_max).collect()
}
