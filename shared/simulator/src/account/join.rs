//! Why machines do not join, and what can be seen of it from outside: their console, their role, their network and
//! their image.

use model::{
    ClusterName, ImageId, InstanceId,
    interruption::StatusProblem,
    join::{AuthenticationMode, JoinImage, JoinNetwork, JoiningInstance, NodeAccess, WayOut},
    labels,
    launch::InstanceState,
};

use super::{
    AwsError, InstanceRecord,
    identity::{LINUX_NODES, STANDARD},
};
use crate::world::World;

/// What keeps machines from joining that never do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JoinFailure {
    /// Unknown: the console is empty.
    #[default]
    Silent,
    /// The cluster has no access entry for their role.
    NoAccessEntry,
    /// The cluster has an access entry for their role that is not one of nodes.
    WrongRole,
    /// There is no way from their subnet to the API server, which has no address in the VPC.
    NoRoute,
    /// Their image is for another architecture.
    WrongArchitecture,
    /// Their user data has an error of syntax.
    BrokenUserData,
    /// Their role may not give pods addresses.
    NoCniPermission,
    /// Their role may not pull images.
    NoImagePermission,
    /// Their user data names another cluster.
    WrongCluster,
    /// Their user data has the certificate of another cluster.
    WrongCertificate,
    /// Names are not resolved in their network.
    NoDns,
    /// Their disk is too small.
    FullDisk,
    /// Their kernel does not start.
    Panic,
    /// Their console is empty, and nothing leads out of their subnet to an API server that is not in the VPC.
    SilentRoute,
    /// Their console is empty, and what the way out of their subnet led to is gone.
    BlackHole,
    /// Their console is empty, and an internet gateway is the way out, for which they have no public address.
    NoPublicAddress,
    /// Their console is empty, and their security groups let nothing out.
    ClosedOut,
    /// Their console is empty, and those of the API server do not let them in.
    ClosedIn,
    /// Their console is empty, and their role has an access entry for people.
    EntryOfPeople,
    /// Their console is empty, and their image is for other processors.
    OtherImage,
    /// Their console is empty, their role is not known, and their security groups let nothing out.
    Several,
    /// Their console says this.
    Console(String),
}

impl JoinFailure {
    /// Those that can be told from outside, without [`Self::Console`].
    pub const TOLD: [Self; 12] = [
        Self::NoAccessEntry,
        Self::WrongRole,
        Self::NoRoute,
        Self::WrongArchitecture,
        Self::BrokenUserData,
        Self::NoCniPermission,
        Self::NoImagePermission,
        Self::WrongCluster,
        Self::WrongCertificate,
        Self::NoDns,
        Self::FullDisk,
        Self::Panic,
    ];

    /// Those that the console does not tell, and the account does.
    pub const SEEN: [Self; 8] = [
        Self::SilentRoute,
        Self::BlackHole,
        Self::NoPublicAddress,
        Self::ClosedOut,
        Self::ClosedIn,
        Self::EntryOfPeople,
        Self::OtherImage,
        Self::Several,
    ];

    /// What the console says, as the programs on a node write it.
    fn console(&self) -> &str {
        match self {
            Self::Silent
            | Self::SilentRoute
            | Self::BlackHole
            | Self::NoPublicAddress
            | Self::ClosedOut
            | Self::ClosedIn
            | Self::EntryOfPeople
            | Self::OtherImage
            | Self::Several => "",
            Self::NoAccessEntry | Self::WrongRole => {
                "[   21.4] kubelet[2101]: E0105 08:00:41 kubelet_node_status.go:107] \"Unable to register node with \
                 API server\" err=\"Unauthorized\""
            }
            Self::NoRoute => {
                "[   52.0] kubelet[2101]: E0105 08:01:12 kubelet_node_status.go:107] \"Unable to register node with \
                 API server\" err=\"Post \\\"https://eks.test/api/v1/nodes\\\": dial tcp 10.0.0.10:443: i/o timeout\""
            }
            Self::WrongArchitecture => {
                "[    9.8] systemd[1480]: kubelet.service: Failed to execute /usr/bin/kubelet: Exec format error"
            }
            Self::BrokenUserData => {
                "[   12.1] cloud-init[1203]: /var/lib/cloud/instance/scripts/part-001: line 7: syntax error near \
                 unexpected token `fi'\n[   12.2] cloud-init[1203]: Failed to run module scripts-user"
            }
            Self::NoCniPermission => {
                "[   44.0] aws-k8s-agent[3020]: ipamd: failed to assign addresses: operation error EC2: \
                 AssignPrivateIpAddresses, StatusCode: 403, api error UnauthorizedOperation"
            }
            Self::NoImagePermission => {
                "[   30.3] containerd[1901]: failed to resolve reference \
                 \"602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/pause:3.10\": 403 Forbidden"
            }
            Self::WrongCluster => {
                "[   11.0] nodeadm[1310]: operation error EKS: DescribeCluster, ResourceNotFoundException: No cluster \
                 found for name: other."
            }
            Self::WrongCertificate => {
                "[   22.9] kubelet[2101]: E0105 08:00:43 reflector.go:150] failed to list *v1.Node: tls: failed to \
                 verify certificate: x509: certificate signed by unknown authority"
            }
            Self::NoDns => {
                "[   23.5] kubelet[2101]: E0105 08:00:44 reflector.go:150] failed to list *v1.Node: dial tcp: lookup \
                 eks.test on 10.0.0.2:53: no such host"
            }
            Self::FullDisk => {
                "[   33.7] containerd[1901]: write /var/lib/containerd/ingest/1: no space left on device"
            }
            Self::Panic => {
                "[    1.9] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"
            }
            Self::Console(text) => text,
        }
    }

    /// The type of the access entry that the roles of nodes get; none: they get none.
    pub(super) const fn entry_of_nodes(&self) -> Option<&'static str> {
        match self {
            Self::NoAccessEntry | Self::Several => None,
            Self::WrongRole | Self::EntryOfPeople => Some(STANDARD),
            _ => Some(LINUX_NODES),
        }
    }

    /// Whether the API server has an address in the VPC.
    const fn is_private(&self) -> bool {
        !matches!(self, Self::NoRoute | Self::SilentRoute | Self::BlackHole | Self::NoPublicAddress)
    }

    fn ways_out(&self) -> Vec<WayOut> {
        let way = |target: &str, is_black_hole| WayOut { target: target.to_owned(), is_black_hole };
        match self {
            Self::NoRoute | Self::SilentRoute => Vec::new(),
            Self::BlackHole => vec![way("nat-0123456789abcdef0", true)],
            Self::NoPublicAddress => vec![way("igw-0123456789abcdef0", false)],
            _ => vec![way("nat-0123456789abcdef0", false)],
        }
    }
}

/// The simulated account's one VPC.
pub const VPC: &str = "vpc-0123456789abcdef0";
/// The route table of its subnets.
pub const ROUTE_TABLE: &str = "rtb-0123456789abcdef0";
/// The security group of the API server.
pub const CLUSTER_GROUP: &str = "sg-0c1uster";

impl World {
    fn looked_at(&self, instance: &InstanceId) -> Result<&InstanceRecord, AwsError> {
        let known = self.account.instances.get(instance);
        known.ok_or_else(|| {
            let text = format!("The instance ID '{instance}' does not exist");
            AwsError::new("InvalidInstanceID.NotFound", text)
        })
    }

    /// What the console of `instance` says; one whose node joined has nothing to say.
    pub(crate) fn console(&self, instance: &InstanceId) -> Result<String, AwsError> {
        let record = self.looked_at(instance)?;
        let has_joined = self.cluster.node_of_instance.contains_key(&record.id);
        let text = if has_joined { "" } else { self.settings.join_failure.console() };
        Ok(text.to_owned())
    }

    /// Which checks of `instance` fail.
    pub(crate) fn checks(&self, instance: &InstanceId) -> Vec<StatusProblem> {
        let known = self.account.instances.get(instance);
        let running = known.filter(|record| record.state() == InstanceState::Running);
        let Some(record) = running else { return Vec::new() };
        let is_check = |problem: &&StatusProblem| **problem != StatusProblem::ScheduledEvent;
        record.status.iter().filter(is_check).copied().collect()
    }

    /// What `instance` was launched with.
    pub(crate) fn joining(&self, instance: &InstanceId) -> Result<JoiningInstance, AwsError> {
        let record = self.looked_at(instance)?;
        let groups = record.security_groups.iter().flatten().cloned();
        Ok(JoiningInstance {
            profile: self.profile_of(record),
            image: Some(record.image.clone()),
            vpc: Some(VPC.to_owned()),
            subnet: Some(record.subnet.clone()),
            security_groups: groups.collect(),
            has_public_address: false,
        })
    }

    /// How the role of `instance` stands to the cluster.
    pub(crate) fn access(
        &self,
        cluster: &ClusterName,
        instance: &JoiningInstance,
    ) -> Result<NodeAccess, AwsError> {
        let profile = instance.profile.as_ref().and_then(|name| self.account.profiles.get(name));
        let Some(role) = profile.and_then(|profile| profile.role.clone()) else {
            return Ok(NodeAccess::NoRole);
        };
        self.described_cluster(cluster)?;
        Ok(match self.entry_of_role(&role) {
            Some(kind) => NodeAccess::Entry { role, kind: kind.to_owned() },
            None => NodeAccess::NoEntry { role, mode: AuthenticationMode::AccessEntries },
        })
    }

    /// The instance profile that `record` was launched with.
    pub(crate) fn profile_of(&self, record: &InstanceRecord) -> Option<String> {
        self.account.templates.get(&record.template)?.instance_profile.clone()
    }

    /// What lies between any instance and the API server.
    pub(crate) fn join_network(&self) -> JoinNetwork {
        let failure = &self.settings.join_failure;
        let is_private = failure.is_private();
        JoinNetwork {
            is_private,
            route_table: Some(ROUTE_TABLE.to_owned()),
            ways_out: failure.ways_out(),
            lets_out: !matches!(failure, JoinFailure::ClosedOut | JoinFailure::Several),
            lets_in: is_private.then_some(*failure != JoinFailure::ClosedIn),
        }
    }

    /// What `image` is for, if it is there.
    pub(crate) fn join_image(&mut self, image: &ImageId) -> Option<JoinImage> {
        let known = self.images_by_id(std::slice::from_ref(image)).pop()?;
        let architecture = known.requirements.get(labels::ARCH)?.single_value()?.to_string();
        let other = if architecture == "arm64" { "amd64" } else { "arm64" };
        let is_other = self.settings.join_failure == JoinFailure::OtherImage;
        let architecture = if is_other { other.to_owned() } else { architecture };
        Some(JoinImage { name: known.name, architecture })
    }
}
